"""Selection and ranks in rows of distances, and ranks of listed rows by counting."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import kernels
from lowd import progress
from lowd.backend import using
from lowd.spaces import RowIndex
from operands import typed


def rank_of(row, own, j):
    """One and the number of entries that are smaller, or equal and further left."""
    before = (row < row[j]) | ((row == row[j]) & (np.arange(len(row)) < j))
    before[own] = False
    return 0 if j in (-1, own) else 1 + before.sum()


def ranks_of(D, own, listed):
    return [[rank_of(row, o, j) for j in js] for row, o, js in zip(D, own, listed, strict=True)]


def tables(rng):
    yield rng.exponential(size=(3, 100))
    yield np.round(rng.exponential(size=(3, 100)) * 3)
    many = np.where(rng.random((3, 100)) < 0.5, 1e-30, 1e30)
    yield many * (1 + rng.random((3, 100)) * 1e-6)
    yield np.zeros((3, 100))


@typed
def test_ranks_in_rows_of_distances(kind, rng):
    own = np.array([0, 99, 41])
    for D in tables(rng):
        D = D.astype(kind)
        ranks = kernels.rank_rows(D, own)
        np.testing.assert_array_equal(ranks, ranks_of(D, own, [range(100)] * 3))


@typed
@pytest.mark.parametrize("k", [1, 7, 99])
def test_the_smallest_in_rows_of_distances(kind, k, rng):
    own = np.array([0, 99, 41])
    for D in tables(rng):
        D = D.astype(kind)
        for left_out in (None, own):
            E = D.astype(np.float64)
            if left_out is not None:
                E[np.arange(3), own] = np.inf
            order = np.argsort(E, axis=1, kind="stable")[:, :k]
            ids, values = kernels.select_smallest(D, left_out, k)
            np.testing.assert_array_equal(ids, order)
            np.testing.assert_array_equal(values, np.take_along_axis(E, order, 1))


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


@pytest.mark.parametrize("name", SETS)
def test_ranks_of_listed_rows(name):
    X = SETS[name]()
    n, rng = len(X), np.random.default_rng(2)
    index = RowIndex(X)
    for rows in (np.arange(n), np.array([0, 3, n // 2, n - 1])):
        listed = rng.integers(-1, n, (len(rows), 5)).astype(np.int32)
        listed[listed == rows[:, None]] = -1
        expected = ranks_of(cdist(X[rows], X), rows, listed)
        np.testing.assert_array_equal(index.ranks(listed, rows), expected)


def test_counting_can_be_cancelled():
    n = 20_000  # native work is asked every 50 ms
    index = RowIndex(np.random.default_rng(0).normal(size=(n, 40)))

    def stop(*_):
        raise KeyboardInterrupt

    listed = np.tile(np.arange(8, dtype=np.int32) + 1, (n, 1))
    listed[1:9] = -1
    with progress.listening(stop), pytest.raises(KeyboardInterrupt):
        index.ranks(listed)


def test_threads_do_not_change_ranks():
    X = lattice(900, 3)
    listed = np.random.default_rng(0).integers(-1, 900, (900, 4)).astype(np.int32)
    found = []
    for jobs in (1, 2, 5):
        with using("auto", jobs):
            found.append(RowIndex(X).ranks(listed))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
