"""The map of metric and non-metric MDS: stress minimized with the training embedding fixed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.protocol import Array, Backend, Float64
from ..errors import DataError
from ..values import value
from .blockwise import blockwise

STILL = 1e-10  # a step of `StressMap`, relative to the distances, that is none
BETTER = 1e-6  # so much lower is another minimum, not the same one by rounding


@value
class StressMap:
    """Where a point's distances to the frozen training points fit best.

    Each row descends on its own from two starts, Gower's formula for the map's own distances and
    the place of the nearest training point; the second counts where it ends clearly lower. A
    distance of 0 means the training point itself.
    """

    relation: Any  # distances
    Y: Float64
    means: Float64  # of the map's squared distances
    projection: Float64
    curve: tuple[Float64, Float64] | None  # from dissimilarities to distances
    sammon: bool
    max_iter: int

    def __call__(self, Q: Any, ops: Backend) -> Array:
        def place(part: Any) -> Array:
            return self.placed(self.relation.toward(part, ops), ops)

        return blockwise(Q, 4 * len(self.Y), place)

    def placed(self, D: Array, ops: Backend) -> Float64:
        """Places of points whose distances to the training points are known; NaN: not so."""
        missing = np.isnan(D)
        if missing.all(1).any():
            row = int(missing.all(1).argmax())
            raise DataError(f"row {row} has no known distance to a training point; drop it.")
        T = D.astype(np.float64) if self.curve is None else np.interp(D, *self.curve)
        W = None
        if self.sammon:
            W = np.divide(1, D, out=np.zeros(D.shape), where=D > 0)
        squares = np.where(missing, self.means, T * T)
        gower: Float64 = np.asarray(
            ops.project(-0.5 * squares, -0.5 * self.means, self.projection), np.float64
        )
        nearest = self.Y[np.where(missing, np.inf, D).argmin(1)]
        Y, stress = ops.multilaterate(T, W, self.Y, gower, self.max_iter, STILL)
        other, less = ops.multilaterate(T, W, self.Y, nearest, self.max_iter, STILL)
        better = less < stress * (1 - BETTER)
        Y[better] = other[better]
        same = (D == 0).any(1)
        Y[same] = self.Y[(D[same] == 0).argmax(1)]
        return Y
