"""What each parameter of UMAP does: lowd above, umap-learn below, on the handwritten digits.

Usage: python benchmarks/umap_pictures.py FOLDER

Writes umap-NAME.png for each of PARAMETERS into the folder; umap-learn must be installed.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import lowd
from peers import UMAPLearn

# parameter -> values, and what umap-learn calls it (and needs beside it) if that differs
PARAMETERS: dict[str, list[Any]] = {
    "n_neighbors": [5, 15, 50, 200],
    "min_dist": [0.0, 0.1, 0.5, 0.99],
    "repulsion_strength": [0.3, 1.0, 3.0],
    "dens_lambda": [0.0, 1.0, 4.0],
    "target_weight": [0.0, 0.5, 0.9],
    "init": ["spectral", "pca", "random"],
}


def main(folder: str) -> None:
    warnings.simplefilter("ignore")
    X, y = load_digits(return_X_y=True)
    for name, values in PARAMETERS.items():
        figure, axes = plt.subplots(2, len(values), figsize=(2.6 * len(values), 5.4))
        for column, value in enumerate(values):
            for row, (title, embed) in enumerate((("lowd", ours), ("umap-learn", theirs))):
                target = np.where(np.arange(len(y)) % 2, y, -1)  # half of the classes are known
                Y = embed(X, target if name == "target_weight" else None, name, value)
                axis = axes[row, column]
                axis.scatter(*Y.T, c=y, s=2, cmap="tab10", linewidths=0)
                axis.set(xticks=[], yticks=[], aspect="equal", adjustable="datalim")
                if column == 0:
                    axis.set_ylabel(title)
                if row == 0:
                    axis.set_title(f"{name}={value}", fontsize=10)
        figure.tight_layout()
        figure.savefig(Path(folder) / f"umap-{name}.png", dpi=80)
        plt.close(figure)
        print(name, flush=True)


def ours(X: Any, target: Any, name: str, value: Any) -> Any:
    return lowd.UMAP(**{name: value}).fit(X, target).embedding_


def theirs(X: Any, target: Any, name: str, value: Any) -> Any:
    density = {"densmap": True} if name == "dens_lambda" and value else {}
    return UMAPLearn(**{name: value}, **density).fit_transform(X, target)


if __name__ == "__main__":
    main(sys.argv[1])
