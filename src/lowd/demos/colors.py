"""Ekman's colors: judgments of similarity contain the color circle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..methods.nonmetric_mds import NonMetricMDS
from ..plot.canvas import format_chart
from . import tables
from .drawing import BLUE, MUTED_COLOR, TEXT_COLOR, bare, kept, panels
from .result import Demonstration, Number

# About how the 14 lights look on a screen.
INKS = [
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
    figure, (circle, shepard) = panels(1, 2, 10, 4.8)
    _circle(circle, model.embedding_, names)
    _shepard(shepard, model, D)
    return Demonstration(
        "colors",
        "Colors: 14 lights by how similar people find them",
        "Only the order of the judgments is used, yet the lights stand in a circle by wavelength: "
        "violet closes the gap to red, although their wavelengths are the furthest apart.",
        (
            Number(
                "lights next to their neighbors in the spectrum",
                in_order(model.embedding_),
                14,
                "Shepard (1962): a circle",
            ),
            Number("Stress-1", float(model.stress1_)),
        ),
        (kept(figure, out, "colors"),),
    )


def in_order(Y: Any) -> int:
    """How many steps around the center go from a light to the next wavelength; red to violet is
    one."""
    angle = np.arctan2(*(Y - Y.mean(0)).T)
    step = np.diff(np.append(np.argsort(angle), np.argsort(angle)[0])) % len(Y)
    return int(max((step == 1).sum(), (step == len(Y) - 1).sum()))


def _circle(ax: Any, Y: Any, names: tuple[str, ...]) -> None:
    ring = np.vstack([Y, Y[:1]])
    ax.plot(*ring.T, color=MUTED_COLOR, lw=0.8, zorder=1)
    ax.scatter(*Y.T, s=170, c=INKS, zorder=2)
    outward = (Y - Y.mean(0)) / np.linalg.norm(Y - Y.mean(0), axis=1, keepdims=True)
    for place, name, way in zip(Y, names, outward, strict=True):
        look = {"ha": "center", "va": "center", "fontsize": 9, "color": TEXT_COLOR}
        ax.annotate(f"{name} nm", place, 28 * way, textcoords="offset points", **look)
    bare(ax, "NonMetricMDS, joined in the order of wavelengths")
    low, high = Y.min(0) - 0.25, Y.max(0) + 0.25  # room for the words
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.set_aspect("equal", adjustable="box")


def _shepard(ax: Any, model: NonMetricMDS, D: Any) -> None:
    """How the judgments became distances: a rising function, whatever its shape."""
    i, j = np.triu_indices(len(D), 1)
    d = np.linalg.norm(model.embedding_[i] - model.embedding_[j], axis=1)
    ax.scatter(D[i, j], d, s=14, color=BLUE, alpha=0.6, lw=0, label="pairs")
    ax.step(
        model.isotonic_x_, model.isotonic_y_, color=MUTED_COLOR, lw=1.2, label="fitted, only rising"
    )
    format_chart(ax, "1 - similarity", "distance in the map", "judgment and distance")
    ax.legend(frameon=False, loc="upper left")
