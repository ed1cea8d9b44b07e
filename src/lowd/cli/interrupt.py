"""Ctrl-C that always works: a helper process kills this one when it does not react.

Some libraries hold the interpreter lock for minutes (SuperLU factoring a sparse matrix), and no
signal handler runs meanwhile. But Python writes a signal to its wakeup pipe at once; the helper
process reads the other end.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

KILL_AFTER_SECONDS = 0.7  # Time from Ctrl-C to SIGKILL: longer than a cancelled task takes to end.
# Beginning of the names of hidden folders with unfinished files.
TEMPORARY_PREFIX = f".lowd-{os.getpid()}-"

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
        cursor = "\\x1b[?25h" if sys.stderr.isatty() else ""
        sys.stderr.write(cursor + "\\nlowd: " + stopped + "\\n")
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
    settings = [str(os.getpid()), str(KILL_AFTER_SECONDS), TEMPORARY_PREFIX, stopped]
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
