"""Time the explorer's page in headless Chromium with software rendering.

    python benchmarks/explorer.py --peers    # needs Node.js, Chromium, `make web`, lowd[view]

Each case starts the server in this process, then opens the page in a fresh browser of 1280x800
pixels (web/bench/measure.mjs). The table goes to EXPLORER.md, with the targets that must hold; the
exit status is 1 where one does not. With --peers the same points are shown by regl-scatterplot and
by embedding-atlas, which are installed first (600 MB).
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from packaging.requirements import Requirement

import explorer_peers
import lowd

HERE = Path(__file__).parent
MEASURE = HERE.parent / "web" / "bench" / "measure.mjs"
N_CLASSES = 10
MAX_PEER_POINTS = 1_000_000
MAX_SECONDS = 120  # of one page
MAX_ADDED_MEGABYTES = 30  # of lowd[view] over lowd[app]

TEXT = """# The explorer's page

Headless Chromium, software rendering, 1280×800 pixels, {machine}; median of {repeats} fresh
browsers; the target in brackets. Made by `benchmarks/explorer.py`. *Paint*: from the navigation
until the colored points of all panels are on the screen. *Frames*: pictures per second while every
frame brings a wheel or pointer event; while it moves, a picture of many points shows a sample of
them. *Lasso*: from the release of the button until the counts and the faded points are shown.
*Memory*: private and shared memory of the page's process.

| points | panels | paint | frames/s zoom / pan | lasso | memory | all hold |
|--:|--:|--:|--:|--:|--:|---|
"""

PEERS = """
{n:,} points in other pages, in the same run; WebGL by software (SwiftShader); frames in which
points were drawn again. *Lasso* of regl-scatterplot: until the selected points are known, not yet
drawn.

| page | paint | frames/s zoom / pan | lasso | memory |
|---|--:|--:|--:|--:|
{rows}

The status of the answer to a request for the data with a foreign Host and with a foreign Origin, by
which another site could read them: {foreign}.
"""

INSTALLED = """
Installing `lowd[view]` adds {added:.1f} MB to `lowd[app]` (≤ {bar}): {packages}, and the page
with its server ({own:.1f} MB, part of lowd itself).
"""


Found: TypeAlias = dict[str, Any]  # medians of what the page's script prints; None: not measured


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


def make_points(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Clusters in the plane, and the number of each point's cluster."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, N_CLASSES, n)
    middles = rng.normal(0, 6, (N_CLASSES, 2))
    spread = rng.uniform(0.5, 1.6, N_CLASSES)
    return middles[labels] + rng.normal(size=(n, 2)) * spread[labels, None], labels


@contextmanager
def serve_view(case: Case) -> Iterator[str]:
    """Address of the points as they are and bent, with a label and a number."""
    Y, labels = make_points(case.n)
    bent = np.column_stack([Y[:, 0] * np.cos(Y[:, 1] / 6), Y[:, 1] + np.sin(Y[:, 0])])
    embeddings = {f"map {i + 1}": (Y, bent)[i % 2].astype(np.float32) for i in range(case.panels)}
    names = np.array([f"class {i}" for i in range(N_CLASSES)])
    noise = np.random.default_rng(1).normal(size=case.n)
    columns = {"value": (2 * Y[:, 0] + noise).astype(np.float32)}
    explorer = lowd.view(
        None, embeddings, labels=names[labels], columns=columns, browser=False, block=False
    )
    try:
        yield str(explorer.url)
    finally:
        explorer.close()


def measure(script: Path, url: str, repeats: int) -> Found:
    """Medians over fresh browsers; None of what is not measured."""
    runs = []
    for _ in range(repeats):
        command = ["node", str(script), url]
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=MAX_SECONDS
        )
        runs.append(json.loads(done.stdout))
    failed = [run["errors"] for run in runs if run["errors"]]
    if failed:
        raise SystemExit(f"the page had errors: {failed}")
    names = ("firstPaint", "zoom", "pan", "lasso", "memory")
    return {
        name: None if runs[0][name] is None else median(run[name] for run in runs) for name in names
    }


def compare_peers(n: int, repeats: int, own: Found) -> str:
    """The same points in other pages, as text; `own` are the numbers of the explorer."""
    rows, foreign = [format_peer("**lowd**", own)], []
    with serve_view(Case(n, 1, *[np.inf] * 4)) as url:
        foreign.append(f"lowd {explorer_peers.ask_from_foreign_site(url)}")
    for name, peer in explorer_peers.PEERS.items():
        with peer.serve(*make_points(n)) as url:
            rows.append(format_peer(name, measure(peer.script, url, repeats)))
            if peer.data is not None:
                foreign.append(f"{name} {explorer_peers.ask_from_foreign_site(url + peer.data)}")
    return PEERS.format(n=n, rows="\n".join(rows), foreign=", ".join(foreign))


def format_peer(name: str, found: Found) -> str:
    lasso = "–" if found["lasso"] is None else f"{found['lasso']:.0f} ms"
    row = (
        f"| {name} | {found['firstPaint'] / 1000:.2f} s | {found['zoom']:.1f} / {found['pan']:.1f} "
        f"| {lasso} | {found['memory']:.0f} MB |"
    )
    print(row, flush=True)
    return row


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


def make_row(case: Case, found: Found) -> tuple[str, bool]:
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
    parser.add_argument("--peers", action="store_true", help="measure other pages beside")
    arguments = parser.parse_args()
    if arguments.peers:
        explorer_peers.install()
    installed = measure_installed()
    rows, fine, single = [], True, {}
    for case in CASES:
        if case.n <= arguments.largest:
            with serve_view(case) as url:
                found = measure(MEASURE, url, arguments.repeats)
            row, holds = make_row(case, found)
            print(row, flush=True)
            rows.append(row)
            fine &= holds
            if case.panels == 1:
                single[case.n] = found
    text = TEXT.format(machine=platform.machine(), repeats=arguments.repeats)
    text += "\n".join(rows) + "\n"
    if arguments.peers:
        n = max(size for size in single if size <= MAX_PEER_POINTS)
        text += compare_peers(n, arguments.repeats, single[n])
    (HERE / "EXPLORER.md").write_text(text + installed, "utf-8")
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
