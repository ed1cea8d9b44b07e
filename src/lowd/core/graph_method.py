"""The base class of graph methods: any input becomes one neighbor graph before the embedding."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ..backends import resolve
from ..backends.protocol import DType
from ..distances.metrics import distances_of
from ..distances.order import draw_landmarks, order_points
from ..distances.precomputed import NeighborListDistances
from ..distances.protocol import DistanceRelation
from ..errors import ParameterError, UnsupportedError
from ..graph.components import OnDisconnected
from ..graph.duplicates import DistinctPoints, merge_duplicates
from ..graph.given import (
    NeighborGraph,
    check_lists_toward,
    merge_listed_duplicates,
    reorder_listed,
    select_listed,
)
from ..graph.neighbor_graph import ConnectedGraph, NeighborCount, connect, find_distinct
from ..graph.search import count_points
from ..graph.short_circuits import warn_of_short_circuits
from ..input.arguments import Input, Output
from ..input.row_order import order_samples
from ..input.sample import Items
from ..input.validation import Data
from .coordinates import cast_clipped
from .diagnostics import connecting_parameter, warn_of_localized_axes, with_residual_variance
from .estimator import Reducer, reducer
from .fit import Context, Fit
from .parameters import check_landmarks, refuse_unused


class Neighborhoods(NamedTuple):
    """Distances between samples, and which of them are neighbors."""

    base: DistanceRelation
    items: Items  # the validated input that the distances are of
    n_neighbors: int | None
    radius: float | None = None
    given: csr_array | None = None  # edges that were found elsewhere, nearest first
    landmarks: NDArray[np.int64] | None = None  # the rows that are fitted, if not all

    def reorder(self, order: NDArray[np.int64]) -> Neighborhoods:
        """The same of all rows in another order."""
        given = None if self.given is None else reorder_listed(self.given, order)
        return self._replace(base=self.base.take(order), given=given)

    @property
    def dtype(self) -> DType:
        """The type of the input's entries; of objects and tables float64."""
        return np.dtype(getattr(self.items, "dtype", np.float64))

    @property
    def n_rows(self) -> int:
        """Rows that are fitted."""
        return count_points(self.base)


@reducer
class GraphMethod(Reducer):
    """A method that starts from the neighbor graph of the samples.

    `fit` turns rows, precomputed distances, a sparse graph or `neighbors=`, with `n_neighbors` or
    `radius`, into one `ConnectedGraph` (duplicates merged, components connected by bridges), and
    `_embed` makes the embedding of it.
    """

    #: Parameters that would do nothing where `neighbors=` is given.
    ignored_with_neighbors: ClassVar[tuple[str, ...]] = ("n_neighbors", "radius", "n_landmarks")
    #: Is a row itself one of its `n_neighbors`?
    counts_itself: ClassVar[bool] = False
    #: Are all points as near as the last neighbor neighbors too?
    includes_ties: ClassVar[bool] = True
    #: Does metric="precomputed" also take the sparse graph of a KNeighborsTransformer?
    accepts_sparse_graph: ClassVar[bool] = False
    #: With landmarks: is only a random subset of the rows fitted, and the others mapped?
    fits_landmarks_only: ClassVar[bool] = True
    #: Are short-circuit edges searched for? They matter where edges stand for a manifold.
    warns_of_short_circuits: ClassVar[bool] = False
    #: The learned array whose localized columns are warned of, without the trailing underscore.
    localized_axes_of: ClassVar[str] = "embedding"
    #: Is the residual variance of the embedded geodesic distances computed?
    has_residual_variance: ClassVar[bool] = False

    def _embed(self, graph: ConnectedGraph, near: Neighborhoods, ctx: Context) -> Fit:
        """The embedding of the graph's rows, its map and its learned attributes."""
        raise NotImplementedError

    # -- fit ----------------------------------------------------------------------------------

    def fit(self, X: Input, y: object = None, *, neighbors: object = None) -> Self:  # noqa: ARG002
        """Learn the map; `neighbors` is a neighbor graph of these rows (see `lowd.neighbors`)."""
        self._learn(X, neighbors=neighbors)
        return self

    def fit_transform(self, X: Input, y: object = None, *, neighbors: object = None) -> Output:  # noqa: ARG002
        """Learn the map and return the embedding of the training rows."""
        return self._learn(X, embed=True, neighbors=neighbors)

    def _fit(self, data: Data, ctx: Context, neighbors: object = None) -> Fit:
        near = self._neighborhoods(data, ctx, neighbors)
        return self._extend(
            self._embed(self._graph(near, ctx), near, ctx), data, near.landmarks, ctx
        )

    def _neighborhoods(self, data: Data, ctx: Context, neighbors: object = None) -> Neighborhoods:
        """Distances between the rows that are fitted, and their neighbors if they are given."""
        radius = getattr(self, "radius", None)
        k = None if radius is not None else self._n_others()
        if issparse(data.items) and self._kind() == "distances":
            if neighbors is not None:
                raise UnsupportedError("a sparse precomputed graph is the neighbor graph itself.")
            n = data.shape[0]
            edges = NeighborGraph.of(data.items).edges()
            if k is not None or radius is not None:
                edges = select_listed(edges, k, radius, self.counts_itself)
            return Neighborhoods(NeighborListDistances(n), data.items, k, radius, edges)
        base = self._distances(data)
        n = count_points(base)
        if neighbors is not None:
            refuse_unused(self, self.ignored_with_neighbors, "the neighbor graph is given")
            graph = NeighborGraph.of(neighbors, n)
            edges = graph.edges()
            if k is not None and "n_neighbors" not in self.ignored_with_neighbors:
                edges = select_listed(edges, k, None, self.counts_itself)
            return Neighborhoods(base, data.items, graph.n_neighbors, None, edges)
        landmarks = self._draw_landmarks(n, lambda: order_points(base), ctx)
        if landmarks is not None:
            base, n = base.take(landmarks), len(landmarks)
        k = None if radius is not None else self._count_neighbors(n)
        return Neighborhoods(base, data.items, k, radius, None, landmarks)

    def _refuse_neighbors(self, neighbors: object) -> None:
        """Raise an error if neighbors are given beside precomputed affinities."""
        if neighbors is not None:
            raise ParameterError("neighbors= would be ignored: the affinities are precomputed.")

    def _n_others(self) -> int | None:
        """The neighbors that `n_neighbors` asks for, a row itself not counted."""
        count: int | None = self.n_neighbors
        return count if count is None else count - self.counts_itself

    def _count_neighbors(self, n: int) -> int | None:  # noqa: ARG002 - n rows may decide
        """Neighbors of each of n rows; None where all pairs count."""
        return self._n_others()

    def _distances(self, data: Data) -> DistanceRelation:
        return distances_of(data, *self._metric())

    def _draw_landmarks(
        self, n: int, order: Callable[[], NDArray[np.int64]], ctx: Context
    ) -> NDArray[np.int64] | None:
        """The random rows that are fitted, drawn in their canonical order; None for all."""
        m = self._count_landmarks(n)
        if m is None or not self.fits_landmarks_only:
            return None
        check_landmarks(m, self.n_components, n)
        return draw_landmarks(order(), m, ctx.seed)

    def _points(
        self, near: Neighborhoods, ctx: Context, k: NeighborCount | None = None
    ) -> DistinctPoints:
        """The distinct points and their neighbors: duplicates merged, nothing connected.

        `k` replaces the number of neighbors, where that depends on how many points there
        are.
        """
        if near.given is not None:
            return merge_duplicates(near.base, near.given)
        k = near.n_neighbors if k is None else k
        return find_distinct(near.base, k, near.radius, ctx.ops, self.includes_ties)

    def _graph(self, near: Neighborhoods, ctx: Context) -> ConnectedGraph:
        """The distinct points and their neighbors, connected by bridges."""
        policy: OnDisconnected = self.on_disconnected
        points = self._points(near, ctx)
        graph = connect(points, near.n_neighbors, near.radius, ctx.ops, policy)
        if self.warns_of_short_circuits:
            warn_of_short_circuits(graph, self.n_components)
        return graph

    def _extend(
        self, fit: Fit, data: Data, landmarks: NDArray[np.int64] | None, ctx: Context
    ) -> Fit:
        """Diagnose the axes, and map the rows that are no landmarks."""
        if self.has_residual_variance:
            fit = with_residual_variance(fit, order_samples(data.items, self._kind()), ctx)
        columns = fit.report.get(self.localized_axes_of, fit.embedding)
        assert columns is not None
        if "participation" not in fit.report:
            ratio = warn_of_localized_axes(columns, connecting_parameter(self))
            fit = fit.with_report(participation=ratio)
        return self._map_others(fit, data, landmarks, ctx)

    def _map_others(
        self, fit: Fit, data: Data, landmarks: NDArray[np.int64] | None, ctx: Context
    ) -> Fit:
        """Where only landmarks were fitted, map all rows."""
        if landmarks is None:
            return fit
        report = {**fit.report, "landmarks": landmarks}
        report.pop("distinct", None)  # of landmarks, where the attribute tells of all rows
        return fit._replace(embedding=fit.map(data.items, ctx.ops), report=report)

    # -- transform ------------------------------------------------------------------------------

    def transform(
        self, X: Input, *, neighbors: object = None, return_confidence: bool = False
    ) -> Output:
        """Coordinates of new points; `neighbors` are their (indices, distances) of training rows.

        Row by row: the same alone or in any batch.
        """
        if neighbors is None or not hasattr(self, "map_"):
            return super().transform(X, return_confidence=return_confidence)
        if return_confidence:
            self._check_support()
        if not hasattr(self.map_, "from_neighbors"):
            raise ParameterError(f"neighbors= would be ignored: map={self.map!r} needs none.")
        ops = resolve(self.backend, self.n_jobs)
        with self._reporting():
            data = self._validate(X, ops)
            lists = check_lists_toward(neighbors, data.shape[0], self.n_samples_)
            near = self._merge_duplicates(select_listed(lists, None, float("inf")))
            Y = cast_clipped(self.map_.from_neighbors(data.items, near, ops), data.dtype)
            return (Y, self._confidence(data, ops, Y)) if return_confidence else Y

    def _merge_duplicates(self, near: csr_array) -> csr_array:
        """Neighbor lists of rows as lists of the distinct points that the map knows."""
        if self.fits_landmarks_only and hasattr(self, "landmarks_"):
            raise UnsupportedError(
                "neighbors= of new points may be any training rows, but with landmarks the map "
                "knows no others; leave it out, or fit without landmarks."
            )
        point_of_row = getattr(self, "distinct_", None)
        if point_of_row is None:
            return near
        points = merge_listed_duplicates(near, point_of_row)
        if self.fits_landmarks_only:
            return points
        first_row = np.unique(point_of_row, return_index=True)[1]  # the map knows all rows
        return csr_array((points.data, first_row[points.indices], points.indptr), near.shape)

    def _takes_sparse(self) -> bool:
        graph = self.accepts_sparse_graph and self._kind() == "distances"
        return graph or super()._takes_sparse()
