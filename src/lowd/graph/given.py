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
    rows, cols, data = _sorted(lists)
    if radius is not None:
        kept = data <= radius
    else:
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
        kept = np.arange(len(rows)) - lists.indptr[rows] < k
    return _made(rows[kept], cols[kept], data[kept], lists.shape)


def cut_listed(
    lists: csr_array, k: int | None, radius: float | None = None, tolerance: float | None = None
) -> csr_array:
    """The k nearest of sorted lists, or those within a radius but at least one; short ones stay.

    `tolerance`: those farther by so much of the radius, or of the k-th distance, count as well.
    """
    counts = np.diff(lists.indptr)
    rank = np.arange(lists.nnz) - np.repeat(lists.indptr[:-1], counts)
    if radius is not None:
        kept = (lists.data <= radius * (1 + (tolerance or 0))) | (rank == 0)
    else:
        assert k is not None
        if counts.max(initial=0) <= k:
            return lists
        kept = rank < k
        if tolerance is not None:
            last = lists.data[lists.indptr[:-1] + np.minimum(counts, k) - 1]
            kept |= lists.data <= np.repeat(last * (1 + tolerance), counts)
    indptr = np.concatenate([[0], np.cumsum(kept)])[lists.indptr]
    return csr_array((lists.data[kept], lists.indices[kept], indptr), lists.shape)


def reorder_listed(lists: csr_array, order: NDArray[np.int64]) -> csr_array:
    """The lists of the rows in another order, which also numbers their neighbors."""
    some = csr_array(lists[order])
    some = csr_array((some.data, invert_order(order)[some.indices], some.indptr), some.shape)
    rows, cols, data = _sorted(some)
    return _made(rows, cols, data, lists.shape)


def merge_listed_duplicates(lists: csr_array, point_of_row: NDArray[np.int64]) -> csr_array:
    """Ragged of rows as lists of the distinct points that they are, each once, nearest first."""
    shape = lists.shape[0], int(point_of_row.max()) + 1
    points = point_of_row[lists.indices].astype(np.int32)
    rows, cols, data = _sorted(csr_array((lists.data, points, lists.indptr), shape))
    first = np.unique(rows * shape[1] + cols, return_index=True)[1]
    first.sort()
    return _made(rows[first], cols[first], data[first], shape)


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
    rows, cols, data = _sorted(lists)
    other = rows != cols
    held = np.bincount(rows[other], minlength=lists.shape[0])
    most = int(held.max(initial=0))
    if not ragged and not other.all():
        most = int(np.diff(lists.indptr).max()) - 1
    if most == 0:
        raise DataError("neighbors: no row has a neighbor other than itself.")
    rows, cols, data = rows[other], cols[other], data[other]
    starts = np.concatenate([[0], np.cumsum(held)])
    at = np.arange(len(rows)) - starts[rows]
    kept = at < most
    indices = np.full((lists.shape[0], most), -1, np.int32)
    distances = np.full(indices.shape, np.inf)
    indices[rows[kept], at[kept]], distances[rows[kept], at[kept]] = cols[kept], data[kept]
    return indices, distances


def _sorted(lists: csr_array) -> tuple[NDArray[np.int64], Ints, Float64]:
    """Row, column and distance of every entry: by row, then distance, then column."""
    rows = np.repeat(np.arange(lists.shape[0]), np.diff(lists.indptr))
    order = np.lexsort([lists.indices, lists.data, rows])
    return rows, lists.indices[order], lists.data[order]


def _sparse(indices: NDArray[Any], distances: Float64, n: int) -> csr_array:
    """Rectangular arrays as sparse rows, without their padding."""
    there = indices >= 0
    starts = np.concatenate([[0], np.cumsum(there.sum(1))])
    return csr_array(
        (distances[there], indices[there].astype(np.int32), starts), shape=(len(indices), n)
    )


def _made(rows: NDArray[np.int64], cols: Ints, data: Float64, shape: tuple[int, int]) -> csr_array:
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))])
    return csr_array((data, cols, starts), shape=shape)
