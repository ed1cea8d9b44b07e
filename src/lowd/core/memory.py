"""Memory plans: what a fit will allocate, compared with what there is before it starts.

A method declares its plan (`memory_plan`), which names the large arrays of a fit. What a solver
allocates is known beside the function that chooses its route, and the plan asks it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import issparse

from ..errors import NotEnoughMemoryError, ParameterError
from ..input.ranges import MAX_WIDENED_ROWS

if TYPE_CHECKING:
    from ..input.validation import Data
    from .estimator import Reducer

NEGLIGIBLE_BYTES = 2**24  # asking the system takes longer than to fill so many bytes


class Sizes(NamedTuple):
    """Sizes of the input, from which memory is estimated."""

    n: int  # rows
    d: int  # columns
    itemsize: int  # bytes of an entry
    n_entries: int | None = None  # stored ones of sparse input; None: dense

    @classmethod
    def of(cls, n: int, d: int, dtype: DTypeLike, n_entries: int | None = None) -> Sizes:
        """Sizes that a user gives, checked."""
        for name, size in (("n_samples", n), ("n_features", d)):
            if size < 1:
                raise ParameterError(f"{name}={size}: expected a whole number >= 1.")
        return cls(n, d, np.dtype(dtype).itemsize, n_entries)

    @property
    def is_sparse(self) -> bool:
        return self.n_entries is not None

    @property
    def degree(self) -> int:
        """Entries of a row."""
        return self.d if self.n_entries is None else -(-self.n_entries // self.n)

    def rows(self, itemsize: int) -> int:
        """Bytes of a copy of the rows; of sparse ones with the statistics of all columns."""
        if self.n_entries is None:
            return self.n * self.d * itemsize
        return self.n_entries * (itemsize + 8) + 8 * self.n + 24 * self.d

    @property
    def wide(self) -> int:
        """Bytes of an entry inside: few rows are computed in float64 (`input.ranges`)."""
        return 8 if self.n <= MAX_WIDENED_ROWS else self.itemsize

    def take(self, m: int | None) -> Sizes:
        """The sizes of m landmarks, at most all rows; None takes all."""
        if m is None or m >= self.n:
            return self
        return self._replace(n=m, n_entries=m * self.degree if self.is_sparse else None)


@dataclass(frozen=True)
class Plan:
    """The arrays a fit allocates beside its input, by name, in bytes."""

    parts: dict[str, int]

    @property
    def bytes(self) -> int:
        return sum(self.parts.values())

    def __int__(self) -> int:
        return self.bytes

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {readable(size)}" for name, size in self.parts.items() if size)
        return f"{readable(self.bytes)} ({parts})"


def plan_fit(model: Reducer, sizes: Sizes) -> Plan:
    """What a fit of this model to data of these sizes would allocate."""
    return Plan(model.memory_plan(sizes))


def check_fit(model: Reducer, data: Data) -> None:
    """Raise if a fit needs more than there is, naming variants of the model that would fit."""
    n, d = data.shape
    n_entries = data.items.nnz if issparse(data.items) else None
    sizes = Sizes(n, d, data.dtype.itemsize, n_entries)

    def smaller() -> Iterator[tuple[str, Plan]]:
        policy = model.landmark_policy
        if policy is not None and (found := policy.variant(model, n)) is not None:
            words, variant = found
            yield words, plan_fit(variant, sizes)
        if sizes.itemsize > 4:
            yield "X.astype('float32')", plan_fit(model, sizes._replace(itemsize=4))

    plan = plan_fit(model, sizes)
    if plan.bytes <= NEGLIGIBLE_BYTES:  # as nearly always: no words are made of it
        return
    title = f"{type(model).__name__} on {n} rows of {d} {data.dtype.name} columns"
    check(plan, title, smaller())


def check(plan: Plan, title: str, alternatives: Iterable[tuple[str, Plan]]) -> None:
    """Raise, with the alternatives that would fit, if the plan is larger than free memory."""
    if plan.bytes <= NEGLIGIBLE_BYTES:
        return
    free = available()
    if free is None or plan.bytes <= free:
        return
    fitting = [
        f"{words} ({readable(other.bytes)})" for words, other in alternatives if other.bytes <= free
    ]
    remedy = (
        f"These fit: {'; '.join(fitting)}." if fitting else "Use fewer rows or a larger machine."
    )
    raise NotEnoughMemoryError(
        f"{title} needs {plan}, but only {readable(free)} are available. {remedy}"
    )


def readable(size: int) -> str:
    """Bytes in words: 1536 -> '1.5 KiB'."""
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.3g} {unit}"
        amount /= 1024
    return f"{amount:.3g} TiB"


def available() -> int | None:
    """Bytes that can still be allocated: the machine's, within the container's limit."""
    limits = [size for size in (_machine(), _container()) if size is not None]
    return min(limits) if limits else None


def _machine() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return _windows() if sys.platform == "win32" else None


def _container() -> int | None:
    """Limit less usage of the cgroup (version 2, then 1)."""
    for limit, usage in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        (
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        ),
    ):
        try:
            return max(0, int(Path(limit).read_text()) - int(Path(usage).read_text()))
        except (OSError, ValueError):
            continue
    return None


def _windows() -> int | None:
    import ctypes

    class Status(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            ("total", ctypes.c_ulonglong),
            ("free", ctypes.c_ulonglong),
            ("others", ctypes.c_ulonglong * 5),
        )

    status = Status(length=ctypes.sizeof(Status))
    kernel32 = getattr(ctypes, "windll").kernel32  # noqa: B009 - exists on Windows only
    return int(status.free) if kernel32.GlobalMemoryStatusEx(ctypes.byref(status)) else None
