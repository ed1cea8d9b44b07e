"""Random projections: the lemma's tables, laws of the draws, linearity, inverses, peers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.linalg import hadamard
from scipy.sparse import csr_array, issparse
from scipy.spatial.distance import pdist
from sklearn import random_projection

import lowd
from case_data import rows_like
from cases import close
from lowd import random
from lowd.errors import DataError, DimensionWarning, ParameterError
from lowd.methods.random_projection import hadamard as transformed

METHODS = {
    "Gaussian": lambda k, **more: lowd.GaussianRandomProjection(k, **more),
    "Sparse": lambda k, **more: lowd.SparseRandomProjection(k, **more),
    "Sparse, a third": lambda k, **more: lowd.SparseRandomProjection(k, density=1 / 3, **more),
    "Hadamard": lambda k, **more: lowd.HadamardRandomProjection(k, **more),
}
each = pytest.mark.parametrize("name", METHODS)


def test_dimensions_of_the_lemma():
    for m, eps, classic, tight in (
        (100, 0.1, 9211, 3947),
        (1000, 0.1, 13816, 5920),
        (1000, 0.2, 3454, 1594),
        (1000, 0.3, 1536, 767),
        (10000, 0.1, 18421, 7894),
        (60000, 0.1, 22005, 9430),
    ):
        assert lowd.jl_min_dim(m, eps, rule="classic") == classic
        assert lowd.jl_min_dim(m, eps) == lowd.jl_min_dim(m, eps, rule="tight") == tight
        assert tight == random_projection.johnson_lindenstrauss_min_dim(m, eps=eps)


def test_dimensions_of_many_at_once():
    found = lowd.jl_min_dim([100, 1000], [0.1, 0.2])
    np.testing.assert_array_equal(found, [3947, 1594])
    assert isinstance(lowd.jl_min_dim(100, 0.1), int)


def test_dimensions_outside_the_lemma():
    for m, eps, rule in (
        (1000, 0, "tight"),
        (1000, 1, "tight"),
        (1000, -0.1, "tight"),
        (1000, 0.5, "classic"),
        (4, 0.1, "classic"),
        (0, 0.1, "tight"),
        (10, 0.1, "loose"),
    ):
        with pytest.raises(ParameterError):
            lowd.jl_min_dim(m, eps, rule)


@pytest.mark.parametrize(
    ("name", "rule"), [*((name, "tight") for name in METHODS), ("Gaussian", "classic")]
)
def test_squared_distances_stay_within_eps(name, rule):
    """200 points in 5000 dimensions, eps 0.3: all 19 900 ratios."""
    X = np.random.default_rng(0).normal(size=(200, 5000))
    k = lowd.jl_min_dim(200, 0.3, rule=rule)
    assert k == {"classic": 1178, "tight": 588}[rule]
    Z = METHODS[name](k, random_state=0).fit_transform(X)
    ratios = pdist(Z, "sqeuclidean") / pdist(X, "sqeuclidean")
    assert ratios.min() >= 0.7
    assert ratios.max() <= 1.3
    assert ratios.mean() == pytest.approx(1, abs=0.02)
    # The bound is a bound; what is reached is known, too.
    low, high = {"classic": (0.84, 1.18), "tight": (0.80, 1.22)}[rule]
    if name == "Gaussian":
        assert ratios.min() == pytest.approx(low, abs=0.04)
        assert ratios.max() == pytest.approx(high, abs=0.04)


@each
def test_lengths_are_right_on_average(name):
    """E |R x|^2 = |x|^2: over many seeds, also for a vector with one entry."""
    X = np.zeros((2, 64))
    X[0, 5], X[1] = 3, np.linspace(-1, 1, 64)
    make = METHODS[name]
    norms = np.mean(
        [np.square(make(8, random_state=s).fit_transform(X)).sum(1) for s in range(400)],
        axis=0,
    )
    np.testing.assert_allclose(norms, np.square(X).sum(1), rtol=0.12)


@each
def test_linear(name, rng):
    model = METHODS[name](5, random_state=0).fit(rows_like(20, 30))
    a, b = rng.normal(size=(2, 4, 30))
    combined = model.transform(2 * a - 3 * b)
    close(combined, 2 * model.transform(a) - 3 * model.transform(b))
    assert (model.transform(np.zeros((2, 30))) == 0).all()
    components = model.components_
    R = components.toarray() if issparse(components) else components
    assert R.shape == (5, 30)
    close(model.transform(a), a @ R.T)


@each
def test_the_draw_depends_on_the_seed_and_the_width_only(name):
    X, other = rows_like(20, 30, 1), rows_like(99, 30, 2)
    one, two = (METHODS[name](5, random_state=3).fit(A) for A in (X, other))
    np.testing.assert_array_equal(one.transform(X), two.transform(X))
    third = METHODS[name](5, random_state=4).fit(X)
    assert not np.allclose(third.transform(X), one.transform(X))


def test_gaussian_entries():
    from scipy import stats

    R = lowd.GaussianRandomProjection(100, random_state=0)
    R = R.fit(np.ones((2, 1000))).components_
    assert stats.kstest(R.ravel() * 10, "norm").pvalue > 1e-3
    # Rows are independent directions.
    assert np.abs(np.corrcoef(R) - np.eye(100)).max() < 0.2


@pytest.mark.parametrize("density", [0.05, 1 / 3, 1.0, "auto"])
def test_sparse_entries(density):
    from scipy import stats

    model = lowd.SparseRandomProjection(200, density=density, random_state=0)
    C = model.fit(np.ones((2, 900))).components_
    assert isinstance(C, csr_array)
    share = 1 / 30 if density == "auto" else density
    assert model.density_ == pytest.approx(share)
    size = np.sqrt(1 / (share * 200))
    np.testing.assert_allclose(np.abs(C.data), size)
    n = 200 * 900
    assert C.nnz == pytest.approx(share * n, abs=4 * np.sqrt(n * share * (1 - share)) + 1e-9)
    positive = (C.data > 0).sum()
    assert stats.binomtest(int(positive), C.nnz).pvalue > 1e-3
    # Every column is as likely, the first and the last too.
    per_column = np.bincount(C.indices, minlength=900)
    if share < 1:
        assert stats.chisquare(per_column).pvalue > 1e-3
    assert C.has_canonical_format


def test_hadamard_by_hand():
    """x = (1, 2, 3, 0), signs (1, -1, 1, 1): H D x = (1, 3, -2, 0), the length is kept."""
    x, signs = np.array([[1.0, 2, 3, 0]]), np.array([1.0, -1, 1, 1])
    rows = np.arange(4)
    found = transformed(x, signs, rows, 4, 0.5)
    np.testing.assert_allclose(found, [[1, 3, -2, 0]])
    assert np.square(found).sum() == pytest.approx(14)
    sampled = transformed(x, signs, rows[[0, 3]], 4, 2**-0.5)
    np.testing.assert_allclose(sampled, [[1.414214, 0]], atol=5e-7)


@pytest.mark.parametrize("d", [1, 8, 100])
def test_hadamard_is_rows_of_the_matrix(d):
    padded = 1 << (d - 1).bit_length()
    k = max(1, padded // 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DimensionWarning)
        model = lowd.HadamardRandomProjection(k, random_state=0)
        model.fit(rows_like(5, d))
    signs = random.signs(0, "signs", d)
    expected = (hadamard(padded)[:, :d] * signs)[random.subset(0, "rows", padded, k)] / np.sqrt(k)
    np.testing.assert_allclose(model.components_, expected, atol=1e-12)


@pytest.mark.parametrize("d", [8, 100])
def test_hadamard_with_all_rows_is_an_isometry(d):
    X, padded = rows_like(30, d), 1 << (d - 1).bit_length()
    model = lowd.HadamardRandomProjection(padded, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DimensionWarning)
        Z = model.fit_transform(X)
    np.testing.assert_allclose(pdist(Z), pdist(X), rtol=1e-10)
    np.testing.assert_allclose(model.inverse_transform(Z), X, atol=1e-10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DimensionWarning)
        with pytest.raises(ParameterError, match=f"exceeds {padded}"):
            model.set_params(n_components=padded + 1).fit(X)


def test_inverse_of_hadamard_is_the_pseudo_inverse_of_the_padded_space():
    X = rows_like(20, 30)
    model = METHODS["Hadamard"](6, random_state=0).fit(X)
    Z = model.transform(X)
    expected = Z @ model.components_ * 6 / 32  # cut to the columns there are
    np.testing.assert_allclose(model.inverse_transform(Z), expected, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "stored"),
    [("Gaussian", False), ("Gaussian", True), ("Sparse", False), ("Sparse", True)],
)
def test_inverse_is_the_pseudo_inverse(name, stored):
    X = rows_like(20, 30)
    given = {"compute_inverse_components": stored}
    model = METHODS[name](6, random_state=0, **given).fit(X)
    Z = model.transform(X)
    R = model.components_
    R = R.toarray() if issparse(R) else R
    close(model.inverse_transform(Z), Z @ np.linalg.pinv(R).T)
    close(model.transform(model.inverse_transform(Z)), Z)
    assert hasattr(model, "inverse_components_") == stored


def test_auto_is_the_tight_formula():
    X = np.ones((50, 2000))
    for name in ("Gaussian", "Sparse", "Hadamard"):
        model = METHODS[name]("auto", eps=0.2, random_state=0).fit(X)
        assert model.n_components_ == lowd.jl_min_dim(50, 0.2)
        with pytest.raises(ParameterError, match=r"needs 902 dimensions.*n_features=100"):
            METHODS[name]("auto", eps=0.2).fit(X[:, :100])


def test_more_components_than_columns_is_said():
    for name in METHODS:
        with pytest.warns(DimensionWarning, match="wider"):
            METHODS[name](6, random_state=0).fit(rows_like(9, 5))


def test_same_law_as_scikit_learn():
    """Other draws, the same spread of distance ratios."""
    X = np.random.default_rng(0).normal(size=(100, 1000))
    for ours, peer in (
        (lowd.GaussianRandomProjection, random_projection.GaussianRandomProjection),
        (lowd.SparseRandomProjection, random_projection.SparseRandomProjection),
    ):
        spreads = []
        for cls in (ours, peer):
            Z = cls(n_components=200, random_state=0).fit_transform(X)
            spreads.append((pdist(Z, "sqeuclidean") / pdist(X, "sqeuclidean")).std())
        assert spreads[0] == pytest.approx(spreads[1], rel=0.1)


def test_auto_counts_the_rows_of_all_blocks():
    pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")
    blocks = lowd.open_blocks(np.split(np.ones((50, 2000)), 2))
    model = lowd.GaussianRandomProjection("auto", eps=0.2).fit(blocks)
    assert model.n_components_ == lowd.jl_min_dim(50, 0.2)


@pytest.mark.parametrize("name", ["Gaussian", "Sparse"])
def test_coordinates_beyond_the_range_are_refused_though_the_rows_are_within(name, rng):
    model = METHODS[name](5, random_state=0).fit(rng.normal(size=(50, 20)))
    model.components_ = -1e300 * abs(model.components_)
    with pytest.raises(DataError, match="row 0 are beyond the range of float64"):
        model.transform(1e30 * np.ones((3, 20)))
    with pytest.raises(DataError, match="row 1, column 7"):
        model.transform(np.where(np.arange(60).reshape(3, 20) == 27, np.nan, 1.0))
