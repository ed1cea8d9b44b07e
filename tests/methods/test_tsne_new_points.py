"""New points of SNE and t-SNE in data whose rows differ in the size of their noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_digits

import lowd
from case_data import rows_like
from cases import same_bits


@pytest.mark.parametrize("unit", [1e-140, 1e-20, 1e20, 1e120])
def test_radii_of_any_size(unit):
    X = np.vstack([rows_like(60, seed=1), rows_like(60, seed=3) * 1e-3]) * unit
    model = lowd.TSNE(perplexity=5, max_iter=20).fit(X)
    Q = np.vstack([X[:3], X[:3] * 1.01, X[:3] * 1e6, 0 * X[:1]])
    assert np.isfinite(model.transform(Q)).all()
    same_bits(model.transform(Q[:3]), model.embedding_[:3])


def test_noise_does_not_draw_new_points_to_one_training_point():
    X = load_digits().data[:900]
    model = lowd.TSNE(max_iter=500).fit(X)
    noise = np.random.default_rng(0).normal(size=X.shape)
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    Q = X + 5 * np.median(lowd.neighbors(X, 1).distances) * noise
    nearest = cdist(model.transform(Q), model.embedding_).argmin(1)
    assert np.bincount(nearest).max() < 0.1 * len(X)


def test_new_points_have_as_many_neighbors_as_the_longest_given_list():
    """One training row that lists 12 instead of 30 moves no new point far."""
    X, Q = rows_like(300, seed=5), rows_like(9, seed=6)
    G = csr_array(lowd.neighbors(X, 30).edges())
    kept = np.r_[:12, 30 : G.nnz]
    short = csr_array((G.data[kept], G.indices[kept], np.r_[0, G.indptr[1:] - 18]), shape=G.shape)
    model = lowd.TSNE(perplexity=10, max_iter=20, init=lowd.PCA(2).fit_transform(X))
    expected = clone(model).fit(X, neighbors=G).transform(Q)
    found = model.fit(X, neighbors=short).transform(Q)
    assert np.abs(found - expected).max() < 0.05 * np.abs(expected).max()


def test_many_rows_of_affinities_find_themselves():
    """Their projections are searched by an index, which few rows do without."""
    X = rows_like(1500, 5)
    W = lowd.TSNE(perplexity=10, max_iter=2).fit(X).affinity_
    model = lowd.TSNE(affinity="precomputed", max_iter=5, init=lowd.PCA(2).fit_transform(X)).fit(W)
    same_bits(model.transform(W), model.embedding_)
