"""Dense eigenvalue and singular value decompositions: LAPACK, by way of SciPy."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import numpy as np
import scipy.linalg

from ..backends.protocol import Float64
from ..threads import single_threaded_blas
from .thresholds import MAX_NUMPY_EIGH_SIZE, MAX_SINGLE_THREADED_SIZE


class Eigenpairs(NamedTuple):
    """Eigenvalues of a symmetric matrix, largest first, and their eigenvectors as columns."""

    values: Float64
    vectors: Float64


def eigh(A: Float64, k: int) -> Eigenpairs:
    """The k largest eigenpairs of a symmetric matrix."""
    n = len(A)
    with _blas_threads(n):
        if 2 * k > n or n <= MAX_NUMPY_EIGH_SIZE:  # all vectors come sooner than some
            values, vectors = np.linalg.eigh(A)
            values, vectors = values[n - k :], vectors[:, n - k :]
        else:
            values, vectors = scipy.linalg.eigh(A, subset_by_index=(n - k, n - 1))
    return Eigenpairs(values[::-1], vectors[:, ::-1])


def eigvalsh(A: Float64) -> Float64:
    """All eigenvalues of a symmetric matrix, largest first."""
    with _blas_threads(len(A)):
        return np.asarray(scipy.linalg.eigvalsh(A)[::-1])


def svd(A: Float64) -> tuple[Float64, Float64, Float64]:
    """Thin singular value decomposition U, σ, V'."""
    with _blas_threads(min(A.shape)):
        U, sigma, Vt = scipy.linalg.svd(A, full_matrices=False)
    return U, sigma, Vt


def _blas_threads(n: int) -> AbstractContextManager[None]:
    """One thread of BLAS where more would gain nothing; tiny problems are not worth the switch."""
    single = 2 * MAX_NUMPY_EIGH_SIZE < n <= MAX_SINGLE_THREADED_SIZE
    return single_threaded_blas() if single else nullcontext()
