"""How a map was made, as Python to run again."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np


def recipe(model: Any, table: Any, reading: dict[str, Any], standardized: bool) -> str:
    """The lines of Python that make the same map from the same file.

    >>> import lowd
    >>> print(recipe(lowd.PCA(2), None, {}, standardized=False))
    import lowd
    <BLANKLINE>
    model = lowd.PCA(n_components=2)
    Y = model.fit_transform(X)
    print(lowd.evaluate(X, Y))
    """
    lines = ["import lowd", ""]
    source = "" if table is None else str(table.source)
    if source and table.kind == "strings":
        lines += [
            "from lowd.io import edit_distances",
            "",
            f"words = lowd.io.read({_reading(source, reading)}).X",
            "X = edit_distances(words)",
        ]
    elif source:
        lines += [f"table = lowd.io.read({_reading(source, reading)})", "X = table.X"]
    if standardized:
        lines += ["spread = X.std(0)", "X = (X - X.mean(0)) / (spread + (spread == 0))"]
    precomputed = getattr(model, "metric", None) == "precomputed"
    return "\n".join(
        [
            *lines,
            f"model = {call(model)}",
            "Y = model.fit_transform(X)",
            f"print(lowd.evaluate(X, Y{', metric=' + repr('precomputed') if precomputed else ''}))",
        ]
    )


def call(model: Any) -> str:
    """The constructor with the parameters that are not at their default."""
    given = [
        f"{field.name}={_shown(getattr(model, field.name))}"
        for field in dataclasses.fields(model)
        if field.name not in ("verbose", "n_jobs")
        and not _same(getattr(model, field.name), field.default)
    ]
    return f"lowd.{type(model).__name__}({', '.join(given)})"


def _reading(source: str, reading: dict[str, Any]) -> str:
    return ", ".join([repr(source), *(f"{name}={value!r}" for name, value in reading.items())])


def _same(value: Any, default: Any) -> bool:
    return value is default or (np.isscalar(value) and bool(value == default))


def _shown(value: Any) -> str:
    return getattr(value, "__name__", None) or repr(value)
