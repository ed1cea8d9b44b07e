"""Cities from nothing but their distances: classical scaling draws the map."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from .. import errors
from ..methods.classical_mds import ClassicalMDS
from ..plot.annotations import draw_words
from . import tables
from .agreement import flat, miss, onto
from .drawing import BLUE, PALE_COLOR, PINK, bare, kept, panels
from .result import Demonstration, Number

R = "R's cmdscale"


def show(out: Path, data: Path | None = None) -> Demonstration:  # noqa: ARG001 - tables are here
    figure, (roads_ax, air_ax) = panels(1, 2, 13, 6)
    roads, air = tables.europe(), tables.united_states()
    numbers = [
        *_draw(
            roads_ax, roads, "21 cities of Europe, km by road", (19538377.1, 11856555.3), 0.7538
        ),
        *_draw(air_ax, air, "10 cities of the USA, miles by air", (9582144.3, 1686820.2), 0.9954),
        _newcomer(air),
    ]
    return Demonstration(
        "city-distances",
        "City distances: a map from a mileage table",
        "Dots are the map, crosses the true places, a line joins the two. Air miles give the map "
        "back; roads go around the sea, which pulls Greece and Scandinavia out.",
        tuple(numbers),
        (kept(figure, out, "city-distances"),),
    )


def fitted(D: Any) -> ClassicalMDS:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.IndefiniteWarning)  # roads and a round Earth
        return ClassicalMDS(2, metric="precomputed").fit(D)


def _draw(
    ax: Any, cities: tables.Cities, title: str, eigenvalues: tuple[float, ...], share: float
) -> list[Number]:
    model, truth = fitted(cities.distances), flat(cities.latlon)
    place = onto(model.embedding_, truth)(model.embedding_)  # a map knows no compass
    off = miss(place, truth)
    _compare(ax, place, truth)
    bare(ax, title, f"off the true places by {off:.0f} km (root mean square)")
    # Crosses are nameless, so that no name is written on them.
    draw_words(ax, np.vstack([place, truth]), [*cities.names, *[""] * len(truth)])
    found = model.spectrum_[:2].sum() / np.abs(model.spectrum_).sum()
    return [
        Number(f"{title}: first eigenvalue", float(model.eigenvalues_[0]), eigenvalues[0], R),
        Number("  second eigenvalue", float(model.eigenvalues_[1]), eigenvalues[1], R),
        Number("  their share of all", float(found), share, f"{R}, GOF"),
        Number("  miss after turning, km", off),
    ]


def _compare(ax: Any, place: Any, truth: Any) -> None:
    for here, there in zip(place, truth, strict=True):
        ax.plot(*np.array([here, there]).T, color=PALE_COLOR, lw=1.2)
    ax.scatter(*truth.T, marker="+", s=30, color=PINK, lw=1)
    ax.scatter(*place.T, s=14, color=BLUE)


def _newcomer(air: tables.Cities) -> Number:
    """Denver from its nine distances to the others, which were mapped without it."""
    new = air.names.index("Denver")
    old = np.delete(np.arange(len(air.names)), new)
    model = fitted(air.distances[np.ix_(old, old)])
    turn = onto(model.embedding_, flat(air.latlon, tuple(air.latlon.mean(0)))[old])
    place = turn(model.transform(air.distances[new : new + 1, old]))
    return Number("Denver from its distances alone: miss, km", miss(place, flat(air.latlon)[[new]]))
