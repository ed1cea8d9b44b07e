"""Dense decompositions: LAPACK without the interpreter lock."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from lowd.solvers.dense import eigh, smallest_eigh
from lowd.solvers.lapack import dsyevr

from cases import same_bits
from lowd.threads import single_threaded_blas


@pytest.mark.parametrize(("start", "stop"), [(0, 3), (37, 40), (10, 11), (0, 40)])
def test_dsyevr_has_the_bits_of_scipy(start, stop):
    A = np.random.default_rng(0).normal(size=(40, 40))
    A += A.T
    before = A.copy()
    with single_threaded_blas():
        values, vectors = dsyevr(A, start, stop)
        expected = scipy.linalg.eigh(A, subset_by_index=(start, stop - 1))
    same_bits(A, before)
    same_bits(values, expected[0])
    same_bits(vectors, expected[1])


@pytest.mark.parametrize("n", [80, 1100])
def test_all_that_were_asked_for_of_equal_eigenvalues(n):
    """The centering matrix has the eigenvalue 1 but for one 0: LAPACK may find 1 of the last 3."""
    A = np.eye(n) - 1 / n
    for values, vectors in (eigh(A, 3), smallest_eigh(-A, 3)):
        np.testing.assert_allclose(np.abs(values), 1, rtol=1e-12)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(3), atol=1e-12)
        np.testing.assert_allclose(A @ vectors, vectors, atol=1e-12)
