"""What the axes of a linear method are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, ParameterError
from .canvas import (
    INK,
    SMALL,
    SOFT,
    TINY,
    as_chart,
    as_map,
    colorbar,
    drawing,
    entitle,
    one_axes,
    plain,
)
from .colors import Coloring, coloring
from .crowding import words
from .maps import draw_points, explain, places

MOST_ROWS = 25  # columns of the data in a picture of loadings


def loadings(
    model: Any,
    names: Any = None,
    *,
    n_axes: int | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """How much of each column is in each axis of a PCA: blue against red are opposite signs.

    Of more than 25 columns those with the largest entries are shown.

    Parameters
    ----------
    model
        A fitted PCA, or an array of components (axes x columns).
    names
        Of the columns; those the model was fitted with by default.
    n_axes
        How many axes; up to five by default.

    Examples
    --------
    >>> import lowd
    >>> from lowd import plot
    >>> pca = lowd.PCA(2).fit([[0, 1, 2], [1, 1, 5], [2, 4, 1], [7, 1, 1]])
    >>> ax = plot.loadings(pca, ["a", "b", "c"])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['a', 'b', 'c']
    """
    V, names = _components(model, names)
    V = V[: n_axes or 5]
    strongest = np.sort(np.argsort(-np.abs(V).max(axis=0), kind="stable")[:MOST_ROWS])
    cells = V[:, strongest].T
    ax = one_axes(ax, 2.6 + 0.62 * cells.shape[1], 1.0 + 0.24 * len(cells))
    most = float(np.abs(cells).max()) or 1.0
    shown = ax.imshow(cells, cmap="RdBu_r", vmin=-most, vmax=most, aspect="auto")
    for (row, column), number in np.ndenumerate(cells):
        dark = abs(number) > 0.6 * most
        look = {"ha": "center", "va": "center", "fontsize": TINY}
        ax.text(column, row, f"{number:.2f}", color="white" if dark else INK, **look)
    as_chart(ax, "axis", "", title)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.set_xticks(range(len(V)), [_axis_name(model, j) for j in range(len(V))], fontsize=SMALL)
    ax.set_yticks(range(len(cells)), [plain(names[j]) for j in strongest], fontsize=SMALL)
    if len(strongest) < len(names):
        ax.set_ylabel(f"the {len(strongest)} strongest of {len(names)} columns", fontsize=SMALL)
    colorbar(ax, shown, "entry of the axis")
    return ax


def _components(model: Any, names: Any) -> tuple[NDArray[np.float64], list[str]]:
    V = np.asarray(getattr(model, "components_", model))
    if V.ndim != 2 or V.dtype.kind not in "iuf":
        raise DataError(
            f"{type(model).__name__} has no components_: only axes of linear methods have loadings."
        )
    if names is None:
        names = getattr(model, "feature_names_in_", [f"column {j}" for j in range(V.shape[1])])
    if len(names) != V.shape[1]:
        raise DataError(f"{len(names)} names for {V.shape[1]} columns.")
    return V.astype(np.float64), [str(name) for name in names]


def _axis_name(model: Any, j: int) -> str:
    share = getattr(model, "explained_variance_ratio_", None)
    return str(j + 1) if share is None else f"{j + 1}\n{share[j]:.0%}"


def biplot(
    model: Any,
    X: Any,
    labels: Any = None,
    *,
    names: Any = None,
    n_arrows: int = 8,
    kind: Coloring = "auto",
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Rows as points and columns as arrows in the plane of the first two principal axes.

    An arrow points to where its column grows; its length says how much of the column the plane
    shows. Arrows have one common scale, points another.

    Parameters
    ----------
    model
        A fitted PCA of at least two axes.
    X
        The rows to draw.
    n_arrows
        The columns with the longest arrows are drawn.

    Examples
    --------
    >>> import lowd
    >>> from lowd import plot
    >>> X = [[0, 1, 2], [1, 1, 5], [2, 4, 1], [7, 1, 1]]
    >>> ax = plot.biplot(lowd.PCA(2).fit(X), X)
    >>> ax.get_xlabel()
    'axis 1 (70 %)'
    """
    V, names = _components(model, names)
    if len(V) < 2:
        raise ParameterError("a biplot needs two axes; fit PCA(2) or more.")
    P = places(np.asarray(model.transform(X))[:, :2])[0]
    colors = coloring(labels, len(P), kind)
    ax = one_axes(ax, 6.2, 5.0)
    spread = np.sqrt(np.asarray(getattr(model, "explained_variance_", np.ones(len(V))))[:2])
    arrows = (V[:2] * spread[:, None]).T
    length = np.hypot(*arrows.T)
    longest = np.argsort(-length, kind="stable")[:n_arrows]
    # The longest arrow reaches as far as nine of ten points.
    arrows = arrows * np.quantile(np.hypot(*P.T), 0.9) / (length.max() or 1.0)
    share = getattr(model, "explained_variance_ratio_", None)
    axes = [f"axis {j + 1}" + ("" if share is None else f" ({share[j]:.0%})") for j in (0, 1)]
    draw_points(ax, P, colors, None, [one.replace("%", " %") for one in axes])
    as_map(ax, np.vstack([P, arrows[longest] * [1.6, 1.15]]))  # room for their names
    explain(ax, colors)
    entitle(ax, title)
    for tip in arrows[longest]:
        ax.annotate("", tip, (0, 0), arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.1})
    words(ax, arrows[longest], [names[j] for j in longest], INK, SMALL, (0, 0))
    return ax


def eigenimages(
    model: Any,
    shape: tuple[int, ...],
    *,
    n_images: int = 11,
    columns: int = 6,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """The axes of a PCA of images as images, the mean first: blue and red are opposite signs.

    Parameters
    ----------
    model
        A fitted PCA of rows of pixels.
    shape
        (height, width) of an image.
    n_images
        How many axes beside the mean.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> from lowd import plot
    >>> X = np.random.default_rng(0).random((20, 12))
    >>> ax = plot.eigenimages(lowd.PCA(3).fit(X), (3, 4))
    >>> len(ax.texts)
    4
    """
    V, _ = _components(model, None)
    if int(np.prod(shape)) != V.shape[1] or len(shape) != 2:
        raise ParameterError(
            f"shape={tuple(shape)}: expected (height, width) with {V.shape[1]} pixels in all."
        )
    mean = np.asarray(getattr(model, "mean_", np.zeros(V.shape[1])), np.float64)
    tiles = [_gray(mean.reshape(shape))]
    captions = ["mean"]
    for j, axis in enumerate(V[:n_images]):
        tiles.append(_signed(axis.reshape(shape)))
        captions.append(_axis_name(model, j).replace("\n", ": "))
    return _montage(tiles, captions, columns, title, ax)


def _gray(image: NDArray[np.float64]) -> NDArray[np.float64]:
    scaled = (image - image.min()) / (np.ptp(image) or 1.0)
    return np.asarray(drawing().colormaps["gray"](scaled))


def _signed(image: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(
        drawing().colormaps["RdBu_r"](0.5 + 0.5 * image / (np.abs(image).max() or 1.0))
    )


def _montage(
    tiles: list[NDArray[np.float64]],
    captions: list[str],
    columns: int,
    title: str | None,
    ax: Any,
) -> Any:
    """Tiles in rows on one axes, each with a caption above."""
    columns = min(columns, len(tiles))
    rows = -(-len(tiles) // columns)
    tall, wide = tiles[0].shape[:2]
    across, down = 1.1 * wide, 1.1 * tall + 0.26 * wide  # room for a line of text
    scale = 1.15 / across
    ax = one_axes(ax, scale * across * columns + 0.2, scale * down * rows + 0.4)
    for i, (tile, caption) in enumerate(zip(tiles, captions, strict=True)):
        x, y = across * (i % columns), -down * (i // columns)
        ax.imshow(tile, extent=(x, x + wide, y - tall, y), interpolation="nearest")
        ax.text(x + wide / 2, y + 0.03 * wide, caption, ha="center", va="bottom", fontsize=TINY)
    ax.set_xlim(-0.05 * wide, across * columns)
    ax.set_ylim(-down * rows + 0.2 * wide, 0.26 * wide)
    ax.set_aspect("equal")
    ax.set_axis_off()
    if title:
        ax.set_title(plain(title), fontsize=SMALL + 2, color=SOFT)
    return ax
