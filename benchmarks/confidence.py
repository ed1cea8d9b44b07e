"""How good the confidence of new points is, and the curve of each method that suits many data sets.

    python benchmarks/confidence.py measure OUT.npz [METHOD ...]
    python benchmarks/confidence.py compare NEW.npz [OLD.npz]
    python benchmarks/confidence.py cost [METHOD ...]

`measure` leaves a fifth of the rows of each set out of a fit, places them, and judges them by a fit
of all rows; three times. `compare` prints means over the sets: the calibration error, and how well
rows that are placed well are told from others, and rows with shuffled columns from real ones; with
the present curve of the method, and with one that is learned from the other sets. The curve of all
sets is for `confidence_curve`. `cost` is the CPU time of a transform with confidence, over that of
one without.
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
from scipy.stats import rankdata
from sklearn import datasets as toys

import data
import lowd
from lowd import confidence, datasets

METHODS = (
    *("Isomap", "LocallyLinearEmbedding", "ModifiedLLE", "HessianLLE", "LTSA"),
    *("LaplacianEigenmaps", "DiffusionMaps", "SNE", "TSNE", "UMAP", "MDS", "NonMetricMDS"),
)
FOLDER = Path(os.environ.get("LOWD_DATA") or data.SHARED)
FILES = {
    "mnist": 800,
    "frey_faces": 800,
    "olivetti_faces": 400,
    "isomap_faces_32x32": 698,
    "pbmc3k_pca50": 1000,
    "genotypes_1000g_phase1": 500,
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


def from_file(name: str, rows: int) -> Any:
    """Random rows of a file in the folder of data sets; of very wide ones the first columns."""
    with np.load(FOLDER / f"{name}.npz", allow_pickle=False) as arrays:
        X = arrays["X" if "X" in arrays else arrays.files[0]]
    drawn = np.random.default_rng(0).permutation(len(X))[:rows]
    return X[drawn].reshape(len(drawn), -1)[:, :4096].astype(np.float64)


def noise(*shape: int) -> Any:
    return np.random.default_rng(3).normal(size=shape)


SETS: dict[str, Callable[[], Any]] = {
    "digits": lambda: toys.load_digits().data[:800],
    "cancer": lambda: toy(toys.load_breast_cancer().data),
    "diabetes": lambda: toy(toys.load_diabetes().data),
    "roll": lambda: datasets.swiss_roll(800).X,
    "roll_with_hole": lambda: datasets.roll_with_hole(800, noise=0.3, seed=1).X,
    "s_curve": lambda: datasets.s_curve(600, noise=0.02, seed=2).X,
    "sphere": lambda: datasets.severed_sphere(700, seed=3).X,
    "clusters": lambda: datasets.clusters(700, noise=0.5, seed=4).X,
    "overlapping": lambda: overlapping(800),
    "wide": lambda: wide(300, 2000),
    "noise": lambda: noise(500, 10),
    "cube": lambda: np.random.default_rng(4).random((800, 3)),
}
for file, rows in FILES.items():
    if (FOLDER / f"{file}.npz").is_file():
        SETS[file] = lambda file=file, rows=rows: from_file(file, rows)
KEYS = ("kept", "bound", "shuffled_kept", "shuffled_bound", "correct")
# Of independent columns, which permutations do not change.
SHUFFLED_ALIKE = ("noise", "cube")


def signs(model: Any, Q: Any) -> tuple[Any, Any, Any]:
    """Coordinates of new rows, the kept share of their neighborhoods, and what bounds it."""
    Y, used = model._transform(Q)
    return Y, *model._signs(Q, Y, used)


def judge(method: str, X: Any) -> dict[str, Any]:
    """Left-out rows: what the model says of them and of shuffled ones, and which are correct."""
    rng = np.random.default_rng(0)
    whole = np.asarray(getattr(lowd, method)(2).fit(X).embedding_)
    folds = np.array_split(rng.permutation(len(X)), 5)[:3]
    found: dict[str, list[Any]] = {}
    for rows in folds:
        out = np.isin(np.arange(len(X)), rows)
        model, new = getattr(lowd, method)(2).fit(X[~out]), X[out]
        Y, kept, bound = signs(model, new)
        _, other_kept, other_bound = signs(model, rng.permuted(new, axis=0))
        fitted = np.asarray(model.embedding_)
        correct = confidence.placed_well(whole[~out], whole[out], fitted, Y)
        for key, values in zip(KEYS, (kept, bound, other_kept, other_bound, correct), strict=True):
            found.setdefault(key, []).append(values)
    return {key: np.concatenate(parts) for key, parts in found.items()}


def measure(path: str, methods: tuple[str, ...]) -> None:
    found = {}
    for name, make in SETS.items():
        X = make()
        for method in methods:
            begin = time.perf_counter()
            for key, value in judge(method, X).items():
                found[f"{method} {name} {key}"] = value
            print(f"{name} {method} {time.perf_counter() - begin:.1f} s", flush=True)
        np.savez(path, **found)


def auc(high: Any, low: Any) -> float:
    """How often one of the first has more than one of the second."""
    if not len(high) or not len(low):
        return np.nan
    ranks = rankdata(np.concatenate([high, low]))[: len(high)]
    return float((ranks.sum() - len(high) * (len(high) + 1) / 2) / (len(high) * len(low)))


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


def pooled(sets: dict[str, dict[str, Any]], without: str = "") -> Any:
    """One curve for all sets."""
    held = [one for name, one in sets.items() if name != without]
    kept, correct = (np.concatenate([one[key] for one in held]) for key in ("kept", "correct"))
    return confidence.learn_curve(kept, correct)


def rate(sets: dict[str, dict[str, Any]], curve: Any) -> tuple[float, float, float, float]:
    """Means over the sets: calibration error, its largest, AUC of correct and of shuffled rows."""
    errors, of_correct, of_shuffled = [], [], []
    for name, one in sets.items():
        own = curve(name)
        real, shuffled = (
            confidence.by_curve(one[f"{kind}kept"], one[f"{kind}bound"], own)
            for kind in ("", "shuffled_")
        )
        errors.append(calibration_error(real, one["correct"]))
        of_correct.append(auc(real[one["correct"]], real[~one["correct"]]))
        if name not in SHUFFLED_ALIKE:
            of_shuffled.append(auc(real, shuffled))
    means = float(np.nanmean(of_correct)), float(np.mean(of_shuffled))
    return float(np.mean(errors)), max(errors), *means


def compare(*paths: str) -> None:
    print(f"{'':24}correct  error (largest)  AUC correct  AUC shuffled  curve")
    for method in METHODS:
        for label, path in zip(("new", "old"), paths, strict=False):
            with np.load(path) as held:
                sets = of_method(dict(held), method)
            if not sets:
                continue
            present = getattr(lowd, method).confidence_curve
            share = np.mean([one["correct"].mean() for one in sets.values()])
            learned = pooled(sets)
            for kind, curve in (
                (f"{label}, present curve", lambda _, present=present: present),
                (f"{label}, other sets", lambda name, sets=sets: pooled(sets, name)),
            ):
                error, largest, of_correct, of_shuffled = rate(sets, curve)
                shown = present if "present" in kind else tuple(round(a, 2) for a in learned)
                print(
                    f"{method[:12]:12} {kind:20} {share:.2f}  {error:.3f} ({largest:.2f})"
                    f"  {of_correct:.2f}  {of_shuffled:.2f}  {shown}"
                )


def cost(methods: tuple[str, ...], rows: int = 3000, new: int = 200) -> None:
    X, Q = np.split(np.random.default_rng(0).permutation(data.clusters(rows + new)), [rows])
    for method in methods:
        model = getattr(lowd, method)(2).fit(X)
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
