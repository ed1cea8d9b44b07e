"""Fixtures of acceleration: in place for one test, on data of any size."""

from __future__ import annotations

import pytest

import lowd.accelerate


@pytest.fixture
def accelerated():
    """The proxies in place, also where scikit-learn is faster; calls are counted from zero."""
    lowd.accelerate.install(always=True)
    lowd.accelerate.profile(reset=True)
    yield lowd.accelerate
    lowd.accelerate.uninstall()
