"""Confidence of new points: how likely a map embeds them where a fit with them would.

A new point is *mapped correctly* if between the embedding and that of a fit that includes it, it
has at least half as many neighbors in common as the training points around it have. So an embedding
that changes as a whole with the rows of the fit is no fault of the map. The probability of that is
a logistic function of the *kept share*: how much of the weight of its neighbors in the data is near
it in the embedding, of what could be. The function is learned from training rows that another fit
has left out.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..backends.protocol import Array, Backend, Float64, Ragged
from ..distances.metrics import distances_of
from ..domains import AtLeast, AtMost, NonNegative, Number, Shape
from ..graph.search import TIE_TOLERANCE, find_nearest, find_neighbors
from ..input.validation import Data
from ..values import value

N_MAP_NEIGHBORS = 30  # neighbors in the embedding that are compared between two fits
# A correctly mapped point has so many of them in both, as a share of what training points have.
MIN_SHARED_NEIGHBORS = 1 / 2
N_POINTS_AROUND = 10  # training points, the nearest in the embedding, that tell what is usual
N_DATA_NEIGHBORS = 10  # of a new point in the sample of the training rows, if its map names none
# A neighbor is kept if its rank in the embedding is at most so many times the number of neighbors.
KEPT_RANKS_PER_NEIGHBOR = 2
MAX_KEPT_PART = 4  # and among at most this part, a fourth, of all points
MAX_NEWTON_STEPS = 50
N_CURVE_FOLDS = 5  # of left-out rows: each is judged by a curve that the other folds have given


class WeightedNeighbors(NamedTuple):
    """Training points that a new point is near to in the data, with weights of sum 1."""

    neighbors: Ragged
    weights: Float64
    Y: Array  # coordinates of the training points that the neighbors are among
    is_known: NDArray[np.bool_]  # does the point coincide with a training point?


@value
class ConfidenceCurve:
    """Probability of being mapped correctly: logit g = intercept + slope · logit(kept share)."""

    intercept: Number
    slope: NonNegative

    def probability(self, kept: Float64) -> Float64:
        return _expit(self.intercept + self.slope * _logit(kept))

    @classmethod
    def learn(cls, kept: Float64, correct: NDArray[np.bool_]) -> ConfidenceCurve:
        """Logistic regression with Platt's targets, which keep it finite if all are correct."""
        n_correct = int(correct.sum())
        high, low = (n_correct + 1) / (n_correct + 2), 1 / (len(correct) - n_correct + 2)
        target = np.where(correct, high, low)
        A = np.column_stack([np.ones(len(kept)), _logit(kept)])
        a = np.zeros(2)
        for _ in range(MAX_NEWTON_STEPS):
            p = _expit(A @ a)
            hessian = (A * (p * (1 - p))[:, None]).T @ A + 1e-6 * np.eye(2)
            step = np.linalg.solve(hessian, A.T @ (target - p))
            a += np.clip(step, -2, 2)
            if np.abs(step).max() < 1e-10:
                break
        if a[1] < 0:  # less of its neighborhood is no reason for more confidence
            return cls(float(_logit_of(target.mean())), 0.0)
        return cls(float(a[0]), float(a[1]))


@value
class LeftOutRows:
    """Training rows that one more fit has left out: how they were mapped, and the curve of them."""

    kept: Annotated[Float64, Shape("left_out"), AtLeast(0), AtMost(1)]
    # The bound by the support distance.
    edge: Annotated[Float64, Shape("left_out"), AtLeast(0), AtMost(1)]
    correct: Annotated[NDArray[np.bool_], Shape("left_out")]
    curve: ConfidenceCurve

    @classmethod
    def of(cls, kept: Float64, edge: Float64, correct: NDArray[np.bool_]) -> LeftOutRows:
        return cls(kept, edge, correct, ConfidenceCurve.learn(kept, correct))

    def promise(self) -> Float64:
        """Confidence of each row, by the curve of the other folds: no row judges itself."""
        fold = np.arange(len(self.kept)) % N_CURVE_FOLDS
        promised = np.empty(len(self.kept))
        for number in range(N_CURVE_FOLDS):
            own = fold == number
            curve = ConfidenceCurve.learn(self.kept[~own], self.correct[~own])
            promised[own] = np.minimum(curve.probability(self.kept[own]), self.edge[own])
        return promised


def compute_kept_share(near: WeightedNeighbors, Y: Array, ops: Backend) -> Float64:
    """How much of the weight of each point's neighbors in the data is near it in the embedding."""
    (indptr, indices), w = near.neighbors, near.weights
    training, Y = np.asarray(near.Y, np.float64), np.asarray(Y, np.float64)
    counts = np.diff(indptr)
    logs = np.log(w, out=np.zeros_like(w), where=w > 0)
    effective = np.exp(-np.add.reduceat(w * logs, indptr[:-1]))
    most = max(1, len(training) // MAX_KEPT_PART)
    rank = np.clip(np.ceil(KEPT_RANKS_PER_NEIGHBOR * effective), 1, most).astype(np.int64)
    base = distances_of(Data(training, training.dtype), "euclidean", None)
    found = find_nearest(base, Y, int(rank.max()), ops).distances
    radius = found[np.arange(len(Y)), rank - 1] * (1 + TIE_TOLERANCE[training.dtype])
    distances = np.linalg.norm(training[indices] - np.repeat(Y, counts, axis=0), axis=1)
    inside = distances <= np.repeat(radius, counts)
    row = np.repeat(np.arange(len(counts)), counts)
    heaviest = w[np.lexsort((-w, row))]  # of each row; no more than its rank can be near
    heaviest *= np.arange(len(w)) - np.repeat(indptr[:-1], counts) < np.repeat(rank, counts)
    kept, most_kept = (np.add.reduceat(part, indptr[:-1]) for part in (w * inside, heaviest))
    return np.minimum(kept / most_kept, 1.0)


def find_correctly_mapped(
    training: Array, Y: Array, other_training: Array, other_Y: Array, ops: Backend
) -> NDArray[np.bool_]:
    """Which points have as many neighbors in two embeddings as training points around them have.

    Half as many are enough, if they are more than two random lists have in common.
    """
    n = len(training)
    k = min(N_MAP_NEIGHBORS, max(1, n // MAX_KEPT_PART))
    lists, own_lists = [], []
    for points, new in ((training, Y), (other_training, other_Y)):
        rows = np.asarray(points, np.float64)
        base = distances_of(Data(rows, rows.dtype), "euclidean", None)
        lists.append(find_nearest(base, np.asarray(new, np.float64), k, ops).indices)
        own_lists.append(find_neighbors(base, k, ops).indices)
    around = lists[1][:, :N_POINTS_AROUND]
    usual = _count_shared(*own_lists)[around].mean(1)
    return np.asarray(_count_shared(*lists) >= np.maximum(MIN_SHARED_NEIGHBORS * usual, k * k / n))


def _count_shared(A: NDArray[np.int32], B: NDArray[np.int32]) -> NDArray[np.int64]:
    """How many numbers each two lists, of distinct numbers, have in common."""
    both = np.sort(np.hstack([A, B]), axis=1)
    return np.asarray((np.diff(both, axis=1) == 0).sum(1))


def _logit(share: Float64) -> Float64:
    return np.log((share + 0.01) / (1.01 - share))


def _logit_of(p: float) -> float:
    return float(np.log(p / (1 - p)))


def _expit(x: Float64) -> Float64:
    return 1 / (1 + np.exp(-np.clip(x, -500, 500)))
