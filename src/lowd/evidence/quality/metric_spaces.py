"""Neighbors, ranks and distances of rows, in the data space and in the embedding space."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ... import progress
from ...backends.protocol import MEASURES, Array, Backend, Float64, Ints, Neighbors
from ...distances.callables import CallableDistances
from ...distances.metrics import Distances, round_center
from ...distances.precomputed import PrecomputedDistances
from ...distances.protocol import DistanceRelation
from ...errors import ParameterError, UnsupportedError
from ...graph.given import NeighborGraph
from ...input.sample import n_rows, take_rows

MAX_BLOCK_DISTANCES = 2**22  # at a time: 32 MiB in float64
MAX_SPARSE_PAIRS = 4096  # differences of sparse rows at a time, each as long as both rows
CENTER_BITS = 10  # of the point that differences are computed from
RowSelection: TypeAlias = NDArray[np.int64] | None  # rows to evaluate; None: all


class MetricSpace(Protocol):
    """Rows with distances between them. Ties are broken by row index, everywhere."""

    n: int

    def nearest(self, rows: RowSelection, k: int) -> Neighbors:
        """The k nearest other rows of each selected row."""

    def ranks(self, rows: RowSelection, lists: Ints) -> Ints:
        """The rank of each listed row in the order of `nearest`, from 1; that of -1 is 0."""

    def distances(self, rows: NDArray[np.int64]) -> Array:
        """Distances of some rows to all."""

    def pair_distances(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> Float64:
        """Distances of the pairs (i, j)."""


def make_space(relation: DistanceRelation, ops: Backend) -> MetricSpace:
    """The space of a relation: by a neighbor index for dense rows, else by blocks of distances."""
    if isinstance(relation, Distances) and not issparse(relation.X):
        return RowSpace(relation, ops)
    if isinstance(relation, CallableDistances):  # slow, so each pair is computed once
        relation = PrecomputedDistances(relation.among(ops), wide=True)
    return BlockSpace(relation, ops)


class RowSpace:
    """Dense rows with a named metric: neighbors and ranks by the neighbor index."""

    def __init__(self, relation: Distances, ops: Backend) -> None:
        self.relation, self.ops, self.n = relation, ops, len(relation.X)
        self.center = (
            None if relation.center is None else round_center(relation.center, CENTER_BITS)
        )
        self.index = ops.index(relation.X, relation.measure, relation.params, relation.center)

    def nearest(self, rows: RowSelection, k: int) -> Neighbors:
        if rows is None:
            return self.index.others(k)
        return remove_self(self.index.query(self.relation.X[rows], k + 1), rows)

    def ranks(self, rows: RowSelection, lists: Ints) -> Ints:
        return self.index.ranks(rows, lists)

    def distances(self, rows: NDArray[np.int64]) -> Array:
        X, measure, params = self.relation.X, self.relation.measure, self.relation.params
        return self.ops.pairwise(X[rows], X, measure, params, self.center)

    def pair_distances(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> Float64:
        X, measure, params = self.relation.X, self.relation.measure, self.relation.params
        lengths = np.empty(len(i))
        step = max(1, MAX_BLOCK_DISTANCES // X.shape[1])
        for a in range(0, len(i), step):
            part = slice(a, a + step)
            lengths[part] = _row_distances(X[i[part]], X[j[part]], measure, params)
        return lengths


class BlockSpace:
    """Any other relation: distances to all rows, block by block."""

    def __init__(self, relation: DistanceRelation, ops: Backend) -> None:
        self.relation, self.ops, self.n = relation, ops, n_rows(relation.training_points())

    def nearest(self, rows: RowSelection, k: int) -> Neighbors:
        selected = self._select(rows)
        found = Neighbors(np.empty((len(selected), k), np.int32), np.empty((len(selected), k)))
        for i, own, D in self._blocks(selected):
            part = self.ops.distance_index(D, own).nearest(k)
            found.indices[i : i + len(D)], found.distances[i : i + len(D)] = part[:2]
        return found

    def ranks(self, rows: RowSelection, lists: Ints) -> Ints:
        selected, ranks = self._select(rows), np.empty_like(lists)
        for i, own, D in self._blocks(selected):
            part = lists[i : i + len(D)]
            all_ranks = self.ops.distance_index(D, own).ranks()
            ranks[i : i + len(D)] = np.take_along_axis(all_ranks, part, 1)
        return np.where(lists < 0, 0, ranks).astype(np.int32)

    def distances(self, rows: NDArray[np.int64]) -> Array:
        return self.relation.toward(take_rows(self.relation.training_points(), rows), self.ops)

    def pair_distances(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> Float64:
        if isinstance(self.relation, PrecomputedDistances):
            return np.asarray(self.relation.among(self.ops)[i, j], np.float64)
        if isinstance(self.relation, Distances):
            return _sparse_pair_distances(self.relation, i, j)
        selected, at = np.unique(i, return_inverse=True)
        lengths = np.empty(len(i))
        for a, own, D in self._blocks(selected):
            here = np.flatnonzero((at >= a) & (at < a + len(own)))
            lengths[here] = D[at[here] - a, j[here]]
        return lengths

    def _select(self, rows: RowSelection) -> NDArray[np.int64]:
        return np.arange(self.n) if rows is None else rows

    def _blocks(
        self, selected: NDArray[np.int64]
    ) -> Iterator[tuple[int, NDArray[np.int64], Array]]:
        """(position of the first row, some rows, their distances to all)."""
        step = max(1, MAX_BLOCK_DISTANCES // self.n)
        for i in range(0, len(selected), step):
            own = selected[i : i + step]
            yield i, own, self.distances(own)
            progress.report("ranks", i + len(own), len(selected))


class GraphSpace:
    """A precomputed neighbor graph: it has the nearest neighbors and no other distances."""

    def __init__(self, graph: NeighborGraph) -> None:
        self.graph, self.n = graph, len(graph.indices)

    def nearest(self, rows: RowSelection, k: int) -> Neighbors:
        selected = slice(None) if rows is None else rows
        indices, distances = self.graph.indices[selected], self.graph.distances[selected]
        short = (indices[:, :k] < 0).any(1)
        if indices.shape[1] < k or short.any():
            raise ParameterError(
                f"n_neighbors={k}, but the graph holds fewer neighbors of some rows; use a smaller "
                "n_neighbors, or a graph of more."
            )
        return Neighbors(indices[:, :k], distances[:, :k], self.graph.recall)

    def ranks(self, rows: RowSelection, lists: Ints) -> Ints:  # noqa: ARG002 - as of MetricSpace
        raise UnsupportedError(
            "a neighbor graph has no ranks beyond its neighbors, which trustworthiness needs; "
            "pass the rows or their distances."
        )


def remove_self(found: Neighbors, own: NDArray[np.int64]) -> Neighbors:
    """Remove each row from its own list, or the last entry where duplicates displaced the row."""
    k = found.indices.shape[1] - 1
    other = found.indices != own[:, None]
    other[other.all(1), k] = False
    shape = len(own), k
    return Neighbors(
        found.indices[other].reshape(shape), found.distances[other].reshape(shape), found.recall
    )


def _row_distances(A: Array, B: Array, measure: str, params: tuple[float, ...]) -> Float64:
    """Distances between corresponding rows."""
    if measure == "jaccard":
        either = ((A != 0) | (B != 0)).sum(1)
        return np.asarray(((A != 0) != (B != 0)).sum(1) / np.maximum(either, 1))
    gap = np.subtract(A, B, dtype=np.float64)
    if MEASURES[measure] == "square":
        square = np.einsum("ij,ij->i", gap, gap)
        return np.asarray(params[0] * (np.sqrt(square) if measure == "euclidean" else square))
    gap = np.abs(gap)
    if measure == "minkowski":
        return np.asarray((gap ** params[0]).sum(1) ** (1 / params[0]))
    finish = {"manhattan": gap.sum, "chebyshev": gap.max, "hamming": (gap != 0).mean}[measure]
    return np.asarray(finish(axis=1), np.float64)


def _sparse_pair_distances(
    relation: Distances, i: NDArray[np.int64], j: NDArray[np.int64]
) -> Float64:
    squares = np.empty(len(i))
    for a in range(0, len(i), MAX_SPARSE_PAIRS):
        part = slice(a, a + MAX_SPARSE_PAIRS)
        gap = relation.X[i[part]].astype(np.float64) - relation.X[j[part]]
        squares[part] = np.asarray(gap.power(2).sum(1)).ravel()
    lengths = np.sqrt(squares) if relation.measure == "euclidean" else squares
    return np.asarray(relation.params[0] * lengths)
