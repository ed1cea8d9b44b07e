"""Random priorities of rows by their content: those with the smallest ones are a random sample.

The sample does not depend on the order of the rows, nor on how they are divided into batches: that
of all is among those of the parts (bottom-k sampling; Cohen and Kaplan, 2007). A priority is a hash
of as many columns as tell the row apart, in a random order of groups of columns: of measurements
eight are read, of handwritten digits about 45 of 784, and all of them only where most are 0.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from .. import random
from ..backends.protocol import Array, Rows
from .row_hash import column_multipliers, mix_bits

Keys = NDArray[np.uint64]

GROUP_COLUMNS = 8  # that are neighbors in memory, read together
HASHED_ROWS = 2048  # read at a time: temporary arrays stay in the cache, and are no part of a plan
# A row is told apart by so many entries that are not 0 and differ from the column before in their
# group; one of more than 5 significant bits, as measurements and pixels have, counts as several.
ENOUGH_ENTRIES, ENTRIES_PER_MEASUREMENT = 12, 4
FINE_BITS = np.uint64(2**48 - 1)  # of a double, below the first five


def draw_priorities(X: Rows) -> Keys:
    """Random bits for each row: the same for equal rows, of any type, dense or sparse."""
    return random.bits(0, "rows", _hash_sparse(X) if issparse(X) else _hash_dense(X))


def choose_smallest(priorities: Keys, count: int) -> NDArray[np.int64]:
    """The rows with the smallest priorities, these increasing; of equal ones only the first."""
    n, size = len(priorities), 2 * count
    while True:
        rows = np.arange(n)
        if size < n:
            rows = np.flatnonzero(priorities <= np.partition(priorities, size)[size])
        first = np.unique(priorities[rows], return_index=True)[1]
        if len(first) >= count or size >= n:
            return np.asarray(rows[first[:count]])
        size *= 4  # many are duplicates


def _hash_dense(X: Array) -> Keys:
    n, d = X.shape
    hashes, told, rows = np.zeros(n, np.uint64), np.zeros(n, np.int32), np.arange(n)
    for groups in _stages(d):
        for start in groups * GROUP_COLUMNS:
            columns = np.arange(start, min(start + GROUP_COLUMNS, d))
            multipliers = column_multipliers(columns)[:, None]
            for i in range(0, len(rows), HASHED_ROWS):
                part = rows[i : i + HASHED_ROWS]
                here = slice(i, i + HASHED_ROWS) if len(rows) == n else part
                entries = np.array(X[here, start : start + GROUP_COLUMNS].T, np.float64, order="C")
                told[part] += _count_telling(entries[:-1], entries[1:]).sum(0, dtype=np.int32)
                hashes[part] += (mix_bits(entries) * multipliers).sum(0, dtype=np.uint64)
        rows = rows[told[rows] < ENOUGH_ENTRIES]
        if not len(rows):
            break
    return hashes


def _hash_sparse(X: csr_array) -> Keys:
    """The same by stored entries: zeros add nothing."""
    n, d = X.shape
    stage_of_group = np.empty(-(-d // GROUP_COLUMNS), np.int64)
    n_stages = 0
    for groups in _stages(d):
        stage_of_group[groups] = n_stages
        n_stages += 1
    row, column = np.repeat(np.arange(n), np.diff(X.indptr)), X.indices
    entries, before = X.data.astype(np.float64), np.zeros(len(X.data))
    adjacent = (row[1:] == row[:-1]) & (column[1:] == column[:-1] + 1)
    before[1:][adjacent] = entries[:-1][adjacent]
    counts = np.where(column % GROUP_COLUMNS, _count_telling(before, entries), 0)
    stage = stage_of_group[column // GROUP_COLUMNS]
    told = np.bincount(row * n_stages + stage, counts, n * n_stages).reshape(n, n_stages)
    last = (np.cumsum(told, axis=1) < ENOUGH_ENTRIES).sum(1)  # the stage that tells the row apart
    bits = mix_bits(entries) * column_multipliers(np.arange(d))[column]
    bits[stage > last[row]] = 0
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(bits, dtype=np.uint64)])
    return np.asarray(sums[X.indptr[1:]] - sums[X.indptr[:-1]])


def _stages(d: int) -> Iterator[NDArray[np.int64]]:
    """Groups of columns that are read next: one, then as many as so far."""
    n_groups = -(-d // GROUP_COLUMNS)
    order = np.argsort(random.bits(0, "column groups", np.arange(n_groups)))
    start, stop = 0, 1
    while start < n_groups:
        yield order[start:stop]
        start, stop = stop, 2 * stop


def _count_telling(before: Array, entries: Array) -> NDArray[np.int8]:
    """As how many each entry counts, beside the one of the column before."""
    tells = (entries != before) & (entries != 0)
    fine = (entries.view(np.uint64) & FINE_BITS) != 0
    return np.asarray(tells * np.where(fine, ENTRIES_PER_MEASUREMENT, 1).astype(np.int8))
