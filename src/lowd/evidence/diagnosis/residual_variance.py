"""Residual variance: how well PCA and Isomap preserve geodesic distances, by dimension."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from ... import random
from ...neighbor_graph import NeighborGraph
from ...parameters import Reals
from ...spaces import Neighbors, shortest_paths, symmetric_edges
from .intrinsic_dimension import double_center
from .neighbor_graph import count_components, label_components
from .raw_data import MIN_NEIGHBORHOOD_SAMPLES, Sample

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
