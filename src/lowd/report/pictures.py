"""The still pictures of a report, drawn by `lowd.plot` and put into the page as data."""

from __future__ import annotations

import base64
from io import BytesIO
from typing import Any

import numpy as np

from .. import plot

_TYPES = {"svg": "image/svg+xml", "png": "image/png"}


def validate(axes: Any, form: str) -> str:
    """A picture as an address that needs no file."""
    file = BytesIO()
    plot.save(axes, file, format=form)
    return f"data:{_TYPES[form]};base64,{base64.b64encode(file.getvalue()).decode('ascii')}"


def rnx(evaluation: Any) -> str:
    return validate(plot.rnx(evaluation), "svg")


def shepard(evaluation: Any) -> str:
    return validate(plot.shepard(evaluation), "svg")


def density(Y: Any, labels: Any) -> str:
    """The map of more points than a browser can move."""
    return validate(plot.scatter(Y[:, :2], labels), "png")


def scree(model: Any, X: Any) -> tuple[str, str] | None:
    """The spectrum of the method, or of PCA where the method has none worth a picture."""
    for name in ("explained_variance_ratio_", "eigenvalues_"):
        spectrum = getattr(model, name, None)
        if spectrum is not None and len(np.atleast_1d(spectrum)) > 2:
            return validate(plot.scree(model), "svg"), type(model).__name__
    rows = isinstance(X, np.ndarray) and getattr(model, "metric", "") != "precomputed"
    if not rows or min(X.shape) < 3:
        return None
    from ..methods.pca import PCA

    axes = PCA(min(20, X.shape[0] - 1, X.shape[1])).fit(X)
    return validate(plot.scree(axes), "svg"), "PCA of the data"
