"""Python code that reproduces an embedding and the numbers of its report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..parameters import defaults_of
from ..pipeline import Pipeline
from ..reducer import Reducer

if TYPE_CHECKING:
    from ..evidence.compare import Stability
    from ..evidence.quality import Evaluation
    from ..io.table import Table
    from .figures import Spectrum


def make_code(
    model: Reducer,
    table: Table | None,
    reading: Mapping[str, object],
    standardized: bool,
    evaluation: Evaluation | None = None,
    spectrum: Spectrum | None = None,
    stability: Stability | None = None,
) -> str:
    """The lines of Python that compute the same embedding and the same numbers from the same file.

    >>> import lowd
    >>> print(make_code(lowd.PCA(2), None, {}, standardized=False))
    import lowd
    <BLANKLINE>
    model = lowd.PCA(n_components=2)
    Y = model.fit_transform(X)
    print(lowd.evaluate(X, model))
    """
    lines = ["import lowd", ""]
    source = "" if table is None else str(table.source)
    if table is not None and source and table.kind == "strings":
        lines += [
            "from lowd.io import edit_distances",
            "",
            f"table = lowd.io.read({_format_read(source, reading)})",
            "X = edit_distances(table.X)",
        ]
    elif source:
        lines += [f"table = lowd.io.read({_format_read(source, reading)})", "X = table.X"]
    if standardized:
        lines += ["spread = X.std(0)", "X = (X - X.mean(0)) / (spread + (spread == 0))"]
    lines += [
        f"model = {format_constructor(model)}",
        "Y = model.fit_transform(X)",
        f"print({_format_evaluation(evaluation, bool(source))})",
    ]
    if stability is not None:
        lines += ["print(model.measure_stability(X))"]
    if spectrum is not None:
        lines += [f"spectrum = {spectrum.code}  # of the scree plot"]
    return "\n".join(lines)


def format_constructor(model: Reducer) -> str:
    """The call of the constructor, with the parameters that are not at their default.

    >>> import lowd
    >>> format_constructor(lowd.Pipeline(lowd.PCA(2), scale=True, pca=30))
    'lowd.Pipeline(method=lowd.PCA(n_components=2), scale=True, pca=30)'
    """
    defaults = defaults_of(type(model))
    values = {name: getattr(model, name) for name in defaults}
    if isinstance(model, Pipeline):
        values["method"] = model.method_ if model.__sklearn_is_fitted__() else model.method
    if model.is_random and values["random_state"] is None:
        # A random projection is drawn, so its seed is part of the result.
        values["random_state"] = getattr(model, "seed_", None)
    given = [
        f"{name}={_format_value(value)}"
        for name, value in values.items()
        if name not in ("verbose", "n_jobs") and not _is_default(value, defaults[name])
    ]
    return f"lowd.{type(model).__name__}({', '.join(given)})"


def _format_read(source: str, reading: Mapping[str, object]) -> str:
    return ", ".join([repr(source), *(f"{name}={value!r}" for name, value in reading.items())])


def _format_evaluation(evaluation: Evaluation | None, has_table: bool) -> str:
    """The call that gives the measures of the report."""
    options = ["X", "model"]
    if evaluation is not None:
        if "knn_accuracy" in evaluation.measures:
            options.append("labels=table.labels" if has_table else "labels=labels")
        options.append(f"n_neighbors={evaluation.n_neighbors}")
        if evaluation.random_state is not None:
            options.append(f"random_state={evaluation.random_state!r}")
    return f"lowd.evaluate({', '.join(options)})"


def _is_default(value: object, default: object) -> bool:
    return value is default or (np.isscalar(value) and bool(value == default))


def _format_value(value: object) -> str:
    if isinstance(value, Reducer):
        return format_constructor(value)
    return getattr(value, "__name__", None) or repr(value)
