"""Graphs of fitted models are put into the order of the rows when somebody reads them."""

from __future__ import annotations

import pickle
from copy import deepcopy

import numpy as np
import pytest
from lowd.core.fit import PointGraph
from numpy.testing import assert_array_equal

import lowd
from lowd.store import load, save

MODELS = {
    "affinity_": lambda: lowd.TSNE(perplexity=5, max_iter=20),
    "graph_": lambda: lowd.UMAP(n_neighbors=6, n_epochs=20),
}


def rows():
    X = np.random.default_rng(3).normal(size=(60, 4))
    return np.concatenate([X, X[7:12]])  # with duplicates


@pytest.mark.parametrize("name", MODELS)
def test_a_graph_is_arranged_at_the_first_access(name):
    model = MODELS[name]().fit(rows())
    held = vars(model)[name]
    assert isinstance(held, PointGraph)
    model.transform(rows()[:3] + 0.1)
    assert vars(model)[name] is held  # a map needs no graph
    W = getattr(model, name)
    points = np.unique(held.point_of_row, return_index=True)[1].argsort()
    assert_array_equal(W.toarray(), held.W.toarray()[np.ix_(points, points)])
    assert W.has_sorted_indices
    assert not W.data.flags.writeable
    assert getattr(model, name) is W


@pytest.mark.parametrize("name", MODELS)
def test_copies_and_files_hold_the_arranged_graph(name, tmp_path):
    expected = getattr(MODELS[name]().fit(rows()), name)
    path = tmp_path / "model.lowd"
    save(MODELS[name]().fit(rows()), path)
    model = MODELS[name]().fit(rows())
    for other in (load(path), pickle.loads(pickle.dumps(model)), deepcopy(model)):
        W = vars(other)[name]
        for part in ("data", "indices", "indptr"):
            assert_array_equal(getattr(W, part), getattr(expected, part))
        assert not getattr(other, name).data.flags.writeable
