"""Every method on two data sets: fitted on 80 % of the rows, which map the other 20 %.

Usage: python examples/demo.py OUTDIR

Draws digits.png and swiss_roll.png into the folder, and prints a line per method.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from sklearn.datasets import load_digits, make_swiss_roll
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors

import lowd
from drawing import COLORS, bare, save_small

matplotlib.use("Agg")
import matplotlib.pyplot as plt

K = 10  # neighbors for the recall

LOOK_AT = {
    "digits": "do the numerals, which no fit has seen, land among the dots of their color, and are "
    "the ten digits apart?",
    "swiss_roll": "Isomap and the LLE family unroll the sheet, so that its colors follow each "
    "other from one end to the other; PCA, MDS and kernel PCA show it rolled up.",
}


class Result(NamedTuple):
    title: str
    Y: np.ndarray  # embedding of the training points
    Y_new: np.ndarray  # coordinates of the held-out points, by transform
    recall: float


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    X, digit = load_digits(return_X_y=True)
    roll, along = make_swiss_roll(2000, random_state=0)
    for name, data, color, draw in (
        ("digits", X, digit, draw_digits),
        ("swiss_roll", roll, along, draw_roll),
    ):
        train, new, color, new_color = train_test_split(data, color, test_size=0.2, random_state=0)
        n, d = train.shape
        print(f"{name}: {n} rows of {d} columns, and {len(new)} new rows mapped by transform")
        results = [run(model, train, new) for model in models(d)]
        figure = draw([r for r in results if "Projection" not in r.title], color, new_color)
        save_small(figure, out / f"{name}.png")
        print(f"  {out / name}.png: {LOOK_AT[name]}\n")


def models(d: int) -> list[Any]:
    k = max(2, d // 2)  # A random projection keeps distances, which takes more than two columns.
    return [
        lowd.PCA(2),
        lowd.ClassicalMDS(2),
        lowd.MDS(2),
        lowd.NonMetricMDS(2, n_landmarks=400),
        lowd.KernelPCA(2, kernel="rbf", gamma="median"),
        lowd.Isomap(2, n_neighbors=10),
        lowd.LocallyLinearEmbedding(2, n_neighbors=12),
        lowd.ModifiedLLE(2, n_neighbors=12),
        lowd.HessianLLE(2, n_neighbors=12),
        lowd.LTSA(2, n_neighbors=12),
        lowd.LaplacianEigenmaps(2, n_neighbors=10),
        lowd.DiffusionMaps(2, n_neighbors=50),
        # All pairs repel each other in each of SNE's iterations. The digits have converged after
        # 250 of its 750; the roll would unroll a little more.
        lowd.SNE(2, max_iter=250),
        lowd.TSNE(2),
        lowd.UMAP(random_state=0),
        lowd.GaussianRandomProjection(k, random_state=0),
        lowd.SparseRandomProjection(k, random_state=0),
        lowd.HadamardRandomProjection(k, random_state=0),
    ]


def run(model: Any, train: np.ndarray, new: np.ndarray) -> Result:
    title = type(model).__name__
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        Y = model.fit_transform(train)
        seconds = time.perf_counter() - start
        Y_new = model.transform(new)
    share = recall(train, new, Y, Y_new)
    print(f"  {title:<25}{1000 * seconds:6.0f} ms  keeps {share:4.0%} of the {K} nearest neighbors")
    for warning in caught:
        print(f"    {warning.category.__name__}: {warning.message}")
    return Result(title, Y, Y_new, share)


def recall(X: np.ndarray, Q: np.ndarray, Y: np.ndarray, Y_new: np.ndarray) -> float:
    """Share of the K nearest training points that are also nearest in the embedding."""
    true, found = (
        NearestNeighbors(n_neighbors=K).fit(A).kneighbors(B, return_distance=False)
        for A, B in ((X, Q), (Y, Y_new))
    )
    return float((true[:, :, None] == found[:, None, :]).any(2).mean())


def panels(results: list[Result], height: float) -> tuple[Any, list[tuple[Any, Result]]]:
    figure, axes = plt.subplots(3, 5, figsize=(15, height), dpi=110, layout="compressed")
    return figure, list(zip(axes.flat, results, strict=True))


def draw_digits(results: list[Result], color: np.ndarray, new_color: np.ndarray) -> Any:
    figure, pairs = panels(results, height=10)
    for axes, result in pairs:
        for digit, shade in enumerate(COLORS):
            old, new = color == digit, new_color == digit
            axes.scatter(*result.Y[old].T, s=6, color=shade, alpha=0.3, linewidths=0)
            for rim, ink in ((1.8, "white"), (0.2, shade)):  # a halo keeps numerals readable
                axes.scatter(*result.Y_new[new].T, s=28, color=ink, marker=f"${digit}$", lw=rim)
        bare(axes, result.title, f"keeps {result.recall:.0%} of the {K} nearest neighbors")
    figure.supxlabel(
        f"dots: {len(color)} training points     numerals: {len(new_color)} new points, mapped by "
        "transform",
        fontsize=11,
    )
    return figure


def draw_roll(results: list[Result], color: np.ndarray, new_color: np.ndarray) -> Any:
    figure, pairs = panels(results, height=8.4)
    style: dict[str, Any] = {"cmap": "viridis", "vmin": 4.7, "vmax": 14.2}
    for axes, result in pairs:
        dots = axes.scatter(*result.Y.T, s=7, c=color, alpha=0.5, linewidths=0, **style)
        axes.scatter(*result.Y_new.T, s=12, c=new_color, edgecolors="black", lw=0.5, **style)
        bare(axes, result.title, f"keeps {result.recall:.0%} of the {K} nearest neighbors")
    figure.colorbar(dots, ax=figure.axes, label="position along the roll", shrink=0.6, pad=0.01)
    figure.supxlabel(
        f"plain: {len(color)} training points     outlined: {len(new_color)} new points, mapped by "
        "transform",
        fontsize=11,
    )
    return figure


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
