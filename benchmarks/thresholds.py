"""Thresholds of the solvers: what each is worth, by fits on both sides; writes THRESHOLDS.md.

Usage: python benchmarks/thresholds.py [CONSTANT ...]

Each case of `threshold_cases.py` sets a constant of `lowd.solvers.thresholds` to some values in
every module that imports it, and fits the same data with each. Variants alternate; the time is the
least of the repeats, at least five, or two where one takes longer than two seconds. With names of
constants only their rows are printed.
"""

from __future__ import annotations

import os
import platform
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lowd import threads
from lowd._native import cpu_level
from lowd.solvers import thresholds
from threshold_cases import CASES, Call, Case

FILE = Path(__file__).parent / "THRESHOLDS.md"
MIN_REPEATS, MAX_REPEATS, FEW_REPEATS = 5, 40, 2
SECONDS_PER_VARIANT, LONG_SECONDS = 0.4, 2.0

TEXT = """# Thresholds of the solvers, measured

Made by `benchmarks/thresholds.py`: {machine} of level {level} (v4: AVX-512), {threads}
cores; float64 rows unless said otherwise. Each constant of `src/lowd/solvers/thresholds.py` that
decides speed or quality is set to the values of its rows, and the same call is timed with each: the
least of at least five repeats (two, of calls that take longer than two seconds), the variants in
turn. **Bold**: the present value. Where a constant chooses a route, each row forces one route and
then the other, at sizes on both sides of the present value. After a time stands what was reached.

| constant | present | call | | | |
|---|--:|---|---|---|---|
"""


@contextmanager
def setting(constant: str, value: Any) -> Iterator[None]:
    """Let every module of lowd that has the constant have this value."""
    modules = [
        module
        for name, module in list(sys.modules.items())
        if name.startswith("lowd.") and constant in vars(module)
    ]
    before = [vars(module)[constant] for module in modules]
    try:
        for module in modules:
            setattr(module, constant, value)
        yield
    finally:
        for module, old in zip(modules, before, strict=True):
            setattr(module, constant, old)


def measure(case: Case, call: Call) -> list[tuple[str, float, str]]:
    """Label, seconds and quality of each variant."""
    run, assess = call.make()
    best, quality = dict.fromkeys(case.variants, float("inf")), {}
    repeat, needed = 0, FEW_REPEATS
    while repeat < needed:
        for label, value in case.variants.items():
            with setting(case.constant, value):
                start = time.perf_counter()
                found = run()
                best[label] = min(best[label], time.perf_counter() - start)
                if repeat == 0:
                    quality[label] = assess(found)
        repeat += 1
        needed = count_repeats(max(best.values()))
    return [(label, best[label], quality[label]) for label in case.variants]


def count_repeats(seconds: float) -> int:
    if seconds > LONG_SECONDS:
        return FEW_REPEATS
    return min(MAX_REPEATS, max(MIN_REPEATS, int(SECONDS_PER_VARIANT / seconds)))


def readable(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e3:.2f} ms"


def describe(case: Case) -> Iterator[str]:
    """Rows of the table."""
    present = getattr(thresholds, case.constant)
    start = f"| `{case.constant}` | {present:g} "
    for call in case.calls:
        cells = []
        for label, seconds, quality in measure(case, call):
            name = f"**{label}**" if case.variants[label] == present else label
            cells.append(f"{name}: {readable(seconds)}{', ' + quality if quality else ''}")
        cells += [""] * (3 - len(cells))
        yield f"{start}| {call.text} | {' | '.join(cells)} |"
        start = "| | "


def main(*names: str) -> None:
    warnings.simplefilter("ignore")
    print(f"load: {os.getloadavg()[0]:.1f}", file=sys.stderr)
    text = TEXT.format(machine=platform.machine(), threads=threads.count(None), level=cpu_level())
    for case in CASES:
        if names and case.constant not in names:
            continue
        for row in describe(case):
            print(row, flush=True)
            text += row + "\n"
    if not names:
        FILE.write_text(text, "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
