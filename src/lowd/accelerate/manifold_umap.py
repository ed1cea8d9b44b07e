"""`umap.UMAP` by `lowd.UMAP`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..errors import ConvergenceWarning, ScaleWarning
from ..methods.umap import UMAP
from .metrics import translate_metric
from .originals import check_array, copy_writable
from .proxy import MODEL_ATTRIBUTE, Learned
from .refusal import require

UMAP_WARNINGS = (ConvergenceWarning, ScaleWarning)
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
    rows = check_array(X, dtype=np.float32, order="C")
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
