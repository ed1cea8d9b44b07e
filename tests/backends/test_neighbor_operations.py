"""The native search for neighbors against a brute force in float64, on awkward data."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from lowd.backends.reference import Reference
from scipy.spatial.distance import cdist

from cases import same_bits
from lowd import progress

_native = pytest.importorskip("lowd._native", reason="the native core is not built")
from lowd.backends.native import Native, row_index  # noqa: E402 - only where it is built

PLAIN, FAST = Reference(), Native(threads=2)
TYPES = [np.float64, np.float32]
typed = pytest.mark.parametrize("kind", TYPES, ids=["float64", "float32"])


def brute(Q, X, k, own=False, measure="euclidean", factor=1.0):
    D = factor * cdist(Q.astype(np.float64), X.astype(np.float64), measure)
    if own:
        np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(D, order, 1)


def agree(found, expected):
    indices, distances = expected
    np.testing.assert_allclose(found.distances, distances, rtol=1e-12)
    np.testing.assert_array_equal(found.indices, indices)


def index(X, ops=FAST, measure="euclidean", factor=1.0, center=None):
    return ops.index(X, measure, (factor,), center)


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
    plan = index(X)
    for k in (1, 15):
        agree(plan.others(k), (nearest[:, :k], distances[:, :k]))
    Q = np.vstack([X[::9], 1.25 * X[5::11], X[:60] + kind(1)]).astype(kind)
    found = plan.query(Q, 7)
    agree(found, brute(Q, X, 7))
    for rows in ([0], [3], list(range(40, 90))):  # alone and in another batch
        part = plan.query(Q[rows], 7)
        same_bits(part.indices, found.indices[rows])
        same_bits(part.distances, found.distances[rows])


@typed
def test_offsets_lose_no_neighbor(kind):
    X = (gaussian(1500, 20) + 1e6).astype(kind)
    agree(index(X).others(10), brute(X, X, 10, own=True))


@pytest.mark.parametrize(
    ("kind", "scale"),
    [(np.float32, 1e-30), (np.float32, 1e30), (np.float64, 1e-140), (np.float64, 1e140)],
)
def test_any_scale(kind, scale):
    X = gaussian(1500, 12)
    found = index((X * scale).astype(kind)).others(10)
    expected = brute((X * scale).astype(kind) / scale, (X * scale).astype(kind) / scale, 10, True)
    np.testing.assert_array_equal(found.indices, expected[0])
    np.testing.assert_allclose(found.distances / scale, expected[1], rtol=1e-6)
    plan = index((X * scale).astype(kind))
    assert np.isfinite(plan.query(np.full((100, 12), 3, kind), 4).distances).all()


def test_neighbors_that_need_twelve_digits():
    X = np.sort(np.random.default_rng(0).random(3000))[:, None] * 1e-9 + 1.0
    X = np.hstack([X, np.ones((3000, 5))])
    agree(index(X).others(5), brute(X, X, 5, own=True))


@pytest.mark.parametrize(("measure", "factor"), [("euclidean", 0.5), ("sqeuclidean", 2.0)])
def test_factors_and_squares(measure, factor):
    X = gaussian(1500, 9)
    found = index(X, FAST, measure, factor).others(6)
    agree(found, brute(X, X, 6, True, measure, factor))
    slow = index(X, PLAIN, measure, factor).others(6)
    np.testing.assert_array_equal(found.indices, slow.indices)


@pytest.mark.parametrize("n", [2, 3, 31, 33, 385, 1100])
def test_few_rows_and_all_of_them_as_neighbors(n):
    X = gaussian(n, 5)
    for k in {1, n // 2, n - 1}:
        agree(index(X).others(k), brute(X, X, k, own=True))


@pytest.mark.parametrize(
    ("d", "kind"), [(3, np.float64), (40, np.float64), (200, np.float64), (40, np.float32)]
)
def test_the_same_bits_on_any_number_of_threads(kind, d):
    X = decaying(3000, d).astype(kind)
    one = index(X, Native(threads=1)).others(15)
    for threads in (2, 5):
        more = index(X, Native(threads=threads)).others(15)
        same_bits(one.indices, more.indices)
        same_bits(one.distances, more.distances)


def test_a_permutation_of_the_rows_permutes_the_neighbors():
    X, order = decaying(2500, 30), np.random.default_rng(3).permutation(2500)
    straight, mixed = index(X).others(8), index(X[order]).others(8)
    np.testing.assert_array_equal(order[mixed.indices], straight.indices[order])
    same_bits(mixed.distances, straight.distances[order])


def test_far_new_rows_have_neighbors_too():
    X = gaussian(1500, 6)
    Q = np.vstack([gaussian(100, 6, 1), [[1e8] * 6, [-1e30] * 6, [1e200] * 6, [1e300] * 6]])
    plan = index(X)
    found = plan.query(Q, 5)
    assert np.isfinite(found.distances).all()
    agree(row_index.Neighbors(found.indices[:102], found.distances[:102]), brute(Q[:102], X, 5))
    for i in range(100, 104):
        same_bits(plan.query(Q[i : i + 1], 5).distances[0], found.distances[i])


def test_float64_questions_to_float32_rows():
    X, Q = gaussian(1500, 6).astype(np.float32), gaussian(90, 6, 1)
    agree(index(X).query(Q, 5), brute(Q, X, 5))
    agree(index(X.astype(float)).query(Q.astype(np.float32), 5), brute(Q.astype(np.float32), X, 5))


def test_rows_may_lie_apart():
    wide = gaussian(1500, 40)
    X = wide[:, 7:20]
    agree(index(X).others(5), brute(X, X, 5, own=True))
    agree(index(wide.T.copy().T).others(5), brute(wide, wide, 5, own=True))


@typed
def test_nearest_in_given_distances(kind):
    rng = np.random.default_rng(0)
    D = rng.integers(0, 40, (50, 300)).astype(kind)
    own = rng.integers(0, 300, 50)
    for k in (1, 20, 299):
        for skipped in (None, own):
            fast, plain = (
                FAST.distance_index(D, skipped).nearest(k),
                PLAIN.distance_index(D, skipped).nearest(k),
            )
            same_bits(fast.indices, plain.indices)
            same_bits(fast.distances, plain.distances)


@pytest.mark.parametrize("measure", ["manhattan", "chebyshev"])
def test_other_measures(measure):
    X = gaussian(300, 5)
    fast, slow = FAST.index(X, measure, (), None), PLAIN.index(X, measure, (), None)
    np.testing.assert_array_equal(fast.others(6).indices, slow.others(6).indices)


def test_progress_is_reported_and_an_exception_cancels():
    X = gaussian(30000, 30)
    reports = []
    with progress.listening(lambda *step: reports.append(step)):
        index(X).others(10)
    assert any(stage == "neighbors" for stage, _, _ in reports)

    def refuse(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), progress.listening(refuse):
        index(X).others(10)


LEVELS = """
import numpy as np, sys, hashlib
from lowd.backends.native import Native
from lowd import _native
rng = np.random.default_rng(0)
text = hashlib.sha256()
for X in (rng.standard_normal((2500, 40)) * np.exp(-0.1 * np.arange(40)),
          rng.integers(0, 4, (2500, 5)) * 0.1, rng.standard_normal((2500, 3)).astype(np.float32)):
    found = Native(threads=2).index(np.ascontiguousarray(X), "euclidean", (1.0,), None).others(12)
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


@pytest.fixture
def small_limits(monkeypatch):
    monkeypatch.setattr(row_index, "MAX_EXACT_ROWS", 2000)
    monkeypatch.setattr(row_index, "FIRST_GROUPS", 16)
    monkeypatch.setattr(row_index, "MIN_RECALL", 0.9)


def recall_of(found, X, k):
    rows = np.arange(0, len(X), 9)
    truth = brute(X[rows], X, k + 1)[0][:, 1:]
    hits = sum(len(np.intersect1d(a, b)) for a, b in zip(truth, found.indices[rows], strict=True))
    return hits / truth.size


@pytest.mark.usefixtures("small_limits")
def test_the_reported_recall_is_the_true_one():
    X = np.random.default_rng(0).random((8000, 10))  # uniform: approximate searches fail here
    found = index(X).others(10)
    assert row_index.MIN_RECALL <= found.recall < 1
    assert abs(found.recall - recall_of(found, X, 10)) < 0.01
    assert (found.indices >= 0).all()
    assert (np.diff(found.distances, axis=1) >= 0).all()
    again = index(X, Native(threads=5)).others(10)
    same_bits(again.indices, found.indices)
    assert again.recall == found.recall


@pytest.mark.usefixtures("small_limits")
def test_many_rows_of_few_dimensions_are_exact_all_the_same():
    X = gaussian(6000, 2)
    found = index(X).others(6)
    assert found.recall == 1
    exact = index(X[:2000]).others(6)  # the exact way
    agree(exact, brute(X[:2000], X[:2000], 6, own=True))
    rows = np.arange(0, 6000, 97)
    same_bits(index(X).query(X[rows], 7).indices[:, 1:], found.indices[rows])
