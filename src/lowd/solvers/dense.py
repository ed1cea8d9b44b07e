"""Dense eigenvalue and singular value decompositions: LAPACK, by way of SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
import scipy.linalg

from ..backends.protocol import Float64
from ..threads import all_threads_of_blas, run_interruptibly, single_threaded_blas
from .thresholds import MAX_NUMPY_EIGH_SIZE, MAX_SINGLE_THREADED_SIZE

T = TypeVar("T")


class Eigenpairs(NamedTuple):
    """Eigenvalues of a symmetric matrix, largest first, and their eigenvectors as columns."""

    values: Float64
    vectors: Float64


def eigh(A: Float64, k: int) -> Eigenpairs:
    """The k largest eigenpairs of a symmetric matrix."""
    n = len(A)

    def decompose() -> tuple[Float64, Float64]:
        if 2 * k > n or n <= MAX_NUMPY_EIGH_SIZE:  # all vectors come sooner than some
            values, vectors = np.linalg.eigh(A)
            return values[n - k :], vectors[:, n - k :]
        values, vectors = scipy.linalg.eigh(A, subset_by_index=(n - k, n - 1))
        return values, vectors

    values, vectors = _run(decompose, n)
    return Eigenpairs(values[::-1], vectors[:, ::-1])


def eigvalsh(A: Float64) -> Float64:
    """All eigenvalues of a symmetric matrix, largest first."""
    # NumPy's releases the interpreter lock, so that Ctrl-C is heard meanwhile; SciPy's does not.
    solve = scipy.linalg.eigvalsh if len(A) <= MAX_SINGLE_THREADED_SIZE else np.linalg.eigvalsh
    return np.asarray(_run(lambda: solve(A), len(A))[::-1])


def svd(A: Float64) -> tuple[Float64, Float64, Float64]:
    """Thin singular value decomposition U, σ, V'."""
    return _run(lambda: _decompose_singular(A), min(A.shape))


def _decompose_singular(A: Float64) -> tuple[Float64, Float64, Float64]:
    large = min(A.shape) > MAX_SINGLE_THREADED_SIZE
    solve = np.linalg.svd if large else scipy.linalg.svd  # as in `eigvalsh`
    U, sigma, Vt = solve(A, full_matrices=False)
    return U, sigma, Vt


def _run(decompose: Callable[[], T], n: int) -> T:
    """Decompose: few rows with one thread of BLAS, many with all of them and interruptibly."""
    if n <= 2 * MAX_NUMPY_EIGH_SIZE:  # not worth the switch
        return decompose()
    if n <= MAX_SINGLE_THREADED_SIZE:
        with single_threaded_blas():
            return decompose()
    with all_threads_of_blas():
        return run_interruptibly(decompose)
