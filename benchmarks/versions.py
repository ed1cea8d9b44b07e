"""Time two versions of lowd against each other, case by case: what a change costs.

Usage: python benchmarks/versions.py PYTHON [CASE ...]

PYTHON is the interpreter of an environment where the other version is installed. Fresh processes
of both run in turn on the same data and threads; the ratio is that of the medians of warm calls,
this version to the other. Without CASEs, those of less than a million rows; cases that the other
version does not have are left out. results/versions.json keeps the last result of each case;
VERSIONS.md is its table, which `python benchmarks/versions.py --table` writes anew.
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
ROUNDS, SHORT_ROUNDS, THREADS, N_CALLS = 3, 9, 2, 3
SHORT_SECONDS = 0.1  # of calls that vary more from process to process: they get more processes
MAX_SECONDS = 20.0  # of one call, after which a tool runs in one process only
MAX_DEFAULT_ROWS = 200_000
FOUND, TABLE = HERE / "results" / "versions.json", HERE / "VERSIONS.md"
RESULTS = HERE / "results" / "latest.json"
SLOWER = 1.1  # a ratio from which on the table says why
TEXT = f"""# This version beside the last release

Milliseconds of a warm call of lowd 0.1.0 and of this version on {THREADS} threads, medians over
{ROUNDS} fresh processes of each, in turn ({SHORT_ROUNDS} where a call takes less than
{SHORT_SECONDS} s). Made by `benchmarks/versions.py`. Where this version takes more than {SLOWER}
times as long, the table says why, and how long the fastest peer and lowd took in the run of the
[results](RESULTS.md).

| Case | 0.1.0 | this | ratio | why; fastest peer and lowd in the results |
|---|---|---|---|---|
"""
SAMPLE = (
    "samples by row number are gone; a sample by content, which the order of the rows does not "
    "change, reads all of them"
)
LANCZOS = "Lanczos iteration for small matrices is gone; block Krylov iteration does its work"
CAUSES = {
    "project-gaussian": SAMPLE,
    "project-hadamard": SAMPLE,
    "project-sparse": SAMPLE,
    "small-gaussian": SAMPLE,
    "small-pca": SAMPLE,
    "pca-offset": SAMPLE,
    "pca-tall": SAMPLE,
    "kpca-linear": SAMPLE,
    "mds-x": SAMPLE,
    "pca-2": "a first Krylov iteration on a part of the rows is gone",
    "small-kpca": LANCZOS,
    "small-smacof": LANCZOS,
    "small-nonmetric-mds": LANCZOS,
}


def main(other: str, *names: str) -> None:
    if other == "--table":
        write_table(json.loads(FOUND.read_text()))
        return
    for name in names or default_cases():
        case = CASES[name]
        assert isinstance(case, Case)
        data.file(case.data, case.rows)
        times: dict[str, list[float]] = {sys.executable: [], other: []}
        for number in range(SHORT_ROUNDS):
            for python, warm in times.items():
                shortest = min(warm, default=0)
                if shortest < (MAX_SECONDS if number < ROUNDS else SHORT_SECONDS):
                    warm += run(python, name, case.rows)
        if all(times.values()):
            keep(name, *(median(warm) for warm in times.values()))


def keep(name: str, this: float, that: float) -> None:
    """Print a result, and write it and those of other cases to the table."""
    print(f"{name:24}{that:10.4f} s {this:10.4f} s {this / that:8.2f}", flush=True)
    found = json.loads(FOUND.read_text()) if FOUND.exists() else {}
    found[name] = {"this": this, "that": that}
    FOUND.write_text(json.dumps(found, indent=1) + "\n")
    write_table(found)


def write_table(found: dict[str, dict[str, float]]) -> None:
    """The table of all results."""
    rows = "".join(
        f"| {CASES[name].task} | {1e3 * t['that']:.3g} | {1e3 * t['this']:.3g} "
        f"| {t['this'] / t['that']:.2f} | {explain(name, t['this'] / t['that'])} |\n"
        for name, t in found.items()
        if name in CASES
    )
    TABLE.write_text(TEXT + rows)


def explain(name: str, ratio: float) -> str:
    """Why a case is slower, and the fastest peer's time beside lowd's in the results."""
    if ratio <= SLOWER:
        return ""
    tools = json.loads(RESULTS.read_text())["cases"].get(name, {}).get("tools", {})
    times = {
        tool: 1e3 * median(t["warm"] or t["first"]) for tool, t in tools.items() if "error" not in t
    }
    peers = {tool: time for tool, time in times.items() if tool != "lowd"}
    why = CAUSES.get(name, "not known")
    if not peers or "lowd" not in times:
        return f"{why}; no peer"
    best = min(peers, key=peers.__getitem__)
    return f"{why}; {best} {peers[best]:.3g}, lowd {times['lowd']:.3g}"


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
