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

from .row_hash import hash_rows

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


def rank_rows(
    ranks: Ranks, X: NDArray[Any] | csr_array, wanted: NDArray[np.int64] | None = None
) -> Ranks:
    """Ranks whose ties are broken by the rows of X, column after column.

    `wanted` are positions in the order: only of these it is determined which row is there.
    """
    source: _Rows = _SparseRows(X) if issparse(X) else _DenseRows(X)
    ranks, first_column = ranks.copy(), 0
    unresolved = find_unresolved(ranks, wanted)
    if len(unresolved) == len(ranks) and not issparse(X) and not ranks.any():
        # Of most data the first column alone tells nearly all rows apart.
        order, _, kept = _split(ranks, unresolved, None, X[:, 0], wanted)
        unresolved, first_column = unresolved[order][kept], 1
    start = np.full(len(unresolved), first_column)
    rounds, next_check = 0, 1
    while len(unresolved):
        found = source.find(unresolved, start)
        order, first, kept = _split(ranks, unresolved, found.key, found.value, wanted)
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
    ranks = np.zeros(X.shape[0], np.int64)
    unresolved = find_unresolved(ranks, wanted)
    for column in _spread_columns(X):
        if not len(unresolved):
            break
        order, _, kept = _split(ranks, unresolved, None, column[unresolved], wanted)
        unresolved = unresolved[order][kept]
    ranks = rank_rows(ranks, X, wanted)
    size = np.bincount(ranks, minlength=len(ranks))[ranks]
    there = np.flatnonzero(_contain(ranks, size, wanted))
    there = there[np.argsort(ranks[there], kind="stable")]
    found, number = ranks[there], np.arange(len(there))
    first = np.searchsorted(found, found)  # of those with the same rank, which are duplicates
    return np.sort(there[np.isin(found + number - first, wanted)])


def _spread_columns(X: NDArray[Any] | csr_array) -> Iterator[NDArray[Any]]:
    """Some columns, each far from the ones before it: steps of the golden section."""
    d = X.shape[1]
    step = max(1, round(d * (5**0.5 - 1) / 2))
    while gcd(step, d) > 1:
        step += 1
    numbers = (step // 2 + step * np.arange(min(d, MAX_SPREAD_COLUMNS))) % d
    at_once = SPARSE_COLUMNS_AT_ONCE if issparse(X) else 1
    for start in range(0, len(numbers), at_once):
        part = X[:, numbers[start : start + at_once]]
        yield from csr_array(part).toarray().T if issparse(part) else part.T


def _split(
    ranks: Ranks,
    unresolved: NDArray[np.int64],
    key: NDArray[np.int64] | None,
    value: NDArray[Any],
    wanted: NDArray[np.int64] | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Break ties of the ranks of unresolved rows by a key and a value of each.

    Returns the rows' order and, in it, the first position with the same rank and which are still
    unresolved.
    """
    keys, old = [value] if key is None else [value, key], ranks[unresolved]
    is_one_group = bool((old == old[:1]).all())
    order = np.argsort(value) if key is None and is_one_group else np.lexsort([*keys, old])
    old, number = old[order], np.arange(len(order))
    group = np.concatenate([[True], old[1:] != old[:-1]])[: len(order)]
    part = group.copy()
    for one in keys:
        part[1:] |= one[order[1:]] != one[order[:-1]]
    first_of_group, first_of_part = (
        np.maximum.accumulate(np.where(first, number, 0)) for first in (group, part)
    )
    new = ranks[unresolved[order]] = old + first_of_part - first_of_group
    kept = _in_groups(first_of_part)
    if wanted is not None:
        size = np.bincount(first_of_part, minlength=len(number))[first_of_part]
        kept &= _contain(new, size, wanted)
    return order, first_of_part, kept


def find_unresolved(ranks: Ranks, wanted: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Rows that are not alone with their rank, and may be at a wanted position."""
    size = np.bincount(ranks, minlength=len(ranks))[ranks]
    alike = size > 1
    return np.flatnonzero(alike if wanted is None else alike & _contain(ranks, size, wanted))


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


def _contain(ranks: Ranks, size: Ranks, wanted: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which rows are among so many of equal rank that these extend to a wanted position."""
    following = np.searchsorted(wanted, ranks)
    inside = np.append(wanted, np.iinfo(np.int64).max)[following]
    return np.asarray(inside < ranks + size)


def _are_duplicates(rows: NDArray[np.int64], first: Ranks, source: _Rows) -> NDArray[np.bool_]:
    """Which rows are in a group whose rows are all equal to its first one (a position)."""
    differs = ~source.are_equal(rows, rows[first])
    return ~np.isin(first, first[differs])
