"""Given neighbors embed new points as a search would; an index is kept between calls."""

from __future__ import annotations

import gc
import pickle
import re
import weakref

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.neighbors import kneighbors_graph

import lowd
from cases import close, same_bits
from lowd.errors import DataError, DisconnectedGraphWarning, ParameterError, UnsupportedError
from lowd.spaces import RowIndex
from manifolds import roll

ALL = 150  # as many as there are
METHODS = {
    "Isomap": (lowd.Isomap(2, n_neighbors=8), 8),
    "Isomap landmarks": (lowd.Isomap(2, n_neighbors=8, n_landmarks=30), 8),
    "LLE": (lowd.LocallyLinearEmbedding(2, n_neighbors=8), 8),
    "LLE tangent": (lowd.LocallyLinearEmbedding(2, n_neighbors=8, map="tangent"), 8),
    "ModifiedLLE": (lowd.ModifiedLLE(2, n_neighbors=8), 8),
    "HessianLLE": (lowd.HessianLLE(2, n_neighbors=8), 8),
    "LTSA": (lowd.LTSA(2, n_neighbors=8), 8),
    "LaplacianEigenmaps": (lowd.LaplacianEigenmaps(2, n_neighbors=8), ALL),
    "LaplacianEigenmaps radius": (lowd.LaplacianEigenmaps(2, n_neighbors=None, radius=9.0), ALL),
    "DiffusionMaps": (lowd.DiffusionMaps(2, n_neighbors=20), ALL),
    "SNE": (lowd.SNE(2, perplexity=8, max_iter=60), ALL),
    "TSNE": (lowd.TSNE(2, perplexity=8, max_iter=60), ALL),
}


def lists(Q, X, k):
    """Neighbors in no order, as one who does not know ours might give them."""
    D = cdist(Q, X)
    indices = np.sort(np.argsort(D, axis=1)[:, :k], axis=1)
    return indices, np.take_along_axis(D, indices, 1)


@pytest.mark.parametrize("name", METHODS)
def test_given_neighbors_of_new_rows(name):
    model, k = METHODS[name]
    X, Q = roll(ALL)[0], roll(ALL + 20)[0][ALL:]
    model = clone(model).fit(X)
    close(model.transform(Q, neighbors=lists(Q, X, k)), model.transform(Q))
    far = lists(Q + 1, X, k)  # they count, and not those that a search would find
    assert np.abs(model.transform(Q, neighbors=far) - model.transform(Q)).max() > 1e-6


LONGER = METHODS | {
    "Isomap radius": (lowd.Isomap(2, n_neighbors=None, radius=9.0), 8),
    "TSNE uniform": (lowd.TSNE(2, affinity="uniform", n_neighbors=15, max_iter=60), 15),
    "UMAP": (lowd.UMAP(n_neighbors=8, n_epochs=30), 16),
}


@pytest.mark.parametrize("name", LONGER)
def test_more_neighbors_than_the_map_takes_change_nothing(name):
    distinct, Q = roll(ALL)[0], roll(ALL + 20)[0][ALL:]
    for X in (distinct, np.vstack([distinct, distinct[:60]])):
        model = clone(LONGER[name][0]).fit(X)
        close(model.transform(Q, neighbors=lists(Q, X, len(X))), model.transform(Q))


@pytest.mark.parametrize("name", ["Isomap", "LTSA", "LaplacianEigenmaps", "TSNE"])
def test_duplicates_among_given_neighbors_are_one(name):
    model, k = METHODS[name]
    X, Q = roll(ALL)[0], roll(ALL + 20)[0][ALL:]
    model = clone(model).fit(np.vstack([X, X[:60]]))
    indices, distances = lists(Q, X, k)
    rng = np.random.default_rng(0)
    indices = np.where((indices < 60) & (rng.random(indices.shape) < 0.5), indices + ALL, indices)
    close(model.transform(Q, neighbors=(indices, distances)), model.transform(Q))
    both = np.hstack([indices, indices[:, :2] % ALL]), np.hstack([distances, distances[:, :2]])
    twice = (np.diff(np.sort(both[0], axis=1), axis=1) == 0).any(1)
    some = np.flatnonzero(~twice)
    if len(some):
        ready = tuple(part[some] for part in both)
        close(model.transform(Q[some], neighbors=ready), model.transform(Q[some]))


def test_given_neighbors_that_have_no_use():
    X = roll(ALL)[0]
    near = lists(X[:3], X, 5)
    W = np.exp(-(cdist(X, X) ** 2))
    for model, rows in (
        (lowd.Isomap(2, n_neighbors=8, map="regression").fit(X), X[:3]),
        (lowd.LaplacianEigenmaps(2, affinity="precomputed").fit(W), W[:3]),
        (lowd.TSNE(2, affinity="precomputed", max_iter=10).fit(W), W[:3]),
        (lowd.DiffusionMaps(2).fit(X), X[:3]),
    ):
        with pytest.raises(ParameterError, match="would be ignored"):
            model.transform(rows, neighbors=near)
    with pytest.raises(UnsupportedError, match="with landmarks"):
        lowd.LTSA(2, n_landmarks=80).fit(X).transform(X[:3], neighbors=near)
    with pytest.raises(DataError, match="3 new rows"):
        lowd.LTSA(2).fit(X).transform(X[:3], neighbors=lists(X[:2], X, 5))


def test_a_new_row_without_neighbors_is_announced():
    X = roll(ALL)[0]
    model = lowd.LaplacianEigenmaps(2, n_neighbors=None, radius=9.0).fit(X)
    away = np.vstack([X[:1] + 0.01, [[0, 300.0, 0], [0, -300.0, 0]]])
    with pytest.warns(DisconnectedGraphWarning, match="2 of the new rows have no neighbor"):
        coordinates = model.transform(away)
    nearest = cdist(away[1:], X).argmin(1)
    same_bits(coordinates[1:], model.embedding_[nearest])
    W = np.exp(-(cdist(X, X) ** 2) / 20)
    given = lowd.LaplacianEigenmaps(2, affinity="precomputed").fit(W)
    with pytest.warns(DisconnectedGraphWarning, match="1 of the new rows .* of each are 0"):
        coordinates = given.transform(np.vstack([W[:1], np.zeros((1, ALL))]))
    assert (coordinates[1] == 0).all()


def test_the_index_of_the_points_is_made_once_and_goes_with_the_model(monkeypatch):
    X, Q = roll(ALL)[0], roll(ALL + 20)[0][ALL:]
    made = []

    class Counted(RowIndex):
        def __init__(self, *args, **how):
            made.append(args[0])
            super().__init__(*args, **how)

    model = lowd.LTSA(2, n_neighbors=8).fit(X)
    first = model.transform(Q)
    monkeypatch.setattr("lowd.spaces.space.RowIndex", Counted)
    for _ in range(3):
        same_bits(model.transform(Q), first)
        same_bits(model.transform(Q[:1]), first[:1])
    assert not made
    again = pickle.loads(pickle.dumps(model))
    same_bits(again.transform(Q), first)
    same_bits(again.transform(Q), first)
    assert len(made) == 1
    model.fit(X[::2].copy())
    made.clear()
    model.transform(Q)
    model.transform(Q)
    assert len(made) <= 1
    gone = weakref.ref(again._space)
    del again
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("cls", [lowd.TSNE, lowd.SNE, lowd.LaplacianEigenmaps])
def test_neighbors_beside_precomputed_affinities_are_refused(cls):
    X = np.random.default_rng(0).normal(size=(30, 3))
    W = np.exp(-((X[:, None] - X) ** 2).sum(2))
    with pytest.raises(ParameterError, match="affinities are precomputed"):
        cls(affinity="precomputed").fit(W, neighbors=lowd.neighbors(X, 5))


def _make_graph_with_an_empty_row(rng):
    X = rng.normal(size=(30, 3))
    A = kneighbors_graph(X, 5, mode="distance").tolil()
    A[3, :] = 0
    A = A.tocsr()
    A.eliminate_zeros()
    return A


@pytest.mark.parametrize(
    "model",
    [lowd.Isomap(metric="precomputed"), lowd.TSNE(perplexity=5, metric="precomputed")],
    ids=["Isomap", "TSNE"],
)
def test_no_neighbors_at_all_is_no_advice(model, rng):
    """A row of the graph without neighbors: to use 0 of them is impossible."""
    with pytest.raises(ParameterError) as caught:
        model.fit(_make_graph_with_an_empty_row(rng))
    assert "graph" in str(caught.value)
    assert not re.search("=0( or|,|;)", str(caught.value))


@pytest.mark.parametrize("model", [lowd.Isomap(1), lowd.TSNE(1), lowd.LTSA(1)], ids=repr)
def test_two_rows_are_not_advised_to_have_less_than_one_neighbor(model):
    with pytest.raises(ParameterError, match=r"use (n_neighbors|perplexity)=1[.,]"):
        model.fit([[0.0, 1.0], [1.0, 3.0]])
