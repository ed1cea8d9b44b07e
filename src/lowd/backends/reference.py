"""NumPy/SciPy: slow, plain, and the oracle every other backend is tested against."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.sparse import csr_array, diags_array, issparse
from scipy.spatial.distance import cdist

from ..threads import single_threaded_blas
from .descents import DescentOperations
from .graphs import GraphOperations
from .protocol import (
    MEASURES,
    Array,
    Basis,
    ColumnStatistics,
    Float64,
    Moments,
    Rows,
    Spectrum,
    Symmetry,
)
from .ranking import RankOperations
from .scaling import ScalingOperations

TINY = 16  # up to here NumPy finds all eigenvectors before SciPy finds some
SMALL = 1000  # up to here an eigenproblem gains less from threads than the work around it loses


@dataclass(frozen=True)
class Reference(GraphOperations, RankOperations, ScalingOperations, DescentOperations):
    threads: int = 1

    def column_statistics(self, X: Rows, weights: Float64 | None = None) -> ColumnStatistics:
        entries = X.data if issparse(X) else X
        if weights is None:
            sums = np.asarray(X.sum(0, dtype=np.float64)).ravel()
        else:
            sums = weights @ X.astype(np.float64)
        largest = float(np.abs(entries).max(initial=0))
        if np.isfinite(largest):
            return ColumnStatistics(None, sums, largest)
        return ColumnStatistics(_first_bad(X), sums, largest)

    def check_symmetry(self, A: Array) -> Symmetry:
        if not np.isfinite(A).all():
            return Symmetry(_first_bad(A), np.inf, np.inf, (0, 0), 0, (0, 0), 0, 0)
        gap, diagonal = np.abs(A - A.T), np.abs(np.diagonal(A))
        return Symmetry(
            None,
            float(np.abs(A).max()),
            float(gap.max()),
            _place(gap.argmax(), A),
            float(A.min()),
            _place(A.argmin(), A),
            float(diagonal.max()),
            int(diagonal.argmax()),
        )

    def moments(self, X: Rows, mean: Float64, weights: Float64 | None) -> Moments:
        if issparse(X):
            # Implicit centering: the products of a sparse matrix stay sparse until here.
            X = X.astype(np.float64)
            w = np.ones(X.shape[0]) if weights is None else weights
            cross = np.outer(mean, w @ X)
            scatter = (X.T @ (diags_array(w) @ X)).toarray() - cross - cross.T
            return Moments(w.sum(), mean, scatter + w.sum() * np.outer(mean, mean))
        centered = X - mean
        weighted = centered if weights is None else centered * weights[:, None]
        weight = float(len(X) if weights is None else weights.sum())
        return Moments(weight, mean, centered.T @ weighted)

    def scatter_matmul(
        self, X: Rows, mean: Float64, weights: Float64 | None, V: Array
    ) -> tuple[Float64, float]:
        V = V.astype(np.float64)
        w = np.ones(X.shape[0]) if weights is None else weights
        if issparse(X):
            X = X.astype(np.float64)
            Z = (X @ V - mean @ V) * w[:, None]
            squares = w @ np.asarray(X.power(2).sum(1)).ravel()
            trace = squares - 2 * mean @ (w @ X) + w.sum() * mean @ mean
            return X.T @ Z - np.outer(mean, Z.sum(0)), float(trace)
        centered = X - mean
        return centered.T @ ((centered @ V) * w[:, None]), float(w @ (centered**2).sum(1))

    def project(
        self, X: Rows, shift: Float64 | None, W: Rows, bias: Float64 | None = None
    ) -> Array:
        dtype = np.result_type(X.dtype, W.dtype)
        W = W.T if issparse(W) else W
        offset = np.zeros(W.shape[1]) if bias is None else bias
        if issparse(X):
            Y = X.astype(np.float64) @ W.astype(np.float64)
            Y = Y.toarray() if issparse(Y) else Y
            Y = Y + (offset if shift is None else offset - shift @ W)
        else:
            Y = (X.astype(np.float64) - (0 if shift is None else shift)) @ W + offset
        return np.ascontiguousarray(Y, dtype)

    def pairwise(
        self,
        Q: Rows,
        X: Rows,
        measure: str,
        params: tuple[float, ...],
        center: Float64 | None,
    ) -> Array:
        dtype = np.result_type(Q.dtype, X.dtype)
        family = MEASURES[measure]
        if measure == "dot" and center is not None:  # differences need none
            base: Any = (Q.astype(np.float64) - center) @ (X.astype(np.float64) - center).T
        elif family == "dot":
            base = Q.astype(np.float64) @ X.astype(np.float64).T
            base = base.toarray() if issparse(base) else base
        elif family == "square":
            base = _squares(Q, X)
        else:
            base = _differences(Q, X, measure, params)
        return np.ascontiguousarray(_FINISH.get(measure, _as_is)(base, params), dtype)

    def matmul(self, A: Array, V: Array, half_square: bool) -> Float64:
        B = A.astype(np.float64)
        product: Float64 = (-0.5 * B * B if half_square else B) @ V.astype(np.float64)
        return product

    def hadamard(
        self, X: Array, signs: Array, rows: NDArray[np.int64], padded: int, scale: float
    ) -> Array:
        n, d = X.shape
        Z = np.zeros((n, padded))
        Z[:, :d] = X * signs
        half = 1
        while half < padded:
            pairs = Z.reshape(n, -1, 2, half)
            Z = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2)
            half *= 2
        return np.ascontiguousarray(scale * Z.reshape(n, padded)[:, rows], X.dtype)

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
        A = A.astype(np.float64)
        A = -0.5 * A * A if half_square else A
        for _ in range(passes):
            size, fresh, _ = basis
            if not fresh:
                break
            new, old = slice(size - fresh, size), np.vstack([null, Q[:size]])
            P = Q[new] @ A
            P -= np.outer(P @ null, null)
            T[new, :size] = P @ Q[:size].T
            T[:size, new] = T[new, :size].T
            floor = 1e-13 * float(np.abs(np.diagonal(T)[:size]).max())
            B, factor = _gram_schmidt(P - T[new, :size] @ Q[:size], floor)
            T[size : size + len(B), new] = factor
            left = len(B)
            B = _gram_schmidt(B - B @ old.T @ old, 0.5)[0][: len(A) - 1 - size]
            Q[size : size + len(B)] = B
            basis = Basis(size + len(B), len(B), left)
        return basis

    def eigh(self, A: Float64, k: int, *, whole: bool = False) -> Spectrum:
        n = len(A)
        with single_threaded_blas() if 2 * TINY < n <= SMALL else nullcontext():
            if 2 * k > n or n <= TINY:  # then all of them are found sooner than some
                values, vectors = np.linalg.eigh(A)
                values, vectors = values if whole else values[n - k :], vectors[:, n - k :]
            elif whole:
                values, vectors = _all_values(A, k)
            else:
                values, vectors = scipy.linalg.eigh(A, subset_by_index=(n - k, n - 1))
        return Spectrum(values[::-1], vectors[:, ::-1])

    def svd(self, A: Float64) -> tuple[Float64, Float64, Float64]:
        with single_threaded_blas() if min(A.shape) <= SMALL else nullcontext():
            U, values, Vt = scipy.linalg.svd(A, full_matrices=False)
        return U, values, Vt


def _all_values(A: Float64, k: int) -> tuple[Float64, Float64]:
    """All eigenvalues and the last k eigenvectors, in 2/5 of the time of all vectors.

    By LAPACK's own steps, since it has no such driver: a tridiagonal matrix with the same
    eigenvalues, their vectors there, and the way back.
    """
    n = len(A)
    packed, diagonal, beside, turns, _ = lapack.dsytrd(A, lower=1, lwork=64 * n)
    values = lapack.dsterf(diagonal, beside)[0]
    V = scipy.linalg.eigh_tridiagonal(
        diagonal, beside, select="i", select_range=(n - k, n - 1), lapack_driver="stemr"
    )[1]
    below = np.asfortranarray(V[1:])
    V[1:] = lapack.dormqr("L", "N", packed[1:, : n - 1], turns, below, 64 * n)[0]
    return values, V


def _gram_schmidt(rows: Float64, floor: float) -> tuple[Float64, Float64]:
    """Orthonormal rows, without those of which no more than `floor` is left; the rows in them."""
    basis: list[Float64] = []
    factor = np.zeros((len(rows), len(rows)))
    for c, row in enumerate(rows):
        for b, other in enumerate(basis):
            factor[b, c] = other @ row
            row = row - factor[b, c] * other
        length = float(np.linalg.norm(row))
        if length > floor:
            factor[len(basis), c] = length
            basis.append(row / length)
    return np.array(basis).reshape(-1, rows.shape[1]), factor[: len(basis)]


_FINISH: dict[str, Any] = {
    "dot": lambda B, p: p[0] * B,
    "poly": lambda B, p: (p[0] * B + p[1]) ** p[2],
    "sigmoid": lambda B, p: np.tanh(p[0] * B + p[1]),
    "sqeuclidean": lambda B, p: p[0] * B,
    "euclidean": lambda B, p: p[0] * np.sqrt(B),
    "rbf": lambda B, p: np.exp(-p[0] * B),
    "rbfm1": lambda B, p: np.expm1(-p[0] * B),
    "laplacian": lambda B, p: np.exp(-p[0] * B),
}


def _as_is(B: Float64, params: tuple[float, ...]) -> Float64:  # noqa: ARG001
    return B


def _squares(Q: Rows, X: Rows) -> Float64:
    """Squared Euclidean distances; a center only matters to backends that round more."""
    if not issparse(Q) and not issparse(X):
        squares: Float64 = cdist(Q, X, "sqeuclidean")
        return squares
    Q, X = csr_array(Q, dtype=np.float64), csr_array(X, dtype=np.float64)
    q, x = (np.asarray(A.power(2).sum(1)).reshape(-1) for A in (Q, X))
    D = np.maximum(q[:, None] + x - 2 * (Q @ X.T).toarray(), 0)
    # Close pairs lose digits in the expanded form: recompute them from differences.
    i, j = np.nonzero(1e-7 * (q[:, None] + x) > D)
    for part in np.array_split(np.arange(len(i)), len(i) // 100_000 + 1):
        D[i[part], j[part]] = np.asarray((Q[i[part]] - X[j[part]]).power(2).sum(1)).reshape(-1)
    return np.asarray(D)


def _differences(Q: Rows, X: Rows, measure: str, params: tuple[float, ...]) -> Float64:
    if measure == "jaccard":
        Q, X = Q != 0, X != 0
    name = "cityblock" if measure in ("manhattan", "laplacian") else measure
    extra = {"p": params[0]} if measure == "minkowski" else {}
    return np.asarray(cdist(Q, X, name, **extra))


def _first_bad(X: Rows) -> tuple[int, int]:
    if issparse(X):
        at = int(np.flatnonzero(~np.isfinite(X.data))[0])
        return int(np.searchsorted(X.indptr, at, side="right") - 1), int(X.indices[at])
    return _place(np.argmax(~np.isfinite(X)), X)


def _place(flat: Any, A: Array) -> tuple[int, int]:
    row, column = np.unravel_index(flat, A.shape)
    return int(row), int(column)
