"""Compare lowd with its peers in time, memory and quality.

Every tool runs in fresh processes, in turn with the others, on the same data, dtype and threads.
results/latest.json keeps the last result of each case; RESULTS.md is its table, and
docs/images/benchmarks holds its charts.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import charts
import data
import report
from all_cases import CASES
from cases import Case, Startup
from evaluators import EVALUATORS

HERE = Path(__file__).parent
PACKAGES = """lowd numpy scipy scikit-learn scikit-learn-intelex tapkee faiss-cpu torch torchdr
    pynndescent hnswlib openTSNE umap-learn scranpy zadu"""
POOLS = ("LOWD", "OMP", "OPENBLAS", "MKL")
MAX_PROCESS_SECONDS = 900
MAX_REPEATED_SECONDS = 5  # of a first call; slower tools run in one process only

Entry = dict[str, Any]


def main() -> None:
    options = _options()
    if find_spec("lowd") is None:
        sys.exit("lowd is not installed for this Python; run `make bench`.")
    if data.source()[0] != "Fashion-MNIST":
        print(f"{data.ADVICE} Using {data.source()[0]}.", file=sys.stderr)
    if os.getloadavg()[0] > 0.5 and not options.quick:
        print("This machine is busy: the times are not reliable.", file=sys.stderr)
    path = data.FOLDER / "quick.json" if options.quick else HERE / "results" / "latest.json"
    path.parent.mkdir(exist_ok=True)
    record = json.loads(path.read_text()) if path.exists() else {"cases": {}}
    record |= {"machine": _machine(), "versions": _versions(), "images": data.source()[0]}
    record["ceilings"] = _ceilings(options.threads)
    for name in options.names or CASES:
        for key, entry in _run_case(name, options):
            record["cases"][key] = entry
            path.write_text(json.dumps(record, indent=1) + "\n")
            print(*report.rows(key, entry, record["ceilings"]), sep="\n", flush=True)
    if not options.quick:
        (HERE / "RESULTS.md").write_text(report.page(record))
        charts.main(HERE.parent / "docs" / "images" / "benchmarks")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="case", help=f"all, or of {', '.join(CASES)}")
    parser.add_argument("--repeat", type=int, default=3, help="fresh processes per tool (3)")
    parser.add_argument("--threads", type=int, default=2, help="the same for every tool (2)")
    parser.add_argument("--quick", action="store_true", help="small data, one process per tool")
    options = parser.parse_args()
    if unknown := set(options.names) - set(CASES):
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    if options.quick:
        options.repeat = 1
    return options


def _run_case(name: str, options: Any) -> Iterator[tuple[str, Entry]]:
    """The results of a case, and of the same with one thread if its scaling is to be shown."""
    case = CASES[name]
    if isinstance(case, Startup):
        yield name, _time_startup(case, options)
        return
    yield name, _compare(name, case, options.threads, options)
    if case.scales and options.threads > 1:
        yield f"{name}@1", _compare(name, case, 1, options)


def _compare(name: str, case: Case, threads: int, options: Any) -> Entry:
    """Run all tools in turn, round after round; then evaluate their results."""
    n = max(case.rows // 35, 250) if options.quick else case.rows
    data.file(case.data, n)
    tools: dict[str, Entry] = {
        tool: {"first": [], "warm": [], "memory": []}
        for tool, call in case.tools.items()
        if _installed(call.module)
    }
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.repeat):
            for number, (tool, runs) in enumerate(tools.items()):
                if "error" in runs or max(runs["first"], default=0) > MAX_REPEATED_SECONDS:
                    continue
                found = _run(name, tool, n, threads, options.repeat, f"{folder}/{number}.npz")
                if "error" in found:
                    runs["error"] = found["error"]
                else:
                    runs["first"].append(found["first"])
                    runs["warm"] += found["warm"]
                    runs["memory"].append(found["memory"])
        X = data.load(case.data, n)
        score = EVALUATORS[case.evaluator](X, case.k)
        for number, runs in enumerate(tools.values()):
            if "error" not in runs:
                with np.load(f"{folder}/{number}.npz") as arrays:
                    runs["quality"] = {m: float(v) for m, v in score(dict(arrays)).items()}
    entry = {**_describe(case, n), "threads": threads, "shape": X.shape, "tools": tools}
    return entry | {"floor": case.floor(*X.shape)._asdict()} if case.floor else entry


def _run(name: str, tool: str, n: int, threads: int, repeat: int, out: str) -> Entry:
    """Run one process; its times, or the last line of its error."""
    command = [sys.executable, HERE / "worker.py", name, tool, n, threads, repeat, out]
    pools = {f"{pool}_NUM_THREADS": str(threads) for pool in POOLS}
    try:
        done = subprocess.run(
            list(map(str, command)),
            env=os.environ | pools,
            capture_output=True,
            text=True,
            timeout=MAX_PROCESS_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"more than {MAX_PROCESS_SECONDS} s"}
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]}
    result: Entry = json.loads(done.stdout.splitlines()[-1])
    return result


def _time_startup(case: Startup, options: Any) -> Entry:
    """Time fresh interpreters in turn, a bare one among them."""
    lines = {"": "pass"} | {
        tool: line for tool, (module, line) in case.lines.items() if _installed(module)
    }
    seconds: dict[str, list[float]] = {tool: [] for tool in lines}
    for _ in range(1 + (1 if options.quick else 4 * options.repeat)):
        for tool, line in lines.items():
            start = perf_counter()
            subprocess.run([sys.executable, "-c", line], check=True, capture_output=True)
            seconds[tool].append(perf_counter() - start)
    bare = median(seconds.pop("")[1:])
    tools = {
        tool: {"first": [times[0] - bare], "warm": [time - bare for time in times[1:]]}
        for tool, times in seconds.items()
    }
    return {**_describe(case), "threads": options.threads, "bare interpreter": bare, "tools": tools}


def _describe(case: Case | Startup, n: int | None = None) -> Entry:
    reduced = isinstance(case, Case) and n != case.rows
    return {
        "task": f"{case.task} (reduced to {n} rows)" if reduced else case.task,
        "when": datetime.datetime.now().isoformat(timespec="seconds"),
        "load": os.getloadavg()[0],
    }


def _installed(module: str) -> bool:
    return find_spec(module.split(".")[0]) is not None


def _versions() -> dict[str, str | None]:
    found = {}
    for package in PACKAGES.split():
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = None
    return {"python": platform.python_version(), **found}


def _machine() -> Entry:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next((line.split(":")[1] for line in lines if "model name" in line), "")
    return {
        "cpu": model.strip() or platform.processor(),
        "cpus": os.cpu_count(),
        "memory": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "system": f"{platform.system()} {platform.machine()}",
    }


def _ceilings(threads: int) -> dict[str, float]:
    """Peak rates of BLAS on this machine: float32 products and reads of a matrix, best of five."""
    code = """
import numpy as np, time
def best(f):
    times = []
    for _ in range(6):
        start = time.perf_counter(); f(); times.append(time.perf_counter() - start)
    return min(times)
A, B, v = np.ones((3000, 3000), "f"), np.ones((20000, 10000), "f"), np.ones(10000, "f")
print(2 * 3000**3 / best(lambda: A @ A), B.nbytes / best(lambda: B @ v))
"""
    pools = {f"{pool}_NUM_THREADS": str(threads) for pool in POOLS}
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | pools, capture_output=True, check=True
    )
    flops, read = map(float, done.stdout.split())
    return {"flops": flops, "bytes": read, "threads": threads}


if __name__ == "__main__":
    main()
