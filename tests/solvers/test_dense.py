"""Dense decompositions: LAPACK without the interpreter lock."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from cases import same_bits
from lowd.solvers.lapack import dsyevr
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
