"""Keys that are equal for equal rows, of data that are no plain rows of numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...input.row_hash import row_keys
from .subject import Subject


def keys_of(subject: Subject) -> NDArray[np.uint64]:
    """One number per row; distances of 0 make rows copies of each other."""
    if subject.kind == "distances":
        first = [
            int(np.argmax(row == 0)) if (row == 0).any() else i
            for i, row in enumerate(subject.items)
        ]
        return np.array(first, np.uint64)
    if subject.kind == "table":
        entries = np.hstack([subject.items.numbers + 0.0, subject.items.codes.astype(np.float64)])
        return row_keys(entries)
    seen: dict[str, int] = {}
    return np.array(
        [seen.setdefault(repr(item), i) for i, item in enumerate(subject.items)], np.uint64
    )
