"""Run one tool on one case in a fresh process: first call, warm calls, peak memory, the result.

Prints one line of JSON; arrays for the evaluator go to the file named on the command line.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import data
from all_cases import CASES
from cases import Case, Tool

# What evaluators need of a fitted model -> the attributes that tools have for it.
LEARNED = {
    "components": ("components_",),
    "landmarks": ("landmarks_", "component_indices_"),
    "scale": ("scale_",),
    "divergence": ("kl_divergence_",),
    "force_error": ("force_error_",),
}
Timed = tuple[dict[str, Any], dict[str, Any]]  # seconds and bytes; arrays for the evaluator
STATUS = Path("/proc/self/status")
N_SINGLE_ROWS, N_NEW_POINTS = 200, 7000  # held out for `row` and for `new`
MAX_SECONDS = 20.0  # of calls in one process, after which no call begins


def main(name: str, tool: str, rows: int, threads: int, repeat: int, out: str) -> None:
    case = CASES[name]
    assert isinstance(case, Case)
    if hasattr(os, "sched_setaffinity"):  # for pools that read no environment variable
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    _limit_memory()
    warnings.simplefilter("ignore")
    model = _class(case.tools[tool])
    X = data.load(case.data, rows)
    times, arrays = JOBS[case.job](model, case.tools[tool], X, repeat)
    np.savez(out, **arrays)
    print(json.dumps(times))


def _fit_transform(make: Any, tool: Tool, X: Any, repeat: int) -> Timed:
    """fit_transform of all rows, with a new model each time."""
    before = _reset_peak()
    first, model, Y = _timed(make, tool, X)
    peak = _peak() - before
    warm: list[float] = []
    # Short calls are repeated until their median is reliable.
    while len(warm) < repeat or (sum(warm) < 0.5 and len(warm) < 50):
        if first + sum(warm) > MAX_SECONDS and (warm or not tool.compiles):
            break
        del model, Y
        seconds, model, Y = _timed(make, tool, X)
        warm.append(seconds)
    times = {"first": first, "warm": warm, "memory": peak}
    return times, {"Y": np.asarray(Y), **_learned(model)}


def _timed(make: Any, tool: Tool, X: Any) -> tuple[float, Any, Any]:
    start = perf_counter()
    model = make(**tool.params)
    Y = model.fit_transform(X)
    return perf_counter() - start, model, Y


def _transform_rows(make: Any, tool: Tool, X: Any, repeat: int) -> Timed:
    """transform of held-out rows one at a time, by a model fitted before the timing."""
    model = make(**tool.params)
    model.fit(X[:-N_SINGLE_ROWS])
    rows = X[-N_SINGLE_ROWS:]
    before = _reset_peak()
    warm, Y = [], []
    for _ in range(repeat):
        Y.clear()
        for i in range(N_SINGLE_ROWS):
            start = perf_counter()
            Y.append(model.transform(rows[i : i + 1]))
            warm.append(perf_counter() - start)
    times = {"first": warm.pop(0), "warm": warm, "memory": _peak() - before}
    return times, {"Y": np.vstack(Y), "batch": np.asarray(model.transform(rows))}


def _transform_batch(make: Any, tool: Tool, X: Any, repeat: int) -> Timed:
    """transform of many new points at once, by a model fitted before the timing."""
    model = make(**tool.params)
    known = model.fit_transform(X[:-N_NEW_POINTS])
    before = _reset_peak()
    warm: list[float] = []
    # One that compiles in its first call is given a second, however long the first took.
    while len(warm) < 1 + tool.compiles or (len(warm) <= repeat and sum(warm) < MAX_SECONDS):
        start = perf_counter()
        Y = model.transform(X[-N_NEW_POINTS:])
        warm.append(perf_counter() - start)
    times = {
        "first": warm.pop(0) if warm[1:] else warm[0],
        "warm": warm,
        "memory": _peak() - before,
    }
    return times, {"Y": np.asarray(Y), "known": np.asarray(known)}


JOBS = {"fit_transform": _fit_transform, "row": _transform_rows, "new": _transform_batch}


def _class(tool: Tool) -> Any:
    import_module(tool.module)
    module, name = tool.path.split(":")
    return getattr(import_module(module), name)


def _learned(model: Any) -> dict[str, Any]:
    found = {}
    for key, names in LEARNED.items():
        values = [getattr(model, name) for name in names if hasattr(model, name)]
        if values and isinstance(values[0], np.ndarray | float):
            found[key] = np.asarray(values[0])
    return found


def _peak() -> int:
    """Peak resident set size so far, in bytes."""
    if STATUS.exists():  # getrusage would begin with the size of the process that started this one
        line = next(line for line in STATUS.read_text().splitlines() if "VmHWM" in line)
        return int(line.split()[1]) * 1024
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024


def _reset_peak() -> int:
    """Reset the peak after importing and loading, where the system can, and return the new one."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _limit_memory() -> None:
    """Let a tool that needs more memory than the machine has fail alone, without the OOM killer."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_DATA, (int(0.8 * memory), resource.RLIM_INFINITY))


if __name__ == "__main__":
    name, tool, rows, threads, repeat, out = sys.argv[1:]
    main(name, tool, int(rows), int(threads), int(repeat), out)
