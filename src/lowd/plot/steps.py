"""PCA in six pictures: data, centered, scaled, axes, projected, back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, ParameterError
from ..methods.pca import PCA
from .canvas import COLORS, INK, PALE, SMALL, SOFT, as_chart, many_axes
from .crowding import lines


def pca_steps(
    X: Any,
    columns: tuple[int, int] = (0, 1),
    *,
    scale: bool = True,
    names: Any = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """What a PCA to one dimension does to two columns of the data, step by step.

    The data; centered; in units of their standard deviations (if `scale`); the principal axes, two
    standard deviations long; the places on the first axis; and these places back in the units of
    the data, with what was lost.

    Examples
    --------
    >>> from lowd import plot
    >>> axes = plot.pca_steps([[1.0, 20.0], [2.0, 24.0], [3.0, 35.0], [4.0, 39.0]])
    >>> [ax.get_title() for ax in axes]
    ['1 the data', '2 centered', '3 scaled', '4 axes', '5 projected', '6 back']
    """
    rows, names = _two_columns(X, columns, names)
    model = PCA(2, scale=scale).fit(rows)
    mean, unit = np.asarray(model.mean_), np.asarray(model.scale_)
    centered = rows - mean
    scaled = centered / unit
    V = np.asarray(model.components_, np.float64)
    spread = np.sqrt(np.asarray(model.explained_variance_))
    places = scaled @ V[0]
    foot = np.outer(places, V[0])
    back = foot * unit + mean
    panels = many_axes(ax, 6, 3, 2.9)
    _cloud(panels[0], rows, "1 the data", names, mean)
    _cloud(panels[1], centered, "2 centered", [f"{name} - mean" for name in names])
    how = "standard deviations" if scale else "not scaled"
    _cloud(panels[2], scaled, "3 scaled" if scale else "3 as they are", [how, how])
    _cloud(panels[3], scaled, "4 axes", ["", ""], color=PALE)
    for axis, length, color, share in zip(
        V, spread, (COLORS[2], COLORS[3]), model.explained_variance_ratio_, strict=True
    ):
        arrow = {"arrowstyle": "-|>", "color": color, "lw": 2, "shrinkA": 0, "shrinkB": 0}
        panels[3].annotate("", 2 * length * axis, (0, 0), arrowprops=arrow)
        # An arrow that ends outside of the axes is not drawn: make room for it.
        panels[3].update_datalim([2 * length * axis])
        panels[3].plot([], [], color=color, lw=2, label=f"{share:.0%} of the variance")
    panels[3].legend(frameon=False, fontsize=SMALL - 1, loc="upper left")
    _cloud(panels[4], scaled, "5 projected", ["", ""], color=PALE)
    lines(panels[4], scaled, foot, SOFT, linewidths=0.5)
    panels[4].scatter(*foot.T, s=12, color=COLORS[2], linewidths=0, zorder=3)
    _cloud(panels[5], rows, "6 back", names, mean, PALE)
    lines(panels[5], rows, back, SOFT, linewidths=0.5)
    panels[5].scatter(*back.T, s=12, color=COLORS[2], linewidths=0, zorder=3)
    if title:
        panels[0].get_figure().suptitle(title)
    return panels


def _two_columns(
    X: Any, columns: tuple[int, int], names: Any
) -> tuple[NDArray[np.float64], list[str]]:
    if names is None:
        names = [str(name) for name in getattr(X, "columns", ())]
    rows = np.asarray(X, np.float64)
    if rows.ndim != 2 or rows.shape[1] < 2 or len(rows) < 3:
        raise DataError(f"PCA in pictures needs rows of two columns, got shape {rows.shape}.")
    if len(columns) != 2 or not all(0 <= j < rows.shape[1] for j in columns):
        raise ParameterError(
            f"columns={columns!r}: expected two column numbers from 0 to {rows.shape[1] - 1}."
        )
    names = list(names) or [f"column {j}" for j in range(rows.shape[1])]
    return rows[:, list(columns)], [str(names[j]) for j in columns]


def _cloud(
    ax: Any,
    P: NDArray[np.float64],
    title: str,
    names: list[str],
    middle: Any = (0.0, 0.0),
    color: str = COLORS[0],
) -> None:
    ax.scatter(*P.T, s=12, color=color, alpha=0.8, linewidths=0, zorder=2)
    ax.plot(*middle, marker="+", ms=9, mew=1.4, color=INK, zorder=4)
    as_chart(ax, names[0], names[1], title)
    ax.tick_params(labelsize=SMALL - 1)
    ax.xaxis.label.set_size(SMALL)
    ax.yaxis.label.set_size(SMALL)
    ax.margins(0.08)
    if title[0] in "2345":
        ax.set_aspect("equal", adjustable="datalim")
