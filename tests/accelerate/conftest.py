"""Fixtures of acceleration: installed for one test, on data of any size."""

from __future__ import annotations

import pytest
import sklearn.manifold  # noqa: F401  (it loads the OpenMP that is limited)
from threadpoolctl import threadpool_limits

import lowd.accelerate

# On small data scikit-learn's threads wait for each other: beside another test its t-SNE on two of
# them took 50 s instead of 3.
threadpool_limits(1, user_api="openmp")


@pytest.fixture
def accelerated():
    """The proxies installed, also where scikit-learn is faster; calls are counted from zero."""
    lowd.accelerate.install(always=True)
    lowd.accelerate.profile(reset=True)
    yield lowd.accelerate
    lowd.accelerate.uninstall()
