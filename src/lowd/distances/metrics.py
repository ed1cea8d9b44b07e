"""Distances by name, by callable, from mixed tables or given: one service for all methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, issparse

from .. import progress
from ..backends.protocol import MEASURES, Array, Backend, Float64, Rows
from ..errors import DataError, ParameterError, UnsupportedError
from ..input.tables import Table
from ..input.validation import Data, Kind
from ..values import frozen_copy, value

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
_ALLOWED = {"minkowski": {"p"}, "gower": {"weights"}}


class DistanceRelation(Protocol):
    """Plain distances; `MinusHalfSquare` makes the solver's relation of them."""

    def distances(self, ops: Backend) -> Array: ...
    def toward(self, Q: Any, ops: Backend) -> Array: ...
    def kept(self) -> DistanceRelation: ...
    def at(self, rows: NDArray[np.int64]) -> DistanceRelation:
        """The same distances with some of the training points only; new points come as before."""

    def everything(self) -> Any:
        """All training points, as `toward` takes them."""


def data_kind(metric: Any) -> Kind:
    """Which kind of input a metric needs."""
    if callable(metric):
        return "objects"
    named: dict[Any, Kind] = {"precomputed": "distances", "gower": "table"}
    return named.get(metric, "rows")


def takes_sparse(metric: Any) -> bool:
    """Can the metric honestly use sparse rows?"""
    if metric not in _METRICS:
        return False
    preparation, measure, _ = _METRICS[metric]
    return MEASURES[measure] == "square" and not preparation.startswith("centered")


def distances_of(data: Data, metric: Any, params: dict[str, Any] | None) -> DistanceRelation:
    """The relation that a `metric` and its parameters define on the training data."""
    params = dict(params or {})
    if callable(metric):
        return Measured(data.items, metric, params)
    if odd := set(params) - _ALLOWED.get(metric, set()):
        raise ParameterError(f"metric={metric!r} knows no parameter {sorted(odd)[0]!r}.")
    if metric == "precomputed":
        return Given(data.items, wide=data.items.dtype == np.float64)
    if metric == "gower":
        return Gower.of(data.items, params.get("weights"))
    preparation, measure, fixed = _METRICS[metric]
    if metric == "minkowski":
        fixed = (_order(params.get("p", 2.0)),)
    X = _prepared(data.items, preparation)
    center = None
    if MEASURES[measure] == "square" and not issparse(X):
        known = data.statistics if preparation == "as they are" else None
        sums = X.sum(0, dtype=np.float64) if known is None else known.sums
        center = sums / len(X)
    return Distances(X, preparation, measure, fixed, center)


@value
class Distances:
    """A named metric on rows of numbers."""

    X: Rows
    preparation: str
    measure: str
    params: tuple[float, ...]
    center: Float64 | None

    def distances(self, ops: Backend) -> Array:
        return ops.pairwise(self.X, self.X, self.measure, self.params, self.center)

    def toward(self, Q: Rows, ops: Backend) -> Array:
        Q = _prepared(Q, self.preparation)
        return ops.pairwise(Q, self.X, self.measure, self.params, self.center)

    def kept(self) -> Distances:
        return replace(self, X=frozen_copy(self.X))

    def at(self, rows: NDArray[np.int64]) -> Distances:
        return replace(self, X=self.X[rows])

    def everything(self) -> Rows:
        return self.X


@value
class Given:
    """Distances that the caller computed; new points come as rows of distances too."""

    D: Array | None
    rows: NDArray[np.int64] | None = None
    wide: bool = False  # fitted in float64, so new rows are taken in float64 too

    def distances(self, ops: Backend) -> Array:  # noqa: ARG002 - a relation's signature
        assert self.D is not None
        return self.D if self.rows is None else np.ascontiguousarray(self.D[:, self.rows])

    def toward(self, Q: Array, ops: Backend) -> Array:  # noqa: ARG002
        chosen = Q if self.rows is None else np.ascontiguousarray(Q[:, self.rows])
        return chosen.astype(np.float64, copy=False) if self.wide else chosen

    def kept(self) -> Given:
        return replace(self, D=None)

    def at(self, rows: NDArray[np.int64]) -> Given:
        # Every column stays: `everything` must be as wide as the new rows that `toward` takes.
        D = None if self.D is None else self.D[rows]
        return replace(self, D=D, rows=rows if self.rows is None else self.rows[rows])

    def everything(self) -> Array:
        assert self.D is not None
        return self.D


@value
class Listed:
    """Distances to neighbors only, from a ready graph; new points come as such lists too."""

    count: int

    def distances(self, ops: Backend) -> Array:  # noqa: ARG002
        raise _not_known()

    def toward(self, Q: Any, ops: Backend) -> Array:  # noqa: ARG002
        raise _not_known()

    def kept(self) -> Listed:
        return self

    def at(self, rows: NDArray[np.int64]) -> Listed:
        return Listed(len(rows))

    def everything(self) -> Sequence[int]:
        return range(self.count)


@value
class Measured:
    """A callable on any two objects; symmetric, so each pair is measured once."""

    items: Sequence[Any]
    metric: Callable[..., float]
    params: dict[str, Any]

    def distances(self, ops: Backend) -> Array:  # noqa: ARG002
        n = len(self.items)
        D = np.zeros((n, n))
        for i in range(n):
            for j in range(i):
                D[i, j] = D[j, i] = self._measure(self.items[i], self.items[j], i, j)
            progress.report("distances", i + 1, n)
        return D

    def toward(self, Q: Sequence[Any], ops: Backend) -> Array:  # noqa: ARG002
        D = np.empty((len(Q), len(self.items)))
        for i, q in enumerate(Q):
            for j, item in enumerate(self.items):
                D[i, j] = self._measure(q, item, i, j)
            progress.report("distances", i + 1, len(Q))
        return D

    def kept(self) -> Measured:
        items = frozen_copy(self.items) if isinstance(self.items, np.ndarray) else tuple(self.items)
        return replace(self, items=items)

    def at(self, rows: NDArray[np.int64]) -> Measured:
        return replace(self, items=[self.items[i] for i in rows])

    def everything(self) -> Sequence[Any]:
        return self.items

    def _measure(self, a: Any, b: Any, i: int, j: int) -> float:
        distance = float(self.metric(a, b, **self.params))
        if not 0 <= distance < np.inf:
            raise DataError(
                f"the callable metric gave {distance} for objects {i} and {j}; "
                "a distance is finite and not negative."
            )
        return distance


@value
class Gower:
    """Mean of per-column dissimilarities in [0, 1] of a mixed table (Gower, 1971)."""

    table: Table
    weights: Float64
    ranges: Float64

    @classmethod
    def of(cls, table: Table, weights: Any) -> Gower:
        w = np.ones(len(table.names)) if weights is None else np.asarray(weights, np.float64)
        if w.shape != (len(table.names),) or not (w >= 0).all() or not w.any():
            raise ParameterError(
                f"metric_params['weights'] needs {len(table.names)} numbers >= 0, not all 0, "
                f"got {weights!r}."
            )
        held = np.where(np.isnan(table.numbers), -np.inf, table.numbers).max(0, initial=-np.inf)
        least = np.where(np.isnan(table.numbers), np.inf, table.numbers).min(0, initial=np.inf)
        return cls(table, w, np.maximum(held - least, 0))

    def distances(self, ops: Backend) -> Array:
        return self.toward(self.table, ops)

    def toward(self, Q: Table, ops: Backend) -> Array:  # noqa: ARG002
        total, weight = np.zeros((len(Q), len(self.table))), np.zeros((len(Q), len(self.table)))
        is_number = np.array([kind != "category" for kind in self.table.kinds])
        for c, w in enumerate(self.weights[is_number]):
            gap = np.abs(Q.numbers[:, c, None] - self.table.numbers[:, c])
            gap = np.minimum(gap / self.ranges[c], 1) if self.ranges[c] > 0 else np.sign(gap)
            known = ~np.isnan(gap)
            total += w * np.where(known, gap, 0)
            weight += w * known
        for c, w in enumerate(self.weights[~is_number]):
            a, b = Q.codes[:, c, None], self.table.codes[:, c]
            known = (a != -1) & (b != -1)
            total += w * (known & (a != b))
            weight += w * known
        if (weight == 0).any():
            i, j = map(int, np.argwhere(weight == 0)[0])
            raise DataError(
                f"rows {i} and {j} share no column with known values; fill or drop one."
            )
        return np.asarray(total / weight)

    def kept(self) -> Gower:
        return self

    def at(self, rows: NDArray[np.int64]) -> Gower:
        return replace(self, table=self.table.at(rows))

    def everything(self) -> Table:
        return self.table


def _prepared(X: Rows, preparation: str) -> Rows:
    if preparation == "as they are":
        return X
    if preparation == "centered, unit length":
        if issparse(X):
            raise UnsupportedError("metric='correlation' would fill a sparse matrix; use 'cosine'.")
        X = X - X.mean(1, keepdims=True, dtype=np.float64).astype(X.dtype)
    return unit_rows(X, "its entries are all equal" if "centered" in preparation else "it is zero")


def unit_rows(X: Rows, why_not: str | None) -> Rows:
    """Rows divided by their length; a row without direction is refused, or stays zero."""
    if issparse(X):
        lengths = np.sqrt(np.asarray(X.astype(np.float64).power(2).sum(1)).reshape(-1))
    else:
        largest = np.abs(X).max(1, initial=0).astype(np.float64)
        unit = np.where(largest > 0, largest, 1)
        lengths = largest * np.sqrt(np.square(X / unit[:, None], dtype=np.float64).sum(1))
    if why_not and not lengths.all():
        rows = np.flatnonzero(lengths == 0)
        shown = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
        raise DataError(
            f"row {shown} has no direction ({why_not}), so angles to it mean nothing; "
            "drop it or use metric='euclidean'."
        )
    inverse = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    if issparse(X):
        scaled = csr_array(diags_array(inverse) @ X, dtype=X.dtype)
        scaled.sort_indices()
        return scaled
    return np.asarray(X * inverse[:, None], X.dtype)


def _not_known() -> UnsupportedError:
    return UnsupportedError(
        "a sparse graph holds distances to neighbors only; pass the rows themselves or a full "
        "matrix of distances."
    )


def _order(p: Any) -> float:
    if not isinstance(p, int | float) or not 1 <= p < np.inf:
        raise ParameterError(
            f"metric_params={{'p': {p!r}}}: expected a number >= 1 (for infinity: 'chebyshev')."
        )
    return float(p)
