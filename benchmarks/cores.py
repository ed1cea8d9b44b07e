"""lowd's headline rows with 1, 2, 4, 8, ... threads: cores.csv, of which report.py makes a chart.

    python benchmarks/cores.py [--rows NAME ...] [--data FOLDER]     # 8 minutes on 16 cores

Only lowd, NumPy, SciPy and scikit-learn are needed. A process for each number of threads; the
processes take turns as the tools of run.py do, three calls each after a first one.
"""

from __future__ import annotations

import argparse
import csv
import os
from pathlib import Path

import data
import run
from rows import HEADLINE

RESULTS = Path(__file__).with_name("cores.csv")
COLUMNS = ["row", "threads", "seconds", "commit", "date", "machine"]
N_CALLS = 3
MAX_ROWS = {"neighbors": 40_000}  # of others the table's; fewer where one thread takes long
LEFT_OUT = {"map"}  # a process of its own, most of it imports


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    names = [name for name in HEADLINE if name not in LEFT_OUT]
    parser.add_argument("--rows", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--data", type=Path, help="folder with mnist.npz (LOWD_DATA)")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes")
    options = parser.parse_args()
    if options.data is not None:
        os.environ["LOWD_DATA"] = str(options.data)
    counts = [2**i for i in range(run.count_cores().bit_length())]
    kept = [r for r in run.read_records(options.out) if r["row"] not in options.rows]
    lines = [list(record.values()) for record in kept]
    for name in options.rows:
        row = HEADLINE[name]
        rows, new_rows = run.choose_sizes(row, options.smoke)
        rows = min(rows, MAX_ROWS.get(name, rows))
        data.load(row.data, rows)
        context = run.describe_run(row, max(counts))
        asked = {str(count): (name, "lowd", (rows, new_rows), count) for count in counts}
        workers = run.take_turns(asked, N_CALLS if not options.smoke else 1)
        for count, worker in workers.items():
            worker.close()
            if worker.error:
                print(f"{name}, {count} threads: {worker.error}", flush=True)
                continue
            seconds = min(call[0] for call in worker.calls[1:])
            print(f"{name}, {count} threads: {seconds:.4g} s", flush=True)
            origin = [context[key] for key in ("commit", "date", "machine")]
            lines.append([name, count, f"{seconds:.6g}", *origin])
        options.out.parent.mkdir(parents=True, exist_ok=True)
        with options.out.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *lines])


if __name__ == "__main__":
    main()
