"""Python code that reproduces an embedding."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..core.estimator import Reducer
    from ..io.table import Table


def make_code(
    model: Reducer, table: Table | None, reading: Mapping[str, object], standardized: bool
) -> str:
    """The lines of Python that compute the same embedding from the same file.

    >>> import lowd
    >>> print(make_code(lowd.PCA(2), None, {}, standardized=False))
    import lowd
    <BLANKLINE>
    model = lowd.PCA(n_components=2)
    Y = model.fit_transform(X)
    print(lowd.evaluate(X, Y))
    """
    lines = ["import lowd", ""]
    source = "" if table is None else str(table.source)
    if table is not None and source and table.kind == "strings":
        lines += [
            "from lowd.io import edit_distances",
            "",
            f"words = lowd.io.read({_format_read(source, reading)}).X",
            "X = edit_distances(words)",
        ]
    elif source:
        lines += [f"table = lowd.io.read({_format_read(source, reading)})", "X = table.X"]
    if standardized:
        lines += ["spread = X.std(0)", "X = (X - X.mean(0)) / (spread + (spread == 0))"]
    precomputed = getattr(model, "metric", None) == "precomputed"
    return "\n".join(
        [
            *lines,
            f"model = {format_constructor(model)}",
            "Y = model.fit_transform(X)",
            f"print(lowd.evaluate(X, Y{', metric=' + repr('precomputed') if precomputed else ''}))",
        ]
    )


def format_constructor(model: Reducer) -> str:
    """The call of the constructor, with the parameters that are not at their default."""
    given = [
        f"{field.name}={_format_value(getattr(model, field.name))}"
        for field in dataclasses.fields(model)
        if field.name not in ("verbose", "n_jobs")
        and not _is_default(getattr(model, field.name), field.default)
    ]
    return f"lowd.{type(model).__name__}({', '.join(given)})"


def _format_read(source: str, reading: Mapping[str, object]) -> str:
    return ", ".join([repr(source), *(f"{name}={value!r}" for name, value in reading.items())])


def _is_default(value: object, default: object) -> bool:
    return value is default or (np.isscalar(value) and bool(value == default))


def _format_value(value: object) -> str:
    return getattr(value, "__name__", None) or repr(value)
