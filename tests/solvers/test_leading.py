"""Leading eigenpairs of doubly centered matrices: both routes against LAPACK."""

from __future__ import annotations

import numpy as np
import pytest
from lowd.core.fit import Context
from lowd.relations.matrices import DenseMatrix
from lowd.solvers import centered, dense, krylov
from lowd.solvers.centered import choose_route, decompose_centered
from scipy.spatial.distance import cdist

import lowd
from case_data import rows_like
from lowd.backends import resolve


def context():
    return Context(resolve("auto", 1), 0, np.dtype(np.float64), None)


def with_spectrum(values, seed=0):
    """A symmetric matrix with these eigenvalues, and one more of 0 for the constant."""
    n = len(values) + 1
    V = np.random.default_rng(seed).normal(size=(n, n))
    V[:, 0] = 1
    V = np.linalg.qr(V)[0]
    A = (V[:, 1:] * values) @ V[:, 1:].T
    return (A + A.T) / 2


def solved(A, k, route="krylov"):
    assert choose_route(len(A), k) == route
    return decompose_centered(DenseMatrix(A), k, context())


@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 2), (40, 40), (60, 7)])
def test_dense_decompositions(n, k, rng):
    A = rng.normal(size=(n, n))
    S = A + A.T
    values, vectors = dense.eigh(S, k)
    expected = np.linalg.eigvalsh(S)[::-1]
    np.testing.assert_allclose(values, expected[:k], atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose(S @ vectors, vectors * values, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose(dense.eigvalsh(S), expected, atol=1e-12 * np.abs(expected).max())
    U, sigma, Vt = dense.svd(A)
    np.testing.assert_allclose((U * sigma) @ Vt, A, atol=1e-12)


@pytest.mark.parametrize(
    ("n", "k", "route"),
    [(300, 1, "dense"), (500, 1, "krylov"), (300, 10, "dense"), (600, 10, "krylov")],
)
def test_leading_pairs_are_those_of_the_whole_spectrum(n, k, route):
    values = np.linspace(1, 0, n - 1) ** 3 * np.where(np.arange(n - 1) % 7, 1, -0.5)
    A = with_spectrum(values)
    found = solved(A, k, route)
    np.testing.assert_allclose(found.values, np.sort(values)[::-1][:k], rtol=1e-12)
    left = A @ found.vectors - found.vectors * found.values
    assert np.linalg.norm(left, axis=0).max() < 1e-10
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(k), atol=1e-12)


def test_the_iteration_restarts_where_the_basis_is_full():
    """The tenth digit of close eigenvalues takes more vectors than the basis holds."""
    values = np.concatenate([[1.0, 0.999], np.linspace(0.99, 0, 597)])
    found = solved(with_spectrum(values), 2)
    assert found.residual < 1e-10
    np.testing.assert_allclose(found.values, values[:2], rtol=1e-12)


def test_lapack_takes_over_where_the_spectrum_is_flat(monkeypatch):
    A = with_spectrum(1 - np.arange(399) * 1e-7)
    iterate = krylov.leading_eigenpairs
    attempts = []

    def impatient(*args, **options):
        attempts.append(iterate(*args, **options, max_products=6))
        return attempts[-1]

    monkeypatch.setattr(centered, "leading_eigenpairs", impatient)
    found = solved(A, 2)
    assert not attempts[0].converged
    np.testing.assert_allclose(found.all_values, np.linalg.eigvalsh(A)[::-1], atol=1e-12)


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


def test_a_simplex_has_more_equal_eigenvalues_than_a_block_holds():
    D = 1.0 - np.eye(400)
    model = lowd.ClassicalMDS(2, metric="precomputed").fit(D)
    np.testing.assert_allclose(model.spectrum_, [*[0.5] * 399, 0], atol=1e-12)
