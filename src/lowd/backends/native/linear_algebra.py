"""Native operations of linear algebra: statistics of columns, scatter matrices, products."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from scipy.sparse import issparse

from ... import _native
from ...progress import step
from ...random import stream_key
from ..protocol import (
    PRODUCT,
    Array,
    ColumnStatistics,
    Float64,
    Graph,
    HadamardMatrix,
    MatrixPlan,
    Moments,
    PairwiseMatrix,
    Rows,
    ScatterPlan,
    Symmetry,
    Terms,
    refine_mean,
)
from ..reference.linear_algebra import (
    LinearAlgebraOperations,
    Pairwise,
    ReferenceMatrixPlan,
    form_matrix,
)
from ..row_hash import PRIORITY_STREAM, column_multipliers
from ..sparse_rows import project_sparse
from .arrays import as_float64, as_rows, count_threads

# In a scatter matrix entries stay in registers: so many products take the time of one elsewhere.
PRODUCTS_PER_LOAD = 64


@dataclass(frozen=True)
class NativeScatterPlan:
    """Dense rows, centered while they are read."""

    X: Array
    mean: Float64
    weights: Float64 | None
    threads: int

    def moments(self) -> Moments:
        X, weights = self.X, self.weights
        scatter = np.empty((X.shape[1], X.shape[1]))
        threads = count_threads(X.size * X.shape[1] // PRODUCTS_PER_LOAD, self.threads)
        _native.scatter(X, weights, self.mean, 1.0, scatter, threads, step("covariance"))
        weight = float(len(X) if weights is None else weights.sum())
        return Moments(weight, self.mean, scatter)

    def matmul(self, V: Array) -> tuple[Float64, float]:
        X, out = self.X, np.empty(V.shape)
        V = np.ascontiguousarray(V, X.dtype)
        given = X, self.weights, self.mean, 1.0, V
        trace = _native.scatter_matmul(*given, out, self.threads, step("covariance product"))
        return out, trace


@dataclass(frozen=True)
class NativeMatrixPlan(ReferenceMatrixPlan):
    """A matrix on the host, which the core reads once for a product."""

    threads: int

    def matmul(self, V: Array, terms: Terms = PRODUCT) -> Float64:
        A = self.A
        if issparse(A):
            assert not self.half_square, "sparse matrices are multiplied as they are"
            return multiply_sparse(A, V, self.threads, terms)
        out = np.empty((A.shape[0], V.shape[1]))
        narrow: Array = np.ascontiguousarray(V, A.dtype)
        _native.matmul(A, narrow, self.half_square, out, self.threads, step("matrix product"))
        return terms.add_to(out, V)


def multiply_sparse(A: Rows, V: Array, threads: int, terms: Terms = PRODUCT) -> Float64:
    """The sum of terms with A V, of CSR rows."""
    alpha, beta, gamma, U = terms
    out, data = np.empty((A.shape[0], V.shape[1])), A.data.astype(np.float64, copy=False)
    given = as_float64(V), alpha, beta, None if U is None else as_float64(U), gamma
    poll = step("matrix product")
    _native.sparse_matmul(A.indptr, A.indices, data, *given, out, threads, poll)
    return out


class PairsAndThreads(Pairwise, Protocol):
    """What the plan of a matrix of all pairs needs."""

    @property
    def threads(self) -> int: ...


class NativeLinearAlgebra(LinearAlgebraOperations):
    """Statistics of columns, scatter matrices, projections and matrix products."""

    threads: int

    def column_statistics(
        self, X: Rows, weights: Float64 | None = None, *, priorities: bool = False
    ) -> ColumnStatistics:
        if issparse(X):
            return super().column_statistics(X, weights, priorities=priorities)
        X, sums = as_rows(X, X.dtype), np.empty(X.shape[1])
        bits = np.empty(len(X), np.uint64) if priorities else None
        multipliers = column_multipliers(X.shape[1]) if priorities else None
        hashed = multipliers, stream_key(*PRIORITY_STREAM) if priorities else 0, bits
        threads = count_threads(X.size, self.threads)
        max_abs = _native.column_sums(X, weights, sums, *hashed, threads, step("reading"))
        sums /= len(X) if weights is None else weights.sum()
        if math.isfinite(max_abs) and np.logical_and.reduce(np.isfinite(sums)):
            return ColumnStatistics(None, refine_mean(X, sums, weights), max_abs, bits)
        row, column = _native.find_nonfinite(X, self.threads)
        # Sums of finite float64 numbers may overflow: then no entry is bad, only too large.
        return ColumnStatistics(None if row < 0 else (row, column), sums, np.inf, bits)

    def check_symmetry(self, A: Array) -> Symmetry:
        found = _native.symmetry(A, self.threads, step("checking the matrix"))
        return Symmetry(
            None if found["nonfinite_at"][0] < 0 else found["nonfinite_at"],
            found["largest"],
            found["asymmetry"],
            found["asymmetry_at"],
            found["smallest"],
            found["smallest_at"],
            found["diagonal"],
            found["diagonal_at"],
        )

    def scatter(self, X: Rows, mean: Float64, weights: Float64 | None) -> ScatterPlan:
        if issparse(X):
            return super().scatter(X, mean, weights)
        return NativeScatterPlan(X, mean, weights, self.threads)

    def project(
        self,
        X: Rows,
        shift: Float64 | None,
        W: Rows | HadamardMatrix,
        bias: Float64 | None = None,
    ) -> Array:
        if isinstance(W, HadamardMatrix):
            return self._hadamard(X, W, shift, bias)
        if issparse(X):
            return self._project_sparse(X, shift, W, bias)
        dtype = np.result_type(X.dtype, W.dtype)
        X = as_rows(X, dtype)
        if issparse(W):
            out = np.empty((len(X), W.shape[0]), dtype)
            parts = W.indptr.astype(np.int64), W.indices.astype(np.int64), W.data.astype(dtype)
            threads = count_threads(len(X) * W.nnz, self.threads)
            _native.sparse_project(X, *parts, out, threads, step("projection"))
            return out
        W = np.ascontiguousarray(W, dtype)
        out = np.empty((len(X), W.shape[1]), dtype)
        threads = count_threads(X.size * W.shape[1], self.threads)
        _native.project(X, shift, W, bias, out, threads, step("projection"))
        return out

    def _project_sparse(
        self, X: Rows, shift: Float64 | None, W: Rows, bias: Float64 | None
    ) -> Array:
        if issparse(W):
            return super().project(X, shift, W, bias)
        offset = np.zeros(W.shape[1]) if bias is None else bias
        W64 = W.astype(np.float64)
        matmul = partial(multiply_sparse, threads=self.threads)
        Y = matmul(X, W64) if shift is None else project_sparse(X, shift, W64, matmul)
        Y += offset
        return np.ascontiguousarray(Y, np.result_type(X.dtype, W.dtype))

    def _hadamard(
        self, X: Array, W: HadamardMatrix, shift: Float64 | None, bias: Float64 | None
    ) -> Array:
        if shift is not None or bias is not None:
            return super().project(X, shift, W, bias)
        out = np.empty((len(X), len(W.rows)), X.dtype)
        given = X, W.signs.astype(X.dtype), W.rows, W.padded, W.scale
        threads = count_threads(16 * X.size, self.threads)
        _native.hadamard(*given, out, threads, step("projection"))
        return out

    def matrix_plan(
        self: PairsAndThreads, A: Rows | Graph | PairwiseMatrix, *, half_square: bool = False
    ) -> MatrixPlan:
        return NativeMatrixPlan(form_matrix(A, self), half_square, self.threads)
