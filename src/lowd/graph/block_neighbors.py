"""Nearest neighbors of rows in blocks, found in groups of rows and merged.

Up to MAX_EXACT_ROWS rows the groups are all pairs of runs of blocks, and the search is exact.
Beyond, they are the overlapping cells of a partition: a row belongs to the cells of its nearest
centers, so that it is compared with rows across the borders that it is near to. Of how many centers
the true neighbors of a sample tell, so that cells overlap no more than needed. The recall is
measured against all rows; while it is too low, one more partition adds its candidates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, log2
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from .. import random
from ..backends import resolve
from ..backends.protocol import Array, Float64, Ints, Rows
from ..distances.metrics import distances_of, is_indexed
from ..errors import ApproximationWarning, warn
from ..input.block_partition import iterate_partition, stack_rows, take_numbered
from ..input.block_reader import Where
from ..input.blocks import RowBlocks, validate_block
from ..input.sample import take_rows
from ..input.validation import Data
from .given import NeighborGraph
from .search import check_n_neighbors, find_nearest, find_neighbors

MAX_EXACT_ROWS = 200_000  # as in memory: more are searched approximately, and it is measured
RUN_BYTES = 2**26  # of the blocks that are a run: a pair of runs is compared in memory
# Rows of a cell before its overlap with others, which doubles it: cells of fewer rows than 200,000
# would be searched exactly, which takes longer.
MIN_CELL_ROWS, MAX_CELL_ROWS, MAX_CELL_BYTES = 1000, 250_000, 2**27
# Random rows as centers of cells. Of many, cells overlap less (50 columns in clusters, 8 cells,
# 0.995 of the pairs of neighbors in a common cell: 64 centers for each 2.9 times as many rows to
# search, 1024 2.1 times), but it takes as long to find the nearest as is gained.
MIN_CENTERS_PER_CELL, MAX_CENTERS_PER_CELL, MANY_CENTERS = 64, 512, 4096
# Pairs of neighbors that share a cell. A row belongs to the cells of as many nearest centers as
# that needs. The search in a cell finds 0.997 of what is in it.
MIN_SHARED_PAIRS, MAX_NEAREST_CENTERS = 0.994, 16
MAX_COMPARED_BYTES = 2**26  # of neighbors by which the overlap is chosen
MIN_RECALL = 0.99
MAX_PARTITIONS = 3
RECALL_SAMPLES = 768  # rows on which the recall is measured: standard error 0.001
MERGED_ROWS = 2**15  # merged at a time


class Search(NamedTuple):
    """What is searched: so many neighbors, in which metric, by which backend."""

    k: int
    metric: str | Callable[..., Any]
    params: dict[str, Any] | None
    backend: str
    n_jobs: int | None


class Nearest(NamedTuple):
    """The nearest rows of some rows, nearest first; -1 where there is none."""

    rows: NDArray[np.int64]
    indices: Ints
    distances: Float64


def find_block_neighbors(X: RowBlocks, search: Search) -> NeighborGraph:
    """The k nearest other rows of every row, of which n·k numbers come back."""
    X = X.with_known_lengths()
    assert X.n_rows is not None
    check_n_neighbors(search.k, X.n_rows)
    if X.n_rows <= MAX_EXACT_ROWS or not is_indexed(search.metric):
        lists = _Lists(X.n_rows, search.k)
        for found in X.iterate_groups(search_blocks, _pair_runs(X), "neighbors", search):
            lists.merge(found)
        return NeighborGraph(lists.indices, lists.distances)
    return _search_cells(X, search)


# -- lists of neighbors, merged as they come ----------------------------------------------------


class _Lists:
    """The nearest rows so far of all rows."""

    def __init__(self, n: int, k: int) -> None:
        self.indices = np.full((n, k), -1, np.int32)
        self.distances = np.full((n, k), np.inf)

    def merge(self, found: Nearest) -> None:
        """The best of both, each row once; equal distances go by row number, as in memory."""
        for start in range(0, len(found.rows), MERGED_ROWS):
            part = slice(start, start + MERGED_ROWS)
            rows, indices, distances = found.rows[part], found.indices[part], found.distances[part]
            known, width = self.indices[rows], indices.shape[1]  # less than k in a small group
            if (known[:, 0] >= 0).any():
                # Rows far from the borders of a cell have found the same before.
                other = np.flatnonzero((known[:, :width] != indices).any(1))
                rows, known = rows[other], known[other]
                indices, distances = indices[other], distances[other]
                again = (indices[:, :, None] == known[:, None, :]).any(2)
                indices, distances = _merge(
                    (known, np.where(again, np.int32(-1), indices)),
                    (self.distances[rows], np.where(again, np.inf, distances)),
                )
                width = indices.shape[1]
            self.indices[rows, :width] = indices
            self.distances[rows, :width] = distances


def _merge(indices: tuple[Ints, Ints], distances: tuple[Float64, Float64]) -> tuple[Ints, Float64]:
    """The best of two lists of each row, as many as the first holds; ties by row number."""
    k, every, lengths = indices[0].shape[1], np.hstack(indices), np.hstack(distances)
    order: NDArray[np.int64] = np.argsort(lengths, axis=1)
    ordered = np.take_along_axis(lengths, order, 1)
    tied = ((ordered[:, 1:] == ordered[:, :-1]) & np.isfinite(ordered[:, 1:])).any(1)
    order[tied] = np.lexsort((every[tied], lengths[tied]), axis=1)
    order = order[:, :k]
    return np.take_along_axis(every, order, 1), np.take_along_axis(lengths, order, 1)


# -- exact: all pairs of runs of blocks ---------------------------------------------------------


def _pair_runs(X: RowBlocks) -> list[list[int]]:
    """The blocks of each pair of runs, a run being consecutive blocks of some bytes."""
    runs: list[list[int]] = [[]]
    n_bytes, row_bytes = 0, X.n_features * X.array.dtype.itemsize
    for number, length in enumerate(X.array.chunks[0]):
        if runs[-1] and n_bytes + length * row_bytes > RUN_BYTES:
            runs.append([])
            n_bytes = 0
        runs[-1].append(number)
        n_bytes += int(length) * row_bytes
    if len(runs) == 1:
        return runs
    return [a + b for i, a in enumerate(runs) for b in runs[i + 1 :]]


def search_blocks(parts: list[tuple[Rows, Where]], search: Search) -> Nearest:
    """Neighbors among the rows of some blocks."""
    ops = resolve(search.backend, search.n_jobs)
    rows, numbers = [], []
    for block, where in parts:
        assert where.start is not None
        rows.append(validate_block(block, where, ops)[0])
        numbers.append(np.arange(where.start, where.start + block.shape[0]))
    return _search(stack_rows(rows), np.concatenate(numbers), search)


def _search(rows: Rows, numbers: NDArray[np.int64], search: Search) -> Nearest:
    k = min(search.k, len(numbers) - 1)
    if k < 1:
        return Nearest(numbers, np.empty((len(numbers), 0), np.int32), np.empty((len(numbers), 0)))
    base = distances_of(Data(rows, np.dtype(rows.dtype)), search.metric, search.params)
    near = find_neighbors(base, k, resolve(search.backend, search.n_jobs))
    indices = numbers.astype(np.int32)[near.indices]
    return Nearest(numbers, indices, near.distances.astype(np.float64, copy=False))


# -- approximate: overlapping cells of a partition ----------------------------------------------


@dataclass(frozen=True)
class Partition:
    """Centers, each of one cell; a row belongs to the cells of its nearest centers."""

    centers: Rows
    cell_of_center: NDArray[np.int64]
    n_nearest: int = MAX_NEAREST_CENTERS

    @classmethod
    def of(cls, centers: Rows, n_cells: int, seed: int) -> Partition:
        """Cells of equally many of random rows, by halving them across a direction."""
        dense = centers.toarray() if issparse(centers) else centers
        cells = np.zeros(len(dense), np.int64)
        halves = [np.arange(len(dense))]
        while len(halves) < n_cells:
            halves = [part for half in halves for part in _halve(dense, half, seed)]
        for cell, half in enumerate(halves):
            cells[half] = cell
        return cls(centers, cells)

    def find_cells(self, rows: Rows, search: Search) -> NDArray[np.int64]:
        """The cells of the nearest centers of each row, nearest first."""
        ops = resolve(search.backend, search.n_jobs)
        data = Data(self.centers, np.dtype(self.centers.dtype))
        base = distances_of(data, search.metric, search.params)
        k = min(self.n_nearest, len(self.cell_of_center))
        return self.cell_of_center[find_nearest(base, rows, k, ops).indices]

    def with_least_overlap(self, Q: Rows, neighbors: Rows, search: Search) -> Partition:
        """The fewest nearest centers by which rows share a cell with their neighbors."""
        mine = self.find_cells(Q, search)
        theirs = self.find_cells(neighbors, search).reshape(len(mine), -1, mine.shape[1])
        ranks = np.arange(1, mine.shape[1] + 1)
        needed = np.full(theirs.shape[:2], MAX_NEAREST_CENTERS)  # centers of both, for each pair
        for rank, cell in zip(ranks, mine.T, strict=True):
            shared = np.where(
                theirs == cell[:, None, None], np.maximum(rank, ranks), needed[..., None]
            )
            needed = np.minimum(needed, shared.min(2))
        n_nearest = int(np.quantile(needed, MIN_SHARED_PAIRS, method="higher"))
        return replace(self, n_nearest=n_nearest)

    def with_overlap_times(self, factor: int) -> Partition:
        """The cells of so many times as many nearest centers."""
        return replace(self, n_nearest=min(factor * self.n_nearest, MAX_NEAREST_CENTERS))


def _halve(
    X: Array, rows: NDArray[np.int64], seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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


def _search_cells(X: RowBlocks, search: Search) -> NeighborGraph:
    assert X.n_rows is not None
    n_cells = _count_cells(X)
    n_centers = max(
        n_cells * MIN_CENTERS_PER_CELL, min(n_cells * MAX_CENTERS_PER_CELL, MANY_CENTERS)
    )
    drawn = X.draw(RECALL_SAMPLES + MAX_PARTITIONS * n_centers)
    order = np.argsort(random.bits(0, "centers", drawn.row_indices))
    tested, *centers = np.split(
        order, np.arange(RECALL_SAMPLES, len(order), n_centers)[:MAX_PARTITIONS]
    )
    sample = drawn.row_indices[tested]
    truth = _find_truth(X, take_rows(drawn.items, tested), sample, search)
    row_bytes = X.n_features * X.dtype.itemsize
    some = slice(max(1, MAX_COMPARED_BYTES // (search.k * row_bytes)))
    near, _ = validate_block(
        take_numbered(X, truth[some].ravel()), Where(0, 0), resolve(search.backend, search.n_jobs)
    )
    lists = _Lists(X.n_rows, search.k)
    for seed, chosen in enumerate(centers):
        partition = Partition.of(take_rows(drawn.items, chosen), n_cells, seed)
        partition = partition.with_least_overlap(
            take_rows(drawn.items, tested[some]), near, search
        ).with_overlap_times(2**seed)  # while it is not enough
        given = assign_block, search_cell, n_cells, "neighbors", partition, search
        for found in iterate_partition(X, *given):
            lists.merge(found)
        recall = _measure_recall(truth, lists.indices[sample])
        if recall >= MIN_RECALL:
            break
    else:
        warn(
            f"{recall:.1%} of the nearest neighbors of rows in blocks are found (recall), fewer "
            f"than {MIN_RECALL:.0%}; of rows that fit in memory lowd.neighbors finds more.",
            ApproximationWarning,
        )
    return NeighborGraph(lists.indices, lists.distances, recall)


def _count_cells(X: RowBlocks) -> int:
    """A power of two, so that cells are halves of halves."""
    assert X.n_rows is not None
    by_bytes = MAX_CELL_BYTES // (X.n_features * X.array.dtype.itemsize)
    rows = max(MIN_CELL_ROWS, min(MAX_CELL_ROWS, by_bytes))
    return 1 << max(1, ceil(log2(X.n_rows / rows)))


def assign_block(
    rows: Rows,
    where: Where,
    partition: Partition,
    search: Search,
) -> list[NDArray[np.int32]]:
    """The rows of a block that belong to each cell."""
    rows, _ = validate_block(rows, where, resolve(search.backend, search.n_jobs))
    cells = partition.find_cells(rows, search)
    n_cells = int(partition.cell_of_center.max()) + 1
    return [np.flatnonzero((cells == cell).any(1)).astype(np.int32) for cell in range(n_cells)]


def search_cell(
    rows: Rows,
    numbers: NDArray[np.int64],
    partition: Partition,  # noqa: ARG001 - a cell has its rows already
    search: Search,
) -> Nearest:
    """Neighbors among the rows of a cell."""
    rows, _ = validate_block(rows, Where(0, 0), resolve(search.backend, search.n_jobs))
    return _search(rows, numbers, search)


def _find_truth(X: RowBlocks, Q: Rows, sample: NDArray[np.int64], search: Search) -> Ints:
    """The true neighbors of some rows, compared with all."""
    k = search.k + 1
    found: Nearest = X.reduce(_compare_sample, _merge_sample, "recall", Q, k, search)
    other = found.indices != sample[:, None]
    other[other.all(1), -1] = False  # hidden behind duplicates
    return np.asarray(found.indices[other].reshape(len(sample), search.k))


def _compare_sample(rows: Rows, where: Where, Q: Rows, k: int, search: Search) -> Nearest:
    ops = resolve(search.backend, search.n_jobs)
    rows, _ = validate_block(rows, where, ops)
    assert where.start is not None
    n = Q.shape[0]
    indices, distances = np.full((n, k), -1, np.int32), np.full((n, k), np.inf)
    width = min(k, rows.shape[0])
    if width:
        base = distances_of(Data(rows, np.dtype(rows.dtype)), search.metric, search.params)
        near = find_nearest(base, Q, width, ops)
        indices[:, :width] = near.indices + np.int32(where.start)
        distances[:, :width] = near.distances
    return Nearest(np.arange(n), indices, distances)


def _merge_sample(a: Nearest, b: Nearest) -> Nearest:
    return Nearest(a.rows, *_merge((a.indices, b.indices), (a.distances, b.distances)))


def _measure_recall(truth: Ints, found: Ints) -> float:
    hits = sum(len(np.intersect1d(a, b)) for a, b in zip(truth, found, strict=True))
    return hits / truth.size
