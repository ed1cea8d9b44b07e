"""Arrays as the native core takes them, and threads for an amount of work."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..protocol import Array, DType, Float64, InterpolationGrid, Ints

# Waking a second thread takes as long as so many multiplications.
MAX_SERIAL_PRODUCTS = 2**17


def count_threads(products: int, threads: int) -> int:
    """Threads worth waking for so many multiplications."""
    return 1 if products <= MAX_SERIAL_PRODUCTS else threads


def as_rows(X: Array, dtype: DType) -> Array:
    """X in a dtype with each row contiguous (a slice of columns is fine), copied only if needed."""
    if X.dtype == dtype and X.strides[1] == X.itemsize and X.strides[0] >= 0:
        return X
    return np.ascontiguousarray(X, dtype)


def as_float64(Y: Array) -> Float64:
    return np.ascontiguousarray(Y, np.float64)


def csr_parts(A: csr_array) -> tuple[NDArray[np.int64], Ints, Any]:
    """indptr, indices and data (of the matrix's own type) in the core's integer types."""
    return A.indptr.astype(np.int64), A.indices.astype(np.int32, copy=False), A.data


def grid_parts(
    grid: InterpolationGrid | None,
) -> tuple[NDArray[np.float32] | None, list[int], list[float], float]:
    """phi, nodes, origin and spacing in two dimensions, those that are missing 0."""
    if grid is None:
        return None, [0, 0], [0.0, 0.0], 1.0
    nodes, origin = [*grid.phi.shape, 0][:2], [*grid.origin, 0.0][:2]
    return grid.phi.ravel(), nodes, origin, grid.spacing


def read_grid(
    phi: NDArray[np.float32], nodes: list[int], origin: list[float], spacing: float, k: int
) -> InterpolationGrid | None:
    """The grid that the core has made for k dimensions; None of no nodes."""
    if not len(phi):
        return None
    phi.setflags(write=False)
    return InterpolationGrid(phi.reshape(nodes[:k]), np.array(origin[:k]), spacing)
