"""Native kernels of linear algebra beside plain NumPy, over shapes and types."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

import kernels
import plain
from cases import same_bits
from lowd import _native
from lowd.methods.random_projection import project_sparsely
from operands import EPS, data, near, shaped_and_typed, sparse, typed


def test_every_kernel_is_tested():
    tests = Path(__file__).parents[1]
    files = [*tests.glob("*.py"), *tests.glob("native/*.py"), *tests.glob("spaces/*.py")]
    text = "".join(path.read_text("utf-8") for path in [*files, *tests.glob("methods/*.py")])
    # By functions that add nothing to a kernel: of neighbors, and of the embedding methods.
    through = {"CandidateLists32", "CandidateLists64", "NeighborIndex32", "NeighborIndex64"}
    through |= {"attractive_loss", "conditional_probabilities"}
    through |= {"cross_term", "fuzzy_memberships", "layout_new_points", "layout_repulsion"}
    through |= {"nearest", "neighbor_index", "optimize_new_points", "pair_sums"}
    through |= {"partition_function", "ranks", "symmetrize"}
    names = {name for name in dir(_native) if not name.startswith("__")}
    missing = {name for name in names - through if not re.search(rf"_native\.{name}\b", text)}
    assert not missing


@shaped_and_typed
def test_column_sums(shape, kind, rng):
    X = data(*shape, kind)
    for weights in (None, rng.random(shape[0])):
        mean, largest = kernels.column_means(X, weights)
        assert largest == np.abs(X).max()
        near(mean, np.average(X.astype(np.float64), axis=0, weights=weights), np.float64)


def test_numbers_whose_sum_overflows_are_finite():
    X = np.full((10, 2), 1e308)
    assert kernels.column_means(X)[1] == 1e308


@shaped_and_typed
def test_scatter(shape, kind, rng):
    X = data(*shape, kind)
    for weights in (None, rng.random(shape[0])):
        mean = np.average(X.astype(np.float64), axis=0, weights=weights)
        found = kernels.scatter(X, weights, mean)
        near(found, plain.weighted_scatter(X, weights, mean), kind)
        same_bits(found, found.T)
        near(kernels.scatter(X, weights, mean, 0.5), found / 4, kind)


@typed
def test_scatter_far_from_the_origin(kind):
    X = (data(500, 20, np.float64) + 1e6).astype(kind)
    mean = X.mean(0, dtype=np.float64)
    near(kernels.scatter(X, None, mean), plain.weighted_scatter(X, None, mean), kind)
    # Around a center that is not quite the mean, too.
    off = mean + 1e-3
    near(kernels.scatter(X, None, off), plain.weighted_scatter(X, None, off), kind)


def check_scatter_matmul(shape, kind, weights, width, rng):
    X = data(*shape, kind)
    mean = np.average(X.astype(np.float64), axis=0, weights=weights)
    V = rng.normal(size=(shape[1], width)).astype(kind)
    found, trace = kernels.scatter_matmul(X, weights, mean, V)
    S = plain.weighted_scatter(X, weights, mean)
    size = max(np.abs(S @ V).max(), np.trace(S) * np.abs(V).max())
    np.testing.assert_allclose(found, S @ V, rtol=0, atol=50 * EPS[kind] * size + 1e-300)
    assert trace == pytest.approx(np.trace(S), rel=50 * EPS[kind], abs=1e-300)


@shaped_and_typed
def test_scatter_matmul(shape, kind, rng):
    for width in (1, 8, 13, 40):
        check_scatter_matmul(shape, kind, None, width, rng)
        check_scatter_matmul(shape, kind, rng.random(shape[0]), width, rng)


def check_project(shape, kind, width, rng):
    X = data(*shape, kind)
    W = rng.normal(size=(shape[1], width)).astype(kind)
    shift, bias = X.mean(0, dtype=np.float64), rng.normal(size=width)
    for s, b in ((None, None), (shift, None), (None, bias), (shift, bias)):
        expected = (X - (0.0 if s is None else s)) @ W.astype(np.float64)
        found = kernels.project(X, s, W, b)
        near(found, expected + (0.0 if b is None else b), kind, 20 + shape[1])


@shaped_and_typed
def test_project(shape, kind, rng):
    for width in (1, 2, 5, 16, 17, 50, 70):
        check_project(shape, kind, width, rng)
    for density in (0.05, 0.5, 1.0):
        X, C = data(*shape, kind), sparse((23, shape[1]), density, kind, rng)
        expected = X.astype(np.float64) @ C.toarray().T.astype(np.float64)
        near(project_sparsely(X, C), expected, kind, 20 + shape[1])


@typed
def test_project_far_from_the_origin(kind, rng):
    """(X - mu) W, never X W - mu W."""
    X = (data(200, 20, np.float64) + 1e6).astype(kind)
    W, shift = rng.normal(size=(20, 3)).astype(kind), X.mean(0, dtype=np.float64)
    near(kernels.project(X, shift, W), (X - shift) @ W, kind, 50)


@typed
def test_project_of_very_wide_rows(kind, rng):
    X = np.ascontiguousarray(rng.normal(size=(3, 300_001)).astype(kind))
    C = sparse((9, 300_001), 1e-3, kind, rng)
    near(project_sparsely(X, C), (C.astype(np.float64) @ X.T.astype(np.float64)).T, kind, 100)
    W = rng.normal(size=(300_001, 2)).astype(kind)
    near(kernels.project(X, None, W), X.astype(np.float64) @ W, kind, 3000)


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
    B = A.astype(np.float64)
    expected = (-0.5 * B * B if half_square else B) @ V
    size = np.abs(A).max() ** (1 + half_square) * np.abs(V).sum(0).max()
    found = kernels.matmul(A, V, half_square)
    np.testing.assert_allclose(found, expected, rtol=0, atol=4 * EPS[kind] * size)


@pytest.mark.parametrize(
    ("width", "index"), [*((width, np.int32) for width in (1, 8, 13, 40)), (8, np.int64)]
)
def test_sparse_matmul(width, index, rng):
    A = csr_array(random_array((700, 700), density=0.02, rng=rng))
    A.indices, A.indptr = A.indices.astype(index), A.indptr.astype(index)
    V, U = rng.normal(size=(2, 700, width))
    for a, b, c in ((1.0, 0.0, 0.0), (-2.0, 0.5, 0.0), (2.0, -0.5, -1.0)):
        expected = a * (A @ V) + b * V + c * U
        found = kernels.sparse_matmul(A, V, a, b, U if c else None, c)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.abs(expected).max())
    wide = csr_array(random_array((90, 700), density=0.1, rng=rng))
    np.testing.assert_allclose(kernels.sparse_matmul(wide, V), wide @ V, rtol=0, atol=1e-12)


@typed
@pytest.mark.parametrize(("d", "padded"), [(1, 1), (3, 4), (31, 32), (784, 1024)])
def test_hadamard(kind, d, padded, rng):
    X = data(37, d, kind)
    signs = np.where(rng.random(d) < 0.5, -1, 1).astype(kind)
    rows = np.sort(rng.permutation(padded)[: max(1, padded // 2)]).astype(np.int64)
    found = kernels.hadamard(X, signs, rows, padded, 0.25)
    near(found, plain.transform(X, signs, rows, padded, 0.25), kind, 20 + padded**0.5)
