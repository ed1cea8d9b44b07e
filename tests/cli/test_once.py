"""What several steps of a command need of the same rows is computed once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from sklearn.datasets import load_wine

import lowd
from lowd import _native
from lowd.reuse import once
from lowd.spaces import Rows


@pytest.fixture
def calls(monkeypatch):
    """How often the native core was called, by function and shape of the rows."""
    count = Counter()

    def record(name):
        function = getattr(_native, name)

        def call(X, *args):
            count[name, X.shape] += 1
            return function(X, *args)

        monkeypatch.setattr(_native, name, call)

    for name in ("nearest", "scatter"):
        record(name)
    return count


@pytest.mark.parametrize("word", ["map", "isomap", "tsne", "umap", "pca"])
def test_neighbors_are_searched_once_and_components_computed_once(
    word, calls, lowd_command, tmp_path, monkeypatch
):
    """Diagnosis, choice, fit, evaluation and report ask for the same, in several orders."""
    monkeypatch.chdir(tmp_path)
    wine = load_wine(as_frame=True)
    wine.frame.to_csv("wine.csv", index=False)
    ended = lowd_command(word, "wine.csv", "--label", "target", "--report", "r.html")
    assert ended.code == 0, ended.err
    assert calls["nearest", (178, 13)] == 1
    # PCA itself takes the rows in the order of the file, and no other method does.
    assert calls["scatter", (178, 13)] == (2 if word == "pca" else 1)


def test_rows_in_another_order_have_the_same_neighbors():
    """Rounded rows have ties and duplicates, which are in the order of the rows."""
    rng = np.random.default_rng(0)
    for X in (rng.normal(size=(700, 5)), np.round(rng.normal(size=(700, 4))), np.eye(30)):
        for k in (3, 1, 12, 29):
            orders = [np.arange(len(X)), rng.permutation(len(X)), np.arange(len(X))[::-1]]
            alone = [Rows(X[order]).nearest(k) for order in orders]
            with once(n_neighbors=20):
                Rows(X).nearest(5)
                shared = [Rows(X[order]).nearest(k) for order in orders]
            for one, other in zip(alone, shared, strict=True):
                np.testing.assert_array_equal(one.indices, other.indices)
                np.testing.assert_array_equal(one.distances, other.distances)


def test_a_fit_has_the_same_bits(rng):
    X = rng.normal(size=(120, 6))
    models = [lowd.TSNE(max_iter=30), lowd.Isomap(2), lowd.UMAP(n_epochs=20), lowd.PCA(2)]
    alone = [np.asarray(model.fit_transform(X)) for model in models]
    with once(n_neighbors=40):
        for Y, model in zip(alone, models, strict=True):
            np.testing.assert_array_equal(np.asarray(model.fit_transform(X)), Y)


def test_what_changes_is_computed_again(calls, rng):
    X = rng.normal(size=(50, 4))
    with once(n_neighbors=9):
        Rows(X).nearest(3)
        X[0] += 1
        near = Rows(X).nearest(3)
    assert calls["nearest", (50, 4)] == 2
    np.testing.assert_array_equal(near.indices, Rows(X).nearest(3).indices)
