"""Evaluation of a fitted model: quality of its embedding, and the values it learned of itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from ... import random
from ...blocks import RowBlocks, is_blocks
from ...errors import UnsupportedError
from ...input.arguments import Input
from ...parameters import Reals, Seed
from ...pipeline import Pipeline
from ...reducer import Reducer
from ...spaces import Rows, extension
from ..types import MetricLike, MetricParams
from .block_sample import draw_sample
from .column_scale import scale_columns, standardizes
from .evaluation import evaluate
from .reliability import Reliability
from .result import Evaluation
from .validation import Anchors

SELF_MAP_SAMPLES = 1000  # training points that are mapped again as new points
PERTURBATION_DEVIATIONS = 1e-7  # of a column: a new point, at no distance that matters
SAME_EMBEDDING_TOLERANCE = 1e-6  # of the largest coordinate: rounding, also that of float32
LEARNED_VALUES = ("kl_divergence", "reconstruction_error", "stress", "force_error", "knn_recall")


def evaluate_model(
    model: Reducer,
    X: Input,
    labels: ArrayLike | None,
    *,
    n_neighbors: int = 15,
    anchors: Anchors = None,
    random_state: Seed = None,
    verbose: bool | int = False,
) -> Evaluation:
    """Evaluate the embedding that a model computes for X, training points or others.

    The result also holds the model's own values (`.model`). Of a pipeline, the method is evaluated
    on the rows as the pipeline prepares them.
    """
    if is_blocks(X):
        sample = draw_sample(RowBlocks.of(X), None, labels, anchors)
        found = evaluate_model(
            model._without_names(),
            sample.X,
            sample.labels,
            n_neighbors=n_neighbors,
            anchors=sample.anchors,
            random_state=random_state,
            verbose=verbose,
        )
        return replace(found, notes=[sample.note, *found.notes])
    if isinstance(model, Pipeline):
        found = evaluate_model(
            model.method_,
            _prepare_rows(model, X),
            labels,
            n_neighbors=n_neighbors,
            anchors=anchors,
            random_state=random_state,
            verbose=verbose,
        )
        note = "Distances in the data are those of the rows as the pipeline prepares them."
        return replace(found, notes=[*found.notes, note])
    metric: MetricLike = getattr(model, "metric", "euclidean")
    params: MetricParams = getattr(model, "metric_params", None)
    data = scale_columns(model, X)
    kind = model._kind()
    if kind == "affinity":
        raise UnsupportedError(
            "affinities are no distances; lowd.evaluate(X, model.embedding_) takes the rows or "
            "distances they come from."
        )
    if kind == "kernel":
        data, metric, params = _kernel_distances(np.asarray(X, np.float64)), "precomputed", None
    Y = _embed(model, X)
    found = evaluate(
        data,
        Y,
        labels=labels,
        metric=metric,
        metric_params=params,
        n_neighbors=n_neighbors,
        anchors=anchors,
        random_state=random_state,
        backend=model.backend,
        n_jobs=model.n_jobs,
        verbose=bool(verbose),
    )
    values, error = collect_learned_values(model), compute_self_map_error(model, X, Y)
    if error is not None:
        values["self_map_error"] = error
    left_out = getattr(model, "left_out_", None)
    reliability = None if left_out is None else Reliability.of(left_out)
    notes = found.notes + _notes(model)
    return replace(found, model=values, notes=notes, reliability=reliability)


def _embed(model: Reducer, X: Input) -> Reals:
    """The map of X, and of the training points the embedding itself.

    A map of distances does not remember them, and other last digits break ties in another way.
    """
    Y = _transform(model, X)
    embedding = getattr(model, "embedding_", None)
    if embedding is None or embedding.shape != Y.shape:
        return Y
    tolerance = SAME_EMBEDDING_TOLERANCE * float(np.abs(embedding).max())
    return embedding if np.allclose(Y, embedding, rtol=0, atol=tolerance) else Y


def _transform(model: Reducer, X: Input) -> Reals:
    """The map of rows as an array, whatever `set_output` says."""
    with model._running(model.backend):
        return model._place(model._read(X, False))[0]


def _prepare_rows(model: Any, X: Input) -> Input:
    """Rows as the method takes them; training rows as they were fitted, without the correction."""
    rows = model.prepare(X, training=True)
    if not model.correct_shrinkage:
        return rows
    embedding = model.embedding_
    is_fitted = len(embedding) == rows.shape[0]
    if is_fitted and np.allclose(_transform(model.method_, rows), embedding):
        return rows
    return model.prepare(X)


def collect_learned_values(model: Reducer) -> dict[str, float]:
    """Explained variance, residual variance, stress and the like, as far as the model has them."""
    values = {}
    if hasattr(model, "explained_variance_ratio_"):
        values["explained_variance_ratio"] = float(np.sum(model.explained_variance_ratio_))
    if hasattr(model, "residual_variance_"):
        values["residual_variance"] = float(np.ravel(model.residual_variance_)[-1])
    for name in LEARNED_VALUES:
        value = getattr(model, f"{name}_", None)
        if value is not None and np.ndim(value) == 0:
            values[name] = float(value)
    return values


def compute_self_map_error(model: Reducer, X: Input, Y: Reals) -> float | None:
    """Error of the out-of-sample extension at the training points, which it may not remember.

    A training point with other last digits is a new point, and maps that correct the extension
    around the training points are asked for the extension alone. The root mean square of the
    difference between both coordinates, relative to the spread of the embedding around its mean:
    0 is perfect, 1 as bad as the mean itself. None if X is not what a model of rows was fitted on.
    """
    embedding = getattr(model, "embedding_", None)
    if embedding is None or model._kind() != "rows" or issparse(X):
        return None
    if not np.array_equal(embedding, Y):
        return None
    points = np.asarray(X, np.float64)
    chosen = random.subset(0, "self map", len(Y), min(len(Y), SELF_MAP_SAMPLES))
    rows = Rows(points).order()[chosen]
    # The name of a random stream is part of the result.
    noise = random.normals(0, "nudge", (len(rows), points.shape[1]))
    near = points[rows] + PERTURBATION_DEVIATIONS * points.std(0) * noise
    with extension.alone():
        gap = _transform(model, near) - Y[rows]
    spread = np.square(Y - Y.mean(0)).sum(1).mean()
    return float(np.sqrt(np.square(gap).sum(1).mean() / spread)) if spread > 0 else None


def _notes(model: Reducer) -> list[str]:
    notes = []
    if standardizes(model):
        notes.append("Distances in the data are those of columns divided by the model's scale_.")
    if hasattr(model, "kl_divergence_"):
        notes.append(
            "kl_divergence compares runs of one method on the same rows and settings only."
        )
    return notes


def _kernel_distances(K: Reals) -> Reals:
    """Distances in the feature space whose inner products are K."""
    own = np.diagonal(K)
    D = np.sqrt(np.maximum(own[:, None] + own - K - K.T, 0))
    np.fill_diagonal(D, 0)
    return np.asarray(D)
