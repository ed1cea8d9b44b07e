"""Random projections of scikit-learn, accelerated: the same numbers are drawn."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.random_projection as random_projection
from scipy.sparse import csr_matrix


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "params", [{}, {"n_components": 30}, {"compute_inverse_components": True}], ids=str
)
def test_gaussian_random_projections_draw_the_same_numbers(params, dtype, accelerated):
    X = np.random.default_rng(0).normal(size=(40, 500)).astype(dtype)
    params = {"random_state": 0, "eps": 0.5, **params}
    model = random_projection.GaussianRandomProjection(**params)
    Y = model.fit_transform(X)
    assert accelerated.profile().by_original == 0
    plain = type(model).original(**params).fit(X)
    assert isinstance(type(model)(**params).fit(X), type(model))
    np.testing.assert_array_equal(model.components_, plain.components_)
    assert {name: type(value) for name, value in vars(plain).items()}.items() <= {
        name: type(value) for name, value in vars(model).items()
    }.items()
    expected = plain.transform(X)
    assert (Y.dtype, Y.shape) == (expected.dtype, expected.shape)
    tolerance = 1e-12 if dtype == np.float64 else 2e-5
    np.testing.assert_allclose(Y, expected, atol=tolerance * np.abs(expected).max())
    back = plain.inverse_transform(expected)
    np.testing.assert_allclose(model.inverse_transform(Y), back, atol=tolerance * 10)
    np.testing.assert_array_equal(model.transform(X), Y)
    sparse = csr_matrix(X)
    np.testing.assert_allclose(type(model)(**params).fit_transform(sparse), expected, rtol=1e-3)
    assert accelerated.profile().calls[-1].reason == "sparse input"


def test_a_seed_drawn_from_goes_on(accelerated):
    """A RandomState is drawn from once, as scikit-learn does: the next estimator's draw is its."""
    X = np.random.default_rng(0).normal(size=(40, 50))
    drawn = np.random.RandomState(0)
    random_projection.GaussianRandomProjection(5, random_state=drawn).fit_transform(X)
    assert accelerated.profile().by_lowd == 1
    expected = np.random.RandomState(0)
    expected.normal(size=(5, 50))
    assert drawn.uniform() == expected.uniform()


def test_sparse_random_projections_draw_the_same_numbers(accelerated):
    X = np.random.default_rng(0).normal(size=(40, 500))
    model = random_projection.SparseRandomProjection(30, random_state=0).fit(X)
    Y = model.transform(X)
    assert accelerated.profile().by_original == 0
    plain = type(model).original(30, random_state=0).fit(X)
    np.testing.assert_array_equal(model.components_.toarray(), plain.components_.toarray())
    np.testing.assert_allclose(Y, plain.transform(X), atol=1e-10)
