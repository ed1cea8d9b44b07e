"""Connected components of a neighbor graph, and the bridges that connect them."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from ..backends.protocol import Backend
from ..distances.precomputed import NeighborListDistances
from ..distances.protocol import DistanceRelation
from ..errors import DataError, DisconnectedGraphWarning, warn
from .bridges import find_bridges
from .duplicates import DistinctPoints

OnDisconnected: TypeAlias = Literal["join", "error"]
# Beyond, the distances between all pairs of components take gigabytes, and no one reads the map.
MAX_COMPONENTS = 5000
SHOWN_SIZES = 5  # component sizes that a message lists


def label_components(edges: csr_array) -> NDArray[np.int64]:
    """The connected component of each point; 0 is the largest."""
    return rank_by_size(connected_components(edges, directed=False)[1])


def rank_by_size(label: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Labels renumbered by size, then by first point: 0 is the largest component."""
    _, first, sizes = np.unique(label, return_index=True, return_counts=True)
    order = np.lexsort([first, -sizes])
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return np.asarray(rank[label])


def describe_sizes(sizes: NDArray[np.integer[Any]]) -> str:
    """The number of components and their sizes in rows, for messages."""
    shown = ", ".join(map(str, sizes[:SHOWN_SIZES])) + (", ..." if len(sizes) > SHOWN_SIZES else "")
    return f"{len(sizes)} connected components (rows: {shown})"


def join_components(
    points: DistinctPoints,
    components: NDArray[np.int64],
    k: int | None,
    radius: float | None,
    ops: Backend,
    on_disconnected: OnDisconnected,
) -> tuple[csr_array, NDArray[np.int64]]:
    """The edges with bridges between the components, and the bridges; a warning says so."""
    sizes = np.bincount(components, points.counts).astype(int)
    how = f"radius {radius:g}" if radius is not None else f"{k} neighbors" if k else "neighbors"
    found = f"the graph of {how} has {describe_sizes(sizes)}"
    parameter = "n_neighbors" if radius is None else "radius"
    if len(sizes) > MAX_COMPONENTS:
        raise DataError(f"{found}; raise {parameter}, or fit the components one by one.")
    if isinstance(points.base, NeighborListDistances) and on_disconnected == "join":
        raise DataError(
            f"{found}, and a sparse graph has no distances between them; raise {parameter} where "
            "it is made, or pass rows, and the graph as neighbors=."
        )
    pairs, lengths = connect_components(
        points.base, components, found, parameter, ops, on_disconnected
    )
    both = np.concatenate([pairs, pairs[:, ::-1]])
    data = np.concatenate([lengths, lengths])
    extra = coo_array((data, (both[:, 0], both[:, 1])), points.edges.shape)
    return append_edges(points.edges, csr_array(extra)), pairs


def connect_components(
    base: DistanceRelation,
    components: NDArray[np.int64],
    found: str,
    parameter: str,
    ops: Backend,
    on_disconnected: OnDisconnected,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Bridges between the components and their lengths, with a warning; or an error if asked."""
    if on_disconnected == "error":
        raise DataError(f"{found}; raise {parameter}, or fit the components one by one.")
    bridges = find_bridges(base, components, ops)
    warn(
        f"{found}; they were connected by their {bridges}. Distances between components are a "
        f"guess: raise {parameter}, or fit the components one by one.",
        DisconnectedGraphWarning,
    )
    return bridges.pairs, bridges.lengths


def append_edges(edges: csr_array, extra: csr_array) -> csr_array:
    """Both sets of edges, which share none; each row keeps its order, the extra ones last."""
    counts = np.diff(edges.indptr) + np.diff(extra.indptr)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    data, indices = np.empty(indptr[-1]), np.empty(indptr[-1], np.int32)
    for part, shift in ((edges, np.zeros(len(counts), np.int64)), (extra, np.diff(edges.indptr))):
        size = np.diff(part.indptr)
        at = np.arange(part.nnz) - np.repeat(part.indptr[:-1], size)
        at = at + np.repeat(indptr[:-1] + shift, size)
        data[at], indices[at] = part.data, part.indices
    return csr_array((data, indices, indptr), shape=edges.shape)
