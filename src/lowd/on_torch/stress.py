"""The stress of metric MDS on the device: dissimilarities are read once in each step."""

from __future__ import annotations

import numpy as np

from ..methods.mds import Step, Stress, metric_stress
from ..parameters import Reals
from .arrays import (
    explaining_memory,
    has_kernels,
    has_room,
    is_worth,
    resident,
    rows_per_block,
    to_device,
    to_numpy,
)
from .library import Tensor, torch

PARTS, TILE = 8, (32, 128)  # parts of the columns that a kernel sums; rows and columns of a tile


@metric_stress.register("torch")
def _(D: Reals, W: Reals | None) -> Stress:
    if not is_worth(len(D), 2048) or not has_room(D.nbytes * (1 if W is None else 2)):
        return metric_stress.function(D, W)
    with explaining_memory(f"the stress of {len(D)} points"):
        return DeviceStress(D, W)


class DeviceStress(Stress):
    """Dissimilarities and weights, which are on the device as well."""

    def __init__(self, D: Reals, W: Reals | None) -> None:
        super().__init__(D, W)
        self._delta = resident(self.D)
        self._weights = None if W is None else to_device(np.asarray(W, D.dtype))
        self._total = 0.0  # of w δ² over the pairs
        for i in range(0, len(D), step := rows_per_block(8 * len(D))):
            delta, w = self._known(slice(i, i + step))
            self._total += float((w * delta.square()).sum()) / 2

    def step(self, Y: Reals) -> Step:
        y = to_device(Y, torch.float64)
        single = self._delta.dtype == torch.float32
        with_kernel = has_kernels(y.device) and single and y.shape[1] <= 3
        sums = self._launch(y) if with_kernel else self._sum(y)
        stress, eta2 = (float(part.sum()) / 2 for part in sums[:2])
        rho = (self._total + eta2 - stress) / 2  # from w (δ - d)² = w δ² - 2 w δ d + w d²
        return Step(stress, eta2, rho, to_numpy(sums[2:].T))

    def _launch(self, y: Tensor) -> Tensor:
        from .kernels.stress import guttman

        n, k = y.shape
        # Differences of float32 keep their digits around the center.
        flat = (y - y.mean(0)).T.float().contiguous()
        out = y.new_empty(PARTS, k + 2, n)
        span = -(-n // (PARTS * TILE[1])) * TILE[1]
        weights = self._delta if self._weights is None else self._weights
        guttman[(-(-n // TILE[0]), PARTS)](
            self._delta, weights, flat, out, n, span, k, self._weights is not None, *TILE,
            num_warps=4,
        )  # fmt: skip
        return out.sum(0)

    def _sum(self, y: Tensor) -> Tensor:
        n, k = y.shape
        out = y.new_empty(k + 2, n)
        for i in range(0, n, step := rows_per_block(8 * n)):
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
        delta = self._delta[part].double()
        known = ~torch.isnan(delta)
        w = known.double()
        if self._weights is not None:
            w = torch.where(known, self._weights[part].double(), 0.0)
        return torch.where(known, delta, 0.0), w
