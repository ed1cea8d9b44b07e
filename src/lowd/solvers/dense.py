"""Dense eigenvalue and singular value decompositions: LAPACK, by way of SciPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeVar

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from ..backends.protocol import Float64
from ..threads import run_interruptibly, single_threaded_blas
from .lapack import dsyevr
from .thresholds import MAX_UNINTERRUPTED_SIZE

T = TypeVar("T")


class Eigenpairs(NamedTuple):
    """Eigenvalues of a symmetric matrix, largest first, and their eigenvectors as columns."""

    values: Float64
    vectors: Float64


def eigh(A: Float64, k: int) -> Eigenpairs:
    """The k largest eigenpairs of a symmetric matrix."""
    n = len(A)

    def decompose() -> tuple[Float64, Float64]:
        if 2 * k > n:  # all vectors come sooner than some
            values, vectors = np.linalg.eigh(A)
            return values[n - k :], vectors[:, n - k :]
        return _select_eigenpairs(A, n - k, n)

    values, vectors = _run(decompose, n)
    return Eigenpairs(values[::-1], vectors[:, ::-1])


def smallest_eigh(A: Float64, k: int) -> Eigenpairs:
    """The k smallest eigenpairs of a symmetric matrix, smallest first."""
    return Eigenpairs(*_run(lambda: _select_eigenpairs(A, 0, k), len(A)))


def _select_eigenpairs(A: Float64, start: int, stop: int) -> tuple[Float64, Float64]:
    """Eigenpairs start, ..., stop - 1 of those of a symmetric matrix, smallest first."""
    if len(A) > MAX_UNINTERRUPTED_SIZE:
        values, vectors = dsyevr(A, start, stop)
    else:
        values, vectors = _call_dsyevr(A, start, stop)
    if len(values) < stop - start:  # of equal eigenvalues LAPACK's dsyevr may find fewer than asked
        values, vectors = np.linalg.eigh(A)
        return values[start:stop], vectors[:, start:stop]
    return values, vectors


def _call_dsyevr(A: Float64, start: int, stop: int) -> tuple[Float64, Float64]:
    """What `scipy.linalg.eigh` calls, without its checks: 75 against 90 µs for 50 columns."""
    lwork, liwork = _work_sizes(len(A))
    values, vectors, found, _, info = lapack.dsyevr(
        A, range="I", lower=1, il=start + 1, iu=stop, lwork=lwork, liwork=liwork
    )
    if info:
        raise np.linalg.LinAlgError(f"dsyevr of {len(A)} rows has not converged (info={info}).")
    return values[:found], vectors[:, :found]


@cache
def _work_sizes(n: int) -> tuple[int, int]:
    lwork, liwork, _ = lapack.dsyevr_lwork(n, lower=1)
    return int(lwork), int(liwork)


def eigvalsh(A: Float64) -> Float64:
    """All eigenvalues of a symmetric matrix, largest first."""
    # NumPy's releases the interpreter lock, so that Ctrl-C is handled meanwhile; SciPy's does not.
    solve = scipy.linalg.eigvalsh if len(A) <= MAX_UNINTERRUPTED_SIZE else np.linalg.eigvalsh
    return np.asarray(_run(lambda: solve(A), len(A))[::-1])


def svd(A: Float64) -> tuple[Float64, Float64, Float64]:
    """Thin singular value decomposition U, σ, V'."""
    large = min(A.shape) > MAX_UNINTERRUPTED_SIZE
    solve = np.linalg.svd if large else scipy.linalg.svd  # as in `eigvalsh`
    U, sigma, Vt = _run(lambda: solve(A, full_matrices=False), min(A.shape))
    return U, sigma, Vt


def _run(decompose: Callable[[], T], n: int) -> T:
    """Decompose with one thread of BLAS, so that bits do not depend on how many it has."""
    with single_threaded_blas():
        return decompose() if n <= MAX_UNINTERRUPTED_SIZE else run_interruptibly(decompose)
