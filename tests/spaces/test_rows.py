"""Rows with a named metric, dense and sparse, against SciPy and scikit-learn."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import haversine_distances
from sklearn.neighbors import NearestNeighbors

from case_data import rows_like
from cases import close, same_bits
from lowd.errors import DataError, ParameterError, UnsupportedError
from lowd.parameters import state_of
from lowd.spaces import Rows, SparseRows, space_of

METRICS = [
    ("euclidean", {}, {"metric": "euclidean"}),
    ("sqeuclidean", {}, {"metric": "sqeuclidean"}),
    ("cosine", {}, {"metric": "cosine"}),
    ("correlation", {}, {"metric": "correlation"}),
    ("manhattan", {}, {"metric": "cityblock"}),
    ("chebyshev", {}, {"metric": "chebyshev"}),
    ("minkowski", {"p": 3}, {"metric": "minkowski", "p": 3}),
    ("minkowski", {"p": 1.5}, {"metric": "minkowski", "p": 1.5}),
    ("minkowski", {"p": 1}, {"metric": "cityblock"}),
    ("minkowski", {}, {"metric": "euclidean"}),
    ("hamming", {}, {"metric": "hamming"}),
    ("jaccard", {}, {"metric": "jaccard"}),
    ("dice", {}, {"metric": "dice"}),
    ("canberra", {}, {"metric": "canberra"}),
    ("braycurtis", {}, {"metric": "braycurtis"}),
    ("hellinger", {}, {"metric": "euclidean"}),
    ("haversine", {}, {"metric": "haversine"}),
    ("l1", {}, {"metric": "cityblock"}),
    ("l2", {}, {"metric": "euclidean"}),
    ("cityblock", {}, {"metric": "cityblock"}),
    ("taxicab", {}, {"metric": "cityblock"}),
    ("linf", {}, {"metric": "chebyshev"}),
]
every_metric = pytest.mark.parametrize(("metric", "params", "peer"), METRICS, ids=str)


def data(metric, n, d, dtype, seed):
    X = rows_like(n, d, seed, dtype)
    if metric in ("hamming", "jaccard", "dice"):
        X = np.round(X) % 2
        X[:, 0] = 1  # no empty sets
    if metric in ("braycurtis", "hellinger"):
        X = np.abs(X)
    return np.ascontiguousarray(X[:, :2] / 4) if metric == "haversine" else X


def exact(Q, X, metric, peer):
    kind = bool if metric in ("jaccard", "dice") else np.float64
    if metric == "hellinger":
        Q, X = (np.sqrt(A / A.sum(1, keepdims=True, dtype=np.float64) / 2) for A in (Q, X))
    if metric == "haversine":
        return haversine_distances(Q.astype(kind), X.astype(kind))
    return cdist(Q.astype(kind), X.astype(kind), **peer)


@every_metric
def test_distances_are_scipys(metric, params, peer, dtype):
    for n, d in ((40, 9), (700, 33)):
        X, Q = data(metric, n, d, dtype, 1), data(metric, 13, d, dtype, 2)
        space = space_of(X, metric, params)
        D = space.pairwise()
        assert D.dtype == space.dtype == dtype
        close(D, exact(X, X, metric, peer), dtype, 0.1)
        close(space.toward(Q), exact(Q, X, metric, peer), dtype, 0.1)
        assert (np.diagonal(D) == 0).all()
        np.testing.assert_array_equal(D, D.T)
        some = np.array([3, 5, 5])
        close(space.distances(some), D[some], dtype, 0.1)
        close(space.take(some).toward(Q), exact(Q, X[some], metric, peer), dtype, 0.1)


@every_metric
def test_neighbors_are_the_nearest_by_distance_and_then_by_number(metric, params, peer):  # noqa: ARG001
    X, Q = data(metric, 600, 5, np.float64, 1), data(metric, 90, 5, np.float64, 2)
    X[500:520] = X[:20]  # duplicates
    Q[:9] = X[495:504]
    space = space_of(X, metric, params)
    for D, near, k in (
        (space.pairwise().copy(), space.nearest(7), 7),
        (space.toward(Q), space.query(Q, 8), 8),
    ):
        if k == 7:
            np.fill_diagonal(D, np.inf)
        indices, distances = near.table
        order = np.argsort(D, axis=1, kind="stable")[:, :k]
        expected = np.take_along_axis(D, order, 1)
        np.testing.assert_allclose(distances, expected, rtol=1e-9, atol=1e-9)
        settled = np.diff(np.hstack([expected, np.full((len(D), 1), np.inf)]), axis=1) > 1e-9
        settled[:, 1:] &= settled[:, :-1]
        np.testing.assert_array_equal(indices[settled], order[settled])
        assert near.recall == 1
        assert distances.dtype == np.float64


@every_metric
def test_all_within_a_radius(metric, params, peer):
    X, Q = data(metric, 80, 5, np.float64, 1), data(metric, 9, 5, np.float64, 2)
    space = space_of(X, metric, params)
    D = exact(X, X, metric, peer)
    radius = float(np.sort(D, axis=1)[:, 9].max())
    for A, near, own in ((X, space.within(radius), True), (Q, space.within(radius, Q), False)):
        inside = exact(A, X, metric, peer) <= radius * (1 + 1e-9)
        if own:
            np.fill_diagonal(inside, False)
        np.testing.assert_array_equal(near.counts, inside.sum(1))
        found = np.zeros(inside.shape, bool)
        found[near.owners, near.indices] = True
        np.testing.assert_array_equal(found, inside)
        steps = np.diff(near.distances)[near.owners[1:] == near.owners[:-1]]
        assert (steps >= 0).all()


def test_the_sphere_of_a_radius_is_inside_but_for_rounding():
    X = np.array([[0.0], [0.1], [0.2], [0.30000000000000004]])
    assert space_of(X).within(0.1).counts.tolist() == [1, 2, 2, 1]
    assert space_of(X).within(0.0).counts.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "cosine"])
def test_neighbors_are_scikit_learns(metric):
    X, Q = rows_like(2500, 12), rows_like(300, 12, 1)
    peer = NearestNeighbors(n_neighbors=10, metric=metric, algorithm="brute").fit(X)
    space = space_of(X, metric)
    for near, (distances, indices) in (
        (space.nearest(10), peer.kneighbors()),
        (space.query(Q, 10), peer.kneighbors(Q)),
    ):
        np.testing.assert_array_equal(near.table[0], indices)
        np.testing.assert_allclose(near.table[1], distances, rtol=1e-6, atol=1e-12)


def test_a_row_alone_has_the_bits_of_a_row_among_others():
    X, Q = rows_like(900, 6), rows_like(70, 6, 1)
    for metric in ("euclidean", "cosine", "correlation", "manhattan", "hamming"):
        for rows in (X, csr_array(X)) if metric in ("euclidean", "cosine") else (X,):
            space = space_of(rows, metric)
            whole, near = space.toward(Q), space.query(Q, 4)
            for i in (0, 33):
                same_bits(space.toward(Q[i : i + 1])[0], whole[i])
                same_bits(space.query(Q[i : i + 1], 4).distances, near.table[1][i])


def test_one_query_of_as_many_as_there_are():
    space = space_of(rows_like(5, 2))
    for near in (
        space.query(rows_like(3, 2), 9),
        space_of(rows_like(5, 2), "manhattan").query(rows_like(3, 2), 9),
    ):
        assert near.counts.tolist() == [5, 5, 5]
    assert len(space.query(np.empty((0, 2)), 3).indptr) == 1


# -- digits ----------------------------------------------------------------------------------------


def test_small_angles_keep_their_digits():
    """1 - cos of nearly parallel rows, which cancels in the textbook formula."""
    a, b = np.array([[1.0, 0.0]]), np.array([[1.0, 1e-7]])
    assert space_of(a, "cosine").toward(b)[0, 0] == pytest.approx(0.5e-14, rel=1e-6)
    assert space_of(csr_array(a), "cosine").toward(csr_array(b))[0, 0] == pytest.approx(
        0.5e-14, rel=1e-6
    )


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-160, 1e-45, 1e160, 1e300])
def test_angles_of_rows_of_any_size(scale):
    X, Q = rows_like(20, 5), rows_like(4, 5, 1)
    for metric in ("cosine", "correlation"):
        found = space_of(X * scale, metric).toward(Q * scale)
        rtol = 1e-9 if scale > 1e-310 else 1e-2
        np.testing.assert_allclose(found, cdist(Q, X, metric), rtol=rtol, atol=1e-5 * rtol)


def test_offsets_lose_no_digits(dtype):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(400, 6)) + np.array([1e6, 0, 0, -1e5, 3, 0])).astype(dtype)
    Q = X[:50] + dtype(0.5)
    wide = X.astype(np.float64), Q.astype(np.float64)
    for rows in (X, csr_array(X)):
        new = Q if rows is X else csr_array(Q)
        D = space_of(rows).toward(new)
        np.testing.assert_allclose(
            D, cdist(wide[1], wide[0]), rtol=1e-9 if dtype == np.float64 else 2e-6
        )


def test_float64_questions_to_float32_rows():
    X, Q = rows_like(300, 5, 1, np.float32), rows_like(80, 5, 2)
    for metric in ("euclidean", "cosine", "manhattan"):
        space = space_of(X, metric)
        peer = {"manhattan": "cityblock"}.get(metric, metric)
        np.testing.assert_allclose(
            space.toward(Q),
            cdist(Q, space.X.astype(float), peer),
            rtol=1e-6 if peer == "cosine" else 1e-12,
        )


def test_rows_that_are_nearly_or_exactly_equal():
    X = np.full((6, 5), 0.1) * np.arange(1, 7)[:, None]
    with pytest.raises(
        DataError, match=r"row 0, 1, 2, 3, 4, \.\.\. has no direction \(its entries"
    ):
        space_of(X, "correlation")
    with pytest.raises(DataError, match=r"row 2 has no direction \(it is zero\).*'euclidean'"):
        space_of(np.eye(4) * [1, 1, 0, 1], "cosine")
    with pytest.raises(DataError, match=r"row 2 has no direction \(it is zero\)"):
        space_of(csr_array(np.eye(4) * [1, 1, 0, 1]), "cosine")
    with pytest.raises(DataError, match="row 0 has no direction"):
        space_of(np.eye(4), "cosine").query(np.zeros((1, 4)), 2)
    with pytest.raises(DataError, match="row 1 is an empty set"):
        space_of(np.array([[1.0, 0], [0, 0]]), "jaccard")
    with pytest.raises(DataError, match="row 0 is an empty set"):
        space_of(np.array([[1.0, 0], [0, 1]]), "jaccard").toward(np.zeros((1, 2)))


# -- sparse rows -----------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine"])
@pytest.mark.parametrize("density", [0.02, 0.3, 0.97])
def test_sparse_rows_are_like_dense_ones(metric, density, dtype):
    rng = np.random.default_rng(0)
    A = random_array((430, 60), density=density, rng=rng, dtype=np.float64).toarray()
    A[:, 3] = 1 + rng.random(430)  # no zero rows
    A = A.astype(dtype)
    X, Q = A[:400], A[380:]
    sparse, dense = space_of(csr_array(X), metric), space_of(X, metric)
    assert isinstance(sparse, SparseRows)
    close(sparse.pairwise(), dense.pairwise(), dtype, 0.1)
    close(sparse.toward(csr_array(Q)), dense.toward(Q), dtype, 0.1)
    close(sparse.toward(Q), dense.toward(Q), dtype, 0.1)
    close(dense.toward(csr_array(Q)), dense.toward(Q), dtype, 0.1)
    assert (np.diagonal(sparse.pairwise()) == 0).all()
    np.testing.assert_allclose(sparse.nearest(5).distances, dense.nearest(5).distances, rtol=1e-5)
    some = np.array([7, 3])
    close(sparse.take(some).toward(csr_array(Q)), dense.take(some).toward(Q), dtype, 0.1)
    same_bits(
        sparse.fingerprint(),
        space_of(csr_array(X)).fingerprint() if metric != "cosine" else sparse.fingerprint(),
    )
    if metric != "cosine":
        same_bits(sparse.fingerprint(), dense.fingerprint())


def test_ties_of_integers_stay_ties_in_sparse_rows():
    """In columns that are stored in full and nearly in full as well."""
    rng = np.random.default_rng(0)
    X = rng.integers(1, 4, (300, 5)).astype(float)
    X[:20, 2] = 0
    sparse, dense = space_of(csr_array(X)).nearest(40), space_of(X).nearest(40)
    np.testing.assert_array_equal(sparse.indices, dense.indices)


def test_metrics_that_are_not_for_sparse_rows():
    X = csr_array(np.eye(4))
    with pytest.raises(UnsupportedError, match="would fill a sparse matrix; use 'cosine'"):
        space_of(X, "correlation")
    with pytest.raises(UnsupportedError, match="'manhattan' is not for sparse rows"):
        space_of(X, "manhattan")


# -- what a space is -------------------------------------------------------------------------------


def test_parameters_of_metrics():
    X = rows_like(9, 2)
    with pytest.raises(ParameterError, match="metric='euclidean' knows no parameter 'p'"):
        space_of(X, "euclidean", {"p": 2})
    for p in (0.5, np.inf, "2", True, None):
        with pytest.raises(ParameterError, match=r"expected a number >= 1 \(for infinity"):
            space_of(X, "minkowski", {"p": p})


@every_metric
def test_an_order_by_content(metric, params, peer):  # noqa: ARG001
    X = data(metric, 200, 6, np.float64, 0)
    if metric not in ("hamming", "jaccard"):
        X[100:110] = X[:10]
    order = np.random.default_rng(1).permutation(200)
    space, mixed = space_of(X, metric, params), space_of(X[order], metric, params)
    same_bits(mixed.X[mixed.order()], space.X[space.order()])
    for m in (1, 50, 199, 200):
        drawn, other = space.draw(m, 3, "landmarks"), mixed.draw(m, 3, "landmarks")
        assert len(drawn) == len(set(drawn.tolist())) == m
        same_bits(mixed.X[other], space.X[drawn])
    assert (space.draw(50, 3, "landmarks") != space.draw(50, 4, "landmarks")).any()


def test_the_data_may_change_afterwards_and_caches_are_not_stored():
    X = rows_like(200, 4)
    given = X.copy()
    for metric in ("euclidean", "cosine", "manhattan"):
        space = space_of(given, metric)
        expected = space.query(X[:5], 3)
        small = len(pickle.dumps(space))
        space.nearest(3)
        again = pickle.loads(pickle.dumps(space))
        assert len(pickle.dumps(space)) == small
        given *= 2
        for one in (space, again, Rows(**{name: getattr(space, name) for name in state_of(Rows)})):
            same_bits(one.query(X[:5], 3).distances, expected.distances)
        given /= 2
