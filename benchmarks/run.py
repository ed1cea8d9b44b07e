"""Measure lowd and its peers, row by row: time, memory and quality.

    python benchmarks/run.py                      # all rows, the headline first (45 minutes)
    python benchmarks/run.py --rows headline      # or names of rows.py: --rows pca-2 mds
    python benchmarks/run.py --smoke              # every row at a tiny size, to see that it runs

Every tool of a row lives in a process of its own, holds the data, and is called once to warm up.
Then the tools take turns, call by call, so that a change of the machine's speed meets all of them:
five calls of a tool that takes less than ten seconds, three of a slower one. Peers that are not
installed are left out. results.csv is written after each row, and RESULTS.md at the end.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import data
from quality import compute_quality
from rows import HEADLINE, ROWS, Row

HERE = Path(__file__).parent
RESULTS = HERE / "results.csv"
COLUMNS = ["row", "tool", "version", "quantity", "call", "value"]
COLUMNS += ["commit", "date", "machine", "threads", "busy", "data"]
POOLS = ("LOWD", "OMP", "OPENBLAS", "MKL", "NUMBA")
N_CALLS, N_LONG_CALLS, N_SMOKE_CALLS = 5, 3, 2
LONG = 10  # seconds of a call, from which on fewer are enough
SMOKE_ROWS, SMOKE_NEW_ROWS = 300, 20
MAX_SECONDS = 900  # of one call
PAUSE = 0.3  # before a call: idle threads of the tool before spin for up to 0.2 s
MAX_BUSY = 0.1  # CPUs in use by others, beyond which times are not reliable

Record = dict[str, str]


class ToolError(Exception):
    pass


class Worker:
    """A tool in its process; `calls` are the seconds and bytes of its calls, the warm one first."""

    def __init__(self, row: str, tool: str, sizes: tuple[int, int], threads: int) -> None:
        self.calls: list[tuple[float, int | None]] = []
        self.version, self.found, self.error = "", {}, ""
        self.log = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - see close
        command = [sys.executable, HERE / "worker.py", row, tool, *sizes, threads]
        pools = {f"{pool}_NUM_THREADS": str(threads) for pool in POOLS}
        self.process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env=os.environ | pools,
        )
        try:
            answer = self.read()
            self.version, self.found = answer["version"], answer["found"]
        except ToolError as error:
            self.error = str(error)

    def call(self) -> None:
        time.sleep(PAUSE)
        try:
            answer = self.ask("call")
            self.calls.append((answer["seconds"], answer["bytes"]))
        except ToolError as error:
            self.error = str(error)

    def wants(self, turn: int, most: int) -> bool:
        """Whether it takes part in that turn, 0 being its first timed call."""
        enough = N_CALLS if turn == 0 or self.calls[1][0] < LONG else N_LONG_CALLS
        return not self.error and turn < min(enough, most)

    def ask(self, command: str) -> dict[str, Any]:
        try:
            print(command, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            raise ToolError(self.explain()) from None
        return self.read()

    def read(self) -> dict[str, Any]:
        ready, _, _ = select.select([self.process.stdout], [], [], MAX_SECONDS)
        if not ready:
            self.process.kill()
            raise ToolError(f"more than {MAX_SECONDS} s")
        line = self.process.stdout.readline()
        if not line:
            raise ToolError(self.explain())
        return json.loads(line)

    def explain(self) -> str:
        """The last line of what it wrote before it ended."""
        code = self.process.wait()
        self.log.seek(0)
        lines = self.log.read().strip().splitlines()
        return lines[-1][:200] if lines else f"exit status {code}"

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.log.close()


def main() -> None:
    options = parse_options()
    if options.data is not None:
        os.environ["LOWD_DATA"] = str(options.data)
    names = list(HEADLINE) if options.rows == ["headline"] else options.rows or list(ROWS)
    for name in names:
        print(f"{name}: {ROWS[name].title}", flush=True)
        records = list(measure(name, options.threads, options.smoke))
        write(options.out, name, records)
    if not options.smoke:
        import report

        report.main()


def measure(name: str, threads: int, smoke: bool) -> Iterator[Record]:
    """All calls of a row, in turn, then the quality of the last results."""
    row = ROWS[name]
    context = describe_run(row, threads)
    tools = [tool for tool in row.tools if find_spec(row.tools[tool].module) is not None]
    if absent := [tool for tool in row.tools if tool not in tools]:
        print(f"  not installed: {', '.join(absent)}", flush=True)
    sizes = choose_sizes(row, smoke)
    X = data.load(row.data, sizes[0])  # makes the file that the workers read
    asked = {tool: (name, tool, sizes, threads) for tool in tools}
    workers = take_turns(asked, N_SMOKE_CALLS if smoke else N_CALLS)
    for tool, worker in workers.items():
        common = context | {"row": name, "tool": tool, "version": worker.version}
        quantities = [("first seconds", 0, worker.calls[0][0])] if worker.calls else []
        quantities += [("seconds", i, call[0]) for i, call in enumerate(worker.calls[1:], 1)]
        if peaks := [peak for _, peak in worker.calls[1:] if peak is not None]:
            quantities.append(("bytes", 0, max(peaks)))
        quantities += [(f"setting {key}", 0, value) for key, value in worker.found.items()]
        if not worker.error:
            found = take_result(worker)
            measured = compute_quality(row.measures, X, found, sizes[1])
            quantities += [(measure, 0, value) for measure, value in measured.items()]
        worker.close()
        if worker.error:
            quantities = [("error", 0, worker.error)]
        print(f"  {tool}: {describe(quantities)}", flush=True)
        for quantity, call, value in quantities:
            text = value if isinstance(value, str) else f"{value:.6g}"
            yield common | {"quantity": quantity, "call": str(call), "value": text}


def take_turns(
    asked: dict[str, tuple[str, str, Any, int]], most: int = N_CALLS
) -> dict[str, Worker]:
    """Start and warm the workers one after the other, then let each call in every turn."""
    workers = {}
    for label, arguments in asked.items():
        workers[label] = Worker(*arguments)
        if not workers[label].error:
            workers[label].call()
    order = list(workers.values())
    for turn in range(most):
        for worker in order:
            if worker.wants(turn, most):
                worker.call()
        order = [*order[1:], order[0]]  # nobody always follows the same tool
    return workers


def take_result(worker: Worker) -> Any:
    path = Path(worker.ask("result")["path"])
    found = np.load(path)
    path.unlink()
    path.parent.rmdir()
    return found


def choose_sizes(row: Row, smoke: bool) -> tuple[int, int]:
    """Rows, and how many of them are new to a fitted model."""
    if not smoke:
        return row.rows, row.new_rows
    return min(row.rows, SMOKE_ROWS), SMOKE_NEW_ROWS if row.new_rows else 0


def describe_run(row: Row, threads: int) -> Record:
    busy = measure_busy()
    if busy > MAX_BUSY:
        print(f"  the machine is busy: other processes use {busy:.1f} CPUs", flush=True)
    return {
        "commit": find_commit(),
        "date": datetime.date.today().isoformat(),
        "machine": describe_machine(),
        "threads": str(threads),
        "busy": f"{busy:.2f}",
        "data": data.describe(row.data),
    }


def find_commit() -> str:
    """The commit, and whether the code differs from it; results may be written meanwhile."""

    def ask(*command: str) -> str:
        done = subprocess.run(["git", *command], cwd=HERE.parent, capture_output=True, text=True)
        return done.stdout.strip()

    code = ("src", "native", "CMakeLists.txt", ":(glob)benchmarks/*.py")
    changed = ask("status", "--porcelain", "--untracked-files=no", "--", *code)
    return ask("rev-parse", "--short", "HEAD") + (" with changes" if changed else "")


def measure_busy() -> float:
    """CPUs that are in use for a second in which nothing of ours runs.

    The load average would still count the row before. Where there is no /proc, it is taken.
    """
    path = Path("/proc/stat")
    if not path.exists():
        return os.getloadavg()[0]

    def read() -> tuple[int, int]:
        ticks = [int(part) for part in path.read_text().split("\n", 1)[0].split()[1:9]]
        return sum(ticks), ticks[3] + ticks[4]  # all, idle or waiting

    (all_before, idle_before), _ = read(), time.sleep(1)
    all_after, idle_after = read()
    total = max(all_after - all_before, 1)
    return (os.cpu_count() or 1) * (1 - (idle_after - idle_before) / total)


def describe_machine() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next((line.split(":")[1].strip() for line in lines if "model name" in line), "CPU")
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return f"{model}, {count_cores()} cores, {memory / 1e9:.0f} GB"


def count_cores() -> int:
    """The visible ones."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def describe(quantities: list[tuple[str, int, Any]]) -> str:
    seconds = [value for quantity, _, value in quantities if quantity == "seconds"]
    others = [
        f"{quantity} {value if isinstance(value, str) else format(value, '.4g')}"
        for quantity, _, value in quantities
        if quantity != "seconds"
    ]
    return "; ".join([*([f"{min(seconds):.4g} s"] if seconds else []), *others])


def read_records(path: Path = RESULTS) -> list[Record]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, name: str, records: list[Record]) -> None:
    """Replace the records of a row; the order is that of rows.py."""
    kept = [record for record in read_records(path) if record["row"] in ROWS]
    kept = [record for record in kept if record["row"] != name] + records
    kept.sort(key=lambda record: list(ROWS).index(record["row"]))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", nargs="+", metavar="NAME", help="headline, or names of rows.py")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, two calls")
    parser.add_argument("--threads", type=int, default=count_cores(), help="of every tool (all)")
    parser.add_argument("--data", type=Path, help="folder with mnist.npz (LOWD_DATA)")
    parser.add_argument("--out", type=Path, help="the CSV file (results.csv)")
    options = parser.parse_args()
    if options.rows not in (None, ["headline"]) and (unknown := set(options.rows) - set(ROWS)):
        parser.error(f"no row {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
    options.out = options.out or (data.CACHE / "smoke.csv" if options.smoke else RESULTS)
    return options


if __name__ == "__main__":
    main()
