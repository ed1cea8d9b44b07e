"""Reference operations of linear algebra: statistics of columns, scatter matrices, products."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.sparse import diags_array, issparse

from ..protocol import (
    PRODUCT,
    Array,
    ColumnStatistics,
    Float64,
    Graph,
    HadamardMatrix,
    HostVectors,
    MatrixPlan,
    Moments,
    PairwiseMatrix,
    Rows,
    ScatterPlan,
    Symmetry,
    Terms,
    refine_mean,
    to_csr,
)
from ..row_hash import row_priorities
from ..sparse_rows import center_explicitly, column_means, project_sparse


@dataclass(frozen=True)
class ReferenceScatterPlan:
    """Centered in float64; CSR rows implicitly, where that keeps the digits: they stay sparse."""

    X: Rows
    mean: Float64
    weights: Float64 | None

    def moments(self) -> Moments:
        X, mean, w = self.X, self.mean, self._weights()
        if issparse(X):
            X, offset = center_explicitly(X.astype(np.float64), mean, self.weights)
            cross = np.outer(offset, w @ X)
            scatter = (X.T @ (diags_array(w) @ X)).toarray() - cross - cross.T
            return Moments(w.sum(), mean, scatter + w.sum() * np.outer(offset, offset))
        centered = X - mean
        weighted = centered if self.weights is None else centered * w[:, None]
        return Moments(float(w.sum()), mean, centered.T @ weighted)

    def matmul(self, V: Array) -> tuple[Float64, float]:
        X, mean, w = self.X, self.mean, self._weights()
        V = V.astype(np.float64)
        if issparse(X):
            X, mean = center_explicitly(X.astype(np.float64), mean, self.weights)
            Z = (X @ V - mean @ V) * w[:, None]
            squares = w @ np.asarray(X.power(2).sum(1)).ravel()
            trace = squares - 2 * mean @ (w @ X) + w.sum() * mean @ mean
            return X.T @ Z - np.outer(mean, Z.sum(0)), float(trace)
        centered = X - mean
        return centered.T @ ((centered @ V) * w[:, None]), float(w @ (centered**2).sum(1))

    def _weights(self) -> Float64:
        return np.ones(self.X.shape[0]) if self.weights is None else self.weights


@dataclass(frozen=True)
class ReferenceMatrixPlan(HostVectors):
    """A matrix on the host, multiplied in float64."""

    A: Rows
    half_square: bool

    def matmul(self, V: Array, terms: Terms = PRODUCT) -> Float64:
        B = self.A.astype(np.float64)
        if self.half_square:
            B = -0.5 * B * B
        return terms.add_to(B @ V.astype(np.float64), V)


class Pairwise(Protocol):
    """The operation by which a matrix of all pairs is computed."""

    def pairwise(
        self,
        Q: Rows,
        X: Rows,
        measure: str,
        params: tuple[float, ...],
        center: Float64 | None,
    ) -> Array: ...


class LinearAlgebraOperations:
    """Statistics of columns, scatter matrices, projections and matrix products."""

    def column_statistics(
        self, X: Rows, weights: Float64 | None = None, *, priorities: bool = False
    ) -> ColumnStatistics:
        entries = X.data if issparse(X) else X
        if issparse(X):
            mean = column_means(X, weights)
        else:
            w = np.ones(len(X)) if weights is None else weights
            mean = w @ X.astype(np.float64) / w.sum()
        max_abs = float(np.abs(entries).max(initial=0))
        first = None if np.isfinite(max_abs) else _first_nonfinite(X)
        if not issparse(X) and np.isfinite(mean).all():
            mean = refine_mean(X, mean, weights)
        return ColumnStatistics(first, mean, max_abs, row_priorities(X) if priorities else None)

    def check_symmetry(self, A: Array) -> Symmetry:
        if not np.isfinite(A).all():
            return Symmetry(_first_nonfinite(A), np.inf, np.inf, (0, 0), 0, (0, 0), 0, 0)
        gap, diagonal = np.abs(A - A.T), np.abs(np.diagonal(A))
        return Symmetry(
            None,
            float(np.abs(A).max()),
            float(gap.max()),
            _position(gap.argmax(), A),
            float(A.min()),
            _position(A.argmin(), A),
            float(diagonal.max()),
            int(diagonal.argmax()),
        )

    def scatter(self, X: Rows, mean: Float64, weights: Float64 | None) -> ScatterPlan:
        return ReferenceScatterPlan(X, mean, weights)

    def project(
        self,
        X: Rows,
        shift: Float64 | None,
        W: Rows | HadamardMatrix,
        bias: Float64 | None = None,
    ) -> Array:
        if isinstance(W, HadamardMatrix):
            Y = _hadamard(X - (0 if shift is None else shift), W)
            return np.ascontiguousarray(Y + (0 if bias is None else bias), X.dtype)
        dtype = np.result_type(X.dtype, W.dtype)
        W = W.T if issparse(W) else W
        offset = np.zeros(W.shape[1]) if bias is None else bias
        if issparse(X):
            X, W = X.astype(np.float64), W.astype(np.float64)
            if issparse(W):
                Y = (X @ W).toarray() - (0 if shift is None else shift @ W)
            else:
                Y = X @ W if shift is None else project_sparse(X, shift, W, operator.matmul)
            Y = Y + offset
        else:
            Y = (X.astype(np.float64) - (0 if shift is None else shift)) @ W + offset
        return np.ascontiguousarray(Y, dtype)

    def matrix_plan(
        self: Pairwise, A: Rows | Graph | PairwiseMatrix, *, half_square: bool = False
    ) -> MatrixPlan:
        return ReferenceMatrixPlan(form_matrix(A, self), half_square)


def form_matrix(A: Rows | Graph | PairwiseMatrix, ops: Pairwise) -> Rows:
    """A matrix on the host: its array, the copy of a graph, or the measures of all pairs."""
    if isinstance(A, PairwiseMatrix):
        return ops.pairwise(A.X, A.X, A.measure, A.params, A.center)
    return A if isinstance(A, np.ndarray) else to_csr(A)


def _hadamard(X: Array, W: HadamardMatrix) -> Float64:
    """The fast Walsh-Hadamard transform of each row, by sums and differences of halves."""
    n, d = X.shape
    Z = np.zeros((n, W.padded))
    Z[:, :d] = X * W.signs
    half = 1
    while half < W.padded:
        pairs = Z.reshape(n, -1, 2, half)
        Z = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2)
        half *= 2
    return np.asarray(W.scale * Z.reshape(n, W.padded)[:, W.rows])


def _first_nonfinite(X: Rows) -> tuple[int, int]:
    if issparse(X):
        at = int(np.flatnonzero(~np.isfinite(X.data))[0])
        return int(np.searchsorted(X.indptr, at, side="right") - 1), int(X.indices[at])
    return _position(np.argmax(~np.isfinite(X)), X)


def _position(flat: np.intp, A: Array) -> tuple[int, int]:
    row, column = np.unravel_index(flat, A.shape)
    return int(row), int(column)
