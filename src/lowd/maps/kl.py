"""Out-of-sample map of SNE and t-SNE: KL divergence with the training embedding held fixed."""

from __future__ import annotations

from typing import Annotated, ClassVar

from scipy.sparse import csr_array

from ..backends.protocol import Array, Backend, InterpolationGrid
from ..confidence.calibration import WeightedNeighbors
from ..domains import OneOf, Positive, Shape, Words
from ..input.sample import Items
from ..relations.perplexity import ConditionalProbabilities, ProbabilityRelation
from ..values import value
from .remember import approach


@value
class NeighborMap:
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

    remembers: ClassVar[bool] = True

    def __call__(self, Q: Items, ops: Backend, *, remember: bool = True) -> Array:
        return self._optimize(self.relation.toward(Q, ops), ops, remember)

    def weigh_neighbors(self, Q: Items, ops: Backend) -> WeightedNeighbors:
        """The training points that new points are near to, with their probabilities."""
        neighbors, p, nearest = self.relation.toward(Q, ops)
        return WeightedNeighbors(neighbors, p, self.Y, nearest.ratio == 0)

    def from_neighbors(self, Q: Items, near: csr_array, ops: Backend) -> Array:  # noqa: ARG002
        """Coordinates of points with the given distances to neighbors, nearest first."""
        return self._optimize(self.relation.from_neighbors(near, ops), ops, True)

    def _optimize(
        self, probabilities: ConditionalProbabilities, ops: Backend, remember: bool
    ) -> Array:
        neighbors, p, nearest = probabilities
        Y = ops.optimize_new_points(
            neighbors, self.exaggeration * p, self.Y, self.kernel, self.grid
        )
        return approach(Y, nearest, self.Y) if remember else Y
