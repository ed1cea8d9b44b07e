"""Ekman's colors: non-metric MDS of judged similarities finds the color circle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lowd.methods.mds import NonMetricMDS
from lowd.parameters import Reals
from lowd.plot.canvas import format_chart

from . import tables
from .drawing import BLUE, MUTED_COLOR, TEXT_COLOR, format_panel, make_panels, save_figure
from .result import Demonstration, Number

if TYPE_CHECKING:
    from lowd.plot.canvas import Axes

# Colors of the 14 wavelengths, as far as a screen can show them.
LIGHT_COLORS = [
    "#5A1FE0",
    "#3B2BF0",
    "#0F5BF5",
    "#0A78F0",
    "#00B4D8",
    "#00C08A",
    "#2FB82F",
    "#7CC51F",
    "#E0B400",
    "#F59A00",
    "#F57C00",
    "#EF5A12",
    "#E0301E",
    "#B81414",
]


def show(out: Path, data: Path | None = None) -> Demonstration:  # noqa: ARG001 - a table is here
    names, similarity = tables.ekman()
    D = 1 - similarity
    np.fill_diagonal(D, 0)
    model = NonMetricMDS(2, metric="precomputed", eps=1e-9, max_iter=2000).fit(D)
    figure, (circle, shepard) = make_panels(1, 2, 10, 4.8)
    _draw_circle(circle, model.embedding_, names)
    _draw_shepard(shepard, model, D)
    return Demonstration(
        "colors",
        "Colors: 14 lights by how similar people find them",
        "Only the order of the judgments is used, yet the lights lie on a circle by wavelength: "
        "violet closes the gap to red, although their wavelengths are the furthest apart.",
        (
            Number(
                "lights next to their neighbors in the spectrum",
                count_ordered_steps(model.embedding_),
                14,
                "Shepard (1962): a circle",
            ),
            Number("Stress-1", float(model.stress1_)),
        ),
        (save_figure(figure, out, "colors"),),
    )


def count_ordered_steps(Y: Reals) -> int:
    """Number of steps around the center from a light to the next wavelength, cyclically."""
    angle = np.arctan2(*(Y - Y.mean(0)).T)
    step = np.diff(np.append(np.argsort(angle), np.argsort(angle)[0])) % len(Y)
    return int(max((step == 1).sum(), (step == len(Y) - 1).sum()))


def _draw_circle(ax: Axes, Y: Reals, names: tuple[str, ...]) -> None:
    ring = np.vstack([Y, Y[:1]])
    ax.plot(*ring.T, color=MUTED_COLOR, lw=0.8, zorder=1)
    ax.scatter(*Y.T, s=170, c=LIGHT_COLORS, zorder=2)
    outward = (Y - Y.mean(0)) / np.linalg.norm(Y - Y.mean(0), axis=1, keepdims=True)
    for point, name, direction in zip(Y, names, outward, strict=True):
        look = {"ha": "center", "va": "center", "fontsize": 9, "color": TEXT_COLOR}
        ax.annotate(f"{name} nm", point, 28 * direction, textcoords="offset points", **look)
    format_panel(ax, "NonMetricMDS, joined in the order of wavelengths")
    low, high = Y.min(0) - 0.25, Y.max(0) + 0.25  # the margin is space for the names
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.set_aspect("equal", adjustable="box")


def _draw_shepard(ax: Axes, model: NonMetricMDS, D: NDArray[np.float64]) -> None:
    """Draw the Shepard diagram with the isotonic regression."""
    i, j = np.triu_indices(len(D), 1)
    d = np.linalg.norm(model.embedding_[i] - model.embedding_[j], axis=1)
    ax.scatter(D[i, j], d, s=14, color=BLUE, alpha=0.6, lw=0, label="pairs")
    ax.step(
        model.isotonic_x_, model.isotonic_y_, color=MUTED_COLOR, lw=1.2, label="isotonic regression"
    )
    format_chart(ax, "1 - similarity", "distance in the embedding", "Shepard diagram")
    ax.legend(frameon=False, loc="upper left")
