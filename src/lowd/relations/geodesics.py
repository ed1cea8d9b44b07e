"""Distances along the neighbor graph: the relation of Isomap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from .. import random
from ..backends.protocol import Array, Backend, Float64, GeodesicPlan, Neighbors, Ragged
from ..distances.precomputed import NeighborListDistances
from ..distances.protocol import DistanceRelation
from ..graph.given import check_lists_toward, select_listed
from ..graph.neighbor_graph import MAX_TIES_PER_EDGE, ConnectedGraph
from ..graph.search import TIE_TOLERANCE, count_points, find_nearest, find_within, some, to_csr
from ..values import value
from . import Matrix

SAMPLE = 1000  # rows whose distances judge a map
TOGETHER = 2**23  # lengths of ways found together
CACHED = 2**15  # numbers whose sums are made in the cache
TILE = 512  # a square of so many rows and its mirror image fit in the cache


@value
class Joined:
    """Who a new point is joined to, by straight edges; the training paths stay frozen."""

    base: DistanceRelation  # of the distinct points
    first: NDArray[np.int64]  # the row of each point
    k: int | None
    radius: float | None

    def near(self, Q: Any, n: int, ops: Backend) -> csr_array:
        """Distances of new points to those of the n training rows that they are joined to."""
        if self.radius is None:
            assert self.k is not None
            return self._nearest(Q, self.k, n, ops)
        if isinstance(self.base, NeighborListDistances):
            near = select_listed(check_lists_toward(Q, *Q.shape), None, self.radius)
        else:
            near = self._of_rows(find_within(self.base, Q, self.radius, ops), n)
        alone = np.flatnonzero(np.diff(near.indptr) == 0)
        if len(alone):  # none within the radius: the nearest one
            near = _replaced(near, alone, self._nearest(some(Q, alone), 1, n, ops))
        return near

    def _nearest(self, Q: Any, k: int, n: int, ops: Backend) -> csr_array:
        if isinstance(
            self.base, NeighborListDistances
        ):  # its neighbors are what a new point is given by
            return select_listed(check_lists_toward(Q, *Q.shape), k, None)
        return self._of_rows(nearest_with_ties(self.base, Q, k, ops), n)

    def _of_rows(self, near: csr_array, n: int) -> csr_array:
        """Points become the rows that they are."""
        shape = near.shape[0], n
        return csr_array((near.data, self.first[near.indices], near.indptr), shape=shape)


@value
class Geodesics(Joined):
    """Lengths of shortest paths from every training row to the landmarks, in a table."""

    lengths: Array  # rows x landmarks

    @classmethod
    def to_landmarks(
        cls,
        graph: ConnectedGraph,
        lengths: csr_array,
        k: int | None,
        radius: float | None,
        targets: NDArray[np.int64],
        dtype: np.dtype[Any],
        ops: Backend,
    ) -> Geodesics:
        """Paths to the target points."""
        edges = lengths.astype(dtype)
        found = np.ascontiguousarray(ops.shortest_paths(edges, Ragged.singletons(targets)).T)
        if len(graph.first_row) < len(
            graph.point_of_row
        ):  # copies of a row have its distances, and count
            found = found[graph.point_of_row]
        return cls(graph.base, graph.first_row, k, radius, found)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.lengths.dtype

    @property
    def n_rows(self) -> int:
        return len(self.lengths)

    def among(self, ops: Backend) -> Matrix:  # noqa: ARG002 - a relation's signature
        return Matrix(self.lengths, half_square=True)

    def toward(self, Q: Any, ops: Backend) -> Array:
        return along(self, self.near(Q, self.n_rows, ops), getattr(Q, "dtype", np.float64), ops)

    def beyond(self, near: Ragged, detours: Float64, ops: Backend) -> Array:
        return ops.min_plus(near, detours, self.lengths)

    def of_rows(self, rows: NDArray[np.int64], ops: Backend) -> Array:  # noqa: ARG002
        return self.lengths[rows]

    def freeze(self) -> Geodesics:
        return replace(self, base=self.base.freeze())


@value
class GraphWays(Joined):
    """Lengths of shortest paths between all rows: the graph says it all, and is all that is kept.

    A table of them is the largest array of a fit; a new point's ways take a millisecond to find.
    """

    graph: csr_array  # of the points; symmetric
    place: NDArray[np.int64] | None  # the point of each row, where some are copies

    @classmethod
    def along_graph(
        cls,
        graph: ConnectedGraph,
        lengths: csr_array,
        k: int | None,
        radius: float | None,
        dtype: np.dtype[Any],
    ) -> GraphWays:
        place = graph.point_of_row if len(graph.first_row) < len(graph.point_of_row) else None
        return cls(graph.base, graph.first_row, k, radius, lengths.astype(dtype), place)

    @property
    def dtype(self) -> np.dtype[Any]:
        edges: Array = self.graph.data
        return edges.dtype

    @property
    def n_rows(self) -> int:
        return int(self.graph.shape[0]) if self.place is None else len(self.place)

    def among(self, ops: Backend) -> HalfSquaredWays:
        return HalfSquaredWays(self, ops)

    def toward(self, Q: Any, ops: Backend) -> Array:
        return along(self, self.near(Q, self.n_rows, ops), getattr(Q, "dtype", np.float64), ops)

    def beyond(self, near: Ragged, detours: Float64, ops: Backend) -> Array:
        points = near.indices if self.place is None else self.place[near.indices]
        return self._to_rows(
            ops.shortest_paths(self.graph, Ragged(near.indptr, points.astype(np.int32)), detours)
        )

    def of_rows(self, rows: NDArray[np.int64], ops: Backend) -> Array:
        points = rows if self.place is None else self.place[rows]
        return self._to_rows(ops.shortest_paths(self.graph, Ragged.singletons(points)))

    def _to_rows(self, G: Array) -> Array:
        return G if self.place is None else np.ascontiguousarray(G[:, self.place])

    def freeze(self) -> GraphWays:
        return replace(self, base=self.base.freeze())


@value
class MeasuredWays:
    """The same of so few rows that the whole table is found, once, and stays in the cache.

    Both directions of a path may differ in their last bit, which no solver minds.
    """

    ways: GraphWays
    lengths: Array

    @classmethod
    def of(cls, ways: GraphWays, ops: Backend) -> MeasuredWays:
        return cls(ways, ways.of_rows(np.arange(ways.n_rows), ops))

    def among(self, ops: Backend) -> Matrix:  # noqa: ARG002 - a relation's signature
        return Matrix(self.lengths, half_square=True)

    def toward(self, Q: Any, ops: Backend) -> Array:
        return self.ways.toward(Q, ops)

    def of_rows(self, rows: NDArray[np.int64], ops: Backend) -> Array:  # noqa: ARG002
        return self.lengths[rows]

    def freeze(self) -> GraphWays:
        return self.ways.freeze()


class HalfSquaredWays:
    """-1/2 of the squared lengths, as a solver wants them: by products, or all of them."""

    def __init__(self, ways: GraphWays, ops: Backend) -> None:
        self._ways, self._ops = ways, ops

    @property
    def size(self) -> int:
        return self._ways.n_rows

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._ways.dtype

    @cached_property
    def _plan(self) -> GeodesicPlan:
        return self._ops.geodesics(self._ways.graph)

    def times(self, V: Float64, ops: Backend) -> Float64:  # noqa: ARG002 - the plan has its own
        place = self._ways.place
        if place is None:
            return self._plan.half_square_matmul(V)
        # Copies are one point: their shares add up, and all get its answer.
        sums = np.zeros((self._ways.graph.shape[0], V.shape[1]))
        np.add.at(sums, place, V)
        return np.asarray(self._plan.half_square_matmul(sums)[place])

    def formed(self, ops: Backend) -> Matrix:
        return Matrix(all_ways(self._ways, ops), half_square=True)

    def largest(self) -> float:
        some = np.arange(min(64, self.size))
        return float(self._ways.of_rows(some, self._ops).max()) ** 2 / 2

    def trace(self) -> float:
        return 0.0


def all_ways(ways: GraphWays, ops: Backend) -> Array:
    """The whole table, symmetric to the last bit."""
    G = ways.of_rows(np.arange(ways.n_rows), ops)
    symmetrize(G)
    return G


def along(ways: Geodesics | GraphWays, near: csr_array, dtype: Any, ops: Backend) -> Array:
    """-½ (g² - c²), where g is the length of the best way and c that to the nearest neighbor.

    What is the same for a whole row does not matter to the map, and without c² a far point
    keeps its digits: g² - c² = (g - c)(g - c + 2c), and g - c is computed without g.
    """
    wide = np.result_type(ways.dtype, dtype)
    lists = Ragged(near.indptr.astype(np.int64), near.indices.astype(np.int32))
    straight = np.minimum.reduceat(near.data, lists.indptr[:-1])
    detours = near.data - np.repeat(straight, np.diff(lists.indptr))
    beyond = ways.beyond(lists, detours, ops).astype(wide, copy=False)
    return np.asarray(-0.5 * beyond * (beyond + 2 * straight.astype(wide)[:, None]))


def residual_variance(
    ways: Geodesics | GraphWays | MeasuredWays,
    targets: NDArray[np.int64],
    Y: Float64,
    seed: int,
    ops: Backend,
) -> Float64:
    """1 - r² between ways and distances in the map's first 1, ..., k dimensions.

    Of at most 1000 rows to all targets; a row and itself are no pair, and add to no sum.
    """
    n, k = Y.shape
    rows = random.subset(seed, "residual variance", n, min(n, SAMPLE))
    pairs = max(1, len(rows) * len(targets) - int(np.isin(targets, rows).sum()))
    places = np.ascontiguousarray(Y[targets].T)
    g, gg = 0.0, 0.0
    y, yy, gy = np.zeros(k), np.zeros(k), np.zeros(k)
    for part, lengths in _some_rows(ways, rows, len(targets), ops):
        g, gg = g + float(lengths.sum()), gg + float(np.vdot(lengths, lengths))
        square, apart = np.zeros_like(lengths), np.empty_like(lengths)
        for j in range(k):
            np.subtract.outer(Y[part, j], places[j], out=apart)
            square += np.multiply(apart, apart, out=apart)
            np.sqrt(square, out=apart)
            y[j], yy[j] = y[j] + apart.sum(), yy[j] + np.vdot(apart, apart)
            gy[j] += np.vdot(lengths, apart)
    spread = (gg - g * g / pairs) * (yy - y * y / pairs)
    shared = (gy - g * y / pairs) ** 2
    r2 = np.divide(shared, spread, out=np.ones(k), where=spread > 0)
    return np.asarray(np.clip(1 - r2, 0, 1))


def _some_rows(
    ways: Geodesics | GraphWays | MeasuredWays,
    rows: NDArray[np.int64],
    width: int,
    ops: Backend,
) -> Iterator[tuple[NDArray[np.int64], Float64]]:
    """Rows and their lengths: paths are cheap in large groups, sums in those that fit in cache."""
    for i in range(0, len(rows), large := max(1, TOGETHER // width)):
        group = rows[i : i + large]
        found = ways.of_rows(group, ops)
        for j in range(0, len(group), small := max(1, CACHED // width)):
            yield group[j : j + small], found[j : j + small].astype(np.float64)


def symmetrize(G: Array) -> None:
    """The mean of a square matrix and its transpose, in place.

    Paths are summed from their source, so both directions may round differently.
    """
    n = len(G)
    for i in range(0, n, TILE):
        for j in range(i, n, TILE):
            upper, lower = G[i : i + TILE, j : j + TILE], G[j : j + TILE, i : i + TILE]
            mean = (upper + lower.T) / 2
            upper[...] = mean
            lower[...] = mean.T


def _replaced(near: csr_array, rows: NDArray[np.int64], by: csr_array) -> csr_array:
    """`near` with some of its rows exchanged."""
    order = np.arange(near.shape[0])
    order[rows] = near.shape[0] + np.arange(len(rows))
    return csr_array(csr_array(vstack([near, by]))[order])


def nearest_with_ties(base: DistanceRelation, Q: Any, k: int, ops: Backend) -> csr_array:
    """The k nearest training points of new points, and all as near as the k-th.

    So the order of the training rows does not matter. Where nearly all distances are the same,
    the first by number stay.
    """
    n = count_points(base, Q)
    if k >= n:
        return to_csr(find_nearest(base, Q, n, ops), n)
    found = find_nearest(base, Q, k + 1, ops)
    near = to_csr(Neighbors(found.indices[:, :k], found.distances[:, :k]), n)
    reach = found.distances[:, k - 1]
    tied = np.flatnonzero(found.distances[:, k] <= reach * (1 + TIE_TOLERANCE[reach.dtype]))
    parts, rows = [], []
    for i in range(0, len(tied), step := max(1, 2**23 // n)):
        part = tied[i : i + step]
        D = np.asarray(base.toward(some(Q, part), ops))
        reached = (reach[part] * (1 + TIE_TOLERANCE[D.dtype]))[:, None] >= D
        few = reached.sum(1) <= MAX_TIES_PER_EDGE * k
        rows.append(part[few])
        at, column = np.nonzero(reached[few])
        starts = np.concatenate([[0], np.cumsum(np.bincount(at, minlength=int(few.sum())))])
        lengths = D[few][at, column].astype(np.float64)
        parts.append(csr_array((lengths, column, starts), shape=(int(few.sum()), n)))
    return _replaced(near, np.concatenate(rows), vstack(parts)) if parts else near
