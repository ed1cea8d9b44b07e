"""Reference operations of multidimensional scaling: stress, SMACOF and isotonic regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.spatial.distance import cdist

from ..protocol import Array, Float64, GuttmanStep, Ints, StressObjective, StressPlan, Ties


@dataclass(frozen=True)
class MetricStressPlan:
    """Stress against fixed dissimilarities, on whole matrices."""

    D: Array
    W: Array | None

    def step(self, Y: Float64) -> GuttmanStep:
        delta, W = _fill_missing(self.D, self.W)
        d = cdist(Y, Y)
        ratio = np.divide(W * delta, d, out=np.zeros_like(d), where=d > 0)
        stress = 0.5 * (W * (delta - d) ** 2).sum()
        eta_squared, rho = 0.5 * (W * d * d).sum(), 0.5 * (W * delta * d).sum()
        BY = ratio.sum(1, keepdims=True) * Y - ratio @ Y
        return GuttmanStep(float(stress), float(eta_squared), float(rho), BY)

    def disparities(self, Y: Float64) -> None:  # noqa: ARG002 - the protocol's signature
        return None


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
class OrdinalStressPlan:
    """Stress against the disparities: the isotonic regression of distances on dissimilarities."""

    pairs: Pairs
    ties: Ties

    def step(self, Y: Float64) -> GuttmanStep:
        i, j, w, _, _ = self.pairs
        gap = Y[i] - Y[j]
        d = np.sqrt((gap**2).sum(1))
        t = fit_disparities(d, self.pairs, self.ties)
        ratio = np.divide(w * t, d, out=np.zeros_like(d), where=d > 0)
        BY = np.empty(Y.shape)
        for c, along in enumerate((ratio[:, None] * gap).T):
            BY[:, c] = np.bincount(i, along, len(Y)) - np.bincount(j, along, len(Y))
        return GuttmanStep(float(w @ (t - d) ** 2), float(w @ d**2), float(w @ (t * d)), BY)

    def disparities(self, Y: Float64) -> tuple[Float64, Float64]:
        i, j, w, delta, groups = self.pairs
        if not len(delta):  # of one row
            return np.zeros(1), np.zeros(1)
        d = np.sqrt(((Y[i] - Y[j]) ** 2).sum(1))
        t = fit_disparities(d, self.pairs, self.ties)
        if groups is not None:
            starts = groups[:-1]
            t = np.add.reduceat(w * t, starts) / np.add.reduceat(w, starts)
            delta = delta[starts]
        flat = np.diff(t) == 0
        inside = np.zeros(len(t), bool)
        inside[1:-1] = flat[1:] & flat[:-1]
        return delta[~inside], t[~inside]


@dataclass(frozen=True)
class ReferenceStress:
    """Stress of an embedding, and new points of least stress."""

    ties: Ties | None

    def plan(self, D: Array, W: Array | None) -> StressPlan:
        if self.ties is None:
            return MetricStressPlan(D, W)
        return OrdinalStressPlan(sort_pairs(D, W), self.ties)

    def optimize_new_points(
        self, T: Array, W: Array | None, Y: Float64, start: Float64, max_iter: int, tol: float
    ) -> tuple[Float64, Float64]:
        A, (T, W) = Y, _fill_missing(T, W)
        total = W.sum(1, keepdims=True)
        mean = (W @ A) / total
        smallest_step = tol * tol * (W * T * T).sum(1) / total[:, 0]
        Y, rows = start.copy(), np.arange(len(start))
        for _ in range(max_iter):
            d = cdist(Y[rows], A)
            ratio = np.divide(W[rows] * T[rows], d, out=np.zeros_like(d), where=d > 0)
            toward = ratio.sum(1, keepdims=True) * Y[rows] - ratio @ A
            new = mean[rows] + toward / total[rows]
            moved = ((new - Y[rows]) ** 2).sum(1)
            Y[rows] = new
            rows = rows[moved > smallest_step[rows]]
            if not len(rows):
                break
        return Y, (W * (T - cdist(Y, A)) ** 2).sum(1)


class StressOperations:
    """Metric and ordinal stress."""

    def stress_objective(self, ties: Ties | None = None) -> StressObjective:
        return ReferenceStress(ties)


def _fill_missing(D: Array, W: Array | None) -> tuple[Float64, Float64]:
    """Dissimilarities and weights in float64; of a missing pair both are 0."""
    known = ~np.isnan(D)
    weights = known if W is None else np.where(known, W, 0.0)
    return np.where(known, D, 0.0).astype(np.float64), weights.astype(np.float64)


def sort_pairs(D: Array, W: Array | None) -> Pairs:
    """The known pairs in the order of their dissimilarity."""
    i, j = (half.astype(np.int32) for half in np.triu_indices(len(D), 1))
    delta, weights = (M[i, j] for M in _fill_missing(D, W))
    known = np.flatnonzero(~np.isnan(D[i, j]) & (weights > 0))
    order = known[np.argsort(delta[known], kind="stable")]
    delta = delta[order]
    starts = np.flatnonzero(np.diff(delta, prepend=np.nan) != 0)
    groups = None if len(starts) == len(delta) else np.append(starts, len(delta))
    return Pairs(i[order], j[order], weights[order], delta, groups)


def fit_disparities(d: Float64, pairs: Pairs, ties: Ties) -> Float64:
    """Disparities (Kruskal, 1964): monotone in the dissimilarity, nearest to d, mean square 1."""
    w = pairs.weights
    fitted = fit_isotonic(d, w, pairs.groups, ties)
    size = float(w @ fitted**2)
    return np.asarray(fitted * np.sqrt(w.sum() / size)) if size > 0 else fitted


def fit_isotonic(d: Float64, w: Float64, groups: NDArray[np.int64] | None, ties: Ties) -> Float64:
    """Isotonic regression of d in its order; tied groups are broken up or share a value."""
    if not len(d):
        return d
    if groups is None:
        return np.asarray(isotonic_regression(d, weights=w).x)
    sizes = np.diff(groups)
    group = np.repeat(np.arange(len(sizes)), sizes)
    if ties == "primary":
        order = np.lexsort((d, group))
        fitted = np.empty_like(d)
        fitted[order] = isotonic_regression(d[order], weights=w[order]).x
        return fitted
    weight = np.bincount(group, w)
    means = np.bincount(group, w * d) / weight
    return np.asarray(isotonic_regression(means, weights=weight).x[group])
