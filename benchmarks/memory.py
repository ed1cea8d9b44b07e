"""Peak memory of fits beside their plans, each in a fresh process; writes MEMORY.md.

Usage: python benchmarks/memory.py [NAME ...]     (Linux)

The peak is that of the resident memory (VmHWM) above what the process has before the fit, with the
data and after a small fit. Some arrays are compared with free memory again during the fit, when
their size is known (the factor of a graph); the plan is then what was there already and they. A
plan that is exceeded by more than 25 MB, or that is more than three times the peak, is marked, and
so is a fit that fails; the exit status is then 1. Plans bound what is allocated, and not all of
that is touched.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone

import lowd
from lowd import threads
from lowd.core import memory

HERE = Path(__file__).parent
MAX_SECONDS = 240  # of one fit
MAX_EXCESS, MAX_RATIO = 25e6, 3.0
N_COLUMNS, N_WORDS, WORDS_PER_ROW = 20, 2**16, 20
CLOUD_DIMENSIONS = 4

TEXT = """# Memory of a fit: plan and peak

Made by `benchmarks/memory.py`, {machine}, {threads} threads; float64. *Plan*: what a fit finds that
it needs beside the input. *Peak*: largest resident memory of a fresh process during the fit, above
what it had before with the data loaded. Dense rows: a curved sheet in {columns} columns; cloud: a
cube of {dimensions} dimensions in so many columns, whose neighbor graph is wide; sparse rows:
{entries} of {words} words. *Beforehand*: the plan as `estimate` has it, which assumes a graph like
that of a surface; what depends on the graph is compared with free memory again once the graph is
known, and the larger of the two is the plan.

| method | rows | | beforehand, MB | plan, MB | peak, MB | plan / peak | |
|---|--:|---|--:|--:|--:|--:|---|
"""


KINDS = ("dense", "cloud", "sparse")


class Case(NamedTuple):
    model: Any
    sizes: tuple[int, ...]
    sparse: tuple[int, ...] = ()  # numbers of sparse rows
    clouds: tuple[int, ...] = ()

    def inputs(self) -> Iterator[tuple[int, str]]:
        for kind, sizes in zip(KINDS, (self.sizes, self.clouds, self.sparse), strict=True):
            for n in sizes:
                yield n, kind


CASES = {
    "PCA": Case(lowd.PCA(2), (100_000,), (100_000,)),
    "classical MDS": Case(lowd.ClassicalMDS(2), (100_000,), (20_000,)),
    "MDS": Case(lowd.MDS(2, max_iter=20), (5_000, 20_000), (5_000,)),
    "non-metric MDS": Case(lowd.NonMetricMDS(2, max_iter=10), (4_000,)),
    "kernel PCA": Case(lowd.KernelPCA(2, kernel="rbf", gamma=0.1), (20_000,), (20_000,)),
    "Isomap": Case(lowd.Isomap(2, n_neighbors=10), (20_000, 100_000), (20_000,)),
    "Laplacian eigenmaps": Case(lowd.LaplacianEigenmaps(2), (20_000, 100_000), (20_000,)),
    "diffusion maps": Case(lowd.DiffusionMaps(2, n_neighbors=30), (20_000, 100_000)),
    "LLE": Case(
        lowd.LocallyLinearEmbedding(2, n_neighbors=10), (20_000, 100_000), clouds=(20_000,)
    ),
    "modified LLE": Case(lowd.ModifiedLLE(2, n_neighbors=10), (20_000, 100_000), clouds=(20_000,)),
    "Hessian LLE": Case(lowd.HessianLLE(2, n_neighbors=10), (20_000, 100_000), clouds=(20_000,)),
    "LTSA": Case(lowd.LTSA(2, n_neighbors=10), (20_000, 100_000), clouds=(20_000,)),
    "SNE": Case(lowd.SNE(2, max_iter=10), (5_000, 20_000), (5_000,)),
    "t-SNE": Case(lowd.TSNE(2, max_iter=30), (20_000, 100_000), (20_000,)),
    "UMAP": Case(lowd.UMAP(2, n_epochs=20), (20_000, 100_000), (20_000,)),
}


def make_rows(n: int, kind: str) -> Any:
    """A curved sheet in some columns, a cloud, or documents of a few topics each."""
    rng = np.random.default_rng(0)
    if kind == "cloud":
        return rng.random((n, CLOUD_DIMENSIONS)) @ rng.normal(size=(CLOUD_DIMENSIONS, N_COLUMNS))
    if kind == "sparse":
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


def measure_one(name: str, n: int, kind: str) -> None:
    """Print plans and peak of one fit: the body of the fresh process."""
    warnings.simplefilter("ignore")
    model, X = CASES[name].model, make_rows(n, kind)
    clone(model).fit(X[:400])  # imports, threads
    needed: list[int] = []
    original = memory.check

    def check(plan: memory.Plan, *args: Any) -> None:
        needed.append(read_status("VmRSS") - before + plan.bytes)
        original(plan, *args)

    memory.check = check
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins again
    before = read_status("VmRSS")
    model.fit(X)
    peak = read_status("VmHWM") - before
    plan = model.estimate(*X.shape, n_entries=X.nnz if kind == "sparse" else None)
    print(json.dumps({"parts": plan.parts, "later": max(needed), "peak": peak}))


def measure(name: str, n: int, kind: str) -> tuple[str, bool]:
    """A row of the table, and whether its plan is a good one."""
    command = [sys.executable, __file__, "--one", name, str(n), kind]
    start = f"| {name} | {n:,} | {kind} "
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=MAX_SECONDS)
    except subprocess.TimeoutExpired:
        return f"{start}| | | more than {MAX_SECONDS} s | | |", False
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        last = (done.stderr.strip().splitlines() or [""])[-1][:200]
        return f"{start}| | | | | FAILED with status {done.returncode}: {last} |", False
    found = json.loads(done.stdout.splitlines()[-1])
    beforehand, peak = sum(found["parts"].values()), max(found["peak"], 1)
    plan = max(beforehand, found["later"])
    exceeded, generous = peak > plan + MAX_EXCESS, plan > MAX_RATIO * peak + MAX_EXCESS
    remark = "EXCEEDED" if exceeded else "GENEROUS" if generous else ""
    row = (
        f"{start}| {beforehand / 1e6:.0f} | {plan / 1e6:.0f} | {peak / 1e6:.0f} "
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
            dimensions=CLOUD_DIMENSIONS,
            entries=WORDS_PER_ROW,
            words=N_WORDS,
        ),
        True,
    )
    for name in names or CASES:
        for n, kind in CASES[name].inputs():
            row, holds = measure(name, n, kind)
            print(row, flush=True)
            text += row + "\n"
            fine &= holds
    if not names:
        (HERE / "MEMORY.md").write_text(text, "utf-8")
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        measure_one(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        main(*sys.argv[1:])
