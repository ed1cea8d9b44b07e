"""Which of two rows is nearer to a third: is the answer the same in the map?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ... import random
from ...backends.protocol import Array, Float64
from ...errors import DataError
from .measures import Measure, measured
from .spaces import Space

PER_ROW = 5
ROUNDS = 20  # of drawing again where two distances are equal


def random_triplets(
    data: Space, places: Space, rows: NDArray[np.int64], seed: int
) -> tuple[Measure, Float64]:
    """The share of triplets whose order is kept, with its error, and the share of each row.

    A tie in the data asks nothing: the triplet is drawn again. A tie in the map is half right. A
    row that finds no triplet has NaN.
    """
    i = np.repeat(rows, PER_ROW)
    right = np.full(len(i), np.nan)
    open_ = np.arange(len(i))
    for turn in range(ROUNDS):
        at = open_ % PER_ROW + PER_ROW * (i[open_] + data.n * turn)
        j, k = _others(i[open_], data.n, seed, at)
        nearer = np.sign(data.between(i[open_], j) - data.between(i[open_], k))
        asked = nearer != 0
        some = open_[asked]
        answer = places.between(i[some], j[asked]) - places.between(i[some], k[asked])
        right[some] = 0.5 + 0.5 * nearer[asked] * np.sign(answer)
        open_ = open_[~asked]
        if not len(open_):
            break
    scores = right.reshape(len(rows), PER_ROW)
    known = ~np.isnan(scores).any(1)
    if not known.any():
        raise DataError("no triplet of rows has two different distances in the data.")
    pointwise = scores.mean(1)
    accuracy, error = _two_stages(scores[known], data.n)
    return measured("triplet_accuracy", accuracy, error), pointwise


def _others(
    i: NDArray[np.int64], n: int, seed: int, at: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Two different rows besides i."""
    j = (random.bits(seed, "triplet j", at) % np.uint64(n - 1)).astype(np.int64)
    j += j >= i
    k = (random.bits(seed, "triplet k", at) % np.uint64(n - 2)).astype(np.int64)
    k += k >= np.minimum(i, j)
    k += k >= np.maximum(i, j)
    return j, k


def _two_stages(scores: Float64, n: int) -> tuple[float, float]:
    """Mean and standard error: some of n rows, and some triplets of each (Cochran, 1977)."""
    m, t = scores.shape
    means = scores.mean(1)
    rows = (1 - m / n) * means.var(ddof=1) / m if m > 1 else 0.0
    within = (m / n) * scores.var(axis=1, ddof=1).mean() / (m * t)
    return float(means.mean()), float(np.sqrt(rows + within))


def centroid_triplets(data: Array, places: Array) -> float:
    """The same for all triplets of classes, from the distances between their means."""
    c = len(data)
    right = total = 0.0
    upper = np.triu(np.ones((c, c), bool), 1)
    for i in range(c):
        others = upper.copy()
        others[i] = others[:, i] = False
        nearer = np.sign(data[i][:, None] - data[i])[others]
        answer = np.sign(places[i][:, None] - places[i])[others]
        asked = nearer != 0
        right += (0.5 + 0.5 * nearer[asked] * answer[asked]).sum()
        total += asked.sum()
    if not total:
        raise DataError("the means of all classes are equally far from each other.")
    return float(right / total)
