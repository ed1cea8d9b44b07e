"""Products with matrices on a device, and eigensolvers whose vectors stay there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array, random_array

pytest.importorskip("torch", reason="torch is not installed (pip install 'lowd[gpu]')")

import torch
from lowd.backends.protocol import PairwiseMatrix, Terms, multiply
from lowd.backends.reference import Reference
from lowd.core.fit import Context
from lowd.solvers.chebyshev import solve_chebyshev
from lowd.solvers.eigenproblem import Eigenproblem
from lowd.solvers.krylov import leading_eigenpairs, random_block
from lowd.solvers.multilevel import solve_multilevel

from operands import data, measured, near, typed
from torch_operands import FAST, all_sizes_on_the_device  # noqa: F401 - a fixture

pytestmark = pytest.mark.usefixtures("all_sizes_on_the_device", "no_silent_copies")
PLAIN = Reference()


@pytest.fixture
def no_silent_copies(monkeypatch):
    """NumPy would read a tensor on a CPU as an array; on a GPU that is an error."""

    def refuse(*_):
        raise TypeError("a tensor was taken for an array")

    monkeypatch.setattr(torch.Tensor, "__array__", refuse)


@measured
@typed
def test_products_with_the_measures_of_all_pairs(measure, params, kind):
    X = np.abs(data(90, 7, kind))  # a fractional power needs a positive base
    V = np.random.default_rng(0).normal(size=(90, 3))
    matrix = PairwiseMatrix(X, measure, params, None)
    near(multiply(FAST.matrix_plan(matrix), V), PLAIN.matrix_plan(matrix).matmul(V), kind, 200)


@typed
@pytest.mark.parametrize("half_square", [False, True])
def test_products_with_a_given_matrix(kind, half_square, rng):
    A, V = rng.normal(size=(60, 41)).astype(kind), rng.normal(size=(41, 5))
    fast, plain = (ops.matrix_plan(A, half_square=half_square) for ops in (FAST, PLAIN))
    near(multiply(fast, V), plain.matmul(V), np.float64)


@pytest.mark.parametrize("width", [1, 2, 3, 8, 9, 24, 40])
@pytest.mark.parametrize("sparse", [False, True])
def test_three_term_recurrences(width, sparse, rng):
    """With rows of no entries, and of more than a program adds at a time."""
    A = random_array((300, 300), density=0.05, rng=rng).toarray()
    A[3], A[5] = 0, rng.normal(size=300)
    V, U = rng.normal(size=(2, 300, width))
    given = csr_array(A) if sparse else A
    plan, plain = FAST.matrix_plan(given), PLAIN.matrix_plan(given)
    # Factors that float32 does not hold.
    for alpha, beta, gamma in ((1 / 3, 0, 0), (-2 / 3, 0.1, 0), (1.7, 0, -1 / 7)):
        terms = Terms(alpha, beta, gamma, U if gamma else None)
        held = terms._replace(U=plan.hold(U)) if gamma else terms
        found = plan.fetch(plan.matmul(plan.hold(V), held))
        near(found, plain.matmul(V, terms), np.float64, 50)


def test_a_product_with_a_matrix_that_is_not_square(rng):
    A, V = random_array((40, 90), density=0.2, rng=rng, format="csr"), rng.normal(size=(90, 4))
    near(multiply(FAST.matrix_plan(csr_array(A)), V), A @ V, np.float64)


def test_leading_eigenpairs_of_a_matrix_on_the_device(rng):
    A = rng.normal(size=(400, 400))
    A = A @ A.T * np.linspace(3, 0.1, 400) * np.linspace(3, 0.1, 400)[:, None]
    plan = FAST.matrix_plan(A)
    found = leading_eigenpairs(plan.matmul, random_block(0, 400, 8), 3, 1e-10, where=plan)
    assert found.converged
    values, vectors = np.linalg.eigh(A)
    np.testing.assert_allclose(found.values, values[:-4:-1], rtol=1e-12)
    overlap = np.abs((found.vectors * vectors[:, :-4:-1]).sum(0))
    np.testing.assert_allclose(overlap, 1, atol=1e-12)


def lattice_laplacian(n):
    """Of an n x (n + 7) lattice: its eigenvalues are sums of those of two paths."""
    i = np.arange(n * (n + 7)).reshape(n, n + 7)
    ends = [(i[1:], i[:-1]), (i[:, 1:], i[:, :-1])]
    pairs = np.hstack([[one.ravel(), other.ravel()] for one, other in ends])
    W = csr_array((np.ones(pairs.shape[1]), pairs), (i.size, i.size))
    W = csr_array(W + W.T)
    path = [2 - 2 * np.cos(np.pi * np.arange(m) / m) for m in (n, n + 7)]
    return csr_array(diags_array(W.sum(1)) - W), np.sort(np.add.outer(*path).ravel())


@pytest.mark.parametrize("solve", [solve_chebyshev, solve_multilevel])
def test_smallest_eigenpairs_with_vectors_on_the_device(solve):
    L, values = lattice_laplacian(46)
    null = np.full((L.shape[0], 1), L.shape[0] ** -0.5)
    ctx = Context(FAST, 0, np.dtype(np.float64))
    found = solve(Eigenproblem(L, null, 3, None, 8.0, ctx))
    np.testing.assert_allclose(found.values[:3], values[1:4], rtol=1e-8)
    V = found.vectors[:, :3]
    assert isinstance(V, np.ndarray)
    assert np.linalg.norm(L @ V - V * values[1:4], axis=0).max() < 1e-6
    plain = solve(Eigenproblem(L, null, 3, None, 8.0, replace(ctx, ops=PLAIN)))
    np.testing.assert_allclose(np.abs((plain.vectors[:, :3] * V).sum(0)), 1, atol=1e-9)
