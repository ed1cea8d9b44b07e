"""Confidence of new points: how likely a map places them where a fit with them would.

Two things count. A point far from all training points is beyond the *reach* of the map. And a point
whose neighbors in the data lie in several places of the embedding cannot be near all of them: the
*kept share* is how much of the weight of its neighbors is near it there. What both need of the
training points is computed in the fit, and a transform brings the neighbors that it has used, so
nothing is searched for the confidence.

A point is *placed well* if between the embedding and that of a fit that includes it, it has at
least half as many neighbors in common as the training points around it have: an embedding that
changes as a whole with the rows of the fit is not a fault of the map. The probability of that is a
logistic function of the kept share, which is learned from rows that a fit has left out.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, issparse

from .backend import chunks
from .linalg.principal import draw_rows
from .parameters import Held, Indices, Reals, state
from .spaces import Neighbors, Rows, Space, space_of

# Intercept and slope of a logistic function of the kept share's logit.
Curve = tuple[float, float]


def reach(nearest: Reals, full: float = 0.9) -> Reals:
    """The distance up to which confidence is full, and the step in which it then halves.

    `nearest` holds each training point's distance to its nearest other; duplicates do not count.
    The full distance is their 90 % quantile, and the step its difference from their median (at
    least 5 % of it, as evenly spaced points would otherwise make confidence a step function).
    """
    apart = nearest[np.isfinite(nearest) & (nearest > 0)]
    inside, median = np.quantile(apart, [full, 0.5]) if len(apart) else (0.0, 0.0)
    return np.array([inside, max(inside - median, 0.05 * inside, np.finfo(float).tiny)])


def scope(embedded: Space, count: int) -> Reals:
    """How far around each training point its nearest others in the embedding are, `count` of them.

    That is what near means there; at most a fourth of all points are.
    """
    if embedded.n < 2:
        return np.zeros(embedded.n)
    found = embedded.nearest(max(1, min(count, embedded.n // 4, embedded.n - 1)))
    return np.asarray(found.distances[found.indptr[1:] - 1])


def within_reach(distance: Reals, reach: Reals) -> Reals:
    """The bound of the confidence by the distance to the nearest training point."""
    inside, step = reach
    excess = np.where(np.isnan(distance), np.inf, distance - inside)
    return np.asarray(np.exp2(-np.maximum(excess, 0) / step))


class SampledRows(Held):
    """Some of the training rows: a linear map, which needs no neighbors, is trusted near them.

    What near means among them is found when it is first asked for, as it takes longer than the fit.
    """

    rows: Any = state("n_sampled n_features")  # dense or sparse
    units: Reals | None = state("n_features")  # of the columns, in which distances are measured

    def __init__(self, rows: Any, units: Reals | None = None) -> None:
        self.rows, self.units = rows, units

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": self.rows, "units": self.units}

    @classmethod
    def of(cls, X: Any, units: Reals | None = None, hashes: Indices | None = None) -> SampledRows:
        """A sample of the rows, the same in whichever order they come."""
        rows = draw_rows(X, sample_size(X), hashes)
        return cls(rows.copy() if rows is X else rows, units)

    @cached_property
    def space(self) -> Space:
        return space_of(self._in_units(self.rows), "euclidean", None)

    @cached_property
    def reach(self) -> Reals:
        nearest = self.space.nearest(1).nearest if self.space.n > 1 else np.zeros(1)
        if nearest.any():
            return reach(nearest)
        # There are nothing but duplicates: new rows are judged by the extent of the data.
        extent = float(self.space.distances(np.arange(1)).max())
        return np.array([0.0, max(0.05 * extent, np.finfo(float).tiny)])

    def bound(self, Q: Any) -> Reals:
        """What bounds the confidence of new rows: how far the nearest of these is."""
        nearest = np.empty(Q.shape[0])
        for some in chunks(len(nearest), self.space.n, 2**19):  # whose distances the cache holds
            nearest[some] = self.space.toward(self._in_units(Q[some])).min(1)
        return within_reach(nearest, self.reach)

    def _in_units(self, X: Any) -> Any:
        if self.units is None:
            return X
        if issparse(X):
            return csr_array(X @ diags_array(1 / self.units), dtype=X.dtype)
        return np.asarray(X / self.units, X.dtype)


def sample_size(X: Any) -> int:
    """How many rows a model keeps: about 100,000 entries, and 32 to 512 rows."""
    n, d = X.shape
    return int(min(max(100_000 // max(X.nnz // n if issparse(X) else d, 1), 32), 512))


def kept_share(near: Neighbors, Y: Reals, embedded: Reals, scope: Reals) -> Reals:
    """How much of the weight of each point's neighbors is near it in the embedding.

    Near is what is within the scope of the neighbor that is nearest to it there.
    """
    begin, counts = near.indptr[:-1], near.counts
    apart = embedded[near.indices] - np.repeat(Y.astype(np.float64), counts, axis=0)
    squares = np.einsum("ij,ij->i", apart, apart)
    nearest = np.flatnonzero(squares == np.repeat(np.minimum.reduceat(squares, begin), counts))
    widest = np.zeros(len(Y))  # of several that are equally near
    np.maximum.at(widest, near.owners[nearest], scope[near.indices[nearest]])
    inside = squares <= np.repeat(np.square(widest * (1 + 1e-6)), counts)
    if near.weights is None:
        return np.asarray(np.add.reduceat(inside, begin, dtype=np.float64) / counts)
    return np.minimum(np.add.reduceat(near.weights * inside, begin), 1.0)


def by_curve(kept: Reals, bound: Reals, curve: Curve | None) -> Reals:
    """Confidence from the kept share and the bound."""
    if curve is None:
        return bound
    intercept, slope = curve
    return np.minimum(_expit(intercept + slope * _logit(kept)), bound)


# -- calibration: rows that one more fit has left out ---------------------------------------------


class LeftOutRows(Held):
    """Training rows that one more fit has left out: how they were placed, and the curve of them."""

    kept: Reals = state("n_left_out")
    edge: Reals = state("n_left_out")  # the bound by the reach
    correct: NDArray[np.bool_] = state("n_left_out")
    curve: Curve = state()

    @classmethod
    def of(cls, kept: Reals, edge: Reals, correct: NDArray[np.bool_]) -> LeftOutRows:
        rows = cls()
        rows.kept, rows.edge, rows.correct = kept, edge, correct
        rows.curve = learn_curve(kept, correct)
        return rows

    def promise(self, folds: int = 5) -> Reals:
        """Confidence of each row, by the curve of the other folds: no row judges itself."""
        fold = np.arange(len(self.kept)) % folds
        promised = np.empty(len(self.kept))
        for own in (fold == number for number in range(folds)):
            curve = learn_curve(self.kept[~own], self.correct[~own])
            promised[own] = by_curve(self.kept[own], self.edge[own], curve)
        return promised


def learn_curve(kept: Reals, correct: NDArray[np.bool_]) -> Curve:
    """Logistic regression with Platt's targets, which keep it finite if all rows are correct."""
    n_correct = int(correct.sum())
    high, low = (n_correct + 1) / (n_correct + 2), 1 / (len(correct) - n_correct + 2)
    target = np.where(correct, high, low)
    A = np.column_stack([np.ones(len(kept)), _logit(kept)])
    a = np.zeros(2)
    for _ in range(50):  # Newton's method
        p = _expit(A @ a)
        hessian = (A * (p * (1 - p))[:, None]).T @ A + 1e-6 * np.eye(2)
        step = np.linalg.solve(hessian, A.T @ (target - p))
        a += np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-10:
            break
    if a[1] < 0:  # to keep less of its neighborhood is not a reason for more confidence
        mean = float(target.mean())
        return float(np.log(mean / (1 - mean))), 0.0
    return float(a[0]), float(a[1])


def placed_well(
    training: Reals, Y: Reals, other_training: Reals, other_Y: Reals, most: int = 30
) -> NDArray[np.bool_]:
    """Which points have as many neighbors in two embeddings as training points around them have.

    Half as many of 30 are enough, if they are more than two random lists have in common.
    """
    n = len(training)
    k = min(most, max(1, n // 4))
    lists, own_lists = [], []
    for points, new in ((training, Y), (other_training, other_Y)):
        space = Rows(points.astype(np.float64))
        lists.append(space.query(new.astype(np.float64), k).indices.reshape(-1, k))
        own_lists.append(space.nearest(k).indices.reshape(-1, k))
    usual = _count_shared(*own_lists)[lists[1][:, :10]].mean(1)
    return np.asarray(_count_shared(*lists) >= np.maximum(usual / 2, k * k / n))


def _count_shared(A: NDArray[np.int32], B: NDArray[np.int32]) -> NDArray[np.int64]:
    """How many numbers each two lists, of distinct numbers, have in common."""
    both = np.sort(np.hstack([A, B]), axis=1)
    return np.asarray((np.diff(both, axis=1) == 0).sum(1))


def _logit(share: Reals) -> Reals:
    return np.log((share + 0.01) / (1.01 - share))


def _expit(x: Reals) -> Reals:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -500, 500))))
