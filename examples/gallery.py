"""The figures of docs/plots.md and docs/compare.md, one function each."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, load_wine

import lowd
from lowd import plot


@cache
def digits() -> Any:
    return load_digits()


@cache
def digits_embedding() -> np.ndarray:
    return lowd.TSNE().fit_transform(digits().data)


@cache
def digits_evaluation() -> Any:
    return lowd.evaluate(digits().data, digits_embedding(), labels=digits().target)


@cache
def wine() -> Any:
    return load_wine()


@cache
def wine_pca() -> Any:
    return lowd.PCA(5, scale=True).fit(wine().data)


def plot_classes() -> Any:
    return plot.scatter(digits_embedding(), digits().target, title="digits, t-SNE", legend="digit")


def plot_values() -> Any:
    roll = lowd.datasets.swiss_roll(2000)
    model = lowd.Isomap(n_neighbors=10).fit(roll.X)
    return plot.scatter(
        model, roll.color, title="Swiss roll, Isomap", legend="length along the roll"
    )


def plot_density() -> Any:
    """150,000 points: two wide clusters and a small dense one that a scatter plot would hide."""
    rng = np.random.default_rng(0)
    centers, sizes, spread = ([0, 0], [3, 1], [1, 0.6]), (100_000, 40_000, 10_000), (1, 0.8, 0.06)
    Y = np.vstack(
        [c + s * rng.normal(size=(n, 2)) for c, n, s in zip(centers, sizes, spread, strict=True)]
    )
    names = np.repeat(["wide", "right", "dense"], sizes)
    _, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    plot.scatter(Y, ax=left, title="150,000 points")
    plot.scatter(Y, names, ax=right, title="the same by class")
    return left


def plot_images() -> Any:
    return plot.scatter(digits_embedding(), digits().target, images=digits().images, cmap="gray_r")


def plot_quality() -> Any:
    return plot.quality(digits_embedding(), digits_evaluation())


def plot_neighbors() -> Any:
    worst = int(np.argmin(digits_evaluation().pointwise["continuity"]))
    return plot.neighbors(digits().data, digits_embedding(), worst, 12)


def plot_shepard() -> Any:
    return plot.shepard(digits_evaluation())


def plot_scree() -> Any:
    return plot.scree(lowd.dimension(wine().data / wine().data.std(0)))


def plot_dimension() -> Any:
    return plot.dimension(lowd.dimension(digits().data))


def plot_loadings() -> Any:
    return plot.loadings(wine_pca(), wine().feature_names)


def plot_biplot() -> Any:
    names = np.array(wine().target_names)[wine().target]
    return plot.biplot(wine_pca(), wine().data, names, names=wine().feature_names)


def plot_eigenimages() -> Any:
    return plot.eigenimages(lowd.PCA(11).fit(digits().data), (8, 8))


def plot_pca_steps() -> Any:
    return plot.pca_steps(wine().data, (0, 9), names=wine().feature_names)


@cache
def comparison() -> Any:
    roll = lowd.datasets.swiss_roll(800)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lowd.errors.LowdWarning)
        methods = ["PCA", "Isomap", "LTSA", "LaplacianEigenmaps", "TSNE"]
        grid = {"Isomap": {"n_neighbors": [5, 30]}}
        return lowd.compare(roll.X, methods, grid, labels=None, subsamples=1), roll.color


def plot_compare() -> Any:
    found, color = comparison()
    return found.plot(color, columns=3, legend="length along the roll")


def plot_rnx() -> Any:
    return plot.rnx(comparison()[0])


def plot_reliability() -> Any:
    models = (lowd.TSNE(), lowd.Isomap(), lowd.LaplacianEigenmaps(), lowd.LocallyLinearEmbedding())
    evaluations = {}
    for model in models:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lowd.errors.LowdWarning)
            model.fit(digits().data).calibrate_confidence(digits().data)
        evaluations[type(model).__name__] = model.evaluate(digits().data, anchors=100)
    return plot.reliability(evaluations, title="digits, rows left out")


PLOTS: tuple[Callable[[], Any], ...] = (
    plot_classes,
    plot_values,
    plot_density,
    plot_images,
    plot_quality,
    plot_neighbors,
    plot_shepard,
    plot_rnx,
    plot_reliability,
    plot_scree,
    plot_dimension,
    plot_loadings,
    plot_biplot,
    plot_eigenimages,
    plot_pca_steps,
    plot_compare,
)


def figure_of(axes: Any) -> Any:
    """The figure of the axes that a plot returned, in the resolution of a page."""
    figure = np.ravel(np.array(axes, dtype=object))[0].get_figure(root=True)
    figure.set_dpi(90)
    return figure
