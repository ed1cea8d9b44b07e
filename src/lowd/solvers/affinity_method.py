"""What Laplacian eigenmaps and diffusion maps share: an affinity graph of any input."""

from __future__ import annotations

from typing import ClassVar

from ..core.declarations import LandmarkPolicy
from ..core.estimator import reducer
from ..core.fit import Context, Fit
from ..core.graph_method import GraphMethod
from ..core.parameters import Count, Metric, MetricParams, Positive, Seed, check_count
from ..graph.components import OnDisconnected
from ..input.row_order import order_rows
from ..input.validation import Data
from ..relations.affinity_graph import (
    AffinityGraph,
    build_callable_affinities,
    build_full_affinities,
    build_neighbor_affinities,
    build_precomputed_affinities,
)
from .memory_plans import plan_affinity_method

UNWEIGHTED = ("binary", "nearest_neighbors")  # affinities that do not decay with distance


@reducer
class AffinityMethod(GraphMethod):
    """Base of Laplacian eigenmaps and diffusion maps: eigenvectors of an affinity graph.

    The graph is that of `n_neighbors` or `radius`, of all pairs where there is neither, of
    `neighbors=`, or precomputed.
    """

    n_components: Count = 2
    n_neighbors: Count | None = None
    sigma: Positive | None = None
    metric: Metric = "euclidean"
    metric_params: MetricParams = None
    n_landmarks: Count | None = None
    on_disconnected: OnDisconnected = "join"
    random_state: Seed = None

    landmark_policy = LandmarkPolicy(2000, 20)
    memory_plan = plan_affinity_method
    #: Is σ chosen from the nearest neighbors, rather than from the last ones?
    has_local_scale: ClassVar[bool] = False

    def _embed_affinities(self, graph: AffinityGraph, ctx: Context) -> Fit:
        """The embedding of the rows of an affinity graph."""
        raise NotImplementedError

    def _fit(self, data: Data, ctx: Context, neighbors: object = None) -> Fit:
        n = data.shape[0]
        if self._count_landmarks(n) is None:
            check_count(self.n_components, max(n - 1, 1), f"n_samples={n} less the constant")
        affinity = getattr(self, "affinity", None)
        if self._kind() == "affinity":
            self._refuse_neighbors(neighbors)
            landmarks = self._draw_landmarks(n, lambda: order_rows(square=[data.items]), ctx)
            graph = build_precomputed_affinities(data.items, landmarks)
        elif callable(affinity):
            self._refuse_neighbors(neighbors)
            landmarks = self._draw_landmarks(n, lambda: order_rows(data.items), ctx)
            graph = build_callable_affinities(data.items, affinity, landmarks, ctx.ops)
        else:
            near = self._neighborhoods(data, ctx, neighbors)
            landmarks, loops = near.landmarks, getattr(self, "self_loops", True)
            if near.n_neighbors is None and near.radius is None:
                policy: OnDisconnected = self.on_disconnected
                graph = build_full_affinities(
                    near.base, self.sigma, ctx.ops, policy, self_loops=loops
                )
            else:
                graph = build_neighbor_affinities(
                    self._graph(near, ctx),
                    near.n_neighbors,
                    near.radius,
                    self.sigma,
                    binary=affinity in UNWEIGHTED,
                    averaged=affinity == "nearest_neighbors",
                    self_loops=loops,
                    local_scale=self.has_local_scale,
                )
        return self._extend(self._embed_affinities(graph, ctx), data, landmarks, ctx)
