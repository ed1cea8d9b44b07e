"""Principal axes of rows: three routes to the same answer, chosen by their cost.

The singular value decomposition of the centered rows (`svd`), the most accurate; the eigenvectors
of the smaller of their scatter matrix (`covariance`, d x d) and their Gram matrix (`gram`, n x n);
block Krylov iteration with products of the scatter matrix (`krylov`), to a residual norm.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import diags_array, issparse

from ..backends.protocol import Array, DType, Float64, Moments
from ..core.fit import Context
from ..core.memory import Sizes
from ..errors import ConvergenceWarning, warn
from . import dense
from .centered_rows import (
    CenteredRows,
    column_scatter,
    dense_product,
    normalize_columns,
    sparse_product,
)
from .krylov import basis_memory, block_width, leading_eigenpairs, random_block
from .thresholds import (
    CENTERED_BLOCK_ENTRIES,
    EPS,
    KRYLOV_OVERHEAD_FLOPS,
    KRYLOV_PRODUCT_COST,
    MAX_DENSE_FALLBACK_SAMPLES,
    MAX_FLOAT64_FLOPS,
    MAX_FLOAT64_GRAM_FLOPS,
    MAX_SPARSE_KRYLOV_PRODUCTS,
    MAX_SVD_FLOPS,
    MIN_SQUARED_RATIO,
    RITZ_TOLERANCE,
    SPARSE_KRYLOV_BLOCK,
    SPARSE_RITZ_TOLERANCE,
)

Route: TypeAlias = Literal["svd", "covariance", "gram", "krylov"]


class Axes(NamedTuple):
    """Eigenvalues of the scatter matrix (largest first), its eigenvectors and its trace."""

    values: Float64
    vectors: Float64
    total: float
    route: str
    residual: float
    noise: float | Float64  # each eigenvalue up to here is rounding, relative to the largest
    squares: Float64 | None = None  # the diagonal of the scatter matrix, where it is known


def principal_axes(rows: CenteredRows, k: int | None, ctx: Context) -> Axes:
    """The k leading axes, or all of them."""
    axes, w = _find_axes(rows, k, ctx), rows.weights
    mean, units = rows.mean + rows.center, 1.0 if rows.units is None else rows.units

    def squares() -> Float64:
        return column_scatter(rows) / units**2 if axes.squares is None else axes.squares

    n = float(rows.X.shape[0] if w is None else w.sum())
    return add_rounding(axes, n, mean / units, squares, ctx.dtype)


def _find_axes(rows: CenteredRows, k: int | None, ctx: Context) -> Axes:
    n, d = rows.X.shape
    kept = k or min(n, d)
    route = choose_route(n, d, k, sparse=issparse(rows.X))
    axes = solve(rows, kept, ctx, route, _krylov_patience(n, d, kept))
    if _svd_is_affordable(n, d) and not issparse(rows.X):
        # Squares have half the digits of the rows: enough, unless an axis is that short.
        short = axes.values[-1] <= MIN_SQUARED_RATIO * axes.values[0]
        return solve(rows, kept, ctx, "svd") if short else axes
    if axes.residual <= RITZ_TOLERANCE[ctx.dtype]:
        return axes
    if min(n, d) <= MAX_DENSE_FALLBACK_SAMPLES:  # the spectrum is too flat for Krylov iteration
        return solve(rows, kept, ctx, "covariance" if d <= n else "gram")
    warn(
        f"the principal axes have a relative residual of {axes.residual:.1e} (wanted "
        f"{RITZ_TOLERANCE[ctx.dtype]:.0e}): the spectrum is nearly flat; ask for more components.",
        ConvergenceWarning,
    )
    return axes


def choose_route(n: int, d: int, k: int | None, *, sparse: bool) -> Route:
    """The cheapest route by operation counts."""
    costs: dict[Route, float] = {"covariance": _matrix_flops(n, d), "gram": _matrix_flops(d, n)}
    if k is not None and block_width(k) * 3 <= min(n, d):
        overhead = 0 if sparse else KRYLOV_OVERHEAD_FLOPS
        costs["krylov"] = (32 * n * d + overhead) * block_width(k)
    return min(costs, key=costs.__getitem__)


def _matrix_flops(n: int, d: int) -> float:
    """Multiplications for the d x d matrix of n rows and its eigenvectors."""
    return n * d * d + 4 * d**3


def _krylov_patience(n: int, d: int, k: int) -> float | None:
    """Products with a block that take as long as the eigenvectors of the smaller matrix."""
    if min(n, d) > MAX_DENSE_FALLBACK_SAMPLES:
        return None
    product = (KRYLOV_PRODUCT_COST * 2 * n * d + KRYLOV_OVERHEAD_FLOPS / 16) * block_width(k)
    return min(_matrix_flops(n, d), _matrix_flops(d, n)) / product


def solve(
    rows: CenteredRows, k: int, ctx: Context, route: Route, patience: float | None = None
) -> Axes:
    """The k leading axes by one route; an iteration that has `patience` may give up."""
    if route == "svd":
        return _solve_svd(rows, k)
    if route == "covariance":
        return _solve_covariance(rows, k, ctx)
    if route == "gram":
        return _solve_gram(rows, k, ctx)
    return _solve_krylov(rows, k, ctx, patience)


def _svd_is_affordable(n: int, d: int) -> bool:
    return n * d * min(n, d) <= MAX_SVD_FLOPS


def _is_widened(n: int, d: int) -> bool:
    """Is a scatter matrix of float32 rows computed in float64?"""
    return n * d * d <= MAX_FLOAT64_FLOPS


def axes_memory(s: Sizes, k: int | None) -> dict[str, int]:
    """Bytes that the route to the axes takes beside the rows."""
    n, d, itemsize = s.n, s.d, s.itemsize
    route, kept = choose_route(n, d, k, sparse=s.is_sparse), k or min(n, d)
    if s.is_sparse:
        return {**_sparse_axes_memory(s, kept, route), "axes": 6 * d * kept * 8}
    few = _is_widened(n, d) if route == "covariance" else s.wide == 8
    exact = itemsize == 4 and few
    taken = {
        "covariance": {"covariance": 4 * d * d * 8},
        "gram": {"centered rows": 2 * n * d * 8, "Gram matrix": 4 * n * n * 8},
        "krylov": {"Krylov basis": basis_memory(d, kept)},
    }[route]
    if _svd_is_affordable(n, d):
        taken["centered rows and factors"] = 4 * n * d * 8
    return {**taken, "float64 rows": n * d * 8 if exact else 0, "axes": 6 * d * kept * 8}


def _sparse_axes_memory(s: Sizes, k: int, route: Route) -> dict[str, int]:
    """Copies of the rows (centered, weighted, transposed), and matrices of the shorter side."""
    small = min(s.n, s.d)
    taken = {"sparse copies": 4 * s.rows(8)}
    if route == "krylov":
        width = 2 * k + 8 * SPARSE_KRYLOV_BLOCK
        return {**taken, "Krylov basis": 3 * width * small * 8}
    matrix = 6 * small**2 * 8  # as sparse product and dense
    return {**taken, "Gram matrix" if s.n < s.d else "covariance": matrix}


def axes_from_moments(moments: Moments, k: int, dtype: DType) -> Axes:
    """The k leading axes from a scatter matrix of rows, and of products, of this type."""
    axes = _decompose_scatter(moments.scatter, k, dtype)
    return add_rounding(axes, moments.weight, moments.mean, moments.scatter.diagonal, dtype)


def _decompose_scatter(scatter: Float64, k: int, dtype: DType) -> Axes:
    """The k leading axes from a scatter matrix that was computed with products of this type."""
    values, V = dense.eigh(scatter, k)
    squares, noise = np.diagonal(scatter), np.full(len(values), len(scatter) * EPS)
    if dtype == np.float32 and values[0] > 0:
        # Products are as precise as they are long: those of short columns keep their digits.
        eps = float(np.finfo(dtype).eps)
        along = sqrt(len(scatter)) * (squares @ V**2) / values[0]
        noise = np.maximum(noise, eps * np.minimum(along, 1))
    return Axes(values, V, float(squares.sum()), "covariance", 0.0, noise, squares)


def add_rounding(
    axes: Axes, n: float, mean: Float64, squares: Callable[[], Float64], dtype: DType
) -> Axes:
    """The same axes, whose noise is at least what the rounding of the input alone would cause.

    Rounding errors of a column x are uniform with standard deviation eps |x| / √12 at most, |x|
    being three deviations beyond its mean; a matrix of them has singular values up to √n + √d
    times that. Twice that, for safety, and what the rounding of the mean itself adds. A column is
    never more rounding than half of what its deviations are: a constant one has none, and one that
    no other column explains is not rounding, however large its mean is. An axis has the noise of
    the columns that it consists of.

    `mean` and `squares`, the sums of squared deviations, are in the units of the columns.
    """
    values, d = axes.values, len(mean)
    if axes.squares is not None:
        axes.vectors[axes.squares == 0] = 0  # exactly: new rows may be far from a constant
    if not len(values) or values[0] <= 0:
        return axes
    eps = float(np.finfo(dtype).eps)
    share = (2 * eps * (sqrt(n) + sqrt(d))) ** 2 / 12 + (4 * EPS) ** 2 * n * d
    most = float(np.abs(mean).max()) + 3 * sqrt(max(axes.total, 0) / n)
    if values[-1] > share * most**2:  # the usual case: no need to look at the columns
        return axes
    spread = np.maximum(squares(), 0)
    size = np.abs(mean) + 3 * np.sqrt(spread / n)
    noise = np.minimum(share * size**2, spread / 2) @ axes.vectors**2
    return axes._replace(noise=np.maximum(axes.noise, noise / values[0]))


def _solve_svd(rows: CenteredRows, k: int) -> Axes:
    A = rows.dense()
    squares, relative = np.einsum("ij,ij->j", A, A), max(A.shape) * EPS
    if A.shape[0] > A.shape[1]:
        # As accurate, and without left vectors, which nobody needs.
        A = np.asarray(np.linalg.qr(A, mode="r"))
    _, sigma, Vt = dense.svd(A)
    values, V = sigma[:k] ** 2, Vt[:k].T
    # A few digits are left for the axes of long columns; short columns have axes of their own.
    along = squares @ V**2 / (values[0] or 1.0)
    noise = relative * np.maximum(along, relative)
    return Axes(values, V, float((sigma**2).sum()), "svd", 0.0, noise, squares)


def _solve_covariance(rows: CenteredRows, k: int, ctx: Context) -> Axes:
    X, dtype = rows.X, ctx.dtype
    if X.dtype == np.float32 and _is_widened(*X.shape) and not issparse(X):
        X, dtype = X.astype(np.float64), np.dtype(np.float64)  # exact products, at no cost here
    scatter = ctx.ops.scatter(X, rows.mean, rows.weights).moments().scatter
    if rows.units is not None:
        scatter = scatter / np.outer(rows.units, rows.units)
    return _decompose_scatter(scatter, k, dtype)


def _solve_gram(rows: CenteredRows, k: int, ctx: Context) -> Axes:
    G, transposed = _sparse_gram(rows) if issparse(rows.X) else _dense_gram(rows, ctx)
    values, Q = dense.eigh(G.astype(np.float64, copy=False), k)
    V = normalize_columns(transposed(Q))
    noise = max(*rows.X.shape) * EPS if G.dtype == np.float64 else float(np.finfo(G.dtype).eps)
    return Axes(np.maximum(values, 0), V, float(np.trace(G)), "gram", 0.0, noise)


def _dense_gram(rows: CenteredRows, ctx: Context) -> tuple[Array, Callable[[Array], Float64]]:
    """A A' of the centered rows A, and what multiplies by A'. Large A are never formed."""
    n, d = rows.X.shape
    large = ctx.dtype == np.float32 and n * n * d > MAX_FLOAT64_GRAM_FLOPS
    if large and rows.X.dtype == np.float32 and rows.units is None:
        G = ctx.ops.pairwise(rows.X, rows.X, "dot", (1.0,), rows.mean)
        if rows.weights is not None:
            root = np.sqrt(rows.weights).astype(G.dtype)
            G *= root[:, None] * root
    else:
        A: Array = rows.dense().astype(np.float32 if large else np.float64, copy=False)
        G = ctx.ops.pairwise(A, A, "dot", (1.0,), None)

    def transposed(Q: Array) -> Float64:
        out, R = np.empty((d, Q.shape[1])), Q.astype(G.dtype)
        step = max(1, CENTERED_BLOCK_ENTRIES // n)
        for i in range(0, d, step):
            some = rows.columns(slice(i, i + step)).dense().astype(G.dtype, copy=False)
            out[i : i + step] = some.T @ R
        return out

    return G, transposed


def _sparse_gram(rows: CenteredRows) -> tuple[Array, Callable[[Array], Float64]]:
    """The same with implicit centering: the rows stay sparse."""
    inverse = np.ones(len(rows.mean)) if rows.units is None else 1 / rows.units
    root = np.ones(rows.X.shape[0]) if rows.weights is None else np.sqrt(rows.weights)
    A, m = rows.X.astype(np.float64) @ diags_array(inverse), rows.mean * inverse
    c = A @ m
    G = ((A @ A.T).toarray() - c[:, None] - c + m @ m) * np.outer(root, root)

    def transposed(Q: Array) -> Float64:
        R = root[:, None] * Q
        return np.asarray(A.T @ R - np.outer(m, R.sum(0)))

    return G, transposed


def _solve_krylov(rows: CenteredRows, k: int, ctx: Context, patience: float | None) -> Axes:
    """By products with the scatter matrix A'A, or with A A' of sparse rows with more columns."""
    n, d = rows.X.shape
    if issparse(rows.X):
        # Products with sparse rows are cheap and bases are not: narrow blocks, rarely checked.
        product = sparse_product(rows, ctx)
        found = leading_eigenpairs(
            product.apply,
            random_block(ctx.seed, min(n, d), SPARSE_KRYLOV_BLOCK),
            k,
            SPARSE_RITZ_TOLERANCE[ctx.dtype],
            where=product.where,
            max_products=MAX_SPARSE_KRYLOV_PRODUCTS,
            basis_size=2 * k + 6 * SPARSE_KRYLOV_BLOCK,
            check_every=3,
        )
    else:
        product = dense_product(rows, ctx)
        start = random_block(ctx.seed, d, block_width(k))
        tolerance = RITZ_TOLERANCE[ctx.dtype]
        found = leading_eigenpairs(product.apply, start, k, tolerance, patience=patience)
    noise = found.residual + max(n, d) * EPS
    V = product.to_axes(found.vectors)
    return Axes(found.values, V, product.trace(), "krylov", found.residual, noise)
