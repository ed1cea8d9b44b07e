"""Column statistics in one pass: missing values, range, mean, variance, and hashes of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ... import progress
from ...parameters import Reals
from ...spaces import hash_rows
from .raw_data import MAX_SAFE_ENTRY, MIN_SAFE_ENTRY, RawData


@dataclass(frozen=True)
class ColumnSummary:
    """Statistics of each column over its finite entries, and of the rows."""

    n_nonfinite: NDArray[np.int64]  # per column
    first_nonfinite: tuple[int, int] | None  # row, column
    infinite: bool
    low: Reals
    high: Reals
    mean: Reals
    variance: Reals
    complete: NDArray[np.bool_]  # rows whose entries are all finite
    keys: NDArray[np.uint64]  # equal for equal rows, and with high probability only for these

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Columns with more than one value."""
        return np.asarray(self.high > self.low)

    @property
    def max_abs(self) -> float:
        """The largest absolute value of a finite entry."""
        bounds = np.abs([*self.low, *self.high])
        return float(bounds[np.isfinite(bounds)].max(initial=0))

    @property
    def is_safe(self) -> bool:
        """Can entries be squared and summed without overflow or underflow?"""
        return MIN_SAFE_ENTRY < self.max_abs < MAX_SAFE_ENTRY


def summarize_columns(data: RawData) -> ColumnSummary:
    """Read every entry once."""
    return _summarize_sparse(data.X) if data.is_sparse else _summarize_dense(data)


def _summarize_dense(data: RawData) -> ColumnSummary:
    n, d = data.X.shape
    n_nonfinite, seen = np.zeros(d, np.int64), np.zeros(d)
    mean, scatter = np.zeros(d), np.zeros(d)
    low, high = np.full(d, np.inf), np.full(d, -np.inf)
    complete, keys = np.ones(n, bool), np.zeros(n, np.uint64)
    first_nonfinite, infinite = None, False
    for i, rows in data.iterate_blocks():
        here = slice(i, i + len(rows))
        keys[here] = hash_rows(rows)
        finite = np.isfinite(rows)
        all_finite = bool(finite.all())
        if not all_finite:
            if first_nonfinite is None:
                at = np.unravel_index(int(np.argmin(finite)), finite.shape)
                first_nonfinite = i + int(at[0]), int(at[1])
            infinite |= bool(np.isinf(rows).any())
            complete[here] = finite.all(1)
            low = np.minimum(low, np.where(finite, rows, np.inf).min(0))
            high = np.maximum(high, np.where(finite, rows, -np.inf).max(0))
            rows = np.where(finite, rows, 0)
        else:
            low, high = np.minimum(low, rows.min(0)), np.maximum(high, rows.max(0))
        count = finite.sum(0)
        n_nonfinite += len(rows) - count
        with np.errstate(over="ignore", invalid="ignore"):
            center = rows.sum(0) / np.maximum(count, 1)
            gaps = rows - center if all_finite else (rows - center) * finite
            share = np.divide(count, seen + count, out=np.zeros(d), where=seen + count > 0)
            scatter += (gaps**2).sum(0) + seen * share * (center - mean) ** 2
        mean += share * (center - mean)
        seen += count
        progress.report("columns", i + len(rows), n)
    # The mean is rounded, so a constant column has a little variance left.
    variance = np.where(high > low, scatter / np.maximum(seen, 1), 0)
    return ColumnSummary(
        n_nonfinite, first_nonfinite, infinite, low, high, mean, variance, complete, keys
    )


def _summarize_sparse(X: csr_array) -> ColumnSummary:
    """The same for sparse rows; entries that are not stored are 0."""
    n, d = X.shape
    entries = np.asarray(X.data, np.float64)
    finite = np.isfinite(entries)
    row = np.repeat(np.arange(n), np.diff(X.indptr))
    n_nonfinite = np.bincount(X.indices[~finite], minlength=d)
    complete = np.ones(n, bool)
    complete[row[~finite]] = False
    first_nonfinite = None
    if not finite.all():
        at = int(np.argmin(finite))
        first_nonfinite = int(row[at]), int(X.indices[at])
    values = np.where(finite, entries, 0)
    stored = np.bincount(X.indices, minlength=d)
    outside = np.where(stored < n, 0.0, np.inf)
    low, high = outside.copy(), -outside
    np.minimum.at(low, X.indices, np.where(finite, entries, np.inf))
    np.maximum.at(high, X.indices, np.where(finite, entries, -np.inf))
    mean = np.bincount(X.indices, values, minlength=d) / n
    gaps = np.where(finite, values - mean[X.indices], 0)
    scatter = np.bincount(X.indices, gaps**2, minlength=d) + (n - stored) * mean**2
    variance = np.where(high > low, scatter / n, 0)
    infinite = bool(np.isinf(entries).any())
    keys = hash_rows(X)
    return ColumnSummary(
        n_nonfinite, first_nonfinite, infinite, low, high, mean, variance, complete, keys
    )
