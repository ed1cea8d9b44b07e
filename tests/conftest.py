"""Fixtures of the whole suite: every contract runs over these cases, backends and types."""

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
