"""Landmarks: solve for some of the points, and extend to the others by the same formula."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .. import progress, random
from ..backends.protocol import Array, Backend, Float64
from ..core.fit import Context, Fit
from ..core.parameters import check_landmarks
from ..distances.callables import CallableDistances
from ..distances.order import draw_landmarks, order_points
from ..distances.precomputed import NeighborListDistances
from ..distances.protocol import DistanceRelation
from ..errors import ParameterError
from ..input.row_order import invert_order, order_rows
from ..input.sample import Items
from ..maps.blockwise import blockwise
from ..maps.centered import CenteredMap
from ..relations.inner_products import MinusHalfSquare
from ..relations.kernels import Kernel, KernelRelation, PrecomputedKernel, require_positive
from ..relations.matrices import DenseMatrix
from ..relations.protocol import InnerProducts
from .canonical import sign_flips
from .centered import decompose_centered, keep_positive, warn_if_indefinite
from .centered_rows import CenteredRows
from .pca import principal_axes


class KernelColumns(Protocol):
    """A positive semi-definite kernel matrix of which only some columns are computed."""

    def diagonal(self) -> Float64: ...
    def columns(self, rows: NDArray[np.int64], ops: Backend) -> Array: ...
    def block(self, rows: NDArray[np.int64], ops: Backend) -> Array: ...
    def take(self, rows: NDArray[np.int64]) -> InnerProducts: ...


def scale_landmarks(base: DistanceRelation, n: int, k: int, m: int, ctx: Context) -> Fit:
    """Classical scaling of m random points; all others by Gower's formula (de Silva, Tenenbaum)."""
    check_landmarks(m, k, n)
    chosen = draw_landmarks(order_points(base), m, ctx.seed)
    part = base.take(chosen)
    D = part.toward(base.training_points(), ctx.ops)  # n x m
    if isinstance(part, CallableDistances):
        part.check_symmetry(D[chosen])
    fit = scale_from_landmarks(D, chosen, MinusHalfSquare(part), k, ctx)
    warn_if_indefinite(fit.report["negative_eigenvalue_mass"])
    return fit


def scale_from_landmarks(
    D: Array, chosen: NDArray[np.int64], relation: InnerProducts, k: int, ctx: Context
) -> Fit:
    """Scaling of the chosen rows by their distances among each other, of all by those to them."""
    corner = D[chosen]
    found = decompose_centered(DenseMatrix((corner + corner.T) / 2, True), k, ctx)
    values, vectors, groups = keep_positive(found.values, found.vectors, found.noise, k, ctx.dtype)
    scale = np.sqrt(values)
    projection = np.divide(vectors, scale, out=np.zeros_like(vectors), where=scale > 0)
    projection -= projection.mean(0)
    weights = projection.astype(D.dtype)

    def extend(part: Array) -> Array:
        return ctx.ops.project(-0.5 * part * part, found.means, weights)

    Y = blockwise(D, D.shape[1], extend).astype(np.float64)
    flips = sign_flips(Y)
    projection = (projection * flips).astype(D.dtype)
    report = {
        "n_components": k,
        "eigenvalues": values,
        "negative_eigenvalue_mass": found.negative_share,
        "negative_mass_is_exact": found.negative_share_is_exact,
        "residual": found.residual,
        "degenerate_axes": groups,
        "landmarks": chosen,
        "d2_mean": -2 * found.means,
        "d2_grand_mean": -2 * float(found.means.mean()),
    }
    return Fit(Y * flips, CenteredMap(relation.freeze(), found.means, projection), report)


def choose_farthest_points(
    base: DistanceRelation, edges: csr_array, m: int, ctx: Context
) -> NDArray[np.int64]:
    """m well spread points: each the farthest, of some random ones, from those chosen before.

    `edges` is the neighbor graph, by which points of a sparse graph are known.
    """
    n = edges.shape[0]
    if isinstance(base, NeighborListDistances):  # which does not know how far they are
        return draw_landmarks(order_points(base, [edges]), min(m, n), ctx.seed)
    order = order_points(base)
    if m >= n:
        return order
    drawn = draw_landmarks(order, count_candidates(n, m), ctx.seed)
    D = base.take(drawn).among(ctx.ops)
    gap = D[0].copy()
    chosen = [0]
    for _ in range(1, m):
        chosen.append(int(gap.argmax()))
        np.minimum(gap, D[chosen[-1]], out=gap)
    return drawn[chosen]


def count_candidates(n: int, m: int) -> int:
    """How many points m landmarks are chosen of: their distances are all computed."""
    return min(n, max(m, min(4 * m, 8192)))


def embed_from_landmarks(
    kernel: KernelRelation, X: Items, k: int | None, m: int, ctx: Context
) -> tuple[Fit, Kernel | PrecomputedKernel]:
    """Kernel PCA from m columns of a kernel of the rows X, and that kernel, centered at some."""
    kernel = require_positive(kernel)
    is_given = isinstance(kernel, PrecomputedKernel)
    order = order_rows(square=[X]) if is_given else order_rows(X)
    kernel = kernel.center_at(draw_landmarks(order, min(len(order), m), ctx.seed))
    return embed_nystroem(kernel, order, k, m, ctx), kernel


def embed_nystroem(
    kernel: KernelColumns, order: NDArray[np.int64], k: int | None, m: int, ctx: Context
) -> Fit:
    """Kernel PCA of the best approximation from m columns, chosen by random pivoting.

    Pivots are drawn, and sums taken, in the canonical `order` of the rows.
    The columns come from randomly pivoted Cholesky (Chen, Epperly, Tropp and Webber, 2023): each
    pivot is drawn in proportion to what is still unexplained. F F' approximates the kernel, so
    the principal axes of F are the wanted ones, and L⁻¹ k(x) is the row of F for a new point.
    """
    n = len(order)
    if not (k or 1) <= m <= n:
        raise ParameterError(
            f"n_landmarks={m} must be at least n_components={k} and at most n_samples={n}."
        )
    F, chosen, trace_error = pivoted_cholesky(kernel, order, m, ctx)
    mean = ctx.ops.column_statistics(F).mean
    axes = principal_axes(CenteredRows.of(F, mean), None if k is None else min(k, *F.shape), ctx)
    values, V, groups = keep_positive(axes.values, axes.vectors, axes.noise, k, ctx.dtype)
    Y = ctx.ops.project(F, mean, V.astype(F.dtype)).astype(np.float64)
    flips = sign_flips(Y)
    L = np.tril(F[chosen].astype(np.float64))
    projection = scipy.linalg.solve_triangular(L, V * flips, lower=True, trans="T")
    extension = CenteredMap(kernel.take(order[chosen]), L @ mean, projection.astype(ctx.dtype))
    report = {
        "n_components": len(values),
        "eigenvalues": values,
        "residual": axes.residual,
        "degenerate_axes": groups,
        "landmarks": order[chosen],
        "trace_error": trace_error,
    }
    return Fit((Y * flips)[invert_order(order)], extension, report)


def pivoted_cholesky(
    kernel: KernelColumns, order: NDArray[np.int64], m: int, ctx: Context
) -> tuple[Array, NDArray[np.int64], float]:
    """Factor F (n x m) of a kernel matrix, its pivots, and the share of the trace it misses.

    Rows of F, and the numbers of the pivots, are in the given order.

    Pivots are drawn in blocks and thinned by rejection (Epperly, Tropp and Webber, 2024), which
    gives the same law as one by one but turns the work into matrix products.
    """
    n, left = len(order), kernel.diagonal()[order]
    total = float(left.sum())
    floor = 8 * float(np.finfo(ctx.dtype).eps) * float(left.max(initial=0))
    F = np.empty((n, m), ctx.dtype)
    chosen: list[int] = []
    draw = 0
    while len(chosen) < m and (left > floor).any():
        done = len(chosen)
        u = random.uniforms(ctx.seed, "pivots", draw + np.arange(2 * max(64, m // 5)))
        draw += len(u)
        left[left <= floor] = 0
        pivots, H = _draw_pivots(kernel, order, F[:, :done], left, u.reshape(2, -1), floor, ctx.ops)
        pivots = pivots[: m - done]
        if not len(pivots):
            continue
        L = scipy.linalg.cholesky(H[: len(pivots), : len(pivots)], lower=True)
        step = scipy.linalg.solve_triangular(L, np.eye(len(L)), lower=True).T
        # New columns (K - F F_p') step, as one product of [F K] with [-F_p' step; step].
        end = done + len(pivots)
        F[:, done:end] = kernel.columns(order[pivots], ctx.ops)[order]
        W = np.vstack([-F[pivots, :done].T.astype(np.float64) @ step, step]).astype(ctx.dtype)
        F[:, done:end] = new = ctx.ops.project(F[:, :end], None, W)
        left -= np.einsum("ij,ij->i", new, new)
        np.maximum(left, 0, out=left)
        left[pivots] = 0
        chosen.extend(int(p) for p in pivots)
        progress.report("landmarks", len(chosen), m)
    if not chosen:  # a kernel of zeros: one landmark, of which every row is as much as nothing
        F[:, 0], chosen = np.finfo(ctx.dtype).tiny, [0]
    F = F if len(chosen) == m else np.ascontiguousarray(F[:, : len(chosen)])
    return F, np.array(chosen, np.int64), float(left.sum() / total) if total > 0 else 0.0


def _draw_pivots(
    kernel: KernelColumns,
    order: NDArray[np.int64],
    F: Array,
    left: Float64,
    u: Float64,
    floor: float,
    ops: Backend,
) -> tuple[NDArray[np.int64], Float64]:
    """Pivots drawn in proportion to `left`, each kept with the share that earlier ones leave of it.

    Comes with the residual kernel among them.
    """
    edges = np.cumsum(left)
    drawn = np.searchsorted(edges, u[0] * edges[-1], side="right")
    unique, first = np.unique(np.minimum(drawn, len(left) - 1), return_index=True)
    as_drawn = np.argsort(first)
    pivots, threshold = unique[as_drawn], u[1, first[as_drawn]]
    rows = F[pivots].astype(np.float64)
    H = kernel.block(order[pivots], ops).astype(np.float64) - rows @ rows.T
    remainder, kept = H.copy(), []
    for i in range(len(pivots)):
        if remainder[i, i] > max(floor, threshold[i] * left[pivots[i]]):
            kept.append(i)
            remainder -= np.outer(remainder[:, i], remainder[i]) / remainder[i, i]
    return pivots[kept], H[np.ix_(kept, kept)]
