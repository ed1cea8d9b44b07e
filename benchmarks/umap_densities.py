"""densMAP: what lowd and umap-learn preserve of the densities and of the neighborhoods.

Usage: python benchmarks/umap_densities.py [RUNS] [SET ...]

SETs are digits and pbmc3k (the latter from the folder LOWD_DATA). Printed for each `dens_lambda`:
the correlation of the local radii in the data and in the embedding (both computed by lowd's
formula, over the edges of the same graph), trustworthiness and 15-NN recall; of umap-learn the mean
of RUNS (2) without a seed.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

import lowd
from evaluators import embedding_scores
from peers import UMAPLearn
from umap_quality import load_set

STRENGTHS = (0.0, 0.5, 1.0, 2.0, 5.0)


def main(runs: int = 2, *names: str) -> None:
    warnings.simplefilter("ignore")
    for name in names or ("digits", "pbmc3k"):
        found = load_set(name)
        if found is None:
            print(f"{name}: not found")
            continue
        X, y = found
        for strength in STRENGTHS:
            density = {"densmap": True, "dens_lambda": strength} if strength else {}
            ours = [lowd.UMAP(dens_lambda=strength).fit_transform(X)]
            theirs = [UMAPLearn(**density).fit_transform(X) for _ in range(runs)]
            for tool, embeddings in (("lowd", ours), ("umap-learn", theirs)):
                scores = np.mean([score(X, Y, y) for Y in embeddings], axis=0)
                print(
                    f"{name:<10}dens_lambda={strength:<5}{tool:<12}correlation {scores[0]:.3f}  "
                    f"trustworthiness {scores[1]:.3f}  recall {scores[2]:.3f}",
                    flush=True,
                )


def score(X: Any, Y: Any, y: Any) -> tuple[float, float, float]:
    """Of an embedding by any tool; the radii are those of a fit that starts there and stays."""
    held = lowd.UMAP(dens_lambda=1.0, n_epochs=1, learning_rate=1e-9, init=np.asarray(Y, float))
    held.fit(X)
    correlation = float(np.corrcoef(held.rad_orig_, held.rad_emb_)[0, 1])
    quality = embedding_scores(X, Y, y)
    return correlation, quality["trustworthiness"], quality["recall"]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:])
