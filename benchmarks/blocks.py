"""Rows in blocks: PCA of a file against peers, and neighbors by one and by two worker processes.

Usage: python benchmarks/blocks.py [--rows 2500000] [--columns 800] [--neighbor-rows 100000]

The file is generated on disk (at full size 8 GB of float32). Every tool runs in a process of its
own: time, peak resident memory, and the relative error of its leading variances against float64.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

N_COMPONENTS = 10
BLOCK_ROWS = 20_000
N_NEIGHBORS = 15


def make_file(path: Path, n: int, d: int) -> None:
    """Rows of decaying variance with an offset, block by block."""
    rng = np.random.default_rng(0)
    scale = (0.97 ** np.arange(d)).astype(np.float32)
    out = np.lib.format.open_memmap(path, "w+", np.float32, (n, d))
    for start in range(0, n, BLOCK_ROWS):
        rows = out[start : start + BLOCK_ROWS]
        rows[:] = rng.standard_normal(rows.shape, np.float32) * scale + 5
    out.flush()


def compute_exact(path: str) -> list[float]:
    """Leading variances by float64 sums in two passes."""
    X = np.load(path, mmap_mode="r")
    n, d = X.shape
    mean = sum(X[i : i + BLOCK_ROWS].sum(0, dtype=np.float64) for i in range(0, n, BLOCK_ROWS)) / n
    S = np.zeros((d, d))
    for i in range(0, n, BLOCK_ROWS):
        part = X[i : i + BLOCK_ROWS] - mean
        S += part.T @ part
    return list(np.linalg.eigvalsh(S)[::-1][:N_COMPONENTS] / (n - 1))


def run_lowd(path: str) -> list[float]:
    import lowd

    model = lowd.PCA(N_COMPONENTS).fit(lowd.open_blocks(path, memory="1.5GB"))
    return list(model.explained_variance_)


def run_incremental_pca(path: str) -> list[float]:
    from sklearn.decomposition import IncrementalPCA

    X = np.load(path, mmap_mode="r")
    model = IncrementalPCA(N_COMPONENTS)
    for i in range(0, len(X), BLOCK_ROWS):
        if len(X) - i >= N_COMPONENTS:
            model.partial_fit(X[i : i + BLOCK_ROWS])
    return list(model.explained_variance_)


def run_svd_compressed(path: str, n_power_iter: int = 2) -> list[float]:
    import dask.array as da

    X = da.from_array(np.load(path, mmap_mode="r"), chunks=(BLOCK_ROWS, -1))
    n = X.shape[0]
    _, values, _ = da.linalg.svd_compressed(
        X - X.mean(0), N_COMPONENTS, n_power_iter=n_power_iter, seed=0
    )
    return list(values.compute() ** 2 / (n - 1))


TOOLS = {
    "lowd": run_lowd,
    "IncrementalPCA": run_incremental_pca,
    "svd_compressed": run_svd_compressed,
}


def search(path: str, n_workers: int) -> float:
    """Seconds of the neighbors of a file by so many worker processes."""
    from distributed import Client, LocalCluster

    import lowd

    n = np.load(path, mmap_mode="r").shape[0]
    how = {"threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(n_workers=n_workers, **how) as cluster, Client(cluster):
        lowd.neighbors(lowd.open_blocks([np.eye(20)] * 4), 2)  # workers import
        start = time.perf_counter()
        lowd.neighbors(lowd.open_blocks(path, block_rows=-(-n // 8)), N_NEIGHBORS, n_jobs=1)
        return time.perf_counter() - start


def measure(tool: str, path: str) -> dict[str, object]:
    run = [sys.executable, __file__, "--tool", tool, "--file", path]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_500_000)
    parser.add_argument("--columns", type=int, default=800)
    parser.add_argument("--neighbor-rows", type=int, default=100_000)
    parser.add_argument("--tool")
    parser.add_argument("--file")
    given = parser.parse_args()
    if given.tool:
        start = time.perf_counter()
        values = list(map(float, TOOLS[given.tool](given.file)))
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": seconds, "peak_mib": peak, "values": values}))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/x.npy"
        make_file(Path(path), given.rows, given.columns)
        exact = np.array(compute_exact(path))
        print(f"PCA of {given.rows} x {given.columns} float32")
        for tool in TOOLS:
            found = measure(tool, path)
            error = np.abs(np.array(found["values"]) / exact - 1).max()
            print(f"{tool:16s} {found['seconds']:8.2f} s {found['peak_mib']:8.0f} MiB  {error:.1e}")
        make_file(Path(path), given.neighbor_rows, 50)
        one, two = (search(path, n_workers) for n_workers in (1, 2))
        print(
            f"neighbors of {given.neighbor_rows} x 50: {one:.1f} s, {two:.1f} s, {one / two:.2f}x"
        )


if __name__ == "__main__":
    main()
