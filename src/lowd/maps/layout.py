"""Out-of-sample map of UMAP: its forces on a new point, with the training embedding held fixed."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from ..backends.protocol import Array, Backend, InterpolationGrid, LayoutCurve
from ..domains import Index, NonNegative, OneOf, Positive, Shape
from ..relations.fuzzy_sets import FuzzySets
from ..relations.perplexity import ConditionalProbabilities
from ..values import value
from .optimized import OptimizedMap
from .remember import approach


@value
class LayoutMap(OptimizedMap):
    """New points of UMAP, optimized one by one with the training embedding held fixed.

    Near a training point they approach its coordinates (`remember.approach`). Forces are computed
    in units of `unit`, UMAP's `spread`.
    """

    relation: Annotated[FuzzySets, OneOf("FuzzySets")]
    Y: Annotated[Array, Shape("n", "k")]
    unit: Positive
    a: Positive  # of the similarity 1 / (1 + a d^2b), d in units
    b: Positive
    softening: Positive  # of the repulsion, in squared units
    repulsion: NonNegative  # its weight, as among the training points
    grid: InterpolationGrid | None  # of its potential, in units
    # The training points that it is summed over; None: by the grid, or over all.
    sample: Annotated[NDArray[np.int64], Shape("sample"), Index("n")] | None

    def _optimize(self, near: ConditionalProbabilities, ops: Backend, remember: bool) -> Array:
        neighbors, p, nearest = near
        objective = ops.layout_objective(LayoutCurve(self.a, self.b, self.softening))
        training = self.Y if self.unit == 1 else self.Y / self.Y.dtype.type(self.unit)
        how = self.repulsion, self.grid, self.sample
        Y = self.unit * objective.optimize_new_points(neighbors, p, training, *how)
        return approach(Y, nearest, self.Y) if remember else Y
