"""The map of SNE and t-SNE: the KL divergence minimized with the training embedding fixed."""

from __future__ import annotations

from typing import Any

from scipy.sparse import csr_array

from ..backends.protocol import Array, Backend, InterpolationGrid
from ..values import value


@value
class NeighborMap:
    """New points come to rest among the training points of SNE or t-SNE, which stay.

    One that falls on a training point (at distance 0) has its place.
    """

    relation: Any  # of `relations.perplexity`
    Y: Array
    kernel: str
    field: InterpolationGrid | None
    exaggeration: float = 1.0  # of the attraction, as among the training points

    def __call__(self, Q: Any, ops: Backend) -> Array:
        return self._placed(self.relation.toward(Q, ops), ops)

    def from_neighbors(self, Q: Any, near: csr_array, ops: Backend) -> Array:  # noqa: ARG002
        """Places of points whose neighbors are known, nearest first."""
        return self._placed(self.relation.from_neighbors(near, ops), ops)

    def _placed(self, chances: Any, ops: Backend) -> Array:
        near, p, at = chances
        Y = ops.optimize_new_points(near, self.exaggeration * p, self.Y, self.kernel, self.field)
        known = at >= 0
        Y[known] = self.Y[at[known]]
        return Y
