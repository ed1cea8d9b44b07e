"""Compare lowd.io.read, which reads a file into a matrix, with polars on the same file.

Usage: python benchmarks/files.py [--megabytes 1000] [--repeats 3] [--columns 100]

polars returns columns; lowd converts them to the matrix of floats that methods accept, detects the
roles of the columns and checks for missing values. Fresh processes in turn; the file is in the page
cache. The target is 1.5 times the time of polars.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from time import perf_counter, process_time

FOLDER = Path(__file__).parent / ".data"
MAX_RATIO = 1.5  # of wall time to polars
_CHUNK_ROWS = 50_000  # generated at a time, to bound memory


def main() -> None:
    options = _options()
    if options.tool:
        _measure(options.tool, options.file)
        return
    FOLDER.mkdir(exist_ok=True)
    for kind in ("csv", "parquet"):
        path = _generate(kind, options.megabytes * 10**6, options.columns)
        runs: dict[str, list[dict[str, float]]] = {"polars": [], "lowd": []}
        for turn in range(options.repeats + 1):
            for tool, times in runs.items():
                result = _run(tool, path)
                if turn:  # the first one fills the page cache
                    times.append(result)
        _show(kind, path, runs)


def _show(kind: str, path: Path, runs: dict[str, list[dict[str, float]]]) -> None:
    best = {
        tool: {what: min(run[what] for run in times) for what in ("wall", "cpu", "peak")}
        for tool, times in runs.items()
    }
    ratio = {what: best["lowd"][what] / best["polars"][what] for what in ("wall", "cpu", "peak")}
    for tool, times in best.items():
        print(
            f"{kind:8} {path.stat().st_size / 1e6:6.0f} MB  {tool:7} {times['wall']:7.2f} s wall "
            f"{times['cpu']:7.2f} s CPU  {times['peak']:6.0f} MB peak"
        )
    verdict = "within" if ratio["wall"] <= MAX_RATIO else "BEYOND"
    print(
        f"{kind:8} lowd / polars: {ratio['wall']:.2f} wall, {ratio['cpu']:.2f} CPU, "
        f"{ratio['peak']:.2f} peak; {verdict} the target of {MAX_RATIO}"
    )


def _run(tool: str, path: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--tool", tool, "--file", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    times: dict[str, float] = json.loads(done.stdout)
    return times


def _measure(tool: str, path: Path) -> None:
    """Time one reader in a fresh process; packages are imported before."""
    import resource

    import polars

    import lowd

    lowd.io.read  # noqa: B018 - imports what it needs
    read = {
        ("polars", ".csv"): polars.read_csv,
        ("polars", ".parquet"): polars.read_parquet,
    }.get((tool, path.suffix), lowd.io.read)
    wall, cpu = perf_counter(), process_time()
    result = read(path)
    wall, cpu = perf_counter() - wall, process_time() - cpu
    shape = result.shape if tool == "polars" else result.X.shape
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"wall": wall, "cpu": cpu, "peak": peak, "rows": shape[0]}))


def _generate(kind: str, size: int, columns: int) -> Path:
    """The path of a file of about that many bytes, generated once."""
    import numpy as np
    import polars

    path = FOLDER / f"rows-{columns}-{size // 10**6}.{kind}"
    if path.exists():
        return path
    names = [f"x{j}" for j in range(columns)]
    rng = np.random.default_rng(0)
    draft = path.with_suffix(".part")
    if kind == "parquet":
        X = rng.normal(size=(size // (8 * columns), columns))
        polars.DataFrame(X, schema=names).write_parquet(draft)
    else:
        with draft.open("wb") as file:
            while file.tell() < size:
                frame = polars.DataFrame(rng.normal(size=(_CHUNK_ROWS, columns)), schema=names)
                frame.write_csv(file, include_header=file.tell() == 0, float_precision=6)
    draft.rename(path)
    return path


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--tool", choices=["lowd", "polars"], help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
