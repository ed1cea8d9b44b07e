"""Findings on rows: duplicates, outliers, hubs, the neighbor graph; and on given distances."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from ...input.entries import Table
from ...input.validation import symmetry_of
from ...neighbor_graph import NeighborGraph
from ...parameters import Reals
from ...spaces import Neighbors, hash_rows, rank_by_size
from ...spaces.graph import find_short_circuits
from .raw_data import RawData, Sample
from .result import MAX_AFFECTED, Finding, list_some, pluralize

MANY_DUPLICATES_SHARE = 0.1  # of the rows, from which duplicates are a warning


class DistinctRows(NamedTuple):
    """Complete rows without duplicates of earlier ones, and the finding on duplicates."""

    rows: NDArray[np.int64]
    finding: Finding


def find_distinct_rows(keys: NDArray[np.uint64], complete: NDArray[np.bool_]) -> DistinctRows:
    """The first of each group of equal rows, among the complete ones."""
    rows = np.flatnonzero(complete)
    _, first, counts = np.unique(keys[rows], return_index=True, return_counts=True)
    distinct = rows[np.sort(first)]
    n_duplicates = len(rows) - len(distinct)
    if not n_duplicates:
        return DistinctRows(distinct, Finding("fine", "duplicate rows", "No two rows are equal."))
    example = int(rows[first[counts.argmax()]])
    finding = Finding(
        "warning" if n_duplicates > MANY_DUPLICATES_SHARE * len(rows) else "notice",
        "duplicate rows",
        f"{n_duplicates} of {len(rows)} rows are duplicates of others; row {example} occurs "
        f"{int(counts.max())} times.",
        "Graph methods merge duplicates and count them; if they are no separate observations, "
        "drop them.",
        (example,),
    )
    return DistinctRows(distinct, finding)


def compute_row_keys(data: RawData) -> NDArray[np.uint64]:
    """One number per row of data that are no rows of numbers; distances of 0 mean equal rows."""
    if data.kind == "distances":
        first = [
            int(np.argmax(row == 0)) if (row == 0).any() else i for i, row in enumerate(data.X)
        ]
        return np.array(first, np.uint64)
    if isinstance(data.items, Table):
        return hash_rows(np.hstack([data.items.numbers + 0.0, data.items.codes.astype(np.float64)]))
    first_index: dict[str, int] = {}
    keys = [first_index.setdefault(repr(item), i) for i, item in enumerate(data.items)]
    return np.array(keys, np.uint64)


# -- the neighbor graph ---------------------------------------------------------------------------

OUTLIER_DEVIATIONS = 5.0  # robust standard deviations of the logarithm of the kth distance
MIN_LOG_DEVIATION = 0.05  # of the kth distances: on a lattice they have none
NOTICE_SKEWNESS, WARNING_SKEWNESS = 1.4, 4.0  # of k-occurrences (Feldbauer and Flexer, 2019)
MAX_CONNECTING_FACTOR = 2  # times more neighbors that connect a graph, and not what is separate
MIN_GRAPH_NEIGHBORS = 5  # the fewest that are recommended against short circuits
MAX_AFFECTED_EDGES = 50  # two rows each


def build_knn_graph(near: NeighborGraph, k: int, weights: Reals | None = None) -> csr_array:
    """The directed graph of k neighbors, with distances or other weights, by row, on its edges."""
    n = len(near.indices)
    data = near.distances[:, :k].ravel() if weights is None else weights
    return csr_array((data, near.indices[:, :k].ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))


def lists_of(near: NeighborGraph, k: int) -> Neighbors:
    """The k first neighbors of each row."""
    return Neighbors.of_table(near.indices[:, :k], near.distances[:, :k])


def label_components(near: NeighborGraph, k: int) -> NDArray[np.int64]:
    """The connected component of each row in the graph of k neighbors; 0 is the largest."""
    found = connected_components(build_knn_graph(near, k), directed=False)[1]
    return np.asarray(rank_by_size(found))


def count_components(near: NeighborGraph) -> NDArray[np.int64]:
    """Number of connected components of the graphs of 1, 2, ... neighbors.

    From one spanning tree: by the number of neighbors at which its edges appear.
    """
    n, k = near.indices.shape
    weights = np.tile(np.arange(k, 0, -1.0), n)  # k + 1 - rank, so that the smaller rank counts
    one_way = build_knn_graph(near, k, weights)
    both = csr_array(one_way.maximum(csr_array(one_way.T)))
    both.data = k + 1 - both.data
    ranks = minimum_spanning_tree(both).data.astype(np.int64)
    return np.asarray(n - np.cumsum(np.bincount(ranks, minlength=k + 1))[1:])


def check_connectivity(
    near: NeighborGraph, k: int, where: str
) -> tuple[Finding, NDArray[np.int64]]:
    """Is the graph connected, and how many neighbors connect it? Also the counts for every k."""
    counts = count_components(near)
    k = min(k, len(counts))
    connected = np.flatnonzero(counts == 1) + 1
    useful = connected[connected <= MAX_CONNECTING_FACTOR * k]
    if counts[k - 1] == 1:
        return Finding(
            "fine",
            "connectivity",
            f"The graph of {k} neighbors is connected{where}; {connected[0]} neighbors are enough.",
        ), counts
    sizes = np.bincount(label_components(near, k))
    if len(useful):
        result = f"{useful[0]} neighbors connect it"
        remedy = f"Use n_neighbors={useful[0]} or more in graph methods."
    else:
        result = f"{len(counts)} neighbors do not connect it either"
        if len(connected):
            result = f"only {connected[0]} neighbors connect it, and what is separate with it"
        remedy = (
            "Take TSNE, which needs no connected graph, for a map of all; Isomap and the like are "
            "for one component at a time."
        )
    return Finding(
        "warning",
        "connectivity",
        f"The graph of {k} neighbors has {len(sizes)} connected components{where}, of "
        f"{list_some([str(size) for size in sizes])} rows; {result}.",
        remedy,
    ), counts


def check_short_circuits(
    near: NeighborGraph, k: int, sample: Sample, dimension: float | None
) -> Finding | None:
    """Short-circuit edges, if any are found; None also where they cannot be recognized."""
    if not sample.is_euclidean or issparse(sample.X) or dimension is None:
        return None
    d, k = max(1, round(dimension)), min(k, near.indices.shape[1])
    found = find_short_circuits(sample.X, lists_of(near, k), d)
    if not len(found):
        return None
    fewer = (
        c
        for c in range(k - 1, MIN_GRAPH_NEIGHBORS, -1)
        if not len(find_short_circuits(sample.X, lists_of(near, c), d))
    )
    rows = sample.rows[found]
    look = "looks like a short circuit" if len(found) == 1 else "look like short circuits"
    return Finding(
        "notice",
        "short circuits",
        f"{pluralize(len(found), 'edge')} of the graph of {k} neighbors {look} between different "
        f"parts of a curved manifold: rows {list_some([f'{i} and {j}' for i, j in rows])}.",
        f"Use n_neighbors={next(fewer, MIN_GRAPH_NEIGHBORS)} or fewer in Isomap, LTSA and the "
        "like, or more rows.",
        tuple(int(row) for row in rows[:MAX_AFFECTED_EDGES].ravel()),
    )


def check_outliers(
    near: NeighborGraph, k: int, rows: NDArray[np.int64], where: str, dimension: float | None
) -> Finding:
    """Outliers: rows far from all others.

    Both must hold: the distance to the k-th neighbor is outside of the bulk on a logarithmic scale,
    by the median and the median absolute deviation; and it is large against those of the neighbors,
    since points at the boundary of a cloud are no outliers. Boundaries are sparser in few
    dimensions, and in many all distances are alike: the ratio must be 9 in one dimension, 3.7 in
    three, 2.6 in ten and 1.7 in fifty. Normal clouds of up to 4000 rows then hardly have any.
    """
    k = min(k, near.indices.shape[1])
    radii = near.distances[:, k - 1]
    if not (radii > 0).all():
        return Finding("fine", "outliers", f"Rows are too close together for outliers{where}.")
    logs = np.log(radii)
    middle = np.median(logs)
    spread = max(1.4826 * float(np.median(np.abs(logs - middle))), MIN_LOG_DEVIATION)
    neighbor_radii = np.median(radii[near.indices[:, :k]], axis=1)
    d = max(1.0, dimension or 2.0)
    ratio = min(3 + 6 / d**2, 1 + 5 / np.sqrt(d))
    far = (logs - middle > OUTLIER_DEVIATIONS * spread) & (radii > ratio * neighbor_radii)
    found = np.flatnonzero(far)
    if not len(found):
        return Finding("fine", "outliers", f"No row is far from all others{where}.")
    found = found[np.argsort(-radii[found], kind="stable")]
    largest = float(radii[found[0]] / np.exp(middle))
    return Finding(
        "warning",
        "outliers",
        f"{len(found)} row{'s are' if len(found) > 1 else ' is'} far from all others{where}: "
        f"{list_some([str(row) for row in rows[found]])} (up to {largest:.0f} times the usual "
        f"distance to {k} neighbors).",
        "Check them: correct errors; a true outlier takes up a component of PCA or MDS, so leave "
        "it out of the fit and map it by transform.",
        tuple(int(row) for row in rows[found[:MAX_AFFECTED]]),
    )


def check_hubness(near: NeighborGraph, k: int, rows: NDArray[np.int64], where: str) -> Finding:
    """Hubs: rows that are neighbors of very many others, as happens in many dimensions."""
    k = min(k, near.indices.shape[1])
    n = len(near.indices)
    occurrences = np.bincount(near.indices[:, :k].ravel(), minlength=n)
    spread = float(occurrences.std())
    skewness = float(((occurrences - k) ** 3).mean() / spread**3) if spread > 0 else 0.0
    hub = int(occurrences.argmax())
    anti_hubs = float((occurrences == 0).mean())
    if skewness <= NOTICE_SKEWNESS:
        return Finding("fine", "hubness", f"There are no hubs{where}; skewness {skewness:.1f}.")
    return Finding(
        "warning" if skewness > WARNING_SKEWNESS else "notice",
        "hubness",
        f"Row {rows[hub]} is among the {k} neighbors of {occurrences[hub]} rows, and "
        f"{anti_hubs:.0%} of rows are nobody's neighbor{where}; skewness {skewness:.1f}.",
        "Hubs connect clusters that are separate: reduce the columns by PCA first, try "
        "metric='cosine', or use TSNE, whose scale adapts to each row.",
        (int(rows[hub]),),
    )


# -- a matrix of distances ------------------------------------------------------------------------


def check_distances(D: Reals, tolerance: float = 1e-6) -> list[Finding]:
    """What is wrong with the matrix; a single finding that is fine if it can be used."""
    nonfinite = ~np.isfinite(D)
    if nonfinite.any():
        row, column = map(int, np.argwhere(nonfinite)[0])
        return [
            Finding(
                "error",
                "missing",
                f"{int(nonfinite.sum())} distances are missing or infinite; the first is at row "
                f"{row}, column {column}.",
                "Only MDS and NonMetricMDS take missing distances (NaN).",
            )
        ]
    symmetry = symmetry_of(D)
    found = []
    if symmetry.asymmetry > tolerance * symmetry.largest:
        i, j = symmetry.asymmetry_at
        found.append(
            Finding(
                "error",
                "symmetry",
                f"Entry ({i}, {j}) is {D[i, j]:.6g}, but ({j}, {i}) is {D[j, i]:.6g}.",
                "Distances are symmetric; pass (D + D.T) / 2 if the mean is meant.",
            )
        )
    if symmetry.smallest < 0:
        i, j = symmetry.smallest_at
        found.append(
            Finding(
                "error",
                "sign",
                f"The distance at row {i}, column {j} is {symmetry.smallest:.6g}.",
                "Distances are not negative; of similarities s take sqrt(s_ii + s_jj - 2 s_ij).",
            )
        )
    if symmetry.diagonal > tolerance * max(symmetry.largest, 0):
        found.append(
            Finding(
                "error",
                "diagonal",
                f"Row {symmetry.diagonal_at} is {symmetry.diagonal:.6g} away from itself.",
                "Are these similarities s? Then pass sqrt(s_ii + s_jj - 2 s_ij).",
            )
        )
    fine = Finding("fine", "missing", "Every distance is a finite number >= 0, and symmetric.")
    return found or [fine]
