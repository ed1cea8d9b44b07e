"""Fixtures of the whole suite: every contract runs over these cases, backends and types."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parent))  # the tests share `cases`, which is no package

import browser
from cases import Case, Selection

# The matrices are small: BLAS threads would spend the suite's time waiting for each other.
threadpool_limits(1, user_api="blas")

# Where nobody can look at a rare failure again, every run tries the same examples.
settings.register_profile("reproducible", derandomize=True, database=None)
if os.environ.get("CI", "").lower() == "true":
    settings.load_profile("reproducible")


def pytest_generate_tests(metafunc):
    """Parametrize `case`, `dtype` and `backend` by the combinations that a test selects."""
    wanted = [name for name in ("case", "dtype", "backend") if name in metafunc.fixturenames]
    for mark in metafunc.definition.iter_markers("parametrize"):
        names = mark.args[0]
        names = names.split(",") if isinstance(names, str) else names
        wanted = [name for name in wanted if name not in map(str.strip, names)]
    if not wanted:
        return
    selection = getattr(metafunc.function, "selection", Selection())
    values = {}
    for one in selection.combinations(with_case="case" in wanted):
        values["-".join(_id(one[name]) for name in wanted)] = [one[name] for name in wanted]
    metafunc.parametrize(wanted, list(values.values()), ids=list(values))


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
        if not self.config.getoption("--skipped"):
            self.config.cache.set("lowd/skipped", sorted(self.names))


def _plain(nodeid):
    """The name of a test without its group, which xdist appends."""
    return re.sub(r"@[^@\]]*$", "", nodeid)


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--skipped"):
        return
    names = set(config.cache.get("lowd/skipped", []))
    chosen = [x for x in items if {_plain(x.nodeid), x.nodeid.split("::")[0]} & names]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen


def _id(value):
    if isinstance(value, Case):
        return value.name
    return value if isinstance(value, str) else np.dtype(value).name


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
