"""Findings on rows, on given distances, and on the shape of the data.

Duplicates, outliers, hubs and the neighbor graph; intrinsic dimension and geodesic distances.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.stats import chi2

from ... import random
from ...input.entries import Table
from ...input.validation import symmetry_of
from ...neighbor_graph import NeighborGraph
from ...parameters import Reals
from ...spaces import Neighbors, hash_rows, rank_by_size, shortest_paths, symmetric_edges
from ...spaces.graph import find_short_circuits
from .raw_data import MIN_NEIGHBORHOOD_SAMPLES, RawData, Sample
from .result import MAX_AFFECTED, Dimension, Finding, list_some, pluralize

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


Shape: TypeAlias = Literal["linear", "non-linear", "high-dimensional", "unknown"]
MIN_ISOMAP_GAIN = 0.05  # residual variance that Isomap must save over PCA
MAX_CLOSED_DIMENSION = 3  # up to which the intrinsic dimension is known well enough for that
MAX_RESIDUAL_VARIANCE = 0.2  # up to which an embedding is said to preserve the distances


def check_shape(found: ResidualVariances, dimension: float) -> tuple[Shape, Finding]:
    """Compare PCA and Isomap at the intrinsic dimension, and at more: a sphere needs three."""
    p = int(np.clip(round(dimension), 1, len(found.linear)))
    linear, geodesic = float(found.linear[p - 1]), float(found.geodesic[p - 1])
    numbers = (
        f"in {pluralize(p, 'dimension')} the residual variance of geodesic distances is "
        f"{linear:.0%} for PCA and {geodesic:.0%} for Isomap"
    )
    looks_linear = Finding("fine", "shape", f"The structure looks linear: {numbers}.")
    if linear <= MAX_RESIDUAL_VARIANCE / 2:
        return "linear", looks_linear
    more = min(p + 1, len(found.linear))
    least = float(found.linear[more - 1])
    if p > MAX_CLOSED_DIMENSION and least <= MAX_RESIDUAL_VARIANCE / 2:  # p is only about right
        return "linear", looks_linear
    if not found.is_manifold:
        return "unknown", Finding(
            "fine", "shape", f"Clusters, or too few rows, do not show any curvature: {numbers}."
        )
    gain = min(found.linear[i - 1] - found.geodesic[i - 1] for i in (p, more))
    curved = gain > MIN_ISOMAP_GAIN and linear > 2 * geodesic and geodesic <= MAX_RESIDUAL_VARIANCE
    if curved and dimension < MAX_DIMENSIONS + 0.5:
        return "non-linear", Finding(
            "notice",
            "shape",
            f"The rows lie on a curved manifold: {numbers}.",
            "PCA folds it; Isomap unrolls it where two axes can hold it.",
        )
    if p <= MAX_CLOSED_DIMENSION and min(linear, geodesic) > MAX_RESIDUAL_VARIANCE:
        both = np.minimum(found.linear, found.geodesic)[p : 2 * p + 1]
        if len(both) and both.min() <= MAX_RESIDUAL_VARIANCE:
            needed = p + 1 + int(np.argmax(both <= MAX_RESIDUAL_VARIANCE))
            return "non-linear", Finding(
                "notice",
                "shape",
                f"The rows lie on a closed or branched manifold of {pluralize(p, 'dimension')}, "
                f"such as a circle or a sphere, which takes {needed}: {numbers}, and in {needed} "
                f"it is {both[needed - p - 1]:.0%} for the better.",
                f"Keep {needed} components; a map with fewer tears it or folds it.",
            )
    if min(linear, least) <= MAX_RESIDUAL_VARIANCE:
        return "linear", looks_linear
    return "high-dimensional", Finding(
        "notice",
        "shape",
        f"A few dimensions do not preserve the distances: {numbers}.",
        "Distances in any embedding of two dimensions will mislead; keep more components for "
        "further computation, and take TSNE for a picture of neighborhoods.",
    )


# -- intrinsic dimension --------------------------------------------------------------------------

INTERVAL_QUANTILE = 1.959964  # standard errors to each side of a 95 % interval
CENSORED_SHARE = 0.1  # largest ratios, where the manifold is curved: only their number counts
LIKELIHOOD_NEIGHBORS = 20  # Levina and Bickel average over 10 to 20
LOCAL_PCA_SAMPLES = 400  # rows whose neighborhoods are decomposed: standard errors of about 0.01
MIN_LOCAL_PCA_NEIGHBORS = 15  # fewer would show noise
SATURATED_SHARE = 0.8  # of the axes that a neighborhood can have: more is no estimate
MIN_AXIS_VARIANCE = 0.05  # of the largest variance in a neighborhood (Fukunaga and Olsen, 1971)
MAX_TIED_SHARE = 0.05  # of rows with equal distances to two neighbors, beyond which two-NN is off


def two_nn(ratios: Reals) -> Dimension | None:
    """From the ratio of the second to the first neighbor distance (Facco et al., 2017).

    On a manifold of dimension d the ratio has the distribution 1 - r⁻ᵈ, so its logarithm is an
    exponential variable of rate d. The largest tenth, where curvature shows, is censored:
    it counts as "at least so much", which keeps the interval exact.
    """
    logs = np.sort(np.log(ratios))
    kept = len(logs) - int(CENSORED_SHARE * len(logs))
    if kept < 2:
        return None
    total = float(logs[:kept].sum() + (len(logs) - kept) * logs[kept - 1])
    if total <= 0:
        return None
    low, high = chi2.ppf([0.025, 0.975], 2 * kept) / (2 * total)
    return Dimension((kept - 1) / total, float(low), float(high))


def maximum_likelihood(near: NeighborGraph, k: int = LIKELIHOOD_NEIGHBORS) -> Dimension | None:
    """From distances to k neighbors (Levina and Bickel, 2005).

    Inverse dimensions of rows are averaged (MacKay and Ghahramani, 2005). Errors of rows that share
    neighbors are correlated, so the interval adds their covariances.
    """
    k = min(k, near.indices.shape[1])
    if k < 2:
        return None
    distances = near.distances[:, :k]
    inverse = np.log(distances[:, -1:] / distances[:, :-1]).mean(1)
    mean = float(inverse.mean())
    if not 0 < mean < np.inf:
        return None
    error = INTERVAL_QUANTILE * float(np.sqrt(_compute_mean_variance(inverse - mean, near, k)))
    high = 1 / (mean - error) if error < mean else np.inf
    return Dimension(1 / mean, 1 / (mean + error), high)


def _compute_mean_variance(errors: Reals, near: NeighborGraph, k: int) -> float:
    """Variance of the mean of values that are correlated if their rows share a neighbor."""
    n = len(near.indices)
    A = build_knn_graph(near, k, np.ones(n * k))
    # Sum of errors over the rows that list j, squared: every pair once per common neighbor. Pairs
    # are weighted by the share of neighbors they have in common, as their errors are.
    shared = A.T @ errors
    paired = float(shared @ shared) / k
    return max(paired, float(errors @ errors)) / n**2


def local_pca(sample: Sample, near: NeighborGraph, guess: float, seed: int) -> Dimension | None:
    """Mean number of axes of neighborhoods with more than 5 % of the variance of the first one.

    Neighborhoods have three rows per expected dimension: fewer would not show it, and more would
    show curvature. It works from distances, so every metric has it.
    """
    k = min(near.indices.shape[1], max(MIN_LOCAL_PCA_NEIGHBORS, int(np.ceil(3 * guess))))
    if k < 3:
        return None
    size = min(len(sample), LOCAL_PCA_SAMPLES)
    rows = random.subset(seed, "local PCA", len(sample), size)
    grams = [_compute_gram(sample, near.indices[i, :k].astype(np.int64)) for i in rows]
    spectra = np.linalg.eigvalsh(np.array(grams))[:, ::-1]
    counts = (spectra > MIN_AXIS_VARIANCE * spectra[:, :1]).sum(1)
    error = INTERVAL_QUANTILE * float(counts.std() / np.sqrt(len(counts)))
    mean = float(counts.mean())
    return Dimension(mean, mean - error, mean + error)


def _compute_gram(sample: Sample, rows: NDArray[np.int64]) -> Reals:
    """Inner products of some rows around their mean."""
    if not sample.is_euclidean:
        D = sample.take(rows).compute_distances()
        return double_center(-0.5 * D * D)
    Z = sample.X[rows].astype(np.float64)
    if issparse(Z):
        return double_center((Z @ Z.T).toarray())
    Z = Z - Z.mean(0)
    return np.asarray(Z @ Z.T)


def double_center(B: Reals) -> Reals:
    """Subtract the means of rows and columns of a symmetric matrix."""
    means = B.mean(0)
    return np.asarray(B - means - means[:, None] + means.mean())


def estimate_dimensions(
    sample: Sample, near: NeighborGraph, seed: int
) -> tuple[dict[str, Dimension], list[str]]:
    """All three estimates, as far as the neighbors allow; and notes on the others."""
    notes: list[str] = []
    distinct = near.distances[:, 0] > 0
    if not distinct.all():
        near = NeighborGraph(near.indices[distinct], near.distances[distinct])
    found: dict[str, Dimension | None] = {}
    if near.indices.shape[1] < 2 or len(near.indices) < MIN_NEIGHBORHOOD_SAMPLES:
        return {}, ["Too few rows for an intrinsic dimension; ten or more are needed."]
    ratios = near.distances[:, 1] / near.distances[:, 0]
    tied_share = float((ratios == 1).mean())
    if tied_share > MAX_TIED_SHARE:
        notes.append(
            f"{tied_share:.0%} of rows have two nearest neighbors at the same distance (few "
            "distinct values?); two-NN is then too large and was left out."
        )
    else:
        found["two_nn"] = two_nn(ratios)
    if distinct.all():
        found["maximum_likelihood"] = maximum_likelihood(near)
    guess = found.get("maximum_likelihood") or found.get("two_nn")
    if distinct.all() and guess is not None:
        found["local_pca"] = axes = local_pca(sample, near, guess.value, seed)
        n_axes = near.indices.shape[1] - 1
        if axes is not None and axes.value > SATURATED_SHARE * n_axes:
            found["local_pca"] = None
            notes.append(f"Local PCA finds variance in most of {n_axes} axes, and was left out.")
    return {name: value for name, value in found.items() if value is not None}, notes


def limit_estimates(found: dict[str, Dimension], n: int) -> tuple[dict[str, Dimension], str]:
    """The estimates that distances between n rows can show, and a sentence on the others.

    Those up to 2 log2(n), by the bound of Eckmann and Ruelle (1992): of all n² / 2 pairs a share of
    1 / 2ᵈ is at half of the largest distance.
    """
    limit = 2 * np.log2(n)
    known = {name: value for name, value in found.items() if value.value <= limit}
    beyond = {name: value for name, value in found.items() if name not in known}
    if not beyond:
        return known, ""
    values = ", ".join(f"{name.replace('_', ' ')} {x.value:.0f}" for name, x in beyond.items())
    return known, (
        f"Distances between {n} rows do not show more than about {limit:.0f} dimensions, so what "
        f"is above is not an estimate: {values}."
    )


def combine_estimates(found: dict[str, Dimension]) -> float | None:
    """The median of the estimates."""
    return float(np.median([value.value for value in found.values()])) if found else None


# -- residual variance of geodesic distances ------------------------------------------------------

GEODESIC_SAMPLES = 800  # rows between which all shortest paths are computed: 0.7 s on one core
MAX_DIMENSIONS = 10  # of the embeddings that are compared
N_NEIGHBORS_TRIED = (5, 7, 10, 14)  # of the graph: more make short circuits, fewer make detours
MAX_SAMPLE_NEIGHBORS = 30  # until the graph of the sample is connected
MIN_MANIFOLD_SAMPLES = 50  # fewer rows do not show whether a manifold is curved
MIN_CLUSTER_SHARE = 0.05  # of the rows in a connected component that counts as a cluster


class ResidualVariances(NamedTuple):
    """1 - r² of geodesic distances and distances in embeddings of 1, 2, ... dimensions."""

    n_neighbors: int  # of the graph
    linear: Reals  # of PCA (classical scaling)
    geodesic: Reals  # of Isomap
    is_manifold: bool  # can it be one manifold, with enough rows to see it?


def compute_residual_variances(
    sample: Sample, dimension: float, seed: int
) -> ResidualVariances | None:
    """Residual variances in a small sample, or in its largest connected component.

    None if that has less than half of the rows. Too many neighbors make short circuits, too few
    make detours. Both distort Isomap's embedding, so the number of neighbors is the one for which
    its residual variance at `dimension` dimensions is least.
    """
    if len(sample) > GEODESIC_SAMPLES:
        # The name of a random stream is part of the result: another one would sample other rows.
        sample = sample.take(random.subset(seed, "ways", len(sample), GEODESIC_SAMPLES))
    if len(sample) < MIN_NEIGHBORHOOD_SAMPLES:
        return None
    near = sample.find_neighbors(min(MAX_SAMPLE_NEIGHBORS, len(sample) - 1))
    connected = np.flatnonzero(count_components(near) == 1) + 1
    widest = near.indices.shape[1]
    inside = np.arange(len(sample))
    fewest = min(max(N_NEIGHBORS_TRIED[0], int(connected[0])), widest) if len(connected) else widest
    if not len(connected):
        inside = np.flatnonzero(label_components(near, widest) == 0)
        if len(inside) < max(MIN_NEIGHBORHOOD_SAMPLES, len(sample) // 2):
            return None
    n_components = min(MAX_DIMENSIONS, len(inside) - 2)
    linear = scale_classically(sample.take(inside).compute_distances(), n_components)
    p = int(np.clip(round(dimension), 1, n_components)) - 1
    tried = sorted({fewest, *(k for k in N_NEIGHBORS_TRIED if fewest <= k <= widest)})
    found = [_compare_embeddings(near, k, inside, linear) for k in tried]
    best = min(found, key=lambda one: float(one.geodesic[p]))
    is_manifold = len(sample) >= MIN_MANIFOLD_SAMPLES and not _has_clusters(near)
    return best._replace(is_manifold=is_manifold)


def _has_clusters(near: NeighborGraph) -> bool:
    """Do few neighbors leave several large components?

    Shortest paths between clusters lead from one to the next, whether curved or not.
    """
    sizes = np.bincount(label_components(near, N_NEIGHBORS_TRIED[0]))
    return bool((sizes > MIN_CLUSTER_SHARE * len(near.indices)).sum() > 1)


def _compare_embeddings(
    near: NeighborGraph, k: int, inside: NDArray[np.int64], linear: Reals
) -> ResidualVariances:
    """PCA and Isomap against the geodesic distances in the graph of k neighbors."""
    edges = symmetric_edges(Neighbors.of_table(near.indices[:, :k], near.distances[:, :k]))
    D = shortest_paths(edges, inside)[:, inside].astype(np.float64)
    D = (D + D.T) / 2
    isomap = scale_classically(D, linear.shape[1])
    return ResidualVariances(
        k, compute_residual_variance(D, linear), compute_residual_variance(D, isomap), True
    )


def scale_classically(D: Reals, k: int) -> Reals:
    """Classical scaling of distances to k dimensions."""
    n = len(D)
    values, vectors = eigh(double_center(-0.5 * D * D), subset_by_index=[n - k, n - 1])
    return np.asarray(vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0)))


def compute_residual_variance(D: Reals, Y: Reals) -> Reals:
    """1 - r² of D and distances in the first 1, 2, ... columns of Y."""
    upper = np.triu_indices(len(D), 1)
    centered = D[upper] - D[upper].mean()
    square = np.zeros(len(centered))
    residuals = []
    for y in Y.T:
        square += (y[upper[0]] - y[upper[1]]) ** 2
        d = np.sqrt(square)
        d -= d.mean()
        spread = float((centered @ centered) * (d @ d))
        residuals.append(1 - float(centered @ d) ** 2 / spread if spread > 0 else 1.0)
    return np.clip(residuals, 0, 1)
