"""Reference operations of distances, kernels and nearest neighbor search: all pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.spatial.distance import cdist

from ... import progress
from ..protocol import (
    MEASURES,
    Array,
    DistanceIndex,
    DType,
    Float64,
    Index,
    Ints,
    Neighbors,
    Rows,
)
from ..sparse_rows import subtract_columns

DISTANCE_BLOCK_SIZE = 2**22  # distances in memory at a time: 32 MiB
CLOSE_SHARE = 1e-7  # a squared distance below this share of the squared norms has lost its digits
MAX_CLOSE_PAIRS = 100_000  # recomputed at a time, as sparse differences

Params: TypeAlias = tuple[float, ...]


class NeighborOperations:
    """Distances and kernels of all pairs, and the nearest of them."""

    def pairwise(
        self, Q: Rows, X: Rows, measure: str, params: Params, center: Float64 | None
    ) -> Array:
        dtype = np.result_type(Q.dtype, X.dtype)
        if not issparse(Q) and not issparse(X):
            return _pairwise_block(Q, X, measure, params, center, dtype)
        # The product of sparse rows is sparse, with as many entries as pairs: in blocks of rows.
        X = X.astype(np.float64)
        m, step = Q.shape[0], max(1, DISTANCE_BLOCK_SIZE // X.shape[0])
        out = np.empty((m, X.shape[0]), dtype)
        for i in range(0, m, step):
            part = Q[i : i + step]
            out[i : i + step] = _pairwise_block(part, X, measure, params, center, dtype)
            if m > step:  # blocks of a search report themselves
                progress.report("distances", min(i + step, m), m)
        return out

    def index(self, X: Rows, measure: str, params: Params, center: Float64 | None) -> Index:
        return BlockIndex(self, X, measure, params, center)

    def distance_index(self, D: Array, own: NDArray[np.int64] | None = None) -> DistanceIndex:
        return SortedDistances(D, own)


@dataclass(frozen=True)
class BlockIndex:
    """Brute-force search: all distances, a block of rows at a time."""

    ops: NeighborOperations
    X: Rows
    measure: str
    params: Params
    center: Float64 | None

    def others(self, k: int) -> Neighbors:
        return self._search(self.X, k, among=True)

    def query(self, Q: Rows, k: int) -> Neighbors:
        return self._search(Q, k, among=False)

    def ranks(self, rows: NDArray[np.int64] | None, listed: Ints) -> Ints:
        X = self.X.astype(np.float64)
        asked = np.arange(X.shape[0]) if rows is None else rows
        ranks, step = np.empty_like(listed), max(1, DISTANCE_BLOCK_SIZE // X.shape[0])
        for i in range(0, len(asked), step):
            own = asked[i : i + step]
            D = self.ops.pairwise(X[own], X, self.measure, self.params, self.center)
            block = self.ops.distance_index(D, own).ranks()
            ranks[i : i + step] = np.take_along_axis(block, listed[i : i + step], 1)
            progress.report("ranks", i + len(own), len(asked))
        return np.where(listed < 0, 0, ranks).astype(np.int32)

    def _search(self, Q: Rows, k: int, among: bool) -> Neighbors:
        X = self.X.astype(np.float64)
        m, step = Q.shape[0], max(1, DISTANCE_BLOCK_SIZE // X.shape[0])
        indices, distances = np.empty((m, k), np.int32), np.empty((m, k))
        for i in range(0, m, step):
            part = Q[i : i + step].astype(np.float64)
            D = self.ops.pairwise(part, X, self.measure, self.params, self.center)
            own = np.arange(i, i + len(D)) if among else None
            found = self.ops.distance_index(D, own).nearest(k)
            indices[i : i + step], distances[i : i + step] = found.indices, found.distances
            progress.report("neighbors", i + len(D), m)
        return Neighbors(indices, distances)


@dataclass(frozen=True)
class SortedDistances:
    """Nearest columns and ranks by sorting each row."""

    D: Array
    own: NDArray[np.int64] | None

    def nearest(self, k: int) -> Neighbors:
        D, order = self._sort(np.inf)
        return Neighbors(order[:, :k].astype(np.int32), np.take_along_axis(D, order[:, :k], 1))

    def ranks(self) -> Ints:
        _, order = self._sort(-np.inf)
        first = 1 if self.own is None else 0  # what is left out comes first, with rank 0
        ranks = np.empty(self.D.shape, np.int32)
        columns = np.arange(first, first + self.D.shape[1], dtype=np.int32)
        np.put_along_axis(ranks, order, columns[None], 1)
        return ranks

    def _sort(self, left_out: float) -> tuple[Float64, NDArray[np.int64]]:
        D: Float64 = np.array(self.D, np.float64)
        if self.own is not None:
            D[np.arange(len(D)), self.own] = left_out
        return D, np.argsort(D, axis=1, kind="stable")


# From inner products, squared distances or distances to the measure itself.
_FROM_BASE: dict[str, Callable[[Float64, Params], Float64]] = {
    "dot": lambda B, p: p[0] * B,
    "poly": lambda B, p: (p[0] * B + p[1]) ** p[2],
    "sigmoid": lambda B, p: np.tanh(p[0] * B + p[1]),
    "sqeuclidean": lambda B, p: p[0] * B,
    "euclidean": lambda B, p: p[0] * np.sqrt(B),
    "rbf": lambda B, p: np.exp(-p[0] * B),
    "rbfm1": lambda B, p: np.expm1(-p[0] * B),
    "laplacian": lambda B, p: np.exp(-p[0] * B),
}


def _pairwise_block(
    Q: Rows, X: Rows, measure: str, params: Params, center: Float64 | None, dtype: DType
) -> Array:
    """A measure of all pairs, from inner products, squared distances or differences."""
    family = MEASURES[measure]
    if family == "dot":
        A, B = Q.astype(np.float64), X.astype(np.float64)
        if measure == "dot" and center is not None:  # differences need none
            A, B = (subtract_columns(M, center) if issparse(M) else M - center for M in (A, B))
        base = A @ B.T
        base = base.toarray() if issparse(base) else base
    elif family == "square":
        base = _squared_distances(Q, X, center)
    else:
        base = _difference_distances(Q, X, measure, params)
    finish = _FROM_BASE.get(measure)
    return np.ascontiguousarray(base if finish is None else finish(base, params), dtype)


def _squared_distances(Q: Rows, X: Rows, center: Float64 | None) -> Float64:
    """Squared Euclidean distances; differences of dense rows need no center."""
    if not issparse(Q) and not issparse(X):
        squares: Float64 = cdist(Q, X, "sqeuclidean")
        return squares
    if center is not None and issparse(Q) and issparse(X):
        Q, X = subtract_columns(Q, center), subtract_columns(X, center)
    Q, X = csr_array(Q, dtype=np.float64), csr_array(X, dtype=np.float64)
    q, x = (np.asarray(A.power(2).sum(1)).reshape(-1) for A in (Q, X))
    D: Float64 = (Q @ X.T).toarray()
    norms = q[:, None] + x
    D *= 2
    np.subtract(norms, D, out=D)
    np.maximum(D, 0, out=D)
    norms *= CLOSE_SHARE
    # Close pairs lose digits in the expanded form: recompute them from differences.
    i, j = np.nonzero(norms > D)
    del norms
    for part in np.array_split(np.arange(len(i)), len(i) // MAX_CLOSE_PAIRS + 1):
        D[i[part], j[part]] = np.asarray((Q[i[part]] - X[j[part]]).power(2).sum(1)).reshape(-1)
    return D


def _difference_distances(Q: Rows, X: Rows, measure: str, params: Params) -> Float64:
    """Distances that are sums or maxima over the differences of single features."""
    if measure == "jaccard":
        Q, X = Q != 0, X != 0
    name = "cityblock" if measure in ("manhattan", "laplacian") else measure
    extra = {"p": params[0]} if measure == "minkowski" else {}
    return np.asarray(cdist(Q, X, name, **extra))
