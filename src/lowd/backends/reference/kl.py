"""Reference operations of SNE and t-SNE: forces and gradient descent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..protocol import Array, Float64, InterpolationGrid, KLObjective, KLPlan, Ragged
from .descent import AllPairsDescent, axis_variances, pair_blocks
from .new_points import NewPoint, minimize

MAX_COORDINATE_STEP = 1e15  # before a step is shortened: its square must not overflow
MAX_STEP = 5.0  # length of a point's step, in units of the embedding


class KLOperations:
    """The objective of SNE and t-SNE."""

    def kl_objective(self, kernel: str) -> KLObjective:
        return AllPairsKL(kernel)


@dataclass(frozen=True)
class AllPairsKL:
    """KL divergence of similarities by one kernel."""

    kernel: str

    def plan(self, P: csr_array) -> KLPlan:
        return AllPairsKLPlan(P, self.kernel)

    def optimize_new_points(
        self,
        near: Ragged,
        weights: Float64,
        Y: Array,
        grid: InterpolationGrid | None,
        start: Float64 | None = None,
    ) -> Float64:
        training = Y.astype(np.float64)
        out = np.empty((len(near.indptr) - 1, Y.shape[1]))
        for i, (begin, end) in enumerate(pairwise(near.indptr)):
            listed = training[near.indices[begin:end]]
            point = NewPoint(listed, weights[begin:end], training, self.kernel, grid)
            out[i] = minimize(point, point.start() if start is None else start[i])
        return out


@dataclass
class AllPairsKLPlan(AllPairsDescent):
    """Exact forces by all pairs, a block of rows at a time."""

    P: csr_array
    kernel: str
    gain: Float64 | float = 1.0

    def forces(self, Y: Array) -> tuple[Float64, Float64]:
        Y = Y.astype(np.float64)
        n, k = Y.shape
        rows = np.repeat(np.arange(n), np.diff(self.P.indptr))
        gap = Y[rows] - Y[self.P.indices]
        weights = self.P.data
        if self.kernel == "student":
            weights = weights / (1 + (gap**2).sum(1))
        A = np.empty((n, k))
        for c in range(k):
            A[:, c] = np.bincount(rows, weights * gap[:, c], n)
        Z, R = self.pair_sums(Y, np.arange(n))
        if self.kernel != "rows":
            return A, R / Z.sum()
        Z = np.maximum(Z, np.finfo(np.float64).tiny)  # of a row that is far from all
        R /= Z[:, None]
        for _, i, w in self._similarities(Y, np.arange(n)):  # the pair's part in the others' rows
            w = w / Z
            R[i] += w.sum(1)[:, None] * Y[i] - w @ Y
        return A, R / (2 * n)

    def pair_sums(self, Y: Array, rows: NDArray[np.int64]) -> tuple[Float64, Float64]:
        Y = Y.astype(np.float64)
        Z, R = np.empty(len(rows)), np.empty((len(rows), Y.shape[1]))
        for part, i, w in self._similarities(Y, rows):
            Z[part] = w.sum(1)
            w = w**2 if self.kernel == "student" else w
            R[part] = w.sum(1)[:, None] * Y[i] - w @ Y
        return Z, R

    def cross_term(self, Y: Array) -> float:
        Y = Y.astype(np.float64)
        rows = np.repeat(np.arange(len(Y)), np.diff(self.P.indptr))
        s = ((Y[rows] - Y[self.P.indices]) ** 2).sum(1)
        p = np.maximum(self.P.data, np.finfo(np.float64).tiny)
        minus_log_w = np.log1p(s) if self.kernel == "student" else s
        return float(self.P.data @ (np.log(p) + minus_log_w))

    def partition_function(self, Y: Array) -> float:
        return float(self.pair_sums(Y, np.arange(len(Y)))[0].sum())

    def _similarities(
        self, Y: Array, rows: NDArray[np.int64]
    ) -> Iterator[tuple[slice, NDArray[np.int64], Float64]]:
        """Blocks of rows, and their w to all points; 0 to themselves."""
        for part, i, s in pair_blocks(Y, rows):
            w = 1 / (1 + s) if self.kernel == "student" else np.exp(-s)
            w[np.arange(len(i)), i] = 0
            yield part, i, w

    def start(self, Y: Array) -> None:
        super().start(Y)
        self.gain = np.ones(Y.shape)

    def variances(self) -> Float64:
        return axis_variances(self.Y)

    def advance(self, steps: int, exaggeration: float, momentum: float, rate: float) -> float:
        v = self.velocity
        for _ in range(steps):
            A, R = self.forces(self.Y)
            slope = exaggeration * A - R
            downhill = slope * v <= 0
            self.gain = np.maximum(np.where(downhill, self.gain + 0.2, self.gain * 0.8), 0.01)
            v = momentum * v - rate * self.gain * slope
            v = np.clip(v, -MAX_COORDINATE_STEP, MAX_COORDINATE_STEP)
            length = np.sqrt((v**2).sum(1, keepdims=True))
            v *= np.minimum(1, MAX_STEP / np.maximum(length, MAX_STEP))
            self.Y = self.Y + v
        self.velocity = v
        return float(np.sqrt((v**2).sum(1).mean()))
