"""Fixtures of the whole suite: types, CPUs, a browser."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 - its BLAS is to be there when threads are limited
from hypothesis import settings
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parent))  # the tests share `cases`, which is no package

import browser

# The matrices are small: BLAS threads would spend the suite's time waiting for each other.
threadpool_limits(1, user_api="blas")

# Run by a shell in the background, the suite would ignore Ctrl-C, and so would its processes.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Where nobody can look at a rare failure again, every run tries the same examples.
settings.register_profile("reproducible", derandomize=True, database=None)
if os.environ.get("CI", "").lower() == "true":
    settings.load_profile("reproducible")


def pytest_generate_tests(metafunc):
    """`dtype`: both types, where a test does not name its own."""
    if "dtype" not in metafunc.fixturenames:
        return
    for mark in metafunc.definition.iter_markers("parametrize"):
        names = mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0]
        if "dtype" in map(str.strip, names):
            return
    metafunc.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])


def pytest_addoption(parser):
    parser.addoption("--skipped", action="store_true", help="run only what skipped in the last run")


def pytest_configure(config):
    if not hasattr(config, "workerinput"):  # which processes that share the work have
        config.pluginmanager.register(_Skips(config))


class _Skips:
    """Keeps the names of the tests, and of whole files, that skipped."""

    def __init__(self, config):
        self.config, self.names = config, set()

    def pytest_collectreport(self, report):
        self._note(report)

    def pytest_runtest_logreport(self, report):
        self._note(report)

    def _note(self, report):
        if report.skipped and not hasattr(report, "wasxfail"):
            self.names.add(_plain(report.nodeid))

    def pytest_sessionfinish(self):
        if not self.config.getoption("--skipped") and hasattr(self.config, "cache"):
            self.config.cache.set("lowd/skipped", sorted(self.names))


def _plain(nodeid):
    """The name of a test without its group, which xdist appends."""
    return re.sub(r"@[^@\]]*$", "", nodeid)


@pytest.hookimpl(tryfirst=True)  # before groups become parts of names
def pytest_collection_modifyitems(config, items):
    for item in items:  # what a file makes once is made in one process
        if item.get_closest_marker("xdist_group") is None and any(
            found[-1].scope == "module" for found in item._fixtureinfo.name2fixturedefs.values()
        ):
            item.add_marker(pytest.mark.xdist_group(item.location[0]))
    if not config.getoption("--skipped"):
        return
    names = set(config.cache.get("lowd/skipped", []))
    chosen = [x for x in items if {_plain(x.nodeid), x.nodeid.split("::")[0]} & names]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen


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
