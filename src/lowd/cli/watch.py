"""A small process that ends this one when it cannot hear Ctrl-C.

Some libraries keep Python's lock for minutes (SuperLU factoring a sparse matrix), and no handler
runs meanwhile. But Python notes a signal at once in a pipe; at its other end somebody must listen.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 0.7  # seconds between Ctrl-C and the end by force
PREFIX = f".lowd-{os.getpid()}-"  # of the hidden folders with unfinished files

_WATCHER = """
import os, select, shutil, signal, sys
parent, patience, prefix, *homes = sys.argv[1:]
note = os.read(0, 1)
while note and note[0] not in (signal.SIGINT, signal.SIGTERM):
    note = os.read(0, 1)
while note:
    if not select.select([0], [], [], float(patience))[0]:
        os.kill(int(parent), signal.SIGKILL)
        for home in homes:
            for name in os.listdir(home):
                if name.startswith(prefix):
                    shutil.rmtree(os.path.join(home, name), ignore_errors=True)
        cursor = "\\x1b[?25h" if sys.stderr.isatty() else ""
        sys.stderr.write(cursor + "\\nlowd: stopped; nothing was written.\\n")
        break
    note = os.read(0, 1)
"""


@contextmanager
def watched(homes: Iterable[Path]) -> Iterator[None]:
    """Within the block, Ctrl-C ends the process even if Python cannot; unfinished files go too."""
    if os.name != "posix":
        yield
        return
    hearing, noting = os.pipe()
    os.set_blocking(noting, False)
    # In a session of its own the watcher does not get the terminal's Ctrl-C itself.
    watcher = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _WATCHER, str(os.getpid()), str(PATIENCE), PREFIX]
        + [str(home) for home in homes],
        stdin=hearing,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(hearing)
    before = signal.set_wakeup_fd(noting, warn_on_full_buffer=False)
    # A job that is told to end (timeout, a batch system) cleans up as after Ctrl-C.
    ended = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, ended)
        signal.set_wakeup_fd(before)
        os.close(noting)  # the watcher reads the end of the pipe, and ends
        watcher.wait()
