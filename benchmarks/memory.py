"""Peak memory of fits beside their plans, each in a fresh process; writes MEMORY.md.

Usage: python benchmarks/memory.py [NAME ...]     (Linux)

The peak is that of the resident memory (VmHWM) above what the process has before the fit, with the
data and after a small fit. A plan that is exceeded by more than 25 MB, or that is more than three
times the peak, is marked; the exit status is then 1. Plans bound what is allocated, and not all of
that is touched.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone

import lowd
from lowd import threads

HERE = Path(__file__).parent
MAX_SECONDS = 240  # of one fit
MAX_EXCESS, MAX_RATIO = 25e6, 3.0
N_COLUMNS, N_WORDS, WORDS_PER_ROW = 20, 2**16, 20

TEXT = """# Memory of a fit: plan and peak

Made by `benchmarks/memory.py`, {machine}, {threads} threads; float64. *Plan*: what `estimate` says,
beside the input. *Peak*: largest resident memory of a fresh process during the fit, above what it
had before with the data loaded. Dense rows: a curved sheet in {columns} columns; sparse rows:
{entries} of {words} words.

| method | rows | | plan, MB | peak, MB | plan / peak | |
|---|--:|---|--:|--:|--:|---|
"""


class Case(NamedTuple):
    model: Any
    sizes: tuple[int, ...]
    sparse: tuple[int, ...] = ()  # numbers of sparse rows


CASES = {
    "PCA": Case(lowd.PCA(2), (100_000,), (100_000,)),
    "classical MDS": Case(lowd.ClassicalMDS(2), (100_000,), (20_000,)),
    "kernel PCA": Case(lowd.KernelPCA(2, kernel="rbf", gamma=0.1), (20_000,)),
    "Isomap": Case(lowd.Isomap(2, n_neighbors=10), (20_000, 100_000), (20_000,)),
    "Laplacian eigenmaps": Case(lowd.LaplacianEigenmaps(2), (20_000, 100_000), (20_000,)),
    "diffusion maps": Case(lowd.DiffusionMaps(2, n_neighbors=30), (20_000, 100_000)),
    "LLE": Case(lowd.LocallyLinearEmbedding(2, n_neighbors=10), (20_000, 100_000)),
    "modified LLE": Case(lowd.ModifiedLLE(2, n_neighbors=10), (20_000, 100_000)),
    "Hessian LLE": Case(lowd.HessianLLE(2, n_neighbors=10), (20_000, 100_000)),
    "LTSA": Case(lowd.LTSA(2, n_neighbors=10), (20_000, 100_000)),
    "t-SNE": Case(lowd.TSNE(2, max_iter=30), (20_000, 100_000), (20_000,)),
    "UMAP": Case(lowd.UMAP(2, n_epochs=20), (20_000, 100_000), (20_000,)),
}


def make_rows(n: int, is_sparse: bool) -> Any:
    """A curved sheet in some columns, or documents of a few topics each."""
    rng = np.random.default_rng(0)
    if is_sparse:
        topic = rng.integers(0, n // 50 + 2, n)[:, None] * 97
        words = (topic + rng.zipf(1.4, (n, WORDS_PER_ROW)) * 2654435761) % N_WORDS
        row = np.repeat(np.arange(n), WORDS_PER_ROW)
        return csr_array((rng.random(row.size) + 0.1, (row, words.ravel())), (n, N_WORDS))
    t, height = 5 + 10 * rng.random(n), 20 * rng.random(n)
    sheet = np.column_stack([t * np.cos(t), height, t * np.sin(t)])
    return sheet @ np.linalg.qr(rng.normal(size=(N_COLUMNS, 3)))[0].T + 0.01 * rng.normal(
        size=(n, N_COLUMNS)
    )


def read_status(name: str) -> int:
    """Bytes of an entry of this process's status."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise SystemExit(f"/proc/self/status has no {name}: memory is measured on Linux.")


def measure_one(name: str, n: int, is_sparse: bool) -> None:
    """Print plan and peak of one fit: the body of the fresh process."""
    warnings.simplefilter("ignore")
    model, X = CASES[name].model, make_rows(n, is_sparse)
    clone(model).fit(X[:400])  # imports, threads
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins again
    before = read_status("VmRSS")
    model.fit(X)
    peak = read_status("VmHWM") - before
    entries = X.nnz if is_sparse else None
    plan = model.estimate(*X.shape, n_entries=entries)
    print(json.dumps({"plan": plan.bytes, "peak": peak, "parts": plan.parts}))


def measure(name: str, n: int, is_sparse: bool) -> tuple[str, bool]:
    """A row of the table, and whether its plan is a good one."""
    kind = "sparse" if is_sparse else "dense"
    command = [sys.executable, __file__, "--one", name, str(n), kind]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=MAX_SECONDS, check=True
        )
    except subprocess.TimeoutExpired:
        return f"| {name} | {n:,} | {kind} | | more than {MAX_SECONDS} s | | |", True
    found = json.loads(done.stdout.splitlines()[-1])
    plan, peak = found["plan"], max(found["peak"], 1)
    exceeded, generous = peak > plan + MAX_EXCESS, plan > MAX_RATIO * peak + MAX_EXCESS
    remark = "EXCEEDED" if exceeded else "GENEROUS" if generous else ""
    row = (
        f"| {name} | {n:,} | {kind} | {plan / 1e6:.0f} | {peak / 1e6:.0f} "
        f"| {plan / peak:.2f} | {remark} |"
    )
    if remark:
        print({part: round(size / 1e6, 1) for part, size in found["parts"].items() if size})
    return row, not remark


def main(*names: str) -> None:
    text, fine = (
        TEXT.format(
            machine=platform.machine(),
            threads=threads.count(None),
            columns=N_COLUMNS,
            entries=WORDS_PER_ROW,
            words=N_WORDS,
        ),
        True,
    )
    for name in names or CASES:
        case = CASES[name]
        for n, is_sparse in [(n, False) for n in case.sizes] + [(n, True) for n in case.sparse]:
            row, holds = measure(name, n, is_sparse)
            print(row, flush=True)
            text += row + "\n"
            fine &= holds
    if not names:
        (HERE / "MEMORY.md").write_text(text, "utf-8")
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        measure_one(sys.argv[2], int(sys.argv[3]), sys.argv[4] == "sparse")
    else:
        main(*sys.argv[1:])
