"""Random priorities of rows by their content."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import chisquare
from sklearn.datasets import load_digits

from lowd.input.row_priority import choose_smallest, draw_priorities

DIGITS = load_digits()
TABLES = {
    "pixels": DIGITS.data,
    "dark on light": 16 - DIGITS.data,
    "two values": (DIGITS.data > 8).astype(float),
    "measurements": np.random.default_rng(0).normal(size=(1500, 30)).astype(np.float32),
    "rare ones": (np.random.default_rng(1).random((1500, 301)) < 0.03).astype(float),
    "constant": np.full((40, 30), 2.5),
    "zeros": np.zeros((40, 70)),
}


@pytest.mark.parametrize("name", TABLES)
def test_equal_rows_and_no_others_have_equal_priorities(name):
    """Of any type, dense or sparse, though few of their columns are read."""
    X = TABLES[name]
    found = draw_priorities(X)
    np.testing.assert_array_equal(draw_priorities(csr_array(X)), found)
    np.testing.assert_array_equal(draw_priorities(X.astype(np.float32)), found)
    np.testing.assert_array_equal(draw_priorities(np.where(X == 0, -0.0, X)), found)
    n_distinct = len(np.unique(X, axis=0))
    assert 0.99 * n_distinct <= len(np.unique(found)) <= n_distinct


@pytest.mark.parametrize("name", ["pixels", "dark on light", "two values"])
def test_a_sample_has_its_share_of_every_class(name):
    """The center of a zero is empty: columns there tell it from other digits, not from zeros."""
    rows = choose_smallest(draw_priorities(TABLES[name]), 500)
    shares = np.bincount(DIGITS.target) / len(DIGITS.target)
    assert chisquare(np.bincount(DIGITS.target[rows]), 500 * shares).pvalue > 0.01


def test_the_smallest_are_chosen_once():
    priorities = np.random.default_rng(0).integers(0, 2**60, 5000).astype(np.uint64)
    priorities[1::2] = priorities.min()  # half of the rows
    rows = choose_smallest(priorities, 100)
    np.testing.assert_array_equal(priorities[rows], np.unique(priorities)[:100])
    assert rows[0] == np.flatnonzero(priorities == priorities.min())[0]
    assert len(choose_smallest(priorities, 4000)) == 2501 - (priorities[0] == priorities[1])
