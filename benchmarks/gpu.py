"""lowd on a GPU by torch: times, TorchDR in the same run, and agreement with the CPU.

    python benchmarks/gpu.py [PATTERN]    # work whose name holds the pattern: gpu.csv and GPU.md
    python benchmarks/gpu.py --page       # GPU.md from gpu.csv

Times go from a NumPy array to the fitted model: the shortest of three calls after a first one,
which stands beside it. Rows are Gaussian mixtures (30 clusters, standard deviations (1 + j)^-1/2
along axes of each cluster), a Swiss roll, and MNIST (LOWD_DATA). Without a GPU small rows run on
the CPU, for trying; these results are printed only.
"""

from __future__ import annotations

import csv
import datetime
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import procrustes

import data

HERE = Path(__file__).parent
RESULTS, PAGE = HERE / "gpu.csv", HERE / "GPU.md"
COLUMNS = ["part", "work", "quantity", "value", "device", "commit", "date"]
MAX_SECONDS = 40  # of the calls of one piece of work
Found = dict[str, float]

INTRODUCTION = """\
# The torch backend on a GPU

{device}; commit and date of each number are in [gpu.csv](gpu.csv). Made by `benchmarks/gpu.py`:
whole calls, from a NumPy array to the result, warm; the first call, in which kernels compile,
stands beside them.
"""
FORMER = "ff48086"
OF_FORMER = f"""\
Numbers of commit {FORMER} are medians, measured by the script of that commit on mixtures that torch
drew.
"""
AFTER_TIMES = """
What limits the fits: t-SNE of a million rows takes 0.5 s for neighbors, 0.95 s for 750 iterations
and 0.12 s for the exact sum over all pairs by which the divergence is reported; the rest is the
host's (canonical order, samples, copies of rows). Of MNIST's pixels many columns are equal in most
rows, and the host sorts them for a third of the fit. Graph and coarse matrices of Laplacian
eigenmaps are the host's. On another machine of the same kind t-SNE took 8 to 12 % longer.
"""
PUBLISHED = """
## Published figures of other GPU libraries

Other data, other hardware, other years: they stand here for orientation, and no ratio would mean
anything. cuML's are steps of the notebooks of
[rapids-single-cell-examples](https://github.com/clara-parabricks/rapids-single-cell-examples), 16
December 2020; their authors call those of 1.3 million cells out of date. TorchDR was run here
itself, as the next section shows.

| work | library | GPU | seconds |
|---|---|---|--:|
| t-SNE of about 70,000 lung cells | cuML | T4 / V100 / A100 | 3.8 / 1.9 / 2.2 |
| t-SNE of 1.3 million brain cells | cuML | T4 / V100 / A100 | 128 / 39 / 28 |
| UMAP of about 70,000 lung cells | cuML | T4 / V100 / A100 | 0.97 / 0.52 / 0.63 |
| UMAP of 1.3 million brain cells | cuML | T4 / V100 / A100 | 79 / 18.8 / 13.4 |
"""
OURS_BESIDE = ("t-SNE 70000 x 784", "t-SNE 1000000 x 50", "UMAP 70000 x 784", "UMAP 1000000 x 50")
BEFORE_PEERS = """
## TorchDR in the same run

The same rows on the same GPU, from the array to the embedding. FAISS and cuML were not there: the
machine has no CUDA 12, which FAISS's wheel needs, and cuML's libraries are too large to bring.
"""
BEFORE_AGREEMENT = """
## Agreement with the CPU

Embeddings of one data set (MNIST's first rows) by both; t-SNE descends into another of its minima.
"""


@cache
def mixture(n: int, d: int) -> Any:
    rng = np.random.default_rng(0)
    scale = (1 + np.arange(d, dtype=np.float32)) ** -0.5
    centers = 1.2 * rng.standard_normal((30, d), np.float32) * np.sqrt((scale**2).mean())
    label = rng.integers(30, size=n)
    X = rng.standard_normal((n, d), np.float32) * scale
    for c in range(30):
        basis = np.linalg.qr(rng.standard_normal((d, d), np.float32))[0]
        X[label == c] = X[label == c] @ basis + centers[c]
    return X


def load_roll(n: int) -> Any:
    return data.roll(n).astype(np.float32)


def measure_quality(X: Any, Y: Any) -> Found:
    """Of all rows, by the GPU."""
    import lowd

    found = lowd.evaluate(X, Y, n_neighbors=15, anchors="all", backend="torch").measures
    return {name: float(found[name]) for name in ("trustworthiness", "neighbor_recall")}


def time_calls(call: Callable[[], Any], prefix: str = "") -> tuple[Found, Any]:
    """The first call and the shortest of three more, fewer of long ones."""
    times: list[float] = []
    while len(times) < 2 or (len(times) < 4 and sum(times) < MAX_SECONDS):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return {prefix + "seconds": min(times[1:]), prefix + "first": times[0]}, result


def time_neighbors(X: Any, k: int) -> Found:
    import lowd

    return time_calls(lambda: lowd.neighbors(X, k, backend="torch"))[0]


def time_fit(method: str, X: Any, **parameters: Any) -> Found:
    import lowd

    make = partial(getattr(lowd, method), backend="torch", **parameters)
    found, model = time_calls(lambda: make().fit(X))
    facts = ("kl_divergence_", "force_error_", "loss_", "knn_recall_")
    found |= {f.rstrip("_"): float(getattr(model, f)) for f in facts if hasattr(model, f)}
    return found | {"same bits": float(np.array_equal(make().fit(X).embedding_, model.embedding_))}


def compare_torchdr(n: int, max_iter: int) -> Found:
    import torchdr

    import lowd

    X = mixture(n, 50)
    ours, Y = time_calls(lambda: lowd.TSNE(backend="torch", max_iter=max_iter).fit_transform(X))
    peer = partial(torchdr.TSNE, perplexity=30, max_iter=max_iter, device="cuda", random_state=0)
    theirs, Z = time_calls(lambda: np.asarray(peer().fit_transform(X)), "TorchDR ")
    quality = {f"TorchDR {name}": value for name, value in measure_quality(X, Z).items()}
    return ours | measure_quality(X, Y) | theirs | quality


def compare_cpu(method: str, rows: int, **parameters: Any) -> Found:
    """Embeddings of the CPU and of the GPU: how alike, and how good each is."""
    import lowd

    X = data.images(rows)
    found, embeddings = {}, []
    for name, backend in (("CPU ", "native"), ("GPU ", "torch")):
        start = time.perf_counter()
        embeddings.append(getattr(lowd, method)(2, backend=backend, **parameters).fit_transform(X))
        found[name + "seconds"] = time.perf_counter() - start
        found |= {name + k: value for k, value in measure_quality(X, embeddings[-1]).items()}
    return {"Procrustes": float(procrustes(*embeddings)[2])} | found


def list_work(small: bool) -> dict[str, dict[str, Callable[[], Found]]]:
    n, m = (2000, 4000) if small else (70_000, 1_000_000)

    def rows(largest: int) -> int:
        return min(largest, n)

    times = {
        f"neighbors {n} x 784, k = 15": lambda: time_neighbors(mixture(n, 784), 15),
        f"neighbors {m} x 50, k = 15": lambda: time_neighbors(mixture(m, 50), 15),
        f"t-SNE {n} x 784": lambda: time_fit("TSNE", mixture(n, 784)),
        f"t-SNE {m} x 50": lambda: time_fit("TSNE", mixture(m, 50)),
        f"t-SNE MNIST {n} x 784": lambda: time_fit("TSNE", data.images(n)),
        f"UMAP {n} x 784": lambda: time_fit("UMAP", mixture(n, 784)),
        f"UMAP {m} x 50": lambda: time_fit("UMAP", mixture(m, 50)),
        f"UMAP MNIST {n} x 784": lambda: time_fit("UMAP", data.images(n)),
        f"Isomap {n} x 3, all pairs": lambda: time_fit(
            "Isomap", load_roll(n), n_neighbors=10, n_landmarks=None
        ),
        f"kernel PCA {n} x 784": lambda: time_fit(
            "KernelPCA", mixture(n, 784), n_components=2, kernel="rbf"
        ),
        f"Laplacian eigenmaps {n} x 3": lambda: time_fit(
            "LaplacianEigenmaps", load_roll(n), n_neighbors=15
        ),
        f"Laplacian eigenmaps {m} x 3": lambda: time_fit(
            "LaplacianEigenmaps", load_roll(m), n_neighbors=15
        ),
    }
    peers = {
        f"t-SNE {rows(10_000)} x 50, {steps} iterations": partial(
            compare_torchdr, rows(10_000), steps
        )
        for steps in (750, 2000)
    }
    agreement: dict[str, Callable[[], Found]] = {
        f"{method}, {rows(most)} rows": partial(compare_cpu, method, rows(most), **parameters)
        for method, most, parameters in (
            ("PCA", 70_000, {}),
            ("ClassicalMDS", 6000, {"metric": "manhattan"}),
            ("KernelPCA", 6000, {"kernel": "rbf"}),
            ("MDS", 5000, {}),
            ("Isomap", 10_000, {}),
            ("LaplacianEigenmaps", 10_000, {}),
            ("DiffusionMaps", 6000, {}),
            ("LocallyLinearEmbedding", 10_000, {}),
            ("LTSA", 10_000, {}),
            ("SNE", 4000, {}),
            ("TSNE", 70_000, {}),
            ("UMAP", 70_000, {}),
        )
    }
    return {"times": times, "TorchDR": peers, "agreement": agreement}


def main(pattern: str) -> None:
    import torch

    warnings.simplefilter("ignore")
    gpu = torch.cuda.is_available()
    device = torch.cuda.get_device_name() if gpu else "CPU"
    revision = ["git", "describe", "--always", "--dirty"]
    commit = subprocess.run(revision, cwd=HERE, capture_output=True, text=True).stdout.strip()
    kept = read_records() if gpu else []
    for part, works in list_work(small=not gpu).items():
        for work, measure in works.items():
            if pattern not in work:
                continue
            try:
                found: dict[str, Any] = dict(measure())
            except Exception as error:  # the others are still worth their time
                found = {"error": f"{type(error).__name__}: {error}"[:200]}
            print(work, found, flush=True)
            today = datetime.date.today().isoformat()
            context = [f"{device}, torch {torch.__version__}", commit, today]
            kept = [record for record in kept if record["work"] != work]
            for quantity, value in found.items():
                text = value if isinstance(value, str) else f"{value:.4g}"
                line = [part, work, quantity, text, *context]
                kept.append(dict(zip(COLUMNS, line, strict=True)))
            if gpu:
                with RESULTS.open("w", encoding="utf-8", newline="") as file:
                    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                    writer.writeheader()
                    writer.writerows(kept)
    if gpu:
        PAGE.write_text(make_page(kept), encoding="utf-8")


def read_records() -> list[dict[str, str]]:
    if not RESULTS.exists():
        return []
    with RESULTS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def make_page(records: list[dict[str, str]]) -> str:
    parts: dict[str, dict[str, dict[str, str]]] = {}
    for record in records:
        works = parts.setdefault(record["part"], {})
        works.setdefault(record["work"], {})[record["quantity"]] = record["value"]
    devices = ", ".join(sorted({record["device"] for record in records}))
    times = parts.get("times", {})
    former = [OF_FORMER] if any(record["commit"] == FORMER for record in records) else []
    lines = [INTRODUCTION.format(device=devices), *former, *make_table(times, "seconds", "first")]
    lines += [AFTER_TIMES, PUBLISHED.strip()]
    lines += [
        f"| {work} | lowd | {devices.partition(',')[0]} | {float(times[work]['seconds']):.2g} |"
        for work in OURS_BESIDE
        if "seconds" in times.get(work, {})
    ]
    measures = ("seconds", "trustworthiness", "neighbor_recall")
    theirs = [f"TorchDR {name}" for name in measures]
    lines += [BEFORE_PEERS, *make_table(parts.get("TorchDR", {}), *measures, *theirs)]
    both = [f"{side} {name}" for name in measures for side in ("CPU", "GPU")]
    lines += [BEFORE_AGREEMENT, *make_table(parts.get("agreement", {}), "Procrustes", *both)]
    return "\n".join(lines) + "\n"


def make_table(works: dict[str, dict[str, str]], *columns: str) -> list[str]:
    """A row for each piece of work; what has no column of its own stands in the last."""
    rest = {w: [f"{q} {v}" for q, v in f.items() if q not in columns] for w, f in works.items()}
    last = ["also"] if any(rest.values()) else []
    lines = [f"| {' | '.join(['work', *columns, *last])} |"]
    lines.append(f"|---{'|--:' * len(columns)}{'|---' * len(last)}|")
    for work, found in works.items():
        also = ["; ".join(rest[work])] if last else []
        cells = [work, *(found.get(column, "") for column in columns), *also]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    if sys.argv[1:] == ["--page"]:
        PAGE.write_text(make_page(read_records()), encoding="utf-8")
    else:
        main(*(sys.argv[1:] or [""]))
