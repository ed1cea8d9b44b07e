"""Rendered faces: Isomap finds the light and the two angles of the head."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from .. import datasets, plot
from ..methods.isomap import Isomap
from ..methods.pca import PCA
from ..plot.canvas import format_chart
from .agreement import explained, predicted
from .drawing import BLUE, YELLOW, kept, panels
from .result import Demonstration, Number

SKLEARN = "scikit-learn's class"
ANGLES = ("light", "left-right", "up-down")
ISOMAP, LINEAR = (0.874, 0.983, 0.831), (0.712, 0.770, 0.151)
HELD_OUT = (0.870, 0.980, 0.769)


def show(out: Path, data: Path | None = None) -> Demonstration:
    faces = datasets.load("isomap_faces", data)
    isomap = Isomap(4, n_neighbors=6).fit(faces.X)
    Y, linear = isomap.embedding_[:, :3], PCA(3).fit_transform(faces.X)
    numbers = [
        Number(f"{method}: R² of {angle}", float(here), known, SKLEARN)
        for method, places, published in (("Isomap", Y, ISOMAP), ("PCA", linear, LINEAR))
        for angle, here, known in zip(
            ANGLES, explained(faces.truth, places), published, strict=True
        )
    ]
    return Demonstration(
        "face-pose",
        "Facial pose: 698 pictures, three degrees of freedom",
        "Along the first axis the head turns from side to side, along the second it nods; "
        "the curve of residual variance bends at three dimensions. Three principal components "
        "hardly know up from down.",
        (*numbers, *_held_out(faces)),
        (_picture(out, faces, isomap),),
    )


def _held_out(faces: datasets.Dataset) -> list[Number]:
    """Every fifth face is mapped afterwards; the regression is that of the others."""
    new = np.arange(len(faces.X)) % 5 == 0
    model = Isomap(3, n_neighbors=6).fit(faces.X[~new])
    truth = np.asarray(faces.truth)
    here = predicted(truth[~new], model.embedding_, truth[new], model.transform(faces.X[new]))
    return [
        Number(f"new faces: R² of {angle}", float(value), known, SKLEARN)
        for angle, value, known in zip(ANGLES, here, HELD_OUT, strict=True)
    ]


def _picture(out: Path, faces: datasets.Dataset, isomap: Isomap) -> Path:
    figure, (map_ax, elbow) = panels(1, 2, 13, 6.2, width_ratios=(1.9, 1))
    images = faces.X.reshape(-1, 32, 32)
    title = "Isomap, 6 neighbors: the first two axes"
    plot.scatter(isomap.embedding_[:, :2], images=images, title=title, ax=map_ax)
    _elbow(elbow, isomap, faces.X)
    return kept(figure, out, "face-pose")


def _elbow(ax: Any, isomap: Isomap, X: Any) -> None:
    """1 - r² of the distances in a map of 1, 2, … dimensions and those that it is to show."""
    dimensions = np.arange(1, 5)
    ax.plot(
        dimensions,
        isomap.residual_variance_,
        "o-",
        color=BLUE,
        label="Isomap, distances along the graph",
    )
    Y = PCA(4).fit_transform(X)
    straight = pdist(X)
    missed = [1 - np.corrcoef(straight, pdist(Y[:, :k]))[0, 1] ** 2 for k in dimensions]
    ax.plot(dimensions, missed, "o-", color=YELLOW, label="PCA, straight distances")
    format_chart(ax, "dimensions", "residual variance", "what is missed")
    ax.set(xticks=dimensions, ylim=(0, None))
    ax.legend(frameon=False)
