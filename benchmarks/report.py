"""RESULTS.md: a row per tool, the lower bound above them, each target beside its peer."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from statistics import median, quantiles
from typing import Any

from all_cases import CASES
from cases import Target

Entry = dict[str, Any]

EXPLANATION = """\
Every tool runs in fresh processes, in turn with the others, on the same float32 data with the same
number of threads. Time is the median of warm calls of `fit_transform` (or of what the task says)
with the interquartile range in brackets; the first call comes after the imports. Memory is the peak
beyond the loaded data. Quality is computed for all tools by one float64 evaluator
(`evaluators.py`); 0 is perfect, except for a cosine, where it is 1. *Floor* is a lower bound of the
time: the least arithmetic and memory traffic of lowd's algorithm, at the rates that BLAS reaches on
this machine. *Target* is what lowd must achieve: a speedup over the tool in whose row it stands, or
a limit."""

HEAD = """\
| task | tool | time | first call | ÷ lowd | peak memory | quality | target |
|---|---|--:|--:|--:|--:|---|---|"""


def page(record: Entry) -> str:
    """The text of RESULTS.md for a record."""
    machine, rates, versions = record["machine"], record["ceilings"], record["versions"]
    # In the order of all_cases.py; name@1 follows name.
    order = list(CASES)
    keys = sorted(record["cases"], key=lambda key: (order.index(_name(key)), key))
    cases = {key: record["cases"][key] for key in keys}
    present = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    absent = ", ".join(name for name, version in versions.items() if not version)
    days = sorted(entry["when"][:10] for entry in cases.values())
    behind = [line for key, entry in cases.items() for line in _behind(key, entry)]
    lines = [
        "# Results",
        "",
        EXPLANATION,
        "",
        f"- {machine['cpu']}, {machine['cpus']} CPUs, {_bytes(machine['memory'])}, "
        f"{machine['system']}; matrix product {rates['flops'] / 1e9:.0f} GFLOP/s, "
        f"read {rates['bytes'] / 1e9:.0f} GB/s",
        f"- {present}" + (f"; not installed: {absent}" if absent else ""),
        f"- images: {record['images']}; measured {days[0]} to {days[-1]}",
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
    """The rows of a case in the table."""
    tools, targets, task = entry["tools"], _targets(key, entry), _task(key, entry)
    if floor := entry.get("floor"):
        flops = rates["flops"] * entry["threads"] / rates["threads"]
        least = max(floor["flops"] / flops, floor["bytes"] / rates["bytes"])
        counts = f"{floor['flops'] / 1e9:.3g} GFLOP, {floor['bytes'] / 1e9:.2g} GB"
        yield f"| {task} | *floor: {counts}* | *{_time(least)}* | | {_ratio(least, tools)} | | | |"
        task = ""
    for tool, runs in tools.items():
        if "error" in runs:
            yield f"| {task} | {tool} | failed: {runs['error'][:90]} | | | | | |"
            continue
        memory = _bytes(median(runs["memory"])) if runs.get("memory") else ""
        cells = (
            task,
            f"**{tool}**" if tool == "lowd" else tool,
            _spread(_times(runs)),
            _time(median(runs["first"])),
            _ratio(median(_times(runs)), tools),
            memory,
            _quality(runs),
            "; ".join(
                f"{words}: {'yes' if met else '**no**'}" for words, met in targets.get(tool, [])
            ),
        )
        yield f"| {' | '.join(cells)} |"
        task = ""


def _targets(key: str, entry: Entry) -> dict[str, list[tuple[str, bool]]]:
    """Each target and whether it is met, by the tool in whose row it is shown."""
    shown: dict[str, list[tuple[str, bool]]] = {}
    ours = entry["tools"].get("lowd", {})
    if "@" in key or "error" in ours or not ours:
        return shown
    for target in CASES[key].targets:
        for words, met in _limits(target, ours, median(_times(ours))):
            shown.setdefault("lowd", []).append((words, met))
        peers = {
            tool: _typical(runs, target.cold)
            for tool, runs in entry["tools"].items()
            if target.peer and tool.startswith(target.peer) and "error" not in runs
        }
        if peers:
            fastest = min(peers, key=lambda tool: peers[tool])
            met = peers[fastest] >= target.times * _typical(ours, target.cold)
            words = f"at least {target.times:g}×" + (" in the first call" if target.cold else "")
            shown.setdefault(fastest, []).append((words, met))
    return shown


def _limits(target: Target, ours: Entry, time: float) -> Iterator[tuple[str, bool]]:
    if target.seconds < inf:
        yield f"under {_time(target.seconds)}", time < target.seconds
    if target.bytes < inf:
        yield f"under {_bytes(target.bytes)}", max(ours["memory"]) < target.bytes
    for measure, most in target.errors.items():
        yield f"{measure} under {most:g}", ours["quality"][measure] < most


def _behind(key: str, entry: Entry) -> Iterator[str]:
    """Peers that are faster, peers with a clearly better result, and missed targets."""
    task = _task(key, entry)
    ours = entry["tools"]["lowd"]
    if "error" in ours:
        yield f"- {task}: lowd failed."
        return
    for tool, missed in _targets(key, entry).items():
        yield from (f"- {task}: {words} ({tool}) is missed." for words, met in missed if not met)
    for tool, runs in entry["tools"].items():
        if tool == "lowd" or "error" in runs:
            continue
        measure = next(iter(runs.get("quality", {})), None)
        theirs, mine = (r["quality"][measure] if measure else 0 for r in (runs, ours))
        ratio = median(_times(runs)) / median(_times(ours))
        if ratio < 1:
            worse = f", with a worse {measure}" if theirs > max(2 * mine, 1e-2) else ""
            yield f"- {task}: {tool} takes {ratio:.2g} of lowd's time{worse}."
        if mine > max(2 * theirs, 1e-4):
            yield f"- {task}: {tool} has {measure} {theirs:.1e}, lowd {mine:.1e}."


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


def _task(key: str, entry: Entry) -> str:
    return entry["task"] + (", 1 thread" if key.endswith("@1") else "")


def _name(key: str) -> str:
    return key.split("@")[0]
