"""Neighbor probabilities of SNE and t-SNE: conditional and joint, of a given perplexity."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..backends.protocol import (
    Array,
    Backend,
    Float64,
    Graph,
    Perplexity,
    Ragged,
    square_distances,
)
from ..backends.row_hash import hash_rows
from ..distances.metrics import Distances
from ..distances.nearest import Nearest
from ..distances.protocol import DistanceRelation
from ..domains import AtLeast, Count, Facts, Increasing, Index, NotStored, Positive, Shape
from ..errors import DataError, ParameterError
from ..graph.duplicates import DistinctPoints
from ..graph.given import cut_listed
from ..graph.search import replace_rows
from ..input.row_order import invert_order
from ..input.sample import Items
from ..values import value
from .new_neighbors import find_new_neighbors
from .perplexity_neighbors import count_new_neighbors
from .protocol import NeighborRelation
from .signatures import Signatures, normalize_rows

TINY = np.finfo(np.float64).tiny  # the smallest probability that a logarithm is taken of
MAX_SCALED_SQUARE = 1e300  # in units of a radius, which may be tiny; sums of lists stay finite


class ConditionalProbabilities(NamedTuple):
    """Conditional probabilities p(j|i) of new points i over training points j, their neighbors."""

    neighbors: Ragged
    p: Float64
    nearest: Nearest


class JointProbabilities(NamedTuple):
    """Joint probabilities p_ij, symmetric with sum 1, and the rows' precisions β = 1/2σ².

    SNE also needs the conditional probabilities p_j|i and Σ p log p, their negative entropy.
    """

    P: Graph
    beta: Float64
    negative_entropy: float = 0.0
    conditional: csr_array | None = None  # where each row has its own distribution


ProbabilityRelation: TypeAlias = NeighborRelation[JointProbabilities, ConditionalProbabilities]


class Similarities(NamedTuple):
    """Joint probabilities of the distinct points, and the relation that extends them to new ones.

    Points as of `graph.duplicates.DistinctPoints`, without their edges: those of a million rows
    are gigabytes, and nobody needs them any more.
    """

    joint: JointProbabilities | None  # None of a single point
    relation: ProbabilityRelation
    base: DistanceRelation
    first_row: NDArray[np.int64]
    point_of_row: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        relation: ProbabilityRelation,
        points: DistinctPoints,
        order: NDArray[np.int64],
        ops: Backend,
    ) -> Similarities:
        """From the points of the rows in another order."""
        joint = relation.among(ops) if points.n_points > 1 else None
        frozen, base = relation.freeze(), points.base
        if isinstance(frozen, PerplexityProbabilities) and isinstance(base, Distances):
            base = frozen.base  # the rows once, not twice
        first_row, point_of_row = order[points.first_row], points.point_of_row[invert_order(order)]
        return cls(joint, frozen, base, first_row, point_of_row)


@value
class PerplexityProbabilities:
    """Gaussian neighbor probabilities exp(-β d²) with β such that the perplexity is as given.

    Of several perplexities the probabilities are averaged; without one all neighbors are equally
    likely.

    A new point's probabilities are the mean of those of its distances and of those of its distances
    in units of each training point's radius, the distance of its u-th neighbor for perplexity u.
    Where rows differ in the size of their noise, plain distances rank training points by their
    noise; the radii hold the same noise, and it cancels.
    """

    base: DistanceRelation  # of the distinct points
    perplexities: Annotated[tuple[Positive, ...], Shape("perplexities", may_be_empty=True)]
    n_neighbors: Count
    # Of the training points, nearest first; None once frozen.
    edges: Annotated[csr_array | None, NotStored()] = None
    per_row: bool = False  # the KL divergence is summed over rows (SNE), not pairs
    # Of each training point, a column per perplexity; None until frozen.
    radii: Annotated[Float64, Shape("n", "perplexities"), AtLeast(0)] | None = None

    @classmethod
    def of(
        cls,
        points: DistinctPoints,
        perplexities: tuple[float, ...],
        n_neighbors: int | None,
        per_row: bool,
        is_given: bool,
    ) -> PerplexityProbabilities:
        """Of the distinct points and their neighbors, which may be `n_neighbors` or given."""
        count = count_new_neighbors(points, perplexities, n_neighbors, is_given)
        return cls(points.base, perplexities, count, points.edges, per_row)

    def among(self, ops: Backend) -> JointProbabilities:
        assert self.edges is not None
        if not self.per_row and self._has_one_target(self.edges):
            P, beta, _ = ops.similarity_graph(self.edges, Perplexity(self.perplexities[0]))
            return JointProbabilities(P, beta[:, None])
        p, beta = self._conditional(self.edges, ops)
        rows = csr_array((p, self.edges.indices, self.edges.indptr), self.edges.shape)
        return symmetrize_probabilities(rows, beta, ops, self.per_row)

    def toward(self, Q: Items, ops: Backend) -> ConditionalProbabilities:
        return self.from_neighbors(find_new_neighbors(self.base, Q, self.n_neighbors, ops), ops)

    def from_neighbors(self, near: csr_array, ops: Backend) -> ConditionalProbabilities:
        near = cut_listed(near, self.n_neighbors)
        indptr = near.indptr.astype(np.int64)
        p, _ = self._conditional(near, ops)
        if self.radii is not None:
            p = (p + self._scaled_conditional(near, ops)) / 2
        neighbors = Ragged(indptr, near.indices.astype(np.int32))
        return ConditionalProbabilities(neighbors, p, Nearest.in_lists(near))

    def freeze(self) -> PerplexityProbabilities:
        radii = self.radii if self.edges is None else self._radii(self.edges)
        return replace(self, base=self.base.freeze(), edges=None, radii=radii)

    def _has_one_target(self, edges: csr_array) -> bool:
        """Is there one perplexity, and are all lists as long?"""
        targets, counts = self.perplexities, np.diff(edges.indptr)
        return len(targets) == 1 and len(counts) > 0 and bool(counts.min() >= targets[0])

    def _conditional(self, edges: csr_array, ops: Backend) -> tuple[Float64, Float64]:
        """Probabilities of each row's neighbors, and β of each row and perplexity."""
        indptr = edges.indptr.astype(np.int64)
        if not self.perplexities:
            count = np.diff(indptr)
            return np.repeat(1 / np.maximum(count, 1), count), np.zeros((len(count), 0))
        squares = square_distances(edges.data)
        found = [_fit_perplexity(indptr, squares, target, ops) for target in self.perplexities]
        p = np.mean([one for one, _ in found], axis=0) if found[1:] else found[0][0]
        return p, np.stack([beta for _, beta in found], axis=1)

    def _radii(self, edges: csr_array) -> Float64 | None:
        """Distance of each point's u-th listed neighbor, or of its last, for each perplexity u."""
        counts = np.diff(edges.indptr)
        if not self.perplexities or not counts.all():
            return None
        columns = [edges.data[edges.indptr[:-1] + _ranks(counts, u)] for u in self.perplexities]
        return np.stack(columns, axis=1, dtype=np.float64)

    def _scaled_conditional(self, near: csr_array, ops: Backend) -> Float64:
        """Probabilities of new points' neighbors by distances in units of the neighbors' radii.

        A new point's excess noise a is subtracted: so much that it lies within the radii of u
        training points, as a training point does on average.
        """
        assert self.radii is not None
        indptr, counts = near.indptr.astype(np.int64), np.diff(near.indptr)
        squares, p = square_distances(near.data), np.zeros(len(near.data))
        for u, radii in zip(self.perplexities, self.radii.T, strict=True):
            squared_radii = np.maximum(square_distances(radii[near.indices]), TINY)
            excess = _select_ranked(squares - squared_radii, indptr, _ranks(counts, u))
            a = np.repeat(np.maximum(excess, 0), counts)
            scaled = np.clip((squares - a) / squared_radii, -MAX_SCALED_SQUARE, MAX_SCALED_SQUARE)
            p += _fit_perplexity(indptr, scaled, u, ops)[0]
        return p / len(self.perplexities)


@value
class PrecomputedProbabilities:
    """Probabilities from precomputed affinities, for training points and for new ones.

    A training row is recognized by a hash of its affinities. Affinities tell no distance between
    samples, so how near a new point is to a training point is measured by how much their
    probabilities differ (`signatures`).
    """

    keys: Annotated[NDArray[np.uint64], Shape("n"), Increasing()]  # hashes of the rows
    rows: Annotated[NDArray[np.int64], Shape("n"), Index("n")]  # whose hashes they are
    # Of new rows' affinities, in the order of W's.
    columns: Annotated[NDArray[np.int64], Shape("n"), Index("n")]
    signatures: Signatures  # of the training rows' probabilities
    # Among the training points; None once frozen.
    W: Annotated[csr_array | Array | None, NotStored()] = None
    per_row: bool = False  # as of PerplexityProbabilities

    @classmethod
    def of(
        cls, W: csr_array | Array, order: NDArray[np.int64], per_row: bool
    ) -> PrecomputedProbabilities:
        """Affinities of the training points in another order; those of new ones come as before."""
        W = csr_array(W[order][:, order])
        keys = hash_rows(W.astype(np.float64))
        rows = np.argsort(keys, kind="stable")
        return cls(keys[rows], rows, order, Signatures.of(_nonzero_entries(W)), W, per_row)

    def among(self, ops: Backend) -> JointProbabilities:
        """Symmetric affinities without their diagonal, divided by their sum."""
        P = csr_array(self.W, dtype=np.float64, copy=True)
        rows = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
        P.data[rows == P.indices] = 0
        P.eliminate_zeros()
        P.sort_indices()
        n, degrees = P.shape[0], np.asarray(P.sum(1)).ravel()
        if not degrees.any():
            raise DataError("affinity='precomputed': all weights between different rows are 0.")
        beta = np.empty((n, 0))
        if self.per_row:
            P.data /= np.repeat(degrees, np.diff(P.indptr))
            return symmetrize_probabilities(P, beta, ops, self.per_row)
        P.data /= P.data.max(initial=TINY)
        P.data /= P.data.sum() or 1.0
        return JointProbabilities(P, beta)

    def toward(self, Q: csr_array | Array, ops: Backend) -> ConditionalProbabilities:
        rows = _nonzero_entries(Q[:, self.columns])
        nearest = self._find_nearest(rows, ops)
        isolated = np.flatnonzero(np.diff(rows.indptr) == 0)
        if len(isolated):  # no affinity at all: the same to all
            rows = replace_rows(rows, isolated, csr_array(np.ones((len(isolated), rows.shape[1]))))
        indptr = rows.indptr.astype(np.int64)
        neighbors = Ragged(indptr, rows.indices.astype(np.int32))
        return ConditionalProbabilities(neighbors, normalize_rows(rows).data, nearest)

    def _find_nearest(self, rows: csr_array, ops: Backend) -> Nearest:
        """The training point whose affinities are most alike; at distance 0 if they are equal."""
        keys = hash_rows(rows)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        known = self.keys[at] == keys
        nearest = self.signatures.find_nearest(rows, ops)
        return nearest._replace(
            point=np.where(known, self.rows[at], nearest.point),
            distance=np.where(known, 0.0, nearest.distance),
            ratio=np.where(known, 0.0, nearest.ratio),
        )

    def from_neighbors(self, near: csr_array, ops: Backend) -> ConditionalProbabilities:  # noqa: ARG002
        raise ParameterError("neighbors= would be ignored: affinity='precomputed' has them.")

    def freeze(self) -> PrecomputedProbabilities:
        return replace(self, W=None)

    def state_facts(self, facts: Facts) -> None:
        facts.set("input", "affinity")
        facts.equate("n", "d")


def _nonzero_entries(W: csr_array | Array) -> csr_array:
    """A copy in float64, without stored zeros, each row in the order of its columns."""
    rows = csr_array(W, dtype=np.float64, copy=True)
    rows.eliminate_zeros()
    rows.sort_indices()
    return rows


def symmetrize_probabilities(
    rows: csr_array, beta: Float64, ops: Backend, per_row: bool
) -> JointProbabilities:
    """Joint probabilities from the conditional ones of each row, which have sum 1."""
    P = ops.similarity_graph(rows, None).graph
    if not per_row:
        return JointProbabilities(P, beta)
    return JointProbabilities(P, beta, compute_negative_entropy(rows.data), rows)


def compute_negative_entropy(p: Float64) -> float:
    """Σ p log p."""
    return float((p * np.log(np.maximum(p, TINY))).sum())


def _ranks(counts: NDArray[np.int64], perplexity: float) -> NDArray[np.int64]:
    """The rank, from 0, of the u-th entry of lists for perplexity u; of shorter ones the last."""
    return np.minimum(counts, max(1, round(perplexity))) - 1


def _select_ranked(values: Float64, indptr: NDArray[np.int64], ranks: NDArray[np.int64]) -> Float64:
    """Of each list the value of a rank, from 0 for the smallest; lists of one length share it."""
    counts, chosen = np.diff(indptr), np.empty(len(ranks))
    for count in np.unique(counts):
        rows = np.flatnonzero(counts == count)
        lists = values[indptr[rows, None] + np.arange(count)]
        rank = int(ranks[rows[0]])
        chosen[rows] = np.partition(lists, rank, axis=1)[:, rank]
    return chosen


def _fit_perplexity(
    indptr: NDArray[np.int64], squares: Float64, target: float, ops: Backend
) -> tuple[Float64, Float64]:
    """Conditional probabilities; a list shorter than the target has its length as target."""
    p, beta, _ = ops.calibrate_rows(indptr, squares, Perplexity(target))
    counts = np.diff(indptr)
    for count in np.unique(counts[counts < target]):
        rows = np.flatnonzero(counts == count)
        entries = (indptr[rows, None] + np.arange(count)).ravel()
        own = np.arange(0, len(entries) + 1, count)
        rule = Perplexity(float(count))
        p[entries], beta[rows], _ = ops.calibrate_rows(own, squares[entries], rule)
    return p, beta
