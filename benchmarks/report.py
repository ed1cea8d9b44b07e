"""The table: a row per tool, the floor above them, each bar beside the peer it names."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from statistics import median, quantiles
from typing import Any

from cases import Bar
from work import CASES

Entry = dict[str, Any]

EXPLAINED = """\
Every tool runs in fresh processes, in turn with the others, on the same float32 data with the same
number of threads. Time is the median of warm calls of fit and transform together (or of what the
work says) with the middle half of the calls in brackets; the first call comes after the imports.
Memory is growth beyond the loaded data. Quality is computed for all tools by one float64 evaluator
(`judges.py`); 0 is perfect, but for a cosine, where it is 1. *Floor* is the least arithmetic and
memory traffic of the work as lowd does it, at the rates that BLAS reaches on this machine."""

HEAD = """\
| work | tool | time | first call | ÷ lowd | peak memory | quality | bar |
|---|---|--:|--:|--:|--:|---|---|"""


def page(record: Entry) -> str:
    """RESULTS.md of a record."""
    machine, rates, versions = record["machine"], record["ceilings"], record["versions"]
    # In the order of cases.py; name@1 follows name.
    order = list(CASES)
    keys = sorted(record["cases"], key=lambda key: (order.index(_name(key)), key))
    cases = {key: record["cases"][key] for key in keys}
    present = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    absent = ", ".join(name for name, version in versions.items() if not version)
    behind = [line for key, entry in cases.items() for line in _behind(key, entry)]
    lines = [
        "# Results",
        "",
        EXPLAINED,
        "",
        f"- {machine['cpu']}, {machine['cpus']} CPUs, {_bytes(machine['memory'])}, "
        f"{machine['system']}; matrix product {rates['flops'] / 1e9:.0f} GFLOP/s, "
        f"read {rates['bytes'] / 1e9:.0f} GB/s",
        f"- {present}" + (f"; not installed: {absent}" if absent else ""),
        f"- images: {record['images']}; {max(entry['when'] for entry in cases.values())[:10]}",
        "",
        HEAD,
        *(row for key, entry in cases.items() for row in rows(key, entry, rates)),
        "",
        "## Where lowd is not ahead",
        "",
        *(behind or ["Nowhere in this table."]),
    ]
    return "\n".join(lines) + "\n"


def rows(key: str, entry: Entry, rates: Entry) -> Iterator[str]:
    """The case's rows of the table."""
    tools, bars, work = entry["tools"], _bars(key, entry), _work(key, entry)
    if floor := entry.get("floor"):
        flops = rates["flops"] * entry["threads"] / rates["threads"]
        least = max(floor["flops"] / flops, floor["bytes"] / rates["bytes"])
        counts = f"{floor['flops'] / 1e9:.3g} GFLOP, {floor['bytes'] / 1e9:.2g} GB"
        yield f"| {work} | *floor: {counts}* | *{_time(least)}* | | {_ratio(least, tools)} | | | |"
        work = ""
    for tool, runs in tools.items():
        if "error" in runs:
            yield f"| {work} | {tool} | failed: {runs['error'][:90]} | | | | | |"
            continue
        memory = _bytes(median(runs["memory"])) if runs.get("memory") else ""
        cells = (
            work,
            f"**{tool}**" if tool == "lowd" else tool,
            _spread(_times(runs)),
            _time(median(runs["first"])),
            _ratio(median(_times(runs)), tools),
            memory,
            _quality(runs),
            "; ".join(f"{bar}: {'yes' if met else '**no**'}" for bar, met in bars.get(tool, [])),
        )
        yield f"| {' | '.join(cells)} |"
        work = ""


def _bars(key: str, entry: Entry) -> dict[str, list[tuple[str, bool]]]:
    """Each bar and whether it is met, by the tool in whose row it is shown."""
    shown: dict[str, list[tuple[str, bool]]] = {}
    ours = entry["tools"].get("lowd", {})
    if "@" in key or "error" in ours or not ours:
        return shown
    for bar in CASES[key].bars:
        for words, met in _limits(bar, ours, median(_times(ours))):
            shown.setdefault("lowd", []).append((words, met))
        peers = {
            tool: _typical(runs, bar.cold)
            for tool, runs in entry["tools"].items()
            if bar.peer and tool.startswith(bar.peer) and "error" not in runs
        }
        if peers:
            fastest = min(peers, key=lambda tool: peers[tool])
            met = peers[fastest] >= bar.times * _typical(ours, bar.cold)
            words = f"at least {bar.times:g}" + (" in the first call" if bar.cold else "")
            shown.setdefault(fastest, []).append((words, met))
    return shown


def _limits(bar: Bar, ours: Entry, time: float) -> Iterator[tuple[str, bool]]:
    if bar.seconds < inf:
        yield f"under {_time(bar.seconds)}", time < bar.seconds
    if bar.bytes < inf:
        yield f"under {_bytes(bar.bytes)}", max(ours["memory"]) < bar.bytes
    for measure, most in bar.errors.items():
        yield f"{measure} under {most:g}", ours["quality"][measure] < most


def _behind(key: str, entry: Entry) -> Iterator[str]:
    """Peers that are faster, peers whose answer is clearly better, and bars that are missed."""
    work = _work(key, entry)
    ours = entry["tools"]["lowd"]
    if "error" in ours:
        yield f"- {work}: lowd failed."
        return
    for tool, missed in _bars(key, entry).items():
        yield from (f"- {work}: {words} ({tool}) is missed." for words, met in missed if not met)
    for tool, runs in entry["tools"].items():
        if tool == "lowd" or "error" in runs:
            continue
        measure = next(iter(runs.get("quality", {})), None)
        theirs, mine = (r["quality"][measure] if measure else 0 for r in (runs, ours))
        ratio = median(_times(runs)) / median(_times(ours))
        if ratio < 1:
            worse = f", with a worse {measure}" if theirs > max(2 * mine, 1e-2) else ""
            yield f"- {work}: {tool} takes {ratio:.2g} of lowd's time{worse}."
        if mine > max(2 * theirs, 1e-4):
            yield f"- {work}: {tool} has {measure} {theirs:.1e}, lowd {mine:.1e}."


def _times(runs: Entry) -> list[float]:
    times: list[float] = runs["warm"] or runs["first"]
    return times


def _typical(runs: Entry, cold: bool) -> float:
    return median(runs["first"] if cold else _times(runs))


def _spread(times: list[float]) -> str:
    if len(times) < 3:
        return _time(median(times))
    low, _, high = quantiles(times, n=4, method="inclusive")
    return f"{_time(median(times))} ({_time(low)} to {_time(high)})"


def _ratio(time: float, tools: Entry) -> str:
    ours = tools.get("lowd", {"error": ""})
    return "" if "error" in ours else f"{time / median(_times(ours)):.3g}"


def _quality(runs: Entry) -> str:
    form = {"cosine": ".4f", "KL": ".3f"}
    return ", ".join(
        f"{name} {value:{form.get(name, '.1e')}}" for name, value in runs.get("quality", {}).items()
    )


def _time(seconds: float) -> str:
    for unit, name in ((1, "s"), (1e-3, "ms")):
        if abs(seconds) >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds * 1e6:.3g} µs"


def _bytes(size: float) -> str:
    return f"{size / 1e9:.3g} GB" if size >= 1e9 else f"{size / 1e6:.3g} MB"


def _work(key: str, entry: Entry) -> str:
    return entry["work"] + (", 1 thread" if key.endswith("@1") else "")


def _name(key: str) -> str:
    return key.split("@")[0]
