"""What each parameter of UMAP does: lowd above, umap-learn below, on the handwritten digits.

With targets the rows are six principal components of the digits, in which classes overlap.

Usage: python benchmarks/umap_pictures.py FOLDER [NAME ...]

Writes umap-NAME.png for the named, or for each of PARAMETERS, into the folder; umap-learn must be
installed.
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

# parameter -> values; both call it the same
PARAMETERS: dict[str, list[Any]] = {
    "n_neighbors": [5, 15, 50, 200],
    "min_dist": [0.0, 0.1, 0.5, 0.99],
    "spread": [0.3, 1.0, 3.0],
    "local_connectivity": [1.0, 3.0, 10.0],
    "set_op_mix_ratio": [1.0, 0.5, 0.0],
    "n_epochs": [20, 50, 200, 1000],
    "learning_rate": [0.1, 1.0, 3.0],
    "repulsion_strength": [0.3, 1.0, 3.0],
    "dens_lambda": [0.0, 0.5, 2.0, 5.0],
    "y": ["none", "half of the classes", "all classes"],  # of fit(X, y)
    "init": ["spectral", "pca", "random"],
}
OVERLAPPING_COMPONENTS = 6


def main(folder: str, *names: str) -> None:
    warnings.simplefilter("ignore")
    digits, y = load_digits(return_X_y=True)
    for name in names or PARAMETERS:
        values, X = PARAMETERS[name], digits
        if name == "y":
            X = lowd.PCA(OVERLAPPING_COMPONENTS).fit_transform(digits)
        targets = {"half of the classes": np.where(np.arange(len(y)) % 2, y, -1), "all classes": y}
        figure, axes = plt.subplots(2, len(values), figsize=(2.6 * len(values), 5.4))
        for column, value in enumerate(values):
            for row, (tool, embed) in enumerate((("lowd", ours), ("umap-learn", theirs))):
                params = {} if name == "y" else {name: value}
                Y = embed(X, targets.get(value), params)
                axis = axes[row, column]
                axis.scatter(*Y.T, c=y, s=2, cmap="tab10", linewidths=0)
                axis.set(xticks=[], yticks=[], aspect="equal", adjustable="datalim")
                if column == 0:
                    axis.set_ylabel(tool)
                if row == 0:
                    sign = ": " if name == "y" else "="
                    axis.set_title(f"{name}{sign}{value}", fontsize=10)
        figure.tight_layout()
        figure.savefig(Path(folder) / f"umap-{name}.png", dpi=80)
        plt.close(figure)
        print(name, flush=True)


def ours(X: Any, target: Any, params: dict[str, Any]) -> Any:
    return lowd.UMAP(**params).fit(X, target).embedding_


def theirs(X: Any, target: Any, params: dict[str, Any]) -> Any:
    density = {"densmap": True} if params.get("dens_lambda") else {}
    return UMAPLearn(**params, **density).fit_transform(X, target)


if __name__ == "__main__":
    main(*sys.argv[1:])
