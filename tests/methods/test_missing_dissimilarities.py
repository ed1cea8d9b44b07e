"""Distances that are missing, weigh nothing, or are zero."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import lowd
from case_data import rows_like
from cases import close, same_bits
from dissimilarities import given, turned_onto
from lowd.errors import DataError

kinds = pytest.mark.parametrize("kind", ["MDS", "NonMetricMDS"])


@kinds
def test_missing_distances_do_not_pull(kind):
    """A third of the distances of points in a plane are enough to embed them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    D = cdist(X, X)
    gone = np.triu(rng.random(D.shape) < 0.3, 1)
    D[gone | gone.T] = np.nan
    model = given(kind, D, max_iter=2000, eps=1e-9)
    Y, Z = turned_onto(model.embedding_, X)
    assert np.abs(Y - Z).max() < (1e-4 if kind == "MDS" else 0.1)
    other = D.copy()
    other[gone | gone.T] = np.nan
    same_bits(given(kind, other, max_iter=2000, eps=1e-9).embedding_, model.embedding_)


@kinds
def test_weight_zero_is_missing(kind):
    D = cdist(*2 * (rows_like(30),))
    W = np.ones_like(D)
    W[3, 7] = W[7, 3] = 0
    holes = D.copy()
    holes[3, 7] = holes[7, 3] = np.nan
    start = rows_like(30, 2)
    weighted = given(kind, D, weights=W, init=start)
    close(weighted.embedding_, given(kind, holes, init=start).embedding_)


@kinds
def test_zero_means_identical(kind):
    """Unlike scikit-learn's non-metric scaling, which takes 0 for missing."""
    X = rows_like(30)
    D = cdist(X[[0, *range(30)]], X[[0, *range(30)]])
    Y = given(kind, D).embedding_
    assert np.abs(Y[0] - Y[1]).max() < 1e-9 * np.abs(Y).max()


def test_a_hole_on_one_side_only_is_an_error():
    D = cdist(*2 * (rows_like(10),))
    D[2, 5] = np.nan
    with pytest.raises(DataError, match=r"NaN at row 2, column 5, but entry \(5, 2\) is"):
        given("MDS", D)
    with pytest.raises(DataError, match="NaN at row 2, column 5"):
        lowd.ClassicalMDS(metric="precomputed").fit(D)


def test_components_without_a_known_distance_between_them():
    D = cdist(*2 * (rows_like(10),))
    D[:4, 4:] = D[4:, :4] = np.nan
    with pytest.raises(DataError, match=r"2 connected components.*row 0 and row 4"):
        given("MDS", D)


@kinds
def test_new_points_with_few_distances(kind):
    X, Q = rows_like(40, 2), rows_like(5, 2, seed=9)
    D, T = cdist(X, X), cdist(Q, X)
    model = given(kind, D, eps=1e-9, max_iter=2000)
    whole = model.transform(T)
    T[:, ::2] = np.nan
    part = model.transform(T)
    assert np.abs(part - whole).max() < (1e-6 if kind == "MDS" else 0.2)
    T[3] = np.nan
    with pytest.raises(DataError, match="row 3 has no known distance"):
        model.transform(T)
