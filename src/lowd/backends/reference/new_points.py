"""Reference optimization of a new point in SNE and t-SNE with the training embedding fixed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from ..protocol import Float64, InterpolationGrid

BOX_MARGIN = 5.0  # beyond the bounding box of the training embedding
MAX_NEWTON_STEP = 1.0  # length, in units of the embedding
MAX_STEPS = 200
MIN_STEP = 1e-12  # relative to the size of the embedding: converged
MIN_STEP_SHARE = 1e-6  # of a step that is halved until the objective falls
MIN_CURVATURE = 1e-6  # of the Hessian, relative to the majorizer's, for a Newton step
OBJECTIVE_ROUNDING = 1e-13  # relative; a rise of no more counts as none
START_CANDIDATES = 8  # listed points, the heaviest, that a new point may start at
CLEARLY_LOWER = 1 - 1e-9  # factor; rounding does not decide between starts
HALF_WEIGHT = 0.5 * (1 - 1e-12)  # of a list: with equal weights rounding would decide


@dataclass(frozen=True)
class NewPoint:
    """The objective of one new point y: sum_j p_j log(1 + d_j²), or p_j d_j², plus log Z(y)."""

    near: Float64
    p: Float64
    training: Float64
    kernel: str
    grid: InterpolationGrid | None

    def start(self) -> Float64:
        """The weighted median, or a heavy listed point where the attraction is clearly lower.

        The median of neighbors in several clusters is near none of them. Gaussian similarities
        have one minimum, which any start leads to.
        """
        best = self._weighted_median()
        if self.kernel != "student":
            return best
        lowest = self._attraction(best)
        for other in self.near[np.argsort(-self.p, kind="stable")[:START_CANDIDATES]]:
            attraction = self._attraction(other)
            if attraction < CLEARLY_LOWER * lowest:
                best, lowest = other, attraction
        return best

    def objective(self, y: Float64) -> float:
        s = ((y - self.near) ** 2).sum(1)
        if self.grid is not None:
            return float(self.p @ np.log1p(s) + np.log(interpolate(self.grid, y)[0]))
        d = ((y - self.training) ** 2).sum(1)
        if self.kernel == "student":
            return float(self.p @ np.log1p(s) + np.log((1 / (1 + d)).sum()))
        return float(self.p @ s - d.min() + np.log(np.exp(d.min() - d).sum()))

    def derivatives(self, y: Float64) -> tuple[Float64, Float64, float]:
        """Gradient, Hessian, and the curvature of the attraction's majorizer."""
        gap, eye = y - self.near, np.eye(len(y))
        if self.kernel != "student":
            d = y - self.training
            s = (d**2).sum(1)
            q = np.exp(s.min() - s)
            q /= q.sum()
            mean = q @ d
            covariance = (q[:, None] * (d - mean)).T @ (d - mean)
            return 2 * (self.p @ gap - mean), 4 * covariance, 2.0
        w = 1 / (1 + (gap**2).sum(1))
        pw = self.p * w
        gradient = 2 * pw @ gap
        hessian = 2 * pw.sum() * eye - 4 * ((pw * w)[:, None] * gap).T @ gap
        Z, first, second = self._partition_function(y)
        gradient = gradient + first / Z
        hessian += second / Z - np.outer(first, first) / Z**2
        return gradient, hessian, 2 * pw.sum()

    def _weighted_median(self) -> Float64:
        """Of the listed coordinates, column by column."""
        order = np.argsort(self.near, axis=0, kind="stable")
        below = np.cumsum(self.p[order], axis=0)
        at = (below < HALF_WEIGHT * below[-1]).sum(0)
        chosen = np.take_along_axis(order, at[None], axis=0)
        return np.asarray(np.take_along_axis(self.near, chosen, axis=0)[0])

    def _attraction(self, y: Float64) -> float:
        return float(self.p @ np.log1p(((y - self.near) ** 2).sum(1)))

    def _partition_function(self, y: Float64) -> tuple[float, Float64, Float64]:
        """Z(y) with its gradient and Hessian."""
        if self.grid is not None:
            return interpolate(self.grid, y)
        d = y - self.training
        w = 1 / (1 + (d**2).sum(1))
        second = 8 * (w[:, None] ** 3 * d).T @ d - 2 * (w**2).sum() * np.eye(len(y))
        return float(w.sum()), -2 * w**2 @ d, second


def minimize(point: NewPoint, y: Float64) -> Float64:
    """Newton steps where the Hessian is positive, else steps of the attraction's majorizer.

    Steps are halved until the objective falls, and no step is longer than MAX_NEWTON_STEP.
    """
    low, high = point.training.min(0) - BOX_MARGIN, point.training.max(0) + BOX_MARGIN
    converged = MIN_STEP * max(1.0, float(np.abs(point.training).max()))
    value = point.objective(y)
    for _ in range(MAX_STEPS):
        gradient, hessian, curvature = point.derivatives(y)
        step = -gradient / curvature
        values, V = scipy.linalg.eigh(hessian)
        if values[0] > MIN_CURVATURE * curvature:
            step = -V @ ((V.T @ gradient) / values)
        step *= MAX_NEWTON_STEP / max(float(np.sqrt(step @ step)), MAX_NEWTON_STEP)
        share = 1.0
        while share > MIN_STEP_SHARE:
            to = np.clip(y + share * step, low, high)
            new_value = point.objective(to)
            if new_value <= value + OBJECTIVE_ROUNDING * max(1.0, abs(value)):
                break
            share /= 2
        else:
            return y
        moved = np.abs(to - y).max()
        y, value = to, new_value
        if moved < converged:
            return y
    return y


def interpolate(grid: InterpolationGrid, y: Float64) -> tuple[float, Float64, Float64]:
    """Value, gradient and Hessian of a cubic spline, by its coefficients at the nodes."""
    k = grid.phi.ndim
    at = np.clip((y - grid.origin) / grid.spacing, 1, np.array(grid.phi.shape) - 3)
    cell = np.minimum(at.astype(np.int64), np.array(grid.phi.shape) - 4)
    t = at - cell
    part = grid.phi[tuple(slice(c - 1, c + 3) for c in cell)].astype(np.float64)
    tables = [_cubic_splines(t[c]) for c in range(k)]

    def contract(*orders: int) -> float:
        block = part
        for c in range(k):
            block = np.tensordot(tables[c][orders[c]], block, axes=(0, 0))
        return float(block)

    one = np.eye(k, dtype=int)
    first = np.array([contract(*one[c]) for c in range(k)]) / grid.spacing
    second = [[contract(*(one[a] + one[b])) for b in range(k)] for a in range(k)]
    return contract(*[0] * k), first, np.array(second) / grid.spacing**2


def _cubic_splines(t: float) -> Float64:
    """Values, slopes and curvatures of the four cubic B-splines that cover fraction t of a cell."""
    u = 1 - t
    value = [u**3, 3 * t**3 - 6 * t**2 + 4, 3 * u**3 - 6 * u**2 + 4, t**3]
    slope = [-(u**2), 3 * t**2 - 4 * t, 4 * u - 3 * u**2, t**2]
    return np.array([np.array(value) / 6, np.array(slope) / 2, [u, 3 * t - 2, 3 * u - 2, t]])
