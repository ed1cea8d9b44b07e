"""What Isomap needs before its shortest paths: the graph of any input, and its parameters."""

from __future__ import annotations

from ..backends.protocol import Array
from ..core.declarations import RADIUS_IS_SET, Conflict, Ignored, LandmarkPolicy, unless, when
from ..core.estimator import reducer
from ..core.fit import Context
from ..core.graph_method import GraphMethod, Neighborhoods
from ..core.parameters import check_count
from ..distances.metrics import MetricChoice, minkowski_metric
from ..graph.neighbor_graph import ConnectedGraph
from .geodesic_scaling import compute_geodesic_distances, order_sums
from .regression import require_rows

ORDERED_METRICS = ("euclidean", "minkowski")  # of which p is the order


@reducer
class GeodesicMethod(GraphMethod):
    """Base of Isomap: a connected neighbor graph, and its geodesic distances at each access."""

    ignored = (
        RADIUS_IS_SET,
        Ignored(("p",), "metric={model.metric!r} has no order", unless(metric=ORDERED_METRICS)),
        Ignored(("metric_params",), "p is set", unless(p=None)),
    )
    conflicts = (
        Conflict("n_neighbors=None needs a radius; set one.", when(n_neighbors=None, radius=None)),
    )
    ignored_with_neighbors = ("n_neighbors", "radius")
    # Geodesic distances of 20,000 rows take 1.6 GB in float64, each pair once.
    landmark_policy = LandmarkPolicy(1000, 10, automatic_above=20_000, automatic_value="auto")
    fits_landmarks_only = False
    accepts_sparse_graph = True
    warns_of_short_circuits = True
    has_residual_variance = True

    @property
    def geodesic_distances_(self) -> Array:
        """Geodesic distances between all rows (n x n), computed at each access."""
        return compute_geodesic_distances(self)

    def _metric(self) -> MetricChoice:
        return super()._metric() if self.p is None else minkowski_metric(self.p)

    def _graph(self, near: Neighborhoods, ctx: Context) -> ConnectedGraph:
        check_count(self.n_components, near.n_rows, f"n_samples={near.n_rows}")
        require_rows(near, self.map)
        m = self.landmark_policy.choose(self, near.n_rows)
        return super()._graph(near if m is None else order_sums(near), ctx)
