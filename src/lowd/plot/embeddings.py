"""Scatter plots of an embedding: points, their density, thumbnails, words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import random
from ..errors import DataError, ParameterError
from ..input.arguments import Input
from .annotations import draw_thumbnails, draw_words
from .canvas import (
    FONT_SIZE,
    MAX_LEGEND_ROWS,
    MUTED_COLOR,
    PALE_COLOR,
    SMALL_FONT_SIZE,
    TEXT_COLOR,
    add_colorbar,
    add_legend,
    escape_math,
    format_chart,
    format_embedding_axes,
    get_axes,
    get_panels,
    make_legend_dot,
    set_title,
)
from .colors import Classes, Coloring, Values, choose_coloring
from .density import MAX_DRAWN_POINTS, compute_opacity, draw_density

if TYPE_CHECKING:
    from ..reducer import Reducer
    from .canvas import Axes, AxesInput, Panels, ScalarMappable

STRIP_BINS = 300  # Bins of histograms: about two pixels each in a plot of usual size.
# Up to this many points get their names written without being asked; more do not fit.
MAX_NAMED_POINTS = 50


def scatter(
    Y: Input,
    labels: ArrayLike | None = None,
    *,
    images: ArrayLike | None = None,
    text: Sequence[str] | None = None,
    kind: Coloring = "auto",
    dims: tuple[int, int] | None = None,
    title: str | None = None,
    size: float | None = None,
    legend: bool | str = True,
    cmap: str = "gray",
    model: Reducer | None = None,
    ax: AxesInput = None,
) -> Axes | Panels:
    """Scatter plot of an embedding in one, two or three dimensions (three: each pair of axes).

    Color shows classes, distinct for any color vision and from the eleventh on by the marker too;
    or it shows values. The legend is outside. Above 50,000 points the plot shows the logarithm of
    their number per cell, so that overplotting hides nothing.

    Parameters
    ----------
    Y : array-like of shape (n_samples, n_components), or a model
        The embedding, as an array or a table; or a fitted model with `embedding_`.
    labels : array-like of shape (n_samples,) or None, default=None
        One per point. Words and up to twelve distinct integers are classes, other numbers are
        values; `kind` ("classes" or "values") overrides that. None or NaN is drawn pale.
    images : array-like or None, default=None
        One per point, (n, height, width) or (n, height, width, 3): as many are drawn as fit
        without overlap. `cmap` is matplotlib's colormap for gray ones.
    text : sequence of str or None, default=None
        One per point: written where there is space, the first ones first. By default names of up
        to 50 points are written: those of the rows of a table, or labels that are all different;
        `()` writes none.
    dims : tuple of int or None, default=None
        The two dimensions to draw, counted from 0.
    title : str or None, default=None
        By default the method and the size of the data, if Y is a model or `model` is given.
    size : float or None, default=None
        Area of a point, in points squared.
    legend : bool or str, default=True
        False leaves it out; a text is its title.
    model : Reducer or None, default=None
        The fitted model that computed Y: it names the axes ("PC1 (36 %)") and the plot.

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
    P, names = check_coordinates(Y, model)
    title = _describe_model(Y, model, len(P)) if title is None else title
    if dims is not None:
        P, names = select_dimensions(P, names, dims)
    if text is None and P.shape[1] == 2 and images is None and kind == "auto":
        text, labels = _choose_names(Y, labels, len(P))
    text = None if text is not None and not len(text) else text
    colors = choose_coloring(labels, len(P), kind, legend if isinstance(legend, str) else None)
    legend = bool(legend)
    if P.shape[1] != 2 and (images is not None or text is not None):
        raise ParameterError(
            f"images and text need two dimensions, the embedding has {P.shape[1]}; choose two by "
            "dims."
        )
    if P.shape[1] == 1:
        strip = get_axes(ax, 6.4, 2.6)
        _draw_strip(strip, P[:, 0], colors, names[0], title, legend)
        return strip
    if P.shape[1] == 2:
        ax = get_axes(ax, 4.9 + measure_legend(colors, legend))
        density = draw_points(ax, P, colors, size, names)
        if images is not None:
            n_images = draw_thumbnails(ax, P, images, colors, cmap)
            _note_what_fits(ax, len(P) - n_images, len(P), "images")
        if legend:
            add_color_key(ax, colors, density, len(P))
        set_title(ax, title)
        if text is not None:
            _draw_text(ax, P, text, colors)
        return ax
    return _draw_pairs(P, names, colors, title, size, legend, ax)


def check_coordinates(
    Y: Input, model: Reducer | None = None
) -> tuple[NDArray[np.float64], list[str]]:
    """Validate an embedding (an array, a table or a model): coordinates and names of the axes."""
    if hasattr(Y, "fit") and not hasattr(Y, "embedding_"):
        raise DataError(
            f"{type(Y).__name__} keeps no embedding_; give model.transform(X), and the model as "
            "model= for the names of the axes."
        )
    model = Y if hasattr(Y, "embedding_") else model
    Y = getattr(Y, "embedding_", Y)
    names = [str(name) for name in getattr(Y, "columns", ())]
    P = np.asarray(Y)
    if P.ndim == 1:
        P = P[:, None]
    if P.ndim != 2 or P.dtype.kind not in "iufb" or P.size == 0:
        raise DataError(f"an embedding is rows of numbers, got {P.dtype} of shape {P.shape}.")
    P = P.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(P).all(axis=1))
    if len(bad):
        raise DataError(f"row {bad[0]} of the embedding is not finite; leave such rows out.")
    if model is not None:
        names = [name_axis(model, j) for j in range(P.shape[1])]
    return P, names or [f"axis {j + 1}" for j in range(P.shape[1])]


def name_axis(model: Reducer | None, j: int) -> str:
    """The name of a coordinate: "PC1 (36 %)" for PCA, "Isomap 1" for other methods.

    The percentage is of the variance of the data, even if components were selected before.
    """
    method = getattr(model, "method_", model)
    share = getattr(method, "explained_variance_ratio_", None)
    if share is None and type(method).__name__ == "Columns":
        kept = next(
            (step.kept for step in getattr(model, "steps_", ()) if hasattr(step, "kept")), None
        )
        names, j = getattr(model, "feature_names_in_", None), j if kept is None else int(kept[j])
        return f"column {j}" if names is None else str(names[j])
    if share is None:
        return f"{type(method).__name__} {j + 1}"
    before = getattr(model, "pca_", None)
    if before is not None:
        share = share * before.explained_variance_ratio_.sum()
    return f"PC{j + 1} ({100 * share[j]:.0f} %)" if j < len(share) else f"PC{j + 1}"


def _describe_model(Y: Input, model: Reducer | None, n: int) -> str | None:
    """The title of a model's embedding: the method and the size of the data."""
    model = Y if hasattr(Y, "embedding_") else model
    if model is None:
        return None
    method = type(getattr(model, "method_", model)).__name__
    columns = getattr(model, "n_features_in_", None)
    if columns is None or getattr(model, "metric", None) == "precomputed":
        return f"{method} of {n} rows"
    return f"{method} of {n} rows, {columns} columns"


def _choose_names(
    Y: Input, labels: ArrayLike | None, n: int
) -> tuple[Sequence[str] | None, ArrayLike | None]:
    """Names to write next to points if these are few, and the labels left for coloring."""
    if n > MAX_NAMED_POINTS:
        return None, labels
    if labels is not None:
        given = np.asarray(labels).ravel()
        if given.dtype.kind in "OUS" and n > 1 and len(set(map(str, given))) == len(given) == n:
            return [str(name) for name in given], None
    index = getattr(Y, "index", None)
    named = np.asarray(index) if hasattr(index, "dtype") else np.empty(0)
    if named.dtype.kind in "OUS" and len(named) == n:
        return [str(name) for name in named], labels
    return None, labels


def select_dimensions(
    P: NDArray[np.float64], names: list[str], dims: tuple[int, int] = (0, 1)
) -> tuple[NDArray[np.float64], list[str]]:
    """The two columns of an embedding to draw; one dimension is drawn on a line."""
    if P.shape[1] == 1:
        return np.column_stack([P[:, 0], np.zeros(len(P))]), [names[0], ""]
    if len(dims) != 2 or not all(0 <= dim < P.shape[1] for dim in dims):
        raise ParameterError(
            f"dims={dims!r}: expected two of the embedding's {P.shape[1]} dimensions, counted "
            "from 0."
        )
    return P[:, list(dims)], [names[dim] for dim in dims]


def draw_points(
    ax: Axes,
    P: NDArray[np.float64],
    colors: Classes | Values | None,
    size: float | None = None,
    names: list[str] | None = None,
) -> ScalarMappable | None:
    """Draw points in two dimensions, or their density; return what its colorbar needs."""
    density = None
    if len(P) > MAX_DRAWN_POINTS:
        density = draw_density(ax, P, colors)
    else:
        _draw_each(ax, P, colors, choose_point_size(len(P)) if size is None else size)
    format_embedding_axes(ax, P, None if names is None else (names[0], names[1]))
    return density


def choose_point_size(n: int) -> float:
    """The area of a point, so small that gaps between n points are visible."""
    return float(np.clip(16_000 / n, 1.5, 30))


def _draw_each(
    ax: Axes, P: NDArray[np.float64], colors: Classes | Values | None, size: float
) -> None:
    # The order does not depend on the labels, so that no class covers all others.
    order = np.argsort(random.bits(0, "drawing order", np.arange(len(P))), kind="stable")
    look = {"linewidths": 0, "alpha": 0.8 if len(P) < 5000 else 0.6, "zorder": 2}
    if colors is None:
        ax.scatter(*P[order].T, s=size, color=TEXT_COLOR, **look)
    elif isinstance(colors, Values):
        ax.scatter(*P[order].T, s=size, color=colors.to_rgba()[order], **look)
    else:
        rgb = colors.rgb()
        for marker in dict.fromkeys(colors.marker(code) for code in range(len(colors.names))):
            same = [code for code in range(len(colors.names)) if colors.marker(code) == marker]
            mine = order[np.isin(colors.codes[order], same)]
            # Marks that are not round have as much ink at a larger area.
            area = size * (1.0 if marker in "o." else 1.25)
            ax.scatter(*P[mine].T, s=area, color=rgb[colors.codes[mine]], marker=marker, **look)


def measure_legend(colors: Classes | Values | None, legend: bool = True) -> float:
    """Width in inches of the legend or the colorbar."""
    if not legend or colors is None:
        return 0.0
    if isinstance(colors, Values):
        return 0.8
    columns = -(-len(colors.names) // MAX_LEGEND_ROWS)
    return columns * (0.35 + 0.08 * max(map(len, colors.names)))


def add_color_key(
    ax: Axes,
    colors: Classes | Values | None,
    density: ScalarMappable | None = None,
    n_points: int = 0,
    panels: Panels | None = None,
) -> None:
    """Add the legend or the colorbar, outside; `panels` are all that have these colors."""
    if density is not None:
        add_colorbar(ax, density, "points per cell")
    elif isinstance(colors, Values):
        add_colorbar(ax if panels is None else panels, colors.scale(), colors.title)
        missing = int((~np.isfinite(colors.numbers)).sum())
        if missing:
            add_legend(ax, [make_legend_dot(PALE_COLOR, "o", f"{missing} missing")], below=True)
    elif colors is not None:
        handles = [
            make_legend_dot(colors.color(code), colors.marker(code).replace(".", "o"), name)
            for code, name in enumerate(colors.names)
        ]
        if n_points > MAX_DRAWN_POINTS:
            handles.append(make_legend_dot("none", "", "darker: more points"))
        add_legend(ax, handles, colors.title)


def _draw_text(
    ax: Axes, P: NDArray[np.float64], text: Sequence[str], colors: Classes | Values | None
) -> None:
    text_colors: str | list[NDArray[np.float64]] = TEXT_COLOR
    if isinstance(colors, Classes):
        # Letters are thin, so they are darker than points.
        text_colors = list(0.75 * colors.rgb()[colors.codes])
    n_drawn = draw_words(ax, P, text, text_colors)
    _note_what_fits(ax, len(P) - n_drawn, len(P), "words")


def _note_what_fits(ax: Axes, left_out: int, n: int, what: str) -> None:
    """Say in the corner that some points are shown as dots only."""
    if left_out:
        note = f"dots: {left_out} of {n} {what} do not fit"
        look = {"ha": "right", "fontsize": SMALL_FONT_SIZE, "color": MUTED_COLOR}
        ax.text(0.99, 0.01, note, transform=ax.transAxes, zorder=5, **look)


def _draw_pairs(
    P: NDArray[np.float64],
    names: list[str],
    colors: Classes | Values | None,
    title: str | None,
    size: float | None,
    legend: bool,
    ax: AxesInput,
) -> Panels:
    """Draw each pair of the first three dimensions in a panel."""
    panels = get_panels(ax, 3, 3, 3.2, measure_legend(colors, legend))
    for panel, (i, j) in zip(panels, combinations(range(3), 2), strict=True):
        density = draw_points(panel, P[:, [i, j]], colors, size, [names[i], names[j]])
        if legend:
            mine = colors if panel is panels[-1] else None
            add_color_key(panel, mine, density, len(P), panels)
    more = f"the first three of {P.shape[1]} axes" if P.shape[1] > 3 else None
    set_title(panels[1], ", ".join(part for part in (title, more) if part))
    return panels


def _draw_strip(
    ax: Axes,
    x: NDArray[np.float64],
    colors: Classes | Values | None,
    name: str,
    title: str | None,
    legend: bool,
) -> None:
    """Draw one dimension: a strip for each class, with the points jittered across it."""
    lanes = colors.names if isinstance(colors, Classes) else [""]
    codes = colors.codes if isinstance(colors, Classes) else np.zeros(len(x), np.int64)
    lane = len(lanes) - 1 - codes  # the first class is at the top
    if len(x) > MAX_DRAWN_POINTS:
        _draw_histograms(ax, x, codes, colors, len(lanes))
    else:
        spread = 0.7 * (random.uniforms(0, "across a lane", np.arange(len(x))) - 0.5)
        _draw_each(ax, np.column_stack([x, lane + spread]), colors, choose_point_size(len(x)))
    format_chart(ax, escape_math(name), "", title)
    ax.set_ylim(-0.6, len(lanes) - 0.4)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.set_yticks(
        range(len(lanes)), [escape_math(each) for each in reversed(lanes)], fontsize=FONT_SIZE
    )
    if legend and isinstance(colors, Values) and len(x) <= MAX_DRAWN_POINTS:
        add_colorbar(ax, colors.scale(), colors.title)


def _draw_histograms(
    ax: Axes,
    x: NDArray[np.float64],
    codes: NDArray[np.int64],
    colors: Classes | Values | None,
    lanes: int,
) -> None:
    """Draw a histogram of each strip, on a logarithmic scale as in two dimensions."""
    edges = np.linspace(x.min(), x.max(), STRIP_BINS + 1)
    counts = np.stack([np.histogram(x[codes == code], edges)[0] for code in range(lanes)])
    height = 0.8 * compute_opacity(counts)
    middle = (edges[1:] + edges[:-1]) / 2
    for code in range(lanes):
        floor = lanes - 1 - code - 0.4
        color = colors.color(code) if isinstance(colors, Classes) else MUTED_COLOR
        ax.fill_between(middle, floor, floor + height[code], step="mid", color=color, lw=0)
        ax.axhline(floor, color=PALE_COLOR, lw=0.5)
