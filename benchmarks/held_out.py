"""Quality of t-SNE embeddings and of their out-of-sample points: lowd and openTSNE.

Usage: python benchmarks/held_out.py ROWS [FOLDS] [SET ...]

Of ROWS samples of each data set a tenth is held out, FOLDS times in turn (10 are all of them). SETs
are mnist and pbmc3k (from the folder LOWD_DATA) and fashion; tools and sets that are absent are
left out. Printed are, in percent: neighbor recall (k = 10), triplets (pairs of random distances
whose order is preserved), and the accuracy of a classifier by ten neighbors in the embedding: of
training points, each left out of its own vote, of new points, and the same two in the data. The
last column is the first accuracy less the second: with ten folds both are over the same samples.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

import data
import lowd
from peers import OpenTSNE

K, ITERATIONS, N_FOLDS = 10, 750, 10
TOOLS = {
    "lowd": lambda: lowd.TSNE(2, max_iter=ITERATIONS),
    "openTSNE": lambda: OpenTSNE(2, ITERATIONS),
}


def main(rows: int = 2000, folds: int = 10, *names: str) -> None:
    print(f"{'':26}neighbors triplets |  training     new |  in data     new |    gap")
    for name in names or ("mnist", "fashion", "pbmc3k"):
        found = load_set(name)
        if found is None:
            print(f"{name}: not found")
            continue
        order = np.random.default_rng(0).permutation(len(found[0]))[:rows]
        X, y = (part[order] for part in found)
        for tool, make in TOOLS.items():
            scores = []
            for new in held_out_masks(len(X), folds):
                try:
                    scores.append(score(make(), X[~new], y[~new], X[new], y[new]))
                except ImportError as error:
                    print(f"{tool}: not installed ({error})")
                    break
            if scores:
                s = 100 * np.mean(scores, axis=0)
                title = f"{name} {len(X)} {tool}"
                print(
                    f"{title:<26}{s[0]:9.1f}{s[1]:9.1f} | {s[2]:9.2f}{s[3]:8.2f} | "
                    f"{s[4]:8.2f}{s[5]:8.2f} | {s[2] - s[3]:6.2f}",
                    flush=True,
                )


def load_set(name: str) -> tuple[Any, Any] | None:
    """Fifty principal components, and classes as integers."""
    if name == "fashion":
        if data.source()[0] != "Fashion-MNIST":
            return None
        return data.load("components", 70_000), data.labels(70_000).astype(np.int64)
    file = {"mnist": "mnist.npz", "pbmc3k": "pbmc3k_pca50.npz"}[name]
    path = Path(os.environ.get("LOWD_DATA", ".")) / file
    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as arrays:
        X, y = arrays["X"], arrays["y"]
    if X.dtype == np.uint8:
        X = lowd.PCA(50).fit_transform(X.astype(np.float32) / 255)
    return X.astype(np.float32), np.unique(y, return_inverse=True)[1]


def held_out_masks(n: int, folds: int) -> Iterator[Any]:
    yield from (np.arange(n) % N_FOLDS == fold for fold in range(folds))


def score(model: Any, X: Any, y: Any, Q: Any, new_y: Any) -> tuple[float, ...]:
    Y = model.fit_transform(X)
    Y_new = model.transform(Q)
    graphs = lowd.neighbors(X, K), lowd.neighbors(np.asarray(Y, np.float64), K)
    in_data, in_embedding = (graph.edges().indices.reshape(-1, K) for graph in graphs)
    new_in_embedding = cKDTree(Y).query(Y_new, K)[1]
    new_in_data = cKDTree(X).query(Q, K)[1] if len(X) < 20_000 else None
    recall = (in_data[:, :, None] == in_embedding[:, None]).any(2).mean()
    i, a, b = np.random.default_rng(1).integers(len(X), size=(3, 200_000))

    def nearer(Z: Any) -> Any:
        return ((Z[i] - Z[a]) ** 2).sum(1) < ((Z[i] - Z[b]) ** 2).sum(1)

    return (
        recall,
        (nearer(X) == nearer(np.asarray(Y))).mean(),
        accuracy(y, in_embedding, y),
        accuracy(y, new_in_embedding, new_y),
        accuracy(y, in_data, y),
        np.nan if new_in_data is None else accuracy(y, new_in_data, new_y),
    )


def accuracy(y: Any, neighbors: Any, truth: Any) -> float:
    votes = np.apply_along_axis(np.bincount, 1, y[neighbors], minlength=y.max() + 1)
    return float((votes.argmax(1) == truth).mean())


if __name__ == "__main__":
    numbers = [int(given) for given in sys.argv[1:3]]
    main(*numbers, *sys.argv[3:])
