"""Distances as inner products, up to double centering: -d²/2."""

from __future__ import annotations

import numpy as np

from ..backends.protocol import Array, Backend
from ..distances.protocol import DistanceRelation
from ..input.sample import Items
from ..values import value
from .matrices import DenseMatrix


@value
class MinusHalfSquare:
    """Inner products of distances up to double centering (classical MDS): -d²/2."""

    base: DistanceRelation

    def among(self, ops: Backend) -> DenseMatrix:
        return DenseMatrix(self.base.among(ops), half_square=True)

    def toward(self, Q: Items, ops: Backend) -> Array:
        D = self.base.toward(Q, ops)
        with np.errstate(over="ignore"):  # of a far point; the map brings it back into range
            return -0.5 * D * D

    def freeze(self) -> MinusHalfSquare:
        return MinusHalfSquare(self.base.freeze())
