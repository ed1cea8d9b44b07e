"""Figures of several panels, in one look."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..plot.canvas import COLORS, MUTED_COLOR, PALE_COLOR, TEXT_COLOR, make_figure, save

BLUE, YELLOW, PINK, GREEN = COLORS[:4]
__all__ = ["BLUE", "COLORS", "GREEN", "MUTED_COLOR", "PALE_COLOR", "PINK", "TEXT_COLOR", "YELLOW"]


def panels(
    rows: int, columns: int, width: float, height: float, **more: Any
) -> tuple[Any, list[Any]]:
    """A figure of that many inches, and its axes row by row; `more` as in matplotlib's subplots."""
    figure = make_figure(width, height)
    return figure, list(figure.subplots(rows, columns, squeeze=False, **more).flat)


def bare(ax: Any, title: str, note: str = "") -> None:
    """A map's own axes have no units: only shapes and gaps can be read, in one scale."""
    ax.set_title(title, fontsize=11, color=TEXT_COLOR, pad=18 if note else 6)
    look = {"ha": "center", "color": MUTED_COLOR, "fontsize": 8.5, "textcoords": "offset points"}
    ax.annotate(note, (0.5, 1), (0, 5), xycoords="axes fraction", **look)
    ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
    if ax.get_aspect() == "auto":  # `plot` has set its own
        ax.set_aspect("equal", adjustable="datalim")
    ax.spines[:].set_visible(False)


def named(ax: Any, places: Any, names: Sequence[str], **look: Any) -> None:
    """A word beside each place."""
    look = {
        "fontsize": 8,
        "color": TEXT_COLOR,
        "textcoords": "offset points",
        "xytext": (4, 3),
    } | look
    for place, name in zip(np.asarray(places), names, strict=True):
        ax.annotate(name, place, **look)


def arrow(ax: Any, tip: Any, color: str) -> None:
    """From the origin to `tip`."""
    look = {"arrowstyle": "-|>", "color": color, "lw": 2, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", tip, (0, 0), arrowprops=look)


def kept(picture: Any, out: Path, name: str) -> Path:
    """Write the picture and return its path; what is interrupted leaves no half a file."""
    out.mkdir(parents=True, exist_ok=True)
    path, part = out / f"{name}.png", out / f".{name}.png.part"
    try:
        save(picture, part, format="png")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path
