"""Scale of columns: data in different units, where one column dominates the distances."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import diags_array, issparse

from ...input.arguments import Input
from ...reducer import Reducer
from .validation import EvaluationInput

DOMINANT_DISTANCE_SHARE = 0.99  # of the variance in one column, as in PCA's warning
VARIANCE_SAMPLES = 5000  # rows whose variance decides, about
DOMINANT_COLUMN_CONSEQUENCE = "so it alone decides which rows are neighbors in the data"


def note_dominant_column(given: EvaluationInput) -> list[str]:
    """A note if one column accounts for nearly all of the distances in the data."""
    X = given.items
    if given.params.metric != "euclidean" or not isinstance(X, np.ndarray) or X.shape[1] < 2:
        return []
    variance = X[:: max(1, len(X) // VARIANCE_SAMPLES)].var(0, dtype=np.float64)
    largest = int(variance.argmax())
    if not variance[largest] > DOMINANT_DISTANCE_SHARE * variance.sum():
        return []
    names = getattr(given.params, "feature_names_in_", None)
    name = f"column {largest}" if names is None else f"column {names[largest]!r}"
    share = variance[largest] / variance.sum()
    return [
        f"{name} accounts for {share:.1%} of the variance, {DOMINANT_COLUMN_CONSEQUENCE}; if "
        "columns have different units, standardize them (sklearn.preprocessing.StandardScaler) "
        "before embeddings are computed and evaluated."
    ]


def standardizes(model: Reducer) -> bool:
    """Does the model standardize columns? Only PCA; elsewhere `scale` has other uses."""
    return getattr(model, "scale", False) is True


def scale_columns(model: Reducer, X: Input) -> Any:
    """X in the units in which the model compares rows: divided by its `scale_`, if it has one."""
    if not standardizes(model):
        return X
    if issparse(X):
        return X @ diags_array(1 / model.scale_)
    return np.asarray(X, np.float64) / model.scale_
