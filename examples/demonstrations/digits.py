"""Handwritten digits by t-SNE, LLE, Isomap and PCA; and Isomap of the twos of MNIST."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowd import datasets, plot, progress
from lowd.errors import MissingFileError
from lowd.evidence.quality import trustworthiness
from lowd.methods.isomap import Isomap
from lowd.methods.lle import LocallyLinearEmbedding
from lowd.methods.pca import PCA
from lowd.methods.tsne import TSNE
from lowd.reducer import Reducer

from .agreement import compute_nearest_accuracy
from .drawing import format_panel, make_panels, save_figure
from .result import SKLEARN, Demonstration, Number

# Accuracy of the nearest neighbor in the embedding, and trustworthiness.
KNOWN_SCORES = {
    "TSNE": (0.969, 0.993),
    "LocallyLinearEmbedding": (0.880, 0.925),
    "Isomap": (0.662, 0.838),
    "PCA": (0.570, 0.830),
}
KNOWN_RESIDUAL_VARIANCE = {
    1: 0.537,
    2: 0.344,
    3: 0.258,
    5: 0.187,
}  # residual variance by dimensions


def show(out: Path, data: Path | None = None) -> Demonstration:
    digits = datasets.load("digits")
    models: tuple[Reducer, ...] = (
        TSNE(2, perplexity=30),
        LocallyLinearEmbedding(2, n_neighbors=10),
        Isomap(2, n_neighbors=10),
        PCA(2),
    )
    figure, axes = make_panels(1, 4, 14, 4.2)
    numbers = []
    for step, (ax, model) in enumerate(zip(axes, models, strict=True)):
        progress.report("digits", step, len(models))
        name = type(model).__name__
        Y = model.fit_transform(digits.X)
        right = cross_validate_nearest(Y, np.asarray(digits.labels))
        trust = float(trustworthiness(digits.X, Y, n_neighbors=5))
        plot.scatter(Y, labels=digits.labels, ax=ax, legend=model is models[-1] and "digit")
        format_panel(ax, name, f"nearest-neighbor accuracy {right:.0%}")
        numbers += [
            Number(
                f"{name}: nearest neighbor is the same digit", right, KNOWN_SCORES[name][0], SKLEARN
            ),
            Number("  trustworthiness", trust, KNOWN_SCORES[name][1], SKLEARN),
        ]
    progress.report("digits", len(models), len(models))
    pictures, notes = [save_figure(figure, out, "digits")], []
    try:
        picture, more = _embed_twos(out, data)
        pictures.append(picture)
        numbers += more
    except MissingFileError as missing:
        notes.append(f"Without the embedding of twos: {missing}")
    return Demonstration(
        "digits",
        "Handwritten digits",
        "t-SNE separates the digits, some of them (1, 9) in several clusters; LLE collapses some "
        "into thin rays; in Isomap and PCA they overlap. Among the twos one axis is the bottom "
        "loop, the other the slant.",
        tuple(numbers),
        tuple(pictures),
        tuple(notes),
    )


def cross_validate_nearest(Y: NDArray[np.float64], labels: NDArray[Any]) -> float:
    """Accuracy of the nearest-neighbor classifier, by five-fold cross-validation."""
    fold = np.arange(len(Y)) * 5 // len(Y)
    return float(
        np.mean(
            [
                compute_nearest_accuracy(
                    Y[fold != i], labels[fold != i], Y[fold == i], labels[fold == i]
                )
                for i in range(5)
            ]
        )
    )


def _embed_twos(out: Path, data: Path | None) -> tuple[Path, list[Number]]:
    """Embed the first thousand twos of MNIST by Isomap, and draw them as thumbnails."""
    mnist = datasets.load("mnist", data)
    X = mnist.X[np.flatnonzero(mnist.color == 2)[:1000]] / 255.0
    model = Isomap(5, n_neighbors=6).fit(X)
    figure, (ax,) = make_panels(1, 1, 8, 7)
    images, title = 1 - X.reshape(-1, 28, 28), "1000 twos by Isomap, 6 neighbors"
    plot.scatter(model.embedding_[:, :2], images=images, title=title, ax=ax)
    numbers = [
        Number(
            f"twos: residual variance in {k}-D",
            float(model.residual_variance_[k - 1]),
            known,
            SKLEARN,
        )
        for k, known in KNOWN_RESIDUAL_VARIANCE.items()
    ]
    return save_figure(figure, out, "digits-twos"), numbers
