"""The canonical order of samples: by content, whatever the order in which they come."""

from __future__ import annotations

import numpy as np
import pytest
from lowd.distances.gower import GowerDistances
from lowd.input.row_order import draw_samples, hash_objects, invert_order, order_rows
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from lowd.input.tables import Table

PERMUTATION = np.random.default_rng(0).permutation


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_are_sorted_by_column_after_column(dtype):
    X = np.random.default_rng(1).integers(-2, 3, (300, 6)).astype(dtype)
    np.testing.assert_array_equal(X[order_rows(X)], X[np.lexsort(X.T[::-1])])
    np.testing.assert_array_equal(order_rows(X), np.lexsort(X.T[::-1]))  # ties: as given


def test_many_tied_columns_and_duplicates():
    X = np.zeros((200, 90))
    X[:, 80:] = np.random.default_rng(2).integers(0, 2, (200, 10))
    np.testing.assert_array_equal(order_rows(X), np.lexsort(X.T[::-1]))


@pytest.mark.parametrize("seed", range(4))
def test_rows_that_agree_for_long(seed):
    """Pixels: mostly one value, some others, duplicates, and a last column that counts."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((400, 150)) < 0.02, rng.integers(-3, 4, (400, 150)), seed).astype(float)
    X = np.vstack([X, X[:50], X[:50]])
    X[-30:, -1] += 1
    X[:60, :100] = X[0, :100]
    expected = np.lexsort(X.T[::-1])
    np.testing.assert_array_equal(order_rows(X), expected)
    np.testing.assert_array_equal(order_rows(csr_array(X)), expected)
    np.testing.assert_array_equal(order_rows(X[:, [0] * 40]), np.argsort(X[:, 0], kind="stable"))


@pytest.mark.parametrize("kind", ["continuous", "pixels", "alike", "wide", "duplicates"])
def test_drawn_samples_are_the_same_in_any_order_and_dense_or_sparse(kind):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(500, 100))
    if kind == "pixels":
        X = np.where(rng.random(X.shape) < 0.1, X.round(), 0)
    if kind == "alike":  # but for columns that are compared last
        X[:, 3:] = np.where(np.arange(97) < 95, 0, X[:, 3:].round())
        X[:, :3] = 1
    if kind == "wide":
        X = np.where(rng.random((500, 3000)) < 0.001, 1.0, 0)
    if kind == "duplicates":
        X = X[rng.integers(0, 100, 500)]
    drawn = X[draw_samples(X, 60)]
    assert drawn.shape[0] == 60
    order = rng.permutation(len(X))
    again = X[order][draw_samples(X[order], 60)]
    np.testing.assert_array_equal(np.sort(again, axis=0), np.sort(drawn, axis=0))
    np.testing.assert_array_equal(draw_samples(csr_array(X), 60), draw_samples(X, 60))


def test_units_offsets_and_constant_columns_do_not_matter():
    X = np.random.default_rng(3).normal(size=(80, 4)).round(1)
    for other in (X * 1e30, X + 1e6, np.hstack([np.full((80, 1), 7.0), X]), X * [1, 2, 3, 4]):
        np.testing.assert_array_equal(order_rows(other), order_rows(X))
    D = cdist(X, X)
    np.testing.assert_array_equal(order_rows(square=[D * 1e30]), order_rows(square=[D]))


def test_sparse_rows_have_the_order_of_dense_ones():
    rng = np.random.default_rng(4)
    X = rng.integers(-2, 3, (200, 9)) * (rng.random((200, 9)) < 0.3)
    X = X.astype(float)
    np.testing.assert_array_equal(order_rows(csr_array(X)), order_rows(X))


def test_attached_numbers_break_ties_of_equal_rows():
    X, Y = np.zeros((40, 2)), np.random.default_rng(5).normal(size=(40, 2))
    np.testing.assert_array_equal(order_rows(X, attached=[Y]), order_rows(Y))


@pytest.mark.parametrize("name", ["distinct", "grid", "circle", "cube", "simplex", "duplicates"])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_permuted_matrix_has_the_same_canonical_form(name, sparse):
    rng = np.random.default_rng(6)
    angle = np.arange(30) * 2 * np.pi / 30
    points = {
        "distinct": rng.normal(size=(50, 3)),
        "grid": np.array([(i, j) for i in range(6) for j in range(6)], float),
        "circle": np.column_stack([np.cos(angle), np.sin(angle)]),
        "cube": np.array(np.meshgrid(*[[0.0, 1.0]] * 5)).reshape(5, -1).T,
        "simplex": np.eye(30),
        "duplicates": rng.integers(0, 2, (60, 4)).astype(float),
    }[name]
    D = cdist(points, points, "cityblock").round(9)
    order = rng.permutation(len(D))
    E = D[np.ix_(order, order)]
    ours, theirs = (order_rows(square=[csr_array(A) if sparse else A]) for A in (D, E))
    np.testing.assert_array_equal(D[np.ix_(ours, ours)], E[np.ix_(theirs, theirs)])
    if name == "distinct":
        np.testing.assert_array_equal(order[theirs], ours)


def test_missing_distances():
    D = cdist(*[np.random.default_rng(7).normal(size=(30, 2))] * 2)
    D[3, 8] = D[8, 3] = D[5, 6] = D[6, 5] = np.nan
    order = PERMUTATION(30)
    theirs = order_rows(square=[D[np.ix_(order, order)]])
    np.testing.assert_array_equal(order[theirs], order_rows(square=[D]))


def test_tables_with_missing_values():
    rows = [[1.0, "a"], [None, "b"], [1.0, "b"], [0.5, None], [None, "a"]]
    order = [3, 1, 4, 0, 2]
    ours = order_rows(Table.read(rows))
    theirs = order_rows(Table.read([rows[i] for i in order]))
    assert [order[i] for i in theirs] == list(ours)
    assert GowerDistances.of(Table.read(rows), None).take(ours).table.numbers[0, 0] == 0.5


def test_objects_are_distinguished_by_content():
    words = ["b", "a", "b", ("a", 1), ("a", 2.0), {"x", "y"}, np.arange(3), None, 5]
    keys = hash_objects(words)
    assert keys[0] == keys[2]
    assert len(set(keys.tolist())) == len(words) - 1
    assert hash_objects([{"y", "x"}]) == keys[5]
    assert hash_objects([object(), object()]).tolist() == [0, 0]  # as given


def test_the_inverse_of_an_order():
    order = PERMUTATION(20)
    X = np.arange(20)
    np.testing.assert_array_equal(X[order][invert_order(order)], X)
