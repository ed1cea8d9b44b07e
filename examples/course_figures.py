"""Draw the figures of the course (docs/course) with the methods that its chapters derive.

Usage: python examples/course_figures.py docs/images/course [NAME ...]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.datasets import make_circles

import lowd
from drawing import GRAY, INDIGO, OCHRE, ROSE, TEAL, bare, save_figures
from figures import CITIES, MILES
from lowd import datasets


def panels(count: int, height: float = 3.2) -> Any:
    return plt.subplots(1, count, figsize=(3.4 * count, height), layout="constrained")


def dots(axes: Any, Y: Any, color: Any, title: str, note: str = "") -> None:
    axes.scatter(*np.asarray(Y)[:, :2].T, c=color, s=6, linewidths=0)
    bare(axes, title, note)


def pca() -> Any:
    """Units, curves and groups: three failures."""
    rng = np.random.default_rng(0)
    figure, (units, curve, groups) = panels(3)
    X = rng.normal(size=(300, 2)) @ [[2, 0.4], [0, 1.2]]
    units.scatter(*X.T, s=6, color=GRAY, alpha=0.5, linewidths=0)
    for factor, color in ((1, INDIGO), (5, ROSE)):
        end = lowd.PCA(1).fit(X * [1, factor]).components_[0] / [1, factor]
        end *= 4 / np.linalg.norm(end)
        units.plot(*np.array([-end, end]).T, color=color, lw=2.2)
    bare(units, "units", "first axis; red: if y is in a fifth of the unit")
    roll = datasets.swiss_roll(800)
    dots(curve, lowd.PCA(2).fit_transform(roll.X), roll.color, "curves", "the height is lost")
    Z = rng.normal(size=(400, 2)) * [5, 0.35]
    Z[200:, 1] += 2
    groups.scatter(*Z.T, s=6, c=np.repeat([TEAL, OCHRE], 200), linewidths=0)
    axis = lowd.PCA(1).fit(Z).components_[0] * 11
    groups.plot(*np.array([-axis, axis]).T + Z.mean(0)[:, None], color=INDIGO, lw=2.2)
    bare(groups, "groups", "largest variance is not separation")
    return figure


def distances() -> Any:
    figure, (cities, curve) = panels(2, 3.6)
    D = squareform([float(word) for word in MILES.split()])
    Y = lowd.ClassicalMDS(2, metric="precomputed").fit(D).embedding_
    names = [name.replace("_", " ") for name in CITIES.split()]
    Y = Y * np.sign(Y[names.index("Seattle")]) * [-1, 1]  # west is left, north is up
    cities.scatter(*Y.T, color=INDIGO, s=18)
    for name, point in zip(names, Y, strict=True):
        cities.annotate(name, point, (4, 3), textcoords="offset points", size=8)
    bare(cities, "a map from 45 distances", "classical MDS")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6)) * [6, 5, 4, 3, 2, 1]
    delta = cdist(X, X)
    for seed, color in enumerate((ROSE, OCHRE, TEAL)):
        Z = np.random.default_rng(seed).normal(size=(60, 2))
        stress = []
        for _ in range(80):
            d = cdist(Z, Z)
            stress.append(((delta - d) ** 2).sum() / (delta**2).sum())
            B = -np.divide(delta, d, out=np.zeros_like(d), where=d > 0)
            np.fill_diagonal(B, 0)
            np.fill_diagonal(B, -B.sum(1))
            Z = B @ Z / len(Z)
        curve.plot(stress, color=color, label=f"random start {seed + 1}")
    best = lowd.MDS(2, metric="precomputed").fit(delta).embedding_
    level = ((delta - cdist(best, best)) ** 2).sum() / (delta**2).sum()
    curve.axhline(level, color=INDIGO, ls="--", label="lowd.MDS")
    curve.set(xlabel="iteration", ylabel="stress / Σδ²", title="the Guttman transform never rises")
    curve.set_ylim(0, None)
    curve.legend(frameon=False, fontsize=8)
    return figure


def kernels() -> Any:
    X, ring = make_circles(400, factor=0.3, noise=0.03, random_state=0)
    color = np.where(ring, ROSE, INDIGO)
    figure, axes = panels(5)
    dots(axes[0], X, color, "two rings")
    for panel, gamma in zip(axes[1:], (0.001, 1.0, 10.0, 1000.0), strict=True):
        model = lowd.KernelPCA(2, kernel="rbf", gamma=gamma).fit(X)
        note = {0.001: "as PCA", 1000.0: "all points equally far"}.get(gamma, "")
        dots(panel, model.embedding_, color, f"γ = {gamma:g}", note)
    return figure


def geodesics() -> Any:
    roll = datasets.swiss_roll(800)
    figure, (left, middle, right) = panels(3, 3.4)
    flat = roll.X[:, [0, 2]]
    left.scatter(*flat.T, c=roll.color, s=5, linewidths=0)
    graph = lowd.neighbors(roll.X, 8).edges()
    near_end = np.argsort(roll.truth[:, 0])
    start, end = near_end[40], near_end[-130]
    _, before = shortest_path(graph, directed=False, indices=int(start), return_predecessors=True)
    path = [int(end)]
    while path[-1] != start:
        path.append(int(before[path[-1]]))
    left.plot(*flat[path].T, color=ROSE, lw=2.2, label="shortest path in the graph")
    left.plot(*flat[[start, end]].T, color="black", ls="--", label="straight distance")
    left.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.02))
    bare(left, "the roll from its side")
    good = lowd.Isomap(2, n_neighbors=8).fit(roll.X)
    dots(middle, good.embedding_, roll.color, "Isomap, 8 neighbors")
    middle.plot(*good.embedding_[path].T, color=ROSE, lw=1.8)
    counts = (5, 8, 12, 20, 30, 40, 60)
    residual = [lowd.Isomap(2, n_neighbors=k).fit(roll.X).residual_variance_[1] for k in counts]
    right.plot(counts, residual, "o-", color=INDIGO)
    right.set(xlabel="neighbors", ylabel="residual variance", title="short circuits", yscale="log")
    return figure


def local() -> Any:
    sheet = datasets.roll_with_hole(1500)
    figure, axes = panels(6)
    dots(axes[0], sheet.truth, sheet.color, "the sheet, unrolled")
    methods = {
        "Isomap": lowd.Isomap(2, n_neighbors=10),
        "LLE": lowd.LocallyLinearEmbedding(2, n_neighbors=12),
        "modified LLE": lowd.ModifiedLLE(2, n_neighbors=12),
        "Hessian LLE": lowd.HessianLLE(2, n_neighbors=12),
        "LTSA": lowd.LTSA(2, n_neighbors=12),
    }
    for panel, (name, model) in zip(axes[1:], methods.items(), strict=True):
        dots(panel, model.fit(sheet.X).embedding_, sheet.color, name)
    return figure


def laplacians() -> Any:
    strip = np.random.default_rng(0).random((1500, 2)) * [6, 1]
    figure, (left, middle, right) = panels(3)
    dots(left, strip, strip[:, 0], "a strip, 6 × 1")
    Y = lowd.LaplacianEigenmaps(2, n_neighbors=10).fit(strip).embedding_
    dots(
        middle, Y / Y.std(0), strip[:, 0], "Laplacian eigenmaps", "the arch: axis 2 repeats axis 1"
    )
    for axis, color in zip(Y.T / Y.std(), (INDIGO, ROSE), strict=True):
        right.scatter(strip[:, 0], axis, s=4, color=color, linewidths=0)
    right.set(xlabel="length along the strip", title="axes 1 (blue) and 2 (red)", yticks=[])
    return figure


def sne() -> Any:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(120, 10)) + 6 * np.eye(10)[i] for i in range(3)])
    color = np.repeat([INDIGO, ROSE, OCHRE], 120)
    figure, (left, middle, right) = panels(3)
    dots(left, lowd.SNE(2).fit_transform(X), color, "SNE", "Gaussian in the map")
    dots(middle, lowd.TSNE(2).fit_transform(X), color, "t-SNE", "heavy tails: gaps open")
    d = np.linspace(0, 4, 200)
    right.plot(d, np.exp(-(d**2)), color=INDIGO, label="SNE: exp(-d²)")
    right.plot(d, 1 / (1 + d**2), color=ROSE, label="t-SNE: 1 / (1 + d²)")
    right.set(
        xlabel="distance in the map", ylabel="similarity w", title="the same w lies farther out"
    )
    right.legend(frameon=False, fontsize=8)
    return figure


def random() -> Any:
    X = np.random.default_rng(0).normal(size=(100, 5000))
    true = pdist(X, "sqeuclidean")
    figure, (left, right) = panels(2, 3.4)
    for k, color in ((2, GRAY), (20, OCHRE), (200, ROSE), (2000, INDIGO)):
        Y = lowd.GaussianRandomProjection(k, random_state=0).fit_transform(X)
        ratio = pdist(Y, "sqeuclidean") / true
        left.hist(
            ratio, np.linspace(0, 3, 120), histtype="step", color=color, label=f"k = {k}", lw=1.6
        )
    left.set(xlabel="squared distance, projected / true", yticks=[], title="4950 distances")
    left.legend(frameon=False, fontsize=8)
    counts = np.array([20, 50, 100, 200, 500, 1000, 2000])
    worst = []
    for k in counts:
        Y = lowd.GaussianRandomProjection(int(k), random_state=0).fit_transform(X)
        worst.append(abs(pdist(Y, "sqeuclidean") / true - 1).max())
    right.plot(counts, worst, "o-", color=INDIGO, label="worst of all pairs")
    eps = np.linspace(0.13, 0.9, 60)
    right.plot([lowd.jl_min_dim(100, e) for e in eps], eps, color=ROSE, ls="--", label="the bound")
    right.set(xscale="log", yscale="log", xlabel="dimensions k", ylabel="distortion ε")
    right.set_title("how tight the bound is")
    right.legend(frameon=False, fontsize=8)
    return figure


FIGURES: dict[str, Callable[[], Any]] = {
    "pca": pca,
    "distances": distances,
    "kernels": kernels,
    "geodesics": geodesics,
    "local": local,
    "laplacians": laplacians,
    "sne": sne,
    "random": random,
}


if __name__ == "__main__":
    save_figures(FIGURES, Path(sys.argv[1]), sys.argv[2:])
