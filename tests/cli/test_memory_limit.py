"""`--memory` is a promise: the peak of resident memory, measured from outside, is within it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

if not Path("/proc/self/status").exists():
    pytest.skip("peaks are read from /proc", allow_module_level=True)
pytest.importorskip("polars")
pytest.importorskip("dask", reason="the extra 'dask' is not installed")


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """More rows than the limits leave room for: 200 MB."""
    path = tmp_path_factory.mktemp("rows") / "x.npy"
    out = np.lib.format.open_memmap(path, "w+", np.float32, (125_000, 400))
    rng = np.random.default_rng(0)  # few factors, so that neighbors are found fast
    some = rng.standard_normal((12_500, 4), np.float32) @ rng.standard_normal((4, 400), np.float32)
    for i in range(10):
        out[i * 12_500 : (i + 1) * 12_500] = some * (1 + i / 10)
    out.flush()
    return path


# The peak of the process itself: what wait4 tells includes that of the process that forked it.
SCRIPT = """
import atexit, re, runpy, sys
def tell():
    print(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1], flush=True)
atexit.register(tell)
sys.argv[0] = "lowd"
runpy.run_module("lowd", run_name="__main__")
"""


def run(*args):
    """Exit status, peak resident bytes, and what was printed as an error."""
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, *map(str, args)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return ended.returncode, int(ended.stdout.split()[-1]) * 1024, ended.stderr


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("pca", ()),
        ("umap", ("--n-epochs", "20", "--no-evaluate")),
    ],
    ids=["pca, evaluated", "umap"],
)
def test_the_least_memory_that_is_named_is_enough(method, options, rows, tmp_path):
    given = method, rows, *options, "-o", tmp_path / "out"
    code, _, errors = run(*given, "--memory", "100MB")
    assert code == 2
    least = int(re.search(r"at least (\d+)MB", errors)[1])
    code, peak, errors = run(*given, "--memory", f"{least}MB")
    assert code == 0, errors
    # Pages of the mapped file, which the system takes back at need, come on top.
    assert peak <= least * 10**6 + rows.stat().st_size
