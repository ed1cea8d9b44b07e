"""Fuzzy simplicial sets of UMAP: memberships of neighbors, and their union (McInnes et al., 2018).

Each point has its own metric: distances beyond its nearest neighbor, in units of a bandwidth. In it
neighbors belong to the point's neighborhood with a membership between 0 and 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..backends.protocol import Backend, Float64, FuzzySum, Graph, Ragged
from ..backends.sparse_rows import look_up_entries
from ..distances.metrics import Distances
from ..distances.nearest import Nearest
from ..distances.protocol import DistanceRelation
from ..domains import AtLeast, AtMost, Count, NonNegative, NotStored, Positive, Shape
from ..graph.duplicates import DistinctPoints
from ..graph.given import cut_listed
from ..graph.neighbor_graph import symmetrize_edges
from ..input.row_order import invert_order
from ..input.sample import Items
from ..values import value
from .new_neighbors import find_new_neighbors
from .perplexity import ConditionalProbabilities

# A new point has more candidates than neighbors, since those that it is near to in their own scale
# count as well: in rows of unequal noise twice as many gain 0.03 of accuracy, and more no more.
CANDIDATES_PER_NEIGHBOR = 2
# Of the distances of a list, the farthest, over which weights fall to 0.
FADING_SHARE = 0.25


class FuzzyGraph(NamedTuple):
    """Memberships w_ij of the edges between training points, symmetric; and scales of the sets."""

    W: Graph
    scales: Float64


@value
class FuzzySets:
    """Memberships exp(-max(0, d - ρ) / σ) of each point's neighbors.

    ρ is the distance of the nearest (`local_connectivity`: of a later) neighbor, and σ is such that
    the memberships of k neighbors have the sum log2(k + 1). Those of the training points are
    united, w = s (a + a' - a a') + (1 - s) a a' with the share s of the union.

    A new point's weights are the mean of two distributions: its own memberships of its k nearest
    training points, and the memberships of the new point in the sets of its 2k nearest ones. Where
    rows differ in the size of their noise, its own distances rank training points by their noise;
    ρ and σ of these hold the same noise, and it cancels (as in `PerplexityProbabilities`).
    """

    base: DistanceRelation  # of the distinct points
    n_neighbors: Count
    local_connectivity: Positive
    union: Annotated[float, AtLeast(0), AtMost(1)]
    mean_distance: NonNegative  # of the neighbors, for the least σ of a new point
    # Of the training points, nearest first; None once frozen.
    edges: Annotated[csr_array | None, NotStored()] = None
    # Of each training point: ρ, σ and the distance of its last neighbor; None until frozen.
    scales: Annotated[Float64, Shape("n", 3), AtLeast(0)] | None = None

    @classmethod
    def of(cls, points: DistinctPoints, local_connectivity: float, union: float) -> FuzzySets:
        """Of the distinct points and their neighbors."""
        edges = points.edges
        count = max(1, int(np.diff(edges.indptr).max()))
        mean = float(edges.data.sum(dtype=np.float64)) / (edges.nnz + edges.shape[0])
        return cls(points.base, count, float(local_connectivity), float(union), mean, edges)

    def among(self, ops: Backend) -> FuzzyGraph:
        """The fuzzy graph of the training points, and the scales of their sets."""
        edges = self.edges
        assert edges is not None
        indptr, d = edges.indptr.astype(np.int64), edges.data.astype(np.float64, copy=False)
        rule = FuzzySum(self.local_connectivity)
        W, sigma, rho = ops.similarity_graph(edges, rule, self.union)
        last = d[np.maximum(indptr[1:] - 1, 0)] if len(d) else np.zeros(len(rho))
        scales = np.stack([rho, sigma, np.where(np.diff(indptr) > 0, last, 0.0)], axis=1)
        return FuzzyGraph(W, scales)

    def log_radii(self, W: csr_array) -> Float64:
        """densMAP's local radii of the training points, over the edges of W with a length."""
        assert self.edges is not None
        lengths = look_up_entries(symmetrize_edges(self.edges), W, np.nan)
        rows = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
        held = ~np.isnan(lengths)
        return compute_log_radii(rows[held], W.data[held], lengths[held] ** 2, W.shape[0])

    def toward(self, Q: Items, ops: Backend) -> ConditionalProbabilities:
        count = CANDIDATES_PER_NEIGHBOR * self.n_neighbors
        return self.from_neighbors(find_new_neighbors(self.base, Q, count, ops), ops)

    def from_neighbors(self, near: csr_array, ops: Backend) -> ConditionalProbabilities:
        near = cut_listed(near, CANDIDATES_PER_NEIGHBOR * self.n_neighbors)
        indptr, counts = near.indptr.astype(np.int64), np.diff(near.indptr)
        d, p = near.data.astype(np.float64, copy=False), np.empty(near.nnz)
        different = np.unique(counts)
        if len(different) == 1:  # mostly
            shape = len(counts), int(different[0])
            p = self._weigh(d.reshape(shape), near.indices.reshape(shape), ops).ravel()
        else:
            for count in different:
                at = indptr[:-1][counts == count, None] + np.arange(count)
                p[at] = self._weigh(d[at], near.indices[at], ops)
        neighbors = Ragged(indptr, near.indices.astype(np.int32))
        return ConditionalProbabilities(neighbors, p, Nearest.in_lists(near))

    def _weigh(self, d: Float64, indices: NDArray[np.integer[Any]], ops: Backend) -> Float64:
        """Weights of listed training points at distances d; rows have the sum 1."""
        rows, count = d.shape
        k = min(self.n_neighbors, count)
        own, indptr = np.ascontiguousarray(d[:, :k]), np.arange(0, rows * k + 1, k)
        rule = FuzzySum(self.local_connectivity, self.mean_distance)
        a = ops.calibrate_rows(indptr, own.ravel(), rule).affinities.reshape(own.shape)
        if count > k:
            a *= _fade(own, d[:, k])
        p = np.zeros(d.shape)
        p[:, :k] = a / a.sum(1, keepdims=True)
        if self.scales is None:
            return p
        scales = np.take(self.scales, indices, axis=0, mode="clip")  # indexing would be slow
        rho, sigma, radius = np.moveaxis(scales, -1, 0)
        excess = np.partition(d - radius, k // 2, axis=1)[:, k // 2, None]
        u = np.maximum(d - np.maximum(excess, 0) - rho, 0) / sigma
        b = np.exp(u.min(1, keepdims=True) - u)
        if count == CANDIDATES_PER_NEIGHBOR * self.n_neighbors:
            b *= _fade(d, d[:, -1])
        return np.asarray((p + b / b.sum(1, keepdims=True)) / 2)

    def freeze(self, scales: Float64 | None = None) -> FuzzySets:
        return replace(self, base=self.base.freeze(), edges=None, scales=scales)


def _fade(d: Float64, end: Float64) -> Float64:
    """1, falling to 0 at the distance where a list ends: a neighbor does not enter with a jump."""
    width = FADING_SHARE * (end - d[:, 0])[:, None]
    left = end[:, None] - d
    return np.minimum(np.divide(left, width, out=np.ones(d.shape), where=width > 0), 1)


class FuzzyPoints(NamedTuple):
    """The fuzzy graph of the distinct points, and the relation that extends it to new ones."""

    relation: FuzzySets  # frozen
    base: DistanceRelation
    first_row: NDArray[np.int64]  # of all rows
    point_of_row: NDArray[np.int64]  # of the rows that are fitted
    W: Graph | None  # None of a single point
    log_radii: Float64 | None  # of densMAP

    @property
    def n_points(self) -> int:
        return len(self.first_row)

    @classmethod
    def of(
        cls,
        relation: FuzzySets,
        W: Graph | None,
        log_radii: Float64 | None,
        points: DistinctPoints,
        order: NDArray[np.int64],
        rows: NDArray[np.int64],
    ) -> FuzzyPoints:
        """From points of some rows in another order."""
        base = relation.base if isinstance(points.base, Distances) else points.base  # once
        first_row, point_of_row = order[points.first_row], points.point_of_row[invert_order(order)]
        return cls(relation, base, rows[first_row], point_of_row, W, log_radii)


def compute_log_radii(
    rows: NDArray[np.int64], weights: Float64, squares: Float64, n: int
) -> Float64:
    """Local radii: the log of each point's weighted mean of squared distances (densMAP)."""
    total, sums = np.bincount(rows, weights, n), np.bincount(rows, weights * squares, n)
    mean = sums / np.where(total > 0, total, 1)
    return np.asarray(np.log(np.maximum(mean, np.finfo(np.float64).tiny)))
