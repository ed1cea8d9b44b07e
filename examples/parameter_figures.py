"""Draw what each parameter does, and how each method fails: a row of small pictures each.

Usage: python examples/parameter_figures.py docs/images/parameters [NAME ...]

The names are those of the files, such as isomap-n_neighbors or isomap-fails. ROWS and FAILURES say
what is drawn; NOT_DRAWN says which parameters have no picture, and why.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_digits, load_wine, make_circles

import lowd
from drawing import COLORS, INDIGO, bare, save_figures
from lowd import datasets
from lowd.methods import METHODS

GRAY = "#BBBBBB"
PANEL = 1.5  # inches
LONGEST_TITLE = 23  # letters above a panel; a longer one shows the value alone
DEFAULTS: Mapping[str, Any] = MappingProxyType({})


class Data(NamedTuple):
    """Rows (or distances), their colors: classes by number, or a value that is continuous."""

    X: Any
    color: Any


class Row(NamedTuple):
    """A picture for each value of a parameter; `fixed` are parameters that all of them have."""

    method: str
    parameter: str
    values: tuple[Any, ...]
    data: str
    fixed: Mapping[str, Any] = DEFAULTS
    draw: str = "embedding"


# Every parameter that changes the coordinates of training points or of new ones.
ROWS = [
    Row("PCA", "n_components", (1, 2, 3), "roll", draw="inverse"),
    Row("PCA", "scale", (False, True), "wine, raw", {"n_components": 2}),
    Row("PCA", "whiten", (False, True), "two layers", {"n_components": 2}),
    Row("PCA", "center", (True, False), "clusters far from 0", {"n_components": 2}),
    Row("ClassicalMDS", "metric", ("euclidean", "manhattan", "cosine", "chebyshev"), "digits"),
    Row("ClassicalMDS", "metric_params", ({"p": 1}, {"p": 3}, {"p": 20}), "digits",
        {"metric": "minkowski"}),
    Row("ClassicalMDS", "n_landmarks", (None, 50, 10, 4), "digits", {"metric": "manhattan"}),
    Row("ClassicalMDS", "correction", ("none", "lingoes", "cailliez"), "squared distances",
        {"metric": "precomputed"}),
    Row("MDS", "metric", ("euclidean", "manhattan", "cosine"), "digits"),
    Row("MDS", "weights", (None, "sammon"), "small roll"),
    Row("MDS", "init", ("classical_mds", "random"), "S curve"),
    Row("MDS", "n_init", (1, 10, 100), "line", {"n_components": 1, "init": "random"}),
    Row("MDS", "max_iter", (1, 5, 20, 300), "S curve", {"init": "random"}),
    Row("MDS", "eps", (0.1, 1e-2, 1e-3, 1e-6), "S curve", {"init": "random"}),
    Row("MDS", "n_landmarks", (None, 100, 20, 5), "S curve"),
    Row("NonMetricMDS", "metric", ("euclidean", "sqeuclidean", "cosine"), "digits"),
    Row("NonMetricMDS", "ties", ("primary", "secondary"), "ratings", {"metric": "precomputed"}),
    Row("NonMetricMDS", "weights", (None, "sammon"), "small roll"),
    Row("NonMetricMDS", "init", ("classical_mds", "random"), "S curve"),
    Row("NonMetricMDS", "n_init", (1, 10, 100), "line", {"n_components": 1, "init": "random"}),
    Row("NonMetricMDS", "max_iter", (1, 5, 20, 300), "S curve", {"init": "random"}),
    Row("NonMetricMDS", "eps", (0.1, 1e-2, 1e-3, 1e-6), "S curve", {"init": "random"}),
    Row("NonMetricMDS", "n_landmarks", (None, 100, 20, 5), "S curve"),
    Row("KernelPCA", "kernel", ("linear", "poly", "rbf", "laplacian", "sigmoid", "cosine"), "rings",
        {"n_components": 2}),
    Row("KernelPCA", "gamma", (0.01, 1.0, 10.0, 1000.0), "rings",
        {"n_components": 2, "kernel": "rbf"}),
    Row("KernelPCA", "degree", (1, 2, 4, 8), "rings",
        {"n_components": 2, "kernel": "poly", "gamma": 2.0}),
    Row("KernelPCA", "coef0", (0, 0.3, 1, 10), "rings",
        {"n_components": 2, "kernel": "poly", "gamma": 2.0, "degree": 2}),
    Row("KernelPCA", "n_landmarks", (None, 50, 10, 4), "rings",
        {"n_components": 2, "kernel": "rbf", "gamma": 5.0}),
    Row("KernelPCA", "alpha", (1e-3, 0.1, 1.0, 10.0), "rings",
        {"n_components": 4, "kernel": "rbf", "gamma": 5.0, "fit_inverse_transform": True},
        "inverse"),
    Row("KernelPCA", "preimage", ("ridge", "fixed_point"), "rings",
        {"n_components": 4, "kernel": "rbf", "gamma": 5.0, "fit_inverse_transform": True},
        "inverse"),
    Row("Isomap", "n_neighbors", (4, 8, 15, 40), "roll"),
    Row("Isomap", "radius", (2.5, 4.0, 6.0), "roll", {"n_neighbors": None}),
    Row("Isomap", "metric", ("euclidean", "manhattan", "cosine"), "digits"),
    Row("Isomap", "n_landmarks", (None, 50, 10, 4), "roll", {"n_neighbors": 8}),
    Row("Isomap", "map", ("geodesic", "regression"), "roll", {"n_neighbors": 8}, "new points"),
    *(
        row
        for method in ("LocallyLinearEmbedding", "ModifiedLLE", "HessianLLE", "LTSA")
        for row in (
            Row(method, "n_neighbors", (6, 8, 12, 40), "roll"),
            Row(method, "radius", (3.5, 5.0, 8.0), "roll"),
            Row(method, "map", ("barycentric", "tangent"), "roll", {"n_neighbors": 8},
                "new points"),
            Row(method, "n_landmarks", (None, 1000, 500, 200), "roll", {"n_neighbors": 8}),
        )
    ),
    Row("LocallyLinearEmbedding", "reg", (1e-9, 1e-3, 0.1, 10.0), "roll", {"n_neighbors": 12}),
    Row("ModifiedLLE", "reg", (1e-9, 1e-3, 0.1, 10.0), "roll", {"n_neighbors": 12}),
    Row("HessianLLE", "reg", (0.0, 1e-6, 1e-3, 1.0), "roll", {"n_neighbors": 12}),
    Row("LTSA", "reg", (1e-9, 1e-3, 0.1), "roll", {"n_neighbors": 8}, "new points"),
    Row("LaplacianEigenmaps", "n_neighbors", (5, 10, 20, 60), "roll"),
    Row("LaplacianEigenmaps", "radius", (2.5, 4.0, 6.0), "roll", {"n_neighbors": None}),
    Row("LaplacianEigenmaps", "affinity", ("heat", "binary"), "roll"),
    Row("LaplacianEigenmaps", "sigma", (0.3, 1.0, 10.0), "roll"),
    Row("LaplacianEigenmaps", "normalization", ("random_walk", "symmetric", "none"),
        "uneven sheet"),
    Row("LaplacianEigenmaps", "self_loops", (False, True), "uneven sheet"),
    Row("LaplacianEigenmaps", "scale", ("std", "unit", "commute"), "uneven sheet"),
    Row("LaplacianEigenmaps", "metric", ("euclidean", "manhattan", "cosine"), "digits",
        {"n_neighbors": 40}),
    Row("LaplacianEigenmaps", "n_landmarks", (None, 200, 50), "roll"),
    Row("LaplacianEigenmaps", "map", ("nystroem", "harmonic"), "roll", {}, "new points"),
    Row("DiffusionMaps", "alpha", (0.0, 0.5, 1.0), "uneven ring", {"sigma": 0.15}),
    Row("DiffusionMaps", "time", (0, 30, 100, 400), "strip"),
    Row("DiffusionMaps", "sigma", (0.5, 1.0, 2.0, 6.0), "roll"),
    Row("DiffusionMaps", "n_neighbors", (None, 60, 10), "roll"),
    Row("DiffusionMaps", "metric", ("euclidean", "manhattan", "cosine"), "digits"),
    Row("DiffusionMaps", "n_landmarks", (None, 200, 50), "branches"),
    *(
        row
        for method in ("SNE", "TSNE")
        for row in (
            Row(method, "perplexity", (3, 10, 30, 200, [10, 200]), "digits"),
            Row(method, "n_neighbors", (5, 15, 50), "digits", {"affinity": "uniform"}),
            Row(method, "early_exaggeration", (1.0, 4.0, 12.0, 50.0), "digits"),
            Row(method, "exaggeration", (1.0, 2.0, 4.0), "digits"),
            Row(method, "init", ("pca", "spectral", "random"), "digits"),
            Row(method, "metric", ("euclidean", "manhattan", "cosine"), "digits"),
        )
    ),
    Row("SNE", "symmetric", (False, True), "digits"),
    Row("SNE", "learning_rate", (0.001, 0.1, "auto"), "digits"),
    Row("SNE", "max_iter", (3, 10, 30, 750), "digits"),
    Row("TSNE", "learning_rate", (0.1, 1.0, 20.0, "auto"), "digits"),
    Row("TSNE", "max_iter", (30, 250, 300, 750), "digits"),
    Row("UMAP", "a", (0.5, 1.58, 10.0), "digits", {"b": 0.9}),
    Row("UMAP", "b", (0.5, 0.9, 1.5), "digits", {"a": 1.58}),
    Row("UMAP", "negative_sample_rate", (1, 5, 20), "digits"),
    Row("UMAP", "metric", ("euclidean", "manhattan", "cosine"), "digits"),
    Row("UMAP", "n_landmarks", (None, 300, 100), "digits"),
    Row("UMAP", "dens_frac", (0.1, 0.3, 1.0), "digits", {"dens_lambda": 2.0}),
    Row("UMAP", "dens_var_shift", (0.01, 0.1, 10.0), "digits", {"dens_lambda": 2.0}),
    Row("UMAP", "target_weight", (0.0, 0.5, 0.99), "digits, few components", {}, "supervised"),
    Row("UMAP", "target_metric", ("categorical", "euclidean"), "digits, few components", {},
        "supervised"),
    *(
        row
        for method in ("GaussianRandomProjection", "SparseRandomProjection",
                       "HadamardRandomProjection")
        for row in (
            Row(method, "n_components", (2, 20, 200, 1000), "wide", {"random_state": 0},
                "distances"),
            Row(method, "eps", (0.2, 0.3, 0.5), "wide", {"random_state": 0}, "distances"),
            Row(method, "random_state", (0, 1, 2), "digits", {"n_components": 2}),
        )
    ),
    Row("SparseRandomProjection", "density", ("auto", 0.1, 1 / 3), "few large entries",
        {"n_components": 200, "random_state": 0}, "distances"),
]  # fmt: skip


class Failure(NamedTuple):
    """Data on which a method, with these parameters, shows what is not there."""

    title: str
    data: str
    params: Mapping[str, Any] = DEFAULTS
    draw: str = "embedding"


LOCAL = [
    Failure("short circuits", "roll", {"n_neighbors": 40}),
    Failure("noise between layers", "noisy roll", {"n_neighbors": 12}),
    Failure("two components", "two rolls", {"n_neighbors": 12}),
    Failure("one far point", "roll and a far point", {"n_neighbors": 12}),
]
STRESS = [
    Failure("does not unroll", "roll"),
    Failure("noise becomes a disc", "noise"),
    Failure("a far point", "clusters and a far point"),
]
FAILURES = {
    "PCA": [
        Failure("does not unroll", "roll", {"n_components": 2}),
        Failure("units decide", "wine, raw", {"n_components": 2}),
        Failure("a far point decides", "clusters and a far point", {"n_components": 2}),
        Failure("small variance is lost", "two layers", {"n_components": 1}),
    ],
    "ClassicalMDS": STRESS,
    "MDS": STRESS,
    "NonMetricMDS": [*STRESS, Failure("groups collapse", "far groups")],
    "KernelPCA": [
        Failure("γ too small: PCA", "rings", {"n_components": 2, "kernel": "rbf", "gamma": 1e-3}),
        Failure("γ too large", "rings", {"n_components": 2, "kernel": "rbf", "gamma": 1e3}),
        Failure("does not unroll", "roll",
                {"n_components": 2, "kernel": "rbf", "gamma": "median"}),
    ],
    "Isomap": [
        *LOCAL,
        Failure("a hole", "roll with a hole", {"n_neighbors": 8}),
        Failure("a sphere", "sphere", {"n_neighbors": 8}),
    ],
    "LocallyLinearEmbedding": LOCAL,
    "ModifiedLLE": LOCAL,
    "HessianLLE": LOCAL,
    "LTSA": LOCAL,
    "LaplacianEigenmaps": [*LOCAL, Failure("a strip: the arch", "strip")],
    "DiffusionMaps": [
        Failure("σ too small", "roll", {"sigma": 0.2}),
        Failure("σ too large", "roll", {"sigma": 6.0}),
        Failure("two components", "two rolls"),
        Failure("a strip: the arch", "strip"),
    ],
    "SNE": [
        Failure("noise becomes a disc", "noise"),
        Failure("sizes are lost", "two sizes"),
        Failure("crowded digits", "digits"),
    ],
    "TSNE": [
        Failure("noise, perplexity 3", "noise", {"perplexity": 3}),
        Failure("sizes are lost", "two sizes"),
        Failure("gaps are lost", "three groups"),
        Failure("a torn sheet", "roll"),
        Failure("too few iterations", "digits", {"max_iter": 30}),
    ],
    "UMAP": [
        Failure("noise, 3 neighbors", "noise", {"n_neighbors": 3}),
        Failure("sizes are lost", "two sizes"),
        Failure("gaps are lost", "three groups"),
        Failure("a torn sheet", "roll"),
        Failure("noise with drawn labels", "noise", {}, "supervised"),
    ],
    "GaussianRandomProjection": [
        Failure("two components", "digits", {"n_components": 2, "random_state": 0}),
        Failure("its distances", "wide", {"n_components": 2, "random_state": 0}, "distances"),
    ],
    "SparseRandomProjection": [
        Failure("two components", "digits", {"n_components": 2, "random_state": 0}),
        Failure("few large entries", "few large entries",
                {"n_components": 200, "random_state": 0}, "distances"),
    ],
    "HadamardRandomProjection": [
        Failure("two components", "digits", {"n_components": 2, "random_state": 0}),
        Failure("its distances", "wide", {"n_components": 2, "random_state": 0}, "distances"),
    ],
}  # fmt: skip

# Parameters without a picture. Those of a method alone are "Method.parameter".
NOT_DRAWN = {
    "backend": "changes rounding errors only",
    "n_jobs": "changes nothing",
    "verbose": "changes nothing",
    "random_state": "a seed of landmarks, starts and solvers; of projections it is drawn",
    "n_components": "the number of axes; of PCA and projections it is drawn",
    "metric_params": "goes with the metric; of ClassicalMDS it is drawn",
    "on_disconnected": "connects components, or raises an error",
    "p": "scikit-learn's name of Minkowski's exponent",
    "compute_inverse_components": "stores a matrix",
    "fit_inverse_transform": "allows the inverse",
    "kernel_params": "goes with a callable kernel",
    "PCA.ddof": "changes variances only",
    "SNE.affinity": "drawn with n_neighbors",
    "TSNE.affinity": "drawn with n_neighbors",
}  # fmt: skip
# Pictures that benchmarks/umap_pictures.py draws, with umap-learn below.
DRAWN_ELSEWHERE = {
    "UMAP": (
        "n_neighbors", "min_dist", "spread", "local_connectivity", "set_op_mix_ratio", "n_epochs",
        "learning_rate", "repulsion_strength", "dens_lambda", "init",
    )
}  # fmt: skip


@cache
def make_data(name: str) -> Data:
    """The data sets that rows and failures name."""
    rng = np.random.default_rng(0)
    n = 600
    roll = datasets.swiss_roll(1500)
    wine, digits = load_wine(), load_digits()
    groups = datasets.clusters(300, n_clusters=4)
    match name:
        case "roll":
            return Data(roll.X, roll.color)
        case "small roll":
            return Data(roll.X[:400], roll.color[:400])
        case "noisy roll":
            return Data(datasets.swiss_roll(1500, noise=1.2).X, roll.color)
        case "two rolls":
            return Data(roll.X + 200 * (np.arange(1500) % 3 == 0)[:, None], roll.color)
        case "roll and a far point":
            return Data(np.vstack([roll.X, [60.0, 60.0, 60.0]]), np.append(roll.color, 0.0))
        case "roll with a hole":
            hole = datasets.roll_with_hole(1500)
            return Data(hole.X, hole.color)
        case "S curve":
            curve = datasets.s_curve(400)
            return Data(curve.X, curve.color)
        case "sphere":
            sphere = datasets.severed_sphere(1500)
            return Data(sphere.X, sphere.color)
        case "strip":
            strip = rng.random((n, 2)) * [6, 1]
            return Data(strip, strip[:, 0])
        case "branches":
            along, arm = 10 * np.sort(rng.random(450)), np.arange(450) % 3
            rows = along[:, None] * np.eye(3)[arm] + 0.3 * rng.normal(size=(450, 3))
            return Data(rows, along)
        case "uneven sheet":
            sheet = np.column_stack([4 * rng.random(n) ** 3, rng.random(n)])
            return Data(sheet, sheet[:, 0])
        case "uneven ring":
            angle = np.concatenate([np.pi * rng.random(550), np.pi * (1 + rng.random(50))])
            return Data(np.column_stack([np.cos(angle), np.sin(angle)]), angle)
        case "rings":
            rows, ring = make_circles(400, factor=0.4, noise=0.04, random_state=0)
            return Data(rows, ring)
        case "digits":
            return Data(digits.data[:n], digits.target[:n])
        case "digits, few components":
            return Data(lowd.PCA(6).fit_transform(digits.data[:n]), digits.target[:n])
        case "wine, raw":
            return Data(wine.data, wine.target)
        case "clusters far from 0":
            return Data(groups.X + 30, groups.labels)
        case "clusters and a far point":
            far = 4 * np.abs(groups.X).max() * np.eye(20)[:1]
            return Data(np.vstack([groups.X, far]), np.append(groups.labels, 7))
        case "two layers":
            rows = rng.normal(size=(400, 2)) * [5, 0.3]
            rows[200:, 1] += 2
            return Data(rows, np.repeat([0, 1], 200))
        case "noise":
            return Data(rng.normal(size=(400, 20)), np.arange(400) % 3)
        case "two sizes":
            wide, tight = rng.normal(size=(200, 10)), 0.1 * rng.normal(size=(200, 10))
            return Data(np.vstack([wide, tight + 4]), np.repeat([0, 1], 200))
        case "three groups":
            centers = np.outer(np.repeat([0, 10, 60], 100), np.eye(10)[0])
            return Data(rng.normal(size=(300, 10)) + centers, np.repeat([0, 1, 2], 100))
        case "far groups":
            centers = 100 * np.eye(3)[np.arange(60) % 3]
            return Data(rng.normal(size=(60, 3)) + centers, np.arange(60) % 3)
        case "squared distances":
            plane = rng.random((200, 2)) * [2, 1]
            return Data(squareform(pdist(plane, "sqeuclidean")), plane[:, 0])
        case "ratings":
            plane = rng.random((100, 2)) * [2, 1]
            return Data(np.ceil(4 * squareform(pdist(plane))), plane[:, 0])
        case "line":
            places = np.sort(rng.random(40))
            return Data(np.column_stack([places, 0.1 * rng.random(40)]), places)
        case "wide":
            return Data(rng.normal(size=(60, 4000)) * (0.1 + rng.random((60, 1))), None)
        case "few large entries":
            rows = 0.05 * rng.normal(size=(60, 4000))
            rows[np.arange(60), rng.integers(0, 4000, 60)] = 10 * rng.normal(size=60)
            return Data(rows, None)
    raise KeyError(name)


def draw_panel(axes: Any, method: str, params: Mapping[str, Any], name: str, draw: str) -> None:
    """One picture: the embedding, new points on it, what the inverse returns, or distances."""
    X, color = make_data(name)
    model = getattr(lowd, method)(**params)
    if draw == "distances":
        before, after = pdist(X), pdist(model.fit_transform(X))
        axes.scatter(before / before.mean(), after / before.mean(), s=2, color=INDIGO, linewidths=0)
        axes.axline((1, 1), slope=1, color=GRAY, lw=1, zorder=0)
        axes.set(xlim=(0, 2), ylim=(0, 2), xticks=[0, 1, 2], yticks=[0, 1, 2], aspect="equal")
        axes.tick_params(labelsize=6, length=2)
        return
    if draw == "inverse":
        shown = [0, 2] if X.shape[1] == 3 else [0, 1]
        scatter(axes, model.inverse_transform(model.fit_transform(X))[:, shown], color)
        scatter(axes, X[:, shown], GRAY, zorder=0)
    elif draw == "new points":
        new = np.arange(len(X)) % 4 == 0
        scatter(axes, model.fit(X[~new]).embedding_, GRAY)
        scatter(axes, model.transform(X[new]), color[new], s=7)
    else:
        model.fit(X, color if draw == "supervised" else None)
        Y = model.embedding_ if hasattr(model, "embedding_") else model.transform(X)
        scatter(axes, Y if Y.shape[1] > 1 else np.column_stack([Y, color]), color)


def scatter(axes: Any, Y: Any, color: Any, s: float = 4, **style: Any) -> None:
    classes = not isinstance(color, str) and np.issubdtype(np.asarray(color).dtype, np.integer)
    ink = np.array(COLORS)[color] if classes else color
    s = s / 2 if len(Y) > 1000 else s
    axes.scatter(*Y[:, :2].T, c=ink, s=s, linewidths=0, **style)


def draw_row(panels: list[tuple[str, str, Mapping[str, Any], str, str]]) -> Any:
    """Pictures side by side: title, method, parameters, data and what is drawn of each."""
    size = (PANEL * max(len(panels), 2), PANEL + 0.25)
    figure, grid = plt.subplots(1, len(panels), figsize=size, layout="constrained", squeeze=False)
    for axes, (title, *what) in zip(grid[0], panels, strict=True):
        method, params, data, draw = what
        draw_panel(axes, method, params, data, draw)
        if draw == "distances":
            axes.set_title(title, fontsize=8)
        else:
            bare(axes, title)
            axes.title.set_fontsize(8)
    return figure


def list_panels(row: Row) -> list[tuple[str, str, Mapping[str, Any], str, str]]:
    values = [f"{value:.3g}" if isinstance(value, float) else repr(value) for value in row.values]
    titles = [f"{row.parameter}={value}" for value in values]
    if max(map(len, titles)) > LONGEST_TITLE:
        titles = values
    return [
        (title, row.method, {**row.fixed, row.parameter: value}, row.data, row.draw)
        for title, value in zip(titles, row.values, strict=True)
    ]


FIGURES = {
    **{
        f"{METHODS[row.method]}-{row.parameter}": partial(draw_row, list_panels(row))
        for row in ROWS
    },
    **{
        f"{METHODS[method]}-fails": partial(
            draw_row, [(f.title, method, f.params, f.data, f.draw) for f in found]
        )
        for method, found in FAILURES.items()
    },
}


if __name__ == "__main__":
    save_figures(FIGURES, Path(sys.argv[1]), sys.argv[2:])
