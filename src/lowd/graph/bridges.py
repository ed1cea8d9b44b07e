"""The fewest and shortest edges that join the pieces of a graph."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree

from .. import progress, random
from ..backends.protocol import Backend, Float64
from ..distances.metrics import DistanceRelation
from .search import size, some

Rows = NDArray[np.int64]

LOOKED_AT = 2**23  # distances in memory at a time
PAIRS = 10**9  # that are all looked at; beyond, each piece is represented by a sample
SAMPLED, FEWEST = 20_000, 4  # rows of all samples together, and of one at least
TURNS = 5  # searches back and forth that tighten a bridge, at most


class Bridges(NamedTuple):
    """A tree over the pieces."""

    pairs: Rows  # two rows each
    lengths: Float64
    exact: bool  # no other tree is shorter

    def __str__(self) -> str:
        many, longest = len(self.pairs), float(self.lengths.max())
        kind = "shortest" if self.exact else "short"
        told = f"{many} {kind} edges (up to {longest:.3g} long"
        if many == 1:
            told = f"{kind} edge ({longest:.3g} long"
        return told + (")" if self.exact else ", from a sample of rows)")


class Piece(NamedTuple):
    rows: Rows
    base: DistanceRelation  # of these rows only


def shortest_bridges(base: DistanceRelation, pieces: Rows, ops: Backend) -> Bridges:
    """A shortest tree that joins all pieces, which are numbered by size from 0.

    Where there are too many pairs of rows, it is the shortest tree over samples of the pieces;
    each of its edges is then tightened by going back and forth between its two pieces.
    """
    n, outside = len(pieces), int((pieces > 0).sum())
    rows = np.argsort(pieces, kind="stable")
    members = np.split(rows, np.cumsum(np.bincount(pieces))[:-1])
    exact = outside * n <= PAIRS
    chosen = members if exact else [_sample(part, len(members)) for part in members]
    lengths, ends = _closest(base, chosen, ops)
    a, b = _tree(lengths)
    pairs, found = ends[a, b], lengths[a, b]
    if not exact:
        largest = Piece(members[0], base.at(members[0]))  # half of the edges lead there
        for e, ends_of in enumerate(zip(a, b, strict=True)):
            sides = [largest if p == 0 else Piece(members[p], base.at(members[p])) for p in ends_of]
            pairs[e], found[e] = _tightened(base.everything(), pairs[e], found[e], sides, ops)
    return Bridges(pairs, found, exact)


def _sample(part: Rows, count: int) -> Rows:
    wanted = max(SAMPLED // count, FEWEST)
    return part if len(part) <= wanted else part[random.subset(0, "bridges", len(part), wanted)]


def _closest(
    base: DistanceRelation, members: list[Rows], ops: Backend
) -> tuple[Float64, NDArray[np.int64]]:
    """The smallest distance of each two pieces, and the rows where it is.

    Every pair of pieces has one that is not the largest, so rows outside that one are enough.
    """
    count, rows = len(members), np.concatenate(members)
    sizes = np.array([len(part) for part in members])
    starts = np.cumsum(sizes) - sizes
    piece = np.repeat(np.arange(count), sizes)
    items, columns = base.everything(), base.at(rows) if len(rows) < size(base) else base
    turn = None if len(rows) < size(base) else rows
    best = np.full((count, count), np.inf)
    ends = np.zeros((count, count, 2), np.int64)
    step = max(1, LOOKED_AT // len(rows))
    for p in range(1, count):
        for b in range(0, len(members[p]), step):
            some_rows = members[p][b : b + step]
            D = np.asarray(columns.toward(some(items, some_rows), ops), np.float64)
            D = D if turn is None else D[:, turn]
            nearest = D.min(0)
            least = np.minimum.reduceat(nearest, starts)
            # Where each piece has its least: the first column of it that has that value.
            at = np.flatnonzero(nearest == least[piece])
            at = at[np.searchsorted(piece[at], np.arange(count))]
            better = least < best[p]
            best[p, better] = least[better]
            ends[p, better, 0] = some_rows[D[:, at[better]].argmin(0)]
            ends[p, better, 1] = rows[at[better]]
        progress.report("joining pieces", p, count - 1)
    # Of two pieces that both looked, both found the same length.
    best[0], ends[0] = best[:, 0], ends[:, 0, ::-1]
    return best, ends


def _tree(lengths: Float64) -> tuple[Rows, Rows]:
    """The pairs of pieces of the shortest tree."""
    count = len(lengths)
    upper = np.triu_indices(count, 1)
    order = np.argsort(lengths[upper], kind="stable")
    rank = np.zeros((count, count))  # lengths of 0 would be no edges to SciPy: it gets their ranks
    rank[upper[0][order], upper[1][order]] = np.arange(1, len(order) + 1)
    a, b = minimum_spanning_tree(csr_array(rank)).nonzero()
    chosen = np.lexsort([b, a])
    return a[chosen], b[chosen]


def _tightened(
    items: Any, pair: Rows, length: float, sides: list[Piece], ops: Backend
) -> tuple[Rows, float]:
    """The nearest row of the other piece, then that one's nearest here, until none is nearer."""
    ends = list(pair)
    for turn in range(TURNS):
        here, there = turn % 2, (turn + 1) % 2
        D = np.asarray(sides[there].base.toward(some(items, np.array([ends[here]])), ops))[0]
        nearest = int(D.argmin())
        if turn and not D[nearest] < length:
            break
        ends[there], length = sides[there].rows[nearest], float(D[nearest])
    return np.array(ends), length
