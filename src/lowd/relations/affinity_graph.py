"""Affinity graphs of the training points: from a neighbor graph, all pairs, or precomputed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, eye_array, issparse
from scipy.sparse.csgraph import connected_components

from ..backends.protocol import Array, Backend, Float64, Neighbors, multiply
from ..distances.callables import name_callable
from ..distances.protocol import DistanceRelation
from ..errors import DataError
from ..graph.components import OnDisconnected, connect_components, describe_sizes, rank_by_size
from ..graph.duplicates import DistinctPoints
from ..graph.neighbor_graph import ConnectedGraph, find_distinct
from ..graph.search import count_points, find_neighbors
from ..input.sample import Items
from .affinities import (
    Affinities,
    AffinityMatrix,
    CallableAffinities,
    PrecomputedAffinities,
    mean_of_directions,
)
from .bandwidth import (
    CURVE_NEIGHBOR,
    SCALE_NEIGHBOR,
    EdgeLengths,
    compute_dimension_by_scale,
    estimate_scale,
)

# An affinity so small is no different from none, but can still be divided by.
MIN_AFFINITY = 1e-30
# A bridge weighs at least as an edge of 3σ: the longest ordinary edge may be an outlier's.
MIN_BRIDGE_AFFINITY = float(np.exp(-4.5))
# Points farther apart than this many σ are not connected, as far as eigenvectors can tell: their
# affinity is below 1e-8.
MAX_EDGE_SIGMAS = 6.07


class AffinityGraph(NamedTuple):
    """Affinities among the distinct points, with the relation that extends them to new points."""

    relation: Affinities | PrecomputedAffinities | CallableAffinities
    point_of_row: NDArray[np.int64]
    counts: Float64  # rows of each point: multiplicities of duplicates
    report: dict[str, Any]
    lengths: EdgeLengths | None = None  # of edges, or of a sample of them

    @property
    def weights(self) -> AffinityMatrix:
        assert self.relation.W is not None
        return self.relation.W

    @property
    def n_points(self) -> int:
        return len(self.counts)

    def with_weights(self, W: AffinityMatrix) -> AffinityGraph:
        return self._replace(relation=replace(self.relation, W=W))

    def divide_by_density(self, alpha: float, ops: Backend) -> tuple[AffinityGraph, Float64]:
        """The kernel over the densities of both ends to the power alpha, and the densities."""
        K, counts = self.weights, self.counts
        density = multiply(ops.matrix_plan(K), counts[:, None])[:, 0]
        if issparse(K):
            scale = diags_array(density**-alpha)
            return self.with_weights(csr_array(scale @ K @ scale)), density
        scale = (density**-alpha).astype(K.dtype)
        K *= scale[:, None]
        K *= scale
        return self.with_weights(K), density

    def dimension_by_scale(self) -> dict[str, Float64]:
        """How the kernel sum grows with the scale, which tells the dimension at each."""
        if self.n_points == 1 or self.lengths is None:
            return {}
        scales, dimensions = compute_dimension_by_scale(self.lengths, self.report["sigma"])
        return {"scales": scales, "scale_dimensions": dimensions}


def build_neighbor_affinities(
    graph: ConnectedGraph,
    k: int | None,
    radius: float | None,
    sigma: float | None,
    *,
    binary: bool = False,
    averaged: bool = False,
    self_loops: bool = False,
    local_scale: bool = False,
) -> AffinityGraph:
    """Affinities of the edges of a neighbor graph: heat kernel exp(-d²/2σ²), or 1.

    `averaged` takes the mean of both directions of an edge, of which one may not be there.
    σ is the median distance to the last neighbor, or (`local_scale`) that of `bandwidth`.
    """
    edges = graph.unbridged
    if sigma is None and not binary:
        sigma = _local_scale(edges, k) if local_scale and k else _scale(edges, k, radius)
    radii = None if k is None or graph.n_points == 1 else _kth_distances(edges, k)
    relation = Affinities(graph.base, None if binary else sigma, k, radii, radius, averaged)
    W = _edge_affinities(graph, relation)
    W = csr_array(W + eye_array(W.shape[0])) if self_loops else W
    report = {**graph.report, "sigma": sigma}
    if radii is not None:
        report["neighbor_radii"] = radii[graph.point_of_row]
    relation, lengths = replace(relation, W=W), EdgeLengths.of(graph.edges)
    return AffinityGraph(relation, graph.point_of_row, graph.counts, report, lengths)


def build_full_affinities(
    base: DistanceRelation,
    sigma: float | None,
    ops: Backend,
    on_disconnected: OnDisconnected,
    *,
    self_loops: bool,
) -> AffinityGraph:
    """Affinities between all pairs; σ comes from the distances to the 3rd and 6th neighbor."""
    points, near = _find_distinct_neighbors(base, ops)
    base, count = points.base, len(points.first_row)
    if near is None:
        relation = Affinities(base, sigma or 1.0, W=np.ones((1, 1)))
        report = {**_single_point(points).report, "sigma": sigma or 1.0}
        return AffinityGraph(relation, points.point_of_row, points.counts, report)
    if sigma is None:
        sigma = float(np.median(near.distances[:, min(SCALE_NEIGHBOR, count - 1) - 1]))
        if count > CURVE_NEIGHBOR:
            sigma = estimate_scale(sigma, float(np.median(near.distances[:, -1])))
    relation = Affinities(base, sigma)
    D = base.among(ops)
    components, bridges = _label_kernel_components(D, near, sigma), np.empty((0, 2), np.int64)
    W = relation.exponents(D)
    W = np.asarray(np.exp(np.negative(W, out=W), out=W), D.dtype)
    if components.max() > 0:
        bridges = _find_bridges(points, components, sigma, ops, on_disconnected)
        a, b = bridges.T
        W[a, b] = W[b, a] = np.maximum(W[a, b], MIN_BRIDGE_AFFINITY)
    np.fill_diagonal(W, 1.0 if self_loops else 0.0)
    graph = ConnectedGraph(*points, components, bridges, points.edges)
    report = {**graph.report, "sigma": sigma}
    relation, lengths = replace(relation, W=W), EdgeLengths.of(D)
    return AffinityGraph(relation, points.point_of_row, points.counts, report, lengths)


def build_precomputed_affinities(
    W: AffinityMatrix, rows: NDArray[np.int64] | None
) -> AffinityGraph:
    """Precomputed affinities, with their diagonal; of some rows, or all."""
    if rows is not None:
        some = W[rows][:, rows]
        W = csr_array(some) if issparse(W) else np.ascontiguousarray(some)
    return _without_distances(PrecomputedAffinities(rows, W), "affinity='precomputed'")


def build_callable_affinities(
    X: Items, function: Callable[..., Any], rows: NDArray[np.int64] | None, ops: Backend
) -> AffinityGraph:
    """Affinities that a callable computes of the rows; of some rows, or all."""
    relation = CallableAffinities.of(X if rows is None else X[rows], function, ops)
    return _without_distances(relation, f"affinity={name_callable(function)}")


def _without_distances(
    relation: PrecomputedAffinities | CallableAffinities, parameter: str
) -> AffinityGraph:
    """Without distances no duplicates can be merged and no components connected."""
    W = relation.W
    assert W is not None
    n = W.shape[0]
    report = {"n_graph_components": 1, "graph_components": np.zeros(n, np.int64)}
    graph = AffinityGraph(relation, np.arange(n), np.ones(n), report)
    if n == 1:
        return graph
    count, label = connected_components(W if issparse(W) else csr_array(W), directed=False)
    if count > 1:
        label = rank_by_size(label)
        raise DataError(
            f"{parameter}: the weights leave {describe_sizes(np.bincount(label))}; row "
            f"{int(np.argmax(label == count - 1))} is in the smallest. Without distances they "
            "cannot be connected: add weights between them, or fit them one by one."
        )
    return graph


def _local_scale(edges: csr_array, k: int | None) -> float:
    assert k is not None
    near = _scale(edges, min(SCALE_NEIGHBOR, k), None)
    return (
        estimate_scale(near, _scale(edges, CURVE_NEIGHBOR, None)) if k >= CURVE_NEIGHBOR else near
    )


def _scale(edges: csr_array, k: int | None, radius: float | None) -> float:
    """The median distance to the k-th neighbor, or to the last one within the radius."""
    held = np.diff(edges.indptr) > 0
    starts = edges.indptr[:-1][held]
    if not len(starts):
        return radius or 1.0
    last = np.maximum.reduceat(edges.data, starts) if k is None else _kth_distances(edges, k)[held]
    return float(np.median(last))


def _kth_distances(edges: csr_array, k: int) -> Float64:
    """The distance of each point's k-th neighbor; of its last in a graph that has fewer."""
    held = np.minimum(np.diff(edges.indptr), k)
    at = np.minimum(edges.indptr[:-1] + np.maximum(held, 1) - 1, max(edges.nnz - 1, 0))
    return np.where(held > 0, edges.data[at], 0.0)


def _single_point(points: DistinctPoints) -> ConnectedGraph:
    """The graph of one point."""
    no_bridges = np.empty((0, 2), np.int64)
    return ConnectedGraph(*points, np.zeros(1, np.int64), no_bridges, points.edges)


def _edge_affinities(graph: ConnectedGraph, relation: Affinities) -> csr_array:
    """The sparse symmetric affinities of the edges; a bridge weighs as the longest edge."""
    lengths = graph.symmetric_edges()
    weights = np.maximum(np.exp(-relation.exponents(lengths.data)), MIN_AFFINITY)
    if relation.averaged and relation.radii is not None:
        weights *= mean_of_directions(lengths, relation.radii, relation.radii)
    W = csr_array((weights, lengths.indices, lengths.indptr), lengths.shape)
    if len(graph.bridges):
        entries = np.concatenate([_find_entries(W, a, b) for a, b in graph.bridges])
        weights[entries] = 1.0
        weights[entries] = max(float(weights.min()), MIN_BRIDGE_AFFINITY)
    return W


def _find_entries(W: csr_array, a: int, b: int) -> NDArray[np.int64]:
    """Where the entries (a, b) and (b, a) are stored; columns are sorted."""
    indptr = W.indptr
    return np.array(
        [
            indptr[i] + np.searchsorted(W.indices[indptr[i] : indptr[i + 1]], j)
            for i, j in ((a, b), (b, a))
        ]
    )


def _find_distinct_neighbors(
    base: DistanceRelation, ops: Backend
) -> tuple[DistinctPoints, Neighbors | None]:
    """The distinct points, and the nearest of each; one point has none."""
    n = count_points(base)
    if n > 1:
        near = find_neighbors(base, min(CURVE_NEIGHBOR, n - 1), ops)
        if near.distances[:, 0].all():  # no duplicates: one search does for both
            nearest = near.distances[:, 0], near.indices[:, 0], np.arange(n + 1)
            every, counts = np.arange(n), np.ones(n)
            edges = csr_array(nearest, (n, n))
            return DistinctPoints(base, edges, every, every, counts, near.recall), near
    points = find_distinct(base, 1, None, ops)
    count = len(points.first_row)
    if count == 1:
        return points, None
    return points, find_neighbors(points.base, min(CURVE_NEIGHBOR, count - 1), ops)


def _label_kernel_components(D: Array, near: Neighbors, sigma: float) -> NDArray[np.int64]:
    """Connected components of the edges whose affinity is not 0; near neighbors mostly tell."""
    n, k = near.indices.shape
    close = near.distances.ravel() <= MAX_EDGE_SIGMAS * sigma
    row = np.repeat(np.arange(n), k)[close]
    edges = csr_array((np.ones(len(row)), (row, near.indices.ravel()[close])), shape=(n, n))
    count, label = connected_components(edges, directed=False)
    if count > 1:
        label = label_components_within(D, MAX_EDGE_SIGMAS * sigma)
    return rank_by_size(label)


def label_components_within(D: Array, radius: float) -> NDArray[np.int64]:
    """Connected components of all edges up to a radius, by breadth-first search.

    A few rows of D are mostly enough to connect all points, so no sparse graph is made of it.
    """
    label, name = np.full(len(D), -1), 0
    while (label < 0).any():
        waiting = [int(np.argmin(label))]
        label[waiting] = name
        while waiting and (label < 0).any():
            new = np.flatnonzero((label < 0) & (D[waiting.pop()] <= radius))
            label[new] = name
            waiting.extend(new)
        name += 1
    return label


def _find_bridges(
    points: DistinctPoints,
    components: NDArray[np.int64],
    sigma: float,
    ops: Backend,
    on_disconnected: OnDisconnected,
) -> NDArray[np.int64]:
    """Bridges between components that the kernel leaves unconnected, with a warning."""
    sizes = np.bincount(components, points.counts).astype(int)
    found = (
        f"a kernel of sigma={sigma:.3g} is 0 beyond {MAX_EDGE_SIGMAS * sigma:.3g}, which leaves "
        f"{describe_sizes(sizes)}"
    )
    how = points.base, components, found, "sigma", ops, on_disconnected
    return connect_components(*how)[0]
