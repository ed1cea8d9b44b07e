"""Draw the figures of the documentation with the methods and plots that they explain.

Usage: python examples/figures.py docs/images
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits, make_circles, make_moons, make_swiss_roll

import lowd
from drawing import COLORS, GRAY, INDIGO, OCHRE, ROSE, TEAL, bare, save_small
from gallery import PLOTS, figure_of

# Miles by air between ten cities of the USA: R's `UScitiesD`, the upper triangle row by row.
CITIES = (
    "Atlanta Chicago Denver Houston Los_Angeles Miami New_York San_Francisco Seattle Washington"
)
MILES = """587 1212 701 1936 604 748 2139 2182 543 920 940 1745 1188 713 1858 1737 597 879 831 1726
1631 949 1021 1494 1374 968 1420 1645 1891 1220 2339 2451 347 959 2300 1092 2594 2734 923 2571 2408
205 678 2442 2329"""


def main(out: Path) -> None:
    plt.rcParams |= {"axes.spines.top": False, "axes.spines.right": False, "figure.dpi": 100}
    linear = (pca, gaussian, sparse, hadamard)
    graphs = (isomap, laplacian_eigenmaps, diffusion_maps, locally_linear)
    for draw in (*linear, classical_mds, metrics, kernel_pca, landmarks, *graphs):
        save_small(draw(), out / f"{draw.__name__}.png")
        plt.close("all")
    for plotted in PLOTS:
        save_small(figure_of(plotted()), out / f"{plotted.__name__}.png")
        plt.close("all")


def panels(count: int, height: float = 3.4, **more: Any) -> Any:
    return plt.subplots(1, count, figsize=(3.3 * count, height), layout="compressed", **more)


def pca() -> Any:
    """Principal components, and what `scale` and `whiten` do to them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) @ [[3, 1.6], [0, 0.8]]
    figure, (raw, scaled, white) = panels(3, 3.6)
    for axes, model, title in ((raw, lowd.PCA(), "PCA()"), (scaled, lowd.PCA(scale=True), "scale")):
        model.fit(X)
        rows = (X - model.mean_) / model.scale_
        axes.scatter(*rows.T, s=6, color=GRAY, alpha=0.45, linewidths=0)
        for axis, spread, color in zip(
            model.components_, np.sqrt(model.explained_variance_), (INDIGO, ROSE), strict=True
        ):
            axes.annotate(
                "",
                2 * spread * axis,
                (0, 0),
                arrowprops={"arrowstyle": "-|>", "color": color, "lw": 2.2},
            )
        bare(axes, title, "components, two standard deviations long")
    raw.set_title("unscaled", fontsize=12, pad=20)
    scaled.set_title("scale=True", fontsize=12, pad=20)
    white.scatter(*lowd.PCA(whiten=True).fit_transform(X).T, s=6, color=TEAL, alpha=0.6, lw=0)
    bare(white, "whiten=True", "all components have unit variance")
    return figure


def gaussian() -> Any:
    """Relative change of squared distances: less, the more components."""
    X = np.random.default_rng(0).normal(size=(200, 5000))
    true = pdist(X, "sqeuclidean")
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for k, color in ((50, OCHRE), (300, TEAL), (1500, INDIGO)):
        Y = lowd.GaussianRandomProjection(k, random_state=0).fit_transform(X)
        ratio = pdist(Y, "sqeuclidean") / true
        left.hist(ratio, 60, histtype="step", density=True, color=color, lw=1.6, label=f"k = {k}")
    left.set(title="200 samples of 5,000 features", xlabel="squared distance, after / before")
    left.set(yticks=[], ylabel="pairs")
    left.legend(frameon=False)
    n = np.logspace(1, 7, 60)
    for eps, color in ((0.1, INDIGO), (0.2, TEAL), (0.4, OCHRE)):
        right.loglog(n, lowd.jl_min_dim(n, eps), color=color)
        right.text(1.3e7, lowd.jl_min_dim(1e7, eps), f"eps = {eps}", color=color, va="center")
    right.set(title='n_components="auto"', xlabel="samples", ylabel="components needed")
    return figure


def sparse() -> Any:
    """Few non-zeros are enough for rows spread over many columns, not for sparse rows."""
    rng = np.random.default_rng(0)
    spread = rng.normal(size=(200, 2000))
    spiky = np.where(rng.random((200, 2000)) < 0.002, rng.normal(size=(200, 2000)), 0)
    spiky[:, 0] = rng.normal(size=200)  # no row is zero
    figure, both = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained", sharey=True)
    for axes, X, title in zip(
        both, (spread, spiky), ("rows spread over all columns", "rows of a few spikes"), strict=True
    ):
        true = pdist(X, "sqeuclidean")
        for density, color in ((1 / 3, INDIGO), ("auto", TEAL), (1 / 500, OCHRE)):
            model = lowd.SparseRandomProjection(300, density=density, random_state=0)
            ratio = pdist(model.fit_transform(X), "sqeuclidean") / true
            label = f"density = {model.density_:.3g}" + (' ("auto")' if density == "auto" else "")
            bins = np.linspace(0, 3, 121)
            axes.hist(ratio, bins, histtype="step", density=True, color=color, lw=1.6, label=label)
        axes.set(title=title, xlabel="squared distance, after / before", yticks=[])
    both[0].set_ylabel("pairs")
    both[1].legend(frameon=False)
    return figure


def hadamard() -> Any:
    """The Hadamard transform spreads a spike over all entries, so that any few of them will do."""
    row = np.zeros((1, 64))
    row[0, [9, 30]] = 1.0, -0.6
    model = lowd.HadamardRandomProjection(16, random_state=0).fit(row)
    whole = lowd.HadamardRandomProjection(64, random_state=0).fit(row)
    steps = [
        ("a row", np.arange(64), row[0], GRAY),
        ("signs flipped, mixed", np.arange(64), whole.transform(row)[0], TEAL),
        ("16 entries kept, scaled", model._rows, model.transform(row)[0], INDIGO),
    ]
    figure, three = panels(3, 2.4, sharey=True)
    for axes, (title, index, value, color) in zip(three, steps, strict=True):
        axes.vlines(index, 0, value, color=color, lw=2)
        axes.axhline(0, color=GRAY, lw=0.6)
        axes.set(title=title, xticks=[0, 32, 63], xlim=(-2, 65), xlabel="entry")
        axes.text(2, -0.85, f"squared length {value @ value:.2f}", color=GRAY, fontsize=9)
    three[0].set(ylim=(-1, 1.1), yticks=[-1, 0, 1])
    return figure


def classical_mds() -> Any:
    """Classical MDS of nine cities; the tenth is embedded from its distances to those nine."""
    names = CITIES.split()
    D = np.zeros((10, 10))
    D[np.triu_indices(10, 1)] = np.array(MILES.split(), float)
    D += D.T
    new = names.index("Denver")
    old = np.delete(np.arange(10), new)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lowd.errors.IndefiniteWarning)  # the Earth is round
        mds = lowd.ClassicalMDS(2, metric="precomputed").fit(D[np.ix_(old, old)])
    denver = mds.transform(D[new : new + 1, old])[0]
    west = np.sign(mds.embedding_[names.index("Seattle") - 1, 0])
    north = np.sign(mds.embedding_[names.index("Seattle") - 1, 1])
    flip = np.array([-west, north])  # an embedding has no orientation: reflect it as in an atlas
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    axes.scatter(*(mds.embedding_ * flip).T, color=INDIGO, s=22)
    axes.scatter(*(denver * flip), color=ROSE, s=60, marker="*")
    for name, at in zip(np.array(names)[old], mds.embedding_ * flip, strict=True):
        axes.annotate(name.replace("_", " "), at, (5, 4), textcoords="offset points", fontsize=9)
    axes.annotate("Denver, by transform", denver * flip, (7, 4), textcoords="offset points")
    axes.set(xlabel="miles", xlim=(-1600, 1500), ylim=(-750, 800))
    axes.set_aspect("equal")
    return figure


def metrics() -> Any:
    """Classical MDS of the digits by three metrics, and with few landmarks."""
    X, digit = load_digits(return_X_y=True)
    models = [lowd.ClassicalMDS(2, metric=name) for name in ("euclidean", "manhattan", "cosine")]
    models.append(lowd.ClassicalMDS(2, metric="manhattan", n_landmarks=100))
    figure, four = panels(4, 3.7)
    for axes, model in zip(four, models, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lowd.errors.IndefiniteWarning)  # the figure says it
            Y = model.fit_transform(X)
        axes.scatter(*Y.T, s=5, c=np.array(COLORS)[digit], alpha=0.6, linewidths=0)
        title = model.metric + (", 100 landmarks" if model.n_landmarks else "")
        bare(axes, title, f"negative share {model.negative_eigenvalue_mass_:.0%}")
    return figure


def kernel_pca() -> Any:
    """Kernel PCA separates two rings with an rbf kernel of the right width; PCA cannot."""
    X, ring = make_circles(600, factor=0.35, noise=0.07, random_state=0)
    figure, four = panels(4, 3.7)
    models = [("the data (and PCA)", lowd.PCA(2))]
    models += [(f"rbf, gamma={g}", lowd.KernelPCA(2, kernel="rbf", gamma=g)) for g in (0.1, 3, 60)]
    note = {None: "not linearly separable", 0.1: "too wide: nearly PCA"}
    note |= {3: "the first axis separates them", 60: "too narrow: a ring becomes a point"}
    for axes, (title, model) in zip(four, models, strict=True):
        Y = model.fit_transform(X)
        for number, color in enumerate((INDIGO, OCHRE)):
            axes.scatter(*Y[ring == number].T, s=7, color=color, alpha=0.7, linewidths=0)
        bare(axes, title, note[getattr(model, "gamma_", None)])
    return figure


def landmarks() -> Any:
    """Trace error of kernel PCA against the number of landmarks."""
    X = load_digits().data
    figure, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
    counts = np.array([10, 20, 50, 100, 200, 400, 800])
    for factor, color in ((0.3, TEAL), (1, INDIGO), (3, OCHRE)):
        median = lowd.KernelPCA(1, kernel="rbf", gamma="median", n_landmarks=10).fit(X).gamma_
        rbf = {"kernel": "rbf", "gamma": factor * median, "random_state": 0}
        missed = [lowd.KernelPCA(2, n_landmarks=m, **rbf).fit(X).trace_error_ for m in counts]
        label = "gamma = " + ("median" if factor == 1 else f"{factor} × median")
        axes.loglog(counts, 100 * np.array(missed), "o-", ms=4, color=color, label=label)
    axes.set(xlabel="n_landmarks", ylabel="trace_error_, %", title="digits, rbf kernel")
    axes.set_xticks(counts, map(str, counts))
    axes.minorticks_off()
    axes.legend(frameon=False)
    return figure


def isomap() -> Any:
    """A Swiss roll by PCA and by Isomap, with new points, and the residual variance."""
    (X, along), (new, there) = (_roll(n, seed) for n, seed in ((1200, 0), (60, 1)))
    figure = plt.figure(figsize=(13.2, 3.4), layout="compressed")
    roll = figure.add_subplot(1, 4, 1, projection="3d")
    roll.scatter(*X.T, c=along, cmap="viridis", s=5, linewidths=0)
    roll.view_init(8, -72)
    roll.set_axis_off()
    roll.set_title("a Swiss roll")
    flat, unrolled, elbow = (figure.add_subplot(1, 4, i) for i in (2, 3, 4))
    model = lowd.Isomap(4, n_neighbors=10).fit(X)
    for axes, method, title in ((flat, lowd.PCA(2).fit(X), "PCA"), (unrolled, model, "Isomap")):
        axes.scatter(*method.transform(X)[:, :2].T, c=along, cmap="viridis", s=5, linewidths=0)
        Q = method.transform(new)[:, :2]
        axes.scatter(*Q.T, c=there, cmap="viridis", s=34, edgecolors="black", linewidths=0.7)
        bare(axes, f"{title}, new points outlined")
    elbow.plot(range(1, 5), model.residual_variance_, "o-", color=INDIGO)
    elbow.set(xticks=range(1, 5), xlabel="dimensions", title="residual variance", ylim=(0, None))
    return figure


def _roll(n: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    t, height = 1.5 * np.pi * (1 + 2 * rng.random(n)), 21 * rng.random(n)
    return np.column_stack([t * np.cos(t), height, t * np.sin(t)]), t


def locally_linear() -> Any:
    """A Swiss roll by the four methods of the LLE family, with new points."""
    (X, along), (new, there) = (_roll(n, seed) for n, seed in ((1500, 0), (60, 1)))
    figure, four = panels(4, 3.7)
    family = (lowd.LocallyLinearEmbedding, lowd.ModifiedLLE, lowd.HessianLLE, lowd.LTSA)
    for axes, method in zip(four, family, strict=True):
        model = method(2, n_neighbors=12).fit(X)
        axes.scatter(*model.embedding_.T, c=along, cmap="viridis", s=5, linewidths=0)
        axes.scatter(
            *model.transform(new).T,
            c=there,
            cmap="viridis",
            s=34,
            edgecolors="black",
            linewidths=0.7,
        )
        bare(axes, method.__name__, "a Swiss roll, new points outlined")
    return figure


def laplacian_eigenmaps() -> Any:
    """A Swiss roll with few and with many neighbors, and the Fiedler vector of two moons."""
    X, t = make_swiss_roll(1500, random_state=0)
    figure, four = panels(4, 3.7)
    four[0].scatter(X[:, 0], X[:, 2], s=5, c=t, cmap="viridis", linewidths=0)
    bare(four[0], "a Swiss roll, from the side", "color: length along it")
    notes = {10: "axis 1 follows the roll", 60: "60 neighbors: short circuits"}
    for axes, k in zip(four[1:], (10, 60), strict=False):
        Y = lowd.LaplacianEigenmaps(2, n_neighbors=k).fit_transform(X)
        axes.scatter(*Y.T, s=5, c=t, cmap="viridis", linewidths=0)
        bare(axes, f"n_neighbors={k}", notes[k])
    moons, _ = make_moons(500, noise=0.08, random_state=0)
    model = lowd.LaplacianEigenmaps(1).fit(moons)
    fiedler = model.embedding_[:, 0]
    limit = np.abs(fiedler).max()
    four[3].scatter(
        *moons.T, s=7, c=fiedler, cmap="coolwarm", vmin=-limit, vmax=limit, linewidths=0
    )
    bare(
        four[3],
        "two moons, colored by axis 1",
        f"λ = {model.fiedler_value_:.4f}: nearly disconnected",
    )
    return figure


def diffusion_maps() -> Any:
    """The effect of alpha on uneven sampling, and of time on the spectrum."""
    rng = np.random.default_rng(0)
    t = np.r_[rng.uniform(0, np.pi, 1200), rng.uniform(np.pi, 2 * np.pi, 120)]
    X = np.c_[np.cos(t), np.sin(t)] * (1 + 0.03 * rng.normal(size=(len(t), 1)))
    figure, four = panels(4, 3.7)
    four[0].scatter(*X.T, s=5, c=t, cmap="twilight", linewidths=0)
    bare(four[0], "a ring", "ten times as many samples on top")
    for axes, alpha in zip(four[1:], (0.0, 1.0), strict=False):
        model = lowd.DiffusionMaps(2, alpha=alpha, time=0, sigma=0.15).fit(X)
        axes.scatter(*model.embedding_.T, s=5, c=t, cmap="twilight", linewidths=0)
        bare(
            axes, f"alpha={alpha:g}", "depends on the density" if alpha == 0 else "density removed"
        )
        axes.set_aspect("equal")
    model = lowd.DiffusionMaps(12, sigma=0.15).fit(X)
    for steps, color in ((1, TEAL), (10, INDIGO), (100, OCHRE)):
        powers = model.eigenvalues_[1:] ** steps
        four[3].plot(range(1, 13), powers, "o-", ms=4, color=color, label=f"time={steps}")
    four[3].set(title="λ to the power of time", xlabel="axis", xticks=range(2, 13, 2))
    four[3].legend(frameon=False)
    return figure


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
