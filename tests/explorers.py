"""What tests of the explorer share: the address of its server, and readers of its answers."""

from __future__ import annotations

import time
from io import BytesIO

import pytest

TOKEN, PORT = "a-secret-token", 8765
BASE = f"http://127.0.0.1:{PORT}"


def read_arrow(data):
    """Column -> array."""
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.ipc.open_stream(BytesIO(data)).read_all()
    return {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}


def wait_for(ask, target, states=("ready", "failed")):
    """Ask until the answer is in one of the states."""
    for _ in range(1200):
        found = ask("GET", target)
        if found["state"] in states:
            return found
        time.sleep(0.05)
    raise AssertionError(found)
