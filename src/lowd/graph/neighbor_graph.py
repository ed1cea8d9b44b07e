"""The neighbor graph of the samples: k nearest or within a radius, distinct points, connected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from ..backends.protocol import Backend, Float64, Ragged
from ..distances.protocol import DistanceRelation
from ..domains import advise_at_most
from ..errors import ApproximationWarning, ParameterError, warn
from ..input.sample import take_rows
from .components import OnDisconnected, append_edges, join_components, label_components
from .duplicates import DistinctPoints, group_duplicates
from .search import BLOCK_ENTRIES, TIE_TOLERANCE, count_points, find_neighbors, find_within

# Where nearly all distances are equal, edges to all ties would be all pairs of points.
MAX_TIES_PER_EDGE = 10
MAX_TIES = 10**6  # that are always affordable


#: Neighbors of each point: a number, or what gives it for so many points.
NeighborCount: TypeAlias = int | Callable[[int], int]


class ConnectedGraph(NamedTuple):
    """The neighbor graph of the distinct points, with bridges between its components.

    The first fields are those of `DistinctPoints`. Bridges are the last edges of their rows.
    """

    base: DistanceRelation
    edges: csr_array
    first_row: NDArray[np.int64]
    point_of_row: NDArray[np.int64]
    counts: Float64
    recall: float
    components: NDArray[np.int64]  # label per point, by size: 0 is the largest
    bridges: NDArray[np.int64]  # pairs of points
    unbridged: csr_array  # the edges without bridges

    @property
    def n_points(self) -> int:
        return len(self.first_row)

    @property
    def n_rows(self) -> int:
        return len(self.point_of_row)

    @property
    def has_duplicates(self) -> bool:
        return self.n_points < self.n_rows

    @property
    def report(self) -> dict[str, Any]:
        """Learned attributes that every graph method has; they speak of rows, not of points."""
        report = {
            "n_graph_components": int(self.components.max()) + 1,
            "graph_components": self.components[self.point_of_row],
            "bridges": self.first_row[self.bridges],
            "n_distinct": self.n_points,
            "knn_recall": self.recall,
        }
        return {**report, "distinct": self.point_of_row} if self.has_duplicates else report

    def neighbor_lists(self) -> Ragged:
        """Neighbors of each point, nearest first."""
        return Ragged(self.edges.indptr.astype(np.int64), self.edges.indices.astype(np.int32))

    def symmetric_edges(self) -> csr_array:
        """Edge lengths, symmetric: an edge where either end has it."""
        return symmetrize_edges(self.edges)

    def expand_to_rows(self, lengths: csr_array) -> csr_array:
        """Edge lengths between rows; a duplicate has an edge of length 0 to its first row."""
        n = self.n_rows
        if not self.has_duplicates:
            return lengths
        edges = lengths.tocoo()
        duplicates = np.setdiff1d(np.arange(n), self.first_row)
        originals = self.first_row[self.point_of_row[duplicates]]
        row = np.concatenate([self.first_row[edges.row], duplicates, originals])
        column = np.concatenate([self.first_row[edges.col], originals, duplicates])
        lengths = np.concatenate([edges.data, np.zeros(2 * len(duplicates))])
        return csr_array(coo_array((lengths, (row, column)), (n, n)))


def find_distinct(
    base: DistanceRelation,
    k: NeighborCount | None,
    radius: float | None,
    ops: Backend,
    include_ties: bool = False,
) -> DistinctPoints:
    """Merge duplicates, and find the neighbors of the distinct points; a single point has none.

    k nearest neighbors, or all within a radius. With `include_ties` all points as near as the k-th
    are neighbors, so that the lists do not depend on the order of the rows.
    """
    n = count_points(base)
    alone = csr_array((1, 1)), 1.0
    edges, recall = alone if n == 1 else _find_edges(base, k, radius, ops, include_ties)
    first_row, point_of_row = group_duplicates(edges)
    count = len(first_row)
    if count < n:
        base = base.take(first_row)
        if count == 1:
            edges, recall = alone
        elif isinstance(k, int) and k >= count:
            raise ParameterError(
                f"n_neighbors={k}, but only {count} of the {n} rows are distinct; "
                f"use {advise_at_most('n_neighbors', count - 1)}."
            )
        else:
            edges, recall = _find_edges(base, k, radius, ops, include_ties)
    counts = np.bincount(point_of_row, minlength=count).astype(np.float64)
    return DistinctPoints(base, edges, first_row, point_of_row, counts, recall)


def connect(
    points: DistinctPoints,
    k: int | None,
    radius: float | None,
    ops: Backend,
    on_disconnected: OnDisconnected = "join",
) -> ConnectedGraph:
    """The graph with its components labeled, and connected by bridges if there are several."""
    if points.recall < 1:
        warn(
            f"the neighbors of {points.n_rows} rows were searched approximately: "
            f"{points.recall:.2%} are right in a sample that was searched exactly (knn_recall_).",
            ApproximationWarning,
        )
    components = label_components(points.edges)
    edges, bridges = points.edges, np.empty((0, 2), np.int64)
    if components.max(initial=0) > 0:
        edges, bridges = join_components(points, components, k, radius, ops, on_disconnected)
    return ConnectedGraph(*points._replace(edges=edges), components, bridges, points.edges)


def symmetrize_edges(edges: csr_array) -> csr_array:
    """The symmetric graph with an edge where either end has it; stored zeros stay edges."""
    # Indices of the edges are combined instead of their lengths, of which some may be 0.
    small = edges.nnz < np.iinfo(np.int32).max
    numbers = np.arange(1, edges.nnz + 1, dtype=np.int32 if small else np.int64)
    one_way = csr_array((numbers, edges.indices, edges.indptr), edges.shape, copy=True)
    one_way.sort_indices()
    both = csr_array(one_way.maximum(csr_array(one_way.T)))
    lengths = edges.data[both.data - 1]
    return csr_array((lengths, both.indices, both.indptr), edges.shape)


def _find_edges(
    base: DistanceRelation,
    k: NeighborCount | None,
    radius: float | None,
    ops: Backend,
    include_ties: bool,
) -> tuple[csr_array, float]:
    """Distances to the neighbors, and the recall of their search."""
    if radius is not None:
        return find_within(base, None, radius, ops), 1.0
    assert k is not None
    n = count_points(base)
    k = k(n) if callable(k) else k
    more = 1 if include_ties and k < n - 1 else 0
    near = find_neighbors(base, k + more, ops)
    indices, distances = near.indices, near.distances
    # Of the type of the indices: SciPy would search and convert both.
    kind = np.int32 if n * k < np.iinfo(np.int32).max else np.int64
    indptr = np.arange(0, n * k + 1, k, dtype=kind)
    edges = csr_array((distances[:, :k].ravel(), indices[:, :k].ravel(), indptr), shape=(n, n))
    if more:
        radii = distances[:, k - 1]
        tied = np.flatnonzero(distances[:, k] <= radii * (1 + TIE_TOLERANCE[distances.dtype]))
        edges = _append_ties(base, edges, tied, radii, ops)
    return edges, near.recall


def _append_ties(
    base: DistanceRelation,
    edges: csr_array,
    tied: NDArray[np.int64],
    radii: Float64,
    ops: Backend,
) -> csr_array:
    """Also the edges as long as the kth distance of their row.

    Where nearly all distances are equal (few values, many rows) that would be all pairs; then the
    first by index stay, as without ties.
    """
    items, n = base.training_points(), edges.shape[0]
    step, found = max(1, BLOCK_ENTRIES // n), 0
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64], Float64]] = []
    for b in range(0, len(tied), step):
        rows = tied[b : b + step]
        D = np.asarray(base.toward(take_rows(items, rows), ops))
        near = radii[rows, None] * (1 + TIE_TOLERANCE[D.dtype]) >= D
        near[np.arange(len(rows)), rows] = False
        for r, row in enumerate(rows):
            near[r, edges.indices[edges.indptr[row] : edges.indptr[row + 1]]] = False
        at, other = np.nonzero(near)
        parts.append((rows[at], other, D[at, other].astype(np.float64)))
        found += len(at)
        if found > MAX_TIES_PER_EDGE * edges.nnz + MAX_TIES:
            return edges
    if not found:
        return edges
    row, column, length = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return append_edges(edges, csr_array(coo_array((length, (row, column)), edges.shape)))
