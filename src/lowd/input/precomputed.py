"""Validation of precomputed matrices: distances, kernels and affinities."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np
from scipy.sparse import csr_array

from .. import _native, progress, random
from ..backend import threads
from ..errors import DataError, MetricWarning, warn
from ..parameters import Reals
from .ranges import describe_nonfinite, to_safe_dtype

MatrixKind: TypeAlias = Literal["distances", "kernel", "affinity"]
MATRIX_KINDS: tuple[str, ...] = get_args(MatrixKind)

MAX_ASYMMETRY = 1e-6  # relative; rounding passes, another matrix does not
SAMPLED_TRIPLES = 2000  # of which the triangle inequality is checked
MAX_BROKEN_TRIPLES = 0.05  # share; squared distances break it far more often


def validate_square(A: Reals, kind: MatrixKind, fitting: bool) -> Reals:
    """A valid training matrix (made exactly symmetric), or valid rows of new points toward it."""
    parameter = f"{'metric' if kind == 'distances' else kind}='precomputed'"
    if fitting and A.shape[0] != A.shape[1]:
        raise DataError(
            f"{parameter} needs a square matrix of n_samples x n_samples, got shape {A.shape}; "
            "for data rows name a metric or kernel instead."
        )
    if not fitting:
        if not np.isfinite(A).all():
            row, column = map(int, np.argwhere(~np.isfinite(A))[0])
            entry = describe_nonfinite(A, (row, column))
            raise DataError(f"{parameter}: {entry}; every entry must be a number.")
        row, column = map(int, np.unravel_index(A.argmin(), A.shape))
        _refuse_negative(kind, float(A[row, column]), row, column)
        return np.asarray(to_safe_dtype(A, float(np.abs(A).max()), fitting))
    found = _native.symmetry(A, threads(A.size), progress.step("checking the matrix"))
    if found["nonfinite_at"][0] >= 0:
        entry = describe_nonfinite(A, found["nonfinite_at"])
        raise DataError(f"{parameter}: {entry}; every entry must be a number.")
    if found["asymmetry"] > MAX_ASYMMETRY * found["largest"]:
        i, j = found["asymmetry_at"]
        raise DataError(_describe_asymmetry(parameter, i, j, A[i, j], A[j, i]))
    _refuse_negative(kind, found["smallest"], *found["smallest_at"])
    if kind == "distances":
        _check_diagonal(A, found["diagonal"], found["diagonal_at"])
    A = (A + A.T) / 2 if found["asymmetry"] > 0 else A
    return np.asarray(to_safe_dtype(A, found["largest"], fitting))


def validate_with_missing(A: Reals, kind: MatrixKind, fitting: bool) -> Reals:
    """`validate_square` of distances where NaN means missing; in training in both triangles."""
    missing = np.isnan(A)
    if not missing.any() or (fitting and A.shape[0] != A.shape[1]):
        return validate_square(A, kind, fitting)
    if fitting:
        if (diagonal := np.diagonal(missing)).any():
            at = int(diagonal.argmax())
            entry = describe_nonfinite(A, (at, at))
            raise DataError(f"metric='precomputed': {entry}; the distance to oneself is 0.")
        if (one_sided := missing & ~missing.T).any():
            i, j = map(int, np.argwhere(one_sided)[0])
            raise DataError(
                f"metric='precomputed': {describe_nonfinite(A, (i, j))}, but entry ({j}, {i}) is "
                f"{A[j, i]:.6g}; a distance is missing in both entries or in neither."
            )
    filled = validate_square(np.where(missing, 0, A), kind, fitting)
    return np.where(missing, np.nan, filled).astype(filled.dtype)


def validate_sparse_affinity(A: csr_array, fitting: bool) -> csr_array:
    """Valid sparse affinities; entries that are not stored are 0."""
    parameter = "affinity='precomputed'"
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    finite = np.isfinite(A.data)
    if not finite.all():
        at = int(np.argmin(finite))
        raise DataError(
            f"{parameter}: row {rows[at]}, column {A.indices[at]} is {A.data[at]}; every entry "
            "must be a number."
        )
    if A.data.min(initial=0) < 0:
        at = int(np.argmin(A.data))
        _refuse_negative("affinity", float(A.data[at]), int(rows[at]), int(A.indices[at]))
    if not fitting:
        return A
    if A.shape[0] != A.shape[1]:
        raise DataError(
            f"{parameter} needs a square matrix of n_samples x n_samples, got {A.shape}."
        )
    gap = abs(A - A.T)
    if gap.nnz and gap.max() > MAX_ASYMMETRY * A.data.max(initial=0):
        at = int(np.argmax(gap.data))
        i = int(np.searchsorted(gap.indptr, at, side="right") - 1)
        j = int(gap.indices[at])
        raise DataError(_describe_asymmetry(parameter, i, j, A[i, j], A[j, i]))
    return csr_array((A + A.T) / 2, dtype=np.float64) if gap.nnz else A.astype(np.float64)


def check_triangle_inequality(D: Reals) -> None:
    """Warn if many sampled triples break it; a missing side breaks nothing."""
    n, number = len(D), np.arange(SAMPLED_TRIPLES)
    i, j, k = (random.bits(0, "triangle" + c, number) % np.uint64(n) for c in "ijk")
    excess = D[i, k] - D[i, j] - D[j, k]
    broken = float(np.mean(excess > MAX_ASYMMETRY * D[i, k]))
    if broken > MAX_BROKEN_TRIPLES:
        warn(
            f"metric='precomputed': {broken:.0%} of sampled triples break the triangle inequality; "
            "are these squared distances? Then pass their square root.",
            MetricWarning,
        )


def _check_diagonal(D: Reals, largest: float, row: int) -> None:
    if largest > MAX_ASYMMETRY * np.abs(D[0]).max(initial=0) and largest > 0:
        raise DataError(
            f"metric='precomputed': the distance of row {row} to itself is {largest:.6g}, not "
            "0; are these similarities s? Then pass sqrt(s_ii + s_jj - 2 s_ij)."
        )


def _refuse_negative(kind: MatrixKind, smallest: float, row: int, column: int) -> None:
    """The same words as scikit-learn's check of nonnegative input, with the entry."""
    if kind == "distances" and smallest < 0:
        raise DataError(
            f"metric='precomputed': Negative values in data: the distance at row {row}, column "
            f"{column} is {smallest:.6g} (for similarities s use sqrt(s_ii + s_jj - 2 s_ij))."
        )
    if kind == "affinity" and smallest < 0:
        raise DataError(
            f"affinity='precomputed': Negative values in data: the weight at row {row}, column "
            f"{column} is {smallest:.6g}; an edge weight is 0 or more."
        )


def _describe_asymmetry(parameter: str, i: int, j: int, a_ij: float, a_ji: float) -> str:
    return (
        f"{parameter} needs a symmetric matrix: entry ({i}, {j}) is {a_ij:.6g} but ({j}, {i}) is "
        f"{a_ji:.6g}; pass (A + A.T) / 2 if the mean is what you want."
    )
