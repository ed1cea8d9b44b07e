"""One tool on one row, in a process that stays alive: `call` times a call, `result` stores one.

Usage: python worker.py ROW TOOL ROWS NEW_ROWS THREADS     (started by run.py)

Answers are lines of JSON on standard output; what tools print goes to standard error.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import resource
import sys
import tempfile
import warnings
from contextlib import suppress
from importlib import import_module, metadata
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import data
from jobs import make_job
from rows import ROWS


def main(name: str, tool_name: str, rows: int, new_rows: int, threads: int) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    if hasattr(os, "sched_setaffinity"):  # for pools of threads that read no variable
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    limit_memory()

    def answer(**values: Any) -> None:
        print(json.dumps(values), file=answers, flush=True)

    row = ROWS[name]
    tool = row.tools[tool_name]
    X = data.load(row.data, rows)
    job = make_job(row, tool, threads, new_rows)
    job.prepare(X)
    answer(version=find_version(tool.module), found=job.found)
    Y: Any = None
    for command in sys.stdin:
        if command.strip() == "call":
            Y = None
            before = settle()
            start = perf_counter()
            Y = job.run(X)
            seconds = perf_counter() - start
            peak = read_status("VmHWM")
            answer(seconds=seconds, bytes=job.peak or (peak - before if peak else None))
        else:
            folder = tempfile.mkdtemp()
            np.save(f"{folder}/result.npy", job.finish(Y))
            answer(path=f"{folder}/result.npy")


def settle() -> int:
    """Give free memory back to the system, forget the peak so far, and return the present size.

    Without it a call would be charged nothing for memory that an earlier one has left.
    """
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return read_status("VmRSS")


def read_status(field: str) -> int:
    """A size of this process in bytes; 0 where the system is not Linux."""
    path = Path("/proc/self/status")
    if not path.exists():
        return 0
    line = next(line for line in path.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def limit_memory() -> None:
    """Let a tool that needs more memory than the machine has fail alone."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_DATA, (int(0.8 * memory), resource.RLIM_INFINITY))


def find_version(module: str) -> str:
    """The version of the package that brings the module; lowd may be a source tree."""
    for package in metadata.packages_distributions().get(module, [module]):
        with suppress(metadata.PackageNotFoundError):
            return metadata.version(package)
    return str(getattr(import_module(module), "__version__", ""))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
