"""Refusals, by which lowd leaves a call to the original, and records of what ran where."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from threading import Lock
from typing import Any


class Refused(Exception):  # noqa: N818 - it is not a failure
    """lowd leaves a call to the original; the message says why."""


def require(condition: object, otherwise: str) -> None:
    """Leave the call to the original unless the condition holds."""
    if not condition:
        raise Refused(otherwise)


class Gain:
    """Whether calls are left to the original where it is faster; `always` serves them too."""

    always = False


def require_gain(
    condition: object, otherwise: str = "the original is faster on small data"
) -> None:
    """Leave the call to the original where measurements say that it is faster there.

    The sizes are those of benchmarks on two cores; decision 038 has the table.
    """
    require(condition or Gain.always, otherwise)


# -- records --------------------------------------------------------------------------------------

ORIGINAL = "original"
LOWD = "lowd"


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
        return {**vars(self), "calls": [vars(call) for call in self.calls]}

    def __str__(self, shown: int = 20) -> str:
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
        often = Counter(self.reasons).most_common(shown)
        lines += [f"  {count:>4} x {reason}" for reason, count in often]
        return "\n".join(lines)

    __repr__ = __str__


class Recorder:
    """Collects calls from every thread."""

    # A script may call in a loop: beyond this number the oldest records go, and the totals stay.
    most = 10_000

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
            if len(self._calls) > self.most:
                del self._calls[: self.most // 2]

    def profile(self) -> Profile:
        """The calls so far."""
        with self._lock:
            counts = self._counts
            return Profile(tuple(self._calls), counts[LOWD], counts[ORIGINAL], dict(self._reasons))


RECORDER = Recorder()
