"""Fixtures of the whole suite: backends and types, a browser."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parent))  # the tests share `cases`, which is no package

import browser
from cases import BACKENDS

# The matrices are small: BLAS threads would spend the suite's time waiting for each other.
threadpool_limits(1, user_api="blas")

# Where nobody can look at a rare failure again, every run tries the same examples.
settings.register_profile("reproducible", derandomize=True, database=None)
if os.environ.get("CI", "").lower() == "true":
    settings.load_profile("reproducible")


def pytest_generate_tests(metafunc):
    """`backend` and `dtype`: the core in both types, and its oracle, which computes in float64."""
    wanted = [name for name in ("dtype", "backend") if name in metafunc.fixturenames]
    for mark in metafunc.definition.iter_markers("parametrize"):
        names = mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0]
        wanted = [name for name in wanted if name not in map(str.strip, names)]
    if not wanted:
        return
    values = {}
    for backend in BACKENDS:
        for dtype in (np.float64, np.float32) if backend == BACKENDS[0] else (np.float64,):
            one = {"dtype": dtype, "backend": backend}
            label = {"dtype": np.dtype(dtype).name, "backend": backend}
            values["-".join(label[name] for name in wanted)] = [one[name] for name in wanted]
    metafunc.parametrize(wanted, list(values.values()), ids=list(values))


@pytest.fixture
def many_cpus(monkeypatch):
    """As many threads as asked for, also on a small machine."""
    monkeypatch.setattr("lowd.threads.available", lambda: 16)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def chromium():
    """A browser, driven by Playwright."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=browser.found(), args=["--no-sandbox"])
        yield found
        found.close()
