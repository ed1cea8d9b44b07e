"""PCA in six steps, on ten points that a tutorial computes by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lowd import plot
from lowd.methods.pca import PCA

from .drawing import save_figure
from .result import Demonstration, Number

SMITH = "Smith (2002), A tutorial on principal components analysis"
X = np.array(
    [
        [2.5, 2.4],
        [0.5, 0.7],
        [2.2, 2.9],
        [1.9, 2.2],
        [3.1, 3.0],
        [2.3, 2.7],
        [2.0, 1.6],
        [1.0, 1.1],
        [1.5, 1.6],
        [1.1, 0.9],
    ]
)


def show(out: Path, data: Path | None = None) -> Demonstration:  # noqa: ARG001 - the points are here
    plain, scaled = PCA(2).fit(X), PCA(2, scale=True).fit(X)
    first = np.abs(plain.components_[0])
    back = PCA(1).fit(X)
    lost = float(((X - back.inverse_transform(back.transform(X))) ** 2).sum() / (len(X) - 1))
    r = float(np.corrcoef(X.T)[0, 1])
    return Demonstration(
        "pca-steps",
        "PCA step by step",
        "Center, scale, find the principal axes, project onto the first, undo the scaling: the "
        "points end on the line that is closest to all of them.",
        (
            Number("first variance", float(plain.explained_variance_[0]), 1.28402771, SMITH),
            Number("second variance", float(plain.explained_variance_[1]), 0.0490833989, SMITH),
            Number("first axis, x", float(first[0]), 0.677873399, SMITH),
            Number("first axis, y", float(first[1]), 0.735178656, SMITH),
            Number("lost by keeping one axis", lost, 0.0490833989, "the second variance"),
            Number(
                "first variance after scaling",
                float(scaled.explained_variance_[0]),
                1 + r,
                "1 + the correlation",
            ),
        ),
        (save_figure(plot.pca_steps(X), out, "pca-steps"),),
    )
