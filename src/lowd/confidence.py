"""Confidence of new points: how likely a map places them where a fit with them would.

Two things count. How *familiar* a point is: one far from all training points is beyond the reach of
the map, and where there are so many columns that all points are about equally far, one whose
deviation from the mean is not along the leading axes of the data is none of them. And a point whose
neighbors in the data lie in several places of the embedding cannot be near all of them: the *kept
share* is how much of the weight of its neighbors is near it there. What both need of the training
points is computed in the fit, and a transform brings the neighbors that it has used, so nothing is
searched for the confidence.

A point is *placed well* if between the embedding and that of a fit that includes it, it has at
least half as many neighbors in common as the training points around it have: an embedding that
changes as a whole with the rows of the fit is not a fault of the map. The probability of that is a
logistic function of both, which is learned from rows that a fit has left out.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, issparse

from .backend import chunks
from .linalg.principal import column_means, draw_rows, principal_axes, project, squared_lengths
from .parameters import Held, Indices, Reals, state
from .spaces import Neighbors, Rows, Space, hash_rows, space_of

# Intercept of a logistic function, and its slopes by the kept share's logit and by familiarity.
Curve = tuple[float, float, float]


def reach(nearest: Reals, full: float = 0.9) -> Reals:
    """The median distance of training points to their nearest others, and a step beyond it.

    The step is the difference from the 90 % quantile (at least 5 % of that, as evenly spaced points
    would otherwise make confidence a step function). Duplicates do not count.
    """
    apart = nearest[np.isfinite(nearest) & (nearest > 0)]
    inside, median = np.quantile(apart, [full, 0.5]) if len(apart) else (0.0, 0.0)
    return np.array([median, max(inside - median, 0.05 * inside, np.finfo(float).tiny)])


def scope(embedded: Space, count: int) -> Reals:
    """How far around each training point its nearest others in the embedding are, `count` of them.

    That is what near means there; at most a fourth of all points are.
    """
    if embedded.n < 2:
        return np.zeros(embedded.n)
    found = embedded.nearest(max(1, min(count, embedded.n // 4, embedded.n - 1)))
    return np.asarray(found.distances[found.indptr[1:] - 1])


def familiarity(distance: Reals, reach: Reals) -> Reals:
    """How near the nearest training point is: 0 as the median of theirs, -1 as nine in ten."""
    median, step = reach
    return np.asarray((median - np.where(np.isnan(distance), np.inf, distance)) / step)


def bound(familiar: Reals) -> Reals:
    """What confidence cannot exceed: it halves with every step beyond -2.

    Beyond -1 there is one row in ten of the data themselves; of rows with heavy tails two are.
    """
    return np.asarray(np.exp2(np.minimum(familiar + 2, 0)))


class LeadingShare(Held):
    """How much of a row's squared distance from the mean is along the leading axes of the data.

    In many columns rows of all kinds are about equally far from each other, but rows of one data
    set deviate from their mean in the same few directions. What is usual is learned from a fifth of
    the rows, of which the axes know nothing: those of a fit follow its own rows too closely.
    """

    mean: Reals = state("n_features")
    axes: Reals = state("n_features n_axes")
    units: Reals | None = state("n_features")  # of the columns
    usual: Reals = state("2")  # the median share, and its distance from the 5 % quantile

    @classmethod
    def of(cls, X: Any, units: Reals | None, most_rows: int = 5000) -> LeadingShare | None:
        """Of rows with enough columns; None where distances tell as much."""
        n, d = X.shape
        count = min(20, d // 4, n // 10)
        if not 25 <= n <= most_rows or 4 * d < n or count < 1:
            return None
        share = cls()
        X, share.units = in_units(X, units), units
        order = np.argsort(hash_rows(X), kind="stable")
        others, out = X[order[n // 5 :]], X[order[: n // 5]]
        share.mean = column_means(others)
        found = principal_axes(others, share.mean, count)
        share.axes = np.ascontiguousarray(found.vectors[:, : found.rank], X.dtype)
        middle, low = np.quantile(share._of_rows(out), [0.5, 0.05])
        share.usual = np.array([middle, max(middle - low, 0.05 * middle, np.finfo(float).tiny)])
        return share

    def _of_rows(self, Q: Any) -> Reals:
        squares = np.square(project(Q, self.mean, self.axes), dtype=np.float64).sum(1)
        return np.asarray(squares / np.maximum(squared_lengths(Q, self.mean), 1e-300))

    def familiarity(self, Q: Any) -> Reals:
        """0 as the median of rows that were left out, -1 as their 5 % quantile."""
        middle, step = self.usual
        return np.asarray((self._of_rows(in_units(Q, self.units)) - middle) / step)


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
        return space_of(in_units(self.rows, self.units), "euclidean", None)

    @cached_property
    def reach(self) -> Reals:
        nearest = self.space.nearest(1).nearest if self.space.n > 1 else np.zeros(1)
        if nearest.any():
            return reach(nearest)
        # There are nothing but duplicates: new rows are judged by the extent of the data.
        extent = float(self.space.distances(np.arange(1)).max())
        return np.array([0.0, max(0.05 * extent, np.finfo(float).tiny)])

    def familiarity(self, Q: Any) -> Reals:
        """By how far the nearest of these is."""
        nearest = np.empty(Q.shape[0])
        for some in chunks(len(nearest), self.space.n, 2**19):  # whose distances the cache holds
            nearest[some] = self.space.toward(in_units(Q[some], self.units)).min(1)
        return familiarity(nearest, self.reach)


def in_units(X: Any, units: Reals | None) -> Any:
    """Rows whose columns are divided by units, in their own type."""
    if units is None:
        return X
    if issparse(X):
        return csr_array(X @ diags_array(1 / units), dtype=X.dtype)
    return np.asarray(X / units, X.dtype)


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


def by_curve(kept: Reals, familiar: Reals, curve: Curve) -> Reals:
    """Confidence from the kept share and the familiarity."""
    return np.minimum(_expit(features(kept, familiar) @ curve), bound(familiar))


def features(kept: Reals, familiar: Reals) -> Reals:
    """What a curve is a linear function of."""
    return np.column_stack([np.ones(len(kept)), logit(kept), np.clip(familiar, -3, 1)])


def logit(share: Any) -> Any:
    """The logarithm of the odds of a share, of which 0 and 1 are not known for sure."""
    return np.log((share + 0.01) / (1.01 - share))


def mean_kept(near: Neighbors, Y: Reals, scope: Reals) -> float:
    """The mean kept share of the 15 nearest of all training points."""
    near, total = near.first(15), 0.0
    for some in chunks(len(Y), 15 * 2**4):
        total += float(kept_share(near.take(some), Y[some], Y, scope).sum())
    return total / len(Y)


# -- calibration: rows that one more fit has left out ---------------------------------------------


class LeftOutRows(Held):
    """Training rows that one more fit has left out: how they were placed, and the curve of them."""

    kept: Reals = state("n_left_out")
    familiar: Reals = state("n_left_out")
    correct: NDArray[np.bool_] = state("n_left_out")
    general: Curve = state()
    curve: Curve = state()

    @classmethod
    def of(
        cls, kept: Reals, familiar: Reals, correct: NDArray[np.bool_], general: Curve
    ) -> LeftOutRows:
        rows = cls()
        rows.kept, rows.familiar, rows.correct, rows.general = kept, familiar, correct, general
        rows.curve = learn_curve(features(kept, familiar), correct, general)
        return rows

    def promise(self, folds: int = 5) -> Reals:
        """Confidence of each row, by the curve of the other folds: no row judges itself."""
        fold = np.arange(len(self.kept)) % folds
        promised = np.empty(len(self.kept))
        for own in (fold == number for number in range(folds)):
            A = features(self.kept[~own], self.familiar[~own])
            curve = learn_curve(A, self.correct[~own], self.general)
            promised[own] = by_curve(self.kept[own], self.familiar[own], curve)
        return promised


def learn_curve(A: Reals, correct: NDArray[np.bool_], general: tuple[float, ...]) -> Any:
    """Logistic regression, whose slopes are no less than a fourth of the general ones.

    So it sets the level, and few rows, or rows that are all correct, do not lose the order. A
    penalty on the squared distance from the general curve keeps it finite; it weighs as much as
    some four rows.
    """
    toward = np.array(general)
    a, free = toward.copy(), toward > 0
    free[0] = True
    for _ in range(3):  # slopes that are too small are fixed, and the others are found again
        for _ in range(50):  # Newton's method
            p = _expit(A @ a)
            hessian = (A[:, free] * (p * (1 - p))[:, None]).T @ A[:, free] + np.eye(free.sum())
            gradient = A[:, free].T @ (correct - p) - (a - toward)[free]
            step = np.clip(np.linalg.solve(hessian, gradient), -2, 2)
            a[free] += step
            if np.abs(step).max() < 1e-10:
                break
        low = free & (a < toward / 4)
        low[0] = False
        if not low.any():
            break
        a[low], free = toward[low] / 4, free & ~low
    return tuple(float(number) for number in a)


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


def _expit(x: Reals) -> Reals:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -500, 500))))
