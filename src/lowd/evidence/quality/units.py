"""Columns in different units, which decide what is near in the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import diags_array, issparse

from .gates import Task

OWNS = 0.99  # share of the variance, as in PCA's warning
LOOKED_AT = 5000  # rows, about
LITTLE_ELSE = "so neighbors in the data are little else than neighbors in it"


def owned_by_one(task: Task) -> list[str]:
    """A sentence if one column is nearly all of the distances: evidence is then about that one."""
    X = task.items
    if task.gate.metric != "euclidean" or not isinstance(X, np.ndarray) or X.shape[1] < 2:
        return []
    spread = X[:: max(1, len(X) // LOOKED_AT)].var(0, dtype=np.float64)
    owner = int(spread.argmax())
    if not spread[owner] > OWNS * spread.sum():
        return []
    names = getattr(task.gate, "feature_names_in_", None)
    name = f"column {owner}" if names is None else f"column {names[owner]!r}"
    share = spread[owner] / spread.sum()
    return [
        f"{name} owns {share:.1%} of the variance, {LITTLE_ELSE}; if columns have different units, "
        "standardize them (sklearn.preprocessing.StandardScaler) before maps are made and judged."
    ]


def scales(model: Any) -> bool:
    """Does the model standardize columns? Only PCA; elsewhere `scale` has other uses."""
    return getattr(model, "scale", False) is True


def as_seen_by(model: Any, X: Any) -> Any:
    """X in the units in which the model compares rows."""
    if not scales(model):
        return X
    if issparse(X):
        return X @ diags_array(1 / model.scale_)
    return np.asarray(X, np.float64) / model.scale_
