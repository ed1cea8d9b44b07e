"""Stability of one fitted model: how much its embedding changes with the sample of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import random
from ...errors import DataError
from ...input.arguments import Input
from ...parameters import Reals
from ...reducer import Reducer
from ...spaces import Rows
from ..procrustes import disparity
from ..types import Transformer
from .candidates import clone
from .result import Stability
from .runner import SUBSAMPLE_SHARE, record_warnings, take_rows

# Of more rows so many are drawn, fitted, and stand for all: a few seconds for the slowest methods.
MAX_STABILITY_ROWS = 1000
N_SUBSAMPLES = 2
MIN_STABILITY_ROWS = 10  # eight of which are a sample


def measure_stability(model: Reducer, X: Input) -> Stability:
    """Mean disparity between embeddings of the rows and of random 80 % of them.

    Of more than 1000 rows a random 1000 are fitted instead of all.
    """
    Y = np.asarray(model.embedding_ if hasattr(model, "embedding_") else model.transform(X))
    n = len(Y)
    if n < MIN_STABILITY_ROWS:
        raise DataError(f"X has {n} rows; stability needs at least {MIN_STABILITY_ROWS}.")
    is_square = model._kind() in ("distances", "kernel", "affinity")
    order = Rows(np.ascontiguousarray(Y)).order()
    with record_warnings([]):  # those of the model's own fit are enough
        if n > MAX_STABILITY_ROWS:
            rows = np.sort(order[random.subset(0, "stability", n, MAX_STABILITY_ROWS)])
            X, order = take_rows(X, rows, is_square), np.argsort(np.argsort(order)[rows])
            Y = _fit_again(model, X)
        size = round(SUBSAMPLE_SHARE * len(Y))
        found = []
        for i in range(N_SUBSAMPLES):
            part = np.sort(order[random.subset(0, f"subsample {i}", len(Y), size)])
            found.append(disparity(Y[part], _fit_again(model, take_rows(X, part, is_square))))
    return Stability(None, float(np.mean(found)))


def _fit_again(model: Reducer, X: Input) -> Reals:
    """The embedding of other rows with the same parameters and seed."""
    return np.asarray(_blank(model).fit_transform(X))


def _blank(model: Reducer) -> Transformer:
    changes: dict[str, Any] = {}
    if hasattr(model, "method_"):  # a pipeline
        changes["method"] = _blank(model.method_)
    if hasattr(model, "seed_"):
        changes["random_state"] = model.seed_
    landmarks = getattr(model, "n_landmarks", None)
    if isinstance(landmarks, int) and landmarks > SUBSAMPLE_SHARE * MAX_STABILITY_ROWS:
        changes["n_landmarks"] = None
    return clone(model, **changes)
