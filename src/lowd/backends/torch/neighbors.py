"""Operations of distances, kernels and nearest neighbor search on a device."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ... import progress
from ..native.neighbors import NativeNeighbors
from ..protocol import (
    INDEXED_MEASURES,
    MEASURES,
    Array,
    DistanceIndex,
    Float64,
    Graph,
    Index,
    Ints,
    MatrixPlan,
    Neighbors,
    PairwiseMatrix,
    Rows,
)
from ..reference.neighbors import MAX_CLOSE_PAIRS, Params
from .arrays import (
    explaining_memory,
    free_bytes,
    require_memory,
    rows_per_block,
    to_device,
    to_numpy,
)
from .library import Device, Tensor, torch
from .linear_algebra import DeviceLinearAlgebra
from .matrices import DeviceMatrix, DeviceSparseMatrix
from .row_geometry import fold_sum
from .row_index import DeviceRowIndex
from .sparse import parts_of

# Pairs below which the core is done before a device has begun.
MIN_DEVICE_PAIRS = 2**22
MAX_MATRIX_SHARE = 0.8  # of the free memory of a device that a matrix of all pairs may take
# Squared distances below this share of the norms are computed again from differences: of others a
# product loses 4 of 16 digits at most.
MIN_PRODUCT_SHARE = 1e-4


class DeviceNeighbors(DeviceLinearAlgebra, NativeNeighbors):
    """Distances and kernels of all pairs, and the nearest of them."""

    def pairwise(
        self, Q: Rows, X: Rows, measure: str, params: Params, center: Float64 | None
    ) -> Array:
        if issparse(Q) or issparse(X) or Q.shape[0] * X.shape[0] < self._min_pairs():
            return super().pairwise(Q, X, measure, params, center)
        dtype = np.result_type(Q.dtype, X.dtype)
        out = np.empty((len(Q), len(X)), dtype)
        narrow = torch.float32 if dtype == np.float32 else torch.float64
        with explaining_memory(f"distances of {len(Q)} x {len(X)} rows", self.device):
            x = self.resident.get(X, self.device)
            q = x if Q is X else self.resident.get(Q, self.device)
            block = PairwiseBlock(x, measure, params, center)
            step = rows_per_block(8 * len(X), self.device)
            for i in range(0, len(Q), step):
                to_numpy(block.compute(q[i : i + step]).to(narrow), out[i : i + step])
        return out

    def matrix_plan(
        self, A: Rows | Graph | PairwiseMatrix, *, half_square: bool = False
    ) -> MatrixPlan:
        if isinstance(A, PairwiseMatrix):
            return self._pairwise_plan(A, half_square)
        if not isinstance(A, np.ndarray):
            with explaining_memory(f"a sparse matrix of shape {A.shape}", self.device):
                parts = parts_of(A, self.device)
            assert not half_square, "sparse matrices are multiplied as they are"
            return DeviceSparseMatrix(parts)
        if A.size < self._min_pairs() or not self._has_room(A.nbytes):
            return super().matrix_plan(A, half_square=half_square)
        with explaining_memory(f"a matrix of shape {A.shape}", self.device):
            return DeviceMatrix(self.resident.get(A, self.device), half_square)

    def _pairwise_plan(self, matrix: PairwiseMatrix, half_square: bool) -> MatrixPlan:
        X, measure, params, center = matrix
        n = X.shape[0]
        if issparse(X) or n * n < self._min_pairs() or not self._has_room(n * n * X.itemsize):
            return super().matrix_plan(matrix, half_square=half_square)
        with explaining_memory(f"a matrix of {n} x {n} rows", self.device):
            x = self.resident.get(X, self.device)
            block = PairwiseBlock(x, measure, params, center)
            A = torch.empty(n, n, dtype=x.dtype, device=self.device)
            step = rows_per_block(8 * n, self.device)
            for i in range(0, n, step):
                A[i : i + step] = block.compute(x[i : i + step])
                progress.report("kernel", min(i + step, n), n)
            return DeviceMatrix(A, half_square)

    def _has_room(self, size: int) -> bool:
        free = free_bytes(self.device)
        return free is None or size <= MAX_MATRIX_SHARE * free

    def index(self, X: Rows, measure: str, params: Params, center: Float64 | None) -> Index:
        plain = issparse(X) or measure not in INDEXED_MEASURES or not params[0] > 0
        if plain or X.shape[0] ** 2 < self._min_pairs():
            return super().index(X, measure, params, center)
        need = 24 * X.shape[0] * X.shape[1]
        require_memory(need, f"neighbors of rows of shape {X.shape}", self.device)
        with explaining_memory(f"rows of shape {X.shape}", self.device):
            rows = self.resident.get(X, self.device)
        return DeviceRowIndex(rows, measure, params[0], center, self.resident)

    def distance_index(self, D: Array, own: NDArray[np.int64] | None = None) -> DistanceIndex:
        if self.device.type == "cuda":  # given distances are on the host, and are read once
            return super().distance_index(D, own)
        return DeviceDistanceIndex(D, own, self.device)

    def _min_pairs(self) -> int:
        return MIN_DEVICE_PAIRS if self.device.type == "cuda" else 0


class DeviceDistanceIndex:
    """Nearest columns and ranks by sorting each row."""

    def __init__(self, D: Array, own: NDArray[np.int64] | None, device: Device) -> None:
        self.D, self.own, self.device = D, own, device

    def nearest(self, k: int) -> Neighbors:
        values, columns = self._sort(torch.inf)
        return Neighbors(to_numpy(columns[:, :k].int()), to_numpy(values[:, :k]))

    def ranks(self) -> Ints:
        _, columns = self._sort(-torch.inf)
        first = 1 if self.own is None else 0  # what is left out comes first, with rank 0
        ranks = torch.empty_like(columns)
        line = torch.arange(first, first + self.D.shape[1], device=self.device)
        ranks.scatter_(1, columns, line.expand(len(columns), -1))
        found: Ints = to_numpy(ranks.int())
        return found

    def _sort(self, left_out: float) -> tuple[Tensor, Tensor]:
        D = to_device(self.D, self.device, torch.float64).clone()
        if self.own is not None:
            own = to_device(self.own, self.device, torch.int64)
            D[torch.arange(len(D), device=self.device), own] = left_out
        found = torch.sort(D, dim=1, stable=True)
        return found.values, found.indices


class PairwiseBlock:
    """Measures from some rows to all rows x, in float64."""

    def __init__(self, x: Tensor, measure: str, params: Params, center: Float64 | None) -> None:
        self.x, self.measure, self.params = x.double(), measure, params
        self.family = MEASURES[measure]
        self.center = None if center is None else to_device(center, x.device, torch.float64)
        if self.family == "square" or (measure == "dot" and center is not None):
            if self.center is None:
                self.center = self.x.mean(0)
            self.x = self.x - self.center
            self.squares = fold_sum(self.x.square())

    def compute(self, q: Tensor) -> Tensor:
        p, q = self.params, q.double()
        if self.family == "dot":
            centered = q if self.measure != "dot" or self.center is None else q - self.center
            B = centered @ self.x.T
        elif self.family == "square":
            B = self._squared(q - self.center)
        else:
            B = self._differences(q)
        if self.measure == "poly":
            return (p[0] * B + p[1]) ** p[2]
        if self.measure == "sigmoid":
            return torch.tanh(p[0] * B + p[1])
        if self.measure == "euclidean":
            return p[0] * B.sqrt()
        if self.measure in ("rbf", "laplacian"):
            return torch.exp(-p[0] * B)
        if self.measure == "rbfm1":
            return torch.expm1(-p[0] * B)
        return p[0] * B if self.measure in ("dot", "sqeuclidean") else B

    def _squared(self, q: Tensor) -> Tensor:
        """Squared distances; of close pairs, which lose digits in a product, from differences."""
        norms = fold_sum(q.square())[:, None] + self.squares
        D = torch.addmm(norms, q, self.x.T, alpha=-2).clamp_min_(0)
        close = torch.nonzero(norms.mul_(MIN_PRODUCT_SHARE) >= D)
        for i, j in zip(close[:, 0].split(MAX_CLOSE_PAIRS), close[:, 1].split(MAX_CLOSE_PAIRS),
                        strict=True):  # fmt: skip
            D[i, j] = fold_sum((q[i] - self.x[j]).square())
        return D

    def _differences(self, q: Tensor) -> Tensor:
        if self.measure in ("manhattan", "laplacian"):
            return torch.cdist(q, self.x, p=1)
        if self.measure == "chebyshev":
            return torch.cdist(q, self.x, p=torch.inf)
        if self.measure == "minkowski":
            p = float(self.params[0])
            mode = "donot_use_mm_for_euclid_dist"
            return torch.cdist(q, self.x, p=p, compute_mode=mode)
        if self.measure == "hamming":
            return _count_columns(q, self.x, torch.ne) / q.shape[1]
        q, x = q != 0, self.x != 0
        differ, either = _count_columns(q, x, torch.ne), _count_columns(q, x, torch.logical_or)
        return torch.where(either > 0, differ / either, 0.0)


def _count_columns(q: Tensor, x: Tensor, holds: object) -> Tensor:
    """In how many columns something holds of each pair of rows."""
    count = torch.zeros(len(q), len(x), dtype=torch.float64, device=q.device)
    for c in range(q.shape[1]):
        count += holds(q[:, c, None], x[None, :, c])  # type: ignore[operator]
    return count
