"""Write small models of some cases in the present format, with their coordinates of new rows.

Usage: python tests/stored/make.py [CASE ...]   (those of CHOSEN by default)

Files are named after their format; those of format 1 after the version that wrote them, 0.1.0.
They are never overwritten, only added to: what a release has written, every later one must read.
Only files of a format that no release has written yet may be deleted and made anew.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

# One case for each kind of relation and map.
CHOSEN = (
    *("PCA", "Hadamard", "MDS-gower", "MDS-lingoes", "SMACOF-sammon", "NonMetric", "KernelPCA-rbf"),
    *("KernelPCA-precomputed-landmarks", "Isomap", "Isomap-landmarks", "Isomap-regression", "TSNE"),
    *(
        "TSNE-affinity",
        "SNE",
        "LLE",
        "LTSA-tangent",
        "Eigenmaps",
        "Eigenmaps-affinity",
        "Diffusion",
        "UMAP",
    ),
)
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))


def make(names: list[str]) -> None:
    import lowd
    from cases import BY_NAME, fit, take
    from lowd.errors import ParameterError
    from lowd.store import FORMAT

    answers = HERE / f"format{FORMAT}.npz"
    kept = {}
    if answers.exists():
        with np.load(answers, allow_pickle=False) as held:
            kept = dict(held)
    for case in map(BY_NAME.__getitem__, names or CHOSEN):
        name = f"{case.name}-float64"
        path = HERE / f"format{FORMAT}-{name}.lowd"
        if path.exists():
            continue
        try:
            X, Q = _some(case, take, 25)
            model = fit(case.model(), X)
        except ParameterError:  # more neighbors than that
            X, Q = _some(case, take, 60)
            model = fit(case.model(), X)
        lowd.save(model, path)
        kept[f"{name}-new"] = Q.to_json(orient="split") if case.source == "table" else Q
        kept[f"{name}-coordinates"] = model.transform(Q)
    np.savez_compressed(answers, **kept)


def _some(case: Any, take: Any, size: int) -> tuple[Any, Any]:
    rows = list(range(size))
    X, Q = (take(A, part) for A, part in zip(case.data(), (rows, rows[:4]), strict=True))
    return (X[:, rows], Q[:, rows]) if case.source in ("distances", "kernel") else (X, Q)


if __name__ == "__main__":
    make(sys.argv[1:])
