"""Entries that a type can hold, with their squares, and words for those that are none."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..backends.protocol import Rows
from ..errors import DataError

# Beyond these sizes squares leave the range of the type.
SAFE = {np.dtype(np.float32): (1e-15, 1e15), np.dtype(np.float64): (1e-140, 1e140)}
FEW = 1000  # so many rows are computed in float64 at no noticeable cost


def in_range(rows: Rows, largest: float, fitting: bool) -> Rows:
    """Rows in a type whose squares neither overflow nor vanish; few training rows in float64."""
    low, high = SAFE[rows.dtype]
    few = fitting and rows.shape[0] <= FEW and rows.shape[0] * rows.shape[1] <= 10**7
    if few and rows.dtype == np.float32:
        return rows.astype(np.float64)
    if largest <= high and (largest >= low or largest == 0 or not fitting):
        return rows
    if rows.dtype == np.float32:
        return rows.astype(np.float64)
    raise DataError(
        f"X has entries of size {largest:.3g}, whose squares float64 cannot hold; "
        f"multiply X by {1 / largest:.0e} and the embedding by its inverse."
    )


def extreme_rows(rows: Rows) -> NDArray[np.bool_]:
    """Rows too large for their type's squares: mapped on their own, in float64."""
    high = SAFE[rows.dtype][1]
    if issparse(rows):
        top = np.zeros(rows.shape[0])
        np.maximum.at(
            top, np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)), np.abs(rows.data)
        )
        return top > high
    return np.asarray(np.abs(rows).max(1) > high)


def named(A: Rows, place: tuple[int, int], name: Any = None) -> str:
    """An entry that is no number, in words, and where it is."""
    row, column = place
    value = A[row, column]
    word = "NaN" if np.isnan(value) else "infinity (inf)" if value > 0 else "-infinity (-inf)"
    return f"{word} at row {row}, column {column}" + (f" ({name!r})" if name is not None else "")
