"""Short-circuit edges of a neighbor graph: from one sheet of a roll to the next, say.

An edge is taken for a short circuit if all of this holds:
- the neighborhoods are flat: most edges lie in the tangent planes at their ends;
- it is long for both of its ends, and stands out of both of their tangent planes;
- without such edges the shortest path between its ends is several times as long, and exists.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components, dijkstra

from .. import random
from ..backends.protocol import Array, Float64
from ..distances.metrics import Distances
from ..errors import ShortcutWarning, warn
from .neighbor_graph import ConnectedGraph, symmetrize_edges

Pairs = NDArray[np.int64]

# How often these are right, on rolls and on data without short circuits:
# docs/decisions/025-shortcuts.md.
MAX_MEDIAN_SINE = 0.25  # between longer edges and tangent planes; beyond, there are no planes
MIN_SINE = 0.5  # from which an edge stands out of a tangent plane
MIN_LENGTH_RATIO = 1.05  # of an edge to the neighborhood that spans the tangent plane
MIN_DETOUR_RATIO = 4.0  # of the path around to the edge
N_SAMPLED_POINTS = 128  # that say whether there are tangent planes
MAX_TESTED_EDGES = 256  # whose path around is computed
PATHS_PER_CALL = 2**18  # path lengths computed in one call
COORDINATES_PER_BLOCK = 2**16  # coordinates of neighbors gathered at a time


def warn_of_short_circuits(graph: ConnectedGraph, n_components: int) -> None:
    """Warn of short-circuit edges, where the graph is one of rows and Euclidean distances."""
    base = graph.base
    if not isinstance(base, Distances) or base.measure != "euclidean" or issparse(base.X):
        return
    found = find_short_circuits(base.X, graph.edges, n_components)
    if len(found):
        i, j = graph.first_row[found[0]]
        what = f"{len(found)} edges" if len(found) > 1 else "1 edge"
        look = "look like short circuits" if len(found) > 1 else "looks like a short circuit"
        warn(
            f"{what} of the neighbor graph {look}, first the one between rows {i} and {j}: it "
            "leaves the tangent planes at its ends, and the path around it is over "
            f"{MIN_DETOUR_RATIO:g} times as long. Lower n_neighbors, or take more rows.",
            ShortcutWarning,
        )


def find_short_circuits(X: Array, edges: csr_array, d: int) -> Pairs:
    """Pairs of points whose edge short-circuits a manifold of d dimensions, the steepest first.

    Row p of `edges` holds the distances to the neighbors of p, nearest first.
    """
    none = np.empty((0, 2), np.int64)
    counts = np.diff(edges.indptr)
    k = int(counts.min())
    h = max(d + 2, k // 2)  # the nearer half spans the tangent planes, the other half is tested
    if d >= X.shape[1] or h + 2 > k:
        return none  # everything lies in the planes, or too few edges are left to be tested
    n = len(X)
    near = edges.indices[edges.indptr[:-1, None] + np.arange(h)]
    radii = edges.data[edges.indptr[:-1] + h - 1]
    a, b = np.repeat(np.arange(n), counts), edges.indices
    at_ends = np.stack([radii[a], radii[b]])
    long = edges.data > MIN_LENGTH_RATIO * at_ends.max(0)
    sampled = np.zeros(n, bool)
    sampled[random.subset(0, "planes", n, min(n, N_SAMPLED_POINTS))] = True
    some = np.flatnonzero(long & sampled[a])
    if not len(some) or np.median(_sines(X, near, a[some], b[some], d)) > MAX_MEDIAN_SINE:
        return none
    # Many short circuits from one point make each other look short at that end.
    steep = np.flatnonzero(edges.data > MIN_LENGTH_RATIO * at_ends.min(0))
    sines = _sines(X, near, a[steep], b[steep], d)
    steep, sines = steep[sines > MIN_SINE], sines[sines > MIN_SINE]
    sines = np.minimum(sines, _sines(X, near, b[steep], a[steep], d))
    steep, sines = steep[sines > MIN_SINE], sines[sines > MIN_SINE]
    steep = steep[np.argsort(-sines, kind="stable")]
    candidates = steep[long[steep]]
    if not len(candidates):
        return none
    pairs = np.sort(np.column_stack([a[candidates], b[candidates]]), axis=1)
    _, first = np.unique(pairs, axis=0, return_index=True)
    pairs = pairs[np.sort(first)]
    return pairs[_have_long_detours(edges, np.column_stack([a[steep], b[steep]]), pairs)]


def _sines(X: Array, near: Array, a: Pairs, b: Pairs, d: int) -> Float64:
    """Between the edge from a to b and the d-dimensional tangent plane of the neighbors of a."""
    points, at = np.unique(a, return_inverse=True)
    outside = np.empty(len(a))
    step = max(1, COORDINATES_PER_BLOCK // (near.shape[1] * X.shape[1]))
    for start in range(0, len(points), step):
        part = np.flatnonzero((at >= start) & (at < start + step))
        here = points[start : start + step]
        axes = _tangent_planes(X[near[here]].astype(np.float64) - X[here][:, None], d)
        edges = X[b[part]].astype(np.float64) - X[a[part]]
        inside = np.einsum("mdp,mp->md", axes[at[part] - start], edges)
        outside[part] = 1 - np.square(inside).sum(1) / np.square(edges).sum(1)
    return np.sqrt(np.maximum(outside, 0))


def _tangent_planes(offsets: Float64, d: int) -> Float64:
    """Orthonormal axes of the d-dimensional planes through 0 that fit the offsets best."""
    transposed = offsets.transpose(0, 2, 1)
    if offsets.shape[1] >= offsets.shape[2]:
        return np.linalg.eigh(transposed @ offsets)[1][:, :, -d:].transpose(0, 2, 1)
    sizes, vectors = np.linalg.eigh(offsets @ transposed)
    sizes = np.maximum(sizes[:, -d:, None], np.finfo(np.float64).tiny)
    return np.asarray(vectors[:, :, -d:].transpose(0, 2, 1) @ offsets / np.sqrt(sizes))


def _have_long_detours(edges: csr_array, steep: Pairs, pairs: Pairs) -> NDArray[np.bool_]:
    """Which pairs are far apart once the steep edges are removed; a disconnected one is not."""
    symmetric = symmetrize_edges(edges).tocoo()
    n = edges.shape[0]
    removed = np.isin(
        _pair_ids(symmetric.row, symmetric.col, n), _pair_ids(steep[:, 0], steep[:, 1], n)
    )
    kept = ~removed
    remaining = csr_array(
        (symmetric.data[kept], (symmetric.row[kept], symmetric.col[kept])), symmetric.shape
    )
    component = connected_components(remaining, directed=False)[1]
    lengths = csr_array(symmetric)
    long = component[pairs[:, 0]] == component[pairs[:, 1]]
    long[MAX_TESTED_EDGES:] = False
    tested = np.flatnonzero(long)
    # Several at a time: a call takes longer to begin than to search a small graph.
    for start in range(0, len(tested), step := max(1, PATHS_PER_CALL // n)):
        part = tested[start : start + step]
        i, j = pairs[part].T
        limit = MIN_DETOUR_RATIO * np.asarray(lengths[i, j]).ravel()
        sources, at = np.unique(i, return_inverse=True)
        paths = dijkstra(remaining, indices=sources, limit=limit.max())
        long[part] = paths[at, j] > limit
    return np.asarray(long)


def _pair_ids(i: Pairs, j: Pairs, n: int) -> Pairs:
    """One number per pair, whichever end comes first."""
    return np.asarray(np.minimum(i, j).astype(np.int64) * n + np.maximum(i, j))
