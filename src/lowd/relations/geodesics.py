"""Distances along the neighbor graph: the relation of Isomap."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from .. import draws
from ..backends.protocol import Array, Backend, Float64, Lists, Neighbors
from ..graph import MOST_TIES, Graph
from ..values import value
from . import Matrix
from .distances import DistanceRelation, Listed
from .neighbors import TIE, as_rows, nearest, size, some, within
from .ready import lists_toward, nearest_listed

SAMPLE = 1000  # rows whose distances judge a map
TILE = 512  # a square of so many rows and its mirror image fit in the cache


@value
class Geodesics:
    """Lengths of shortest paths from every training row to the targets: all rows, or landmarks.

    A new point is joined to its neighbors by straight edges; the training paths stay frozen.
    """

    base: DistanceRelation  # of the distinct points
    first: NDArray[np.int64]  # the row of each point
    k: int | None
    radius: float | None
    lengths: Array  # rows x targets

    @classmethod
    def along_graph(
        cls,
        graph: Graph,
        k: int | None,
        radius: float | None,
        targets: NDArray[np.int64] | None,
        dtype: np.dtype[Any],
        ops: Backend,
    ) -> Geodesics:
        """Paths to the target points, or among all."""
        edges = graph.lengths().astype(dtype)
        if targets is None:
            found = ops.paths(edges, np.arange(edges.shape[0]))
            symmetrize(found)
        else:
            found = np.ascontiguousarray(ops.paths(edges, targets).T)
        if len(graph.first) < len(graph.place):  # copies of a row have its distances, and count
            found = found[graph.place]
            found = found if targets is not None else np.ascontiguousarray(found[:, graph.place])
        return cls(graph.base, graph.first, k, radius, found)

    def among(self, ops: Backend) -> Matrix:  # noqa: ARG002 - a relation's signature
        return Matrix(self.lengths, half_square=True)

    def toward(self, Q: Any, ops: Backend) -> Array:
        wide = np.result_type(self.lengths.dtype, getattr(Q, "dtype", np.float64))
        return self.along(self.near(Q, ops), wide, ops)

    def near(self, Q: Any, ops: Backend) -> csr_array:
        """Distances of new points to the training rows that they are joined to."""
        if self.radius is None:
            assert self.k is not None
            return self._nearest(Q, self.k, ops)
        if isinstance(self.base, Listed):
            near = nearest_listed(lists_toward(Q, *Q.shape), None, self.radius)
        else:
            near = self._of_rows(within(self.base, Q, self.radius, ops))
        alone = np.flatnonzero(np.diff(near.indptr) == 0)
        if len(alone):  # none within the radius: the nearest one
            near = _replaced(near, alone, self._nearest(some(Q, alone), 1, ops))
        return near

    def _nearest(self, Q: Any, k: int, ops: Backend) -> csr_array:
        if isinstance(self.base, Listed):  # its neighbors are what a new point is given by
            return nearest_listed(lists_toward(Q, *Q.shape), k, None)
        return self._of_rows(nearest_with_ties(self.base, Q, k, ops))

    def _of_rows(self, near: csr_array) -> csr_array:
        """Points become the rows that they are."""
        shape = near.shape[0], len(self.lengths)
        return csr_array((near.data, self.first[near.indices], near.indptr), shape=shape)

    def along(self, near: csr_array, dtype: np.dtype[Any], ops: Backend) -> Array:
        """-½ (g² - c²), where g is the length of the best way and c that to the nearest neighbor.

        What is the same for a whole row does not matter to the map, and without c² a far point
        keeps its digits: g² - c² = (g - c)(g - c + 2c), and g - c is computed without g.
        """
        lists = Lists(near.indptr.astype(np.int64), near.indices.astype(np.int32))
        straight = np.minimum.reduceat(near.data, lists.starts[:-1])
        detours = near.data - np.repeat(straight, np.diff(lists.starts))
        beyond = ops.relax(lists, detours, self.lengths).astype(dtype, copy=False)
        return np.asarray(-0.5 * beyond * (beyond + 2 * straight.astype(dtype)[:, None]))

    def kept(self) -> Geodesics:
        return replace(self, base=self.base.kept())

    def residual_variance(self, targets: NDArray[np.int64], Y: Float64, seed: int) -> Float64:
        """1 - r² between ways and distances in the map's first 1, ..., k dimensions.

        Of at most 1000 rows to all targets; a row and itself are no pair, and add to no sum.
        """
        n, k = Y.shape
        rows = draws.subset(seed, "residual variance", n, min(n, SAMPLE))
        pairs = max(1, len(rows) * len(targets) - int(np.isin(targets, rows).sum()))
        g, gg = 0.0, 0.0
        y, yy, gy = np.zeros(k), np.zeros(k), np.zeros(k)
        for i in range(0, len(rows), step := max(1, 2**20 // len(targets))):
            part = rows[i : i + step]
            ways = self.lengths[part].astype(np.float64)
            g, gg = g + float(ways.sum()), gg + float(np.vdot(ways, ways))
            square = np.zeros_like(ways)
            for j in range(k):
                square += np.subtract.outer(Y[part, j], Y[targets, j]) ** 2
                apart = np.sqrt(square)
                y[j], yy[j] = y[j] + apart.sum(), yy[j] + square.sum()
                gy[j] += np.vdot(ways, apart)
        spread = (gg - g * g / pairs) * (yy - y * y / pairs)
        shared = (gy - g * y / pairs) ** 2
        r2 = np.divide(shared, spread, out=np.ones(k), where=spread > 0)
        return np.asarray(np.clip(1 - r2, 0, 1))


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
    n = size(base, Q)
    if k >= n:
        return as_rows(nearest(base, Q, n, ops), n)
    found = nearest(base, Q, k + 1, ops)
    near = as_rows(Neighbors(found.indices[:, :k], found.distances[:, :k]), n)
    reach = found.distances[:, k - 1]
    tied = np.flatnonzero(found.distances[:, k] <= reach * (1 + TIE[reach.dtype]))
    parts, rows = [], []
    for i in range(0, len(tied), step := max(1, 2**23 // n)):
        part = tied[i : i + step]
        D = np.asarray(base.toward(some(Q, part), ops))
        reached = (reach[part] * (1 + TIE[D.dtype]))[:, None] >= D
        few = reached.sum(1) <= MOST_TIES * k
        rows.append(part[few])
        at, column = np.nonzero(reached[few])
        starts = np.concatenate([[0], np.cumsum(np.bincount(at, minlength=int(few.sum())))])
        lengths = D[few][at, column].astype(np.float64)
        parts.append(csr_array((lengths, column, starts), shape=(int(few.sum()), n)))
    return _replaced(near, np.concatenate(rows), vstack(parts)) if parts else near
