"""Figures, axes, colors and image files: the only module that imports matplotlib.

Figures are made by pyplot where it shows them (notebooks, IPython, windows), as those of other
plotting libraries are. Elsewhere pyplot is not imported, and rcParams are never touched.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError, MissingPackageError, ParameterError, check_folder
from ..io.words import is_label_name

if TYPE_CHECKING:
    from matplotlib.artist import Artist as Artist
    from matplotlib.axes import Axes as Axes
    from matplotlib.cm import ScalarMappable as ScalarMappable
    from matplotlib.colorbar import Colorbar as Colorbar
    from matplotlib.colors import Colormap as Colormap
    from matplotlib.figure import Figure as Figure
    from matplotlib.text import Annotation as Annotation
    from matplotlib.transforms import Bbox as Bbox

    from ..io.table import Column

Panels: TypeAlias = NDArray[np.object_]  # an array of Axes
AxesInput: TypeAlias = "Axes | Sequence[Axes] | Panels | None"

# Distinct with any color vision: the closest two differ by 22 (CIE76) for normal vision and for the
# three kinds of color blindness alike; of the usual eight Okabe-Ito colors they differ by 16.
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
TEXT_COLOR, MUTED_COLOR = "#333333", "#767676"
PALE_COLOR = "#C9CED3"  # color of points without a color of their own
FONT_SIZE, SMALL_FONT_SIZE = 9, 8  # points
MAX_LEGEND_ROWS = 20  # Most rows in one column of a legend: as many lines as the axes are high.
IMAGE_FORMATS = ("png", "svg", "pdf")
DPI = 150

_is_hidden: ContextVar[bool] = ContextVar("lowd.plot: figures are not displayed", default=False)


@cache
def load_matplotlib() -> SimpleNamespace:
    """The parts of matplotlib that plots need, imported when the first plot is drawn."""
    try:
        from matplotlib import colormaps, colors
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.cm import ScalarMappable
        from matplotlib.collections import LineCollection
        from matplotlib.figure import Figure
        from matplotlib.lines import Line2D
        from matplotlib.patheffects import withStroke
        from matplotlib.ticker import MaxNLocator
        from matplotlib.transforms import ScaledTranslation
    except ImportError as error:
        raise MissingPackageError(
            "a plot needs matplotlib, which is not installed: pip install 'lowd[app]'."
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
        ScaledTranslation=ScaledTranslation,
        halo=[withStroke(linewidth=2, foreground="white")],
    )


def make_figure(width: float, height: float) -> Figure:
    """Make a figure of a size in inches, with constrained layout and without a window."""
    figure: Figure = load_matplotlib().Figure(
        figsize=(width, height), layout="constrained", dpi=DPI
    )
    load_matplotlib().FigureCanvasAgg(figure)
    return figure


@contextmanager
def hide_figures() -> Iterator[None]:
    """Within this context plots are not displayed, but only go to a file or a page."""
    token = _is_hidden.set(True)
    try:
        yield
    finally:
        _is_hidden.reset(token)


def is_displayed() -> bool:
    """Whether pyplot shows figures here: in IPython, a notebook, or windows of a script."""
    if _is_hidden.get():
        return False
    ipython = sys.modules.get("IPython")
    if ipython is not None and ipython.get_ipython() is not None:
        return True
    # Present if the user imported it and so can call show().
    pyplot = sys.modules.get("matplotlib.pyplot")
    windowless = ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template")
    return pyplot is not None and pyplot.get_backend().lower() not in windowless


def open_figure(width: float, height: float) -> Figure:
    """Make a figure that a notebook displays after the cell, and `plt.show()` in a script."""
    if not is_displayed():
        return make_figure(width, height)
    load_matplotlib()
    from matplotlib import pyplot

    # In a notebook a figure of 150 dots per inch would fill the page.
    return pyplot.figure(figsize=(width, height), layout="constrained", dpi=100)


def get_axes(ax: Axes | None, width: float = 5.6, height: float = 4.4) -> Axes:
    """Return the given axes, or those of a new figure."""
    if ax is None:
        return open_figure(width, height).add_subplot()
    if not hasattr(ax, "transAxes"):
        raise ParameterError(
            f"ax={type(ax).__name__}: expected one matplotlib Axes; this plot has one panel."
        )
    return ax


def get_panels(
    ax: AxesInput, count: int, columns: int, side: float = 3.0, extra: float = 0.0
) -> Panels:
    """Return a flat array of axes: the given ones, or those of a new figure."""
    if ax is None:
        columns = min(columns, count)
        rows = -(-count // columns)
        figure = open_figure(side * columns + extra, (side + 0.35) * rows)
        figure.get_layout_engine().set(h_pad=0.08, w_pad=0.06)  # keeps titles and notes apart
        return np.array([figure.add_subplot(rows, columns, i + 1) for i in range(count)])
    given = np.array(ax, dtype=object).ravel()
    if len(given) < count or not all(hasattr(each, "transAxes") for each in given):
        raise ParameterError(
            f"ax holds {len(given)} axes, but this plot has {count} panels; pass as many, or "
            "leave ax out."
        )
    return given[:count]


def finish_layout(ax: Axes) -> Figure:
    """Lay out the figure of the axes, so that sizes in pixels are known."""
    figure: Figure = ax.get_figure(root=True)
    figure.draw_without_rendering()
    return figure


def format_embedding_axes(
    ax: Axes, P: NDArray[np.float64], names: tuple[str, str] | None = None
) -> None:
    """Format the axes of an embedding: equal aspect, no ticks, coordinates have no units."""
    low, high = P.min(axis=0), P.max(axis=0)
    margin = 0.05 * float((high - low).max()) or 1.0
    wide, tall = high - low + 2 * margin
    # Limits of another shape than the axes would make the axes smaller, since the units are equal.
    shape = float(np.clip(ax.bbox.width / ax.bbox.height, 0.8, 1.25))
    half = np.array([max(wide, tall * shape), max(tall, wide / shape)]) / 2
    ax.set_aspect("equal", adjustable="box")
    for set_limits, middle, radius in zip(
        (ax.set_xlim, ax.set_ylim), (low + high) / 2, half, strict=True
    ):
        set_limits(middle - radius, middle + radius)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_color(PALE_COLOR)
    ax.spines[:].set_linewidth(0.8)
    if names is not None:
        ax.set_xlabel(escape_math(names[0]), fontsize=FONT_SIZE, color=MUTED_COLOR)
        ax.set_ylabel(escape_math(names[1]), fontsize=FONT_SIZE, color=MUTED_COLOR)


def format_chart(ax: Axes, xlabel: str, ylabel: str, title: str | None = None) -> None:
    """Format axes with units: two spines and small numbers."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(MUTED_COLOR)
    ax.tick_params(labelsize=FONT_SIZE, color=MUTED_COLOR, labelcolor=TEXT_COLOR)
    ax.set_xlabel(xlabel, fontsize=FONT_SIZE + 1)
    ax.set_ylabel(ylabel, fontsize=FONT_SIZE + 1)
    set_title(ax, title)


def escape_math(text: str) -> str:
    """Escape dollar signs in the user's texts, because they would begin a formula."""
    return text.replace("$", r"\$")


def set_title(ax: Axes, title: str | None) -> None:
    if title:
        ax.set_title(escape_math(title), fontsize=FONT_SIZE + 2, color=TEXT_COLOR)


def add_legend(
    ax: Axes, handles: list[Artist], title: str | None = None, *, below: bool = False
) -> None:
    """Add a legend to the right of the axes (or below), with up to 20 entries in a column."""
    # Axes that shrink for equal units stay next to the legend.
    ax.set_anchor("N" if below else "NE")
    position: dict[str, object] = {"bbox_to_anchor": (1.01, 1.0)}
    if below:
        # Half an inch is left to the ticks and the label of the axes.
        inches = ax.get_figure(root=True).dpi_scale_trans
        lower = load_matplotlib().ScaledTranslation(0, -0.5, inches)
        position = {"bbox_to_anchor": (0, 0), "bbox_transform": ax.transAxes + lower}
    legend = ax.legend(
        handles,
        [str(i) for i in range(len(handles))],  # older versions refuse names that begin with "_"
        title=None if title is None else escape_math(title),
        loc="upper left",
        **position,
        borderaxespad=0,
        frameon=False,
        fontsize=FONT_SIZE,
        title_fontsize=FONT_SIZE,
        ncols=1 if below else -(-len(handles) // MAX_LEGEND_ROWS),
        handletextpad=0.3,
        columnspacing=1.0,
        handlelength=1.2,
    )
    for text, handle in zip(legend.get_texts(), handles, strict=True):
        text.set_text(escape_math(handle.get_label()))
    legend.get_title().set_horizontalalignment("left")


def make_legend_dot(color: str, marker: str, label: str, **style: object) -> Artist:
    """Make the entry of a legend for points."""
    look = {"markersize": 6, "markeredgewidth": 0} | style
    return load_matplotlib().Line2D([], [], ls="", marker=marker, color=color, label=label, **look)


def add_colorbar(ax: Axes | Panels, colored: ScalarMappable, label: str | None) -> Colorbar:
    """Add a colorbar to the right of the axes, or of a whole array of them."""
    panels = np.ravel(np.array(ax, dtype=object)).tolist()
    figure = panels[0].get_figure()
    bar = figure.colorbar(colored, ax=panels, shrink=0.75, aspect=24, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=SMALL_FONT_SIZE, color=MUTED_COLOR)
    bar.set_label(escape_math(label or ""), fontsize=FONT_SIZE)
    return bar


def save(
    picture: Axes | Panels | Figure,
    path: str | os.PathLike[str] | IO[bytes],
    *,
    format: str | None = None,  # noqa: A002 - the word that users know
) -> None:
    """Write the figure of some axes (or a figure) as PNG, SVG or PDF, by the suffix of the path.

    Nothing is cut off: legends outside the axes are included. `path` may also be an open binary
    file, with `format` given.

    >>> import io, lowd
    >>> from lowd import plot
    >>> file = io.BytesIO()
    >>> plot.save(plot.scatter([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]), file, format="png")
    >>> file.getvalue()[1:4]
    b'PNG'
    """
    kind = format or Path(str(getattr(path, "name", path))).suffix.removeprefix(".").lower()
    if kind not in IMAGE_FORMATS:
        raise ParameterError(f"{path}: a plot is written as one of {list(IMAGE_FORMATS)}.")
    if isinstance(path, str | os.PathLike):
        check_folder(path)
    while isinstance(picture, list | tuple | np.ndarray):
        picture = picture[0]
    figure = picture if hasattr(picture, "savefig") else picture.get_figure(root=True)
    # Without a date, the same plot is the same file (except for the names inside an SVG).
    undated = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    figure.savefig(path, format=kind, dpi=DPI, bbox_inches="tight", metadata=undated)


Coloring = Literal["auto", "classes", "values"]


class Classes(NamedTuple):
    """Names of classes, and the class of each point."""

    names: list[str]
    codes: NDArray[np.int64]
    title: str | None
    has_others: bool = False  # whether the last class gathers all that have no color of their own

    def color(self, code: int) -> str:
        return PALE_COLOR if self._plain(code) else COLORS[code % len(COLORS)]

    def marker(self, code: int) -> str:
        return "." if self._plain(code) else MARKERS[code // len(COLORS)]

    def rgb(self) -> NDArray[np.float64]:
        """One color per class."""
        return np.array(
            [load_matplotlib().colors.to_rgb(self.color(code)) for code in range(len(self.names))]
        )

    def _plain(self, code: int) -> bool:
        return self.has_others and code == len(self.names) - 1


class Values(NamedTuple):
    """A number for each point; NaN has no color."""

    numbers: NDArray[np.float64]
    title: str | None
    cmap: str | Colormap = "viridis"
    clipped: float = 0.0  # share of the numbers beyond each end of the scale
    least: float = 0.0  # range of the scale, which grows at its upper end, or at its lower if < 0

    def scale(self) -> ScalarMappable:
        """The color scale over the range of the numbers."""
        finite = self.numbers[np.isfinite(self.numbers)]
        low, high = np.quantile(finite, [self.clipped, 1 - self.clipped]) if len(finite) else (0, 1)
        if high - low < abs(self.least):
            low, high = (low, low + self.least) if self.least > 0 else (high + self.least, high)
        norm = load_matplotlib().colors.Normalize(low, high if high > low else low + 1)
        named = isinstance(self.cmap, str)
        return load_matplotlib().ScalarMappable(
            norm, load_matplotlib().colormaps[self.cmap] if named else self.cmap
        )

    def to_rgba(self) -> NDArray[np.float64]:
        """One color per point."""
        rgba = np.array(self.scale().to_rgba(self.numbers), np.float64)
        rgba[~np.isfinite(self.numbers)] = load_matplotlib().colors.to_rgba(PALE_COLOR)
        return rgba


def choose_coloring(
    labels: ArrayLike | None, n: int, kind: Coloring = "auto", title: str | None = None
) -> Classes | Values | None:
    """Color points by class or by value, as asked for or as suits the labels."""
    if kind not in ("auto", "classes", "values"):
        raise ParameterError(f"kind={kind!r}: expected 'auto' or 'classes' or 'values'.")
    if labels is None:
        return None
    title = title or getattr(labels, "name", None)
    given = np.asarray(labels)
    if given.shape != (n,):
        raise DataError(
            f"labels have shape {given.shape}, but the embedding has {n} points; give one per "
            "point."
        )
    title = str(title) if title else None
    if kind == "values" or (kind == "auto" and is_continuous(given, name=title)):
        return Values(_to_numbers(given), title)
    return _make_classes(given, title)


def is_continuous(given: Column, max_classes: int = 12, name: str | None = None) -> bool:
    """Whether labels are values: numbers with fractions, or many distinct integers.

    Codes of classes under the name of a label ("y", "person") are classes, however many.
    """
    if given.dtype.kind not in "iuf":
        return False
    finite = given[np.isfinite(given)]
    if not (finite == np.round(finite)).all():
        return True
    distinct, counts = np.unique(finite, return_counts=True)
    if len(distinct) <= max_classes:
        return False
    # Codes begin at 0 or 1, leave none out, and have several rows each; a count or an age has gaps,
    # and rare values at its ends.
    is_code = distinct[0] in (0, 1) and distinct[-1] - distinct[0] == len(distinct) - 1
    return not (name and is_label_name(name) and is_code and counts.min() > 1)


def _to_numbers(given: Column) -> NDArray[np.float64]:
    try:
        return given.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(
            "labels are not numbers, so they cannot be shown as values; use kind='classes'."
        ) from None


def _make_classes(given: Column, title: str | None, most: int = 40) -> Classes:
    """At most 40 classes, which fill two columns of a legend; smaller ones beyond are "others"."""
    missing = np.array([label is None or label != label for label in given.tolist()], bool)
    keys, codes = _sort_labels(given[~missing])
    names = [_format_label(key) for key in keys]
    sizes = np.bincount(codes, minlength=len(names))
    full = np.full(len(given), -1, np.int64)
    full[~missing] = codes
    if len(names) > most:
        kept = np.sort(np.argsort(-sizes, kind="stable")[: most - 1])
        # The last entry is for -1, which stands for a missing label.
        new = np.full(len(names) + 1, -1, np.int64)
        new[kept] = np.arange(len(kept))
        others = f"{len(names) - len(kept)} others"
        names, full = [names[code] for code in kept], new[full]
    else:
        others = "missing"
    if not (full < 0).any():
        return Classes(names, full, title)
    return Classes([*names, others], np.where(full < 0, len(names), full), title, has_others=True)


def _sort_labels(given: Column) -> tuple[list[str | float], NDArray[np.int64]]:
    """Distinct labels in natural order: numbers by size, words by their letters and numbers."""
    words = given.astype(str) if given.dtype.kind == "O" else given
    keys, codes = np.unique(words, return_inverse=True)
    names = keys.tolist()
    if words.dtype.kind not in "US":
        return names, codes.astype(np.int64)
    order = sorted(range(len(names)), key=lambda i: natural_sort_key(names[i]))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return [names[i] for i in order], rank[codes]


def natural_sort_key(name: str) -> list[tuple[int, int, str]]:
    """The key of a natural order, in which "day 9" comes before "day 10"."""
    parts = re.split(r"(\d+)", str(name))
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]


def _format_label(key: str | float, longest: int = 28) -> str:
    if isinstance(key, float) and key == int(key):
        return str(int(key))
    name = str(key)
    short = f"{name[: longest - 1]}…"
    return name if len(name) <= longest else short
