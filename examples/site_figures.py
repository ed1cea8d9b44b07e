"""Draw the figures of the start page, of "Which method?" and of "Reading a map honestly".

Usage: python examples/site_figures.py docs/images/site [NAME ...]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr
from sklearn.datasets import load_wine, make_circles

import lowd
from drawing import bare, save_figures
from lowd import datasets, plot


def panels(count: int) -> Any:
    """Panels in a row, wide enough for a legend or a color scale beside each."""
    return plt.subplots(1, count, figsize=(5.2 * count, 3.7), layout="constrained")


def start() -> Any:
    wine = load_wine()
    X, names = wine.data, wine.target_names[wine.target]
    model = lowd.Pipeline(lowd.TSNE(2), scale=True).fit(X)
    figure, (left, right) = panels(2)
    plot.scatter(model, names, legend="cultivar", title="178 wines by t-SNE", ax=left)
    plot.quality(model, model.evaluate(X), title="how far each point can be trusted", ax=right)
    return figure


# "Which method?": ten data sets by every method

N = 1000
EMBEDDERS: dict[str, Callable[[], Any]] = {
    "PCA": lambda: lowd.PCA(2),
    "ClassicalMDS\nmanhattan": lambda: lowd.ClassicalMDS(2, metric="manhattan"),
    "MDS": lambda: lowd.MDS(2),
    "NonMetric\nMDS": lambda: lowd.NonMetricMDS(2),
    "KernelPCA\nrbf": lambda: lowd.KernelPCA(2, kernel="rbf", gamma="median"),
    "Isomap": lambda: lowd.Isomap(2, n_neighbors=8),
    "LLE": lambda: lowd.LocallyLinearEmbedding(2, n_neighbors=8),
    "Modified\nLLE": lambda: lowd.ModifiedLLE(2, n_neighbors=8),
    "Hessian\nLLE": lambda: lowd.HessianLLE(2, n_neighbors=8),
    "LTSA": lambda: lowd.LTSA(2, n_neighbors=8),
    "Laplacian\nEigenmaps": lambda: lowd.LaplacianEigenmaps(2, n_neighbors=8),
    "Diffusion\nMaps": lambda: lowd.DiffusionMaps(2),
    "SNE": lambda: lowd.SNE(2),
    "TSNE": lambda: lowd.TSNE(2),
    "UMAP": lambda: lowd.UMAP(n_neighbors=8),
    "Gaussian\nprojection": lambda: lowd.GaussianRandomProjection(2, random_state=0),
}


def ten_sets() -> Any:
    sets = list_ten_sets()
    figure, grid = plt.subplots(
        len(sets), len(EMBEDDERS), figsize=(1.15 * len(EMBEDDERS) + 1, 1.33 * len(sets) + 0.5)
    )
    figure.subplots_adjust(0.06, 0.015, 0.995, 0.945, wspace=0.12, hspace=0.42)
    for row, (name, (X, color, truth)) in zip(grid, sets.items(), strict=True):
        row[0].text(-0.16, 0.5, name, transform=row[0].transAxes, ha="right", va="center", size=9)
        far = pdist(X if truth is None else truth)
        for axes, make in zip(row, EMBEDDERS.values(), strict=True):
            model = make().fit(X)
            Y = model.embedding_ if hasattr(model, "embedding_") else model.transform(X)
            cmap = "tab10" if len(np.unique(color)) <= 10 else "viridis"
            axes.scatter(*Y.T, c=color, s=2.5, cmap=cmap, linewidths=0)
            bare(axes, "")
            trust = lowd.evaluate(X, Y, n_neighbors=8).trustworthiness
            order = spearmanr(far, pdist(Y)).statistic
            axes.text(
                0.5, -0.03, f"{trust:.2f}  {order:.2f}", transform=axes.transAxes,
                ha="center", va="top", size=6.5, color="#555555",
            )  # fmt: skip
    for axes, name in zip(grid[0], EMBEDDERS, strict=True):
        axes.set_title(name, fontsize=9, pad=6)
    return figure


def list_ten_sets() -> dict[str, tuple[Any, Any, Any]]:
    """Rows, colors and, of manifolds, the true coordinates by name."""
    rng = np.random.default_rng(0)
    found: dict[str, tuple[Any, Any, Any]] = {}
    manifolds = {
        "Swiss roll": datasets.swiss_roll,
        "roll with\na hole": datasets.roll_with_hole,
        "S curve": datasets.s_curve,
        "severed\nsphere": datasets.severed_sphere,
    }
    for name, make in manifolds.items():
        data = make(N)
        found[name] = (data.X, data.color, data.truth)
    t = np.sort(2 * np.pi * rng.random(N))
    knot = np.column_stack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t)])
    found["trefoil\nknot"] = (np.column_stack([knot, -np.sin(3 * t)]), t, None)
    clusters = datasets.clusters(N, n_clusters=6)
    found["clusters"] = (clusters.X, clusters.labels, None)
    circles, ring = make_circles(N, factor=0.4, noise=0.04, random_state=0)
    found["circles"] = (circles, ring, None)
    noise = rng.normal(size=(N, 20))
    found["noise"] = (noise, noise[:, 0], None)
    wine = datasets.load("wine")
    found["wine"] = ((wine.X - wine.X.mean(0)) / wine.X.std(0), wine.labels, None)
    digits = datasets.load("digits")
    found["digits"] = (digits.X[:N], digits.labels[:N], None)
    for name in ("wine", "digits"):
        X, labels, _ = found[name]
        found[name] = (X, np.unique(labels, return_inverse=True)[1], None)
    return found


# "Reading a map honestly": a misleading map, and what shows it


def noise() -> Any:
    X = np.random.default_rng(0).normal(size=(400, 50))
    model = lowd.TSNE(2, perplexity=5).fit(X)
    figure, (left, right) = panels(2)
    plot.scatter(model, title="400 rows of noise, t-SNE, perplexity 5", ax=left)
    plot.rnx({"t-SNE": model.evaluate(X), "PCA": lowd.PCA(2).fit(X).evaluate(X)}, ax=right)
    return figure


def sizes() -> Any:
    X, names = make_two_sizes()
    model = lowd.TSNE(2).fit(X)
    figure, (left, right) = panels(2)
    plot.scatter(model, names, title="t-SNE: two groups of one size", ax=left)
    stretch = model.evaluate(X).pointwise["stretch"]
    plot.scatter(model, stretch, title="stretch", legend="log2 of the local scale", ax=right)
    return figure


def make_two_sizes() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    wide, tight = rng.normal(size=(200, 10)), 0.1 * rng.normal(size=(200, 10))
    tight[:, 0] += 12
    return np.vstack([wide, tight]), np.repeat(["wide", "tight"], 200)


def gaps() -> Any:
    X, names = make_three_groups()
    figure, (left, middle, right) = panels(3)
    tsne, pca = lowd.TSNE(2).fit(X), lowd.PCA(2).fit_transform(X)
    plot.scatter(tsne, names, title="t-SNE: three groups, equally far", ax=left)
    plot.scatter(pca, names, title="PCA: c is five times as far", ax=middle)
    plot.shepard(tsne.evaluate(X), title="Shepard diagram of t-SNE", ax=right)
    return figure


def make_three_groups() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    centers = np.zeros((3, 10))
    centers[1:, 0] = 10, 60
    return np.vstack([rng.normal(size=(100, 10)) + c for c in centers]), np.repeat([*"abc"], 100)


def fold() -> Any:
    roll = datasets.swiss_roll(600)
    figure, (left, right) = panels(2)
    Y = lowd.PCA(2).fit_transform(roll.X)
    plot.scatter(Y, roll.color, title="Swiss roll by PCA", legend="length", ax=left)
    plot.quality(Y, lowd.evaluate(roll.X, Y), title="false neighbors are dark", ax=right)
    return figure


def tear() -> Any:
    roll = datasets.swiss_roll(600)
    figure, (left, middle, right) = panels(3)
    model = lowd.TSNE(2, perplexity=10).fit(roll.X)
    found = model.evaluate(roll.X)
    plot.scatter(model, roll.color, title="Swiss roll by t-SNE", legend="length", ax=left)
    plot.quality(model, found, "continuity", title="lost neighbors are dark", ax=middle)
    worst = int(np.argmin(found.pointwise["continuity"]))
    plot.neighbors(roll.X, model, worst, 12, ax=right)
    return figure


def short_circuit() -> Any:
    roll = datasets.swiss_roll(600)
    figure, (left, middle, right) = panels(3)
    models = {k: lowd.Isomap(4, n_neighbors=k).fit(roll.X) for k in (8, 40)}
    for axes, (k, model) in zip((left, middle), models.items(), strict=True):
        Y = model.embedding_[:, :2]
        plot.scatter(Y, roll.color, title=f"Isomap, {k} neighbors", legend="length", ax=axes)
        right.plot([1, 2, 3, 4], model.residual_variance_, "o-", label=f"{k} neighbors")
    right.set(xlabel="dimensions", xticks=[1, 2, 3, 4], title="residual variance", ylim=(0, None))
    right.legend(frameon=False)
    return figure


def units() -> Any:
    X, names = make_units()
    figure, (left, right) = panels(2)
    for axes, scale in ((left, False), (right, True)):
        title = "columns scaled" if scale else "columns as they are"
        Y = lowd.PCA(2, scale=scale).fit_transform(X)
        plot.scatter(Y, names, title=f"PCA, {title}", ax=axes)
    return figure


def make_units() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    group = np.arange(300) % 3
    lengths = rng.normal(size=(300, 3)) + 4 * np.eye(3)[group]
    income = rng.normal(30_000, 8_000, 300)
    return np.column_stack([lengths, income]), np.array([*"abc"])[group]


def supervised() -> Any:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 20)), rng.integers(0, 3, 300)
    new, y_new = rng.normal(size=(300, 20)), rng.integers(0, 3, 300)
    figure, (left, right) = panels(2)
    model = lowd.UMAP().fit(X, y)
    names = np.array([*"abc"])
    plot.scatter(model, names[y], title="UMAP with labels: noise, drawn labels", ax=left)
    plot.scatter(model.transform(new), names[y_new], title="new rows of the same kind", ax=right)
    return figure


FIGURES: dict[str, Callable[[], Any]] = {
    "start": start,
    "ten-sets": ten_sets,
    "noise": noise,
    "sizes": sizes,
    "gaps": gaps,
    "fold": fold,
    "tear": tear,
    "short-circuit": short_circuit,
    "units": units,
    "supervised": supervised,
}


if __name__ == "__main__":
    save_figures(FIGURES, Path(sys.argv[1]), sys.argv[2:])
