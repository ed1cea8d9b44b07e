"""The reference's operations of neighbor embedding: plain, and the oracle of the native ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .protocol import Array, Float64, InterpolationGrid, KLPlan, Ragged

BLOCK = 2**21  # pairs looked at together
LARGE = 1e15  # of a coordinate of a step, before it is shortened
LONGEST = 5.0  # step of a point, in units of the map
CLOSE = 1e-12  # a log perplexity so near is reached
BISECTIONS = 200
ROUNDING = 1e-13  # of a height
SETTLED = 1e-12  # a step so short, relative to the map's size, is none
DESCENTS = 200
TRIED = 8  # of the listed places, the heaviest, a new point may start at
CLEARLY = 1 - 1e-9  # a start must be so much lower: rounding does not decide
HALF = 0.5 * (1 - 1e-12)  # of a list's weight: with equal weights rounding would decide


class DescentOperations:
    """What `Reference` knows of neighbor embedding."""

    def conditional_probabilities(
        self, starts: NDArray[np.int64], squares: Float64, target: float
    ) -> tuple[Float64, Float64]:
        p, beta = np.empty(len(squares)), np.empty(len(starts) - 1)
        for i, (begin, end) in enumerate(pairwise(starts)):
            p[begin:end], beta[i] = _row(squares[begin:end], np.log(target))
        return p, beta

    def symmetrize_probabilities(self, rows: csr_array) -> csr_array:
        n = rows.shape[0]
        one_way = csr_array((rows.data / (2 * n), rows.indices, rows.indptr), rows.shape)
        P = csr_array(one_way + one_way.T)
        P.sort_indices()
        return P

    def kl_plan(self, P: csr_array, kernel: str) -> KLPlan:
        return ReferenceKLPlan(P, kernel)

    def optimize_new_points(
        self,
        near: Ragged,
        weights: Float64,
        Y: Array,
        kernel: str,
        mesh: InterpolationGrid | None,
        start: Float64 | None = None,
    ) -> Float64:
        anchors = Y.astype(np.float64)
        out = np.empty((len(near.indptr) - 1, Y.shape[1]))
        for i, (begin, end) in enumerate(pairwise(near.indptr)):
            listed = anchors[near.indices[begin:end]]
            hill = Hill(listed, weights[begin:end], anchors, kernel, mesh)
            out[i] = _settled(hill, hill.start() if start is None else start[i])
        return out


def _row(squares: Float64, target: float) -> tuple[Float64, float]:
    """Newton's method on log β; a step that does not halve the error is followed by a bisection.

    Without that guard Newton's steps inside a bracket go round in circles on some rows.
    """
    gaps = squares - squares.min()
    scale = gaps.mean()
    if not scale > 0:
        return np.full(len(gaps), 1 / len(gaps)), 0.0
    gaps = gaps / scale
    x, low, high, last = 0.0, -700.0, 700.0, np.inf
    p = gaps
    for _ in range(BISECTIONS):
        beta = np.exp(x)
        e = np.exp(-beta * gaps)
        p = e / e.sum()
        mean = p @ gaps
        excess = np.log(e.sum()) + beta * mean - target
        if abs(excess) <= CLOSE or high - low < CLOSE:
            break
        low, high = (x, high) if excess > 0 else (low, x)
        slope = beta**2 * (p @ (gaps - mean) ** 2)
        step = x + excess / slope if slope > 0 else np.inf
        # Outward by at most 2: far out the slope is nothing but rounding.
        step = min(max(step, x - 2), x + 2)
        newton = low < step < high and abs(excess) < 0.5 * last
        x = step if newton else _between(low, high, x)
        last = abs(excess)
    return p, float(np.exp(x) / scale)


def _between(low: float, high: float, x: float) -> float:
    """The middle of the bracket, or a step toward an end that was not yet found."""
    if high == 700.0:
        return min(x + 1, 700.0)
    return max(x - 1, -700.0) if low == -700.0 else 0.5 * (low + high)


@dataclass
class ReferenceKLPlan:
    """All pairs, some rows at a time."""

    P: csr_array
    kernel: str
    Y: Float64 = field(default_factory=lambda: np.empty((0, 0)))
    velocity: Float64 = field(default_factory=lambda: np.empty((0, 0)))
    gain: Float64 = field(default_factory=lambda: np.empty((0, 0)))

    def forces(self, places: Array) -> tuple[Float64, Float64]:
        Y: Float64 = places.astype(np.float64)
        n, k = Y.shape
        rows = np.repeat(np.arange(n), np.diff(self.P.indptr))
        gap = Y[rows] - Y[self.P.indices]
        pull = self.P.data
        if self.kernel == "student":
            pull = pull / (1 + (gap**2).sum(1))
        A = np.empty((n, k))
        for c in range(k):
            A[:, c] = np.bincount(rows, pull * gap[:, c], n)
        everyone = np.arange(n)
        Z, R = self.pairs(Y, everyone)
        if self.kernel != "rows":
            return A, R / Z.sum()
        Z = np.maximum(Z, np.finfo(np.float64).tiny)  # of a row that is far from all
        R /= Z[:, None]
        for i, w in self._blocks(Y, everyone):  # what the others' rows say of these pairs
            w = w / Z
            R[i] += w.sum(1)[:, None] * Y[i] - w @ Y
        return A, R / (2 * n)

    def pairs(self, places: Array, rows: NDArray[np.int64]) -> tuple[Float64, Float64]:
        Y: Float64 = places.astype(np.float64)
        Z, R = np.empty(len(rows)), np.empty((len(rows), Y.shape[1]))
        done = 0
        for i, w in self._blocks(Y, rows):
            part = slice(done, done + len(i))
            Z[part] = w.sum(1)
            w = w**2 if self.kernel == "student" else w
            R[part] = w.sum(1)[:, None] * Y[i] - w @ Y
            done += len(i)
        return Z, R

    def cross_term(self, places: Array) -> float:
        Y: Float64 = places.astype(np.float64)
        rows = np.repeat(np.arange(len(Y)), np.diff(self.P.indptr))
        s = ((Y[rows] - Y[self.P.indices]) ** 2).sum(1)
        p = np.maximum(self.P.data, np.finfo(np.float64).tiny)
        far = np.log1p(s) if self.kernel == "student" else s
        return float(self.P.data @ (np.log(p) + far))

    def partition_function(self, Y: Array) -> float:
        return float(self.pairs(Y, np.arange(len(Y)))[0].sum())

    def _blocks(
        self, Y: Float64, rows: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], Float64]]:
        """Some rows, and their w to all; 0 to themselves."""
        step = max(1, BLOCK // len(Y))
        for b in range(0, len(rows), step):
            i = rows[b : b + step]
            s = np.zeros((len(i), len(Y)))
            for c in range(Y.shape[1]):
                s += (Y[i, c, None] - Y[:, c]) ** 2
            w = 1 / (1 + s) if self.kernel == "student" else np.exp(-s)
            w[np.arange(len(i)), i] = 0
            yield i, w

    def start(self, Y: Array) -> None:
        self.Y = Y.astype(np.float64)
        self.velocity, self.gain = np.zeros(Y.shape), np.ones(Y.shape)

    def advance(self, steps: int, exaggeration: float, momentum: float, rate: float) -> float:
        v = self.velocity
        for _ in range(steps):
            A, R = self.forces(self.Y)
            slope = exaggeration * A - R
            downhill = slope * v <= 0
            self.gain = np.maximum(np.where(downhill, self.gain + 0.2, self.gain * 0.8), 0.01)
            v = np.clip(momentum * v - rate * self.gain * slope, -LARGE, LARGE)
            length = np.sqrt((v**2).sum(1, keepdims=True))
            v *= np.minimum(1, LONGEST / np.maximum(length, LONGEST))
            self.Y = self.Y + v
        self.velocity = v
        return float(np.sqrt((v**2).sum(1).mean()))

    def embedding(self) -> Float64:
        return self.Y.copy()

    def approximate(self, Y: Array) -> bool:  # noqa: ARG002 - the others' signature
        return False

    def interpolation_grid(self, Y: Array) -> None:  # noqa: ARG002 - the others' signature
        return None


@dataclass(frozen=True)
class Hill:
    """What a new point goes down: sum p log(1 + d²) or sum p d², plus log Z of its place."""

    near: Float64
    p: Float64
    anchors: Float64
    kernel: str
    mesh: InterpolationGrid | None

    def middle(self) -> Float64:
        """The weighted median of the listed places, column by column."""
        order = np.argsort(self.near, axis=0, kind="stable")
        below = np.cumsum(self.p[order], axis=0)
        at = (below < HALF * below[-1]).sum(0)
        chosen = np.take_along_axis(order, at[None], axis=0)
        return np.asarray(np.take_along_axis(self.near, chosen, axis=0)[0])

    def start(self) -> Float64:
        """The middle, or one of the heaviest listed places where the attraction is clearly lower.

        Neighbors in several places have a middle that is near none of them. Thin tails make one
        bowl of all, where any start will do.
        """
        best = self.middle()
        if self.kernel != "student":
            return best
        least = self._pull(best)
        for other in self.near[np.argsort(-self.p, kind="stable")[:TRIED]]:
            there = self._pull(other)
            if there < CLEARLY * least:
                best, least = other, there
        return best

    def _pull(self, y: Float64) -> float:
        """Height of the attraction alone."""
        return float(self.p @ np.log1p(((y - self.near) ** 2).sum(1)))

    def height(self, y: Float64) -> float:
        s = ((y - self.near) ** 2).sum(1)
        if self.mesh is not None:
            return float(self.p @ np.log1p(s) + np.log(potential(self.mesh, y)[0]))
        d = ((y - self.anchors) ** 2).sum(1)
        if self.kernel == "student":
            return float(self.p @ np.log1p(s) + np.log((1 / (1 + d)).sum()))
        return float(self.p @ s - d.min() + np.log(np.exp(d.min() - d).sum()))

    def slopes(self, y: Float64) -> tuple[Float64, Float64, float]:
        """Gradient, Hessian, and the curvature of the attraction's majorizer."""
        gap, eye = y - self.near, np.eye(len(y))
        if self.kernel != "student":
            d = y - self.anchors
            s = (d**2).sum(1)
            q = np.exp(s.min() - s)
            q /= q.sum()
            mean = q @ d
            spread = (q[:, None] * (d - mean)).T @ (d - mean)
            return 2 * (self.p @ gap - mean), 4 * spread, 2.0
        w = 1 / (1 + (gap**2).sum(1))
        pull = self.p * w
        gradient = 2 * pull @ gap
        hessian = 2 * pull.sum() * eye - 4 * ((pull * w)[:, None] * gap).T @ gap
        phi, first, second = self._field(y)
        gradient = gradient + first / phi
        hessian += second / phi - np.outer(first, first) / phi**2
        return gradient, hessian, 2 * pull.sum()

    def _field(self, y: Float64) -> tuple[float, Float64, Float64]:
        if self.mesh is not None:
            return potential(self.mesh, y)
        d = y - self.anchors
        w = 1 / (1 + (d**2).sum(1))
        second = 8 * (w[:, None] ** 3 * d).T @ d - 2 * (w**2).sum() * np.eye(len(y))
        return float(w.sum()), -2 * w**2 @ d, second


def _settled(hill: Hill, y: Float64) -> Float64:
    """Newton's steps where they go down, else those of the attraction's majorizer; halved until
    they do. No step is longer than the one that lets attraction alone come to rest."""
    low, high = hill.anchors.min(0) - LONGEST, hill.anchors.max(0) + LONGEST
    small = SETTLED * max(1.0, float(np.abs(hill.anchors).max()))
    height = hill.height(y)
    for _ in range(DESCENTS):
        gradient, hessian, curvature = hill.slopes(y)
        plain = -gradient / curvature
        values, V = scipy.linalg.eigh(hessian)
        if values[0] > 1e-6 * curvature:
            plain = -V @ ((V.T @ gradient) / values)
        length = float(np.sqrt(plain @ plain))
        plain *= min(1.0, 1.0 / max(length, 1.0))
        share = 1.0
        while share > 1e-6:
            to = np.clip(y + share * plain, low, high)
            there = hill.height(to)
            if there <= height + ROUNDING * max(1.0, abs(height)):
                break
            share /= 2
        else:
            return y
        moved = np.abs(to - y).max()
        y, height = to, there
        if moved < small:
            return y
    return y


def potential(mesh: InterpolationGrid, y: Float64) -> tuple[float, Float64, Float64]:
    """Value, gradient and Hessian of a cubic spline, by its coefficients at the nodes."""
    k = mesh.phi.ndim
    at = np.clip((y - mesh.origin) / mesh.spacing, 1, np.array(mesh.phi.shape) - 3)
    cell = np.minimum(at.astype(np.int64), np.array(mesh.phi.shape) - 4)
    t = at - cell
    part = mesh.phi[tuple(slice(c - 1, c + 3) for c in cell)].astype(np.float64)
    tables = [_spline(t[c]) for c in range(k)]

    def contracted(*orders: int) -> float:
        block = part
        for c in range(k):
            block = np.tensordot(tables[c][orders[c]], block, axes=(0, 0))
        return float(block)

    one = np.eye(k, dtype=int)
    first = np.array([contracted(*one[c]) for c in range(k)]) / mesh.spacing
    second = [[contracted(*(one[a] + one[b])) for b in range(k)] for a in range(k)]
    return contracted(*[0] * k), first, np.array(second) / mesh.spacing**2


def _spline(t: float) -> Float64:
    """Values, slopes and curvatures of the four cubic B-splines that reach fraction t of a cell."""
    u = 1 - t
    value = [u**3, 3 * t**3 - 6 * t**2 + 4, 3 * u**3 - 6 * u**2 + 4, t**3]
    slope = [-(u**2), 3 * t**2 - 4 * t, 4 * u - 3 * u**2, t**2]
    return np.array([np.array(value) / 6, np.array(slope) / 2, [u, 3 * t - 2, 3 * u - 2, t]])
