"""What a call computes with: chosen once for the call, and looked up by the functions that compute.

A heavy function of `spaces/` or `linalg/` is written for dense rows and the native core, and is
marked `overridable`. Another function can take its place for other kinds of data, or within
`using("torch")`. No function has an argument for the backend or for the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, update_wrapper
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Generic, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from . import threads as cpus
from .errors import BackendUnavailableError, NotEnoughMemoryError, ParameterError
from .parameters import Reals

P = ParamSpec("P")
T = TypeVar("T")


class Backend(NamedTuple):
    """What a call computes with."""

    name: str
    threads: int
    n_jobs: int | None  # as it was asked for: a task in another process has other processors


_current: ContextVar[Backend | None] = ContextVar("lowd_backend", default=None)


@contextmanager
def using(choice: str, n_jobs: int | None) -> Iterator[None]:
    """Compute with a backend, and a number of threads, within the block."""
    token = _current.set(Backend(resolve(choice), cpus.count(n_jobs), n_jobs))
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Backend | None:
    """What the present call computes with, if it has chosen."""
    return _current.get()


@cache
def resolve(choice: str) -> str:
    """The backend of a name, "auto" being the native core; torch's functions are then known."""
    if choice in ("auto", "native"):
        return "native"
    if choice != "torch":
        raise ParameterError(
            f"backend={choice!r}: expected 'auto' or one of {['native', 'torch']}.", "backend"
        )
    if find_spec("torch") is None:
        raise BackendUnavailableError(
            "backend='torch' needs torch; install it (pip install 'lowd[gpu]'), or set "
            "backend='auto' to use 'native'."
        )
    import_module(f"{__package__}.on_torch")  # which registers what torch computes faster
    return "torch"


def backends() -> list[str]:
    """The backends whose packages are installed; nothing is imported."""
    return ["native", *(["torch"] if find_spec("torch") else [])]


class overridable(Generic[P, T]):  # noqa: N801 - it is used as a decorator
    """A function in place of which others compute, for a type of its first argument or a backend.

    >>> @overridable
    ... def total(rows):
    ...     return sum(rows)
    >>> @total.register(str)
    ... def _(rows):
    ...     return sum(map(int, rows))
    >>> total([1, 2]), total("12")
    (3, 3)
    """

    def __init__(self, function: Callable[P, T]) -> None:
        self.function = function
        self.others: dict[type | str, Callable[..., T]] = {}
        update_wrapper(self, function)

    def register(self, kind: type | str) -> Callable[[Callable[..., T]], Callable[..., T]]:
        """A decorator: compute by the function for this type, or within this backend."""

        def add(function: Callable[..., T]) -> Callable[..., T]:
            self.others[kind] = function
            return function

        return add

    def __reduce__(self) -> str:
        """By its name, as other functions are pickled."""
        return str(getattr(self, "__qualname__"))  # noqa: B009 - update_wrapper sets it

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        if self.others:
            for kind in type(args[0]).__mro__ if args else ():
                if kind in self.others:
                    return self.others[kind](*args, **kwargs)
            backend = _current.get()
            if backend is not None and backend.name in self.others:
                return self.others[backend.name](*args, **kwargs)
        return self.function(*args, **kwargs)


def threads(products: float = np.inf) -> int:
    """Threads for a native kernel: one if it multiplies so little that waking others costs more."""
    if products <= 2**17:
        return 1
    backend = _current.get()
    return cpus.count(None) if backend is None else backend.threads


def chunks(n: int, width: int, entries: int = 2**22) -> list[slice]:
    """Slices of range(n), such that an array of one slice and this width has about 2^22 entries."""
    step = max(1, entries // max(width, 1))
    return [slice(i, min(i + step, n)) for i in range(0, n, step)]


def allocate(shape: tuple[int, ...], dtype: DTypeLike, what: str, remedy: str) -> Reals:
    """An uninitialized array that grows with n², after a look at the memory that is free.

    >>> allocate((2, 3), float, "the distances of 2 rows", "use landmarks").shape
    (2, 3)
    """
    check_memory({what: int(np.prod(shape, dtype=np.float64)) * np.dtype(dtype).itemsize}, remedy)
    return np.empty(shape, dtype)


def check_memory(parts: dict[str, int], remedy: str) -> None:
    """Raise an error if arrays need more bytes than are free."""
    wanted = sum(parts.values())
    if wanted <= 2**24:  # asking the system takes longer than to fill so many bytes
        return
    free = free_memory()
    if free is not None and wanted > free:
        large = {name: size for name, size in parts.items() if size}
        sizes = [f"{name} ({readable(size)})" for name, size in large.items()]
        raise NotEnoughMemoryError(
            f"{' and '.join(sizes if len(sizes) > 1 else large)} need {readable(wanted)}, but only "
            f"{readable(free)} are available; {remedy}."
        )


@dataclass(frozen=True)
class Plan:
    """The large arrays of a fit, by name, in bytes."""

    parts: dict[str, int]

    @property
    def bytes(self) -> int:
        return sum(self.parts.values())

    def __int__(self) -> int:
        return self.bytes

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {readable(size)}" for name, size in self.parts.items() if size)
        return f"{readable(self.bytes)} ({parts})"


def readable(size: int) -> str:
    """Bytes in words.

    >>> readable(1536)
    '1.5 KiB'
    """
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.3g} {unit}"
        amount /= 1024
    return f"{amount:.3g} TiB"


def free_memory() -> int | None:
    """Bytes that can still be allocated: the machine's, within the container's limit."""
    limits = [size for size in (_free_of_machine(), _free_of_container()) if size is not None]
    return min(limits) if limits else None


def _free_of_machine() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def _free_of_container() -> int | None:
    """Limit less usage of the cgroup (version 2, then 1)."""
    groups = Path("/sys/fs/cgroup")
    for limit, usage in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        try:
            free = int((groups / limit).read_text()) - int((groups / usage).read_text())
            return max(0, free)
        except (OSError, ValueError):
            continue
    return None
