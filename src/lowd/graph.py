"""The neighbor graph: copies merged, pieces counted and joined."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from .backends.protocol import Backend, Float64, Lists
from .errors import DataError, DisconnectedGraphWarning, ParameterError, warn
from .relations.distances import DistanceRelation
from .relations.neighbors import len_of, others, size, some, within

OnDisconnected: TypeAlias = Literal["join", "error"]
MOST_PIECES = 5000


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
    pieces: NDArray[np.int64]  # label per point, by size: 0 is the largest
    bridges: NDArray[np.int64]  # pairs of points

    @property
    def report(self) -> dict[str, Any]:
        """Attributes that every graph method has; they speak of rows, not of points."""
        return {
            "n_graph_components": int(self.pieces.max()) + 1,
            "graph_components": self.pieces[self.place],
            "bridges": self.first[self.bridges],
            "n_distinct": len(self.first),
        }

    def lists(self) -> Lists:
        """Neighbors of each point, nearest first."""
        return Lists(self.edges.indptr.astype(np.int64), self.edges.indices.astype(np.int32))

    def lengths(self) -> csr_array:
        """Symmetric: an edge where either end has it."""
        return union(self.edges)


def neighbor_graph(
    base: DistanceRelation,
    k: int | None,
    radius: float | None,
    ops: Backend,
    on_disconnected: OnDisconnected = "join",
) -> Graph:
    """The graph of k nearest neighbors, or of all within a radius, of the distinct points."""
    edges = _edges(base, k, radius, ops)
    n = edges.shape[0]
    first, place = _copies(edges)
    if len(first) < n:
        if k is not None and k >= len(first):
            raise ParameterError(
                f"n_neighbors={k}, but only {len(first)} of the {n} rows are distinct; "
                f"use n_neighbors={len(first) - 1} or less."
            )
        base = base.at(first)
        edges = _edges(base, k, radius, ops)
    mass = np.bincount(place, minlength=len(first)).astype(np.float64)
    pieces = _labels(edges)
    bridges = np.empty((0, 2), np.int64)
    if pieces.max(initial=0) > 0:
        edges, bridges = _joined(base, edges, pieces, mass, k, radius, ops, on_disconnected)
    return Graph(base, edges, first, place, mass, pieces, bridges)


def union(edges: csr_array) -> csr_array:
    """The symmetric graph with an edge where either end has it."""
    ones = csr_array((np.ones(edges.nnz), edges.indices, edges.indptr), edges.shape)
    count = csr_array(ones + ones.T)
    # Sums of stored zeros would vanish from a sparse sum: lengths are shifted by one, and back.
    shifted = csr_array((edges.data + 1, edges.indices, edges.indptr), edges.shape)
    total = csr_array(shifted + shifted.T)
    count.sort_indices()
    total.sort_indices()
    lengths = np.where(count.data > 1, total.data / count.data, total.data) - 1
    return csr_array((lengths, total.indices, total.indptr), edges.shape)


def _edges(base: DistanceRelation, k: int | None, radius: float | None, ops: Backend) -> csr_array:
    if radius is not None:
        return within(base, None, radius, ops)
    assert k is not None
    near = others(base, k, ops)
    n = len(near.indices)
    starts = np.arange(0, n * k + 1, k)
    return csr_array((near.distances.ravel(), near.indices.ravel(), starts), shape=(n, n))


def _copies(edges: csr_array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First rows of the distinct points, and each row's point.

    Copies are at distance 0. Lists are sorted by distance, then number, so every copy has the
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
    """The piece of each point; pieces are numbered by size, then by their first point."""
    count, label = connected_components(edges, directed=False)
    sizes = np.bincount(label, minlength=count)
    _, first = np.unique(label, return_index=True)
    order = np.lexsort([first, -sizes])
    rank = np.empty(count, np.int64)
    rank[order] = np.arange(count)
    return rank[label]


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
    how = f"{k} neighbors" if radius is None else f"radius {radius:g}"
    found = f"the graph of {how} is in {count} pieces (rows: {shown})"
    more = "raise n_neighbors" if radius is None else "raise radius"
    if on_disconnected == "error" or count > MOST_PIECES:
        raise DataError(f"{found}; {more}, or fit the pieces one by one.")
    pairs, gaps = shortest_bridges(base, pieces, ops)
    warn(
        f"{found}; they were joined by their {len(pairs)} shortest edges (up to {gaps.max():.3g} "
        f"long). What lies between pieces is a guess: {more}, or fit them one by one.",
        DisconnectedGraphWarning,
    )
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


def shortest_bridges(
    base: DistanceRelation, pieces: NDArray[np.int64], ops: Backend
) -> tuple[NDArray[np.int64], Float64]:
    """The fewest and shortest edges that join all pieces, and their lengths.

    Every pair of pieces has one that is not the largest, so distances from the points outside the
    largest piece are enough.
    """
    count, n = int(pieces.max()) + 1, size(base)
    best = np.full((count, count), np.inf)
    ends = np.zeros((count, count, 2), np.int64)
    by_piece = np.argsort(pieces, kind="stable")
    starts = np.searchsorted(pieces[by_piece], np.arange(count))
    small = np.flatnonzero(pieces > 0)
    step = max(1, 2**23 // n)
    items = base.everything()
    assert len_of(items) == n
    for b in range(0, len(small), step):
        rows = small[b : b + step]
        D = np.asarray(base.toward(some(items, rows), ops), np.float64)[:, by_piece]
        least = np.minimum.reduceat(D, starts, axis=1)
        for r, row in enumerate(rows):
            mine = pieces[row]
            better = np.flatnonzero(least[r] < best[mine])
            for other in better[better != mine]:
                end = starts[other + 1] if other + 1 < count else n
                at = starts[other] + int(np.argmin(D[r, starts[other] : end]))
                best[mine, other] = best[other, mine] = least[r, other]
                ends[mine, other] = row, by_piece[at]
                ends[other, mine] = by_piece[at], row
    # A tree over pieces; lengths of 0 would be no edges to SciPy, so it gets their ranks.
    upper = np.triu_indices(count, 1)
    order = np.argsort(best[upper], kind="stable")
    rank = np.zeros((count, count))
    rank[upper[0][order], upper[1][order]] = np.arange(1, len(order) + 1)
    a, b_ = minimum_spanning_tree(csr_array(rank)).nonzero()
    chosen = np.lexsort([b_, a])
    pairs = ends[a[chosen], b_[chosen]]
    return pairs, best[a[chosen], b_[chosen]]
