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

from cases import BACKENDS, CASES

# The matrices are small: BLAS threads would spend the suite's time waiting for each other.
threadpool_limits(1, user_api="blas")

# Where nobody can look at a rare failure again, every run tries the same examples.
settings.register_profile("reproducible", derandomize=True, database=None)
if os.environ.get("CI", "").lower() == "true":
    settings.load_profile("reproducible")


def pytest_generate_tests(metafunc):
    """`case`, `backend` and `dtype` run over all of them, but for types a case does not have."""
    wanted = [name for name in ("case", "dtype") if name in metafunc.fixturenames]
    if "case" in wanted:
        pairs = [
            (case, dtype)
            for case in CASES
            for dtype in (case.dtypes if "dtype" in wanted else case.dtypes[:1])
        ]
        ids = ["-".join([c.name, np.dtype(t).name][: len(wanted)]) for c, t in pairs]
        metafunc.parametrize(wanted, [pair[: len(wanted)] for pair in pairs], ids=ids)
    elif wanted:
        metafunc.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
    if "backend" in metafunc.fixturenames:
        metafunc.parametrize("backend", BACKENDS)


def pytest_collection_modifyitems(config, items):
    """The reference computes in float64 whatever comes: float32 is tried with its inputs only."""
    kept, left = [], []
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        narrow = params.get("backend") == "reference" and params.get("dtype") is np.float32
        (left if narrow and item.path.name != "test_inputs.py" else kept).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


@pytest.fixture
def rng():
    return np.random.default_rng(0)
