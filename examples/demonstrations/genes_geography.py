"""Genes and geography: PCA of genetic variants follows the map of Europe, roughly."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowd import datasets
from lowd.io import standardize_genotypes
from lowd.methods.pca import PCA
from lowd.plot.canvas import make_legend_dot
from lowd.plot.embeddings import draw_words

from .agreement import compute_r2, fit_procrustes, project_to_plane
from .drawing import (
    MUTED_COLOR,
    add_marks,
    format_panel,
    make_line,
    make_panels,
    save_figure,
    to_rgb,
)
from .result import Demonstration, Number

MAP_CENTER = (50.0, 15.0)
POPULATION_COLORS = (
    "#CC6677",
    "#332288",
    "#C9A227",
    "#117733",
    "#4C9FD6",
    "#882255",
    "#44AA99",
    "#AA4499",
)
# A coarse outline of Europe by capes, bays and river mouths, degrees north and east.
OUTLINE = """
70 28 71 26 69 16 64 10 62 5 58.5 6 59 10.5 56 12.7 55.4 14 57 16.5 60 18 63 19 65.8 22 65 25.3 63
21.5 60.5 21.3 60 25 60 30 59 23.5 57 24 57.5 21.6 54.5 19.5 54 14.2 54 11 57.7 10.6 57 8.2 53.6 8.2
53.3 5.5 51.4 3.4 49.5 0.2 49.7 -1.9 48.5 -1.5 48.4 -4.7 46.2 -1.3 43.4 -1.6 43.7 -7.9 42 -8.8 38.7
-9.5 37 -8.9 36.1 -5.5 36.8 -2.2 38.8 0.2 41.3 2.2 43 3.1 43.3 5 43.7 7.3 44.3 9 42.4 11 41 13.7 38
15.7 40 18 41.9 16 44.5 12.3 45.7 13.6 43.3 16.4 41.8 19.4 39 20.8 36.5 22.5 38 24 40.5 23 40.8 26
41.2 29 43.5 28 45 29.7 46.5 31 45.3 33 44.5 34 45.4 36.5 47 39 45 37 43.4 40 41.5 41.5
"""
# This side has no coast, and is not drawn.
INLAND = "42 47 46 49 52 52 60 54 66 50 68.5 44 66.5 40 67 34 69.5 31"
BRITAIN = """
58.6 -3.1 57.6 -1.9 55.5 -1.5 52.8 0.4 52.5 1.7 51.2 1.4 50.7 -1 50.1 -5.6 51.4 -3.2 51.9 -5.1 53.3
-4.3 54.6 -3.4 55.7 -5.7 58.5 -5 58.6 -3.1
"""
SARDINIA = "41.2 9.2 39.2 9.5 39 8.5 40.8 8.2 41.2 9.2"


def show(out: Path, data: Path | None = None) -> Demonstration:
    people = datasets.load("genotypes_europe", data)
    plain = PCA(2).fit_transform(impute_mean(people.X))
    scaled = PCA(2).fit_transform(standardize_genotypes(people.X)[0])
    numbers = []
    for title, Y in (("centered", plain), ("divided by √2p(1-p)", scaled)):
        north, east = compute_r2(np.asarray(people.truth), Y)
        known = (0.71, 0.61) if Y is scaled else (None, None)
        source = "NumPy's SVD of the same data" if Y is scaled else ""
        numbers += [
            Number(f"{title}: R² of latitude", float(north), known[0], source),
            Number("  R² of longitude", float(east), known[1], source),
        ]
    homes = locate_populations(people, scaled)
    numbers += [
        Number("mean of a population to its home, median, km", float(np.median(homes.errors))),
        Number(f"  the farthest, {homes.names[homes.worst]}, km", float(homes.errors.max())),
    ]
    return Demonstration(
        "genes-geography",
        "Genes and geography: 156 Europeans, 66,147 genetic variants",
        "Two principal components, aligned with the map: they run about from south to north and "
        "from west to east, but they are not a map. A population's mean is some 650 km from its "
        "home: Russians come out over Sweden, Orcadians over Denmark, Basques over the Channel. "
        "Sardinians, Basques and Adygei, long isolated, are at the ends.",
        tuple(numbers),
        (_draw(out, people, scaled, homes),),
    )


class Homes(NamedTuple):
    """Where populations live, and the means of their people on the aligned components."""

    names: list[str]
    homes: NDArray[np.float64]
    means: NDArray[np.float64]
    errors: NDArray[np.float64]  # in km

    @property
    def worst(self) -> int:
        return int(self.errors.argmax())


def locate_populations(people: datasets.Dataset, Y: NDArray[np.float64]) -> Homes:
    """Home and mean coordinates of each population, in km on the map."""
    home = project_to_plane(np.asarray(people.truth), MAP_CENTER)
    aligned = fit_procrustes(Y, home)(Y)
    labels = np.asarray(people.labels)
    names = np.unique(labels)
    homes = np.array([home[labels == name].mean(0) for name in names])
    means = np.array([aligned[labels == name].mean(0) for name in names])
    errors = np.linalg.norm(means - homes, axis=1)
    return Homes([str(name).replace("_", " ") for name in names], homes, means, errors)


def impute_mean(counts: NDArray[np.int8]) -> NDArray[np.float32]:
    """Replace missing allele counts by the mean of the variant."""
    X = counts.astype(np.float32)
    missing = counts < 0
    X[missing] = 0
    mean = X.sum(0) / np.maximum(1, (~missing).sum(0))
    return np.where(missing, mean, X).astype(np.float32)


def _draw(out: Path, people: datasets.Dataset, Y: NDArray[np.float64], homes: Homes) -> Path:
    home = project_to_plane(np.asarray(people.truth), MAP_CENTER)
    aligned = fit_procrustes(Y, home)(Y)
    north, east = compute_r2(np.asarray(people.truth), Y)
    figure, (ax,) = make_panels(1, 1, 8, 7.4)
    for line, inland in ((OUTLINE, INLAND), (BRITAIN, ""), (SARDINIA, "")):
        coast = _project_line(line)
        ax.fill(*np.vstack([coast, _project_line(inland)]).T, color="#F2F0EA", lw=0, zorder=0)
        ax.plot(*coast.T, color="#CFCBC0", lw=1, zorder=0)
    codes = np.unique(np.asarray(people.labels), return_inverse=True)[1]
    for code, color in enumerate(POPULATION_COLORS):
        ax.scatter(*aligned[codes == code].T, s=20, color=color, alpha=0.75, lw=0)
        ends = np.array([homes.homes[code], homes.means[code]])
        ax.plot(*ends.T, color=color, lw=1, ls=":", zorder=1)
        ax.scatter(*homes.homes[code], marker="+", s=70, color=color, lw=1.8, zorder=3)
    dark = 0.8 * np.array([to_rgb(color) for color in POPULATION_COLORS])
    format_panel(
        ax,
        "Two principal components of 66,147 genetic variants, laid over Europe",
        f"a rough likeness, not a map: R² of latitude {north:.2f}, of longitude {east:.2f}",
    )
    draw_words(ax, homes.homes, homes.names, list(dark), 9, avoid=aligned)
    marks = (
        make_legend_dot(MUTED_COLOR, "o", "a person, by two components"),
        make_legend_dot(MUTED_COLOR, "+", "where the population lives", markeredgewidth=1.8),
        make_line("from there to the mean of its people", color=MUTED_COLOR, lw=1, ls=":"),
    )
    add_marks(ax, marks, "lower right")
    return save_figure(figure, out, "genes-geography")


def _project_line(degrees: str) -> NDArray[np.float64]:
    return project_to_plane(np.array(degrees.split(), float).reshape(-1, 2), MAP_CENTER)
