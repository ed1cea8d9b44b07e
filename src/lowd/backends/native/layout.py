"""Native operations of UMAP: forces, descent, and new points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ... import _native
from ...progress import step
from ..protocol import (
    Array,
    Float64,
    InterpolationGrid,
    LayoutCurve,
    LayoutObjective,
    LayoutPlan,
    Ragged,
)
from ..reference.layout import LayoutOperations, new_point_steps
from .arrays import as_float64, csr_parts, grid_parts, read_grid

# Up to so many points all pairs are summed in float64, which takes no longer than a grid.
MAX_EXACT_POINTS = 500
SEED_BITS = 2**64 - 1


@dataclass
class NativeLayoutPlan:
    """W and the moving points stay in the core."""

    W: csr_array
    curve: LayoutCurve
    seed: int
    radii: Float64 | None
    variance_shift: float
    threads: int
    plan: _native.Layout | None = None
    k: int = 0

    def forces(self, Y: Array) -> tuple[Float64, Float64]:
        Y = as_float64(Y)
        A, R = np.empty(Y.shape), np.empty(Y.shape)
        self._plan_for(Y).forces(Y, A, R, self.threads)
        return A, R

    def repulsion_of(self, Y: Array, rows: NDArray[np.int64]) -> Float64:
        R = np.empty((len(rows), Y.shape[1]))
        given = as_float64(Y), self.curve, not self.uses_interpolation(Y), rows
        _native.layout_repulsion(*given, R, self.threads, step("forces"))
        return R

    def density_forces(self, Y: Array, density: float) -> Float64:
        assert self.radii is not None
        Y = as_float64(Y)
        T = np.empty(Y.shape)
        self._plan_for(Y).density_forces(Y, density, T, self.threads)
        return T

    def loss_terms(self, Y: Array) -> tuple[float, float]:
        Y = as_float64(Y)
        given = *csr_parts(self.W), Y, self.curve
        attractive = _native.attractive_loss(*given, self.threads, step("loss"))
        return attractive, self._plan_for(Y).repulsive_loss(Y, self.threads)

    def start(self, Y: Array) -> None:
        self._plan_for(Y).start(as_float64(Y))

    def advance(self, rates: Float64, repulsions: Float64, densities: Float64 | None) -> float:
        assert self.plan is not None
        assert densities is None or self.radii is not None
        moved = self.plan.advance(rates, repulsions, densities, self.threads)
        return float(np.sqrt(moved / self.W.shape[0]))

    def embedding(self) -> Float64:
        assert self.plan is not None
        out = np.empty((self.W.shape[0], self.k))
        self.plan.embedding(out)
        return out

    def uses_interpolation(self, Y: Array) -> bool:
        return len(Y) > MAX_EXACT_POINTS

    def interpolation_grid(self, Y: Array) -> InterpolationGrid | None:
        if Y.shape[1] > 2 or not self.uses_interpolation(Y):
            return None
        Y = as_float64(Y)
        return read_grid(*self._plan_for(Y).interpolation_grid(Y, self.threads), Y.shape[1])

    def _plan_for(self, Y: Array) -> _native.Layout:
        if self.plan is None or self.k != Y.shape[1]:
            self.k = Y.shape[1]
            how = self.curve, not self.uses_interpolation(Y), self.seed & SEED_BITS
            density = self.radii, self.variance_shift
            self.plan = _native.Layout(*csr_parts(self.W), self.k, *how, *density, self.threads)
        return self.plan


@dataclass(frozen=True)
class NativeLayoutObjective:
    """Forces of one similarity, by the core."""

    curve: LayoutCurve
    threads: int

    def plan(
        self,
        W: csr_array,
        seed: int,
        radii: Float64 | None = None,
        variance_shift: float = 0.0,
    ) -> LayoutPlan:
        W = W.astype(np.float64, copy=False)
        return NativeLayoutPlan(W, self.curve, seed, radii, variance_shift, self.threads)

    def optimize_new_points(
        self,
        near: Ragged,
        weights: Float64,
        Y: Array,
        repulsion: float,
        grid: InterpolationGrid | None,
        sample: NDArray[np.int64] | None,
    ) -> Float64:
        rows = np.arange(0 if grid is not None else len(Y)) if sample is None else sample
        out = np.empty((len(near.indptr) - 1, Y.shape[1]))
        lists = near.indptr, np.ascontiguousarray(near.indices), weights
        given = *lists, as_float64(Y), self.curve, repulsion, *grid_parts(grid)
        how = rows.astype(np.int64, copy=False), *new_point_steps(Y.shape[1])
        _native.layout_new_points(*given, *how, out, self.threads, step("new points"))
        return out


class NativeLayout(LayoutOperations):
    """The objective of UMAP."""

    threads: int

    def layout_objective(self, curve: LayoutCurve) -> LayoutObjective:
        return NativeLayoutObjective(curve, self.threads)
