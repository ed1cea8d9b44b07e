"""Reference operations of dense eigenproblems."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from ...threads import single_threaded_blas
from ..protocol import Array, Basis, Float64, Spectrum

TINY = 16  # up to here NumPy finds all eigenvectors before SciPy finds some
SMALL = 1000  # up to here an eigenproblem gains less from threads than the work around it loses


class EigenOperations:
    """Eigenpairs, singular values and passes of block Lanczos."""

    def lanczos(
        self,
        A: Array,
        half_square: bool,
        null: Float64,
        Q: Float64,
        T: Float64,
        basis: Basis,
        passes: int,
    ) -> Basis:
        A = A.astype(np.float64)
        A = -0.5 * A * A if half_square else A
        for _ in range(passes):
            size, fresh, _ = basis
            if not fresh:
                break
            new, old = slice(size - fresh, size), np.vstack([null, Q[:size]])
            P = Q[new] @ A
            P -= np.outer(P @ null, null)
            T[new, :size] = P @ Q[:size].T
            T[:size, new] = T[new, :size].T
            floor = 1e-13 * float(np.abs(np.diagonal(T)[:size]).max())
            B, factor = _gram_schmidt(P - T[new, :size] @ Q[:size], floor)
            T[size : size + len(B), new] = factor
            left = len(B)
            B = _gram_schmidt(B - B @ old.T @ old, 0.5)[0][: len(A) - 1 - size]
            Q[size : size + len(B)] = B
            basis = Basis(size + len(B), len(B), left)
        return basis

    def eigh(self, A: Float64, k: int, *, whole: bool = False) -> Spectrum:
        n = len(A)
        with single_threaded_blas() if 2 * TINY < n <= SMALL else nullcontext():
            if 2 * k > n or n <= TINY:  # then all of them are found sooner than some
                values, vectors = np.linalg.eigh(A)
                values, vectors = values if whole else values[n - k :], vectors[:, n - k :]
            elif whole:
                values, vectors = _all_values(A, k)
            else:
                values, vectors = scipy.linalg.eigh(A, subset_by_index=(n - k, n - 1))
        return Spectrum(values[::-1], vectors[:, ::-1])

    def svd(self, A: Float64) -> tuple[Float64, Float64, Float64]:
        with single_threaded_blas() if min(A.shape) <= SMALL else nullcontext():
            U, values, Vt = scipy.linalg.svd(A, full_matrices=False)
        return U, values, Vt


def _all_values(A: Float64, k: int) -> tuple[Float64, Float64]:
    """All eigenvalues and the last k eigenvectors, in 2/5 of the time of all vectors.

    By LAPACK's own steps, since it has no such driver: a tridiagonal matrix with the same
    eigenvalues, their vectors there, and the way back.
    """
    n = len(A)
    packed, diagonal, beside, turns, _ = lapack.dsytrd(A, lower=1, lwork=64 * n)
    values = lapack.dsterf(diagonal, beside)[0]
    V = scipy.linalg.eigh_tridiagonal(
        diagonal, beside, select="i", select_range=(n - k, n - 1), lapack_driver="stemr"
    )[1]
    below = np.asfortranarray(V[1:])
    V[1:] = lapack.dormqr("L", "N", packed[1:, : n - 1], turns, below, 64 * n)[0]
    return values, V


def _gram_schmidt(rows: Float64, floor: float) -> tuple[Float64, Float64]:
    """Orthonormal rows, without those of which no more than `floor` is left; the rows in them."""
    basis: list[Float64] = []
    factor = np.zeros((len(rows), len(rows)))
    for c, row in enumerate(rows):
        for b, other in enumerate(basis):
            factor[b, c] = other @ row
            row = row - factor[b, c] * other
        length = float(np.linalg.norm(row))
        if length > floor:
            factor[len(basis), c] = length
            basis.append(row / length)
    return np.array(basis).reshape(-1, rows.shape[1]), factor[: len(basis)]
