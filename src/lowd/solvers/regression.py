"""Kernel ridge regression from distances to coordinates: an out-of-sample map for any metric."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np

from .. import progress
from ..backends.protocol import Array, Backend, Float64
from ..core.fit import Context, Fit
from ..core.graph_method import Neighborhoods
from ..distances.nearest import Nearest
from ..distances.order import draw_landmarks, order_points
from ..distances.precomputed import NeighborListDistances
from ..distances.protocol import DistanceRelation
from ..domains import NonNegative, Renamed, Shape
from ..errors import UnsupportedError
from ..graph.search import count_points, find_nearest, to_csr
from ..input.sample import Items
from ..maps.blockwise import blockwise
from ..maps.remember import approach
from ..threads import single_threaded_blas
from ..values import value
from .dense import eigh
from .thresholds import (
    KERNEL_WIDTHS,
    MAX_REGRESSION_CENTERS,
    MIN_RIDGE,
    N_STRETCH_NEIGHBORS,
    RIDGES,
    SAME_POINT_DISTANCE,
)


def require_rows(near: Neighborhoods, map_name: str) -> None:
    """Raise an error if regression is asked for and there are no distances to all points."""
    if map_name == "regression" and isinstance(near.base, NeighborListDistances):
        raise UnsupportedError("map='regression' needs the rows, not a sparse graph of them.")


@value
class RidgeMap:
    """Kernel ridge regression offset + Σ w_i exp(-γ d(x, x_i)²)."""

    base: Annotated[DistanceRelation, Renamed(n="centers")]
    gamma: NonNegative
    weights: Annotated[Float64, Shape("centers", "k")]
    offset: Annotated[Float64, Shape("k")]

    def __call__(self, Q: Items, ops: Backend) -> Array:
        def predict(part: Items) -> Array:
            D = np.asarray(self.base.toward(part, ops), np.float64)
            with np.errstate(over="ignore", under="ignore"):  # of far points
                return ops.project(np.exp(-self.gamma * D * D), None, self.weights, self.offset)

        return blockwise(Q, len(self.weights), predict)


@value
class RegressionMap:
    """Kernel ridge regression, corrected around the training points (`remember.approach`)."""

    ridge: RidgeMap
    base: DistanceRelation
    embedding: Annotated[Float64, Shape("n", "k")]
    tolerance: NonNegative  # a new point this near to a training point coincides with it

    remembers: ClassVar[bool] = True

    def __call__(self, Q: Items, ops: Backend, *, remember: bool = True) -> Array:
        Y = self.ridge(Q, ops)
        if not remember:
            return Y
        n = count_points(self.base, Q)
        near = to_csr(find_nearest(self.base, Q, min(n, N_STRETCH_NEIGHBORS), ops), n)
        near.data = np.maximum(near.data - self.tolerance, 0)
        return approach(Y, Nearest.in_lists(near), self.embedding)


def with_ridge_map(fit: Fit, base: DistanceRelation, Y: Float64, ctx: Context) -> Fit:
    """A fit that maps new points by regression from points to their coordinates Y.

    Width and ridge are those of the least squared error of leaving out one point at a time, which
    is known in closed form from one eigendecomposition per width; the report says its share of Y's
    variance.
    """
    chosen = draw_landmarks(order_points(base), min(len(Y), MAX_REGRESSION_CENTERS), ctx.seed)
    centers = base.take(chosen)
    D2 = np.square(centers.among(ctx.ops), dtype=np.float64)
    offset = Y[chosen].mean(0)
    goal = Y[chosen] - offset
    median = float(np.median(D2[np.triu_indices(len(D2), 1)])) if len(D2) > 1 else 0.0
    median = median or 1.0
    best: tuple[float, float, float, Float64] = (np.inf, 1.0, 1.0, goal * 0)
    for done, width in enumerate(KERNEL_WIDTHS):
        with single_threaded_blas():
            values, V = eigh(np.exp(-D2 / (width * median)), len(D2))
            inside = V.T @ goal
            for ridge in (ridge for ridge in RIDGES if ridge >= MIN_RIDGE[ctx.dtype]):
                inverse = 1 / (np.maximum(values, 0) + ridge)
                weights = V @ (inverse[:, None] * inside)
                missed = weights / ((V * V) @ inverse)[:, None]  # each point, left out
                error = float((missed * missed).sum())
                if error < best[0]:
                    best = error, 1 / (width * median), ridge, weights
        progress.report("regression", done + 1, len(KERNEL_WIDTHS))
    error, gamma, ridge, weights = best
    spread = float((goal * goal).sum())
    ridge_map = RidgeMap(centers.freeze(), gamma, weights, offset)
    extension = RegressionMap(
        ridge_map, base.freeze(), Y, SAME_POINT_DISTANCE * float(np.sqrt(median))
    )
    return fit._replace(map=extension).with_report(
        regression_gamma=gamma,
        regression_ridge=ridge,
        regression_error=error / spread if spread > 0 else 0.0,
    )
