"""Embeddings that are eigenvectors of a centered relation, and the maps that extend them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..backends.protocol import Float64
from ..core.fit import Context, Fit
from ..core.parameters import check_count as check_count
from ..errors import ConvergenceWarning, IndefiniteWarning, RankWarning, warn
from ..maps.centered import CenteredMap
from ..maps.linear import LinearMap
from ..relations.matrices import DenseMatrix, SymmetricMatrix
from ..relations.protocol import InnerProducts
from .canonical import settle, signs
from .krylov import TOLERANCE, Leading, basis_memory, block_width, leading, random_start
from .lanczos import all_of_few, leading_of, narrow_width
from .pca import Centered, input_noise, principal_axes

# Up to here the matrix is formed and lies in the cache; all its eigenvalues take 50 ms.
DENSE = 1000
ROUGH = 2e-6  # a residual that is good enough for a start
# Share of |eigenvalues| below zero that is worth a warning: beyond float32 rounding.
NEGATIVE = 1e-4


class Spectrum(NamedTuple):
    """Leading eigenpairs of a doubly centered matrix and what is known of the rest."""

    values: Float64
    vectors: Float64
    means: Float64
    negative_mass: float
    complete: bool  # `values` are all eigenvalues; vectors are those that were asked for
    exact: bool  # `negative_mass` is no estimate
    residual: float
    noise: float


def centered_spectrum(
    relation: InnerProducts,
    k: int | None,
    ctx: Context,
    *,
    euclidean: bool = True,
    positive: bool = False,
    whole: bool = False,
) -> Fit:
    """Top eigenvectors of the doubly centered relation, scaled to inner products.

    A relation that is meant to be Euclidean is announced if it is not; a positive one is so by
    construction. The whole spectrum comes along if it is wanted and affordable.
    """
    matrix = relation.among(ctx.ops)
    found = double_centered(matrix, k, ctx, positive=positive, whole=whole)
    values, vectors, groups = positive_part(found.values, found.vectors, found.noise, k, ctx.dtype)
    if euclidean:
        warn_if_indefinite(found.negative_mass)
    scale = np.sqrt(values)
    inverse = np.divide(1, scale, out=np.zeros_like(scale), where=scale > 0)
    projection = vectors * inverse
    projection -= projection.mean(0)  # orthogonal to the constant beyond the solver's tolerance
    place = CenteredMap(relation.freeze(), found.means, projection.astype(matrix.dtype))
    report = {
        "n_components": len(values),
        "eigenvalues": values,
        "eigenvectors": vectors,
        "negative_eigenvalue_mass": found.negative_mass,
        "negative_mass_is_exact": found.exact,
        "residual": found.residual,
        "degenerate_axes": groups,
    }
    if found.complete:
        report["spectrum"] = found.values
    return Fit(vectors * scale, place, report)


def warn_if_indefinite(negative_mass: float) -> None:
    if negative_mass > NEGATIVE:
        warn(
            f"{negative_mass:.1%} of the eigenvalue mass is negative: no Euclidean map can show "
            "these relations exactly; that part was dropped (negative_eigenvalue_mass_).",
            IndefiniteWarning,
        )


def double_centered(
    matrix: SymmetricMatrix,
    k: int | None,
    ctx: Context,
    *,
    rough: bool = False,
    positive: bool = False,
    whole: bool = False,
) -> Spectrum:
    """The k leading eigenpairs of H M H, or all of them; M's row means come along.

    Rough ones are good for a start. A positive matrix has no negative eigenvalues to look for.
    `whole` asks for all eigenvalues beside k vectors, up to 1000 rows.
    """
    n = matrix.size
    matrix = matrix.to_dense(ctx.ops) if formed(n, k) else matrix
    # Absolute size of the eigenvalues that rounding of the entries would cause.
    noise = float(np.finfo(ctx.dtype).eps) * matrix.max_abs() * float(np.sqrt(n))
    tolerance = max(TOLERANCE[matrix.dtype], ROUGH if rough else 0.0)
    known = positive or rough  # what the other eigenvalues are, or they do not matter
    if k is None or formed(n, k):
        assert isinstance(matrix, DenseMatrix)
        matrix = DenseMatrix(matrix.stored.astype(np.float64, copy=False), matrix.half_square)
        means = matrix.matmul(np.full((n, 1), 1 / n), ctx.ops)[:, 0]
        small = k is None or _direct(n, k)
        complete = n <= DENSE and (whole or not known)
        found = None
        if k is not None and whole and complete:
            few = _few_dimensions(matrix, means, k, ctx, noise)
            if few is not None:
                return few
        elif k is not None and not small:
            null = np.full(n, n**-0.5)
            found = leading_of(matrix, null, k, tolerance, ctx, probed=not known)
        if found is None or not found.converged:
            return _dense(matrix, means, k, ctx, noise, positive=positive, whole=complete)
    else:
        found, means = _by_products(matrix, k, ctx, tolerance)
    mass = 0.0
    if not known:
        trace = matrix.trace() - float(means.sum())
        mass = _negative_mass(*_pinned(*found.probe, found.values, n, trace), noise)
    noise = _relative(noise, found.values)
    vectors = _once_more(matrix, found, ctx) if rough else found.vectors
    return Spectrum(found.values, vectors, means, mass, False, positive, found.residual, noise)


def _once_more(matrix: SymmetricMatrix, found: Leading, ctx: Context) -> Float64:
    """One product more: copies have the same row of the matrix, so they get the same places."""
    V = found.vectors - found.vectors.mean(0)
    product = matrix.matmul(V, ctx.ops)
    large = found.values > 1e-3 * found.values[0]  # what is left of others is not theirs
    product = (product - product.mean(0)) / np.where(large, found.values, 1)
    return np.asarray(np.where(large, product, V))


def formed(n: int, k: int | None) -> bool:
    """Is all of the matrix wanted, and not only its products?"""
    return n <= DENSE or k is None or block_width(k) * 6 > n


def _direct(n: int, k: int) -> bool:
    """Is LAPACK quicker than products? It is up to 200 rows for 2 vectors, up to 400 for 10."""
    return n <= 120 + 24 * narrow_width(k) or block_width(k) * 6 > n


def _dense(
    matrix: DenseMatrix,
    means: Float64,
    k: int | None,
    ctx: Context,
    noise: float,
    *,
    positive: bool,
    whole: bool,
) -> Spectrum:
    n = matrix.size
    B = matrix.stored.astype(np.float64)
    B = -0.5 * B * B if matrix.half_square else B
    for _ in range(2):  # the second time removes what rounding of the first means left
        B -= B.mean(0)
        B -= B.mean(1, keepdims=True)
    values, vectors = ctx.ops.eigh(B, n if k is None else k, whole=whole)
    complete = len(values) == n
    mass = _negative_mass(values, np.ones(n), noise) if complete and not positive else 0.0
    exact = complete or positive
    return Spectrum(values, vectors, means, mass, complete, exact, 0.0, _relative(noise, values))


def _few_dimensions(
    matrix: DenseMatrix, means: Float64, k: int, ctx: Context, noise: float
) -> Spectrum | None:
    """The whole spectrum of distances or products of rows with few columns; else none."""
    n = matrix.size
    found = all_of_few(matrix, np.full(n, n**-0.5), ctx)
    if found is None or k > len(found[0]):
        return None
    values, vectors = found
    # Trace and sum of squares show whether an eigenvalue is missing.
    squares = matrix.stored * matrix.stored
    size = float(np.vdot(squares, squares) / 4 if matrix.half_square else squares.sum())
    total = size - 2 * n * float(means @ means) + float(means.sum()) ** 2
    trace = matrix.trace() - float(means.sum())
    if abs(trace - values.sum()) > 1e-10 * np.abs(values).sum():
        return None
    if abs(total - values @ values) > 1e-9 * values @ values + 1e-13 * size:
        return None
    positive = values > 0
    values = np.concatenate([values[positive], np.zeros(n - len(values)), values[~positive]])
    mass = _negative_mass(values, np.ones(n), noise)
    kept = vectors[:, : min(k, int(positive.sum()))]
    return Spectrum(values, kept, means, mass, True, True, 0.0, _relative(noise, values))


def _by_products(
    matrix: SymmetricMatrix, k: int, ctx: Context, tolerance: float
) -> tuple[Leading, Float64]:
    """Products with a large matrix, which is read once for each block."""
    n = matrix.size
    means = np.empty(0)

    def apply(V: Float64) -> Float64:
        nonlocal means
        V = V - V.mean(0)
        if not len(means):  # the row means come along with the first product
            product = matrix.matmul(np.hstack([V, np.full((n, 1), 1 / n)]), ctx.ops)
            product, means = product[:, :-1], product[:, -1].copy()
        else:
            product = matrix.matmul(V, ctx.ops)
        return np.asarray(product - product.mean(0))

    start = random_start(ctx.seed, n, block_width(k))
    found = leading(apply, start - start.mean(0), k, tolerance)
    if not found.converged:
        warn(
            f"the leading eigenvectors have a relative residual of {found.residual:.1e}; the "
            "spectrum is nearly flat, so the axes shown are not distinguished by the data.",
            ConvergenceWarning,
        )
    return found, means


def spectrum_memory(n: int, k: int | None) -> int:
    """Bytes that `double_centered` and what follows take beside the matrix."""
    if k is None:
        return 10 * n * n * 8
    dense = 5 * n * n * 8 if formed(n, k) else 0
    return dense + basis_memory(n, k)


def euclidean_spectrum(X: Any, k: int | None, ctx: Context) -> Fit:
    """The same answer for inner products of rows, without their n x n matrix: it is PCA."""
    n, d = X.shape
    assert ctx.statistics is not None
    rows = Centered(X, ctx.statistics.sums / n, None, None)
    axes = principal_axes(rows, None if k is None else min(k, n, d), ctx)
    noise = max(axes.noise, input_noise(ctx, n, d, axes.values))
    values, V, groups = positive_part(axes.values, axes.vectors, noise, k, ctx.dtype)
    embedding = ctx.ops.project(X, rows.mean, V.astype(X.dtype)).astype(np.float64)
    embedding, flips = _signed(embedding)
    place = LinearMap(rows.mean, (V * flips).astype(ctx.dtype))
    scale = np.sqrt(values)
    vectors = np.divide(embedding, scale, out=np.zeros_like(embedding), where=scale > 0)
    report: dict[str, Any] = {
        "n_components": len(values),
        "eigenvalues": values,
        "eigenvectors": vectors,
        "negative_eigenvalue_mass": 0.0,
        "negative_mass_is_exact": True,
        "residual": axes.residual,
        "degenerate_axes": groups,
    }
    lost = max(axes.total - float(values.sum()), 0.0)
    report["reconstruction_error"] = lost / axes.total if axes.total > 0 else 0.0
    inverse = LinearMap(None, (V * flips).T.astype(ctx.dtype), rows.mean)
    return Fit(embedding, place, report, inverse)


def positive_part(
    values: Float64, vectors: Float64, noise: float, k: int | None, dtype: np.dtype[Any]
) -> tuple[Float64, Float64, tuple[tuple[int, ...], ...]]:
    """The k leading pairs with positive eigenvalue, zero beyond them (or only those, for k=None).

    Signs are fixed, and so is the basis of each group of equal eigenvalues.
    """
    n_samples = len(vectors)
    largest = max(values[0], 0.0) if len(values) else 0.0
    rank = int((values > noise * largest).sum()) if largest > 0 else 0
    if k is None:
        k = max(rank, 1)
    if k > rank:
        warn(
            f"n_components={k}, but only {rank} eigenvalues are positive; the other columns are 0.",
            RankWarning,
        )
    top = min(k, rank)
    precision = 1e-5 if dtype == np.float32 else 1e-10
    settled, groups = settle(values[:top], vectors[:, :top], precision)
    full = np.zeros((n_samples, k))
    full[:, :top] = settled
    kept = np.zeros(k)
    kept[:top] = values[:top]
    return kept, full, groups


def _signed(Y: Float64) -> tuple[Float64, Float64]:
    flips = signs(Y)
    return Y * flips, flips


def _relative(noise: float, values: Float64) -> float:
    largest = max(float(values[0]), np.finfo(float).tiny)
    return max(noise / largest, len(values) * float(np.finfo(float).eps))


def _pinned(
    values: Float64, weights: Float64, leading: Float64, n: int, trace: float
) -> tuple[Float64, Float64]:
    """Lanczos quadrature of the spectrum, corrected by what is known exactly.

    Each leading eigenvalue stands for itself, the other Ritz values for the remaining n - k;
    what is still missing from the trace is added to all in proportion to their size.
    """
    k = len(leading)
    rest = weights[k:] * (n - k) / max(weights[k:].sum(), np.finfo(float).tiny)
    values = np.concatenate([leading, values[k:]])
    weights = np.concatenate([np.ones(k), rest])
    size = weights[k:] @ np.abs(values[k:])
    missing = trace - weights @ values
    factor = 1 + np.sign(values) * np.clip(missing / size if size > 0 else 0.0, -0.9, 0.9)
    factor[:k] = 1
    return values, weights * factor


def _negative_mass(values: Float64, weights: Float64, noise: float) -> float:
    """Share of the sum of |eigenvalues| that is negative (weights: Lanczos quadrature)."""
    values = np.where(np.abs(values) > noise, values, 0)
    size = float(weights @ np.abs(values))
    return float(weights @ np.maximum(-values, 0) / size) if size > 0 else 0.0
