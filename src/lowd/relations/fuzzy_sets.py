"""Fuzzy simplicial sets of UMAP: memberships of neighbors, and their union (McInnes et al., 2018).

Each point has its own metric: distances beyond its nearest neighbor, in units of a bandwidth. In it
neighbors belong to the point's neighborhood with a membership between 0 and 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..backends.protocol import Backend, Float64, Ragged
from ..backends.sparse_rows import look_up_entries
from ..distances.metrics import Distances
from ..distances.nearest import Nearest
from ..distances.protocol import DistanceRelation
from ..domains import AtLeast, AtMost, Count, NonNegative, NotStored, Positive
from ..graph.duplicates import DistinctPoints
from ..graph.neighbor_graph import symmetrize_edges
from ..input.row_order import invert_order
from ..input.sample import Items
from ..values import value
from .new_neighbors import find_new_neighbors
from .perplexity import ConditionalProbabilities


@value
class FuzzySets:
    """Memberships exp(-max(0, d - ρ) / σ) of each point's neighbors.

    ρ is the distance of the nearest (`local_connectivity`: of a later) neighbor, and σ is such that
    the memberships of k neighbors have the sum log2(k + 1). Those of the training points are
    united, w = s (a + a' - a a') + (1 - s) a a' with the share s of the union; those of a new point
    are divided by their sum, as a step of a random walk on the graph.
    """

    base: DistanceRelation  # of the distinct points
    n_neighbors: Count  # of a new point
    local_connectivity: Positive
    union: Annotated[float, AtLeast(0), AtMost(1)]
    mean_distance: NonNegative  # of the neighbors, for the least σ of a new point
    # Of the training points, nearest first; None once frozen.
    edges: Annotated[csr_array | None, NotStored()] = None

    @classmethod
    def of(cls, points: DistinctPoints, local_connectivity: float, union: float) -> FuzzySets:
        """Of the distinct points and their neighbors, of which a new point has as many."""
        edges = points.edges
        count = max(1, int(np.diff(edges.indptr).max()))
        mean = float(edges.data.sum(dtype=np.float64)) / (edges.nnz + edges.shape[0])
        return cls(points.base, count, float(local_connectivity), float(union), mean, edges)

    def among(self, ops: Backend) -> csr_array:
        """The fuzzy graph: memberships of the edges between training points, symmetric."""
        edges = self.edges
        assert edges is not None
        indptr, d = edges.indptr.astype(np.int64), edges.data.astype(np.float64)
        a, _, _ = ops.fuzzy_memberships(indptr, d, self.local_connectivity, None)
        directed = csr_array((a, edges.indices, edges.indptr), edges.shape)
        return ops.symmetrize(directed, self.union)

    def log_radii(self, W: csr_array) -> Float64:
        """densMAP's local radii of the training points, over the edges of W with a length."""
        assert self.edges is not None
        lengths = look_up_entries(symmetrize_edges(self.edges), W, np.nan)
        rows = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
        held = ~np.isnan(lengths)
        return compute_log_radii(rows[held], W.data[held], lengths[held] ** 2, W.shape[0])

    def toward(self, Q: Items, ops: Backend) -> ConditionalProbabilities:
        return self.from_neighbors(find_new_neighbors(self.base, Q, self.n_neighbors, ops), ops)

    def from_neighbors(self, near: csr_array, ops: Backend) -> ConditionalProbabilities:
        indptr, d = near.indptr.astype(np.int64), near.data.astype(np.float64)
        a, _, _ = ops.fuzzy_memberships(indptr, d, self.local_connectivity, self.mean_distance)
        total = np.add.reduceat(a, indptr[:-1])
        neighbors = Ragged(indptr, near.indices.astype(np.int32))
        p = a / np.repeat(total, np.diff(indptr))
        return ConditionalProbabilities(neighbors, p, Nearest.in_lists(near))

    def freeze(self) -> FuzzySets:
        return replace(self, base=self.base.freeze(), edges=None)


class FuzzyPoints(NamedTuple):
    """The fuzzy graph of the distinct points, and the relation that extends it to new ones."""

    relation: FuzzySets  # frozen
    base: DistanceRelation
    first_row: NDArray[np.int64]  # of all rows
    point_of_row: NDArray[np.int64]  # of the rows that are fitted
    W: csr_array | None  # None of a single point
    log_radii: Float64 | None  # of densMAP

    @property
    def n_points(self) -> int:
        return len(self.first_row)

    @classmethod
    def of(
        cls,
        sets: FuzzySets,
        W: csr_array | None,
        log_radii: Float64 | None,
        points: DistinctPoints,
        order: NDArray[np.int64],
        rows: NDArray[np.int64],
    ) -> FuzzyPoints:
        """From points of some rows in another order."""
        frozen, base = sets.freeze(), points.base
        if isinstance(base, Distances):
            base = frozen.base  # the rows once, not twice
        first_row, point_of_row = order[points.first_row], points.point_of_row[invert_order(order)]
        return cls(frozen, base, rows[first_row], point_of_row, W, log_radii)


def compute_log_radii(
    rows: NDArray[np.int64], weights: Float64, squares: Float64, n: int
) -> Float64:
    """Local radii: the log of each point's weighted mean of squared distances (densMAP)."""
    total, sums = np.bincount(rows, weights, n), np.bincount(rows, weights * squares, n)
    mean = sums / np.where(total > 0, total, 1)
    return np.asarray(np.log(np.maximum(mean, np.finfo(np.float64).tiny)))
