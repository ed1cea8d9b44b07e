"""Neighbors, ranks and distances of rows, in the data space and in the embedding space.

Ties are broken by row number, everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ... import _native, progress
from ...backend import chunks, overridable, threads
from ...errors import ParameterError, UnsupportedError
from ...neighbor_graph import NeighborGraph
from ...parameters import Indices, Reals
from ...spaces import (
    Matrix,
    Neighbors,
    Objects,
    Rows,
    Space,
    SparseRows,
    measure_rows,
    nearest_columns,
)
from ...spaces.space import METRICS, PAIRED, measure_pairs, query_rows
from ...spaces.sparse import squared_lengths

RowSelection: TypeAlias = NDArray[np.int64] | None  # rows to evaluate; None: all


class GraphSpace:
    """A precomputed neighbor graph: it has the nearest neighbors and no other distances."""

    def __init__(self, graph: NeighborGraph) -> None:
        self.graph, self.n = graph, len(graph.indices)


def nearest_others(space: Space | GraphSpace, rows: RowSelection, k: int) -> NeighborGraph:
    """The k nearest other rows of each selected row."""
    if isinstance(space, GraphSpace):
        return _listed(space.graph, rows, k)
    if rows is None:
        near = space.nearest(k)
    elif isinstance(space, Rows) and space.center is not None:
        near = query_rows(space.index, space.X[rows], k + 1)
        return remove_self(NeighborGraph(*near.table, near.recall), rows)
    else:
        parts = [nearest_columns(D, k, own).table for own, D in _blocks(space, rows)]
        indices, distances = (np.concatenate(part) for part in zip(*parts, strict=True))
        near = Neighbors.of_table(indices, distances)
    return NeighborGraph(*near.table, near.recall)


def _listed(graph: NeighborGraph, rows: RowSelection, k: int) -> NeighborGraph:
    selected = slice(None) if rows is None else rows
    indices, distances = graph.indices[selected], graph.distances[selected]
    if indices.shape[1] < k or (indices[:, :k] < 0).any():
        raise ParameterError(
            f"n_neighbors={k}, but the graph holds fewer neighbors of some rows; use a smaller "
            "n_neighbors, or a graph of more.",
            "n_neighbors",
        )
    return NeighborGraph(indices[:, :k], distances[:, :k], graph.recall)


def ranks_of(space: Space | GraphSpace, rows: RowSelection, lists: Indices) -> Indices:
    """The rank of each listed row in the order of all others, from 1; that of -1 is 0."""
    if isinstance(space, GraphSpace):
        raise UnsupportedError(
            "a neighbor graph has no ranks beyond its neighbors, which trustworthiness needs; "
            "pass the rows or their distances."
        )
    if isinstance(space, Rows) and space.center is not None:
        return rank_listed(space, lists, rows)
    selected = np.arange(space.n) if rows is None else rows
    parts = [all_ranks(D, own) for own, D in _blocks(space, selected)]
    ranks = np.take_along_axis(np.concatenate(parts), np.maximum(lists, 0), 1)
    return np.where(lists < 0, 0, ranks).astype(np.int32)


@overridable
def rank_listed(space: Rows, lists: Indices, rows: RowSelection) -> Indices:
    """Ranks of listed rows among all others, by comparisons without all distances."""
    return space.index.ranks(lists, rows)


@overridable
def all_ranks(D: Reals, own: Indices) -> Indices:
    """The rank of each entry in its row of distances, from 1; the row's own one has 0."""
    out = np.empty(D.shape, np.int32)
    _native.rank_rows(np.ascontiguousarray(D), own, out, threads())
    return out


def distances_from(space: Space, rows: Indices) -> Reals:
    """Distances of some rows to all.

    Of rows of numbers they are computed from a point of few digits, so that squares of integers are
    exact and ties stay ties.
    """
    if not isinstance(space, Rows) or space.center is None:
        return space.distances(rows)
    shift = np.maximum(10 - np.frexp(space.center)[1], 0)
    center = np.ldexp(np.round(np.ldexp(space.center, shift)), -shift)
    return measure_rows(space.X[rows], space.X, *space.measure, center)


def pair_distances(space: Space, i: Indices, j: Indices) -> Reals:
    """Distances of the pairs (i, j)."""
    lengths = np.empty(len(i))
    if isinstance(space, Matrix | Objects):
        return np.asarray(space.pairwise()[i, j], np.float64)
    if isinstance(space, Rows):
        for some in chunks(len(i), space.X.shape[1]):
            lengths[some] = _row_distances(space.X[i[some]], space.X[j[some]], *space.measure)
        return lengths
    if isinstance(space, SparseRows):
        name, factor = METRICS[space.metric].name, METRICS[space.metric].factor or 1.0
        for some in chunks(len(i), 1, 4096):  # each difference is as long as both rows
            gap = space.X[i[some]].astype(np.float64) - space.X[j[some]]
            lengths[some] = squared_lengths(gap)
        return np.asarray(factor * (np.sqrt(lengths) if name == "euclidean" else lengths))
    selected, at = np.unique(i, return_inverse=True)
    begin = 0
    for own, D in _blocks(space, selected):
        here = np.flatnonzero((at >= begin) & (at < begin + len(own)))
        lengths[here] = D[at[here] - begin, j[here]]
        begin += len(own)
    return lengths


def _blocks(space: Space, selected: Indices) -> Iterator[tuple[Indices, Reals]]:
    """Some rows and their distances to all, block after block."""
    for some in chunks(len(selected), space.n):
        yield selected[some], distances_from(space, selected[some])
        progress.report("ranks", some.stop, len(selected))


def remove_self(found: NeighborGraph, own: Indices) -> NeighborGraph:
    """Remove each row from its own list, or the last entry where duplicates displaced the row."""
    k = found.indices.shape[1] - 1
    other = found.indices != own[:, None]
    other[other.all(1), k] = False
    shape = len(own), k
    indices, distances = found.indices[other].reshape(shape), found.distances[other].reshape(shape)
    return NeighborGraph(indices, distances, found.recall)


def _row_distances(A: Reals, B: Reals, measure: str, params: tuple[float, ...]) -> Reals:
    """Distances between corresponding rows."""
    if measure in PAIRED:
        return measure_pairs(A, B, measure)
    if measure == "jaccard":
        either = ((A != 0) | (B != 0)).sum(1)
        return np.asarray(((A != 0) != (B != 0)).sum(1) / np.maximum(either, 1))
    gap = np.subtract(A, B, dtype=np.float64)
    if measure.endswith("euclidean"):
        square = np.einsum("ij,ij->i", gap, gap)
        return np.asarray(params[0] * (np.sqrt(square) if measure == "euclidean" else square))
    gap = np.abs(gap)
    if measure == "minkowski":
        return np.asarray((gap ** params[0]).sum(1) ** (1 / params[0]))
    finish = {"manhattan": gap.sum, "chebyshev": gap.max, "hamming": (gap != 0).mean}[measure]
    return np.asarray(finish(axis=1), np.float64)
