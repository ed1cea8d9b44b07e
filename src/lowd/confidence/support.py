"""Confidence of new points by their support distance: how far the nearest training point is.

Each training point has a nearest other training point. A new point that is no farther from its
nearest training point than 90 % of the training points are from theirs may have confidence 1.
Beyond, this bound halves with every step of the difference between the 90 % quantile and the
median.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ..backends.protocol import Array, Backend, Float64, Neighbors, Rows
from ..distances.metrics import Distances, distances_of, find_center, normalize_rows
from ..distances.protocol import DistanceRelation
from ..domains import Above, AtLeast, Fact, Index, NonNegative, Shape, Words
from ..graph.search import find_nearest, find_neighbors
from ..input.precomputed import MATRIX_KINDS
from ..input.row_order import draw_samples
from ..input.sample import (
    MAX_SAMPLE_OBJECTS,
    Items,
    Sample,
    max_sample_rows,
    n_rows,
)
from ..input.tables import Table
from ..input.validation import Data, Kind
from ..values import value
from .kernel_distances import KernelDistances

# Quantile of the training points' distances to their nearest others up to which the bound is 1,
# and the one whose difference from it is the step in which the bound then halves.
FULL_QUANTILE, STEP_QUANTILE = 0.90, 0.50
# The least halving step, as a share of the distance (absolute for logarithms of similarities):
# evenly spaced training points would else make confidence a step function.
MIN_RELATIVE_STEP = 0.05
SUPPORT_BLOCK_ROWS = 256  # of a precomputed matrix at a time

# Divides columns (an array), scales rows to unit length (a text), or does nothing.
Scaling: TypeAlias = Float64 | str | None


class SupportMetric(NamedTuple):
    """The metric, or callable kernel, in which a method measures support distances.

    `scaling` divides columns; "unit length" divides rows.
    """

    metric: str | Callable[..., Any] = "euclidean"
    params: dict[str, Any] | None = None
    scaling: Scaling = None
    kernel: bool = False

    @classmethod
    def of_kernel(
        cls, kernel: str | Callable[..., Any], params: dict[str, Any] | None
    ) -> SupportMetric:
        """The distance that a kernel is a function of, or a callable kernel itself."""
        if callable(kernel):
            return cls(kernel, params, kernel=True)
        scaling = "unit length" if kernel == "cosine" else None
        return cls("manhattan" if kernel == "laplacian" else "euclidean", None, scaling)


class ConfidenceScale(NamedTuple):
    """The support distance up to which confidence is 1, and the step in which it then halves."""

    inside: float
    step: float

    @classmethod
    def of(cls, distances: Float64, least: float) -> ConfidenceScale:
        """From each training point's distance to its nearest other; duplicates do not count."""
        real = distances[np.isfinite(distances) & (distances != 0)]
        if not len(real):
            return cls(0.0, least)
        inside, middle = (float(q) for q in np.quantile(real, [FULL_QUANTILE, STEP_QUANTILE]))
        return cls(inside, max(inside - middle, least, MIN_RELATIVE_STEP * inside))

    def confidence(self, distances: Float64) -> Float64:
        excess = np.where(np.isnan(distances), np.inf, distances - self.inside)
        if self.step <= 0:
            return (excess <= 0).astype(np.float64)
        return np.exp2(-np.maximum(excess, 0) / self.step)


class Vicinity(NamedTuple):
    """What the support says of new points."""

    edge: Float64  # the bound of the confidence by the support distance
    is_known: NDArray[np.bool_]  # does it coincide with a training point?
    near: Neighbors  # the nearest of the training points `numbers`


@value
class RowSupport:
    """A sample of the training rows, to which the support distances of new rows are computed."""

    relation: DistanceRelation  # toward the rows as they came
    scaling: Annotated[Float64, Shape("d"), Above(0)] | Annotated[str, Words("unit length")] | None
    # Of the rows, and how many there were: `partial_fit` adds to them.
    numbers: Annotated[NDArray[np.int64], Shape("n"), Index("seen")]
    seen: Annotated[int, AtLeast(1), Fact("seen")]

    @classmethod
    def of(cls, sample: Sample, by: SupportMetric, whole: Items | None = None) -> RowSupport:
        """From sampled rows; `whole` is the table they are of, whose ranges count."""
        data = Data(sample.items, np.dtype(np.float64))
        relation: DistanceRelation
        if by.kernel:
            relation = KernelDistances.of(data, by.metric, by.params)
        elif isinstance(whole, Table):
            everyone = distances_of(Data(whole, data.dtype), by.metric, by.params)
            relation = everyone.take(sample.row_indices)
        else:
            relation = distances_of(data, by.metric, by.params)
            if not isinstance(relation, Distances):  # a sample's rows are a copy already
                relation = relation.freeze()
        return cls(relation, by.scaling, sample.row_indices, sample.n_seen)

    def locate(self, Q: Items, k: int, ops: Backend) -> Vicinity:
        """The bound by each new point's support distance, and its k nearest training points."""
        relation = self.relation
        if isinstance(relation, Distances):
            Q = scale_rows(Q, self.scaling)
            relation = _match_rows(relation, self.scaling, Q)
        several = n_rows(relation.training_points()) > 1
        among = find_neighbors(relation, 1, ops).distances[:, 0] if several else np.zeros(1)
        # Nothing but duplicates: new rows are judged by the extent of the data.
        least = 0.0 if among.any() else MIN_RELATIVE_STEP * float(relation.among(ops).max())
        near = find_nearest(relation, Q, min(k, len(self.numbers)), ops)
        distances = near.distances[:, 0]
        edge = ConfidenceScale.of(among, least).confidence(distances)
        return Vicinity(edge, distances == 0, near)

    def sample(self) -> Sample:
        assert isinstance(self.relation, Distances)  # only these are fitted in batches
        return Sample(self.relation.X, self.numbers, self.seen)


@value
class MatrixSupport:
    """The scale of support distances in a precomputed matrix of distances or similarities.

    Of similarities the largest counts, as -log: a point without any is infinitely far.
    """

    kind: Annotated[str, Words("distances", "kernel", "affinity"), Fact("input")]
    inside: float
    step: NonNegative

    @classmethod
    def of(cls, A: Rows, kind: str) -> MatrixSupport:
        least = 0.0 if kind == "distances" else MIN_RELATIVE_STEP
        scale = ConfidenceScale.of(_support_distances(A, kind, among=True), least)
        if scale.step == 0:
            entries = (A.data if issparse(A) else A).ravel()
            largest = float(np.fmax.reduce(entries, initial=0))
            scale = scale._replace(step=MIN_RELATIVE_STEP * largest)
        return cls(kind, *scale)

    def locate(self, Q: Items, k: int, ops: Backend) -> Vicinity:  # noqa: ARG002 - as of RowSupport
        """As of RowSupport; the neighbors are those of all training points."""
        distances = _support_distances(Q, self.kind, among=False)
        edge = ConfidenceScale(self.inside, self.step).confidence(distances)
        rows = (Q[[i]].toarray()[0] if issparse(Q) else Q[i] for i in range(Q.shape[0]))
        nearest = [_nearest_columns(row, self.kind, issparse(Q), k) for row in rows]
        indices = np.array(nearest, np.int32).reshape(Q.shape[0], -1)
        is_known = (distances == 0) & (self.kind == "distances")
        return Vicinity(edge, is_known, Neighbors(indices, np.zeros(indices.shape)))


Support: TypeAlias = RowSupport | MatrixSupport


def build_support(
    data: Data,
    kind: Kind,
    by: SupportMetric,
    earlier: RowSupport | None = None,
    *,
    in_batches: bool,
) -> Support:
    """What a model keeps of its training data to compute support distances of new points.

    Rows are sampled by their content: at random positions of an order by it, which units do not
    change, or, of methods that are fitted `in_batches`, by hashes.
    """
    if kind in MATRIX_KINDS:
        return MatrixSupport.of(data.items, kind)
    most = MAX_SAMPLE_OBJECTS if kind == "objects" else max_sample_rows(data.items)
    if not in_batches:
        return RowSupport.of(Sample.of(data.items, draw_samples(data.items, most)), by, data.items)
    priorities = None if data.statistics is None else data.statistics.priorities
    sample = Sample.draw_distinct(data.items, priorities, 0 if earlier is None else earlier.seen)
    if earlier is not None:
        sample = earlier.sample().merge_distinct(sample)
    return RowSupport.of(sample, by, data.items)


def scale_rows(Q: Rows, scaling: Scaling) -> Rows:
    """Rows in the units of a SupportMetric."""
    if scaling is None:
        return Q
    if isinstance(scaling, str):
        return normalize_rows(Q, None)
    return csr_array(Q / scaling[None]) if issparse(Q) else Q / scaling


def _match_rows(relation: Distances, scaling: Scaling, Q: Rows) -> Distances:
    """The sampled rows in the same units and of the same form, dense or sparse, as new ones."""
    X, center = scale_rows(relation.X, scaling), relation.center
    if issparse(X) != issparse(Q):
        X = csr_array(X) if issparse(Q) else X.toarray()
    if center is not None and (scaling is not None or issparse(X)):
        center = find_center(X)
    return replace(relation, X=X, center=center)


def _support_distances(A: Rows, kind: str, *, among: bool) -> Float64:
    """Distance to the nearest of each row; `among` the training points, themselves left out."""
    if issparse(A):
        row_of_entry = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
        distances = _as_distance(A.data, kind)
        if among:
            distances = np.where(A.indices == row_of_entry, np.inf, distances)
        least = np.full(A.shape[0], np.inf)
        np.minimum.at(least, row_of_entry, distances)
        return least
    # Missing entries do not count.
    reduce, worst = (np.fmin, np.inf) if kind == "distances" else (np.fmax, -np.inf)
    nearest = np.empty(A.shape[0])
    for start in range(0, len(A), SUPPORT_BLOCK_ROWS):
        rows = slice(start, min(start + SUPPORT_BLOCK_ROWS, len(A)))
        parts = [A[rows]]
        if among:
            square = A[rows, rows].copy()
            np.fill_diagonal(square, worst)
            parts = [A[rows, : rows.start], square, A[rows, rows.stop :]]
        nearest[rows] = reduce.reduce([reduce.reduce(B, axis=1, initial=worst) for B in parts])
    return nearest if kind == "distances" else _as_distance(nearest, kind)


def _nearest_columns(row: Array, kind: str, is_sparse: bool, k: int) -> NDArray[np.int64]:
    """The k smallest distances, or largest similarities; what a sparse row lacks is far."""
    key = np.where(np.isnan(row) | ((row == 0) & is_sparse), np.inf, row)
    return np.argsort(key if kind == "distances" else -row, kind="stable")[:k]


def _as_distance(entries: Array, kind: str) -> Float64:
    """Distances as they are, similarities as -log; of none, infinity."""
    if kind == "distances":
        return entries.astype(np.float64)
    known = np.maximum(entries.astype(np.float64), 0)
    return -np.log(known, out=np.full(known.shape, -np.inf), where=known > 0)
