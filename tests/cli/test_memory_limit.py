"""`--memory` is a promise: the peak of resident memory, measured from outside, is within it."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("polars")
pytest.importorskip("dask", reason="the extra 'dask' is not installed")


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """More rows than the limits leave room for: 200 MB."""
    path = tmp_path_factory.mktemp("rows") / "x.npy"
    out = np.lib.format.open_memmap(path, "w+", np.float32, (125_000, 400))
    some = np.random.default_rng(0).standard_normal((12_500, 400), np.float32)
    for i in range(10):
        out[i * 12_500 : (i + 1) * 12_500] = some * (1 + i / 10)
    out.flush()
    return path


def run(*args):
    """Exit status, peak resident bytes, and what was printed as an error."""
    command = [sys.executable, "-W", "ignore", "-m", "lowd", *map(str, args)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=pipe, text=True) as process:
        errors = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_maxrss * 1024, errors


@pytest.mark.parametrize(
    ("method", "options"),
    [("pca", ("--no-evaluate",)), ("umap", ("--n-epochs", "20", "--no-evaluate"))],
    ids=["pca", "umap"],
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
