"""The neighbor graph: copies merged, pieces counted and joined."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from ..backends.protocol import Backend, Float64, Ragged
from ..distances.metrics import DistanceRelation, Listed
from ..errors import ApproximationWarning, DataError, DisconnectedGraphWarning, ParameterError, warn
from .bridges import shortest_bridges
from .search import TIE as TIE
from .search import others, size, some, within

OnDisconnected: TypeAlias = Literal["join", "error"]
MOST_PIECES = 5000
MOST_TIES = 10  # edges as long as the longest of their row, per ordinary one


class Graph(NamedTuple):
    """Neighbors of the distinct points, and what was done to make one graph of them.

    Point p of the graph stands for the rows with `place == p`; `first[p]` is the first of them and
    `mass[p]` their number. Row p of `edges` holds the distances to the neighbors of p.
    """

    base: DistanceRelation  # of the distinct points
    edges: csr_array
    first: NDArray[np.int64]
    place: NDArray[np.int64]
    mass: Float64
    recall: float  # share of the true neighbors among those found, 1 if the search was exact
    pieces: NDArray[np.int64]  # label per point, by size: 0 is the largest
    bridges: NDArray[np.int64]  # pairs of points

    @property
    def report(self) -> dict[str, Any]:
        """Attributes that every graph method has; they speak of rows, not of points."""
        report = {
            "n_graph_components": int(self.pieces.max()) + 1,
            "graph_components": self.pieces[self.place],
            "bridges": self.first[self.bridges],
            "n_distinct": len(self.first),
            "knn_recall": self.recall,
        }
        return report if len(self.first) == len(self.place) else {**report, "distinct": self.place}

    def lists(self) -> Ragged:
        """Neighbors of each point, nearest first."""
        return Ragged(self.edges.indptr.astype(np.int64), self.edges.indices.astype(np.int32))

    def lengths(self) -> csr_array:
        """Symmetric: an edge where either end has it."""
        return union(self.edges)

    def of_rows(self, lengths: csr_array) -> csr_array:
        """`lengths` between rows; a copy is tied to the first of its kind by a stored zero."""
        n = len(self.place)
        if len(self.first) == n:
            return lengths
        edges = lengths.tocoo()
        copies = np.setdiff1d(np.arange(n), self.first)
        originals = self.first[self.place[copies]]
        row = np.concatenate([self.first[edges.row], copies, originals])
        column = np.concatenate([self.first[edges.col], originals, copies])
        lengths = np.concatenate([edges.data, np.zeros(2 * len(copies))])
        return csr_array(coo_array((lengths, (row, column)), (n, n)))


class Distinct(NamedTuple):
    """Neighbors of the distinct points, before anything is joined; fields as in `Graph`."""

    base: DistanceRelation
    edges: csr_array
    first: NDArray[np.int64]
    place: NDArray[np.int64]
    mass: Float64
    recall: float = 1.0


def neighbor_graph(
    base: DistanceRelation,
    k: int | None,
    radius: float | None,
    ops: Backend,
    on_disconnected: OnDisconnected = "join",
    *,
    ties: bool = False,
    ready: csr_array | None = None,
) -> Graph:
    """The graph of k nearest neighbors, or of all within a radius, of the distinct points.

    With `ties` all points as near as the k-th count as neighbors, so that the graph does not
    depend on the order of the rows. `ready` holds neighbors that were found elsewhere (row i:
    distances to those of i, nearest first); then it alone says who is a copy of whom.
    """
    points = merged(base, ready) if ready is not None else distinct(base, k, radius, ops, ties)
    return connected(points, k, radius, ops, on_disconnected)


def distinct(
    base: DistanceRelation, k: int | None, radius: float | None, ops: Backend, ties: bool = False
) -> Distinct:
    """Merge copies of a point, and find the neighbors of what is left; one point has none."""
    n = size(base)
    alone = csr_array((1, 1)), 1.0
    edges, recall = alone if n == 1 else _edges(base, k, radius, ops, ties)
    first, place = _copies(edges)
    if len(first) < n:
        base = base.at(first)
        if len(first) == 1:
            edges, recall = alone
        elif k is not None and k >= len(first):
            raise ParameterError(
                f"n_neighbors={k}, but only {len(first)} of the {n} rows are distinct; "
                f"use n_neighbors={len(first) - 1} or less."
            )
        else:
            edges, recall = _edges(base, k, radius, ops, ties)
    mass = np.bincount(place, minlength=len(first)).astype(np.float64)
    if recall < 1:
        warn(
            f"the neighbors of {n} rows were searched approximately: {recall:.2%} are right "
            "in a sample that was searched exactly (knn_recall_).",
            ApproximationWarning,
        )
    return Distinct(base, edges, first, place, mass, recall)


def merged(base: DistanceRelation, edges: csr_array) -> Distinct:
    """The distinct points of a ready graph, with all edges of their copies.

    Of several edges between two points the shortest counts.
    """
    first, place = _copies(edges)
    count = len(first)
    mass = np.bincount(place, minlength=count).astype(np.float64)
    if count == len(place):
        return Distinct(base, edges, first, place, mass)
    rows = place[np.repeat(np.arange(edges.shape[0]), np.diff(edges.indptr))]
    cols = place[edges.indices]
    order = np.lexsort([edges.data, cols, rows])
    rows, cols, data = rows[order], cols[order], edges.data[order]
    kept = rows != cols
    kept[1:] &= (np.diff(rows) != 0) | (np.diff(cols) != 0)
    rows, cols, data = rows[kept], cols[kept], data[kept]
    order = np.lexsort([cols, data, rows])  # nearest first again
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))])
    edges = csr_array((data[order], cols[order], starts), shape=(count, count))
    return Distinct(base.at(first), edges, first, place, mass)


def connected(
    points: Distinct,
    k: int | None,
    radius: float | None,
    ops: Backend,
    on_disconnected: OnDisconnected,
) -> Graph:
    """Count the pieces, and join them if there are several."""
    base, edges, first, place, mass, recall = points
    pieces = _labels(edges)
    bridges = np.empty((0, 2), np.int64)
    if pieces.max(initial=0) > 0:
        edges, bridges = _joined(base, edges, pieces, mass, k, radius, ops, on_disconnected)
    return Graph(base, edges, first, place, mass, recall, pieces, bridges)


def union(edges: csr_array) -> csr_array:
    """The symmetric graph with an edge where either end has it; stored zeros stay edges."""
    # Numbers of the edges are combined in place of their lengths, of which some may be 0.
    numbers = np.arange(1, edges.nnz + 1, dtype=np.float64)
    one_way = csr_array((numbers, edges.indices, edges.indptr), edges.shape, copy=True)
    one_way.sort_indices()
    both = csr_array(one_way.maximum(csr_array(one_way.T)))
    lengths = edges.data[both.data.astype(np.int64) - 1]
    return csr_array((lengths, both.indices, both.indptr), edges.shape)


def _edges(
    base: DistanceRelation, k: int | None, radius: float | None, ops: Backend, ties: bool
) -> tuple[csr_array, float]:
    """Distances to the neighbors, and the recall of their search."""
    if radius is not None:
        return within(base, None, radius, ops), 1.0
    assert k is not None
    n = size(base)
    more = 1 if ties and k < n - 1 else 0
    near = others(base, k + more, ops)
    indices, distances = near.indices, near.distances
    starts = np.arange(0, n * k + 1, k)
    edges = csr_array((distances[:, :k].ravel(), indices[:, :k].ravel(), starts), shape=(n, n))
    if more:
        tied = np.flatnonzero(distances[:, k] <= distances[:, k - 1] * (1 + TIE[distances.dtype]))
        edges = _with_ties(base, edges, tied, distances[:, k - 1], ops)
    return edges, near.recall


def _with_ties(
    base: DistanceRelation,
    edges: csr_array,
    tied: NDArray[np.int64],
    reach: Float64,
    ops: Backend,
) -> csr_array:
    """Also the edges as long as the longest of their row.

    Where nearly all distances are the same (few values, many rows) that would be all pairs; then
    the first by number stay, as without ties.
    """
    items, n = base.everything(), edges.shape[0]
    step, found = max(1, 2**23 // n), 0
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64], Float64]] = []
    for b in range(0, len(tied), step):
        rows = tied[b : b + step]
        D = np.asarray(base.toward(some(items, rows), ops))
        near = reach[rows, None] * (1 + TIE[D.dtype]) >= D
        near[np.arange(len(rows)), rows] = False
        for r, row in enumerate(rows):
            near[r, edges.indices[edges.indptr[row] : edges.indptr[row + 1]]] = False
        at, other = np.nonzero(near)
        parts.append((rows[at], other, D[at, other].astype(np.float64)))
        found += len(at)
        if found > MOST_TIES * edges.nnz + 10**6:
            return edges
    if not found:
        return edges
    row, column, length = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return _with(edges, csr_array(coo_array((length, (row, column)), edges.shape)))


def _copies(edges: csr_array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First rows of the distinct points, and each row's point.

    Copies are at distance 0. Ragged are sorted by distance, then number, so every copy has the
    first of its group in its list (or is it): links of length 0 connect exactly the groups.
    """
    n = edges.shape[0]
    if edges.data.all():
        return np.arange(n), np.arange(n)
    zero = edges.data == 0
    rows = np.repeat(np.arange(n), np.diff(edges.indptr))[zero]
    links = coo_array((np.ones(len(rows)), (rows, edges.indices[zero])), (n, n))
    _, label = connected_components(links, directed=False)
    _, first, place = np.unique(label, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[place]


def _labels(edges: csr_array) -> NDArray[np.int64]:
    """The piece of each point."""
    return by_size(connected_components(edges, directed=False)[1])


def by_size(label: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Labels of pieces as numbers by size, then by first point: 0 is the largest."""
    _, first, sizes = np.unique(label, return_index=True, return_counts=True)
    order = np.lexsort([first, -sizes])
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return np.asarray(rank[label])


def _joined(
    base: DistanceRelation,
    edges: csr_array,
    pieces: NDArray[np.int64],
    mass: Float64,
    k: int | None,
    radius: float | None,
    ops: Backend,
    on_disconnected: OnDisconnected,
) -> tuple[csr_array, NDArray[np.int64]]:
    """Join the pieces by the fewest and shortest edges, and say so."""
    count = int(pieces.max()) + 1
    rows = np.bincount(pieces, mass).astype(int)
    shown = ", ".join(map(str, rows[:5])) + (", ..." if count > 5 else "")
    how = f"radius {radius:g}" if radius is not None else f"{k} neighbors" if k else "neighbors"
    found = f"the graph of {how} is in {count} pieces (rows: {shown})"
    more = "raise n_neighbors" if radius is None else "raise radius"
    if on_disconnected == "error" or count > MOST_PIECES:
        raise DataError(f"{found}; {more}, or fit the pieces one by one.")
    if isinstance(base, Listed):
        raise DataError(
            f"{found}, and a sparse graph does not say how far apart; {more} where it is made, or "
            "pass rows, and the graph as neighbors=."
        )
    joined = shortest_bridges(base, pieces, ops)
    warn(
        f"{found}; they were joined by their {joined}. What lies between pieces is a guess: {more},"
        " or fit them one by one.",
        DisconnectedGraphWarning,
    )
    pairs, gaps = joined.pairs, joined.lengths
    both = np.concatenate([pairs, pairs[:, ::-1]])
    extra = coo_array((np.concatenate([gaps, gaps]), (both[:, 0], both[:, 1])), edges.shape)
    return _with(edges, csr_array(extra)), pairs


def _with(edges: csr_array, extra: csr_array) -> csr_array:
    """Both sets of edges, which share none; each row keeps its order, the extra ones last."""
    lengths = np.diff(edges.indptr) + np.diff(extra.indptr)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    data, indices = np.empty(starts[-1]), np.empty(starts[-1], np.int32)
    for part, shift in ((edges, np.zeros(len(lengths), np.int64)), (extra, np.diff(edges.indptr))):
        size = np.diff(part.indptr)
        at = np.arange(part.nnz) - np.repeat(part.indptr[:-1], size)
        at = at + np.repeat(starts[:-1] + shift, size)
        data[at], indices[at] = part.data, part.indices
    return csr_array((data, indices, starts), shape=edges.shape)
