"""Sparse rows: a space whose distances come from sparse products."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse

from .. import progress, random
from ..backend import allocate, chunks
from ..errors import UnsupportedError
from ..parameters import Graph, Indices, Metric, MetricParams, Reals, state
from .known import Lists, read_graph
from .matrices import column_range, hash_rows, mixed, places, sum_of_words
from .space import (
    METRICS,
    SAME,
    Objects,
    Space,
    check_metric,
    measure_rows,
    named_metric,
    refuse_directionless,
    space_of,
)

SPARSE_METRICS = ("euclidean", "sqeuclidean", "cosine")


@space_of.register(csr_array)
def _(
    X: csr_array,
    metric: Metric = "euclidean",
    params: MetricParams = None,
) -> Space:
    """Of sparse rows, or for metric="precomputed" of a graph of distances to neighbors."""
    if callable(metric):
        return Objects(X.toarray(), metric, dict(params or {}))
    check_metric(metric, params)
    if metric == "precomputed":
        return Lists(read_graph(X))
    name, _ = named_metric(metric, params)
    if name == "correlation":
        raise UnsupportedError("metric='correlation' would fill a sparse matrix; use 'cosine'.")
    if name not in SPARSE_METRICS:
        raise UnsupportedError(
            f"metric={name!r} is not for sparse rows; use 'euclidean', 'sqeuclidean' or "
            "'cosine', or pass X.toarray() if it fits in memory."
        )
    rows = prepare_sparse(X, name)
    return SparseRows(rows.copy() if rows is X else rows, name)


class SparseRows(Space):
    """Sparse rows with the Euclidean distance, its square, or the cosine distance."""

    X: Graph = state("n_points n_features")
    metric: str = state()

    def __init__(self, X: csr_array, metric: str = "euclidean") -> None:
        self.X, self.metric = X, metric

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        found: np.dtype[Any] = self.X.dtype
        return found

    @property
    def rows(self) -> csr_array:
        return self.X

    @cached_property
    def center(self) -> Reals:
        """The means of columns that are stored nearly in full, and 0 for the others.

        Differences are computed from there, as the squares of rows that are far from the origin
        have few digits left for them. The means are rounded to 24 bits: integers less these are
        exact, so that ties stay ties.
        """
        stored = np.bincount(self.X.indices, minlength=self.X.shape[1])
        full = stored > 0.9 * self.n
        mean = np.zeros(self.X.shape[1])
        if full.any():
            mean[full] = np.asarray(self.X[:, full].sum(0, dtype=np.float64)) / self.n
        shift = np.maximum(24 - np.frexp(mean)[1], 0)
        return np.asarray(np.ldexp(np.round(np.ldexp(mean, shift)), -shift))

    def prepare(self, Q: Any) -> csr_array:
        """New rows as they are compared; dense ones become sparse."""
        return prepare_sparse(csr_array(Q), self.metric)

    def distances(self, points: Indices) -> Reals:
        return self._measure(csr_array(self.X[points]))

    def toward(self, Q: Any) -> Reals:
        return self._measure(self.prepare(Q))

    def pairwise(self) -> Reals:
        return self._measure(self.X)

    def _measure(self, Q: csr_array) -> Reals:
        name, factor = METRICS[self.metric][:2]
        assert factor is not None
        return self._compared.measure(Q, name, (factor,))

    @cached_property
    def _compared(self) -> Compared:
        return Compared(self.X, self.center)

    def take(self, points: Indices) -> SparseRows:
        return SparseRows(csr_array(self.X[points]), self.metric)

    def fingerprint(self) -> Indices:
        return hash_rows(self.X)


def prepare_sparse(X: csr_array, metric: str) -> csr_array:
    """Sparse rows as a metric compares them: as they are, or of length 1."""
    if not METRICS[metric].unit_length:
        return X
    lengths = np.sqrt(squared_lengths(X))
    refuse_directionless(lengths == 0, centered=False)
    scaled = csr_array(diags_array(1 / lengths) @ X, dtype=X.dtype)
    scaled.sort_indices()
    return scaled


class Compared:
    """Sparse rows, less a center, as other rows are compared with them."""

    def __init__(self, X: csr_array, center: Reals | None) -> None:
        self.dtype, self.center = X.dtype, center
        self.rows = subtract_columns(X, center)
        self.columns = self.rows.T.tocsr()  # which SciPy would make for every product
        self.squares = squared_lengths(self.rows)

    def measure(self, Q: csr_array, measure: str, params: tuple[float, ...]) -> Reals:
        """A measure of rows Q to all; as the product of all would be dense, of some at a time."""
        m, n = Q.shape[0], self.rows.shape[0]
        dtype: np.dtype[Any] = np.result_type(Q.dtype, self.dtype)
        out = allocate((m, n), dtype, f"the distances of {m} to {n} rows", "use landmarks")
        for some in chunks(m, n):
            A = subtract_columns(Q[some], self.center)
            found = (A @ self.columns).toarray()
            if measure not in ("dot", "poly", "sigmoid"):
                found = self._squared_distances(A, found)
            out[some] = FINISH[measure](found, params)
            if m > some.stop - some.start:
                progress.report("distances", some.stop, m)
        return out

    def _squared_distances(self, A: csr_array, products: Reals) -> Reals:
        """|a - b|² = |a|² + |b|² - 2 a'b, in place; or of a - b where few digits are left."""
        sizes = squared_lengths(A)[:, None] + self.squares
        products *= -2
        products += sizes
        np.maximum(products, 0, out=products)
        i, j = np.nonzero(products < 1e-7 * sizes)
        for pairs in chunks(len(i), 1, 65536):
            gaps = csr_array(A[i[pairs]] - self.rows[j[pairs]])
            products[i[pairs], j[pairs]] = squared_lengths(gaps)
        return products


# From inner products, or squared distances, to the measure itself.
FINISH: dict[str, Callable[[Reals, tuple[float, ...]], Reals]] = {
    "dot": lambda B, p: p[0] * B,
    "poly": lambda B, p: (p[0] * B + p[1]) ** p[2],
    "sigmoid": lambda B, p: np.tanh(p[0] * B + p[1]),
    "sqeuclidean": lambda B, p: p[0] * B,
    "euclidean": lambda B, p: p[0] * np.sqrt(B),
    "rbf": lambda B, p: np.exp(-p[0] * B),
    "rbfm1": lambda B, p: np.expm1(-p[0] * B),
}


@measure_rows.register(csr_array)
def _(
    Q: csr_array, X: csr_array, measure: str, params: tuple[float, ...], center: Reals | None = None
) -> Reals:
    return Compared(X, center).measure(Q, measure, params)


@hash_rows.register(csr_array)
def _(X: csr_array, factors: Indices | None = None) -> Indices:
    words = (X.data.astype(np.float64) + 0.0).view(np.uint64)  # where -0 is 0
    words = words ^ (words >> np.uint64(32))
    factors = random.factors(0, "columns", X.shape[1]) if factors is None else factors
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(words * factors[X.indices])])
    return random.bits(0, "rows", sums[X.indptr[1:]] - sums[X.indptr[:-1]])


@sum_of_words.register(csr_array)
def _(A: csr_array, columns: Indices) -> Indices:
    words = mixed(A.data, columns[A.indices])
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(words)])
    return np.asarray(sums[A.indptr[1:]] - sums[A.indptr[:-1]])


@column_range.register(csr_array)
def _(X: csr_array) -> tuple[Reals, Reals]:
    return np.ravel(X.min(axis=0).toarray()), np.ravel(X.max(axis=0).toarray())


@places.register(csr_array)
def _(X: csr_array, least: Reals, factors: Reals) -> Reals:  # noqa: ARG001 - another origin
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(X.astype(np.float64) @ factors)


def subtract_columns(X: csr_array, center: Reals | None) -> csr_array:
    """X - center in float64, still sparse: columns with a center other than 0 are filled up."""
    X = X.astype(np.float64, copy=False)
    columns = np.flatnonzero(center) if center is not None else np.empty(0, np.int64)
    if center is None or not len(columns):
        return X
    n = X.shape[0]
    parts = np.tile(center[columns], n), np.tile(columns.astype(X.indices.dtype), n)
    return csr_array(X - csr_array((*parts, np.arange(n + 1) * len(columns)), shape=X.shape))


def squared_lengths(X: csr_array) -> Reals:
    """|x|² of each row, in float64."""
    assert issparse(X)
    squares = csr_array((np.square(X.data, dtype=np.float64), X.indices, X.indptr), X.shape)
    return np.asarray(squares.sum(1))


def takes_sparse(metric: Metric) -> bool:
    """Whether sparse rows can be compared by the metric as they are."""
    return not callable(metric) and SAME.get(metric, metric) in SPARSE_METRICS
