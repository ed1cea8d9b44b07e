"""Figures of several panels in one style."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowd.io.writing import write_completely
from lowd.plot.canvas import (
    COLORS,
    MUTED_COLOR,
    PALE_COLOR,
    TEXT_COLOR,
    Values,
    load_matplotlib,
    make_figure,
    save,
)

if TYPE_CHECKING:
    from lowd.plot.canvas import Artist, Axes, Figure, Panels

BLUE, YELLOW, PINK, GREEN = COLORS[:4]
__all__ = ["BLUE", "COLORS", "GREEN", "MUTED_COLOR", "PALE_COLOR", "PINK", "TEXT_COLOR", "YELLOW"]


def make_panels(
    rows: int,
    columns: int,
    width: float,
    height: float,
    width_ratios: Sequence[float] | None = None,
) -> tuple[Figure, list[Axes]]:
    """Make a figure of a size in inches, and its axes row by row."""
    figure = make_figure(width, height)
    axes = figure.subplots(rows, columns, squeeze=False, width_ratios=width_ratios)
    return figure, list(axes.flat)


def format_panel(ax: Axes, title: str, note: str = "") -> None:
    """Format the panel of an embedding: equal aspect, and no ticks because it has no units."""
    ax.set_title(title, fontsize=11, color=TEXT_COLOR, pad=18 if note else 6)
    look = {"ha": "center", "color": MUTED_COLOR, "fontsize": 8.5, "textcoords": "offset points"}
    ax.annotate(note, (0.5, 1), (0, 5), xycoords="axes fraction", **look)
    ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
    if ax.get_aspect() == "auto":  # `plot` sets an aspect of its own
        ax.set_aspect("equal", adjustable="datalim")
    ax.spines[:].set_visible(False)


def write_names(
    ax: Axes, points: NDArray[np.float64], names: Sequence[str], **style: object
) -> None:
    """Write a name next to each point."""
    look = {"fontsize": 8, "color": TEXT_COLOR, "textcoords": "offset points", "xytext": (4, 3)}
    for point, name in zip(points, names, strict=True):
        ax.annotate(name, point, **(look | style))


def draw_arrow(ax: Axes, tip: NDArray[np.float64], color: str) -> None:
    """Draw an arrow from the origin to `tip`."""
    look = {"arrowstyle": "-|>", "color": color, "lw": 2, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", tip, (0, 0), arrowprops=look)


def make_line(label: str, **style: object) -> Artist:
    """Make the entry of a legend for lines and arrows."""
    return load_matplotlib().Line2D([], [], label=label, **style)


def add_marks(ax: Axes, marks: Sequence[Artist], loc: str, columns: int = 1) -> None:
    """Add a legend of marks inside the panel, on white."""
    look = {"fontsize": 8, "edgecolor": "none", "handletextpad": 0.5, "columnspacing": 1.0}
    ax.legend(handles=list(marks), loc=loc, ncols=columns, **look)


def add_scale(axes: Sequence[Axes], values: ArrayLike, label: str, **style: object) -> None:
    """Add one colorbar for all panels that are colored by these values."""
    colors = Values(np.asarray(values, np.float64), label).scale()
    bar = axes[0].get_figure().colorbar(colors, ax=list(axes), aspect=30, pad=0.02, **style)
    bar.outline.set_visible(False)
    bar.set_label(label, fontsize=9)
    bar.ax.tick_params(labelsize=8)


def to_rgb(color: str) -> tuple[float, float, float]:
    """The red, green and blue parts of a color, from 0 to 1."""
    red, green, blue = load_matplotlib().colors.to_rgb(color)
    return red, green, blue


def save_figure(figure: Figure | Axes | Panels, out: Path, name: str) -> Path:
    """Write a figure and return its path; an interrupt leaves no incomplete file."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.png"
    write_completely(path, lambda temporary: save(figure, temporary, format="png"))
    return path
