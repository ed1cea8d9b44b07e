"""Ties of a neighbor graph that cut across: from one sheet of a roll to the next, say.

A tie is taken for a shortcut if all of this holds:
- the neighborhoods are flat: most ties lie in the planes of the nearest neighbors of their ends;
- it is long for both of its ends, and stands out of both of their planes;
- without such ties the way between its ends is several times as long, and there is one.
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
from .neighbor_graph import Graph, union

Rows = NDArray[np.int64]

# How often they are right, on rolls and on data without shortcuts: docs/decisions/025-shortcuts.md.
FLAT = 0.25  # median sine between a longer tie and its plane, from which there are no planes
STEEP = 0.5  # sine from which a tie stands out of a plane
LONG = 1.05  # times the distance that spans the plane
DETOUR = 4.0  # times the length of the tie
SAMPLE = 128  # points that say whether there are planes
LOOKED_AT = 256  # ties whose way round is measured
TOGETHER = 2**18  # lengths of ways that are found together
BLOCK = 2**16  # numbers of neighbors that are looked at together


def warn_of_shortcuts(graph: Graph, n_components: int) -> None:
    """Say which ties cut across, where there are rows to tell by."""
    base = graph.base
    if not isinstance(base, Distances) or base.measure != "euclidean" or issparse(base.X):
        return
    found = shortcuts(base.X, graph.edges, n_components)
    if len(found):
        i, j = graph.first[found[0]]
        ties = f"{len(found)} ties cut" if len(found) > 1 else "1 tie cuts"
        warn(
            f"{ties} across in the neighbor graph, the steepest from row {i} to row {j}: it leaves "
            f"the plane of their neighbors, and along the sheet they are over {DETOUR:g} times as "
            "far apart. The map is short-circuited there: lower n_neighbors, or take more rows.",
            ShortcutWarning,
        )


def shortcuts(X: Array, edges: csr_array, d: int) -> Rows:
    """Pairs of points whose tie cuts across a sheet of d dimensions, the steepest first.

    Row p of `edges` holds the distances to the neighbors of p, nearest first.
    """
    none = np.empty((0, 2), np.int64)
    counts = np.diff(edges.indptr)
    k = int(counts.min())
    h = max(d + 2, k // 2)  # the nearer half spans the planes, and the other half is judged
    if d >= X.shape[1] or h + 2 > k:
        return none  # everything lies in the planes, or too little is left to be judged
    n = len(X)
    near = edges.indices[edges.indptr[:-1, None] + np.arange(h)]
    reach = edges.data[edges.indptr[:-1] + h - 1]
    a, b = np.repeat(np.arange(n), counts), edges.indices
    ends = np.stack([reach[a], reach[b]])
    long = edges.data > LONG * ends.max(0)
    seen = np.zeros(n, bool)
    seen[random.subset(0, "planes", n, min(n, SAMPLE))] = True
    few = np.flatnonzero(long & seen[a])
    if not len(few) or np.median(_sines(X, near, a[few], b[few], d)) > FLAT:
        return none
    # Many shortcuts from one point make each other look short at that end.
    ties = np.flatnonzero(edges.data > LONG * ends.min(0))
    there = _sines(X, near, a[ties], b[ties], d)
    ties, there = ties[there > STEEP], there[there > STEEP]
    sines = np.minimum(there, _sines(X, near, b[ties], a[ties], d))
    ties, sines = ties[sines > STEEP], sines[sines > STEEP]
    ties = ties[np.argsort(-sines, kind="stable")]
    judged = ties[long[ties]]
    if not len(judged):
        return none
    pairs = np.sort(np.column_stack([a[judged], b[judged]]), axis=1)
    _, first = np.unique(pairs, axis=0, return_index=True)
    pairs = pairs[np.sort(first)]
    return pairs[_saving(edges, np.column_stack([a[ties], b[ties]]), pairs)]


def _sines(X: Array, near: Array, a: Rows, b: Rows, d: int) -> Float64:
    """Between the tie from a to b and the plane of d dimensions that fits the neighbors of a."""
    points, at = np.unique(a, return_inverse=True)
    outside = np.empty(len(a))
    step = max(1, BLOCK // (near.shape[1] * X.shape[1]))
    for start in range(0, len(points), step):
        part = np.flatnonzero((at >= start) & (at < start + step))
        here = points[start : start + step]
        axes = _planes(X[near[here]].astype(np.float64) - X[here][:, None], d)
        ties = X[b[part]].astype(np.float64) - X[a[part]]
        inside = np.einsum("mdp,mp->md", axes[at[part] - start], ties)
        outside[part] = 1 - np.square(inside).sum(1) / np.square(ties).sum(1)
    return np.sqrt(np.maximum(outside, 0))


def _planes(offsets: Float64, d: int) -> Float64:
    """Orthonormal axes of the planes through 0 that fit the offsets best."""
    turned = offsets.transpose(0, 2, 1)
    if offsets.shape[1] >= offsets.shape[2]:
        return np.linalg.eigh(turned @ offsets)[1][:, :, -d:].transpose(0, 2, 1)
    sizes, turns = np.linalg.eigh(offsets @ turned)
    sizes = np.maximum(sizes[:, -d:, None], np.finfo(np.float64).tiny)
    return np.asarray(turns[:, :, -d:].transpose(0, 2, 1) @ offsets / np.sqrt(sizes))


def _saving(edges: csr_array, steep: Rows, pairs: Rows) -> NDArray[np.bool_]:
    """Which pairs are far apart once the steep ties are cut; one that falls apart is not."""
    ties = union(edges).tocoo()
    n = edges.shape[0]
    cut = np.isin(_numbers(ties.row, ties.col, n), _numbers(steep[:, 0], steep[:, 1], n))
    rest = csr_array((ties.data[~cut], (ties.row[~cut], ties.col[~cut])), ties.shape)
    piece = connected_components(rest, directed=False)[1]
    whole = csr_array(ties)
    saving = piece[pairs[:, 0]] == piece[pairs[:, 1]]
    saving[LOOKED_AT:] = False
    looked = np.flatnonzero(saving)
    # Several at a time: a call takes longer to begin than to walk a small graph.
    for start in range(0, len(looked), step := max(1, TOGETHER // n)):
        part = looked[start : start + step]
        i, j = pairs[part].T
        most = DETOUR * np.asarray(whole[i, j]).ravel()
        sources, at = np.unique(i, return_inverse=True)
        ways = dijkstra(rest, indices=sources, limit=most.max())
        saving[part] = ways[at, j] > most
    return np.asarray(saving)


def _numbers(i: Rows, j: Rows, n: int) -> Rows:
    """One number per pair, whichever end comes first."""
    return np.asarray(np.minimum(i, j).astype(np.int64) * n + np.maximum(i, j))
