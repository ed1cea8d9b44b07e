"""Neighbor graphs and what is computed of them: trustworthiness, spectral embedding, LLE."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, issparse

from ..errors import LocalizedAxisWarning, ScaleWarning, ShortcutWarning
from ..evidence.quality import trustworthiness
from ..methods.lle import (
    LTSA,
    Alignment,
    LocallyLinear,
    LocallyLinearEmbedding,
    ModifiedLLE,
    alignment_matrix,
)
from ..methods.spectral import LaplacianEigenmaps
from ..neighbor_graph import NeighborsTransformer
from ..parameters import Indices, Reals
from ..spaces import Neighbors, Rows
from .calls import require, require_gain
from .originals import (
    FLOATS,
    build_csr,
    build_neighbors,
    check_array,
    check_symmetric,
    find_neighbors,
    has_ties,
    read_rows,
    translate_metric,
    validate,
)
from .proxy import Learned

# scikit-learn's trees answer queries sooner where columns are few, and its matrix products where
# they are hundreds.
MIN_QUERIED_FEATURES = 10
MAX_INDEXED_FEATURES = 128


def serve_kneighbors_graph(
    X: Any,
    n_neighbors: int,
    *,
    mode: str = "connectivity",
    metric: Any = "minkowski",
    p: float = 2,
    metric_params: Any = None,
    include_self: bool | str = False,
    n_jobs: int | None = None,
) -> Any:
    """`sklearn.neighbors.kneighbors_graph`."""
    require(isinstance(X, np.ndarray | list), "a fitted model or a sparse matrix")
    require(mode in ("connectivity", "distance"), "mode")
    how = translate_metric(metric, p, metric_params)
    require(how["metric"] != "precomputed", "metric='precomputed'")
    rows = check_array(X, dtype=FLOATS)
    require_gain(rows.shape[1] <= MAX_INDEXED_FEATURES, "the original is faster on wide rows")
    own = mode == "connectivity" if include_self == "auto" else bool(include_self)
    require(n_neighbors - own > 0, "a graph with loops")
    indices, distances = find_neighbors(rows, n_neighbors - own, how, n_jobs)
    if own:
        require((distances[:, 0] > 0).all(), "duplicate rows")
        n = len(rows)
        indices = np.column_stack([np.arange(n), indices])
        distances = np.column_stack([np.zeros(n), distances])
    weights = np.ones(indices.shape) if mode == "connectivity" else distances
    return build_csr(weights, indices, len(rows))


def serve_trustworthiness(
    X: Any, X_embedded: Any, *, n_neighbors: int = 5, metric: Any = "euclidean"
) -> float:
    """`sklearn.manifold.trustworthiness`."""
    how = translate_metric(metric)
    require(not issparse(X), "sparse input")
    rows, Y = check_array(X, dtype=FLOATS), check_array(X_embedded, dtype=FLOATS)
    require(n_neighbors < len(rows) / 2, "n_neighbors of at least half the rows")
    n, k = len(rows), n_neighbors
    require((rows % 1).any(), "whole numbers, whose distances may be equal")
    # Neighbors that are equally far are refused.
    find_neighbors(Y, k, {"metric": "euclidean"})
    scale = 2.0 / (n * k * (2.0 * n - 3.0 * k - 1.0))
    share = float(trustworthiness(rows, Y, n_neighbors=k, **how))
    # A multiple of whole ranks gives the same bits.
    return 1.0 - round((1.0 - share) / scale) * scale


def transform_to_graph(model: Any, X: Any) -> Any:
    """`sklearn.neighbors.KNeighborsTransformer.transform`."""
    how = translate_metric(model.metric, model.p, model.metric_params)
    fitted: Reals = model._fit_X
    require(isinstance(fitted, np.ndarray) and how["metric"] != "precomputed", "sparse rows")
    rows = validate(model, X, dtype=FLOATS, reset=False)
    gain = MIN_QUERIED_FEATURES <= rows.shape[1] <= MAX_INDEXED_FEATURES
    require_gain(gain, "the original is faster on few and on very many columns")
    is_distance = model.mode == "distance"
    count = model.n_neighbors + is_distance
    require(count > 1, "a graph with loops")
    more = min(count, len(fitted) - 1)  # of which there is one more in each row
    graph = NeighborsTransformer(n_neighbors=more, n_jobs=model.n_jobs, **how).fit(fitted)
    found = graph.transform(rows)
    indices, distances = (part.reshape(len(rows), -1) for part in (found.indices, found.data))
    tied = more == count and has_ties(rows, distances[:, count - 1 :], how["metric"])
    require(not tied, "several rows are equally far as the last neighbor")
    indices, distances = indices[:, :count], distances[:, :count]
    weights = distances if is_distance else np.ones(indices.shape)
    return build_csr(weights, indices, len(fitted))


# -- spectral embedding ---------------------------------------------------------------------------


MIN_SPECTRAL_ROWS = 1500
SPECTRAL_WARNINGS = (LocalizedAxisWarning,)


def learn_spectral_embedding(model: Any, X: Any, embed: bool) -> Learned:
    """`sklearn.manifold.SpectralEmbedding.fit`."""
    require_gain(np.shape(X)[0] >= MIN_SPECTRAL_ROWS)
    X = validate(model, X, accept_sparse="csr", ensure_min_samples=2)
    scratch = model.original(**model.get_params())
    if model.affinity == "nearest_neighbors":
        require(not issparse(X), "neighbors of sparse rows")
        k = max(len(X) // 10, 1) if model.n_neighbors is None else model.n_neighbors
        A = serve_kneighbors_graph(X, k, include_self=True, n_jobs=model.n_jobs)
        scratch.n_neighbors_, scratch.affinity_matrix_ = k, 0.5 * (A + A.T)
    else:
        scratch._get_affinity_matrix(X)
    Y = serve_spectral_embedding(
        scratch.affinity_matrix_,
        n_components=model.n_components,
        eigen_solver=model.eigen_solver,
    )
    names = ("affinity_matrix_", "n_neighbors_", "gamma_")
    learned = {name: getattr(scratch, name) for name in names if hasattr(scratch, name)}
    return Learned({**learned, "embedding_": Y}, Y if embed else None)


def serve_spectral_embedding(
    adjacency: Any,
    *,
    n_components: int = 8,
    eigen_solver: str | None = None,
    random_state: Any = None,  # noqa: ARG001 - of solvers that begin at random
    eigen_tol: Any = "auto",  # noqa: ARG001 - lowd's residual norm is as small as rounding allows
    norm_laplacian: bool = True,
    drop_first: bool = True,
) -> Reals:
    """`sklearn.manifold.spectral_embedding`."""
    require(eigen_solver != "amg", "eigen_solver='amg'")
    require_gain(adjacency.shape[0] >= MIN_SPECTRAL_ROWS)
    W = _remove_diagonal(check_symmetric(adjacency, raise_exception=True))
    n, k = W.shape[0], n_components - (not drop_first)
    require(0 < k < n - 1, "as many components as rows")
    dtype = W.dtype if W.dtype == np.float32 else np.float64
    normalization: Any = "random_walk" if norm_laplacian else "none"
    ours = LaplacianEigenmaps(
        k, affinity="precomputed", normalization=normalization, scale="unit"
    ).fit(W)
    require(not ours.degenerate_axes_, "repeated eigenvalues: the basis is not unique")
    Y = np.array(ours.embedding_, dtype)
    if drop_first:
        return Y
    length = np.sqrt(np.asarray(W.sum(0)).sum() if norm_laplacian else n)
    return np.column_stack([np.full(n, 1 / length, dtype), Y])


def _remove_diagonal(W: Any) -> Any:
    """Remove self-loops, which cancel in scikit-learn's Laplacian but count in lowd's."""
    if not issparse(W):
        W = np.array(W, dtype=None if W.dtype.kind == "f" else np.float64)
        np.fill_diagonal(W, 0)
        return W
    pairs = csr_array(W, dtype=W.dtype if W.dtype.kind == "f" else np.float64).tocoo()
    apart = pairs.row != pairs.col
    kept = pairs.data[apart], (pairs.row[apart], pairs.col[apart])
    return csr_array(kept, shape=W.shape)


# -- locally linear embedding ---------------------------------------------------------------------
# Each variant takes scikit-learn's alignment matrix, which for three of them is not lowd's
# (docs/differences.md); what is lowd's are the neighbors, the sum over neighborhoods and the
# eigenvectors.

MIN_LOCAL_ROWS = 300
# For the other variants, which scikit-learn sums point by point: lowd is ten times as fast at 150
# rows.
MIN_VARIANT_ROWS = 100
LOCAL_WARNINGS = (LocalizedAxisWarning, ScaleWarning, ShortcutWarning)
# scikit-learn uses this in method="modified", whatever `reg` is.
MODIFIED_REGULARIZATION = 1e-3
# Columns that sum to 0 up to rounding stay below any tolerance above this.
MIN_HESSIAN_TOLERANCE = 1e-10


def serve_locally_linear_embedding(
    X: Any,
    *,
    n_neighbors: int,
    n_components: int,
    reg: float = 1e-3,
    method: str = "standard",
    hessian_tol: float = 1e-4,
    n_jobs: int | None = None,
    **solver: Any,  # noqa: ARG001 - eigen_solver, tol, max_iter, ..., of the original's solvers
) -> tuple[Reals, float]:
    """`sklearn.manifold.locally_linear_embedding`."""
    rows = read_rows(X)
    n, d = rows.shape
    k = n_components
    require_gain(n >= (MIN_LOCAL_ROWS if method == "standard" else MIN_VARIANT_ROWS))
    require(k <= d and n_neighbors < n, "n_components or n_neighbors too large")
    if method == "hessian":
        require(n_neighbors > k * (k + 3) // 2, "n_neighbors too small for method='hessian'")
        require(hessian_tol >= MIN_HESSIAN_TOLERANCE, "hessian_tol near 0")
    search = partial(build_neighbors, rows, n_jobs=n_jobs)
    given = find_neighbors(rows, n_neighbors, {"metric": "euclidean"}, n_jobs, search)
    ours = VARIANTS[method](k, reg=reg, n_jobs=n_jobs)
    ours.fit(rows, neighbors=given)
    require(ours.n_distinct_ == n, "duplicate rows")
    require(not ours.degenerate_axes_, "repeated eigenvalues: the basis is not unique")
    Y = np.array(ours.embedding_ / np.sqrt(n), np.float64)  # scikit-learn's columns have length 1
    return Y, float(ours.reconstruction_error_)


class NeighborPatches(LTSA):
    """LTSA of patches without the point itself, as in scikit-learn.

    That is its Hessian LLE, too: it takes all columns beyond the tangent coordinates, not the
    quadratic ones only, and divides those by their sums that are not 0, of which there are none.
    """

    def _align(self, points: Rows, near: Neighbors, counts: Reals) -> Alignment:
        listed = np.bincount(near.indices, minlength=points.n)
        require(listed.min() > 0, "a point is nobody's neighbor, so its position is undetermined")
        indptr, members, k = near.indptr, near.indices, self.n_components
        M = alignment_matrix(points.X, indptr, members, "ltsa", k, self.reg, counts)
        return Alignment(M, False)


class ManyWeights(ModifiedLLE):
    """Modified LLE with up to n_neighbors - 1 weight vectors per point, as in scikit-learn."""

    def _align(self, points: Rows, near: Neighbors, counts: Reals) -> Alignment:  # noqa: ARG002
        X, members = np.asarray(points.X, np.float64), near.table[0]
        return Alignment(align_many_weights(X, members, self.n_components), False)


def align_many_weights(X: Reals, near: Indices, k: int) -> csr_array:
    """The sum of W W' over the points, W the weight vectors of a point less the point itself.

    With the projector P on the s directions of least extent of a neighborhood, the regularized
    weights w and a² s = 1'P1, the s weight vectors of Zhang and Wang (2007) have the products
    P + (1 - a)/a (P1 w' + w 1'P) + (1 - a)² s w w' and the sum P1 / a + (1 - a) s w.
    """
    n, m = near.shape
    rank = min(m, X.shape[1])
    Z = X[near] - X[:, None]
    values, V = np.linalg.eigh(Z @ Z.transpose(0, 2, 1))
    values, V = np.maximum(values[:, ::-1], 0), V[:, :, ::-1]
    values[:, rank:] = 0
    ridge = MODIFIED_REGULARIZATION * values.sum(1)[:, None]
    w = (V @ ((V.sum(1) / (values + ridge))[:, :, None]))[:, :, 0]
    w /= w.sum(1)[:, None]

    head = values[:, :rank].cumsum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.median(head[:, -1] / head[:, k - 1] - 1)
        s = m - rank + (head[:, -1:] / head[:, :-1] - 1 < share).sum(1)
    V = np.where(np.arange(m) >= (m - s)[:, None, None], V, 0)
    P = V @ V.transpose(0, 2, 1)
    one = P.sum(2)
    a = np.sqrt(one.sum(1) / s)
    require(
        np.isfinite(a).all() and a.min() > np.sqrt(np.finfo(float).eps), "weights that sum to 0"
    )
    a, s = a[:, None], s[:, None]
    once = one[:, :, None] * w[:, None]
    F = np.empty((n, m + 1, m + 1))
    F[:, 1:, 1:] = P + ((1 - a) / a)[:, :, None] * (once + once.transpose(0, 2, 1))
    F[:, 1:, 1:] += ((1 - a) ** 2 * s)[:, :, None] * (w[:, :, None] * w[:, None])
    F[:, 0, 1:] = F[:, 1:, 0] = -(one / a + (1 - a) * s * w)
    F[:, 0, 0] = s[:, 0]
    members = np.column_stack([np.arange(n), near])
    entries = np.repeat(members, m + 1, axis=1).ravel(), np.tile(members, m + 1).ravel()
    return csr_array(coo_array((F.ravel(), entries), shape=(n, n)))


VARIANTS: dict[str, type[LocallyLinear]] = {
    "standard": LocallyLinearEmbedding,
    "ltsa": NeighborPatches,
    "hessian": NeighborPatches,
    "modified": ManyWeights,
}
