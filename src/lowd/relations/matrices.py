"""Symmetric matrices as eigensolvers use them: by products, or formed as a dense array."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from ..backends.protocol import Array, Backend, DType, MatrixPlan

# Rows that are read for the size of the largest entry, which sets a tolerance only.
N_PROBED_ROWS = 8


class SymmetricMatrix(Protocol):
    """A symmetric linear operator; only small problems need all of its entries."""

    @property
    def size(self) -> int: ...
    @property
    def dtype(self) -> DType: ...
    def plan(self, ops: Backend) -> MatrixPlan:
        """For products, which stay where the backend computes."""

    def to_dense(self, ops: Backend) -> DenseMatrix: ...
    def max_abs(self, ops: Backend) -> float:
        """The size of the largest entry, or of one like it."""

    def trace(self) -> float: ...


class DenseMatrix(NamedTuple):
    """A symmetric matrix as stored, or -1/2 times its elementwise square (never formed)."""

    stored: Array
    half_square: bool = False

    @property
    def size(self) -> int:
        return len(self.stored)

    @property
    def dtype(self) -> DType:
        return self.stored.dtype

    def plan(self, ops: Backend) -> MatrixPlan:
        return ops.matrix_plan(self.stored, half_square=self.half_square)

    def to_dense(self, ops: Backend) -> DenseMatrix:  # noqa: ARG002 - as of any symmetric matrix
        return self

    def max_abs(self, ops: Backend) -> float:  # noqa: ARG002
        entry = float(np.abs(self.stored[:N_PROBED_ROWS]).max(initial=0))
        return entry**2 / 2 if self.half_square else entry

    def trace(self) -> float:
        diagonal = np.diagonal(self.stored).astype(np.float64)
        return float((-0.5 * diagonal * diagonal if self.half_square else diagonal).sum())
