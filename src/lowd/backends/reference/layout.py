"""Reference operations of UMAP: forces, descent, and new points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..protocol import (
    Array,
    Float64,
    InterpolationGrid,
    LayoutCurve,
    LayoutObjective,
    LayoutPlan,
    Ragged,
)
from .descent import AllPairsDescent, pair_blocks
from .new_points import interpolate

LAYOUT_MOMENTUM = 0.8  # the share of a velocity that is kept
LAYOUT_MAX_STEP = 4.0  # of a point
# The longest density force along an edge, in units of P_ij: umap-learn clips it to ±4. Gradients
# grow as the reciprocal of a point's radius: without a limit points of small radii overshoot.
MAX_DENSITY_FORCE = 4.0
MIN_SQUARE = 1e-12  # below it the attraction's d^(2b - 2), b < 1, counts as there
MIN_RADIUS = 1e-8  # added to densMAP's mean squared distances before the logarithm
POTENTIAL_STEP = 0.02  # of log d², at which the repulsive potential is tabulated


class LayoutOperations:
    """The objective of UMAP."""

    def layout_objective(self, curve: LayoutCurve) -> LayoutObjective:
        return AllPairsLayout(curve)


@dataclass(frozen=True)
class AllPairsLayout:
    """Forces of one similarity, summed over all pairs."""

    curve: LayoutCurve

    def plan(
        self,
        W: csr_array,
        seed: int,  # noqa: ARG002 - all pairs need no samples
        radii: Float64 | None = None,
        variance_shift: float = 0.0,
    ) -> LayoutPlan:
        return AllPairsLayoutPlan(W, self.curve, radii, variance_shift)

    def optimize_new_points(
        self,
        near: Ragged,
        weights: Float64,
        Y: Array,
        repulsion: float,
        grid: InterpolationGrid | None,
        sample: NDArray[np.int64] | None,
    ) -> Float64:
        curve, training = self.curve, Y.astype(np.float64)
        repelling = training if sample is None else training[sample]
        share, steps = new_point_steps(Y.shape[1])
        out = np.empty((len(near.indptr) - 1, Y.shape[1]))
        for i, (begin, end) in enumerate(pairwise(near.indptr)):
            listed, p = training[near.indices[begin:end]], weights[begin:end]
            y = p @ listed
            for _ in range(steps):
                gap = listed - y
                attractive = p * attraction((gap**2).sum(1), curve)
                if grid is not None:
                    repulsive = -interpolate(grid, y)[1]
                else:
                    away = y - repelling
                    repulsive = repulsion_factor((away**2).sum(1), curve) @ away / (2 * len(away))
                stiffness = max(1.0, 2 * curve.b - 1) * attractive.sum()
                step = share * (attractive @ gap + repulsion * repulsive) / stiffness
                length = float(np.sqrt(step @ step))
                y = y + step / max(length, 1.0)
            out[i] = y
        return out


def new_point_steps(k: int) -> tuple[float, int]:
    """The share of the way to the fixed point of its forces that a new point goes, and how often.

    By 0.9 some points oscillate near a neighbor and rounding grows; on a line, where there is no
    way around one, already by 0.8.
    """
    return (0.5, 30) if k == 1 else (0.8, 18)


def attraction(s: Float64, curve: LayoutCurve) -> Float64:
    """g_a = 2ab d^(2b - 2) / (1 + a d^2b) of squared distances s."""
    a, b, _ = curve
    s = np.maximum(s, MIN_SQUARE)
    return 2 * a * b * s ** (b - 1) / (1 + a * s**b)


def repulsion_factor(s: Float64, curve: LayoutCurve) -> Float64:
    """g_r = 2b / ((ε + d²)(1 + a d^2b)) of squared distances s."""
    a, b, softening = curve
    return 2 * b / ((softening + s) * (1 + a * s**b))


def tabulate_potential(curve: LayoutCurve) -> Callable[[Float64], Float64]:
    """The potential V of the repulsion, V' = -g_r d and V(∞) = 0, as a function of d².

    In t = log d² it is the integral of b e^t / ((ε + e^t)(1 + a e^bt)), which is smooth and falls
    exponentially on both sides; the table ends where 1e-18 is left.
    """
    from scipy.integrate import cumulative_simpson  # 0.1 s to import, for reports only
    from scipy.interpolate import CubicSpline

    a, b, softening = curve
    low = np.log(min(softening, a ** (-1 / b))) - 42
    high = max(np.log(softening), -np.log(a) / b) + 42 / b
    t = np.linspace(high, low, int((high - low) / POTENTIAL_STEP) + 2)
    slope = b / ((softening * np.exp(-t) + 1) * (1 + a * np.exp(b * t)))
    V = cumulative_simpson(slope, x=-t, initial=0)
    table = CubicSpline(t[::-1], V[::-1])

    def potential(s: Float64) -> Float64:
        return np.asarray(table(np.clip(np.log(np.maximum(s, np.exp(low))), low, high)))

    return potential


@dataclass
class AllPairsLayoutPlan(AllPairsDescent):
    """Exact forces by all pairs, a block of rows at a time."""

    W: csr_array
    curve: LayoutCurve
    radii: Float64 | None
    variance_shift: float

    def __post_init__(self) -> None:
        self.W = self.W.astype(np.float64)
        n = self.W.shape[0]
        self._rows = np.repeat(np.arange(n), np.diff(self.W.indptr))
        self._degrees = np.bincount(self._rows, self.W.data, n)
        self._P = self.W.data / self._degrees[self._rows]

    def forces(self, Y: Array) -> tuple[Float64, Float64]:
        Y = Y.astype(np.float64)
        gap, s = self._gaps(Y)
        A = self._sum_edges((self._P * attraction(s, self.curve))[:, None] * gap)
        return A, self.repulsion_of(Y, np.arange(len(Y)))

    def repulsion_of(self, Y: Array, rows: NDArray[np.int64]) -> Float64:
        Y = Y.astype(np.float64)
        R = np.empty((len(rows), Y.shape[1]))
        for part, i, s in pair_blocks(Y, rows):
            g = repulsion_factor(s, self.curve)
            R[part] = g.sum(1)[:, None] * Y[i] - g @ Y
        return R / (2 * len(Y))

    def density_forces(self, Y: Array, density: float) -> Float64:
        """n/2 times the gradient of the correlation of radii, in units of the mean degree."""
        assert self.radii is not None
        Y = Y.astype(np.float64)
        n, b = len(Y), self.curve.b
        gap, s = self._gaps(Y)
        s = np.maximum(s, MIN_SQUARE)
        phi = 1 / (1 + self.curve.a * s**b)
        total = np.maximum(np.bincount(self._rows, phi, n), np.finfo(np.float64).tiny)
        mean_square = np.bincount(self._rows, phi * s, n) / total + MIN_RADIUS
        r = np.log(mean_square)
        std = np.sqrt(r.var() + self.variance_shift)
        covariance = self.radii @ r / n
        weight = (self.radii - covariance * (r - r.mean()) / std**2) / std
        i, j = self._rows, self.W.indices
        slope = b * (1 - phi) / s
        through_i = weight[i] / total[i] * ((1 - b * (1 - phi)) / mean_square[i] + slope)
        through_j = weight[j] / total[j] * ((1 - b * (1 - phi)) / mean_square[j] + slope)
        share = self._degrees.mean() / self._degrees[i]
        most = MAX_DENSITY_FORCE * self._P / np.sqrt(s)
        force = np.clip(density * share * phi * (through_i + through_j), -most, most)
        return self._sum_edges(-force[:, None] * gap)

    def loss_terms(self, Y: Array) -> tuple[float, float]:
        Y = Y.astype(np.float64)
        n, (a, b, _) = len(Y), self.curve
        attractive = float(self._P @ np.log1p(a * self._gaps(Y)[1] ** b)) / n
        V, repulsive = tabulate_potential(self.curve), 0.0
        for _, i, s in pair_blocks(Y, np.arange(n)):
            potential = V(s)
            potential[np.arange(len(i)), i] = 0
            repulsive += float(potential.sum())
        return attractive, repulsive / (2 * n * n)

    def advance(self, rates: Float64, repulsions: Float64, densities: Float64 | None) -> float:
        v = self.velocity
        for step, (rate, repulsion) in enumerate(zip(rates, repulsions, strict=True)):
            A, R = self.forces(self.Y)
            F = A + repulsion * R
            if densities is not None and densities[step]:
                F += self.density_forces(self.Y, densities[step])
            v = LAYOUT_MOMENTUM * v + rate * F
            length = np.sqrt((v**2).sum(1, keepdims=True))
            v *= LAYOUT_MAX_STEP / np.maximum(length, LAYOUT_MAX_STEP)
            self.Y = self.Y + v
        self.velocity = v
        return float(np.sqrt((v**2).sum(1).mean()))

    def _gaps(self, Y: Array) -> tuple[Float64, Float64]:
        """y_j - y_i over the edges, and its squared length."""
        gap = Y[self.W.indices] - Y[self._rows]
        return gap, (gap**2).sum(1)

    def _sum_edges(self, forces: Float64) -> Float64:
        columns = [np.bincount(self._rows, f, self.W.shape[0]) for f in forces.T]
        return np.stack(columns, axis=1)
