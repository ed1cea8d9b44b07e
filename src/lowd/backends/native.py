"""The C++ core: fused, threaded, the same bits for any number of threads.

Sparse rows and dense eigenproblems are the reference's (SciPy does them well); all the rest
is a call into `lowd._native`, which checks for Ctrl-C and reports progress while it runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from .. import _native
from ..progress import step
from .forces import NativeKLPlan
from .protocol import (
    Array,
    Basis,
    ColumnStatistics,
    Float64,
    GeodesicPlan,
    GuttmanStep,
    Index,
    InterpolationGrid,
    Ints,
    KLPlan,
    Moments,
    Neighbors,
    Ragged,
    Rows,
    Symmetry,
)
from .reference import Reference
from .search import RowIndex, rowwise

FEW = 2**17
REUSED = 64  # products with entries that are in registers go so much quicker than with new ones
FEW_PRODUCTS = 2**20  # in a pass that is one of many, between which a thread goes to sleep


@dataclass(frozen=True)
class Native(Reference):
    def _team(self, steps: int) -> int:
        """Threads for so many multiplications: waking a second one takes as long as FEW of them."""
        return 1 if steps <= FEW else self.threads

    def column_statistics(self, X: Rows, weights: Float64 | None = None) -> ColumnStatistics:
        if issparse(X):
            return super().column_statistics(X, weights)
        sums = np.empty(X.shape[1])
        threads = self._team(X.size)
        largest = _native.column_sums(X, weights, sums, threads, step("reading"))
        if math.isfinite(largest) and np.logical_and.reduce(np.isfinite(sums)):
            return ColumnStatistics(None, sums, largest)
        row, column = _native.scan(X, self.threads)
        # Sums of finite float64 numbers may overflow; then nothing is bad but the size.
        return ColumnStatistics(None if row < 0 else (row, column), sums, np.inf)

    def check_symmetry(self, A: Array) -> Symmetry:
        found = _native.symmetry(A, self.threads, step("checking the matrix"))
        return Symmetry(
            None if found["bad_at"][0] < 0 else found["bad_at"],
            found["largest"],
            found["asymmetry"],
            found["asymmetry_at"],
            found["smallest"],
            found["smallest_at"],
            found["diagonal"],
            found["diagonal_at"],
        )

    def moments(self, X: Rows, mean: Float64, weights: Float64 | None) -> Moments:
        if issparse(X):
            return super().moments(X, mean, weights)
        scatter = np.empty((X.shape[1], X.shape[1]))
        threads = self._team(X.size * X.shape[1] // REUSED)
        _native.scatter(X, weights, mean, 1.0, scatter, threads, step("covariance"))
        weight = float(len(X) if weights is None else weights.sum())
        return Moments(weight, mean, scatter)

    def scatter_matmul(
        self, X: Rows, mean: Float64, weights: Float64 | None, V: Array
    ) -> tuple[Float64, float]:
        if issparse(X):
            return super().scatter_matmul(X, mean, weights, V)
        out = np.empty(V.shape)
        V = np.ascontiguousarray(V, X.dtype)
        trace = _native.scatter_times(
            X, weights, mean, 1.0, V, out, self.threads, step("covariance product")
        )
        return out, trace

    def project(
        self, X: Rows, shift: Float64 | None, W: Rows, bias: Float64 | None = None
    ) -> Array:
        dtype = np.result_type(X.dtype, W.dtype)
        if issparse(X) and issparse(W):
            return super().project(X, shift, W, bias)
        if issparse(X):
            offset = np.zeros(W.shape[1]) if bias is None else bias
            Y = self.sparse_matmul(X.astype(np.float64), W.astype(np.float64), 1.0, 0.0, None, 0.0)
            Y += offset if shift is None else offset - shift @ W
            return np.ascontiguousarray(Y, dtype)
        X = rowwise(X, dtype)
        if issparse(W):
            out = np.empty((len(X), W.shape[0]), dtype)
            parts = W.indptr.astype(np.int64), W.indices.astype(np.int64), W.data.astype(dtype)
            threads = self._team(len(X) * W.nnz)
            _native.sparse_project(X, *parts, out, threads, step("projection"))
            return out
        W = np.ascontiguousarray(W, dtype)
        out = np.empty((len(X), W.shape[1]), dtype)
        threads = self._team(X.size * W.shape[1])
        _native.project(X, shift, W, bias, out, threads, step("projection"))
        return out

    def pairwise(
        self, Q: Rows, X: Rows, measure: str, params: tuple[float, ...], center: Float64 | None
    ) -> Array:
        if issparse(Q) or issparse(X):
            return super().pairwise(Q, X, measure, params, center)
        dtype = np.result_type(Q.dtype, X.dtype)
        among = Q is X
        X = rowwise(X, dtype)
        Q = X if among else rowwise(Q, dtype)
        out = np.empty((len(Q), len(X)), dtype)
        _native.pairwise(
            Q, X, cast(Any, measure), params, center, among, out, self.threads, step("distances")
        )
        return out

    def index(
        self, X: Rows, measure: str, params: tuple[float, ...], center: Float64 | None
    ) -> Index:
        if issparse(X) or measure not in ("euclidean", "sqeuclidean") or not params[0] > 0:
            return super().index(X, measure, params, center)
        return RowIndex(self, X, measure, params[0], center)

    def select(self, D: Array, k: int, own: NDArray[np.int64] | None) -> Neighbors:
        D = rowwise(D, D.dtype)
        indices, values = np.empty((len(D), k), np.int32), np.empty((len(D), k))
        if k:
            _native.select(D, own, indices, values, self.threads)
        return Neighbors(indices, values)

    def rank(self, D: Array, own: NDArray[np.int64]) -> Ints:
        out = np.empty(D.shape, np.int32)
        _native.rank_rows(rowwise(D, D.dtype), own, out, self.threads)
        return out

    def matmul(self, A: Array, V: Array, half_square: bool) -> Float64:
        out = np.empty((len(A), V.shape[1]))
        V = np.ascontiguousarray(V, A.dtype)
        _native.times(A, V, half_square, out, self.threads, step("matrix product"))
        return out

    def lanczos(
        self,
        A: Array,
        half_square: bool,
        null: Float64,
        Q: Float64,
        T: Float64,
        basis: Basis,
        passes: int,
    ) -> Basis:
        threads = 1 if A.size * basis.fresh <= FEW_PRODUCTS else self.threads
        wide, poll = np.asarray(A, np.float64), step("eigenvectors")
        how = *basis[:2], passes, threads, poll
        return Basis(*_native.lanczos(wide, half_square, null, Q, T, *how))

    def hadamard(
        self, X: Array, signs: Array, rows: NDArray[np.int64], padded: int, scale: float
    ) -> Array:
        out = np.empty((len(X), len(rows)), X.dtype)
        signs = signs.astype(X.dtype)
        threads = self._team(16 * X.size)
        _native.hadamard(X, signs, rows, padded, scale, out, threads, step("projection"))
        return out

    def shortest_paths(self, graph: csr_array, near: Ragged, steps: Float64 | None = None) -> Array:
        out = np.empty((len(near.indptr) - 1, graph.shape[0]), graph.dtype)
        first = None if steps is None else steps.astype(graph.dtype)
        _native.paths(*_edges(graph), *near, first, out, self.threads, step("shortest paths"))
        return out

    def geodesics(self, graph: csr_array) -> GeodesicPlan:
        n = graph.shape[0]
        ring = np.empty((n, n // 2), graph.dtype)
        _native.ring(*_edges(graph), ring, self.threads, step("shortest paths"))
        return NativeGeodesicPlan(ring, self.threads)

    def min_plus(self, near: Ragged, lengths: Float64, G: Array) -> Array:
        G = rowwise(G, G.dtype)
        out = np.empty((len(near.indptr) - 1, G.shape[1]), G.dtype)
        steps: Array = lengths.astype(G.dtype)
        _native.relax(*near, steps, G, out, self.threads, step("shortest paths"))
        return out

    def sparse_matmul(
        self, A: csr_array, V: Float64, a: float, b: float, U: Float64 | None, c: float
    ) -> Float64:
        V = np.ascontiguousarray(V)
        U = None if U is None else np.ascontiguousarray(U)
        out = np.empty((A.shape[0], V.shape[1]))
        _native.sparse_times(
            A.indptr, A.indices, A.data, V, a, b, U, c, out, self.threads, step("matrix product")
        )
        return out

    def barycentric_weights(self, Q: Array, X: Array, near: Ragged, reg: float) -> Float64:
        dtype = np.result_type(Q.dtype, X.dtype)
        out = np.empty(len(near.indices))
        Q, X = rowwise(Q, dtype), rowwise(X, dtype)
        _native.barycenters(Q, X, *near, reg, out, self.threads, step("local weights"))
        return out

    def alignment_matrix(
        self, X: Array, near: Ragged, kind: str, k: int, reg: float, mass: Float64
    ) -> csr_array:
        n = len(X)
        if kind == "modified":  # a patch ends with its own row
            own = np.insert(near.indices, near.indptr[1:], np.arange(n, dtype=np.int32))
            near = Ragged(near.indptr + np.arange(n + 1), own)
        indptr = np.empty(n + 1, np.int64)
        _native.alignment_starts(*near, indptr, self.threads)
        indices, data = np.empty(indptr[-1], np.int32), np.empty(indptr[-1])
        _native.alignment(
            rowwise(X, X.dtype),
            *near,
            cast(Any, kind),
            k,
            reg,
            mass,
            indptr,
            indices,
            data,
            self.threads,
            step("local patches"),
        )
        return csr_array((data, indices, indptr), shape=(n, n))

    def conditional_probabilities(
        self, starts: NDArray[np.int64], squares: Float64, target: float
    ) -> tuple[Float64, Float64]:
        p, beta = np.empty(len(squares)), np.empty(len(starts) - 1)
        _native.perplexity(starts, squares, target, p, beta, self.threads, step("affinities"))
        return p, beta

    def symmetrize_probabilities(self, rows: csr_array) -> csr_array:
        starts, indices = rows.indptr.astype(np.int64), rows.indices.astype(np.int32)
        starts, indices, p = _native.joint(starts, indices, rows.data, self.threads)
        return csr_array((p, indices, starts.astype(rows.indptr.dtype)), rows.shape)

    def kl_plan(self, P: csr_array, kernel: str) -> KLPlan:
        return NativeKLPlan(P, kernel, self.threads)

    def optimize_new_points(
        self,
        near: Ragged,
        weights: Float64,
        Y: Array,
        kernel: str,
        mesh: InterpolationGrid | None,
        start: Float64 | None = None,
    ) -> Float64:
        places = np.empty((len(near.indptr) - 1, Y.shape[1]))
        if start is not None:
            places[:] = start
        phi, nodes, origin, spacing = None, [0, 0], [0.0, 0.0], 1.0
        if mesh is not None:
            phi, spacing = mesh.phi.ravel(), mesh.spacing
            nodes, origin = [*mesh.phi.shape, 0][:2], [*mesh.origin, 0.0][:2]
        _native.settle(
            *near,
            weights,
            np.ascontiguousarray(Y, np.float64),
            cast(Any, kernel),
            phi,
            nodes,
            origin,
            spacing,
            start is None,
            places,
            self.threads,
            step("resting places"),
        )
        return places

    def guttman(self, D: Array, W: Array | None) -> NativeStressPlan:  # type: ignore[override]
        D = rowwise(D, D.dtype)
        return NativeStressPlan(D, None if W is None else rowwise(W, D.dtype), self.threads)

    def monotone(  # type: ignore[override]
        self, D: Array, W: Array | None, split: bool
    ) -> NativeMonotonePlan:
        D = rowwise(D, D.dtype)
        W = None if W is None else rowwise(W, D.dtype)
        order = _native.Order(D, W, split, self.threads, step("order of pairs"))
        return NativeMonotonePlan(D, order, self.threads)

    def multilaterate(
        self, T: Array, W: Array | None, A: Float64, start: Float64, max_iter: int, tol: float
    ) -> tuple[Float64, Float64]:
        Y, stress = np.array(start, np.float64), np.empty(len(start))
        wide = [None if M is None else np.ascontiguousarray(M, np.float64) for M in (T, W)]
        assert wide[0] is not None
        _native.locate(wide[0], wide[1], A, max_iter, tol, Y, stress, self.threads, step("places"))
        return Y, stress


def _edges(graph: csr_array) -> tuple[NDArray[np.int64], Ints, Array]:
    return graph.indptr.astype(np.int64), graph.indices.astype(np.int32), graph.data


@dataclass(frozen=True)
class NativeGeodesicPlan:
    """Nodes in a ring: row i holds the lengths to the half of them that follow i."""

    ring: Array
    threads: int

    def half_square_matmul(self, V: Float64) -> Float64:
        out = np.empty(V.shape)
        narrow = np.ascontiguousarray(V, self.ring.dtype)
        _native.ring_times(self.ring, narrow, out, self.threads, step("matrix product"))
        return out


@dataclass(frozen=True)
class NativeStressPlan:
    """Targets and weights, read once per step."""

    D: Array
    W: Array | None
    threads: int

    def step(self, Y: Float64) -> GuttmanStep:
        moved = np.empty(Y.shape)
        Y = np.ascontiguousarray(Y)
        return GuttmanStep(*_native.guttman(self.D, self.W, Y, moved, self.threads), moved)


@dataclass(frozen=True)
class NativeMonotonePlan:
    """Pairs in the order of D; their distances and targets are found again in every step."""

    D: Array
    order: _native.Order
    threads: int

    def step(self, Y: Float64) -> GuttmanStep:
        moved = np.empty(Y.shape)
        sums = self.order.step(np.ascontiguousarray(Y), moved, self.threads)
        return GuttmanStep(*sums, moved)

    def curve(self, Y: Float64) -> tuple[Float64, Float64]:
        pairs, targets = self.order.curve(np.ascontiguousarray(Y), self.threads)
        if not len(pairs):  # of one row
            return np.zeros(1), np.zeros(1)
        return self.D[pairs[:, 0], pairs[:, 1]].astype(np.float64), targets.copy()
