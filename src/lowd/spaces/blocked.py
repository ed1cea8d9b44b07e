"""Rows in blocks as a space: neighbors are searched in groups of rows, and merged.

Up to 200,000 rows the groups are all pairs of runs of blocks, and the search is exact. Beyond, they
are the overlapping cells of a partition: a row belongs to the cells of its nearest centers, so that
it is compared with rows across the borders that it is near to. The true neighbors of a sample tell
of how many centers, so that cells overlap no more than needed. The recall is measured against all
rows; while it is too low, one more partition adds its candidates.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import ceil, log2
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from .. import random
from ..backend import chunks
from ..blocks import Part, RowBlocks
from ..errors import ApproximationWarning, UnsupportedError, warn
from ..parameters import Indices, Metric, MetricParams, Reals, state
from .graph import nearest_outside, points_within
from .known import merged
from .matrices import along_a_line, column_range, line_factors, places
from .neighbors import Neighbors
from .space import (
    METRICS,
    Measure,
    Rows,
    Space,
    check_metric,
    named_metric,
    rounded_mean,
    space_of,
)

RUN_BYTES = 2**26  # of the blocks that are compared with others at a time


@space_of.register(RowBlocks)
def _(
    X: RowBlocks,
    metric: Metric = "euclidean",
    params: MetricParams = None,
) -> Space:
    if metric in ("precomputed", "gower"):
        raise UnsupportedError(f"metric={metric!r} is not for blocks, which hold rows of numbers.")
    if not callable(metric):
        check_metric(metric, params)
    return BlockRows(X, metric, params)


class BlockRows(Space):
    """Rows in blocks with a metric. A model of them refers to the files or arrays of the blocks."""

    X: RowBlocks = state()
    metric: Metric = state()
    params: MetricParams = state()

    def __init__(self, X: RowBlocks, metric: Metric, params: MetricParams = None) -> None:
        self.X, self.metric, self.params = X, metric, params

    @property
    def n(self) -> int:
        return len(self.X)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64) if callable(self.metric) else self.X.dtype

    @property
    def rows(self) -> RowBlocks:
        measure = self._how.measure
        changed = measure is not None and measure.unit_length
        return self.X.prepared(partial(_prepare, self._how)) if changed else self.X

    @property
    def _how(self) -> How:
        return How(self.metric, self.params)

    @cached_property
    def _centered(self) -> How:
        """Distances are computed from the same center in all groups, and as they are in memory."""
        measure = self._how.measure
        if measure is None or measure.factor is None:
            return self._how
        sums, largest = self.X.reduce("center", _sum, _add_sums, self._how)
        return self._how._replace(center=rounded_mean(sums, self.n, largest))

    def take(self, points: Indices) -> Any:
        """Few points become rows in memory, many stay in their blocks."""
        taken = self.X.take(points)
        if taken.nbytes <= RUN_BYTES:
            return self._how.space(taken.in_memory())
        return BlockRows(taken, self.metric, self.params)

    def in_memory(self) -> Space:
        """The same space with its rows in memory, if there is room."""
        return self._how.space(self.X.in_memory())

    def pairwise(self) -> Reals:
        return self.in_memory().pairwise()  # the rows are few beside the pairs of them

    def distances(self, points: Indices) -> Reals:
        return self.toward(self.X[points])

    def toward(self, Q: Any) -> Reals:
        out = np.empty((Q.shape[0], self.n), np.result_type(self.dtype, Q.dtype))
        for numbers, D in self.X.groups("distances", _toward, runs(self.X), self._centered, Q):
            out[:, numbers] = D
        return out

    def fingerprint(self) -> Indices:
        return self.X.gather(_fingerprint, self._how)

    # -- neighbors ----------------------------------------------------------------------------

    def nearest(self, k: int, most_exact: int = 200_000) -> Neighbors:
        """The k nearest others of each point; among more points than that, nearly all of them."""
        measure = self._how.measure
        if self.n > most_exact and measure is not None and measure.factor is not None:
            return self._nearest_in_cells(k)
        lists = Best(self.n, k)
        for found in self.X.groups("neighbors", _nearest, pairs_of_runs(self.X), self._how, k):
            lists.merge(*found)
        return Neighbors.of_table(lists.indices, lists.distances)

    def query(self, Q: Any, k: int) -> Neighbors:
        """The k nearest points of new ones, or all if there are fewer."""
        lists = Best(Q.shape[0], min(k, self.n))
        parts: Iterable[tuple[Indices, Any]] = [(np.arange(Q.shape[0]), Q)]
        if isinstance(Q, RowBlocks):
            groups = (np.concatenate([part.numbers for part in run]) for run in runs(Q))
            parts = ((numbers, Q[numbers]) for numbers in groups)
        for numbers, rows in parts:
            for found in self.X.groups("neighbors", _query, runs(self.X), self._how, rows, k):
                lists.merge(numbers, *found)
        return Neighbors.of_table(lists.indices, lists.distances)

    def within(self, radius: float, Q: Any = None) -> Neighbors:
        """The points within a radius (the sphere included) of new points, or of each other."""
        groups = pairs_of_runs(self.X) if Q is None else runs(self.X)
        parts = list(self.X.groups("neighbors", _within, groups, self._centered, radius, Q))
        owners, indices, distances = map(np.concatenate, zip(*parts, strict=True))
        near = Neighbors.of_entries(self.n if Q is None else Q.shape[0], owners, indices, distances)
        # A pair of points of one run is found with every other run.
        return near if len(groups) == 1 or Q is not None else merged(near)

    def _nearest_in_cells(
        self,
        k: int,
        samples: int = 768,  # by which the standard error of the recall is 0.001
        least: float = 0.99,
        partitions: int = 3,
    ) -> Neighbors:
        """Nearly all neighbors: those in the cells that a point is in, and the recall of that."""
        X, how = self.X, self._how
        n_cells = count_cells(X)
        n_centers = count_centers(n_cells)
        drawn = X.draw(samples + partitions * n_centers)
        order = np.argsort(random.bits(0, "centers", drawn.row_indices))
        tested, *centers = np.split(order, np.arange(samples, len(order), n_centers)[:partitions])
        sample, Q = drawn.row_indices[tested], drawn.items[tested]
        found = self.query(Q, k + 1).table[0]
        others = found != sample[:, None]
        others[others.all(1), -1] = False  # hidden behind duplicates
        truth = found[others].reshape(len(sample), k)
        some = slice(max(1, RUN_BYTES // (k * X.n_features * X.dtype.itemsize)))
        near = X[truth[some].ravel()]
        lists = Best(self.n, k)
        for seed, chosen in enumerate(centers):
            cells = Partition.of(drawn.items[chosen], n_cells, seed, how)
            cells = cells.with_least_overlap(Q[some], near)
            cells = cells.with_overlap_times(2**seed)  # while it is not enough
            member = X.gather(_find_cells, cells)
            groups = [
                parts_of(X, np.flatnonzero((member == cell).any(1))) for cell in range(n_cells)
            ]
            # The rows of all cells are two to four times the data, so that to move them pays only
            # where every cell would have to read all the blocks again and again.
            apart = n_cells > 16
            for one in X.groups("neighbors", _nearest, groups, how, k, apart=apart):
                lists.merge(*one)
            hits = sum(
                len(np.intersect1d(a, b)) for a, b in zip(truth, lists.indices[sample], strict=True)
            )
            recall = hits / truth.size
            if recall >= least:
                break
        else:
            warn(
                f"{recall:.1%} of the nearest neighbors of rows in blocks are found (recall), "
                f"fewer than {least:.0%}; of rows that fit in memory lowd.neighbors finds more.",
                ApproximationWarning,
            )
        return Neighbors.of_table(lists.indices, lists.distances, recall)


@nearest_outside.register(BlockRows)
def _(space: BlockRows, points: Indices, label: Indices) -> tuple[Indices, Reals]:
    """Every other point is in a group with each of these, and in one of them is the nearest."""
    asking = np.zeros(space.n, bool)
    asking[points] = True
    lists = Best(space.n, 1)
    given = space._centered, asking, label
    for found in space.X.groups("bridges", _nearest_outside, pairs_of_runs(space.X), *given):
        lists.merge(*found)
    return lists.indices[points, 0].astype(np.int64), lists.distances[points, 0]


def kept_neighbors(
    base: Space, Y: Reals, others: Any, placed: Reals, k: int = 15
) -> tuple[float, float]:
    """Shares of the nearest points that are nearest in an embedding, too.

    Of other rows, which a map has placed, and of the points themselves.
    """
    plane, k = Rows(Y.astype(np.float64)), min(k, base.n - 2)
    pairs = (
        (base.query(others, k), plane.query(placed.astype(np.float64), k)),
        (base.nearest(k), plane.nearest(k)),
    )
    extended, own = (
        float(np.mean([len(np.intersect1d(*both)) for both in zip(*lists, strict=True)]) / k)
        for lists in ([near.table[0] for near in pair] for pair in pairs)
    )
    return extended, own


@points_within.register(BlockRows)
def _(
    space: BlockRows, points: Indices, radius: Reals, most: int
) -> tuple[Indices, Indices, Reals] | None:
    radii = np.full(space.n, -1.0)
    radii[points] = radius
    parts = [(points[:0], points[:0], np.empty(0))]
    groups = pairs_of_runs(space.X) if len(points) else []
    for found in space.X.groups("ties", _points_within, groups, space._centered, radii, most):
        most = -1 if found is None else most - len(found[0])
        if found is None or most < 0:
            return None
        parts.append(found)
    owners, others, lengths = map(np.concatenate, zip(*parts, strict=True))
    # A pair of points of one run is found with every other run.
    first = np.unique(owners * np.int64(space.n) + others, return_index=True)[1]
    return owners[first], others[first], lengths[first]


# -- groups of rows -------------------------------------------------------------------------------


def runs(X: RowBlocks) -> list[list[Part]]:
    """Blocks one after the other, of so many bytes together that a task compares them at once."""
    found: list[list[Part]] = []
    size = 0
    for part in X.parts:
        width = len(part.numbers) * X.n_features * X.dtype.itemsize
        if not found or size + width > RUN_BYTES:
            found.append([])
            size = 0
        found[-1].append(part)
        size += width
    return found


def pairs_of_runs(X: RowBlocks) -> list[list[Part]]:
    """Groups such that any two rows are in one of them."""
    every = runs(X)
    if len(every) == 1:
        return every
    return [a + b for i, a in enumerate(every) for b in every[i + 1 :]]


def parts_of(X: RowBlocks, points: Indices) -> list[Part]:
    """The parts of some of the points, with the numbers that they have among all."""
    return [part._replace(placed=points[part.numbers]) for part in X.take(points).parts]


def count_cells(X: RowBlocks, least: int = 1000, most: int = 250_000) -> int:
    """A power of two, so that cells are halves of halves.

    Cells have about 250,000 rows, and fewer of wide rows. Those of fewer than 200,000 rows would be
    searched exactly, which takes longer; a worker takes 1.3 KB for each row while it searches.
    """
    by_bytes = 2 * RUN_BYTES // (X.n_features * X.dtype.itemsize)
    return 1 << max(1, ceil(log2(len(X) / max(least, min(most, by_bytes)))))


def count_centers(n_cells: int) -> int:
    """How many random rows are the centers of so many cells.

    Of many, cells overlap less: of 50 columns in clusters, 8 cells, and 0.995 of the pairs of
    neighbors in a common cell, 64 centers for each cell give 2.9 times as many rows to search, and
    1024 give 2.1. But finding the nearest of them takes as long as is gained.
    """
    return max(64 * n_cells, min(512 * n_cells, 4096))


class Best:
    """The nearest points so far of many, each found once."""

    def __init__(self, n: int, k: int) -> None:
        self.indices = np.full((n, k), -1, np.int32)
        self.distances = np.full((n, k), np.inf)

    def merge(self, rows: Indices, indices: Indices, distances: Reals) -> None:
        """The best of both, each once; equal distances go by number, as in memory."""
        for some in chunks(len(rows), 128):
            self._merge_some(rows[some], indices[some], distances[some])

    def _merge_some(self, rows: Indices, indices: Indices, distances: Reals) -> None:
        known, width = self.indices[rows], indices.shape[1]  # less than k in a small group
        if (known[:, :1] >= 0).any():
            # Points far from the borders of a cell have found the same before.
            new = np.flatnonzero((known[:, :width] != indices).any(1))
            rows, known, indices, distances = rows[new], known[new], indices[new], distances[new]
            again = (indices[:, :, None] == known[:, None, :]).any(2)
            numbers = np.hstack([known, np.where(again, np.int32(-1), indices)])
            lengths = np.hstack([self.distances[rows], np.where(again, np.inf, distances)])
            order = np.argsort(lengths, axis=1)
            ordered = np.take_along_axis(lengths, order, 1)
            tied = ((ordered[:, 1:] == ordered[:, :-1]) & np.isfinite(ordered[:, 1:])).any(1)
            order[tied] = np.lexsort((numbers[tied], lengths[tied]), axis=1)
            width = known.shape[1]
            indices = np.take_along_axis(numbers, order[:, :width], 1)
            distances = np.take_along_axis(lengths, order[:, :width], 1)
        self.indices[rows, :width] = indices
        self.distances[rows, :width] = distances


# -- cells of a partition -------------------------------------------------------------------------


@dataclass(frozen=True)
class Partition:
    """Centers, each of one cell; a row belongs to the cells of its nearest centers."""

    centers: Any
    cell_of_center: Indices
    how: How
    n_nearest: int = 16

    @classmethod
    def of(cls, centers: Any, n_cells: int, seed: int, how: How) -> Partition:
        """Cells of equally many of random rows, by halving them across a direction."""
        dense = centers.toarray() if issparse(centers) else centers
        cells = np.zeros(len(dense), np.int64)
        halves = [np.arange(len(dense))]
        while len(halves) < n_cells:
            halves = [part for half in halves for part in halve(dense, half, seed)]
        for cell, half in enumerate(halves):
            cells[half] = cell
        return cls(centers, cells, how)

    def find_cells(self, rows: Any) -> Indices:
        """The cells of the nearest centers of each row, nearest first."""
        k = min(self.n_nearest, len(self.cell_of_center))
        near = self.how.space(self.centers).query(rows, k)
        return self.cell_of_center[near.table[0]].astype(np.int32)

    def with_least_overlap(self, Q: Any, neighbors: Any, shared: float = 0.994) -> Partition:
        """The fewest nearest centers by which that share of rows and neighbors share a cell.

        The search in a cell finds 0.997 of what is in it.
        """
        mine = self.find_cells(Q)
        theirs = self.find_cells(neighbors).reshape(len(mine), -1, mine.shape[1])
        ranks = np.arange(1, mine.shape[1] + 1)
        needed = np.full(theirs.shape[:2], self.n_nearest)  # centers of both, for each pair
        for rank, cell in zip(ranks, mine.T, strict=True):
            common = theirs == cell[:, None, None]
            needed = np.minimum(
                needed, np.where(common, np.maximum(rank, ranks), needed[..., None]).min(2)
            )
        return replace(self, n_nearest=int(np.quantile(needed, shared, method="higher")))

    def with_overlap_times(self, factor: int, most: int = 16) -> Partition:
        """The cells of so many times as many nearest centers."""
        return replace(self, n_nearest=min(factor * self.n_nearest, most))


def halve(X: Reals, rows: Indices, seed: int) -> tuple[Indices, Indices]:
    """Rows below and above their median in a direction of much variance."""
    Z = X[rows].astype(np.float64)
    Z -= Z.mean(0)
    # Two products with the scatter matrix of a random vector: partitions of other seeds differ.
    v = random.normals(seed, "direction", (Z.shape[1],))
    for _ in range(2):
        v = Z.T @ (Z @ v)
        v /= max(float(np.linalg.norm(v)), np.finfo(float).tiny)
    order = np.argsort(Z @ v, kind="stable")
    return rows[order[: len(order) // 2]], rows[order[len(order) // 2 :]]


# -- tasks: what a group of rows finds ------------------------------------------------------------


class How(NamedTuple):
    """How rows are compared."""

    metric: Metric
    params: MetricParams
    center: Reals | None = None  # from which differences are computed, where it counts

    @property
    def measure(self) -> Measure | None:
        """That of a named metric."""
        if callable(self.metric):
            return None
        return METRICS[named_metric(self.metric, self.params)[0]]

    def space(self, rows: Any) -> Space:
        found = space_of(rows, self.metric, self.params)
        if self.center is not None and isinstance(found, Rows):
            vars(found)["center"] = self.center
        return found


def _prepare(how: How, rows: Any) -> Any:
    return how.space(rows).rows


@along_a_line.register(RowBlocks)
def _(X: RowBlocks) -> Reals:
    least, most = X.reduce("reading", column_range, _widest)
    return X.gather(places, least, line_factors(most > least))


def _widest(a: tuple[Reals, Reals], b: tuple[Reals, Reals]) -> tuple[Reals, Reals]:
    return np.minimum(a[0], b[0]), np.maximum(a[1], b[1])


def _fingerprint(rows: Any, how: How) -> Indices:
    return how.space(rows).fingerprint()


def _sum(rows: Any, how: How) -> tuple[Reals, float]:
    X = how.space(rows).rows
    return np.asarray(X.sum(0, dtype=np.float64)), float(max(X.max(), -X.min()))


def _add_sums(a: tuple[Reals, float], b: tuple[Reals, float]) -> tuple[Reals, float]:
    return a[0] + b[0], max(a[1], b[1])


def _toward(rows: Any, numbers: Indices, how: How, Q: Any) -> tuple[Indices, Reals]:
    return numbers, how.space(rows).toward(Q)


def _nearest(rows: Any, numbers: Indices, how: How, k: int) -> tuple[Indices, Indices, Reals]:
    if len(numbers) < 2:
        return numbers, np.empty((len(numbers), 0), np.int32), np.empty((len(numbers), 0))
    indices, distances = how.space(rows).nearest(min(k, len(numbers) - 1)).table
    return numbers, numbers.astype(np.int32)[indices], distances


def _query(rows: Any, numbers: Indices, how: How, Q: Any, k: int) -> tuple[Indices, Reals]:
    indices, distances = how.space(rows).query(Q, k).table
    return numbers.astype(np.int32)[indices], distances


def _within(
    rows: Any, numbers: Indices, how: How, radius: float, Q: Any
) -> tuple[Indices, Indices, Reals]:
    near = how.space(rows).within(radius, Q)
    owners = near.owners if Q is not None else numbers[near.owners]
    return owners, numbers[near.indices], near.distances


def _nearest_outside(
    rows: Any, numbers: Indices, how: How, asking: Indices, label: Indices
) -> tuple[Indices, Indices, Reals]:
    points = np.flatnonzero(asking[numbers])
    own = np.unique(label[numbers], return_inverse=True)[1]
    if not len(points) or not own.any():
        return numbers[:0], np.empty((0, 1), np.int32), np.empty((0, 1))
    others, lengths = nearest_outside(how.space(rows), points, own)
    return numbers[points], numbers[others, None].astype(np.int32), lengths[:, None]


def _points_within(
    rows: Any, numbers: Indices, how: How, radii: Reals, most: int
) -> tuple[Indices, Indices, Reals] | None:
    points = np.flatnonzero(radii[numbers] >= 0)
    found = points_within(how.space(rows), points, radii[numbers[points]], most)
    return found and (numbers[found[0]], numbers[found[1]], found[2])


def _find_cells(rows: Any, cells: Partition) -> Indices:
    return cells.find_cells(rows)
