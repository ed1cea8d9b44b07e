"""Measures of neighborhoods: what the ranks of neighbors in the other space tell."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...backends.protocol import Float64, Ints, Neighbors
from .spaces import Chosen, Space

BLOCK = 2**24  # comparisons of two lists' entries at once


class Ranks(NamedTuple):
    """Ranks in one space of the k nearest of the other, row by row, nearest first."""

    places: Ints  # m x k
    n: int

    @property
    def k(self) -> int:
        return int(self.places.shape[1])

    @property
    def own(self) -> NDArray[np.int64]:
        """The ranks that the listed rows have in their own space."""
        return np.arange(1, self.k + 1)

    def kept(self) -> Float64:
        """1 less the excess of ranks beyond k: trustworthiness of each row, or continuity."""
        excess = np.maximum(self.places.astype(np.int64) - self.k, 0).sum(1)
        return np.asarray(1 - excess / (worst_excess(self.n, self.k) / self.n))

    def recall(self) -> Float64:
        return np.asarray((self.places <= self.k).mean(1))

    def relative_error(self) -> Float64:
        """Of ranks, relative to those in the listing space, over the worst that can be."""
        off = np.abs(self.places - self.own) / self.own
        return np.asarray(off.sum(1) / (np.abs(self.n - 2 * self.own) / self.own).sum())

    def lean(self) -> Float64:
        """Of the shared neighbors: share that came nearer less share that went away."""
        shared = self.places <= self.k
        nearer, away = shared & (self.places > self.own), shared & (self.places < self.own)
        return np.asarray((nearer.sum(1) - away.sum(1)) / self.k)


def worst_excess(n: int, k: int) -> float:
    """The largest sum over n rows of (rank - k) of k neighbors: attained by reversed ranks."""
    if 2 * k < n:
        return n * k * (2 * n - 3 * k - 1) / 2
    return n * (n - k) * (n - k - 1) / 2


def ranks_in(space: Any, rows: Chosen, listed: Neighbors, mine: Neighbors, n: int) -> Ranks:
    """Ranks in `space` of rows listed elsewhere; `mine` are the nearest in this space.

    A row in both lists has its rank by its place in `mine`: only strangers must be counted.
    """
    places = places_in(listed.indices, mine.indices)
    strangers = np.where(places == 0, listed.indices, -1).astype(np.int32)
    if (strangers >= 0).any():
        counting: Space = space
        places = places + counting.ranks(rows, strangers)
    return Ranks(places.astype(np.int32), n)


def places_in(listed: Ints, mine: Ints) -> Ints:
    """The place (from 1) of each entry of a list in another list of the same row; else 0."""
    m, k = listed.shape
    places = np.zeros((m, k), np.int32)
    step = max(1, BLOCK // (k * mine.shape[1]))
    for i in range(0, m, step):
        same = listed[i : i + step, :, None] == mine[i : i + step, None, :]
        places[i : i + step] = np.where(same.any(2), same.argmax(2) + 1, 0)
    return places


def stretch(data: Neighbors, places: Neighbors) -> Float64:
    """log2 of the neighborhood's radius in the map over that in the data; 0 is the median row.

    Where copies make a radius 0 there is no ratio (NaN).
    """
    radius, reach = data.distances.mean(1), places.distances.mean(1)
    known = (radius > 0) & (reach > 0)
    ratio = np.full(len(radius), np.nan)
    ratio[known] = np.log2(reach[known] / radius[known])
    return ratio - np.median(ratio[known]) if known.any() else ratio
