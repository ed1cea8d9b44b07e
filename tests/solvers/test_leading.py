"""Leading eigenpairs of small matrices, against LAPACK's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import lowd
from cases import rows_like
from lowd.backends import resolve
from lowd.core.fit import Context
from lowd.relations.matrices import DenseMatrix
from lowd.solvers import centered as spectral
from lowd.solvers import lanczos


def context(backend="native"):
    return Context(resolve(backend, 1), 0, np.dtype(np.float64), None)


def with_spectrum(values, seed=0):
    """A symmetric matrix with these eigenvalues, and one more of 0 for the constant."""
    n = len(values) + 1
    V = np.random.default_rng(seed).normal(size=(n, n))
    V[:, 0] = 1
    V = np.linalg.qr(V)[0]
    return (V[:, 1:] * values) @ V[:, 1:].T


def solved(A, k, backend="native", **how):
    n = len(A)
    A = (A + A.T) / 2
    return lanczos.leading_of(
        DenseMatrix(A), np.full(n, n**-0.5), k, 1e-10, context(backend), **how
    )


@pytest.mark.parametrize("k", [1, 2, 10])
def test_leading_pairs_are_those_of_the_whole_spectrum(backend, k):
    values = np.linspace(1, 0, 299) ** 3 * np.where(np.arange(299) % 7, 1, -0.5)
    A = with_spectrum(values)
    found = solved(A, k, backend)
    assert found.converged
    np.testing.assert_allclose(found.values, np.sort(values)[::-1][:k], rtol=1e-12)
    left = A @ found.vectors - found.vectors * found.values
    assert np.linalg.norm(left, axis=0).max() < 1e-10
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(k), atol=1e-13)


def test_it_goes_on_where_the_basis_is_full():
    """The tenth digit of close eigenvalues takes more vectors than the basis holds."""
    values = np.concatenate([[1.0, 0.999], np.linspace(0.99, 0, 597)])
    found = solved(with_spectrum(values), 2)
    assert found.converged
    np.testing.assert_allclose(found.values, values[:2], rtol=1e-12)


def test_it_gives_up_where_the_spectrum_is_flat(monkeypatch):
    """Then LAPACK answers, and the answer is complete."""
    A = with_spectrum(1 - np.arange(399) * 1e-7)
    monkeypatch.setattr(lanczos, "PASSES", 6)
    assert not solved(A, 2).converged
    found = spectral.double_centered(DenseMatrix(A), 2, context())
    assert found.complete
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(A)[::-1], atol=1e-12)


def test_repeated_eigenvalues_are_all_found(backend):
    """On a circle they come in pairs, and one of a pair would be a picture of nothing."""
    t = np.linspace(0, 2 * np.pi, 360, endpoint=False)
    circle = np.c_[np.cos(t), np.sin(t)]
    model = lowd.KernelPCA(4, kernel="rbf", gamma=1.0, backend=backend).fit(circle)
    assert model.degenerate_axes_ == ((0, 1), (2, 3))
    np.testing.assert_allclose(model.eigenvalues_[::2], model.eigenvalues_[1::2], rtol=1e-12)
    radius = np.linalg.norm(model.embedding_[:, :2], axis=1)
    np.testing.assert_allclose(radius, radius[0], rtol=1e-9)


@pytest.mark.parametrize("n", [120, 300])
def test_distances_of_few_columns_have_a_whole_spectrum(n, backend):
    X = rows_like(n, 6, 1)
    model = lowd.ClassicalMDS(2, metric="precomputed", backend=backend).fit(cdist(X, X))
    centered = X - X.mean(0)
    expected = np.concatenate([np.linalg.svd(centered)[1] ** 2, np.zeros(n - 6)])
    np.testing.assert_allclose(model.spectrum_, expected, atol=1e-12 * expected[0])
    assert model.n_positive_ == 6
    assert model.negative_mass_is_exact_


def test_a_simplex_has_more_equal_eigenvalues_than_a_block_holds(backend):
    """The basis ends after one block, and the trace tells that this is not all."""
    D = 1.0 - np.eye(200)
    model = lowd.ClassicalMDS(2, metric="precomputed", backend=backend).fit(D)
    np.testing.assert_allclose(model.spectrum_, [*[0.5] * 199, 0], atol=1e-12)
