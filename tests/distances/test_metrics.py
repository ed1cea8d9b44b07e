"""Distances as a service: every metric against SciPy, mixed tables, rows without information."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars
import pytest
from lowd.distances.corrections import correct_distances
from lowd.distances.metrics import distances_of
from scipy.spatial.distance import cdist

import lowd
from case_data import rows_like
from cases import close, fit
from lowd.backends import resolve
from lowd.errors import ColumnTypeError, DataError
from lowd.input.tables import Table
from lowd.input.validation import Data

COLORS = [(7.1, "blue"), (8.3, "green"), (9.4, "black"), (7.6, "blue")]


def relation(X, metric, **params):
    return distances_of(Data(X, getattr(X, "dtype", np.dtype(np.float64))), metric, params)


@pytest.mark.parametrize(
    ("metric", "params", "peer"),
    [
        ("euclidean", {}, {"metric": "euclidean"}),
        ("sqeuclidean", {}, {"metric": "sqeuclidean"}),
        ("cosine", {}, {"metric": "cosine"}),
        ("correlation", {}, {"metric": "correlation"}),
        ("manhattan", {}, {"metric": "cityblock"}),
        ("chebyshev", {}, {"metric": "chebyshev"}),
        ("minkowski", {"p": 3}, {"metric": "minkowski", "p": 3}),
        ("minkowski", {"p": 1.5}, {"metric": "minkowski", "p": 1.5}),
        ("minkowski", {}, {"metric": "euclidean"}),
        ("hamming", {}, {"metric": "hamming"}),
        ("jaccard", {}, {"metric": "jaccard"}),
    ],
    ids=str,
)
def test_same_as_scipy(metric, params, peer):
    for dtype in (np.float64, np.float32):
        check_metric(metric, params, peer, dtype)


def check_metric(metric, params, peer, dtype):
    X, Q = rows_like(40, 9, 1, dtype), rows_like(13, 9, 2, dtype)
    if metric in ("hamming", "jaccard"):
        X, Q = (np.round(A) % 2 for A in (X, Q))
        X[:, 0] = Q[:, 0] = 1  # no empty sets
    found = relation(X, metric, **params)
    ops = resolve("auto", 1)
    kinds = [A.astype(bool) if metric == "jaccard" else A.astype(np.float64) for A in (X, Q)]
    expected = [cdist(A, kinds[0], **peer) for A in kinds]
    D = found.among(ops)
    assert D.dtype == dtype
    close(D, expected[0], dtype, 0.1)
    close(found.toward(Q, ops), expected[1], dtype, 0.1)
    assert (np.diagonal(D) == 0).all()
    np.testing.assert_array_equal(D, D.T)
    part = found.take(np.array([3, 5]))
    close(part.toward(Q, ops), expected[1][:, [3, 5]], dtype, 0.1)


def test_small_angles_keep_their_digits():
    """1 - cos of nearly parallel rows, which cancels in the textbook formula."""
    a = np.array([[1.0, 0.0]])
    b = np.array([[1.0, 1e-7]])
    found = relation(a, "cosine").toward(b, resolve("auto", 1))
    assert found[0, 0] == pytest.approx(0.5e-14, rel=1e-6)


# -- mixed tables ------------------------------------------------------------------------------


def gower(rows, **params):
    frame = pd.DataFrame(rows, columns=[f"c{j}" for j in range(len(rows[0]))])
    return relation(Table.read(frame), "gower", **params)


def test_gower_by_hand():
    ops = resolve("reference", 1)
    D = gower(COLORS[:3]).among(ops)
    np.testing.assert_allclose(D[[0, 0, 1], [1, 2, 2]], [0.760870, 1, 0.739130], atol=5e-7)
    D = gower(COLORS).among(ops)
    np.testing.assert_allclose(D[:3, 3], [0.108696, 0.652174, 0.891304], atol=5e-7)
    H = np.eye(4) - 1 / 4
    plain = np.linalg.eigvalsh(-0.5 * H @ D**2 @ H)
    assert plain.min() == pytest.approx(-0.001306, abs=5e-7)
    root = np.linalg.eigvalsh(-0.5 * H @ D @ H)[::-1]
    np.testing.assert_allclose(root, [0.642800, 0.343630, 0.051613, 0], atol=5e-7)


def test_gower_of_new_rows():
    """Training ranges are kept: beyond them a difference counts as whole; unseen is unequal."""
    ops = resolve("reference", 1)
    relation_ = gower(COLORS[:3])
    frame = pd.DataFrame([(20.0, "blue"), (7.1, "pink"), (9.4, "black")], columns=["c0", "c1"])
    new = Table.read(frame, like=relation_.table)
    D = relation_.toward(new, ops)
    np.testing.assert_allclose(D[0], [0.5, 1, 1], atol=1e-9)
    np.testing.assert_allclose(D[1], [0.5, 0.760870, 1], atol=5e-7)
    assert D[2, 2] == 0


def test_gower_weights_missing_values_and_constants():
    ops = resolve("reference", 1)
    rows = [(1.0, "a", 5.0), (3.0, "b", 5.0), (np.nan, "a", 5.0), (2.0, None, 5.0)]
    D = gower(rows).among(ops)
    assert D[0, 1] == pytest.approx((1 + 1 + 0) / 3)
    assert D[0, 2] == 0  # a and the constant agree; the number is unknown
    assert D[1, 2] == pytest.approx(1 / 2)
    assert D[0, 3] == pytest.approx(0.5 / 2)
    weighted = gower(rows, weights=[4, 1, 1]).among(ops)
    assert weighted[0, 1] == pytest.approx(5 / 6)
    assert weighted[0, 3] == pytest.approx(4 * 0.5 / 5)
    without = gower(rows[:2], weights=[2, 1, 0]).among(ops)
    assert without[0, 1] == 1
    with pytest.raises(DataError, match="rows 0 and 1 share no column"):
        gower([(np.nan, "a"), (1.0, None)]).among(ops)


def test_ordered_categories_are_ranks():
    levels = ["small", "medium", "large"]
    names = ["small", "large", "medium"]
    frame = pd.DataFrame({"size": pd.Categorical(names, levels, ordered=True)})
    ops = resolve("reference", 1)
    other = polars.DataFrame({"size": names}, schema={"size": polars.Enum(levels)})
    for table in (frame, other):
        D = relation(Table.read(table), "gower").among(ops)
        np.testing.assert_allclose(D, [[0, 1, 0.5], [1, 0, 0.5], [0.5, 0.5, 0]])
    kept = Table.read(frame)
    with pytest.raises(DataError, match="'size', row 0"):
        Table.read(pd.DataFrame({"size": ["huge"]}), like=kept)


def test_dates_are_days_in_a_mixed_table():
    when = pd.to_datetime(["2020-01-01", "2020-01-11", None, "2020-01-06 12:00"], format="ISO8601")
    frame = pd.DataFrame({"when": when, "a": [0.0, 0, 0, 0]})
    expected = [[0, 0.5, 0, 0.275], [0.5, 0, 0, 0.225], [0, 0, 0, 0], [0.275, 0.225, 0, 0]]
    ops = resolve("reference", None)
    zoned = frame.assign(when=when.tz_localize("Asia/Tokyo"))
    rows = np.column_stack([when.to_numpy("M8[us]").astype(object), frame["a"].astype(object)])
    frames = frame, zoned, polars.from_pandas(frame), frame.astype({"when": object}), rows
    for made in frames:
        np.testing.assert_allclose(relation(Table.read(made), "gower").among(ops), expected)
    nanoseconds = when.to_numpy("M8[ns]")[[0, 1, 3], None]
    D = relation(Table.read(nanoseconds), "gower").among(ops)
    np.testing.assert_allclose(D, [[0, 1, 0.55], [1, 0, 0.45], [0.55, 0.45, 0]])
    kept = Table.read(frame)
    with pytest.raises(DataError, match="'when' held dates in training, now row 0: 5"):
        Table.read(pd.DataFrame({"when": [5], "a": [1.0]}), like=kept)
    lasting = Table.read(pd.DataFrame({"when": when - when[0]}))
    assert lasting.kinds == ("duration",)
    assert lasting.numbers[1, 0] == 10


def test_a_mixed_table_is_refused_then_mapped():
    frame = pd.DataFrame(COLORS, columns=["price", "color"])
    with pytest.raises(ColumnTypeError, match="'color'") as refusal:
        lowd.PCA(1).fit(frame)
    assert "metric='gower'" in str(refusal.value)
    model = fit(lowd.ClassicalMDS(2, metric="gower"), frame)
    close(model.transform(frame), model.embedding_)
    blues = model.embedding_[[0, 3]]
    assert np.linalg.norm(blues[0] - blues[1]) < np.linalg.norm(blues[0] - model.embedding_[1])
    with pytest.raises(DataError, match=r"\['color'\].*missing"):
        model.transform(frame[["price"]])
    with pytest.raises(DataError, match=r"\['extra'\]"):
        model.transform(frame.assign(extra=1))
    shuffled = frame[["color", "price"]]
    close(model.transform(shuffled), model.embedding_)
    with pytest.raises(DataError, match="'price' held numbers"):
        model.transform(frame.assign(price="cheap"))
    with pytest.raises(DataError, match="infinity at row 1"):
        model.transform(frame.assign(price=[1.0, np.inf, 2.0, 3.0]))


def test_corrections_leave_duplicates_together():
    """A constant is added to distances between different points only."""
    X = np.vstack([rows_like(20, 3), rows_like(20, 3)[:2]])
    ops = resolve("auto", 1)
    for how in ("lingoes", "cailliez"):
        base = relation(X, "chebyshev")
        shifted, constant = correct_distances(base, how, ops)
        D = shifted.among(ops)
        assert constant > 0
        assert D[0, 20] == 0
        assert (np.diagonal(D) == 0).all()
        np.testing.assert_allclose(shifted.toward(X[:3], ops), D[:3], atol=1e-12)
    assert correct_distances(base, "none", ops) == (base, 0.0)
