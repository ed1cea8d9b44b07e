"""Classical scaling: both routes against LAPACK, and what is known of the whole spectrum."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import lowd
from case_data import rows_like
from lowd.errors import ConvergenceWarning, IndefiniteWarning, RankWarning
from lowd.linalg import centered
from lowd.linalg.centered import (
    classical_scaling,
    half_squares,
    initial_scaling,
    products_of,
    warn_if_indefinite,
)


def with_spectrum(values, seed=0):
    """A symmetric matrix with these eigenvalues, and one more of 0 for the constant."""
    n = len(values) + 1
    V = np.random.default_rng(seed).normal(size=(n, n))
    V[:, 0] = 1
    V = np.linalg.qr(V)[0]
    A = (V[:, 1:] * values) @ V[:, 1:].T
    return (A + A.T) / 2


def scaled(A, k, dtype=np.float64, **how):
    return classical_scaling(products_of(A), len(A), k, 0, dtype, trace=float(np.trace(A)), **how)


@pytest.mark.parametrize("n", [120, 400, 1200])
@pytest.mark.parametrize("offset", [0, 1e6])
def test_scaling_of_inner_products_is_pca(n, offset):
    """Rows, their inner products and their distances have the same coordinates."""
    X = rows_like(n, 6, 1)
    A = X - X.mean(0)
    U, sigma, _ = np.linalg.svd(A, full_matrices=False)
    found = scaled(A @ A.T + offset, 3)
    np.testing.assert_allclose(found.values, sigma[:3] ** 2, rtol=1e-9)
    turn = np.sign((U[:, :3] * found.vectors).sum(0))
    tolerance = 1e-9 if offset else 1e-11
    np.testing.assert_allclose(found.coordinates, U[:, :3] * sigma[:3] * turn, atol=n * tolerance)
    D = cdist(X, X)
    by_distances = classical_scaling(half_squares(D), n, 3, 0, D.dtype)
    np.testing.assert_allclose(by_distances.values, sigma[:3] ** 2, rtol=1e-9)
    np.testing.assert_allclose(by_distances.means, -np.square(D).mean(1) / 2, rtol=1e-12)
    # Gower's formula takes each point to its own coordinates.
    M = -D * D / 2 - by_distances.means
    np.testing.assert_allclose(M @ by_distances.axes, by_distances.coordinates, atol=1e-8)
    np.testing.assert_allclose(by_distances.axes.sum(0), 0, atol=1e-13)


def test_the_whole_spectrum_where_it_is_asked_for():
    values = np.linspace(1, 0, 399) ** 3 * np.where(np.arange(399) % 7, 1, -0.5)
    A = with_spectrum(values)
    found = scaled(A, 4, whole=True)
    np.testing.assert_allclose(found.spectrum, np.linalg.eigvalsh(A)[::-1], atol=1e-12)
    assert found.residual > 0  # the vectors come from the iteration
    np.testing.assert_array_equal(found.values, found.spectrum[:4])
    share = -values[values < 0].sum() / np.abs(values).sum()
    assert found.negative_share == pytest.approx(share, rel=1e-10)
    assert found.share_is_exact
    estimated = scaled(A, 4)
    assert estimated.spectrum is None
    assert not estimated.share_is_exact
    assert estimated.negative_share == pytest.approx(share, rel=0.25)
    assert scaled(A, 4, definite=True).share_is_exact


def test_lapack_takes_over_where_the_spectrum_is_flat(monkeypatch):
    iterate, attempts = centered.block_krylov, []

    def impatient(*args, **options):
        attempts.append(iterate(*args, **options, max_products=6))
        return attempts[-1]

    monkeypatch.setattr(centered, "block_krylov", impatient)
    A = with_spectrum(1 - np.arange(399) * 1e-7)
    found = scaled(A, 2)
    assert attempts[0].residual > 1e-10
    np.testing.assert_allclose(found.spectrum, np.linalg.eigvalsh(A)[::-1], atol=1e-12)
    with pytest.warns(ConvergenceWarning, match="nearly flat"):
        assert scaled(A, 2, few=100).residual > 1e-10


def test_a_simplex_has_more_equal_eigenvalues_than_a_block_holds():
    D = 1.0 - np.eye(400)
    found = classical_scaling(half_squares(D), 400, 2, 0, float, whole=True)
    np.testing.assert_allclose(found.spectrum, [*[0.5] * 399, 0], atol=1e-12)
    assert found.degenerate == ((0, 1),)


@pytest.mark.parametrize("n", [60, 1200])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_more_axes_than_there_are_come_as_zeros(n, dtype):
    X = rows_like(n, 3, 1)
    D = cdist(X, X).astype(dtype)
    with pytest.warns(RankWarning, match="only 3"):
        found = classical_scaling(half_squares(D), n, 5, 0, dtype)
    assert (found.values[3:] == 0).all()
    assert not found.vectors[:, 3:].any()
    assert not found.axes[:, 3:].any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(scaled((X - X.mean(0)) @ (X - X.mean(0)).T, None).values) == 3
        start = initial_scaling(half_squares(D), n, 5, 0, dtype)
    assert not start[:, 3:].any()
    tolerance = 1e-4 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(start[:, :3], found.coordinates[:, :3], atol=tolerance)


@pytest.mark.parametrize("n", [60, 1200])
def test_a_start_gives_equal_points_equal_coordinates(n):
    X = rows_like(n, 4, 1)
    X[n // 2 :] = X[: n - n // 2]
    Y = initial_scaling(half_squares(cdist(X, X, "cityblock")), n, 2, 0, float)
    np.testing.assert_allclose(Y[n // 2 :], Y[: n - n // 2], rtol=0, atol=1e-13 * np.abs(Y).max())


def test_distances_that_are_not_euclidean_are_said_to_be_none():
    with pytest.warns(IndefiniteWarning, match=r"12\.3%"):
        warn_if_indefinite(0.123)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_indefinite(1e-4)


def test_repeated_eigenvalues_are_all_found():
    """On a circle they come in pairs, and one of a pair would be a picture of nothing."""
    t = np.linspace(0, 2 * np.pi, 360, endpoint=False)
    circle = np.c_[np.cos(t), np.sin(t)]
    model = lowd.KernelPCA(4, kernel="rbf", gamma=1.0).fit(circle)
    assert model.degenerate_axes_ == ((0, 1), (2, 3))
    np.testing.assert_allclose(model.eigenvalues_[::2], model.eigenvalues_[1::2], rtol=1e-12)
    radius = np.linalg.norm(model.embedding_[:, :2], axis=1)
    np.testing.assert_allclose(radius, radius[0], rtol=1e-9)


@pytest.mark.parametrize("n", [120, 400])
def test_distances_of_few_columns_have_a_whole_spectrum(n):
    X = rows_like(n, 6, 1)
    model = lowd.ClassicalMDS(2, metric="precomputed").fit(cdist(X, X))
    singular = np.linalg.svd(X - X.mean(0))[1]
    expected = np.concatenate([singular**2, np.zeros(n - 6)])
    np.testing.assert_allclose(model.spectrum_, expected, atol=1e-12 * expected[0])
    np.testing.assert_array_equal(model.spectrum_[:2], model.eigenvalues_)
    assert model.n_positive_ == 6
    assert model.negative_mass_is_exact_
