"""Eigenfaces: principal components of photographs of faces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowd import datasets, plot
from lowd.methods.pca import PCA

from .agreement import compute_nearest_accuracy
from .drawing import make_panels, save_figure
from .result import Demonstration, Number

SKLEARN_PCA = "scikit-learn's PCA"
RECONSTRUCTION_COMPONENTS = (10, 50, 100, 200)


def show(out: Path, data: Path | None = None) -> Demonstration:
    faces = datasets.load("olivetti_faces", data)
    X, people = faces.X.astype(np.float64), np.asarray(faces.labels)
    height, width = (int(side) for side in faces.extra["image_shape"])
    pca = PCA().fit(X)
    share = pca.explained_variance_ratio_
    enough = [int(np.searchsorted(share.cumsum(), part)) + 1 for part in (0.90, 0.95)]
    numbers = [
        Number(f"variance explained by component {i + 1}", float(share[i]), known, SKLEARN_PCA)
        for i, known in enumerate((0.238, 0.140, 0.080))
    ]
    numbers += [
        Number("components for 90 % of the variance", enough[0], 66, SKLEARN_PCA),
        Number("components for 95 %", enough[1], 123, SKLEARN_PCA),
        Number("new photographs recognized, 50 components", compute_recognition(X, people, 50)),
        Number("  all pixels", compute_recognition(X, people, None)),
    ]
    axes = plot.eigenimages(pca, (height, width), n_images=17)
    return Demonstration(
        "eigenfaces",
        "Eigenfaces: 400 photographs of 40 people",
        "The mean face, then what varies most: light from the side, hair, glasses. Ten components "
        "give some face, two hundred nearly the right one.",
        tuple(numbers),
        (
            save_figure(axes, out, "eigenfaces"),
            _draw_reconstructions(out, X, (height, width)),
        ),
    )


def compute_recognition(
    X: NDArray[np.float64], person: NDArray[Any], n_components: int | None
) -> float:
    """Accuracy of the nearest neighbor on every fifth photograph, which is held out."""
    new = np.arange(len(X)) % 5 == 0
    old, Q = X[~new], X[new]
    if n_components:
        pca = PCA(n_components).fit(old)
        old, Q = pca.transform(old), pca.transform(Q)
    return compute_nearest_accuracy(old, person[~new], Q, person[new])


def _draw_reconstructions(out: Path, X: NDArray[np.float64], shape: tuple[int, int]) -> Path:
    """Reconstruct held-out photographs from more and more components of the others."""
    new = np.arange(len(X)) % 80 == 0
    figure, panels = make_panels(int(new.sum()), len(RECONSTRUCTION_COMPONENTS) + 1, 6.2, 6.4)
    models = [PCA(count).fit(X[~new]) for count in RECONSTRUCTION_COMPONENTS]
    columns = [model.inverse_transform(model.transform(X[new])) for model in models]
    titles = [f"{count} components" for count in RECONSTRUCTION_COMPONENTS]
    for number, ax in enumerate(panels):
        row, column = divmod(number, len(RECONSTRUCTION_COMPONENTS) + 1)
        picture = [*columns, X[new]][column][row]
        ax.imshow(picture.reshape(shape), cmap="gray", vmin=0, vmax=255)
        ax.set_axis_off()
        if row == 0:
            ax.set_title([*titles, "the photograph"][column], fontsize=8)
    return save_figure(figure, out, "eigenfaces-rebuilt")
