"""Facial pose: Isomap finds the light and the two angles of rendered faces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from lowd import datasets, plot
from lowd.methods.isomap import Isomap
from lowd.methods.pca import PCA
from lowd.plot.canvas import format_chart

from .agreement import compute_new_r2, compute_r2
from .drawing import BLUE, YELLOW, make_panels, save_figure
from .result import SKLEARN, Demonstration, Number

if TYPE_CHECKING:
    from lowd.plot.canvas import Axes

ANGLES = ("light", "left-right", "up-down")
KNOWN_ISOMAP, KNOWN_PCA = (0.874, 0.983, 0.831), (0.712, 0.770, 0.151)
KNOWN_HELD_OUT = (0.870, 0.980, 0.769)


def show(out: Path, data: Path | None = None) -> Demonstration:
    faces = datasets.load("isomap_faces", data)
    isomap = Isomap(4, n_neighbors=6).fit(faces.X)
    Y, linear = isomap.embedding_[:, :3], PCA(3).fit_transform(faces.X)
    numbers = [
        Number(f"{method}: R² of {angle}", float(here), known, SKLEARN)
        for method, embedding, published in (
            ("Isomap", Y, KNOWN_ISOMAP),
            ("PCA", linear, KNOWN_PCA),
        )
        for angle, here, known in zip(
            ANGLES, compute_r2(np.asarray(faces.truth), embedding), published, strict=True
        )
    ]
    return Demonstration(
        "face-pose",
        "Facial pose: 698 pictures, three degrees of freedom",
        "Along the first axis the head turns from side to side, along the second it nods; "
        "the curve of residual variance bends at three dimensions. Three principal components "
        "hardly show the up-down angle.",
        (*numbers, *_evaluate_held_out(faces)),
        (_draw(out, faces, isomap),),
    )


def _evaluate_held_out(faces: datasets.Dataset) -> list[Number]:
    """R² on every fifth face, a new point; the regression is fitted to the others."""
    new = np.arange(len(faces.X)) % 5 == 0
    model = Isomap(3, n_neighbors=6).fit(faces.X[~new])
    truth = np.asarray(faces.truth)
    here = compute_new_r2(truth[~new], model.embedding_, truth[new], model.transform(faces.X[new]))
    return [
        Number(f"new faces: R² of {angle}", float(value), known, SKLEARN)
        for angle, value, known in zip(ANGLES, here, KNOWN_HELD_OUT, strict=True)
    ]


def _draw(out: Path, faces: datasets.Dataset, isomap: Isomap) -> Path:
    figure, (image_ax, elbow) = make_panels(1, 2, 13, 6.2, width_ratios=(1.9, 1))
    images = faces.X.reshape(-1, 32, 32)
    title = "Isomap, 6 neighbors: the first two axes"
    plot.scatter(isomap.embedding_[:, :2], images=images, title=title, ax=image_ax)
    image_ax.set(
        xlabel="axis 1: the head turns left or right", ylabel="axis 2: it looks up or down"
    )
    _draw_residual_variance(elbow, isomap, faces.X)
    return save_figure(figure, out, "face-pose")


def _draw_residual_variance(ax: Axes, isomap: Isomap, X: NDArray[np.float64]) -> None:
    """Draw 1 - r² of the distances in 1, 2, … dimensions and those in the data."""
    dimensions = np.arange(1, 5)
    ax.plot(
        dimensions,
        isomap.residual_variance_,
        "o-",
        color=BLUE,
        label="Isomap, geodesic distances",
    )
    Y = PCA(4).fit_transform(X)
    straight = pdist(X)
    missed = [1 - np.corrcoef(straight, pdist(Y[:, :k]))[0, 1] ** 2 for k in dimensions]
    ax.plot(dimensions, missed, "o-", color=YELLOW, label="PCA, Euclidean distances")
    format_chart(ax, "dimensions", "residual variance", "distances not explained")
    ax.set(xticks=dimensions, ylim=(0, None))
    ax.legend(frameon=False)
