"""The evaluation of a fitted model, with what the model itself can say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ... import random
from ...backends.protocol import Array, Float64
from ...errors import UnsupportedError
from .evaluating import evaluate
from .evaluation import Evaluation
from .units import as_seen_by, scales

SELF_MAPPED = 1000  # training rows that are sent through the bare map
NUDGE = 1e-7  # of a column's spread: another row, at no distance that matters
OWN = ("kl_divergence", "reconstruction_error", "stress", "force_error", "knn_recall")


def evaluate_model(model: Any, X: Any, labels: Any, **how: Any) -> Evaluation:
    """The places that the model gives to X, training rows or others, and the model's own values."""
    metric, params = getattr(model, "metric", "euclidean"), getattr(model, "metric_params", None)
    data: Any = as_seen_by(model, X)
    kind = model._kind()
    if kind == "affinity":
        raise UnsupportedError(
            "affinities are no distances; lowd.evaluate(X, model.embedding_) takes the rows or "
            "distances they come from."
        )
    if kind == "kernel":
        data, metric, params = _distances(np.asarray(X, np.float64)), "precomputed", None
    how |= {"backend": model.backend, "n_jobs": model.n_jobs}
    Y = model._transform(X)
    found = evaluate(data, Y, labels=labels, metric=metric, metric_params=params, **how)
    own, error = own_values(model), self_map_error(model, X, Y)
    if error is not None:
        own["self_map_error"] = error
    return replace(found, model=own, notes=found.notes + _remarks(model))


def own_values(model: Any) -> dict[str, float]:
    """Values that the model learned of itself, by name."""
    values = {}
    if hasattr(model, "explained_variance_ratio_"):
        values["explained_variance_ratio"] = float(np.sum(model.explained_variance_ratio_))
    if hasattr(model, "residual_variance_"):
        values["residual_variance"] = float(np.ravel(model.residual_variance_)[-1])
    for name in OWN:
        value = getattr(model, f"{name}_", None)
        if value is not None and np.ndim(value) == 0:
            values[name] = float(value)
    return values


def self_map_error(model: Any, X: Any, Y: Array) -> float | None:
    """How far the map puts training rows from their places when it may not remember them.

    A row that differs from a training row in its last digits is a new one. The root mean square of
    the gap between their places, relative to that of the places around their mean: 0 is perfect, 1
    as bad as the mean itself. None if X is not what a model of rows was fitted on.
    """
    places = getattr(model, "embedding_", None)
    if places is None or model._kind() != "rows" or issparse(X) or not np.array_equal(places, Y):
        return None
    rows = random.subset(0, "self map", len(Y), min(len(Y), SELF_MAPPED))
    part = np.asarray(X, np.float64)
    nudge = NUDGE * part.std(0) * random.normals(0, "nudge", (len(rows), part.shape[1]))
    gap = model._transform(part[rows] + nudge) - Y[rows]
    spread = np.square(Y - Y.mean(0)).sum(1).mean()
    return float(np.sqrt(np.square(gap).sum(1).mean() / spread)) if spread > 0 else None


def _remarks(model: Any) -> list[str]:
    remarks = []
    if scales(model):
        remarks.append("Data are compared by columns divided by scale_, as the model does.")
    if hasattr(model, "kl_divergence_"):
        remarks.append(
            "kl_divergence compares runs of one method on the same rows and settings only."
        )
    return remarks


def _distances(K: Float64) -> Float64:
    """Between the images of rows whose inner products are K."""
    own = np.diagonal(K)
    D = np.sqrt(np.maximum(own[:, None] + own - K - K.T, 0))
    np.fill_diagonal(D, 0)
    return D
