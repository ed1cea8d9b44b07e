"""Solvers of PCA: every route against a dense SVD, and when an iteration ends."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from lowd.core.fit import Context
from lowd.solvers import pca as principal
from lowd.solvers.canonical import canonical_basis
from lowd.solvers.centered_rows import CenteredRows, dense_product
from lowd.solvers.krylov import products_left
from lowd.solvers.pca import choose_route, solve
from lowd.solvers.thresholds import RITZ_TOLERANCE
from scipy.sparse import csr_array

import lowd
from case_data import rows_like
from cases import close
from lowd.backends import resolve
from lowd.input import ranges
from oracles import angles, exact_axes

ROUTES = ("svd", "covariance", "gram", "krylov")


def axes_by(route, X, k, weights=None, units=None):
    """The axes of one route, with signs as the estimator fixes them."""
    ops = resolve("auto", 1)
    mean = np.average(X.astype(np.float64), axis=0, weights=weights)
    ctx = Context(ops, 0, X.dtype, ops.column_statistics(X))
    found = solve(CenteredRows(X, mean, weights, units), k, ctx, route)
    return found, canonical_basis(found.values, found.vectors, 1e-9)[0]


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    ("shape", "kind"),
    [((200, 30), np.float64), ((30, 200), np.float64), ((200, 30), np.float32)],
    ids=["tall", "wide", "float32"],
)
def test_all_routes_agree(route, shape, kind):
    """Signs included, without alignment."""
    X = rows_like(*shape, dtype=kind)
    values, V = exact_axes(X, 4)
    found, axes = axes_by(route, X, 4)
    assert found.route == route
    close(found.values[:4], values, kind)
    assert angles(axes[:, :4], V).max() < (1e-8 if kind == np.float64 else 1e-3)
    close(axes[:, :4], V * np.sign(V[np.abs(V).argmax(0), range(4)]), kind, 20)
    spread = np.square(X - X.mean(0, dtype=np.float64)).sum()
    assert found.total == pytest.approx(spread, rel=1e-5)


@pytest.mark.parametrize("route", ROUTES)
def test_all_routes_take_weights_and_units(route, rng):
    X, weights = rows_like(120, 8), rng.random(120) + 0.1
    units = np.linspace(0.5, 2, 8)
    mean = np.average(X, axis=0, weights=weights)
    A = (X - mean) / units * np.sqrt(weights)[:, None]
    sigma, Vt = np.linalg.svd(A, full_matrices=False)[1:]
    found, axes = axes_by(route, X, 3, weights, units)
    np.testing.assert_allclose(found.values[:3], sigma[:3] ** 2, rtol=1e-8)
    assert angles(axes[:, :3], Vt[:3].T).max() < 1e-6


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("kind", [np.float64, np.float32], ids=["float64", "float32"])
def test_axes_survive_an_offset(route, kind, rng):
    """Three factors of spread 10, 5, 3 and noise 1, moved away: the same axes to 1e-3 rad.

    scikit-learn's default loses the second and third at a mean of 1000 in float32.
    """
    factors = np.linalg.qr(rng.normal(size=(20, 3)))[0]
    X = rng.normal(size=(1500, 3)) * [10, 5, 3] @ factors.T + rng.normal(size=(1500, 20)) + 1e6
    X = np.ascontiguousarray(X.astype(kind))
    _, V = exact_axes(X, 3)
    _, axes = axes_by(route, X, 3)
    assert angles(axes[:, :3], V).max() < 1e-3
    model = lowd.PCA(3).fit(X)
    assert angles(model.components_.T.astype(float), V).max() < 1e-3
    scores = (X - X.mean(0, dtype=np.float64)) @ (V * np.sign((V * axes[:, :3]).sum(0)))
    tolerance = 2e-2 if kind == np.float32 else 1e-6
    np.testing.assert_allclose(model.transform(X), scores, atol=tolerance)


@pytest.mark.parametrize("route", ["covariance", "krylov"])
def test_axes_survive_an_offset_at_size(route):
    """So many float32 rows that they are not copied to float64 first."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 96)) * np.r_[10, 5, 3, np.ones(93)] + 1e6
    X = X.astype(np.float32)
    centered = X - X.mean(0, dtype=np.float64)
    V = np.linalg.eigh(centered.T @ centered)[1][:, ::-1][:, :3]
    _, axes = axes_by(route, X, 3)
    assert angles(axes[:, :3], V).max() < 1e-3
    model = lowd.PCA(3).fit(X)
    assert model.solver_ != "svd"
    assert angles(model.components_.T.astype(float), V).max() < 1e-3


@pytest.mark.parametrize(
    ("spectrum", "kind"),
    [
        *((name, np.float64) for name in ("flat", "slow", "fast", "spiked")),
        ("slow", np.float32),
    ],
    ids=["flat", "slow", "fast", "spiked", "slow-float32"],
)
def test_iterations_end_at_a_residual_not_at_a_count(spectrum, kind, rng):
    """Every axis of the iterative route has a small residual, or there is a warning."""
    d, n = 300, 3000
    scales = {
        "flat": np.linspace(1.05, 1, d),
        "slow": 1 / np.sqrt(np.arange(1, d + 1)),
        "fast": 0.8 ** np.arange(d),
        "spiked": np.r_[[9, 7, 5], np.ones(d - 3)],
    }[spectrum]
    X = np.ascontiguousarray((rng.normal(size=(n, d)) * scales + 3).astype(kind))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = lowd.PCA(3).fit(X)
    C = np.cov(X.T.astype(np.float64))
    V = model.components_.T.astype(np.float64)
    left = np.linalg.norm(C @ V - V * model.explained_variance_, axis=0)
    residual = left.max() / model.explained_variance_[0]

    tolerance = 5 * RITZ_TOLERANCE[np.dtype(kind)]
    assert residual <= tolerance or any("residual" in str(w.message) for w in caught)
    assert residual <= 100 * tolerance
    assert model.residual_ <= RITZ_TOLERANCE[np.dtype(kind)] or caught
    exact = np.linalg.eigvalsh(C)[::-1][:3]
    np.testing.assert_allclose(model.explained_variance_, exact, rtol=1e-4)


def test_a_spectrum_too_flat_for_products_is_solved_otherwise(rng):
    """Where the iteration would stop short, the direct route answers."""
    X = np.linalg.qr(rng.normal(size=(2000, 900)))[0] * np.linspace(1.3, 1, 900)
    assert choose_route(2000, 900, 3, sparse=False) == "krylov"
    model = lowd.PCA(3).fit(X)
    assert model.solver_ == "covariance"
    C = np.cov(X.T)
    V = model.components_.T
    left = np.linalg.norm(C @ V - V * model.explained_variance_, axis=0)
    assert left.max() < 1e-9 * model.explained_variance_[0]
    np.testing.assert_allclose(model.explained_variance_, np.linalg.eigvalsh(C)[::-1][:3])


@pytest.mark.parametrize("shape", [(3000, 600), (700, 3000)])
def test_rows_without_structure_take_few_products(shape, rng, monkeypatch):
    """The residual norms of the first ones say that the matrix would be quicker."""
    made = []

    def counting(rows, ctx):
        product = dense_product(rows, ctx)
        return product._replace(apply=lambda V: made.append(V.shape) or product.apply(V))

    monkeypatch.setattr(principal, "dense_product", counting)
    X = rng.normal(size=shape)
    assert choose_route(*shape, 2, sparse=False) == "krylov"
    model = lowd.PCA(2).fit(X)
    assert model.solver_ == ("covariance" if shape[0] > shape[1] else "gram")
    assert 0 < len(made) <= 8
    made.clear()
    structured = X * np.arange(1, shape[1] + 1) ** -0.25
    assert lowd.PCA(2).fit(structured).solver_ == "krylov"
    assert 8 < len(made) < 20


def test_products_that_are_left():
    """A residual norm that halves needs seven more for a hundredth; one that rises never ends."""
    halving = [(p, 0.5**p) for p in range(1, 9)]
    assert products_left(halving, 0.5**8 / 100) == pytest.approx(np.log2(100))
    assert products_left(halving[:4], 1e-10) == 0  # too early to say
    assert products_left([(p, 2.0**p) for p in range(1, 9)], 1e-10) == np.inf
    assert products_left(halving, 1.0) == 0
    assert products_left([(3, 1.0), (6, 1e-3), (9, 1e-6)], 1e-10) == pytest.approx(4)


@pytest.mark.parametrize("shape", [(300, 12), (12, 300)])
def test_a_short_axis_of_small_data_keeps_its_digits(shape, rng):
    """Squares would leave four of them."""
    sigma = 10.0 ** -np.arange(7)
    U = np.linalg.qr(rng.normal(size=(shape[0], 7)))[0]
    U = np.linalg.qr(np.hstack([np.ones((shape[0], 1)), U]))[0][:, 1:]  # columns sum to 0
    V = np.linalg.qr(rng.normal(size=(shape[1], 7)))[0]
    model = lowd.PCA(7).fit(U * sigma @ V.T)
    np.testing.assert_allclose(model.singular_values_, sigma, rtol=1e-8)
    assert model.solver_ == "svd"
    assert lowd.PCA(2).fit(U * sigma @ V.T).solver_ != "svd"


@pytest.mark.parametrize("whole", [True, False])
def test_the_route_is_reported(whole):
    for n, d in ((50, 5), (5000, 50), (100, 5000), (5000, 500)):
        k = None if whole else 2
        model = lowd.PCA(k, ddof=0)
        if n * d <= 500_000:
            model.fit(rows_like(n, d))
            assert model.solver_ == choose_route(n, d, k, sparse=False)


def test_a_very_wide_table_never_forms_its_covariance():
    """50 rows of 270 000 columns (300 x 300 pictures in color), by their 50 x 50 Gram matrix."""
    rng = np.random.default_rng(0)
    X = rng.random((50, 270_000), np.float32)
    X[:, :1000] += 3 * rng.random((50, 1), np.float32)
    model = lowd.PCA(5).fit(X)
    assert model.solver_ in ("gram", "svd", "krylov")
    scores = model.transform(X)
    assert scores.shape == (50, 5)
    np.testing.assert_allclose(scores.var(0, ddof=1), model.explained_variance_, rtol=1e-3)


def test_large_gram_matrices_come_from_rows_as_they_are(monkeypatch):
    X = (rows_like(40, 900) + 1000).astype(np.float32)
    weights = np.arange(40) % 3 + 0.5
    exact = lowd.PCA(3).fit(X.astype(np.float64), sample_weight=weights)
    monkeypatch.setattr(principal, "MAX_FLOAT64_GRAM_FLOPS", 0)
    monkeypatch.setattr(principal, "choose_route", lambda *_, **__: "gram")
    monkeypatch.setattr(ranges, "MAX_WIDENED_ROWS", 0)
    for given in ({}, {"scale": True}):
        model = lowd.PCA(3, **given).fit(X, sample_weight=weights)
        assert model.solver_ == "gram"
        if not given:
            np.testing.assert_allclose(model.components_, exact.components_, atol=2e-5)
            np.testing.assert_allclose(model.explained_variance_, exact.explained_variance_, 1e-5)


@pytest.mark.parametrize(
    ("shape", "kind"), [((400, 700), "float64"), ((700, 400), "float64"), ((400, 700), "float32")]
)
def test_axes_of_sparse_rows_are_exact_in_any_type(shape, kind, rng):
    X = csr_array((rng.random(shape) * (rng.random(shape) < 0.02)).astype(kind))
    model = lowd.PCA(6).fit(X)
    assert model.solver_ == "krylov"
    assert model.residual_ <= 2e-7
    V = np.linalg.svd((Z := X.toarray().astype(float)) - Z.mean(0))[2][:6].T
    outside = model.components_.T - V @ (V.T @ model.components_.T)
    assert np.abs(outside).max() < 1e-5


def with_offset(n, d, kind, seed=0):
    """Rows with nine of ten entries 0, but one column of seconds since 1970, or a million."""
    rng = np.random.default_rng(seed)
    offset, spread = (1.6e9, 100) if kind == np.float64 else (1e6, 1)
    X = spread * rng.random((n, d)) * (rng.random((n, d)) < 0.1)
    X[:, 1] = offset + spread * rng.normal(size=n)
    X[0, 1] += spread * 30
    return X.astype(kind)


@pytest.mark.parametrize(
    ("route", "shape", "given", "kind"),
    [
        *(
            (*one, {}, kind)
            for one in (("covariance", (300, 20)), ("krylov", (400, 700)), ("gram", (50, 200)))
            for kind in ("float64", "float32")
        ),
        ("covariance", (300, 20), {"whiten": True}, "float64"),
        *(
            (*one, {"scale": True}, "float64")
            for one in (("covariance", (300, 20)), ("krylov", (400, 700)))
        ),
    ],
    ids=str,
)
def test_an_offset_costs_sparse_rows_no_digits(route, shape, given, kind):
    kind = np.dtype(kind).type
    X = with_offset(*shape, kind)
    weights = np.random.default_rng(1).random(shape[0]) + 0.5
    exact = lowd.PCA(2, **given).fit(X.astype(float), sample_weight=weights)
    model = lowd.PCA(2, **given).fit(csr_array(X), sample_weight=weights)
    assert model.solver_ == route
    tolerance = 1e-6 if kind == np.float64 else 2e-4
    assert angles(model.components_.T.astype(float), exact.components_.T).max() < tolerance
    np.testing.assert_allclose(model.explained_variance_, exact.explained_variance_, rtol=1e-8)
    Y = exact.transform(X.astype(float))
    close(model.transform(csr_array(X)), Y, kind, 1e2)


@pytest.mark.parametrize("kind", [np.float64, np.float32], ids=["float64", "float32"])
def test_an_offset_costs_sparse_batches_no_digits(kind):
    X = with_offset(300, 20, kind)
    exact = lowd.PCA(2).fit(X.astype(float))
    model = lowd.PCA(2)
    for i in range(0, 300, 37):
        model.partial_fit(csr_array(X[i : i + 37]))
    np.testing.assert_allclose(model.explained_variance_, exact.explained_variance_, rtol=1e-8)
    close(model.transform(csr_array(X)), exact.transform(X.astype(float)), kind, 1e2)


def test_all_routes_agree_on_the_basis_of_equal_variances():
    X = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    model = lowd.PCA(2).fit(X)
    for route in ROUTES:
        assert np.abs(axes_by(route, X, 2)[1] - model.components_.T).max() < 1e-6
