"""Eigenfaces: the axes of a set of portraits are portraits themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import datasets, plot
from ..methods.pca import PCA
from .agreement import recognized
from .drawing import kept, panels
from .result import Demonstration, Number

SKLEARN = "scikit-learn's PCA"
COUNTS = (10, 50, 100, 200)


def show(out: Path, data: Path | None = None) -> Demonstration:
    faces = datasets.load("olivetti_faces", data)
    X = faces.X.astype(np.float64)
    height, width = (int(side) for side in faces.extra["image_shape"])
    pca = PCA().fit(X)
    share = pca.explained_variance_ratio_
    enough = [int(np.searchsorted(share.cumsum(), part)) + 1 for part in (0.90, 0.95)]
    numbers = [
        Number(f"share of axis {i + 1}", float(share[i]), known, SKLEARN)
        for i, known in enumerate((0.238, 0.140, 0.080))
    ]
    numbers += [
        Number("axes for 90 % of the variance", enough[0], 66, SKLEARN),
        Number("axes for 95 %", enough[1], 123, SKLEARN),
        Number("new photographs recognized, 50 axes", named(X, faces.labels, 50)),
        Number("  all pixels", named(X, faces.labels, None)),
    ]
    axes = plot.eigenimages(pca, (height, width), n_images=17)
    return Demonstration(
        "eigenfaces",
        "Eigenfaces: 400 photographs of 40 people",
        "The mean face, then what varies most: light from the side, hair, glasses. Ten axes give "
        "any face, two hundred nearly this one.",
        tuple(numbers),
        (
            kept(axes, out, "eigenfaces"),
            _rebuilt(out, X, (height, width)),
        ),
    )


def named(X: Any, person: Any, axes: int | None) -> float:
    """Share of every fifth photograph whose nearest other one shows the same person."""
    new = np.arange(len(X)) % 5 == 0
    if axes:
        pca = PCA(axes).fit(X[~new])
        old, seen = pca.transform(X[~new]), pca.transform(X[new])
    else:
        old, seen = X[~new], X[new]
    return recognized(old, person[~new], seen, person[new])


def _rebuilt(out: Path, X: Any, shape: tuple[int, int]) -> Path:
    """Held-out photographs by more and more axes, learned from the others."""
    new = np.arange(len(X)) % 80 == 0
    figure, panes = panels(int(new.sum()), len(COUNTS) + 1, 6.2, 6.4)
    models = [PCA(count).fit(X[~new]) for count in COUNTS]
    columns = [model.inverse_transform(model.transform(X[new])) for model in models]
    titles = [f"{count} axes" for count in COUNTS]
    for number, ax in enumerate(panes):
        row, column = divmod(number, len(COUNTS) + 1)
        picture = [*columns, X[new]][column][row]
        ax.imshow(picture.reshape(shape), cmap="gray", vmin=0, vmax=255)
        ax.set_axis_off()
        if row == 0:
            ax.set_title([*titles, "the photograph"][column], fontsize=9)
    return kept(figure, out, "eigenfaces-rebuilt")
