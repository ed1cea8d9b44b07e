"""The spectrum in the scree plot of a report: of the fitted model, or of PCA of its rows."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from ..errors import ScaleWarning
from ..io.table import Data
from ..methods.pca import PCA
from ..pipeline import Pipeline
from ..reducer import Reducer
from .code import format_constructor

MAX_PCA_COMPONENTS = 20  # Components of the PCA that is shown for a method without a spectrum.
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
    count = min(MAX_PCA_COMPONENTS, rows.shape[0] - 1, rows.shape[1])
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
