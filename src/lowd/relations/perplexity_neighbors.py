"""How many neighbors a perplexity needs, and whether there are as many."""

from __future__ import annotations

import numpy as np

from ..domains import advise_at_most
from ..errors import ParameterError, RankWarning, warn
from ..graph.duplicates import DistinctPoints

# Up to so many points all others are neighbors: the n² probabilities take a few milliseconds.
MAX_FULL_POINTS = 500
# Neighbors beyond this many perplexities have a total probability of about 1 %.
NEIGHBORS_PER_PERPLEXITY = 3
# Where there are hubs a new point has more candidates, since those near in units of their own radii
# count as well: in rows of unequal noise 6 perplexities gain 0.07 of accuracy over 3, and 9 no more
# than 0.01. Elsewhere they change nothing, and the search takes up to twice as long.
CANDIDATES_PER_PERPLEXITY = 6
# There are hubs if the in-degrees, how many lists of neighbors each point is in, have a standard
# deviation of more than their mean: 2.8 means in rows of unequal noise, 1 to 1.6 in cells and word
# vectors, 0.2 to 0.8 in images, genotypes and manifolds.
MIN_HUB_DEVIATION = 1.0
# Of 90 neighbors of a million points, 1 in 85 lists tells the variance of in-degrees to 1 %.
MAX_COUNTED_EDGES = 2**20


def count_needed_neighbors(n: int, perplexities: tuple[float, ...], k: int | None) -> int:
    """How many neighbors each of n points gets: k, or as many as the perplexities need."""
    if k is not None:
        return k if n > 1 else 0
    if n <= MAX_FULL_POINTS:
        return n - 1
    return min(n - 1, int(np.ceil(NEIGHBORS_PER_PERPLEXITY * max(perplexities))))


def count_new_neighbors(
    points: DistinctPoints,
    perplexities: tuple[float, ...],
    k: int | None,
    is_given: bool,
) -> int:
    """Neighbors of a new point, after a check that the points have enough for the perplexities.

    `is_given`: the lists of neighbors were found elsewhere, and may be of different lengths.
    """
    m = points.n_points
    if is_given:
        counts = np.diff(points.edges.indptr)
        _check_perplexities(perplexities, m, int(counts.min()) if m > 1 else 0)
        return int(counts.max())
    _check_perplexities(perplexities, m, m - 1)
    if m > 2 and perplexities and min(perplexities) == m - 1:
        warn(
            f"perplexity={m - 1} of {m} distinct rows: all others are equally likely neighbors, so "
            f"the best embedding is one point; use less, such as perplexity={max(1, m // 3)}.",
            RankWarning,
        )
    return max(1, _count_candidates(points, perplexities, k))


def _count_candidates(
    points: DistinctPoints, perplexities: tuple[float, ...], k: int | None
) -> int:
    """How many training points a new point may have as neighbors."""
    n = points.n_points
    if k is not None:
        return k if n > 1 else 0
    if n <= MAX_FULL_POINTS:
        return n
    factor = CANDIDATES_PER_PERPLEXITY if _has_hubs(points) else NEIGHBORS_PER_PERPLEXITY
    return min(n, int(np.ceil(factor * max(perplexities))))


def _has_hubs(points: DistinctPoints) -> bool:
    """Whether some points are among the neighbors of very many others.

    Of many lists every s-th is counted: a share f of them, of which an in-degree c leaves f c with
    a variance of f (1 - f) c.
    """
    every = max(1, points.edges.nnz // MAX_COUNTED_EDGES)
    lists = points.edges[::every] if every > 1 else points.edges
    share, counts = lists.shape[0] / points.n_points, np.bincount(lists.indices)
    counts = np.pad(counts, (0, points.n_points - len(counts)))
    mean = counts.mean()
    variance = counts.var() - (1 - share) * mean
    return bool(variance > (MIN_HUB_DEVIATION * mean) ** 2)


def _check_perplexities(perplexities: tuple[float, ...], n: int, most: int) -> None:
    """Raise an error if a perplexity is below 1 or more than the neighbors that there are."""
    if perplexities and n > 1 and min(perplexities) < 1:
        raise ParameterError(
            f"perplexity={min(perplexities):g}: a row has at least one neighbor; "
            "use perplexity=1 or more."
        )
    if perplexities and n > 1 and max(perplexities) > most:
        fewer = f"{advise_at_most('perplexity', most)}, or " if most else ""
        enough = int(np.ceil(max(perplexities))) + 1
        more = f"at least {enough} rows" if most == n - 1 else "a graph of more neighbors"
        raise ParameterError(
            f"perplexity={max(perplexities):g} needs as many neighbors of each distinct row, but "
            f"there are {most}; use {fewer}{more}."
        )
