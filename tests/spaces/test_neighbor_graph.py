"""Neighbors for everyone: the function, the forms of graphs it takes and gives, the transformer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix
from scipy.spatial.distance import cdist
from sklearn import manifold
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors, radius_neighbors_graph
from sklearn.pipeline import make_pipeline

import lowd
from case_data import edit_distance, rows_like
from cases import BY_NAME, close, same_bits
from checks import failing_checks
from lowd import NeighborGraph
from lowd.errors import DataError, ParameterError


def brute(D, k):
    """Sorted by (distance, number), each row without itself."""
    D = D.astype(float).copy()
    np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(D, order, 1)


# -- the function -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        ("euclidean", "euclidean"),
        ("manhattan", "cityblock"),
        ("cosine", "cosine"),
        ("chebyshev", "chebyshev"),
        ("correlation", "correlation"),
    ],
)
def test_neighbors_are_the_nearest_others(metric, name):
    X = rows_like(80, 6)
    found = lowd.neighbors(X, 7, metric=metric)
    order, distances = brute(cdist(X.astype(np.float64), X.astype(np.float64), name), 7)
    same_bits(found.indices, order.astype(np.int32))
    np.testing.assert_allclose(found.distances, distances, rtol=1e-6, atol=1e-7)
    assert found.distances.dtype == np.float64
    assert found.recall == 1
    assert found.n_neighbors == 7


def test_neighbors_of_any_kind_of_data():
    X = rows_like(40, 5)
    D = cdist(X, X)
    expected = brute(D, 4)[0].astype(np.int32)
    for given, params in (
        (D, {"metric": "precomputed"}),
        (csr_array(X), {}),
        (X, {"metric": "minkowski", "metric_params": {"p": 2}}),
        (X.tolist(), {}),
    ):
        same_bits(lowd.neighbors(given, 4, **params).indices, expected)
    words, _ = BY_NAME["MDS-words"].data()
    found = lowd.neighbors(words, 3, metric=edit_distance)
    D = np.array([[edit_distance(a, b) for b in words] for a in words])
    same_bits(found.indices, brute(D, 3)[0].astype(np.int32))
    table, _ = BY_NAME["MDS-gower"].data()
    assert lowd.neighbors(table, 3, metric="gower").indices.shape == (60, 3)


def test_a_row_is_no_neighbor_of_itself_but_its_duplicates_are():
    X = np.repeat(rows_like(10, 3), 4, axis=0)
    found = lowd.neighbors(X, 5)
    assert (found.indices != np.arange(40)[:, None]).all()
    assert (found.distances[:, :3] == 0).all()
    assert (found.distances[:, 3:] > 0).all()
    same_bits(np.sort(found.indices[5, :3]), np.array([4, 6, 7], np.int32))


def test_ties_go_by_number():
    found = lowd.neighbors([[0.0], [1.0], [-1.0], [2.0], [-2.0]], 3)
    same_bits(found.indices[0], np.array([1, 2, 3], np.int32))


def test_too_many_neighbors():
    with pytest.raises(ParameterError, match=r"n_neighbors=15 needs .* use n_neighbors=9"):
        lowd.neighbors(rows_like(10))
    with pytest.raises(ParameterError, match="expected int >= 1"):
        lowd.neighbors(rows_like(10), 0)
    with pytest.raises(ParameterError, match=r"n_neighbors=1.* no neighbors"):
        lowd.neighbors([[1.0, 2.0]], 1)


# -- forms of graphs --------------------------------------------------------------------------


def test_the_graph_is_scikit_learns():
    X = rows_like(50, 4)
    found = lowd.neighbors(X, 6)
    peer = KNeighborsTransformer(n_neighbors=6, mode="distance").fit_transform(X)
    graph = found.graph()
    assert graph.nnz == peer.nnz == 50 * 7
    np.testing.assert_array_equal(graph.indptr, peer.indptr)
    np.testing.assert_array_equal(graph.indices, peer.indices)
    close(graph.data, peer.data)
    twin = NearestNeighbors(n_neighbors=6, metric="precomputed").fit(csr_matrix(graph))
    np.testing.assert_array_equal(twin.kneighbors()[1], found.indices)
    peer = manifold.Isomap(n_neighbors=6, metric="precomputed").fit(csr_matrix(graph))
    same = manifold.Isomap(n_neighbors=6).fit(X)
    close(peer.embedding_, same.embedding_)


def _forms(X, k):
    """The same graph as other libraries hold it."""
    indices, distances = brute(cdist(X, X), k)
    n = len(X)
    own = np.arange(n)[:, None]
    plain = csr_array((distances.ravel(), indices.ravel(), np.arange(0, n * k + 1, k)), (n, n))
    shuffled = np.random.default_rng(0).permutation(k)
    return {
        "pair": (indices, distances),
        "lists": [indices.tolist(), distances.tolist()],
        "umap": (np.hstack([own, indices]), np.hstack([own * 0.0, distances]), None),
        "unsorted": (indices[:, shuffled], distances[:, shuffled]),
        "scanpy": csr_matrix(plain),
        "scikit-learn": KNeighborsTransformer(n_neighbors=k).fit_transform(X),
        "coo": coo_array(plain),
        "float32": csr_array(plain, dtype=np.float32),
    }


@pytest.mark.parametrize("form", _forms(rows_like(9, 2), 2))
def test_every_form_is_understood(form):
    X = rows_like(40, 4)
    given = _forms(X, 5)[form]
    before = given.copy() if hasattr(given, "copy") else None
    found = NeighborGraph.of(given)
    expected = lowd.neighbors(X, 5)
    same_bits(found.indices, expected.indices)
    np.testing.assert_allclose(found.distances, expected.distances, rtol=1e-6)
    if before is not None and form not in ("lists",):
        assert (abs(before - given)).nnz == 0
    assert NeighborGraph.of(found) is found


def test_round_trips():
    found = lowd.neighbors(np.repeat(rows_like(12, 3), 2, axis=0), 4)
    for given in (tuple(found), found.with_self(), found.graph(), found.edges()):
        twin = NeighborGraph.of(given)
        same_bits(twin.indices, found.indices)
        same_bits(twin.distances, found.distances)


def test_duplicates_listed_instead_of_the_row_itself():
    """umap lists the nearest k: of four duplicates with k = 3 one does not list itself."""
    X = np.repeat(rows_like(5, 2), 4, axis=0)
    D = cdist(X, X)
    indices = np.argsort(D, axis=1, kind="stable")[:, :3]
    assert not (indices == np.arange(20)[:, None]).any(1).all()
    found = NeighborGraph.of((indices, np.take_along_axis(D, indices, 1)))
    assert found.indices.shape == (20, 2)
    assert (found.indices >= 0).all()
    assert (found.indices != np.arange(20)[:, None]).all()


def test_rows_with_fewer_neighbors():
    """A radius graph: shorter rows end in -1, and come out as they went in."""
    X = np.array([[0.0], [1.0], [1.5], [9.0]])
    found = NeighborGraph.of(radius_neighbors_graph(X, 1.2, mode="distance"))
    same_bits(found.indices, np.array([[1, -1], [2, 0], [1, -1], [-1, -1]], np.int32))
    same_bits(np.isinf(found.distances), found.indices < 0)
    assert found.edges().nnz == 4
    assert found.graph().nnz == 8


def test_what_is_no_graph_is_refused():
    for given, sentence in (
        (7, "must be a NeighborGraph, .* got int"),
        ("graph", "must be a NeighborGraph|one shape"),
        (([[1]], [[1.0, 2.0]]), r"one shape.*\(1, 1\).*\(1, 2\)"),
        (([[1.0], [0.0]], [[1.0], [1.0]]), "whole numbers"),
        (([1, 0], [1.0, 1.0]), "rows x n_neighbors"),
        (([[1], [2]], [[1.0], [1.0]]), "row 1 names row 2, but there are 2 rows"),
        (([[1], [-2]], [[1.0], [1.0]]), "row 1 names row -2"),
        (([[1, 1], [0, 1]], [[1.0, 1.0], [1.0, 0.0]]), "row 0 names row 1 twice"),
        (([[1], [0]], [[1.0], [np.nan]]), "row 1 to row 0 is nan"),
        (([[1], [0]], [[-1.0], [1.0]]), "row 0 to row 1 is -1.0"),
        (([[0], [1]], [[0.0], [0.0]]), "no row has a neighbor"),
        (csr_array(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 0.0]])), r"square.*\(2, 3\)"),
        (csr_array(np.array([[0.0, np.inf], [1.0, 0.0]])), "row 0 to row 1 is inf"),
        (csr_array((3, 3)), "no row has a neighbor"),
    ):
        with pytest.raises(DataError, match=sentence):
            NeighborGraph.of(given)


# -- the transformer --------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::lowd.errors.LowdWarning")
def test_scikit_learn_checks():
    assert not failing_checks(lowd.NeighborsTransformer(n_neighbors=3))


def test_the_transformer_is_scikit_learns(dtype):
    X, Q = rows_like(60, 5, 1, dtype), rows_like(9, 5, 2, dtype)
    model = lowd.NeighborsTransformer(n_neighbors=4).fit(X)
    peer = KNeighborsTransformer(n_neighbors=4, mode="distance").fit(X)
    for A in (X, Q):
        graph, expected = model.transform(A), peer.transform(A)
        assert graph.dtype == dtype
        np.testing.assert_array_equal(graph.indptr, expected.indptr)
        np.testing.assert_array_equal(graph.indices, expected.indices)
        close(graph.data, expected.data, np.float32)
    together = lowd.NeighborsTransformer(n_neighbors=4).fit_transform(X)
    assert (together != model.transform(X)).nnz == 0
    assert model.n_samples_fit_ == 60
    assert len(model.get_feature_names_out()) == 60


def test_a_pipeline_with_either_library():
    X, Q = rows_like(100, 5, 1), rows_like(9, 5, 2)
    ours = lowd.NeighborsTransformer(n_neighbors=8)
    theirs = KNeighborsTransformer(n_neighbors=8, mode="distance")
    first = lowd.Isomap(2, n_neighbors=8, metric="precomputed")
    second = manifold.Isomap(n_neighbors=8, metric="precomputed")
    expected = lowd.Isomap(2, n_neighbors=8).fit(X)
    for step in (ours, theirs):
        for last in (first, second):
            model = make_pipeline(step, last).fit(X)
            Y = last.embedding_
            turn = np.sign((Y * expected.embedding_).sum(0))
            close(Y * turn, expected.embedding_)
            close(model.transform(Q) * turn, expected.transform(Q))


def test_a_graph_has_no_inverse():
    model = lowd.NeighborsTransformer(n_neighbors=2).fit(rows_like(9))
    with pytest.raises(lowd.errors.UnsupportedError, match="no inverse"):
        model.inverse_transform(np.zeros((1, 9)))
    assert model.estimate(1000, 10).bytes > 0


# -- methods that take a given graph ----------------------------------------------------------

TAKERS = [
    *("Isomap", "LaplacianEigenmaps", "DiffusionMaps"),
    *("LocallyLinearEmbedding", "ModifiedLLE", "HessianLLE", "LTSA"),
]


@pytest.mark.parametrize("method", TAKERS)
@pytest.mark.filterwarnings("ignore::lowd.errors.LocalizedAxisWarning")
def test_one_search_serves_every_method(method):
    X, Q = rows_like(120, 5, 1), rows_like(9, 5, 2)
    cls = getattr(lowd, method)
    plain = cls(2, n_neighbors=12).fit(X)
    graph = lowd.neighbors(X, 12)
    for given in (graph, graph.graph(), graph.with_self()):
        model = cls(2).fit(X, neighbors=given)
        same_bits(model.embedding_, plain.embedding_)
        same_bits(model.transform(Q), plain.transform(Q))
    same_bits(cls(2).fit_transform(X, neighbors=graph), plain.embedding_)
    assert model.get_params()["n_neighbors"] == cls().n_neighbors
    other = cls(2).fit(X, neighbors=lowd.neighbors(X, 20))
    assert (other.embedding_ != plain.embedding_).any()
    with pytest.raises(ParameterError, match="neighbor graph is given"):
        cls(2, n_neighbors=11).fit(X, neighbors=graph)
    with pytest.raises(DataError, match="120 rows, but X has 119"):
        cls(2).fit(X[1:], neighbors=graph)


@pytest.mark.parametrize("method", TAKERS)
@pytest.mark.filterwarnings("ignore::lowd.errors.LocalizedAxisWarning")
def test_duplicates_and_short_rows_of_a_given_graph(method):
    """Each row three times, and a graph within a radius: rows of it differ in length."""
    X = np.repeat(rows_like(40, 3), 3, axis=0)
    graph = radius_neighbors_graph(X, 1.6, mode="distance", include_self=False)
    model = getattr(lowd, method)(2).fit(X, neighbors=graph)
    assert model.n_distinct_ == 40
    Y = model.embedding_.reshape(40, 3, 2)
    same_bits(Y, np.broadcast_to(Y[:, :1], Y.shape))
    assert np.isfinite(model.transform(X + 0.1)).all()
    if hasattr(model, "neighbor_radii_"):
        close(model.neighbor_radii_, graph.max(axis=1).toarray().ravel())
