"""Bridges: the fewest and shortest edges that connect the components of a graph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree

from .. import progress, random
from ..backends.protocol import Backend, Float64
from ..distances.order import order_points
from ..distances.protocol import DistanceRelation
from ..input.row_order import invert_order
from ..input.sample import Items, take_rows
from .search import BLOCK_ENTRIES, count_points

Rows = NDArray[np.int64]

MAX_EXACT_PAIRS = 10**9  # of rows; beyond (seconds), each component is represented by a sample
SAMPLED_ROWS, MIN_SAMPLED_ROWS = 20_000, 4  # of all samples together, and of one at least
MAX_BRIDGE_REFINEMENTS = 5  # searches back and forth that shorten a bridge


class Bridges(NamedTuple):
    """A spanning tree over the components."""

    pairs: Rows  # two rows each
    lengths: Float64
    exact: bool  # no other tree is shorter

    def __str__(self) -> str:
        count, longest = len(self.pairs), float(self.lengths.max())
        kind = "shortest" if self.exact else "short"
        if count == 1:
            text = f"{kind} edge ({longest:.3g} long"
        else:
            text = f"{count} {kind} edges (up to {longest:.3g} long"
        return text + (")" if self.exact else ", from a sample of rows)")


class Component(NamedTuple):
    """The rows of a connected component, and the distances to them only."""

    rows: Rows
    base: DistanceRelation


def find_bridges(base: DistanceRelation, components: Rows, ops: Backend) -> Bridges:
    """A minimum spanning tree over the components, which are numbered by size from 0.

    Where there are too many pairs of rows, it is the minimum spanning tree over samples of the
    components; each of its edges is then shortened by searching back and forth between its ends.
    """
    n, outside = len(components), int((components > 0).sum())
    rows = np.argsort(components, kind="stable")
    members = np.split(rows, np.cumsum(np.bincount(components))[:-1])
    exact = outside * n <= MAX_EXACT_PAIRS
    chosen = members if exact else _sample_rows(base, members)
    lengths, ends = _closest_pairs(base, chosen, ops)
    a, b = _spanning_tree(lengths)
    pairs, found = ends[a, b], lengths[a, b]
    if not exact:
        largest = Component(members[0], base.take(members[0]))  # half of the edges lead there
        for e, ends_of in enumerate(zip(a, b, strict=True)):
            sides = [
                largest if p == 0 else Component(members[p], base.take(members[p])) for p in ends_of
            ]
            pairs[e], found[e] = _shorten(base.training_points(), pairs[e], found[e], sides, ops)
    return Bridges(pairs, found, exact)


def _sample_rows(base: DistanceRelation, members: list[Rows]) -> list[Rows]:
    """Random rows of each component, drawn in canonical order; few are taken whole."""
    wanted = max(SAMPLED_ROWS // len(members), MIN_SAMPLED_ROWS)
    position = invert_order(order_points(base))
    chosen = []
    for part in members:
        ordered = part[np.argsort(position[part])]
        count = min(len(part), wanted)
        chosen.append(ordered[random.subset(0, "bridges", len(part), count)])
    return chosen


def _closest_pairs(
    base: DistanceRelation, members: list[Rows], ops: Backend
) -> tuple[Float64, NDArray[np.int64]]:
    """The smallest distance between each two components, and the rows that have it.

    Of every two components one is not the largest, so rows outside the largest are enough.
    """
    count, rows = len(members), np.concatenate(members)
    sizes = np.array([len(part) for part in members])
    starts = np.cumsum(sizes) - sizes
    component = np.repeat(np.arange(count), sizes)
    items, columns = (
        base.training_points(),
        base.take(rows) if len(rows) < count_points(base) else base,
    )
    order = None if len(rows) < count_points(base) else rows
    best = np.full((count, count), np.inf)
    ends = np.zeros((count, count, 2), np.int64)
    step = max(1, BLOCK_ENTRIES // len(rows))
    for p in range(1, count):
        for b in range(0, len(members[p]), step):
            block = members[p][b : b + step]
            D = np.asarray(columns.toward(take_rows(items, block), ops), np.float64)
            D = D if order is None else D[:, order]
            nearest = D.min(0)
            least = np.minimum.reduceat(nearest, starts)
            # The first column of each component that has its smallest distance.
            at = np.flatnonzero(nearest == least[component])
            at = at[np.searchsorted(component[at], np.arange(count))]
            better = least < best[p]
            best[p, better] = least[better]
            ends[p, better, 0] = block[D[:, at[better]].argmin(0)]
            ends[p, better, 1] = rows[at[better]]
        progress.report("connecting components", p, count - 1)
    best[0], ends[0] = best[:, 0], ends[:, 0, ::-1]  # the distances are symmetric
    return best, ends


def _spanning_tree(lengths: Float64) -> tuple[Rows, Rows]:
    """The pairs of components that are adjacent in the minimum spanning tree."""
    count = len(lengths)
    upper = np.triu_indices(count, 1)
    order = np.argsort(lengths[upper], kind="stable")
    rank = np.zeros((count, count))  # lengths of 0 would be no edges to SciPy: it gets their ranks
    rank[upper[0][order], upper[1][order]] = np.arange(1, len(order) + 1)
    a, b = minimum_spanning_tree(csr_array(rank)).nonzero()
    chosen = np.lexsort([b, a])
    return a[chosen], b[chosen]


def _shorten(
    items: Items, pair: Rows, length: float, sides: list[Component], ops: Backend
) -> tuple[Rows, float]:
    """Alternate: the nearest row of the other component, until none is nearer."""
    ends = list(pair)
    for turn in range(MAX_BRIDGE_REFINEMENTS):
        here, there = turn % 2, (turn + 1) % 2
        D = np.asarray(sides[there].base.toward(take_rows(items, np.array([ends[here]])), ops))[0]
        nearest = int(D.argmin())
        if turn and not D[nearest] < length:
            break
        ends[there], length = sides[there].rows[nearest], float(D[nearest])
    return np.array(ends), length
