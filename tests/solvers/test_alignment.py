"""Barycentric weights and alignment matrices of the locally linear family, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from lowd.backends.protocol import Ragged
from scipy.spatial import cKDTree

import lowd
from lowd.backends import resolve
from manifolds import roll
from oracles import ragged

OPS = resolve("auto", 2)


@pytest.mark.parametrize(
    ("x", "corners", "reg", "expected"),
    [
        ([0.25], [[0.0], [1.0]], 1e-3, [0.749688, 0.250312]),
        ([0.25], [[0.0], [1.0]], 1e-12, [0.75, 0.25]),
        ([0.25, 0.25], [[0.0, 0], [1, 0], [0, 1]], 1e-3, [0.499315, 0.250342, 0.250342]),
        ([0.25, 0.25], [[0.0, 0], [1, 0], [0, 1]], 1e-12, [0.5, 0.25, 0.25]),
    ],
)
def test_worked_weights(x, corners, reg, expected):
    ops = resolve("auto", 1)
    near = Ragged(np.array([0, len(corners)]), np.arange(len(corners), dtype=np.int32))
    w = ops.barycentric_weights(np.array([x]), np.array(corners), near, reg)
    np.testing.assert_allclose(w, expected, atol=1e-6)


def test_worked_spectrum():
    """Six points 0..5 on a line: M annihilates constants and the line itself."""
    X = np.arange(6.0)[:, None]
    near = np.array([[1, 2], [0, 2], [1, 3], [2, 4], [3, 5], [4, 3]])
    w = OPS.barycentric_weights(X, X, ragged(near), 1e-12).reshape(6, 2)
    np.testing.assert_allclose(w, [[2, -1], *4 * [[0.5, 0.5]], [2, -1]], atol=1e-9)
    B = np.eye(6)
    np.subtract.at(B, (np.arange(6)[:, None], near), w)
    expected = [0, 0, 0.118956, 1.25, 7.881044, 8.75]
    np.testing.assert_allclose(np.linalg.eigvalsh(B.T @ B), expected, atol=1e-6)


def test_weights_do_not_see_rotation_scale_and_translation():
    X, _ = roll(200)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    one = lowd.LocallyLinearEmbedding(2, n_neighbors=8).fit(X)
    two = lowd.LocallyLinearEmbedding(2, n_neighbors=8).fit(7 * X @ turn + 100)
    np.testing.assert_allclose(two.weights_.toarray(), one.weights_.toarray(), atol=1e-7)


def test_rows_of_weights_sum_to_one():
    X, _ = roll(300)
    model = lowd.LocallyLinearEmbedding(2, n_neighbors=8).fit(X)
    W = model.weights_
    np.testing.assert_allclose(W.sum(1), 1)
    assert not W.diagonal().any()
    assert (np.diff(W.indptr) == 8).all()
    B = np.eye(300) - W.toarray()
    Y = model.embedding_ / np.sqrt(300)
    # tr(Y'MY) is the sum of the kept eigenvalues, and Y solves the problem.
    assert np.linalg.norm(B @ Y) ** 2 == pytest.approx(model.reconstruction_error_, rel=1e-6)
    np.testing.assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(B.T @ B)[1:3], atol=1e-12)


@pytest.mark.parametrize("kind", ["ltsa", "hessian", "modified"])
def test_alignment_matrices_annihilate_constants_and_are_positive(kind):
    ops = resolve("auto", 1)
    X, _ = roll(200)
    near = cKDTree(X).query(X, 11)[1]
    near = near[:, 1:] if kind == "modified" else near
    M = ops.alignment_matrix(X, ragged(near), kind, 2, 1e-3, np.ones(200)).toarray()
    np.testing.assert_allclose(M, M.T, atol=1e-12)
    np.testing.assert_allclose(M @ np.ones(200), 0, atol=1e-8)
    assert np.linalg.eigvalsh(M)[0] > -1e-10


def test_columns_of_modified_weights_sum_to_one():
    """F' [1 on the neighbors, 0 on the row] = 1: every weight vector is barycentric."""
    from lowd.backends.reference.local_fits import _modified_weights

    X, _ = roll(60)
    near = cKDTree(X).query(X, 9)[1][:, 1:]
    for F in _modified_weights(X, list(near), 2, 1e-3):
        np.testing.assert_allclose(F[:-1].sum(0), 1, atol=1e-9)
        np.testing.assert_array_equal(F[-1], -1)
