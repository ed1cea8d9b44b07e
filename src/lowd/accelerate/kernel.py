"""KernelPCA by `lowd.KernelPCA`, ClassicalMDS by `lowd.ClassicalMDS`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..errors import IndefiniteWarning, KernelWarning, ScaleWarning
from ..methods.classical_mds import ClassicalMDS
from ..methods.kernel_pca import KernelPCA
from ..parameters import Reals
from .metrics import translate_metric
from .originals import (
    build_centerer,
    check_symmetric,
    copy_writable,
    pairwise_distances,
    validate,
)
from .proxy import MODEL_ATTRIBUTE, Learned
from .refusal import require, require_gain

# scikit-learn uses ARPACK for fewer than 10 components of more than 200 rows.
MIN_KERNEL_ROWS = 1000
MIN_SCALED_ROWS = 100
KERNEL_WARNINGS = (KernelWarning, ScaleWarning)
SCALING_WARNINGS = (IndefiniteWarning, ScaleWarning)
# The parameters that each kernel reads; scikit-learn ignores the others.
KERNEL_PARAMETERS: dict[str, tuple[str, ...]] = {
    "linear": (),
    "cosine": (),
    "precomputed": (),
    "rbf": ("gamma",),
    "poly": ("gamma", "degree", "coef0"),
    "sigmoid": ("gamma", "coef0"),
}


def learn_kernel_pca(model: Any, X: Any, embed: bool) -> Learned:
    """`sklearn.decomposition.KernelPCA.fit`."""
    X = validate(model, X, accept_sparse="csr")
    kernel: Any = model.kernel if isinstance(model.kernel, str) else "callable"
    require(kernel in KERNEL_PARAMETERS, f"kernel={kernel!r}")
    require(X.dtype in (np.float64, np.float32), "entries that are not floats")
    inverse = model.fit_inverse_transform
    require(not (inverse and (issparse(X) or kernel == "precomputed")), "these have no inverse")
    n = X.shape[0]
    k = None if model.n_components is None else min(n, model.n_components)
    krylov_there = 200 < n < MIN_KERNEL_ROWS and k is not None and k < 10
    require_gain(kernel == "linear" or not krylov_there, "few components of a small kernel matrix")
    read = {name: getattr(model, name) for name in KERNEL_PARAMETERS[kernel]}
    ours = KernelPCA(k, kernel=kernel, n_jobs=model.n_jobs, **read).fit(X)
    values = copy_writable(ours.eigenvalues_, X.dtype)
    vectors = copy_writable(ours.eigenvectors_, X.dtype)
    if model.remove_zero_eig:
        vectors, values = vectors[:, values > 0], values[values > 0]
    means = _mean_kernel(ours, X).astype(X.dtype)
    learned = {
        "eigenvalues_": values,
        "eigenvectors_": vectors,
        "gamma_": 1 / X.shape[1] if model.gamma is None else model.gamma,
        "_centerer": build_centerer(means, means.mean(), n),
        "X_fit_": X,
    }
    Y = vectors * np.sqrt(values)
    if inverse:
        learned |= _learn_inverse(model, learned, Y, X)
    return Learned(learned, Y if embed else None, model=ours)


def transform_kernel_pca(model: Any, X: Any) -> Any:
    """`sklearn.decomposition.KernelPCA.transform`."""
    ours = model.__dict__.get(MODEL_ATTRIBUTE)
    require(ours is not None, "fitted by the original")
    require(len(ours.eigenvalues_) == len(model.eigenvalues_), "eigenvalues were removed")
    X = validate(model, X, accept_sparse="csr", reset=False)
    return ours.transform(X)


def learn_classical_mds(model: Any, X: Any, embed: bool) -> Learned:
    """`sklearn.manifold.ClassicalMDS.fit`."""
    require_gain(len(X) >= MIN_SCALED_ROWS)
    X = validate(model, X)
    how = translate_metric(model.metric, 2, model.metric_params)
    is_given = how["metric"] == "precomputed"
    if is_given:
        X = check_symmetric(X, raise_exception=True)
    ours = ClassicalMDS(model.n_components, **how).fit(X.astype(np.float64))
    Y = copy_writable(ours.embedding_)
    learned = {"embedding_": Y, "eigenvalues_": copy_writable(ours.eigenvalues_)}
    compute = (lambda: X) if is_given else partial(pairwise_distances, X, metric=model.metric)
    return Learned(learned, Y if embed else None, {"dissimilarity_matrix_": compute})


def _mean_kernel(ours: KernelPCA, X: Any) -> Reals:
    """Means of the columns of the kernel matrix; of inner products without that matrix."""
    if ours.kernel != "linear":
        return np.asarray(ours.k_mean_)
    return np.asarray(X @ np.asarray(X.mean(0)).ravel())


def _learn_inverse(model: Any, learned: dict[str, Any], Y: Reals, X: Reals) -> dict[str, Any]:
    """The pre-images of the original, learned from this embedding."""
    scratch = model.original(**model.get_params())
    scratch.__dict__.update(learned)
    scratch._fit_inverse_transform(Y, X)
    return {name: getattr(scratch, name) for name in ("dual_coef_", "X_transformed_fit_")}
