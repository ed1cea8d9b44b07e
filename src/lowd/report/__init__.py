"""HTML report of an embedding and its quality: one file, without network or server."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..errors import DataError
from ..io.writing import write_completely
from ..pipeline import Pipeline
from ..plot.embeddings import name_axis
from . import page
from .figures import Spectrum, choose_spectrum, draw_density, draw_figures, make_code
from .page import MAX_INTERACTIVE_POINTS, describe_steps, encode_points, list_steps

if TYPE_CHECKING:
    from ..evidence.compare import Stability
    from ..evidence.diagnosis import Diagnosis
    from ..evidence.quality import Evaluation
    from ..io.table import Column, Data, Table
    from ..reducer import Reducer

__all__ = ["write"]


def write(
    path: str | os.PathLike[str],
    *,
    model: Reducer,
    X: Data = None,
    embedding: ArrayLike | None = None,
    evaluation: Evaluation | None = None,
    diagnosis: Diagnosis | None = None,
    table: Table | None = None,
    command: str | None = None,
    title: str | None = None,
    reading: Mapping[str, object] | None = None,
    standardized: bool = False,
    stability: Stability | None = None,
) -> None:
    """Write an HTML report of a fitted model; an existing file is replaced at the end.

    Parameters
    ----------
    model : Reducer
        The fitted model.
    X : array-like or None, default=None
        The training data as `model.fit` took them, for the scree plot.
    embedding : array-like of shape (n_samples, n_components) or None, default=None
        By default the model's `embedding_`; linear methods keep none, so that the coordinates
        of X are computed.
    evaluation : Evaluation or None, default=None
    diagnosis : Diagnosis or None, default=None
        The results of `lowd.evaluate(X, model)` and `lowd.diagnose`; without them their sections
        are left out.
    table : Table or None, default=None
        The `lowd.io.Table` the data came from: its identifiers, labels and columns are shown.
    command : str or None, default=None
        The command that computed the embedding.
    reading : dict or None, default=None
    standardized : bool, default=False
        How the table was read (keywords of `lowd.io.read`) and whether its columns were
        standardized before the fit. A `lowd.Pipeline` says itself how it prepares the rows.
    stability : Stability or None, default=None
        The result of `model.measure_stability(X)`.

    Examples
    --------
    >>> import lowd, pathlib, tempfile
    >>> from lowd import report
    >>> X = [[0.0, 1.0], [1.0, 3.0], [2.0, 2.0], [4.0, 4.0]]
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> report.write(path, model=lowd.PCA(2).fit(X), X=X)
    >>> 'id="quality"' in path.read_text()
    False
    """
    if embedding is None:
        embedding = getattr(model, "embedding_", None)
    if embedding is None:
        if X is None:
            raise DataError(f"{type(model).__name__} keeps no embedding; pass embedding=, or X=.")
        embedding = model.transform(X)
    Y = np.asarray(embedding)
    if Y.ndim != 2 or not len(Y):
        raise DataError(
            f"embedding has shape {Y.shape}: expected one row of coordinates per point."
        )
    spectrum = choose_spectrum(model, X, standardized)
    code = make_code(model, table, reading or {}, standardized, evaluation, spectrum, stability)
    steps = list_steps(model, standardized)
    text = _make_html(
        model, X, Y, evaluation, stability, diagnosis, table, command, title, code, spectrum, steps
    )

    def write_text(temporary: Path) -> None:
        temporary.write_text(text, "utf-8")

    write_completely(path, write_text)


def _make_html(
    model: Reducer,
    X: Data,
    Y: Column,
    evaluation: Evaluation | None,
    stability: Stability | None,
    diagnosis: Diagnosis | None,
    table: Table | None,
    command: str | None,
    title: str | None,
    code: str,
    spectrum: Spectrum | None,
    steps: Mapping[str, object],
) -> str:
    source = "" if table is None else Path(str(table.source)).name
    method = model.method_ if isinstance(model, Pipeline) else model
    title = title or f"{type(method).__name__} of {source or 'data'}"
    width = f" of {X.shape[1]} columns" if hasattr(X, "shape") else ""
    rows = f"{len(Y)} rows{width}"
    if table is not None and table.kind == "distances":
        rows = f"Distances between {len(Y)} rows"
    lead = f"{rows} in {Y.shape[1]} dimensions.{describe_steps(steps)}"
    names = [name_axis(model, j) for j in range(Y.shape[1])]
    name = type(method).__name__
    scatter, points = _make_scatter(Y, name, names, evaluation, table, f"{title}: {lead}")
    measures = "" if evaluation is None else page.make_quality(evaluation)
    changes = "" if stability is None else page.make_stability(stability, len(Y))
    columns = None if table is None else table.columns
    findings = "" if diagnosis is None else page.make_diagnosis(diagnosis, steps, columns)
    figures = page.make_figures(draw_figures(spectrum, evaluation))
    tables: dict[str, Sequence[tuple[str, object]]] = {
        "Preparation": list(steps.items()),
        "Parameters": _list_parameters(method),
        "Learned attributes": _list_attributes(method),
        "Versions": page.list_versions(),
    }
    told = table.describe() if table is not None and table.reading is not None else []
    sections = [
        page.make_section("reading", "How the file was read", *map(page.make_paragraph, told)),
        page.make_section("map-section", "Embedding", scatter),
        page.make_section("quality", "Quality", measures, changes, figures),
        page.make_section("diagnosis", "Data", findings),
        page.make_section(
            "again",
            "How to reproduce it",
            page.make_code_block("Command", command) if command else "",
            page.make_code_block("Python", code),
            page.make_tables(tables),
        ),
    ]
    return page.make_page(title, lead, sections, points)


def _make_scatter(
    Y: Column,
    name: str,
    names: list[str],
    evaluation: Evaluation | None,
    table: Table | None,
    description: str,
) -> tuple[str, str | None]:
    """The interactive scatter plot, or a static density plot of very many points."""
    labels = None if table is None else table.labels
    if len(Y) > MAX_INTERACTIVE_POINTS:
        caption = f"{len(Y)} points: darker is denser, on a logarithmic scale."
        name = "label" if table is None else table.label_name
        image = draw_density(Y, labels, name)
        return page.make_image(image, description, caption), None
    points, notes = encode_points(Y, names, evaluation, table)
    paragraphs = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return page.make_plot(len(Y), name, Y.shape[1] == 1) + paragraphs, points


def _list_parameters(model: Reducer) -> list[tuple[str, object]]:
    params = model.get_params(deep=False)
    return [(name, value) for name, value in params.items() if name not in ("verbose", "n_jobs")]


def _list_attributes(model: Reducer) -> list[tuple[str, object]]:
    """Learned attributes that are numbers or words; the seed is among them."""
    return [
        (name, value)
        for name, value in sorted(vars(model).items())
        if name.endswith("_") and isinstance(value, bool | int | float | str | np.generic)
    ]
