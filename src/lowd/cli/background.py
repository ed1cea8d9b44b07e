"""A long call in a background thread, so that the main thread shows progress and takes Ctrl-C.

A library call that never returns to Python (LAPACK, a file reader) would keep the main thread from
reacting.
"""

from __future__ import annotations

import contextvars
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Generic, TypeVar

from .. import progress
from ..errors import Cancelled
from .exit_codes import ExitCode
from .files import NOTHING_WRITTEN

BAR_AFTER_SECONDS = 1.0  # Shorter work does not need a progress bar.
CANCEL_SECONDS = 0.4  # Grace period for a cancelled call to end by itself.
REDRAW_SECONDS = 0.05  # The thread is polled at this interval, fast enough for a smooth bar.

T = TypeVar("T")


class BackgroundCall(Generic[T]):
    """A call in a thread whose progress is shown and which is cancelled at the next report."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._stop = threading.Event()
        self._values: list[T] = []
        self._error: BaseException | None = None
        self._latest: dict[str, tuple[int, int]] = {}
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._run,), daemon=True)

    def wait(
        self,
        show_bar: bool,
        discard: Callable[[], None],
        owns_process: bool = False,
        stopped: str = NOTHING_WRITTEN,
    ) -> T:
        """Wait for the returned value. On Ctrl-C `discard` cleans up, even if the call goes on.

        `owns_process`: the process serves this call only and may end with it.
        """
        self._thread.start()
        try:
            self._poll(show_bar)
        except KeyboardInterrupt:
            self._stop.set()
            self._thread.join(CANCEL_SECONDS)
            discard()
            if owns_process or self._thread.is_alive():
                # Either the call cannot be interrupted, or nothing is left to do; Python's regular
                # shutdown would free gigabytes one array at a time.
                sys.stderr.write(f"\nlowd: {stopped}\n")
                sys.stderr.flush()
                os._exit(ExitCode.INTERRUPTED)
            raise
        if self._error is not None:
            raise self._error
        return self._values[0]

    def _run(self) -> None:
        try:
            with progress.listening(self._record):
                self._values.append(self._call())
        except BaseException as error:
            self._error = error

    def _record(self, stage: str, done: int, total: int) -> None:
        if self._stop.is_set():
            raise Cancelled("stopped by the user.")
        self._latest[stage] = (done, total)

    def _poll(self, show_bar: bool) -> None:
        start = time.monotonic()
        with ExitStack() as stack:
            bar: progress.Listener | None = None
            while self._thread.is_alive():
                self._thread.join(REDRAW_SECONDS)
                if not show_bar or time.monotonic() - start < BAR_AFTER_SECONDS:
                    continue
                bar = bar or stack.enter_context(progress.bar())
                self._show(bar)
            if bar is not None:
                self._show(bar)  # the final state

    def _show(self, bar: progress.Listener) -> None:
        for stage, (done, total) in list(self._latest.items()):
            bar(stage, done, total)
