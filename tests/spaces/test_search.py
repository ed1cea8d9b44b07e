"""The search for neighbors against a brute force in float64, on awkward data."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from cases import same_bits
from lowd import _native, progress
from lowd.backend import using
from lowd.spaces import RowIndex

TYPES = [np.float64, np.float32]
typed = pytest.mark.parametrize("kind", TYPES, ids=["float64", "float32"])


def brute(Q, X, k, own=False, measure="euclidean", factor=1.0):
    D = factor * cdist(Q.astype(np.float64), X.astype(np.float64), measure)
    if own:
        np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(D, order, 1)


def agree(found, expected):
    (indices, distances), (right, lengths) = found.table, expected
    np.testing.assert_allclose(distances, lengths, rtol=1e-12)
    np.testing.assert_array_equal(indices, right)


def gaussian(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def decaying(n, d, seed=0):
    return gaussian(n, d, seed) * np.exp(-0.1 * np.arange(d))


def clusters(n, d, tight, seed=0):
    rng = np.random.default_rng(seed)
    return 5 * rng.standard_normal((7, d))[rng.integers(0, 7, n)] + tight * gaussian(n, d, seed + 1)


SETS = {
    "line": lambda: gaussian(1500, 1),
    "plane": lambda: gaussian(1500, 2),
    "space": lambda: gaussian(2000, 3),
    "ball": lambda: gaussian(1500, 30),
    "decaying": lambda: decaying(2000, 60),
    "many features": lambda: decaying(1200, 300),
    "flat and many": lambda: gaussian(1100, 200),
    "more features than a sample": lambda: gaussian(1100, 30) @ gaussian(30, 1500, 1),
    "duplicates": lambda: np.repeat(gaussian(40, 20), 50, axis=0),
    "all equal": lambda: np.full((3000, 8), 0.1),
    "two values": lambda: (gaussian(2500, 1) > 0) * np.ones(5),
    "grid": lambda: np.stack(np.meshgrid(np.arange(40.0), np.arange(40.0)), -1).reshape(-1, 2),
    "integers": lambda: np.random.default_rng(1).integers(0, 3, (2500, 6)).astype(float),
    "outlier": lambda: np.vstack([gaussian(1500, 30), np.full((1, 30), 1e6)]),
    "loose clusters": lambda: clusters(2000, 12, 1e-2),
    "tight clusters": lambda: clusters(2000, 12, 1e-4),
    "very tight clusters": lambda: clusters(2000, 12, 1e-6),
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, np.float64) for name in SETS),
        *((name, np.float32) for name in ("line", "many features", "duplicates", "integers")),
        *((name, np.float32) for name in ("ball", "outlier", "tight clusters")),
    ],
)
def test_exact_neighbors_are_those_of_a_brute_force_in_float64(name, kind):
    """Of the rows themselves, and of new ones."""
    X = SETS[name]().astype(kind)
    nearest, distances = brute(X, X, 15, own=True)
    index = RowIndex(X)
    for k in (1, 15):
        agree(index.nearest(k), (nearest[:, :k], distances[:, :k]))
    Q = np.vstack([X[::9], 1.25 * X[5::11], X[:60] + kind(1)]).astype(kind)
    found = index.query(Q, 7)
    agree(found, brute(Q, X, 7))
    for rows in ([0], [3], list(range(40, 90))):  # alone and in another batch
        part = index.query(Q[rows], 7)
        for one, all_rows in zip(part.table, found.table, strict=True):
            same_bits(one, all_rows[rows])


@typed
def test_offsets_lose_no_neighbor(kind):
    X = (gaussian(1500, 20) + 1e6).astype(kind)
    agree(RowIndex(X).nearest(10), brute(X, X, 10, own=True))


@pytest.mark.parametrize(
    ("kind", "scale"),
    [(np.float32, 1e-30), (np.float32, 1e30), (np.float64, 1e-140), (np.float64, 1e140)],
)
def test_any_scale(kind, scale):
    X = (gaussian(1500, 12) * scale).astype(kind)
    indices, distances = RowIndex(X).nearest(10).table
    expected = brute(X / scale, X / scale, 10, True)
    np.testing.assert_array_equal(indices, expected[0])
    np.testing.assert_allclose(distances / scale, expected[1], rtol=1e-6)
    found = RowIndex(X).query(np.full((100, 12), 3, kind), 4)
    assert np.isfinite(found.distances).all()


def test_sums_that_overflow_are_no_center():
    X = gaussian(1500, 6) * 1e305
    X[:, 0] = 1.7e308
    indices, distances = RowIndex(X).nearest(5).table
    expected = brute(X / 1e305, X / 1e305, 5, True)
    np.testing.assert_array_equal(indices, expected[0])
    np.testing.assert_allclose(distances / 1e305, expected[1], rtol=1e-9)


def test_neighbors_that_need_twelve_digits():
    X = np.sort(np.random.default_rng(0).random(3000))[:, None] * 1e-9 + 1.0
    X = np.hstack([X, np.ones((3000, 5))])
    agree(RowIndex(X).nearest(5), brute(X, X, 5, own=True))


@pytest.mark.parametrize(("measure", "factor"), [("euclidean", 0.5), ("sqeuclidean", 2.0)])
def test_factors_and_squares(measure, factor):
    X = gaussian(1500, 9)
    found = RowIndex(X, measure == "euclidean", factor).nearest(6)
    agree(found, brute(X, X, 6, True, measure, factor))


@pytest.mark.parametrize("n", [2, 3, 31, 33, 385, 1100])
def test_few_rows_and_all_of_them_as_neighbors(n):
    X = gaussian(n, 5)
    for k in {1, n // 2, n - 1}:
        agree(RowIndex(X).nearest(k), brute(X, X, k, own=True))


@pytest.mark.parametrize(
    ("d", "kind"), [(3, np.float64), (40, np.float64), (200, np.float64), (40, np.float32)]
)
def test_the_same_bits_on_any_number_of_threads(kind, d):
    X = decaying(3000, d).astype(kind)
    found = []
    for n_jobs in (1, 2):
        with using("native", n_jobs):
            found.append(RowIndex(X).nearest(15).table)
    for one, more in zip(*found, strict=True):
        same_bits(one, more)


def test_a_permutation_of_the_rows_permutes_the_neighbors():
    X, order = decaying(2500, 30), np.random.default_rng(3).permutation(2500)
    straight, mixed = RowIndex(X).nearest(8).table, RowIndex(X[order]).nearest(8).table
    np.testing.assert_array_equal(order[mixed[0]], straight[0][order])
    same_bits(mixed[1], straight[1][order])


def test_far_new_rows_have_neighbors_too():
    X = gaussian(1500, 6)
    Q = np.vstack([gaussian(100, 6, 1), [[1e8] * 6, [-1e30] * 6, [1e200] * 6, [1e300] * 6]])
    index = RowIndex(X)
    found = index.query(Q, 5)
    assert np.isfinite(found.distances).all()
    agree(found.take(slice(0, 102)), brute(Q[:102], X, 5))
    for i in range(100, 104):
        same_bits(index.query(Q[i : i + 1], 5).distances, found.table[1][i])


def test_far_new_rows_in_float32():
    X = gaussian(1500, 6).astype(np.float32)
    Q = np.vstack([gaussian(100, 6, 1), [[1e8] * 6, [-1e30] * 6, [3e38] * 6]]).astype(np.float32)
    agree(RowIndex(X).query(Q, 5), brute(Q, X, 5))


def test_float64_questions_to_float32_rows():
    X, Q = gaussian(1500, 6).astype(np.float32), gaussian(90, 6, 1)
    agree(RowIndex(X).query(Q, 5), brute(Q, X, 5))
    wide = RowIndex(X.astype(float)).query(Q.astype(np.float32), 5)
    agree(wide, brute(Q.astype(np.float32), X, 5))


def test_progress_is_reported_and_an_exception_cancels():
    X = gaussian(30000, 30)
    reports = []
    with progress.listening(lambda *step: reports.append(step)):
        RowIndex(X).nearest(10)
    assert any(stage == "neighbors" for stage, _, _ in reports)

    def refuse(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), progress.listening(refuse):
        RowIndex(X).nearest(10)


LEVELS = """
import numpy as np, sys, hashlib
from lowd import _native
from lowd.spaces import RowIndex
rng = np.random.default_rng(0)
text = hashlib.sha256()
for X in (rng.standard_normal((2500, 40)) * np.exp(-0.1 * np.arange(40)),
          rng.integers(0, 4, (2500, 5)) * 0.1, rng.standard_normal((2500, 3)).astype(np.float32)):
    found = RowIndex(np.ascontiguousarray(X)).nearest(12)
    text.update(found.indices.tobytes() + found.distances.tobytes())
print(_native.cpu_level(), text.hexdigest())
"""


def test_all_cpu_levels_give_the_same_bits():
    results = {}
    for level in _native.cpu_levels():
        done = subprocess.run(
            [sys.executable, "-c", LEVELS],
            env={**os.environ, "LOWD_CPU_LEVEL": level},
            capture_output=True,
            text=True,
            check=True,
        )
        name, digest = done.stdout.split()
        results[name] = digest
    assert len(set(results.values())) == 1, results


@typed
def test_ranks_count_the_nearer_rows(kind):
    X = decaying(700, 8).astype(kind)
    X[300:320] = X[:20]
    D = cdist(X.astype(np.float64), X.astype(np.float64))
    np.fill_diagonal(D, -1)
    order = np.argsort(D, axis=1, kind="stable")
    ranks = np.argsort(order, axis=1)
    listed = np.random.default_rng(0).integers(-1, 700, (700, 9)).astype(np.int32)
    listed[listed == np.arange(700)[:, None]] = -1  # the row itself has no rank
    expected = np.where(listed < 0, 0, np.take_along_axis(ranks, listed.astype(int), 1))
    np.testing.assert_array_equal(RowIndex(X).ranks(listed), expected)
    some = np.array([5, 310, 699])
    np.testing.assert_array_equal(RowIndex(X).ranks(listed[some], some), expected[some])


# -- the approximate search ------------------------------------------------------------------------


@pytest.mark.parametrize("copies", [1, 12], ids=["distinct", "duplicates"])
def test_the_reported_recall_is_the_true_one(copies):
    """Uniform rows, where approximate searches fail; and more duplicates than neighbors."""
    X = np.random.default_rng(0).random((8000 // copies, 10)).repeat(copies, 0)
    how = {"most_exact": 2000, "least": 0.9, "groups": 16}
    found = RowIndex(X).nearest(10, **how)
    assert 0.9 <= found.recall <= 1
    rows = np.arange(0, len(X), 9)
    others = cdist(X[rows], X)
    others[np.arange(len(rows)), rows] = np.inf
    truth = np.sort(others, axis=1)[:, :10]
    indices, distances = found.table
    hits = (distances[rows] <= truth[:, -1:] * (1 + 1e-12)).mean()
    assert hits >= found.recall - 0.01
    if copies == 1:
        assert found.recall < 1
        assert abs(found.recall - hits) < 0.01
    assert (indices >= 0).all()
    assert (indices != np.arange(len(X))[:, None]).all()
    assert (np.diff(distances, axis=1) >= 0).all()
    with using("native", 1):
        again = RowIndex(X).nearest(10, **how)
    same_bits(again.indices, found.indices)
    assert again.recall == found.recall


def test_many_rows_of_few_dimensions_are_exact_all_the_same():
    X = gaussian(6000, 2)
    found = RowIndex(X).nearest(6, most_exact=2000, least=0.9, groups=16)
    assert found.recall == 1
    agree(found, brute(X, X, 6, own=True))
