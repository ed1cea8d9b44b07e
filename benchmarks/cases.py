"""What a benchmark case is: task, data, tools with their best equivalent parameters, targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal, NamedTuple


@dataclass(frozen=True)
class Tool:
    """A class with scikit-learn's methods ("module:Class"), its arguments, and what it needs.

    One that `compiles` in its first call gets a second, however long the first took.
    """

    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    needs: str = ""
    compiles: bool = False

    @property
    def module(self) -> str:
        return self.needs or self.path.split(":")[0]


@dataclass(frozen=True)
class Target:
    """What lowd must achieve: a speedup over a peer, or limits of time, memory and error.

    The peer is the fastest tool whose name begins with `peer`; `cold` compares first calls.
    `errors` bounds lowd's own quality measures.
    """

    peer: str = ""
    times: float = 0
    cold: bool = False
    seconds: float = inf
    bytes: float = inf
    errors: Mapping[str, float] = field(default_factory=dict)


class Floor(NamedTuple):
    """Lower bounds of the arithmetic and memory traffic of the task with lowd's algorithm."""

    flops: float
    bytes: float


@dataclass(frozen=True)
class Case:
    """One task on one data set. `job` is what is timed; `scales` asks for one thread as well."""

    task: str
    data: str
    rows: int
    k: int
    evaluator: str
    tools: Mapping[str, Tool]
    targets: tuple[Target, ...] = ()
    floor: Callable[[int, int], Floor] | None = None
    job: Literal["fit_transform", "row", "new"] = "fit_transform"
    scales: bool = False


@dataclass(frozen=True)
class Startup:
    """Startup time: fresh interpreters that run one line, less a bare interpreter."""

    task: str
    lines: Mapping[str, tuple[str, str]]  # tool -> module it needs, line
    targets: tuple[Target, ...] = ()


def lowd(name: str, k: int, **params: Any) -> dict[str, Tool]:
    return {"lowd": Tool(f"lowd:{name}", {"n_components": k, **params})}
