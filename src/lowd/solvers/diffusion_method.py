"""What diffusion maps need beside their spectrum: which pairs have a kernel, what is learned."""

from __future__ import annotations

from ..backends.protocol import Float64
from ..core.estimator import reducer
from ..relations.affinity_graph import AffinityGraph
from .affinity_method import AffinityMethod

MAX_FULL_KERNEL_SAMPLES = 5000  # rows up to which the kernel is between all pairs: 200 MB
SPARSE_KERNEL_NEIGHBORS = 60  # of each row beyond that


@reducer
class DiffusionMethod(AffinityMethod):
    """Base of diffusion maps: a kernel between all pairs of few rows, or between neighbors."""

    ignored_with_neighbors = ("n_neighbors", "n_landmarks")
    has_local_scale = True
    localized_axes_of = "psi"

    def _count_neighbors(self, n: int) -> int | None:
        many = self.n_neighbors is None and n > MAX_FULL_KERNEL_SAMPLES
        return SPARSE_KERNEL_NEIGHBORS if many else self.n_neighbors

    def _report_graph(self, graph: AffinityGraph, **of_points: Float64) -> dict[str, object]:
        """Learned attributes of the graph, and values of its points as values of the rows."""
        return {
            "n_components": self.n_components,
            "n_neighbors": getattr(graph.relation, "n_neighbors", None),
            **{name: values[graph.point_of_row] for name, values in of_points.items()},
            **graph.report,
        }
