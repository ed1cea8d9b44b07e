"""The Swiss roll by every method, side by side."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from lowd import datasets, errors, progress
from lowd.methods.classical_mds import ClassicalMDS
from lowd.methods.isomap import Isomap
from lowd.methods.kernel_pca import KernelPCA
from lowd.methods.lle import LTSA, HessianLLE, LocallyLinearEmbedding, ModifiedLLE
from lowd.methods.mds import MDS, NonMetricMDS
from lowd.methods.pca import PCA
from lowd.methods.spectral import DiffusionMaps, LaplacianEigenmaps
from lowd.methods.tsne import SNE, TSNE
from lowd.reducer import Reducer

from .agreement import compute_new_r2, compute_r2
from .drawing import add_scale, format_panel, make_panels, save_figure
from .result import Demonstration, Number

SKLEARN_ROLL = "scikit-learn 1.9 on the same roll"
# R² of length and height, for methods that scikit-learn has.
KNOWN_R2: dict[str, tuple[float, float]] = {
    "PCA": (0.0966, 0.0165),
    "Isomap": (0.9998, 0.9907),
    "LocallyLinearEmbedding": (0.9996, 0.7058),
    "ModifiedLLE": (0.9999, 0.9998),
    "HessianLLE": (1.0, 0.9998),
    "LTSA": (1.0, 0.9998),
    "LaplacianEigenmaps": (0.9877, 0.0090),
}


def show(out: Path, data: Path | None = None) -> Demonstration:  # noqa: ARG001
    roll, new = datasets.swiss_roll(1200), datasets.swiss_roll(300, seed=1)
    truth, new_truth = np.asarray(roll.truth), np.asarray(new.truth)
    figure, axes = make_panels(3, 5, 14, 9)
    axes[0].scatter(roll.X[:, 0], roll.X[:, 2], c=roll.color, s=4, lw=0)
    format_panel(axes[0], "the data", "seen along the axis of the roll")
    numbers = []
    for step, (ax, model) in enumerate(zip(axes[1:], make_models(), strict=True)):
        name = type(model).__name__
        progress.report("swiss-roll", step, len(axes) - 1)
        with warnings.catch_warnings():
            # That some methods fail is the point.
            warnings.simplefilter("ignore", errors.LowdWarning)
            Y = model.fit_transform(roll.X)
        length, height = compute_r2(truth, Y)
        ax.scatter(*Y.T, c=roll.color, s=4, lw=0)
        format_panel(ax, name, f"R² of length {length:.2f}, of height {height:.2f}")
        numbers += _make_numbers(name, float(length), float(height))
        if name == "Isomap":
            there = compute_new_r2(truth, Y, new_truth, model.transform(new.X))
            numbers.append(
                Number("  length of 300 new points", float(there[0]), 0.9998, SKLEARN_ROLL)
            )
    progress.report("swiss-roll", len(axes) - 1, len(axes) - 1)
    add_scale(axes, truth[:, 0], "length along the roll", shrink=0.5)
    return Demonstration(
        "swiss-roll",
        "Swiss roll by every method",
        "Color is the length along the roll. Methods of Euclidean distances (PCA, MDS, kernel PCA) "
        "leave it rolled; Isomap and the LLE family unroll it; SNE and TSNE preserve neighborhoods "
        "and tear the sheet.",
        tuple(numbers),
        (save_figure(figure, out, "swiss-roll"),),
    )


def make_models() -> list[Reducer]:
    """The methods, in the order of the figure."""
    return [
        PCA(2),
        ClassicalMDS(2),
        MDS(2),
        NonMetricMDS(2, n_landmarks=300),
        KernelPCA(2, kernel="rbf", gamma="median"),
        Isomap(2, n_neighbors=10),
        LocallyLinearEmbedding(2, n_neighbors=12),
        ModifiedLLE(2, n_neighbors=12),
        HessianLLE(2, n_neighbors=12),
        LTSA(2, n_neighbors=12),
        LaplacianEigenmaps(2, n_neighbors=10),
        DiffusionMaps(2, sigma=1.5),
        SNE(2, max_iter=200),
        TSNE(2),
    ]


def _make_numbers(name: str, length: float, height: float) -> list[Number]:
    known = KNOWN_R2.get(name)
    if known is None:
        return [Number(f"{name}: R² of length, height", f"{length:.3f} {height:.3f}")]
    words = " ".join(f"{value:.3f}" for value in known)
    return [
        Number(f"{name}: R² of length, height", f"{length:.3f} {height:.3f}", words, SKLEARN_ROLL)
    ]
