"""Facial expression: LLE of the frames of a film."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lowd import datasets, plot
from lowd.evidence.quality import trustworthiness
from lowd.methods.lle import LocallyLinearEmbedding
from lowd.methods.pca import PCA

from .drawing import add_scale, format_panel, make_panels, save_figure
from .result import SKLEARN, Demonstration, Number


def show(out: Path, data: Path | None = None) -> Demonstration:
    film = datasets.load("frey_faces", data)
    X = film.X.astype(np.float64)
    Y = LocallyLinearEmbedding(2, n_neighbors=12).fit_transform(X)
    linear = PCA(2).fit_transform(X)
    figure, (image_ax, time_ax) = make_panels(1, 2, 11, 7)
    images = film.X.reshape(len(X), *film.extra["image_shape"])
    plot.scatter(Y, images=images, title="LLE, 12 neighbors", ax=image_ax)
    time_ax.plot(*Y.T, color="#BBBBBB", lw=0.3, zorder=1)
    time_ax.scatter(*Y.T, c=np.arange(len(Y)), s=6, lw=0, zorder=2)
    format_panel(
        time_ax,
        "the same embedding, colored by time",
        "a thin line joins frames that follow each other",
    )
    add_scale([time_ax], np.arange(len(Y)), "frame of the film", shrink=0.6)
    trust = [float(trustworthiness(X, embedding, n_neighbors=12)) for embedding in (Y, linear)]
    return Demonstration(
        "face-expression",
        "Facial expression: 1965 frames of one face",
        "Neighbors in the embedding have the same expression; along a branch one expression turns "
        "into another, and the film moves through the embedding in small steps.",
        (
            Number("trustworthiness at 12 neighbors, LLE", trust[0], 0.888, SKLEARN),
            Number("  PCA", trust[1], 0.844, SKLEARN),
            Number(
                "step between frames / distance of random pairs",
                compute_relative_step(Y),
                0.10,
                SKLEARN,
            ),
        ),
        (save_figure(figure, out, "face-expression"),),
    )


def compute_relative_step(Y: np.ndarray) -> float:
    """Mean step between frames, as a share of the mean distance between two random ones."""
    step = np.linalg.norm(np.diff(Y, axis=0), axis=1).mean()
    pairs = np.linalg.norm(Y[:, None] - Y[None, ::7], axis=2)
    return float(step / pairs.mean())
