"""Ranks by counting and by sorting, in both backends, against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lowd import progress
from lowd.backends import resolve

both = pytest.mark.parametrize("backend", ["native", "reference"])


def rank_of(row, own, j):
    """One and the number of entries that are smaller, or equal and further left."""
    before = (row < row[j]) | ((row == row[j]) & (np.arange(len(row)) < j))
    before[own] = False
    return 0 if j in (-1, own) else 1 + before.sum()


def ranks_of(D, own, listed):
    return [[rank_of(row, o, j) for j in js] for row, o, js in zip(D, own, listed, strict=True)]


def lattice(n, d):
    return np.round(np.random.default_rng(1).normal(size=(n, d)) * 1.5)


SETS = {
    "plane": lambda: np.random.default_rng(0).normal(size=(150, 2)),
    "wide": lambda: np.random.default_rng(0).normal(size=(300, 270)),
    "offset": lambda: np.random.default_rng(0).normal(size=(120, 4)) + 1e5,
    "outlier": lambda: np.concatenate([np.random.default_rng(0).normal(size=(99, 3)), [[1e9] * 3]]),
    "tiny": lambda: np.random.default_rng(0).normal(size=(80, 3)) * 1e-120,
    "huge": lambda: np.random.default_rng(0).normal(size=(80, 3)) * 1e120,
    "lattice": lambda: lattice(280, 2),
    "duplicates": lambda: np.repeat(np.random.default_rng(0).normal(size=(40, 3)), 4, axis=0),
    "one point": lambda: np.ones((70, 2)),
}


@pytest.mark.parametrize(
    ("name", "backend"),
    [*((name, "native") for name in SETS), ("lattice", "reference"), ("outlier", "reference")],
)
def test_ranks_of_listed_rows(backend, name):
    X = SETS[name]()
    n, rng = len(X), np.random.default_rng(2)
    index = resolve(backend, 2).index(X, "euclidean", (1.0,), None)
    for rows in (None, np.array([0, 3, n // 2, n - 1])):
        own = np.arange(n) if rows is None else rows
        listed = rng.integers(-1, n, (len(own), 5)).astype(np.int32)
        listed[listed == own[:, None]] = -1
        expected = ranks_of(cdist(X[own], X), own, listed)
        np.testing.assert_array_equal(index.ranks(rows, listed), expected)


@both
def test_ranks_follow_the_order_of_neighbors(backend):
    """The same arithmetic: the q-th neighbor has rank q, however close the next one is."""
    X = lattice(400, 12).astype(np.float32)
    X[::3] *= np.float32(1 / 3)
    for measure in ("euclidean", "sqeuclidean", "manhattan"):
        index = resolve(backend, 2).index(X, measure, (0.5,), None)
        near = index.others(30).indices
        np.testing.assert_array_equal(
            index.ranks(None, near), np.broadcast_to(np.arange(1, 31), near.shape)
        )


@pytest.mark.parametrize(
    ("backend", "kind"),
    [("native", np.float64), ("native", np.float32), ("reference", np.float64)],
    ids=["float64", "float32", "reference"],
)
def test_ranks_in_rows_of_distances(backend, kind):
    rng = np.random.default_rng(3)
    own = np.array([0, 99, 41])
    for D in (
        rng.exponential(size=(3, 100)),
        np.round(rng.exponential(size=(3, 100)) * 3),
        np.where(rng.random((3, 100)) < 0.5, 1e-30, 1e30) * (1 + rng.random((3, 100)) * 1e-6),
        np.zeros((3, 100)),
    ):
        D = D.astype(kind)
        ops = resolve(backend, 2)
        ranks = ops.distance_index(D, own).ranks()
        assert ranks.dtype == np.int32
        np.testing.assert_array_equal(ranks, ranks_of(D, own, [range(100)] * 3))
        nothing_left_out = ops.distance_index(D).ranks()
        order = np.argsort(nothing_left_out, axis=1)
        np.testing.assert_array_equal(order, np.argsort(D, axis=1, kind="stable"))
        np.testing.assert_array_equal(np.sort(nothing_left_out), [range(1, 101)] * 3)


@both
def test_counting_can_be_cancelled(backend):
    n = 20_000 if backend == "native" else 3000  # native work is asked every 50 ms
    X = np.random.default_rng(0).normal(size=(n, 40))
    index = resolve(backend, 2).index(X, "euclidean", (1.0,), None)

    def stop(*_):
        raise KeyboardInterrupt

    listed = np.tile(np.arange(8, dtype=np.int32) + 1, (n, 1))
    listed[1:9] = -1
    with progress.listening(stop), pytest.raises(KeyboardInterrupt):
        index.ranks(None, listed)


def test_threads_do_not_change_ranks():
    X = lattice(900, 3)
    listed = np.random.default_rng(0).integers(-1, 900, (900, 4)).astype(np.int32)
    found = [
        resolve("auto", jobs).index(X, "euclidean", (1.0,), None).ranks(None, listed)
        for jobs in (1, 2, 5)
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
