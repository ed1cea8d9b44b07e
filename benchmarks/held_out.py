"""How good maps of t-SNE are, and where new rows land on them: lowd beside openTSNE.

Usage: python benchmarks/held_out.py ROWS [FOLDS] [SET ...]

Of ROWS rows of each set a tenth is held out, FOLDS times in turn (10 are all of them). SETs are
mnist and pbmc3k (from the folder LOWD_DATA) and fashion; tools and sets that are not here are left
out. Printed are, in percent: neighbors (those of ten in the data that are among ten on the map),
triplets (pairs of random distances in the data's order on the map), and the classes that ten
neighbors on the map vote for: of training rows, each left out of its own vote, of new rows, and
the same two in the data. The last column is the first of these less the second: new rows and old
are the same ones if there are ten folds.
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

K, STEPS, TENTH = 10, 750, 10
TOOLS = {
    "lowd": lambda: lowd.TSNE(2, max_iter=STEPS),
    "openTSNE": lambda: OpenTSNE(2, STEPS),
}


def main(rows: int = 2000, folds: int = 10, *names: str) -> None:
    print(f"{'':26}neighbors triplets |  training     new |  in data     new |    gap")
    for name in names or ("mnist", "fashion", "pbmc3k"):
        found = rows_of(name)
        if found is None:
            print(f"{name}: not here")
            continue
        order = np.random.default_rng(0).permutation(len(found[0]))[:rows]
        X, y = (part[order] for part in found)
        for tool, make in TOOLS.items():
            scores = []
            for new in tenths(len(X), folds):
                try:
                    scores.append(score(make(), X[~new], y[~new], X[new], y[new]))
                except ImportError as error:
                    print(f"{tool}: not here ({error})")
                    break
            if scores:
                s = 100 * np.mean(scores, axis=0)
                title = f"{name} {len(X)} {tool}"
                print(
                    f"{title:<26}{s[0]:9.1f}{s[1]:9.1f} | {s[2]:9.2f}{s[3]:8.2f} | "
                    f"{s[4]:8.2f}{s[5]:8.2f} | {s[2] - s[3]:6.2f}",
                    flush=True,
                )


def rows_of(name: str) -> tuple[Any, Any] | None:
    """Fifty principal components, and classes as numbers."""
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


def tenths(n: int, folds: int) -> Iterator[Any]:
    yield from (np.arange(n) % TENTH == fold for fold in range(folds))


def score(model: Any, X: Any, y: Any, Q: Any, new_y: Any) -> tuple[float, ...]:
    Y = model.fit_transform(X)
    placed = model.transform(Q)
    near, far = lowd.neighbors(X, K), lowd.neighbors(np.asarray(Y, np.float64), K)
    old, on_map = near.edges().indices.reshape(-1, K), far.edges().indices.reshape(-1, K)
    seen = cKDTree(Y).query(placed, K)[1]
    known = cKDTree(X).query(Q, K)[1] if len(X) < 20_000 else None
    kept = (old[:, :, None] == on_map[:, None]).any(2).mean()
    i, a, b = np.random.default_rng(1).integers(len(X), size=(3, 200_000))

    def nearer(Z: Any) -> Any:
        return ((Z[i] - Z[a]) ** 2).sum(1) < ((Z[i] - Z[b]) ** 2).sum(1)

    return (
        kept,
        (nearer(X) == nearer(np.asarray(Y))).mean(),
        voted(y, on_map, y),
        voted(y, seen, new_y),
        voted(y, old, y),
        np.nan if known is None else voted(y, known, new_y),
    )


def voted(y: Any, lists: Any, wanted: Any) -> float:
    votes = np.apply_along_axis(np.bincount, 1, y[lists], minlength=y.max() + 1)
    return float((votes.argmax(1) == wanted).mean())


if __name__ == "__main__":
    numbers = [int(given) for given in sys.argv[1:3]]
    main(*numbers, *sys.argv[3:])
