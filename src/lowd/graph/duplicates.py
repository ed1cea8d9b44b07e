"""Duplicate samples merged into distinct points with multiplicities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from ..backends.protocol import Float64
from ..distances.precomputed import NeighborListDistances
from ..distances.protocol import DistanceRelation


class DistinctPoints(NamedTuple):
    """The distinct samples and the edges to their neighbors; nothing is connected yet.

    Point p stands for the samples with `point_of_row == p`; `first_row[p]` is the first of them and
    `counts[p]` their number. Row p of `edges` holds the distances to the neighbors of p, nearest
    first.
    """

    base: DistanceRelation  # of the distinct points
    edges: csr_array
    first_row: NDArray[np.int64]
    point_of_row: NDArray[np.int64]
    counts: Float64
    recall: float = 1.0  # share of the true neighbors that the search has found

    @classmethod
    def unmerged(cls, n: int) -> DistinctPoints:
        """n samples without known distances, none of which can be seen to be a duplicate."""
        every = np.arange(n)
        return cls(NeighborListDistances(n), csr_array((n, n)), every, every, np.ones(n))

    @property
    def n_points(self) -> int:
        return len(self.first_row)

    @property
    def n_rows(self) -> int:
        return len(self.point_of_row)


def merge_duplicates(base: DistanceRelation, edges: csr_array) -> DistinctPoints:
    """The distinct points of a graph, with the edges of all their duplicates.

    Of several edges between two points the shortest counts.
    """
    first_row, point_of_row = group_duplicates(edges)
    count = len(first_row)
    counts = np.bincount(point_of_row, minlength=count).astype(np.float64)
    if count == len(point_of_row):
        return DistinctPoints(base, edges, first_row, point_of_row, counts)
    rows = point_of_row[np.repeat(np.arange(edges.shape[0]), np.diff(edges.indptr))]
    cols = point_of_row[edges.indices]
    order = np.lexsort([edges.data, cols, rows])
    rows, cols, data = rows[order], cols[order], edges.data[order]
    kept = rows != cols
    kept[1:] &= (np.diff(rows) != 0) | (np.diff(cols) != 0)
    rows, cols, data = rows[kept], cols[kept], data[kept]
    order = np.lexsort([cols, data, rows])  # nearest first again
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))])
    edges = csr_array((data[order], cols[order], indptr), shape=(count, count))
    return DistinctPoints(base.take(first_row), edges, first_row, point_of_row, counts)


def group_duplicates(edges: csr_array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First row of each distinct point, and the point of each row.

    Duplicates are at distance 0. Neighbors are sorted by distance, then index, so every duplicate
    has the first row of its group among its neighbors (or is it): edges of length 0 connect exactly
    the groups.
    """
    n = edges.shape[0]
    nearest = edges.data[edges.indptr[:-1][np.diff(edges.indptr) > 0]]
    if nearest.all():
        return np.arange(n), np.arange(n)
    zero = edges.data == 0
    rows = np.repeat(np.arange(n), np.diff(edges.indptr))[zero]
    links = coo_array((np.ones(len(rows)), (rows, edges.indices[zero])), (n, n))
    _, label = connected_components(links, directed=False)
    _, first_row, point = np.unique(label, return_index=True, return_inverse=True)
    order = np.argsort(first_row)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first_row[order], rank[point]
