"""What the affinities of Laplacian eigenmaps decide: parameters without effect, contradictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from scipy.sparse import issparse

from ..core.declarations import RADIUS_IS_SET, Conflict, Ignored, when, when_callable
from ..core.estimator import reducer
from ..relations.affinity_graph import AffinityGraph
from .affinity_method import UNWEIGHTED, AffinityMethod

Affinity = Literal["heat", "rbf", "binary", "nearest_neighbors", "precomputed"] | Callable[..., Any]
EDGE_PARAMETERS = ("n_neighbors", "radius", "sigma", "self_loops", "metric", "metric_params")
ALL_PAIRS = "a callable affinity weighs all pairs of rows"


@reducer
class LaplacianMethod(AffinityMethod):
    """Base of Laplacian eigenmaps: affinities by name, callable or precomputed."""

    ignored = (
        Ignored(
            EDGE_PARAMETERS, "affinity='precomputed' is the graph", when(affinity="precomputed")
        ),
        Ignored(EDGE_PARAMETERS, ALL_PAIRS, when_callable("affinity")),
        Ignored(("sigma",), "affinity={model.affinity!r} has no scale", when(affinity=UNWEIGHTED)),
        RADIUS_IS_SET,
    )
    conflicts = (
        Conflict(
            "affinity='binary' gives all pairs the same weight; set n_neighbors or radius.",
            when(affinity=UNWEIGHTED, n_neighbors=None, radius=None),
        ),
        Conflict(
            "scale='commute' needs normalization='random_walk' or 'none': 'symmetric' weighs rows.",
            when(scale="commute", normalization="symmetric"),
        ),
    )

    def _report_affinities(self, graph: AffinityGraph) -> dict[str, object]:
        """The sparse affinities, where they are not those that were given."""
        computed = issparse(graph.weights) and self.affinity != "precomputed"
        return {"affinity": graph.weights} if computed else {}
