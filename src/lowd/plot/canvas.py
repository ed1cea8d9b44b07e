"""The one door to matplotlib: figures, axes, colors, files. pyplot and rcParams stay untouched."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..errors import MissingPackageError, ParameterError

# Told apart with any color vision: the closest two differ by 22 (CIE76) for normal sight and for
# the three kinds of color blindness alike; the usual eight Okabe-Ito colors come down to 16.
COLORS = (
    "#2D3DC3",
    "#CDB814",
    "#D84CA1",
    "#018143",
    "#2BDBE5",
    "#A47701",
    "#4F0564",
    "#8EBE84",
    "#099AEB",
    "#4B0100",
)
MARKERS = ("o", "s", "^", "X", "D", "v")  # one more for every ten classes
INK, SOFT, PALE = "#333333", "#767676", "#C9CED3"  # text, lesser text, points without a color
SMALL, TINY = 9, 8  # points of text
FORMATS = ("png", "svg", "pdf")
DPI = 150


@cache
def drawing() -> Any:
    """The parts of matplotlib that pictures need, imported when the first one is drawn."""
    try:
        from matplotlib import colormaps, colors
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.cm import ScalarMappable
        from matplotlib.collections import LineCollection
        from matplotlib.figure import Figure
        from matplotlib.lines import Line2D
        from matplotlib.patheffects import withStroke
        from matplotlib.ticker import MaxNLocator
    except ImportError as error:
        raise MissingPackageError(
            "a picture needs matplotlib, which is not installed: pip install 'lowd[app]'."
        ) from error
    return SimpleNamespace(
        colormaps=colormaps,
        colors=colors,
        FigureCanvasAgg=FigureCanvasAgg,
        ScalarMappable=ScalarMappable,
        LineCollection=LineCollection,
        Figure=Figure,
        Line2D=Line2D,
        MaxNLocator=MaxNLocator,
        halo=[withStroke(linewidth=2, foreground="white")],
    )


def new_figure(width: float, height: float) -> Any:
    """A figure in inches that arranges itself and needs no window."""
    figure = drawing().Figure(figsize=(width, height), layout="constrained", dpi=DPI)
    drawing().FigureCanvasAgg(figure)
    return figure


def one_axes(ax: Any, width: float = 5.6, height: float = 4.4) -> Any:
    """The axes that were given, or those of a new figure."""
    if ax is None:
        return new_figure(width, height).add_subplot()
    if not hasattr(ax, "transAxes"):
        raise ParameterError(
            f"ax={type(ax).__name__}: expected one matplotlib Axes; this picture has one panel."
        )
    return ax


def many_axes(ax: Any, count: int, columns: int, side: float = 3.0, extra: float = 0.0) -> Any:
    """A flat array of axes: those that were given, or of a new figure with so many columns."""
    if ax is None:
        columns = min(columns, count)
        rows = -(-count // columns)
        figure = new_figure(side * columns + extra, (side + 0.35) * rows)
        figure.get_layout_engine().set(h_pad=0.08, w_pad=0.06)  # titles and notes keep apart
        return np.array([figure.add_subplot(rows, columns, i + 1) for i in range(count)])
    given = np.array(ax, dtype=object).ravel()
    if len(given) < count or not all(hasattr(one, "transAxes") for one in given):
        raise ParameterError(
            f"ax holds {len(given)} axes, but this picture has {count} panels; pass as many, or "
            "leave ax out."
        )
    return given[:count]


def settled(ax: Any) -> Any:
    """The figure of the axes after its layout is done, so that sizes in pixels can be read."""
    figure = ax.get_figure(root=True)
    figure.draw_without_rendering()
    return figure


def as_map(ax: Any, P: Any, names: tuple[str, str] | None = None) -> None:
    """Distances in all directions count alike, and places have no units."""
    low, high = P.min(axis=0), P.max(axis=0)
    margin = 0.05 * float((high - low).max()) or 1.0
    wide, tall = high - low + 2 * margin
    # About the shape that the axes have: with equal units, limits of another make them smaller.
    shape = float(np.clip(ax.bbox.width / ax.bbox.height, 0.8, 1.25))
    half = np.array([max(wide, tall * shape), max(tall, wide / shape)]) / 2
    ax.set_aspect("equal", adjustable="box")
    for limits, middle, reach in zip(
        (ax.set_xlim, ax.set_ylim), (low + high) / 2, half, strict=True
    ):
        limits(middle - reach, middle + reach)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_color(PALE)
    ax.spines[:].set_linewidth(0.8)
    if names is not None:
        ax.set_xlabel(plain(names[0]), fontsize=SMALL, color=SOFT)
        ax.set_ylabel(plain(names[1]), fontsize=SMALL, color=SOFT)


def as_chart(ax: Any, xlabel: str, ylabel: str, title: str | None = None) -> None:
    """Axes with units: two spines and small numbers."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(SOFT)
    ax.tick_params(labelsize=SMALL, color=SOFT, labelcolor=INK)
    ax.set_xlabel(xlabel, fontsize=SMALL + 1)
    ax.set_ylabel(ylabel, fontsize=SMALL + 1)
    entitle(ax, title)


def plain(words: str) -> str:
    """Words of the user as they are: a dollar does not begin a formula."""
    return words.replace("$", r"\$")


def entitle(ax: Any, title: str | None) -> None:
    if title:
        ax.set_title(plain(title), fontsize=SMALL + 2, color=INK)


def legend_outside(ax: Any, handles: list[Any], title: str | None = None) -> Any:
    """A legend right of the axes, where it can hide nothing; up to 20 entries in a column."""
    ax.set_anchor("NE")  # axes that shrink for equal units stay beside it, and so it inside
    legend = ax.legend(
        handles,
        [str(i) for i in range(len(handles))],  # older versions refuse names that begin with "_"
        title=None if title is None else plain(title),
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0,
        frameon=False,
        fontsize=SMALL,
        title_fontsize=SMALL,
        ncols=-(-len(handles) // 20),
        handletextpad=0.3,
        columnspacing=1.0,
        handlelength=1.2,
    )
    for text, handle in zip(legend.get_texts(), handles, strict=True):
        text.set_text(plain(handle.get_label()))
    legend.get_title().set_horizontalalignment("left")
    return legend


def dot(color: Any, marker: str, label: str, **more: Any) -> Any:
    """A legend's entry for points."""
    look = {"markersize": 6, "markeredgewidth": 0} | more
    return drawing().Line2D([], [], ls="", marker=marker, color=color, label=label, **look)


def colorbar(ax: Any, shown: Any, label: str | None) -> Any:
    """A scale right of the axes, or of a whole array of them."""
    panels = np.ravel(np.array(ax, dtype=object)).tolist()
    figure = panels[0].get_figure()
    bar = figure.colorbar(shown, ax=panels, shrink=0.75, aspect=24, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=TINY, color=SOFT)
    bar.set_label(plain(label or ""), fontsize=SMALL)
    return bar


def save(picture: Any, path: Any, *, format: str | None = None) -> None:  # noqa: A002
    """Write the figure of some axes (or a figure) as PNG, SVG or PDF, by the suffix of the path.

    Nothing is cut off: legends outside the axes belong to the picture. `path` may also be an open
    binary file, with `format` said.

    >>> import io, lowd
    >>> from lowd import plot
    >>> file = io.BytesIO()
    >>> plot.save(plot.scatter([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]), file, format="png")
    >>> file.getvalue()[1:4]
    b'PNG'
    """
    kind = format or Path(str(getattr(path, "name", path))).suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        raise ParameterError(f"{path}: a picture is written as one of {list(FORMATS)}.")
    while isinstance(picture, list | tuple | np.ndarray):
        picture = picture[0]
    figure = picture if hasattr(picture, "savefig") else picture.get_figure(root=True)
    # No date inside: the same picture is the same file (but for the names inside an SVG).
    undated = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    figure.savefig(path, format=kind, dpi=DPI, bbox_inches="tight", metadata=undated)
