"""Every method on two embedded data sets: fit on 80 %, map the other 20 %, look at the result.

Usage: python examples/demo.py OUTDIR

Writes coordinates (CSV), one saved model and, if matplotlib is installed, pictures.
"""

from __future__ import annotations

import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits, make_swiss_roll
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors

import lowd

K = 10  # neighbors that a good map keeps

# Paul Tol's "muted" colors, the light ones darkened: told apart with any color vision.
ROSE, INDIGO, OCHRE, GREEN, SKY = "#CC6677", "#332288", "#C9A227", "#117733", "#4C9FD6"
WINE, TEAL, OLIVE, PURPLE, GRAY = "#882255", "#44AA99", "#7F7F1F", "#AA4499", "#666666"
COLORS = (ROSE, INDIGO, OCHRE, GREEN, SKY, WINE, TEAL, OLIVE, PURPLE, GRAY)


class Split(NamedTuple):
    """A data set, part of it held out; `label` only colors the pictures."""

    name: str
    train: np.ndarray
    new: np.ndarray
    train_label: np.ndarray
    new_label: np.ndarray


class Result(NamedTuple):
    title: str
    file: str
    model: Any
    places: np.ndarray  # of the training rows
    new_places: np.ndarray  # of the held-out rows, by the map
    seconds: float
    recall: float
    warned: list[str]


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    splits = [
        split("digits", *load_digits(return_X_y=True)),
        split("swiss_roll", *make_swiss_roll(2000, random_state=0)),
    ]
    results = {data.name: [run(data, *job) for job in jobs(data)] for data in splits}
    for data in splits:
        show(data, results[data.name])
        for result in results[data.name]:
            write(out / f"{data.name}_{result.file}.csv", data, result)
    keep(out / "digits_pca.lowd", splits[0], results["digits"][0])
    if find_spec("matplotlib") is None:
        print("No pictures: matplotlib is not installed (pip install 'lowd[app]').")
    else:
        draw(out, splits, results)
    print(f"{len(list(out.glob('*')))} files in {out}/")


def split(name: str, X: np.ndarray, label: np.ndarray) -> Split:
    return Split(name, *train_test_split(X, label, test_size=0.2, random_state=0))


def jobs(data: Split) -> list[tuple[str, str, Any]]:
    """Title, file name and model. Projections are no pictures: they keep half of many columns."""
    k = max(2, data.train.shape[1] // 2)
    rbf: dict[str, Any] = {"kernel": "rbf", "gamma": "median"}
    return [
        ("PCA", "pca", lowd.PCA(2)),
        ("ClassicalMDS", "classical_mds", lowd.ClassicalMDS(2)),
        ("ClassicalMDS, manhattan", "mds_manhattan", lowd.ClassicalMDS(2, metric="manhattan")),
        ("KernelPCA, rbf", "kernel_pca", lowd.KernelPCA(2, **rbf)),
        ("KernelPCA, 200 landmarks", "landmarks", lowd.KernelPCA(2, n_landmarks=200, **rbf)),
        ("Isomap", "isomap", lowd.Isomap(2, n_neighbors=10)),
        ("LocallyLinearEmbedding", "lle", lowd.LocallyLinearEmbedding(2, n_neighbors=12)),
        ("ModifiedLLE", "modified_lle", lowd.ModifiedLLE(2, n_neighbors=12)),
        ("HessianLLE", "hessian_lle", lowd.HessianLLE(2, n_neighbors=12)),
        ("LTSA", "ltsa", lowd.LTSA(2, n_neighbors=12)),
        ("LaplacianEigenmaps", "laplacian", lowd.LaplacianEigenmaps(2, n_neighbors=10)),
        ("DiffusionMaps", "diffusion", lowd.DiffusionMaps(2)),
        ("MDS", "mds", lowd.MDS(2)),
        ("NonMetricMDS", "nonmetric_mds", lowd.NonMetricMDS(2, n_landmarks=400)),
        ("SNE", "sne", lowd.SNE(2)),
        ("TSNE", "tsne", lowd.TSNE(2)),
        ("GaussianRandomProjection", "gaussian", lowd.GaussianRandomProjection(k, random_state=0)),
        ("SparseRandomProjection", "sparse", lowd.SparseRandomProjection(k, random_state=0)),
        ("HadamardRandomProjection", "hadamard", lowd.HadamardRandomProjection(k, random_state=0)),
    ]


def run(data: Split, title: str, file: str, model: Any) -> Result:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        places = model.fit_transform(data.train)
        seconds = time.perf_counter() - start
        new_places = model.transform(data.new)
    kept = recall(data.train, data.new, places, new_places)
    warned = [f"{w.category.__name__}: {w.message}" for w in caught]
    return Result(title, file, model, places, new_places, seconds, kept, warned)


def recall(X: np.ndarray, Q: np.ndarray, Y: np.ndarray, P: np.ndarray) -> float:
    """Share of the K nearest training rows that are still the nearest in the map."""
    true, seen = (
        NearestNeighbors(n_neighbors=K).fit(A).kneighbors(B, return_distance=False)
        for A, B in ((X, Q), (Y, P))
    )
    return float((true[:, :, None] == seen[:, None, :]).any(2).mean())


def show(data: Split, results: list[Result]) -> None:
    n, d = data.train.shape
    print(f"\n{data.name}: fitted on {n} rows of {d} columns, {len(data.new)} rows held out")
    print(f"{'method':<26}{'fit':>9}  {'map':>8}{f'recall@{K}':>11}  spectrum")
    for r in results:
        shape = f"{d} -> {r.new_places.shape[1]}"
        line = f"{r.title:<26}{1000 * r.seconds:>6.0f} ms  {shape:>8}{r.recall:>11.0%}"
        print(f"{line}  {spectrum(r.model)}")
    for r in results:
        for text in r.warned:
            print(f"  {r.title}: {text}")


def spectrum(model: Any) -> str:
    """What the model says of itself."""
    if hasattr(model, "explained_variance_ratio_"):
        return f"{model.explained_variance_ratio_.sum():.0%} of the variance"
    if hasattr(model, "trace_error_"):
        return f"landmarks miss {model.trace_error_:.1%} of the kernel"
    if hasattr(model, "kl_divergence_"):
        return f"KL divergence {model.kl_divergence_:.3g}"
    if hasattr(model, "stress1_"):
        return f"Stress-1 {model.stress1_:.3g}"
    if not hasattr(model, "eigenvalues_"):
        return "none: the axes are drawn"
    shown = "eigenvalues " + ", ".join(f"{value:.3g}" for value in model.eigenvalues_[:3])
    if hasattr(model, "negative_eigenvalue_mass_"):
        shown += f"; {model.negative_eigenvalue_mass_:.0%} negative"
    return shown


def write(path: Path, data: Split, result: Result) -> None:
    axes = ",".join(f"y{j + 1}" for j in range(result.places.shape[1]))
    with path.open("w") as file:
        file.write(f"set,label,{axes}\n")
        for name, labels, places in (
            ("train", data.train_label, result.places),
            ("held-out", data.new_label, result.new_places),
        ):
            for label, place in zip(labels, places, strict=True):
                file.write(f"{name},{label:.6g}," + ",".join(f"{y:.6g}" for y in place) + "\n")


def keep(path: Path, data: Split, result: Result) -> None:
    lowd.save(result.model, path)
    same = (lowd.load(path).transform(data.new) == result.new_places).all()
    print(
        f"\n{path.name}: saved ({path.stat().st_size:,} bytes) and loaded; "
        f"held-out places {'are the same, bit by bit' if same else 'DIFFER'}."
    )


# -- pictures ------------------------------------------------------------------------------------


def draw(out: Path, splits: list[Split], results: dict[str, list[Result]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams |= {"axes.spines.top": False, "axes.spines.right": False, "figure.dpi": 110}
    digits, roll = splits
    figure = digits_figure(plt, digits, results["digits"])
    save_small(figure, out / "digits.png")
    roll_figure(plt, roll, results["swiss_roll"]).savefig(out / "swiss_roll.png")
    spectrum_figure(plt, digits).savefig(out / "spectrum.png")
    plt.close("all")


def save_small(figure: Any, path: Path) -> None:
    """A PNG of 255 colors and white, which takes a third of the usual size."""
    from PIL import Image

    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[:, :, :3]
    few = Image.fromarray(pixels).quantize(255, method=Image.Quantize.MAXCOVERAGE)
    palette = np.full((256, 3), 255, np.uint8)
    found = np.reshape(few.getpalette() or [], (-1, 3))[:255]
    palette[: len(found)] = found
    index = np.where((pixels == 255).all(2), 255, few).astype(np.uint8)  # white stays white
    picture = Image.fromarray(index)
    picture.putpalette(palette.tobytes())
    picture.save(path, optimize=True)


def pictured(results: list[Result], *files: str) -> list[Result]:
    return [r for file in files for r in results if r.file == file]


def bare(axes: Any, title: str, note: str = "") -> None:
    """Axes of a map have no units: only shapes and gaps can be read."""
    axes.set_title(title, fontsize=12, pad=20 if note else 6)
    axes.text(0.5, 1.02, note, transform=axes.transAxes, ha="center", color=GRAY, fontsize=9)
    (x0, y0), (x1, y1) = axes.dataLim.get_points()
    x, y, half = (x0 + x1) / 2, (y0 + y1) / 2, 0.53 * max(x1 - x0, y1 - y0)
    axes.set(xlim=(x - half, x + half), ylim=(y - half, y + half), xticks=[], yticks=[])
    axes.set_aspect("equal")
    axes.spines[:].set_visible(False)


def digits_figure(plt: Any, data: Split, results: list[Result]) -> Any:
    figure, panels = plt.subplots(2, 3, figsize=(11, 8.6), layout="compressed")
    files = ("pca", "kernel_pca", "isomap", "laplacian", "ltsa", "tsne")
    for axes, r in zip(panels.flat, pictured(results, *files), strict=True):
        for digit, color in enumerate(COLORS):
            old, new = data.train_label == digit, data.new_label == digit
            axes.scatter(*r.places[old].T, s=9, color=color, alpha=0.3, linewidths=0)
            for rim, ink in ((1.8, "white"), (0.2, color)):  # a halo keeps numerals readable
                axes.scatter(*r.new_places[new].T, s=40, color=ink, marker=f"${digit}$", lw=rim)
        bare(axes, r.title, f"keeps {r.recall:.0%} of the {K} nearest neighbors")
    figure.supxlabel(
        f"dots: {len(data.train)} training rows     numerals: {len(data.new)} held-out rows, "
        "placed by the map",
        fontsize=10,
    )
    return figure


def roll_figure(plt: Any, data: Split, results: list[Result]) -> Any:
    figure, panels = plt.subplots(2, 4, figsize=(13, 7.8), layout="compressed")
    look: dict[str, Any] = {"cmap": "viridis", "vmin": 4.7, "vmax": 14.2}
    first = panels[0, 0]
    colors = first.scatter(*data.train[:, [0, 2]].T, s=6, c=data.train_label, **look)
    bare(first, "the data", "seen along the axis of the roll")
    files = ("pca", "kernel_pca", "isomap", "lle", "modified_lle", "ltsa", "laplacian")
    for axes, r in zip(panels.flat[1:], pictured(results, *files), strict=True):
        axes.scatter(*r.places.T, s=8, c=data.train_label, alpha=0.5, linewidths=0, **look)
        rim: dict[str, Any] = {"edgecolors": "black", "linewidths": 0.5}
        axes.scatter(*r.new_places.T, s=13, c=data.new_label, **rim, **look)
        bare(axes, r.title, f"keeps {r.recall:.0%} of the {K} nearest neighbors")
    figure.colorbar(colors, ax=panels, label="position along the roll", shrink=0.75, pad=0.01)
    figure.supxlabel(
        f"plain: {len(data.train)} training rows     rimmed: {len(data.new)} held-out rows, "
        "placed by the map\nPCA and kernel PCA see straight distances only; the others follow the "
        "neighbor graph along the roll.",
        fontsize=10,
    )
    return figure


def spectrum_figure(plt: Any, data: Split) -> Any:
    """Three spectra of the digits; the one of the Manhattan distances has a negative side."""
    X = data.train[:600]  # few enough for lowd to compute every eigenvalue
    pca = lowd.PCA().fit(data.train)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lowd.errors.IndefiniteWarning)  # it is what we show
        mds = lowd.ClassicalMDS(2, metric="manhattan").fit(X)
    kernel = lowd.KernelPCA(kernel="rbf", gamma="median").fit(X)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")

    share = 100 * pca.explained_variance_ratio_
    axis = np.arange(1, len(share) + 1)
    enough = int(np.searchsorted(share.cumsum(), 95)) + 1
    left.bar(axis, share, color=TEAL, label="each axis")
    left.plot(axis, share.cumsum(), color=INDIGO, label="all up to it")
    left.plot(enough, share.cumsum()[enough - 1], "o", color=INDIGO, ms=5)
    left.text(enough + 1, 88, f"{enough} axes: 95 %", color=INDIGO)
    left.set(title="PCA", xlabel="axis", ylabel="% of the variance", ylim=(0, 104))
    left.legend(frameon=False, loc="center right")

    values = 100 * mds.spectrum_ / np.abs(mds.spectrum_).sum()
    rank = np.arange(1, len(values) + 1)
    for word, color, part in (("positive", TEAL, values > 0), ("negative", ROSE, values < 0)):
        label = f"{word}: {np.abs(values[part]).sum():.0f} % in all"
        middle.plot(rank[part], np.abs(values[part]), ".", ms=4, color=color, label=label)
    middle.set(title="ClassicalMDS, manhattan", ylabel="size, % of all", ylim=(3e-4, 60))
    middle.legend(frameon=False, loc="upper right")

    values = 100 * kernel.eigenvalues_ / kernel.eigenvalues_.sum()
    right.plot(np.arange(1, len(values) + 1), values, ".", ms=4, color=TEAL)
    right.set(title="KernelPCA, rbf", ylabel="% of all")
    for axes in (middle, right):
        axes.set(xlabel="eigenvalue, largest first", yscale="log")
    return figure


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
