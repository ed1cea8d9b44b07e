"""Reference operations of SNE and t-SNE: probabilities, forces and gradient descent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..protocol import Array, Float64, InterpolationGrid, KLPlan, Ragged
from .new_points import NewPoint, minimize

SIMILARITY_BLOCK_ENTRIES = 2**21  # similarities in memory at a time: 16 MiB
MAX_COORDINATE_STEP = 1e15  # before a step is shortened: its square must not overflow
MAX_STEP = 5.0  # length of a point's step, in units of the embedding
PERPLEXITY_TOL = 1e-12  # of the log perplexity, and of log β
MAX_BISECTIONS = 200
MAX_LOG_BETA = 700.0  # exp of more overflows


class KLOperations:
    """Probabilities of a given perplexity, and the embeddings whose similarities match them."""

    def conditional_probabilities(
        self, indptr: NDArray[np.int64], squares: Float64, perplexity: float
    ) -> tuple[Float64, Float64]:
        p, beta = np.empty(len(squares)), np.empty(len(indptr) - 1)
        for i, (begin, end) in enumerate(pairwise(indptr)):
            p[begin:end], beta[i] = _calibrate(squares[begin:end], np.log(perplexity))
        return p, beta

    def symmetrize(self, rows: csr_array, union: float | None = None) -> csr_array:
        if union is None:
            scale = 2 * rows.shape[0]
            half = csr_array((rows.data / scale, rows.indices, rows.indptr), rows.shape)
            S = csr_array(half + half.T)
        else:
            both = rows * rows.T
            S = csr_array(union * (rows + rows.T - both) + (1 - union) * both)
            S.eliminate_zeros()
        S.sort_indices()
        return S

    def kl_plan(self, P: csr_array, kernel: str) -> KLPlan:
        return AllPairsKLPlan(P, kernel)

    def optimize_new_points(
        self,
        near: Ragged,
        weights: Float64,
        Y: Array,
        kernel: str,
        grid: InterpolationGrid | None,
        start: Float64 | None = None,
    ) -> Float64:
        training = Y.astype(np.float64)
        out = np.empty((len(near.indptr) - 1, Y.shape[1]))
        for i, (begin, end) in enumerate(pairwise(near.indptr)):
            listed = training[near.indices[begin:end]]
            point = NewPoint(listed, weights[begin:end], training, kernel, grid)
            out[i] = minimize(point, point.start() if start is None else start[i])
        return out


def _calibrate(squares: Float64, log_perplexity: float) -> tuple[Float64, float]:
    """p and β of one row by Newton's method on log β, safeguarded by bisection.

    A Newton step that does not halve the error is followed by a bisection: without that guard
    steps inside a bracket cycle on some rows.
    """
    gaps = squares - squares.min()
    scale = gaps.mean()
    if not scale > 0:
        return np.full(len(gaps), 1 / len(gaps)), 0.0
    gaps = gaps / scale
    x, low, high, last = 0.0, -MAX_LOG_BETA, MAX_LOG_BETA, np.inf
    p = gaps
    for _ in range(MAX_BISECTIONS):
        beta = np.exp(x)
        e = np.exp(-beta * gaps)
        p = e / e.sum()
        mean = p @ gaps
        excess = np.log(e.sum()) + beta * mean - log_perplexity
        if abs(excess) <= PERPLEXITY_TOL or high - low < PERPLEXITY_TOL:
            break
        low, high = (x, high) if excess > 0 else (low, x)
        slope = beta**2 * (p @ (gaps - mean) ** 2)
        # Outward by at most 2: far out the slope is nothing but rounding, and the step infinite.
        with np.errstate(over="ignore"):
            step = x + excess / slope if slope > 0 else np.inf
        step = min(max(step, x - 2), x + 2)
        newton = low < step < high and abs(excess) < 0.5 * last
        x = step if newton else _bisect(low, high, x)
        last = abs(excess)
    return p, float(np.exp(x) / scale)


def _bisect(low: float, high: float, x: float) -> float:
    """The middle of the bracket, or a step toward an end that was not yet found."""
    if high == MAX_LOG_BETA:
        return min(x + 1, MAX_LOG_BETA)
    return max(x - 1, -MAX_LOG_BETA) if low == -MAX_LOG_BETA else 0.5 * (low + high)


@dataclass
class AllPairsKLPlan:
    """Exact forces by all pairs, a block of rows at a time."""

    P: csr_array
    kernel: str
    Y: Float64 = field(default_factory=lambda: np.empty((0, 0)))
    velocity: Float64 = field(default_factory=lambda: np.empty((0, 0)))
    gain: Float64 = field(default_factory=lambda: np.empty((0, 0)))

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
        for i, w in self._similarities(Y, np.arange(n)):  # the pair's part in the others' rows
            w = w / Z
            R[i] += w.sum(1)[:, None] * Y[i] - w @ Y
        return A, R / (2 * n)

    def pair_sums(self, Y: Array, rows: NDArray[np.int64]) -> tuple[Float64, Float64]:
        Y = Y.astype(np.float64)
        Z, R = np.empty(len(rows)), np.empty((len(rows), Y.shape[1]))
        done = 0
        for i, w in self._similarities(Y, rows):
            part = slice(done, done + len(i))
            Z[part] = w.sum(1)
            w = w**2 if self.kernel == "student" else w
            R[part] = w.sum(1)[:, None] * Y[i] - w @ Y
            done += len(i)
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
    ) -> Iterator[tuple[NDArray[np.int64], Float64]]:
        """Blocks of rows, and their w to all points; 0 to themselves."""
        step = max(1, SIMILARITY_BLOCK_ENTRIES // len(Y))
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
            v = momentum * v - rate * self.gain * slope
            v = np.clip(v, -MAX_COORDINATE_STEP, MAX_COORDINATE_STEP)
            length = np.sqrt((v**2).sum(1, keepdims=True))
            v *= np.minimum(1, MAX_STEP / np.maximum(length, MAX_STEP))
            self.Y = self.Y + v
        self.velocity = v
        return float(np.sqrt((v**2).sum(1).mean()))

    def embedding(self) -> Float64:
        return self.Y.copy()

    def uses_interpolation(self, Y: Array) -> bool:  # noqa: ARG002 - the protocol's signature
        return False

    def interpolation_grid(self, Y: Array) -> None:  # noqa: ARG002 - the protocol's signature
        return None
