"""Rank-based measures: trustworthiness, continuity, recall, MRRE and B_NX of each row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...neighbor_graph import NeighborGraph
from ...parameters import Indices, Reals
from ...spaces import Space
from .metric_spaces import GraphSpace, RowSelection, ranks_of

MAX_INDEX_COMPARISONS = 2**24  # of two neighbor lists at a time: 16 MiB of booleans


class Ranks(NamedTuple):
    """Ranks in one space of the k nearest neighbors in the other, row by row, nearest first."""

    ranks: Indices  # m x k
    n: int

    @property
    def k(self) -> int:
        return int(self.ranks.shape[1])

    @property
    def own_ranks(self) -> NDArray[np.int64]:
        """Ranks of the neighbors in the space that lists them: 1 to k."""
        return np.arange(1, self.k + 1)

    def trustworthiness(self) -> Reals:
        """1 less the normalized excess of ranks beyond k, of each row.

        Trustworthiness for ranks in the data of neighbors in the embedding, and continuity for
        ranks in the embedding of neighbors in the data.
        """
        excess = np.maximum(self.ranks.astype(np.int64) - self.k, 0).sum(1)
        return np.asarray(1 - excess / (max_rank_excess(self.n, self.k) / self.n))

    def recall(self) -> Reals:
        """Share of the neighbors that are among the k nearest in both spaces: Q_NX of each row."""
        return np.asarray((self.ranks <= self.k).mean(1))

    def relative_rank_error(self) -> Reals:
        """Relative error of the ranks over its maximum: the mean is the MRRE."""
        error = np.abs(self.ranks - self.own_ranks) / self.own_ranks
        worst = (np.abs(self.n - 2 * self.own_ranks) / self.own_ranks).sum()
        return np.asarray(error.sum(1) / worst)

    def rank_bias(self) -> Reals:
        """Of the shared neighbors, the share with a larger rank less that with a smaller one.

        The mean is B_NX for ranks in the data, and -B_NX for ranks in the embedding.
        """
        shared = self.ranks <= self.k
        larger = shared & (self.ranks > self.own_ranks)
        smaller = shared & (self.ranks < self.own_ranks)
        return np.asarray((larger.sum(1) - smaller.sum(1)) / self.k)


def max_rank_excess(n: int, k: int) -> float:
    """The largest sum over n rows of (rank - k) of k neighbors: attained by reversed ranks."""
    if 2 * k < n:
        return n * k * (2 * n - 3 * k - 1) / 2
    return n * (n - k) * (n - k - 1) / 2


def compute_ranks(
    space: Space | GraphSpace,
    rows: RowSelection,
    neighbors: NeighborGraph,
    nearest: NeighborGraph,
    n: int,
) -> Ranks:
    """Ranks in `space` of neighbors from the other space; `nearest` are the neighbors in `space`.

    The rank of a row in both lists is its position in `nearest`: only the others are counted.
    """
    ranks = match_positions(neighbors.indices, nearest.indices)
    missing = np.where(ranks == 0, neighbors.indices, -1).astype(np.int32)
    if (missing >= 0).any():
        ranks = ranks + ranks_of(space, rows, missing)
    return Ranks(ranks.astype(np.int32), n)


def match_positions(lists: Indices, nearest: Indices) -> Indices:
    """Position (from 1) of each entry of a list in the other list of the same row; 0 if absent."""
    m, k = lists.shape
    positions = np.zeros((m, k), np.int32)
    step = max(1, MAX_INDEX_COMPARISONS // (k * nearest.shape[1]))
    for i in range(0, m, step):
        same = lists[i : i + step, :, None] == nearest[i : i + step, None, :]
        positions[i : i + step] = np.where(same.any(2), same.argmax(2) + 1, 0)
    return positions


def compute_stretch(data: NeighborGraph, embedding: NeighborGraph) -> Reals:
    """log2 of the mean neighbor distance in the embedding over that in the data; median row 0.

    NaN where duplicates make a mean distance 0.
    """
    radii, embedded_radii = data.distances.mean(1), embedding.distances.mean(1)
    known = (radii > 0) & (embedded_radii > 0)
    ratio = np.full(len(radii), np.nan)
    ratio[known] = np.log2(embedded_radii[known] / radii[known])
    return ratio - np.median(ratio[known]) if known.any() else ratio
