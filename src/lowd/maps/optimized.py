"""Maps that optimize each new point with the training embedding held fixed (t-SNE, SNE, UMAP)."""

from __future__ import annotations

from typing import ClassVar, Protocol

from scipy.sparse import csr_array

from ..backends.protocol import Array, Backend
from ..confidence.calibration import WeightedNeighbors
from ..input.sample import Items
from ..relations.perplexity import ConditionalProbabilities


class WeighedNeighborhoods(Protocol):
    """A relation that weighs the neighbors of new points among the training points."""

    def toward(self, Q: Items, ops: Backend) -> ConditionalProbabilities: ...
    def from_neighbors(self, near: csr_array, ops: Backend) -> ConditionalProbabilities: ...


class OptimizedMap:
    """What such maps share: new points by their neighbors, found here or given."""

    relation: WeighedNeighborhoods
    Y: Array

    remembers: ClassVar[bool] = True

    def __call__(self, Q: Items, ops: Backend, *, remember: bool = True) -> Array:
        return self._optimize(self.relation.toward(Q, ops), ops, remember)

    def weigh_neighbors(self, Q: Items, ops: Backend) -> WeightedNeighbors:
        """The training points that new points are near to, with their weights."""
        neighbors, p, nearest = self.relation.toward(Q, ops)
        return WeightedNeighbors(neighbors, p, self.Y, nearest.ratio == 0)

    def from_neighbors(self, Q: Items, near: csr_array, ops: Backend) -> Array:  # noqa: ARG002
        """Coordinates of points with the given distances to neighbors, nearest first."""
        return self._optimize(self.relation.from_neighbors(near, ops), ops, True)

    def _optimize(self, near: ConditionalProbabilities, ops: Backend, remember: bool) -> Array:
        raise NotImplementedError
