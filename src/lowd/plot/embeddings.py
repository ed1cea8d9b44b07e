"""Scatter plots of an embedding: points, their density, thumbnails, words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import random
from ..errors import DataError, ParameterError
from ..input.arguments import Input
from .canvas import (
    FONT_SIZE,
    MAX_LEGEND_ROWS,
    MUTED_COLOR,
    PALE_COLOR,
    SMALL_FONT_SIZE,
    TEXT_COLOR,
    Classes,
    Coloring,
    Values,
    add_colorbar,
    add_legend,
    choose_coloring,
    escape_math,
    finish_layout,
    format_chart,
    format_embedding_axes,
    get_axes,
    get_panels,
    load_matplotlib,
    make_legend_dot,
    set_title,
)

if TYPE_CHECKING:
    from ..io.table import Column
    from ..reducer import Reducer
    from .canvas import Annotation, Axes, AxesInput, Bbox, Colormap, Panels, ScalarMappable

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
    # 300 bins are about two pixels each in a plot of usual size.
    edges = np.linspace(x.min(), x.max(), 301)
    counts = np.stack([np.histogram(x[codes == code], edges)[0] for code in range(lanes)])
    height = 0.8 * compute_opacity(counts)
    middle = (edges[1:] + edges[:-1]) / 2
    for code in range(lanes):
        floor = lanes - 1 - code - 0.4
        color = colors.color(code) if isinstance(colors, Classes) else MUTED_COLOR
        ax.fill_between(middle, floor, floor + height[code], step="mid", color=color, lw=0)
        ax.axhline(floor, color=PALE_COLOR, lw=0.5)


MAX_DRAWN_POINTS = 50_000  # More points would hide each other.

Image = NDArray[np.float64]


class Cells(NamedTuple):
    """Number of points in each cell, and the cell of each point."""

    counts: NDArray[np.int64]  # rows run from the bottom up
    cell: NDArray[np.int64]
    extent: tuple[float, float, float, float]

    def total(self, weights: NDArray[np.float64]) -> Image:
        """Sum of the weights of the points in each cell."""
        sums = np.bincount(self.cell, weights, self.counts.size)
        return np.asarray(sums.reshape(self.counts.shape), np.float64)


def count_cells(P: NDArray[np.float64], most: int = 360) -> Cells:
    """Count the points in square cells over all of them.

    360 cells per side are about two pixels each in a plot of usual size.
    """
    low, high = P.min(axis=0).astype(np.float64), P.max(axis=0).astype(np.float64)
    # Cells that mostly hold one point or none show noise, so fewer points get fewer cells.
    per_side = min(most, int(0.8 * len(P) ** 0.5))
    side = float((high - low).max()) / per_side or 1.0
    width, height = (np.floor((high - low) / side).astype(int) + 1).tolist()
    column, row = np.minimum((P - low) // side, [width - 1, height - 1]).astype(np.int64).T
    cell = row * width + column
    counts = np.bincount(cell, minlength=width * height).reshape(height, width)
    extent = (low[0], low[0] + width * side, low[1], low[1] + height * side)
    return Cells(counts, cell, extent)


def compute_opacity(counts: NDArray[np.int64], least: float = 0.3) -> Image:
    """Opacity of cells on a logarithmic scale: 0 if empty, `least` for one point, 1 at most."""
    most = max(int(counts.max()), 2)
    opacity = least + (1 - least) * np.log(np.maximum(counts, 1)) / np.log(most)
    return np.asarray(np.where(counts > 0, opacity, 0), np.float64)


def draw_density(
    ax: Axes, P: NDArray[np.float64], colors: Classes | Values | None
) -> ScalarMappable | None:
    """Draw the cells; return what a colorbar of counts needs, or None if color has a meaning."""
    grid = count_cells(P)
    if colors is None:
        counts = np.where(grid.counts > 0, grid.counts, np.nan)
        norm = load_matplotlib().colors.LogNorm(1, max(int(grid.counts.max()), 2))
        # The scale does not begin at white, because a single point must be visible.
        return _draw_image(ax, counts, grid, cmap=_trim_colormap("viridis_r"), norm=norm)
    mixed = (
        _mix_class_colors(grid, colors)
        if isinstance(colors, Classes)
        else _color_means(grid, colors)
    )
    _draw_image(ax, np.dstack([mixed, compute_opacity(grid.counts)]), grid)
    return None


def _draw_image(ax: Axes, pixels: Image, grid: Cells, **look: object) -> ScalarMappable:
    return ax.imshow(
        pixels, extent=grid.extent, origin="lower", interpolation="nearest", zorder=1, **look
    )


def _trim_colormap(name: str) -> Colormap:
    """Return a colormap without its palest tenth."""
    shades = load_matplotlib().colormaps[name](np.linspace(0.1, 1, 256))
    return load_matplotlib().colors.ListedColormap(shades)


def _mix_class_colors(grid: Cells, classes: Classes) -> Image:
    """The mean color of the points in each cell, in linear light."""
    gamma = 2.2  # from sRGB color values to light
    rgb = classes.rgb() ** gamma
    members = np.maximum(grid.counts, 1)
    layers = [grid.total(rgb[classes.codes, channel]) / members for channel in range(3)]
    return np.asarray(np.clip(np.dstack(layers), 0, 1) ** (1 / gamma))


def _color_means(grid: Cells, values: Values) -> Image:
    """The color of the mean value in each cell."""
    known = np.isfinite(values.numbers)
    members = grid.total(known.astype(np.float64))
    mean = grid.total(np.where(known, values.numbers, 0)) / np.maximum(members, 1)
    colors = np.asarray(values.scale().to_rgba(mean))[:, :, :3]
    return np.where(members[:, :, None] > 0, colors, 0.75)


WordPosition: TypeAlias = tuple[str, str, int, int]

# Positions of a word beside its point: horizontal and vertical alignment, and the offset.
WORD_POSITIONS: tuple[WordPosition, ...] = (
    ("left", "center", 4, 0),
    ("right", "center", -4, 0),
    ("center", "bottom", 0, 4),
    ("center", "top", 0, -4),
    ("left", "bottom", 3, 3),
    ("right", "bottom", -3, 3),
    ("left", "top", 3, -3),
    ("right", "top", -3, -3),
)


def select_apart(P: NDArray[np.float64], width: float, height: float) -> NDArray[np.int64]:
    """Choose points whose boxes do not overlap, greedily in a fixed random order."""
    order = np.argsort(random.bits(0, "thumbnails", np.arange(len(P))), kind="stable")
    chosen: list[int] = []
    taken: dict[tuple[int, int], list[int]] = {}
    for i in order.tolist():
        x, y = int(P[i, 0] // width), int(P[i, 1] // height)
        near = (j for a in (-1, 0, 1) for b in (-1, 0, 1) for j in taken.get((x + a, y + b), ()))
        if all(abs(P[i, 0] - P[j, 0]) >= width or abs(P[i, 1] - P[j, 1]) >= height for j in near):
            chosen.append(i)
            taken.setdefault((x, y), []).append(i)
    return np.sort(np.array(chosen, np.int64))


def draw_thumbnails(
    ax: Axes,
    P: NDArray[np.float64],
    images: ArrayLike,
    colors: Classes | Values | None,
    cmap: str,
) -> int:
    """Draw as many images at their points as fit without overlap; return how many."""
    thumbnails = _check_images(images, len(P))
    tall, wide = thumbnails.shape[1:3]
    side = float(np.ptp(P, axis=0).max()) / 18 or 1.0  # 18 fit along the longer side
    width, height = side * min(1, wide / tall), side * min(1, tall / wide)
    low, high = float(np.nanmin(thumbnails)), float(np.nanmax(thumbnails))
    chosen = select_apart(P, 1.06 * width, 1.06 * height).tolist()
    for i in chosen:
        x, y = P[i]
        extent = (x - width / 2, x + width / 2, y - height / 2, y + height / 2)
        look = {"cmap": cmap, "vmin": low, "vmax": high} if thumbnails.ndim == 3 else {}
        ax.imshow(thumbnails[i], extent=extent, zorder=3, aspect="auto", **look)
        by_class = isinstance(colors, Classes)
        edge = colors.color(int(colors.codes[i])) if isinstance(colors, Classes) else PALE_COLOR
        ax.plot(
            np.array(extent)[[0, 1, 1, 0, 0]],
            np.array(extent)[[2, 2, 3, 3, 2]],
            color=edge,
            lw=1.4 if by_class else 0.5,
            zorder=3.5,
        )
    # imshow changes the limits; images at the rim need half their size more than points do.
    half = np.array([width, height]) / 2
    format_embedding_axes(ax, np.vstack([P - half, P + half]))
    return len(chosen)


def _check_images(images: ArrayLike, n: int) -> Column:
    thumbnails = np.asarray(images)
    if (
        thumbnails.ndim not in (3, 4)
        or len(thumbnails) != n
        or thumbnails.shape[3:] not in ((), (3,))
    ):
        raise DataError(
            f"images have shape {thumbnails.shape}; expected ({n}, height, width) for gray ones, "
            f"({n}, height, width, 3) for colored ones."
        )
    if thumbnails.ndim == 4 and thumbnails.dtype.kind == "f":
        top = float(thumbnails.max())
        thumbnails = np.clip(thumbnails / (255 if top > 1 else 1), 0, 1)
    return thumbnails


def draw_words(
    ax: Axes,
    P: NDArray[np.float64],
    names: Sequence[str],
    colors: str | Sequence[NDArray[np.float64]] = TEXT_COLOR,
    size: float = SMALL_FONT_SIZE,
    away_from: tuple[float, float] | None = None,
    avoid: NDArray[np.float64] | None = None,
) -> int:
    """Write names beside their points, earlier ones first; one that would overlap is left out.

    Return how many are drawn. `colors` is one for all, or one per point. With `away_from` (a
    point) a name is on the far side of its point if it can be. Points of `avoid` are covered by a
    name only if it has no other position.
    """
    if len(names) != len(P):
        raise DataError(f"{len(names)} words for {len(P)} points; give one per point.")
    figure = finish_layout(ax)
    frame = ax.get_window_extent()
    scale = figure.dpi / 72
    pixels = ax.transData.transform(P)
    boxes = _make_boxes(pixels)  # no word covers a point
    obstacles = _make_boxes(ax.transData.transform(P[:0] if avoid is None else avoid))
    n_drawn = 0
    for i, name in enumerate(names[:1000]):  # no plot has room for more
        text = ax.annotate(
            escape_math(str(name)),
            P[i],
            xytext=(0, 0),
            textcoords="offset points",
            fontsize=size,
            color=colors if isinstance(colors, str) else colors[i],
            zorder=4,
            path_effects=load_matplotlib().halo,
        )
        text.set_in_layout(False)
        outward = None if away_from is None else P[i] - np.asarray(away_from)
        tries = (np.vstack([boxes, obstacles]), boxes) if len(obstacles) else (boxes,)
        where = _sort_positions(outward)
        if not any(_position_word(text, pixels[i], where, t, i, frame, scale) for t in tries):
            text.remove()
            continue
        n_drawn += 1
        box = text.get_window_extent()
        boxes = np.vstack([boxes, [box.x0 - 1, box.y0, box.x1 + 1, box.y1]])
    return n_drawn


def _make_boxes(pixels: NDArray[np.float64]) -> NDArray[np.float64]:
    """The boxes of points, extending two pixels to each side."""
    return np.hstack([pixels - 2, pixels + 2]).reshape(-1, 4)


def _sort_positions(outward: NDArray[np.float64] | None) -> tuple[WordPosition, ...]:
    if outward is None:
        return WORD_POSITIONS
    x, y = outward
    return tuple(sorted(WORD_POSITIONS, key=lambda p: -(x * p[2] + y * p[3]) / np.hypot(*p[2:])))


def _position_word(
    text: Annotation,
    pixel: NDArray[np.float64],
    positions: tuple[WordPosition, ...],
    boxes: NDArray[np.float64],
    own: int,
    frame: Bbox,
    scale: float,
) -> bool:
    """Move the text to the first free position around its point; False if there is none."""
    size = text.get_window_extent()
    wide, tall = size.width, size.height
    for across, up, dx, dy in positions:
        x = pixel[0] + dx * scale - {"left": 0, "center": wide / 2, "right": wide}[across]
        y = pixel[1] + dy * scale - {"bottom": 0, "center": tall / 2, "top": tall}[up]
        inside = frame.x0 <= x and x + wide <= frame.x1 and frame.y0 <= y and y + tall <= frame.y1
        hits = (boxes[:, 0] < x + wide) & (boxes[:, 2] > x)
        hits &= (boxes[:, 1] < y + tall) & (boxes[:, 3] > y)
        hits[own] = False
        if inside and not hits.any():
            text.set(ha=across, va=up)
            text.set_position((dx, dy))
            return True
    return False


def draw_lines(
    ax: Axes,
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
    color: str,
    *,
    width: float = 0.9,
    alpha: float = 1.0,
    label: str = "",
) -> None:
    """Draw straight lines between pairs of points."""
    pairs = np.stack([starts, ends], axis=1)
    ax.add_collection(
        load_matplotlib().LineCollection(
            pairs, colors=color, linewidths=width, alpha=alpha, zorder=1.5, label=label
        )
    )
