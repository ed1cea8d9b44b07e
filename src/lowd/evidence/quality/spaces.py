"""Two spaces, data and map, asked the same questions in one arithmetic each."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ... import progress
from ...backends.protocol import MEASURES, Array, Backend, Float64, Ints, Neighbors
from ...distances.callables import CallableDistances
from ...distances.metrics import Distances
from ...distances.precomputed import PrecomputedDistances
from ...distances.protocol import DistanceRelation
from ...errors import ParameterError, UnsupportedError
from ...graph.given import NeighborGraph
from ...graph.search import len_of, some

BLOCK = 2**22  # distances looked at together
SPARSE_PAIRS = 4096  # of sparse rows, likewise
Chosen = NDArray[np.int64] | None  # rows that are asked; None: all


class Space(Protocol):
    """Rows by their distances. Equal distances go by row number, everywhere."""

    n: int

    def lists(self, rows: Chosen, k: int) -> Neighbors:
        """The k nearest others of each chosen row."""

    def ranks(self, rows: Chosen, listed: Ints) -> Ints:
        """The place of each listed row in the order that `lists` follows; -1 has place 0."""

    def distances(self, rows: NDArray[np.int64]) -> Array:
        """Distances of some rows to all."""

    def between(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> Float64:
        """Distances of pairs."""


def space_of(base: DistanceRelation, ops: Backend) -> Space:
    if isinstance(base, Distances) and not issparse(base.X):
        return Rows(base, ops)
    if isinstance(base, CallableDistances):  # each pair is measured once, by a slow callable
        base = PrecomputedDistances(base.among(ops), wide=True)
    return Table(base, ops)


class Rows:
    """Dense rows of numbers under a named metric: neighbors and ranks by the index."""

    def __init__(self, base: Distances, ops: Backend) -> None:
        self.base, self.ops, self.n = base, ops, len(base.X)
        self.center = None if base.center is None else coarse(base.center)
        self.index = ops.index(base.X, base.measure, base.params, base.center)

    def lists(self, rows: Chosen, k: int) -> Neighbors:
        if rows is None:
            return self.index.others(k)
        return without(self.index.query(self.base.X[rows], k + 1), rows)

    def ranks(self, rows: Chosen, listed: Ints) -> Ints:
        return self.index.ranks(rows, listed)

    def distances(self, rows: NDArray[np.int64]) -> Array:
        X, measure, params = self.base.X, self.base.measure, self.base.params
        return self.ops.pairwise(X[rows], X, measure, params, self.center)

    def between(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> Float64:
        X, lengths = self.base.X, np.empty(len(i))
        step = max(1, BLOCK // X.shape[1])
        for a in range(0, len(i), step):
            part = slice(a, a + step)
            lengths[part] = _between(X[i[part]], X[j[part]], self.base.measure, self.base.params)
        return lengths


class Table:
    """Any other relation: whole rows of distances, block after block."""

    def __init__(self, base: DistanceRelation, ops: Backend) -> None:
        self.base, self.ops, self.n = base, ops, len_of(base.training_points())

    def lists(self, rows: Chosen, k: int) -> Neighbors:
        asked = self._asked(rows)
        found = Neighbors(np.empty((len(asked), k), np.int32), np.empty((len(asked), k)))
        for i, own, D in self._blocks(asked):
            part = self.ops.distance_index(D, own).nearest(k)
            found.indices[i : i + len(D)], found.distances[i : i + len(D)] = part[:2]
        return found

    def ranks(self, rows: Chosen, listed: Ints) -> Ints:
        asked, places = self._asked(rows), np.empty_like(listed)
        for i, own, D in self._blocks(asked):
            part = listed[i : i + len(D)]
            places[i : i + len(D)] = np.take_along_axis(
                self.ops.distance_index(D, own).ranks(), part, 1
            )
        return np.where(listed < 0, 0, places).astype(np.int32)

    def distances(self, rows: NDArray[np.int64]) -> Array:
        return self.base.toward(some(self.base.training_points(), rows), self.ops)

    def between(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> Float64:
        if isinstance(self.base, PrecomputedDistances):
            return np.asarray(self.base.among(self.ops)[i, j], np.float64)
        if isinstance(self.base, Distances):
            return self._between_sparse(self.base, i, j)
        asked, at = np.unique(i, return_inverse=True)
        lengths = np.empty(len(i))
        for a, own, D in self._blocks(asked):
            here = np.flatnonzero((at >= a) & (at < a + len(own)))
            lengths[here] = D[at[here] - a, j[here]]
        return lengths

    def _between_sparse(
        self, base: Distances, i: NDArray[np.int64], j: NDArray[np.int64]
    ) -> Float64:
        squares = np.empty(len(i))
        for a in range(0, len(i), SPARSE_PAIRS):
            part = slice(a, a + SPARSE_PAIRS)
            gap = base.X[i[part]].astype(np.float64) - base.X[j[part]]
            squares[part] = np.asarray(gap.power(2).sum(1)).ravel()
        lengths = np.sqrt(squares) if base.measure == "euclidean" else squares
        return np.asarray(base.params[0] * lengths)

    def _asked(self, rows: Chosen) -> NDArray[np.int64]:
        return np.arange(self.n) if rows is None else rows

    def _blocks(self, asked: NDArray[np.int64]) -> Any:
        step = max(1, BLOCK // self.n)
        for i in range(0, len(asked), step):
            own = asked[i : i + step]
            yield i, own, self.distances(own)
            progress.report("ranks", i + len(own), len(asked))


class Listed:
    """A ready neighbor graph: it knows the nearest of each row, and no other distance."""

    def __init__(self, graph: NeighborGraph) -> None:
        self.graph, self.n = graph, len(graph.indices)

    def lists(self, rows: Chosen, k: int) -> Neighbors:
        asked = slice(None) if rows is None else rows
        indices, distances = self.graph.indices[asked], self.graph.distances[asked]
        short = (indices[:, :k] < 0).any(1)
        if indices.shape[1] < k or short.any():
            raise ParameterError(
                f"n_neighbors={k}, but the graph holds fewer neighbors of some rows; use a smaller "
                "n_neighbors, or a graph of more."
            )
        return Neighbors(indices[:, :k], distances[:, :k], self.graph.recall)

    def ranks(self, rows: Chosen, listed: Ints) -> Ints:  # noqa: ARG002 - a space's signature
        raise UnsupportedError(
            "a neighbor graph knows no ranks beyond its neighbors, which trustworthiness needs; "
            "pass the rows or their distances."
        )


def without(found: Neighbors, own: NDArray[np.int64]) -> Neighbors:
    """Each list less its own row, or less the last where copies have pushed that out."""
    k = found.indices.shape[1] - 1
    other = found.indices != own[:, None]
    other[other.all(1), k] = False
    shape = len(own), k
    return Neighbors(
        found.indices[other].reshape(shape), found.distances[other].reshape(shape), found.recall
    )


def coarse(center: Float64) -> Float64:
    """A center of few digits: whole numbers less it have exact squares, so ties stay ties."""
    mantissa, exponent = np.frexp(center)
    return np.asarray(np.ldexp(np.round(mantissa * 1024) / 1024, exponent), np.float64)


def _between(A: Array, B: Array, measure: str, params: tuple[float, ...]) -> Float64:
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
