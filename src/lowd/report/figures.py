"""Figures of a report, drawn by `lowd.plot` and embedded in the page as data URLs."""

from __future__ import annotations

import base64
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np

from .. import plot

if TYPE_CHECKING:
    from ..core.estimator import Reducer
    from ..evidence.quality import Evaluation
    from ..io.table import Column, Data
    from ..plot.canvas import Axes, Panels

MAX_PCA_COMPONENTS = 20  # in the scree plot of a method without a spectrum
_MIME_TYPES = {"svg": "image/svg+xml", "png": "image/png"}


def encode_figure(axes: Axes | Panels, image_format: str) -> str:
    """A figure as a data URL."""
    file = BytesIO()
    plot.save(axes, file, format=image_format)
    content = base64.b64encode(file.getvalue()).decode("ascii")
    return f"data:{_MIME_TYPES[image_format]};base64,{content}"


def draw_rnx(evaluation: Evaluation) -> str:
    return encode_figure(plot.rnx(evaluation), "svg")


def draw_shepard(evaluation: Evaluation) -> str:
    return encode_figure(plot.shepard(evaluation), "svg")


def draw_density(Y: Column, labels: Column | None) -> str:
    """The embedding of more points than a browser draws fluently."""
    return encode_figure(plot.scatter(Y[:, :2], labels), "png")


def draw_scree(model: Reducer, X: Data) -> tuple[str, str] | None:
    """Scree plot of the method, or of PCA where the method has no spectrum; and which."""
    for name in ("explained_variance_ratio_", "eigenvalues_"):
        spectrum = getattr(model, name, None)
        if spectrum is not None and len(np.atleast_1d(spectrum)) > 2:
            return encode_figure(plot.scree(model), "svg"), type(model).__name__
    rows = isinstance(X, np.ndarray) and getattr(model, "metric", "") != "precomputed"
    if not rows or min(X.shape) < 3:
        return None
    from ..methods.pca import PCA

    pca = PCA(min(MAX_PCA_COMPONENTS, X.shape[0] - 1, X.shape[1])).fit(X)
    return encode_figure(plot.scree(pca), "svg"), "PCA of the data"
