"""The native operations of graphs against the plain ones, and against what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from lowd.backends.protocol import Ragged, Terms
from lowd.backends.reference import Reference
from scipy.sparse import csr_array, random_array
from scipy.spatial.distance import cdist

from cases import same_bits

_native = pytest.importorskip("lowd._native", reason="the native core is not built")
from lowd.backends.native import Native  # noqa: E402 - only where it is built

PLAIN, FAST = Reference(), Native(threads=2)
ALL = [PLAIN, FAST]
both = pytest.mark.parametrize("ops", ALL, ids=["reference", "native"])
typed = pytest.mark.parametrize("kind", [np.float64, np.float32], ids=["float64", "float32"])
some = pytest.mark.parametrize(
    ("ops", "kind"),
    [(FAST, np.float64), (FAST, np.float32), (PLAIN, np.float64)],
    ids=["float64", "float32", "reference"],
)
kinds = pytest.mark.parametrize("how", ["ltsa", "hessian", "modified"])


def roll(n, rng, kind=np.float64, d=3):
    t = 1.5 * np.pi * (1 + 2 * rng.random(n))
    X = np.column_stack([t * np.cos(t), 21 * rng.random(n), t * np.sin(t)])
    return np.ascontiguousarray(X @ np.linalg.qr(rng.normal(size=(d, 3)))[0].T, kind)


def lists(of):
    starts = np.concatenate([[0], np.cumsum([len(one) for one in of])])
    return Ragged(starts.astype(np.int64), np.concatenate([*of, []]).astype(np.int32))


def near_rows(X, k, itself):
    """Ragged of the k nearest others, of different lengths; the row itself first or left out."""
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
    for sources in (np.arange(n), np.arange(n)[::-3], np.array([n - 1]), np.zeros(40, int)):
        fast, plain = (
            ops.geodesics(graph).distances(Ragged.singletons(sources)) for ops in (FAST, PLAIN)
        )
        assert fast.dtype == kind
        assert fast.shape == (len(sources), n)
        np.testing.assert_allclose(fast, plain, rtol=100 * np.finfo(kind).eps)
        assert (fast[np.arange(len(sources)), sources] == 0).all()


@some
def test_stored_zeros_are_edges_and_components_are_infinitely_far(ops, kind):
    starts, ends = [0, 1, 3, 4, 5, 6], [1, 0, 2, 1, 4, 3]
    lengths = np.array([0, 0, 2, 2, 1, 1], kind)
    graph = csr_array((lengths, ends, starts), shape=(5, 5))
    D = ops.geodesics(graph).distances(Ragged.singletons(np.array([0, 4])))
    np.testing.assert_array_equal(D, [[0, 0, 2, np.inf, np.inf], [np.inf, np.inf, np.inf, 1, 0]])


@typed
def test_paths_do_not_depend_on_the_order_of_nodes_or_sources(kind, rng):
    n = 500
    graph = graph_of(roll(n, rng, kind), 6)
    every = Ragged.singletons(np.arange(n))
    D = FAST.geodesics(graph).distances(every)
    p = rng.permutation(n)
    same_bits(FAST.geodesics(csr_array(graph[p][:, p])).distances(every), D[p][:, p])
    same_bits(FAST.geodesics(graph).distances(Ragged.singletons(p[:77])), D[p[:77]])


@some
def test_paths_after_a_first_step(ops, kind, rng):
    """A source outside the graph is a node more, of which no path of the others makes use."""
    n = 200
    graph = graph_of(roll(n, rng, kind), 6)
    near = lists([rng.permutation(n)[:k] for k in (1, 3, 0, 9, 2)])
    steps = 20 * rng.random(len(near.indices))
    steps[2] = 0
    D = ops.geodesics(graph).distances(near, steps)
    assert D.dtype == kind
    G = PLAIN.geodesics(graph).distances(Ragged.singletons(np.arange(n)))
    np.testing.assert_allclose(
        D, PLAIN.geodesics(G).distances(near, steps), rtol=100 * np.finfo(kind).eps
    )
    assert np.isinf(D[2]).all()
    alone = ops.geodesics(graph).distances(
        Ragged(near.indptr[3:5] - 4, near.indices[4:13]), steps[4:13]
    )
    same_bits(alone, D[3:4])


@pytest.mark.parametrize(
    ("ops", "kind", "n"),  # pairs that face each other in a ring, or not
    [
        *((FAST, np.float64, n) for n in (2, 3, 64, 701)),
        *((FAST, np.float32, 99), (PLAIN, np.float64, 64)),
    ],
)
def test_products_with_geodesic_distances(ops, kind, n, rng):
    graph = graph_of(roll(n, rng, kind), min(6, n - 1))
    G = PLAIN.geodesics(graph).distances(Ragged.singletons(np.arange(n))).astype(np.float64)
    for width in (1, 8, 11):
        V = rng.normal(size=(n, width))
        expected = -0.5 * G**2 @ V
        found = ops.geodesics(graph).half_squares().matmul(V)
        assert found.dtype == np.float64
        limit = 100 * np.finfo(kind).eps * (0.5 * G**2 @ np.abs(V)).max()
        np.testing.assert_allclose(found, expected, rtol=0, atol=limit)


@some
def test_paths_that_end_in_a_table_of_distances(ops, kind, rng):
    G = rng.random((30, 137)).astype(kind)
    near = lists([rng.permutation(30)[:k] for k in (3, 1, 0, 7, 30)])
    lengths = rng.random(len(near.indices))
    out = ops.geodesics(G).distances(near, lengths)
    assert out.dtype == kind
    same_bits(out, PLAIN.geodesics(G).distances(near, lengths))
    assert np.isinf(out[2]).all()
    np.testing.assert_allclose(
        out[3], (lengths[4:11, None] + G[near.indices[4:11]]).min(0), rtol=1e-6
    )
    one = Ragged(near.indptr[3:5] - 4, near.indices[4:11])
    same_bits(ops.geodesics(G).distances(one, lengths[4:11]), out[3:4])
    at_once = ops.geodesics(G).distances(one)
    same_bits(at_once, G[near.indices[4:11]].min(0)[None])
    V = rng.normal(size=(137, 3))
    product = ops.geodesics(G).half_squares().matmul(V)
    np.testing.assert_allclose(product, -0.5 * G.astype(np.float64) ** 2 @ V, atol=1e-12)


@pytest.mark.parametrize(
    ("width", "index"), [*((width, np.int32) for width in (1, 8, 13, 40)), (8, np.int64)]
)
def test_sparse_matmul(width, index, rng):
    A = csr_array(random_array((700, 700), density=0.02, rng=rng))
    A.indices, A.indptr = A.indices.astype(index), A.indptr.astype(index)
    V, U = rng.normal(size=(2, 700, width))
    for terms in (Terms(), Terms(-2.0, 0.5), Terms(2.0, -0.5, -1.0, U)):
        fast, plain = (ops.matrix_plan(A).matmul(V, terms) for ops in (FAST, PLAIN))
        np.testing.assert_allclose(fast, plain, rtol=0, atol=1e-13 * np.abs(plain).max())
    wide = csr_array(random_array((90, 700), density=0.1, rng=rng))
    np.testing.assert_allclose(FAST.matrix_plan(wide).matmul(V), wide @ V, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("d", "k", "reg", "kind"),
    [
        *((3, 5, 1e-3, np.float64), (3, 12, 1e-3, np.float64), (40, 7, 1e-3, np.float64)),
        *((40, 60, 1e-3, np.float64), (40, 60, 1e-6, np.float64)),
        *((3, 12, 0.0, np.float64), (40, 7, 0.0, np.float64), (40, 60, 1e-3, np.float32)),
    ],
)
def test_barycentric_weights(kind, d, k, reg, rng):
    X = rng.normal(size=(200, d)).astype(kind)
    near = near_rows(X, k, itself=False)
    fast, plain = (ops.barycentric_weights(X, X, near, reg) for ops in (FAST, PLAIN))
    np.testing.assert_allclose(fast, plain, rtol=0, atol=1e-8 * np.abs(plain).max())
    np.testing.assert_allclose(np.add.reduceat(fast, near.indptr[:-1]), 1, rtol=1e-12)


@both
def test_barycentric_weights_of_the_book(ops):
    """On a line and in a triangle; without regularization the weights rebuild exactly."""
    X, Q = np.array([[0.0], [1.0]]), np.array([[0.25]])
    near = lists([[0, 1]])
    np.testing.assert_allclose(
        ops.barycentric_weights(Q, X, near, 1e-3), [0.749688, 0.250312], atol=1e-6
    )
    np.testing.assert_allclose(ops.barycentric_weights(Q, X, near, 0.0), [0.75, 0.25], atol=1e-12)
    X, Q = np.array([[0.0, 0], [1, 0], [0, 1]]), np.array([[0.25, 0.25]])
    near = lists([[0, 1, 2]])
    found = ops.barycentric_weights(Q, X, near, 1e-3)
    np.testing.assert_allclose(found, [0.499315, 0.250342, 0.250342], atol=1e-6)
    np.testing.assert_allclose(
        ops.barycentric_weights(Q, X, near, 0.0), [0.5, 0.25, 0.25], atol=1e-12
    )


@pytest.mark.parametrize(
    ("ops", "reg"), [*((FAST, reg) for reg in (0.0, 1e-16, 1e-3)), (PLAIN, 0.0)]
)
def test_barycentric_weights_are_finite_for_any_finite_rows(ops, reg):
    X = np.array([[0.0, 0], [0, 0], [1, 0], [1e-300, 0], [1.7e308, -1.7e308]])
    near = lists([[0, 1], [0, 1, 2], [0, 3], [0, 2, 4], [0, 1, 2, 3, 4]])
    for q in (0.0, 1.0, 1e-310, 1e200, -1.7e308):
        w = ops.barycentric_weights(np.full((5, 2), q), X, near, reg)
        assert np.isfinite(w).all()
        np.testing.assert_allclose(np.add.reduceat(w, near.indptr[:-1]), 1, rtol=1e-9)
    np.testing.assert_array_equal(
        ops.barycentric_weights(
            X[:1], X, near._replace(indptr=near.indptr[:2], indices=near.indices[:2]), reg
        ),
        [0.5, 0.5],
    )


def patches_for(how, X, k):
    return near_rows(X, k, itself=how != "modified")


@kinds
@pytest.mark.parametrize(
    ("d", "k", "kind"),
    [(3, 1, np.float64), (8, 3, np.float64), (50, 4, np.float64), (50, 2, np.float32)],
)
def test_alignment(how, kind, d, k, rng):
    n = 250
    X = roll(n, rng, kind, d) + 0.3 * rng.normal(size=(n, d)).astype(kind)
    near, counts = patches_for(how, X, 16), rng.random(n) + 0.5
    fast, plain = (ops.alignment_matrix(X, near, how, k, 1e-3, counts) for ops in (FAST, PLAIN))
    assert fast.has_sorted_indices
    size = np.abs(plain.data).max()
    np.testing.assert_allclose(fast.toarray(), plain.toarray(), rtol=0, atol=1e-9 * size)
    same_bits(fast.toarray(), fast.T.toarray())
    np.testing.assert_allclose(fast @ np.ones(n), 0, atol=1e-12 * size)
    assert np.linalg.eigvalsh(fast.toarray())[0] > -1e-12 * size


@both
@kinds
def test_alignment_of_exactly_flat_data(ops, how):
    """A lattice in a plane of R^5, with a corner where patches are nearly on a line."""
    grid = np.array([(i, j) for i in range(9) for j in range(9)], float)
    X = grid @ np.array([[1.0, 0, 2, -1, 0], [0, 1, 1, 3, 0]]) + 1e4
    M = ops.alignment_matrix(X, patches_for(how, X, 9), how, 2, 1e-3, np.ones(len(X)))
    assert np.isfinite(M.data).all()
    size = np.abs(M.data).max()
    np.testing.assert_allclose(M @ np.ones(len(X)), 0, atol=1e-12 * size)
    if how != "modified":  # whose weights are regularized
        np.testing.assert_allclose(M @ grid, 0, atol=1e-9 * size)
        values = np.linalg.eigvalsh(M.toarray())
        assert abs(values[2]) < 1e-9 * size
        assert values[3] > 1e-7 * size


@both
@kinds
def test_alignment_of_rows_on_a_line_and_in_a_point(ops, how, rng):
    """Fewer directions than tangents wanted: what is missing is no direction, not a random one."""
    line = np.outer(np.sort(rng.random(40)), [1.0, 2, -1, 0.5])
    for X in (line, np.ones((40, 4)), line[:, :1], 1e200 * line, 1e-200 * line):
        M = ops.alignment_matrix(X, patches_for(how, X, 8), how, 2, 1e-3, np.ones(40)).toarray()
        assert np.isfinite(M).all()
        size = max(np.abs(M).max(), 1e-300)
        np.testing.assert_allclose(M.sum(1), 0, atol=1e-12 * size)
        assert np.linalg.eigvalsh(M)[0] > -1e-12 * size
        same = FAST.alignment_matrix(X, patches_for(how, X, 8), how, 2, 1e-3, np.ones(40)).toarray()
        np.testing.assert_allclose(M, same, rtol=0, atol=1e-9 * size)


@typed
def test_the_same_bits_for_any_number_of_threads(kind, rng):
    n = 3000
    X = rng.normal(size=(n, 5)).astype(kind)
    step = np.sort(rng.integers(1, n, (n, 12)), axis=1)
    rows = (np.arange(n)[:, None] + step) % n
    near = lists([np.unique(row[row != i]) for i, row in enumerate(rows)])
    A = csr_array(
        (np.abs(rng.normal(size=len(near.indices))).astype(kind), near.indices, near.indptr),
        shape=(n, n),
    )
    V = rng.normal(size=(n, 7))

    def all_of(ops):
        yield ops.geodesics(A).distances(Ragged.singletons(np.arange(0, n, 9)))
        yield ops.geodesics(A).half_squares().matmul(X)
        yield ops.geodesics(X).distances(near, np.ones(len(near.indices)))
        yield ops.matrix_plan(A.astype(np.float64)).matmul(V, Terms(2.0, -1.0, 0.5, V))
        yield ops.barycentric_weights(X, X, near, 1e-3)
        for how in ("ltsa", "hessian", "modified"):
            M = ops.alignment_matrix(X, near, how, 2, 1e-3, np.ones(n))
            yield M.indices
            yield M.data

    one = list(all_of(Native(threads=1)))
    for threads in (2, 5):
        for found, expected in zip(all_of(Native(threads=threads)), one, strict=True):
            np.testing.assert_array_equal(found, expected)


@typed
def test_weights_alone_have_the_bits_of_the_batch(kind, rng):
    X, Q = rng.normal(size=(100, 7)).astype(kind), rng.normal(size=(30, 7)).astype(kind)
    for reg in (0.0, 1e-3):
        near = lists([rng.permutation(100)[: 3 + i % 9] for i in range(30)])
        whole = FAST.barycentric_weights(Q, X, near, reg)
        for i in (0, 7, 29):
            begin, end = near.indptr[i : i + 2]
            one = Ragged(np.array([0, end - begin]), near.indices[begin:end])
            same_bits(FAST.barycentric_weights(Q[i : i + 1], X, one, reg), whole[begin:end])


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
