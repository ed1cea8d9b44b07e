"""Handwritten digits: t-SNE beside LLE, Isomap and PCA; and what varies among the twos."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import datasets, plot, progress
from ..errors import MissingFileError
from ..evidence.quality import trustworthiness
from ..methods.isomap import Isomap
from ..methods.lle import LocallyLinearEmbedding
from ..methods.pca import PCA
from ..methods.tsne import TSNE
from .agreement import recognized
from .drawing import bare, kept, panels
from .result import Demonstration, Number

SKLEARN = "scikit-learn's class"
# Share whose nearest place in the map holds the same digit, and trustworthiness.
KNOWN = {
    "TSNE": (0.969, 0.993),
    "LocallyLinearEmbedding": (0.880, 0.925),
    "Isomap": (0.662, 0.838),
    "PCA": (0.570, 0.830),
}
TWOS = {1: 0.537, 2: 0.344, 3: 0.258, 5: 0.187}  # residual variance by dimensions


def show(out: Path, data: Path | None = None) -> Demonstration:
    digits = datasets.load("digits")
    models: tuple[Any, ...] = (
        TSNE(2, perplexity=30),
        LocallyLinearEmbedding(2, n_neighbors=10),
        Isomap(2, n_neighbors=10),
        PCA(2),
    )
    figure, axes = panels(1, 4, 14, 4.2)
    numbers = []
    for step, (ax, model) in enumerate(zip(axes, models, strict=True)):
        progress.report("digits", step, len(models))
        name = type(model).__name__
        Y = model.fit_transform(digits.X)
        right = same(Y, digits.labels)
        trust = float(trustworthiness(digits.X, Y, n_neighbors=5))
        plot.scatter(Y, labels=digits.labels, ax=ax, legend=model is models[-1])
        bare(ax, name, f"{right:.0%} beside their like")
        numbers += [
            Number(f"{name}: nearest place has the same digit", right, KNOWN[name][0], SKLEARN),
            Number("  trustworthiness", trust, KNOWN[name][1], SKLEARN),
        ]
    progress.report("digits", len(models), len(models))
    pictures, notes = [kept(figure, out, "digits")], []
    try:
        picture, more = _twos(out, data)
        pictures.append(picture)
        numbers += more
    except MissingFileError as missing:
        notes.append(f"Without the map of twos: {missing}")
    return Demonstration(
        "digits",
        "Handwritten digits",
        "t-SNE draws ten islands; LLE pulls some classes into thin rays; Isomap and PCA let them "
        "overlap. Among the twos one axis is the loop at the foot, the other the slant.",
        tuple(numbers),
        tuple(pictures),
        tuple(notes),
    )


def same(Y: Any, labels: Any) -> float:
    """Share of the points whose nearest one in the other four fifths has their label."""
    fold = np.arange(len(Y)) * 5 // len(Y)
    return float(
        np.mean(
            [
                recognized(Y[fold != i], labels[fold != i], Y[fold == i], labels[fold == i])
                for i in range(5)
            ]
        )
    )


def _twos(out: Path, data: Path | None) -> tuple[Path, list[Number]]:
    """The first thousand twos of MNIST by Isomap, as pictures in their places."""
    mnist = datasets.load("mnist", data)
    X = mnist.X[np.flatnonzero(mnist.color == 2)[:1000]] / 255.0
    model = Isomap(5, n_neighbors=6).fit(X)
    figure, (ax,) = panels(1, 1, 8, 7)
    images, title = 1 - X.reshape(-1, 28, 28), "1000 twos by Isomap, 6 neighbors"
    plot.scatter(model.embedding_[:, :2], images=images, title=title, ax=ax)
    numbers = [
        Number(
            f"twos: residual variance in {k}-D",
            float(model.residual_variance_[k - 1]),
            known,
            SKLEARN,
        )
        for k, known in TWOS.items()
    ]
    return kept(figure, out, "digits-twos"), numbers
