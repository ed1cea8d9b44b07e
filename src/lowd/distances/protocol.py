"""The protocol of distances: among the training points and from new points to them."""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ..backends.protocol import Array, Backend
from ..input.sample import Items


class DistanceRelation(Protocol):
    """Pairwise distances: a relation whose matrices hold plain distances.

    `relations.inner_products.MinusHalfSquare` turns them into inner products for eigensolvers.
    """

    def among(self, ops: Backend) -> Array:
        """Distances among the training points: a symmetric n x n matrix."""

    def toward(self, Q: Items, ops: Backend) -> Array:
        """Distances from new points (rows) to the training points (columns)."""

    def freeze(self) -> Self:
        """What a map keeps of it: read-only copies of what `toward` needs."""

    def take(self, rows: NDArray[np.int64]) -> Self:
        """The same distances to some of the training points; new points come as before."""

    def training_points(self) -> Items:
        """All training points, in the form in which `toward` takes new points."""
