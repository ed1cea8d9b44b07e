"""Operations of UMAP on a device: forces and descent in the plane."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..native.layout import (
    MAX_EXACT_POINTS,
    NativeLayout,
    NativeLayoutObjective,
    NativeLayoutPlan,
)
from ..protocol import (
    Array,
    Float64,
    Graph,
    InterpolationGrid,
    LayoutCurve,
    LayoutObjective,
    LayoutPlan,
    to_csr,
)
from ..reference.layout import POTENTIAL_STEP, tabulate_potential
from .arrays import explaining_memory, rows_per_block, to_device, to_numpy
from .library import Device, Tensor, torch
from .mesh import Radial
from .plane_descent import Forces, PlaneDescent
from .sparse import Parts, parts_of

# Distance of nodes in square roots of the softening, which rounds off the kernel.
NODE_SPACING_SHARE = 0.7071


class DeviceLayout(NativeLayout):
    """The objective of UMAP."""

    device: Device

    def layout_objective(self, curve: LayoutCurve) -> LayoutObjective:
        return DeviceLayoutObjective(curve, self.threads, self.device)


@dataclass(frozen=True)
class DeviceLayoutObjective(NativeLayoutObjective):
    """Forces of one similarity; densities (densMAP), few points and new ones are the core's."""

    device: Device

    def plan(
        self,
        W: Graph,
        seed: int,
        radii: Float64 | None = None,
        variance_shift: float = 0.0,
    ) -> LayoutPlan:
        if radii is not None or W.shape[0] <= MAX_EXACT_POINTS:
            return super().plan(to_csr(W), seed, radii, variance_shift)
        return DeviceLayoutPlan(W, self.curve, self.device, seed, variance_shift, self.threads)


@dataclass
class DeviceLayoutPlan:
    """Descent in the plane on the device; in other dimensions by the core."""

    W: Graph
    curve: LayoutCurve
    device: Device
    seed: int
    variance_shift: float
    threads: int
    plane: PlaneDescent | None = None
    is_plane: bool = True

    @cached_property
    def core(self) -> NativeLayoutPlan:
        W = to_csr(self.W).astype(np.float64, copy=False)
        how = self.curve, self.seed, None, self.variance_shift, self.threads
        return NativeLayoutPlan(W, *how)

    @cached_property
    def _edges(self) -> Parts:
        return parts_of(self.W, self.device)

    @cached_property
    def _steps(self) -> Parts:
        """Of the random walk on the graph."""
        return self._edges.random_walk()[0]

    def forces(self, Y: Array) -> tuple[Float64, Float64]:
        if not self._in_plane(Y):
            return self.core.forces(Y)
        plan = self._plane()
        plan.start(Y)
        return plan.attraction(), plan.repulsion()[0]

    def repulsion_of(self, Y: Array, rows: NDArray[np.int64]) -> Float64:
        y = to_device(Y, self.device, torch.float64)
        asked = to_device(rows, self.device, torch.int64)
        a, b, softening = self.curve
        R = torch.empty(len(asked), y.shape[1], dtype=torch.float64, device=self.device)
        for part in torch.arange(len(asked), device=self.device).split(
            rows_per_block(4 * len(y), self.device)
        ):
            i = y[asked[part]]
            s = torch.zeros(len(i), len(y), dtype=torch.float64, device=self.device)
            for c in range(y.shape[1]):
                s += (i[:, c, None] - y[:, c]).square()
            g = 2 * b / ((softening + s) * (1 + a * s**b))
            R[part] = g.sum(1)[:, None] * i - g @ y
        found: Float64 = to_numpy(R / (2 * len(y)))
        return found

    def density_forces(self, Y: Array, density: float) -> Float64:
        return self.core.density_forces(Y, density)

    def loss_terms(self, Y: Array) -> tuple[float, float]:
        if not self._in_plane(Y):
            return self.core.loss_terms(Y)
        n, plan = len(Y), self._plane()
        plan.start(Y)
        attractive = self._attractive_loss(to_device(Y, self.device, torch.float64))
        _, total = plan.repulsion()
        return attractive, (total - plan.own_potential()) / (2 * n * n)

    def start(self, Y: Array) -> None:
        if self._in_plane(Y):
            self._plane().start(Y)
        else:
            self.core.start(Y)

    def advance(self, rates: Float64, repulsions: Float64, densities: Float64 | None) -> float:
        if not self.is_plane:
            return self.core.advance(rates, repulsions, densities)
        with explaining_memory(f"a descent of {self._edges.size} points", self.device):
            return self._plane().advance(np.stack([rates, repulsions], axis=1))

    def embedding(self) -> Float64:
        return self._plane().embedding() if self.is_plane else self.core.embedding()

    def uses_interpolation(self, Y: Array) -> bool:
        return self.core.uses_interpolation(Y)

    def interpolation_grid(self, Y: Array) -> InterpolationGrid | None:
        if not self._in_plane(Y):
            return self.core.interpolation_grid(Y)
        plan = self._plane()
        plan.start(Y)
        return plan.interpolation_grid(1 / (2 * len(Y)))

    def _in_plane(self, Y: Array) -> bool:
        self.is_plane = Y.shape[1] == 2
        return self.is_plane

    def _plane(self) -> PlaneDescent:
        if self.plane is None:
            n = self._edges.size
            with explaining_memory(f"a descent of {n} points", self.device):
                spacing = NODE_SPACING_SHARE * float(np.sqrt(self.curve.softening))
                forces = Forces(radial_potential(self.curve), spacing, self.curve, -0.5 / n)
                self.plane = PlaneDescent(self._steps, forces, True, self.device)
        return self.plane

    def _attractive_loss(self, y: Tensor) -> float:
        rows, columns = self._steps.row_numbers().long(), self._steps.columns.long()
        s = (y[rows] - y[columns]).square().sum(1)
        losses = self._steps.values * torch.log1p(self.curve.a * s**self.curve.b)
        return float(losses.sum() / len(y))


def radial_potential(curve: LayoutCurve) -> Radial:
    """The repulsive potential of squared distances, by cubic interpolation in their logarithm."""
    a, b, softening = curve
    low = float(np.log(softening) - 14)
    high = float(max(np.log(softening), -np.log(a) / b) + 30)
    t = np.arange(low, high, POTENTIAL_STEP)
    values = tabulate_potential(curve)(np.exp(t))
    slopes = -b / ((softening * np.exp(-t) + 1) * (1 + a * np.exp(b * t)))

    def potential(s: Tensor) -> Tensor:
        V, slope = (torch.as_tensor(part, device=s.device) for part in (values, slopes))
        at = (torch.log(s.clamp_min(np.exp(low))) - low) / POTENTIAL_STEP
        i = at.long().clamp(0, len(t) - 2)
        x = (at - i).clamp_max(1.0)
        u = 1 - x
        return u * u * ((1 + 2 * x) * V[i] + x * POTENTIAL_STEP * slope[i]) + x * x * (
            (1 + 2 * u) * V[i + 1] - u * POTENTIAL_STEP * slope[i + 1]
        )

    return potential
