"""How good the confidence of new points is, and the curve of each method that suits many data sets.

    python benchmarks/confidence.py measure OUT.npz [METHOD ...]
    python benchmarks/confidence.py compare FOUND.npz ...
    python benchmarks/confidence.py cost [METHOD ...]

`measure` leaves a fifth of the rows of each set out of a fit, places them, and judges them by a fit
of all rows; twice. Where there are labels, it leaves the rows of a class out as well, for the two
largest. `compare` prints means over the sets: the calibration error as it is, by the curve of the
other sets, and calibrated; and how well rows that are placed well are told from others, rows with
shuffled columns from real ones, and those of a class that was left out from others, also by the
distance to the nearest training row alone. The curve of all sets is for `confidence_curve`. `cost`
is the CPU time of a transform with confidence, over that of one without.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import rankdata
from sklearn import datasets as toys

import data
import lowd
from lowd import confidence, datasets

METHODS = (
    *("Isomap", "LocallyLinearEmbedding", "ModifiedLLE", "HessianLLE", "LTSA"),
    *("LaplacianEigenmaps", "DiffusionMaps", "SNE", "TSNE", "UMAP", "MDS", "NonMetricMDS"),
    *("PCA", "ClassicalMDS", "KernelPCA", "GaussianRandomProjection"),
)
MORE = {
    "KernelPCA": {"kernel": "rbf", "gamma": "median"},
    "GaussianRandomProjection": {"random_state": 0},
}
FOLDER = Path(os.environ.get("LOWD_DATA") or data.SHARED)
FILES = {
    "mnist": 800,
    "frey_faces": 800,
    "olivetti_faces": 400,
    "isomap_faces_32x32": 698,
    "pbmc3k_pca50": 1000,
    "genotypes_1000g_phase1": 500,
    "genotypes_hgdp_europe": 156,
    "glove6b_100d_top20k": 800,
}


def toy(X: Any, rows: int = 1000) -> Any:
    """Columns in units of their deviation, of rows in random order."""
    X = X[np.random.default_rng(0).permutation(len(X))[:rows]]
    return (X - X.mean(0)) / np.maximum(X.std(0), 1e-3)


def overlapping(rows: int) -> Any:
    """Clusters of which many rows are between two."""
    rng = np.random.default_rng(1)
    centers = rng.normal(size=(8, 6))
    return centers[rng.integers(8, size=rows)] + 0.9 * rng.normal(size=(rows, 6))


def wide(rows: int, columns: int) -> Any:
    """Four directions, and noise in every other."""
    rng = np.random.default_rng(2)
    plane = rng.normal(size=(rows, 4)) @ rng.normal(size=(4, columns))
    return plane + rng.normal(size=(rows, columns))


def hidden(rows: int, columns: int, apart: float) -> tuple[Any, Any]:
    """Six classes that differ in a fifth of the columns, by less than their noise."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 6, rows)
    differ = rng.random((6, columns)) < 0.2
    return rng.normal(size=(rows, columns)) + (apart * rng.normal(size=(6, columns)) * differ)[y], y


def spikes(rows: int, columns: int, variances: tuple[float, ...]) -> Any:
    """Noise that is longer in some directions."""
    rng = np.random.default_rng(6)
    V = np.linalg.qr(rng.normal(size=(columns, len(variances))))[0]
    scores = rng.normal(size=(rows, len(variances))) * np.sqrt(variances)
    return rng.normal(size=(rows, columns)) + scores @ V.T


def from_file(name: str, rows: int, only: str = "") -> Any:
    """Random rows of a file in the folder of data sets; of very wide ones some columns."""
    with np.load(FOLDER / f"{name}.npz", allow_pickle=False) as arrays:
        X = arrays["X" if "X" in arrays else arrays.files[0]]
        y = arrays["y"] if "y" in arrays and arrays["y"].ndim == 1 else None
        if only:
            own = arrays["superpop_names"][arrays["superpop"]] == only
            X, y = X[own], y[own]
    drawn = np.random.default_rng(0).permutation(len(X))[:rows]
    X = X[drawn].reshape(len(drawn), -1).astype(np.float64)
    return X[:, X.std(0) > 0][:, :6000], None if y is None else y[drawn]


def noise(*shape: int) -> Any:
    return np.random.default_rng(3).normal(size=shape)


SETS: dict[str, Callable[[], Any]] = {
    "digits": lambda: tuple(part[:800] for part in toys.load_digits(return_X_y=True)),
    "cancer": lambda: toy(toys.load_breast_cancer().data),
    "wine": lambda: (toy(toys.load_wine().data), toy(toys.load_wine().target[:, None])[:, 0]),
    "diabetes": lambda: toy(toys.load_diabetes().data),
    "roll": lambda: datasets.swiss_roll(800).X,
    "roll_with_hole": lambda: datasets.roll_with_hole(800, noise=0.3, seed=1).X,
    "s_curve": lambda: datasets.s_curve(600, noise=0.02, seed=2).X,
    "sphere": lambda: datasets.severed_sphere(700, seed=3).X,
    "clusters": lambda: datasets.clusters(700, noise=0.5, seed=4).X,
    "overlapping": lambda: overlapping(800),
    "wide": lambda: wide(300, 2000),
    "hidden": lambda: hidden(600, 2000, 0.35),
    "hidden_farther": lambda: hidden(500, 3000, 0.6),
    "spikes": lambda: spikes(600, 1500, (6, 5, 4)),
    "long_spikes": lambda: spikes(500, 1600, (40, 20)),
    "noise": lambda: noise(500, 10),
    "wide_noise": lambda: noise(400, 1600),
    "cube": lambda: np.random.default_rng(4).random((800, 3)),
}
for file, rows in FILES.items():
    if (FOLDER / f"{file}.npz").is_file():
        SETS[file] = lambda file=file, rows=rows: from_file(file, rows)
if "genotypes_1000g_phase1" in SETS:
    SETS["europeans"] = lambda: from_file("genotypes_1000g_phase1", 400, "EUR")
# Of independent columns, which permutations do not change.
SHUFFLED_ALIKE = ("noise", "cube", "wide_noise")


def make(method: str) -> Any:
    return getattr(lowd, method)(n_components=2, **MORE.get(method, {}))


def describe(model: Any, Q: Any, kind: str) -> dict[str, Any]:
    """What a model says of new rows, and their distance to the nearest training row."""
    Y, used = model._transform(Q)
    kept, familiar = model._signs(Q, Y, used)
    return {f"{kind}kept": kept, f"{kind}familiar": familiar, f"{kind}rated": rated(model, Q)}


def rated(model: Any, Q: Any) -> Any:
    return model.transform(Q, return_confidence=True)[1]


def judge(method: str, X: Any, y: Any, seed: int = 0) -> dict[str, Any]:
    """Left-out rows: what the model says of them and of shuffled ones, and which are correct."""
    rng = np.random.default_rng(seed)
    whole = make(method).fit(X)
    found: dict[str, list[Any]] = {}

    def add(values: dict[str, Any]) -> None:
        for key, value in values.items():
            found.setdefault(key, []).append(value)

    for rows in np.array_split(rng.permutation(len(X)), 5)[:2]:
        out = np.isin(np.arange(len(X)), rows)
        model, new = make(method).fit(X[~out]), X[out]
        shuffled = rng.permuted(new, axis=0)
        add(describe(model, new, "") | describe(model, shuffled, "shuffled_"))
        fitted, placed = model.transform(X[~out]), model.transform(new)
        own = whole.transform(X)
        add({"correct": confidence.placed_well(own[~out], own[out], fitted, placed)})
        mean_kept, learned = getattr(model, "_mean_kept", 1.0), hasattr(model, "left_out_")
        add({"mean_kept": np.full(len(new), mean_kept), "learned": np.full(len(new), learned)})
        model.calibrate_confidence(X[~out])
        add({"calibrated": rated(model, new), "shuffled_calibrated": rated(model, shuffled)})
    labels, counts = np.unique([] if y is None else y, return_counts=True)
    for number, label in enumerate(labels[np.argsort(-counts)][:2]):
        held = rng.random(len(X)) < 0.2
        seen = X[~held & (y != label)]
        model = make(method).fit(seen)
        for kind, Q in (("known", X[held & (y != label)]), ("unseen", X[y == label])):
            kind = f"{kind}_{number}_"
            add({f"{kind}distance": cdist(Q, seen).min(1)} | describe(model, Q, kind))
    return {key: np.concatenate(parts) for key, parts in found.items()}


def measure(path: str, methods: tuple[str, ...]) -> None:
    found = {}
    for name, make_set in SETS.items():
        made = make_set()
        X, y = made if isinstance(made, tuple) else (made, None)
        for method in methods:
            begin = time.process_time()
            for key, value in judge(method, X, y).items():
                found[f"{method} {name} {key}"] = value
            print(f"{name} {method} {time.process_time() - begin:.1f} s", flush=True)
        np.savez(path, **found)


def auc(high: Any, low: Any) -> float:
    """How often one of the first has more than one of the second."""
    if not len(high) or not len(low):
        return np.nan
    ranks = rankdata(np.concatenate([high, low]))[: len(high)]
    return float((ranks.sum() - len(high) * (len(high) + 1) / 2) / (len(high) * len(low)))


def of_folds(high: Any, low: Any, folds: int = 2) -> float:
    """The same within each model: levels of two models differ."""
    pairs = zip(np.array_split(high, folds), np.array_split(low, folds), strict=True)
    return float(np.mean([auc(*pair) for pair in pairs]))


def calibration_error(promised: Any, correct: Any, bins: int = 10) -> float:
    """Mean over the rows of |promised - found| of their bin of promises, of equal width."""
    group = np.minimum((promised * bins).astype(int), bins - 1)
    excess = np.bincount(group, promised - correct.astype(float), bins)
    return float(np.abs(excess).sum() / len(promised))


def of_method(found: dict[str, Any], method: str) -> dict[str, dict[str, Any]]:
    sets: dict[str, dict[str, Any]] = {}
    for key, value in found.items():
        name, on, what = key.split()
        if name == method:
            sets.setdefault(on, {})[what] = value
    return sets


def features(one: dict[str, Any]) -> Any:
    A = confidence.features(one["kept"], one["familiar"])
    return np.column_stack([A, confidence.logit(one["mean_kept"])])


def pooled(sets: dict[str, dict[str, Any]], without: str = "") -> Any:
    """One curve for all sets but those whose fits have learned one."""
    held = [one for name, one in sets.items() if name != without and not one["learned"].any()]
    if not held:
        return np.array([np.nan] * 4)
    A, correct = np.vstack([features(one) for one in held]), [one["correct"] for one in held]
    has_neighbors = float(np.ptp(A[:, 1]) > 0)
    general = (1.0, 0.01 * has_neighbors, 1.0, 0.01 * has_neighbors)
    return confidence.learn_curve(A, np.concatenate(correct), general)


def unseen(one: dict[str, Any], rate: Callable[[str], Any]) -> float:
    """How often a row of a known class is rated higher than one of a class that was left out."""
    kinds = [f"_{number}_" for number in range(2) if f"known_{number}_kept" in one]
    return float(np.mean([auc(rate(f"known{kind}"), rate(f"unseen{kind}")) for kind in kinds]))


def compare(*paths: str) -> None:
    found: dict[str, Any] = {}
    for path in paths:
        with np.load(path) as held:
            found |= held
    print(
        f"{'':24}  right  as it is     other sets   calibrated   AUC: right  calibrated  shuffled"
        "  calibrated  unseen class  distance  curve"
    )
    for method in METHODS:
        sets = of_method(found, method)
        if not sets:
            continue
        rows = []
        for name, one in sets.items():
            curve, right = pooled(sets, name), one["correct"]
            real, calibrated = one["rated"], one["calibrated"]
            others = 1 / (1 + np.exp(-features(one) @ curve))
            others = np.minimum(others, confidence.bound(one["familiar"]))
            if one["learned"].any():
                others = real
            told = name not in SHUFFLED_ALIKE
            rows.append(
                (
                    right.mean(),
                    *(calibration_error(p, right) for p in (real, others, calibrated)),
                    *(auc(p[right], p[~right]) for p in (real, calibrated)),
                    of_folds(real, one["shuffled_rated"]) if told else np.nan,
                    of_folds(calibrated, one["shuffled_calibrated"]) if told else np.nan,
                    unseen(one, lambda kind, one=one: one[f"{kind}rated"])
                    if "known_0_kept" in one
                    else np.nan,
                    unseen(one, lambda kind, one=one: -one[f"{kind}distance"])
                    if "known_0_kept" in one
                    else np.nan,
                )
            )
        table = np.array(rows)
        mean, most = np.nanmean(table, axis=0), np.nanmax(table, axis=0)
        errors = "  ".join(f"{mean[i]:.3f} ({most[i]:.2f})" for i in (1, 2, 3))
        aucs = "  ".join(f"{value:.2f}" for value in mean[4:])
        learned = tuple(round(a, 2) for a in pooled(sets))
        print(f"{method:24}  {mean[0]:.2f}  {errors}  {aucs}  {learned}", flush=True)


def cost(methods: tuple[str, ...], rows: int = 3000, new: int = 200) -> None:
    X, Q = np.split(np.random.default_rng(0).permutation(data.clusters(rows + new)), [rows])
    for method in methods:
        model = make(method).fit(X)
        spent: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(15):
            for wanted, times in spent.items():
                begin = time.process_time()
                model.transform(Q, return_confidence=wanted)
                times.append(time.process_time() - begin)
        plain, rated = (min(times) for times in spent.values())
        print(f"{method:24} {plain * 1e3:8.2f} ms {rated * 1e3:8.2f} ms {rated / plain:5.2f}")


def main() -> None:
    command, *rest = sys.argv[1:]
    warnings.simplefilter("ignore")
    if command == "measure":
        measure(rest[0], tuple(rest[1:]) or METHODS)
    elif command == "cost":
        cost(tuple(rest) or METHODS)
    else:
        compare(*rest)


if __name__ == "__main__":
    main()
