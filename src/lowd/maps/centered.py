"""The map of classical scaling, kernel PCA and Isomap: doubly centered projections."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ..backends.protocol import Array, Backend, Float64
from ..relations import Relation
from ..relations.geodesics import along
from ..values import value
from .blockwise import blockwise


@value
class CenteredMap:
    """Project rows of a relation, less the training means, on its eigenvectors.

    One formula for classical scaling (Gower, 1968), kernel PCA, landmarks and Nyström
    (Bengio et al., 2004). The row's own mean needs no subtracting: `projection` is orthogonal
    to the constant vector, or (for landmarks) the centering is part of it.
    """

    relation: Relation
    means: Float64
    projection: Array

    def __call__(self, Q: Any, ops: Backend) -> Array:
        def place(part: Any) -> Array:
            return self.placed(self.relation.toward(part, ops), ops)

        return blockwise(Q, len(self.means), place)

    def placed(self, K: Array, ops: Backend) -> Array:
        """Places of points whose relations to the training points are known."""
        with np.errstate(over="ignore", invalid="ignore"):
            Y = ops.project(K, self.means, self.projection)
        far = ~np.isfinite(Y).all(1)
        if far.any():  # relations beyond the type's range: the nearest that it can hold
            limit = np.finfo(np.float64).max ** 0.5
            held = np.nan_to_num(K[far].astype(np.float64), posinf=limit, neginf=-limit)
            placed = ops.project(np.clip(held, -limit, limit), self.means, self.projection)
            Y[far] = np.clip(placed, -np.finfo(Y.dtype).max, np.finfo(Y.dtype).max)
        return Y


@value
class GeodesicMap:
    """Classical scaling's map, fed by the paths that lead through a new point's neighbors."""

    scaled: CenteredMap  # of Geodesics or GraphWays

    @property
    def ways(self) -> Any:
        """The relation, which is none of the general kind."""
        return self.scaled.relation

    @property
    def base(self) -> Any:
        """The distances that new points are measured by."""
        return self.ways.base

    def __call__(self, Q: Any, ops: Backend) -> Array:
        return self.through(Q, self.ways.near(Q, self.ways.n_rows, ops), ops)

    def through(self, Q: Any, near: csr_array, ops: Backend) -> Array:
        """Places of points whose neighbors are known: distances to training rows."""
        dtype = getattr(Q, "dtype", np.float64)

        def place(part: csr_array) -> Array:
            return self.scaled.placed(along(self.ways, part, dtype, ops), ops)

        return blockwise(near, 2 * len(self.scaled.means), place)
