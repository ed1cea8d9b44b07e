"""Native operations of distances, kernels and nearest neighbor search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ... import _native
from ...progress import step
from ..protocol import (
    INDEXED_MEASURES,
    Array,
    DistanceIndex,
    Float64,
    Index,
    Ints,
    Neighbors,
    Rows,
)
from ..reference.neighbors import NeighborOperations, Params, SortedDistances
from .arrays import as_rows
from .linear_algebra import NativeLinearAlgebra
from .row_index import RowIndex


@dataclass(frozen=True)
class NativeDistanceIndex:
    """Nearest columns by selection, ranks by sorting."""

    D: Array
    own: NDArray[np.int64] | None
    threads: int

    def nearest(self, k: int) -> Neighbors:
        D = self.D
        indices, values = np.empty((len(D), k), np.int32), np.empty((len(D), k))
        if k:
            _native.select_smallest(D, self.own, indices, values, self.threads)
        return Neighbors(indices, values)

    def ranks(self) -> Ints:
        if self.own is None:
            return SortedDistances(self.D, None).ranks()
        out = np.empty(self.D.shape, np.int32)
        _native.rank_rows(self.D, self.own, out, self.threads)
        return out


class NativeNeighbors(NativeLinearAlgebra, NeighborOperations):
    """Distances and kernels of all pairs, and the nearest of them."""

    def pairwise(
        self, Q: Rows, X: Rows, measure: str, params: Params, center: Float64 | None
    ) -> Array:
        if issparse(Q) or issparse(X):
            return super().pairwise(Q, X, measure, params, center)
        dtype = np.result_type(Q.dtype, X.dtype)
        among = Q is X
        X = as_rows(X, dtype)
        Q = X if among else as_rows(Q, dtype)
        out = np.empty((len(Q), len(X)), dtype)
        given = Q, X, cast("_native.Measure", measure), params, center, among
        _native.pairwise(*given, out, self.threads, step("distances"))
        return out

    def index(self, X: Rows, measure: str, params: Params, center: Float64 | None) -> Index:
        if issparse(X) or measure not in INDEXED_MEASURES or not params[0] > 0:
            return super().index(X, measure, params, center)
        return RowIndex(self, X, measure, params[0], center)

    def distance_index(self, D: Array, own: NDArray[np.int64] | None = None) -> DistanceIndex:
        return NativeDistanceIndex(as_rows(D, D.dtype), own, self.threads)
