"""Missing and infinite values: raise, drop the rows or fill them with the mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .options import Missing, pluralize
from .table import Column


def handle_missing(
    X: Column,
    columns: Sequence[str],
    where: str,
    locate: Callable[[int], str],
    missing: Missing,
    notes: list[str],
) -> tuple[Column, NDArray[np.intp] | None]:
    """Return X without missing or infinite values, and the kept rows if some were dropped."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()):  # One pass is enough: a NaN or infinity anywhere shows in the sum.
            return X, None
    good = np.isfinite(X)
    if good.all():
        return X, None
    count, within = int((~good).sum()), int((~good.all(0)).sum())
    if missing == "error":
        row, column = map(int, np.argwhere(~good)[0])
        what = "the value is missing" if np.isnan(X[row, column]) else "infinity"
        can_drop = 2 * int(good.all(1).sum()) > len(X)  # otherwise few rows would be left
        remedy = "Drop such rows (missing='drop'), fill them" if can_drop else "Fill them"
        raise DataError(
            f"{where}, {locate(row)}, column {columns[column]!r}: {what} "
            f"({pluralize(count, 'such value')} in "
            f"{pluralize(within, 'column')}). {remedy} with the "
            f"column's mean (missing='mean'), or leave the column out "
            f"(drop={columns[column]!r})."
        )
    if missing == "keep":
        notes.append(
            f"{pluralize(count, 'value')} in {pluralize(within, 'column')} missing or infinite."
        )
        return np.where(good, X, np.nan), None
    if missing == "drop":
        kept = np.flatnonzero(good.all(1))
        if not len(kept):
            raise DataError(f"{where}: every row has a missing value; try missing='mean'.")
        notes.append(f"Left out for missing values: {pluralize(len(X) - len(kept), 'row')}.")
        return X[kept], kept
    counts = good.sum(0)
    if not counts.all():
        name = columns[int(np.argmin(counts))]
        raise DataError(f"{where}: column {name!r} has no value at all; drop={name!r}.")
    means = np.where(good, X, 0).sum(0, dtype=np.float64) / counts
    notes.append(f"Filled with the mean of the column: {pluralize(count, 'missing value')}.")
    return np.where(good, X, means.astype(X.dtype)), None
