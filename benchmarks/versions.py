"""Time two versions of lowd against each other, case by case: what a change costs.

Usage: python benchmarks/versions.py PYTHON [CASE ...]

PYTHON is the interpreter of an environment where the other version is installed. Fresh processes
of both run in turn on the same data and threads; the ratio is that of the medians of warm calls,
this version to the other. Without CASEs, those that the other version has, below a million rows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import data
from all_cases import CASES
from cases import Case

HERE = Path(__file__).parent
ROUNDS, THREADS, N_CALLS = 3, 2, 3
MAX_SECONDS = 20.0  # of one call, after which a tool runs in one process only
MAX_DEFAULT_ROWS = 200_000


def main(other: str, *names: str) -> None:
    for name in names or default_cases():
        case = CASES[name]
        assert isinstance(case, Case)
        data.file(case.data, case.rows)
        times: dict[str, list[float]] = {sys.executable: [], other: []}
        for _ in range(ROUNDS):
            for python, warm in times.items():
                if max(warm, default=0) < MAX_SECONDS:
                    warm += run(python, name, case.rows)
        this, that = (median(warm) if warm else float("nan") for warm in times.values())
        print(f"{name:24}{that:10.4f} s {this:10.4f} s {this / that:8.2f}", flush=True)


def default_cases() -> list[str]:
    """The cases of data that fit into a short run."""
    return [
        name
        for name, case in CASES.items()
        if isinstance(case, Case) and case.rows <= MAX_DEFAULT_ROWS and "lowd" in case.tools
    ]


def run(python: str, name: str, rows: int) -> list[float]:
    """Warm calls of one process (its first call where there are none); none if it fails."""
    pools = {f"{pool}_NUM_THREADS": str(THREADS) for pool in ("LOWD", "OMP", "OPENBLAS")}
    with tempfile.TemporaryDirectory() as folder:
        call = [python, HERE / "worker.py", name, "lowd", rows, THREADS, N_CALLS, f"{folder}/x.npz"]
        done = subprocess.run(
            list(map(str, call)), env=os.environ | pools, capture_output=True, text=True
        )
    if done.returncode:
        return []
    found = json.loads(done.stdout.splitlines()[-1])
    warm: list[float] = found["warm"] or [found["first"]]
    return warm


if __name__ == "__main__":
    main(*sys.argv[1:])
