"""PCA as a density, and Minka's choice of the dimension, against scikit-learn and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.datasets
import sklearn.decomposition
from scipy.sparse import csr_array
from scipy.stats import multivariate_normal
from sklearn.exceptions import NotFittedError

import lowd
from lowd.errors import ParameterError, UnsupportedError
from lowd.linalg import scree


@pytest.fixture(name="X")
def rows(rng):
    """Three factors under noise, off the origin."""
    return rng.normal(size=(120, 3)) @ rng.normal(size=(3, 9)) + 0.3 * rng.normal(size=(120, 9)) + 5


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("k", [1, 3, 8, 9])
def test_scores_and_covariance_are_those_of_scikit_learn(X, k, whiten):
    """Without whitening, on which the data's covariance does not depend (there it does)."""
    ours = lowd.PCA(k, whiten=whiten).fit(X)
    theirs = sklearn.decomposition.PCA(k).fit(X)
    Q = X[:10] + 1
    np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), atol=1e-10)
    np.testing.assert_allclose(ours.get_precision(), theirs.get_precision(), atol=1e-8)
    np.testing.assert_allclose(ours.score_samples(Q), theirs.score_samples(Q), rtol=1e-9)
    assert ours.score(Q) == pytest.approx(theirs.score(Q))


@pytest.mark.parametrize(
    "params",
    [{"scale": True}, {"center": False}, {"ddof": 0}, {"scale": True, "whiten": True}],
    ids=str,
)
def test_the_density_is_normal_in_the_units_of_the_data(X, params):
    model = lowd.PCA(4, **params).fit(X)
    C, P = model.get_covariance(), model.get_precision()
    np.testing.assert_allclose(C @ P, np.eye(9), atol=1e-8)
    expected = multivariate_normal(model.mean_, C).logpdf(X)
    np.testing.assert_allclose(model.score_samples(X), expected, rtol=1e-8)


def test_all_components_give_the_sample_covariance(X):
    np.testing.assert_allclose(lowd.PCA().fit(X).get_covariance(), np.cov(X.T), atol=1e-10)
    scaled = lowd.PCA(scale=True).fit(X * np.arange(1, 10))
    np.testing.assert_allclose(scaled.get_covariance(), np.cov((X * np.arange(1, 10)).T), rtol=1e-8)


def test_sparse_and_single_precision_rows(X):
    model = lowd.PCA(3).fit(X)
    expected = model.score_samples(X)
    np.testing.assert_allclose(model.score_samples(csr_array(X)), expected, rtol=1e-9)
    single = lowd.PCA(3).fit(X.astype(np.float32))
    np.testing.assert_allclose(single.score_samples(X.astype(np.float32)), expected, rtol=1e-3)


def test_a_singular_density_is_refused(rng):
    wide = rng.normal(size=(10, 20))
    model = lowd.PCA().fit(wide)
    assert model.get_covariance().shape == (20, 20)
    for ask in (model.get_precision, lambda: model.score(wide)):
        with pytest.raises(UnsupportedError, match="fit with n_components=8 or fewer"):
            ask()
    assert np.isfinite(lowd.PCA(8).fit(wide).score(wide))


def test_the_most_likely_dimension_is_that_of_scikit_learn(rng):
    """Minka's formula, summed in another order; and the dimension of the factors."""
    for k in (1, 2, 5):
        X = rng.normal(size=(300, k)) @ rng.normal(size=(k, 8)) * 3 + rng.normal(size=(300, 8))
        ours = lowd.PCA("mle").fit(X)
        assert len(ours.components_) == sklearn.decomposition.PCA("mle").fit(X).n_components_ == k
    digits = sklearn.datasets.load_digits().data[:, 1:63:3]
    theirs = sklearn.decomposition.PCA("mle", svd_solver="full").fit(digits)
    assert len(lowd.PCA("mle").fit(digits).components_) == theirs.n_components_


def test_the_most_likely_dimension_in_degenerate_cases(rng):
    assert scree.minka_dimension(np.array([4.0, 4.0, 1.0, 1.0, 1.0]), 100, 5) == 2
    assert scree.minka_dimension(np.array([9.0, 4.0, 0.0, 0.0]), 50, 4) == 2
    assert scree.minka_dimension(np.array([3.0]), 50, 1) == 1
    values = np.sort(rng.random(12))[::-1]
    for unit in (1e-20, 1e20):
        assert scree.minka_dimension(values * unit, 99, 12) == scree.minka_dimension(values, 99, 12)
    with pytest.raises(ParameterError, match="n_samples >= n_features, got 5 < 8"):
        lowd.PCA("mle").fit(rng.normal(size=(5, 8)))


@pytest.mark.parametrize("name", ["get_covariance", "get_precision"])
def test_a_density_needs_a_fit(name):
    with pytest.raises(NotFittedError):
        getattr(lowd.PCA(2), name)()
