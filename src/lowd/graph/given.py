"""Neighbor graphs found elsewhere: scikit-learn's, umap's, scanpy's; checked, and as ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from ..backends.protocol import Float64, Ints
from ..domains import AtLeast, Index, MayBeNonfinite, Shape
from ..errors import DataError, ParameterError
from ..input.row_order import invert_order
from ..values import value

RUN_ENTRIES = 2**22  # entries of a graph that are sorted or counted at a time


@value
class NeighborGraph:
    """The nearest others of each row, nearest first.

    It unpacks to `indices, distances`, as umap's pair does. A row with fewer neighbors than the
    others ends in -1 at an infinite distance. No row is its own neighbor.

    Attributes
    ----------
    indices : whole numbers, rows x n_neighbors
    distances : float64, of the same shape
    recall : share of the true neighbors that a search for approximate ones has found; 1 if exact

    Examples
    --------
    >>> import lowd
    >>> indices, distances = lowd.neighbors([[0.0], [1.0], [3.0]], 1)
    >>> indices.ravel(), distances.ravel()
    (array([1, 0, 1], dtype=int32), array([1., 1., 2.]))
    """

    indices: Annotated[Ints, Shape("n", "neighbors"), Index("n", least=-1)]
    distances: Annotated[Float64, Shape("n", "neighbors"), AtLeast(0), MayBeNonfinite()]
    recall: float = 1.0

    def __iter__(self) -> Iterator[Any]:
        return iter((self.indices, self.distances))

    @property
    def n_neighbors(self) -> int:
        return int(self.indices.shape[1])

    def graph(self) -> csr_array:
        """Sparse distances as of scikit-learn's KNeighborsTransformer: each row leads with itself.

        >>> import lowd
        >>> lowd.neighbors([[0.0], [1.0], [3.0]], 1).graph().indices.tolist()
        [0, 1, 1, 0, 2, 1]
        """
        n = len(self.indices)
        own = np.arange(n, dtype=np.int32)[:, None]
        return _sparse(
            np.hstack([own, self.indices]), np.hstack([np.zeros((n, 1)), self.distances]), n
        )

    def edges(self) -> csr_array:
        """Sparse distances to the neighbors only; stored zeros are distances."""
        return _sparse(self.indices, self.distances, len(self.indices))

    def with_self(self) -> tuple[Ints, Float64]:
        """The pair as umap takes it: each row's first neighbor is itself."""
        n = len(self.indices)
        own = np.arange(n, dtype=np.int32)[:, None]
        return np.hstack([own, self.indices]), np.hstack([np.zeros((n, 1)), self.distances])

    @classmethod
    def of(cls, given: object, n: int | None = None) -> NeighborGraph:
        """A graph of n rows: one of ours, a square sparse matrix of distances, or a pair.

        Sparse: of scikit-learn's KNeighborsTransformer(mode="distance") or scanpy's
        `obsp["distances"]`. A pair holds (indices, distances), with or without each row itself.

        >>> import lowd
        >>> lowd.NeighborGraph.of(([[0, 1], [1, 0]], [[0.0, 2.0], [0.0, 2.0]])).indices
        array([[1],
               [0]], dtype=int32)
        """
        if isinstance(given, cls):
            found = given
        else:
            lists = _lists(given)
            if lists.shape[0] != lists.shape[1]:
                raise DataError(
                    f"a neighbor graph is square (rows x rows), got shape {lists.shape}; for new "
                    "rows pass it to transform."
                )
            found = cls(*_without_self(lists, ragged=issparse(given)))
        if n is not None and len(found.indices) != n:
            raise DataError(
                f"neighbors has {len(found.indices)} rows, but X has {n}; make it from the same X."
            )
        return found


def check_lists_toward(given: object, m: int, n: int) -> csr_array:
    """Checked neighbors of m new rows among n training rows, as sparse rows of distances."""
    lists = _lists(given, n)
    if lists.shape != (m, n):
        raise DataError(
            f"neighbors of {m} new rows among {n} training rows, but got shape {lists.shape}."
        )
    isolated = np.flatnonzero(np.diff(lists.indptr) == 0)
    if len(isolated):
        raise DataError(f"neighbors: row {isolated[0]} has none; every new row needs at least one.")
    return lists


def select_listed(
    lists: csr_array, k: int | None, radius: float | None, counts_itself: bool = False
) -> csr_array:
    """The k nearest of each list, or those within a radius, sorted; every row must have enough.

    `counts_itself`: the parameter n_neighbors is one more than k.
    """
    lists = _sort_lists(lists)
    if radius is not None:
        return _keep(lists, lists.data <= radius)
    assert k is not None
    counts = np.diff(lists.indptr)
    if counts.min(initial=k) < k:
        short = int(counts.argmin())
        asked, most = k + counts_itself, int(counts[short]) + counts_itself
        fewer = f"n_neighbors={most}, or " if counts[short] else ""
        others = " others, the row itself not counted" if counts_itself else ""
        raise ParameterError(
            f"n_neighbors={asked}, but row {short} of the graph holds {counts[short]}{others}; "
            f"use {fewer}a graph of more neighbors."
        )
    return lists if counts.max(initial=k) == k else _keep(lists, _rank_entries(lists) < k)


def cut_listed(
    lists: csr_array, k: int | None, radius: float | None = None, tolerance: float | None = None
) -> csr_array:
    """The k nearest of sorted lists, or those within a radius but at least one; short ones stay.

    `tolerance`: those farther by so much of the radius, or of the k-th distance, count as well.
    """
    counts = np.diff(lists.indptr)
    if radius is not None:
        kept = (lists.data <= radius * (1 + (tolerance or 0))) | (_rank_entries(lists) == 0)
    else:
        assert k is not None
        if counts.max(initial=0) <= k:
            return lists
        kept = _rank_entries(lists) < k
        if tolerance is not None:
            last = lists.data[lists.indptr[:-1] + np.minimum(counts, k) - 1]
            kept |= lists.data <= np.repeat(last * (1 + tolerance), counts)
    return _keep(lists, kept)


def reorder_listed(lists: csr_array, order: NDArray[np.int64]) -> csr_array:
    """The lists of the rows in another order, which also numbers their neighbors."""
    some = csr_array(lists[order])
    number = invert_order(order).astype(np.int32)
    return _sort_lists(csr_array((some.data, number[some.indices], some.indptr), some.shape))


def merge_listed_duplicates(lists: csr_array, point_of_row: NDArray[np.int64]) -> csr_array:
    """Ragged of rows as lists of the distinct points that they are, each once, nearest first."""
    shape = lists.shape[0], int(point_of_row.max()) + 1
    points = point_of_row[lists.indices].astype(np.int32)
    lists = _sort_lists(csr_array((lists.data, points, lists.indptr), shape))
    rows = np.repeat(np.arange(shape[0]), np.diff(lists.indptr))
    first = np.zeros(lists.nnz, bool)
    first[np.unique(rows * shape[1] + lists.indices, return_index=True)[1]] = True
    return _keep(lists, first)


def _lists(given: object, n: int | None = None) -> csr_array:
    """Any form of graph as checked sparse rows; stored zeros stay."""
    if issparse(given):
        lists = csr_array(given, copy=True)
        lists.sum_duplicates()
        lists = csr_array((lists.data.astype(np.float64), lists.indices, lists.indptr), lists.shape)
    elif isinstance(given, NeighborGraph):
        lists = given.edges()
    else:
        lists = _of_pair(given, n)
    bad = ~(np.isfinite(lists.data) & (lists.data >= 0))
    if bad.any():
        at = int(bad.argmax())
        row = int(np.searchsorted(lists.indptr, at, side="right") - 1)
        raise DataError(
            f"neighbors: the distance of row {row} to row {lists.indices[at]} is {lists.data[at]}; "
            "distances are finite and not negative."
        )
    return lists


def _of_pair(given: object, n: int | None) -> csr_array:
    try:
        indices, distances = (
            np.asarray(part) for part in tuple(cast(Iterable[ArrayLike], given))[:2]
        )
    except (TypeError, ValueError):
        raise DataError(
            "neighbors must be a NeighborGraph, a sparse matrix of distances or a pair (indices, "
            f"distances), got {type(given).__name__}."
        ) from None
    if indices.ndim != 2 or indices.shape != distances.shape or indices.dtype.kind not in "iu":
        raise DataError(
            "neighbors: a pair holds whole numbers and distances of one shape, rows x n_neighbors; "
            f"got {indices.dtype} {indices.shape} and {distances.dtype} {distances.shape}."
        )
    n = len(indices) if n is None else n
    out = (indices < -1) | (indices >= n)
    if out.any():
        row, column = map(int, np.argwhere(out)[0])
        raise DataError(
            f"neighbors: row {row} names row {indices[row, column]}, but there are {n} rows."
        )
    ordered = np.sort(indices, axis=1)
    twice = (np.diff(ordered, axis=1) == 0) & (ordered[:, 1:] >= 0)
    if twice.any():
        row, column = map(int, np.argwhere(twice)[0])
        raise DataError(f"neighbors: row {row} names row {ordered[row, column]} twice.")
    return _sparse(indices, distances.astype(np.float64), n)


def _without_self(lists: csr_array, *, ragged: bool) -> tuple[Ints, Float64]:
    """Rectangular arrays, sorted, each row without itself.

    In a pair that counts the row itself, duplicates may stand instead of it: such a row loses its
    farthest neighbor, so that all keep equally many.
    """
    lists, n = _sort_lists(lists), lists.shape[0]
    longest = int(np.diff(lists.indptr).max(initial=0))
    other = np.empty(lists.nnz, bool)
    for part, rows in _runs_of_rows(lists.indptr):
        other[part] = lists.indices[part] != rows
    has_self = not other.all()
    lists = _keep(lists, other) if has_self else lists
    held = np.diff(lists.indptr)
    most = longest - 1 if has_self and not ragged else int(held.max(initial=0))
    if most == 0:
        raise DataError("neighbors: no row has a neighbor other than itself.")
    if (held == most).all():
        return lists.indices.astype(np.int32, copy=False).reshape(n, most), lists.data.reshape(
            n, most
        )
    indices, distances = np.full((n, most), -1, np.int32), np.full((n, most), np.inf)
    for part, rows in _runs_of_rows(lists.indptr):
        at = np.arange(part.start, part.stop) - lists.indptr[rows]
        kept = at < most
        rows, at = rows[kept], at[kept]
        indices[rows, at] = lists.indices[part][kept]
        distances[rows, at] = lists.data[part][kept]
    return indices, distances


def _sort_lists(lists: csr_array) -> csr_array:
    """Each row by distance, then column; the lists themselves if they are."""
    if all(_is_sorted(lists, part, rows) for part, rows in _runs_of_rows(lists.indptr)):
        return lists
    indices, data = np.empty_like(lists.indices), np.empty_like(lists.data)
    for part, rows in _runs_of_rows(lists.indptr):
        columns, distances = lists.indices[part], lists.data[part]
        order = np.lexsort([columns, distances, rows])
        indices[part], data[part] = columns[order], distances[order]
    return csr_array((data, indices, lists.indptr), shape=lists.shape)


def _is_sorted(lists: csr_array, part: slice, rows: NDArray[np.int64]) -> bool:
    columns, distances = lists.indices[part], lists.data[part]
    ahead = distances[1:] > distances[:-1]
    ahead |= (distances[1:] == distances[:-1]) & (columns[1:] > columns[:-1])
    ahead |= rows[1:] != rows[:-1]
    return bool(ahead.all())


def _keep(lists: csr_array, kept: NDArray[np.bool_]) -> csr_array:
    """Some entries of each row."""
    counts = np.zeros(lists.shape[0] + 1, np.int64)
    for part, rows in _runs_of_rows(lists.indptr):
        if len(rows):
            some = np.bincount(rows[kept[part]] - rows[0])
            counts[1 + rows[0] : 1 + rows[0] + len(some)] = some
    return csr_array((lists.data[kept], lists.indices[kept], np.cumsum(counts)), shape=lists.shape)


def _rank_entries(lists: csr_array) -> NDArray[np.int64]:
    """Of each entry, how many of its row come before it."""
    return np.asarray(
        np.arange(lists.nnz) - np.repeat(lists.indptr[:-1], np.diff(lists.indptr)), np.int64
    )


def _runs_of_rows(indptr: NDArray[Any]) -> Iterator[tuple[slice, NDArray[np.int64]]]:
    """Entries of whole rows, some at a time, and the row of each.

    The numbers of the rows of all entries would be as large as the graph itself.
    """
    first, n = 0, len(indptr) - 1
    while first < n:
        end = int(np.searchsorted(indptr, indptr[first] + RUN_ENTRIES, side="right")) - 1
        last = max(first + 1, min(end, n))
        rows = np.repeat(np.arange(first, last), np.diff(indptr[first : last + 1]))
        yield slice(int(indptr[first]), int(indptr[last])), rows
        first = last


def _sparse(indices: NDArray[Any], distances: Float64, n: int) -> csr_array:
    """Rectangular arrays as sparse rows, without their padding."""
    there = indices >= 0
    starts = np.concatenate([[0], np.cumsum(there.sum(1))])
    return csr_array(
        (distances[there], indices[there].astype(np.int32), starts), shape=(len(indices), n)
    )
