"""The order of points by their content: whatever the order in which they come, and their units."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import lowd
from lowd.blocks import RowBlocks
from lowd.spaces import Rows, space_of
from lowd.spaces.matrices import column_range


@pytest.fixture
def rows(rng):
    return rng.normal(size=(300, 6)) * 2.0 ** np.arange(6)


def test_permuted_rows_have_the_permuted_order(rows, rng):
    rows[5] = rows[9]
    for X in (rows, np.round(rows)):  # which has many ties
        shuffled = rng.permutation(len(X))
        same = X[space_of(X).order()] == X[shuffled][space_of(X[shuffled]).order()]
        assert same.all()


@pytest.mark.parametrize("unit", [2.0**-40, 1e-30, 1000.0, 1e30])
def test_units_do_not_matter(rows, unit):
    np.testing.assert_array_equal(space_of(rows * unit).order(), space_of(rows).order())


def test_offsets_and_constant_columns_do_not_matter(rows):
    expected = space_of(rows).order()
    np.testing.assert_array_equal(space_of(rows + 1e6).order(), expected)
    for constant in (0.0, 1e15, 1e300):
        more = np.insert(rows, 2, constant, axis=1)
        np.testing.assert_array_equal(space_of(more).order(), expected)
        if constant < 1e300:
            np.testing.assert_array_equal(space_of(csr_array(more)).order(), expected)
    np.testing.assert_array_equal(space_of(csr_array(rows)).order(), expected)


def test_numbers_beyond_all_sums_have_an_order_nevertheless(rng):
    X = rng.uniform(-1, 1, size=(40, 3)) * 1e308
    shuffled = rng.permutation(40)
    one, other = Rows(X), Rows(X[shuffled])
    np.testing.assert_array_equal(X[one.order()], X[shuffled][other.order()])


def test_rows_in_blocks_have_the_order_of_rows_in_memory(rows, tmp_path):
    np.save(tmp_path / "rows.npy", rows)
    blocks = RowBlocks.of(lowd.open_blocks(tmp_path / "rows.npy", block_rows=70))
    np.testing.assert_array_equal(space_of(blocks).order(), space_of(rows).order())


def test_what_else_is_known_parts_equal_rows(rows, rng):
    X = np.vstack([rows, rows])
    start = rng.normal(size=(600, 2))
    shuffled = rng.permutation(600)
    one = space_of(X).order(start)
    other = space_of(X[shuffled]).order(start[shuffled])
    np.testing.assert_array_equal(start[one], start[shuffled][other])


@pytest.mark.parametrize("shape", [(1, 3), (2, 3), (5001, 7), (700, 300), (3, 5000)])
def test_the_range_of_columns(shape, rng):
    X = rng.normal(size=shape)
    least, most = column_range(X)
    np.testing.assert_array_equal(least, X.min(0))
    np.testing.assert_array_equal(most, X.max(0))
