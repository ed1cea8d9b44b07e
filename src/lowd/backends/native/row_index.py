"""Index of dense rows for Euclidean nearest neighbors: exact, or of measured recall."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _native
from ...progress import step
from ...random import subset
from ..protocol import Array, Float64, Ints, Neighbors
from .arrays import as_rows
from .linear_algebra import NativeLinearAlgebra
from .pruning import PruningProjection, center_and_scale

# Pairs up to which brute force is faster than making a projection, for few features and for more.
# Measured with 2, 3, 20 and 64; at 1000 rows of 3 it takes a quarter of the time, of 64 a half.
FEW_FEATURES, MAX_BRUTE_FORCE_PAIRS = 8, (2**15, 2**17)
MAX_BRUTE_FORCE_QUERIES = 64  # new rows compared with every row; more are worth the projection
MAX_LISTED_NEIGHBORS = 1024  # that a sorted list holds at a fair price
MAX_EXACT_ROWS = 200_000  # up to here the search is exact
MIN_RECALL = 0.99  # beyond: the share of true neighbors that is asked for
RECALL_SAMPLES = 768  # rows on which the recall is measured: standard error 0.001 at k = 10
FIRST_GROUPS = 96  # groups of rows that each group is compared with at first
MAX_REFINEMENTS = 4  # by neighbors of neighbors after that; mostly the second finds little
MAX_SAFE_ENTRY = 1e100  # squares of entries up to here, and from its inverse on, need no scaling


class RowIndex:
    """Index of dense rows under the Euclidean distance, or its square, times a factor."""

    def __init__(
        self,
        ops: NativeLinearAlgebra,
        X: Array,
        measure: str,
        factor: float,
        center: Float64 | None,
    ) -> None:
        self.ops, self.X, self.center = ops, as_rows(X, X.dtype), center
        self.measure, self.root, self.factor = measure, measure == "euclidean", factor

    @cached_property
    def projection(self) -> PruningProjection:
        return PruningProjection.fit(self.X, self.center, self.ops)

    @cached_property
    def neighbor_index(self) -> _native.NeighborIndex[Any]:
        """Made when it is first worth it: few new rows do without."""
        projection = self.projection
        Z = projection.apply(self.X, self.ops)
        given = projection.center, projection.scale, projection.error
        return _native.neighbor_index(self.X, Z, *given, self.ops.threads, step("neighbors"))

    @cached_property
    def unit(self) -> float:
        """A power of two by which rows are scaled, so that squares neither over- nor underflow."""
        if self.X.dtype == np.float32:  # squared in float64
            return 1.0
        return _unit(self.ops.column_statistics(self.X).max_abs)

    @cached_property
    def _in_float64(self) -> RowIndex:
        """For float64 queries of float32 rows."""
        return RowIndex(self.ops, self.X.astype(np.float64), self.measure, self.factor, self.center)

    def others(self, k: int) -> Neighbors:
        n = len(self.X)
        if n * n <= self._max_brute_force_pairs or self._too_many(k):
            lists = _empty_lists(n, k)
            self._search_all_pairs(self.X, self.unit, lists, among=True)
            return lists
        if n > MAX_EXACT_ROWS:
            return self._search_approximately(k)
        lists = _allocate_lists(n, k)
        how = self.root, self.factor, self.unit
        self.neighbor_index.join(*how, *lists[:2], self.ops.threads, step("neighbors"))
        return lists

    def ranks(self, rows: NDArray[np.int64] | None, listed: Ints) -> Ints:
        center, _, scale = center_and_scale(self.X, self.center, self.ops)
        out = np.empty(listed.shape, np.int32)
        how = rows, self.root, self.factor, self.unit, np.ascontiguousarray(listed)
        _native.ranks(self.X, center, scale, *how, out, self.ops.threads, step("ranks"))
        return out

    def query(self, Q: Array, k: int) -> Neighbors:
        if Q.dtype == np.float64 and self.X.dtype == np.float32:
            return self._in_float64.query(Q, k)
        Q, lists = as_rows(Q, self.X.dtype), _empty_lists(len(Q), k)
        pruned = np.zeros(len(Q), bool)
        pairs = len(Q) * len(self.X)
        many = len(Q) > MAX_BRUTE_FORCE_QUERIES and pairs > 2 * self._max_brute_force_pairs
        if many and not self._too_many(k):
            pruned = self.projection.in_range(Q)
        units = self._units(Q)
        for rows in (pruned, ~pruned & (units == self.unit)):
            if not rows.any():
                continue
            part = lists if rows.all() else _empty_lists(int(rows.sum()), k)
            queries = Q if rows.all() else Q[rows]
            if rows is pruned:
                self._search_pruned(queries, part)
            else:
                self._search_all_pairs(queries, self.unit, part, among=False)
            if part is not lists:
                lists.indices[rows], lists.distances[rows] = part.indices, part.distances
        for i in np.flatnonzero(~pruned & (units != self.unit)):
            part = Neighbors(lists.indices[i : i + 1], lists.distances[i : i + 1])
            self._search_all_pairs(Q[i : i + 1], float(units[i]), part, among=False)
        return lists

    def _units(self, Q: Array) -> Float64:
        """The unit of each row: a smaller one where its squares would overflow."""
        if Q.dtype == np.float32:
            return np.ones(len(Q))
        largest = np.abs(Q).max(1, initial=0)
        units = np.full(len(Q), self.unit)
        for i in np.flatnonzero(largest * self.unit > MAX_SAFE_ENTRY):
            units[i] = min(self.unit, _unit(float(largest[i])))
        return units

    @property
    def _max_brute_force_pairs(self) -> int:
        return MAX_BRUTE_FORCE_PAIRS[self.X.shape[1] > FEW_FEATURES]

    def _too_many(self, k: int) -> bool:
        """Whether lists of k neighbors are so long that pruning rules out little."""
        return k > MAX_LISTED_NEIGHBORS or 8 * k > len(self.X)

    def _search_all_pairs(self, Q: Array, unit: float, lists: Neighbors, among: bool) -> None:
        how = among, self.root, self.factor, unit
        out = lists.indices, lists.distances, self.ops.threads, step("neighbors")
        _native.nearest(Q, self.X, *how, *out)

    def _search_pruned(self, Q: Array, lists: Neighbors) -> None:
        Z, out = self.projection.apply(Q, self.ops), (lists.indices, lists.distances)
        given = Q, Z, self.root, self.factor, self.unit
        self.neighbor_index.query(*given, *out, self.ops.threads, step("neighbors"))

    def _search_approximately(self, k: int) -> Neighbors:
        """Pairs of near groups, then neighbors of neighbors, until a sample has its recall."""
        threads, poll = self.ops.threads, step("neighbors")
        sample = subset(0, "recall", len(self.X), RECALL_SAMPLES)
        truth = _leave_out(self.query(self.X[sample], k + 1).indices, sample)
        index, how = self.neighbor_index, (self.root, self.factor, self.unit)
        centroids = np.empty((index.groups, index.coordinates), np.float32)
        index.centroids(centroids)
        candidates = index.candidate_lists(*how, k, threads)
        lists, near = _allocate_lists(len(self.X), k), FIRST_GROUPS
        while 4 * near < index.groups:
            groups = RowIndex(self.ops, centroids, "euclidean", 1, None).others(near).indices
            candidates.join(groups, threads, poll)
            if candidates.unpruned_fraction(threads, poll) < 8 * near / index.groups:
                break  # bounding boxes rule out nearly all others
            candidates.nn_descent(groups, MAX_REFINEMENTS, threads, poll)
            candidates.copy_to(*lists[:2], threads)
            recall = _recall(truth, lists.indices[sample])
            if recall >= MIN_RECALL:
                return lists._replace(recall=recall)
            near *= 2
        candidates.join(None, threads, poll)
        candidates.copy_to(*lists[:2], threads)
        return lists


def _allocate_lists(n: int, k: int) -> Neighbors:
    return Neighbors(np.empty((n, k), np.int32), np.empty((n, k)))


def _empty_lists(n: int, k: int) -> Neighbors:
    return Neighbors(np.full((n, k), -1, np.int32), np.full((n, k), np.inf))


def _recall(truth: Ints, found: Ints) -> float:
    hits = sum(len(np.intersect1d(a, b)) for a, b in zip(truth, found, strict=True))
    return hits / truth.size


def _leave_out(indices: Ints, own: NDArray[np.int64]) -> Ints:
    """Each list less its own row, or less the last if that is missing (many duplicates)."""
    k = indices.shape[1] - 1
    other = indices != own[:, None]
    other[other.all(1), k] = False
    return np.asarray(indices[other].reshape(len(own), k))


def _unit(largest: float) -> float:
    """A power of two that keeps squares of differences in range."""
    if largest == 0 or not np.isfinite(largest) or 1 / MAX_SAFE_ENTRY < largest < MAX_SAFE_ENTRY:
        return 1.0
    return float(2.0 ** -np.clip(int(np.frexp(largest)[1]), -1000, 1000))
