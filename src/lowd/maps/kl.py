"""Out-of-sample map of SNE and t-SNE: KL divergence with the training embedding held fixed."""

from __future__ import annotations

from typing import Annotated

from ..backends.protocol import Array, Backend, InterpolationGrid
from ..domains import OneOf, Positive, Shape, Words
from ..relations.perplexity import ConditionalProbabilities, ProbabilityRelation
from ..values import value
from .optimized import OptimizedMap
from .remember import approach


@value
class NeighborMap(OptimizedMap):
    """New points of SNE or t-SNE, optimized one by one with the training embedding held fixed.

    Near a training point they approach its coordinates (`remember.approach`).
    """

    relation: Annotated[
        ProbabilityRelation, OneOf("PerplexityProbabilities", "PrecomputedProbabilities")
    ]
    Y: Annotated[Array, Shape("n", "k")]
    kernel: Annotated[str, Words("student", "gauss", "rows")]
    grid: InterpolationGrid | None  # of the repulsive forces; None: the exact sum
    exaggeration: Positive = 1.0  # of the attractive forces, as among the training points

    def _optimize(self, near: ConditionalProbabilities, ops: Backend, remember: bool) -> Array:
        neighbors, p, nearest = near
        objective, weights = ops.kl_objective(self.kernel), self.exaggeration * p
        Y = objective.optimize_new_points(neighbors, weights, self.Y, self.grid)
        return approach(Y, nearest, self.Y) if remember else Y
