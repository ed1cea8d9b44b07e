"""Time the explorer's page in headless Chromium with software rendering.

    python benchmarks/explorer.py            # needs Node.js, Chromium, `make web`, lowd[view]

Each case starts the server in this process, then opens the page in a fresh browser of 1280x800
pixels (web/bench/measure.mjs). The table goes to EXPLORER.md, with the bars that must hold; the
exit status is 1 where one does not.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
from packaging.requirements import Requirement

import lowd

HERE = Path(__file__).parent
MEASURE = HERE.parent / "web" / "bench" / "measure.mjs"
N_CLASSES = 10
MAX_SECONDS = 90  # of one page
MAX_ADDED_MEGABYTES = 30  # of lowd[view] over lowd[app]

TEXT = """# The explorer's page

Headless Chromium, software rendering, 1280×800 pixels, {machine}; median of {repeats} fresh
browsers; the bar in brackets. Made by `benchmarks/explorer.py`. *Paint*: from the navigation until
the colored points of all panels are on the screen. *Frames*: pictures per second while every frame
brings a wheel or pointer event; while it moves, a picture of many points shows a sample of them.
*Lasso*: from the release of the button until the counts and the faded points are shown. *Memory*:
private and shared memory of the page's process.

| points | panels | paint | frames/s zoom / pan | lasso | memory | all hold |
|--:|--:|--:|--:|--:|--:|---|
"""


INSTALLED = """
Installing `lowd[view]` adds {added:.1f} MB to `lowd[app]` (≤ {bar}): {packages}, and the page
with its server ({own:.1f} MB, part of lowd itself).
"""


class Case(NamedTuple):
    """A page and its bars: seconds, frames per second, seconds, megabytes."""

    n: int
    panels: int
    paint: float
    frames: float
    lasso: float
    memory: float


CASES = [
    Case(100_000, 1, 1.0, 30, 0.2, 400),
    Case(1_000_000, 1, 2.5, 15, 0.2, 400),
    Case(1_000_000, 4, 5.0, 8, 0.4, 400),
    Case(5_000_000, 1, 12.0, 4, 1.0, 800),
]


def make_view(n: int, panels: int) -> lowd.explorer.Explorer:
    """Clusters in the plane, shown as they are and bent, with a label and a number."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, N_CLASSES, n)
    middles = rng.normal(0, 6, (N_CLASSES, 2))
    spread = rng.uniform(0.5, 1.6, N_CLASSES)
    Y = middles[labels] + rng.normal(size=(n, 2)) * spread[labels, None]
    bent = np.column_stack([Y[:, 0] * np.cos(Y[:, 1] / 6), Y[:, 1] + np.sin(Y[:, 0])])
    embeddings = {f"map {i + 1}": (Y, bent)[i % 2].astype(np.float32) for i in range(panels)}
    names = np.array([f"class {i}" for i in range(N_CLASSES)])
    columns = {"value": (2 * Y[:, 0] + rng.normal(size=n)).astype(np.float32)}
    return lowd.view(
        None, embeddings, labels=names[labels], columns=columns, browser=False, block=False
    )


def measure(case: Case, repeats: int) -> dict[str, float]:
    """Medians over fresh browsers."""
    explorer = make_view(case.n, case.panels)
    try:
        command = ["node", str(MEASURE), str(explorer.url)]
        runs = [
            json.loads(
                subprocess.run(
                    command, check=True, capture_output=True, text=True, timeout=MAX_SECONDS
                ).stdout
            )
            for _ in range(repeats)
        ]
    finally:
        explorer.close()
    failed = [run["errors"] for run in runs if run["errors"]]
    if failed:
        raise SystemExit(f"the page had errors: {failed}")
    names = ("firstPaint", "zoom", "pan", "lasso", "memory")
    return {name: median(run[name] for run in runs) for name in names}


def list_packages(extra: str) -> set[str]:
    """Names of the installed packages that lowd with an extra needs, directly or not."""
    found: set[tuple[str, str]] = set()
    open_ = [("lowd", extra)]
    while open_:
        name, extra = open_.pop()
        if (name, extra) in found:
            continue
        found.add((name, extra))
        for line in metadata.requires(name) or []:
            need = Requirement(line)
            if need.marker is None or need.marker.evaluate({"extra": extra}):
                open_ += [(need.name.lower(), more) for more in ("", *need.extras)]
    return {name for name, _ in found}


def measure_installed() -> str:
    """What the explorer adds to an installation, in words; an error where it is too much."""
    packages = sorted(list_packages("view") - list_packages("app"))
    sizes = {
        name: sum(file.locate().stat().st_size for file in metadata.files(name) or [])
        for name in packages
    }
    folder = Path(lowd.__file__).parent / "explorer"
    own = sum(file.stat().st_size for file in folder.rglob("*") if file.suffix != ".pyc")
    added = (sum(sizes.values()) + own) / 1e6
    named = ", ".join(f"{name} ({size / 1e6:.1f} MB)" for name, size in sizes.items())
    text = INSTALLED.format(added=added, bar=MAX_ADDED_MEGABYTES, packages=named, own=own / 1e6)
    print(text)
    if added > MAX_ADDED_MEGABYTES:
        raise SystemExit("lowd[view] is too large")
    return text


def make_row(case: Case, found: dict[str, float]) -> tuple[str, bool]:
    paint, lasso = found["firstPaint"] / 1000, found["lasso"] / 1000
    frames = min(found["zoom"], found["pan"])
    holds = (
        paint <= case.paint
        and frames >= case.frames
        and lasso <= case.lasso
        and found["memory"] <= case.memory
    )
    row = (
        f"| {case.n:,} | {case.panels} | {paint:.2f} s (≤ {case.paint:g}) "
        f"| {found['zoom']:.0f} / {found['pan']:.0f} (≥ {case.frames:g}) "
        f"| {1000 * lasso:.0f} ms (≤ {1000 * case.lasso:g}) "
        f"| {found['memory']:.0f} MB (≤ {case.memory:g}) | {'yes' if holds else 'NO'} |"
    )
    return row, holds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--largest", type=int, default=5_000_000, help="rows of the largest case")
    arguments = parser.parse_args()
    installed = measure_installed()
    rows, fine = [], True
    for case in CASES:
        if case.n <= arguments.largest:
            row, holds = make_row(case, measure(case, arguments.repeats))
            print(row, flush=True)
            rows.append(row)
            fine &= holds
    text = TEXT.format(machine=platform.machine(), repeats=arguments.repeats)
    (HERE / "EXPLORER.md").write_text(text + "\n".join(rows) + "\n" + installed, "utf-8")
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
