"""Random samples of rows by random bits of their content."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import chisquare
from sklearn.datasets import load_digits

from lowd.spaces import hash_rows

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
def test_equal_rows_and_no_others_have_equal_hashes(name):
    """Of any type, dense or sparse."""
    X = TABLES[name]

    found = hash_rows(X)
    np.testing.assert_array_equal(hash_rows(csr_array(X)), found)
    np.testing.assert_array_equal(hash_rows(X.astype(np.float32)), found)
    np.testing.assert_array_equal(hash_rows(np.asfortranarray(X)[::-1])[::-1], found)
    np.testing.assert_array_equal(hash_rows(np.where(X == 0, -0.0, X)), found)
    assert len(np.unique(found)) == len(np.unique(X, axis=0))


@pytest.mark.parametrize("name", ["pixels", "dark on light", "two values"])
def test_a_sample_has_its_share_of_every_class(name):
    rows = np.argsort(hash_rows(TABLES[name]), kind="stable")[:500]
    shares = np.bincount(DIGITS.target) / len(DIGITS.target)
    assert chisquare(np.bincount(DIGITS.target[rows]), 500 * shares).pvalue > 0.01
