"""Scaling by the order of dissimilarities: curves, ties, collapse, a peer."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from scipy.stats import spearmanr
from sklearn import manifold

import lowd
from case_data import rows_like
from cases import close
from dissimilarities import given
from lowd.errors import MetricWarning


@pytest.mark.parametrize("ties", ["primary", "secondary"])
def test_only_the_order_counts(ties):
    """Any rising function of the dissimilarities gives the same map from the same start."""
    D = cdist(*2 * (rows_like(40).round(0),))
    start = rows_like(40, 2)
    maps = [
        given("NonMetricMDS", f(D), init=start, ties=ties).embedding_
        for f in (lambda D: D, lambda D: D**3, lambda D: np.log1p(5 * D))
    ]
    close(maps[1], maps[0])
    close(maps[2], maps[0])


def test_a_curve_is_found():
    """Cubed distances in a plane: the map is that plane, the curve the cube root."""
    X = rows_like(80, 2)
    D = cdist(X, X)
    model = given("NonMetricMDS", D**3)
    assert model.stress1_ < 0.003
    with pytest.warns(MetricWarning, match="triangle"):
        assert given("MDS", D**3).stress1_ > 0.1
    assert spearmanr(pdist(model.embedding_), pdist(X))[0] > 0.9999
    x, y = model.isotonic_x_, model.isotonic_y_
    assert (np.diff(x) > 0).all()
    assert (np.diff(y) >= 0).all()
    root = np.interp(np.linspace(1, 4, 7) ** 3, x, y) / np.linspace(1, 4, 7)
    assert root.std() < 0.02 * root.mean()


def test_points_do_not_fall_together():
    """Noise has no order to keep: the map is poor, but as large as any other."""
    rng = np.random.default_rng(0)
    D = rng.random((40, 40))
    D = D + D.T
    np.fill_diagonal(D, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lowd.errors.LowdWarning)
        model = given("NonMetricMDS", D)
    assert 0.5 < np.sqrt((pdist(model.embedding_) ** 2).mean()) < 1.5


def test_no_worse_than_scikit_learn_without_a_metric():
    X = rows_like(70)
    D = cdist(X, X)
    start = lowd.ClassicalMDS(2, metric="precomputed").fit_transform(D)
    _, stress = manifold.smacof(D, metric=False, init=start, n_init=1, normalized_stress=True)
    assert given("NonMetricMDS", D, init=start).stress1_ <= stress * (1 + 1e-6)
