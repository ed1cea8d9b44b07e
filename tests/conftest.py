"""Fixtures of the whole suite: every contract runs over these cases, backends and types."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the tests share `cases`, which is no package

from cases import BACKENDS, CASES


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request):
    return request.param


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


@pytest.fixture(params=[np.float64, np.float32], ids=["float64", "float32"])
def dtype(request, case):
    if request.param == np.float32 and case.source in ("table", "words"):
        pytest.skip("no floating-point input to keep the type of")
    return request.param
