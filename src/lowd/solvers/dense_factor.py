"""A dense LU factorization in blocks of columns, which can be watched and interrupted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular
from scipy.sparse import csr_array

from .. import progress
from ..backends.protocol import Float64
from ..core import memory
from ..errors import LongWorkWarning, warn
from .thresholds import (
    DENSE_FACTOR_COLUMNS,
    DENSE_FACTOR_FLOPS_PER_SECOND,
    DENSE_FACTOR_UPDATE_COLUMNS,
    LONG_FACTOR_SECONDS,
)


class DenseLU:
    """P L U of a square matrix with partial pivoting; solves as SciPy's SuperLU does."""

    def __init__(self, A: csr_array, shift: float):
        n = A.shape[0]
        memory.check(memory.Plan({"dense factor": 8 * n * n}), _describe(n), [])
        _warn_of_long_work(n)
        self._lu: Float64 = A.toarray(order="F")
        self._lu[np.diag_indices(n)] += shift
        self._rows = np.arange(n)
        for start in range(0, n, DENSE_FACTOR_COLUMNS):
            stop = min(start + DENSE_FACTOR_COLUMNS, n)
            self._eliminate(start, stop)
            progress.report("factorization", stop, n)

    def _eliminate(self, start: int, stop: int) -> None:
        """Eliminate a block of columns, and update those to its right (Golub and Van Loan, 3.4)."""
        M, n = self._lu, len(self._lu)
        panel, pivots, _ = lapack.dgetrf(M[start:, start:stop])
        before, after = _exchanged_rows(pivots, start)
        M[after] = M[before]
        self._rows[after] = self._rows[before]
        M[start:, start:stop] = panel
        diagonal, below = panel[: stop - start], panel[stop - start :]
        for left in range(stop, n, DENSE_FACTOR_UPDATE_COLUMNS):
            right = slice(left, left + DENSE_FACTOR_UPDATE_COLUMNS)
            top = solve_triangular(
                diagonal, M[start:stop, right], lower=True, unit_diagonal=True, check_finite=False
            )
            M[start:stop, right] = top
            M[stop:, right] -= below @ top

    def solve(self, V: Float64, trans: str = "N") -> Float64:
        """A⁻¹ V, or with trans="T" its transpose's."""
        how = {"check_finite": False}
        if trans == "N":
            half = solve_triangular(self._lu, V[self._rows], lower=True, unit_diagonal=True, **how)
            return np.asarray(solve_triangular(self._lu, half, **how))
        half = solve_triangular(self._lu, V, trans="T", **how)
        solved = solve_triangular(self._lu, half, trans="T", lower=True, unit_diagonal=True, **how)
        answer: Float64 = np.empty_like(solved)
        answer[self._rows] = solved
        return answer


def _exchanged_rows(
    pivots: NDArray[np.int32], start: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """LAPACK's sequence of row exchanges: which rows come from where."""
    source: dict[int, int] = {}
    for row, other in enumerate(pivots.tolist()):
        source[row], source[other] = source.get(other, other), source.get(row, row)
    rows = np.array(sorted(source), np.int64)
    return start + np.array([source[row] for row in rows.tolist()], np.int64), start + rows


def _describe(n: int) -> str:
    return (
        f"the neighbor graph of these {n} points has no small separators, so that eigenvectors "
        "with eigenvalues so close to 0 take a dense factorization, which (n_landmarks= and "
        "ModifiedLLE or LTSA do without it)"
    )


def _warn_of_long_work(n: int) -> None:
    seconds = 2 / 3 * float(n) ** 3 / DENSE_FACTOR_FLOPS_PER_SECOND
    if seconds > LONG_FACTOR_SECONDS:
        warn(
            f"the neighbor graph of these {n} points has no small separators: a dense "
            f"factorization takes about {seconds / 60:.0f} minutes and "
            f"{memory.readable(8 * n * n)}. ModifiedLLE, LTSA or n_landmarks take less.",
            LongWorkWarning,
        )
