"""Properties of neighbor graphs for any points: small integers bring ties and duplicates."""

from __future__ import annotations

import warnings

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as numbers
from lowd.distances.metrics import distances_of
from lowd.graph.neighbor_graph import connect, find_distinct, symmetrize_edges
from lowd.graph.search import find_nearest, find_neighbors, find_within
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist

from lowd.backends import resolve
from lowd.errors import DisconnectedGraphWarning
from lowd.input.validation import Data

many = settings(max_examples=60, deadline=None)
# Distances of small integers are equal exactly if they are equal at all.
GRIDS = st.tuples(st.integers(2, 14), st.integers(1, 3)).flatmap(
    lambda shape: numbers.arrays(np.float64, shape, elements=st.integers(-3, 3).map(float))
)
# Columns far apart leave the graph in several components.
POINTS = st.one_of(
    GRIDS,
    GRIDS.map(lambda X: X * [1000.0, 1, 1][: X.shape[1]]),
    st.tuples(st.integers(2, 14), st.integers(1, 3)).flatmap(
        lambda shape: numbers.arrays(np.float64, shape, elements=st.floats(-1e3, 1e3, width=16))
    ),
)


def euclidean(X):
    return distances_of(Data(X, X.dtype, None), "euclidean", None)


def n_distinct(X):
    return len(np.unique(X + 0.0, axis=0))


def draw_k(data, count):
    """As many neighbors as that many points can have."""
    return data.draw(st.integers(1, count - 1), label="k")


several = POINTS.filter(lambda X: n_distinct(X) > 1)


@many
@given(several, st.data())
def test_duplicates_are_merged_and_counted(X, data):
    k = draw_k(data, n_distinct(X))
    points = find_distinct(euclidean(X), k, None, resolve("auto", 1))
    unique, counts = np.unique(X + 0.0, axis=0, return_counts=True)
    assert points.counts.sum() == len(X)
    assert (X[points.first_row][points.point_of_row] == X).all()
    order = np.lexsort(X[points.first_row].T[::-1])
    np.testing.assert_array_equal(X[points.first_row][order], unique)
    np.testing.assert_array_equal(points.counts[order], counts)
    assert (points.edges.data > 0).all()


@many
@given(several, st.data())
def test_the_union_graph_is_symmetric_and_has_every_edge(X, data):
    k = draw_k(data, n_distinct(X))
    points = find_distinct(euclidean(X), k, None, resolve("auto", 1))
    union = symmetrize_edges(points.edges)
    one_way, both = (A.toarray() > 0 for A in (points.edges, union))
    np.testing.assert_array_equal(both, one_way | one_way.T)
    np.testing.assert_array_equal(union.toarray(), union.toarray().T)
    D = cdist(X[points.first_row], X[points.first_row])
    np.testing.assert_allclose(union.toarray(), np.where(both, D, 0), rtol=1e-12)


@many
@given(several, st.data())
def test_components_are_joined_by_a_shortest_tree_of_bridges(X, data):
    k = draw_k(data, n_distinct(X))
    ops = resolve("auto", 1)
    alone = symmetrize_edges(find_distinct(euclidean(X), k, None, ops).edges)
    count, label = connected_components(alone, directed=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedGraphWarning)
        graph = connect(find_distinct(euclidean(X), k, None, ops), k, None, ops)
    assert len(graph.bridges) == count - 1
    assert connected_components(graph.symmetric_edges(), directed=False)[0] == 1
    D = cdist(X[graph.first_row], X[graph.first_row])
    least = np.zeros((count, count))
    for p in range(count):
        for q in range(p):
            least[p, q] = D[np.ix_(label == p, label == q)].min()
    length = D[tuple(graph.bridges.T)].sum()
    np.testing.assert_allclose(length, minimum_spanning_tree(least).sum(), rtol=1e-12)


@many
@given(several, st.data())
def test_a_permutation_of_rows_permutes_the_graph(X, data):
    """Where all ties are neighbors: else the order of rows decides between them."""
    k = draw_k(data, n_distinct(X))
    order = np.array(data.draw(st.permutations(range(len(X))), label="order"))

    def edges_of_rows(X):
        points = find_distinct(euclidean(X), k, None, resolve("auto", 1), include_ties=True)
        edges, at = symmetrize_edges(points.edges).toarray(), points.point_of_row
        return edges[np.ix_(at, at)]

    expected = edges_of_rows(X)[np.ix_(order, order)]
    np.testing.assert_allclose(edges_of_rows(X[order]), expected, rtol=1e-12)


def nearest(D, k):
    """Brute force: the k smallest of each row, ties by index."""
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(D, order, 1)


@many
@given(GRIDS, st.data())
def test_neighbors_of_training_points_are_those_of_brute_force(X, data):
    k = draw_k(data, len(X))
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    indices, distances = nearest(D, k)
    found = find_neighbors(euclidean(X), k, resolve("auto", 1))
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-12)
    # By blocks of given distances, as for metrics without an index.
    selected = resolve("auto", 1).distance_index(cdist(X, X), np.arange(len(X))).nearest(k)
    np.testing.assert_array_equal(selected.indices, indices)
    np.testing.assert_array_equal(selected.distances, distances)


@many
@given(GRIDS, st.data())
def test_neighbors_of_new_points_are_those_of_brute_force(X, data):
    m = data.draw(st.integers(1, 5), label="new points")
    Q = data.draw(numbers.arrays(np.float64, (m, X.shape[1]), elements=st.integers(-4, 4)))
    k = data.draw(st.integers(1, len(X)), label="k")
    indices, distances = nearest(cdist(Q, X), k)
    found = find_nearest(euclidean(X), Q, k, resolve("auto", 1))
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-12)
    # The kth distance bounds all that was left out.
    others = np.sort(cdist(Q, X), axis=1)
    assert (others[:, k:] >= found.distances[:, -1:] * (1 - 1e-12)).all()


@many
@given(GRIDS, st.integers(1, 5))
def test_neighbors_within_a_radius_are_those_of_brute_force(X, radius):
    """The sphere is included, the point itself is not."""
    found = find_within(euclidean(X), None, float(radius), resolve("auto", 1))
    D = cdist(X, X)
    inside = (radius >= D) & ~np.eye(len(X), dtype=bool)
    pattern = np.zeros_like(inside)
    pattern[np.repeat(np.arange(len(X)), np.diff(found.indptr)), found.indices] = True
    np.testing.assert_array_equal(pattern, inside)
    np.testing.assert_allclose(found.toarray(), np.where(inside, D, 0), rtol=1e-12)
