"""Isomap of disconnected neighbor graphs: a spanning tree of bridges, or an edge for every pair.

lowd connects the components by a minimum spanning tree, scikit-learn by the shortest edge between
every two of them. Prints both embeddings' Procrustes distance, and for each the trustworthiness,
the share of 5 neighbors in the map with the same label, and the rank correlation of distances.

    python benchmarks/joining.py [DATA]
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import sklearn.manifold
from scipy.spatial import procrustes
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr
from sklearn.datasets import load_digits

import lowd

MAX_ROWS = 1500


def load(data: Path | None) -> dict[str, tuple[np.ndarray, np.ndarray, int]]:
    digits = load_digits()
    sets = {"digits": (digits.data, digits.target, 2)}
    neighbors = {"olivetti_faces": 4, "pbmc3k_pca50": 2, "genotypes_1000g_phase1": 2, "mnist": 2}
    for name, k in neighbors.items() if data is not None else ():
        held = np.load(data / f"{name}.npz", allow_pickle=False)
        step = max(1, len(held["y"]) // MAX_ROWS)
        X = held["X"][::step].reshape(len(held["y"][::step]), -1).astype(float)
        sets[name] = (X, held["y"][::step], k)
    return sets


def judge(X: np.ndarray, Y: np.ndarray, y: np.ndarray) -> str:
    D = squareform(pdist(Y))
    np.fill_diagonal(D, np.inf)
    same = (y[np.argsort(D, axis=1)[:, :5]] == y[:, None]).mean()
    trust = sklearn.manifold.trustworthiness(X, Y, n_neighbors=10)
    return f"{trust:.3f} {same:.3f} {spearmanr(pdist(X), pdist(Y))[0]:.3f}"


def main() -> None:
    warnings.simplefilter("ignore")
    for name, (X, y, k) in load(Path(sys.argv[1]) if sys.argv[1:] else None).items():
        model = lowd.Isomap(2, n_neighbors=k).fit(X)
        ours = model.embedding_
        theirs = sklearn.manifold.Isomap(n_neighbors=k, n_components=2).fit_transform(X)
        components = len(np.unique(model.graph_components_))
        apart = procrustes(ours, theirs)[2]
        found = f"{name}, {len(X)} rows, {k} neighbors: {components} components, "
        found += f"Procrustes {apart:.2f}; tree {judge(X, ours, y)}; "
        print(f"{found}all pairs {judge(X, theirs, y)}", flush=True)


if __name__ == "__main__":
    main()
