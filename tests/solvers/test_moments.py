"""Means, covariances, eigenpairs: what all linear methods stand on."""

from __future__ import annotations

import numpy as np
import pytest
from lowd.backends.protocol import Moments
from lowd.solvers.canonical import canonical_basis, sign_flips
from lowd.solvers.dense import eigh
from lowd.solvers.krylov import leading_eigenpairs, random_block

import lowd
from case_data import rows_like
from lowd.backends import resolve

HOURS = np.array([[10.0, 90.0], [6.0, 68.0], [20.0, 95.0]])


def moments_of(X, ops, weights=None):
    X = np.asarray(X, float)
    return ops.scatter(X, np.average(X, axis=0, weights=weights), weights).moments()


def test_variance_of_three_numbers():
    found = moments_of([[3.0], [7.0], [5.0]], resolve("auto", 1))
    assert found.mean[0] == 5
    assert found.scatter[0, 0] / 3 == pytest.approx(8 / 3)
    assert found.scatter[0, 0] / 2 == pytest.approx(4)


def test_hours_and_scores():
    found = moments_of(HOURS, resolve("auto", 1))
    np.testing.assert_allclose(found.mean, [12, 84.333333], atol=5e-7)
    np.testing.assert_allclose(found.scatter, [[104, 172], [172, 412.666667]], atol=5e-7)
    np.testing.assert_allclose(found.scatter / 2, [[52, 86], [86, 206.333333]], atol=5e-7)
    covariance = found.scatter / 3
    np.testing.assert_allclose(
        covariance, [[34.666667, 57.333333], [57.333333, 137.555556]], atol=5e-7
    )
    correlation = covariance[0, 1] / np.sqrt(np.prod(np.diagonal(covariance)))
    assert correlation == pytest.approx(0.830256, abs=5e-7)


def test_centering_matrix():
    """H X = X - mean, and the scatter is (H X)'(H X), positive semi-definite."""
    X = rows_like(12, 5)
    H = np.eye(12) - 1 / 12
    found = moments_of(X, resolve("auto", 1))
    np.testing.assert_allclose(H @ X, X - found.mean, atol=1e-12)
    np.testing.assert_allclose(found.scatter, X.T @ H @ X, atol=1e-12)
    assert np.linalg.eigvalsh(found.scatter).min() >= -1e-12


def test_population_and_sample_variance():
    X = rows_like(12, 5)
    sample, population = (lowd.PCA(ddof=ddof).fit(X) for ddof in (1, 0))
    np.testing.assert_allclose(
        population.explained_variance_, 11 / 12 * sample.explained_variance_, rtol=1e-12
    )
    np.testing.assert_allclose(population.components_, sample.components_, atol=1e-12)


def test_merged_blocks_are_one_pass():
    X, ops = rows_like(100, 4), resolve("auto", 1)
    whole = moments_of(X, ops)
    cuts = np.split(X, [1, 2, 30, 31, 70])
    merged = moments_of(cuts[0], ops)
    for part in cuts[1:]:
        merged = merged.merge(moments_of(part, ops))
    np.testing.assert_allclose(merged.mean, whole.mean, rtol=1e-13)
    np.testing.assert_allclose(merged.scatter, whole.scatter, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("rows", [2**31, 2**40, 2**52])
def test_merging_after_very_many_rows(rows):
    """Counts beyond 32 bits neither overflow nor lose the new rows."""
    many = Moments(float(rows), np.zeros(2), rows * np.eye(2))
    new = Moments(float(rows), np.full(2, 4.0), rows * 3 * np.eye(2))
    both = many.merge(new)
    assert both.weight == 2.0 * rows
    np.testing.assert_allclose(both.mean, 2)
    np.testing.assert_allclose(both.scatter / both.weight, 2 * np.eye(2) + 4)
    few = many.merge(Moments(4.0, np.full(2, 100.0), np.eye(2)))
    assert few.weight == rows + 4
    np.testing.assert_allclose(few.mean, 400 / (rows + 4))


def test_weights_are_multiplicities(rng):
    X, counts = rows_like(30, 4), rng.integers(0, 4, 30)
    ops = resolve("auto", 1)
    repeated = moments_of(np.repeat(X, counts, axis=0), ops)
    weighted = moments_of(X, ops, counts.astype(float))
    assert weighted.weight == repeated.weight
    np.testing.assert_allclose(weighted.scatter, repeated.scatter, rtol=1e-12, atol=1e-12)


def test_two_by_two_eigenpairs():
    """[[2, 1], [1, 3]]: Rayleigh quotient and eigenvalues."""
    A = np.array([[2.0, 1.0], [1.0, 3.0]])
    values, vectors = eigh(A, 2)
    np.testing.assert_allclose(values, [3.618034, 1.381966], atol=5e-7)
    quotients = (vectors * (A @ vectors)).sum(0)
    np.testing.assert_allclose(quotients, values)
    x = np.array([1.0, 2.0])
    quotient = x @ A @ x / (x @ x)
    assert quotient == pytest.approx(3.6)
    np.testing.assert_allclose(2 / (x @ x) * (A @ x - quotient * x), [0.16, -0.08])
    assert values[1] < quotient < values[0]


def test_power_iteration_and_the_krylov_solver_meet():
    A = np.array([[2.0, 1.0], [1.0, 3.0]])
    v, quotients = np.array([1.0, 0.0]), []
    for _ in range(5):
        v = A @ v
        v /= np.linalg.norm(v)
        quotients.append(v @ A @ v)
    np.testing.assert_allclose(quotients, [3.0, 3.5, 3.6, 3.615385, 3.617647], atol=5e-7)
    found = leading_eigenpairs(lambda V: A @ V, np.array([[1.0], [0.0]]), 1, 1e-12)
    assert found.values[0] == pytest.approx(3.618034, abs=5e-7)
    assert found.converged


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
def test_the_krylov_solver_keeps_its_promise(spectrum, rng):
    """Either every pair is within the tolerance, or it says that it is not."""
    Q = np.linalg.qr(rng.normal(size=(400, 400)))[0]
    A = Q * spectrum @ Q.T
    found = leading_eigenpairs(lambda V: A @ V, random_block(0, 400, 8), 3, 1e-10)
    residuals = np.linalg.norm(A @ found.vectors - found.vectors * found.values, axis=0)
    if found.converged:
        assert residuals.max() <= 2e-10 * np.abs(spectrum).max()
        expected = np.sort(spectrum)[::-1][:3]
        np.testing.assert_allclose(found.values, expected, atol=1e-8)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(3), atol=1e-8)
    assert found.residual == pytest.approx(residuals.max() / np.abs(spectrum).max(), abs=1e-9)


def test_signs_and_ties():
    V = np.array([[1.0, -3.0, -1.0, 0.0], [-2.0, 1.0, 1.0 + 1e-9, 0.0]])
    np.testing.assert_array_equal(sign_flips(V), [-1, -1, -1, 1])
    assert sign_flips(np.empty((0, 3))).tolist() == [1, 1, 1]


def test_the_basis_of_a_repeated_eigenvalue_depends_on_its_space_only(rng):
    """Any rotation within the group gives the same vectors, and the group is named."""
    V = np.linalg.qr(rng.normal(size=(12, 4)))[0]
    values = np.array([3.0, 2.0, 2.0, 2.0])
    canonical, groups = canonical_basis(values, V, 1e-10)
    assert groups == ((1, 2, 3),)
    for _ in range(5):
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        turned = np.column_stack([-V[:, 0], V[:, 1:] @ turn])
        np.testing.assert_allclose(canonical_basis(values, turned, 1e-10)[0], canonical, atol=1e-9)
    space = canonical[:, 1:]
    np.testing.assert_allclose(space @ space.T, V[:, 1:] @ V[:, 1:].T, atol=1e-12)
    assert canonical_basis(np.array([3.0, 2.0]), V[:, :2], 1e-10)[1] == ()
