"""Linear cost in n: solve for a few points exactly, place the rest by the same formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from .. import draws, progress
from ..backends.protocol import Array, Backend, Float64
from ..base import Context, Fit
from ..errors import ParameterError
from ..maps import CenteredMap
from ..relations import Matrix
from ..relations.distances import DistanceRelation, MinusHalfSquare
from .canonical import signs
from .principal import Centered, input_noise, principal_axes
from .spectral import double_centered, positive_part, warn_if_indefinite


def landmark_scaling(base: DistanceRelation, n: int, k: int, m: int, ctx: Context) -> Fit:
    """Classical scaling of m random points; all others by Gower's formula (de Silva, Tenenbaum)."""
    if not k < m <= n:
        raise ParameterError(
            f"n_landmarks={m} must be more than n_components={k} and at most n_samples={n}."
        )
    chosen = draws.subset(ctx.seed, "landmarks", n, m)
    part = base.at(chosen)
    relation = MinusHalfSquare(part)
    D = part.toward(base.everything(), ctx.ops)  # n x m
    found = double_centered(Matrix(np.ascontiguousarray(D[chosen]), True), k, ctx)
    warn_if_indefinite(found.negative_mass)
    values, vectors, groups = positive_part(found.values, found.vectors, found.noise, k, ctx.dtype)
    scale = np.sqrt(values)
    projection = np.divide(vectors, scale, out=np.zeros_like(vectors), where=scale > 0)
    projection -= projection.mean(0)
    K = -0.5 * D * D
    Y = ctx.ops.project(K, found.means, projection.astype(K.dtype)).astype(np.float64)
    flips = signs(Y)
    place = CenteredMap(relation.kept(), found.means, (projection * flips).astype(K.dtype))
    report = {
        "n_components": k,
        "eigenvalues": values,
        "negative_eigenvalue_mass": found.negative_mass,
        "negative_mass_is_exact": found.complete,
        "residual": found.residual,
        "degenerate_axes": groups,
        "landmarks": chosen,
        "d2_mean": -2 * found.means,
        "d2_grand_mean": -2 * float(found.means.mean()),
    }
    return Fit(Y * flips, place, report)


def nystroem(kernel: Any, n: int, k: int | None, m: int, ctx: Context) -> Fit:
    """Kernel PCA of the best approximation from m columns, chosen by random pivoting.

    The columns come from randomly pivoted Cholesky (Chen, Epperly, Tropp and Webber, 2023): each
    pivot is drawn in proportion to what is still unexplained. F F' approximates the kernel, so
    the principal axes of F are the wanted ones, and L⁻¹ k(x) is the row of F for a new point.
    """
    if not (k or 1) <= m <= n:
        raise ParameterError(
            f"n_landmarks={m} must be at least n_components={k} and at most n_samples={n}."
        )
    F, chosen, trace_error = pivoted_cholesky(kernel, n, m, ctx)
    survey = ctx.ops.survey(F)
    mean = survey.sums / n
    inner = Context(ctx.ops, ctx.seed, ctx.dtype, survey)
    axes = principal_axes(
        Centered(F, mean, None, None), None if k is None else min(k, *F.shape), inner
    )
    noise = max(axes.noise, input_noise(inner, n, F.shape[1], axes.values))
    values, V, groups = positive_part(axes.values, axes.vectors, noise, k, ctx.dtype)
    Y = ctx.ops.project(F, mean, V.astype(F.dtype)).astype(np.float64)
    flips = signs(Y)
    L = np.tril(F[chosen].astype(np.float64))
    projection = scipy.linalg.solve_triangular(L, V * flips, lower=True, trans="T")
    place = CenteredMap(kernel.at(chosen), L @ mean, projection.astype(ctx.dtype))
    report = {
        "n_components": len(values),
        "eigenvalues": values,
        "residual": axes.residual,
        "degenerate_axes": groups,
        "landmarks": chosen,
        "trace_error": trace_error,
    }
    return Fit(Y * flips, place, report)


def pivoted_cholesky(kernel: Any, n: int, m: int, ctx: Context) -> tuple[Array, Any, float]:
    """Factor F (n x m) of a kernel matrix, its pivots, and the share of the trace it misses.

    Pivots are drawn in blocks and thinned by rejection (Epperly, Tropp and Webber, 2024), which
    gives the same law as one by one but turns the work into matrix products.
    """
    diagonal = kernel.diagonal()
    left = diagonal.astype(np.float64)
    total = float(left.sum())
    F = np.empty((n, m), ctx.dtype)
    chosen: list[int] = []
    draw = 0
    floor = float(np.finfo(ctx.dtype).eps) * float(left.max(initial=0)) * 8
    while len(chosen) < m and (left > floor).any():
        done = len(chosen)
        want = min(max(32, m // 8), m)
        left[left <= floor] = 0
        u = draws.uniforms(ctx.seed, "pivots", draw + np.arange(2 * want)).reshape(2, want)
        draw += 2 * want
        edges = np.cumsum(left)
        drawn = np.minimum(np.searchsorted(edges, u[0] * edges[-1], side="right"), n - 1)
        pivots = _thin(kernel, F[:, :done], drawn, left, u[1], m - done, floor, ctx.ops)
        if not len(pivots):
            continue
        fresh = kernel.columns(pivots, ctx.ops)
        if done:
            fresh -= ctx.ops.project(F[:, :done], None, np.ascontiguousarray(F[pivots, :done].T))
        H = fresh[pivots].astype(np.float64)
        L = scipy.linalg.cholesky((H + H.T) / 2 + floor / 8 * np.eye(len(H)), lower=True)
        step = scipy.linalg.solve_triangular(L, np.eye(len(L)), lower=True).T
        new = ctx.ops.project(np.ascontiguousarray(fresh), None, step.astype(ctx.dtype))
        F[:, done : done + len(pivots)] = new
        left -= np.square(new, dtype=np.float64).sum(1)
        np.maximum(left, 0, out=left)
        left[pivots] = 0
        chosen.extend(int(p) for p in pivots)
        progress.report("landmarks", len(chosen), m)
    F = np.ascontiguousarray(F[:, : len(chosen)])
    return F, np.array(chosen, np.int64), float(left.sum() / total) if total > 0 else 0.0


def _thin(
    kernel: Any,
    F: Array,
    drawn: Any,
    left: Float64,
    u: Float64,
    room: int,
    floor: float,
    ops: Backend,
) -> Any:
    """Accept each drawn pivot with the share of its residual that earlier ones leave."""
    unique, first = np.unique(drawn, return_index=True)
    order = np.argsort(first)
    pivots, u = unique[order], u[first[order]]
    H = kernel.block(pivots, ops).astype(np.float64) - F[pivots].astype(np.float64) @ F[pivots].T
    accepted: list[int] = []
    for i in range(len(pivots)):
        if len(accepted) == room:
            break
        if H[i, i] > max(floor, u[i] * left[pivots[i]]):
            accepted.append(i)
            H -= np.outer(H[:, i], H[i]) / H[i, i]
    return pivots[accepted]
