"""SMACOF: stress never rises, each kind of stress is its formula, the end is stationary."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from sklearn.isotonic import IsotonicRegression

import lowd
from case_data import rows_like
from cases import fit

kinds = pytest.mark.parametrize("kind", ["MDS", "NonMetricMDS"])


@kinds
@pytest.mark.parametrize("init", ["classical_mds", "random"])
def test_stress_never_rises(kind, init):
    for params in ({}, {"weights": "sammon"}, {"metric": "manhattan", "n_components": 3}):
        model = fit(getattr(lowd, kind)(init=init, **params), rows_like(60))
        history = model.stress_history_
        assert (np.diff(history) < 0).all()
        assert len(history) == model.n_iter_ + 1
        assert model.stress_ == pytest.approx(history[-1], rel=1e-9)
        assert model.converged_


@pytest.mark.parametrize("weights", [None, "sammon", "matrix"])
def test_each_stress_is_its_formula(weights, dtype):
    X = rows_like(40, dtype=dtype)
    if weights == "matrix":
        W = np.random.default_rng(0).random((40, 40))
        weights = W + W.T
    model = fit(lowd.MDS(weights=weights), X)
    delta, d = pdist(X.astype(float)), pdist(model.embedding_.astype(float))
    upper = np.triu_indices(40, 1)
    w = 1 / delta if isinstance(weights, str) else 1.0 if weights is None else weights[upper]
    tolerance = 1e-9 if dtype == np.float64 else 1e-4
    raw = np.sum(w * (delta - d) ** 2)
    assert model.stress_ == pytest.approx(raw, rel=tolerance)
    assert model.stress1_ == pytest.approx(np.sqrt(raw / np.sum(w * d * d)), rel=tolerance)
    a = np.sum(w * delta * d) / np.sum(w * d * d)
    best = np.sqrt(np.sum(w * (delta - a * d) ** 2) / np.sum(w * delta**2))
    assert model.normalized_stress_ == pytest.approx(best, rel=tolerance)


@pytest.mark.parametrize("ties", ["primary", "secondary"])
def test_nonmetric_stress1_is_kruskals(ties):
    """With the isotonic regression of the distances, not with disparities of another scale."""
    X = np.random.default_rng(3).normal(size=(40, 6))
    model = fit(lowd.NonMetricMDS(2, ties=ties), X)
    delta, d = pdist(X), pdist(model.embedding_)
    regression = IsotonicRegression().fit_transform(delta, d)
    kruskal = np.sqrt(((regression - d) ** 2).sum() / (d**2).sum())
    assert model.stress1_ == pytest.approx(kruskal, rel=1e-9)
    assert model.normalized_stress_ == model.stress1_


@kinds
def test_relative_stress_has_no_units(kind):
    X = rows_like(40)
    small, large = (getattr(lowd, kind)().fit(c * X) for c in (1, 1000))
    for name in ("stress1_", "normalized_stress_"):
        assert getattr(large, name) == pytest.approx(getattr(small, name), rel=1e-8)


def test_the_end_is_stationary():
    """∇σ = 0 there: V Y = B(Y) Y."""
    X = rows_like(50)
    model = lowd.MDS(2, eps=1e-12, max_iter=3000).fit(X)
    Y, D = model.embedding_, cdist(X, X)
    d = cdist(Y, Y)
    B = -np.divide(D, d, out=np.zeros_like(d), where=d > 0)
    np.fill_diagonal(B, -B.sum(1))
    assert np.abs(B @ Y / 50 - Y).max() < 1e-5 * np.abs(Y).max()
