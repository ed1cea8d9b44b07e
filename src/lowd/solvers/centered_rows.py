"""Rows seen from their mean, and products with their scatter matrix, which is not formed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from ..backends.protocol import Float64, HeldVectors, Rows, multiply
from ..backends.sparse_rows import center_explicitly
from ..core.fit import Context
from .krylov import HOST, Operator


class CenteredRows(NamedTuple):
    """Rows seen from their mean, each with a weight, each column in a unit."""

    X: Rows
    mean: Float64
    weights: Float64 | None
    units: Float64 | None
    center: Float64 | float = 0.0  # which was subtracted from X already

    def dense(self) -> Float64:
        """Centered, weighted rows in float64, whose scatter matrix is the wanted one."""
        rows = self.X.toarray() if issparse(self.X) else self.X
        out = np.subtract(rows, self.mean, dtype=np.float64)
        if self.units is not None:
            out /= self.units
        if self.weights is not None:
            out *= np.sqrt(self.weights)[:, None]
        return np.asarray(out)

    def columns(self, some: slice) -> CenteredRows:
        units = None if self.units is None else self.units[some]
        return CenteredRows(self.X[:, some], self.mean[some], self.weights, units)

    def standardize(self, n: float, ddof: int) -> CenteredRows:
        """The same in units of the columns' standard deviations, of rows with total weight n."""
        return self._replace(units=standard_deviations(column_scatter(self), n, ddof))

    @classmethod
    def of(
        cls, X: Rows, mean: Float64, weights: Float64 | None = None, units: Float64 | None = None
    ) -> CenteredRows:
        """Rows less their mean; of sparse ones the part of it that leaves them their digits."""
        if not issparse(X):
            return cls(X, mean, weights, units)
        X, rest = center_explicitly(X, mean, weights)
        return cls(X, rest, weights, units, mean - rest)


def column_scatter(rows: CenteredRows) -> Float64:
    """Weighted sums of squared deviations of each column, in float64."""
    X, mean, weights = rows[:3]
    n = X.shape[0]
    w = np.ones(n) if weights is None else weights
    if issparse(X):
        squares = X.astype(np.float64).power(2)
        out: Float64 = w @ squares - 2 * mean * (w @ X.astype(np.float64)) + w.sum() * mean**2
        return np.maximum(out, 0)
    step = max(1, 2**16 // X.shape[1])
    return np.asarray(
        sum(w[i : i + step] @ np.square(X[i : i + step] - mean) for i in range(0, n, step))
    )


def standard_deviations(scatter: Float64, n: float, ddof: int) -> Float64:
    """Standard deviations of columns; 1 for a constant column."""
    deviation = np.sqrt(scatter / max(n - ddof, 1))
    return np.where(deviation > 0, deviation, 1.0)


class ScatterProduct(NamedTuple):
    """Products with a matrix that has the scatter matrix's eigenvalues, and its trace.

    `to_axes` turns its eigenvectors into those of the scatter matrix.
    """

    apply: Operator
    to_axes: Operator
    trace: Callable[[], float]
    where: HeldVectors  # the vectors that `apply` takes are


def dense_product(rows: CenteredRows, ctx: Context) -> ScatterProduct:
    """By passes over dense rows, which are centered on the way."""
    n, d = rows.X.shape
    inverse = 1.0 if rows.units is None else 1 / rows.units[:, None]
    plan, trace = ctx.ops.scatter(rows.X, rows.mean, rows.weights), 0.0

    def apply(V: Float64) -> Float64:
        nonlocal trace
        out, trace = plan.matmul(V * inverse)
        return np.asarray(out * inverse)

    def total() -> float:
        if rows.units is None:
            return float(trace)
        weight: float = n if rows.weights is None else rows.weights.sum()
        return float(weight) * int(d)

    return ScatterProduct(apply, lambda V: V, total, HOST)


def sparse_product(rows: CenteredRows, ctx: Context) -> ScatterProduct:
    """On the shorter side, with implicit centering."""
    n, d = rows.X.shape
    A, m = _weight_rows(rows), rows.mean if rows.units is None else rows.mean / rows.units
    root = np.ones(n) if rows.weights is None else np.sqrt(rows.weights)
    B = csr_array(A.T)
    # Centered rows are A - root m'. S is A or A', with rows on the shorter side.
    S, back, short, long = (A, B, root, m) if n < d else (B, A, m, root)
    mixed, length = S @ long, float(long @ long)
    inner, outer = ctx.ops.matrix_plan(back), ctx.ops.matrix_plan(S)
    held_short, held_mixed = outer.hold(short), outer.hold(mixed)

    def apply(V: Float64) -> Float64:
        """(S - short long') (S - short long')' V: nothing of the longer side is centered."""
        out = outer.matmul(inner.matmul(V))
        along = held_short @ V
        out -= held_mixed[:, None] * along
        out += held_short[:, None] * (length * along - held_mixed @ V)
        return out

    def to_axes(V: Float64) -> Float64:
        if n >= d:
            return V
        U = multiply(inner, V)
        U -= np.outer(m, root @ V)
        return normalize_columns(U)

    def trace() -> float:
        return float(A.data @ A.data - 2 * m @ (B @ root) + (root @ root) * (m @ m))

    return ScatterProduct(apply, to_axes, trace, outer)


def _weight_rows(rows: CenteredRows) -> csr_array:
    """Sparse rows, not centered, each times the root of its weight, in the units of columns."""
    X = rows.X
    entries = X.data.astype(np.float64)
    if rows.units is not None:
        entries /= rows.units[X.indices]
    if rows.weights is not None:
        entries *= np.repeat(np.sqrt(rows.weights), np.diff(X.indptr))
    index = np.int32 if max(X.nnz, *X.shape) < 2**31 else np.int64
    parts = X.indices.astype(index, copy=False), X.indptr.astype(index, copy=False)
    return csr_array((entries, *parts), shape=X.shape)


def normalize_columns(V: Float64) -> Float64:
    """Columns of length 1, in place; 0 stays 0."""
    length = np.linalg.norm(V, axis=0)
    V /= np.where(length > 0, length, 1)
    return V
