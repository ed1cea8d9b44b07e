"""The native kernels of graphs beside SciPy, and what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

import kernels
import plain
from cases import same_bits
from lowd import _native
from operands import typed


def roll(n, rng, kind=np.float64, d=3):
    t = 1.5 * np.pi * (1 + 2 * rng.random(n))
    X = np.column_stack([t * np.cos(t), 21 * rng.random(n), t * np.sin(t)])
    return np.ascontiguousarray(X @ np.linalg.qr(rng.normal(size=(d, 3)))[0].T, kind)


def lists(of):
    starts = np.concatenate([[0], np.cumsum([len(one) for one in of])])
    return starts.astype(np.int64), np.concatenate([*of, []]).astype(np.int32)


def singletons(nodes):
    return np.arange(len(nodes) + 1), np.asarray(nodes, np.int32)


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
        yield kernels.sparse_matmul(A.astype(np.float64), V, 2.0, -1.0, V, 0.5, threads)

    one = list(all_of(1))
    for threads in (2, 5):
        for found, expected in zip(all_of(threads), one, strict=True):
            np.testing.assert_array_equal(found, expected)


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
    with pytest.raises(ValueError, match="rows in A"):
        _native.sparse_matmul(
            starts, np.array([0, 1]), one, np.ones((3, 2)), 1.0, 1.0, None, 0.0, np.empty((2, 2)), 1
        )
