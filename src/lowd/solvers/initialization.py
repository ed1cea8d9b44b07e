"""Initial embeddings of t-SNE and SMACOF."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components

from .. import random
from ..backends.protocol import Array, Float64, Graph, Ragged, to_csr
from ..backends.sparse_rows import column_means
from ..core.fit import Context
from ..distances.metrics import Distances
from ..distances.precomputed import NeighborListDistances
from ..distances.protocol import DistanceRelation
from ..errors import DataError, DisconnectedGraphWarning, ParameterError, warn
from ..input.entries import refuse_non_numbers
from ..input.integers import refuse_large_integers
from ..input.sample import Items, average_columns
from ..relations.affinities import PrecomputedAffinities
from ..relations.affinity_graph import AffinityGraph
from ..relations.inner_products import MinusHalfSquare
from ..relations.matrices import DenseMatrix
from ..relations.perplexity import Similarities
from .canonical import sign_flips
from .centered import decompose_centered, keep_positive
from .centered_rows import CenteredRows
from .laplacian import transition_spectrum
from .pca import principal_axes
from .stress import find_missing
from .thresholds import INITIAL_STD, MAX_INITIAL_COORDINATE, MIN_RELATIVE_STD

#: Of a neighbor embedding: a rule, or an array of coordinates.
Init = Literal["pca", "spectral", "random"] | np.ndarray


class InitialScores(NamedTuple):
    """Coordinates of the points to start from, of any size, and how they were found."""

    scores: Array
    used: str


def initialize_embedding(
    init: str | NDArray[Any], X: Items, found: Similarities, k: int, ctx: Context
) -> tuple[Float64, str]:
    """Initial coordinates of the distinct points, and how they were found.

    They are small, so that the points do not repel each other at first.
    """
    first = found.first_row
    assert found.joint is not None
    if not isinstance(init, str):
        return validate_init(init, k, first, X), "given"
    scores, used = find_initial_scores(init, X, found.joint.P, found.base, first, k, ctx)
    if used == "random":
        return INITIAL_STD * scores.astype(np.float64), used
    return _rescale(scores, k, ctx), used


def find_initial_scores(
    init: str,
    X: Items,
    W: Graph,
    base: DistanceRelation,
    first: NDArray[np.int64],
    k: int,
    ctx: Context,
) -> InitialScores:
    """Scores of the points by name: "spectral" of the graph W, "pca" of the rows, or "random".

    Where there are distances only, "pca" is classical scaling; where there is a graph only,
    spectral. The spectral coordinates of a graph of several components separate only these, so
    "pca" replaces them, or "random" where there is a graph only.
    """
    m, is_graph = len(first), isinstance(base, NeighborListDistances)
    if init == "spectral" or (init == "pca" and is_graph):
        W = to_csr(W)
        components = connected_components(W, directed=False)[0]
        if components == 1 and m > k + 1:
            graph = AffinityGraph(PrecomputedAffinities(W=W), np.arange(m), np.ones(m), {})
            spectrum = transition_spectrum(graph, k, ctx)
            return InitialScores(spectrum.vectors / np.sqrt(spectrum.degrees)[:, None], "spectral")
        instead = "random" if is_graph else "pca"
        if init == "spectral":
            why = f"{components} connected components" if components > 1 else f"{m} points only"
            warn(
                f"init='spectral': the neighbor graph has {why}, so its smallest eigenvectors tell "
                f"nothing; the start is that of init='{instead}' instead.",
                DisconnectedGraphWarning,
            )
        init = instead
    if init == "random":
        return InitialScores(random.normals(ctx.seed, "start", (m, k)), "random")
    if isinstance(base, Distances):
        rows = base.X if base.preparation == "as they are" else X[first]
        if issparse(rows):
            mean = column_means(rows)
        elif rows is base.X and base.center is not None:
            mean = base.center
        else:
            mean = average_columns(rows)
        most = min(*rows.shape, k)
        axes = principal_axes(CenteredRows.of(rows, mean), most, ctx)
        return InitialScores(ctx.ops.project(rows, mean, axes.vectors[:, :most]), "pca")
    leading = decompose_centered(
        MinusHalfSquare(base).among(ctx.ops), min(k, m), ctx, initialization=True
    )
    scores = leading.vectors * np.sqrt(np.maximum(leading.values, 0))
    return InitialScores(scores, "classical scaling")


def _rescale(scores: Array, k: int, ctx: Context) -> Float64:
    """k columns of the initial size; those that the data do not have are random."""
    spread = scores.std(0, dtype=np.float64)
    real = np.flatnonzero(spread > MIN_RELATIVE_STD * spread.max(initial=0))
    Y = np.empty((len(scores), k))
    if len(real) < k:
        Y[:] = INITIAL_STD / 10 * random.normals(ctx.seed, "start", (len(scores), k))
    if len(real):
        held = scores[:, real].astype(np.float64)
        Y[:, real] = (held - held.mean(0)) * sign_flips(held) * (INITIAL_STD / spread[real[0]])
    return Y


def validate_init(init: NDArray[Any], k: int, first: NDArray[np.int64], X: Items) -> Float64:
    """Given coordinates of the rows, checked; those of the points that stand first."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    Y = np.asarray(init)
    if Y.shape != (n, k) or Y.dtype.kind not in "fiu" or not np.isfinite(Y).all():
        raise DataError(
            f"init: expected finite numbers of shape ({n}, {k}), got {Y.dtype} {Y.shape}."
        )
    if np.abs(Y).max() > MAX_INITIAL_COORDINATE:
        raise DataError(
            f"init: coordinates are up to {np.abs(Y).max():.1e} large, where forces between points "
            f"vanish; divide them, to at most {MAX_INITIAL_COORDINATE:g}."
        )
    return Y[first].astype(np.float64)


def validate_configuration(init: Float64 | str, n: int, k: int) -> Float64 | str:
    """Valid initial coordinates of n samples; a name as it is."""
    if isinstance(init, str):
        return init
    refuse_non_numbers(init, "init")
    refuse_large_integers(init, "init")
    Y = np.asarray(init)
    if Y.shape != (n, k) or not np.isfinite(Y).all():
        raise ParameterError(
            f"init has the shape {Y.shape}; expected finite numbers of shape {(n, k)}: "
            "coordinates of every row."
        )
    return Y.astype(np.float64)


def initial_configurations(
    init: Float64 | str,
    n_init: int,
    D: Array,
    k: int,
    rows: NDArray[np.int64],
    ctx: Context,
) -> Iterator[Float64]:
    """Starts of SMACOF for `rows`: the given one, or classical scaling and then random ones."""
    if isinstance(init, np.ndarray):
        yield init[rows] - init[rows].mean(0)
        return
    for number in range(n_init):
        if number == 0 and init == "classical_mds":
            yield classical_configuration(D, k, ctx)
        else:
            spread = np.sqrt(np.nanmean(np.square(D, dtype=np.float64)) / (2 * k))
            drawn = random.normals(ctx.seed, f"start {number}", (len(D), k))
            yield (drawn - drawn.mean(0)) * spread


def classical_configuration(D: Array, k: int, ctx: Context) -> Float64:
    """Classical scaling; missing dissimilarities are shortest paths along known ones."""
    missing = find_missing(D)
    if missing is not None:
        rows = np.flatnonzero(missing.any(1))
        known = np.nonzero(~missing)
        graph = csr_array((D[known], known), shape=D.shape)
        D = D.copy()
        paths = ctx.ops.geodesics(graph).distances(Ragged.singletons(rows))
        D[rows] = np.where(missing[rows], paths, D[rows])
        D = (D + D.T) / 2
    found = decompose_centered(DenseMatrix(D, half_square=True), k, ctx, initialization=True)
    values, vectors, _ = keep_positive(found.values, found.vectors, found.noise, k, ctx.dtype)
    return vectors * np.sqrt(values)
