"""Lexicographic order of dense and sparse rows, which looks at few of their entries.

Every row is compared with one reference row. Where it first differs from that, and by what, decides
between most rows at once; ties are decided by where they differ from it next. Of sparse rows the
reference is 0, so only stored entries are compared, and the order is that of the same rows dense.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ..backends.row_hash import hash_rows

N_REFERENCE_ROWS = 31  # whose median is the reference: the value of most rows, if there is one
# Searched at a time for the next difference: few at first, since it mostly follows soon.
MIN_SEARCHED_COLUMNS, MAX_SEARCHED_COLUMNS = 2, 32
# From one search for duplicates, where a round has resolved nothing, to the next.
ROUNDS_PER_CHECK = 32
MAX_SPREAD_COLUMNS = 64  # by which few rows are found, before all columns
SPARSE_COLUMNS_AT_ONCE = 8  # each time in a pass over all entries
COMPARED_ENTRIES = 2**18  # of rows compared as a whole at a time

Ranks = NDArray[np.int64]  # of each row: how many are before it and not unresolved with it


class Differences(NamedTuple):
    """Where rows next differ from the reference (column), and what they have there.

    `key` orders rows that agree so far: 0 without another difference, negative for less than the
    reference and positive for more, the farther from 0 the sooner they differ.
    """

    key: NDArray[np.int64]
    value: NDArray[Any]
    following: NDArray[np.int64]  # from where to look for the next one


class _Rows(Protocol):
    def find(self, rows: NDArray[np.int64], start: NDArray[np.int64]) -> Differences: ...
    def are_equal(self, A: NDArray[np.int64], B: NDArray[np.int64]) -> NDArray[np.bool_]: ...


def rank_rows(ranks: Ranks, X: NDArray[Any] | csr_array) -> Ranks:
    """Ranks whose ties are broken by the rows of X, column after column."""
    source: _Rows = _SparseRows(X) if issparse(X) else _DenseRows(X)
    if len(ranks) > 1 and not issparse(X) and not ranks.any():
        # Of most data the first column alone tells nearly all rows apart.
        ranks, unresolved = _rank_values(X[:, 0])
        start = np.ones(len(unresolved), np.int64)
    else:
        ranks, unresolved = ranks.copy(), find_unresolved(ranks)
        start = np.zeros(len(unresolved), np.int64)
    rounds, next_check = 0, 1
    while len(unresolved):
        found = source.find(unresolved, start)
        order, first, kept = _split(ranks, unresolved, found.key, found.value)
        unresolved, start = unresolved[order], found.following[order]
        kept &= found.key[order] != 0  # without a difference: duplicates
        if kept.all() and rounds >= next_check:  # nothing was resolved
            kept = ~_are_duplicates(unresolved, first, source)
            next_check = rounds + ROUNDS_PER_CHECK
        unresolved, start, rounds = unresolved[kept], start[kept], rounds + 1
    return ranks


def find_rows_at(X: NDArray[Any] | csr_array, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows at some positions of an order that the content of the rows determines.

    Columns far from each other come first: neighboring pixels, counts and codes are equal in most
    rows, so that few of these columns tell all rows apart.
    """
    n = X.shape[0]
    before = np.zeros(n + 1, np.int64)  # wanted positions before each
    before[wanted + 1] = 1
    np.cumsum(before, out=before)
    columns = _spread_columns(X)
    # By the first column, equal values are searched at the wanted positions only.
    order = np.argsort(column := next(columns))
    value = column[order]
    first, last = (np.searchsorted(value, value[wanted], side) for side in ("left", "right"))
    found = [order[first[last - first == 1]]]
    rank, at = np.unique(first, return_index=True)
    size = last[at] - rank
    rank, size = rank[size > 1], size[size > 1]
    ranks = np.repeat(rank, size)  # increasing, here and below
    rows = order[ranks + _count_within(size)]
    for column in columns if len(rows) else ():
        value = column[rows]
        order = np.argsort(value) if ranks[0] == ranks[-1] else np.lexsort([value, ranks])
        value = value[order]
        differs = (value[1:] != value[:-1]) | (ranks[1:] != ranks[:-1])
        edges = np.flatnonzero(differs) + 1
        first, last = np.append(0, edges), np.append(edges, len(rows))  # of equal ones
        size = last - first
        rank = ranks[first] + first - np.searchsorted(ranks, ranks[first])
        holds = before[rank + size] > before[rank]
        found.append(rows[order[first[holds & (size == 1)]]])
        kept = holds & (size > 1)
        rows, ranks = rows[order[np.repeat(kept, size)]], np.repeat(rank[kept], size[kept])
        if not len(rows):
            break
    else:
        if len(rows):
            found.append(_find_among(X, rows, ranks, wanted))
    return np.sort(np.concatenate(found))


def _count_within(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, ... of each of some groups, one after the other."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - sizes, sizes)


def _find_among(
    X: NDArray[Any] | csr_array, rows: NDArray[np.int64], ranks: Ranks, wanted: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Those of some rows, in groups of equal rank, that are at wanted positions by all columns."""
    order = np.lexsort([rows, ranks])
    rows, ranks = rows[order], ranks[order]
    local = np.searchsorted(ranks, ranks)  # ranks among these rows alone
    sorted_rows = rows[np.argsort(rank_rows(local, X[rows]), kind="stable")]
    return sorted_rows[np.isin(ranks + np.arange(len(rows)) - local, wanted)]


def invert_order(order: NDArray[np.int64]) -> NDArray[np.int64]:
    """The position of each row in an order: `Y[invert_order(order)]` undoes `X[order]`."""
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    return position


def _spread_columns(X: NDArray[Any] | csr_array) -> Iterator[NDArray[Any]]:
    """Some columns, each far from the ones before it: steps of the golden section."""
    d = X.shape[1]
    step = max(1, round(d * (5**0.5 - 1) / 2))
    while gcd(step, d) > 1:
        step += 1
    numbers = (step // 2 + step * np.arange(min(d, MAX_SPREAD_COLUMNS))) % d
    if not issparse(X):
        yield from (X[:, number] for number in numbers)  # views, of which few rows are read
        return
    for start in range(0, len(numbers), SPARSE_COLUMNS_AT_ONCE):
        yield from csr_array(X[:, numbers[start : start + SPARSE_COLUMNS_AT_ONCE]]).toarray().T


def _split(
    ranks: Ranks,
    unresolved: NDArray[np.int64],
    key: NDArray[np.int64],
    value: NDArray[Any],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Break ties of the ranks of unresolved rows by a key and a value of each.

    Returns the rows' order and, in it, the first position with the same rank and which are still
    unresolved.
    """
    order = np.lexsort([value, key, ranks[unresolved]])
    old, number = ranks[unresolved[order]], np.arange(len(order))
    group = np.concatenate([[True], old[1:] != old[:-1]])[: len(order)]
    part = group.copy()
    for one in (value, key):
        part[1:] |= one[order[1:]] != one[order[:-1]]
    first_of_group, first_of_part = (
        np.maximum.accumulate(np.where(first, number, 0)) for first in (group, part)
    )
    ranks[unresolved[order]] = old + first_of_part - first_of_group
    return order, first_of_part, _in_groups(first_of_part)


def _rank_values(values: NDArray[Any]) -> tuple[Ranks, NDArray[np.int64]]:
    """Ranks by one number of each row, and the rows that others are equal to."""
    order = np.argsort(values)
    sorted_values, number = values[order], np.arange(len(order))
    differs = np.concatenate([[True], sorted_values[1:] != sorted_values[:-1], [True]])
    ranks = np.empty(len(order), np.int64)
    ranks[order] = number
    equal = np.flatnonzero(~(differs[:-1] & differs[1:]))
    unresolved = order[equal]
    ranks[unresolved] = np.maximum.accumulate(np.where(differs[equal], equal, 0))
    return ranks, unresolved


def find_unresolved(ranks: Ranks) -> NDArray[np.int64]:
    """Rows that are not alone with their rank."""
    return np.flatnonzero(np.bincount(ranks, minlength=len(ranks))[ranks] > 1)


class _DenseRows:
    def __init__(self, X: NDArray[Any]) -> None:
        self._X = X
        some = X[np.linspace(0, len(X) - 1, min(len(X), N_REFERENCE_ROWS)).astype(np.int64)]
        self._reference = np.partition(some, len(some) // 2, axis=0)[len(some) // 2]

    def find(self, rows: NDArray[np.int64], start: NDArray[np.int64]) -> Differences:
        X, reference, d = self._X, self._reference, self._X.shape[1]
        column, width = np.full(len(rows), d), MIN_SEARCHED_COLUMNS
        active, at = np.flatnonzero(start < d), start[start < d]
        while len(active):
            differs = self._compare(rows[active], at, width)
            first = differs.argmax(1)
            hit = differs[np.arange(len(first)), first]
            column[active[hit]] = at[hit] + first[hit]
            left = ~hit & (at + width < d)
            active, at = active[left], at[left] + width
            width = min(4 * width, MAX_SEARCHED_COLUMNS)
        known = np.minimum(column, d - 1)
        value = X[rows, known]
        key = np.where(value > reference[known], d - column, column - d)
        return Differences(key, np.where(column < d, value, reference[0]), column + 1)

    def _compare(
        self, rows: NDArray[np.int64], at: NDArray[np.int64], width: int
    ) -> NDArray[np.bool_]:
        """Which of the next columns of each row, from its own `at` on, differ."""
        X, reference, d = self._X, self._reference, self._X.shape[1]
        if (at == at[0]).all():
            columns = slice(int(at[0]), min(int(at[0]) + width, d))
            if len(rows) == len(X):  # quicker than to take a part of the rows
                return np.asarray((X[:, columns] != reference[columns])[rows])
            return np.asarray(X[rows, columns] != reference[columns])
        each = np.minimum(at[:, None] + np.arange(width), d - 1)
        return np.asarray(X[rows[:, None], each] != reference[each])

    def are_equal(self, A: NDArray[np.int64], B: NDArray[np.int64]) -> NDArray[np.bool_]:
        X, step = self._X, max(1, COMPARED_ENTRIES // self._X.shape[1])
        blocks = (slice(i, i + step) for i in range(0, len(A), step))
        return np.concatenate([(X[A[part]] == X[B[part]]).all(1) for part in blocks])


class _SparseRows:
    def __init__(self, X: csr_array) -> None:
        if not (X.has_sorted_indices and X.data.all()):
            X = csr_array(X, copy=True)
            X.eliminate_zeros()
            X.sort_indices()
        self._X = X

    def find(self, rows: NDArray[np.int64], start: NDArray[np.int64]) -> Differences:
        X, d = self._X, self._X.shape[1]
        at = X.indptr[rows] + start
        there = at < X.indptr[rows + 1]
        column, value = np.full(len(rows), d), np.zeros(len(rows), X.dtype)
        column[there], value[there] = X.indices[at[there]], X.data[at[there]]
        return Differences(np.where(value > 0, d - column, column - d), value, start + 1)

    def are_equal(self, A: NDArray[np.int64], B: NDArray[np.int64]) -> NDArray[np.bool_]:
        keys = hash_rows(self._X)
        return np.asarray(keys[A] == keys[B])


def _in_groups(sorted_labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which sorted labels have an equal one beside them."""
    same = sorted_labels[1:] == sorted_labels[:-1]
    return np.asarray(np.concatenate([[False], same]) | np.concatenate([same, [False]]))


def _are_duplicates(rows: NDArray[np.int64], first: Ranks, source: _Rows) -> NDArray[np.bool_]:
    """Which rows are in a group whose rows are all equal to its first one (a position)."""
    differs = ~source.are_equal(rows, rows[first])
    return ~np.isin(first, first[differs])
