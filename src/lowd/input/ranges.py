"""Ranges of floating point types: entries whose squares overflow or vanish, NaN and infinity."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..errors import DataError

# Smallest and largest absolute entry whose squares, and sums of them, are in the type's range.
SAFE_RANGE = {np.dtype(np.float32): (1e-15, 1e15), np.dtype(np.float64): (1e-140, 1e140)}
# Up to so many training rows and entries float32 is computed in float64 at no noticeable cost.
MAX_WIDENED_ROWS = 1000
MAX_WIDENED_ENTRIES = 10**7


def to_safe_dtype(rows: Any, max_abs: float, fitting: bool) -> Any:
    """Rows in a type whose squares neither overflow nor vanish; few training rows in float64."""
    n, d = rows.shape
    low, high = SAFE_RANGE[rows.dtype]
    few = fitting and n <= MAX_WIDENED_ROWS and n * d <= MAX_WIDENED_ENTRIES
    if few and rows.dtype == np.float32:
        return rows.astype(np.float64)
    if max_abs <= high and (max_abs >= low or max_abs == 0 or not fitting):
        return rows
    if rows.dtype == np.float32:
        return rows.astype(np.float64)
    raise DataError(
        f"X has entries of size {max_abs:.3g}, whose squares float64 cannot hold; "
        f"multiply X by {1 / max_abs:.0e} and the embedding by its inverse."
    )


def find_extreme_rows(rows: Any) -> NDArray[np.bool_]:
    """Which rows are too large for squares in their type: they are mapped alone, in float64."""
    high = SAFE_RANGE[rows.dtype][1]
    if issparse(rows):
        largest = np.zeros(rows.shape[0])
        row_of_entry = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        np.maximum.at(largest, row_of_entry, np.abs(rows.data))
        return largest > high
    return np.asarray(np.abs(rows).max(1) > high)


def describe_nonfinite(A: Any, position: tuple[int, int], column_name: object = None) -> str:
    """NaN or infinity in words, with its row and column."""
    row, column = position
    value = A[row, column]
    word = "NaN" if np.isnan(value) else "infinity (inf)" if value > 0 else "-infinity (-inf)"
    name = "" if column_name is None else f" ({column_name!r})"
    return f"{word} at row {row}, column {column}{name}"
