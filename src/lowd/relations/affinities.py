"""How strongly points are tied: weights that fall with distance, along a graph or everywhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, issparse
from scipy.sparse.csgraph import connected_components

from ..backends.protocol import Array, Backend, Float64, Neighbors
from ..distances.protocol import DistanceRelation
from ..errors import DataError, ParameterError
from ..graph.components import OnDisconnected, connect_components, describe_sizes, rank_by_size
from ..graph.duplicates import DistinctPoints, merge_duplicates
from ..graph.neighbor_graph import ConnectedGraph, connect, find_distinct
from ..graph.search import TIE_TOLERANCE, count_points, find_neighbors
from ..values import value
from .bandwidth import NEAR, NEXT, Lengths, typical_scale

# A tie so weak is no different from none, but can still be divided by.
FLOOR = 1e-30
# A bridge is as strong as a tie over 3σ at least: the longest ordinary edge may be an outlier's.
BRIDGE = float(np.exp(-4.5))
# Points further apart than this many σ are not tied, as far as eigenvectors can tell (w < 1e-8).
APART = 6.07


class Ties(NamedTuple):
    """What ties new points to the training points.

    The weights of row i are exp(scale[i]) times those stored, so that a far point keeps its
    digits. `at[i]` is the training point that row i falls on, or has to make do with because it
    has no neighbor; else -1.
    """

    weights: csr_array | Array
    scale: Float64
    at: NDArray[np.int64]
    lonely: NDArray[np.bool_]  # has to make do

    def times(self, V: Float64, ops: Backend) -> Float64:
        if issparse(self.weights):
            return np.asarray(self.weights @ V)
        return ops.project(self.weights, None, V).astype(np.float64)


@value
class Affinities:
    """exp(-d²/2σ²), or 1 without a σ, between neighbors: k nearest, within a radius, or all.

    A new point is a neighbor of a training point if it is one of the other's k nearest, in either
    direction. `reach` holds how far the training points' k-th neighbors are, so what a training
    point would find as a new one is its own row of the graph.
    """

    base: DistanceRelation
    sigma: float | None
    k: int | None = None
    reach: Float64 | None = None
    radius: float | None = None

    def toward(self, Q: Any, ops: Backend) -> Ties:
        D = np.asarray(self.base.toward(Q, ops))
        nearest = D.argmin(1)
        least = D[np.arange(len(D)), nearest].astype(np.float64)
        joined = self._joined(D, least == 0)
        if joined is None:
            scale = -self._halves(least)
            weights = np.exp(-scale[:, None] - self._halves(D))
            return Ties(weights, scale, np.where(least == 0, nearest, -1), np.zeros(len(D), bool))
        starts = np.concatenate([[0], np.cumsum(joined.sum(1))])
        row, column = np.nonzero(joined)
        near = csr_array((D[row, column].astype(np.float64), column, starts), shape=D.shape)
        return self._tied(near, nearest, least)

    def from_neighbors(self, near: csr_array) -> Ties:
        """The same for points whose neighbors are known, nearest first."""
        if self.radius is None and self.reach is None:
            raise ParameterError("neighbors= would be ignored: every row is tied to all others.")
        count, first = np.diff(near.indptr), near.indptr[:-1]
        least, nearest = near.data[first], near.indices[first].astype(np.int64)
        limit: Any = self.radius
        if limit is None:
            assert self.k is not None
            assert self.reach is not None
            own = near.data[first + np.minimum(self.k - 1 + (least == 0), count - 1)]
            limit = np.maximum(np.repeat(own, count), self.reach[near.indices])
        kept = near.data <= limit * (1 + TIE_TOLERANCE[near.data.dtype])
        starts = np.concatenate([[0], np.cumsum(kept)])[near.indptr]
        lists = csr_array((near.data[kept], near.indices[kept], starts), shape=near.shape)
        return self._tied(lists, nearest, least)

    def _tied(self, near: csr_array, nearest: NDArray[np.int64], least: Float64) -> Ties:
        scale, count = -self._halves(least), np.diff(near.indptr)
        weights = np.exp(-np.repeat(scale, count) - self._halves(near.data))
        lonely = count == 0
        at = np.where((least == 0) | lonely, nearest, -1)
        return Ties(csr_array((weights, near.indices, near.indptr), near.shape), scale, at, lonely)

    def freeze(self) -> Affinities:
        return replace(self, base=self.base.freeze())

    def _joined(self, D: Array, known: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
        """Which training points are neighbors of each new point; None if all are.

        A point on a training point has that one besides its k others.
        """
        slack = 1 + TIE_TOLERANCE[D.dtype]
        if self.radius is not None:
            return np.asarray(self.radius * slack >= D)
        if self.k is None or self.reach is None:
            return None
        n = D.shape[1]
        last = min(self.k, n) - 1
        beyond = min(last + 1, n - 1)
        near = np.partition(D, (last, beyond), axis=1)
        own = np.where(known, near[:, beyond], near[:, last])
        return np.asarray(np.maximum(own[:, None], self.reach) * slack >= D)

    def _halves(self, d: Array) -> Float64:
        """d²/2σ²; sizes beyond any square count as the largest."""
        if self.sigma is None:
            return np.zeros(d.shape)
        with np.errstate(over="ignore"):
            ratio = d.astype(np.float64)
            ratio /= self.sigma
        np.minimum(ratio, 1e150, out=ratio)
        ratio *= ratio
        ratio *= 0.5
        return ratio


@value
class GivenAffinities:
    """Weights that the caller computed, for training and for new points."""

    rows: NDArray[np.int64] | None = None

    def toward(self, Q: Any, ops: Backend) -> Ties:  # noqa: ARG002 - a relation's signature
        chosen = Q if self.rows is None else Q[:, self.rows]
        m = Q.shape[0]
        weights = chosen if issparse(chosen) else np.ascontiguousarray(chosen, np.float64)
        return Ties(weights, np.zeros(m), np.full(m, -1), np.zeros(m, bool))

    def from_neighbors(self, near: csr_array) -> Ties:  # noqa: ARG002
        raise ParameterError("neighbors= would be ignored: the affinities are given.")

    def freeze(self) -> GivenAffinities:
        return self


class Net(NamedTuple):
    """Weights among the distinct points (see `graph.Graph`), and the same for new points."""

    weights: csr_array | Array
    relation: Affinities | GivenAffinities
    point_of_row: NDArray[np.int64]
    counts: Float64
    report: dict[str, Any]
    lengths: Lengths | None = None  # of ties, or of a sample of them

    @property
    def trivial(self) -> bool:
        """A single point: there is nothing to see."""
        return len(self.counts) == 1


def along_graph(
    base: DistanceRelation,
    k: int | None,
    radius: float | None,
    sigma: float | None,
    ops: Backend,
    on_disconnected: OnDisconnected,
    *,
    binary: bool = False,
    loops: bool = False,
    near: bool = False,
    ready: csr_array | None = None,
) -> Net:
    """Ties between neighbors. σ is how far their last one typically is, or that of all pairs."""
    points = (
        merge_duplicates(base, ready)
        if ready is not None
        else find_distinct(base, k, radius, ops, include_ties=True)
    )
    if sigma is None and not binary:
        sigma = _near_scale(points.edges, k) if near and k else _scale(points.edges, k, radius)
    single = len(points.first_row) == 1
    reach = None if k is None or single else _reach(points.edges, k)
    relation = Affinities(points.base, None if binary else sigma, k, reach, radius)
    graph = _single(points) if single else connect(points, k, radius, ops, on_disconnected)
    W = csr_array((1, 1)) if single else _weights(graph, relation)
    W = csr_array(W + eye_array(W.shape[0])) if loops else W
    report = {**graph.report, "sigma": sigma}
    if reach is not None:
        report["neighbor_radii"] = reach[graph.point_of_row]
    return Net(W, relation, graph.point_of_row, graph.counts, report, Lengths.of(graph.edges))


def _near_scale(edges: csr_array, k: int) -> float:
    third = _scale(edges, min(NEAR, k), None)
    return typical_scale(third, _scale(edges, NEXT, None)) if k >= NEXT else third


def _reach(edges: csr_array, k: int) -> Float64:
    """The distance of each point's k-th neighbor; of its last in a graph that has fewer."""
    held = np.minimum(np.diff(edges.indptr), k)
    at = np.minimum(edges.indptr[:-1] + np.maximum(held, 1) - 1, max(edges.nnz - 1, 0))
    return np.where(held > 0, edges.data[at], 0.0)


def _scale(edges: csr_array, k: int | None, radius: float | None) -> float:
    """The median distance to the k-th neighbor, or to the last one within the radius."""
    held = np.diff(edges.indptr) > 0
    starts = edges.indptr[:-1][held]
    if not len(starts):
        return radius or 1.0
    last = np.maximum.reduceat(edges.data, starts) if k is None else _reach(edges, k)[held]
    return float(np.median(last))


def _single(points: DistinctPoints) -> ConnectedGraph:
    """The graph of one point."""
    return ConnectedGraph(*points, np.zeros(1, np.int64), np.empty((0, 2), np.int64))


def _weights(graph: ConnectedGraph, relation: Affinities) -> csr_array:
    lengths = graph.symmetric_edges()
    weights = np.maximum(np.exp(-relation._halves(lengths.data)), FLOOR)
    W = csr_array((weights, lengths.indices, lengths.indptr), lengths.shape)
    if len(graph.bridges):
        at = np.concatenate([_positions(W, a, b) for a, b in graph.bridges])
        weights[at] = 1.0
        weights[at] = max(float(weights.min()), BRIDGE)
    return W


def _positions(W: csr_array, a: int, b: int) -> NDArray[np.int64]:
    """Where the entries (a, b) and (b, a) are stored; columns are sorted."""
    starts = W.indptr
    return np.array(
        [
            starts[i] + np.searchsorted(W.indices[starts[i] : starts[i + 1]], j)
            for i, j in ((a, b), (b, a))
        ]
    )


def between_all(
    base: DistanceRelation,
    sigma: float | None,
    ops: Backend,
    on_disconnected: OnDisconnected,
    *,
    loops: bool,
) -> Net:
    """Ties between all pairs. σ comes from the distances to the third and the sixth neighbor."""
    points, near = _distinct(base, ops)
    base, count = points.base, len(points.first_row)
    if near is None:
        relation = Affinities(base, sigma or 1.0)
        report = {**_single(points).report, "sigma": sigma or 1.0}
        return Net(np.ones((1, 1)), relation, points.point_of_row, points.counts, report)
    if sigma is None:
        sigma = float(np.median(near.distances[:, min(NEAR, count - 1) - 1]))
        if count > NEXT:
            sigma = typical_scale(sigma, float(np.median(near.distances[:, -1])))
    relation = Affinities(base, sigma)
    D = base.among(ops)
    pieces, pairs = _pieces(D, near, sigma), np.empty((0, 2), np.int64)
    W = relation._halves(D)
    W = np.asarray(np.exp(np.negative(W, out=W), out=W), D.dtype)
    if pieces.max() > 0:
        pairs = _connect(points, pieces, sigma, ops, on_disconnected)
        a, b = pairs.T
        W[a, b] = W[b, a] = np.maximum(W[a, b], BRIDGE)
    np.fill_diagonal(W, 1.0 if loops else 0.0)
    report = {**ConnectedGraph(*points, pieces, pairs).report, "sigma": sigma}
    return Net(W, relation, points.point_of_row, points.counts, report, Lengths.of(D))


def _distinct(base: DistanceRelation, ops: Backend) -> tuple[DistinctPoints, Neighbors | None]:
    """The distinct points, and the nearest of each; one point has none."""
    n = count_points(base)
    if n > 1:
        near = find_neighbors(base, min(NEXT, n - 1), ops)
        if near.distances[:, 0].all():  # no copies: one search does for both
            links = near.distances[:, 0], near.indices[:, 0], np.arange(n + 1)
            every, mass = np.arange(n), np.ones(n)
            return DistinctPoints(
                base, csr_array(links, (n, n)), every, every, mass, near.recall
            ), near
    points = find_distinct(base, 1, None, ops)
    count = len(points.first_row)
    return points, None if count == 1 else find_neighbors(points.base, min(NEXT, count - 1), ops)


def _pieces(D: Array, near: Neighbors, sigma: float) -> NDArray[np.int64]:
    """Which points are tied, directly or by others. Near neighbors usually settle it."""
    n, k = near.indices.shape
    close = near.distances.ravel() <= APART * sigma
    row = np.repeat(np.arange(n), k)[close]
    links = csr_array((np.ones(len(row)), (row, near.indices.ravel()[close])), shape=(n, n))
    count, label = connected_components(links, directed=False)
    if count > 1:
        label = _reached(D, APART * sigma)
    return rank_by_size(label)


def _reached(D: Array, reach: float) -> NDArray[np.int64]:
    """Labels of what steps of at most `reach` connect: a few rows of D mostly reach all."""
    label, name = np.full(len(D), -1), 0
    while (label < 0).any():
        waiting = [int(np.argmin(label))]
        label[waiting] = name
        while waiting and (label < 0).any():
            new = np.flatnonzero((label < 0) & (D[waiting.pop()] <= reach))
            label[new] = name
            waiting.extend(new)
        name += 1
    return label


def _connect(
    points: DistinctPoints,
    components: NDArray[np.int64],
    sigma: float,
    ops: Backend,
    on_disconnected: OnDisconnected,
) -> NDArray[np.int64]:
    """Bridges between components that the kernel leaves unconnected, with a warning."""
    sizes = np.bincount(components, points.counts).astype(int)
    found = (
        f"a kernel of sigma={sigma:.3g} is 0 beyond {APART * sigma:.3g}, which leaves "
        f"{describe_sizes(sizes)}"
    )
    how = points.base, components, found, "sigma", ops, on_disconnected
    return connect_components(*how)[0]


def as_given(W: Any, rows: NDArray[np.int64] | None) -> Net:
    """Ties that the caller computed, the diagonal included: nothing can be merged or joined."""
    if rows is not None:
        W = (
            csr_array(W[rows][:, rows])
            if issparse(W)
            else np.ascontiguousarray(W[np.ix_(rows, rows)])
        )
    n = W.shape[0]
    place = np.arange(n)
    report = {"n_graph_components": 1, "graph_components": np.zeros(n, np.int64)}
    net = Net(W, GivenAffinities(rows), place, np.ones(n), report)
    if n == 1:
        return net
    tied = W if issparse(W) else csr_array(W)
    count, label = connected_components(tied, directed=False)
    if count > 1:
        label = rank_by_size(label)
        raise DataError(
            f"affinity='precomputed': the weights leave {describe_sizes(np.bincount(label))}; row "
            f"{int(np.argmax(label == count - 1))} is in the smallest. Without distances they "
            "cannot be connected: add weights between them, or fit them one by one."
        )
    return net
