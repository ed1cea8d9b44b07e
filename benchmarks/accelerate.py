"""The speed-up of an unchanged scikit-learn script: `python benchmarks/accelerate.py`.

The script embeds images of digits by scikit-learn's classes. It runs in fresh processes, by
`python` and by `python -m lowd.accelerate`, in turn; the best of three runs counts for each step.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

N_RUNS = 3
SCRIPT = """
import json, sys, time, warnings
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, IncrementalPCA, KernelPCA, TruncatedSVD
from sklearn.manifold import (
    MDS, TSNE, ClassicalMDS, Isomap, LocallyLinearEmbedding, SpectralEmbedding, trustworthiness,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

warnings.simplefilter("ignore")
X = load_digits().data
rng = np.random.default_rng(0)
wide = np.hstack([X + rng.normal(size=X.shape) for _ in range(12)])
methods = {
    "PCA(50)": (PCA(50, random_state=0), wide),
    "IncrementalPCA(10)": (IncrementalPCA(10, batch_size=200), X),
    "TruncatedSVD(50)": (TruncatedSVD(50, random_state=0), wide),
    "KernelPCA(2, rbf)": (KernelPCA(2, kernel="rbf", gamma=1e-3), X),
    "GaussianRandomProjection(50)": (GaussianRandomProjection(50, random_state=0), wide),
    "SparseRandomProjection(50)": (SparseRandomProjection(50, random_state=0), wide),
    "ClassicalMDS": (ClassicalMDS(2), X),
    "Isomap": (Isomap(n_neighbors=30), X),
    "LLE": (LocallyLinearEmbedding(n_neighbors=30), X),
    "LLE, modified": (LocallyLinearEmbedding(n_neighbors=30, method="modified"), X),
    "MDS": (MDS(2, n_init=1, max_iter=120, init="random", random_state=0), X),
    "SpectralEmbedding": (SpectralEmbedding(2, n_neighbors=30, random_state=0), X),
    "TSNE": (TSNE(2, max_iter=500, random_state=0), X),
}
found = {}
for name, (method, rows) in methods.items():
    start = time.perf_counter()
    Y = method.fit_transform(rows)
    seconds = time.perf_counter() - start
    found[name] = seconds, float(trustworthiness(X, Y, n_neighbors=10))
json.dump(found, open(sys.argv[1], "w"))
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        script, record = Path(folder, "digits.py"), Path(folder, "record.json")
        script.write_text(SCRIPT)
        runs: dict[str, list[dict[str, list[float]]]] = {"python": [], "-m lowd.accelerate": []}
        for _ in range(N_RUNS):
            for name, found in runs.items():
                options = name.split()[:2] if name.startswith("-m") else []
                command = [sys.executable, *options, str(script), str(record)]
                subprocess.run(command, check=True)
                found.append(json.loads(record.read_text()))
    print("| step | scikit-learn | accelerated | times | trustworthiness |")
    print("|---|---|---|---|---|")
    totals = [0.0, 0.0]
    for step in runs["python"][0]:
        best = [min(found[step][0] for found in each) for each in runs.values()]
        quality = [each[0][step][1] for each in runs.values()]
        totals = [total + seconds for total, seconds in zip(totals, best, strict=True)]
        row = f"{best[0]:.3f} s | {best[1]:.3f} s | {best[0] / best[1]:.1f}"
        print(f"| {step} | {row} | {quality[0]:.3f}, {quality[1]:.3f} |")
    print(f"| all | {totals[0]:.2f} s | {totals[1]:.2f} s | {totals[0] / totals[1]:.1f} | |")


if __name__ == "__main__":
    main()
