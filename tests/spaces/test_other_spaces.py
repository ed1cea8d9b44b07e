"""Objects with a callable metric, matrices of distances, mixed tables."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from case_data import edit_distance, manhattan_distance, rows_like
from cases import same_bits
from lowd.errors import DataError, MetricWarning, ParameterError
from lowd.input.entries import Table
from lowd.neighbor_graph import NeighborsTransformer
from lowd.spaces import Matrix, Objects, space_of

WORDS = ["tree", "three", "there", "here", "her", "hero", "zero", "tree", "trees", "ether"]


# -- objects ---------------------------------------------------------------------------------------


def test_objects_with_a_metric():
    D = np.array([[edit_distance(a, b) for b in WORDS] for a in WORDS])
    space = space_of(WORDS, edit_distance)
    assert isinstance(space, Objects)
    same_bits(space.pairwise(), D)
    same_bits(space.distances(np.array([3, 1])), D[[3, 1]])
    same_bits(space.toward(["hers"])[0], np.array([edit_distance("hers", b) for b in WORDS]))
    np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :4]
    np.testing.assert_array_equal(space.nearest(4).table[0], order)
    np.testing.assert_array_equal(space.within(1.0).counts, (D <= 1).sum(1))
    assert space.query(["hers", "tre"], 2).table[0].tolist() == [[3, 4], [0, 7]]
    part = space.take(np.array([4, 2]))
    same_bits(part.pairwise(), np.array([[0.0, D[4, 2]], [D[2, 4], 0.0]]))
    again = pickle.loads(pickle.dumps(space.kept()))
    same_bits(again.toward(["hers"]), space.toward(["hers"]))
    assert "matrix" not in vars(again)


def test_each_pair_is_measured_once():
    """Besides a few in both directions, which must agree; landmarks measure their own only."""
    calls = []

    def metric(a, b, scale):
        calls.append((a, b))
        return scale * abs(a - b)

    items = list(range(60))
    space = space_of(items, metric, {"scale": 2.0})
    space.distances(np.array([5]))
    assert len(calls) == 60
    calls.clear()
    space.nearest(3)
    space.within(4.0)
    space.pairwise()
    space.take(np.arange(30)).pairwise()
    assert len(calls) == 60 * 59 // 2 + 60 + 1000
    same_bits(space.pairwise()[7], 2.0 * np.abs(7 - np.arange(60.0)))


def test_rows_with_a_callable_metric():
    X, Q = rows_like(40, 3, 0, np.float32), rows_like(5, 3, 1, np.float32)
    space = space_of(X, manhattan_distance, {"scale": 3.0})
    D = space.toward(Q)
    assert D.dtype == np.float64
    np.testing.assert_allclose(D, 3 * cdist(Q.astype(float), X.astype(float), "cityblock"))
    assert space.rows is None  # they have no geometry but that of the metric


@pytest.mark.parametrize(
    ("metric", "sentence"),
    [
        (lambda a, b: abs(a - b) + 1, r"gives 1 for object 0 and itself, not 0.*similarity s"),
        (lambda a, b: max(a - b, 0), r"not symmetric: 1 for objects \(1, 0\) but 0 for \(0, 1\)"),
        (lambda a, b: -abs(a - b), r"gave -1.0 for objects 1 and 0; a distance is finite and not"),
        (lambda a, b: np.nan, r"gave nan for objects 1 and 0"),  # noqa: ARG005
        (lambda a, b: [a, b], r"gave \[1, 0\] for objects 1 and 0; a distance is one number"),
    ],
)
def test_what_is_not_a_metric(metric, sentence):
    with pytest.raises(DataError, match=sentence):
        space_of(list(range(50)), metric).nearest(2)


def test_an_asymmetric_metric_of_many_objects_is_noticed():
    with pytest.raises(DataError, match="not symmetric"):
        space_of(list(range(120)), lambda a, b: abs(a - b) + 0.01 * (a > b)).nearest(2)


def test_an_error_of_the_metric_names_the_objects():
    with pytest.raises(ZeroDivisionError) as caught:
        space_of([0, 1], lambda a, b: a / b).nearest(1)
    assert "objects 1 and 0" in caught.value.__notes__[0]


def test_an_order_of_objects_by_content():
    items = [*WORDS, ("a", 1), ["a", 2], {"x", "y"}, np.arange(3), 2.5]
    order = np.random.default_rng(0).permutation(len(items))
    one = space_of(items, edit_distance)
    two = space_of([items[i] for i in order], edit_distance)
    same_bits(two.fingerprint(), one.fingerprint()[order])
    assert len(np.unique(one.fingerprint())) == len(items) - 1  # a word is there twice


# -- matrices --------------------------------------------------------------------------------------


def test_a_matrix_of_distances(dtype):
    X, Q = rows_like(200, 4), rows_like(9, 4, 1)
    D, E = cdist(X, X).astype(dtype), cdist(Q, X).astype(dtype)
    space = space_of(D, "precomputed")
    assert isinstance(space, Matrix)
    assert space.dtype == dtype
    same_bits(space.pairwise(), D)
    same_bits(space.toward(E), E)
    points = np.random.default_rng(0).permutation(200)[:150]
    part = space.take(points)
    same_bits(part.pairwise(), D[np.ix_(points, points)])
    same_bits(part.toward(E), E[:, points])
    same_bits(part.take(np.arange(9)).toward(E), E[:, points[:9]])
    kept = pickle.loads(pickle.dumps(part.kept()))
    same_bits(kept.query(E, 3).indices, part.query(E, 3).indices)
    assert kept.D is None
    far = np.where(np.eye(200), np.inf, D)
    same_bits(space.nearest(6).table[0], np.argsort(far, axis=1, kind="stable")[:, :6].astype("i4"))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda D: D[:4], r"needs a square matrix of n_samples x n_samples, got shape \(4, 9\)"),
        (lambda D: D - 0.5, r"Negative values in data: the distance at row 0, column 0 is -0.5"),
        (lambda D: D + np.eye(9), "the distance of row . to itself is 1, not 0"),
        (lambda D: D + np.tri(9, k=-1), r"needs a symmetric matrix: entry \(., .\) is"),
        (lambda D: np.where(np.eye(9) > 0, np.nan, D), "NaN at row 0, column 0; every entry"),
        (lambda D: np.where(D[2, 5] == D, np.inf, D), r"infinity \(inf\) at row 2, column 5"),
    ],
)
def test_what_is_not_a_matrix_of_distances(change, sentence):
    D = cdist(rows_like(9, 3), rows_like(9, 3))
    with pytest.raises(DataError, match=sentence):
        NeighborsTransformer(n_neighbors=2, metric="precomputed").fit(change(D))


def test_rounding_is_made_symmetric_and_new_rows_are_not_negative():
    D = cdist(rows_like(9, 3), rows_like(9, 3)) * (1 + 1e-12 * np.tri(9))
    np.fill_diagonal(D, 0)
    model = NeighborsTransformer(n_neighbors=2, metric="precomputed").fit(D)
    with pytest.raises(DataError, match="row 1, column 2 is -3"):
        model.transform(np.where(np.arange(18).reshape(2, 9) == 11, -3.0, 1.0))


def test_squared_distances_are_suspicious():
    D = cdist(rows_like(60, 2), rows_like(60, 2), "sqeuclidean")
    with pytest.warns(MetricWarning, match="squared distances") as caught:
        NeighborsTransformer(n_neighbors=2, metric="precomputed").fit(D)
    assert len(caught) == 1


def test_missing_distances_are_the_farthest():
    X = rows_like(30, 3)
    D = cdist(X, X)
    D[2, 5] = D[5, 2] = np.nan
    space = space_of(D, "precomputed")
    same_bits(space.pairwise(), D)
    assert 5 not in space.nearest(28).table[0][2]
    assert 5 in space.nearest(29).table[0][2]
    order = np.random.default_rng(0).permutation(30)
    mixed = space_of(D[np.ix_(order, order)], "precomputed")
    same_bits(mixed.fingerprint(), space.fingerprint()[order])
    new = np.where(np.arange(30) == 4, np.nan, 1.0)[None]
    assert 4 not in space.query(new, 29).indices


@pytest.mark.parametrize("n", [4, 9, 30, 300])
def test_an_order_of_a_matrix_whatever_the_order_of_its_rows(n):
    """Also of symmetric points: a ring, a grid, all equal distances, and duplicates."""
    angle = 2 * np.pi * np.arange(n) / n
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    grid = np.stack(np.meshgrid(np.arange(n // 3), np.arange(3)), -1).reshape(-1, 2)
    twins = np.vstack([rows_like(n // 2, 2), rows_like(n // 2, 2)])
    rng = np.random.default_rng(0)
    for X in (ring, grid, twins, rows_like(n, 2)):
        D = cdist(X, X).round(9)
        order = rng.permutation(len(X))
        one = space_of(D, "precomputed")
        two = space_of(D[np.ix_(order, order)], "precomputed")
        first, second = one.order(), two.order()
        if X is ring or X is grid:  # which of symmetric points comes first does not matter
            same_bits(D[np.ix_(first, first)], two.pairwise()[np.ix_(second, second)])
        else:
            same_bits(two.fingerprint(), one.fingerprint()[order])
    equal = 1 - np.eye(n)
    assert sorted(space_of(equal, "precomputed").order()) == list(range(n))


# -- tables ----------------------------------------------------------------------------------------

COLORS = [(7.1, "blue"), (8.3, "green"), (9.4, "black"), (7.6, "blue")]


def gower(rows, **params):
    frame = pd.DataFrame(rows, columns=[f"c{j}" for j in range(len(rows[0]))])
    return space_of(Table.read(frame), "gower", params)


def test_gower_by_hand():
    D = gower(COLORS[:3]).pairwise()
    np.testing.assert_allclose(D[[0, 0, 1], [1, 2, 2]], [0.760870, 1, 0.739130], atol=5e-7)
    D = gower(COLORS).pairwise()
    np.testing.assert_allclose(D[:3, 3], [0.108696, 0.652174, 0.891304], atol=5e-7)
    H = np.eye(4) - 1 / 4
    plain = np.linalg.eigvalsh(-0.5 * H @ D**2 @ H)
    assert plain.min() == pytest.approx(-0.001306, abs=5e-7)
    root = np.linalg.eigvalsh(-0.5 * H @ D @ H)[::-1]
    np.testing.assert_allclose(root, [0.642800, 0.343630, 0.051613, 0], atol=5e-7)


def test_gower_of_new_rows():
    """Training ranges are kept: beyond them a difference counts as whole; unseen is unequal."""
    frame = pd.DataFrame(COLORS[:3], columns=["c0", "c1"])
    table = Table.read(frame)
    space = space_of(table, "gower")
    new = pd.DataFrame([(20.0, "blue"), (7.1, "pink"), (9.4, "black")], columns=["c0", "c1"])
    Q = Table.read(new, like=table)
    D = space.toward(Q)
    np.testing.assert_allclose(D[0], [0.5, 1, 1], atol=1e-9)
    np.testing.assert_allclose(D[1], [0.5, 0.760870, 1], atol=5e-7)
    assert D[2, 2] == 0
    assert space.query(Q, 1).indices.tolist() == [0, 0, 2]
    again = pickle.loads(pickle.dumps(space))
    same_bits(again.toward(Q), D)


def test_gower_weights_missing_values_and_constants():
    rows = [(1.0, "a", 5.0), (3.0, "b", 5.0), (np.nan, "a", 5.0), (2.0, None, 5.0)]
    D = gower(rows).pairwise()
    assert D[0, 1] == pytest.approx((1 + 1 + 0) / 3)
    assert D[0, 2] == 0  # a and the constant agree; the number is unknown
    assert D[1, 2] == pytest.approx(1 / 2)
    assert D[0, 3] == pytest.approx(0.5 / 2)
    weighted = gower(rows, weights=[4, 1, 1]).pairwise()
    assert weighted[0, 1] == pytest.approx(5 / 6)
    assert weighted[0, 3] == pytest.approx(4 * 0.5 / 5)
    assert gower(rows[:2], weights=[2, 1, 0]).pairwise()[0, 1] == 1
    with pytest.raises(DataError, match="rows 0 and 1 share no column"):
        gower([(np.nan, "a"), (1.0, None)]).pairwise()
    for weights in ([1, 2], [1, -1, 0], [0, 0, 0]):
        with pytest.raises(ParameterError, match="needs 3 numbers >= 0, not all 0"):
            gower(rows, weights=weights)


def test_an_order_of_a_table_by_content():
    rows = [(float(i % 7), "abc"[i % 3], float(i // 5)) for i in range(50)]
    order = np.random.default_rng(0).permutation(50)
    one, two = gower(rows), gower([rows[i] for i in order])
    same_bits(two.fingerprint(), one.fingerprint()[order])
    some = np.array([4, 9])
    same_bits(one.take(some).pairwise(), one.pairwise()[np.ix_(some, some)])
