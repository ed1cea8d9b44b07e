"""Long calls that Ctrl-C always ends.

A call runs in a background thread, so that the main thread shows progress and takes Ctrl-C: one
that never returns to Python (LAPACK, a file reader) would keep the main thread from reacting. Some
libraries even hold the interpreter lock for minutes (SuperLU factoring a sparse matrix), and no
signal handler runs meanwhile. But Python writes a signal to its wakeup pipe at once; a helper
process reads the other end and kills this one when it does not react.
"""

from __future__ import annotations

import contextvars
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from .. import progress
from ..errors import Cancelled
from .exit_codes import ExitCode
from .files import NOTHING_WRITTEN, TEMPORARY_PREFIX

BAR_AFTER_SECONDS = 1.0  # Shorter work does not need a progress bar.

T = TypeVar("T")


class BackgroundCall(Generic[T]):
    """A call in a thread whose progress is shown and which is cancelled at the next report."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._stop = threading.Event()
        self._values: list[T] = []
        self._error: BaseException | None = None
        self._latest: dict[str, tuple[int, int]] = {}
        self._shown: dict[str, tuple[int, int]] = {}
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
            self._thread.join(0.4)  # seconds for the cancelled call to end by itself
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
                self._thread.join(0.05)  # seconds; the bar is redrawn as often
                if not show_bar or time.monotonic() - start < BAR_AFTER_SECONDS:
                    continue
                bar = bar or stack.enter_context(progress.bar())
                self._show(bar)
            if bar is not None:
                self._show(bar)  # the final state

    def _show(self, bar: progress.Listener) -> None:
        for stage, now in list(self._latest.items()):
            if self._shown.get(stage) != now:
                self._shown[stage] = now
                bar(stage, *now)


_WATCHDOG = """
import os, select, shutil, signal, sys
parent, seconds, prefix, stopped, *folders = sys.argv[1:]
byte = os.read(0, 1)
while byte and byte[0] not in (signal.SIGINT, signal.SIGTERM):
    byte = os.read(0, 1)
while byte:
    if not select.select([0], [], [], float(seconds))[0]:
        os.kill(int(parent), signal.SIGKILL)
        for folder in folders:
            for name in os.listdir(folder):
                if name.startswith(prefix):
                    shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
        sys.stderr.write("\\nlowd: " + stopped + "\\n")
        break
    byte = os.read(0, 1)
"""


@contextmanager
def kill_on_interrupt(folders: Iterable[Path], stopped: str) -> Iterator[None]:
    """Within the block, Ctrl-C ends the process even if Python cannot react to it.

    Unfinished files in `folders` are removed too; `stopped` says what is left.
    """
    if os.name != "posix":
        yield
        return
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    # In a session of its own the watchdog does not receive the terminal's Ctrl-C itself.
    script = [sys.executable, "-I", "-S", "-c", _WATCHDOG]
    seconds = 0.7  # from Ctrl-C to SIGKILL: longer than a cancelled call takes to end
    settings = [str(os.getpid()), str(seconds), TEMPORARY_PREFIX, stopped]
    watchdog = subprocess.Popen(
        [*script, *settings, *(str(folder) for folder in folders)],
        stdin=read_end,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(read_end)
    wakeup_before = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    # A job that receives SIGTERM (timeout, a batch system) cleans up as after Ctrl-C.
    handler_before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler_before)
        signal.set_wakeup_fd(wakeup_before)
        os.close(write_end)  # the watchdog then reads the end of the pipe, and exits
        watchdog.wait()
