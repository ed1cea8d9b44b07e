"""Kernel ridge regression on distances: places for rows, whatever they are measured by."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import progress, random
from ..backends.protocol import Array, Backend, Float64
from ..core.fit import Context
from ..distances.protocol import DistanceRelation
from ..graph.search import find_nearest
from ..maps.blockwise import blockwise
from ..threads import single_threaded_blas
from ..values import value
from .dense import eigh

CENTERS = 1000  # points the regression rests on
# Widths of the kernel, as shares of the median squared distance, and ridges that are tried.
WIDTHS = (1 / 64, 1 / 16, 1 / 4, 1.0, 4.0, 16.0)
RIDGES = (1e-10, 1e-8, 1e-6, 1e-4, 1e-2)
# A smaller ridge would turn the rounding of new rows into places: weights grow like its inverse.
LEAST = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-4}
HOME = 1e-12  # of the typical distance; a row that comes in another type is a little off


@value
class RidgeMap:
    """Kernel ridge regression offset + Σ w_i exp(-γ d(x, x_i)²)."""

    base: DistanceRelation
    gamma: float
    weights: Float64
    offset: Float64

    def __call__(self, Q: Any, ops: Backend) -> Array:
        def place(part: Any) -> Array:
            D = np.asarray(self.base.toward(part, ops), np.float64)
            with np.errstate(over="ignore", under="ignore"):  # of far points
                return ops.project(np.exp(-self.gamma * D * D), None, self.weights, self.offset)

        return blockwise(Q, len(self.weights), place)


@value
class RegressionMap:
    """Kernel ridge regression, but a training point (at distance 0) keeps its coordinates."""

    ridge: RidgeMap
    base: DistanceRelation
    embedding: Float64
    tolerance: float  # a new point this near to a training point coincides with it

    def __call__(self, Q: Any, ops: Backend) -> Array:
        Y = self.ridge(Q, ops)
        found = find_nearest(self.base, Q, 1, ops)
        same = found.distances[:, 0] <= self.tolerance
        Y[same] = self.embedding[found.indices[same, 0]]
        return Y


def regression(
    base: DistanceRelation, Y: Float64, ctx: Context
) -> tuple[RegressionMap, dict[str, Any]]:
    """The map from points to their places Y, with the width and the ridge that predict best.

    Best by the squared error of leaving out one point at a time, which is known in closed form
    from one eigendecomposition per width; of that the report says the share of Y's variance.
    """
    n = len(Y)
    chosen = random.subset(ctx.seed, "centers", n, min(n, CENTERS))
    centers = base.take(chosen)
    D2 = np.square(centers.among(ctx.ops), dtype=np.float64)
    offset = Y[chosen].mean(0)
    goal = Y[chosen] - offset
    median = float(np.median(D2[np.triu_indices(len(D2), 1)])) if len(D2) > 1 else 0.0
    median = median or 1.0
    best: tuple[float, float, float, Float64] = (np.inf, 1.0, 1.0, goal * 0)
    for done, width in enumerate(WIDTHS):
        with single_threaded_blas():
            values, V = eigh(np.exp(-D2 / (width * median)), len(D2))
            inside = V.T @ goal
            for ridge in (ridge for ridge in RIDGES if ridge >= LEAST[ctx.dtype]):
                inverse = 1 / (np.maximum(values, 0) + ridge)
                weights = V @ (inverse[:, None] * inside)
                missed = weights / ((V * V) @ inverse)[:, None]  # each point, left out
                error = float((missed * missed).sum())
                if error < best[0]:
                    best = error, 1 / (width * median), ridge, weights
        progress.report("regression", done + 1, len(WIDTHS))
    error, gamma, ridge, weights = best
    spread = float((goal * goal).sum())
    ridge_map = RidgeMap(centers.freeze(), gamma, weights, offset)
    place = RegressionMap(ridge_map, base.freeze(), Y, HOME * float(np.sqrt(median)))
    return place, {
        "regression_gamma": gamma,
        "regression_ridge": ridge,
        "regression_error": error / spread if spread > 0 else 0.0,
    }
