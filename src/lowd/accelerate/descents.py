"""TSNE by `lowd.TSNE`, and umap-learn's UMAP by `lowd.UMAP`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..errors import ConvergenceWarning, ScaleWarning
from ..methods.pca import PCA
from ..methods.tsne import TSNE
from ..methods.umap import UMAP
from ..parameters import Reals
from .calls import require
from .originals import (
    SKLEARN_VERSION,
    check_array,
    check_random_state,
    copy_writable,
    translate_metric,
    validate,
)
from .proxy import MODEL_ATTRIBUTE, Learned

DESCENT_WARNINGS = (ConvergenceWarning, ScaleWarning)
# scikit-learn exaggerates in the first 250 iterations, lowd in at most half of all iterations.
MIN_TSNE_ITERATIONS = 500
# Before 1.7 scikit-learn's default is None, which stands for this and is resolved in a fit.
DEFAULT_ITERATIONS = 1000
DEFAULT_MIN_GRADIENT_NORM = 1e-7
INITIAL_DEVIATION = 1e-4


def learn_tsne(model: Any, X: Any, embed: bool) -> Learned:
    """`sklearn.manifold.TSNE.fit`."""
    floats = [np.float32, np.float64]
    X = validate(model, X, dtype=floats, accept_sparse="csr", ensure_min_samples=2)
    n, k = X.shape[0], model.n_components
    require(model.perplexity < n, "perplexity of n_samples or more")
    require(k <= 2, "n_components > 2: Student's t with other degrees of freedom there")
    require(getattr(model, "n_iter", "deprecated") == "deprecated", "n_iter was renamed")
    max_iter = DEFAULT_ITERATIONS if model.max_iter is None else model.max_iter
    require(max_iter >= MIN_TSNE_ITERATIONS, f"max_iter < {MIN_TSNE_ITERATIONS}")
    require(model.verbose < 2, "verbose=2 prints the original's iterations")
    require(
        model.min_grad_norm == DEFAULT_MIN_GRADIENT_NORM and model.n_iter_without_progress >= 300,
        "a stopping rule of the original",
    )
    how = translate_metric(model.metric, 2, model.metric_params)
    is_given = how["metric"] == "precomputed"
    require(not (is_given and isinstance(model.init, str) and model.init == "pca"), "init='pca'")
    if is_given and issparse(X):
        require(model.method != "exact", "method='exact' of a sparse graph")
        require((np.diff(X.indptr) == n).all(), "distances to some others only")
        X = X.toarray()
    automatic = model.learning_rate == "auto"
    rate = np.maximum(n / model.early_exaggeration / 4, 50) if automatic else model.learning_rate
    start = _start(model, X)
    ours = TSNE(
        k,
        perplexity=model.perplexity,
        early_exaggeration=model.early_exaggeration,
        # scikit-learn's gradient has a factor of 4.
        learning_rate="auto" if automatic else 4 * rate,
        max_iter=max_iter,
        init=start.astype(np.float64),
        n_jobs=model.n_jobs,
        verbose=bool(model.verbose),
        **how,
    ).fit(X)
    require(hasattr(ours, "kl_divergence_"), "fewer than two distinct rows")
    Y = copy_writable(ours.embedding_, start.dtype)
    learned = {
        "embedding_": Y,
        "kl_divergence_": ours.kl_divergence_,
        "learning_rate_": rate,
        # scikit-learn reports the zero-based index of the last iteration.
        "n_iter_": ours.n_iter_ - 1,
    }
    if SKLEARN_VERSION < (1, 7):
        learned["_max_iter"] = max_iter
    return Learned(learned, Y if embed else None)


def _start(model: Any, X: Reals) -> Reals:
    """The initial coordinates, which are scikit-learn's."""
    if isinstance(model.init, np.ndarray):
        return model.init
    if model.init == "random":
        rng = check_random_state(model.random_state)
        drawn = rng.standard_normal(size=(X.shape[0], model.n_components)).astype(np.float32)
        return np.asarray(INITIAL_DEVIATION * drawn)
    Y = PCA(model.n_components).fit_transform(X).astype(np.float32)
    return np.asarray(Y / np.std(Y[:, 0]) * INITIAL_DEVIATION)


# -- UMAP -----------------------------------------------------------------------------------------


# Parameters that both libraries have with the same meaning.
SHARED = (
    "n_neighbors",
    "min_dist",
    "spread",
    "a",
    "b",
    "local_connectivity",
    "set_op_mix_ratio",
    "n_epochs",
    "learning_rate",
    "repulsion_strength",
    "negative_sample_rate",
)
# State of umap-learn for its transform, inverse and update, computed on first access.
KEPT = (
    "graph_",
    "graph_dists_",
    "knn_indices",
    "knn_dists",
    "knn_search_index",
    "_a",
    "_b",
    "_raw_data",
    "_initial_alpha",
    "_metric_kwds",
    "_output_metric_kwds",
    "_target_metric_kwds",
    "_sparse_data",
    "_input_distance_func",
    "_inverse_distance_func",
    "_output_distance_func",
    "_densmap_kwds",
    "_disconnection_distance",
    "_original_n_threads",
    "_n_neighbors",
    "_small_data",
    "_sigmas",
    "_rhos",
    "_supervised",
    "_input_hash",
    "_knn_indices",
    "_knn_dists",
    "_knn_search_index",
)


def learn_umap(model: Any, X: Any, embed: bool, ensure_all_finite: Any = True) -> Learned:
    """`umap.UMAP.fit` without targets."""
    require(not issparse(X), "sparse input")
    require(ensure_all_finite is True, "entries that are not finite")
    how = translate_metric(model.metric, 2, model.metric_kwds)
    require(how["metric"] != "precomputed", "metric='precomputed'")
    require(model.output_metric == "euclidean", "output_metric")
    require(not (model.densmap or model.output_dens), "densmap")
    require(not model.unique, "unique")
    require(model.transform_mode == "embedding", "transform_mode")
    require(model.precomputed_knn[0] is None, "precomputed_knn")
    require(model.disconnection_distance is None, "disconnection_distance")
    require(model.n_epochs is None or np.isscalar(model.n_epochs), "several n_epochs")
    starts = ("spectral", "random", "pca")
    require(not isinstance(model.init, str) or model.init in starts, "init")
    require(model.n_epochs != 0, "n_epochs=0: the start is that of the original")
    rows = check_array(X, dtype=np.float32, order="C")
    _check_parameters(model, rows)
    shared = {name: getattr(model, name) for name in SHARED}
    if shared["a"] is not None and shared["b"] is not None:
        del shared["min_dist"], shared["spread"]  # a and b replace these
    ours = UMAP(
        n_components=model.n_components,
        init=_translate_start(model.init),
        random_state=model.random_state,
        n_jobs=model.n_jobs,
        verbose=bool(model.verbose),
        **how,
        **shared,
    ).fit(rows)
    Y = copy_writable(ours.embedding_, np.float32)
    return Learned(
        {"embedding_": Y, "_n_features_out": Y.shape[1]},
        Y if embed else None,
        _complete_later(model, rows),
        ours,
    )


def _check_parameters(model: Any, rows: Reals) -> None:
    """umap-learn's own check, on a copy, since it also sets attributes."""
    scratch = model.original(**model.get_params())
    scratch._raw_data, scratch._initial_alpha = rows, scratch.learning_rate
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scratch._validate_parameters()


def _translate_start(init: Any) -> Any:
    """Translate the start: 'spectral' becomes lowd's default, which suits disconnected graphs."""
    if isinstance(init, str):
        return "random" if init == "random" else "pca"
    return np.asarray(init, np.float64)


def transform_umap(model: Any, X: Any, ensure_all_finite: Any = True) -> Any:
    """`umap.UMAP.transform`: row by row."""
    ours = model.__dict__.get(MODEL_ATTRIBUTE)
    require(ours is not None, "fitted by the original")
    require(not issparse(X) and ensure_all_finite is True, "sparse or not finite")
    return ours.transform(check_array(X, dtype=np.float32, order="C"))


def _complete_later(model: Any, rows: Any) -> dict[str, Callable[[], Any]]:
    """umap-learn's own state for its inverse, update and pickles: its fit without a layout."""

    @cache
    def scratch() -> Any:
        parameters = {**model.get_params(), "transform_mode": "graph"}
        return model.original(**parameters).fit(rows)

    def read(name: str) -> Any:
        return getattr(scratch(), name)  # an AttributeError for names that umap-learn does not have

    return {name: partial(read, name) for name in KEPT}
