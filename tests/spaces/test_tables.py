"""Tables with columns of several kinds: ranks, dates, and what PCA says of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars
import pytest

import lowd
from cases import close, fit
from lowd.errors import ColumnTypeError, DataError
from lowd.input.entries import Table
from lowd.spaces import space_of

COLORS = [(7.1, "blue"), (8.3, "green"), (9.4, "black"), (7.6, "blue")]


def gower(table):
    """Distances of all rows."""
    return space_of(table, "gower").pairwise()


def test_ordered_categories_are_ranks():
    levels = ["small", "medium", "large"]
    names = ["small", "large", "medium"]
    frame = pd.DataFrame({"size": pd.Categorical(names, levels, ordered=True)})
    other = polars.DataFrame({"size": names}, schema={"size": polars.Enum(levels)})
    for table in (frame, other):
        D = gower(Table.read(table))
        np.testing.assert_allclose(D, [[0, 1, 0.5], [1, 0, 0.5], [0.5, 0.5, 0]])
    kept = Table.read(frame)
    with pytest.raises(DataError, match="'size', row 0"):
        Table.read(pd.DataFrame({"size": ["huge"]}), like=kept)


def test_dates_are_days_in_a_mixed_table():
    when = pd.to_datetime(["2020-01-01", "2020-01-11", None, "2020-01-06 12:00"], format="ISO8601")
    frame = pd.DataFrame({"when": when, "a": [0.0, 0, 0, 0]})
    expected = [[0, 0.5, 0, 0.275], [0.5, 0, 0, 0.225], [0, 0, 0, 0], [0.275, 0.225, 0, 0]]
    zoned = frame.assign(when=when.tz_localize("Asia/Tokyo"))
    rows = np.column_stack([when.to_numpy("M8[us]").astype(object), frame["a"].astype(object)])
    frames = frame, zoned, polars.from_pandas(frame), frame.astype({"when": object}), rows
    for made in frames:
        np.testing.assert_allclose(gower(Table.read(made)), expected)
    nanoseconds = when.to_numpy("M8[ns]")[[0, 1, 3], None]
    D = gower(Table.read(nanoseconds))
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
