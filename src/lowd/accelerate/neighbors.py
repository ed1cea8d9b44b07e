"""`kneighbors_graph`, KNeighborsTransformer and `trustworthiness`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..evidence.quality import trustworthiness
from ..neighbor_graph import NeighborsTransformer, neighbors
from ..parameters import Reals
from .metrics import translate_metric
from .originals import FLOATS, build_csr, check_array, validate
from .refusal import require, require_gain

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
    found = neighbors(rows, n_neighbors - own, n_jobs=n_jobs, **how)
    require(found.recall == 1, "approximate neighbors of many rows")
    indices, distances = found.indices, found.distances
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
    k = model.n_neighbors - (not is_distance)
    require(k > 0, "a graph with loops")
    ours = NeighborsTransformer(n_neighbors=k, n_jobs=model.n_jobs, **how).fit(fitted)
    graph = ours.transform(rows)
    indices = graph.indices.reshape(len(rows), -1)
    weights = graph.data.reshape(len(rows), -1) if is_distance else np.ones(indices.shape)
    return build_csr(weights, indices, len(fitted))
