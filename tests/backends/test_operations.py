"""Native operations against the reference, over shapes, types and CPU levels."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from cases import rows_like, same_bits
from lowd.backends.protocol import MEASURES, Backend, HadamardMatrix
from lowd.backends.reference import Reference

_native = pytest.importorskip("lowd._native", reason="the native core is not built")
from lowd.backends.native import Native  # noqa: E402 - only where it is built

PLAIN, FAST = Reference(), Native(threads=2)
TYPES = [np.float64, np.float32]
typed = pytest.mark.parametrize("kind", TYPES, ids=["float64", "float32"])
SHAPES = [(1, 1), (2, 3), (7, 1), (5, 31), (33, 7), (64, 64), (65, 33), (100, 129), (259, 300)]
shaped = pytest.mark.parametrize("shape", SHAPES, ids=str)
EPS = {t: float(np.finfo(t).eps) for t in TYPES}
PARAMS = {
    "dot": (0.5,),
    "poly": (0.1, 1.0, 3.0),
    "sigmoid": (0.1, 0.5),
    "sqeuclidean": (2.0,),
    "euclidean": (0.5,),
    "rbf": (0.3,),
    "rbfm1": (0.3,),
    "laplacian": (0.3,),
    "minkowski": (3.0,),
}
VARIANTS = [(measure, PARAMS.get(measure, ())) for measure in MEASURES] + [
    ("poly", (0.2, 30.0, 2.5)),
    ("minkowski", (1.0,)),
    ("minkowski", (1.5,)),
    ("minkowski", (2.0,)),
    ("rbf", (1e-12,)),
    ("rbf", (1e4,)),
    ("rbfm1", (1e-12,)),
]
measured = pytest.mark.parametrize(("measure", "params"), VARIANTS, ids=str)


def data(n, d, kind, seed=0):
    return np.ascontiguousarray(rows_like(n, d, seed, kind))


def sparse(shape, density, kind, rng):
    A = random_array(shape, density=density, rng=rng, dtype=np.float64)
    return csr_array(A.astype(kind))


def near(actual, expected, kind, factor=20.0):
    """Equal up to rounding of the type, relative to the largest entry."""
    actual, expected = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    size = np.abs(expected).max(initial=0)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=factor * EPS[kind] * size + 1e-300)


def test_all_operations_are_tested():
    names = {name for name, _ in inspect.getmembers(Backend, inspect.isfunction) if name[0] != "_"}
    here = Path(__file__).parent
    text = "".join(file.read_text() for file in sorted(here.glob("test_*operations.py")))
    for name in names:
        assert f"ops.{name}(" in text or f"FAST.{name}(" in text, name
        assert callable(getattr(FAST, name))
        assert callable(getattr(PLAIN, name))


@shaped
@typed
@pytest.mark.parametrize("weighted", [False, True])
def test_column_statistics(shape, kind, weighted, rng):
    X = data(*shape, kind)
    weights = rng.random(shape[0]) if weighted else None
    fast, plain = FAST.column_statistics(X, weights), PLAIN.column_statistics(X, weights)
    assert fast.first_nonfinite is plain.first_nonfinite is None
    assert fast.max_abs == plain.max_abs
    near(fast.sums, plain.sums, np.float64)


@typed
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("entry", [(0, 0), (40, 17), (99, 32)])
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


@typed
@pytest.mark.parametrize("n", [1, 2, 7, 33, 130, 259])
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


@shaped
@typed
@pytest.mark.parametrize("weighted", [False, True])
def test_moments(shape, kind, weighted, rng):
    X = data(*shape, kind)
    weights = rng.random(shape[0]) if weighted else None
    mean = np.average(X.astype(np.float64), axis=0, weights=weights)
    fast, plain = (
        FAST.scatter(X, mean, weights).moments(),
        PLAIN.scatter(X, mean, weights).moments(),
    )
    assert fast.weight == pytest.approx(plain.weight)
    assert fast.scatter.dtype == np.float64
    near(fast.scatter, plain.scatter, kind)
    same_bits(fast.scatter, fast.scatter.T)


@typed
@pytest.mark.parametrize("offset", [0, 1e3, 1e6])
def test_moments_far_from_the_origin(kind, offset):
    X = (data(500, 20, np.float64) + offset).astype(kind)
    mean = X.mean(0, dtype=np.float64)
    centered = X - mean
    near(FAST.scatter(X, mean, None).moments().scatter, centered.T @ centered, kind)
    # Around a center that is not quite the mean, too.
    off = mean + 1e-3
    near(FAST.scatter(X, off, None).moments().scatter, (X - off).T @ (X - off), kind)


def check_scatter_matmul(shape, kind, weighted, width, rng):
    X = data(*shape, kind)
    weights = rng.random(shape[0]) if weighted else None
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


@shaped
@typed
@pytest.mark.parametrize("weighted", [False, True])
def test_scatter_matmul(shape, kind, weighted, rng):
    for width in (1, 8, 13, 40):
        check_scatter_matmul(shape, kind, weighted, width, rng)


def check_project(shape, kind, width, rng):
    X = data(*shape, kind)
    W = rng.normal(size=(shape[1], width)).astype(kind)
    shift, bias = X.mean(0, dtype=np.float64), rng.normal(size=width)
    for parts in ((None, None), (shift, None), (None, bias), (shift, bias)):
        fast, plain = (ops.project(X, parts[0], W, parts[1]) for ops in (FAST, PLAIN))
        assert fast.dtype == kind
        near(fast, plain, kind, 20 + shape[1])


@shaped
@typed
def test_project(shape, kind, rng):
    for width in (1, 2, 5, 16, 17, 50, 70):
        check_project(shape, kind, width, rng)


@typed
@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_project_far_from_the_origin(kind, offset, rng):
    """(X - mu) W, never X W - mu W."""
    X = (data(200, 20, np.float64) + offset).astype(kind)
    W, shift = rng.normal(size=(20, 3)).astype(kind), X.mean(0, dtype=np.float64)
    near(FAST.project(X, shift, W), (X - shift) @ W, kind, 50)


def check_project_on_sparse_directions(shape, kind, density, rng):
    X = data(*shape, kind)
    C = sparse((23, shape[1]), density, kind, rng)
    fast, plain = FAST.project(X, None, C), PLAIN.project(X, None, C)
    assert fast.dtype == kind
    near(fast, plain, kind, 20 + shape[1])


@shaped
@typed
def test_project_on_sparse_directions(shape, kind, rng):
    for density in (0.05, 0.5, 1.0):
        check_project_on_sparse_directions(shape, kind, density, rng)


@typed
def test_project_of_very_wide_rows(kind, rng):
    X = np.ascontiguousarray(rng.normal(size=(3, 300_001)).astype(kind))
    C = sparse((9, 300_001), 1e-3, kind, rng)
    near(FAST.project(X, None, C), PLAIN.project(X, None, C), kind, 100)
    W = rng.normal(size=(300_001, 2)).astype(kind)
    near(FAST.project(X, None, W), X.astype(np.float64) @ W, kind, 3000)


def check_pairwise(measure, params, kind, shape):
    m, n, d = shape
    Q, X = data(m, d, kind, 1), data(n, d, kind, 2)
    if MEASURES[measure] == "difference" and measure in ("hamming", "jaccard"):
        Q, X = (np.round(A).astype(kind) % 3 for A in (Q, X))
    if measure == "poly":
        Q, X = np.abs(Q), np.abs(X)  # a fractional power needs a positive base
    center = _middle(X, measure)
    fast, plain = (ops.pairwise(Q, X, measure, params, center) for ops in (FAST, PLAIN))
    assert fast.dtype == kind
    assert fast.shape == (m, n)
    np.testing.assert_allclose(
        fast, plain, rtol=200 * EPS[kind], atol=200 * EPS[kind] * _unit(plain)
    )
    same_bits(FAST.pairwise(Q, X, measure, params, center), fast)


@measured
@typed
def test_pairwise(measure, params, kind):
    for shape in ((1, 1, 1), (3, 5, 2), (33, 65, 31), (70, 40, 129), (17, 300, 8)):
        check_pairwise(measure, params, kind, shape)


def _middle(X, measure):
    """What the rows are seen from, by the measures that look from somewhere."""
    return (
        X.mean(0, dtype=np.float64) if MEASURES[measure] == "square" or measure == "dot" else None
    )


def _unit(A):
    return min(1.0, float(np.abs(A).max())) + 1e-300


def check_symmetric_pairwise_has_the_bits_of_the_general_one(measure, params, kind, n):
    X = np.abs(data(n, 19, kind))
    if measure in ("hamming", "jaccard"):
        X = np.round(X).astype(kind) % 3
    center = _middle(X, measure)
    half = FAST.pairwise(X, X, measure, params, center)
    same_bits(half, half.T)
    same_bits(FAST.pairwise(X.copy(), X, measure, params, center), half)
    exact = {"rbf": 1, "laplacian": 1, "dot": None, "poly": None, "sigmoid": None}.get(measure, 0)
    if exact is not None:
        assert (np.diagonal(half) == exact).all()


@measured
@typed
def test_symmetric_pairwise_has_the_bits_of_the_general_one(measure, params, kind):
    for n in (1, 2, 31, 64, 130):
        check_symmetric_pairwise_has_the_bits_of_the_general_one(measure, params, kind, n)


@typed
@pytest.mark.parametrize("offset", [0, 1e3, 1e6])
@pytest.mark.parametrize("centered", [True, False])
def test_close_pairs_lose_no_digits(kind, offset, centered, rng):
    """Distances of rounded rows, far from the origin, as float64 computes them; equal rows: 0."""
    X = rng.normal(size=(60, 17))
    X = np.vstack([X, X + 1e-4 * rng.normal(size=X.shape), X])
    X = np.ascontiguousarray((X + offset).astype(kind))
    exact = ((X[:, None].astype(np.float64) - X.astype(np.float64)) ** 2).sum(2)
    center = X.mean(0, dtype=np.float64) if centered else None
    D = FAST.pairwise(X, X, "sqeuclidean", (1.0,), center)
    assert (D[exact == 0] == 0).all()
    assert (D >= 0).all()
    np.testing.assert_allclose(D, exact, rtol=2e-5 if kind == np.float32 else 1e-12)
    # Hence the order of neighbors is right, too.
    order = np.take_along_axis(exact, np.argsort(D, axis=1, kind="stable"), 1)
    assert (np.diff(order, axis=1) >= -4e-5 * order[:, 1:]).all()


@typed
def test_exponentials_are_good_to_the_last_digits(kind):
    """rbf and rbfm1 against NumPy in float64, over the whole range of arguments."""
    d2 = np.concatenate([[0], np.logspace(-12, 2.8, 400)])
    Q, X = np.sqrt(d2)[:, None].astype(kind), np.zeros((1, 1), kind)
    exact = Q.astype(np.float64)[:, 0] ** 2
    for measure, function in (("rbf", np.exp), ("rbfm1", np.expm1)):
        found = FAST.pairwise(Q, X, measure, (1.0,), None)[:, 0].astype(np.float64)
        expected = function(-exact)
        tiny = np.finfo(kind).tiny
        keep = np.abs(expected) > 4 * tiny
        error = np.abs(found - expected)[keep] / np.abs(expected[keep])
        # The rounding of an argument of 90 is worth that many roundings of the result.
        assert error.max() < (180 if measure == "rbf" else 8) * EPS[kind]
        assert (found[~keep] <= 4 * tiny).all()
        assert found[0] == function(0.0)


@typed
@pytest.mark.parametrize("half_square", [False, True])
@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (5, 7, 2), (33, 65, 8), (300, 259, 17), (40, 1030, 3)]
)
def test_matmul(kind, half_square, shape, rng):
    m, n, b = shape
    A, V = rng.normal(size=(m, n)).astype(kind), rng.normal(size=(n, b)).astype(kind)
    fast, plain = (ops.matmul(A, V, half_square=half_square) for ops in (FAST, PLAIN))
    assert fast.dtype == np.float64
    size = np.abs(A).max() ** (1 + half_square) * np.abs(V).sum(0).max()
    np.testing.assert_allclose(fast, plain, rtol=0, atol=4 * EPS[kind] * size)


@pytest.mark.parametrize("ops", [FAST, PLAIN], ids=["native", "reference"])
@pytest.mark.parametrize("sparse", [False, True])
def test_three_term_recurrence(ops, sparse, rng):
    A, V, U = rng.normal(size=(3, 40, 40))
    found = ops.matmul(csr_array(A) if sparse else A, V, alpha=2.0, beta=-0.5, gamma=3.0, U=U)
    np.testing.assert_allclose(found, 2 * A @ V - 0.5 * V + 3 * U, atol=1e-12)


@typed
@pytest.mark.parametrize(
    ("d", "padded"), [(1, 1), (2, 2), (3, 4), (8, 8), (31, 32), (100, 128), (784, 1024)]
)
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
    dense, mean = S.toarray(), S.toarray().mean(0, dtype=np.float64)
    near(FAST.column_statistics(S).sums, PLAIN.column_statistics(dense).sums, kind)
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
    assert ops.column_statistics(S).sums == pytest.approx(dense.sum(0), rel=1e-14)
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


def _calls(X, rng):
    """One call of each native function that cuts its work into blocks: name -> bits."""
    kind, (n, d) = X.dtype, X.shape
    mean, weights = X.mean(0, dtype=np.float64), rng.random(n)
    V, wide = (rng.normal(size=(d, k)).astype(kind) for k in (8, 70))
    padded = 1 << (d - 1).bit_length()
    rows, signs = np.arange(0, padded, 2), np.ones(d, kind)
    C = sparse((30, d), 0.1, kind, rng)

    def all_of(ops):
        yield "column_statistics", ops.column_statistics(X, weights).sums
        yield "moments", ops.scatter(X, mean, weights).moments().scatter
        yield "scatter_matmul", ops.scatter(X, mean, weights).matmul(V)[0]
        yield "trace", np.array(ops.scatter(X, mean, weights).matmul(V)[1])
        yield "project", ops.project(X, mean, wide)
        yield "thin project", ops.project(X, mean, V)
        yield "sparse project", ops.project(X, None, C)
        yield "hadamard", ops.project(X, None, HadamardMatrix(signs, rows, padded, 1.0))
        A = X[:1100]
        yield (
            "symmetry",
            np.array(ops.check_symmetry(A[:, :300] if d >= 1100 else A @ A.T).asymmetry),
        )
        for measure in MEASURES:
            yield measure, ops.pairwise(X[:500], X[:700], measure, PARAMS.get(measure, ()), None)
        K = ops.pairwise(A, A, "euclidean", (1.0,), mean)
        yield "euclidean, symmetric", K
        yield "times", ops.matmul(K, np.ascontiguousarray(K[:, :5]), half_square=True)

    return all_of


@typed
def test_the_same_bits_for_any_number_of_threads(kind, rng):
    all_of = _calls(data(4000, 130, kind), rng)
    one = dict(all_of(Native(threads=1)))
    for threads in (2, 5, 13):
        for name, bits in all_of(Native(threads=threads)):
            np.testing.assert_array_equal(bits, one[name], err_msg=name)


@typed
@pytest.mark.parametrize("d", [1, 7, 33, 130])
def test_a_rows_bits_do_not_depend_on_its_batch(kind, d, rng):
    X = data(67, d, kind)
    mean = X.mean(0, dtype=np.float64)
    padded = 1 << (d - 1).bit_length()
    rows, signs = np.arange(padded), np.ones(d, kind)
    C = sparse((30, d), 0.3, kind, rng)
    Ws = [rng.normal(size=(d, k)).astype(kind) for k in (1, 2, 8, 16, 17, 70)]
    targets = data(45, d, kind, 5)
    maps = [
        *(lambda Q, W=W: FAST.project(Q, mean, W) for W in Ws),
        lambda Q: FAST.project(Q, None, C),
        lambda Q: FAST.project(Q, None, HadamardMatrix(signs, rows, padded, 0.5)),
        *(
            lambda Q, m=m: FAST.pairwise(Q, targets, m, PARAMS.get(m, ()), None)
            for m in MEASURES
            if m != "poly"
        ),
    ]
    for apply in maps:
        whole = apply(X)
        for cut in (slice(0, 1), slice(66, 67), slice(3, 5), slice(10, 43), slice(1, 67)):
            same_bits(apply(np.ascontiguousarray(X[cut])), whole[cut])


@typed
def test_rows_may_be_apart_and_read_only(kind, rng):
    """Rows with any distance between them; nothing is written but `out`."""
    wide = data(50, 40, kind)
    apart = wide[::2, 3:20]
    apart.setflags(write=False)
    tight = np.ascontiguousarray(apart)
    W = rng.normal(size=(17, 3)).astype(kind)
    W.setflags(write=False)
    found = []
    for X in (apart, tight):
        out, sums, D = np.empty((25, 3), kind), np.empty(17), np.empty((25, 25), kind)
        _native.project(X, None, W, None, out, 2)
        _native.column_sums(X, None, sums, 2)
        _native.pairwise(X, X, "rbf", (0.1,), None, False, D, 2)
        found.append((out, sums, D))
    for a, b in zip(*found, strict=True):
        same_bits(a, b)
    box = np.zeros((25, 10), kind)
    _native.project(apart, None, W, None, box[:, 2:5], 2)  # an output may be part of an array
    same_bits(box[:, 2:5], found[0][0])
    assert (box[:, :2] == 0).all()
    assert (box[:, 5:] == 0).all()


def test_wrong_types_and_shapes_are_refused_not_converted():
    X, W, out = np.ones((4, 3)), np.ones((3, 2)), np.zeros((4, 2))
    _native.project(X, None, W, None, out, 1)
    for bad in (X.astype(np.float32), X.astype(int), X.tolist(), X[0]):
        with pytest.raises(TypeError):
            _native.project(bad, None, W, None, out, 1)
    with pytest.raises(TypeError):
        _native.project(X, None, W, None, out.astype(np.float32), 1)
    for bad in (np.asfortranarray(np.ones((4, 3))), np.ones((4, 6))[:, ::2]):
        with pytest.raises(ValueError, match="contiguous"):
            _native.project(bad, None, W, None, out, 1)
    for arguments in (
        (np.ones((4, 5)), None, W, None, out),
        (X, np.ones(2), W, None, out),
        (X, None, W, np.ones(3), out),
        (X, None, W, None, np.zeros((3, 2))),
    ):
        with pytest.raises(ValueError, match=r"must|expected"):
            _native.project(*arguments, 1)
    with pytest.raises(ValueError, match="measure"):
        _native.pairwise(X, X, "taxicab", (), None, False, np.zeros((4, 4)), 1)
    read_only = np.zeros((4, 2))
    read_only.setflags(write=False)
    with pytest.raises((TypeError, ValueError)):
        _native.project(X, None, W, None, read_only, 1)


@typed
def test_whole_numbers_among_parameters_are_numbers(kind):
    """(gamma, 1, 2) once left the output unwritten: the arrays had been converted on the way."""
    X = data(20, 4, kind)
    expected, found = (np.full((20, 20), np.nan, kind) for _ in range(2))
    _native.pairwise(X, X, "poly", (0.5, 1.0, 2.0), None, False, expected, 1)
    _native.pairwise(X, X, "poly", (0.5, 1, 2), None, False, found, 1)
    same_bits(found, expected)
    out, doubled = np.full((20, 4), np.nan, kind), np.full((20, 4), np.nan, kind)
    rows, signs = np.arange(4), np.ones(4, kind)
    _native.hadamard(X, signs, rows, 4, 2.0, out, 1)
    _native.hadamard(X, signs, rows, 4, 2, doubled, 1)
    same_bits(doubled, out)
    scatter, again = np.full((4, 4), np.nan), np.full((4, 4), np.nan)
    _native.scatter(X, None, np.zeros(4), 1.0, scatter, 1)
    _native.scatter(X, None, np.zeros(4), 1, again, 1)
    same_bits(again, scatter)


def test_levels_of_this_machine():
    assert _native.cpu_level() in _native.cpu_levels()
    assert _native.cpu_levels()[0] == "base"


_AT_LEVEL = """
import sys
sys.path[:0] = sys.argv[2:]
import numpy as np
import test_operations as t
from lowd import _native
assert _native.cpu_level() == sys.argv[1], _native.cpu_level()
for kind in t.TYPES:
    for shape in t.SHAPES:
        for weighted in (False, True):
            rng = np.random.default_rng(0)
            t.test_column_statistics(shape, kind, weighted, rng)
            t.test_moments(shape, kind, weighted, rng)
            for width in (1, 8, 13):
                t.check_scatter_matmul(shape, kind, weighted, width, rng)
        for width in (1, 5, 17, 50):
            t.check_project(shape, kind, width, rng)
        t.check_project_on_sparse_directions(shape, kind, 0.5, rng)
    for measure, params in t.VARIANTS:
        t.check_pairwise(measure, params, kind, (33, 65, 31))
        t.check_symmetric_pairwise_has_the_bits_of_the_general_one(measure, params, kind, 31)
    for d in (7, 33):
        t.test_a_rows_bits_do_not_depend_on_its_batch(kind, d, rng)
    t.test_close_pairs_lose_no_digits(kind, 1e3, True, rng)
    t.test_exponentials_are_good_to_the_last_digits(kind)
    t.test_hadamard(kind, 100, 128, rng)
    t.test_matmul(kind, True, (300, 259, 17), rng)
    t.test_symmetry(kind, 33, rng)
    t.test_the_same_bits_for_any_number_of_threads(kind, rng)
print("good")
"""


@pytest.mark.parametrize("level", _native.cpu_levels())
def test_every_level(level):
    """The same tests in a fresh interpreter, with each level this CPU has."""
    here = os.path.dirname(__file__)
    run = subprocess.run(
        [sys.executable, "-c", _AT_LEVEL, level, here, os.path.dirname(here)],
        env={**os.environ, "LOWD_CPU_LEVEL": level},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.stdout.strip() == "good", run.stderr


def test_an_unknown_level_is_no_level():
    script = "from lowd import _native; print(_native.cpu_level())"
    run = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "LOWD_CPU_LEVEL": "v9"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.stdout.strip() == _native.cpu_levels()[-1] or "v9" in run.stderr
