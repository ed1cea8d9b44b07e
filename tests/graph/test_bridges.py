"""Bridges between the components of a graph: a minimum spanning tree, or nearly one."""

from __future__ import annotations

import numpy as np
import pytest
from lowd.distances.metrics import distances_of
from lowd.graph import bridges as module
from lowd.graph.bridges import find_bridges
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist

from lowd.backends import resolve
from lowd.input.validation import Data


def clusters_of(counts, seed=0, gap=30.0):
    """Clusters in a plane, the largest first; rows shuffled."""
    rng = np.random.default_rng(seed)
    label = np.repeat(np.arange(len(counts)), counts)
    X = gap * rng.normal(size=(len(counts), 3))[label] + rng.normal(size=(len(label), 3))
    order = rng.permutation(len(label))
    return X[order], label[order]


def bridges_of(X, label):
    base = distances_of(Data(X, X.dtype, None), "euclidean", None)
    return find_bridges(base, label, resolve("auto", None))


def tree_length(X, label):
    """The minimum spanning tree by looking at every pair of rows."""
    count = label.max() + 1
    D, least = cdist(X, X), np.zeros((count, count))
    for p in range(count):
        for q in range(p + 1, count):
            least[p, q] = D[np.ix_(label == p, label == q)].min()
    return minimum_spanning_tree(least).sum()


@pytest.mark.parametrize("counts", [(60, 40, 5, 1), (9, 9, 9), (50, 1), (3,) * 30])
def test_the_tree_is_the_shortest(counts):
    X, label = clusters_of(counts)
    found = bridges_of(X, label)
    assert found.exact
    assert len(found.pairs) == len(counts) - 1
    np.testing.assert_allclose(found.lengths.sum(), tree_length(X, label), rtol=1e-12)
    ends = np.linalg.norm(X[found.pairs[:, 0]] - X[found.pairs[:, 1]], axis=1)
    np.testing.assert_allclose(found.lengths, ends, rtol=1e-12)
    assert (" shortest edges (up to" if len(counts) > 2 else "shortest edge (") in str(found)


def test_samples_join_all_components_by_edges_nearly_as_short(monkeypatch):
    monkeypatch.setattr(module, "MAX_EXACT_PAIRS", 1000)
    monkeypatch.setattr(module, "SAMPLED_ROWS", 60)
    X, label = clusters_of((400, 300, 200, 100, 2, 1))
    found = bridges_of(X, label)
    assert not found.exact
    assert "sample" in str(found)
    links = np.zeros((6, 6))
    a, b = label[found.pairs].T
    links[a, b] = 1
    assert connected_components(links, directed=False)[0] == 1
    ends = np.linalg.norm(X[found.pairs[:, 0]] - X[found.pairs[:, 1]], axis=1)
    np.testing.assert_allclose(found.lengths, ends, rtol=1e-12)
    shortest = tree_length(X, label)
    assert shortest <= found.lengths.sum() <= 1.05 * shortest


def test_going_back_and_forth_finds_the_nearest_ends(monkeypatch):
    """Two lines, sampled far from where they are nearest."""
    monkeypatch.setattr(module, "MAX_EXACT_PAIRS", 1)
    monkeypatch.setattr(module, "SAMPLED_ROWS", 8)
    t = np.linspace(0, 1, 200)
    X = np.vstack([np.c_[t, t, 0 * t], np.c_[t, -t - 0.5, 0 * t]])
    found = bridges_of(X, np.repeat([0, 1], 200))
    np.testing.assert_allclose(found.lengths, 0.5, atol=1e-12)
    np.testing.assert_array_equal(np.sort(found.pairs[0]), [0, 200])
