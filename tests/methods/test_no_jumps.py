"""Training points return to their coordinates, and maps do not jump beside them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

import lowd
from cases import fit


def _directions(X, seed=0):
    U = np.random.default_rng(seed).normal(size=X.shape)
    return U / np.linalg.norm(U, axis=1, keepdims=True)


def test_mds_stays_exact_where_distances_fit():
    """New points of a plane are where they are, however near to a training point."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    model = lowd.MDS(2, eps=1e-14, max_iter=2000).fit(X)
    new = X[:20] + np.geomspace(1e-6, 0.1, 20)[:, None] * _directions(X[:20])
    np.testing.assert_allclose(
        cdist(model.transform(new), model.embedding_), cdist(new, X), atol=1e-5
    )


TWINS = {
    "MDS": {},
    "NonMetricMDS": {},
    "ClassicalMDS": {"metric": "manhattan", "correction": "lingoes"},
    "LaplacianEigenmaps": {},
    "DiffusionMaps": {"n_neighbors": 6},
    "TSNE": {"perplexity": 6, "max_iter": 60},
    "LTSA": {},
    "Isomap": {"map": "regression"},
}


@pytest.mark.parametrize("name", TWINS)
def test_no_jump_beside_duplicates(name):
    X = np.random.default_rng(1).normal(size=(30, 4))
    X = np.vstack([X, X[:5], X[:3]])
    model = fit(getattr(lowd, name)(2, **TWINS[name]), X)
    Y = model.transform(X)
    np.testing.assert_allclose(Y[[30, 35]], Y[[0, 0]], atol=1e-12)
    gaps = np.linalg.norm(model.transform(X + 1e-9 * _directions(X)) - Y, axis=1)
    assert gaps.max() < 1e-7 * np.abs(Y).max()


GRAPHS = {
    "LaplacianEigenmaps": {"n_neighbors": 8},
    "DiffusionMaps": {"n_neighbors": 8},
    "LocallyLinearEmbedding": {"n_neighbors": 8},
    "LTSA": {"n_neighbors": 8, "map": "tangent"},
    "TSNE": {"perplexity": 8, "max_iter": 60},
    "SNE": {"perplexity": 8, "max_iter": 60},
}


@pytest.mark.parametrize("name", GRAPHS)
def test_no_jump_where_neighbors_are_given(name):
    """Whichever neighbors are listed, as long as the training point itself is."""
    X = np.random.default_rng(2).normal(size=(50, 4))
    model = fit(getattr(lowd, name)(2, **GRAPHS[name]), X)
    Q = X + 1e-9 * _directions(X)
    D = cdist(Q, X)
    for k in (6, 9):
        indices = np.argsort(D, axis=1)[:, :k]
        given = indices, np.take_along_axis(D, indices, axis=1)
        gaps = np.linalg.norm(model.transform(Q, neighbors=given) - model.embedding_, axis=1)
        assert gaps.max() < 1e-7 * np.abs(model.embedding_).max()


def test_no_jump_on_a_grid_where_neighbors_are_tied():
    """On a grid many rows are equally near; a point moved a little has fewer neighbors."""
    X = np.stack(np.meshgrid(np.arange(8.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    X[:, 1] *= 1.3
    for cls in (lowd.LaplacianEigenmaps, lowd.LocallyLinearEmbedding, lowd.LTSA):
        model = fit(cls(2, n_neighbors=6), X)
        moved = model.transform(X + 1e-6 * _directions(X))
        assert np.abs(moved - model.embedding_).max() < 1e-5 * np.abs(model.embedding_).max()


def test_no_jump_in_a_sparse_graph_of_distances():
    X = np.random.default_rng(3).normal(size=(60, 3))
    D = cdist(X, X)
    kth = np.sort(D, axis=1)[:, [20]]
    graph = csr_array(np.where(kth >= D, D, 0))
    model = lowd.TSNE(perplexity=6, metric="precomputed", max_iter=60).fit(graph)
    moved = cdist(X + 1e-9 * _directions(X), X)
    gaps = np.abs(model.transform(csr_array(np.where(kth >= moved, moved, 0))) - model.embedding_)
    assert gaps.max() < 1e-7 * np.abs(model.embedding_).max()


@pytest.mark.parametrize("cls", [lowd.TSNE, lowd.SNE])
def test_no_jump_beside_precomputed_affinities(cls):
    """A row of affinities that is nearly a training row's, in which direction ever."""
    rng = np.random.default_rng(4)
    W = np.exp(-(cdist(X := rng.normal(size=(50, 3)), X) ** 2))
    model = cls(2, affinity="precomputed", max_iter=60).fit(W)
    Y, size = model.transform(W), np.abs(model.embedding_).max()
    np.testing.assert_array_equal(Y, model.embedding_)
    np.testing.assert_array_equal(model.transform(2 * W), Y)  # the same probabilities
    for step in (1e-12, 1e-9, 1e-6):
        moved = W * (1 + step * rng.uniform(-1, 1, W.shape))
        assert np.abs(model.transform(moved) - Y).max() < 100 * step * size


def test_no_jump_beside_equal_rows_of_affinities_and_rows_without_any():
    rng = np.random.default_rng(5)
    W = np.exp(-(cdist(X := rng.normal(size=(40, 3)), X) ** 2))
    W[:, 1] = W[:, 0]
    W[1] = W[0]
    W[7] = W[:, 7] = 0  # alone
    model = lowd.TSNE(affinity="precomputed", max_iter=60).fit(csr_array(W))
    Y = model.transform(csr_array(W))
    np.testing.assert_array_equal(Y[1], Y[0])
    np.testing.assert_array_equal(model.transform(W), Y)  # dense as sparse
    moved = model.transform(W * (1 + 1e-9 * rng.uniform(-1, 1, W.shape)))
    assert np.abs(moved - Y).max() < 1e-7 * np.abs(Y).max()
