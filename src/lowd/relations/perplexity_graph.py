"""Neighbors of the distinct points, as many as a perplexity needs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..backends.protocol import Backend
from ..distances.protocol import DistanceRelation
from ..errors import ParameterError, RankWarning, warn
from ..graph.duplicates import merge_duplicates
from ..graph.search import count_points, find_neighbors, to_csr

# Up to so many points all others are neighbors: the n² probabilities take a few milliseconds.
MAX_FULL_POINTS = 500
# Neighbors beyond this many perplexities have a total probability of about 1 %.
NEIGHBORS_PER_PERPLEXITY = 3
# A new point has more candidates, since those near in units of their own radii count as well: in
# rows of unequal noise 6 perplexities gain 0.07 of accuracy over 3, and 9 no more than 0.01.
CANDIDATES_PER_PERPLEXITY = 6


class PerplexityGraph(NamedTuple):
    """The distinct points and their neighbors; fields as of `graph.duplicates.DistinctPoints`."""

    base: DistanceRelation
    edges: csr_array
    first_row: NDArray[np.int64]
    point_of_row: NDArray[np.int64]
    n_neighbors: int  # of a new point


def find_perplexity_neighbors(
    base: DistanceRelation,
    perplexities: tuple[float, ...],
    k: int | None,
    ops: Backend,
    given: csr_array | None,
) -> PerplexityGraph:
    """Neighbors of the distinct points: k, or enough for the perplexities; or a given graph.

    Duplicates are one point, so that they crowd no other point out of the lists.
    """
    if given is not None:
        points = merge_duplicates(base, given)
        counts = np.diff(points.edges.indptr)
        most = int(counts.min()) if len(points.first_row) > 1 else 0
        _check_perplexities(perplexities, len(points.first_row), most)
        return PerplexityGraph(*points[:4], int(counts.max()))
    n = count_points(base)
    edges = csr_array((1, 1)) if n == 1 else _find_edges(base, n, perplexities, k, ops)
    points = merge_duplicates(base, edges)
    m = len(points.first_row)
    if m < n and m > 1:
        edges = _find_edges(points.base, m, perplexities, k, ops)
    if m > 1:
        _check_perplexities(perplexities, m, m - 1)
    if m > 2 and perplexities and min(perplexities) == m - 1:
        warn(
            f"perplexity={m - 1} of {m} distinct rows: all others are equally likely neighbors, so "
            f"the best embedding is one point; use less, such as perplexity={max(1, m // 3)}.",
            RankWarning,
        )
    candidates = _count_candidates(m, perplexities, k)
    return PerplexityGraph(
        points.base, edges, points.first_row, points.point_of_row, max(1, candidates)
    )


def count_needed_neighbors(n: int, perplexities: tuple[float, ...], k: int | None) -> int:
    """How many neighbors each of n points gets: k, or as many as the perplexities need."""
    if k is not None:
        return k if n > 1 else 0
    if n <= MAX_FULL_POINTS:
        return n - 1
    return min(n - 1, int(np.ceil(NEIGHBORS_PER_PERPLEXITY * max(perplexities))))


def _count_candidates(n: int, perplexities: tuple[float, ...], k: int | None) -> int:
    """How many of n training points a new point may have as neighbors."""
    if k is not None:
        return k if n > 1 else 0
    if n <= MAX_FULL_POINTS:
        return n
    return min(n, int(np.ceil(CANDIDATES_PER_PERPLEXITY * max(perplexities))))


def _find_edges(
    base: DistanceRelation, n: int, perplexities: tuple[float, ...], k: int | None, ops: Backend
) -> csr_array:
    return to_csr(find_neighbors(base, count_needed_neighbors(n, perplexities, k), ops), n)


def _check_perplexities(perplexities: tuple[float, ...], n: int, most: int) -> None:
    """Raise an error if a perplexity is below 1 or more than the neighbors that there are."""
    if perplexities and n > 1 and min(perplexities) < 1:
        raise ParameterError(
            f"perplexity={min(perplexities):g}: a row has at least one neighbor; "
            "use perplexity=1 or more."
        )
    if perplexities and n > 1 and max(perplexities) > most:
        raise ParameterError(
            f"perplexity={max(perplexities):g} needs as many neighbors of each distinct row, but "
            f"there are {most}; use perplexity={most} or less."
        )
