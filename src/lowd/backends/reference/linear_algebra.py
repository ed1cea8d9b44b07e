"""Reference operations of linear algebra: statistics of columns, scatter matrices, products."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, issparse

from ..protocol import (
    Array,
    ColumnStatistics,
    DType,
    Float64,
    Graph,
    HadamardMatrix,
    Moments,
    Rows,
    ScatterPlan,
    Symmetry,
    WalkPlan,
    to_csr,
)
from ..row_hash import hash_rows
from ..sparse_rows import center_explicitly, column_sums, project_sparse


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
class WalkByProducts:
    """A random walk on a graph on the host, step by step."""

    P: csr_array
    degrees: Float64
    matmul: Callable[..., Float64]

    @classmethod
    def of(cls, graph: Graph, matmul: Callable[..., Float64]) -> WalkByProducts:
        W = to_csr(graph)
        counts = np.diff(W.indptr)
        rows = np.repeat(np.arange(len(counts)), counts)
        degrees: Float64 = np.bincount(rows, W.data, len(counts)).astype(np.float64, copy=False)
        steps = W.data / np.repeat(np.where(degrees > 0, degrees, 1), counts)
        return cls(csr_array((steps, W.indices, W.indptr), W.shape), degrees, matmul)

    def advance(self, Y: Float64, steps: int) -> Float64:
        for _ in range(steps):
            Y = self.matmul(self.P, Y, alpha=0.5, beta=0.5)
        return Y


@dataclass(frozen=True)
class StoredMatrix:
    """A matrix on the host."""

    stored: Array
    product: Callable[..., Float64]

    @property
    def size(self) -> int:
        return len(self.stored)

    @property
    def dtype(self) -> DType:
        return self.stored.dtype

    def matmul(self, V: Float64) -> Float64:
        return self.product(self.stored, V)

    def rows(self, count: int) -> Array:
        return self.stored[:count]

    def diagonal(self) -> Array:
        return np.diagonal(self.stored)


class LinearAlgebraOperations:
    """Statistics of columns, scatter matrices, projections and matrix products."""

    def hash_rows(self, X: Rows) -> NDArray[np.uint64]:
        return hash_rows(X)

    def column_statistics(self, X: Rows, weights: Float64 | None = None) -> ColumnStatistics:
        entries = X.data if issparse(X) else X
        if issparse(X):
            sums = column_sums(X, weights)
        elif weights is None:
            sums = X.sum(0, dtype=np.float64)
        else:
            sums = weights @ X.astype(np.float64)
        max_abs = float(np.abs(entries).max(initial=0))
        first = None if np.isfinite(max_abs) else _first_nonfinite(X)
        return ColumnStatistics(first, sums, max_abs)

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

    def random_walk(self, W: Graph) -> WalkPlan:
        return WalkByProducts.of(W, self.matmul)

    def matmul(
        self,
        A: Rows,
        V: Array,
        *,
        half_square: bool = False,
        alpha: float = 1.0,
        beta: float = 0.0,
        gamma: float = 0.0,
        U: Array | None = None,
    ) -> Float64:
        B = A.astype(np.float64)
        if half_square:
            B = -0.5 * B * B
        product: Float64 = alpha * (B @ V.astype(np.float64))
        if beta:
            product += beta * V
        if U is not None:
            product += gamma * U
        return product


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
