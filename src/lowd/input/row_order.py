"""A canonical order of the samples: by their content, whatever the order in which they come.

Where rounding grows during a fit (gradient descent, stress majorization) or rows are drawn
(landmarks), the fit takes the samples in this order, so permuted rows have the permuted embedding,
bit for bit. Rows are sorted by their first column, equal ones by the next: an order that units,
offsets and constant columns do not change. A row of a square matrix (distances, affinities, a
neighbor graph) changes under permutation; rows are sorted by order statistics of their entries,
equal ones by those of the rows that their entries lead to (color refinement, Weisfeiler and
Leman, 1968).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ..backends.protocol import Array, Rows
from ..backends.row_hash import hash_rows
from .precomputed import MATRIX_KINDS
from .row_sorting import Ranks, find_rows_at, find_unresolved, rank_rows
from .row_sorting import invert_order as invert_order
from .sample import Items, choose_consecutive, n_rows
from .tables import Table
from .validation import Kind

PERMUTED_ENTRIES = 2**22  # of a graph at a time
HASHED_ENTRIES = 2**16  # of a matrix at a time: half a megabyte stays in the cache
MISSING_WORD = np.uint64(0x7FF8000000000000)  # one pattern of bits for every NaN
# Rows singled out one after the other among symmetric ones, each for some passes over the matrix;
# beyond, equal ones keep the given order. Only where most samples are symmetric are there so many.
MAX_SINGLED_OUT = 32
_FACTORS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)

Keys = NDArray[np.uint64]


def order_rows(
    items: Items | None = None,
    *,
    square: Sequence[Rows] = (),
    attached: Sequence[Array] = (),
) -> NDArray[np.int64]:
    """Row numbers in an order that the content of the samples determines.

    `items` are samples of any kind, `square` matrices (dense or sparse) whose rows and columns they
    are, `attached` holds more numbers of each sample. Equal samples keep the given order: they can
    be exchanged. So do objects of a type whose content is not known (see `hash_objects`).
    """
    parts = [] if items is None else [_to_columns(items)]
    parts += [np.reshape(part, (len(part), -1)) for part in attached]
    ranks = np.zeros((parts or square)[0].shape[0], np.int64)
    for part in parts:
        ranks = rank_rows(ranks, part)
    for A in square:
        ranks = _rank_by_matrix(ranks, A)
    return _sort_ranks(ranks)


def _sort_ranks(ranks: Ranks) -> NDArray[np.int64]:
    """Rows by rank; equal ones keep their order."""
    order = np.full(len(ranks), -1)
    order[ranks] = np.arange(len(ranks))
    return np.argsort(ranks, kind="stable") if (order < 0).any() else order


def order_samples(items: Items, kind: Kind) -> NDArray[np.int64]:
    """The same of validated input of a kind: rows, or a square matrix of the samples."""
    return order_rows(square=[items]) if kind in MATRIX_KINDS else order_rows(items)


def draw_samples(items: Items, count: int) -> NDArray[np.int64]:
    """Numbers of some random rows, increasing: the same rows in whichever order they come.

    Rows are drawn by their positions in an order by content, of which no more is determined.
    """
    positions = choose_consecutive(0, n_rows(items), count)
    if len(positions) == n_rows(items):
        return positions
    return find_rows_at(_to_columns(items), positions)


def permute_graph(A: csr_array, order: NDArray[np.int64]) -> csr_array:
    """A[order][:, order] in one copy, its columns in no order."""
    some = csr_array(A[order])
    number = invert_order(order).astype(some.indices.dtype)
    # Not a chain of slices, which holds three copies of the entries.
    for i in range(0, len(some.indices), PERMUTED_ENTRIES):
        some.indices[i : i + PERMUTED_ENTRIES] = number[some.indices[i : i + PERMUTED_ENTRIES]]
    some.has_sorted_indices = False
    return some


def hash_objects(items: Sequence[Any]) -> Keys:
    """Hashes of text, numbers, arrays, and of sequences of such; of other objects 0."""
    return np.array([_hash_object(item) for item in items], np.uint64)


# -- rows ---------------------------------------------------------------------------------------


def _to_columns(items: Items) -> NDArray[Any] | csr_array:
    """Columns by which samples are sorted, the first one first."""
    if isinstance(items, Table):
        numbers = np.where(np.isnan(items.numbers), np.inf, items.numbers)
        return np.hstack([numbers, items.codes.astype(np.float64)])
    return items if hasattr(items, "shape") else hash_objects(items)[:, None]


def _hash_object(item: object) -> int:
    digest = hashlib.blake2b(digest_size=8)
    return int.from_bytes(digest.digest(), "little") if _feed(digest, item) else 0


def _feed(digest: hashlib.blake2b, item: object) -> bool:
    """Add the content of an object; False where it is not known."""
    if isinstance(item, list | tuple):
        digest.update(f"[{len(item)}".encode())
        return all(_feed(digest, part) for part in item)
    if isinstance(item, set | frozenset):
        digest.update(f"{{{len(item)}".encode())
        return all(_feed(digest, part) for part in sorted(map(_hash_object, item)))
    if isinstance(item, np.ndarray) and item.dtype != object:
        digest.update(f"a{item.dtype}{item.shape}".encode() + item.tobytes())
        return True
    if isinstance(item, str | bytes | int | float | np.generic | None):
        kind = "n" if isinstance(item, int | float | np.number) else type(item).__name__
        digest.update(f"{kind}{item!r}".encode())
        return True
    return False


# -- square matrices ------------------------------------------------------------------------------


def _rank_by_matrix(ranks: Ranks, A: Rows) -> Ranks:
    """Ranks; equal ones are resolved by the rows of a square matrix, in any order."""
    ranks = _rank_by_statistics(ranks, A) if len(find_unresolved(ranks)) else ranks
    if not len(find_unresolved(ranks)):
        return ranks
    keys = _refine(_mix(ranks.astype(np.uint64) * _FACTORS[0]), A)
    return rank_rows(ranks, keys[:, None])


def _rank_by_statistics(ranks: Ranks, A: Rows) -> Ranks:
    """Ranks by the largest and smallest entry of each row; of equal ones, by the median."""
    if issparse(A):
        full = np.flatnonzero(np.diff(A.indptr))
        extremes = np.zeros((A.shape[0], 2))
        for column, reduce in enumerate((np.maximum, np.minimum)):
            extremes[full, column] = reduce.reduceat(A.data, A.indptr[full]) if len(full) else 0
        return rank_rows(ranks, np.column_stack([np.diff(A.indptr), extremes]))
    extremes = np.column_stack([np.fmax.reduce(A, axis=1), np.fmin.reduce(A, axis=1)])
    ranks = rank_rows(ranks, extremes)
    medians = np.zeros(A.shape[0])
    unresolved = find_unresolved(ranks)
    step = max(1, HASHED_ENTRIES // A.shape[1])
    for start in range(0, len(unresolved), step):
        rows = unresolved[start : start + step]
        known = np.where(np.isnan(A[rows]), -np.inf, A[rows])
        middle = A.shape[1] // 2
        medians[rows] = np.partition(known, middle, axis=1)[:, middle]
    return rank_rows(ranks, medians[:, None])


def _refine(keys: Keys, A: Rows) -> Keys:
    """Keys that tell apart samples whose rows of a square matrix lead to different samples.

    Where all refinement leaves symmetric samples, such as corners of a square, one of them is
    given a key of its own, and the others are refined by it. Whichever it was, the matrix in the
    order of the keys is the same.
    """
    keys = _refine_by_sums(keys, A)
    if _count_distinct(keys) == len(keys):
        return keys
    content = hash_rows(A)  # rows that are equal entry by entry are duplicates: any order will do
    for number in range(MAX_SINGLED_OUT):
        order = np.lexsort([content, keys])
        alike = (np.diff(keys[order]) == 0) & (np.diff(content[order]) != 0)
        if not alike.any():
            break
        one = int(np.flatnonzero(keys == keys[order[alike.argmax()]])[0])
        keys[one] += np.uint64(number + 1)
        keys = _refine_by_sums(keys, A)
    return keys


def _refine_by_sums(keys: Keys, A: Rows) -> Keys:
    """Color refinement: again as long as it tells more samples apart."""
    n, count = len(keys), 0
    while (found := _count_distinct(keys)) > count and found < n:
        count = found
        keys = _mix(keys * _FACTORS[0] + _sum_rows(A, keys))
    return keys


def _sum_rows(A: Rows, keys: Keys) -> Keys:
    """For each row, the sum of a hash of every entry with the key of its column."""
    columns = keys * _FACTORS[1]
    sums = np.empty(len(keys), np.uint64)
    for start, stop in _blocks(A):
        if issparse(A):
            entries = slice(A.indptr[start], A.indptr[stop])
            words = _mix(_to_words(A.data[entries]) + columns[A.indices[entries]])
            total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(words, dtype=np.uint64)])
            ends = A.indptr[start : stop + 1] - A.indptr[start]
            sums[start:stop] = total[ends[1:]] - total[ends[:-1]]
        else:
            words = _to_words(A[start:stop])
            words += columns
            sums[start:stop] = _mix(words).sum(1, dtype=np.uint64)
    return sums


def _blocks(A: Rows) -> Iterator[tuple[int, int]]:
    """First and last row of blocks of about HASHED_ENTRIES entries."""
    n = A.shape[0]
    width = A.nnz / max(n, 1) if issparse(A) else A.shape[1]
    step = max(1, int(HASHED_ENTRIES / max(width, 1)))
    return ((start, min(n, start + step)) for start in range(0, n, step))


def _to_words(entries: Array) -> Keys:
    """Numbers as 64 bits: -0 as 0, and every NaN alike."""
    numbers = entries.astype(np.float64)
    numbers += 0.0
    words: Keys = numbers.view(np.uint64)
    missing = np.isnan(numbers)
    if missing.any():
        words[missing] = MISSING_WORD
    return words


def _mix(words: Keys) -> Keys:
    """Spread every bit over the word, in place (the finalizer of SplitMix64, shortened)."""
    words ^= words >> np.uint64(32)
    words *= _FACTORS[1]
    words ^= words >> np.uint64(29)
    return words


def _count_distinct(keys: Keys) -> int:
    return len(np.unique(keys))
