"""Figures of a report, drawn by `lowd.plot` and embedded in the page as data URLs."""

from __future__ import annotations

import base64
import warnings
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import plot
from ..errors import ScaleWarning
from ..methods.pca import PCA
from ..pipeline import Pipeline
from ..plot.canvas import hide_figures
from ..reducer import Reducer
from .code import format_constructor
from .page import Figure

if TYPE_CHECKING:
    from ..evidence.quality import Evaluation
    from ..io.table import Column, Data
    from ..plot.canvas import Axes, Panels

MIN_SCREE_COMPONENTS = 3  # Fewer components do not make a curve.


class Spectrum(NamedTuple):
    """A fitted model with a spectrum, what it is, and the Python that gives it."""

    model: Reducer
    description: str
    code: str


def choose_spectrum(model: Reducer, X: Data, standardized: bool = False) -> Spectrum | None:
    """The spectrum of the method, else of PCA on the rows as the model compares them.

    >>> import lowd, numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 4)) * [1, 1, 1, 100]
    >>> choose_spectrum(lowd.PCA(2, scale=True).fit(X), X).code
    'lowd.PCA(n_components=4, scale=True).fit(X)'
    """
    method = model.method_ if isinstance(model, Pipeline) else model
    name = type(method).__name__
    if _count_values(method) >= MIN_SCREE_COMPONENTS:
        return Spectrum(method, name, "model" if method is model else "model.method_")
    if isinstance(model, Pipeline) and model.pca_ is not None:
        if _count_values(model.pca_) < MIN_SCREE_COMPONENTS:
            return None
        return Spectrum(model.pca_, f"the principal components before {name}", "model.pca_")
    if not isinstance(X, np.ndarray) or method._kind() != "rows":
        return None
    rows = model.prepare(X) if isinstance(model, Pipeline) else X
    if not isinstance(rows, np.ndarray) or min(rows.shape) < MIN_SCREE_COMPONENTS:
        return None
    # PCA keeps its own settings, so that the shares are the same.
    settings = method.get_params(deep=False) if isinstance(method, PCA) else {}
    count = min(20, rows.shape[0] - 1, rows.shape[1])
    pca = PCA(**{**settings, "n_components": count})
    described = "data"
    if isinstance(model, Pipeline) or standardized:
        described = "data as prepared for the fit"
    elif getattr(method, "scale", False) is True:
        described = "standardized data"
    argument = "model.prepare(X)" if isinstance(model, Pipeline) else "X"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)  # the fit and the diagnosis warn already
        pca.fit(rows)
    return Spectrum(pca, f"PCA of the {described}", f"{format_constructor(pca)}.fit({argument})")


def _count_values(model: Reducer) -> int:
    for name in ("explained_variance_ratio_", "eigenvalues_"):
        values = getattr(model, name, None)
        if values is not None:
            return len(np.atleast_1d(values))
    return 0


def draw_figures(spectrum: Spectrum | None, evaluation: Evaluation | None) -> list[Figure]:
    """Figures of the quality, or none without matplotlib."""
    if find_spec("matplotlib") is None:
        return []
    found = []
    with hide_figures():
        if evaluation is not None and evaluation.rnx_curve is not None:
            text = (
                "Neighborhood preservation for every neighborhood size, rescaled by chance: left "
                "is local, right is global. 1 is perfect, 0 is a random embedding."
            )
            url = encode_figure(plot.rnx(evaluation), "svg")
            found.append(Figure(url, "R_NX curve", text))
        if evaluation is not None and evaluation.shepard is not None:
            text = (
                "Pairs of rows by their distance in the data and in the embedding. A narrow band "
                "along a line means that the embedding preserves distances."
            )
            found.append(
                Figure(encode_figure(plot.shepard(evaluation), "svg"), "Shepard diagram", text)
            )
    if spectrum is not None:
        text = f"Variance explained by each component ({spectrum.description})."
        found.append(Figure(draw_scree(spectrum), "Scree plot", text))
    return found


def encode_figure(axes: Axes | Panels, image_format: str) -> str:
    """Encode a figure as a data URL."""
    file = BytesIO()
    plot.save(axes, file, format=image_format)
    mime = {"svg": "image/svg+xml", "png": "image/png"}[image_format]
    content = base64.b64encode(file.getvalue()).decode("ascii")
    return f"data:{mime};base64,{content}"


def draw_density(Y: Column, labels: Column | None, name: str) -> str:
    """Draw an embedding of more points than a browser draws fluently."""
    with hide_figures():
        return encode_figure(plot.scatter(Y[:, :2], labels, legend=name), "png")


def draw_scree(spectrum: Spectrum) -> str:
    with hide_figures():
        return encode_figure(plot.scree(spectrum.model), "svg")
