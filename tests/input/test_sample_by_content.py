"""Random samples of rows by random bits of their content."""

from __future__ import annotations

import numpy as np
import pytest
from lowd.backends.row_hash import row_priorities
from lowd.input.sample import choose_smallest
from scipy.sparse import csr_array
from scipy.stats import chisquare
from sklearn.datasets import load_digits

from lowd.backends import resolve

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
    """Of any type, dense or sparse."""
    X = TABLES[name]

    def priorities(X):
        return resolve("auto", 2).column_statistics(X, priorities=True).priorities

    found = priorities(X)
    np.testing.assert_array_equal(row_priorities(X), found)
    np.testing.assert_array_equal(priorities(csr_array(X)), found)
    np.testing.assert_array_equal(priorities(X.astype(np.float32)), found)
    np.testing.assert_array_equal(priorities(np.asfortranarray(X)[::-1])[::-1], found)
    np.testing.assert_array_equal(priorities(np.where(X == 0, -0.0, X)), found)
    assert len(np.unique(found)) == len(np.unique(X, axis=0))


@pytest.mark.parametrize("name", ["pixels", "dark on light", "two values"])
def test_a_sample_has_its_share_of_every_class(name):
    rows = choose_smallest(row_priorities(TABLES[name]), 500)
    shares = np.bincount(DIGITS.target) / len(DIGITS.target)
    assert chisquare(np.bincount(DIGITS.target[rows]), 500 * shares).pvalue > 0.01


def test_of_equal_priorities_the_first_row_is_chosen():
    priorities = np.random.default_rng(0).integers(0, 2**60, 5000).astype(np.uint64)
    priorities[1::2] = priorities[1]  # half of the rows
    rows = choose_smallest(priorities, 100)
    assert len(np.unique(priorities[rows])) == 100
    assert len(choose_smallest(priorities, 4000)) == 2501
    assert choose_smallest(priorities, 4000).tolist().count(1) == 1
    np.testing.assert_array_equal(choose_smallest(priorities, 4000)[:100], rows)


def test_few_distinct_rows_among_many_are_all_found():
    distinct = np.sort(np.random.default_rng(0).integers(0, 2**63, 150).astype(np.uint64) * 2)
    priorities = np.random.default_rng(1).permutation(np.repeat(distinct, 40))
    rows = choose_smallest(priorities, 100)
    np.testing.assert_array_equal(priorities[rows], distinct[:100])
    assert rows.tolist() == [int(np.argmax(priorities == value)) for value in distinct[:100]]


@pytest.mark.parametrize("count", [1, 7, 30, 58])
def test_the_last_of_a_sample_is_the_first_of_its_duplicates(count):
    for seed in range(20):
        priorities = np.random.default_rng(seed).permutation(60).astype(np.uint64)
        priorities[priorities == count] = count - 1
        first = np.unique(priorities, return_index=True)[1]
        np.testing.assert_array_equal(choose_smallest(priorities, count), first[:count])
