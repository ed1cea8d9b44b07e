"""SpectralEmbedding and `spectral_embedding` by `lowd.LaplacianEigenmaps`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from ..errors import LocalizedAxisWarning
from ..methods.spectral import LaplacianEigenmaps
from ..parameters import Reals
from .neighbors import serve_kneighbors_graph
from .originals import check_symmetric, validate
from .proxy import Learned
from .refusal import require, require_gain

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
