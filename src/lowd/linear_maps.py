"""Maps that multiply rows by a matrix, and rows mapped block by block."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .backends.protocol import Array, Backend, Float64, Rows
from .values import value

# A block of rows that stays in memory while a large batch is mapped.
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


def blockwise(Q: Any, width: int, place: Any) -> Array:
    """Apply a row-wise `place` in blocks whose intermediate rows of `width` stay small."""
    n = Q.shape[0] if hasattr(Q, "shape") else len(Q)
    step = max(1, BLOCK_BYTES // (8 * width))
    if n <= step or not hasattr(Q, "__getitem__") or isinstance(Q, list):
        return np.asarray(place(Q))
    return np.concatenate([place(Q[i : i + step]) for i in range(0, n, step)])


def dense(Q: Rows) -> Array:
    return np.asarray(Q.toarray() if isinstance(Q, csr_array) else Q)
