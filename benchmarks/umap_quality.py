"""Quality of UMAP's embeddings and of their new points: lowd and umap-learn, set by set.

Usage: python benchmarks/umap_quality.py [RUNS] [SET ...]

SETs are fashion, mnist and pbmc3k (the last two from the folder LOWD_DATA), fashion10k and digits.
umap-learn runs RUNS times (3) without a seed, and its mean and standard deviation are printed; lowd
gives the same embedding each time, so it runs once. Then a tenth of the rows is held out (of at
most 10,000), and the same is measured for those, each tool on its own map. The last column says
whether the target holds: recall higher by .01, the others no lower than umap-learn's mean less two
standard deviations or .003, whichever is more.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

import data
import held_out
import lowd
from evaluators import embedding_scores
from peers import UMAPLearn

SETS = ("digits", "pbmc3k", "fashion10k", "fashion", "mnist")
MARGINS = {"recall": -0.01}
MIN_MARGIN, MAX_HELD_OUT_ROWS = 0.003, 10_000


def main(runs: int = 3, *names: str) -> None:
    warnings.simplefilter("ignore")
    print(f"{'':24}{'measure':<18}{'umap-learn':>10}{'sd':>8}{'lowd':>8}  target")
    for name in names or SETS:
        found = load_set(name)
        if found is None:
            print(f"{name}: not found")
            continue
        X, y = found
        ours = embedding_scores(X, lowd.UMAP().fit_transform(X), y)
        theirs = [embedding_scores(X, UMAPLearn().fit_transform(X), y) for _ in range(runs)]
        show(f"{name} {len(X)}", ours, theirs)
        rows = np.random.default_rng(0).permutation(len(X))[:MAX_HELD_OUT_ROWS]
        new, known = rows[: len(rows) // 10], rows[len(rows) // 10 :]
        split = X[known], y[known], X[new], y[new]
        ours = new_point_scores(lowd.UMAP(), *split)
        theirs = [new_point_scores(UMAPLearn(), *split) for _ in range(runs)]
        show(f"{name} {len(new)} new", ours, theirs)


def show(title: str, ours: dict[str, float], theirs: list[dict[str, float]]) -> None:
    for measure, mine in ours.items():
        values = [scores[measure] for scores in theirs]
        mean, sd = np.mean(values), np.std(values, ddof=1) if len(values) > 1 else 0.0
        margin = MARGINS.get(measure, max(2 * sd, MIN_MARGIN))
        met = "yes" if mine >= mean - margin else "no"
        print(f"{title:<24}{measure:<18}{mean:10.4f}{sd:8.4f}{mine:8.4f}  {met}", flush=True)
        title = ""


def load_set(name: str) -> tuple[Any, Any] | None:
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return X.astype(np.float32), y
    if name == "fashion10k":
        return data.load("components", 10_000), data.labels(10_000).astype(np.int64)
    return held_out.load_set(name)


def new_point_scores(model: Any, X: Any, y: Any, Q: Any, wanted: Any) -> dict[str, float]:
    """10-NN accuracy of new points, and the share of their 15 neighbors that is kept."""
    Y = model.fit_transform(X)
    Z = model.transform(Q)
    near = cKDTree(Y).query(Z, 15)[1]
    true = cKDTree(X).query(Q, 15)[1]
    votes = np.apply_along_axis(np.bincount, 1, y[near[:, :10]], minlength=int(y.max()) + 1)
    shared = [len(np.intersect1d(a, b)) for a, b in zip(near, true, strict=True)]
    return {
        "recall": float(np.mean(shared)) / 15,
        "accuracy": float((votes.argmax(1) == wanted).mean()),
    }


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:])
