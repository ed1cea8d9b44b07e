"""One HTML page with a map and the evidence for it; it needs no network and no server."""

from __future__ import annotations

import os
import secrets
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError
from . import page
from .points import MOST, packed
from .recipe import recipe

__all__ = ["write"]


def write(
    path: str | os.PathLike[str],
    *,
    model: Any,
    X: Any = None,
    embedding: Any = None,
    evaluation: Any = None,
    diagnosis: Any = None,
    table: Any = None,
    command: str | None = None,
    title: str | None = None,
    reading: dict[str, Any] | None = None,
    standardized: bool = False,
) -> None:
    """Write the report of a fitted model; an existing file is replaced when all is written.

    Parameters
    ----------
    model
        The fitted model.
    X
        The data it was fitted to; the spectrum of the data is drawn from them.
    embedding
        The map; the model's `embedding_` if it is not given.
    evaluation, diagnosis
        What `lowd.evaluate` and `lowd.diagnose` gave; without them their sections are left out.
    table
        The `lowd.io.Table` the data came from: its identifiers, labels and columns are shown.
    command
        The command that made the map.
    reading, standardized
        How the table was read (keywords of `lowd.io.read`) and whether its columns were
        standardized before the fit, for the recipe.

    Examples
    --------
    >>> import lowd, pathlib, tempfile
    >>> from lowd import report
    >>> X = [[0.0, 1.0], [1.0, 3.0], [2.0, 2.0], [4.0, 4.0]]
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> report.write(path, model=lowd.PCA(2).fit(X), embedding=lowd.PCA(2).fit_transform(X))
    >>> "<canvas" in path.read_text()
    True
    """
    Y = np.asarray(getattr(model, "embedding_", None) if embedding is None else embedding)
    if Y.ndim != 2 or not len(Y):
        raise DataError(f"embedding has shape {Y.shape}: expected one row of places per point.")
    again = recipe(model, table, reading or {}, standardized)
    text = _text(model, X, Y, evaluation, diagnosis, table, command, title, again)
    target = Path(path)
    name = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        name.write_text(text, "utf-8")
        os.replace(name, target)
    except BaseException:
        name.unlink(missing_ok=True)
        raise


def _text(
    model: Any,
    X: Any,
    Y: Any,
    evaluation: Any,
    diagnosis: Any,
    table: Any,
    command: str | None,
    title: str | None,
    again: str,
) -> str:
    source = "" if table is None else Path(str(table.source)).name
    method = type(model).__name__
    title = title or f"{method} of {source or 'data'}"
    width = f" of {X.shape[1]} columns" if hasattr(X, "shape") else ""
    lead = f"{len(Y)} rows{width} in {Y.shape[1]} dimensions."
    names = [str(name) for name in model.get_feature_names_out()]
    shown, points = _map(Y, names, evaluation, table, f"{title}: {lead}")
    made = [
        page.section("map-section", "Map", shown),
        page.section(
            "quality",
            "How far it can be trusted",
            "" if evaluation is None else page.quality(evaluation),
            page.charts(_charts(model, X, evaluation)),
        ),
        page.section(
            "diagnosis", "The data", "" if diagnosis is None else page.diagnosis(diagnosis)
        ),
        page.section(
            "again",
            "How it was made",
            page.code("Command", command) if command else "",
            page.code("Python", again),
            page.lists(
                {
                    "Parameters": _parameters(model),
                    "What was learned": _learned(model),
                    "Versions": page.versions(),
                }
            ),
        ),
    ]
    return page.page(title, lead, made, points)


def _map(
    Y: Any, names: list[str], evaluation: Any, table: Any, described: str
) -> tuple[str, str | None]:
    """The map to move about in, or the picture of the density of very many points."""
    labels = None if table is None else table.labels
    if len(Y) > MOST:
        from . import pictures

        caption = f"{len(Y)} points: darker is denser, on a logarithmic scale."
        return page.still(pictures.density(Y, labels), described, caption), None
    points, notes = packed(Y, names, evaluation, table)
    said = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return page.interactive(len(Y), Y.shape[1] == 1, described) + said, points


def _charts(model: Any, X: Any, evaluation: Any) -> list[tuple[str, str, str]]:
    """The curves there is something to draw for. Without matplotlib the numbers stand alone."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        return []
    from . import pictures

    found = []
    if evaluation is not None and evaluation.rnx_curve is not None:
        text = (
            "The share of neighborhoods of every size that the map keeps, beyond chance: left are "
            "the nearest rows, right the whole data. 1 is perfect, 0 is chance."
        )
        found.append((pictures.rnx(evaluation), "Neighborhoods kept", text))
    if evaluation is not None and evaluation.shepard is not None:
        text = (
            "Pairs of rows by their distance in the data and in the map. A narrow band along a "
            "line means that distances can be read from the map."
        )
        found.append((pictures.shepard(evaluation), "Shepard diagram", text))
    scree = pictures.scree(model, X)
    if scree is not None:
        text = f"How much each axis holds ({scree[1]}). A map of two shows the first two."
        found.append((scree[0], "Scree", text))
    return found


def _parameters(model: Any) -> list[tuple[str, Any]]:
    params = model.get_params(deep=False)
    return [(name, value) for name, value in params.items() if name not in ("verbose", "n_jobs")]


def _learned(model: Any) -> list[tuple[str, Any]]:
    """What is a number or a word; the seed is among it."""
    return [
        (name, value)
        for name, value in sorted(vars(model).items())
        if name.endswith("_") and isinstance(value, bool | int | float | str | np.generic)
    ]
