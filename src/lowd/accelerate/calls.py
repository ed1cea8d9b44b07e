"""Records of the calls that lowd may replace: what ran where, and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

ORIGINAL = "original"
LOWD = "lowd"
# A script may call in a loop: beyond this number the oldest records go, and the totals stay.
MAX_RECORDS = 10_000
_MAX_SHOWN_REASONS = 20


@dataclass(frozen=True)
class Call:
    """One call: its name, shape, library and time, and why lowd did not serve it."""

    name: str
    shape: tuple[int, ...]
    ran: str  # "lowd" or "original"
    seconds: float
    reason: str = ""

    def __str__(self) -> str:
        shape = " x ".join(map(str, self.shape))
        why = f"  ({self.reason})" if self.reason else ""
        return f"{self.name:<36} {shape:>14} {self.ran:>9} {self.seconds:10.4f} s{why}"


@dataclass(frozen=True)
class Profile:
    """The calls since acceleration began or since `profile(reset=True)`, as a table.

    `calls` are the single ones in their order, `by_lowd` and `by_original` count them, `reasons`
    counts why the original ran.
    """

    calls: tuple[Call, ...] = ()
    by_lowd: int = 0
    by_original: int = 0
    reasons: dict[str, int] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """The share of calls that lowd served."""
        return self.by_lowd / max(1, self.by_lowd + self.by_original)

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain values, for JSON."""
        return {
            "calls": [vars(call) for call in self.calls],
            "by_lowd": self.by_lowd,
            "by_original": self.by_original,
            "reasons": self.reasons,
        }

    def __str__(self) -> str:
        if not self.calls:
            return "no accelerated call so far"
        rows: dict[tuple[str, str], list[Call]] = {}
        for call in self.calls:
            rows.setdefault((call.name, call.ran), []).append(call)
        lines = [f"{'call':<42} {'ran':>9} {'times':>6} {'seconds':>10}"]
        for (name, ran), calls in sorted(rows.items()):
            seconds = sum(call.seconds for call in calls)
            lines.append(f"{name:<42} {ran:>9} {len(calls):>6} {seconds:>10.3f}")
        lines.append(
            f"{self.by_lowd} of {self.by_lowd + self.by_original} calls ran on lowd"
            + (", the others on the original because" if self.reasons else "")
        )
        often = Counter(self.reasons).most_common(_MAX_SHOWN_REASONS)
        lines += [f"  {count:>4} x {reason}" for reason, count in often]
        return "\n".join(lines)

    __repr__ = __str__


class Recorder:
    """Collects calls from every thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.clear()

    def clear(self) -> None:
        """Forget the calls so far."""
        with self._lock:
            self._calls: list[Call] = []
            self._counts: Counter[str] = Counter()
            self._reasons: Counter[str] = Counter()

    def record(self, call: Call) -> None:
        """Add one call."""
        with self._lock:
            self._counts[call.ran] += 1
            if call.reason:
                self._reasons[f"{call.name}: {call.reason}"] += 1
            self._calls.append(call)
            if len(self._calls) > MAX_RECORDS:
                del self._calls[: MAX_RECORDS // 2]

    def profile(self) -> Profile:
        """The calls so far."""
        with self._lock:
            counts = self._counts
            return Profile(tuple(self._calls), counts[LOWD], counts[ORIGINAL], dict(self._reasons))


RECORDER = Recorder()
