"""Native operations of linear algebra against the reference, over shapes and types."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest
from lowd.backends.protocol import Backend, HadamardMatrix, Terms
from lowd.backends.reference import neighbors as reference_neighbors
from scipy.sparse import csr_array

from cases import same_bits
from lowd import progress
from operands import EPS, FAST, PARAMS, PLAIN, data, near, shaped_and_typed, sparse, typed


def test_all_operations_are_tested():
    names = {name for name, _ in inspect.getmembers(Backend, inspect.isfunction) if name[0] != "_"}
    here = Path(__file__).parent
    text = "".join(file.read_text() for file in sorted(here.glob("test_*operations.py")))
    for name in names:
        assert f"ops.{name}(" in text or f"FAST.{name}(" in text, name
        assert callable(getattr(FAST, name))
        assert callable(getattr(PLAIN, name))


@shaped_and_typed
def test_column_statistics(shape, kind, rng):
    X = data(*shape, kind)
    for weights in (None, rng.random(shape[0])):
        fast, plain = FAST.column_statistics(X, weights), PLAIN.column_statistics(X, weights)
        assert fast.first_nonfinite is plain.first_nonfinite is None
        assert fast.max_abs == plain.max_abs
        near(fast.mean, plain.mean, np.float64)
    fast, plain = (ops.column_statistics(X, priorities=True) for ops in (FAST, PLAIN))
    np.testing.assert_array_equal(fast.priorities, plain.priorities)
    np.testing.assert_array_equal(fast.mean, FAST.column_statistics(X).mean)


@typed
@pytest.mark.parametrize(
    ("bad", "entry"), [(np.nan, (0, 0)), (np.inf, (40, 17)), (-np.inf, (99, 32))]
)
def test_column_statistics_finds_the_first_bad_entry(kind, bad, entry):
    X = data(100, 33, kind)
    X[entry] = bad
    X[99, 32] = bad
    assert (
        FAST.column_statistics(X).first_nonfinite
        == PLAIN.column_statistics(X).first_nonfinite
        == entry
    )
    X[entry] = X[99, 32] = 0
    assert FAST.column_statistics(X).first_nonfinite is None
    assert PLAIN.column_statistics(X).first_nonfinite is None


def test_column_statistics_of_numbers_whose_sum_overflows():
    X = np.full((10, 2), 1e308)
    assert FAST.column_statistics(X).first_nonfinite is None


@pytest.mark.parametrize(
    ("n", "kind"),
    [*((n, np.float64) for n in (1, 2, 33, 130, 259)), (33, np.float32), (259, np.float32)],
)
def test_symmetry(kind, n, rng):
    A = rng.normal(size=(n, n)).astype(kind)
    fast, plain = FAST.check_symmetry(A), PLAIN.check_symmetry(A)
    for name, value in plain._asdict().items():
        found = getattr(fast, name)
        if name == "asymmetry_at":
            assert sorted(found) == sorted(value)
        elif isinstance(value, float):
            assert found == pytest.approx(value, rel=4 * EPS[kind])
        else:
            assert found == value, name
    even = (A + A.T) / 2
    assert FAST.check_symmetry(even).asymmetry == 0
    A[n // 2, n // 3] = np.nan
    assert (
        FAST.check_symmetry(A).first_nonfinite
        == PLAIN.check_symmetry(A).first_nonfinite
        == (n // 2, n // 3)
    )


@shaped_and_typed
def test_moments(shape, kind, rng):
    X = data(*shape, kind)
    for weights in (None, rng.random(shape[0])):
        mean = np.average(X.astype(np.float64), axis=0, weights=weights)
        fast, plain = (ops.scatter(X, mean, weights).moments() for ops in (FAST, PLAIN))
        assert fast.weight == pytest.approx(plain.weight)
        assert fast.scatter.dtype == np.float64
        near(fast.scatter, plain.scatter, kind)
        same_bits(fast.scatter, fast.scatter.T)


@typed
def test_moments_far_from_the_origin(kind):
    X = (data(500, 20, np.float64) + 1e6).astype(kind)
    mean = X.mean(0, dtype=np.float64)
    centered = X - mean
    near(FAST.scatter(X, mean, None).moments().scatter, centered.T @ centered, kind)
    # Around a center that is not quite the mean, too.
    off = mean + 1e-3
    near(FAST.scatter(X, off, None).moments().scatter, (X - off).T @ (X - off), kind)


def check_scatter_matmul(shape, kind, weights, width, rng):
    X = data(*shape, kind)
    mean = np.average(X.astype(np.float64), axis=0, weights=weights)
    V = rng.normal(size=(shape[1], width)).astype(kind)
    (fast, trace), (plain, expected) = (
        ops.scatter(X, mean, weights).matmul(V) for ops in (FAST, PLAIN)
    )
    assert fast.dtype == np.float64
    size = max(np.abs(plain).max(), expected * np.abs(V).max())
    np.testing.assert_allclose(fast, plain, rtol=0, atol=50 * EPS[kind] * size + 1e-300)
    assert trace == pytest.approx(expected, rel=50 * EPS[kind], abs=1e-300)
    assert FAST.scatter(X, mean, weights).matmul(V)[1] == trace


@shaped_and_typed
def test_scatter_matmul(shape, kind, rng):
    for width in (1, 8, 13, 40):
        check_scatter_matmul(shape, kind, None, width, rng)
        check_scatter_matmul(shape, kind, rng.random(shape[0]), width, rng)


def check_project(shape, kind, width, rng):
    X = data(*shape, kind)
    W = rng.normal(size=(shape[1], width)).astype(kind)
    shift, bias = X.mean(0, dtype=np.float64), rng.normal(size=width)
    for parts in ((None, None), (shift, None), (None, bias), (shift, bias)):
        fast, plain = (ops.project(X, parts[0], W, parts[1]) for ops in (FAST, PLAIN))
        assert fast.dtype == kind
        near(fast, plain, kind, 20 + shape[1])


@shaped_and_typed
def test_project(shape, kind, rng):
    for width in (1, 2, 5, 16, 17, 50, 70):
        check_project(shape, kind, width, rng)
    for density in (0.05, 0.5, 1.0):
        check_project_on_sparse_directions(shape, kind, density, rng)


@typed
def test_project_far_from_the_origin(kind, rng):
    """(X - mu) W, never X W - mu W."""
    X = (data(200, 20, np.float64) + 1e6).astype(kind)
    W, shift = rng.normal(size=(20, 3)).astype(kind), X.mean(0, dtype=np.float64)
    near(FAST.project(X, shift, W), (X - shift) @ W, kind, 50)


def check_project_on_sparse_directions(shape, kind, density, rng):
    X = data(*shape, kind)
    C = sparse((23, shape[1]), density, kind, rng)
    fast, plain = FAST.project(X, None, C), PLAIN.project(X, None, C)
    assert fast.dtype == kind
    near(fast, plain, kind, 20 + shape[1])


@typed
def test_project_of_very_wide_rows(kind, rng):
    X = np.ascontiguousarray(rng.normal(size=(3, 300_001)).astype(kind))
    C = sparse((9, 300_001), 1e-3, kind, rng)
    near(FAST.project(X, None, C), PLAIN.project(X, None, C), kind, 100)
    W = rng.normal(size=(300_001, 2)).astype(kind)
    near(FAST.project(X, None, W), X.astype(np.float64) @ W, kind, 3000)


@typed
@pytest.mark.parametrize(
    ("shape", "half_square"),
    [
        *(((1, 1, 1), False), ((33, 65, 8), True), ((300, 259, 17), False)),
        *(((300, 259, 17), True), ((40, 1030, 3), False)),
    ],
)
def test_matmul(kind, shape, half_square, rng):
    m, n, b = shape
    A, V = rng.normal(size=(m, n)).astype(kind), rng.normal(size=(n, b)).astype(kind)
    fast, plain = (ops.matrix_plan(A, half_square=half_square).matmul(V) for ops in (FAST, PLAIN))
    assert fast.dtype == np.float64
    size = np.abs(A).max() ** (1 + half_square) * np.abs(V).sum(0).max()
    np.testing.assert_allclose(fast, plain, rtol=0, atol=4 * EPS[kind] * size)


@pytest.mark.parametrize("ops", [FAST, PLAIN], ids=["native", "reference"])
@pytest.mark.parametrize("sparse", [False, True])
def test_three_term_recurrence(ops, sparse, rng):
    A, V, U = rng.normal(size=(3, 40, 40))
    plan = ops.matrix_plan(csr_array(A) if sparse else A)
    found = plan.matmul(V, Terms(2.0, -0.5, 3.0, U))
    np.testing.assert_allclose(found, 2 * A @ V - 0.5 * V + 3 * U, atol=1e-12)


@typed
@pytest.mark.parametrize(("d", "padded"), [(1, 1), (3, 4), (31, 32), (784, 1024)])
def test_hadamard(kind, d, padded, rng):
    X = data(37, d, kind)
    signs = np.where(rng.random(d) < 0.5, -1, 1).astype(kind)
    rows = np.sort(rng.permutation(padded)[: max(1, padded // 2)]).astype(np.int64)
    fast, plain = (
        ops.project(X, None, HadamardMatrix(signs, rows, padded, 0.25)) for ops in (FAST, PLAIN)
    )
    assert fast.dtype == kind
    near(fast, plain, kind)
    shift, bias = X.mean(0, dtype=np.float64), rng.normal(size=len(rows))
    fast, plain = (
        ops.project(X, shift, HadamardMatrix(signs, rows, padded, 0.25), bias)
        for ops in (FAST, PLAIN)
    )
    near(fast, plain, kind)


@typed
def test_sparse_rows_are_the_references(kind, rng):
    S = sparse((50, 20), 0.3, kind, rng)
    bad = S.copy()
    bad.data[17] = np.nan
    entry = np.searchsorted(S.indptr, 17, side="right") - 1, S.indices[17]
    for ops in (FAST, PLAIN):
        assert ops.column_statistics(bad).first_nonfinite == entry
    dense, mean = S.toarray(), S.toarray().mean(0, dtype=np.float64)
    near(FAST.column_statistics(S).mean, PLAIN.column_statistics(dense).mean, kind)
    near(
        FAST.scatter(S, mean, None).moments().scatter,
        PLAIN.scatter(dense, mean, None).moments().scatter,
        kind,
    )
    V = rng.normal(size=(20, 3)).astype(kind)
    found = FAST.scatter(S, mean, None).matmul(V)
    near(found[0], PLAIN.scatter(dense, mean, None).matmul(V)[0], kind, 50)
    near(FAST.project(S, mean, V), PLAIN.project(dense, mean, V), kind)
    for measure in ("dot", "poly", "sigmoid", "sqeuclidean", "euclidean", "rbf"):
        found = FAST.pairwise(S, S, measure, PARAMS[measure], None)
        near(found, PLAIN.pairwise(dense, dense, measure, PARAMS[measure], None), kind, 200)


@pytest.mark.parametrize(
    ("ops", "measure"), [(FAST, "dot"), (FAST, "euclidean"), (FAST, "rbf"), (PLAIN, "euclidean")]
)
def test_sparse_pairs_in_blocks_of_rows_are_those_of_all_at_once(ops, measure, rng, monkeypatch):
    X = csr_array(rng.poisson(0.3, (70, 40)).astype(np.float32))
    params = PARAMS[measure]
    whole = ops.pairwise(X, X, measure, params, None)
    seen = []
    monkeypatch.setattr(reference_neighbors, "DISTANCE_BLOCK_SIZE", 9 * 70)
    with progress.listening(lambda name, done, total: seen.append((name, done, total))):
        blocks = ops.pairwise(X, X, measure, params, None)
    assert seen[-1] == ("distances", 70, 70)
    assert len(seen) == 8
    np.testing.assert_array_equal(blocks, whole)
    assert blocks.dtype == np.float32


@pytest.mark.parametrize("ops", [PLAIN, FAST], ids=["reference", "native"])
@typed
def test_offsets_of_sparse_rows(ops, kind, rng):
    """Columns of 0, 1e4 and 1e7 in half empty rows: the digits are those of dense rows."""
    offsets = np.repeat([0, 1e4, 1e7], [17, 2, 1])
    X = sparse((50, 20), 0.5, kind, rng).toarray()
    X[:, 17:] = (rng.normal(size=(50, 3)) + offsets[17:]).astype(kind)
    X[7, 18] = 0  # an entry that is not stored
    S, dense = csr_array(X), X.astype(np.float64)
    mean, weights = dense.mean(0), rng.random(50)
    assert ops.column_statistics(S).mean == pytest.approx(mean, rel=1e-14)
    found = ops.scatter(S, mean, weights).moments().scatter
    expected = PLAIN.scatter(dense, mean, weights).moments().scatter
    scale = np.sqrt(np.outer(np.diagonal(expected), np.diagonal(expected)))
    assert np.abs((found - expected) / scale).max() < 1e-12
    W = rng.normal(size=(20, 3))
    W[:, 1:] *= np.where(offsets > 0, [[0], [1]], [[1], [0]]).T  # each kind of columns alone
    Y = PLAIN.project(dense, mean, W)
    close = {"rtol": 1e-9, "atol": EPS[np.float64] * 1e7}  # as the mean is rounded
    np.testing.assert_allclose(ops.project(S.astype(np.float64), mean, W), Y, **close)
    one = ops.project(S[3:4].astype(np.float64), mean, W)
    same_bits(one, ops.project(S.astype(np.float64), mean, W)[3:4])
    center = np.where(offsets > 0, mean, 0)
    for measure in ("sqeuclidean", "euclidean", "rbf"):
        found = ops.pairwise(S, S, measure, PARAMS[measure], center)
        expected = PLAIN.pairwise(dense, dense, measure, PARAMS[measure], None)
        np.testing.assert_allclose(found, expected, 1e-10 if kind == np.float64 else 1e-6, 1e-10)
