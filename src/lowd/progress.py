"""Progress reports, progress bars and cancellation: callbacks that an exception cancels."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Embedding: TypeAlias = NDArray[np.floating[Any]]

__all__ = ["bar", "listening", "report", "showing", "watching"]

Listener = Callable[[str, int, int], None]
Watcher: TypeAlias = "Callable[[Embedding], None]"

REFRESH_SECONDS = 0.1  # Faster updates would be invisible, and slow a terminal down.

_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("lowd_progress", default=())
_watchers: ContextVar[tuple[Watcher, ...]] = ContextVar("lowd_embeddings", default=())


def report(stage: str, done: int, total: int) -> None:
    """Call every listener with the progress; an exception that one raises cancels the fit."""
    for listener in _listeners.get():
        listener(stage, done, total)


def step(stage: str) -> Callable[[int, int], None]:
    """A callback (done, total) for native kernels, which reports the progress of `stage`."""
    return lambda done, total: report(stage, done, total)


@contextmanager
def listening(*listeners: Listener) -> Iterator[None]:
    """Call each `listener(stage, done, total)` on every progress report within the block.

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
def showing(*listeners: Listener) -> Iterator[None]:
    """Like `listening`, with a progress bar as an additional listener."""
    with bar() as shown, listening(*listeners, shown):
        yield


def is_watched() -> bool:
    """Whether anyone wants to see unfinished embeddings."""
    return bool(_watchers.get())


def report_embedding(Y: Embedding) -> None:
    """Call every watcher with the coordinates of the training rows as they are now."""
    for watcher in _watchers.get():
        watcher(Y)


@contextmanager
def watching(*watchers: Watcher) -> Iterator[None]:
    """Call each `watcher(embedding)` now and then while a method iterates within the block.

    The embedding has one row for each training row. t-SNE, SNE and UMAP report it.

    >>> import lowd, numpy as np
    >>> X, seen = np.random.default_rng(0).normal(size=(40, 3)), []
    >>> with lowd.progress.watching(lambda Y: seen.append(Y.shape)):
    ...     model = lowd.TSNE(perplexity=5, max_iter=20).fit(X)
    >>> seen
    [(40, 2), (40, 2)]
    """
    token = _watchers.set(_watchers.get() + watchers)
    try:
        yield
    finally:
        _watchers.reset(token)


@contextmanager
def bar() -> Iterator[Listener]:
    """A progress bar with the remaining time, on standard error."""
    show = _Bar()
    try:
        yield show
        show.finish()
    finally:
        show.close()


@contextmanager
def show_bar(verbose: bool) -> Iterator[None]:
    """Show a progress bar for the work within the block, if `verbose`."""
    if not verbose:
        yield
        return
    with bar() as listener, listening(listener):
        yield


class Clock:
    """The remaining time of each stage, at the mean speed since it began.

    Stages may be nested, so that reports of an outer one come between those of inner ones. A stage
    whose count goes back begins again.
    """

    def __init__(self) -> None:
        self._began: dict[str, tuple[float, int]] = {}  # the time and the count of the first report
        self._count: dict[str, int] = {}

    def seconds_left(self, stage: str, done: int, total: int, now: float) -> float | None:
        """None until two reports allow an estimate, or if the stage is done."""
        if stage not in self._began or done < self._count[stage]:
            self._began[stage] = now, done
        self._count[stage] = done
        since, first = self._began[stage]
        return (now - since) * (total - done) / (done - first) if first < done < total else None


def _readable_time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    minutes, remainder = divmod(math.ceil(seconds), 60)
    return f"{minutes} min {remainder} s left" if minutes else f"{remainder} s left"


class _Bar:
    """A line for each stage on a terminal; elsewhere the line of the present stage."""

    def __init__(self) -> None:
        self._clock, self._is_terminal = Clock(), sys.stderr.isatty()
        self._stage, self._total, self._shown = "", 0, 0.0
        self._lines: dict[str, str] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if stage != self._stage:
            self.finish()
            self._shown = 0.0
        self._stage, self._total = stage, total
        left = self._clock.seconds_left(stage, done, total, now)
        if now - self._shown < REFRESH_SECONDS and done < total:
            return
        self._shown = now
        self._write(done, left)

    def finish(self) -> None:
        """Complete the bar of the last stage: kernels report now and then, not at their end."""
        if self._stage:
            self._write(self._total, None)
        self.close()

    def close(self) -> None:
        if self._stage and not self._is_terminal:
            sys.stderr.write("\n")
        self._stage = ""

    def _write(self, done: int, left: float | None) -> None:
        full = 24 * done // max(self._total, 1)
        bar = f"{'━' * full}{'╌' * (24 - full)} {done}/{self._total}"
        before, text = len(self._lines), f"{self._stage} {bar}, {_readable_time(left)}".rstrip(", ")
        self._lines[self._stage] = text
        if self._is_terminal:  # up to the first line, then all of them again
            up = f"\x1b[{before}F" if before else ""
            sys.stderr.write(up + "".join(f"{line}\x1b[K\n" for line in self._lines.values()))
        else:
            sys.stderr.write(f"\r{text:70}")
        sys.stderr.flush()
