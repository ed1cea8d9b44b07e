"""Bits of native calls: for any threads, batch and strides; and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import kernels
from cases import same_bits
from kernels import MEASURES
from lowd import _native
from lowd.methods.random_projection import project_sparsely
from operands import PARAMS, data, sparse, typed


def _calls(X, rng):
    """One call of each native function that cuts its work into blocks: name -> bits."""
    kind, (n, d) = X.dtype, X.shape
    mean, weights = X.mean(0, dtype=np.float64), rng.random(n)
    V, wide = (rng.normal(size=(d, k)).astype(kind) for k in (8, 70))
    padded = 1 << (d - 1).bit_length()
    rows, signs = np.arange(0, padded, 2), np.ones(d, kind)

    def all_of(threads):
        how = {"threads": threads}
        yield "column_sums", kernels.column_means(X, weights, **how)[0]
        yield "scatter", kernels.scatter(X, weights, mean, **how)
        yield "scatter_matmul", kernels.scatter_matmul(X, weights, mean, V, **how)[0]
        yield "trace", np.array(kernels.scatter_matmul(X, weights, mean, V, **how)[1])
        yield "project", kernels.project(X, mean, wide, **how)
        yield "thin project", kernels.project(X, mean, V, **how)
        yield "hadamard", kernels.hadamard(X, signs, rows, padded, 1.0, **how)
        A = X[:1100]
        for measure in MEASURES:
            given = X[:500], X[:700], measure, PARAMS.get(measure, ())
            yield measure, kernels.pairwise(*given, **how)
        K = kernels.pairwise(A, A, "euclidean", (1.0,), mean, **how)
        yield "euclidean, symmetric", K
        yield "matmul", kernels.matmul(K, np.ascontiguousarray(K[:, :5]), True, **how)

    return all_of


@typed
def test_the_same_bits_for_any_number_of_threads(kind, rng):
    all_of = _calls(data(4000, 130, kind), rng)
    one = dict(all_of(1))
    for threads in (2, 5, 13):
        for name, bits in all_of(threads):
            np.testing.assert_array_equal(bits, one[name], err_msg=name)


@typed
@pytest.mark.parametrize("d", [1, 33, 130])
def test_a_rows_bits_do_not_depend_on_its_batch(kind, d, rng):
    X = data(67, d, kind)
    mean = X.mean(0, dtype=np.float64)
    padded = 1 << (d - 1).bit_length()
    rows, signs = np.arange(padded), np.ones(d, kind)
    C = sparse((30, d), 0.3, kind, rng)
    Ws = [rng.normal(size=(d, k)).astype(kind) for k in (1, 2, 8, 16, 17, 70)]
    targets = data(45, d, kind, 5)
    maps = [
        *(lambda Q, W=W: kernels.project(Q, mean, W) for W in Ws),
        lambda Q: project_sparsely(Q, C),
        lambda Q: kernels.hadamard(Q, signs, rows, padded, 0.5),
        *(
            lambda Q, m=m: kernels.pairwise(Q, targets, m, PARAMS.get(m, ()))
            for m in MEASURES
            if m != "poly"
        ),
    ]
    for apply in maps:
        whole = apply(X)
        for cut in (slice(0, 1), slice(66, 67), slice(3, 5), slice(10, 43), slice(1, 67)):
            same_bits(apply(np.ascontiguousarray(X[cut])), whole[cut])


@typed
def test_few_columns_of_a_product_do_not_depend_on_the_others(kind, rng):
    """They are computed in groups of 8, and what remains in narrower ones."""
    X, W = data(150, 53, kind), rng.normal(size=(53, 16)).astype(kind)
    mean = X[0].astype(float)
    alone = [kernels.project(X, mean, np.ascontiguousarray(W[:, [j]])) for j in range(16)]
    for k in (3, 8, 9, 10, 11, 12, 13, 16):
        whole = kernels.project(X, mean, np.ascontiguousarray(W[:, :k]))
        same_bits(whole, np.hstack(alone[:k]))


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
        _native.column_sums(X, None, sums, None, 0, None, 2)
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


@pytest.mark.parametrize("width", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("indptr", "indices"),
    [
        ([0, 2, 3], [0, 4, 1]),
        ([0, 2, 3], [0, 2**31 - 1, 1]),
        ([0, 2, 3], [0, -1, 1]),
        ([0, 2, 3], [0, -(2**31), 1]),
        ([0, 5, 3], [0, 1, 2]),
        ([0, -1, 3], [0, 1, 2]),
        ([1, 2, 3], [0, 1, 2]),
        ([0, 2, 4], [0, 1, 2]),
    ],
)
def test_a_sparse_product_refuses_indices_beyond_its_arrays(indptr, indices, width):
    csr = np.array(indptr, width), np.array(indices, width), np.ones(3)
    V, out = np.ones((4, 2)), np.zeros((2, 2))
    with pytest.raises(ValueError, match="indices"):
        _native.sparse_matmul(*csr, V, 1.0, 0.0, None, 0.0, out, 1)
    right = np.array([0, 2, 3], width), np.array([0, 3, 1], width), np.ones(3)
    _native.sparse_matmul(*right, V, 1.0, 0.0, None, 0.0, out, 1)
    np.testing.assert_array_equal(out, [[2, 2], [1, 1]])


MANY = 2**31


def _repeated(rows, columns, dtype=np.float64):
    """One number as a matrix of any size."""
    return np.broadcast_to(np.zeros((1, 1), dtype), (rows, columns))


@typed
def test_more_rows_than_the_core_can_number_are_refused(kind):
    """No array of such a size is made: all its entries are one number in memory."""
    few, many = np.zeros((1, 1), kind), _repeated(MANY, 1, kind)
    ids, numbers, center = np.zeros((1, 1), np.int32), np.zeros((1, 1)), np.zeros(1)
    how = True, 1.0, 1.0
    wide = np.lib.stride_tricks.as_strided(few, (1, MANY), (few.itemsize, few.itemsize))
    short = np.lib.stride_tricks.as_strided(ids, (1, MANY), (4, 4))
    many32 = _repeated(MANY, 1, np.float32)
    index = _native.neighbor_index(few, np.zeros((1, 1), np.float32), center, 1.0, 0.0, 1)
    for call in (
        lambda: index.query(many, many32, *how, ids, numbers, 1),
        lambda: _native.nearest(few, many, False, *how, ids, numbers, 1),
        lambda: _native.neighbor_index(many, many32, center, 1.0, 0.0, 1),
        lambda: _native.ranks(many, center, 1.0, np.zeros(1, int), *how, ids, ids.copy(), 1),
        lambda: _native.select_smallest(wide, None, ids, numbers, 1),
        lambda: _native.rank_rows(wide, np.zeros(1, int), short, 1),
    ):
        with pytest.raises(ValueError, match=r"2147483648 (rows|columns).*at most 2147483647"):
            call()


def test_more_points_than_the_core_can_number_are_refused():
    indptr = np.broadcast_to(np.int64(0), MANY + 1)
    none, values = np.zeros(0, np.int32), np.zeros(0)
    curve = 1.6, 0.9, 0.02
    for call in (
        lambda: _native.Descent(indptr, none, values, 2, "student", "grid"),
        lambda: _native.Layout(indptr, none, values, 2, curve, False, 0, None, 0.1, 1),
        lambda: _native.symmetrize(indptr, none, values, None, 1),
    ):
        with pytest.raises(ValueError, match=r"2147483648 points.*at most 2147483647"):
            call()


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
