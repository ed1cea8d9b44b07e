"""The native kernels of graphs beside SciPy, and what they promise."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

import kernels
import plain
from cases import same_bits
from lowd import _native
from operands import typed

patches = pytest.mark.parametrize("how", ["ltsa", "hessian", "modified"])


def roll(n, rng, kind=np.float64, d=3):
    t = 1.5 * np.pi * (1 + 2 * rng.random(n))
    X = np.column_stack([t * np.cos(t), 21 * rng.random(n), t * np.sin(t)])
    return np.ascontiguousarray(X @ np.linalg.qr(rng.normal(size=(d, 3)))[0].T, kind)


def lists(of):
    starts = np.concatenate([[0], np.cumsum([len(one) for one in of])])
    return starts.astype(np.int64), np.concatenate([*of, []]).astype(np.int32)


def singletons(nodes):
    return np.arange(len(nodes) + 1), np.asarray(nodes, np.int32)


def near_rows(X, k, itself):
    """Lists of the k nearest others, of different lengths; the row itself first or left out."""
    order = np.argsort(cdist(X, X), axis=1, kind="stable")
    order = [row[row != i] for i, row in enumerate(order)]
    return lists([np.append([i] * itself, row[: k + i % 3]) for i, row in enumerate(order)])


def graph_of(X, k):
    """Symmetric; two of the edges are of length 0, and stored."""
    D = cdist(X, X)
    near = np.zeros(D.shape, bool)
    np.put_along_axis(near, np.argsort(D, axis=1)[:, 1 : k + 1], True, 1)
    near |= near.T
    rows, columns = np.nonzero(near)
    lengths = D[rows, columns]
    for a in (0, len(X) - 1):
        b = columns[rows == a][0]
        lengths[((rows == a) & (columns == b)) | ((rows == b) & (columns == a))] = 0
    starts = np.concatenate([[0], np.cumsum(near.sum(1))])
    return csr_array((lengths.astype(X.dtype), columns, starts), shape=D.shape)


@pytest.mark.parametrize(
    ("n", "d", "k", "kind"),
    [
        *((2, 2, 1, np.float64), (50, 3, 4, np.float64)),
        *((400, 3, 6, np.float64), (400, 3, 6, np.float32)),
    ],
)
def test_paths(kind, n, d, k, rng):
    graph = graph_of(roll(n, rng, kind, max(d, 3)), k)
    G = plain.paths(graph)
    for sources in (np.arange(n), np.arange(n)[::-3], np.array([n - 1]), np.zeros(40, int)):
        found = kernels.paths(graph, singletons(sources))
        np.testing.assert_allclose(found, G[sources], rtol=100 * np.finfo(kind).eps)
        assert (found[np.arange(len(sources)), sources] == 0).all()


@typed
def test_stored_zeros_are_edges_and_components_are_infinitely_far(kind):
    starts, ends = [0, 1, 3, 4, 5, 6], [1, 0, 2, 1, 4, 3]
    lengths = np.array([0, 0, 2, 2, 1, 1], kind)
    graph = csr_array((lengths, ends, starts), shape=(5, 5))
    D = kernels.paths(graph, singletons([0, 4]))
    np.testing.assert_array_equal(D, [[0, 0, 2, np.inf, np.inf], [np.inf, np.inf, np.inf, 1, 0]])


@typed
def test_paths_do_not_depend_on_the_order_of_nodes_or_sources(kind, rng):
    n = 500
    graph = graph_of(roll(n, rng, kind), 6)
    every = singletons(np.arange(n))
    D = kernels.paths(graph, every)
    p = rng.permutation(n)
    same_bits(kernels.paths(csr_array(graph[p][:, p]), every), D[p][:, p])
    same_bits(kernels.paths(graph, singletons(p[:77])), D[p[:77]])


@typed
def test_paths_after_a_first_step(kind, rng):
    """A source outside the graph is a node more, of which no path of the others makes use."""
    n = 200
    graph = graph_of(roll(n, rng, kind), 6)
    near = lists([rng.permutation(n)[:k] for k in (1, 3, 0, 9, 2)])
    steps = (20 * rng.random(len(near[1]))).astype(kind)
    steps[2] = 0
    D = kernels.paths(graph, near, steps)
    expected = plain.paths(graph, near, steps.astype(np.float64))
    np.testing.assert_allclose(D, expected, rtol=100 * np.finfo(kind).eps)
    assert np.isinf(D[2]).all()
    same_bits(kernels.paths(graph, (near[0][3:5] - 4, near[1][4:13]), steps[4:13]), D[3:4])


@pytest.mark.parametrize(
    ("kind", "n"),  # pairs that face each other in a ring, or not
    [*((np.float64, n) for n in (2, 3, 64, 701)), (np.float32, 99)],
)
def test_products_with_geodesic_distances(kind, n, rng):
    graph = graph_of(roll(n, rng, kind), min(6, n - 1))
    G = plain.paths(graph)
    for width in (1, 8, 11):
        V = rng.normal(size=(n, width))
        limit = 100 * np.finfo(kind).eps * (0.5 * G**2 @ np.abs(V)).max()
        found = kernels.path_products(graph, V)
        np.testing.assert_allclose(found, -0.5 * G**2 @ V, rtol=0, atol=limit)


@typed
def test_paths_that_end_in_a_table_of_distances(kind, rng):
    G = rng.random((30, 137)).astype(kind)
    near = lists([rng.permutation(30)[:k] for k in (3, 1, 0, 7, 30)])
    lengths = rng.random(len(near[1])).astype(kind)
    out = kernels.min_plus(near, lengths, G)
    assert np.isinf(out[2]).all()
    for i in (0, 1, 3, 4):
        some = slice(*near[0][i : i + 2])
        same_bits(out[i], (lengths[some, None] + G[near[1][some]]).min(0))
    same_bits(kernels.min_plus((near[0][3:5] - 4, near[1][4:11]), lengths[4:11], G), out[3:4])


@pytest.mark.parametrize(
    ("d", "k", "reg", "kind"),
    [
        *((3, 5, 1e-3, np.float64), (3, 12, 1e-3, np.float64), (40, 7, 1e-3, np.float64)),
        *((40, 60, 1e-3, np.float64), (40, 60, 1e-6, np.float64), (40, 60, 1e-3, np.float32)),
        (40, 7, 0.0, np.float64),
    ],
)
def test_barycentric_weights(kind, d, k, reg, rng):
    X = rng.normal(size=(200, d)).astype(kind)
    near = near_rows(X, k, itself=False)
    found = kernels.barycentric_weights(X, X, near, reg)
    expected = plain.weights_of_lists(X, X, near, reg)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    np.testing.assert_allclose(np.add.reduceat(found, near[0][:-1]), 1, rtol=1e-12)


def test_barycentric_weights_of_the_book():
    """On a line and in a triangle; without regularization the weights rebuild exactly."""
    X, Q, near = np.array([[0.0], [1.0]]), np.array([[0.25]]), lists([[0, 1]])
    for reg, expected in ((1e-3, [0.749688, 0.250312]), (0.0, [0.75, 0.25])):
        found = kernels.barycentric_weights(Q, X, near, reg)
        np.testing.assert_allclose(found, expected, atol=1e-6)
    X, Q = np.array([[0.0, 0], [1, 0], [0, 1]]), np.array([[0.25, 0.25]])
    for reg, expected in ((1e-3, [0.499315, 0.250342, 0.250342]), (0.0, [0.5, 0.25, 0.25])):
        found = kernels.barycentric_weights(Q, X, lists([[0, 1, 2]]), reg)
        np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("reg", [0.0, 1e-16, 1e-3])
def test_barycentric_weights_are_finite_for_any_finite_rows(reg):
    X = np.array([[0.0, 0], [0, 0], [1, 0], [1e-300, 0], [1.7e308, -1.7e308]])
    near = lists([[0, 1], [0, 1, 2], [0, 3], [0, 2, 4], [0, 1, 2, 3, 4]])
    for q in (0.0, 1.0, 1e-310, 1e200, -1.7e308):
        w = kernels.barycentric_weights(np.full((5, 2), q), X, near, reg)
        assert np.isfinite(w).all()
        np.testing.assert_allclose(np.add.reduceat(w, near[0][:-1]), 1, rtol=1e-9)
    alone = kernels.barycentric_weights(X[:1], X, (near[0][:2], near[1][:2]), reg)
    np.testing.assert_array_equal(alone, [0.5, 0.5])


@typed
def test_alignment_of_tangent_spaces(kind, rng):
    n = 250
    X = roll(n, rng, kind, 8) + 0.3 * rng.normal(size=(n, 8)).astype(kind)
    near, counts = patches_for("ltsa", X, 16), rng.random(n) + 0.5
    M = kernels.alignment_matrix(X, near, "ltsa", 3, 1e-3, counts)
    expected = plain.ltsa(X, near, 3, counts)
    assert M.has_sorted_indices
    np.testing.assert_allclose(M.toarray(), expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def patches_for(how, X, k):
    """A patch of the last kind ends with the point it belongs to, the others begin with it."""
    indptr, members = near_rows(X, k, itself=True)
    if how == "modified":
        rolled = [np.roll(members[a:b], -1) for a, b in pairwise(indptr)]
        members = np.concatenate(rolled)
    return indptr, members


@patches
@pytest.mark.parametrize(("d", "k"), [(3, 1), (8, 3), (50, 4)])
def test_alignment_matrices_are_positive_and_annihilate_constants(how, d, k, rng):
    n = 250
    X = roll(n, rng, np.float64, d) + 0.3 * rng.normal(size=(n, d))
    M = kernels.alignment_matrix(X, patches_for(how, X, 16), how, k, 1e-3, rng.random(n) + 0.5)
    size = np.abs(M.data).max()
    same_bits(M.toarray(), M.T.toarray())
    np.testing.assert_allclose(M @ np.ones(n), 0, atol=1e-12 * size)
    assert np.linalg.eigvalsh(M.toarray())[0] > -1e-12 * size


@patches
def test_alignment_of_exactly_flat_data(how):
    """A lattice in a plane of R^5, with a corner where patches are nearly on a line."""
    grid = np.array([(i, j) for i in range(9) for j in range(9)], float)
    X = grid @ np.array([[1.0, 0, 2, -1, 0], [0, 1, 1, 3, 0]]) + 1e4
    M = kernels.alignment_matrix(X, patches_for(how, X, 9), how, 2, 1e-3, np.ones(len(X)))
    assert np.isfinite(M.data).all()
    size = np.abs(M.data).max()
    np.testing.assert_allclose(M @ np.ones(len(X)), 0, atol=1e-12 * size)
    if how != "modified":  # whose weights are regularized
        np.testing.assert_allclose(M @ grid, 0, atol=1e-9 * size)
        values = np.linalg.eigvalsh(M.toarray())
        assert abs(values[2]) < 1e-9 * size
        assert values[3] > 1e-7 * size


@patches
def test_alignment_of_rows_on_a_line_and_in_a_point(how, rng):
    """Fewer directions than tangents wanted: what is missing is no direction, not a random one."""
    line = np.outer(np.sort(rng.random(40)), [1.0, 2, -1, 0.5])
    for X in (line, np.ones((40, 4)), line[:, :1].copy(), 1e200 * line, 1e-200 * line):
        near = patches_for(how, X, 8)
        M = kernels.alignment_matrix(X, near, how, 2, 1e-3, np.ones(40)).toarray()
        assert np.isfinite(M).all()
        size = max(np.abs(M).max(), 1e-300)
        np.testing.assert_allclose(M.sum(1), 0, atol=1e-12 * size)
        assert np.linalg.eigvalsh(M)[0] > -1e-12 * size


@typed
def test_the_same_bits_for_any_number_of_threads(kind, rng):
    n = 3000
    X = rng.normal(size=(n, 5)).astype(kind)
    step = np.sort(rng.integers(1, n, (n, 12)), axis=1)
    rows = (np.arange(n)[:, None] + step) % n
    near = lists([np.unique(row[row != i]) for i, row in enumerate(rows)])
    lengths = np.abs(rng.normal(size=len(near[1]))).astype(kind)
    A = csr_array((lengths, near[1], near[0]), shape=(n, n))
    V = rng.normal(size=(n, 7))

    def all_of(threads):
        yield kernels.paths(A, singletons(np.arange(0, n, 9)), threads=threads)
        yield kernels.path_products(A, X, threads)
        yield kernels.min_plus(near, np.ones(len(near[1])), X, threads)
        yield kernels.sparse_matmul(A.astype(np.float64), V, 2.0, -1.0, V, 0.5, threads)
        yield kernels.barycentric_weights(X, X, near, 1e-3, threads)
        for how in ("ltsa", "hessian", "modified"):
            M = kernels.alignment_matrix(X, near, how, 2, 1e-3, np.ones(n), threads)
            yield M.indices
            yield M.data

    one = list(all_of(1))
    for threads in (2, 5):
        for found, expected in zip(all_of(threads), one, strict=True):
            np.testing.assert_array_equal(found, expected)


@typed
def test_weights_alone_have_the_bits_of_the_batch(kind, rng):
    X, Q = rng.normal(size=(100, 7)).astype(kind), rng.normal(size=(30, 7)).astype(kind)
    for reg in (0.0, 1e-3):
        near = lists([rng.permutation(100)[: 3 + i % 9] for i in range(30)])
        whole = kernels.barycentric_weights(Q, X, near, reg)
        for i in (0, 7, 29):
            begin, end = near[0][i : i + 2]
            one = np.array([0, end - begin]), near[1][begin:end]
            same_bits(kernels.barycentric_weights(Q[i : i + 1], X, one, reg), whole[begin:end])


def test_what_could_leave_memory_is_refused():
    starts, indices, out = np.array([0, 1, 2]), np.array([1, 0], np.int32), np.empty((1, 2))
    one, first = np.ones(2), (np.array([0, 1]), np.array([0], np.int32))
    source, below = (*first, None), np.array([-1], np.int32)
    _native.shortest_paths(starts, indices, one, *source, out, 1)
    for bad in (
        (np.array([0, 1]), indices, one, *source, out),
        (np.array([0, 2, 1]), indices, one, *source, out),
        (starts, np.array([1, 2], np.int32), one, *source, out),
        (starts, np.array([1, -1], np.int32), one, *source, out),
        (starts, indices, one[:1], *source, out),
        (starts, indices, -one, *source, out),
        (starts, indices, np.array([1, np.nan]), *source, out),
        (starts, indices, one, first[0], below, None, out),
        (starts, indices, one, *first, one, out),
        (starts, indices, one, *first, -one[:1], out),
        (starts, indices, one, *source, np.empty((2, 2))),
    ):
        with pytest.raises(ValueError, match="must"):
            _native.shortest_paths(*bad, 1)
    _native.geodesic_half(starts, indices, one, np.empty((2, 1)), 1)
    with pytest.raises(ValueError, match="column per two nodes"):
        _native.geodesic_half(starts, indices, one, np.empty((2, 2)), 1)
    _native.geodesic_products(np.ones((4, 2)), np.ones((4, 3)), np.empty((4, 3)), 1)
    with pytest.raises(ValueError, match="half of a square"):
        _native.geodesic_products(np.ones((4, 1)), np.ones((4, 3)), np.empty((4, 3)), 1)
    with pytest.raises(ValueError, match="one row per row"):
        _native.geodesic_products(np.ones((4, 2)), np.ones((3, 3)), np.empty((3, 3)), 1)
    X, weights = np.ones((2, 3)), np.empty(2)
    _native.barycentric_weights(X, X, starts, indices, 1e-3, weights, 1)
    with pytest.raises(ValueError, match="one list per row"):
        _native.barycentric_weights(X[:1], X, starts, indices, 1e-3, weights, 1)
    with pytest.raises(ValueError, match="row indices"):
        _native.barycentric_weights(X, X[:1], starts, indices, 1e-3, weights, 1)
    with pytest.raises(ValueError, match="unknown kind"):
        _native.alignment_matrix(
            X, starts, indices, "lle", 1, 0.0, one, starts, indices, weights, 1
        )
    with pytest.raises(ValueError, match="rows in A"):
        _native.sparse_matmul(
            starts, np.array([0, 1]), one, np.ones((3, 2)), 1.0, 1.0, None, 0.0, np.empty((2, 2)), 1
        )
