"""Figures of several panels in one style."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..io.writing import write_completely
from ..plot.canvas import COLORS, MUTED_COLOR, PALE_COLOR, TEXT_COLOR, make_figure, save

if TYPE_CHECKING:
    from ..plot.canvas import Axes, Figure, Panels

BLUE, YELLOW, PINK, GREEN = COLORS[:4]
__all__ = ["BLUE", "COLORS", "GREEN", "MUTED_COLOR", "PALE_COLOR", "PINK", "TEXT_COLOR", "YELLOW"]


def make_panels(
    rows: int,
    columns: int,
    width: float,
    height: float,
    width_ratios: Sequence[float] | None = None,
) -> tuple[Figure, list[Axes]]:
    """A figure of a size in inches, and its axes row by row."""
    figure = make_figure(width, height)
    axes = figure.subplots(rows, columns, squeeze=False, width_ratios=width_ratios)
    return figure, list(axes.flat)


def format_panel(ax: Axes, title: str, note: str = "") -> None:
    """Format the panel of an embedding: equal aspect and no ticks, for it has no units."""
    ax.set_title(title, fontsize=11, color=TEXT_COLOR, pad=18 if note else 6)
    look = {"ha": "center", "color": MUTED_COLOR, "fontsize": 8.5, "textcoords": "offset points"}
    ax.annotate(note, (0.5, 1), (0, 5), xycoords="axes fraction", **look)
    ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
    if ax.get_aspect() == "auto":  # `plot` has set its own
        ax.set_aspect("equal", adjustable="datalim")
    ax.spines[:].set_visible(False)


def write_names(
    ax: Axes, points: NDArray[np.float64], names: Sequence[str], **style: object
) -> None:
    """Write a name beside each point."""
    look = {"fontsize": 8, "color": TEXT_COLOR, "textcoords": "offset points", "xytext": (4, 3)}
    for point, name in zip(points, names, strict=True):
        ax.annotate(name, point, **(look | style))


def draw_arrow(ax: Axes, tip: NDArray[np.float64], color: str) -> None:
    """Draw an arrow from the origin to `tip`."""
    look = {"arrowstyle": "-|>", "color": color, "lw": 2, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", tip, (0, 0), arrowprops=look)


def save_figure(figure: Figure | Axes | Panels, out: Path, name: str) -> Path:
    """Write a figure and return its path; an interrupt leaves no incomplete file."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.png"
    write_completely(path, lambda temporary: save(figure, temporary, format="png"))
    return path
