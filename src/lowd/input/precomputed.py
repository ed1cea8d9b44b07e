"""Given matrices, checked: distances, kernels and affinities between rows nobody has seen."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from .. import random
from ..backends.protocol import Array, Backend, ColumnStatistics
from ..errors import DataError, MetricWarning, warn
from .ranges import in_range, named

Given = Literal["distances", "kernel", "affinity"]

ASYMMETRY = 1e-6  # relative; float noise passes, another matrix does not


def as_square(
    A: Array, kind: Given, fitting: bool, ops: Backend
) -> tuple[Array, ColumnStatistics | None]:
    """A checked training matrix (exactly symmetric), or checked rows toward it."""
    what = f"{'metric' if kind == 'distances' else kind}='precomputed'"
    if not fitting or A.shape[0] != A.shape[1]:
        statistics = ops.column_statistics(A)
        if statistics.first_nonfinite is not None:
            raise DataError(
                f"{what}: {named(A, statistics.first_nonfinite)}; every entry must be a number."
            )
        if kind == "distances" and A.min(initial=0) < 0:
            row, column = map(int, np.unravel_index(A.argmin(), A.shape))
            raise DataError(_negative(float(A.min()), (row, column)))
        if kind == "affinity" and A.min(initial=0) < 0:
            row, column = map(int, np.unravel_index(A.argmin(), A.shape))
            raise DataError(_negative_affinity(float(A.min()), row, column))
        if not fitting:
            return in_range(A, statistics.max_abs, fitting), statistics
        raise DataError(
            f"{what} needs a square matrix of n_samples x n_samples, got shape {A.shape}; "
            "for data rows name a metric or kernel instead."
        )
    found = ops.check_symmetry(A)
    if found.first_nonfinite is not None:
        raise DataError(f"{what}: {named(A, found.first_nonfinite)}; every entry must be a number.")
    if found.asymmetry > ASYMMETRY * found.max_abs:
        i, j = found.asymmetry_at
        raise DataError(
            f"{what} needs a symmetric matrix: entry ({i}, {j}) is {A[i, j]:.6g} but "
            f"({j}, {i}) is {A[j, i]:.6g}; pass (A + A.T) / 2 if the mean is what you want."
        )
    if kind == "distances":
        _check_distances(A, found.smallest, found.smallest_at, found.diagonal, found.diagonal_at)
    if kind == "affinity" and found.smallest < 0:
        raise DataError(_negative_affinity(found.smallest, *found.smallest_at))
    A = (A + A.T) / 2 if found.asymmetry > 0 else A
    return in_range(A, found.max_abs, fitting), None


def with_gaps(
    A: Array, kind: Given, fitting: bool, ops: Backend
) -> tuple[Array, ColumnStatistics | None]:
    """The same where NaN means a distance that is not known; a training matrix lacks it twice."""
    missing = np.isnan(A)
    if not missing.any() or (fitting and A.shape[0] != A.shape[1]):
        return as_square(A, kind, fitting, ops)
    filled = np.where(missing, 0, A)
    if fitting:
        if (own := np.diagonal(missing)).any():
            at = int(own.argmax())
            raise DataError(
                f"metric='precomputed': {named(A, (at, at))}; the distance to oneself is 0."
            )
        if (alone := missing & ~missing.T).any():
            i, j = map(int, np.argwhere(alone)[0])
            raise DataError(
                f"metric='precomputed': {named(A, (i, j))}, but entry ({j}, {i}) is "
                f"{A[j, i]:.6g}; a distance is missing in both places or in none."
            )
    checked, statistics = as_square(filled, kind, fitting, ops)
    return np.where(missing, np.nan, checked).astype(checked.dtype), statistics


def as_sparse_square(A: csr_array, fitting: bool) -> csr_array:
    """Checked sparse affinities; what is not stored is 0."""
    what = "affinity='precomputed'"
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    good = np.isfinite(A.data)
    if not good.all():
        at = int(np.argmin(good))
        raise DataError(
            f"{what}: row {rows[at]}, column {A.indices[at]} is {A.data[at]}; every entry must be "
            "a number."
        )
    if A.data.min(initial=0) < 0:
        at = int(np.argmin(A.data))
        raise DataError(_negative_affinity(float(A.data[at]), int(rows[at]), int(A.indices[at])))
    if not fitting:
        return A
    if A.shape[0] != A.shape[1]:
        raise DataError(f"{what} needs a square matrix of n_samples x n_samples, got {A.shape}.")
    gap = abs(A - A.T)
    if gap.nnz and gap.max() > ASYMMETRY * A.data.max(initial=0):
        at = int(np.argmax(gap.data))
        i = int(np.searchsorted(gap.indptr, at, side="right") - 1)
        j = int(gap.indices[at])
        raise DataError(
            f"{what} needs a symmetric matrix: entry ({i}, {j}) is {A[i, j]:.6g} but ({j}, {i}) is "
            f"{A[j, i]:.6g}; pass (A + A.T) / 2 if the mean is what you want."
        )
    return csr_array((A + A.T) / 2, dtype=np.float64) if gap.nnz else A.astype(np.float64)


def _negative_affinity(smallest: float, row: int, column: int) -> str:
    return (
        f"affinity='precomputed': Negative values in data: the weight at row {row}, column "
        f"{column} is {smallest:.6g}; a tie is 0 or more."
    )


def _check_distances(
    D: Array, smallest: float, at: tuple[int, int], diagonal: float, where: int
) -> None:
    if smallest < 0:
        raise DataError(_negative(smallest, at))
    if diagonal > ASYMMETRY * np.abs(D[0]).max(initial=0) and diagonal > 0:
        raise DataError(
            f"metric='precomputed': the distance of row {where} to itself is {diagonal:.6g}, not "
            "0; are these similarities s? Then pass sqrt(s_ii + s_jj - 2 s_ij)."
        )


def check_triangles(D: Array) -> None:
    """Of some triples; a missing side breaks no triangle."""
    n = len(D)
    i, j, k = (random.bits(0, "triangle" + c, np.arange(2000)) % np.uint64(n) for c in "ijk")
    excess = D[i, k] - D[i, j] - D[j, k]
    broken = float(np.mean(excess > ASYMMETRY * D[i, k]))
    if broken > 0.05:
        warn(
            f"metric='precomputed': {broken:.0%} of sampled triples break the triangle inequality; "
            "are these squared distances? Then pass their square root.",
            MetricWarning,
        )


def _negative(smallest: float, at: tuple[int, int]) -> str:
    return (
        f"metric='precomputed': Negative values in data: the distance at row {at[0]}, column "
        f"{at[1]} is {smallest:.6g} (for similarities s use sqrt(s_ii + s_jj - 2 s_ij))."
    )
