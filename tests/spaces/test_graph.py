"""Neighbor graphs for any points: duplicates, ties, components, bridges, paths, new points."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as numbers
from scipy.sparse.csgraph import connected_components, dijkstra, minimum_spanning_tree
from scipy.spatial.distance import cdist

from cases import same_bits
from lowd.errors import DataError, DisconnectedGraphWarning, ParameterError
from lowd.spaces import (
    Neighbors,
    Rows,
    connected_graph,
    distinct_neighbors,
    find_bridges,
    new_neighbors,
    path_products,
    paths_through,
    rank_by_size,
    shortest_paths,
    space_of,
    sum_duplicates,
)
from lowd.spaces import graph as module
from manifolds import lattice, roll
from operands import typed

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


def n_distinct(X):
    return len(np.unique(X + 0.0, axis=0))


several = POINTS.filter(lambda X: n_distinct(X) > 1)


def draw_k(data, count):
    """As many neighbors as that many points can have."""
    return data.draw(st.integers(1, count - 1), label="k")


# -- duplicates, ties, edges ----------------------------------------------------------------------


@many
@given(several, st.data())
def test_duplicates_are_merged_and_counted(X, data):
    graph = distinct_neighbors(Rows(X), draw_k(data, n_distinct(X)), None)
    unique, counts = np.unique(X + 0.0, axis=0, return_counts=True)
    assert graph.counts.sum() == len(X)
    assert (X[graph.first_row][graph.point_of_row] == X).all()
    order = np.lexsort(X[graph.first_row].T[::-1])
    np.testing.assert_array_equal(X[graph.first_row][order], unique)
    np.testing.assert_array_equal(graph.counts[order], counts)
    assert (graph.near.distances > 0).all()


@many
@given(several, st.data())
def test_edges_are_symmetric_and_there_where_either_end_has_them(X, data):
    graph = distinct_neighbors(Rows(X), draw_k(data, n_distinct(X)), None)
    one_way, union = graph.near.as_graph(graph.space.n).toarray() > 0, graph.edges()
    both = union.toarray() > 0
    np.testing.assert_array_equal(both, one_way | one_way.T)
    np.testing.assert_array_equal(union.toarray(), union.toarray().T)
    D = cdist(X[graph.first_row], X[graph.first_row])
    np.testing.assert_allclose(union.toarray(), np.where(both, D, 0), rtol=1e-12)


@many
@given(several, st.data())
def test_edges_of_rows_lead_from_duplicates_to_the_first(X, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedGraphWarning)
        graph = connected_graph(Rows(X), draw_k(data, n_distinct(X)), None)
    lengths = graph.edges()
    paths = dijkstra(graph.edges_of_rows(lengths))
    of_points = dijkstra(lengths)[np.ix_(graph.point_of_row, graph.point_of_row)]
    np.testing.assert_allclose(paths, of_points, rtol=1e-12)


@many
@given(several, st.data())
def test_a_permutation_of_rows_permutes_the_graph(X, data):
    """Where all ties are neighbors: otherwise the order of rows decides between them."""
    k = draw_k(data, n_distinct(X))
    order = np.array(data.draw(st.permutations(range(len(X))), label="order"))

    def edges_of_rows(X):
        graph = distinct_neighbors(Rows(X), k, None, ties=True)
        return graph.edges().toarray()[np.ix_(graph.point_of_row, graph.point_of_row)]

    expected = edges_of_rows(X)[np.ix_(order, order)]
    np.testing.assert_allclose(edges_of_rows(X[order]), expected, rtol=1e-12)


def test_a_graph_within_a_radius():
    """The sphere is included, the point itself is not, and duplicates are one point."""
    X = np.vstack([lattice(6, 5), lattice(6, 5)[:7]])
    graph = connected_graph(Rows(X), None, 1.0)
    D = cdist(X[graph.first_row], X[graph.first_row])
    assert graph.space.n == 30
    np.testing.assert_array_equal(graph.edges().toarray() > 0, (D <= 1) & (D > 0))


def test_what_neighbors_need():
    X = np.repeat(np.arange(4.0), 3)[:, None]
    with pytest.raises(ParameterError, match=r"n_neighbors=12 needs .* 12; use n_neighbors=11"):
        connected_graph(Rows(X), 12, None)
    with pytest.raises(ParameterError, match=r"only 4 of the 12 rows are distinct; .*=3 or less"):
        connected_graph(Rows(X), 4, None)
    with pytest.raises(ParameterError, match="needs a radius"):
        connected_graph(Rows(X), None, None)
    assert connected_graph(Rows(X[:3]), 2, None).space.n == 1
    assert distinct_neighbors(Rows(X), lambda n: n - 1, None).near.counts.tolist() == [3] * 4


# -- connected components and bridges -------------------------------------------------------------


def clusters_of(counts, seed=0, gap=30.0):
    """Clusters in space, the largest first; rows shuffled."""
    rng = np.random.default_rng(seed)
    label = np.repeat(np.arange(len(counts)), counts)
    X = gap * rng.normal(size=(len(counts), 3))[label] + rng.normal(size=(len(label), 3))
    order = rng.permutation(len(label))
    return X[order], label[order]


def tree_length(X, label):
    """The minimum spanning tree by looking at every pair of rows."""
    count = label.max() + 1
    D, least = cdist(X, X), np.zeros((count, count))
    for p in range(count):
        for q in range(p + 1, count):
            least[p, q] = D[np.ix_(label == p, label == q)].min()
    return minimum_spanning_tree(least).sum()


@many
@given(several, st.data())
def test_components_are_joined_by_a_shortest_tree_of_bridges(X, data):
    k = draw_k(data, n_distinct(X))
    alone = distinct_neighbors(Rows(X), k, None, ties=True)
    count, label = connected_components(alone.edges(), directed=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedGraphWarning)
        graph = connected_graph(Rows(X), k, None)
    assert len(graph.bridges) == count - 1
    assert connected_components(graph.edges(), directed=False)[0] == 1
    points = X[graph.first_row]
    length = cdist(points, points)[tuple(graph.bridges.T)].sum()
    np.testing.assert_allclose(length, tree_length(points, label), rtol=1e-12)


@pytest.mark.parametrize("counts", [(60, 40, 5, 1), (9, 9, 9), (50, 1), (3,) * 30])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "precomputed"])
def test_bridges_are_the_shortest(counts, metric):
    X, label = clusters_of(counts)
    D = cdist(X, X, "cityblock" if metric == "manhattan" else "euclidean")
    space = space_of(D if metric == "precomputed" else X, metric)
    found = find_bridges(space, label)
    assert found.exact
    ends = label[found.pairs]
    assert (ends[:, 0] < ends[:, 1]).all()
    assert (np.diff(ends @ [len(counts), 1]) > 0).all()
    np.testing.assert_allclose(found.lengths, D[tuple(found.pairs.T)], rtol=1e-12)
    if metric != "manhattan":
        np.testing.assert_allclose(found.lengths.sum(), tree_length(X, label), rtol=1e-12)


@pytest.mark.parametrize("few", [0, 8, 100])
def test_the_index_finds_what_all_pairs_do(few):
    by_index = module.nearest_outside.others[Rows]
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, label = clusters_of(np.sort(rng.integers(1, 40, rng.integers(2, 20)))[::-1], seed, 3.0)
        points = np.flatnonzero(label)
        others, lengths = by_index(Rows(X), points, label, few, 0)
        np.testing.assert_allclose(
            lengths, module.nearest_outside.function(Rows(X), points, label)[1], rtol=1e-12
        )
        assert (label[others] != label[points]).all()
        np.testing.assert_allclose(np.linalg.norm(X[others] - X[points], axis=1), lengths)


def test_samples_join_all_components_by_edges_nearly_as_short():
    X, label = clusters_of((400, 300, 200, 100, 2, 1))
    found = module._sampled_bridges(Rows(X), label, most=60)
    assert not found.exact
    links = np.zeros((6, 6))
    a, b = label[found.pairs].T
    links[a, b] = 1
    assert connected_components(links, directed=False)[0] == 1
    ends = np.linalg.norm(X[found.pairs[:, 0]] - X[found.pairs[:, 1]], axis=1)
    np.testing.assert_allclose(found.lengths, ends, rtol=1e-12)
    shortest = tree_length(X, label)
    assert shortest <= found.lengths.sum() * (1 + 1e-12) <= 1.05 * shortest


def test_going_back_and_forth_finds_the_nearest_ends():
    """Two lines, sampled far from where they are nearest."""
    t = np.linspace(0, 1, 200)
    X = np.vstack([np.c_[t, t, 0 * t], np.c_[t, -t - 0.5, 0 * t]])
    found = module._sampled_bridges(Rows(X), np.repeat([0, 1], 200), most=8)
    np.testing.assert_allclose(found.lengths, 0.5, atol=1e-12)
    np.testing.assert_array_equal(np.sort(found.pairs[0]), [0, 200])


def test_what_is_said_of_bridges(monkeypatch):
    X, _ = clusters_of((60, 40, 5))
    with pytest.warns(
        DisconnectedGraphWarning,
        match=r"of 4 neighbors has 3 .*\(rows: 60, 40, 5\).* 2 shortest edges \(up to .* long",
    ):
        graph = connected_graph(Rows(X), 4, None)
    assert np.bincount(graph.component).tolist() == [60, 40, 5]
    with pytest.warns(
        DisconnectedGraphWarning, match=r"radius 9 has 2 .* shortest edge \(.* long\)"
    ):
        connected_graph(Rows(np.array([[0.0], [1], [30], [31]])), None, 9.0)
    with pytest.raises(DataError, match=r"3 connected components .*; raise n_neighbors, or fit"):
        connected_graph(Rows(X), 4, None, "error")
    monkeypatch.setattr(module.find_bridges, "__defaults__", (1.0,))
    with pytest.warns(DisconnectedGraphWarning, match="2 short edges .*, from a sample of rows"):
        connected_graph(Rows(X), 4, None)


def test_components_are_ranked_by_size():
    np.testing.assert_array_equal(rank_by_size(np.array([1, 0, 0, 2, 2, 3])), [2, 0, 0, 1, 1, 3])


# -- shortest paths -------------------------------------------------------------------------------


def test_paths_are_those_of_scipy():
    X = roll(150)[0]
    edges = connected_graph(Rows(X), 6, None).edges()
    G = dijkstra(edges)
    np.testing.assert_allclose(shortest_paths(edges, np.arange(40)), G[:40], rtol=1e-12)
    Q = roll(20, seed=1)[0]
    near = new_neighbors(Rows(X), Q, 6, None)
    through = [
        (d[:, None] + G[near.indices[s:e]]).min(0)
        for s, e in zip(near.indptr[:-1], near.indptr[1:], strict=True)
        for d in [near.distances[s:e]]
    ]
    np.testing.assert_allclose(paths_through(edges, None, near), through, rtol=1e-12)
    marks = np.ascontiguousarray(G[:, :9])
    by_marks = paths_through(None, marks, near)
    np.testing.assert_allclose(by_marks, np.array(through)[:, :9], rtol=1e-12)
    V = np.random.default_rng(0).normal(size=(150, 3))
    np.testing.assert_allclose(path_products(edges)(V), -0.5 * G**2 @ V, rtol=1e-10)


def test_sums_over_duplicates():
    V = np.arange(10.0).reshape(5, 2)
    np.testing.assert_array_equal(
        sum_duplicates(V, np.array([0, 1, 0, 2, 1])), [V[0] + V[2], V[1] + V[4], V[3]]
    )


# -- new points -----------------------------------------------------------------------------------


@many
@given(GRIDS, st.data())
def test_new_points_have_all_ties_among_their_neighbors(X, data):
    shape = data.draw(st.integers(1, 5), label="new points"), X.shape[1]
    Q = data.draw(numbers.arrays(np.float64, shape, elements=st.integers(-4, 4).map(float)))
    k = data.draw(st.integers(1, len(X)), label="k")
    D = cdist(Q, X)
    near = new_neighbors(Rows(X), Q, k, None)
    kth = np.sort(D, axis=1)[:, k - 1]
    count = (kth[:, None] >= D).sum(1)
    all_of_them = count <= 10 * k  # of more, the first k
    np.testing.assert_array_equal(
        (near.as_graph(len(X)).toarray() > 0)[all_of_them],
        ((kth[:, None] >= D) & (D > 0))[all_of_them],
    )
    assert (near.counts == np.where(all_of_them, count, k)).all()
    bare = new_neighbors(Rows(X), Q, k, None, ties=False)
    assert (bare.counts == k).all()
    for i, (s, e) in enumerate(zip(near.indptr[:-1], near.indptr[1:], strict=True)):
        np.testing.assert_allclose(near.distances[s:e], D[i, near.indices[s:e]])
        assert near.distances[s] == near.distances[s:e].min()


def test_a_new_point_with_nobody_within_the_radius_has_the_nearest():
    near = new_neighbors(Rows(np.arange(5.0)[:, None]), np.array([[0.4], [9.0]]), None, 1.0)
    assert near.counts.tolist() == [2, 1]
    assert near.indices.tolist() == [0, 1, 4]


@typed
def test_paths_that_end_in_a_table_of_distances(kind, rng):
    G = rng.random((30, 137)).astype(kind)
    counts = [3, 1, 0, 7, 30]
    indptr = np.concatenate([[0], np.cumsum(counts)])
    indices = np.concatenate([rng.permutation(30)[:k] for k in counts]).astype(np.int32)
    near = Neighbors(indptr, indices, rng.random(len(indices)))
    out = paths_through(None, G, near)
    assert out.dtype == kind
    assert np.isinf(out[2]).all()
    lengths = near.distances.astype(kind)
    for i in (0, 1, 3, 4):
        some = slice(*indptr[i : i + 2])
        same_bits(out[i], (lengths[some, None] + G[indices[some]]).min(0))
    same_bits(paths_through(None, G, near.take(slice(3, 5))), out[3:])
