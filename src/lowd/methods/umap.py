"""UMAP (McInnes, Healy and Melville, 2018)."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import numpy as np

from ..confidence.calibration import ConfidenceCurve
from ..core.declarations import Conflict, Ignored, LandmarkPolicy, when
from ..core.estimator import reducer
from ..core.fit import Context, Fit, SortedOnAccess
from ..core.parameters import (
    AtLeast,
    AtMost,
    Count,
    Metric,
    MetricParams,
    NonNegative,
    Positive,
    Seed,
    check_count,
)
from ..distances.order import order_points
from ..domains import advise_at_most
from ..errors import ParameterError
from ..input.row_order import invert_order
from ..input.validation import Data
from ..relations.fuzzy_sets import FuzzySets
from ..relations.targets import intersect_with_target, read_target
from ..solvers.kl import Callback
from ..solvers.layout import GraphPoints, LayoutDescent, embed_fuzzy_graph, fit_curve, soften
from ..solvers.memory_plans import plan_umap
from ..solvers.neighbor_embedding import NeighborEmbedding
from ..solvers.thresholds import LAYOUT_EPOCHS


@reducer
class UMAP(NeighborEmbedding):
    """UMAP: uniform manifold approximation and projection.

    Use it to see clusters and how they are connected, quickly and of many rows: it preserves local
    neighborhoods, with more white space between clusters than t-SNE and less of each neighborhood.
    Sizes of clusters and distances between them are not meaningful (sizes are with `dens_lambda`).

    Examples
    --------
    >>> import numpy as np, lowd
    """

    n_components: Count = 2
    n_neighbors: Annotated[int, AtLeast(2)] = 15
    min_dist: NonNegative = 0.1
    spread: Positive = 1.0
    a: Positive | None = None
    b: Positive | None = None
    metric: Metric = "euclidean"
    metric_params: MetricParams = None
    local_connectivity: Positive = 1.0
    set_op_mix_ratio: Annotated[float, AtLeast(0), AtMost(1)] = 1.0
    n_epochs: Count | None = None
    learning_rate: Positive = 1.0
    init: Literal["pca", "spectral", "random"] | np.ndarray = "pca"
    repulsion_strength: NonNegative = 1.0
    negative_sample_rate: NonNegative = 5
    target_metric: Literal["categorical", "euclidean", "manhattan", "chebyshev"] = "categorical"
    target_weight: Annotated[float, AtLeast(0), AtMost(1)] = 0.5
    dens_lambda: NonNegative = 0.0
    dens_frac: Annotated[float, AtLeast(0), AtMost(1)] = 0.3
    dens_var_shift: NonNegative = 0.1
    n_landmarks: Count | None = None
    random_state: Seed = None

    ignored = (
        Ignored(("min_dist", "spread"), "a and b are set", lambda model: model.a is not None),
        Ignored(("dens_frac", "dens_var_shift"), "dens_lambda=0", when(dens_lambda=0)),
    )
    conflicts = (
        Conflict(
            "a and b go together: set both, or neither and min_dist and spread.",
            lambda model: (model.a is None) != (model.b is None),
        ),
        Conflict(
            "min_dist is more than spread; points cannot be nearer than they are apart: raise "
            "spread or lower min_dist.",
            lambda model: model.a is None and model.min_dist > model.spread,
        ),
    )
    landmark_policy = LandmarkPolicy(20_000)
    memory_plan = plan_umap
    graph_ = SortedOnAccess("graph_ is there after a fit of two distinct rows or more.")
    confidence_curve = ConfidenceCurve(0.3, 1.8)

    def fit(
        self, X: Any, y: Any = None, *, neighbors: Any = None, callback: Callback | None = None
    ) -> Self:
        """Learn the map; with targets y supervised (see `target_metric`).

        `neighbors` and `callback` as in TSNE.
        """
        self._learn(X, neighbors=neighbors, callback=callback, target=y)
        return self

    def fit_transform(
        self, X: Any, y: Any = None, *, neighbors: Any = None, callback: Callback | None = None
    ) -> Any:
        """Learn the map, as `fit` does, and return the embedding of the training rows."""
        return self._learn(X, embed=True, neighbors=neighbors, callback=callback, target=y)

    def _fit(
        self,
        data: Data,
        ctx: Context,
        neighbors: object = None,
        callback: Callback | None = None,
        target: Any = None,
    ) -> Fit:
        n = data.shape[0]
        check_count(self.n_components, n, f"n_samples={n}")
        near = self._neighborhoods(data, ctx, neighbors)
        y = None if target is None else read_target(target, n, self.target_metric)
        rows = np.arange(n) if near.landmarks is None else near.landmarks
        attached = [] if y is None else [y.take(rows).columns]
        if isinstance(self.init, np.ndarray) and len(self.init) == n:
            attached.append(self.init[rows])
        order = order_points(near.base, [] if near.given is None else [near.given], attached)
        points = self._points(near.reorder(order), ctx, self._count_neighbors)
        y = None if y is None else y.take(rows[order])
        graph = self._graph_points(points, order, rows, y, ctx)
        a, b = (self.a, self.b) if self.a is not None else fit_curve(self.min_dist, self.spread)
        assert a is not None and b is not None
        unit = self.spread if self.a is None else 1.0
        descent = LayoutDescent(
            self.n_components,
            self.init,
            unit,
            soften(a, b, unit),
            self.n_epochs or LAYOUT_EPOCHS,
            self.learning_rate,
            self.repulsion_strength * self.negative_sample_rate,
            self.dens_lambda,
            self.dens_frac,
            self.dens_var_shift,
        )
        fit = embed_fuzzy_graph(graph, data.items, descent, ctx, callback)
        fit = fit.with_report(a=a, b=b)
        return fit

    def _graph_points(self, points, order, rows, y, ctx) -> GraphPoints:
        sets = FuzzySets.of(points, self.local_connectivity, self.set_op_mix_ratio)
        W = radii = None
        if points.n_points > 1:
            W = sets.among(ctx.ops).W
            if y is not None:
                y = y.merge(points.point_of_row, points.n_points)
                W = intersect_with_target(W, y, self.target_weight, self.n_neighbors - 1, ctx.ops)
            if self.dens_lambda:
                radii = sets.log_radii(W)
        first_row = rows[order[points.first_row]]
        point_of_row = points.point_of_row[invert_order(order)]
        return GraphPoints(sets.freeze(), points.base, first_row, point_of_row, W, radii)

    def _n_others(self) -> int:
        return self.n_neighbors - 1

    def _count_neighbors(self, n: int) -> int:
        if self.n_neighbors > n:
            raise ParameterError(
                f"n_neighbors={self.n_neighbors} counts the row itself, so it needs as many "
                f"distinct rows, but there are {n}; use {advise_at_most('n_neighbors', n)}."
            )
        return self.n_neighbors - 1
