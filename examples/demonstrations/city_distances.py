"""City distances: classical MDS recovers the map of cities from their distances."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lowd import errors
from lowd.methods.classical_mds import ClassicalMDS
from lowd.plot.canvas import make_legend_dot
from lowd.plot.embeddings import draw_words

from . import tables
from .agreement import compute_rmse, fit_procrustes, project_to_plane
from .drawing import (
    BLUE,
    PALE_COLOR,
    PINK,
    add_marks,
    format_panel,
    make_line,
    make_panels,
    save_figure,
)
from .result import Demonstration, Number

if TYPE_CHECKING:
    from lowd.plot.canvas import Axes

CMDSCALE = "R's cmdscale"


def show(out: Path, data: Path | None = None) -> Demonstration:  # noqa: ARG001 - tables are here
    figure, (roads_ax, air_ax) = make_panels(1, 2, 13, 6)
    roads, air = tables.europe(), tables.united_states()
    numbers = [
        *_draw(
            roads_ax, roads, "21 cities of Europe, km by road", (19538377.1, 11856555.3), 0.7538
        ),
        *_draw(air_ax, air, "10 cities of the USA, miles by air", (9582144.3, 1686820.2), 0.9954),
        _embed_denver(air),
    ]
    return Demonstration(
        "city-distances",
        "City distances: the map from a mileage table",
        "Dots are the embedding, crosses the true positions, a line joins the two. Air miles "
        "recover the map; roads go around the sea, which pulls Greece and Scandinavia out.",
        tuple(numbers),
        (save_figure(figure, out, "city-distances"),),
    )


def fit_without_warning(D: NDArray[np.float64]) -> ClassicalMDS:
    with warnings.catch_warnings():
        # Roads are not straight and the Earth is round.
        warnings.simplefilter("ignore", errors.IndefiniteWarning)
        return ClassicalMDS(2, metric="precomputed").fit(D)


def _draw(
    ax: Axes, cities: tables.Cities, title: str, eigenvalues: tuple[float, ...], share: float
) -> list[Number]:
    model, truth = fit_without_warning(cities.distances), project_to_plane(cities.latlon)
    Y = fit_procrustes(model.embedding_, truth)(
        model.embedding_
    )  # rotation and reflection are arbitrary
    error = compute_rmse(Y, truth)
    _draw_errors(ax, Y, truth)
    format_panel(ax, title, f"{error:.0f} km from the true positions (root mean square)")
    marks = (
        make_legend_dot(BLUE, "o", "by classical MDS"),
        make_legend_dot(PINK, "+", "true position", markeredgewidth=1),
        make_line("error", color=PALE_COLOR, lw=1.2),
    )
    add_marks(ax, marks, "upper right")
    # The crosses have no names, so that none is written next to them.
    draw_words(ax, np.vstack([Y, truth]), [*cities.names, *[""] * len(truth)])
    found = model.spectrum_[:2].sum() / np.abs(model.spectrum_).sum()
    return [
        Number(
            f"{title}: first eigenvalue", float(model.eigenvalues_[0]), eigenvalues[0], CMDSCALE
        ),
        Number("  second eigenvalue", float(model.eigenvalues_[1]), eigenvalues[1], CMDSCALE),
        Number("  their share of all", float(found), share, f"{CMDSCALE}, GOF"),
        Number("  error after Procrustes alignment, km", error),
    ]


def _draw_errors(ax: Axes, Y: NDArray[np.float64], truth: NDArray[np.float64]) -> None:
    for found, true in zip(Y, truth, strict=True):
        ax.plot(*np.array([found, true]).T, color=PALE_COLOR, lw=1.2)
    ax.scatter(*truth.T, marker="+", s=30, color=PINK, lw=1)
    ax.scatter(*Y.T, s=14, color=BLUE)


def _embed_denver(air: tables.Cities) -> Number:
    """Place Denver as a new point by its distances to the nine training points."""
    new = air.names.index("Denver")
    old = np.delete(np.arange(len(air.names)), new)
    model = fit_without_warning(air.distances[np.ix_(old, old)])
    transform = fit_procrustes(
        model.embedding_, project_to_plane(air.latlon, tuple(air.latlon.mean(0)))[old]
    )
    Y = transform(model.transform(air.distances[new : new + 1, old]))
    return Number(
        "Denver as a new point: error, km", compute_rmse(Y, project_to_plane(air.latlon)[[new]])
    )
