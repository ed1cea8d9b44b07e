"""Long work in a thread of its own, so that the main one can show progress and hear Ctrl-C.

A library call that never returns to Python (LAPACK, a file reader) would keep the main thread deaf.
"""

from __future__ import annotations

import contextvars
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from .. import progress
from ..errors import Cancelled

SHOWN_AFTER = 1.0  # seconds: shorter work needs no bar
GRACE = 0.4  # seconds that cancelled work gets to end by itself


class Work:
    """A call in a thread: what it reports is shown, and a report after `stop` ends it."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._stop = threading.Event()
        self._answer: Any = None
        self._error: BaseException | None = None
        self._latest: dict[str, tuple[int, int]] = {}
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._run,), daemon=True)

    def result(self, shown: bool, abandon: Callable[[], None], alone: bool = False) -> Any:
        """Wait for the answer. On Ctrl-C `abandon` cleans up, even if the work goes on.

        `alone`: the process is for this work only, and may end with it.
        """
        self._thread.start()
        try:
            self._wait(shown)
        except KeyboardInterrupt:
            self._stop.set()
            self._thread.join(GRACE)
            abandon()
            if alone or self._thread.is_alive():
                # Either the work is deep in a call that cannot be interrupted, or there is nothing
                # left to do; Python's own way out would free gigabytes one array at a time.
                sys.stderr.write("\nlowd: stopped; nothing was written.\n")
                sys.stderr.flush()
                os._exit(130)
            raise
        if self._error is not None:
            raise self._error
        return self._answer

    def _run(self) -> None:
        try:
            with progress.listening(self._heard):
                self._answer = self._call()
        except BaseException as error:
            self._error = error

    def _heard(self, stage: str, done: int, total: int) -> None:
        if self._stop.is_set():
            raise Cancelled("stopped by the user.")
        self._latest[stage] = (done, total)

    def _wait(self, shown: bool) -> None:
        start = time.monotonic()
        with ExitStack() as stack:
            show: progress.Listener | None = None
            while self._thread.is_alive():
                self._thread.join(0.05)
                if not shown or time.monotonic() - start < SHOWN_AFTER:
                    continue
                show = show or stack.enter_context(progress.bar())
                self._tell(show)
            if show is not None:
                self._tell(show)  # how it ended

    def _tell(self, show: progress.Listener) -> None:
        for stage, (done, total) in list(self._latest.items()):
            show(stage, done, total)
