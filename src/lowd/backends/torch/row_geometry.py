"""Dense rows on a device and their Euclidean distances, in float64.

Rows are centered and scaled so that squares neither over- nor underflow. Distances come from
products, off by a few units of rounding that are known, or from differences of the original rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..protocol import Float64
from .arrays import rows_per_block, to_device
from .library import Device, Tensor, torch

FLOAT64_ROUNDING = 2.0**-53
MAX_SAFE_EXPONENT = 300  # squares of numbers up to 2^300 and from 2^-300 on need no scaling


@dataclass
class RowGeometry:
    """Rows under the Euclidean distance, or its square, times a factor."""

    rows: Tensor
    measure: str
    factor: float
    given_center: Float64 | None

    @property
    def device(self) -> Device:
        return self.rows.device

    @cached_property
    def unit(self) -> float:
        """A power of two by which rows are scaled, so that squares neither over- nor underflow."""
        largest = float(self.rows.abs().amax().double()) if self.rows.numel() else 0.0
        exponent = int(np.frexp(largest)[1])
        if not 0 < largest < np.inf or abs(exponent) < MAX_SAFE_EXPONENT:
            return 1.0
        return float(2.0 ** -np.clip(exponent, -1000, 1000))

    @cached_property
    def center(self) -> Tensor:
        if self.given_center is not None and np.isfinite(self.given_center).all():
            return to_device(self.given_center, self.device, torch.float64) * self.unit
        return _centers(self.rows, self.unit)

    @cached_property
    def centered(self) -> Tensor:
        return self.rows.double() * self.unit - self.center

    @cached_property
    def squares(self) -> Tensor:
        return fold_sum(self.centered.square())

    def approximate(self, Q: Tensor) -> tuple[Tensor, Tensor]:
        """Squared distances less |q|², from centered rows in units; and a bound on differences.

        An entry is off by (d + 8) units of rounding of (|q| + |x|)², its terms; two of them are
        compared, and the slack is four times that. Beyond the range of numbers it is infinite.
        """
        q = Q.double() * self.unit - self.center
        G = torch.addmm(self.squares[None, :], q, self.centered.T, alpha=-2)
        size = fold_sum(q.square()).sqrt() + self.squares.max().sqrt()
        slack = 4 * (Q.shape[1] + 8) * FLOAT64_ROUNDING * size.square()
        return torch.nan_to_num_(G, nan=torch.inf, posinf=torch.inf), slack

    def distances(self, Q: Tensor, columns: Tensor) -> Tensor:
        """Distances of rows of Q to some rows each, from differences in float64."""
        units = self.units(Q)
        m, c = columns.shape
        squares = torch.empty((m, c), dtype=torch.float64, device=self.device)
        step = max(1, rows_per_block(2 * m * Q.shape[1], self.device))
        scaled = Q.double() * units[:, None]
        for i in range(0, c, step):
            rows = self.rows[columns[:, i : i + step]].double() * units[:, None, None]
            squares[:, i : i + step] = fold_sum((scaled[:, None, :] - rows).square_())
        return self.finish(squares, units[:, None])

    def units(self, Q: Tensor) -> Tensor:
        """The unit of each row of Q: a smaller one where its squares would overflow."""
        units = torch.full((len(Q),), self.unit, dtype=torch.float64, device=self.device)
        if Q.dtype == torch.float32:
            return units
        largest = Q.abs().amax(1).double()
        far = largest * self.unit > 2.0**MAX_SAFE_EXPONENT
        exponent = torch.frexp(largest).exponent.double().clamp(-1000, 1000)
        return torch.where(far, torch.minimum(units, torch.exp2(-exponent)), units)

    def finish(self, squares: Tensor, units: Tensor | float) -> Tensor:
        """Distances, or squared ones, times the factor from squares in units."""
        if self.measure == "euclidean":
            return self.factor * (squares.sqrt() / units)
        return self.factor * (squares / units / units)


def fold_sum(A: Tensor) -> Tensor:
    """Sums over the last axis by halves: one order of additions, whatever the other axes are."""
    while A.shape[-1] > 1:
        half = (A.shape[-1] + 1) // 2
        folded = A[..., :half].clone()
        folded[..., : A.shape[-1] - half] += A[..., half:]
        A = folded
    return A[..., 0] if A.shape[-1] else torch.zeros(A.shape[:-1], dtype=A.dtype, device=A.device)


def _centers(rows: Tensor, unit: float) -> Tensor:
    """The mean of the rows in units; any point near them would do."""
    total = torch.zeros(rows.shape[1], dtype=torch.float64, device=rows.device)
    for part in rows.split(2**18):
        total += (part.double() * unit).sum(0)
    return total / len(rows)
