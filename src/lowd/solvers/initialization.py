"""Where a descent starts: small, so that no point is in another's way."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from .. import random
from ..backends.protocol import Array, Float64
from ..core.fit import Context
from ..distances.metrics import Distances
from ..distances.precomputed import NeighborListDistances
from ..distances.protocol import DistanceRelation
from ..errors import DataError, DisconnectedGraphWarning, warn
from ..relations.affinities import PrecomputedAffinities
from ..relations.affinity_graph import AffinityGraph
from ..relations.inner_products import MinusHalfSquare
from .canonical import sign_flips
from .centered import decompose_centered
from .laplacian import transition_spectrum
from .pca import CenteredRows, principal_axes

SMALL = 1e-4  # standard deviation of the first column
LARGEST = 1e5
FLAT = 1e-8  # a column so much smaller than the first is rounding


def start_of(
    init: Any,
    X: Any,
    base: DistanceRelation,
    P: csr_array,
    k: int,
    first: NDArray[np.int64],
    ctx: Context,
) -> tuple[Float64, str]:
    """Places of the distinct points (the rows `first`) to start from, and how they were found."""
    if not isinstance(init, str):
        return _given(init, len(first), k, first, X), "given"
    m = len(first)
    if init == "spectral" or (init == "pca" and isinstance(base, NeighborListDistances)):
        components = connected_components(P, directed=False)[0]
        if components == 1 and m > k + 1:
            graph = AffinityGraph(PrecomputedAffinities(W=P), np.arange(m), np.ones(m), {})
            spectrum = transition_spectrum(graph, k, ctx)
            return _small(spectrum.vectors / np.sqrt(spectrum.degrees)[:, None], k, ctx), "spectral"
        if init == "spectral":
            why = f"{components} connected components" if components > 1 else f"{m} points only"
            warn(
                f"init='spectral': the neighbor graph has {why}, so its smallest eigenvectors tell "
                "nothing; the start is random instead.",
                DisconnectedGraphWarning,
            )
        init = "random"
    if init == "random":
        return SMALL * random.normals(ctx.seed, "start", (m, k)), "random"
    if isinstance(base, Distances):
        rows = X if m == X.shape[0] else X[first]
        sums = np.asarray(rows.sum(0, dtype=np.float64)).ravel()
        mean, most = sums / m, min(*rows.shape, k)
        axes = principal_axes(CenteredRows(rows, mean, None, None), most, ctx)
        scores = ctx.ops.project(rows, mean, axes.vectors[:, :most])
        return _small(scores, k, ctx), "pca"
    found = decompose_centered(
        MinusHalfSquare(base).among(ctx.ops), min(k, m), ctx, initialization=True
    )
    scores = found.vectors * np.sqrt(np.maximum(found.values, 0))
    return _small(scores, k, ctx), "classical scaling"


def _small(scores: Array, k: int, ctx: Context) -> Float64:
    """k columns of the right size; those that the data do not have are drawn."""
    Y = SMALL / 10 * random.normals(ctx.seed, "start", (len(scores), k))
    spread = scores.std(0, dtype=np.float64)
    real = np.flatnonzero(spread > FLAT * spread.max(initial=0))
    if len(real):
        held = scores[:, real].astype(np.float64)
        Y[:, real] = (held - held.mean(0)) * sign_flips(held) * (SMALL / spread[real[0]])
    return Y


def _given(init: Any, m: int, k: int, first: NDArray[np.int64], X: Any) -> Float64:
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    Y = np.asarray(init)
    if Y.shape != (n, k) or Y.dtype.kind not in "fiu" or not np.isfinite(Y).all():
        raise DataError(
            f"init: expected finite numbers of shape ({n}, {k}), got {Y.dtype} {Y.shape}."
        )
    if np.abs(Y).max() > LARGEST:
        raise DataError(
            f"init: places are up to {np.abs(Y).max():.1e} large, where no point feels another; "
            f"divide them, to at most {LARGEST:g}."
        )
    return Y[first].astype(np.float64) if m < n else Y.astype(np.float64)
