"""Metrics: the distances that a name, a callable or a precomputed matrix defines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, issparse

from ..backends.protocol import INDEXED_MEASURES, MEASURES, Array, Backend, Float64, Rows
from ..backends.sparse_rows import column_means, explicit_center
from ..domains import Facts, Shape
from ..errors import DataError, ParameterError, UnsupportedError
from ..input.sample import average_columns, take_rows
from ..input.validation import Data, Kind
from ..values import freeze, frozen_copy, value
from .callables import CallableDistances
from .gower import GowerDistances
from .precomputed import PrecomputedDistances
from .protocol import DistanceRelation

# metric -> (how rows are prepared, measure, fixed parameters)
_METRICS: dict[str, tuple[str, str, tuple[float, ...]]] = {
    "euclidean": ("as they are", "euclidean", (1.0,)),
    "sqeuclidean": ("as they are", "sqeuclidean", (1.0,)),
    # On unit vectors half the squared distance is 1 - cos, without its cancellation.
    "cosine": ("unit length", "sqeuclidean", (0.5,)),
    "correlation": ("centered, unit length", "sqeuclidean", (0.5,)),
    "manhattan": ("as they are", "manhattan", ()),
    "chebyshev": ("as they are", "chebyshev", ()),
    "minkowski": ("as they are", "minkowski", ()),
    "hamming": ("as they are", "hamming", ()),
    "jaccard": ("as they are", "jaccard", ()),
}
MetricLike: TypeAlias = str | Callable[..., Any]  # before its name is validated
MetricParams: TypeAlias = dict[str, Any] | None  # keywords of a metric
MetricChoice: TypeAlias = tuple[MetricLike, MetricParams]
SPARSE_CENTER_BITS = 24  # of float32, from which such a center is subtracted exactly
_ALLOWED = {"minkowski": {"p"}, "gower": {"weights"}}


def data_kind(metric: MetricLike) -> Kind:
    """Which kind of input a metric needs."""
    if callable(metric):
        return "objects"
    named: dict[Any, Kind] = {"precomputed": "distances", "gower": "table"}
    return named.get(metric, "rows")


def minkowski_metric(p: float) -> MetricChoice:
    """The metric of an order, by its own name where it has one, and its parameters."""
    named = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}.get(p)
    return (named, None) if named else ("minkowski", {"p": p})


def takes_sparse(metric: MetricLike) -> bool:
    """Can the metric honestly use sparse rows?"""
    if metric not in _METRICS:
        return False
    preparation, measure, _ = _METRICS[metric]
    return MEASURES[measure] == "square" and not preparation.startswith("centered")


def is_indexed(metric: MetricLike) -> bool:
    """Are nearest neighbors found by an index of the (dense) rows, not from all distances?"""
    return metric in _METRICS and _METRICS[metric][1] in INDEXED_MEASURES


def distances_of(data: Data, metric: MetricLike, params: MetricParams) -> DistanceRelation:
    """Distances of the training data under a `metric` and its parameters."""
    params = dict(params or {})
    if callable(metric):
        return CallableDistances(data.items, metric, params)
    if odd := set(params) - _ALLOWED.get(metric, set()):
        raise ParameterError(f"metric={metric!r} knows no parameter {sorted(odd)[0]!r}.")
    if metric == "precomputed":
        return PrecomputedDistances(data.items, wide=data.items.dtype == np.float64)
    if metric == "gower":
        return GowerDistances.of(data.items, params.get("weights"))
    preparation, measure, fixed = _METRICS[metric]
    if metric == "minkowski":
        fixed = (_check_minkowski_order(params.get("p", 2.0)),)
    X = prepare_rows(data.items, preparation)
    if measure == "jaccard":
        _refuse_empty_sets(X)
    center = None
    if MEASURES[measure] == "square":
        known = data.statistics if preparation == "as they are" else None
        center = find_center(X, None if known is None else known.mean)
    return Distances(X, preparation, measure, fixed, center)


def find_center(X: Rows, mean: Float64 | None = None) -> Float64 | None:
    """A point near the rows: their mean; of sparse rows in columns that are stored nearly in full.

    Differences of rows are computed from there, which saves digits. None if nothing is saved.
    """
    if issparse(X):
        center = explicit_center(X, column_means(X) if mean is None else mean)
        return round_center(center, SPARSE_CENTER_BITS) if center.any() else None
    return np.asarray(average_columns(X) if mean is None else mean)


def round_center(center: Float64, bits: int) -> Float64:
    """Round to few digits or integers: squares of integers less it are exact, so ties stay ties."""
    shift = np.maximum(bits - np.frexp(center)[1], 0)
    return np.asarray(np.ldexp(np.round(np.ldexp(center, shift)), -shift), np.float64)


@value
class Distances:
    """Distances of a named metric between rows of numbers."""

    X: Annotated[Rows, Shape("n", "d")]
    preparation: str  # of the rows, as in _METRICS
    measure: str  # of `ops.pairwise`
    params: tuple[float, ...]
    # Near the mean; differences are computed from there.
    center: Annotated[Float64, Shape("d")] | None
    # Are the rows a copy that nobody else has? No field: another value of the same rows is asked
    # again.
    _is_own: ClassVar[bool] = False

    def among(self, ops: Backend) -> Array:
        return ops.pairwise(self.X, self.X, self.measure, self.params, self.center)

    def toward(self, Q: Rows, ops: Backend) -> Array:
        Q = self.prepare(Q)
        return ops.pairwise(Q, self.X, self.measure, self.params, self.center)

    def prepare(self, Q: Rows) -> Rows:
        """New rows as the metric needs them; those that it cannot use are refused."""
        if self.measure == "jaccard":
            _refuse_empty_sets(Q)
        return prepare_rows(Q, self.preparation)

    def freeze(self) -> Distances:
        if self._is_own:
            freeze(self.X)
            return self
        return replace(self, X=frozen_copy(self.X))

    def take(self, rows: NDArray[np.int64]) -> Distances:
        # The rows' own center: that of all rows has the rounding of the order in which they came.
        X = take_rows(self.X, rows)
        center = None if self.center is None else find_center(X)
        taken = replace(self, X=X, center=center)
        object.__setattr__(taken, "_is_own", True)
        return taken

    def training_points(self) -> Rows:
        return self.X

    def state_facts(self, facts: Facts) -> None:
        metric = next(
            (m for m, how in _METRICS.items() if how[:2] == (self.preparation, self.measure)), None
        )
        facts.require(metric is not None, "measure", "one that goes with preparation")
        assert metric is not None
        facts.set("input", "rows")
        facts.set("metric", metric)
        if metric == "minkowski":
            ordered = len(self.params) == 1 and self.params[0] >= 1
            facts.require(ordered, "params", "one number >= 1")
        else:
            fixed = _METRICS[metric][2]
            facts.require(self.params == fixed, "params", f"{fixed} for metric={metric!r}")
        facts.require(takes_sparse(metric) or not issparse(self.X), "X", "dense for this metric")
        square = MEASURES[self.measure] == "square"
        facts.require(square or self.center is None, "center", "None for this metric")


def prepare_rows(X: Rows, preparation: str) -> Rows:
    """Center and normalize rows as the metric needs them."""
    if preparation == "as they are":
        return X
    if preparation == "centered, unit length":
        if issparse(X):
            raise UnsupportedError("metric='correlation' would fill a sparse matrix; use 'cosine'.")
        X = X - X.mean(1, keepdims=True, dtype=np.float64).astype(X.dtype)
    reason = "its entries are all equal" if "centered" in preparation else "it is zero"
    return normalize_rows(X, reason)


def _refuse_empty_sets(X: Array) -> None:
    """Refuse rows of zeros: the distance 1 of an empty set to all others is a mere convention.

    In a neighbor graph it would be a neighbor of every row at once, and a short circuit.
    """
    held = X.any(1)
    if not held.all():
        rows = np.flatnonzero(~held)
        shown = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
        raise DataError(
            f"row {shown} is an empty set (all entries are 0), which shares nothing with any "
            "other; drop it or use metric='hamming'."
        )


def normalize_rows(X: Rows, zero_reason: str | None) -> Rows:
    """Scale rows to unit Euclidean norm.

    A row of zeros has no direction: it is an error that gives the reason, or without one stays 0.
    """
    if issparse(X):
        norms = np.sqrt(np.asarray(X.astype(np.float64).power(2).sum(1)).reshape(-1))
    else:
        largest = np.abs(X).max(1, initial=0).astype(np.float64)
        unit = np.where(largest > 0, largest, 1)
        norms = largest * np.sqrt(np.square(X / unit[:, None], dtype=np.float64).sum(1))
    if zero_reason and not norms.all():
        rows = np.flatnonzero(norms == 0)
        shown = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
        raise DataError(
            f"row {shown} has no direction ({zero_reason}), so angles to it mean nothing; "
            "drop it or use metric='euclidean'."
        )
    inverse = np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0)
    if issparse(X):
        scaled = csr_array(diags_array(inverse) @ X, dtype=X.dtype)
        scaled.sort_indices()
        return scaled
    return np.asarray(X * inverse[:, None], X.dtype)


def _check_minkowski_order(p: object) -> float:
    if not isinstance(p, int | float) or not 1 <= p < np.inf:
        raise ParameterError(
            f"metric_params={{'p': {p!r}}}: expected a number >= 1 (for infinity: 'chebyshev')."
        )
    return float(p)
