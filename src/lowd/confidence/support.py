"""How far a new row is from the training rows, as a confidence between 0 and 1.

Training rows have a nearest other training row each. Where a new row is no farther from its own
nearest than nine in ten of them are from theirs, its confidence is 1; as far as the median of the
last tenth it is 1/2, and it halves again with every such step.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ..backends.protocol import Array, Backend, Float64, Rows
from ..distances.metrics import Distances, distances_of, normalize_rows
from ..graph.search import find_nearest, find_neighbors
from ..input.sample import MOST, OBJECTS, Sample, chosen, enough, len_of
from ..input.tables import Table
from ..input.validation import Data, Kind
from ..relations.kernels import KernelFunction, kernel_of
from ..values import value

INSIDE, HALF = 0.90, 0.95  # shares of the training rows
BLOCK = 2**15  # entries of a given matrix looked at together
FLOOR = 0.05  # the least step, as a share of the distance; absolute for logarithms


class Yardstick(NamedTuple):
    """How a method tells near from far: a metric, or a kernel that is a callable.

    `scaling` divides columns; "unit length" divides rows.
    """

    metric: Any = "euclidean"
    params: dict[str, Any] | None = None
    scaling: Any = None
    kernel: bool = False


class Edge(NamedTuple):
    """Where confidence begins to fall, and the step in which it halves."""

    inside: float
    step: float

    @classmethod
    def of(cls, gaps: Float64, least: float) -> Edge:
        """Of each training row's nearest other; copies say nothing, so they do not count."""
        real = gaps[np.isfinite(gaps) & (gaps != 0)]
        if not len(real):
            return cls(0.0, least)
        inside, half = (float(q) for q in np.quantile(real, [INSIDE, HALF]))
        return cls(inside, max(half - inside, least, FLOOR * inside))

    def confidence(self, far: Float64) -> Float64:
        excess = np.where(np.isnan(far), np.inf, far - self.inside)
        if self.step <= 0:
            return (excess <= 0).astype(np.float64)
        return np.exp2(-np.maximum(excess, 0) / self.step)


@value
class RowReach:
    """Some training rows to compare with; how far they are apart is measured when it is needed."""

    relation: Any  # distances, toward the rows as they came
    scaling: Any  # of Yardstick
    numbers: NDArray[np.int64]  # of the rows, and how many there were: `partial_fit` adds to them
    seen: int

    @classmethod
    def of(cls, sample: Sample, by: Yardstick, whole: Any = None) -> RowReach:
        """From kept rows; `whole` is the table they are of, whose ranges count."""
        data = Data(sample.items, np.dtype(np.float64))
        if by.kernel:
            relation: Any = FeatureSpace.of(data, by)
        elif isinstance(whole, Table):
            everyone: Any = distances_of(Data(whole, data.dtype), by.metric, by.params)
            relation = everyone.take(sample.numbers)
        else:
            relation = distances_of(data, by.metric, by.params)
            if not isinstance(relation, Distances):  # a sample's rows are a copy already
                relation = relation.freeze()
        return cls(relation, by.scaling, sample.numbers, sample.seen)

    def confidence(self, Q: Any, ops: Backend) -> Float64:
        relation = self.relation
        if isinstance(relation, Distances):
            Q = scaled(Q, self.scaling)
            relation = _beside(relation, self.scaling, Q)
        count = len_of(relation.training_points())
        gaps = find_neighbors(relation, 1, ops).distances[:, 0] if count > 1 else np.zeros(1)
        # Nothing but copies: what is new is judged by the extent of the data.
        least = 0.0 if gaps.any() else FLOOR * float(relation.among(ops).max())
        return Edge.of(gaps, least).confidence(find_nearest(relation, Q, 1, ops).distances[:, 0])

    def sample(self) -> Sample:
        return Sample(self.relation.X, self.numbers, self.seen)


@value
class MatrixReach:
    """For given distances, kernels and affinities, whose rows name all training rows.

    Of similarities the largest counts, as -log: no tie at all is infinitely far.
    """

    kind: str
    inside: float
    step: float

    @classmethod
    def of(cls, A: Any, kind: str) -> MatrixReach:
        rows = chosen(np.arange(A.shape[0]), MOST)
        edge = Edge.of(_least(A, kind, rows), 0.0 if kind == "distances" else FLOOR)
        if edge.step == 0:
            held = (A.data if issparse(A) else A).ravel()
            edge = edge._replace(step=FLOOR * float(np.fmax.reduce(held, initial=0)))
        return cls(kind, *edge)

    def confidence(self, Q: Any, ops: Backend) -> Float64:  # noqa: ARG002 - a reach's signature
        return Edge(self.inside, self.step).confidence(_least(Q, self.kind, None))


@value
class FeatureSpace:
    """Distances that a callable kernel defines: d² = k(x, x) + k(z, z) - 2 k(x, z)."""

    kernel: KernelFunction
    squares: Float64

    @classmethod
    def of(cls, data: Data, by: Yardstick) -> FeatureSpace:
        kernel = kernel_of(data, by.metric, gamma=None, degree=0, coef0=0, params=by.params)
        assert isinstance(kernel, KernelFunction)
        kept = kernel.freeze()
        return cls(kept, _with_itself(kept, data.items))

    def among(self, ops: Backend) -> Float64:
        return self.toward(self.kernel.items, ops)

    def toward(self, Q: Any, ops: Backend) -> Float64:
        own = _with_itself(self.kernel, Q)
        squares = own[:, None] + self.squares - 2 * self.kernel.toward(Q, ops)
        return np.sqrt(np.maximum(squares, 0))

    def training_points(self) -> Any:
        return self.kernel.items


def reach_of(data: Data, kind: Kind, by: Yardstick, earlier: RowReach | None = None) -> Any:
    """What a model keeps of its training data, to tell how far new rows are from them."""
    if kind in ("distances", "kernel", "affinity"):
        return MatrixReach.of(data.items, kind)
    most = OBJECTS if kind == "objects" else enough(data.items)
    sample = Sample.of(data.items, most, 0 if earlier is None else earlier.seen)
    if earlier is not None:
        sample = earlier.sample().merge(sample, most)
    return RowReach.of(sample, by, data.items)


def scaled(Q: Rows, how: Any) -> Rows:
    """Rows in the units of a Yardstick."""
    if how is None:
        return Q
    if isinstance(how, str):
        return normalize_rows(Q, None)
    return csr_array(Q / how[None]) if issparse(Q) else Q / how


def _beside(relation: Distances, how: Any, Q: Rows) -> Distances:
    """The kept rows in the same units and of the same form, dense or sparse, as new ones."""
    X, center = scaled(relation.X, how), relation.center
    if issparse(X) != issparse(Q):
        X = csr_array(X) if issparse(Q) else X.toarray()
    if center is not None and (how is not None or issparse(X)):
        center = None if issparse(X) else X.mean(0, dtype=np.float64)
    return replace(relation, X=X, center=center)


def _least(A: Any, kind: str, own: NDArray[np.int64] | None) -> Float64:
    """How far the nearest of each row is; of the training rows `own`, themselves left out."""
    rows = np.arange(A.shape[0]) if own is None else own
    step = max(1, BLOCK // max(1, A.shape[1]))
    parts = (rows[i : i + step] for i in range(0, len(rows), step))
    return np.concatenate([_least_of(A[part], kind, part, own is not None) for part in parts])


def _least_of(A: Any, kind: str, rows: NDArray[np.int64], others_only: bool) -> Float64:
    if issparse(A):
        at = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
        far = _as_distance(A.data, kind)
        if others_only:
            far = np.where(A.indices == rows[at], np.inf, far)
        least = np.full(A.shape[0], np.inf)
        np.minimum.at(least, at, far)
        return least
    best = A.astype(np.float64)
    far = np.where(np.isnan(best), np.inf, best) if kind == "distances" else -best
    if others_only:
        far[np.arange(len(far)), rows] = np.inf
    nearest_one: Float64 = far.min(1, initial=np.inf)
    return nearest_one if kind == "distances" else _as_distance(-nearest_one, kind)


def _as_distance(entries: Array, kind: str) -> Float64:
    if kind == "distances":
        return entries.astype(np.float64)
    known = np.maximum(entries.astype(np.float64), 0)
    return -np.log(known, out=np.full(known.shape, -np.inf), where=known > 0)


def _with_itself(kernel: KernelFunction, Q: Any) -> Float64:
    """k(x, x) of each: one call per row, since a matrix of all pairs would be the larger work."""
    each = ((Q[i : i + 1], Q[i]) for i in range(len(Q)))
    if kernel.whole:
        found = [kernel.kernel(row, row, **kernel.params)[0, 0] for row, _ in each]
    else:
        found = [kernel.kernel(item, item, **kernel.params) for _, item in each]
    return np.array(found, np.float64)
