"""Principal axes of rows: four routes to the same answer, chosen by their cost.

`covariance` eigenvectors of the d x d scatter matrix; `gram` of the n x n one; `svd` of the
centered rows, the most accurate; `krylov` from products with the scatter matrix, to a residual.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse

from ..backends.protocol import Array, Backend, Float64, Moments, Rows
from ..core.fit import Context
from ..errors import ConvergenceWarning, warn
from .krylov import TOLERANCE, Leading, basis_memory, block_width, leading, random_start

EXACT = float(np.finfo(np.float64).eps)
LARGE, SAMPLE = 40_000, 2048  # so many rows are first looked at through a sample
SPARSE_WIDTH = 8  # vectors in a block
# Products with sparse rows are summed in float64, whatever the type of the entries.
SPARSE_TOLERANCE = {np.dtype(np.float32): 2e-7, np.dtype(np.float64): 1e-10}
BASIS = 60_000_000  # what passes cost beside their products, for each vector of a block
NARROW = 5e9  # more products than these are done in the type of the data
STAYS = 2**17  # entries that stay in the cache while they are centered
TINY, SMALL = 5e3, 2e6  # products of a direct route: the SVD is as quick, or affordable
SHORT = 1e-5  # eigenvalues below this share of the largest are worth the SVD's digits
TALL = 1.5  # rows per column from which a triangular factor saves time
EXACTLY = 2e7  # so many products are done in float64 at no noticeable cost


class Axes(NamedTuple):
    """Eigenvalues of the scatter matrix (largest first), its eigenvectors and its trace."""

    values: Float64
    vectors: Float64
    total: float
    route: str
    residual: float
    noise: float  # eigenvalues up to here are rounding, relative to the largest


class Centered(NamedTuple):
    """Rows seen from a center, each with a weight, each column in a unit."""

    X: Rows
    mean: Float64
    weights: Float64 | None
    units: Float64 | None

    def dense(self) -> Float64:
        """Centered, weighted rows in float64, whose scatter matrix is the wanted one."""
        rows = self.X.toarray() if issparse(self.X) else self.X
        out = np.subtract(rows, self.mean, dtype=np.float64)
        if self.units is not None:
            out /= self.units
        if self.weights is not None:
            out *= np.sqrt(self.weights)[:, None]
        return np.asarray(out)

    def columns(self, some: slice) -> Centered:
        units = None if self.units is None else self.units[some]
        return Centered(self.X[:, some], self.mean[some], self.weights, units)


def principal_axes(rows: Centered, k: int | None, ctx: Context) -> Axes:
    """The k leading axes, or all of them."""
    n, d = rows.X.shape
    route = choose_route(n, d, k, sparse=issparse(rows.X))
    axes = ROUTES[route](rows, k or min(n, d), ctx)
    if route != "svd" and n * d * min(n, d) <= SMALL and not issparse(rows.X):
        # Squares have half the digits of the rows: enough, unless an axis is that short.
        short = axes.values[-1] <= SHORT * axes.values[0]
        return _by_svd(rows, k or min(n, d), ctx) if short else axes
    if axes.residual <= TOLERANCE[ctx.dtype]:
        return axes
    if min(n, d) <= 4000:  # the spectrum is too flat for products; the direct route is affordable
        return ROUTES["covariance" if d <= n else "gram"](rows, k or min(n, d), ctx)
    warn(
        f"the principal axes have a relative residual of {axes.residual:.1e} (wanted "
        f"{TOLERANCE[ctx.dtype]:.0e}): the spectrum is nearly flat; ask for more components.",
        ConvergenceWarning,
    )
    return axes


def choose_route(n: int, d: int, k: int | None, *, sparse: bool) -> str:
    """The cheapest route by operation counts; the most accurate where it costs no more."""
    small = min(n, d)
    if n * d * small <= TINY and not sparse:
        return "svd"
    costs = {"covariance": n * d * d + 4 * d**3, "gram": n * n * d + 4 * n**3}
    if k is not None and block_width(k) * 3 <= small:
        costs["krylov"] = (32 * n * d + (0 if sparse else BASIS)) * block_width(k)
    return min(costs, key=costs.__getitem__)


def axes_memory(n: int, d: int, k: int | None, itemsize: int) -> dict[str, int]:
    """Bytes that the route to the axes takes beside the rows."""
    route, kept = choose_route(n, d, k, sparse=False), k or min(n, d)
    sample = SAMPLE if n > LARGE else 0
    exact = itemsize == 4 and (n * d * d <= EXACTLY if route == "covariance" else n <= 1000)
    taken = {
        "covariance": {"covariance": 4 * d * d * 8},
        "svd": {"centered rows and factors": 4 * n * d * 8},
        "gram": {"centered rows": 2 * n * d * 8, "Gram matrix": 4 * n * n * 8},
        "krylov": {"Krylov basis": basis_memory(d, kept), "sample": sample * d * itemsize},
    }[route]
    if n * d * min(n, d) <= SMALL:
        taken["centered rows and factors"] = 4 * n * d * 8
    return {**taken, "float64 rows": n * d * 8 if exact else 0, "axes": 6 * d * kept * 8}


def axes_from_moments(moments: Moments, k: int, ops: Backend, dtype: np.dtype[Any]) -> Axes:
    values, vectors = ops.eigh(moments.scatter, k)
    total = float(np.trace(moments.scatter))
    return Axes(values, vectors, total, "covariance", 0.0, _noise(moments.scatter, dtype))


def input_noise(
    ctx: Context, n: int, d: int, values: Float64, standard: Float64 | None = None
) -> float:
    """Eigenvalues that the rounding of the input alone would cause, relative to the largest.

    Rounding errors are uniform with standard deviation eps |x| / sqrt(12) at most; a matrix of
    them has singular values up to that times sqrt(n) + sqrt(d). Twice that, for safety, and
    what the rounding of the mean itself adds. For standardized columns `standard` holds their
    means in units of their deviations.
    """
    if ctx.statistics is None or not len(values) or values[0] <= 0:
        return 0.0
    eps = float(np.finfo(ctx.dtype).eps)
    largest = ctx.statistics.max_abs if standard is None else 3 + float(np.abs(standard).max())
    size = 2 * eps * largest / sqrt(12) * (sqrt(n) + sqrt(d))
    shift = 4 * EXACT * largest * sqrt(n * d)  # a mean that is off by rounding
    return (size**2 + shift**2) / float(values[0])


def column_scatter(X: Rows, mean: Float64, weights: Float64 | None) -> Float64:
    """Weighted sums of squared deviations of each column, in float64."""
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


def _by_covariance(rows: Centered, k: int, ctx: Context) -> Axes:
    X, dtype = rows.X, ctx.dtype
    if X.dtype == np.float32 and X.shape[0] * X.shape[1] ** 2 <= EXACTLY and not issparse(X):
        X, dtype = X.astype(np.float64), np.dtype(np.float64)  # exact products, at no cost here
    moments = ctx.ops.scatter(X, rows.mean, rows.weights).moments()
    if rows.units is not None:
        scatter = moments.scatter / np.outer(rows.units, rows.units)
        moments = Moments(moments.weight, moments.mean, scatter)
    return axes_from_moments(moments, k, ctx.ops, dtype)


def _by_svd(rows: Centered, k: int, ctx: Context) -> Axes:
    A = rows.dense()
    noise = max(A.shape) * EXACT
    if A.shape[0] > TALL * A.shape[1]:
        # As accurate, and without left vectors, which nobody needs.
        A = np.asarray(np.linalg.qr(A, mode="r"))
    _, sigma, Vt = ctx.ops.svd(A)
    return Axes(sigma[:k] ** 2, Vt[:k].T, float((sigma**2).sum()), "svd", 0.0, noise)


def _by_gram(rows: Centered, k: int, ctx: Context) -> Axes:
    G, back = _sparse_gram(rows) if issparse(rows.X) else _dense_gram(rows, ctx)
    values, Q = ctx.ops.eigh(G.astype(np.float64, copy=False), k)
    V = back(Q)
    length = np.linalg.norm(V, axis=0)
    V /= np.where(length > 0, length, 1)
    noise = max(*rows.X.shape) * EXACT if G.dtype == np.float64 else float(np.finfo(G.dtype).eps)
    return Axes(np.maximum(values, 0), V, float(np.trace(G)), "gram", 0.0, noise)


def _dense_gram(rows: Centered, ctx: Context) -> tuple[Array, Callable[[Array], Float64]]:
    """Centered rows A: A A', and what multiplies by A'. Large A are never formed."""
    n, d = rows.X.shape
    large = ctx.dtype == np.float32 and n * n * d > NARROW
    if large and rows.X.dtype == np.float32 and rows.units is None:
        G = ctx.ops.pairwise(rows.X, rows.X, "dot", (1.0,), rows.mean)
        if rows.weights is not None:
            root = np.sqrt(rows.weights).astype(G.dtype)
            G *= root[:, None] * root
    else:
        A: Array = rows.dense().astype(np.float32 if large else np.float64, copy=False)
        G = ctx.ops.pairwise(A, A, "dot", (1.0,), None)

    def back(Q: Array) -> Float64:
        out, R = np.empty((d, Q.shape[1])), Q.astype(G.dtype)
        step = max(1, STAYS // n)
        for i in range(0, d, step):
            some = rows.columns(slice(i, i + step)).dense().astype(G.dtype, copy=False)
            out[i : i + step] = some.T @ R
        return out

    return G, back


def _sparse_gram(rows: Centered) -> tuple[Array, Callable[[Array], Float64]]:
    """The same with implicit centering: the rows stay sparse."""
    inverse = np.ones(len(rows.mean)) if rows.units is None else 1 / rows.units
    root = np.ones(rows.X.shape[0]) if rows.weights is None else np.sqrt(rows.weights)
    A, m = rows.X.astype(np.float64) @ diags_array(inverse), rows.mean * inverse
    c = A @ m
    G = ((A @ A.T).toarray() - c[:, None] - c + m @ m) * np.outer(root, root)

    def back(Q: Array) -> Float64:
        R = root[:, None] * Q
        return np.asarray(A.T @ R - np.outer(m, R.sum(0)))

    return G, back


def _by_sparse_krylov(rows: Centered, k: int, ctx: Context) -> Axes:
    """Products with sparse rows are cheap and bases are not: narrow blocks, on the shorter side."""
    n, d = rows.X.shape
    A, m = _weighted(rows), rows.mean if rows.units is None else rows.mean / rows.units
    root = np.ones(n) if rows.weights is None else np.sqrt(rows.weights)
    B = csr_array(A.T)
    # Centered rows are A - root m'. S is A or A', with rows on the shorter side.
    S, back, short, long = (A, B, root, m) if n < d else (B, A, m, root)
    mixed, length = S @ long, long @ long

    def product(M: csr_array, V: Float64) -> Float64:
        return ctx.ops.matmul(M, V)

    def apply(V: Float64) -> Float64:
        """(S - short long') (S - short long')' V: nothing of the longer side is centered."""
        out = product(S, product(back, V))
        along = short @ V
        out -= np.outer(mixed, along)
        out += np.outer(short, length * along - mixed @ V)
        return out

    start = random_start(ctx.seed, min(n, d), SPARSE_WIDTH)
    room = 2 * k + 6 * SPARSE_WIDTH
    tolerance = SPARSE_TOLERANCE[ctx.dtype]
    found = leading(apply, start, k, tolerance, max_passes=400, room=room, looks=3)
    V = found.vectors
    if n < d:
        V = product(B, V)
        V -= np.outer(m, root @ found.vectors)
        size = np.linalg.norm(V, axis=0)
        V /= np.where(size > 0, size, 1)
    total = A.data @ A.data - 2 * m @ (B @ root) + (root @ root) * (m @ m)
    noise = found.residual + max(n, d) * EXACT
    return Axes(found.values, V, float(total), "krylov", found.residual, noise)


def _weighted(rows: Centered) -> csr_array:
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


def _by_krylov(rows: Centered, k: int, ctx: Context) -> Axes:
    if issparse(rows.X):
        return _by_sparse_krylov(rows, k, ctx)
    n, d = rows.X.shape
    width = block_width(k)
    traces: list[float] = []
    inverse = 1.0 if rows.units is None else 1 / rows.units[:, None]

    def product(X: Rows, weights: Float64 | None) -> Any:
        def apply(V: Array) -> Float64:
            out, trace = ctx.ops.scatter(X, rows.mean, weights).matmul(V * inverse)
            traces.append(trace)
            return np.asarray(out * inverse)

        return apply

    start = random_start(ctx.seed, d, width)
    if n > LARGE:
        # A few passes over a sample cost little and save passes over everything.
        every = n // SAMPLE
        part = None if rows.weights is None else np.ascontiguousarray(rows.weights[::every])
        sample = np.ascontiguousarray(rows.X[::every])
        start = leading(product(sample, part), start, width, 1e-3, max_passes=4).vectors
        traces.clear()
    found: Leading = leading(product(rows.X, rows.weights), start, k, TOLERANCE[ctx.dtype])
    total = traces[-1]
    if rows.units is not None:
        total = float(n if rows.weights is None else rows.weights.sum()) * d
    noise = found.residual + max(n, d) * EXACT
    return Axes(found.values, found.vectors, total, "krylov", found.residual, noise)


def _noise(scatter: Float64, dtype: np.dtype[Any]) -> float:
    """float32 products leave errors near their own precision in the scatter matrix."""
    return max(len(scatter) * EXACT, float(np.finfo(dtype).eps) if dtype == np.float32 else 0.0)


ROUTES: dict[str, Callable[[Centered, int, Context], Axes]] = {
    "covariance": _by_covariance,
    "svd": _by_svd,
    "gram": _by_gram,
    "krylov": _by_krylov,
}
