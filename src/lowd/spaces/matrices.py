"""Square matrices: given distances and their checks, and an order of their points by content."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .. import _native, random
from ..backend import chunks, overridable, threads
from ..errors import DataError, MetricWarning, warn
from ..parameters import Graph, Indices, Reals


def check_square(
    A: Reals, kind: str = "distances", missing: bool = False, tolerance: float = 1e-6
) -> Reals:
    """Given distances, a kernel or affinities between all points, made exactly symmetric; a copy.

    Where `missing` allows it, NaN is a distance that is not known, in both triangles.
    """
    parameter = f"{'metric' if kind == 'distances' else kind}='precomputed'"
    if A.shape[0] != A.shape[1]:
        raise DataError(
            f"{parameter} needs a square matrix of n_samples x n_samples, got shape {A.shape}; for "
            "data rows name a metric or kernel instead."
        )
    unknown = np.isnan(A) if missing and np.isnan(A.min(initial=0)) else None
    if unknown is not None:
        _check_missing(A, unknown)
    filled = np.ascontiguousarray(A) if unknown is None else np.where(unknown, 0, A)
    found = _native.symmetry(filled, threads(A.size))
    i, j = found["nonfinite_at"]
    if i >= 0:
        raise DataError(
            f"{parameter}: {_nonfinite_words(A[i, j])} at row {i}, column {j}; every entry must be "
            "a number."
        )
    i, j = found["asymmetry_at"]
    if found["asymmetry"] > tolerance * found["largest"]:
        raise DataError(_describe_asymmetry(parameter, A, i, j))
    if found["smallest"] < 0:
        refuse_negative(filled, kind)
    if kind == "distances" and found["diagonal"] > tolerance * np.abs(filled[0]).max(initial=0):
        raise DataError(
            f"metric='precomputed': the distance of row {found['diagonal_at']} to itself is "
            f"{found['diagonal']:.6g}, not 0; are these similarities s? Then pass "
            "sqrt(s_ii + s_jj - 2 s_ij)."
        )
    A = (filled + filled.T) / 2 if found["asymmetry"] > 0 else filled.copy()
    if unknown is not None:
        A[unknown] = np.nan
    return A


def check_new_rows(A: Reals, kind: str) -> Reals:
    """A kernel or affinities of new points toward the training points."""
    if not np.isfinite(A).all():
        row, column = map(int, np.argwhere(~np.isfinite(A))[0])
        raise DataError(
            f"{kind}='precomputed': {_nonfinite_words(A[row, column])} at row {row}, column "
            f"{column}; every entry must be a number."
        )
    refuse_negative(A, kind)
    return A


def check_affinities(A: Graph, fitting: bool, tolerance: float = 1e-6) -> Graph:
    """Sparse affinities, made exactly symmetric; entries that are not stored are 0."""
    parameter = "affinity='precomputed'"
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    if not np.isfinite(A.data).all():
        at = int(np.argmin(np.isfinite(A.data)))
        raise DataError(
            f"{parameter}: row {rows[at]}, column {A.indices[at]} is {A.data[at]}; every entry "
            "must be a number."
        )
    if A.data.min(initial=0) < 0:
        at = int(np.argmin(A.data))
        raise DataError(_describe_negative("affinity", A.data[at], rows[at], A.indices[at]))
    if not fitting:
        return A
    if A.shape[0] != A.shape[1]:
        raise DataError(
            f"{parameter} needs a square matrix of n_samples x n_samples, got {A.shape}."
        )
    gap = abs(A - A.T)
    if gap.nnz and gap.max() > tolerance * A.data.max(initial=0):
        at = int(np.argmax(gap.data))
        i = int(np.searchsorted(gap.indptr, at, side="right") - 1)
        raise DataError(_describe_asymmetry(parameter, A, i, int(gap.indices[at])))
    return csr_array((A + A.T) / 2, dtype=np.float64) if gap.nnz else A.astype(np.float64)


def _describe_asymmetry(parameter: str, A: Any, i: int, j: int) -> str:
    return (
        f"{parameter} needs a symmetric matrix: entry ({i}, {j}) is {A[i, j]:.6g} but ({j}, {i}) "
        f"is {A[j, i]:.6g}; pass (A + A.T) / 2 if the mean is what you want."
    )


def _check_missing(D: Reals, unknown: Indices) -> None:
    if (own := np.diagonal(unknown)).any():
        i = int(own.argmax())
        raise DataError(
            f"metric='precomputed': NaN at row {i}, column {i}; the distance to oneself is 0."
        )
    if (one_sided := unknown & ~unknown.T).any():
        i, j = map(int, np.argwhere(one_sided)[0])
        raise DataError(
            f"metric='precomputed': NaN at row {i}, column {j}, but entry ({j}, {i}) is "
            f"{D[j, i]:.6g}; a distance is missing in both entries or in neither."
        )


def refuse_negative(A: Reals, kind: str = "distances") -> None:
    """Raise an error with the smallest entry, if a distance or an affinity is negative."""
    if kind != "kernel" and np.fmin.reduce(A, axis=None, initial=0) < 0:
        row, column = map(int, np.unravel_index(np.nanargmin(A), A.shape))
        raise DataError(_describe_negative(kind, A[row, column], row, column))


def _describe_negative(kind: str, entry: float, row: int, column: int) -> str:
    """The same words as in scikit-learn's check of nonnegative input, with the entry."""
    if kind == "distances":
        return (
            f"metric='precomputed': Negative values in data: the distance at row {row}, column "
            f"{column} is {entry:.6g} (for similarities s use sqrt(s_ii + s_jj - 2 s_ij))."
        )
    return (
        f"affinity='precomputed': Negative values in data: the weight at row {row}, column "
        f"{column} is {entry:.6g}; an edge weight is 0 or more."
    )


def _nonfinite_words(value: float) -> str:
    if np.isnan(value):
        return "NaN"
    return "infinity (inf)" if value > 0 else "-infinity (-inf)"


def warn_of_triangles(
    D: Reals, samples: int = 2000, most: float = 0.05, tolerance: float = 1e-6
) -> None:
    """Warn if many sampled triples break the triangle inequality; squares do far more often."""
    n, number = len(D), np.arange(samples)
    i, j, k = (random.bits(0, "triangle" + c, number) % np.uint64(n) for c in "ijk")
    excess = D[i, k] - D[i, j] - D[j, k]  # a side that is not known breaks nothing
    broken = float(np.mean(excess > tolerance * D[i, k]))
    if broken > most:
        warn(
            f"metric='precomputed': {broken:.0%} of sampled triples break the triangle inequality; "
            "are these squared distances? Then pass their square root.",
            MetricWarning,
        )


def far_if_missing(D: Reals) -> Reals:
    """Distances with infinity where one is not known."""
    return np.where(np.isnan(D), np.inf, D) if np.isnan(D.min(initial=0)) else D


def hash_symmetric(A: Any, most_alike: int = 32) -> Indices:
    """Numbers of the points of a square matrix, dense or sparse, whatever the order of the points.

    At first a point has a hash of its entries in any order, then of its entries with the numbers
    of the points that they lead to, as long as that tells more points apart (color refinement;
    Weisfeiler and Leman, 1968). Where it leaves points alike that are no duplicates, such as the
    corners of a square, one of them is given a number of its own, and the others are refined by
    it: whichever it was, the matrix in the order of the numbers is the same.
    """
    keys, rows = _refined(hash_rows(A, np.ones(A.shape[1], np.uint64)), A), None
    for number in range(most_alike):
        if len(np.unique(keys)) == len(keys):
            break
        rows = hash_rows(A) if rows is None else rows  # equal for duplicates: any order will do
        order = np.lexsort([rows, keys])
        alike = (np.diff(keys[order]) == 0) & (np.diff(rows[order]) != 0)
        if not alike.any():
            break
        one = int(np.flatnonzero(keys == keys[order[alike.argmax()]])[0])
        keys[one] += np.uint64(number + 1)
        keys = _refined(keys, A)
    return keys


def _refined(keys: Indices, A: Any) -> Indices:
    """Keys that tell more points apart, by the keys of the points that their entries lead to."""
    count = 0
    while (found := len(np.unique(keys))) > count and found < len(keys):
        count, columns = found, random.bits(0, "keys", keys)
        sums = random.bits(0, "sums", sum_of_words(A, columns))
        keys = random.bits(0, "refined", keys + sums)
    return keys


@overridable
def sum_of_words(A: Any, columns: Indices) -> Indices:
    """For each row, the sum of the random bits that each entry and the bits of its column give."""
    sums = np.empty(len(A), np.uint64)
    for some in chunks(len(A), A.shape[1], 2**16):  # half a megabyte stays in the cache
        sums[some] = mixed(A[some], columns).sum(1, dtype=np.uint64)
    return sums


def mixed(entries: Reals, columns: Indices) -> Indices:
    """Random bits of numbers and of their columns' bits, by SplitMix64's finalizer in short."""
    words = (entries + np.float64(0)).view(np.uint64)  # where -0 is 0
    words += columns
    words ^= words >> np.uint64(32)
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(29)
    return words


# -- rows by content -----------------------------------------------------------------------------


@overridable
def hash_rows(X: Any, factors: Indices | None = None) -> Indices:
    """Random bits of the content of each row, the same for dense and sparse rows of any type.

    They are those of the sum of the bits of all entries, each times a factor of its column.
    """
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    out, sums = np.empty(len(X), np.uint64), np.empty(X.shape[1])
    factors = column_factors(X.shape[1]) if factors is None else factors
    key, n_threads = random.stream_key(0, "rows"), threads(X.size)
    with np.errstate(over="ignore", invalid="ignore"):
        _native.column_sums(np.ascontiguousarray(X), None, sums, factors, key, out, n_threads)
    return out


@overridable
def along_a_line(X: Any) -> Reals:
    """Where each row lies along a random direction; constant columns do not count.

    So units, offsets and constant columns do not change the order of rows by these places, but for
    what rounding does. A place may be beyond the range of numbers.
    """
    least, most = column_range(X)
    return places(X, least, line_factors(most > least))


@overridable
def column_range(X: Any) -> tuple[Reals, Reals]:
    """The least and the largest entry of each column, which do not depend on the order of rows."""
    n, d = X.shape
    # Several rows in one: NumPy is five times as fast along lines of thousands of numbers.
    several = min(n, max(1, 4096 // d))
    whole = n - n % several
    lines = np.ascontiguousarray(X[:whole]).reshape(-1, several * d)
    least, most = X[whole - several :].min(0), X[whole - several :].max(0)
    for some in chunks(len(lines), lines.shape[1], 2**17):
        part = lines[some]
        least = np.minimum(least, part.min(0).reshape(-1, d).min(0))
        most = np.maximum(most, part.max(0).reshape(-1, d).max(0))
    return least, most


@overridable
def places(X: Any, least: Reals, factors: Reals) -> Reals:
    """(X - least) · factors of each row by itself, in float64."""
    out, W = np.empty((len(X), 1)), factors[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        for some in chunks(len(X), X.shape[1], 2**20):
            rows = np.ascontiguousarray(X[some], np.float64)
            _native.project(rows, least.astype(np.float64), W, None, out[some], threads(rows.size))
    return out[:, 0]


def line_factors(varies: Indices) -> Reals:
    """A random direction in the columns that vary, numbered without the others."""
    factors = np.zeros(len(varies))
    factors[varies] = random.normals(0, "line", (int(varies.sum()),))
    return factors


def column_factors(d: int) -> Indices:
    """Odd factors, so that what is multiplied by them keeps all its bits."""
    return random.bits(0, "columns", np.arange(d)) | np.uint64(1)
