"""Kernels as matrices that solvers take: products, entries, size and trace."""

from __future__ import annotations

import numpy as np
import pytest
from lowd.backends.protocol import multiply
from lowd.relations.kernels import kernel_of

from case_data import rows_like
from lowd.backends import resolve
from lowd.input.validation import Data

KERNELS = ["linear", "cosine", "rbf", "laplacian", "poly", "sigmoid"]


@pytest.mark.parametrize("row", [0, 317, 499])
def test_the_largest_kernel_value_is_that_of_the_only_far_row(row):
    """All other values are 0: a tolerance by them would be 0 too."""
    X = np.zeros((500, 3))
    X[row] = 2
    kernel = kernel_of(Data(X, X.dtype), "rbf", 0.1, 3, 0.5, None).shifted()
    ops = resolve("auto", 1)
    assert kernel.among(ops).max_abs(ops) == pytest.approx(1 - np.exp(-1.2))


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_matrix_is_that_of_its_entries(name, rng):
    X, ops = rows_like(40), resolve("auto", 1)
    kernel = kernel_of(Data(X, X.dtype), name, 0.1, 3, 0.5, None).shifted()
    matrix = kernel.among(ops)
    K = np.asarray(kernel.columns(np.arange(40), ops))
    V = rng.normal(size=(40, 3))
    np.testing.assert_allclose(multiply(matrix.plan(ops), V), K @ V, atol=1e-9 * np.abs(K).max())
    np.testing.assert_allclose(matrix.to_dense(ops).stored, K, atol=1e-12 * np.abs(K).max())
    assert matrix.trace() == pytest.approx(np.trace(K), rel=1e-9, abs=1e-9)
    assert 0 < matrix.max_abs(ops) <= np.abs(K).max() * (1 + 1e-12)
    assert (matrix.size, matrix.dtype) == (40, X.dtype)
