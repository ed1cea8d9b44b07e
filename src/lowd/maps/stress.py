"""Out-of-sample map of metric and non-metric MDS: stress with the training embedding fixed."""

from __future__ import annotations

from functools import partial
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..backends.protocol import Array, Backend, Float64
from ..distances.nearest import Nearest
from ..distances.protocol import DistanceRelation
from ..domains import AtLeast, Count, Increasing, Index, Shape
from ..errors import DataError
from ..input.sample import Items
from ..values import value
from .blockwise import blockwise
from .remember import approach

# SMACOF of a new point has converged when a step is shorter than this share of its distances.
STEP_TOLERANCE = 1e-10
# A stress lower by this share is another local minimum, not the same one by rounding.
MIN_STRESS_DECREASE = 1e-6


@value
class StressMap:
    """Coordinates that minimize a point's stress with the training embedding held fixed.

    Each row is optimized on its own from two starts: Gower's formula for the embedded distances,
    and the coordinates of the nearest training point, which counts where it ends clearly lower.
    Near a training point, which a distance of 0 means, coordinates approach its own
    (`remember.approach`).
    """

    relation: DistanceRelation
    Y: Annotated[Float64, Shape("n", "k")]
    means: Annotated[Float64, Shape("n"), AtLeast(0)]  # of squared embedded distances
    projection: Annotated[Float64, Shape("n", "k")]
    # From dissimilarities to disparities.
    curve: (
        tuple[
            Annotated[Float64, Shape("corners"), Increasing()],
            Annotated[Float64, Shape("corners"), AtLeast(0)],
        ]
        | None
    )
    sammon: bool
    max_iter: Count
    # The same for duplicates; None without them.
    point_of_row: Annotated[NDArray[np.int64], Shape("n"), Index("n")] | None = None

    remembers: ClassVar[bool] = True

    def __call__(self, Q: Items, ops: Backend, *, remember: bool = True) -> Array:
        def embed(part: Items) -> Array:
            return self.minimize(self.relation.toward(part, ops), ops, remember)

        return blockwise(Q, 4 * len(self.Y), embed)

    def minimize(self, D: Array, ops: Backend, remember: bool) -> Array:
        """Coordinates of points with the given distances to training points; NaN: not known."""
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
        nearest = Nearest.in_matrix(D, self.point_of_row)
        optimize = partial(ops.stress_objective().optimize_new_points, T, W, self.Y)
        how = self.max_iter, STEP_TOLERANCE
        Y, stress = optimize(gower, *how)
        other, other_stress = optimize(self.Y[nearest.point], *how)
        better = other_stress < stress * (1 - MIN_STRESS_DECREASE)
        Y[better] = other[better]
        return approach(Y, nearest, self.Y) if remember else Y
