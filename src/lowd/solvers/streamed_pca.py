"""Principal axes of rows in blocks: exact moments in one pass, or products in two.

The scatter matrix of d columns has d² entries. Beyond MAX_STREAMED_FEATURES columns it is not
formed: two passes of randomized subspace iteration (Halko, Martinsson and Tropp, 2011) multiply it
with a few vectors, and the second product gives the residual norm of every axis as well.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..backends import resolve
from ..backends.protocol import Float64, Moments, Rows
from ..core.block_memory import plan_merges
from ..core.fit import Context, Fit
from ..core.memory import Sizes
from ..core.parameters import check_count
from ..errors import ConvergenceWarning, DataError, UnsupportedError, warn
from ..input.block_reader import Where
from ..input.blocks import RowBlocks, validate_block
from ..input.sample import Sample
from . import dense
from .centered_rows import CenteredRows, column_scatter, standard_deviations
from .krylov import random_block
from .pca import Axes, add_rounding
from .principal_components import (
    Standardization,
    Table,
    fit_components,
    fit_moments,
)
from .thresholds import (
    EPS,
    MAX_RANDOMIZED_RESIDUAL,
    MAX_STREAMED_FEATURES,
    OVERSAMPLING,
    VECTORS_PER_COMPONENT,
)


class Product(NamedTuple):
    """S V of some rows, S their centered scatter matrix: with weight, mean and trace."""

    weight: float
    mean: Float64
    SV: Float64
    squares: Float64  # the diagonal of S

    def merge(self, V: Float64, other: Product) -> Product:
        """Of both sets of rows together (Chan, Golub and LeVeque, 1979)."""
        weight = self.weight + other.weight
        if weight == 0:
            return self
        gap, share = other.mean - self.mean, other.weight / weight
        SV = self.SV + other.SV + (self.weight * share) * np.outer(gap, gap @ V)
        squares = self.squares + other.squares + (self.weight * share) * gap**2
        return Product(weight, self.mean + share * gap, SV, squares)


def fit_blocks(
    X: RowBlocks, how: Standardization, ctx: Context, backend: str, n_jobs: int | None
) -> Fit:
    """PCA of all blocks, exact in one pass; of wide rows randomized, in two."""
    if X.n_features > MAX_STREAMED_FEATURES:
        return _fit_wide(X, how, ctx, backend, n_jobs)
    moments, sample = X.reduce(_moments_of_block, _merge_moments, "moments", backend, n_jobs)
    _require_rows(moments.weight)
    return fit_moments(moments, how, ctx)._replace(sample=sample)


def plan_streamed(how: Standardization, s: Sizes, n_threads: int) -> dict[str, int]:
    """Bytes of moments, or of products, of blocks while they are merged."""
    width, k = s.d, how.known_count
    if s.d > MAX_STREAMED_FEATURES and k is not None:
        width = min(s.d, VECTORS_PER_COMPONENT * k + OVERSAMPLING)
    return {"moments": plan_merges(s.d * width * 8, n_threads)}


def _require_rows(weight: float) -> None:
    if weight == 0:
        raise DataError("the data have 0 rows, while a minimum of 1 is required.")


def _moments_of_block(
    rows: Rows, where: Where, backend: str, n_jobs: int | None
) -> tuple[Moments, Sample]:
    ops = resolve(backend, n_jobs)
    rows, found = validate_block(rows, where, ops, priorities=True)
    sample = Sample.draw_distinct(rows, found.priorities, where.first_index)
    n, d = rows.shape
    if not n:
        return Moments(0.0, np.zeros(d), np.zeros((d, d))), sample
    return ops.scatter(rows, found.mean, None).moments(), sample


def _merge_moments(a: tuple[Moments, Sample], b: tuple[Moments, Sample]) -> tuple[Moments, Sample]:
    return a[0].merge(b[0]), a[1].merge_distinct(b[1])


def _fit_wide(
    X: RowBlocks, how: Standardization, ctx: Context, backend: str, n_jobs: int | None
) -> Fit:
    k, d = how.known_count, X.n_features
    if k is None:
        raise UnsupportedError(
            f"PCA(n_components={how.n_components!r}) of blocks needs the scatter matrix of all "
            f"{d} columns; beyond {MAX_STREAMED_FEATURES} columns give a number of components."
        )
    width = min(d, VECTORS_PER_COMPONENT * k + OVERSAMPLING)
    Q: NDArray[np.float64] = random_block(ctx.seed, d, width)
    units = None
    if how.scale:  # which one more pass finds
        nothing = np.zeros((d, 0))
        found, _ = _multiply(X, nothing, how, backend, n_jobs)
        units = standard_deviations(found.squares, found.weight, how.ddof)
    for _ in range(2):
        Q = np.linalg.qr(Q)[0]
        V = Q if units is None else Q / units[:, None]
        found, sample = _multiply(X, V, how, backend, n_jobs)
        Q, P = (found.SV if units is None else found.SV / units[:, None]), Q
    n, most = found.weight, int(min(found.weight, d))
    check_count(k, most, f"n_samples={n:g}, n_features={d}")
    values, Z = dense.eigh((P.T @ Q + Q.T @ P) / 2, k)
    vectors = P @ Z
    largest = max(float(values[0]), np.finfo(float).tiny)
    residual = float(np.linalg.norm(Q @ Z - vectors * values, axis=0).max() / largest)
    if residual > MAX_RANDOMIZED_RESIDUAL:
        warn(
            f"the principal axes of {d} columns come from two passes and have a relative residual "
            f"of {residual:.1e} (residual_); more components make the leading ones more accurate.",
            ConvergenceWarning,
        )
    noise = max(EPS * np.sqrt(n * d), float(np.finfo(ctx.dtype).eps))
    mean = found.mean if how.center else np.zeros(d)
    squares = _divide_by_units(found.squares, units)
    axes = Axes(values, vectors, float(squares.sum()), "randomized", residual, noise)
    standard = mean if units is None else mean / units
    axes = add_rounding(axes, n, standard, lambda: squares, ctx.dtype)
    table = Table(mean, units, n, most)
    return fit_components(axes, how, table, ctx)._replace(sample=sample)


def _divide_by_units(squares: Float64, units: Float64 | None) -> Float64:
    return squares if units is None else squares / units**2


def _multiply(
    X: RowBlocks, V: Float64, how: Standardization, backend: str, n_jobs: int | None
) -> tuple[Product, Sample]:
    """S V of all rows, in one pass, and a sample of them."""
    merge = partial(_merge_products, V)
    found, sample = X.reduce(_product_of_block, merge, "products", V, backend, n_jobs)
    _require_rows(found.weight)
    if not how.center:
        n, mean = found.weight, found.mean
        SV = found.SV + n * np.outer(mean, mean @ V)
        found = found._replace(SV=SV, squares=found.squares + n * mean**2)
    return found, sample


def _product_of_block(
    rows: Rows, where: Where, V: Float64, backend: str, n_jobs: int | None
) -> tuple[Product, Sample]:
    ops = resolve(backend, n_jobs)
    rows, found = validate_block(rows, where, ops, priorities=True)
    sample = Sample.draw_distinct(rows, found.priorities, where.first_index)
    n, d = rows.shape
    if not n:
        return Product(0.0, np.zeros(d), np.zeros(V.shape), np.zeros(d)), sample
    mean = found.mean
    centered = CenteredRows.of(rows, mean)
    squares = column_scatter(centered)
    if not V.shape[1]:
        SV = np.zeros(V.shape)
    elif issparse(rows):
        A, m = centered.X.astype(np.float64), centered.mean
        B = A @ V - m @ V
        SV = A.T @ B - np.outer(m, B.sum(0))
    else:
        SV, _ = ops.scatter(rows, mean, None).matmul(V)
    return Product(float(n), mean, SV, squares), sample


def _merge_products(
    V: Float64, a: tuple[Product, Sample], b: tuple[Product, Sample]
) -> tuple[Product, Sample]:
    return a[0].merge(V, b[0]), a[1].merge_distinct(b[1])
