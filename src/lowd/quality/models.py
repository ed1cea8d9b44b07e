"""The evaluation of a fitted model, with what the model itself can say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .. import draws
from ..backends import resolve
from ..backends.protocol import Array, Float64
from ..errors import UnsupportedError
from ..maps import Remember
from .evaluating import evaluate
from .evaluation import Evaluation

SELF_MAPPED = 1000  # training rows that are sent through the bare map
OWN = ("kl_divergence", "reconstruction_error", "stress", "force_error", "knn_recall")


def evaluate_model(model: Any, X: Any, labels: Any, **how: Any) -> Evaluation:
    """The places that the model gives to X, training rows or others, and the model's own values."""
    metric, params = getattr(model, "metric", "euclidean"), getattr(model, "metric_params", None)
    data: Any = X
    kind = model._kind()
    if kind == "affinity":
        raise UnsupportedError(
            "affinities are no distances; lowd.evaluate(X, model.embedding_) takes the rows or "
            "distances they come from."
        )
    if kind == "kernel":
        data, metric, params = _distances(np.asarray(X, np.float64)), "precomputed", None
    how |= {"backend": model.backend, "n_jobs": model.n_jobs}
    found = evaluate(
        data, model._transform(X), labels=labels, metric=metric, metric_params=params, **how
    )
    return replace(found, model=own_values(model), notes=found.notes + _warnings(model))


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
    error = self_map_error(model)
    return values if error is None else {**values, "self_map_error": error}


def self_map_error(model: Any) -> float | None:
    """How far the map puts training rows from their places when it may not remember them.

    The root mean square, relative to that of the places around their mean: 0 is perfect, 1 is as
    bad as the mean itself. None for maps that remember nothing.
    """
    memory = model.map_
    if not isinstance(memory, Remember):
        return None
    n = len(memory.Y)
    rows = draws.subset(0, "self map", n, min(n, SELF_MAPPED))
    ops = resolve(model.backend, model.n_jobs)
    places: Array = memory.then(memory.X[rows], ops)
    spread = np.sqrt(((memory.Y - memory.Y.mean(0)) ** 2).sum(1).mean())
    error = np.sqrt(((places - memory.Y[rows]) ** 2).sum(1).mean())
    return float(error / spread) if spread > 0 else None


def _warnings(model: Any) -> list[str]:
    if not hasattr(model, "kl_divergence_"):
        return []
    return ["kl_divergence compares runs of one method on the same rows and settings only."]


def _distances(K: Float64) -> Float64:
    """Between the images of rows whose inner products are K."""
    own = np.diagonal(K)
    D = np.sqrt(np.maximum(own[:, None] + own - K - K.T, 0))
    np.fill_diagonal(D, 0)
    return D
