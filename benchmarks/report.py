"""RESULTS.md and its charts from results.csv and cores.csv.

Usage: python benchmarks/report.py
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quality import MEASURES
from rows import HEADLINE, OTHERS, ROWS, Row

HERE = Path(__file__).parent
CHARTS = HERE.parent / "docs" / "images" / "benchmarks"
LESS_MEMORY = 0.8  # of lowd's, from which on a peer is ahead
MIN_BYTES = 2**20  # a difference of less is one of pages
SLOW_START = 2.0  # seconds that a first call takes more than a later one, and is mentioned

EXPLANATION = """\
Each tool lives in a process of its own and holds the same float32 rows in memory; every tool has
all cores. After a first call, which is not counted, the tools take turns, call by call: five calls
each, three of tools that take ten seconds or more. **Time** is the shortest, **spread** the longest
divided by the shortest, **÷ lowd** the shortest divided by lowd's. **Memory** is the largest peak
of a call beyond what the process had before. **Quality** is measured for all tools by the same code
([quality.py](quality.py)): recall, accuracy and what is kept are better when high, all else when
low. **Not its default** are the settings of a tool beyond those that the task gives to all
([rows.py](rows.py)). `make bench` measures all of it; `python benchmarks/run.py --rows NAME` some
rows again."""

HEAD = """\
| task | tool | time | spread | ÷ lowd | memory | quality | not its default |
|---|---|--:|--:|--:|--:|---|---|"""


class Result:
    """What was measured of one tool on one row."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.first = 0.0
        self.bytes: float | None = None
        self.quality: dict[str, float] = {}
        self.found: dict[str, float] = {}  # settings that it found
        self.error = ""

    @property
    def shortest(self) -> float:
        return min(self.seconds)

    @property
    def spread(self) -> float:
        return max(self.seconds) / min(self.seconds)


Results = dict[str, dict[str, Result]]  # row -> tool -> result


def collect(records: list[dict[str, str]]) -> Results:
    """Results by row and tool, in the order of rows.py."""
    found: Results = {}
    for record in records:
        result = found.setdefault(record["row"], {}).setdefault(record["tool"], Result())
        quantity, value = record["quantity"], record["value"]
        if quantity == "seconds":
            result.seconds.append(float(value))
        elif quantity == "first seconds":
            result.first = float(value)
        elif quantity == "bytes":
            result.bytes = float(value)
        elif quantity == "error":
            result.error = value
        elif quantity.startswith("setting "):
            result.found[quantity.removeprefix("setting ")] = float(value)
        else:
            result.quality[quantity] = float(value)
    return {name: found[name] for name in ROWS if name in found}


def make_page(records: list[dict[str, str]], cores: list[dict[str, str]]) -> str:
    results = collect(records)
    lines = ["# Results", ""]
    if not results:
        lines += ["These rows are not measured yet; `make bench` measures them.", ""]
        lines += [f"- {row.title}" for row in ROWS.values()]
        return "\n".join([*lines, "", "How they are measured:", "", EXPLANATION]) + "\n"
    lines += [EXPLANATION, "", *describe_origins(records), ""]
    lines += ["![Seconds and memory of every tool](../docs/images/benchmarks/rows.svg)"]
    for title, rows in (("Headline", HEADLINE), ("Other rows", OTHERS)):
        chosen = {name: results[name] for name in rows if name in results}
        if chosen:
            lines += ["", f"## {title}", "", HEAD]
            lines += [line for name, tools in chosen.items() for line in make_rows(name, tools)]
            lines += list_notes(chosen)
    behind = [line for name, tools in results.items() for line in find_behind(name, tools)]
    lines += ["", "## Where lowd is not ahead", ""]
    lines += ["A peer takes less time, less than 80 % of the memory, or has a better result.", ""]
    lines += behind or ["Nowhere in this table."]
    if slow := list(find_slow_starts(results)):
        lines += ["", "## First calls", "", "The longest of a tool, mostly since it compiles:", ""]
        lines += slow
    if cores:
        lines += ["", "## Speed against cores", "", *describe_cores(cores)]
    lines += ["", "On a GPU: [GPU.md](GPU.md). In a browser: [EXPLORER.md](EXPLORER.md)."]
    return "\n".join(lines) + "\n"


def describe_origins(records: list[dict[str, str]]) -> list[str]:
    """Which rows were measured at which commit, day and machine; and the versions of all tools."""
    origins: dict[tuple[str, ...], list[str]] = {}
    for record in records:
        keys = ("commit", "date", "machine", "threads")
        names = origins.setdefault(tuple(record[key] for key in keys), [])
        if record["row"] not in names:
            names.append(record["row"])
    lines = []
    for (commit, date, machine, threads), names in origins.items():
        which = "all rows" if len(origins) == 1 else ", ".join(names)
        lines.append(f"- commit {commit}, {date}, {machine}, {threads} threads: {which}")
    busy = {r["row"]: float(r["busy"]) for r in records if float(r["busy"]) > 0.1}
    if busy:
        named = ", ".join(f"{name} ({cpus:.1f} CPUs)" for name, cpus in busy.items())
        lines.append(f"- other processes kept the machine busy before: {named}")
    lines.append(f"- data: {', '.join(sorted({record['data'] for record in records}))}")
    versions = sorted({(package_of(r), r["version"]) for r in records if r["version"]})
    lines.append("- " + ", ".join(f"{package} {version}" for package, version in versions))
    return lines


def package_of(record: dict[str, str]) -> str:
    return ROWS[record["row"]].tools[record["tool"]].module


def make_rows(name: str, tools: dict[str, Result]) -> Iterator[str]:
    row, ours = ROWS[name], tools.get("lowd")
    task = row.title
    for tool, result in tools.items():
        label = f"**{tool}**" if tool.startswith("lowd") else tool
        if result.error:
            yield f"| {task} | {label} | failed: {result.error} | | | | | |"
        else:
            ratio = ""
            if row.same_answer and ours is not None and not ours.error:
                ratio = f"{result.shortest / ours.shortest:.3g}"
            cells = (
                task,
                label,
                format_time(result.shortest),
                f"{result.spread:.2f}",
                ratio,
                "" if result.bytes is None else format_bytes(result.bytes),
                ", ".join(f"{key} {format_measure(v)}" for key, v in result.quality.items()),
                format_settings(row, tool, result),
            )
            yield f"| {' | '.join(cells)} |"
        task = ""


def format_settings(row: Row, tool: str, result: Result) -> str:
    parts = []
    for key, value in row.tools[tool].changed.items():
        number = f" = {result.found[key]:g}" if key in result.found else ""
        parts.append(f"{key}{number}: {value}" if number else f"{key}={value}")
    return ", ".join(parts)


def list_notes(names: Any) -> list[str]:
    notes = [f"- {ROWS[name].title}: {ROWS[name].note}" for name in names if ROWS[name].note]
    return ["", *notes] if notes else []


def find_behind(name: str, tools: dict[str, Result]) -> Iterator[str]:
    """A line on peers with less time, clearly less memory, or clearly better results."""
    row, ours = ROWS[name], tools.get("lowd")
    if not row.same_answer:
        return
    if ours is None or ours.error:
        yield f"- {row.title}: lowd failed ({ours.error if ours else 'not measured'})"
        return
    lines = []
    for tool, peer in tools.items():
        if tool == "lowd" or peer.error:
            continue
        parts = []
        if peer.shortest < ours.shortest:
            parts.append(f"time {format_time(peer.shortest)}, lowd {format_time(ours.shortest)}")
        if needs_less_memory(peer.bytes, ours.bytes):
            parts.append(f"memory {format_bytes(peer.bytes)}, lowd {format_bytes(ours.bytes)}")
        for key, theirs in peer.quality.items():
            if key in ours.quality and is_better(key, theirs, ours.quality[key]):
                mine = format_measure(ours.quality[key])
                parts.append(f"{key} {format_measure(theirs)}, lowd {mine}")
        if parts:
            lines.append(f"{tool}: {'; '.join(parts)}")
    if lines:
        yield f"- {row.title} – {'. '.join(lines)}"


def needs_less_memory(theirs: float | None, ours: float | None) -> bool:
    if theirs is None or ours is None:
        return False
    return theirs < LESS_MEMORY * ours and ours - theirs > MIN_BYTES


def is_better(key: str, theirs: float, ours: float) -> bool:
    measure = MEASURES[key]
    gain = theirs - ours if measure.higher else ours - theirs
    return gain > measure.matters(theirs)


def find_slow_starts(results: Results) -> Iterator[str]:
    """For each tool the row whose first call takes the most more than a later one."""
    worst: dict[str, tuple[float, str]] = {}
    for name, tools in results.items():
        for tool, result in tools.items():
            more = result.first - result.shortest if result.seconds else 0
            if more > max(SLOW_START, worst.get(tool, (0, ""))[0]):
                times = f"{format_time(result.first)} instead of {format_time(result.shortest)}"
                worst[tool] = more, f"- {tool}: {times} ({ROWS[name].title})"
    yield from (line for _, line in worst.values())


def describe_cores(cores: list[dict[str, str]]) -> list[str]:
    """The chart of speed against cores, and the speed with most of them beside one."""
    seconds = speed_by_threads(cores)
    most = max(threads for times in seconds.values() for threads in times)
    gains = ", ".join(f"{n} {times[1] / times[most]:.1f}" for n, times in seconds.items())
    origin = sorted({f"commit {c['commit']}, {c['date']}, {c['machine']}" for c in cores})
    return [
        "![Speed of the headline rows against the number of threads]"
        "(../docs/images/benchmarks/cores.svg)",
        "",
        f"How many times as fast lowd is with {most} threads as with one: {gains}. "
        f"({'; '.join(origin)}; `benchmarks/cores.py`, some of whose rows are smaller.)",
    ]


def speed_by_threads(cores: list[dict[str, str]]) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    for record in cores:
        times = found.setdefault(record["row"], {})
        threads, seconds = int(record["threads"]), float(record["seconds"])
        times[threads] = min(seconds, times.get(threads, seconds))
    return {name: times for name, times in found.items() if 1 in times and len(times) > 1}


def format_time(seconds: float) -> str:
    for unit, name in ((1, "s"), (1e-3, "ms")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds * 1e6:.3g} µs"


def format_bytes(size: float | None) -> str:
    assert size is not None
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.3g} MB"


def format_measure(value: float) -> str:
    return f"{value:.3f}" if value >= 0.01 else f"{value:.1e}"


# Paul Tol's "muted" colors, by the beginning of a tool's name, the longest one first.
COLORS = {
    "lowd": "#332288",
    "scikit-learn-intelex": "#88CCEE",
    "scikit-learn": "#CC6677",
    "openTSNE": "#117733",
    "umap-learn": "#AA4499",
    "faiss": "#44AA99",
    "pynndescent": "#999933",
    "hnswlib": "#DDCC77",
}
OTHER = "#888888"


def choose_color(tool: str) -> str:
    return next((color for name, color in COLORS.items() if tool.startswith(name)), OTHER)


def draw_rows(results: Results) -> Any:
    """Seconds and memory of all tools, a line for each row, in its order from above."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 1.2 + 0.3 * len(results)), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for place, tools in enumerate(results.values()):
        for tool, result in tools.items():
            sizes = (None if result.error else result.shortest, result.bytes)
            for axes, value, unit in zip(panels, sizes, (1, 1e6), strict=True):
                if value:
                    color, front = choose_color(tool), 3 if tool.startswith("lowd") else 2
                    axes.plot(value / unit, place, "o", color=color, zorder=front)
    names = list(results)
    panels[0].set(xlabel="seconds", yticks=range(len(names)), yticklabels=names)
    panels[0].invert_yaxis()
    panels[1].set(xlabel="peak memory of a call, MB")
    for axes in panels:
        axes.set_xscale("log")
        axes.grid(True, alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    for tool, color in {**COLORS, "other": OTHER}.items():
        panels[1].plot([], [], "o", color=color, label=tool)
    figure.legend(loc="outside lower center", ncols=5, frameon=False)
    return figure


def draw_cores(cores: list[dict[str, str]]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.subplots()
    seconds = speed_by_threads(cores)
    for place, (name, times) in enumerate(seconds.items()):
        threads = sorted(times)
        gains = [times[1] / times[count] for count in threads]
        style = "o-" if place < 10 else "s--"  # Colors repeat after ten.
        axes.plot(threads, gains, style, label=name)
    ticks = sorted({count for times in seconds.values() for count in times})
    axes.plot(ticks, ticks, ":", color=OTHER, label="ideal")
    axes.set(xscale="log", yscale="log", xlabel="threads", ylabel="times as fast as with one")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(ticks, map(str, ticks))
        axis.minorticks_off()
    axes.grid(True, alpha=0.25)
    axes.legend(frameon=False, fontsize=8)
    return figure


def save(figure: Any, name: str) -> None:
    import matplotlib

    matplotlib.rcParams["svg.hashsalt"] = "lowd"  # the same file from the same numbers
    CHARTS.mkdir(parents=True, exist_ok=True)
    figure.savefig(CHARTS / name, metadata={"Date": None})


def read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def is_known(record: dict[str, str]) -> bool:
    """Whether rows.py still has the row and the tool."""
    return record["row"] in ROWS and record["tool"] in ROWS[record["row"]].tools


def main() -> None:
    records = [r for r in read(HERE / "results.csv") if is_known(r)]
    cores = read(HERE / "cores.csv")
    (HERE / "RESULTS.md").write_text(make_page(records, cores), encoding="utf-8")
    if records:
        save(draw_rows(collect(records)), "rows.svg")
    if cores:
        save(draw_cores(cores), "cores.svg")


if __name__ == "__main__":
    main()
