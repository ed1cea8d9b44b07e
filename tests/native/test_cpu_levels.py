"""Native operations at every CPU level that this machine has."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from lowd import _native


def test_levels_of_this_machine():
    assert _native.cpu_level() in _native.cpu_levels()
    assert _native.cpu_levels()[0] == "base"


_AT_LEVEL = """
import sys
sys.path[:0] = sys.argv[2:]
import numpy as np
import operands as t
from test_calls import *
from test_linear import *
from test_pairwise import *
from lowd import _native
assert _native.cpu_level() == sys.argv[1], _native.cpu_level()
for kind in t.TYPES:
    for shape in t.SHAPES:
        rng = np.random.default_rng(0)
        test_column_sums(shape, kind, rng)
        test_scatter(shape, kind, rng)
        test_scatter_matmul(shape, kind, rng)
        test_project(shape, kind, rng)
    for measure, params in t.VARIANTS:
        check_pairwise(measure, params, kind, (33, 65, 31))
        check_symmetric_pairwise_has_the_bits_of_the_general_one(measure, params, kind, 31)
    for d in (7, 33):
        test_a_rows_bits_do_not_depend_on_its_batch(kind, d, rng)
    test_close_pairs_lose_no_digits(kind, 1e6, True, rng)
    test_exponentials_are_good_to_the_last_digits(kind)
    test_hadamard(kind, 100, 128, rng)
    test_matmul(kind, (300, 259, 17), True, rng)
    test_the_same_bits_for_any_number_of_threads(kind, rng)
print("good")
"""


@pytest.mark.parametrize("level", _native.cpu_levels())
def test_every_level(level):
    """The same tests in a fresh interpreter, with each level this CPU has."""
    here = os.path.dirname(__file__)
    run = subprocess.run(
        [sys.executable, "-c", _AT_LEVEL, level, here, os.path.dirname(here)],
        env={**os.environ, "LOWD_CPU_LEVEL": level},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.stdout.strip() == "good", run.stderr


def test_an_unknown_level_is_no_level():
    script = "from lowd import _native; print(_native.cpu_level())"
    run = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "LOWD_CPU_LEVEL": "v9"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.stdout.strip() == _native.cpu_levels()[-1] or "v9" in run.stderr
