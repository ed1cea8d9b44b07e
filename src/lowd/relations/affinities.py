"""Gaussian affinities: edge weights that decay with distance, for training and new points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import signature
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ..backends.protocol import Array, Backend, Float64
from ..distances.callables import name_callable
from ..distances.metrics import Distances
from ..distances.nearest import Nearest
from ..distances.protocol import DistanceRelation
from ..domains import (
    AtLeast,
    Count,
    Facts,
    Index,
    MayBeNonfinite,
    NotStored,
    Positive,
    Shape,
)
from ..errors import DataError, ParameterError
from ..graph.search import TIE_TOLERANCE, find_nearest
from ..input.sample import Items, take_rows
from ..values import value
from .kernels import CallableKernel
from .protocol import NeighborRelation

# d/σ beyond this counts as this: its square is still a number.
MAX_RATIO = 1e150

AffinityMatrix: TypeAlias = csr_array | Array


class AffinitiesToTraining(NamedTuple):
    """Affinities of new points (rows) to the training points (columns).

    The affinities of row i are exp(log_scale[i]) times those stored, so that a far point keeps its
    digits.
    """

    weights: AffinityMatrix
    log_scale: Float64
    nearest: Nearest | None  # None of precomputed affinities, which tell no distance
    isolated: NDArray[np.bool_]  # has no neighbor: takes the coordinates of its nearest

    def matmul(self, V: Float64, ops: Backend) -> Float64:
        if issparse(self.weights):
            return np.asarray(self.weights @ V)
        return ops.project(self.weights, None, V).astype(np.float64)


AffinityRelation: TypeAlias = NeighborRelation[AffinityMatrix, AffinitiesToTraining]


@value
class Affinities:
    """Gaussian affinities exp(-d²/2σ²), or 1 without a σ, between neighbors or all points.

    Neighbors are the k nearest, or all within a radius. A new point and a training point are
    neighbors if either is one of the k nearest of the other. `radii` are the kth distances of the
    training points, so a training point taken for a new one finds its own row of the graph.
    """

    base: DistanceRelation
    sigma: Positive | None
    n_neighbors: Count | None = None
    radii: Annotated[Float64, Shape("n"), AtLeast(0), MayBeNonfinite()] | None = None
    radius: Annotated[float, AtLeast(0), MayBeNonfinite()] | None = None
    # Half where only one of two points is among the k nearest of the other (scikit-learn's rule).
    averaged: bool = False
    # Among the training points; None once frozen.
    W: Annotated[AffinityMatrix | None, NotStored()] = None

    def among(self, ops: Backend) -> AffinityMatrix:  # noqa: ARG002 - a relation's signature
        assert self.W is not None
        return self.W

    def toward(self, Q: Items, ops: Backend) -> AffinitiesToTraining:
        D = np.asarray(self.base.toward(Q, ops))
        nearest = Nearest.in_matrix(D)
        neighbors = self._neighbors(D, nearest.distance == 0)
        if neighbors is None:
            log_scale = -self.exponents(nearest.distance)
            weights = np.exp(-log_scale[:, None] - self.exponents(D))
            return AffinitiesToTraining(weights, log_scale, nearest, np.zeros(len(D), bool))
        indptr = np.concatenate([[0], np.cumsum(neighbors.sum(1))])
        row, column = np.nonzero(neighbors)
        near = csr_array((D[row, column].astype(np.float64), column, indptr), shape=D.shape)
        found = self._weigh(near, nearest)
        if found.isolated.any() and isinstance(self.base, Distances):
            # So far away that their float32 distances to several training points are the same.
            far = np.flatnonzero(found.isolated)
            nearest.point[far] = find_nearest(self.base, take_rows(Q, far), 1, ops).indices[:, 0]
        return found

    def from_neighbors(self, near: csr_array, ops: Backend) -> AffinitiesToTraining:  # noqa: ARG002
        if self.radius is None and self.radii is None:
            raise ParameterError(
                "neighbors= would be ignored: every row has an affinity to all others."
            )
        count, first = np.diff(near.indptr), near.indptr[:-1]
        nearest = Nearest.in_lists(near)
        limit: float | Float64
        if self.radius is not None:
            limit = self.radius
        else:
            assert self.n_neighbors is not None
            assert self.radii is not None
            last = self.n_neighbors - 1 + (nearest.distance == 0)
            own = near.data[first + np.minimum(last, count - 1)]
            limit = np.maximum(np.repeat(own, count), self.radii[near.indices])
        within = near.data <= limit * (1 + TIE_TOLERANCE[near.data.dtype])
        indptr = np.concatenate([[0], np.cumsum(within)])[near.indptr]
        lists = csr_array((near.data[within], near.indices[within], indptr), shape=near.shape)
        return self._weigh(lists, nearest)

    def freeze(self) -> Affinities:
        return replace(self, base=self.base.freeze(), W=None)

    def exponents(self, d: Array) -> Float64:
        """d²/2σ²; beyond any square, the largest."""
        if self.sigma is None:
            return np.zeros(d.shape)
        with np.errstate(over="ignore"):
            ratio = d.astype(np.float64)
            ratio /= self.sigma
        np.minimum(ratio, MAX_RATIO, out=ratio)
        ratio *= ratio
        ratio *= 0.5
        return ratio

    def _weigh(self, near: csr_array, nearest: Nearest) -> AffinitiesToTraining:
        """Affinities of new points from their distances to neighbors."""
        log_scale, count = -self.exponents(nearest.distance), np.diff(near.indptr)
        weights = np.exp(-np.repeat(log_scale, count) - self.exponents(near.data))
        if self.averaged and self.radii is not None:
            own = _kth_smallest(near, self.n_neighbors or 0, nearest.distance == 0)
            weights *= mean_of_directions(near, own, self.radii)
        W = csr_array((weights, near.indices, near.indptr), near.shape)
        return AffinitiesToTraining(W, log_scale, nearest, count == 0)

    def _neighbors(self, D: Array, coincides: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
        """Which training points are neighbors of each new point; None if all are.

        A new point that coincides with a training point has that one besides its k others.
        """
        slack = 1 + TIE_TOLERANCE[D.dtype]
        if self.radius is not None:
            return np.asarray(self.radius * slack >= D)
        if self.n_neighbors is None or self.radii is None:
            return None
        n = D.shape[1]
        last = min(self.n_neighbors, n) - 1
        beyond = min(last + 1, n - 1)
        near = np.partition(D, (last, beyond), axis=1)
        own = np.where(coincides, near[:, beyond], near[:, last])
        return np.asarray(np.maximum(own[:, None], self.radii) * slack >= D)


def mean_of_directions(near: csr_array, own: Float64, radii: Float64) -> Float64:
    """1 where row and column are within each other's radius, 1/2 where one of them is."""
    d, slack = near.data, 1 + TIE_TOLERANCE[near.data.dtype]
    outward = d <= np.repeat(own, np.diff(near.indptr)) * slack
    inward = d <= radii[near.indices] * slack
    return np.asarray((outward.astype(np.float64) + inward) / 2)


def _kth_smallest(near: csr_array, k: int, coincides: NDArray[np.bool_]) -> Float64:
    """The distance of each row's k-th neighbor, not counting a point that coincides with it."""
    row = np.repeat(np.arange(near.shape[0]), np.diff(near.indptr))
    in_order = near.data[np.lexsort((near.data, row))]
    last = near.indptr[:-1] + k - 1 + coincides
    return np.asarray(in_order[np.minimum(last, near.indptr[1:] - 1)])


@dataclass(frozen=True, repr=False)
class AffinityOfAllRows:
    """f(A, B) by scikit-learn's f(X), which returns the affinities among all rows of an array."""

    function: Callable[[Array], Array]

    def __repr__(self) -> str:
        return name_callable(self.function)

    def __call__(self, A: Array, B: Array) -> Array:
        if A is B:
            return self._compute(B)
        return np.stack([self._compute(np.vstack([B, a]))[-1, :-1] for a in A])

    def _compute(self, X: Array) -> Array:
        W = np.asarray(self.function(X))
        if W.shape != (len(X), len(X)):
            raise DataError(
                f"affinity={self} gave numbers of shape {W.shape} for {len(X)} rows; expected "
                f"{(len(X), len(X))}, one per pair."
            )
        return W


def _takes_all_rows(function: Callable[..., Any]) -> bool:
    """Is it a function of one array, not of two?"""
    try:
        parameters = signature(function)
        parameters.bind(None)
    except (TypeError, ValueError):  # it needs more, or does not tell
        return False
    try:
        parameters.bind(None, None)
    except TypeError:
        return True
    return False


@value
class CallableAffinities:
    """Affinities by a callable: f(A, B) -> matrix of rows, f(a, b) -> number, or f(X) -> matrix."""

    base: CallableKernel
    # Among the training points; None once frozen.
    W: Annotated[AffinityMatrix | None, NotStored()] = None

    @classmethod
    def of(cls, items: Items, function: Callable[..., Any], ops: Backend) -> CallableAffinities:
        if _takes_all_rows(function):
            base = CallableKernel(items, AffinityOfAllRows(function), {}, True, "affinity")
        else:
            base = CallableKernel.of(items, function, {}, "affinity")
        return cls(base, _check_nonnegative(base, base.among(ops).stored))

    def among(self, ops: Backend) -> AffinityMatrix:  # noqa: ARG002 - a relation's signature
        assert self.W is not None
        return self.W

    def toward(self, Q: Items, ops: Backend) -> AffinitiesToTraining:
        # One row at a time: what a function of matrices computes may depend on its batch.
        rows = [self.base.toward(Q[i : i + 1], ops) for i in range(len(Q))]
        weights = _check_nonnegative(self.base, np.vstack(rows))
        none = np.zeros(len(Q), bool)
        return AffinitiesToTraining(weights, np.zeros(len(Q)), None, none)

    def from_neighbors(self, near: csr_array, ops: Backend) -> AffinitiesToTraining:  # noqa: ARG002
        raise ParameterError("neighbors= would be ignored: a callable affinity takes the rows.")

    def freeze(self) -> CallableAffinities:
        return replace(self, base=self.base.freeze(), W=None)


def _check_nonnegative(base: CallableKernel, W: Array) -> Array:
    if W.min(initial=0) < 0:
        i, j = map(int, np.unravel_index(W.argmin(), W.shape))
        raise DataError(
            f"affinity={name_callable(base.kernel)} gave {W[i, j]:.6g} for rows {i} and {j}; an "
            "edge weight is 0 or more."
        )
    return W


@value
class PrecomputedAffinities:
    """Precomputed affinities, for training points and for new ones."""

    # The training points used; None: all.
    rows: Annotated[NDArray[np.int64], Shape("n"), Index("d")] | None = None
    # Among the training points; None once frozen.
    W: Annotated[AffinityMatrix | None, NotStored()] = None

    def among(self, ops: Backend) -> AffinityMatrix:  # noqa: ARG002 - a relation's signature
        assert self.W is not None
        return self.W

    def toward(self, Q: AffinityMatrix, ops: Backend) -> AffinitiesToTraining:  # noqa: ARG002
        chosen = Q if self.rows is None else Q[:, self.rows]
        m = Q.shape[0]
        weights = chosen if issparse(chosen) else np.ascontiguousarray(chosen, np.float64)
        return AffinitiesToTraining(weights, np.zeros(m), None, np.zeros(m, bool))

    def from_neighbors(self, near: csr_array, ops: Backend) -> AffinitiesToTraining:  # noqa: ARG002
        raise ParameterError("neighbors= would be ignored: affinity='precomputed' has them.")

    def freeze(self) -> PrecomputedAffinities:
        return replace(self, W=None)

    def state_facts(self, facts: Facts) -> None:
        facts.set("input", "affinity")
        if self.rows is None:
            facts.equate("n", "d")
