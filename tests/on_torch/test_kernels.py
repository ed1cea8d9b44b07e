"""Triton kernels without a GPU: each runs in Triton's interpreter, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed (pip install 'lowd[gpu]')")
pytest.importorskip("triton", reason="Triton is not installed (make torch)")

SCRIPT = Path(__file__).with_name("interpreted_kernels.py")
CHECKS = ["neighbors", "sparse_products", "shortest_paths", "guttman_transform"]


@pytest.mark.parametrize("check", CHECKS)
def test_a_kernel_in_the_interpreter(check):
    environment = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        [sys.executable, str(SCRIPT), check], env=environment, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
