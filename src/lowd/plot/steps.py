"""The steps of PCA in six panels: data, centered, scaled, axes, projected, reconstructed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, ParameterError
from ..input.arguments import Input
from ..methods.pca import PCA
from .annotations import draw_lines
from .canvas import COLORS, FONT_SIZE, MUTED_COLOR, PALE_COLOR, TEXT_COLOR, format_chart, get_panels

if TYPE_CHECKING:
    from .canvas import Axes, AxesInput, Panels


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
