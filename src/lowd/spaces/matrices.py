"""Numbers of points that their content determines: of the rows of data, or of a square matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from .. import _native, random
from ..backend import chunks, overridable, threads
from ..parameters import Indices, Reals


def far_if_missing(D: Reals) -> Reals:
    """Distances with infinity where one is not known."""
    return np.where(np.isnan(D), np.inf, D) if np.isnan(D.min(initial=0)) else D


def label_duplicates(D: Reals) -> Indices:
    """A number of each point, which it shares with the points at distance 0 only."""
    n = len(D)
    if np.count_nonzero(D) == n * n - n:
        return np.arange(n)
    return np.asarray(connected_components(csr_array(D == 0), directed=False)[1], np.int64)


def hash_symmetric(A: Any, most_alike: int = 32) -> Indices:
    """Numbers of the points of a square matrix, dense or sparse, whatever the order of the points.

    At first a point has a hash of its entries in any order, then of its entries with the numbers
    of the points that they lead to, as long as that tells more points apart (color refinement;
    Weisfeiler and Leman, 1968). Where it leaves points alike that are no duplicates, such as the
    corners of a square, one of them is given a number of its own, and the others are refined by
    it: whichever it was, the matrix in the order of the numbers is the same.
    """
    keys, rows = _refined(hash_rows(A, np.ones(A.shape[1], np.uint64)), A), None
    for number in range(most_alike):
        if len(np.unique(keys)) == len(keys):
            break
        rows = hash_rows(A) if rows is None else rows  # equal for duplicates: any order will do
        order = np.lexsort([rows, keys])
        alike = (np.diff(keys[order]) == 0) & (np.diff(rows[order]) != 0)
        if not alike.any():
            break
        one = int(np.flatnonzero(keys == keys[order[alike.argmax()]])[0])
        keys[one] += np.uint64(number + 1)
        keys = _refined(keys, A)
    return keys


def _refined(keys: Indices, A: Any) -> Indices:
    """Keys that tell more points apart, by the keys of the points that their entries lead to."""
    count = 0
    while (found := len(np.unique(keys))) > count and found < len(keys):
        count, columns = found, random.bits(0, "keys", keys)
        sums = random.bits(0, "sums", sum_of_words(A, columns))
        keys = random.bits(0, "refined", keys + sums)
    return keys


@overridable
def sum_of_words(A: Any, columns: Indices) -> Indices:
    """For each row, the sum of the random bits that each entry and the bits of its column give."""
    sums = np.empty(len(A), np.uint64)
    for some in chunks(len(A), A.shape[1], 2**16):  # half a megabyte stays in the cache
        sums[some] = mixed(A[some], columns).sum(1, dtype=np.uint64)
    return sums


def mixed(entries: Reals, columns: Indices) -> Indices:
    """Random bits of numbers and of their columns' bits, by SplitMix64's finalizer in short."""
    words = (entries + np.float64(0)).view(np.uint64)  # where -0 is 0
    words += columns
    words ^= words >> np.uint64(32)
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(29)
    return words


# -- rows by content -----------------------------------------------------------------------------


@overridable
def hash_rows(X: Any, factors: Indices | None = None) -> Indices:
    """Random bits of the content of each row, the same for dense and sparse rows of any type.

    They are those of the sum of the bits of all entries, each times a factor of its column.
    """
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    out, sums = np.empty(len(X), np.uint64), np.empty(X.shape[1])
    factors = random.factors(0, "columns", X.shape[1]) if factors is None else factors
    key, n_threads = random.stream_key(0, "rows"), threads(X.size)
    with np.errstate(over="ignore", invalid="ignore"):
        _native.column_sums(np.ascontiguousarray(X), None, sums, factors, key, out, n_threads)
    return out


@overridable
def along_a_line(X: Any) -> Reals:
    """Where each row lies along a random direction; constant columns do not count.

    So units, offsets and constant columns do not change the order of rows by these places, but for
    what rounding does. A place may be beyond the range of numbers.
    """
    least, most = column_range(X)
    return places(X, least, line_factors(most > least))


@overridable
def column_range(X: Any) -> tuple[Reals, Reals]:
    """The least and the largest entry of each column, which do not depend on the order of rows."""
    n, d = X.shape
    # Several rows in one: NumPy is five times as fast along lines of thousands of numbers.
    several = min(n, max(1, 4096 // d))
    whole = n - n % several
    lines = np.ascontiguousarray(X[:whole]).reshape(-1, several * d)
    least, most = X[whole - several :].min(0), X[whole - several :].max(0)
    for some in chunks(len(lines), lines.shape[1], 2**17):
        part = lines[some]
        least = np.minimum(least, part.min(0).reshape(-1, d).min(0))
        most = np.maximum(most, part.max(0).reshape(-1, d).max(0))
    return least, most


@overridable
def places(X: Any, least: Reals, factors: Reals) -> Reals:
    """(X - least) · factors of each row by itself, in float64."""
    out, W = np.empty((len(X), 1)), factors[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        for some in chunks(len(X), X.shape[1], 2**20):
            rows = np.ascontiguousarray(X[some], np.float64)
            _native.project(rows, least.astype(np.float64), W, None, out[some], threads(rows.size))
    return out[:, 0]


def line_factors(varies: Indices) -> Reals:
    """A random direction in the columns that vary, numbered without the others."""
    factors = np.zeros(len(varies))
    factors[varies] = random.normals(0, "line", (int(varies.sum()),))
    return factors
