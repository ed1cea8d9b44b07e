"""Several maps of the same rows side by side, turned so that they can be compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..evidence.procrustes import aligned_to
from .canvas import SMALL, SOFT, as_map, entitle, many_axes, plain
from .colors import Coloring, coloring
from .maps import draw_points, explain, places, point_size, room_for
from .overlays import two_dimensions


def compare(
    maps: Any,
    labels: Any = None,
    *,
    kind: Coloring = "auto",
    columns: int = 4,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Small pictures of several maps, each turned, mirrored and scaled to look like the first.

    Maps mean the same when turned or mirrored; so turned, points can be followed from one to the
    next (Procrustes). Of more than two dimensions the first two are drawn.

    Parameters
    ----------
    maps
        What `lowd.compare` gave (the best first), or places by name.
    labels
        One per point, as in `scatter`; those of the comparison by default.

    Examples
    --------
    >>> from lowd import plot
    >>> Y = [[0.0, 0.0], [3.0, 0.0], [0.0, 1.0]]
    >>> axes = plot.compare({"a map": Y, "its mirror": [[0.0, 0.0], [-3.0, 0.0], [0.0, 1.0]]})
    >>> [ax.get_title() for ax in axes]
    ['a map', 'its mirror']
    """
    shown, notes = _named(maps)
    labels = getattr(maps, "labels", None) if labels is None else labels
    first = next(iter(shown.values()))
    colors = coloring(labels, len(first), kind)
    panels = many_axes(ax, len(shown), columns, 2.6, room_for(colors))
    for panel, (name, P) in zip(panels, shown.items(), strict=True):
        turned = aligned_to(first, P) if P is not first else P
        flat, _ = two_dimensions(turned, ["", ""])
        draw_points(panel, flat, colors, 0.6 * point_size(len(flat)))
        as_map(panel, flat)
        entitle(panel, name)
        if notes.get(name):
            panel.set_xlabel(plain(notes[name]), fontsize=SMALL - 1, color=SOFT)
    explain(panels[min(columns, len(panels)) - 1], colors, None, panels)
    if title:
        panels[0].get_figure().suptitle(plain(title))
    return panels


def _named(maps: Any) -> tuple[dict[str, NDArray[np.float64]], dict[str, str]]:
    """Places by name, and a note for below each."""
    notes: dict[str, str] = {}
    if hasattr(maps, "ranking"):
        runs = {run.name: run for run in maps.runs}
        notes = {name: _note(runs[name].evaluation) for name in maps.ranking}
        maps = {name: runs[name].embedding for name in maps.ranking}
    if not isinstance(maps, dict):
        maps = {f"map {i + 1}": one for i, one in enumerate(maps)}
    if not maps:
        raise DataError("there is no map to draw.")
    shown = {str(name): places(one)[0] for name, one in maps.items()}
    sizes = {len(P) for P in shown.values()}
    if len(sizes) != 1:
        raise DataError(f"maps of the same rows are compared, got {sorted(sizes)} rows.")
    return shown, notes


def _note(evaluation: Any) -> str:
    parts = {"rnx_auc": "area", "trustworthiness": "trust"}
    known = {word: getattr(evaluation, name, None) for name, word in parts.items()}
    return ", ".join(f"{word} {float(v):.2f}" for word, v in known.items() if v is not None)
