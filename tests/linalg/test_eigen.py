"""Leading eigenpairs by LAPACK and by block Krylov iteration, and one answer of several."""

from __future__ import annotations

import numpy as np
import pytest

from lowd import random
from lowd.linalg import eigen
from lowd.linalg.eigen import (
    block_krylov,
    canonical,
    dense_eigenpairs,
    equal_groups,
    is_dense,
    leading_eigenpairs,
    numerical_rank,
    products_left,
    signs,
)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 2), (40, 40), (60, 7)])
def test_dense_decompositions(n, k, rng):
    A = rng.normal(size=(n, n))
    S = A + A.T
    values, vectors, *_ = dense_eigenpairs(S, k)
    expected = np.linalg.eigvalsh(S)[::-1]
    np.testing.assert_allclose(values, expected[:k], atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose(S @ vectors, vectors * values, atol=1e-12 * np.abs(expected).max())


def test_as_many_equal_eigenpairs_as_are_asked_for():
    """LAPACK's dsyevr may find fewer."""
    for n in (40, 200, 400):
        values, vectors, *_ = dense_eigenpairs(np.eye(n) - 1 / n, n // 3)
        np.testing.assert_allclose(values, 1)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(n // 3), atol=1e-12)


def test_two_by_two_eigenpairs():
    """[[2, 1], [1, 3]]: Rayleigh quotient and eigenvalues."""
    A = np.array([[2.0, 1.0], [1.0, 3.0]])
    values, vectors, *_ = dense_eigenpairs(A, 2)
    np.testing.assert_allclose(values, [3.618034, 1.381966], atol=5e-7)
    np.testing.assert_allclose((vectors * (A @ vectors)).sum(0), values)
    x = np.array([1.0, 2.0])
    assert values[1] < x @ A @ x / (x @ x) < values[0]
    found = block_krylov(lambda V: A @ V, np.array([[1.0], [0.0]]), 1, 1e-12)
    assert found.values[0] == pytest.approx(3.618034, abs=5e-7)
    assert found.residual <= 1e-12


@pytest.mark.parametrize(
    "spectrum",
    [
        1.0 / np.arange(1, 401),
        0.7 ** np.arange(400),
        1 - np.arange(400) / 4000,
        np.r_[[5, 5, 5], np.ones(397)],
        np.r_[[3, 2], np.zeros(398)],
        np.r_[[3, 2], -np.linspace(0, 2.5, 398)],
    ],
    ids=["slow", "fast", "flat", "triple", "rank two", "indefinite"],
)
def test_the_iteration_keeps_its_promise(spectrum, rng):
    """Either every pair is within the tolerance, or its residual says that it is not."""
    Q = np.linalg.qr(rng.normal(size=(400, 400)))[0]
    A = Q * spectrum @ Q.T
    found = block_krylov(lambda V: A @ V, random.normals(0, "start", (400, 8)), 3, 1e-10)
    residuals = np.linalg.norm(A @ found.vectors - found.vectors * found.values, axis=0)
    if found.residual <= 1e-10:
        assert residuals.max() <= 2e-10 * np.abs(spectrum).max()
        np.testing.assert_allclose(found.values, np.sort(spectrum)[::-1][:3], atol=1e-8)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(3), atol=1e-8)
    assert found.residual == pytest.approx(residuals.max() / np.abs(spectrum).max(), abs=1e-9)


@pytest.mark.parametrize(("n", "k"), [(300, 1), (500, 1), (300, 10), (600, 10)])
def test_leading_pairs_are_those_of_the_whole_spectrum(n, k, rng):
    values = np.linspace(1, 0, n) ** 3 * np.where(np.arange(n) % 7, 1, -0.5)
    V = np.linalg.qr(rng.normal(size=(n, n)))[0]
    A = (V * values) @ V.T
    found = leading_eigenpairs(lambda B: A @ B, n, k, 0, float)
    assert (found.residual == 0) == is_dense(n, k)
    np.testing.assert_allclose(found.values, np.sort(values)[::-1][:k], rtol=1e-12)
    left = A @ found.vectors - found.vectors * found.values
    assert np.linalg.norm(left, axis=0).max() < 1e-10


def test_the_iteration_restarts_where_the_basis_is_full(rng):
    """The tenth digit of close eigenvalues takes more vectors than the basis holds."""
    values = np.concatenate([[1.0, 0.999], np.linspace(0.99, 0, 598)])
    V = np.linalg.qr(rng.normal(size=(600, 600)))[0]
    found = leading_eigenpairs(lambda B: (V * values) @ (V.T @ B), 600, 2, 0, float)
    assert 0 < found.residual < 1e-10
    np.testing.assert_allclose(found.values, values[:2], rtol=1e-12)


def test_lapack_takes_over_where_the_spectrum_is_flat(rng, monkeypatch):
    values = 1 - np.arange(400) * 1e-7
    V = np.linalg.qr(rng.normal(size=(400, 400)))[0]
    A, iterate, attempts = (V * values) @ V.T, eigen.block_krylov, []

    def impatient(*args, **options):
        attempts.append(iterate(*args, **options, max_products=6))
        return attempts[-1]

    monkeypatch.setattr(eigen, "block_krylov", impatient)
    found = leading_eigenpairs(lambda B: A @ B, 400, 2, 0, float)
    assert attempts[0].residual > 1e-10
    assert found.residual == 0
    np.testing.assert_allclose(found.values, values[:2], rtol=1e-12)


def test_products_that_are_left():
    """A residual that halves needs seven more for a hundredth; one that rises never ends."""
    halving = [(p, 0.5**p) for p in range(1, 9)]
    assert products_left(halving, 0.5**8 / 100) == pytest.approx(np.log2(100))
    assert products_left(halving[:4], 1e-10) == 0  # too early to say
    assert products_left([(p, 2.0**p) for p in range(1, 9)], 1e-10) == np.inf
    assert products_left(halving, 1.0) == 0
    assert products_left([(3, 1.0), (6, 1e-3), (9, 1e-6)], 1e-10) == pytest.approx(4)


def test_signs_and_ties():
    V = np.array([[1.0, -3.0, -1.0, 0.0], [-2.0, 1.0, 1.0 + 1e-9, 0.0]])
    np.testing.assert_array_equal(signs(V), [-1, -1, -1, 1])
    assert signs(np.empty((0, 3))).tolist() == [1, 1, 1]


def test_the_basis_of_a_repeated_eigenvalue_depends_on_its_space_only(rng):
    """Any rotation within the group gives the same vectors."""
    V = np.linalg.qr(rng.normal(size=(12, 4)))[0]
    values = np.array([3.0, 2.0, 2.0, 2.0])
    expected = canonical(values, V)
    for _ in range(5):
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        turned = np.column_stack([-V[:, 0], V[:, 1:] @ turn])
        np.testing.assert_allclose(canonical(values, turned), expected, atol=1e-9)
    space = expected[:, 1:]
    np.testing.assert_allclose(space @ space.T, V[:, 1:] @ V[:, 1:].T, atol=1e-12)


def test_equal_eigenvalues_are_named_in_either_order():
    values = np.array([5.0, 3.0, 3.0 - 1e-12, 2.0, 1.0, 1.0, 1.0])
    assert equal_groups(values) == ((1, 2), (4, 5, 6))
    assert equal_groups(values[::-1]) == ((0, 1, 2), (4, 5))
    assert equal_groups(np.array([3.0, 3.0 - 1e-6]), np.float32) == ((0, 1),)
    assert equal_groups(np.array([3.0, 3.0 - 1e-6])) == ()
    assert equal_groups(np.array([1e-17, 3e-17, 1.0]), floor=1e-16) == ((0, 1),)
    assert equal_groups(np.array([1.0, 0.0, 0.0])) == ()
    assert equal_groups(np.array([])) == equal_groups(np.array([1.0])) == ()


def test_the_rank_ends_at_the_last_eigenvalue_above_rounding():
    values = np.array([4.0, 1.0, 1e-17, 1e-3, 1e-18])
    assert numerical_rank(values, 1e-15) == 4
    assert numerical_rank(values, np.array([0, 0, 0, 1.0, 1.0])) == 3
    assert numerical_rank(np.zeros(3), 1e-15) == 0
    assert numerical_rank(-values, 1e-15) == 0
