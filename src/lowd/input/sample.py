"""Some of the training rows, chosen by their number: the same in whichever batches they come."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack

from .. import random
from ..values import value
from .tables import Table

MOST, LEAST = 512, 32  # rows
ENTRIES = 100_000  # numbers, if that is fewer rows
OBJECTS = 64  # things that a callable compares, pair by pair


def len_of(items: Any) -> int:
    """How many there are, of any kind of data."""
    return int(items.shape[0]) if hasattr(items, "shape") else len(items)


def some(items: Any, rows: NDArray[np.int64]) -> Any:
    """Some rows of any kind of data."""
    if isinstance(items, Table):
        return items.at(rows)
    if hasattr(items, "shape"):
        return items[rows]
    return [items[i] for i in rows]


def enough(items: Any) -> int:
    """How many rows of such data are kept: fewer, the wider they are."""
    if not hasattr(items, "shape"):
        return OBJECTS
    return min(MOST, max(LEAST, ENTRIES // max(1, int(items.shape[1]))))


@value
class Sample:
    """The rows whose numbers have the smallest random bits: any part of them can be merged."""

    items: Any
    numbers: NDArray[np.int64]
    seen: int

    @classmethod
    def of(cls, items: Any, most: int, start: int = 0) -> Sample:
        """Of rows that are numbered from `start`."""
        n = len_of(items)
        rows = _chosen_of(start, n, most)
        return cls(some(items, rows), rows + start, n)

    def merge(self, other: Sample, most: int) -> Sample:
        """The sample that all rows together have, those of `self` first."""
        numbers = np.concatenate([self.numbers, other.numbers])
        kept = chosen(numbers, most)
        rows = _stacked(self.items, other.items)[kept]
        return Sample(rows, numbers[kept], self.seen + other.seen)


@lru_cache(maxsize=16)
def _chosen_of(start: int, n: int, most: int) -> NDArray[np.int64]:
    """`chosen` of n numbers in a row: fits of as many rows as before need not ask again."""
    rows = chosen(np.arange(start, start + n), most)
    rows.setflags(write=False)
    return rows


def chosen(numbers: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Which of these row numbers are kept, by their places."""
    if len(numbers) <= most:
        return np.arange(len(numbers))
    return np.sort(np.argpartition(random.bits(0, "sample", numbers), most - 1)[:most])


def _stacked(A: Any, B: Any) -> Any:
    if issparse(A) and issparse(B):
        return csr_array(vstack([A, B]))
    return np.concatenate([part.toarray() if issparse(part) else part for part in (A, B)])
