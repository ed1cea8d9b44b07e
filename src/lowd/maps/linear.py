"""Linear maps: a dense or sparse matrix, or a fast Walsh-Hadamard transform."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..backends.protocol import Array, Backend, Float64, HadamardMatrix, Rows
from ..domains import AtLeast, Fact, Facts, Index, Number, Positive, Renamed, Shape
from ..errors import DataError
from ..values import value
from .blockwise import blockwise


@value
class LinearMap:
    """Linear projection (x - shift) W + bias."""

    shift: Annotated[Float64, Shape("d")] | None
    W: Annotated[Array, Shape("d", "k")]
    bias: Annotated[Float64, Shape("k")] | None = None

    spreads: ClassVar[bool] = True

    def state_facts(self, facts: Facts) -> None:
        facts.set("input", "rows")

    def __call__(self, Q: Rows, ops: Backend) -> Array:
        return ops.project(Q, self.shift, self.W, self.bias)

    def bound(self, max_abs: float) -> float:
        """A bound of the coordinates of rows whose entries are up to `max_abs`."""
        most = max_abs + _largest(self.shift)
        return len(self.W) * most * _largest(self.W) + _largest(self.bias)


@value
class SparseLinearMap:
    """Sparse linear projection C x."""

    C: Annotated[csr_array, Shape("k", "d")]

    def state_facts(self, facts: Facts) -> None:
        facts.set("input", "rows")

    def __call__(self, Q: Rows, ops: Backend) -> Array:
        return ops.project(Q, None, self.C)

    def bound(self, max_abs: float) -> float:
        """As of LinearMap."""
        return len(self.C.data) * max_abs * _largest(self.C.data)


@value
class HadamardMap:
    """Random signs, a fast Walsh-Hadamard transform, and a sample of its entries."""

    signs: Annotated[Array, Shape("d")]
    rows: Annotated[NDArray[np.int64], Shape("k"), Index("padded")]
    padded: Annotated[int, Fact("padded")]
    scale: Number

    spreads: ClassVar[bool] = True

    def state_facts(self, facts: Facts) -> None:
        facts.set("input", "rows")
        power = 1 << (len(self.signs) - 1).bit_length()
        facts.require(self.padded == power, "padded", f"{power}, the next power of two")

    def __call__(self, Q: Rows, ops: Backend) -> Array:
        W = HadamardMatrix(self.signs, self.rows, self.padded, self.scale)
        if isinstance(Q, csr_array):
            return blockwise(Q, self.padded, lambda part: ops.project(to_dense(part), None, W))
        return ops.project(Q, None, W)

    def bound(self, max_abs: float) -> float:
        """As of LinearMap; sums are scaled when they are complete."""
        return self.padded * max_abs * _largest(self.signs) * max(1.0, self.scale)


@value
class HadamardInverse:
    """Inverse of the Hadamard projection R: (k/d') R'.

    For the rows of R are orthogonal, with squared length d'/k.
    """

    forward: Annotated[HadamardMap, Renamed(d="k", k="d")]

    def __call__(self, Y: Array, ops: Backend) -> Array:
        go = self.forward
        spread = np.zeros((len(Y), go.padded), Y.dtype)
        spread[:, go.rows] = Y
        columns = np.arange(len(go.signs), dtype=np.int64)
        scale = len(go.rows) / go.padded * go.scale
        back = ops.project(
            spread, None, HadamardMatrix(np.ones(go.padded), columns, go.padded, scale)
        )
        return np.asarray(back * go.signs, Y.dtype)


def _largest(entries: Array | None) -> float:
    if entries is None:
        return 0.0
    return max(float(entries.max(initial=0)), -float(entries.min(initial=0)))


def to_dense(Q: Rows) -> Array:
    """Rows as a dense array."""
    return np.asarray(Q.toarray() if isinstance(Q, csr_array) else Q)


@value
class AwaitingRows:
    """Instead of a linear map, while `partial_fit` has seen fewer rows than components."""

    seen: Positive  # rows, or their weights
    needed: Annotated[int, AtLeast(1)]

    def __call__(self, Q: Rows, ops: Backend) -> Array:  # noqa: ARG002 - a map's signature
        raise DataError(
            f"partial_fit has seen {self.seen:g} rows, but n_components={self.needed} needs "
            f"{self.needed}; add {self.needed - self.seen:g} or more by partial_fit first."
        )
