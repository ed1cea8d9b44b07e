"""Operations of multidimensional scaling on a device: the Guttman transform of metric MDS."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..native.stress import NativeStress, NativeStressObjective
from ..protocol import Array, Float64, GuttmanStep, StressObjective, StressPlan, Ties
from .arrays import explaining_memory, free_bytes, has_kernels, rows_per_block, to_device, to_numpy
from .library import Device, Tensor, torch

MAX_KERNEL_COMPONENTS = 3
STRESS_TILE, STRESS_PARTS = (32, 128), 8  # rows and columns of a tile; columns in parts
# Rows below which the core is done before a device has begun.
MIN_DEVICE_SAMPLES = 2048


@dataclass(frozen=True)
class DeviceStressPlan:
    """Dissimilarities and weights on the device, read once per step."""

    D: Tensor
    W: Tensor | None

    def step(self, Y: Float64) -> GuttmanStep:
        k = Y.shape[1]
        y = to_device(Y, self.D.device, torch.float64)
        single = self.D.dtype == torch.float32
        if has_kernels(self.D.device) and single and k <= MAX_KERNEL_COMPONENTS:
            sums = self._launch(y)
        else:
            sums = self._sum(y)
        stress, eta = (float(part.sum()) / 2 for part in sums[:2])
        rho = (self._sum_of_squares + eta - stress) / 2  # from w (δ - d)² = w δ² - 2 w δ d + w d²
        return GuttmanStep(stress, eta, rho, to_numpy(sums[2:].T.contiguous()))

    @cached_property
    def _sum_of_squares(self) -> float:
        """Of w δ² over the pairs."""
        n, total = len(self.D), 0.0
        step = rows_per_block(8 * n, self.D.device)
        for i in range(0, n, step):
            delta, w = self._known(slice(i, i + step))
            total += float((w * delta.square()).sum())
        return total / 2

    def disparities(self, Y: Float64) -> None:  # noqa: ARG002 - the protocol's signature
        return None

    def _launch(self, y: Tensor) -> Tensor:
        from .kernels.stress import guttman

        n, k = y.shape
        rows, columns = STRESS_TILE
        # Differences of float32 keep their digits around the center.
        flat = (y - y.mean(0)).T.float().contiguous()
        out = torch.empty(STRESS_PARTS, k + 2, n, dtype=torch.float64, device=y.device)
        span = -(-n // (STRESS_PARTS * columns)) * columns
        weights = self.D if self.W is None else self.W
        guttman[(-(-n // rows), STRESS_PARTS)](
            self.D, weights, flat, out, n, span, k, self.W is not None, rows, columns, num_warps=4
        )
        return out.sum(0)

    def _sum(self, y: Tensor) -> Tensor:
        n, k = y.shape
        out = torch.empty(k + 2, n, dtype=torch.float64, device=y.device)
        step = rows_per_block(8 * n, y.device)
        for i in range(0, n, step):
            part = slice(i, i + step)
            (delta, w), here = self._known(part), y[part]
            square = torch.zeros_like(delta)
            for c in range(k):
                square += (here[:, c, None] - y[:, c]).square()
            d = square.sqrt()
            ratio = torch.where(d > 0, w * delta / d, 0.0)
            out[0, part] = (w * (delta - d).square()).sum(1)
            out[1, part] = (w * square).sum(1)
            out[2:, part] = (ratio.sum(1)[:, None] * here - ratio @ y).T
        return out

    def _known(self, part: slice) -> tuple[Tensor, Tensor]:
        """Dissimilarities and weights of some rows in float64; of a missing pair both are 0."""
        delta = self.D[part].double()
        known = ~torch.isnan(delta)
        w = known.double() if self.W is None else torch.where(known, self.W[part].double(), 0.0)
        return torch.where(known, delta, 0.0), w


@dataclass(frozen=True)
class DeviceStressObjective(NativeStressObjective):
    """Metric stress, where the dissimilarities fit on the device."""

    device: Device

    def plan(self, D: Array, W: Array | None) -> StressPlan:
        few = self.device.type == "cuda" and len(D) < MIN_DEVICE_SAMPLES
        free = free_bytes(self.device)
        size = D.nbytes * (1 if W is None else 2)
        if self.ties is not None or few or (free is not None and 1.2 * size > free):
            return super().plan(D, W)
        with explaining_memory(f"the stress of {len(D)} samples", self.device):
            weights = None if W is None else to_device(np.asarray(W, D.dtype), self.device)
            return DeviceStressPlan(to_device(D, self.device), weights)


class DeviceStress(NativeStress):
    """Metric stress on the device, ordinal stress by the core."""

    device: Device

    def stress_objective(self, ties: Ties | None = None) -> StressObjective:
        return DeviceStressObjective(ties, self.threads, self.device)
