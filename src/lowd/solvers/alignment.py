"""The locally linear methods: an alignment matrix, its smallest eigenvectors, map and inverse."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from ..backends.protocol import Array, Ragged
from ..core.declarations import RADIUS_IS_SET, LandmarkPolicy
from ..core.estimator import reducer
from ..core.fit import Context, Fit
from ..core.graph_method import GraphMethod, Neighborhoods
from ..core.parameters import Count, NonNegative, Radius, Seed
from ..distances.metrics import Distances
from ..distances.protocol import DistanceRelation
from ..errors import DataError, ParameterError, RankWarning, warn
from ..graph.components import OnDisconnected
from ..graph.neighbor_graph import ConnectedGraph
from ..graph.search import find_nearest
from ..input.validation import Data
from ..maps.local import BarycentricMap, TangentMap
from ..maps.remember import Remember
from .memory_plans import plan_alignment
from .smallest import (
    SmallestEigenpairs,
    smallest_generalized_eigenpairs,
)


class Alignment(NamedTuple):
    """The matrix whose smallest eigenvectors are the embedding: M itself, or B with M = B'B."""

    matrix: csr_array | None
    root: csr_array | None = None


@reducer
class LocallyLinearMethod(GraphMethod):
    """Base of LLE, modified LLE, Hessian LLE and LTSA, which differ in their alignment matrix."""

    n_components: Count = 2
    n_neighbors: Count = 10
    radius: Radius | None = None
    reg: NonNegative = 1e-3
    map: Literal["barycentric", "tangent"] = "barycentric"
    n_landmarks: Count | None = None
    on_disconnected: OnDisconnected = "join"
    random_state: Seed = None

    ignored = (RADIUS_IS_SET,)
    landmark_policy = LandmarkPolicy(at_least=20_000)
    warns_of_short_circuits = True
    memory_plan = plan_alignment
    #: Is the alignment matrix given by a square root B, which is factored instead of it?
    has_square_root: ClassVar[bool] = False
    #: Do local tangent spaces have as many dimensions as the embedding?
    aligns_tangent_spaces: ClassVar[bool] = True

    def _align(self, X: Array, graph: ConnectedGraph, ctx: Context) -> Alignment:
        """The alignment matrix of the distinct points X."""
        raise NotImplementedError

    def _min_neighbors(self, k: int) -> int:
        """Neighbors that an embedding of k dimensions needs."""
        return k + 1

    def _fit(self, data: Data, ctx: Context, neighbors: object = None) -> Fit:
        near = self._neighborhoods(data, ctx, neighbors)
        assert isinstance(near.base, Distances)
        X = near.base.X
        if not np.ptp(X, axis=0).any():
            fit = self._embed_single_point(X, near, ctx)
        else:
            self._check_sizes(len(X), X.shape[1], near.n_neighbors)
            fit = self._embed(self._graph(near, ctx), near, ctx)
        return self._extend(fit, data, near.landmarks, ctx)

    def _neighborhoods(self, data: Data, ctx: Context, neighbors: object = None) -> Neighborhoods:
        near = super()._neighborhoods(data, ctx, neighbors)
        if near.landmarks is None:
            return near
        return near._replace(base=_euclidean(np.ascontiguousarray(data.items[near.landmarks])))

    def _distances(self, data: Data) -> DistanceRelation:
        return _euclidean(data.items)

    def _embed(self, graph: ConnectedGraph, near: Neighborhoods, ctx: Context) -> Fit:
        assert isinstance(graph.base, Distances)
        X, k = np.ascontiguousarray(graph.base.X), self.n_components
        self._check_sizes(len(X), X.shape[1], near.n_neighbors)
        _check_neighbor_counts(graph, min(self._min_neighbors(k), len(X) - 1), ctx)
        alignment = self._align(X, graph, ctx)
        axes = smallest_generalized_eigenpairs(
            alignment.matrix, graph.counts, k, ctx, root=alignment.root
        )
        Y = np.ascontiguousarray(axes.vectors, ctx.dtype)
        report = {**_report(axes), **graph.report}
        if alignment.root is not None:
            report["weights"] = _weights_of_rows(alignment.root, graph)
        embedding = Y[graph.point_of_row] if graph.has_duplicates else Y
        return self._with_maps(embedding, report, X, Y, near)

    def _embed_single_point(self, X: Array, near: Neighborhoods, ctx: Context) -> Fit:
        """All rows are equal: the embedding is 0."""
        n, k = len(X), self.n_components
        warn(f"n_components={k}, but all {n} rows are equal; the embedding is 0.", RankWarning)
        axes = SmallestEigenpairs(np.zeros(k), np.zeros((n, k)), np.zeros(k), "none", ())
        report = {
            **_report(axes),
            "participation": np.zeros(k),
            "n_graph_components": 1,
            "graph_components": np.zeros(n, np.int64),
            "bridges": np.empty((0, 2), np.int64),
            "n_distinct": 1,
            "knn_recall": 1.0,
        }
        Y = np.zeros((1, k), ctx.dtype)
        return self._with_maps(axes.vectors, report, X[:1], Y, near)

    def _with_maps(
        self, embedding: Array, report: dict[str, Any], X: Array, Y: Array, near: Neighborhoods
    ) -> Fit:
        """New points by local weights, training points remembered, and the inverse alike."""
        base = _euclidean(X).freeze()
        k = None if near.n_neighbors is None else min(near.n_neighbors, len(Y))
        local: BarycentricMap | TangentMap
        if self.map == "tangent":
            local = TangentMap(base, Y, k, near.radius)
        else:
            local = BarycentricMap(base, Y, k, near.radius, self.reg)
        # A radius in the space of the data says nothing about distances in the embedding.
        k = min(k or 2 * Y.shape[1] + 1, len(Y))
        inverse = BarycentricMap(_euclidean(Y), base.X, k, None, self.reg)
        return Fit(embedding, Remember.of(local, base.X, Y), report, inverse)

    def _check_sizes(self, n: int, d: int, n_neighbors: int | None) -> None:
        """The facts joining n_components, n_neighbors and the number of (distinct) rows."""
        k, needed = self.n_components, self._min_neighbors
        if self.aligns_tangent_spaces and d < min(k, n) and needed(d) <= (n_neighbors or needed(d)):
            raise ParameterError(
                f"n_components={k} exceeds {d}, the columns of X, and local tangent spaces have no "
                f"more dimensions; use at most {d}."
            )
        if n_neighbors is not None and n_neighbors < min(needed(k), n - 1):
            largest = min(k, n - 1)
            while needed(largest) > n_neighbors:
                largest -= 1
            if largest > 0:
                raise ParameterError(
                    f"n_components={k} exceeds {largest}, the most for n_neighbors={n_neighbors}; "
                    f"use at most {largest}, or n_neighbors={needed(k)} or more."
                )
            raise ParameterError(
                f"n_neighbors={n_neighbors} is too few for {type(self).__name__}; "
                f"use {needed(1)} or more."
            )
        if k > n - 1:
            raise ParameterError(
                f"n_components={k} exceeds {n - 1}, one less than the {n} distinct rows; "
                f"use at most {n - 1}."
            )


def _euclidean(X: Array) -> Distances:
    return Distances(X, "as they are", "euclidean", (1.0,), X.mean(0, dtype=np.float64))


def _report(axes: SmallestEigenpairs) -> dict[str, Any]:
    return {
        "n_components": len(axes.values),
        **axes.report,
        "reconstruction_error": float(axes.values.sum()),
    }


def patches(graph: ConnectedGraph) -> Ragged:
    """The patch (neighborhood) of each point: the point itself, then its neighbors.

    Without itself a point that is nobody's neighbor would be in no patch, and free to be anywhere.
    """
    near = graph.neighbor_lists()
    own = np.arange(len(near.indptr) - 1, dtype=np.int32)
    return Ragged(
        near.indptr + np.arange(len(near.indptr)),
        np.insert(near.indices, near.indptr[:-1], own),
    )


def _weights_of_rows(root: csr_array, graph: ConnectedGraph) -> csr_array:
    """Weights between rows: a duplicate has those of its point, on the first row of each point."""
    W = csr_array(-root)
    W.setdiag(0)
    W.eliminate_zeros()
    wide = csr_array((W.data, graph.first_row[W.indices], W.indptr), (graph.n_points, graph.n_rows))
    return csr_array(wide[graph.point_of_row])


def _check_neighbor_counts(graph: ConnectedGraph, least: int, ctx: Context) -> None:
    """A radius may leave some points with fewer neighbors than the method needs."""
    counts = np.diff(graph.edges.indptr)
    short = np.flatnonzero(counts < least)
    if len(short):
        assert isinstance(graph.base, Distances)
        near = find_nearest(graph.base, graph.base.X[short], least + 1, ctx.ops)
        raise DataError(
            f"row {graph.first_row[short[0]]} has {counts[short[0]]} neighbors, but {least} are "
            f"needed; use radius={near.distances[:, -1].max() * 1.001:.4g} or more, or n_neighbors."
        )
