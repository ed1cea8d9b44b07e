"""KernelPCA, ClassicalMDS, Isomap and `smacof` (by which MDS) by lowd's classes of these names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..errors import (
    ConvergenceWarning,
    IndefiniteWarning,
    KernelWarning,
    MetricWarning,
    ScaleWarning,
    ShortcutWarning,
)
from ..methods.classical_mds import ClassicalMDS
from ..methods.isomap import Isomap
from ..methods.kernel_pca import KernelPCA
from ..methods.mds import MDS, NonMetricMDS
from ..parameters import Reals
from .calls import require, require_gain
from .originals import (
    FLOATS,
    SKLEARN_VERSION,
    build_centerer,
    build_kernel_pca,
    build_neighbors,
    check_array,
    check_random_state,
    check_symmetric,
    copy_writable,
    euclidean_distances,
    find_neighbors,
    pairwise_distances,
    translate_metric,
    validate,
)
from .proxy import MODEL_ATTRIBUTE, Learned

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


# -- Isomap ---------------------------------------------------------------------------------------


MIN_GEODESIC_ROWS = 300
GEODESIC_WARNINGS = (ShortcutWarning, ScaleWarning, IndefiniteWarning)


def learn_isomap(model: Any, X: Any, embed: bool) -> Learned:
    """`sklearn.manifold.Isomap.fit`."""
    require_gain(np.shape(X)[0] >= MIN_GEODESIC_ROWS)
    rows = validate(model, X, dtype=FLOATS, accept_sparse="csr")
    how = translate_metric(model.metric, model.p, model.metric_params)
    require(how["metric"] != "precomputed" or not issparse(rows), "a given sparse graph")
    require(model.n_neighbors is None or model.radius is None, "n_neighbors and radius")
    ours = Isomap(
        model.n_components, n_neighbors=model.n_neighbors, n_landmarks=None, n_jobs=model.n_jobs
    )
    if model.n_neighbors is None:
        ours.set_params(radius=model.radius, **how).fit(rows)
    else:
        search = partial(_build_neighbors, model, rows)
        given = find_neighbors(rows, model.n_neighbors, how, model.n_jobs, search)
        ours.set_params(n_neighbors=5, **how).fit(rows, neighbors=given)
    require(ours.n_distinct_ == rows.shape[0], "duplicate rows")
    Y = copy_writable(ours.embedding_)
    dtype = rows.dtype
    lazy: dict[str, Callable[[], Any]] = {
        "dist_matrix_": lambda: copy_writable(ours.geodesic_distances_, dtype),
        "nbrs_": partial(_build_neighbors, model, rows),
        "kernel_pca_": partial(_build_kernel_pca, model, ours),
    }
    learned = {"embedding_": Y, "_n_features_out": Y.shape[1]}
    return Learned(learned, Y if embed else None, lazy, ours)


def transform_isomap(model: Any, X: Any) -> Any:
    """`sklearn.manifold.Isomap.transform`."""
    ours = model.__dict__.get(MODEL_ATTRIBUTE)
    require(ours is not None, "fitted by the original")
    require(model.radius is None, "scikit-learn refuses new points beyond the radius")
    rows = validate(model, X, dtype=FLOATS, accept_sparse="csr", reset=False)
    require(model.metric != "precomputed" or not issparse(rows), "a given sparse graph")
    distances, indices = model.nbrs_.kneighbors(rows, n_neighbors=model.n_neighbors)
    return ours.transform(rows, neighbors=(indices, distances))


def _build_neighbors(model: Any, rows: Any) -> Any:
    return build_neighbors(
        rows,
        n_neighbors=model.n_neighbors,
        radius=model.radius,
        algorithm=model.neighbors_algorithm,
        metric=model.metric,
        p=model.p,
        metric_params=model.metric_params,
        n_jobs=model.n_jobs,
    )


def _build_kernel_pca(model: Any, ours: Isomap) -> Any:
    D = model.dist_matrix_
    return build_kernel_pca(
        -0.5 * D**2,
        copy_writable(ours.eigenvalues_, D.dtype),
        copy_writable(ours.eigenvectors_, D.dtype),
        n_components=model.n_components,
        eigen_solver=model.eigen_solver,
        tol=model.tol,
        max_iter=model.max_iter,
        n_jobs=model.n_jobs,
    )


# -- smacof ---------------------------------------------------------------------------------------


MIN_STRESS_ROWS = 20
STRESS_WARNINGS = (ConvergenceWarning, MetricWarning)
# Whoever asks for fewer iterations wants the original's; lowd's go further in each one.
MIN_SMACOF_ITERATIONS = 20
MAX_SEED = np.iinfo(np.int32).max


def serve_smacof(
    dissimilarities: Any,
    *,
    metric: bool = True,
    n_components: int = 2,
    init: Any = None,
    n_init: int = 1,
    n_jobs: int | None = None,
    max_iter: int = 300,
    verbose: int = 0,
    eps: float = 1e-6,
    random_state: Any = None,
    return_n_iter: bool = False,
    normalized_stress: bool | str = "auto",
) -> Any:
    """`sklearn.manifold.smacof` from the same starting points."""
    require(
        SKLEARN_VERSION >= (1, 7),
        "before scikit-learn 1.7 SMACOF has another stopping rule and scale",
    )
    require(isinstance(n_init, Integral), "n_init is left to a default that will change")
    D = check_symmetric(check_array(dissimilarities), raise_exception=True).astype(np.float64)
    require(len(D) >= MIN_STRESS_ROWS, "this few rows are embedded up to rounding errors")
    require(not verbose, "verbose prints the original's iterations")
    require(0 < eps < 1, "eps outside 0 ... 1")
    require(max_iter >= MIN_SMACOF_ITERATIONS, f"max_iter < {MIN_SMACOF_ITERATIONS}")
    require(init is None or n_init == 1, "init with n_init")
    n = len(D)
    starts = _draw_starts(n, n_components, n_init, n_jobs, random_state)
    if init is not None:
        starts = [np.array(init, dtype=np.float64)]
        require(starts[0].ndim == 2 and len(starts[0]) == n, "shape of init")
    if not metric:
        require((D > 0).sum() == n * (n - 1), "0 is a missing dissimilarity there")
    normalized = not metric if normalized_stress == "auto" else bool(normalized_stress)
    fits = [_fit(D, start, metric, max_iter, eps) for start in starts]
    best = int(np.argmin([fit.stress_ for fit in fits]))
    ours, Y = fits[best], _turn(fits[best].embedding_, starts[best])
    found = Y, _measure_stress(ours, Y, D if metric else None, normalized)
    return (*found, ours.n_iter_) if return_n_iter else found


def _fit(D: Reals, start: Reals, metric: bool, max_iter: int, eps: float) -> MDS:
    d = euclidean_distances(start)
    units = (D * d).sum() / (d**2).sum() if metric else len(D) / np.sqrt((d**2).sum())
    start = start * units  # the units of the start do not matter
    how: dict[str, Any] = {"metric": "precomputed", "init": start, "max_iter": max_iter, "eps": eps}
    k = start.shape[1]
    ours = MDS(k, **how) if metric else NonMetricMDS(k, ties="secondary", **how)
    return ours.fit(D)


def _measure_stress(ours: MDS, Y: Reals, D: Reals | None, normalized: bool) -> float:
    """Stress by scikit-learn's formula; of disparities (no D) lowd has computed it."""
    if D is None:
        return float(ours.stress1_ if normalized else ours.stress_)
    d = euclidean_distances(Y)
    raw = ((d - D) ** 2).sum() / 2
    return float(np.sqrt(raw / ((d**2).sum() / 2)) if normalized else raw)


def _draw_starts(n: int, k: int, n_init: int, n_jobs: int | None, random_state: Any) -> list[Reals]:
    """The random configurations that scikit-learn would begin from."""
    rng = check_random_state(random_state)
    if n_jobs in (None, 1):
        sources = [rng] * n_init
    else:
        sources = [check_random_state(seed) for seed in rng.randint(MAX_SEED, size=n_init)]
    return [source.uniform(size=n * k).reshape(n, k) for source in sources]


def _turn(Y: Reals, start: Reals) -> Reals:
    """The embedding turned toward its start: Guttman transforms do not rotate, lowd does."""
    U, _, Vt = np.linalg.svd(Y.T @ (start - start.mean(0)))
    return np.asarray(Y @ (U @ Vt))
