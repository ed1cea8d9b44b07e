"""Random samples of rows by hashes of their content."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import chisquare
from sklearn.datasets import load_digits

from lowd.backends import available, resolve
from lowd.input.sample import choose_smallest

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


@pytest.mark.parametrize("backend", available())
@pytest.mark.parametrize("name", TABLES)
def test_equal_rows_and_no_others_have_equal_hashes(name, backend):
    """Of any type, dense or sparse, by any backend."""
    X, hash_rows = TABLES[name], resolve(backend, 2).hash_rows
    found = hash_rows(X)
    np.testing.assert_array_equal(resolve("reference", None).hash_rows(X), found)
    np.testing.assert_array_equal(hash_rows(csr_array(X)), found)
    np.testing.assert_array_equal(hash_rows(X.astype(np.float32)), found)
    np.testing.assert_array_equal(hash_rows(np.asfortranarray(X)[::-1])[::-1], found)
    np.testing.assert_array_equal(hash_rows(np.where(X == 0, -0.0, X)), found)
    assert len(np.unique(found)) == len(np.unique(X, axis=0))


@pytest.mark.parametrize("name", ["pixels", "dark on light", "two values"])
def test_a_sample_has_its_share_of_every_class(name):
    rows = choose_smallest(resolve("auto", None).hash_rows(TABLES[name]), 500)
    shares = np.bincount(DIGITS.target) / len(DIGITS.target)
    assert chisquare(np.bincount(DIGITS.target[rows]), 500 * shares).pvalue > 0.01


def test_of_equal_hashes_the_first_row_is_chosen():
    hashes = np.random.default_rng(0).integers(0, 2**60, 5000).astype(np.uint64)
    hashes[1::2] = hashes[1]  # half of the rows
    rows = choose_smallest(hashes, 100)
    assert len(np.unique(hashes[rows])) == 100
    assert len(choose_smallest(hashes, 4000)) == 2501
    assert choose_smallest(hashes, 4000).tolist().count(1) == 1
    np.testing.assert_array_equal(choose_smallest(hashes, 4000)[:100], rows)
