"""Random samples of the training rows, the same in whichever batches they come."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack

from .. import random
from ..backends.protocol import Rows, refine_mean
from ..backends.row_hash import row_priorities
from ..threads import run_parts
from ..values import value
from .tables import Table

# Rows, a Table, or a list of objects, as the kind of data says.
Items: TypeAlias = Any

Priorities: TypeAlias = NDArray[np.uint64]  # random bits of rows; the smallest are drawn

# A sample is kept with the model and new rows are compared with all of it.
MAX_SAMPLE_ROWS, MIN_SAMPLE_ROWS = 512, 32
MAX_SAMPLE_ENTRIES = 100_000  # of wide rows fewer are kept
GATHERED_BYTES = 2**21  # of rows that a thread copies or adds at least
MIN_SORTED_PRIORITIES = 1024  # sorted in 20 µs: no search for the smallest of them takes less
MAX_SAMPLE_OBJECTS = 64  # that a callable compares, pair by pair


def n_rows(items: Items) -> int:
    """Number of rows of any kind of data."""
    return int(items.shape[0]) if hasattr(items, "shape") else len(items)


def take_rows(items: Items, rows: NDArray[np.int64]) -> Items:
    """Some rows of any kind of data."""
    if isinstance(items, Table):
        return items.take(rows)
    if isinstance(items, np.ndarray) and items.ndim == 2:
        return gather_rows(items, rows)
    if hasattr(items, "shape"):
        return items[rows]
    return [items[i] for i in rows]


def gather_rows(X: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """X[rows] by the threads of the fit, where it is large."""
    least = GATHERED_BYTES // max(1, X.shape[1] * X.itemsize) + 1
    if len(rows) < 2 * least:
        return X[rows]
    taken = np.empty((len(rows), X.shape[1]), X.dtype)

    def copy(part: slice) -> None:
        np.take(X, rows[part], axis=0, out=taken[part], mode="clip")  # "raise" would buffer

    run_parts(copy, len(rows), least=least)
    return taken


def average_columns(X: NDArray[Any]) -> NDArray[np.float64]:
    """Means of the columns in float64, the same bits on any number of threads.

    Blocks of rows, as many whatever the threads, are added beside each other, and then their sums.
    """
    step = max(1, GATHERED_BYTES // max(1, X.shape[1] * X.itemsize))
    if len(X) <= step:
        return refine_mean(X, np.asarray(X.mean(0, dtype=np.float64)))
    starts = range(0, len(X), step)
    sums = np.empty((len(starts), X.shape[1]))

    def add(part: slice) -> None:
        for number, start in zip(range(part.start, part.stop), starts[part], strict=True):
            X[start : start + step].sum(0, dtype=np.float64, out=sums[number])

    run_parts(add, len(starts))
    return refine_mean(X, sums.sum(0) / len(X))


def max_sample_rows(items: Items) -> int:
    """How many rows of such data a sample has at most: fewer, the wider they are."""
    if not hasattr(items, "shape"):
        return MAX_SAMPLE_OBJECTS
    by_entries = MAX_SAMPLE_ENTRIES // max(1, int(items.shape[1]))
    return min(MAX_SAMPLE_ROWS, max(MIN_SAMPLE_ROWS, by_entries))


def is_sampled(items: Items) -> bool:
    """Whether there are more rows than a sample has."""
    return n_rows(items) > max_sample_rows(items)


@value
class Sample:
    """Some rows, by random bits of their indices or of their content: samples can be merged."""

    items: Items
    row_indices: NDArray[np.int64]
    n_seen: int

    @classmethod
    def draw(cls, items: Items, max_rows: int, start: int = 0) -> Sample:
        """By the indices of rows, which are numbered from `start`."""
        return cls.of(items, choose_consecutive(start, n_rows(items), max_rows), start)

    @classmethod
    def draw_distinct(cls, items: Rows, priorities: Priorities | None, start: int = 0) -> Sample:
        """By the content of the rows, in an order by it; of duplicates one. Few rows are all kept.

        Of duplicates either all or none would be drawn, which may be most of a sample.
        """
        if not is_sampled(items):
            return cls.of(items, np.arange(items.shape[0]), start)
        assert priorities is not None, "validation computes them for many rows"
        return cls.of(items, choose_smallest(priorities, max_sample_rows(items)), start)

    @classmethod
    def of(cls, items: Items, rows: NDArray[np.int64], start: int = 0) -> Sample:
        """The given ones of rows that are numbered from `start`."""
        return cls(take_rows(items, rows), rows + start, n_rows(items))

    def merge(self, other: Sample, max_rows: int) -> Sample:
        """The sample by indices of all rows together, those of `self` first."""
        row_indices = np.concatenate([self.row_indices, other.row_indices])
        kept = choose_rows(row_indices, max_rows)
        rows = _stack(self.items, other.items)[kept]
        return Sample(rows, row_indices[kept], self.n_seen + other.n_seen)

    def merge_distinct(self, other: Sample) -> Sample:
        """The sample by content of all rows together, those of `self` first."""
        rows, max_rows = _stack(self.items, other.items), max_sample_rows(self.items)
        row_indices = np.concatenate([self.row_indices, other.row_indices])
        n_seen = self.n_seen + other.n_seen
        if n_seen > max_rows:
            kept = choose_smallest(row_priorities(rows), max_rows)
            rows, row_indices = rows[kept], row_indices[kept]
        return Sample(rows, row_indices, n_seen)


@lru_cache(maxsize=16)
def choose_consecutive(start: int, n: int, max_rows: int) -> NDArray[np.int64]:
    """`choose_rows` of n rows from `start` on; cached, since fits of as many rows repeat it."""
    rows = choose_rows(np.arange(start, start + n), max_rows)
    rows.setflags(write=False)
    return rows


def choose_rows(row_indices: NDArray[np.int64], max_rows: int) -> NDArray[np.int64]:
    """Positions of the row indices that a sample keeps."""
    if len(row_indices) <= max_rows:
        return np.arange(len(row_indices))
    bits = random.bits(0, "sample", row_indices)
    return np.sort(np.argpartition(bits, max_rows - 1)[:max_rows])


def choose_smallest(priorities: Priorities, count: int) -> NDArray[np.int64]:
    """The rows with the smallest random bits, increasing; of equal ones the first.

    Fewer than `count` where no more are distinct. A sample of all rows is among those of the parts
    (bottom-k sampling; Cohen and Kaplan, 2007).
    """
    n, size = len(priorities), max(2 * count, MIN_SORTED_PRIORITIES)
    while size < n:  # so many are expected below the bound
        rows = np.flatnonzero(priorities < np.uint64(2**64 * size // n))
        chosen = np.unique(priorities[rows], return_index=True)[1][:count]
        if len(chosen) == count:
            return np.asarray(rows[chosen])
        size *= 4  # many are duplicates
    return np.asarray(np.unique(priorities, return_index=True)[1][:count])


def _stack(A: Rows, B: Rows) -> Rows:
    if issparse(A) and issparse(B):
        return csr_array(vstack([A, B]))
    return np.concatenate([part.toarray() if issparse(part) else part for part in (A, B)])
