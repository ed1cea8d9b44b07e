"""Training points are recognized among new ones by a hash of their bits."""

from __future__ import annotations

import numpy as np
import pytest

import lowd
from lowd.backends import resolve
from lowd.input.row_hash import hash_rows
from lowd.maps.remember import Remember
from manifolds import roll

FAMILY = (lowd.LocallyLinearEmbedding, lowd.ModifiedLLE, lowd.HessianLLE, lowd.LTSA)
OPS = resolve("auto", 2)


@pytest.mark.parametrize("cls", FAMILY)
def test_training_rows_are_remembered_and_the_map_is_close_without_memory(cls):
    X, _ = roll(800)
    model = cls(2, n_neighbors=12).fit(X)
    rows = np.array([700, 3, 3, 41])
    np.testing.assert_array_equal(model.transform(X[rows]), model.embedding_[rows])
    bare = model.map_.then(X, OPS)
    off = np.sqrt(((bare - model.embedding_) ** 2).mean())
    assert 0 < off < 0.05
    moved = model.transform(X[rows] + 1e-6)
    np.testing.assert_allclose(moved, bare[rows], atol=1e-3)


def test_rows_are_found_by_their_bits():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (500, 6)).astype(float)  # many duplicates, few bits
    X = np.unique(X, axis=0)
    assert len(np.unique(hash_rows(X))) == len(X)
    np.testing.assert_array_equal(hash_rows(X), hash_rows(X.astype(np.float32)))
    np.testing.assert_array_equal(hash_rows(X), hash_rows(np.where(X == 0, -0.0, X)))
    Y = np.arange(len(X), dtype=float)[:, None]

    def nowhere(Q, ops):  # noqa: ARG001
        return np.full((len(Q), 1), -1.0)

    memory = Remember.of(nowhere, X, Y)
    order = rng.permutation(len(X))
    np.testing.assert_array_equal(memory(X[order], OPS), Y[order])
    mixed = np.vstack([X[:2], X[:2] + 0.5])
    np.testing.assert_array_equal(memory(mixed, OPS).ravel(), [0, 1, -1, -1])
    # A key alone is not believed.
    forged = Remember(nowhere, memory.keys, memory.rows, X + 1, Y)
    assert (forged(X, OPS) == -1).all()
