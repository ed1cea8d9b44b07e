"""Loadings, biplots and eigenimages of linear methods, and the steps of PCA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError, ParameterError
from ..input.arguments import Input
from ..methods.pca import PCA
from .canvas import (
    COLORS,
    FONT_SIZE,
    MUTED_COLOR,
    PALE_COLOR,
    SMALL_FONT_SIZE,
    TEXT_COLOR,
    Coloring,
    add_colorbar,
    choose_coloring,
    escape_math,
    format_chart,
    format_embedding_axes,
    get_axes,
    get_panels,
    load_matplotlib,
    set_title,
)
from .embeddings import add_color_key, check_coordinates, draw_lines, draw_points, draw_words

if TYPE_CHECKING:
    from ..reducer import Reducer
    from .canvas import Axes, AxesInput, Panels


def loadings(
    model: Reducer,
    names: Sequence[str] | None = None,
    *,
    n_components: int | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Heat map of the loadings of PCA; blue and red are opposite signs.

    Of more than 25 features those with the largest loadings are shown.

    Parameters
    ----------
    model : Reducer
        A fitted PCA, or an array of components (components x features).
    names : sequence of str or None, default=None
        Of the features; those the model was fitted with by default.
    n_components : int or None, default=None
        How many components; up to five by default.

    Examples
    --------
    >>> import lowd
    >>> from lowd import plot
    >>> pca = lowd.PCA(2).fit([[0, 1, 2], [1, 1, 5], [2, 4, 1], [7, 1, 1]])
    >>> ax = plot.loadings(pca, ["a", "b", "c"])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['a', 'b', 'c']
    """
    V, features = _get_components(model, names)
    V = V[: n_components or 5]
    # Lines for more than 25 features would not fit on a page.
    strongest = np.sort(np.argsort(-np.abs(V).max(axis=0), kind="stable")[:25])
    cells = V[:, strongest].T
    ax = get_axes(ax, 2.6 + 0.62 * cells.shape[1], 1.0 + 0.24 * len(cells))
    most = float(np.abs(cells).max()) or 1.0
    image = ax.imshow(cells, cmap="RdBu_r", vmin=-most, vmax=most, aspect="auto")
    for (row, column), number in np.ndenumerate(cells):
        dark = abs(number) > 0.6 * most
        look = {"ha": "center", "va": "center", "fontsize": SMALL_FONT_SIZE}
        ax.text(column, row, f"{number:.2f}", color="white" if dark else TEXT_COLOR, **look)
    heading = f"Loadings of {type(model).__name__}" if hasattr(model, "components_") else None
    format_chart(ax, "component", "", heading if title is None else title)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.set_xticks(
        range(len(V)), [_format_axis(model, j) for j in range(len(V))], fontsize=FONT_SIZE
    )
    ax.set_yticks(
        range(len(cells)), [escape_math(features[j]) for j in strongest], fontsize=FONT_SIZE
    )
    if len(strongest) < len(features):
        ax.set_ylabel(
            f"the {len(strongest)} strongest of {len(features)} features", fontsize=FONT_SIZE
        )
    add_colorbar(ax, image, "loading")
    return ax


def _get_components(
    model: Reducer, names: Sequence[str] | None
) -> tuple[NDArray[np.float64], list[str]]:
    V = np.asarray(getattr(model, "components_", model))
    if V.ndim != 2 or V.dtype.kind not in "iuf":
        raise DataError(
            f"{type(model).__name__} has no components_: only linear methods have loadings."
        )
    if names is None:
        names = getattr(model, "feature_names_in_", [f"column {j}" for j in range(V.shape[1])])
    if len(names) != V.shape[1]:
        raise DataError(f"{len(names)} names for {V.shape[1]} features.")
    return V.astype(np.float64), [str(name) for name in names]


def _format_axis(model: Reducer, j: int) -> str:
    share = getattr(model, "explained_variance_ratio_", None)
    return f"PC{j + 1}" if share is None else f"PC{j + 1}\n{100 * share[j]:.0f} %"


def biplot(
    model: Reducer,
    X: Input,
    labels: ArrayLike | None = None,
    *,
    names: Sequence[str] | None = None,
    n_arrows: int = 8,
    kind: Coloring = "auto",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Biplot of PCA: samples as points and features as arrows, on the first two components.

    An arrow points to where its feature grows; its length is the standard deviation of the feature
    in this plane. Arrows have one common scale, points another.

    Parameters
    ----------
    model : Reducer
        A fitted PCA of at least two components.
    X : array-like of shape (n_samples, n_features)
        The samples to draw.
    n_arrows : int, default=8
        The features with the longest arrows are drawn.

    Examples
    --------
    >>> import lowd
    >>> from lowd import plot
    >>> X = [[0, 1, 2], [1, 1, 5], [2, 4, 1], [7, 1, 1]]
    >>> ax = plot.biplot(lowd.PCA(2).fit(X), X)
    >>> ax.get_xlabel()
    'PC1 (70 %)'
    """
    V, features = _get_components(model, names)
    if len(V) < 2:
        raise ParameterError("a biplot needs two components; fit PCA(2) or more.")
    P = check_coordinates(np.asarray(model.transform(X))[:, :2])[0]
    colors = choose_coloring(labels, len(P), kind)
    ax = get_axes(ax, 6.2, 5.0)
    spread = np.sqrt(np.asarray(getattr(model, "explained_variance_", np.ones(len(V))))[:2])
    arrows = (V[:2] * spread[:, None]).T
    length = np.hypot(*arrows.T)
    longest = np.argsort(-length, kind="stable")[:n_arrows]
    # The longest arrow reaches as far as nine out of ten points.
    arrows = arrows * np.quantile(np.hypot(*P.T), 0.9) / (length.max() or 1.0)
    axes = [_format_axis(model, j).replace("\n", " (") for j in (0, 1)]
    axes = [f"{name})" if "(" in name else name for name in axes]
    draw_points(ax, P, colors, None, axes)
    format_embedding_axes(
        ax, np.vstack([P, arrows[longest] * [1.6, 1.15]])
    )  # space for their names
    add_color_key(ax, colors, None, len(P))
    _add_biplot_key(ax, len(longest), len(features))
    set_title(ax, _title_biplot(model, len(P), len(features)) if title is None else title)
    for tip in arrows[longest]:
        ax.annotate(
            "", tip, (0, 0), arrowprops={"arrowstyle": "-|>", "color": TEXT_COLOR, "lw": 1.1}
        )
    # Names avoid the arrows, and points, if they can.
    along = np.linspace(0, 1, 20)[:, None, None] * arrows[longest]
    draw_words(
        ax,
        arrows[longest],
        [features[j] for j in longest],
        TEXT_COLOR,
        FONT_SIZE,
        away_from=(0, 0),
        avoid=np.vstack([P[:5000], along.reshape(-1, 2)]),
    )
    return ax


def _title_biplot(model: Reducer, n: int, n_features: int) -> str:
    return f"{type(model).__name__} of {n} rows, {n_features} columns"


def _add_biplot_key(ax: Axes, n_arrows: int, n_features: int) -> None:
    """Explain the marks below the axes."""
    which = "a feature" if n_arrows == n_features else f"a feature ({n_arrows} of {n_features})"
    ax.annotate(
        f"Dots are rows. An arrow is {which}: it points to where the feature grows,\n"
        "and the longer it is, the more of the feature's variance lies in this plane.",
        (0, 0),
        (0, -20),
        xycoords="axes fraction",
        textcoords="offset points",
        va="top",
        fontsize=SMALL_FONT_SIZE,
        color=MUTED_COLOR,
    )


def eigenimages(
    model: Reducer,
    shape: tuple[int, ...],
    *,
    n_images: int = 11,
    columns: int = 6,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Components of a PCA of images as images (eigenfaces), the mean first.

    Blue and red are opposite signs.

    Parameters
    ----------
    model : Reducer
        A fitted PCA of rows of pixels.
    shape : tuple of int
        (height, width) of an image.
    n_images : int, default=11
        How many components are shown in addition to the mean.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> from lowd import plot
    >>> X = np.random.default_rng(0).random((20, 12))
    >>> ax = plot.eigenimages(lowd.PCA(3).fit(X), (3, 4))
    >>> len(ax.texts)
    4
    """
    V, _ = _get_components(model, None)
    if int(np.prod(shape)) != V.shape[1] or len(shape) != 2:
        raise ParameterError(
            f"shape={tuple(shape)}: expected (height, width) with {V.shape[1]} pixels in all."
        )
    mean = np.asarray(getattr(model, "mean_", np.zeros(V.shape[1])), np.float64)
    tiles = [_color_gray(mean.reshape(shape))]
    captions = ["mean"]
    for j, axis in enumerate(V[:n_images]):
        tiles.append(_color_signed(axis.reshape(shape)))
        captions.append(_format_axis(model, j).replace("\n", ": "))
    ax = _draw_montage(tiles, captions, columns, title, ax)
    signs = load_matplotlib().ScalarMappable(
        load_matplotlib().colors.Normalize(-1, 1), load_matplotlib().colormaps["RdBu_r"]
    )
    bar = add_colorbar(ax, signs, "weight of a pixel, by component")
    bar.set_ticks([-1, 0, 1], labels=["negative", "0", "positive"])
    return ax


def _color_gray(image: NDArray[np.float64]) -> NDArray[np.float64]:
    scaled = (image - image.min()) / (np.ptp(image) or 1.0)
    return np.asarray(load_matplotlib().colormaps["gray"](scaled))


def _color_signed(image: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(
        load_matplotlib().colormaps["RdBu_r"](0.5 + 0.5 * image / (np.abs(image).max() or 1.0))
    )


def _draw_montage(
    tiles: list[NDArray[np.float64]],
    captions: list[str],
    columns: int,
    title: str | None,
    ax: Axes | None,
) -> Axes:
    """Draw tiles in rows on one axes, each with a caption above."""
    columns = min(columns, len(tiles))
    rows = -(-len(tiles) // columns)
    tall, wide = tiles[0].shape[:2]
    across, down = 1.1 * wide, 1.1 * tall + 0.26 * wide  # the rest is space for a line of text
    scale = 1.15 / across
    ax = get_axes(ax, scale * across * columns + 0.2, scale * down * rows + 0.4)
    for i, (tile, caption) in enumerate(zip(tiles, captions, strict=True)):
        x, y = across * (i % columns), -down * (i // columns)
        ax.imshow(tile, extent=(x, x + wide, y - tall, y), interpolation="nearest")
        ax.text(
            x + wide / 2,
            y + 0.03 * wide,
            caption,
            ha="center",
            va="bottom",
            fontsize=SMALL_FONT_SIZE,
        )
    ax.set_xlim(-0.05 * wide, across * columns)
    ax.set_ylim(-down * rows + 0.2 * wide, 0.26 * wide)
    ax.set_aspect("equal")
    ax.set_axis_off()
    if title:
        ax.set_title(escape_math(title), fontsize=FONT_SIZE + 2, color=MUTED_COLOR)
    return ax


def pca_steps(
    X: Input,
    columns: tuple[int, int] = (0, 1),
    *,
    scale: bool = True,
    names: Sequence[str] | None = None,
    title: str | None = None,
    ax: AxesInput = None,
) -> Panels:
    """The steps of PCA from two features to one dimension.

    The data; centered; scaled to unit variance (if `scale`); the principal axes, two standard
    deviations long; the projections on the first axis; and the reconstruction in the units of the
    data, with its error.

    Examples
    --------
    >>> from lowd import plot
    >>> axes = plot.pca_steps([[1.0, 20.0], [2.0, 24.0], [3.0, 35.0], [4.0, 39.0]])
    >>> [ax.get_title() for ax in axes]
    ['1 data', '2 centered', '3 scaled', '4 axes', '5 projected', '6 reconstructed']
    """
    rows, names = _select_columns(X, columns, names)
    model = PCA(2, scale=scale).fit(rows)
    mean, unit = np.asarray(model.mean_), np.asarray(model.scale_)
    centered = rows - mean
    scaled = centered / unit
    V = np.asarray(model.components_, np.float64)
    spread = np.sqrt(np.asarray(model.explained_variance_))
    scores = scaled @ V[0]
    projected = np.outer(scores, V[0])
    back = projected * unit + mean
    panels = get_panels(ax, 6, 3, 2.9)
    _draw_cloud(panels[0], rows, "1 data", names, mean)
    _draw_cloud(panels[1], centered, "2 centered", [f"{name} - mean" for name in names])
    units = [f"{name}, standard deviations" if scale else f"{name} - mean" for name in names]
    _draw_cloud(panels[2], scaled, "3 scaled" if scale else "3 not scaled", units)
    _draw_cloud(panels[3], scaled, "4 axes", units, color=PALE_COLOR)
    for axis, length, color, share in zip(
        V, spread, (COLORS[2], COLORS[3]), model.explained_variance_ratio_, strict=True
    ):
        arrow = {"arrowstyle": "-|>", "color": color, "lw": 2, "shrinkA": 0, "shrinkB": 0}
        panels[3].annotate("", 2 * length * axis, (0, 0), arrowprops=arrow)
        # An arrow that ends outside of the axes would not be drawn, so the limits are extended.
        panels[3].update_datalim([2 * length * axis])
        panels[3].plot([], [], color=color, lw=2, label=f"{100 * share:.0f} % of the variance")
    _draw_cloud(panels[4], scaled, "5 projected", units, color=PALE_COLOR)
    draw_lines(panels[4], scaled, projected, MUTED_COLOR, width=0.5, label="what is lost")
    panels[4].scatter(
        *projected.T, s=12, color=COLORS[2], linewidths=0, zorder=3, label="on the first axis"
    )
    _draw_cloud(panels[5], rows, "6 reconstructed", names, mean, PALE_COLOR)
    draw_lines(panels[5], rows, back, MUTED_COLOR, width=0.5, label="error")
    panels[5].scatter(*back.T, s=12, color=COLORS[2], linewidths=0, zorder=3, label="reconstructed")
    for panel in panels:
        panel.legend(fontsize=FONT_SIZE - 1, handlelength=1.2, loc="best", edgecolor="none")
    if title:
        panels[0].get_figure().suptitle(title)
    return panels


def _select_columns(
    X: Input, columns: tuple[int, int], names: Sequence[str] | None
) -> tuple[NDArray[np.float64], list[str]]:
    if names is None:
        names = [str(name) for name in getattr(X, "columns", ())]
    rows = np.asarray(X, np.float64)
    if rows.ndim != 2 or rows.shape[1] < 2 or len(rows) < 3:
        raise DataError(f"pca_steps needs rows of two columns, got shape {rows.shape}.")
    if len(columns) != 2 or not all(0 <= j < rows.shape[1] for j in columns):
        raise ParameterError(
            f"columns={columns!r}: expected two column numbers from 0 to {rows.shape[1] - 1}."
        )
    names = list(names) or [f"column {j}" for j in range(rows.shape[1])]
    return rows[:, list(columns)], [str(names[j]) for j in columns]


def _draw_cloud(
    ax: Axes,
    P: NDArray[np.float64],
    title: str,
    names: list[str],
    center: NDArray[np.float64] | tuple[float, float] = (0.0, 0.0),
    color: str = COLORS[0],
) -> None:
    ax.scatter(*P.T, s=12, color=color, alpha=0.8, linewidths=0, zorder=2, label="row")
    ax.plot(*center, ls="", marker="+", ms=9, mew=1.4, color=TEXT_COLOR, zorder=4, label="mean")
    format_chart(ax, names[0], names[1], title)
    ax.tick_params(labelsize=FONT_SIZE - 1)
    ax.xaxis.label.set_size(FONT_SIZE)
    ax.yaxis.label.set_size(FONT_SIZE)
    ax.margins(0.08)
    if title[0] in "2345":
        ax.set_aspect("equal", adjustable="datalim")
