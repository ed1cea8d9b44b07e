"""Rows in blocks: PCA of a file against peers, neighbors by worker processes, methods on the graph.

    python benchmarks/blocks.py make-pca x.npy            # 2,500,000 x 800 float32, 8 GB, and its
                                                          # exact variances, in x.npy.exact.npy
    python benchmarks/blocks.py pca x.npy                 # every tool; --tools lowd IncrementalPCA
    python benchmarks/blocks.py make-rows rows.npy        # 2,000,000 x 50 in clusters
    python benchmarks/blocks.py neighbors rows.npy --workers 2 --save graph.npz
    python benchmarks/blocks.py methods rows.npy --graph graph.npz   # --methods LaplacianEigenmaps
    python benchmarks/blocks.py memory x.npy --memory 1GB # the peak of `lowd map --memory`

Every tool and method runs in a process of its own: time, peak resident memory, and the error or the
quality of its answer. `--rows` and `--columns` make smaller files. dask-ml may need other packages
than lowd: `--dask-ml PYTHON` names the interpreter that has it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

N_COMPONENTS = 10
BLOCK_ROWS = 20_000
N_NEIGHBORS = 15
FEW_NEIGHBORS = 6  # of Laplacian eigenmaps and Isomap
N_WORKERS = 2  # threads of every tool
QUALITY_ROWS = 2000  # of which the neighbors are compared, among all rows


# -- files --------------------------------------------------------------------------------------


def make_pca(path: str, n: int, d: int) -> None:
    """Rows of decaying variance with an offset, and their leading variances by float64 sums."""
    rng = np.random.default_rng(0)
    scale = (0.97 ** np.arange(d)).astype(np.float32)
    out = np.lib.format.open_memmap(path, "w+", np.float32, (n, d))
    sums, S = np.zeros(d), np.zeros((d, d))
    for start in range(0, n, BLOCK_ROWS):
        rows = out[start : start + BLOCK_ROWS]
        rows[:] = rng.standard_normal(rows.shape, np.float32) * scale + 5
        shifted = rows.astype(np.float64) - 5
        sums += shifted.sum(0)
        S += shifted.T @ shifted
    out.flush()
    S -= np.outer(sums, sums / n)
    np.save(f"{path}.exact.npy", np.linalg.eigvalsh(S)[::-1][:N_COMPONENTS] / (n - 1))


def make_rows(path: str, n: int, d: int) -> None:
    """A thousand overlapping clusters, each with eight directions of its own."""
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((1000, d), np.float32)
    axes = rng.standard_normal((1000, 8, d), np.float32) / np.float32(8**0.5)
    out = np.lib.format.open_memmap(path, "w+", np.float32, (n, d))
    for start in range(0, n, BLOCK_ROWS):
        rows = out[start : start + BLOCK_ROWS]
        cluster = rng.integers(0, 1000, len(rows))
        inner = rng.standard_normal((len(rows), 8), np.float32)
        rows[:] = centers[cluster] + np.einsum("ij,ijk->ik", inner, axes[cluster])
        rows += np.float32(0.1) * rng.standard_normal(rows.shape, np.float32)
    out.flush()


# -- PCA ----------------------------------------------------------------------------------------


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


def run_svd_compressed_accurate(path: str) -> list[float]:
    """With as many iterations as its error needs to come near that of the others."""
    return run_svd_compressed(path, 10)


def run_dask_ml(path: str) -> list[float]:
    """Its answer by the full decomposition (tsqr), which is exact."""
    import dask.array as da
    from dask_ml.decomposition import PCA

    X = da.from_array(np.load(path, mmap_mode="r"), chunks=(BLOCK_ROWS, -1))
    return list(PCA(N_COMPONENTS, svd_solver="tsqr").fit(X).explained_variance_)


def run_dask_ml_randomized(path: str) -> list[float]:
    import dask.array as da
    from dask_ml.decomposition import PCA

    X = da.from_array(np.load(path, mmap_mode="r"), chunks=(BLOCK_ROWS, -1))
    how = {"svd_solver": "randomized", "iterated_power": 2, "random_state": 0}
    return list(PCA(N_COMPONENTS, **how).fit(X).explained_variance_)


TOOLS = {
    "lowd": run_lowd,
    "svd_compressed, 2 iterations": run_svd_compressed,
    "svd_compressed, 10 iterations": run_svd_compressed_accurate,
    "dask-ml randomized": run_dask_ml_randomized,
    "dask-ml tsqr": run_dask_ml,
    "IncrementalPCA": run_incremental_pca,
}


def compare_pca(path: str, tools: list[str], dask_ml: str) -> None:
    exact = np.load(f"{path}.exact.npy")
    print(f"PCA of {np.load(path, mmap_mode='r').shape} float32, {N_COMPONENTS} components")
    for tool in tools:
        fill_page_cache(path)  # the first tool would read the file from disk for all others
        python = dask_ml if tool.startswith("dask-ml") else sys.executable
        found = run_alone(python, "pca-tool", path, "--tools", tool)
        if "error" in found:
            print(f"{tool:32s} {found['error']}")
            continue
        error = np.abs(np.array(found["values"]) / exact - 1).max()
        print(
            f"{tool:32s} {found['seconds']:8.2f} s {found['peak_mib']:8.0f} MiB  {error:.1e}",
            flush=True,
        )


def fill_page_cache(path: str) -> None:
    """Read the file once, so that every tool finds it as far as memory holds it."""
    with open(path, "rb", buffering=0) as file:
        while file.read(2**24):
            pass


# -- neighbors ----------------------------------------------------------------------------------


def search_neighbors(path: str, n_workers: int, save: str | None) -> None:
    """Time, recall, and the peak resident memory of this process and all workers together."""
    from distributed import Client, LocalCluster

    import lowd

    how = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}
    with LocalCluster(n_workers=n_workers, **how) as cluster, Client(cluster) as client:
        lowd.neighbors(lowd.open_blocks([np.eye(20)] * 4), 2)  # workers import
        pids = [os.getpid(), *client.run(os.getpid).values()]
        with Resident(pids) as resident:
            start = time.perf_counter()
            found = lowd.neighbors(lowd.open_blocks(path), N_NEIGHBORS, n_jobs=1)
            seconds = time.perf_counter() - start
    n = len(found.indices)
    print(
        f"neighbors of {n} rows, {n_workers} worker processes of one thread: {seconds:.1f} s, "
        f"recall {found.recall:.4f}, all processes together {resident.peak_mib:.0f} MiB"
    )
    if save:
        np.savez(save, indices=found.indices, distances=found.distances)


class Resident:
    """The largest sum of the resident memory of some processes, sampled ten times a second."""

    def __init__(self, pids: list[int]) -> None:
        self.pids, self.peak_mib, self.done = pids, 0.0, threading.Event()
        self.thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        while not self.done.wait(0.1):
            self.peak_mib = max(self.peak_mib, sum(map(read_private_mib, self.pids)))

    def __enter__(self) -> Resident:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self.thread.join()


def read_private_mib(pid: int) -> float:
    """Resident memory of a process, pages of files that it maps included."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(float(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


# -- methods on the graph -----------------------------------------------------------------------


def fit_on_graph(method: str, path: str, graph: str) -> dict[str, float]:
    """Fit a method on the graph, or on the blocks; its quality is measured afterwards."""
    import warnings

    import lowd

    warnings.simplefilter("ignore", lowd.errors.LowdWarning)
    start = time.perf_counter()
    if method == "KernelPCA":
        model = lowd.KernelPCA(2, kernel="rbf", gamma="median", n_landmarks=500)
        blocks = lowd.open_blocks(path)
        Y = np.asarray(model.fit(blocks).transform(blocks).compute())
    else:
        Y = fit_lists(method, path, graph)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    quality = measure(path, Y)
    return {"seconds": seconds, "peak_mib": peak, **quality}


def fit_lists(method: str, path: str, graph: str) -> np.ndarray:
    """Of the graph; the rows, which stay on disk, say where to start and what bridges are short."""
    import lowd

    models = {
        "LaplacianEigenmaps": lowd.LaplacianEigenmaps(2, random_state=0),
        "Isomap": lowd.Isomap(2, n_landmarks=100),
        "TSNE": lowd.TSNE(2, perplexity=5, random_state=0),
        "UMAP": lowd.UMAP(2, n_neighbors=16, random_state=0),
    }
    with np.load(graph) as stored:
        few = slice(FEW_NEIGHBORS if method in ("LaplacianEigenmaps", "Isomap") else None)
        found = lowd.NeighborGraph(
            np.ascontiguousarray(stored["indices"][:, few]),
            np.ascontiguousarray(stored["distances"][:, few]),
        )
    return models[method].fit_transform(np.load(path, mmap_mode="r"), neighbors=found)


def measure(path: str, Y: np.ndarray) -> dict[str, float]:
    """Quality of the embedding at some rows, each compared with all that are sampled."""
    import lowd

    evaluation = lowd.evaluate(lowd.open_blocks(path), Y)
    return {
        name: float(getattr(evaluation, name)) for name in ("trustworthiness", "triplet_accuracy")
    }


METHODS = ("KernelPCA", "Isomap", "LaplacianEigenmaps", "UMAP", "TSNE")


# -- the command line ---------------------------------------------------------------------------


def measure_command(path: str, memory: str) -> None:
    """Peak resident memory of `lowd map --memory`, anonymous pages and those of files."""
    with tempfile.TemporaryDirectory() as folder:
        run = [sys.executable, "-m", "lowd", "map", path, "-m", "pca", "--memory", memory]
        start = time.perf_counter()
        process = subprocess.Popen([*run, "-o", f"{folder}/out"], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    peak = usage.ru_maxrss / 1024
    print(f"lowd map --memory {memory}: {seconds:.1f} s, peak {peak:.0f} MiB, status {status}")


def run_alone(python: str, *args: str) -> dict[str, object]:
    """The last line that a process of its own prints, or the end of its error."""
    done = subprocess.run([python, __file__, *args], capture_output=True, text=True, check=False)
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]}
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = ["make-pca", "pca", "pca-tool", "make-rows", "neighbors", "methods", "method", "memory"]
    parser.add_argument("part", choices=parts)
    parser.add_argument("file")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--columns", type=int)
    parser.add_argument("--tools", nargs="+", default=list(TOOLS), choices=list(TOOLS))
    parser.add_argument("--dask-ml", default=sys.executable)
    parser.add_argument("--workers", type=int, default=N_WORKERS)
    parser.add_argument("--save")
    parser.add_argument("--graph")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--memory", default="1GB")
    given = parser.parse_args()
    if given.part == "make-pca":
        make_pca(given.file, given.rows or 2_500_000, given.columns or 800)
    elif given.part == "pca":
        compare_pca(given.file, given.tools, given.dask_ml)
    elif given.part == "pca-tool":
        start = time.perf_counter()
        values = list(map(float, TOOLS[given.tools[0]](given.file)))
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": seconds, "peak_mib": peak, "values": values}))
    elif given.part == "make-rows":
        make_rows(given.file, given.rows or 2_000_000, given.columns or 50)
    elif given.part == "neighbors":
        search_neighbors(given.file, given.workers, given.save)
    elif given.part == "methods":
        for method in given.methods:
            args = "method", given.file, "--methods", method, "--graph", given.graph or ""
            print(f"{method:20s} {run_alone(sys.executable, *args)}", flush=True)
    elif given.part == "method":
        print(json.dumps(fit_on_graph(given.methods[0], given.file, given.graph)))
    else:
        measure_command(given.file, given.memory)


if __name__ == "__main__":
    main()
