"""A map as a picture: points, crowds of points, images, words."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import random
from ..errors import DataError, ParameterError
from .canvas import (
    INK,
    PALE,
    SMALL,
    SOFT,
    TINY,
    as_chart,
    as_map,
    colorbar,
    dot,
    entitle,
    legend_outside,
    many_axes,
    one_axes,
    plain,
)
from .colors import Classes, Coloring, Values, coloring
from .crowding import thumbnails, words
from .density import MANY, ink, shaded


def scatter(
    Y: Any,
    labels: Any = None,
    *,
    images: Any = None,
    text: Any = None,
    kind: Coloring = "auto",
    dims: tuple[int, int] | None = None,
    title: str | None = None,
    size: float | None = None,
    legend: bool = True,
    image_colors: str = "gray",
    ax: Any = None,
) -> Any:
    """Draw a map of one, two or three dimensions (three: each pair of axes in a panel).

    Color tells classes apart for any color vision, and from the eleventh on the marker too; or it
    shows values. The legend stands outside. Above 50,000 points the picture shows the logarithm
    of their number per cell, so that a crowd never looks like a few.

    Parameters
    ----------
    Y
        Places, as an array or a table; or a fitted model with `embedding_`.
    labels
        One per point. Words and few whole numbers are classes, other numbers are values; `kind`
        ("classes" or "values") decides otherwise. None or NaN is drawn pale.
    images
        One per point, (n, height, width) or (n, height, width, 3): as many are drawn as fit
        without overlap. `image_colors` names matplotlib's colors for gray ones.
    text
        One per point: written where there is room, the first ones first.
    dims
        The two dimensions to draw, counted from 0.
    size
        Area of a point, in square points of print.

    Returns
    -------
    The axes, or an array of three for the pairs of three dimensions.

    Examples
    --------
    >>> from lowd import plot
    >>> ax = plot.scatter([[0, 1], [1, 0], [2, 2]], ["left", "left", "right"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['left', 'right']
    """
    P, names = places(Y)
    colors = coloring(labels, len(P), kind)
    if dims is not None:
        P, names = _picked(P, names, dims)
    if P.shape[1] != 2 and (images is not None or text is not None):
        raise ParameterError(
            f"images and text need two dimensions, the map has {P.shape[1]}; choose two by dims."
        )
    if P.shape[1] == 1:
        return _strip(one_axes(ax, 6.4, 2.6), P[:, 0], colors, names[0], title, legend)
    if P.shape[1] == 2:
        ax = one_axes(ax, 4.9 + room_for(colors, legend))
        shown = draw_points(ax, P, colors, size, names)
        if images is not None:
            thumbnails(ax, P, images, colors, image_colors)
        if legend:
            explain(ax, colors, shown)
        entitle(ax, title)
        if text is not None:
            _write(ax, P, text, colors)
        return ax
    return _pairs(P, names, colors, title, size, legend, ax)


def places(Y: Any) -> tuple[NDArray[np.float64], list[str]]:
    """Checked places and names of their columns, from an array, a table or a model."""
    Y = getattr(Y, "embedding_", Y)
    names = [str(name) for name in getattr(Y, "columns", ())]
    P = np.asarray(Y)
    if P.ndim == 1:
        P = P[:, None]
    if P.ndim != 2 or P.dtype.kind not in "iufb" or P.size == 0:
        raise DataError(f"a map is rows of numbers, got {P.dtype} of shape {P.shape}.")
    P = P.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(P).all(axis=1))
    if len(bad):
        raise DataError(f"row {bad[0]} of the map is not finite; leave such rows out.")
    return P, names or [f"axis {j + 1}" for j in range(P.shape[1])]


def _picked(
    P: NDArray[np.float64], names: list[str], dims: tuple[int, int]
) -> tuple[NDArray[np.float64], list[str]]:
    if len(dims) != 2 or not all(0 <= dim < P.shape[1] for dim in dims):
        raise ParameterError(
            f"dims={dims!r}: expected two of the map's {P.shape[1]} dimensions, counted from 0."
        )
    return P[:, list(dims)], [names[dim] for dim in dims]


def draw_points(
    ax: Any,
    P: NDArray[np.float64],
    colors: Classes | Values | None,
    size: float | None = None,
    names: list[str] | None = None,
) -> Any:
    """Points of a two-dimensional map, or shades of their number; then the scale of the shades."""
    shown = None
    if len(P) > MANY:
        shown = shaded(ax, P, colors)
    else:
        _draw_each(ax, P, colors, point_size(len(P)) if size is None else size)
    as_map(ax, P, None if names is None else (names[0], names[1]))
    return shown


def point_size(n: int) -> float:
    """Small enough that points of a filled map still show gaps."""
    return float(np.clip(16_000 / n, 1.5, 30))


def _draw_each(
    ax: Any, P: NDArray[np.float64], colors: Classes | Values | None, size: float
) -> None:
    # In an order that has nothing to do with the labels: no class covers all others.
    order = np.argsort(random.bits(0, "drawing order", np.arange(len(P))), kind="stable")
    look = {"linewidths": 0, "alpha": 0.8 if len(P) < 5000 else 0.6, "zorder": 2}
    if colors is None:
        ax.scatter(*P[order].T, s=size, color=INK, **look)
    elif isinstance(colors, Values):
        ax.scatter(*P[order].T, s=size, color=colors.shades()[order], **look)
    else:
        rgb = colors.rgb()
        for marker in dict.fromkeys(colors.marker(code) for code in range(len(colors.names))):
            same = [code for code in range(len(colors.names)) if colors.marker(code) == marker]
            mine = order[np.isin(colors.codes[order], same)]
            # Marks that are not round have the same ink at a larger area.
            area = size * (1.0 if marker in "o." else 1.25)
            ax.scatter(*P[mine].T, s=area, color=rgb[colors.codes[mine]], marker=marker, **look)


def room_for(colors: Classes | Values | None, legend: bool = True) -> float:
    """Inches that the legend or the colorbar will take."""
    if not legend or colors is None:
        return 0.0
    if isinstance(colors, Values):
        return 0.8
    columns = -(-len(colors.names) // 20)
    return columns * (0.35 + 0.08 * max(map(len, colors.names)))


def explain(ax: Any, colors: Classes | Values | None, shown: Any = None, among: Any = None) -> None:
    """The legend or the colorbar, outside; `among` are all panels that have these colors."""
    if shown is not None:
        colorbar(ax, shown, "points per cell")
    elif isinstance(colors, Values):
        colorbar(ax if among is None else among, colors.scale(), colors.title)
    elif colors is not None:
        handles = [
            dot(colors.color(code), colors.marker(code).replace(".", "o"), name)
            for code, name in enumerate(colors.names)
        ]
        legend_outside(ax, handles, colors.title)


def _write(ax: Any, P: NDArray[np.float64], text: Any, colors: Any) -> None:
    inks: Any = INK
    if isinstance(colors, Classes):
        inks = list(0.75 * colors.rgb()[colors.codes])  # letters are thin: darker than points
    stand = words(ax, P, text, inks)
    if stand < len(P):
        note = f"{len(P) - stand} of {len(P)} words had no room"
        ax.text(0.99, 0.01, note, transform=ax.transAxes, ha="right", fontsize=TINY, color=SOFT)


def _pairs(
    P: NDArray[np.float64],
    names: list[str],
    colors: Classes | Values | None,
    title: str | None,
    size: float | None,
    legend: bool,
    ax: Any,
) -> Any:
    """Three panels: each pair of the first three dimensions."""
    panels = many_axes(ax, 3, 3, 3.2, room_for(colors, legend))
    for panel, (i, j) in zip(panels, combinations(range(3), 2), strict=True):
        shown = draw_points(panel, P[:, [i, j]], colors, size, [names[i], names[j]])
        if legend:
            explain(panel, colors if panel is panels[-1] else None, shown, panels)
    more = f"the first three of {P.shape[1]} axes" if P.shape[1] > 3 else None
    entitle(panels[1], ", ".join(part for part in (title, more) if part))
    return panels


def _strip(
    ax: Any,
    x: NDArray[np.float64],
    colors: Classes | Values | None,
    name: str,
    title: str | None,
    legend: bool,
) -> Any:
    """A map of one dimension: a lane for each class, the points spread across it."""
    lanes = colors.names if isinstance(colors, Classes) else [""]
    codes = colors.codes if isinstance(colors, Classes) else np.zeros(len(x), np.int64)
    lane = len(lanes) - 1 - codes  # the first on top
    if len(x) > MANY:
        _histograms(ax, x, codes, colors, len(lanes))
    else:
        spread = 0.7 * (random.uniforms(0, "across a lane", np.arange(len(x))) - 0.5)
        _draw_each(ax, np.column_stack([x, lane + spread]), colors, point_size(len(x)))
    as_chart(ax, plain(name), "", title)
    ax.set_ylim(-0.6, len(lanes) - 0.4)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.set_yticks(range(len(lanes)), [plain(one) for one in reversed(lanes)], fontsize=SMALL)
    if legend and isinstance(colors, Values) and len(x) <= MANY:
        colorbar(ax, colors.scale(), colors.title)
    return ax


def _histograms(ax: Any, x: NDArray[np.float64], codes: Any, colors: Any, lanes: int) -> None:
    """Each lane's number of points along the axis, by the logarithm as in two dimensions."""
    edges = np.linspace(x.min(), x.max(), 301)
    counts = np.stack([np.histogram(x[codes == code], edges)[0] for code in range(lanes)])
    height = 0.8 * ink(counts)
    middle = (edges[1:] + edges[:-1]) / 2
    for code in range(lanes):
        floor = lanes - 1 - code - 0.4
        color = colors.color(code) if isinstance(colors, Classes) else SOFT
        ax.fill_between(middle, floor, floor + height[code], step="mid", color=color, lw=0)
        ax.axhline(floor, color=PALE, lw=0.5)
