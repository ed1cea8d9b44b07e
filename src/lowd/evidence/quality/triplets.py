"""Triplet accuracy: is the order of the distances from a point to two others preserved?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ... import random
from ...errors import DataError
from ...parameters import Reals
from ...spaces import Space
from .measures import Measure, estimate_measure
from .metric_spaces import pair_distances

TRIPLETS_PER_ROW = 5  # as in the evaluation of PaCMAP
MAX_DRAWS = 20  # of a triplet whose two distances in the data are equal


def score_random_triplets(
    data: Space,
    embedding: Space,
    rows: NDArray[np.int64],
    order: NDArray[np.int64],
    seed: int,
) -> tuple[Measure, Reals]:
    """Share of random triplets whose order is preserved, with its error, and that of each row.

    `order` is the canonical one of all rows, by positions in which triplets are drawn.

    Triplets tied in the data are drawn again, and those tied in the embedding count one half. A
    row without any triplet has NaN.
    """
    i = np.repeat(np.argsort(order)[rows], TRIPLETS_PER_ROW)
    score = np.full(len(i), np.nan)
    pending = np.arange(len(i))
    for draw in range(MAX_DRAWS):
        at = pending % TRIPLETS_PER_ROW + TRIPLETS_PER_ROW * (i[pending] + data.n * draw)
        others = _draw_others(i[pending], data.n, seed, at)
        own, j, k = (order[positions] for positions in (i[pending], *others))
        sign = np.sign(pair_distances(data, own, j) - pair_distances(data, own, k))
        untied = sign != 0
        own, j, k = own[untied], j[untied], k[untied]
        gap = pair_distances(embedding, own, j) - pair_distances(embedding, own, k)
        score[pending[untied]] = 0.5 + 0.5 * sign[untied] * np.sign(gap)
        pending = pending[~untied]
        if not len(pending):
            break
    scores = score.reshape(len(rows), TRIPLETS_PER_ROW)
    known = ~np.isnan(scores).any(1)
    if not known.any():
        raise DataError("no triplet of rows has two different distances in the data.")
    accuracy, error = _estimate_two_stage_mean(scores[known], data.n)
    return estimate_measure("triplet_accuracy", accuracy, error), scores.mean(1)


def _draw_others(
    i: NDArray[np.int64], n: int, seed: int, at: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Two different rows besides i."""
    j = (random.bits(seed, "triplet j", at) % np.uint64(n - 1)).astype(np.int64)
    j += j >= i
    k = (random.bits(seed, "triplet k", at) % np.uint64(n - 2)).astype(np.int64)
    k += k >= np.minimum(i, j)
    k += k >= np.maximum(i, j)
    return j, k


def _estimate_two_stage_mean(scores: Reals, n: int) -> tuple[float, float]:
    """Mean and standard error of two-stage sampling: rows, then triplets (Cochran, 1977)."""
    m, t = scores.shape
    means = scores.mean(1)
    between = (1 - m / n) * means.var(ddof=1) / m if m > 1 else 0.0
    within = (m / n) * scores.var(axis=1, ddof=1).mean() / (m * t)
    return float(means.mean()), float(np.sqrt(between + within))


def score_centroid_triplets(data: Reals, embedding: Reals) -> float:
    """Share of all triplets of classes whose order is preserved, from centroid distances."""
    c = len(data)
    score = total = 0.0
    upper = np.triu(np.ones((c, c), bool), 1)
    for i in range(c):
        others = upper.copy()
        others[i] = others[:, i] = False
        order = np.sign(data[i][:, None] - data[i])[others]
        answer = np.sign(embedding[i][:, None] - embedding[i])[others]
        untied = order != 0
        score += (0.5 + 0.5 * order[untied] * answer[untied]).sum()
        total += untied.sum()
    if not total:
        raise DataError("the centroids of all classes are equally far from each other.")
    return float(score / total)
