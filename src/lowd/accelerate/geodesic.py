"""Isomap by `lowd.Isomap`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..errors import IndefiniteWarning, ScaleWarning, ShortcutWarning
from ..methods.isomap import Isomap
from ..neighbor_graph import neighbors
from .metrics import translate_metric
from .originals import FLOATS, build_kernel_pca, build_neighbors, copy_writable, validate
from .proxy import MODEL_ATTRIBUTE, Learned
from .refusal import require, require_gain

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
        # Given neighbors resolve ties by row number, as scikit-learn's search does.
        given = neighbors(rows, model.n_neighbors, n_jobs=model.n_jobs, **how)
        require(given.recall == 1, "approximate neighbors of many rows")
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
    return ours.transform(rows)


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
