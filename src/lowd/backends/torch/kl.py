"""Operations of SNE and t-SNE on a device: forces and gradient descent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..native.kl import MAX_EXACT_TRAINING_POINTS, NativeKL, NativeKLObjective
from ..protocol import Array, Float64, Graph, InterpolationGrid, KLObjective, KLPlan, to_csr
from ..reference.descent import axis_variances
from ..reference.kl import MAX_COORDINATE_STEP, MAX_STEP
from .arrays import explaining_memory, has_kernels, rows_per_block, to_device, to_numpy
from .library import Device, Tensor, torch
from .plane_descent import Forces, PlaneDescent
from .plane_sums import sum_cross_terms, sum_similarities
from .sparse import Parts, parts_of

STUDENT_NODE_SPACING = 0.35  # forces have errors below 1 %: nodes cost little here
# Up to so many points all pairs are summed in every step: on a GPU that takes no longer than a
# mesh, and has no error of interpolation.
MAX_SUMMED_PAIRS_POINTS = {True: 20_000, False: 1000}
MAX_FLOAT64_POINTS = 500  # up to here in float64


class DeviceKL(NativeKL):
    """The objective of SNE and t-SNE."""

    device: Device

    def kl_objective(self, kernel: str) -> KLObjective:
        return DeviceKLObjective(kernel, self.threads, self.device)


@dataclass(frozen=True)
class DeviceKLObjective(NativeKLObjective):
    """KL divergence of similarities by one kernel; new points are optimized by the core."""

    device: Device

    def plan(self, P: Graph) -> KLPlan:
        return DeviceKLPlan(P, self.kernel, self.threads, self.device)


@dataclass
class DeviceKLPlan:
    """Descent in the plane on the device, or of all pairs in float64; what is left, by the core."""

    P: Graph
    kernel: str
    threads: int
    device: Device
    inner: PlaneDescent | AllPairs | KLPlan | None = None
    k: int = 0

    def forces(self, Y: Array) -> tuple[Float64, Float64]:
        plan = self._plan_for(Y)
        if not isinstance(plan, PlaneDescent):
            return plan.forces(Y)
        plan.start(Y)
        A = plan.attraction()
        R, total = plan.repulsion()
        return A, R / max(total - len(Y), 1e-6 * len(Y))

    def pair_sums(self, Y: Array, rows: NDArray[np.int64]) -> tuple[Float64, Float64]:
        y = to_device(Y, self.device, torch.float64)
        Z, R = pair_sums(y, self.kernel, to_device(rows, self.device, torch.int64))
        return to_numpy(Z), to_numpy(R)

    @cached_property
    def _edges(self) -> Parts:
        return parts_of(self.P, self.device)

    def cross_term(self, Y: Array) -> float:
        y = to_device(Y, self.device, torch.float64)
        if self.kernel == "student" and y.shape[1] == 2 and has_kernels(self.device):
            return sum_cross_terms(self._edges, y)
        rows, (_, columns, p) = self._edges.row_numbers(), self._edges
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        for i in range(0, len(p), 2**24):
            part = slice(i, i + 2**24)
            s = (y[rows[part].long()] - y[columns[part].long()]).square().sum(1)
            far = torch.log1p(s) if self.kernel == "student" else s
            some = p[part]
            total += (some * (some.clamp_min(torch.finfo(torch.float64).tiny).log() + far)).sum()
        return float(total)

    def partition_function(self, Y: Array) -> float:
        y = to_device(Y, self.device)
        if self.kernel == "student" and y.shape[1] == 2 and len(y) > MAX_FLOAT64_POINTS:
            return sum_similarities(y.float())
        everyone = torch.arange(len(y), device=self.device)
        return float(pair_sums(y.double(), self.kernel, everyone)[0].sum())

    def start(self, Y: Array) -> None:
        self._plan_for(Y).start(Y)

    def advance(self, steps: int, exaggeration: float, momentum: float, rate: float) -> float:
        assert self.inner is not None
        if not isinstance(self.inner, PlaneDescent):
            return self.inner.advance(steps, exaggeration, momentum, rate)
        settings = np.tile([exaggeration, momentum, rate], (steps, 1))
        with explaining_memory(f"a descent of {self.P.shape[0]} points", self.device):
            return self.inner.advance(settings, (exaggeration, momentum))

    def embedding(self) -> Float64:
        assert self.inner is not None
        return np.asarray(self.inner.embedding(), np.float64)

    def variances(self) -> Float64:
        if isinstance(self.inner, PlaneDescent):
            return self.inner.variances()
        return axis_variances(self.embedding())

    def uses_interpolation(self, Y: Array) -> bool:
        plan = self._plan_for(Y)
        if isinstance(plan, PlaneDescent):
            return plan.use_mesh
        return False if isinstance(plan, AllPairs) else plan.uses_interpolation(Y)

    def interpolation_grid(self, Y: Array) -> InterpolationGrid | None:
        plan = self._plan_for(Y)
        if len(Y) <= MAX_EXACT_TRAINING_POINTS or isinstance(plan, AllPairs):
            return None
        if not isinstance(plan, PlaneDescent):
            return plan.interpolation_grid(Y)
        plan.start(Y)
        return plan.interpolation_grid(1.0)

    def _plan_for(self, Y: Array) -> PlaneDescent | AllPairs | KLPlan:
        if self.inner is None or self.k != Y.shape[1]:
            self.k = Y.shape[1]
            with explaining_memory(f"a descent of {len(Y)} points", self.device):
                self.inner = self._make(len(Y))
        return self.inner

    def _make(self, n: int) -> PlaneDescent | AllPairs | KLPlan:
        few = n <= MAX_FLOAT64_POINTS
        if self.kernel != "student" or few or self.k > 3:
            return AllPairs(self._edges, self.kernel)
        if self.k != 2:  # a mesh on a line and in space: by the core
            return NativeKLObjective(self.kernel, self.threads).plan(to_csr(self.P))
        use_mesh = n > MAX_SUMMED_PAIRS_POINTS[has_kernels(self.device)]
        forces = Forces(lambda s: 1 / (1 + s), STUDENT_NODE_SPACING, None, -0.5)
        return PlaneDescent(self._edges, forces, use_mesh, self.device)


class AllPairs:
    """Descent by exact forces of all pairs in float64, a block of rows at a time."""

    def __init__(self, edges: Parts, kernel: str) -> None:
        self.kernel, self.device, self.edges = kernel, edges.values.device, edges
        self.rows, self.columns = edges.row_numbers().long(), edges.columns.long()

    def start(self, Y: Array) -> None:
        self.y = to_device(Y, self.device, torch.float64).clone()
        self.velocity, self.gain = torch.zeros_like(self.y), torch.ones_like(self.y)

    def embedding(self) -> Float64:
        found: Float64 = to_numpy(self.y).copy()
        return found

    def forces(self, Y: Array) -> tuple[Float64, Float64]:
        A, R = self._forces(to_device(Y, self.device, torch.float64))
        return to_numpy(A), to_numpy(R)

    def advance(self, steps: int, exaggeration: float, momentum: float, rate: float) -> float:
        for _ in range(steps):
            A, R = self._forces(self.y)
            slope = exaggeration * A - R
            uphill = slope * self.velocity > 0
            self.gain = torch.where(uphill, self.gain * 0.8, self.gain + 0.2).clamp_min(0.01)
            v = momentum * self.velocity - rate * self.gain * slope
            v = v.clamp(-MAX_COORDINATE_STEP, MAX_COORDINATE_STEP)
            length = v.square().sum(1, keepdim=True).sqrt()
            self.velocity = v * (MAX_STEP / length.clamp_min(MAX_STEP))
            self.y = self.y + self.velocity
        return float(self.velocity.square().sum(1).mean().sqrt())

    def _forces(self, y: Tensor) -> tuple[Tensor, Tensor]:
        gap = y[self.rows] - y[self.columns]
        weights = self.edges.values
        if self.kernel == "student":
            weights = weights / (1 + gap.square().sum(1))
        A = self.edges.sum_rows(weights[:, None] * gap)
        everyone = torch.arange(len(y), device=y.device)
        Z, R = pair_sums(y, self.kernel, everyone)
        if self.kernel != "rows":
            return A, R / Z.sum()
        Z = Z.clamp_min(torch.finfo(torch.float64).tiny)  # of a row that is far from all
        R = R / Z[:, None]
        for part, w in _similarities(y, self.kernel, everyone):  # in the rows of others
            w = w / Z
            R[part] += w.sum(1)[:, None] * y[part] - w @ y
        return A, R / (2 * len(y))


def pair_sums(y: Tensor, kernel: str, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Exact sums over all others of some rows: w, and w² (y - y_j) (exp(-d²) not squared)."""
    Z = torch.empty(len(rows), dtype=torch.float64, device=y.device)
    R = torch.empty(len(rows), y.shape[1], dtype=torch.float64, device=y.device)
    for part, w in _similarities(y, kernel, rows):
        Z[part] = w.sum(1)
        w = w.square() if kernel == "student" else w
        R[part] = w.sum(1)[:, None] * y[rows[part]] - w @ y
    return Z, R


def _similarities(y: Tensor, kernel: str, rows: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Blocks of rows, and their w to all points; 0 to themselves."""
    step = rows_per_block(4 * len(y), y.device)
    for begin in range(0, len(rows), step):
        i = rows[begin : begin + step]
        s = torch.zeros(len(i), len(y), dtype=torch.float64, device=y.device)
        for c in range(y.shape[1]):
            s += (y[i, c, None] - y[:, c]).square()
        w = 1 / (1 + s) if kernel == "student" else torch.exp(-s)
        w[torch.arange(len(i), device=y.device), i] = 0
        yield slice(begin, begin + len(i)), w
