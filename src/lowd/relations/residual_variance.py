"""Residual variance of Isomap: how well embedded distances fit geodesic distances."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .. import random
from ..backends.protocol import Backend, Float64
from .geodesics import Geodesics

MAX_SAMPLED_ROWS = 1000  # whose distances to all targets are compared; errors of 1e-3 or less
PATH_BLOCK_ENTRIES = 2**23  # geodesic distances computed at once: paths are cheap in large groups
CACHE_BLOCK_ENTRIES = 2**15  # distances summed at once: 256 KB stay in the cache


def residual_variance(
    geodesics: Geodesics,
    order: NDArray[np.int64],
    targets: NDArray[np.int64],
    Y: Float64,
    seed: int,
    ops: Backend,
) -> Float64:
    """1 - r² between geodesic distances and those in the first 1, ..., k dimensions of Y.

    From at most 1000 rows, drawn in the canonical `order`, to all target rows; a row and itself are
    no pair, and add to no sum.
    """
    n, k = Y.shape
    rows = order[random.subset(seed, "residual variance", n, min(n, MAX_SAMPLED_ROWS))]
    pairs = max(1, len(rows) * len(targets) - int(np.isin(targets, rows).sum()))
    target_columns = np.ascontiguousarray(Y[targets].T)
    g, gg = 0.0, 0.0
    y, yy, gy = np.zeros(k), np.zeros(k), np.zeros(k)
    for part, G in _iterate_rows(geodesics, rows, len(targets), ops):
        g, gg = g + float(G.sum()), gg + float(np.vdot(G, G))
        squares, D = np.zeros_like(G), np.empty_like(G)
        for j in range(k):
            np.subtract.outer(Y[part, j], target_columns[j], out=D)
            squares += np.multiply(D, D, out=D)
            np.sqrt(squares, out=D)
            y[j], yy[j] = y[j] + D.sum(), yy[j] + np.vdot(D, D)
            gy[j] += np.vdot(G, D)
    variances = (gg - g * g / pairs) * (yy - y * y / pairs)
    covariance = (gy - g * y / pairs) ** 2
    r2 = np.divide(covariance, variances, out=np.ones(k), where=variances > 0)
    return np.asarray(np.clip(1 - r2, 0, 1))


def residual_variance_memory(n: int, n_targets: int, itemsize: int) -> int:
    """Bytes that `residual_variance` takes: a block of paths, and six arrays of a cache block."""
    entries = min(n, MAX_SAMPLED_ROWS) * n_targets
    paths = min(entries, PATH_BLOCK_ENTRIES + n_targets)
    return paths * itemsize + 6 * min(entries, CACHE_BLOCK_ENTRIES + n_targets) * 8


def _iterate_rows(
    geodesics: Geodesics, rows: NDArray[np.int64], width: int, ops: Backend
) -> Iterator[tuple[NDArray[np.int64], Float64]]:
    """Rows and their geodesic distances, block by block."""
    for i in range(0, len(rows), large := max(1, PATH_BLOCK_ENTRIES // width)):
        group = rows[i : i + large]
        found = geodesics.distances_from(group, ops)
        for j in range(0, len(group), small := max(1, CACHE_BLOCK_ENTRIES // width)):
            yield group[j : j + small], found[j : j + small].astype(np.float64)
