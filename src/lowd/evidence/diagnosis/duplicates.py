"""Duplicate rows: found by hashes that are equal for equal rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...input.tables import Table
from ...spaces import hash_rows
from .raw_data import RawData
from .result import Finding

MANY_DUPLICATES_SHARE = 0.1  # of the rows, from which duplicates are a warning


class DistinctRows(NamedTuple):
    """Complete rows without duplicates of earlier ones, and the finding on duplicates."""

    rows: NDArray[np.int64]
    finding: Finding


def find_distinct_rows(keys: NDArray[np.uint64], complete: NDArray[np.bool_]) -> DistinctRows:
    """The first of each group of equal rows, among the complete ones."""
    rows = np.flatnonzero(complete)
    _, first, counts = np.unique(keys[rows], return_index=True, return_counts=True)
    distinct = rows[np.sort(first)]
    n_duplicates = len(rows) - len(distinct)
    if not n_duplicates:
        return DistinctRows(distinct, Finding("fine", "duplicate rows", "No two rows are equal."))
    example = int(rows[first[counts.argmax()]])
    finding = Finding(
        "warning" if n_duplicates > MANY_DUPLICATES_SHARE * len(rows) else "notice",
        "duplicate rows",
        f"{n_duplicates} of {len(rows)} rows are duplicates of others; row {example} occurs "
        f"{int(counts.max())} times.",
        "Graph methods merge duplicates and count them; if they are no separate observations, "
        "drop them.",
        (example,),
    )
    return DistinctRows(distinct, finding)


def compute_row_keys(data: RawData) -> NDArray[np.uint64]:
    """One number per row of data that are no rows of numbers; distances of 0 mean equal rows."""
    if data.kind == "distances":
        first = [
            int(np.argmax(row == 0)) if (row == 0).any() else i for i, row in enumerate(data.X)
        ]
        return np.array(first, np.uint64)
    if isinstance(data.items, Table):
        return hash_rows(np.hstack([data.items.numbers + 0.0, data.items.codes.astype(np.float64)]))
    first_index: dict[str, int] = {}
    keys = [first_index.setdefault(repr(item), i) for i, item in enumerate(data.items)]
    return np.array(keys, np.uint64)
