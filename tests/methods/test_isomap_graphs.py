"""Isomap on graphs: disconnected, with duplicates, ties and outliers, or given."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.distance import cdist
from sklearn import manifold

import lowd
from case_data import rows_like
from cases import close, same_bits
from lowd.errors import (
    ApproximationWarning,
    DataError,
    DisconnectedGraphWarning,
    LocalizedAxisWarning,
    ParameterError,
    RankWarning,
    UnsupportedError,
)
from lowd.spaces import Rows
from manifolds import disparity, lattice, roll

U = np.array([[0, 2], [0, 1], [0, 0], [1, 0], [2, 0], [2, 1], [2, 2]], float)


# -- disconnected graphs, duplicates, ties, outliers ----------------------------------------------


@pytest.mark.filterwarnings("ignore::lowd.errors.ShortcutWarning")  # rightly, of so few rows
def test_two_far_rolls():
    X, _ = roll(300)
    both = np.vstack([X, X[:200] + 500])
    model = lowd.Isomap(2, n_neighbors=8)
    with pytest.warns(DisconnectedGraphWarning, match="2 .*300, 200.*by their shortest edge"):
        Y = model.fit_transform(both)
    assert model.n_graph_components_ == 2
    same_bits(model.graph_components_, np.repeat([0, 1], [300, 200]))
    (a, b), gap = model.bridges_[0], cdist(X, X[:200] + 500)
    assert gap[min(a, b), max(a, b) - 300] == gap.min()
    assert len(model.bridges_) == 1
    assert np.isfinite(Y).all()
    assert Y.shape == (500, 2)
    assert (Y[:300].std(0) > 0.01).all()
    assert (Y[300:].std(0) > 0.01).all()
    assert np.isfinite(model.transform(both[::7] + 0.01)).all()
    with pytest.raises(DataError, match=r"2 connected components.*300, 200.*raise n_neighbors"):
        model.set_params(on_disconnected="error").fit(both)


def test_isolated_points_of_a_radius_graph():
    """Three points with nobody near: joined by their shortest edges, or refused."""
    X = np.vstack([U, [[9.0, 0], [0, 9], [9, 9]]])
    model = lowd.Isomap(2, radius=1.0)
    with pytest.warns(DisconnectedGraphWarning, match="radius 1 has 4 .*7, 1, 1, 1"):
        model.fit(X)
    same_bits(model.graph_components_, np.array([0] * 7 + [1, 2, 3]))
    assert len(model.bridges_) == 3
    assert np.isfinite(model.embedding_).all()
    close(model.transform(X), model.embedding_)
    with pytest.raises(DataError, match="raise radius"):
        model.set_params(on_disconnected="error").fit(X)


def test_duplicates_are_one_point_with_weight():
    """A roll twelve times with 10 neighbors: the weighted map of the distinct points."""
    X, _ = roll(60)
    params = {"n_neighbors": 10}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        single = lowd.Isomap(2, **params).fit(X)
        model = lowd.Isomap(2, **params).fit(np.tile(X, (12, 1)))
    assert (model.n_distinct_, model.n_graph_components_) == (60, 1)
    Y = model.embedding_.reshape(12, 60, 2)
    same_bits(Y, np.broadcast_to(Y[0], Y.shape))
    close(Y[0], single.embedding_)
    close(model.eigenvalues_, 12 * single.eigenvalues_)
    close(model.geodesic_distances_, np.tile(single.geodesic_distances_, (12, 12)))
    close(dijkstra(model.graph_), model.geodesic_distances_)  # stored zeros are edges
    # Unequal multiplicities weigh unequally: H with weights, by hand.
    times = np.arange(60) % 4 + 1
    uneven = lowd.Isomap(2, **params).fit(np.repeat(X, times, axis=0))
    w = times / times.sum()
    H = np.eye(60) - w
    B = -0.5 * H @ single.geodesic_distances_**2 @ H.T
    values, V = np.linalg.eigh(np.sqrt(times)[:, None] * B * np.sqrt(times))
    close(uneven.eigenvalues_, values[::-1][:2])
    expected = V[:, ::-1][:, :2] / np.sqrt(times)[:, None] * np.sqrt(values[::-1][:2])
    found = uneven.embedding_[np.cumsum(times) - 1]
    close(found, expected * np.sign((found * expected).sum(0)))
    close(uneven.transform(X), found)


def test_precomputed_duplicates():
    """Distances of copied rows: merged as the rows themselves would be."""
    X, _ = roll(60)
    copied = np.repeat(X, 3, axis=0)
    D, new = cdist(copied, copied), cdist(X + 0.1, copied)
    rows = lowd.Isomap(2, n_neighbors=6).fit(copied)
    model = lowd.Isomap(2, n_neighbors=6, metric="precomputed").fit(D)
    close(model.embedding_, rows.embedding_)
    close(model.transform(new), rows.transform(X + 0.1))


def test_ties_do_not_depend_on_the_order_of_rows(rng):
    grid = lattice(12, 10)
    order = rng.permutation(120)
    model = lowd.Isomap(2, n_neighbors=5).fit(grid)
    other = lowd.Isomap(2, n_neighbors=5).fit(grid[order])
    close(other.geodesic_distances_, model.geodesic_distances_[np.ix_(order, order)])
    turn = np.sign((other.embedding_ * model.embedding_[order]).sum(0))  # no entry is the largest
    close(other.embedding_, model.embedding_[order] * turn)


def test_one_outlier_leaves_the_others_in_order():
    """A point far off is far off in the map as well; the sheet keeps its shape beside it."""
    X, truth = roll(400)
    model = lowd.Isomap(3, n_neighbors=8).fit(np.vstack([X, [[0, 10, 300.0]]]))
    far = np.linalg.norm(model.embedding_ - model.embedding_.mean(0), axis=1)
    assert far.argmax() == 400
    inside = lowd.PCA(2).fit_transform(model.embedding_[:400])
    assert disparity(truth, inside) < 0.02


def test_an_outlier_that_owns_an_axis_is_named():
    X, _ = roll(400)
    model = lowd.Isomap(2, n_neighbors=8)
    with pytest.warns(LocalizedAxisWarning, match=r"axis 0 .* 400\)"):
        model.fit(np.vstack([X, [[0, 10, 3000.0]]]))
    assert model.participation_[0] < 2
    assert (model.fit(X).participation_ > 100).all()


def test_constant_data():
    model = lowd.Isomap(2)
    with pytest.warns(RankWarning, match="0 eigenvalues"):
        Y = model.fit_transform(np.full((9, 3), 4.0))
    assert (Y == 0).all()
    assert (model.residual_variance_ == 0).all()
    assert (model.transform(rows_like(5, 3)) == 0).all()


@pytest.mark.parametrize("n", [2, 3, 6])
def test_as_few_points_as_neighbors(n):
    X = rows_like(n, 4)
    with pytest.raises(ParameterError, match=f"use n_neighbors={n - 1}"):
        lowd.Isomap(1, n_neighbors=n).fit(X)
    model = lowd.Isomap(1, n_neighbors=n - 1).fit(X)
    close(np.abs(model.embedding_), np.abs(lowd.PCA(1).fit_transform(X)))
    copied = np.repeat(X, 5, axis=0)
    with pytest.raises(ParameterError, match=f"{n} of the {5 * n} rows are distinct"):
        lowd.Isomap(1, n_neighbors=n).fit(copied)


# -- given neighbors --------------------------------------------------------------------------


def test_one_graph_serves_all():
    X, _ = roll(200)
    Q, _ = roll(20, 1)
    plain = lowd.Isomap(2, n_neighbors=9).fit(X)
    graph = lowd.neighbors(X, 9)
    for given in (graph, tuple(graph), graph.with_self(), graph.graph(), csr_array(graph.edges())):
        model = lowd.Isomap(2).fit(X, neighbors=given)
        same_bits(model.embedding_, plain.embedding_)
        same_bits(model.transform(Q), plain.transform(Q))
    same_bits(lowd.Isomap(2).fit_transform(X, neighbors=graph), plain.embedding_)
    order = np.argsort(cdist(Q, X), axis=1)[:, :9]
    pair = order, np.take_along_axis(cdist(Q, X), order, 1)
    close(plain.transform(Q, neighbors=pair), plain.transform(Q))
    close(plain.transform(Q[3:4], neighbors=[p[3:4] for p in pair]), plain.transform(Q[3:4]))


def test_a_ready_graph_says_who_is_a_copy():
    X, _ = roll(50)
    copied = np.repeat(X, 3, axis=0)
    graph = lowd.neighbors(copied, 20)
    model = lowd.Isomap(2).fit(copied, neighbors=graph)
    assert model.n_distinct_ == 50
    edges = model.graph_.tocoo()
    assert (edges.row != edges.col).all()
    Y = model.embedding_.reshape(50, 3, 2)
    same_bits(Y, np.broadcast_to(Y[:, :1], Y.shape))


def test_ready_neighbors_that_do_not_fit():
    X = rows_like(30)
    graph = lowd.neighbors(X, 6)
    with pytest.raises(ParameterError, match=r"n_neighbors=7.*neighbor graph is given"):
        lowd.Isomap(2, n_neighbors=7).fit(X, neighbors=graph)
    with pytest.raises(DataError, match="30 rows, but X has 29"):
        lowd.Isomap(2).fit(X[:29], neighbors=graph)
    model = lowd.Isomap(2).fit(X, neighbors=graph)
    with pytest.raises(DataError, match="4 new rows among 30"):
        model.transform(X[:4], neighbors=([[1, 2]], [[0.5, 0.6]]))
    with pytest.raises(DataError, match="row 0 names row 30"):
        model.transform(X[:1], neighbors=([[1, 30]], [[0.5, 0.6]]))
    with pytest.raises(ParameterError, match="regression"):
        lowd.Isomap(2, map="regression").fit(X).transform(X, neighbors=graph)


def test_a_sparse_graph_instead_of_distances():
    """As scikit-learn's pipelines pass it on; its components cannot be joined."""
    X, _ = roll(200)
    Q, _ = roll(20, 1)
    plain = lowd.Isomap(2, n_neighbors=9).fit(X)
    step = lowd.NeighborsTransformer(n_neighbors=12).fit(X)
    model = lowd.Isomap(2, n_neighbors=9, metric="precomputed")
    close(model.fit_transform(step.transform(X)), plain.embedding_)
    close(model.transform(step.transform(Q)), plain.transform(Q))
    close(model.transform(step.transform(X)), plain.embedding_)
    few = lowd.Isomap(2, n_neighbors=9, metric="precomputed", n_landmarks=60)
    assert disparity(plain.embedding_, few.fit_transform(step.transform(X))) < 0.01
    within = lowd.Isomap(2, radius=6.0, metric="precomputed")
    wide = lowd.NeighborsTransformer(n_neighbors=60).fit(X)
    same = lowd.Isomap(2, radius=6.0).fit(X)
    close(within.fit_transform(wide.transform(X)), same.embedding_)
    close(within.transform(wide.transform(Q)), same.transform(Q))
    with pytest.raises(ParameterError, match=r"n_neighbors=9.*holds 5"):
        model.fit(lowd.neighbors(X, 5).graph())
    far = np.vstack([X, X + 500])
    with pytest.raises(DataError, match=r"2 connected components.*has no distances"):
        model.fit(lowd.neighbors(far, 9).graph())
    with pytest.raises(UnsupportedError, match="needs the rows"):
        model.set_params(map="regression").fit(step.transform(X))


def test_an_approximate_search_is_announced(monkeypatch):
    """What the engine reports of its search reaches the user."""
    nearest = Rows.nearest
    monkeypatch.setattr(Rows, "nearest", lambda *given: nearest(*given)._replace(recall=0.995))
    model = lowd.Isomap(2, n_neighbors=8)
    with pytest.warns(ApproximationWarning, match=r"99\.50%"):
        model.fit(roll(200)[0])
    assert model.knn_recall_ == 0.995


@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
def test_the_order_of_minkowski_distances_is_that_of_scikit_learn(p):
    X, Q = rows_like(60, 3), rows_like(5, 3)
    model = lowd.Isomap(2, n_neighbors=8, p=p).fit(X)
    peer = manifold.Isomap(n_components=2, n_neighbors=8, p=p).fit(X)
    np.testing.assert_allclose(np.abs(model.embedding_), np.abs(peer.embedding_), atol=1e-10)
    params = {"metric": "minkowski", "metric_params": {"p": p}}
    same = lowd.Isomap(2, n_neighbors=8, **params).fit(X)
    np.testing.assert_allclose(model.transform(Q), same.transform(Q), atol=1e-10)
    assert model.evaluate(X).metric in ("manhattan", "minkowski", "euclidean")


def test_an_order_that_would_be_ignored_is_refused():
    with pytest.raises(lowd.errors.ParameterError, match=r"p=3.*metric='cosine' has no order"):
        lowd.Isomap(p=3, metric="cosine").fit(rows_like(30, 3))
    with pytest.raises(lowd.errors.ParameterError, match=r"metric_params.*p is set"):
        lowd.Isomap(p=3, metric="minkowski", metric_params={"p": 2}).fit(rows_like(30, 3))


def test_an_infinite_radius_is_classical_scaling():
    """Every row is a neighbor of every other, so geodesic distances are the distances."""
    X, Q = rows_like(60, 3), rows_like(5, 3)
    model = lowd.Isomap(2, n_neighbors=None, radius=np.inf).fit(X)
    classical = lowd.ClassicalMDS(2).fit(X)
    np.testing.assert_allclose(model.embedding_, classical.embedding_, atol=1e-10)
    np.testing.assert_allclose(model.transform(Q), classical.transform(Q), atol=1e-10)


@pytest.mark.parametrize("graph", [{"n_neighbors": 7}, {"radius": 4.0}])
def test_a_changing_list_of_neighbors_moves_geodesics_by_a_detour_at_most(graph):
    """From one point of a walk to the next: the step, and the detour by the nearest neighbor.

    Between neighbors in the graph the detour is at most twice the distance of the nearest one, so
    it vanishes at training points.
    """
    X, _ = roll(500)
    model = lowd.Isomap(2, **graph).fit(X)
    G = dijkstra(model.graph_, directed=False)
    changes = 0
    for a in range(0, 60, 3):
        b = np.argsort(np.linalg.norm(X - X[a], axis=1))[4]
        steps = np.linspace(0, 1, 60)[:, None]
        walk = X[a] * (1 - steps) + X[b] * steps
        D, near = cdist(walk, X), model._transform(walk)[1]
        lists = [set(near.indices[s:t]) for s, t in pairwise(near.indptr)]
        g = np.array([min_plus(d, G, of) for d, of in zip(D, lists, strict=True)])
        closest = D.argmin(1)
        for t in range(1, len(walk)):
            changed, j = list(lists[t] ^ lists[t - 1]), closest[t]
            detours = D[t, j] + G[j, changed] - D[t, changed]
            linked = model.graph_[[j], :].toarray()[0, changed] > 0
            assert (detours[linked] <= 2 * D[t, j] + 1e-9).all()
            bound = 2 * np.linalg.norm(walk[t] - walk[t - 1]) + max(0, *detours, 0)
            assert np.abs(g[t] - g[t - 1]).max() <= bound + 1e-9
            changes += len(changed)
    assert changes > 50


def min_plus(d, G, through):
    """Shortest paths that begin with an edge to one of some points."""
    through = list(through)
    return (d[through, None] + G[through]).min(0)
