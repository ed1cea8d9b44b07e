"""PCA, IncrementalPCA and TruncatedSVD by `lowd.PCA`; random projections by its kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from ..linalg.principal import project
from ..methods.pca import PCA
from ..methods.random_projection import project_sparsely
from ..parameters import Reals
from .calls import require, require_gain
from .originals import (
    FLOATS,
    column_variances,
    copy_writable,
    count_projected,
    count_seen,
    densify_small,
    invert_components,
    validate,
)
from .proxy import MODEL_ATTRIBUTE, Learned

# Numbers of entries from which lowd is faster.
MIN_ENTRIES = 2**17
MIN_BATCHED_ENTRIES = 1000
# With more columns, the products of all pairs take longer than the SVD of a batch.
MAX_BATCH_FEATURES = 500
FULL_SOLVERS = ("full", "covariance_eigh")
AXES = (
    "components_",
    "mean_",
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
)


def learn_pca(model: Any, X: Any, embed: bool) -> Learned:
    """`sklearn.decomposition.PCA.fit`."""
    require_gain(np.prod(np.shape(X)) >= MIN_ENTRIES)
    X = validate(model, X, dtype=FLOATS, accept_sparse=("csr", "csc"))
    solver = _name_solver(model, X)
    k = _count_components(model.n_components, solver, X.shape)
    ours = PCA(k, whiten=model.whiten)
    Y = _fit(ours, densify_small(X), embed)
    learned = {
        **_read_axes(ours, X.dtype),
        "noise_variance_": X.dtype.type(ours.noise_variance_),
        "n_samples_": X.shape[0],
        "_fit_svd_solver": solver,
    }
    return Learned(learned, Y)


def learn_incremental_pca(model: Any, X: Any, embed: bool) -> Learned:
    """`sklearn.decomposition.IncrementalPCA.fit`, exact and from all batches at once."""
    require_gain(np.prod(np.shape(X)) >= MIN_BATCHED_ENTRIES)
    X = validate(model, X, dtype=FLOATS, accept_sparse=["csr", "csc"])
    n, d = X.shape
    batch = 5 * d if model.batch_size is None else model.batch_size
    k = model.n_components or min(n, batch, d)
    require(k <= min(n, batch, d), "more components than a batch has rows or columns")
    X = densify_small(X)
    ours = PCA(k, whiten=model.whiten)
    Y = _fit(ours, X, embed)
    learned = _read_batches(ours, X.dtype, column_variances(X), n)
    return Learned({**learned, "batch_size_": batch}, Y)


def learn_batch(model: Any, X: Any, check_input: bool = True) -> Learned:  # noqa: ARG001
    """`sklearn.decomposition.IncrementalPCA.partial_fit`, which continues exact moments."""
    first = not hasattr(model, "components_")
    X = validate(model, X, dtype=FLOATS, reset=first)
    n, d = X.shape
    require_gain(d <= min(n, MAX_BATCH_FEATURES), "the original is faster on wide batches")
    ours = model.__dict__.get(MODEL_ATTRIBUTE)
    if first:
        ours = PCA(model.n_components or min(n, d), whiten=model.whiten)
    require(ours is not None, "begun by the original")
    require(ours.n_components == (model.n_components or min(n, d)), "another n_components")
    ours.partial_fit(X)
    require(hasattr(ours, "components_"), "fewer rows than components so far")
    moments = ours.moments_
    variances = np.diag(moments.scatter) / moments.weight
    return Learned(_read_batches(ours, X.dtype, variances, int(moments.weight)), model=ours)


def learn_truncated_svd(model: Any, X: Any, embed: bool) -> Learned:
    """`sklearn.decomposition.TruncatedSVD.fit`."""
    require_gain(np.prod(np.shape(X)) >= MIN_BATCHED_ENTRIES)
    X = validate(model, X, accept_sparse=["csr", "csc"], ensure_min_features=2)
    require(X.dtype in FLOATS, "entries that are not floats")
    limit = min(X.shape) - (model.algorithm == "arpack")
    require(model.n_components <= limit, "n_components beyond min(X.shape)")
    X = densify_small(X)
    ours = PCA(model.n_components, center=False)
    Y = ours.fit_transform(X)
    variances = np.var(Y, axis=0)
    learned = {
        "components_": copy_writable(ours.components_, X.dtype),
        "singular_values_": copy_writable(ours.singular_values_, X.dtype),
        "explained_variance_": variances,
        "explained_variance_ratio_": variances / column_variances(X).sum(),
    }
    return Learned(learned, Y if embed else None)


def _fit(ours: PCA, X: Any, embed: bool) -> Any:
    if embed:
        return ours.fit_transform(X)
    ours.fit(X)
    return None


def _read_axes(ours: PCA, dtype: Any) -> dict[str, Any]:
    """The attributes that PCA and IncrementalPCA learn."""
    learned: dict[str, Any] = {name: copy_writable(getattr(ours, name), dtype) for name in AXES}
    return {**learned, "n_components_": len(ours.components_)}


def _read_batches(ours: PCA, dtype: Any, variances: Reals, n: int) -> dict[str, Any]:
    """What IncrementalPCA learns of n rows."""
    return {
        **_read_axes(ours, dtype),
        "noise_variance_": float(ours.noise_variance_),
        "var_": variances.astype(dtype),
        "n_samples_seen_": count_seen(n),
    }


def _name_solver(model: Any, X: Any) -> str:
    """The solver that scikit-learn would choose; lowd's is as exact as the most exact of them."""
    n, d = X.shape
    sparse_solvers = ("auto", "arpack", "covariance_eigh")
    require(
        not issparse(X) or model.svd_solver in sparse_solvers, "a solver that takes no sparse rows"
    )
    if model.svd_solver != "auto":
        return str(model.svd_solver)
    if issparse(X):
        return "arpack"
    if d <= 1000 and n >= 10 * d:
        return "covariance_eigh"
    k = min(n, d) if model.n_components is None else model.n_components
    if max(n, d) <= 500 or k == "mle":
        return "full"
    return "randomized" if 1 <= k < 0.8 * min(n, d) else "full"


def _count_components(asked: Any, solver: str, shape: tuple[int, int]) -> Any:
    """The components to ask lowd for: a count, or a share of the variance."""
    limit = min(shape) - (solver == "arpack")
    if asked is None:
        return limit if solver == "arpack" else None
    if asked == "mle":
        require(
            shape[0] >= shape[1] and solver in FULL_SOLVERS, "'mle' for fewer rows than columns"
        )
        return asked
    is_share = 0 < asked < 1
    require(not is_share or solver in FULL_SOLVERS, "a share with this solver")
    require(is_share or 1 <= asked <= limit, "n_components outside 1 ... min(X.shape)")
    return asked if is_share else int(asked)


# -- random projections: scikit-learn's draw, multiplied by lowd's kernels ------------------------


# Entries from which lowd is faster, in general and for many columns (decision 038).
MIN_PROJECTED_ENTRIES = 2**21
MIN_WIDE_ENTRIES = 2**19
MIN_WIDE_FEATURES = 500


def learn_gaussian(model: Any, X: Any, embed: bool) -> Learned:
    """`sklearn.random_projection.GaussianRandomProjection.fit_transform` of dense rows."""
    require(embed, "a fit only draws, and the draw is the original's")
    require(not issparse(X), "sparse input")
    X = validate(model, X, dtype=FLOATS)
    n, d = X.shape
    _require_entries(n, d)
    k = count_projected(model, n)
    require(0 < k <= d, "n_components outside 1 ... n_features")
    C = model._make_random_matrix(k, d).astype(X.dtype, copy=False)
    # scikit-learn names the features after the parameter, "auto" or not.
    learned = {"n_components_": k, "components_": C, "_n_features_out": model.n_components}
    if model.compute_inverse_components:
        learned["inverse_components_"] = invert_components(C)
    return Learned(learned, _project(X, C))


def transform_gaussian(model: Any, X: Any) -> Any:
    """`sklearn.random_projection.GaussianRandomProjection.transform`, by the same product."""
    require(not issparse(X), "sparse input")
    require(hasattr(model, "components_"), "not fitted")
    X = validate(model, X, dtype=FLOATS, reset=False)
    _require_entries(*X.shape)
    return _project(X, model.components_)


def transform_sparsely(model: Any, X: Any) -> Any:
    """`sklearn.random_projection.SparseRandomProjection.transform` of dense rows.

    Sparse rows give a sparse result there, and dense matrices (density=1) are products of BLAS.
    """
    require(not issparse(X), "sparse input")
    require(hasattr(model, "components_"), "not fitted")
    require(issparse(model.components_), "a dense matrix")
    X = validate(model, X, dtype=FLOATS, reset=False)
    C = csr_array(model.components_).astype(X.dtype)
    return project_sparsely(np.ascontiguousarray(X), C)


def _require_entries(n: int, d: int) -> None:
    require_gain(n * d >= (MIN_WIDE_ENTRIES if d >= MIN_WIDE_FEATURES else MIN_PROJECTED_ENTRIES))


def _project(X: Any, C: Any) -> Any:
    return project(X, None, C.T)
