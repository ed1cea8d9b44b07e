"""How points relate: among the training points, and from new points toward them.

A relation is the part of a method that knows the data. `among` builds what the solver sees,
`toward` the rows that the map for new points needs. Writing both in one class is what keeps
fit and transform from drifting apart.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from ..backends.protocol import Array, Backend, Float64


class Symmetric(Protocol):
    """A symmetric matrix that a solver multiplies with; only small problems need all of it."""

    @property
    def size(self) -> int: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    def times(self, V: Float64, ops: Backend) -> Float64: ...
    def formed(self, ops: Backend) -> Matrix: ...
    def largest(self) -> float:
        """The size of its largest entry, or of one like it."""

    def trace(self) -> float: ...


class Matrix(NamedTuple):
    """A symmetric matrix as stored, or -1/2 times its elementwise square (never formed)."""

    stored: Array
    half_square: bool = False

    @property
    def size(self) -> int:
        return len(self.stored)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.stored.dtype

    def times(self, V: Float64, ops: Backend) -> Float64:
        return ops.matmul(self.stored, V, self.half_square)

    def formed(self, ops: Backend) -> Matrix:  # noqa: ARG002 - as of any symmetric matrix
        return self

    def largest(self) -> float:
        entry = float(np.abs(self.stored[:64]).max(initial=0))
        return entry**2 / 2 if self.half_square else entry

    def trace(self) -> float:
        diagonal = np.diagonal(self.stored).astype(np.float64)
        return float((-0.5 * diagonal * diagonal if self.half_square else diagonal).sum())


class Relation(Protocol):
    def among(self, ops: Backend) -> Symmetric: ...
    def toward(self, Q: Any, ops: Backend) -> Array: ...
    def freeze(self) -> Relation:
        """What the map needs of it: the training matrix itself is not needed for `toward`."""
