"""Every method on two data sets: fit on 80 %, transform the other 20 %, show the embeddings.

Usage: python examples/demo.py OUTDIR

Writes embeddings (CSV), one saved model and, if matplotlib is installed, figures.
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
from drawing import COLORS, INDIGO, ROSE, TEAL, bare, save_small

K = 10  # neighbors for the recall


class Split(NamedTuple):
    """A data set, part of it held out; `label` only colors the figures."""

    name: str
    train: np.ndarray
    new: np.ndarray
    train_label: np.ndarray
    new_label: np.ndarray


class Result(NamedTuple):
    title: str
    file: str
    model: Any
    Y: np.ndarray  # embedding of the training points
    Y_new: np.ndarray  # of the held-out points, by transform
    seconds: float
    recall: float
    warnings: list[str]


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
    save_and_load(out / "digits_pca.lowd", splits[0], results["digits"][0])
    if find_spec("matplotlib") is None:
        print("No figures: matplotlib is not installed (pip install 'lowd[app]').")
    else:
        draw(out, splits, results)
    print(f"{len(list(out.glob('*')))} files in {out}/")


def split(name: str, X: np.ndarray, label: np.ndarray) -> Split:
    return Split(name, *train_test_split(X, label, test_size=0.2, random_state=0))


def jobs(data: Split) -> list[tuple[str, str, Any]]:
    """Title, file name and model. Random projections keep half of the columns and are not drawn."""
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
        Y = model.fit_transform(data.train)
        seconds = time.perf_counter() - start
        Y_new = model.transform(data.new)
    messages = [f"{w.category.__name__}: {w.message}" for w in caught]
    share = recall(data.train, data.new, Y, Y_new)
    return Result(title, file, model, Y, Y_new, seconds, share, messages)


def recall(X: np.ndarray, Q: np.ndarray, Y: np.ndarray, Y_new: np.ndarray) -> float:
    """Share of the K nearest training points that are also nearest in the embedding."""
    true, found = (
        NearestNeighbors(n_neighbors=K).fit(A).kneighbors(B, return_distance=False)
        for A, B in ((X, Q), (Y, Y_new))
    )
    return float((true[:, :, None] == found[:, None, :]).any(2).mean())


def show(data: Split, results: list[Result]) -> None:
    n, d = data.train.shape
    print(f"\n{data.name}: fitted on {n} samples of {d} features, {len(data.new)} held out")
    print(f"{'method':<26}{'fit':>9}  {'columns':>8}{f'recall@{K}':>11}  spectrum")
    for r in results:
        shape = f"{d} -> {r.Y_new.shape[1]}"
        line = f"{r.title:<26}{1000 * r.seconds:>6.0f} ms  {shape:>8}{r.recall:>11.0%}"
        print(f"{line}  {spectrum(r.model)}")
    for r in results:
        for text in r.warnings:
            print(f"  {r.title}: {text}")


def spectrum(model: Any) -> str:
    """The spectrum or the objective that the model reports."""
    if hasattr(model, "explained_variance_ratio_"):
        return f"{model.explained_variance_ratio_.sum():.0%} of the variance"
    if hasattr(model, "trace_error_"):
        return f"landmarks miss {model.trace_error_:.1%} of the kernel's trace"
    if hasattr(model, "kl_divergence_"):
        return f"KL divergence {model.kl_divergence_:.3g}"
    if hasattr(model, "stress1_"):
        return f"Stress-1 {model.stress1_:.3g}"
    if not hasattr(model, "eigenvalues_"):
        return "none: random directions"
    shown = "eigenvalues " + ", ".join(f"{value:.3g}" for value in model.eigenvalues_[:3])
    if hasattr(model, "negative_eigenvalue_mass_"):
        shown += f"; {model.negative_eigenvalue_mass_:.0%} negative"
    return shown


def write(path: Path, data: Split, result: Result) -> None:
    axes = ",".join(f"y{j + 1}" for j in range(result.Y.shape[1]))
    with path.open("w") as file:
        file.write(f"set,label,{axes}\n")
        for name, labels, Y in (
            ("train", data.train_label, result.Y),
            ("held-out", data.new_label, result.Y_new),
        ):
            for label, point in zip(labels, Y, strict=True):
                file.write(f"{name},{label:.6g}," + ",".join(f"{y:.6g}" for y in point) + "\n")


def save_and_load(path: Path, data: Split, result: Result) -> None:
    lowd.save(result.model, path)
    same = (lowd.load(path).transform(data.new) == result.Y_new).all()
    print(
        f"\n{path.name}: saved ({path.stat().st_size:,} bytes) and loaded; "
        f"coordinates of held-out points {'are bit-identical' if same else 'DIFFER'}."
    )


# -- figures ------------------------------------------------------------------------------------


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


def select(results: list[Result], *files: str) -> list[Result]:
    return [r for file in files for r in results if r.file == file]


def digits_figure(plt: Any, data: Split, results: list[Result]) -> Any:
    figure, panels = plt.subplots(2, 3, figsize=(11, 8.6), layout="compressed")
    files = ("pca", "kernel_pca", "isomap", "laplacian", "ltsa", "tsne")
    for axes, r in zip(panels.flat, select(results, *files), strict=True):
        for digit, color in enumerate(COLORS):
            old, new = data.train_label == digit, data.new_label == digit
            axes.scatter(*r.Y[old].T, s=9, color=color, alpha=0.3, linewidths=0)
            for rim, ink in ((1.8, "white"), (0.2, color)):  # a halo keeps numerals readable
                axes.scatter(*r.Y_new[new].T, s=40, color=ink, marker=f"${digit}$", lw=rim)
        bare(axes, r.title, f"preserves {r.recall:.0%} of the {K} nearest neighbors")
    figure.supxlabel(
        f"dots: {len(data.train)} training points     numerals: {len(data.new)} held-out points, "
        "embedded by transform",
        fontsize=10,
    )
    return figure


def roll_figure(plt: Any, data: Split, results: list[Result]) -> Any:
    figure, panels = plt.subplots(2, 4, figsize=(13, 7.8), layout="compressed")
    style: dict[str, Any] = {"cmap": "viridis", "vmin": 4.7, "vmax": 14.2}
    first = panels[0, 0]
    colors = first.scatter(*data.train[:, [0, 2]].T, s=6, c=data.train_label, **style)
    bare(first, "the data", "seen along the axis of the roll")
    files = ("pca", "kernel_pca", "isomap", "lle", "modified_lle", "ltsa", "laplacian")
    for axes, r in zip(panels.flat[1:], select(results, *files), strict=True):
        axes.scatter(*r.Y.T, s=8, c=data.train_label, alpha=0.5, linewidths=0, **style)
        rim: dict[str, Any] = {"edgecolors": "black", "linewidths": 0.5}
        axes.scatter(*r.Y_new.T, s=13, c=data.new_label, **rim, **style)
        bare(axes, r.title, f"preserves {r.recall:.0%} of the {K} nearest neighbors")
    figure.colorbar(colors, ax=panels, label="position along the roll", shrink=0.75, pad=0.01)
    figure.supxlabel(
        f"plain: {len(data.train)} training points     outlined: {len(data.new)} held-out points, "
        "embedded by transform\nPCA and kernel PCA use Euclidean distances; the others use the "
        "neighbor graph, which follows the roll.",
        fontsize=10,
    )
    return figure


def spectrum_figure(plt: Any, data: Split) -> Any:
    """Three spectra of the digits; that of the Manhattan distances has negative eigenvalues."""
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
    left.bar(axis, share, color=TEAL, label="each component")
    left.plot(axis, share.cumsum(), color=INDIGO, label="cumulative")
    left.plot(enough, share.cumsum()[enough - 1], "o", color=INDIGO, ms=5)
    left.text(enough + 1, 88, f"{enough} components: 95 %", color=INDIGO)
    left.set(title="PCA", xlabel="component", ylabel="% of the variance", ylim=(0, 104))
    left.legend(frameon=False, loc="center right")

    values = 100 * mds.spectrum_ / np.abs(mds.spectrum_).sum()
    rank = np.arange(1, len(values) + 1)
    for word, color, part in (("positive", TEAL, values > 0), ("negative", ROSE, values < 0)):
        label = f"{word}: {np.abs(values[part]).sum():.0f} % in all"
        middle.plot(rank[part], np.abs(values[part]), ".", ms=4, color=color, label=label)
    middle.set(title="ClassicalMDS, manhattan", ylabel="absolute value, % of all", ylim=(3e-4, 60))
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
