"""Maps shared by several methods: frozen arrays that place new points, row by row."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .backends.protocol import Array, Backend, Float64, Rows
from .relations import Relation
from .values import value

# A block of relation rows that stays in memory while a large batch is mapped.
BLOCK_BYTES = 2**26


@value
class LinearMap:
    """(x - shift) W + bias."""

    shift: Float64 | None
    W: Array
    bias: Float64 | None = None

    spreads: ClassVar[bool] = True

    def __call__(self, Q: Rows, ops: Backend) -> Array:
        return ops.project(Q, self.shift, self.W, self.bias)


@value
class SparseLinearMap:
    """C x, with few non-zeros in C."""

    C: csr_array

    def __call__(self, Q: Rows, ops: Backend) -> Array:
        return ops.project(Q, None, self.C)


@value
class HadamardMap:
    """Random signs, a fast Walsh-Hadamard transform, and a sample of its entries."""

    signs: Array
    rows: NDArray[np.int64]
    padded: int
    scale: float

    spreads: ClassVar[bool] = True

    def __call__(self, Q: Rows, ops: Backend) -> Array:
        def place(part: Rows) -> Array:
            return ops.hadamard(dense(part), self.signs, self.rows, self.padded, self.scale)

        return blockwise(Q, self.padded, place) if isinstance(Q, csr_array) else place(Q)


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
            K = self.relation.toward(part, ops)
            with np.errstate(over="ignore", invalid="ignore"):
                Y = ops.project(K, self.means, self.projection)
            far = ~np.isfinite(Y).all(1)
            if far.any():  # relations beyond the type's range: the nearest that it can hold
                limit = np.finfo(np.float64).max ** 0.5
                held = np.nan_to_num(K[far].astype(np.float64), posinf=limit, neginf=-limit)
                placed = ops.project(np.clip(held, -limit, limit), self.means, self.projection)
                Y[far] = np.clip(placed, -np.finfo(Y.dtype).max, np.finfo(Y.dtype).max)
            return Y

        return blockwise(Q, len(self.means), place)


def blockwise(Q: Any, width: int, place: Any) -> Array:
    """Apply a row-wise `place` in blocks whose intermediate rows of `width` stay small."""
    n = Q.shape[0] if hasattr(Q, "shape") else len(Q)
    step = max(1, BLOCK_BYTES // (8 * width))
    if n <= step or not hasattr(Q, "__getitem__") or isinstance(Q, list):
        return np.asarray(place(Q))
    return np.concatenate([place(Q[i : i + step]) for i in range(0, n, step)])


def dense(Q: Rows) -> Array:
    return np.asarray(Q.toarray() if isinstance(Q, csr_array) else Q)
