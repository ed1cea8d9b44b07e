"""Small multiples: several embeddings of the same samples, aligned by Procrustes analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError
from ..evidence.procrustes import align
from .canvas import (
    FONT_SIZE,
    MUTED_COLOR,
    escape_math,
    format_embedding_axes,
    get_panels,
    set_title,
)
from .colors import Coloring, choose_coloring
from .embeddings import (
    add_color_key,
    check_coordinates,
    choose_point_size,
    draw_points,
    measure_legend,
    select_dimensions,
)

if TYPE_CHECKING:
    from ..evidence.quality import Evaluation
    from .canvas import AxesInput, Panels

# Coordinates by name, a sequence of them, or the result of `lowd.compare`.
Embeddings: TypeAlias = Any


def compare(
    embeddings: Embeddings,
    labels: ArrayLike | None = None,
    *,
    kind: Coloring = "auto",
    columns: int = 4,
    title: str | None = None,
    legend: bool | str = True,
    ax: AxesInput = None,
) -> Panels:
    """Small multiples of several embeddings, each aligned to the first by Procrustes analysis.

    An embedding means the same when rotated, reflected or scaled; aligned, points can be followed
    from one to the next. Of more than two dimensions the first two are drawn.

    Parameters
    ----------
    embeddings : dict or sequence of embeddings
        The result of `lowd.compare` (the best first), or embeddings by name.
    labels : array-like of shape (n_samples,) or None, default=None
        One per point, as in `scatter`; those of the comparison by default.
    legend : bool or str, default=True
        False leaves it out; a text is its title.

    Examples
    --------
    >>> from lowd import plot
    >>> Y = [[0.0, 0.0], [3.0, 0.0], [0.0, 1.0]]
    >>> axes = plot.compare({"original": Y, "mirrored": [[0.0, 0.0], [-3.0, 0.0], [0.0, 1.0]]})
    >>> [ax.get_title() for ax in axes]
    ['original', 'mirrored']
    """
    coordinates, notes = _collect_embeddings(embeddings)
    labels = getattr(embeddings, "labels", None) if labels is None else labels
    first = next(iter(coordinates.values()))
    colors = choose_coloring(labels, len(first), kind, legend if isinstance(legend, str) else None)
    room = measure_legend(colors, bool(legend))
    panels = get_panels(ax, len(coordinates), columns, 2.6, room)
    for panel, (name, P) in zip(panels, coordinates.items(), strict=True):
        aligned = align(P, first) if P is not first else P
        flat, _ = select_dimensions(aligned, ["", ""])
        draw_points(panel, flat, colors, 0.6 * choose_point_size(len(flat)))
        format_embedding_axes(panel, flat)
        set_title(panel, name)
        if notes.get(name):
            panel.set_xlabel(escape_math(notes[name]), fontsize=FONT_SIZE - 1, color=MUTED_COLOR)
    if legend:
        last = panels[min(columns, len(panels)) - 1]
        add_color_key(last, colors, None, len(first), panels)
    if title:
        panels[0].get_figure().suptitle(escape_math(title))
    return panels


def _collect_embeddings(
    embeddings: Embeddings,
) -> tuple[dict[str, NDArray[np.float64]], dict[str, str]]:
    """Return coordinates by name, and a note to write below each."""
    notes: dict[str, str] = {}
    if hasattr(embeddings, "ranking"):
        runs = {run.name: run for run in embeddings.runs}
        notes = {name: _format_measures(runs[name].evaluation) for name in embeddings.ranking}
        embeddings = {name: runs[name].embedding for name in embeddings.ranking}
    if not isinstance(embeddings, dict):
        embeddings = {f"embedding {i + 1}": Y for i, Y in enumerate(embeddings)}
    if not embeddings:
        raise DataError("got no embedding; pass at least one.")
    coordinates = {str(name): check_coordinates(Y)[0] for name, Y in embeddings.items()}
    sizes = {len(P) for P in coordinates.values()}
    if len(sizes) != 1:
        raise DataError(f"embeddings of the same rows are compared, got {sorted(sizes)} rows.")
    return coordinates, notes


def _format_measures(evaluation: Evaluation | None) -> str:
    parts = {"rnx_auc": "area", "trustworthiness": "trust"}
    known = {word: getattr(evaluation, name, None) for name, word in parts.items()}
    return ", ".join(f"{word} {float(v):.2f}" for word, v in known.items() if v is not None)
