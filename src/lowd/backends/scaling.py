"""Operations of multidimensional scaling, in plain NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.spatial.distance import cdist

from .protocol import Array, Float64, GuttmanStep, Ints


@dataclass(frozen=True)
class ReferenceStressPlan:
    """Stress against fixed targets, on whole matrices."""

    D: Array
    W: Array | None

    def step(self, Y: Float64) -> GuttmanStep:
        targets, W = known(self.D, self.W)
        d = cdist(Y, Y)
        ratio = np.divide(W * targets, d, out=np.zeros_like(d), where=d > 0)
        stress = 0.5 * (W * (targets - d) ** 2).sum()
        size, cross = 0.5 * (W * d * d).sum(), 0.5 * (W * targets * d).sum()
        moved = ratio.sum(1, keepdims=True) * Y - ratio @ Y
        return GuttmanStep(float(stress), float(size), float(cross), moved)


class Pairs(NamedTuple):
    """Pairs of rows in the order of their dissimilarity, each once, with positive weights.

    Pairs groups[g] .. groups[g + 1] are tied; None: no two are.
    """

    first: Ints
    second: Ints
    weights: Float64
    delta: Float64
    groups: NDArray[np.int64] | None


@dataclass(frozen=True)
class ReferenceMonotonePlan:
    """Stress against the best targets in the order of the pairs."""

    pairs: Pairs
    split: bool

    def step(self, Y: Float64) -> GuttmanStep:
        i, j, w, _, _ = self.pairs
        gap = Y[i] - Y[j]
        d = np.sqrt((gap**2).sum(1))
        targets = disparities(d, self.pairs, self.split)
        ratio = np.divide(w * targets, d, out=np.zeros_like(d), where=d > 0)
        moved = np.empty(Y.shape)
        for c, along in enumerate((ratio[:, None] * gap).T):
            moved[:, c] = np.bincount(i, along, len(Y)) - np.bincount(j, along, len(Y))
        stress, size, cross = w @ (targets - d) ** 2, w @ d**2, w @ (targets * d)
        return GuttmanStep(float(stress), float(size), float(cross), moved)

    def curve(self, Y: Float64) -> tuple[Float64, Float64]:
        i, j, w, delta, groups = self.pairs
        if not len(delta):  # of one row
            return np.zeros(1), np.zeros(1)
        d = np.sqrt(((Y[i] - Y[j]) ** 2).sum(1))
        targets = disparities(d, self.pairs, self.split)
        if groups is not None:
            starts = groups[:-1]
            targets = np.add.reduceat(w * targets, starts) / np.add.reduceat(w, starts)
            delta = delta[starts]
        flat = np.diff(targets) == 0
        inside = np.zeros(len(targets), bool)
        inside[1:-1] = flat[1:] & flat[:-1]
        return delta[~inside], targets[~inside]


class ScalingOperations:
    """What `Reference` knows of multidimensional scaling."""

    def guttman(self, D: Array, W: Array | None) -> ReferenceStressPlan:
        return ReferenceStressPlan(D, W)

    def monotone(self, D: Array, W: Array | None, split: bool) -> ReferenceMonotonePlan:
        return ReferenceMonotonePlan(ordered(D, W), split)

    def multilaterate(
        self, T: Array, W: Array | None, A: Float64, start: Float64, max_iter: int, tol: float
    ) -> tuple[Float64, Float64]:
        T, W = known(T, W)
        total = W.sum(1, keepdims=True)
        middle = (W @ A) / total
        least = tol * tol * (W * T * T).sum(1) / total[:, 0]
        Y, rows = start.copy(), np.arange(len(start))
        for _ in range(max_iter):
            d = cdist(Y[rows], A)
            ratio = np.divide(W[rows] * T[rows], d, out=np.zeros_like(d), where=d > 0)
            pull = ratio.sum(1, keepdims=True) * Y[rows] - ratio @ A
            new = middle[rows] + pull / total[rows]
            moved = ((new - Y[rows]) ** 2).sum(1)
            Y[rows] = new
            rows = rows[moved > least[rows]]
            if not len(rows):
                break
        return Y, (W * (T - cdist(Y, A)) ** 2).sum(1)


def known(D: Array, W: Array | None) -> tuple[Float64, Float64]:
    """Targets and weights in float64; of a missing pair both are 0."""
    held = ~np.isnan(D)
    weights = held if W is None else np.where(held, W, 0.0)
    return np.where(held, D, 0.0).astype(np.float64), weights.astype(np.float64)


def ordered(D: Array, W: Array | None) -> Pairs:
    """The known pairs in the order of their dissimilarity."""
    i, j = (half.astype(np.int32) for half in np.triu_indices(len(D), 1))
    delta, weights = (M[i, j] for M in known(D, W))
    held = np.flatnonzero(~np.isnan(D[i, j]) & (weights > 0))
    order = held[np.argsort(delta[held], kind="stable")]
    delta = delta[order]
    starts = np.flatnonzero(np.diff(delta, prepend=np.nan) != 0)
    groups = None if len(starts) == len(delta) else np.append(starts, len(delta))
    return Pairs(i[order], j[order], weights[order], delta, groups)


def disparities(d: Float64, pairs: Pairs, split: bool) -> Float64:
    """Numbers in the order of the pairs, nearest to d but for their size: of mean square 1.

    By pooling adjacent violators (Kruskal, 1964). Pairs of one group are tied: each has a number
    of its own if `split` (the primary approach), else they share one (the secondary).
    """
    w = pairs.weights
    fitted = isotonic(d, w, pairs.groups, split)
    size = float(w @ fitted**2)
    return np.asarray(fitted * np.sqrt(w.sum() / size)) if size > 0 else fitted


def isotonic(d: Float64, w: Float64, groups: NDArray[np.int64] | None, split: bool) -> Float64:
    """The least squares fit that never falls, tied groups being split or not."""
    if not len(d):
        return d
    if groups is None:
        return np.asarray(isotonic_regression(d, weights=w).x)
    sizes = np.diff(groups)
    number = np.repeat(np.arange(len(sizes)), sizes)
    if split:
        order = np.lexsort((d, number))
        fitted = np.empty_like(d)
        fitted[order] = isotonic_regression(d[order], weights=w[order]).x
        return fitted
    weight = np.bincount(number, w)
    means = np.bincount(number, w * d) / weight
    return np.asarray(isotonic_regression(means, weights=weight).x[number])
