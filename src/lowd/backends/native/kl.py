"""Native operations of SNE and t-SNE: forces and gradient descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ... import _native
from ...progress import step
from ..protocol import Array, Float64, InterpolationGrid, KLObjective, KLPlan, Ragged
from ..reference.descent import axis_variances
from ..reference.kl import KLOperations
from .arrays import as_float64, csr_parts, grid_parts, read_grid

# Up to so many points all pairs are summed in float64.
MAX_EXACT_POINTS = 500
# For 1, 2 and 3 dimensions, up to so many in float32, which takes no longer than a grid.
MAX_FLOAT32_POINTS = (0, 1000, 1000)
# Up to so many training points a new point sums over all of them, not over a grid's nodes.
MAX_EXACT_TRAINING_POINTS = 1500


@dataclass
class NativeKLPlan:
    """P and the moving points stay in the core."""

    P: csr_array
    kernel: str
    threads: int
    plan: _native.Descent | None = None
    k: int = 0

    def forces(self, Y: Array) -> tuple[Float64, Float64]:
        Y = as_float64(Y)
        A, R = np.empty(Y.shape), np.empty(Y.shape)
        self._plan_for(Y).forces(Y, A, R, self.threads)
        return A, R

    def pair_sums(self, Y: Array, rows: NDArray[np.int64]) -> tuple[Float64, Float64]:
        Z, R = np.empty(len(rows)), np.empty((len(rows), Y.shape[1]))
        given = as_float64(Y), _kernel(self.kernel), rows
        _native.pair_sums(*given, Z, R, self.threads, step("divergence"))
        return Z, R

    def cross_term(self, Y: Array) -> float:
        given = *csr_parts(self.P), as_float64(Y), _kernel(self.kernel)
        return _native.cross_term(*given, self.threads, step("divergence"))

    def partition_function(self, Y: Array) -> float:
        if self.uses_interpolation(Y):
            return _native.partition_function(as_float64(Y), self.threads, step("divergence"))
        return float(self.pair_sums(Y, np.arange(len(Y)))[0].sum())

    def start(self, Y: Array) -> None:
        self._plan_for(Y).start(as_float64(Y))

    def advance(self, steps: int, exaggeration: float, momentum: float, rate: float) -> float:
        assert self.plan is not None
        moved = self.plan.advance(steps, exaggeration, momentum, rate, self.threads)
        return float(np.sqrt(moved / self.P.shape[0]))

    def embedding(self) -> Float64:
        assert self.plan is not None
        out = np.empty((self.P.shape[0], self.k))
        self.plan.embedding(out)
        return out

    def variances(self) -> Float64:
        return axis_variances(self.embedding())

    def interpolation_grid(self, Y: Array) -> InterpolationGrid | None:
        few = len(Y) <= MAX_EXACT_TRAINING_POINTS
        if Y.shape[1] > 2 or few or not self.uses_interpolation(Y):
            return None
        found = self._plan_for(Y).interpolation_grid(as_float64(Y), self.threads)
        return read_grid(*found, Y.shape[1])

    def uses_interpolation(self, Y: Array) -> bool:
        return self.kernel == "student" and Y.shape[1] <= 3 and len(Y) > MAX_EXACT_POINTS

    def _plan_for(self, Y: Array) -> _native.Descent:
        if self.plan is None or self.k != Y.shape[1]:
            self.k = Y.shape[1]
            given = *csr_parts(self.P), self.k, _kernel(self.kernel), self._summation(Y)
            self.plan = _native.Descent(*given)
        return self.plan

    def _summation(self, Y: Array) -> Literal["exact", "float32", "grid"]:
        if not self.uses_interpolation(Y):
            return "exact"
        return "float32" if len(Y) <= MAX_FLOAT32_POINTS[Y.shape[1] - 1] else "grid"


@dataclass(frozen=True)
class NativeKLObjective:
    """KL divergence of similarities by one kernel, in the core."""

    kernel: str
    threads: int

    def plan(self, P: csr_array) -> KLPlan:
        return NativeKLPlan(P, self.kernel, self.threads)

    def optimize_new_points(
        self,
        near: Ragged,
        weights: Float64,
        Y: Array,
        grid: InterpolationGrid | None,
        start: Float64 | None = None,
    ) -> Float64:
        out = np.empty((len(near.indptr) - 1, Y.shape[1]))
        if start is not None:
            out[:] = start
        given = *near, weights, as_float64(Y), _kernel(self.kernel), *grid_parts(grid)
        _native.optimize_new_points(*given, start is None, out, self.threads, step("new points"))
        return out


class NativeKL(KLOperations):
    """The objective of SNE and t-SNE."""

    threads: int

    def kl_objective(self, kernel: str) -> KLObjective:
        return NativeKLObjective(kernel, self.threads)


def _kernel(name: str) -> _native.Similarity:
    return cast("_native.Similarity", name)
