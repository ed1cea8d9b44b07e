"""Leading eigenpairs of a doubly centered matrix: classical scaling, kernel PCA and Isomap.

Two routes: LAPACK for few rows, block Krylov iteration for more (`choose_route`).
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from ..backends.protocol import DType, Float64, MatrixPlan, Rows, multiply
from ..core.fit import Context, Fit
from ..core.parameters import check_count as check_count
from ..errors import ConvergenceWarning, IndefiniteWarning, RankWarning, warn
from ..maps.centered import CenteredMap
from ..maps.linear import LinearMap
from ..relations.kernels import Kernel, KernelRelation
from ..relations.matrices import DenseMatrix, SymmetricMatrix
from ..relations.protocol import InnerProducts
from .canonical import canonical_basis, sign_flips
from .centered_rows import CenteredRows
from .dense import eigh, eigvalsh
from .krylov import RitzPairs, basis_memory, block_width, leading_eigenpairs, random_block
from .pca import principal_axes
from .thresholds import (
    DENSE_INITIALIZATION_SHARE,
    DENSE_SAMPLES_PER_VECTOR,
    EPS,
    EQUAL_EIGENVALUES,
    INITIALIZATION_TOLERANCE,
    MAX_DENSE_SAMPLES,
    MAX_NEGATIVE_SHARE,
    MAX_SPECTRUM_SAMPLES,
    MIN_MULTIPLIED_SHARE,
    RITZ_TOLERANCE,
)


class Spectrum(NamedTuple):
    """Leading eigenpairs of a doubly centered matrix H M H and what is known of the others.

    `means` are the row means of M; `all_values` are all eigenvalues, where they were computed;
    eigenvalues up to `noise` times the largest are rounding.
    """

    values: Float64
    vectors: Float64
    means: Float64
    all_values: Float64 | None
    negative_share: float
    negative_share_is_exact: bool
    residual: float
    noise: float


def embed_centered(
    relation: InnerProducts,
    k: int | None,
    ctx: Context,
    *,
    warn_indefinite: bool = True,
    psd: bool = False,
    all_values: bool = False,
) -> Fit:
    """Embedding by the leading eigenvectors of the doubly centered relation, times √eigenvalue.

    `psd`: the relation is positive semi-definite by construction. `all_values`: report the whole
    spectrum where it is affordable.
    """
    matrix = relation.among(ctx.ops)
    found = decompose_centered(matrix, k, ctx, psd=psd, all_values=all_values)
    values, vectors, groups = keep_positive(found.values, found.vectors, found.noise, k, ctx.dtype)
    if warn_indefinite:
        warn_if_indefinite(found.negative_share)
    scale = np.sqrt(values)
    inverse = np.divide(1, scale, out=np.zeros_like(scale), where=scale > 0)
    projection = vectors * inverse
    projection -= projection.mean(0)  # orthogonal to the constant beyond the solver's tolerance
    extension = CenteredMap(relation.freeze(), found.means, projection.astype(matrix.dtype))
    report = {
        "n_components": len(values),
        "eigenvalues": values,
        "eigenvectors": vectors,
        "negative_eigenvalue_mass": found.negative_share,
        "negative_mass_is_exact": found.negative_share_is_exact,
        "residual": found.residual,
        "degenerate_axes": groups,
    }
    if found.all_values is not None:
        report["spectrum"] = found.all_values
    return Fit(vectors * scale, extension, report)


def warn_if_indefinite(negative_share: float) -> None:
    """Warn where a relation that is meant to be Euclidean is not."""
    if negative_share > MAX_NEGATIVE_SHARE:
        warn(
            f"{negative_share:.1%} of the spectrum is negative: no Euclidean embedding has "
            "these distances exactly; that part was dropped (negative_eigenvalue_mass_).",
            IndefiniteWarning,
        )


def choose_route(
    n: int, k: int | None, *, initialization: bool = False
) -> Literal["dense", "krylov"]:
    """LAPACK where it is quicker than products with blocks, or where all eigenpairs are wanted."""
    if k is None:
        return "dense"
    few = MAX_DENSE_SAMPLES + DENSE_SAMPLES_PER_VECTOR * block_width(k)
    return "dense" if n <= few * (DENSE_INITIALIZATION_SHARE if initialization else 1) else "krylov"


def decompose_centered(
    matrix: SymmetricMatrix,
    k: int | None,
    ctx: Context,
    *,
    initialization: bool = False,
    psd: bool = False,
    all_values: bool = False,
) -> Spectrum:
    """The k leading eigenpairs of H M H (None: all of them), H the centering matrix.

    For an `initialization` a larger residual norm will do, and duplicates get equal rows.
    """
    n = matrix.size
    is_dense = choose_route(n, k, initialization=initialization) == "dense"
    matrix = matrix.to_dense(ctx.ops) if is_dense else matrix
    # Absolute size of the eigenvalues that rounding of the entries would cause.
    noise = float(np.finfo(ctx.dtype).eps) * matrix.max_abs(ctx.ops) * float(np.sqrt(n))
    bounded = psd or initialization  # negative eigenvalues: none, or none of our business
    all_values = all_values and n <= MAX_SPECTRUM_SAMPLES
    if k is None or is_dense:
        return _decompose_dense(matrix, k, ctx, noise, psd, all_values or not bounded)
    tolerance = max(
        RITZ_TOLERANCE[matrix.dtype], INITIALIZATION_TOLERANCE if initialization else 0.0
    )
    plan = matrix.plan(ctx.ops)
    found, means = _decompose_krylov(plan, n, k, ctx, tolerance)
    if not found.converged:
        if n <= MAX_SPECTRUM_SAMPLES:
            return _decompose_dense(matrix, k, ctx, noise, psd, all_values or not bounded)
        _warn_of_flat_spectrum(found.residual)
    values, spectrum, negative, exact = found.values, None, 0.0, psd
    if all_values:
        spectrum = eigvalsh(_center(matrix, ctx))
        values, exact = spectrum[:k], True
        negative = 0.0 if psd else _negative_share(spectrum, np.ones(n), noise)
    elif not bounded:
        trace = matrix.trace() - float(means.sum())
        negative = _negative_share(*_correct_quadrature(found, n, trace), noise)
    vectors = _multiply_once(plan, found) if initialization else found.vectors
    noise = _relative(noise, values if spectrum is None else spectrum)
    return Spectrum(values, vectors, means, spectrum, negative, exact, found.residual, noise)


def _decompose_dense(
    matrix: SymmetricMatrix, k: int | None, ctx: Context, noise: float, psd: bool, all_values: bool
) -> Spectrum:
    n = matrix.size
    dense = matrix.to_dense(ctx.ops)
    dense = DenseMatrix(dense.stored.astype(np.float64, copy=False), dense.half_square)
    means = multiply(dense.plan(ctx.ops), np.full((n, 1), 1 / n))[:, 0]
    B = _center(dense, ctx)
    values, vectors = eigh(B, n if k is None else k)
    spectrum = values if k is None else eigvalsh(B) if all_values else None
    negative = 0.0
    if spectrum is not None:
        values = spectrum[: len(values)]
        negative = 0.0 if psd else _negative_share(spectrum, np.ones(n), noise)
    noise = _relative(noise, values if spectrum is None else spectrum)
    exact = psd or spectrum is not None
    return Spectrum(values, vectors, means, spectrum, negative, exact, 0.0, noise)


def _center(matrix: SymmetricMatrix, ctx: Context) -> Float64:
    """H M H in float64."""
    whole = matrix.to_dense(ctx.ops)
    B = whole.stored.astype(np.float64)
    B = -0.5 * B * B if whole.half_square else B
    for _ in range(2):  # the second time removes what rounding of the first means left
        B -= B.mean(0)
        B -= B.mean(1, keepdims=True)
    return B


def _decompose_krylov(
    matrix: MatrixPlan, n: int, k: int, ctx: Context, tolerance: float
) -> tuple[RitzPairs, Float64]:
    """By products with the matrix, which is read once for each block; and its row means."""
    means = np.empty(0)

    def apply(V: Float64) -> Float64:
        nonlocal means
        V = V - V.mean(0)
        if not len(means):  # the row means come along with the first product
            block = matrix.empty(n, V.shape[1] + 1)
            block[:, :-1], block[:, -1] = V, 1 / n
            product = matrix.matmul(block)
            product, means = product[:, :-1], matrix.fetch(product[:, -1]).copy()
        else:
            product = matrix.matmul(V)
        centered: Float64 = product - product.mean(0)
        return centered

    start = random_block(ctx.seed, n, block_width(k))
    found = leading_eigenpairs(apply, start - start.mean(0), k, tolerance, where=matrix)
    return found, means


def _warn_of_flat_spectrum(residual: float) -> None:
    warn(
        f"the leading eigenvectors have a relative residual of {residual:.1e}; the "
        "spectrum is nearly flat, so the axes shown are not distinguished by the data.",
        ConvergenceWarning,
    )


def _multiply_once(matrix: MatrixPlan, found: RitzPairs) -> Float64:
    """One more product: duplicates have the same row of the matrix, so they get the same row."""
    V = found.vectors - found.vectors.mean(0)
    product = multiply(matrix, V)
    large = found.values > MIN_MULTIPLIED_SHARE * found.values[0]
    product = (product - product.mean(0)) / np.where(large, found.values, 1)
    return np.asarray(np.where(large, product, V))


def matrix_memory(n: int, k: int | None, itemsize: int) -> int:
    """Bytes of distances between all rows: each pair once where products are enough."""
    return n * (n if choose_route(n, k) == "dense" else n // 2 + 1) * itemsize


def spectrum_memory(n: int, k: int | None, *, all_values: bool = False) -> int:
    """Bytes that `decompose_centered` and what follows take beside the matrix."""
    if k is None:
        return 10 * n * n * 8
    dense = choose_route(n, k) == "dense" or (all_values and n <= MAX_SPECTRUM_SAMPLES)
    return (5 * n * n * 8 if dense else 0) + basis_memory(n, k)


def embed_kernel(K: KernelRelation, k: int | None, ctx: Context) -> Fit:
    """The same for a kernel, shifted by a constant where that saves digits."""
    if isinstance(K, Kernel):
        return embed_centered(K.shifted(), k, ctx, psd=K.positive)
    return embed_centered(K, k, ctx)


def with_kernel_means(fit: Fit) -> Fit:
    """A fit of a kernel with its means and dual coefficients as learned attributes."""
    assert isinstance(fit.map, CenteredMap)
    means = fit.map.means + (getattr(fit.map.relation, "measure", "") == "rbfm1")
    grand_mean = float(means.mean())
    return fit.with_report(k_mean=means, k_grand_mean=grand_mean, dual_coef=fit.map.projection)


def embed_inner_products(X: Rows, k: int | None, ctx: Context) -> Fit:
    """The same for inner products of rows, without their n x n matrix: principal components."""
    n, d = X.shape
    assert ctx.statistics is not None
    mean = ctx.statistics.mean
    axes = principal_axes(CenteredRows.of(X, mean), None if k is None else min(k, n, d), ctx)
    values, V, groups = keep_positive(axes.values, axes.vectors, axes.noise, k, ctx.dtype)
    embedding = ctx.ops.project(X, mean, V.astype(X.dtype)).astype(np.float64)
    flips = sign_flips(embedding)
    embedding *= flips
    extension = LinearMap(mean, (V * flips).astype(ctx.dtype))
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
    inverse = LinearMap(None, (V * flips).T.astype(ctx.dtype), mean)
    return Fit(embedding, extension, report, inverse)


def count_real(values: Float64, noise: float | Float64) -> int:
    """How many eigenvalues there are, largest first, up to the last that is not rounding."""
    real = np.flatnonzero(values > noise * np.maximum(values[:1], 0))
    return int(real[-1]) + 1 if len(real) else 0


def keep_positive(
    values: Float64, vectors: Float64, noise: float | Float64, k: int | None, dtype: DType
) -> tuple[Float64, Float64, tuple[tuple[int, ...], ...]]:
    """The k leading pairs with positive eigenvalue, zero beyond them (or only those, for k=None).

    Signs are fixed, and so is the basis of each group of equal eigenvalues, which comes third.
    """
    n_samples = len(vectors)
    rank = count_real(values, noise)
    if k is None:
        k = max(rank, 1)
    if k > rank:
        warn(
            f"n_components={k}, but only {rank} eigenvalues are positive; the other columns are 0.",
            RankWarning,
        )
    top = min(k, rank)
    basis, groups = canonical_basis(values[:top], vectors[:, :top], EQUAL_EIGENVALUES[dtype])
    padded = np.zeros((n_samples, k))
    padded[:, :top] = basis
    kept = np.zeros(k)
    kept[:top] = values[:top]
    return kept, padded, groups


def _relative(noise: float, values: Float64) -> float:
    largest = max(float(values[0]), np.finfo(float).tiny)
    return max(noise / largest, len(values) * EPS)


def _correct_quadrature(found: RitzPairs, n: int, trace: float) -> tuple[Float64, Float64]:
    """Lanczos quadrature of the spectrum, corrected by what is known exactly.

    Each leading eigenvalue stands for itself, the other Ritz values for the remaining n - k;
    what is still missing from the trace is added to all in proportion to their size.
    """
    values, weights = found.quadrature
    k = len(found.values)
    others = weights[k:] * (n - k) / max(weights[k:].sum(), np.finfo(float).tiny)
    values = np.concatenate([found.values, values[k:]])
    weights = np.concatenate([np.ones(k), others])
    size = weights[k:] @ np.abs(values[k:])
    missing = trace - weights @ values
    factor = 1 + np.sign(values) * np.clip(missing / size if size > 0 else 0.0, -0.9, 0.9)
    factor[:k] = 1
    return values, weights * factor


def _negative_share(values: Float64, weights: Float64, noise: float) -> float:
    """Share of the sum of |eigenvalues| that is negative (weights: Lanczos quadrature)."""
    values = np.where(np.abs(values) > noise, values, 0)
    size = float(weights @ np.abs(values))
    return float(weights @ np.maximum(-values, 0) / size) if size > 0 else 0.0
