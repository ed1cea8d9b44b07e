"""How likely a point picks another as its neighbor: the affinities of SNE and t-SNE."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .. import random
from ..backends.protocol import Backend, Float64, Ragged
from ..distances.precomputed import NeighborListDistances
from ..distances.protocol import DistanceRelation
from ..errors import DataError, ParameterError, RankWarning, UnsupportedError, warn
from ..graph.duplicates import merge_duplicates
from ..graph.given import check_lists_toward, select_listed
from ..graph.search import count_points, find_nearest, find_neighbors, to_csr
from ..values import value

ALL = 500  # up to so many points every other one is a neighbor
TINY = np.finfo(np.float64).tiny
REACH = 3  # neighbors beyond so many perplexities pick each other with a chance of 1 % together


class Chances(NamedTuple):
    """Of each new point: the training points it may pick, and their chances.

    `at` is the training point that a new one falls on, else -1.
    """

    near: Ragged
    p: Float64
    at: NDArray[np.int64]


class Joint(NamedTuple):
    """Chances of pairs, symmetric with sum 1; the rows' β; Σ p log p over rows, if it counts."""

    P: csr_array
    beta: Float64
    information: float = 0.0


@value
class Perplexity:
    """exp(-β d²) of the k nearest, β such that about `perplexities` of them count.

    Of several perplexities the chances are averaged; of none all k count alike.
    """

    base: DistanceRelation
    perplexities: tuple[float, ...]
    k: int

    def among(self, edges: csr_array, ops: Backend, by_rows: bool) -> Joint:
        """Chances among the training points, whose neighbors are known."""
        p, beta = self._chances(edges, ops)
        rows = csr_array((p, edges.indices, edges.indptr), edges.shape)
        return symmetric(rows, beta, ops, by_rows)

    def toward(self, Q: Any, ops: Backend) -> Chances:
        if isinstance(
            self.base, NeighborListDistances
        ):  # its neighbors are what a new point is given by
            if self.base.count < Q.shape[1]:
                raise UnsupportedError(
                    f"this graph of {Q.shape[1]} rows has {self.base.count} distinct ones, so the "
                    "neighbors of new rows are not known; fit a graph without copies."
                )
            lists = check_lists_toward(Q, *Q.shape)
            return self.from_neighbors(select_listed(lists, None, np.inf), ops)
        near = find_nearest(self.base, Q, min(self.k, count_points(self.base, Q)), ops)
        return self.from_neighbors(to_csr(near, count_points(self.base, Q)), ops)

    def from_neighbors(self, edges: csr_array, ops: Backend) -> Chances:
        """The same for points whose neighbors are known, nearest first."""
        starts = edges.indptr.astype(np.int64)
        nearest_one = edges.indices[starts[:-1]].astype(np.int64)
        at = np.where(edges.data[starts[:-1]] == 0, nearest_one, -1)
        p, _ = self._chances(edges, ops)
        return Chances(Ragged(starts, edges.indices.astype(np.int32)), p, at)

    def freeze(self) -> Perplexity:
        return Perplexity(self.base.freeze(), self.perplexities, self.k)

    def _chances(self, edges: csr_array, ops: Backend) -> tuple[Float64, Float64]:
        starts = edges.indptr.astype(np.int64)
        if not self.perplexities:
            count = np.diff(starts)
            return np.repeat(1 / np.maximum(count, 1), count), np.zeros((len(count), 0))
        squares = np.minimum(edges.data, 1e150, dtype=np.float64)
        squares *= squares
        found = [_found(starts, squares, t, ops) for t in self.perplexities]
        p = np.mean([one for one, _ in found], axis=0) if found[1:] else found[0][0]
        return p, np.stack([beta for _, beta in found], axis=1)


def _found(
    starts: NDArray[np.int64], squares: Float64, target: float, ops: Backend
) -> tuple[Float64, Float64]:
    """Conditional probabilities; a list shorter than the target has its length as target."""
    p, beta = ops.conditional_probabilities(starts, squares, target)
    counts = np.diff(starts)
    for count in np.unique(counts[counts < target]):
        rows = np.flatnonzero(counts == count)
        entries = (starts[rows, None] + np.arange(count)).ravel()
        own = np.arange(0, len(entries) + 1, count)
        p[entries], beta[rows] = ops.conditional_probabilities(own, squares[entries], float(count))
    return p, beta


@value
class GivenChances:
    """Affinities that the caller computed, for training and for new points.

    A training row is known by 64 bits of its affinities.
    """

    keys: NDArray[np.uint64]  # in increasing order
    rows: NDArray[np.int64]  # whose keys they are

    @classmethod
    def of(cls, W: Any) -> GivenChances:
        keys = _keys(csr_array(W, dtype=np.float64))
        order = np.argsort(keys, kind="stable")
        return cls(keys[order], order)

    def toward(self, Q: Any, ops: Backend) -> Chances:  # noqa: ARG002 - a relation's signature
        rows = csr_array(Q, dtype=np.float64, copy=True)
        rows.eliminate_zeros()
        keys = _keys(rows)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        known = np.where(self.keys[at] == keys, self.rows[at], -1)
        none = np.flatnonzero(np.diff(rows.indptr) == 0)
        if len(none):  # tied to nobody: to all alike
            full = np.asarray(csr_array(Q).toarray(), np.float64)
            full[none] = 1
            rows = csr_array(full)
        rows.sort_indices()
        starts = rows.indptr.astype(np.int64)
        largest = np.maximum.reduceat(rows.data, starts[:-1])
        p = rows.data / np.repeat(largest, np.diff(starts))
        p /= np.repeat(np.add.reduceat(p, starts[:-1]), np.diff(starts))
        near = Ragged(starts, rows.indices.astype(np.int32))
        return Chances(near, p, known)

    def from_neighbors(self, edges: csr_array, ops: Backend) -> Chances:  # noqa: ARG002
        raise ParameterError("neighbors= would be ignored: the affinities are given.")

    def freeze(self) -> GivenChances:
        return self


def _keys(rows: csr_array) -> NDArray[np.uint64]:
    """64 bits of each row; stored zeros do not count."""
    factors = random.bits(0, "columns", np.arange(rows.shape[1])) | np.uint64(1)
    bits = (rows.data + 0.0).view(np.uint64)
    mixed = (bits ^ (bits >> np.uint64(32))) * factors[rows.indices]
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    return np.asarray(sums[rows.indptr[1:]] - sums[rows.indptr[:-1]])


class Picked(NamedTuple):
    """The distinct points and who may pick whom; fields as in `graph.Distinct`."""

    base: DistanceRelation
    edges: csr_array
    first_row: NDArray[np.int64]
    point_of_row: NDArray[np.int64]
    k: int


def picked(
    base: DistanceRelation,
    perplexities: tuple[float, ...],
    k: int | None,
    ops: Backend,
    ready: csr_array | None,
) -> Picked:
    """Neighbors of the distinct points: a given number, or enough for the perplexities.

    Copies of a point are one point: they share a place, and crowd nobody out of the lists.
    """
    if ready is not None:
        points = merge_duplicates(base, ready)
        count = np.diff(points.edges.indptr)
        most = int(count.min()) if len(points.first_row) > 1 else 0
        _check(perplexities, len(points.first_row), most)
        return Picked(
            points.base, points.edges, points.first_row, points.point_of_row, int(count.max())
        )
    n = count_points(base)
    edges = csr_array((1, 1)) if n == 1 else _neighbors(base, n, perplexities, k, ops)
    points = merge_duplicates(base, edges)
    m = len(points.first_row)
    if m < n and m > 1:
        edges = _neighbors(points.base, m, perplexities, k, ops)
    if m > 1:
        _check(perplexities, m, m - 1)
    if m > 2 and perplexities and min(perplexities) == m - 1:
        warn(
            f"perplexity={m - 1} of {m} distinct rows: each picks all others alike, so the best "
            f"map is one point; use less, such as perplexity={max(1, m // 3)}.",
            RankWarning,
        )
    reach = _reach(m, perplexities, k)
    reach = m if k is None and reach == m - 1 else reach  # a new point has one more other
    return Picked(points.base, edges, points.first_row, points.point_of_row, max(1, reach))


def _neighbors(
    base: DistanceRelation, n: int, perplexities: tuple[float, ...], k: int | None, ops: Backend
) -> csr_array:
    return to_csr(find_neighbors(base, _reach(n, perplexities, k), ops), n)


def _reach(n: int, perplexities: tuple[float, ...], k: int | None) -> int:
    if k is not None:
        return k if n > 1 else 0
    return n - 1 if n <= ALL else min(n - 1, int(np.ceil(REACH * max(perplexities))))


def _check(perplexities: tuple[float, ...], n: int, most: int) -> None:
    """The fact joining perplexity and the data."""
    if perplexities and n > 1 and min(perplexities) < 1:
        raise ParameterError(
            f"perplexity={min(perplexities):g}: a row has at least one neighbor; "
            "use perplexity=1 or more."
        )
    if perplexities and n > 1 and max(perplexities) > most:
        raise ParameterError(
            f"perplexity={max(perplexities):g} needs as many neighbors of each distinct row, but "
            f"there are {most}; use perplexity={most} or less."
        )


def symmetric(rows: csr_array, beta: Float64, ops: Backend, by_rows: bool) -> Joint:
    """From the chances of each row, which have sum 1."""
    return Joint(
        ops.symmetrize_probabilities(rows), beta, information(rows.data) if by_rows else 0.0
    )


def information(p: Float64) -> float:
    return float((p * np.log(np.maximum(p, TINY))).sum())


def as_given(W: Any, by_rows: bool, ops: Backend) -> Joint:
    """Affinities of the caller: symmetric; the diagonal does not count, and the sum becomes 1."""
    P = csr_array(W, dtype=np.float64, copy=True)
    rows = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
    P.data[rows == P.indices] = 0
    P.eliminate_zeros()
    P.sort_indices()
    n, sums = P.shape[0], np.asarray(P.sum(1)).ravel()
    if not sums.any():
        raise DataError("affinity='precomputed': no two rows are tied; all weights are 0.")
    counts = np.diff(P.indptr)
    if by_rows:
        P.data /= np.repeat(sums, counts)
        return symmetric(P, np.empty((n, 0)), ops, by_rows)
    P.data /= P.data.max(initial=TINY)
    P.data /= P.data.sum() or 1.0
    return Joint(P, np.empty((n, 0)))
