"""Progress and cancellation: whoever works reports, anyone may listen, an exception cancels."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import Any

Listener = Callable[[str, int, int], None]

_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("lowd_progress", default=())


def report(stage: str, done: int, total: int) -> None:
    """Tell every listener. An exception it raises ends the work: that is the cancel."""
    for listener in _listeners.get():
        listener(stage, done, total)


def step(stage: str) -> Callable[[int, int], None]:
    """What a native kernel polls: reports `stage` as (done, total)."""
    return lambda done, total: report(stage, done, total)


@contextmanager
def listening(*listeners: Listener) -> Iterator[None]:
    """Within the block each `listener(stage, done, total)` hears every step.

    >>> from lowd import progress
    >>> with progress.listening(lambda stage, done, total: print(stage, done, total)):
    ...     progress.report("axes", 1, 2)
    axes 1 2
    """
    token = _listeners.set(_listeners.get() + listeners)
    try:
        yield
    finally:
        _listeners.reset(token)


@contextmanager
def bar() -> Iterator[Listener]:
    """A progress bar with the time left, on standard error: rich's if there is one."""
    show = _RichBar() if find_spec("rich") else _PlainBar()
    try:
        yield show
        show.finish()
    finally:
        show.close()


class _RichBar:
    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self._progress: Any = Progress(console=Console(stderr=True))
        self._tasks: dict[str, Any] = {}
        self._stage, self._total = "", 0
        self._progress.start()

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage != self._stage:
            self.finish()
        self._stage, self._total = stage, total
        if stage not in self._tasks:
            self._tasks[stage] = self._progress.add_task(stage, total=total)
        self._progress.update(self._tasks[stage], completed=done, total=total)

    def finish(self) -> None:
        """Kernels report now and then: what is followed by another stage, or ends well, is done."""
        if self._stage:
            self._progress.update(self._tasks[self._stage], completed=self._total)

    def close(self) -> None:
        self._progress.stop()


class _PlainBar:
    """One line per stage, rewritten at most ten times a second."""

    def __init__(self) -> None:
        self._stage, self._total, self._since, self._shown = "", 0, 0.0, 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if stage != self._stage:
            self.finish()
            self._since, self._shown = now, 0.0
        self._stage, self._total = stage, total
        if now - self._shown < 0.1 and done < total:
            return
        self._shown = now
        self._write(done, (now - self._since) * (total - done) / max(done, 1))

    def finish(self) -> None:
        if self._stage:
            self._write(self._total, 0)
        self.close()

    def close(self) -> None:
        if self._stage:
            sys.stderr.write("\n")
        self._stage = ""

    def _write(self, done: int, left: float) -> None:
        sys.stderr.write(f"\r{self._stage}: {done}/{self._total}, {left:.0f} s left ")
        sys.stderr.flush()
