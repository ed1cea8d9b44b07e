"""Operations of linear algebra on a device: scatter matrices and projections of dense rows.

Statistics of columns stay with the core: they read each number once, which takes no longer than to
copy it to a device.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse

from ..native.linear_algebra import NativeLinearAlgebra
from ..protocol import Array, Float64, HadamardMatrix, Moments, Rows, ScatterPlan
from .arrays import explaining_memory, rows_per_block, to_device, to_numpy
from .library import Device, Tensor, torch
from .resident import ResidentArrays

# Multiplications below which a copy to the device takes longer than the core.
MIN_DEVICE_PRODUCTS = 2**26


@dataclass(frozen=True)
class DeviceScatterPlan:
    """Dense rows on the device, centered in float64 a block at a time."""

    rows: Tensor
    mean: Float64
    weights: Float64 | None

    def moments(self) -> Moments:
        d = self.rows.shape[1]
        scatter = torch.zeros(d, d, dtype=torch.float64, device=self.rows.device)
        for Z, w in self._blocks():
            scatter.addmm_(Z.T, Z if w is None else Z * w[:, None])
        scatter = (scatter + scatter.T) / 2
        weight = float(len(self.rows) if self.weights is None else self.weights.sum())
        return Moments(weight, self.mean, to_numpy(scatter))

    def matmul(self, V: Array) -> tuple[Float64, float]:
        v = to_device(V, self.rows.device, torch.float64)
        out, trace = torch.zeros_like(v), torch.zeros((), dtype=torch.float64, device=v.device)
        for Z, w in self._blocks():
            product, squares = Z @ v, Z.square().sum(1)
            out.addmm_(Z.T, product if w is None else product * w[:, None])
            trace += (squares if w is None else squares * w).sum()
        return to_numpy(out), float(trace)

    def _blocks(self) -> Iterator[tuple[Tensor, Tensor | None]]:
        device, n = self.rows.device, len(self.rows)
        mean = to_device(self.mean, device, torch.float64)
        weights = None if self.weights is None else to_device(self.weights, device, torch.float64)
        step = rows_per_block(2 * self.rows.shape[1], device)
        for i in range(0, n, step):
            w = None if weights is None else weights[i : i + step]
            yield self.rows[i : i + step].double() - mean, w


class DeviceLinearAlgebra(NativeLinearAlgebra):
    """Scatter matrices and projections of many dense rows."""

    device: Device
    resident: ResidentArrays

    def scatter(self, X: Rows, mean: Float64, weights: Float64 | None) -> ScatterPlan:
        if issparse(X) or X.size * X.shape[1] < self._min_products():
            return super().scatter(X, mean, weights)
        with explaining_memory(f"the scatter matrix of rows of shape {X.shape}", self.device):
            return DeviceScatterPlan(self.resident.get(X, self.device), mean, weights)

    def project(
        self,
        X: Rows,
        shift: Float64 | None,
        W: Rows | HadamardMatrix,
        bias: Float64 | None = None,
    ) -> Array:
        if isinstance(W, HadamardMatrix) or issparse(X) or issparse(W):
            return super().project(X, shift, W, bias)
        if X.size * W.shape[1] < self._min_products():
            return super().project(X, shift, W, bias)
        dtype = np.result_type(X.dtype, W.dtype)
        with explaining_memory(f"a projection of rows of shape {X.shape}", self.device):
            rows = self.resident.get(X, self.device)
            w = to_device(W, self.device, torch.float64)
            offset = torch.zeros(W.shape[1], dtype=torch.float64, device=self.device)
            if bias is not None:
                offset = to_device(bias, self.device, torch.float64)
            moved = None if shift is None else to_device(shift, self.device, torch.float64)
            out = torch.empty(
                len(X), W.shape[1], device=self.device,
                dtype=torch.float32 if dtype == np.float32 else torch.float64,
            )  # fmt: skip
            step = rows_per_block(2 * max(X.shape[1], W.shape[1]), self.device)
            for i in range(0, len(X), step):
                part = rows[i : i + step].double()
                part = part if moved is None else part - moved
                out[i : i + step] = torch.addmm(offset, part, w)
            return to_numpy(out)

    def _min_products(self) -> int:
        return MIN_DEVICE_PRODUCTS if self.device.type == "cuda" else 0
