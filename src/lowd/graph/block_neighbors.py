"""Nearest neighbors of rows in blocks: blocks against blocks, of which the best k are merged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..backends import resolve
from ..backends.protocol import Float64, Ints, Rows
from ..distances.metrics import distances_of
from ..input.blocks import RowBlocks, Where, validate_block
from ..input.validation import Data
from .given import NeighborGraph
from .search import check_n_neighbors, find_nearest


class Search(NamedTuple):
    """What is searched: so many neighbors, in which metric, by which backend."""

    k: int
    metric: str | Callable[..., Any]
    params: dict[str, Any] | None
    backend: str
    n_jobs: int | None


class Nearest(NamedTuple):
    """The nearest rows so far of the rows of a block, nearest first; -1 where there is none."""

    indices: Ints
    distances: Float64
    recall: float

    def merge(self, other: Nearest) -> Nearest:
        """The best of both; equal distances go by row number, as in memory."""
        k = self.indices.shape[1]
        indices = np.hstack([self.indices, other.indices])
        distances = np.hstack([self.distances, other.distances])
        order = np.lexsort((indices, distances), axis=1)[:, :k]
        return Nearest(
            np.take_along_axis(indices, order, 1),
            np.take_along_axis(distances, order, 1),
            min(self.recall, other.recall),
        )


def find_block_neighbors(X: RowBlocks, search: Search) -> NeighborGraph:
    """The k nearest other rows of every row: exact, and as many tasks as pairs of blocks.

    A task reads two blocks and holds the distances of some of their rows; the graph of n·k
    neighbors is all that comes back.
    """
    X = X.with_known_lengths()
    assert X.n_rows is not None
    check_n_neighbors(search.k, X.n_rows)
    parts: list[Nearest] = X.collect_pairs(compare_blocks, "neighbors", search)
    return NeighborGraph(
        np.vstack([part.indices for part in parts]),
        np.vstack([part.distances for part in parts]),
        min(part.recall for part in parts),
    )


def compare_blocks(
    rows: Rows, where: Where, others: Rows, there: Where, so_far: Nearest | None, search: Search
) -> Nearest:
    """The nearest of another block's rows, merged with those of the blocks before it."""
    ops = resolve(search.backend, search.n_jobs)
    Q, _ = validate_block(rows, where, ops)
    X, _ = validate_block(others, there, ops)
    assert where.start is not None
    assert there.start is not None
    if so_far is None:
        shape = (Q.shape[0], search.k)
        so_far = Nearest(np.full(shape, -1, np.int32), np.full(shape, np.inf), 1.0)
    if not Q.shape[0] or not X.shape[0]:
        return so_far
    same = where.number == there.number
    base = distances_of(Data(X, np.dtype(X.dtype)), search.metric, search.params)
    near = find_nearest(base, Q, min(search.k + same, X.shape[0]), ops)
    indices, distances = near.indices, near.distances.astype(np.float64)
    if same:
        indices, distances = _leave_out_self(indices, distances)
    return so_far.merge(Nearest(indices + np.int32(there.start), distances, near.recall))


def _leave_out_self(indices: Ints, distances: Float64) -> tuple[Ints, Float64]:
    """Lists without the row itself, by its number; behind duplicates the last one goes."""
    own: NDArray[np.bool_] = indices == np.arange(len(indices))[:, None]
    own[~own.any(1), -1] = True
    shape = (len(indices), indices.shape[1] - 1)
    return indices[~own].reshape(shape), distances[~own].reshape(shape)
