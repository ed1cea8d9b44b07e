"""Kernel PCA of rows in blocks: one pass for the landmarks, one for the moments of the features."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import NamedTuple

import numpy as np
import scipy.linalg

from ..backends import resolve
from ..backends.protocol import Array, Backend, Float64, Moments, Rows
from ..core.block_memory import plan_merges, plan_sample
from ..core.fit import Context, Fit
from ..core.memory import Sizes
from ..distances.metrics import normalize_rows
from ..distances.order import draw_landmarks
from ..errors import ParameterError
from ..input.block_reader import Where
from ..input.blocks import RowBlocks, validate_block
from ..input.row_order import order_rows
from ..input.sample import Sample
from ..maps.centered import CenteredMap
from ..relations.kernels import Kernel, KernelRelation, require_positive
from .canonical import sign_flips
from .centered import keep_positive
from .landmarks import pivoted_cholesky
from .pca import axes_from_moments

# Rows that landmarks are chosen of: their kernel with all landmarks is held.
N_CANDIDATES, CANDIDATES_PER_LANDMARK = 10_000, 4
# Features of a block that are held at a time: a block of few columns has many more features.
FEATURE_BYTES = 2**24


class Features(NamedTuple):
    """The kernel features L⁻¹ k(x) of new rows: landmarks, and their triangular factor."""

    kernel: Kernel
    L: Float64

    def of(self, rows: Rows, ops: Backend) -> Array:
        K = self.kernel.toward(rows, ops).astype(np.float64)
        F = scipy.linalg.solve_triangular(self.L, K.T, lower=True, overwrite_b=True)
        return np.ascontiguousarray(F.T)


class FeatureMoments(NamedTuple):
    """Moments of the features of some rows, the trace of their kernel, and a sample of them."""

    moments: Moments
    trace: float
    sample: Sample

    @staticmethod
    def merge(a: FeatureMoments, b: FeatureMoments) -> FeatureMoments:
        sample = a.sample.merge_distinct(b.sample)
        return FeatureMoments(a.moments.merge(b.moments), a.trace + b.trace, sample)


def count_candidates(m: int) -> int:
    """How many rows m landmarks are chosen of."""
    return max(N_CANDIDATES, CANDIDATES_PER_LANDMARK * m)


def plan_streamed(m: int, s: Sizes, n_threads: int) -> dict[str, int]:
    """Bytes of the choice of landmarks, of features, and of their moments while they are merged."""
    n = count_candidates(m)
    return {
        "sample": plan_sample(s, n),
        "kernel columns": 3 * n * m * 8,
        "features": 4 * n_threads * FEATURE_BYTES,
        "moments": plan_merges(m * m * 8, n_threads),
    }


def embed_blocks(
    X: RowBlocks,
    sample: Sample,
    kernel: KernelRelation,
    k: int | None,
    m: int,
    ctx: Context,
    backend: str,
    n_jobs: int | None,
) -> Fit:
    """Kernel PCA of all blocks from m landmarks, which are chosen of a sample.

    As of rows in memory (`embed_nystroem`), of which a sample that holds them all is the case: the
    principal axes are those of all rows.
    """
    kernel = require_positive(kernel)
    assert isinstance(kernel, Kernel)
    n = len(sample.row_indices)
    if not (k or 1) <= m <= n:
        raise ParameterError(
            f"n_landmarks={m} must be at least n_components={k} and at most n_samples={n}."
        )
    order = order_rows(sample.items)
    kernel = kernel.center_at(draw_landmarks(order, m, ctx.seed))
    F, chosen, _ = pivoted_cholesky(kernel, order, m, ctx)
    features = Features(kernel.take(order[chosen]), np.tril(F[chosen].astype(np.float64)))
    found: FeatureMoments = X.reduce(
        _feature_moments, FeatureMoments.merge, "features", features, backend, n_jobs
    )
    moments = found.moments
    axes = axes_from_moments(moments, min(k or m, len(chosen)), ctx.dtype)
    values, V, groups = keep_positive(axes.values, axes.vectors, axes.noise, k, ctx.dtype)
    flips = sign_flips((F - moments.mean) @ V)
    projection = scipy.linalg.solve_triangular(features.L, V * flips, lower=True, trans="T")
    means = features.L @ moments.mean
    explained = axes.total + moments.weight * float(moments.mean @ moments.mean)
    report = {
        "n_components": len(values),
        "eigenvalues": values,
        "residual": axes.residual,
        "degenerate_axes": groups,
        "landmarks": sample.row_indices[order[chosen]],
        "trace_error": max(1 - explained / found.trace, 0.0) if found.trace > 0 else 0.0,
        "n_samples": int(moments.weight),
    }
    extension = CenteredMap(features.kernel, means, projection.astype(ctx.dtype))
    return Fit(None, extension, report, sample=found.sample)


def _feature_moments(
    rows: Rows, where: Where, features: Features, backend: str, n_jobs: int | None
) -> FeatureMoments:
    ops = resolve(backend, n_jobs)
    rows, found = validate_block(rows, where, ops, priorities=True)
    sample = Sample.draw_distinct(rows, found.priorities, where.first_index)
    m = len(features.L)
    if not rows.shape[0]:
        return FeatureMoments(Moments(0.0, np.zeros(m), np.zeros((m, m))), 0.0, sample)
    step = max(1, FEATURE_BYTES // (8 * m))
    parts = (features.of(rows[i : i + step], ops) for i in range(0, rows.shape[0], step))
    moments = reduce(Moments.merge, (ops.scatter(F, F.mean(0), None).moments() for F in parts))
    kernel = features.kernel
    own = normalize_rows(rows, None) if kernel.unit_length else rows
    trace = float(replace(kernel, X=own).diagonal().sum())
    return FeatureMoments(moments, trace, sample)
