"""Rows: copies, outliers, hubs, and the pieces of their neighbor graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from ...backends.protocol import Neighbors
from ...graph.components import rank_by_size
from ...graph.short_circuits import find_short_circuits
from .result import Finding, counted, listed
from .subject import Sample

FAR = 5.0  # robust standard deviations of the logarithm of a row's distance to its neighbors
LONELY = 3.0  # times as far from its neighbors as these are from theirs, in many dimensions
HUBS, MANY_HUBS = 1.4, 4.0  # skewness of how often a row is a neighbor (Feldbauer, Flexer, 2019)
MANY_COPIES = 0.1  # share of the rows


def first_rows(
    keys: NDArray[np.uint64], complete: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], Finding]:
    """The complete rows without copies of earlier ones, and what is to be said of the copies."""
    rows = np.flatnonzero(complete)
    _, first, counts = np.unique(keys[rows], return_index=True, return_counts=True)
    distinct = rows[np.sort(first)]
    copies = len(rows) - len(distinct)
    if not copies:
        return distinct, Finding("fine", "copied rows", "No two rows are equal.")
    often = int(counts.max())
    example = int(rows[first[counts.argmax()]])
    return distinct, Finding(
        "warning" if copies > MANY_COPIES * len(rows) else "notice",
        "copied rows",
        f"{copies} of {len(rows)} rows are copies of others; row {example} is there {often} times.",
        "Graph methods merge copies and count them; if they are no separate observations, drop "
        "them.",
        (example,),
    )


def pieces_by_neighbors(near: Neighbors) -> NDArray[np.int64]:
    """Pieces of the graph of 1, 2, ... neighbors.

    One spanning tree tells them all: its edges by the number of neighbors at which they appear.
    """
    n, k = near.indices.shape
    late = np.tile(np.arange(k, 0, -1.0), n)  # k + 1 - rank, so that the earlier end counts
    one_way = csr_array((late, near.indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    both = csr_array(one_way.maximum(csr_array(one_way.T)))
    both.data = k + 1 - both.data
    ranks = minimum_spanning_tree(both).data.astype(np.int64)
    return np.asarray(n - np.cumsum(np.bincount(ranks, minlength=k + 1))[1:])


def pieces_of(near: Neighbors, k: int) -> NDArray[np.int64]:
    """The piece of each row in the graph of k neighbors; 0 is the largest."""
    return rank_by_size(connected_components(_graph(near, k), directed=False)[1])


def _graph(near: Neighbors, k: int) -> csr_array:
    n = len(near.indices)
    ties = near.distances[:, :k].ravel(), near.indices[:, :k].ravel(), np.arange(0, n * k + 1, k)
    return csr_array(ties, shape=(n, n))


def connectivity(near: Neighbors, k: int, where: str) -> tuple[Finding, NDArray[np.int64]]:
    """In how many pieces the graph is, and which number of neighbors joins them."""
    pieces = pieces_by_neighbors(near)
    k = min(k, len(pieces))
    whole = np.flatnonzero(pieces == 1)
    enough = f"{whole[0] + 1} neighbors join all of it" if len(whole) else None
    if pieces[k - 1] == 1:
        return Finding(
            "fine",
            "connectivity",
            f"The graph of {k} neighbors is in one piece{where}; {whole[0] + 1} are enough.",
        ), pieces
    sizes = np.bincount(pieces_of(near, k))
    shown = listed([str(size) for size in sizes])
    ways = (
        f"n_neighbors={whole[0] + 1} or more"
        if enough
        else f"more than {len(pieces)} neighbors, which would join what is apart"
    )
    return Finding(
        "warning",
        "connectivity",
        f"The graph of {k} neighbors is in {len(sizes)} pieces{where}, of {shown} rows"
        + (f"; {enough}." if enough else f"; {len(pieces)} neighbors do not join it either."),
        f"Use {ways}; or fit the pieces one by one; or take TSNE or PCA, which need no whole.",
    ), pieces


def crossing(near: Neighbors, k: int, sample: Sample, dimension: float | None) -> Finding | None:
    """Ties that cut across, if any are seen: there may be nothing to tell by."""
    if not sample.flat or issparse(sample.items) or dimension is None:
        return None
    d, k = max(1, round(dimension)), min(k, near.indices.shape[1])
    found = find_short_circuits(sample.items, _graph(near, k), d)
    if not len(found):
        return None
    fewer = (
        c
        for c in range(k - 1, 5, -1)
        if not len(find_short_circuits(sample.items, _graph(near, c), d))
    )
    rows = sample.rows[found]
    return Finding(
        "notice",
        "shortcuts",
        f"The graph of {k} neighbors has {counted(len(found), 'tie')} that cut across, from one "
        f"part of a bent sheet to another: rows {listed([f'{i} and {j}' for i, j in rows])}.",
        f"Use n_neighbors={next(fewer, 5)} or fewer in Isomap, LTSA and the like, or more rows.",
        tuple(int(row) for row in rows[:50].ravel()),
    )


def outliers(
    near: Neighbors, k: int, rows: NDArray[np.int64], where: str, dimension: float | None
) -> Finding:
    """Rows far from all others.

    Far means both: the distance to the k-th neighbor is out of the bulk on a logarithmic scale,
    by the median and the median deviation; and it is large against that of the neighbors, as
    the thin rim of a cloud is no outlier. Rims are thinner in few dimensions, so there it takes
    more: 9 times in one, 4.5 times in two. Clouds without outliers then hardly show any.
    """
    k = min(k, near.indices.shape[1])
    reach = near.distances[:, k - 1]
    if not (reach > 0).all():
        return Finding("fine", "outliers", f"Rows lie too close together for outliers{where}.")
    logs = np.log(reach)
    middle = np.median(logs)
    spread = max(1.4826 * float(np.median(np.abs(logs - middle))), 0.05)
    theirs = np.median(reach[near.indices[:, :k]], axis=1)
    lonely = LONELY * (1 + 2 / max(1.0, dimension or 2.0) ** 2)
    far = np.flatnonzero((logs - middle > FAR * spread) & (reach > lonely * theirs))
    if not len(far):
        return Finding("fine", "outliers", f"No row is far from all others{where}.")
    far = far[np.argsort(-reach[far], kind="stable")]
    names = [str(row) for row in rows[far]]
    most = float(reach[far[0]] / np.exp(middle))
    return Finding(
        "warning",
        "outliers",
        f"{len(far)} row{'s are' if len(far) > 1 else ' is'} far from all others{where}: "
        f"{listed(names)} (up to {most:.0f} times the usual distance to {k} neighbors).",
        "Look at them: an error is to be mended; a true outlier takes an axis of PCA and MDS for "
        "itself, so leave it out of the fit and place it by transform.",
        tuple(int(row) for row in rows[far[:100]]),
    )


def hubness(near: Neighbors, k: int, rows: NDArray[np.int64], where: str) -> Finding:
    """Rows that are neighbors of very many, as happens in many dimensions."""
    k = min(k, near.indices.shape[1])
    n = len(near.indices)
    chosen = np.bincount(near.indices[:, :k].ravel(), minlength=n)
    spread = float(chosen.std())
    skewness = float(((chosen - k) ** 3).mean() / spread**3) if spread > 0 else 0.0
    hub = int(chosen.argmax())
    unseen = float((chosen == 0).mean())
    told = (
        f"Row {rows[hub]} is among the {k} neighbors of {chosen[hub]} rows, and {unseen:.0%} are "
        f"nobody's neighbor{where}; skewness {skewness:.1f}"
    )
    if skewness <= HUBS:
        return Finding(
            "fine", "hubness", f"No row is everyone's neighbor{where}; skewness {skewness:.1f}."
        )
    return Finding(
        "warning" if skewness > MANY_HUBS else "notice",
        "hubness",
        f"{told}.",
        "Hubs tie together what is apart: reduce the columns by PCA first, try metric='cosine', or "
        "use TSNE, whose scale adapts to each row.",
        (int(rows[hub]),),
    )
