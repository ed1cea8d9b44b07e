"""What may be passed in: types, memory orders, tables; and how anything else is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from scipy.sparse import csr_array

import lowd
from case_data import rows_like
from cases import BY_NAME, FIRST, close, each, fit, fitted, invertible, same_bits
from lowd.errors import ColumnTypeError, DataError, UnsupportedError

# Input is validated above all routes: one case of each method is enough.
every_method = each(FIRST)


def _memory_orders(A):
    """The same numbers, laid out otherwise."""
    n, d = A.shape
    tall = np.zeros((2 * n, d), A.dtype)
    tall[::2] = A
    reversed_rows = A[::-1].copy()[::-1]
    reversed_columns = A[:, ::-1].copy()[:, ::-1]
    swapped = A.astype(A.dtype.newbyteorder())
    padded = np.zeros((n, d + 3), A.dtype)
    padded[:, :d] = A
    return {
        "every other row": tall[::2],
        "rows backwards": reversed_rows,
        "columns backwards": reversed_columns,
        "wider rows": padded[:, :d],
        "other byte order": swapped,
        "subclass": A.view(_Subclass),
    }


class _Subclass(np.ndarray):
    pass


@each(FIRST, float32=FIRST[:1])
def test_any_memory_order(case, dtype):
    X, Q = case.data(dtype)
    expected = fitted(case, dtype).transform(Q)
    orders = _memory_orders(X)
    others = _memory_orders(Q)
    for name, laid_out in orders.items():
        Y = fit(case.model(), laid_out).transform(others[name])
        assert Y.dtype == dtype, name
        same_bits(Y, expected)


@each(FIRST, float32=FIRST)
def test_new_rows_keep_their_type(case, dtype):
    Q, model = case.data(dtype)[1], fitted(case, dtype)
    # New rows decide their own type, whatever the model was trained on.
    other = np.float32 if dtype == np.float64 else np.float64
    assert model.transform(Q.astype(other)).dtype == other
    close(model.transform(Q.astype(other)), model.transform(Q), np.float32)


@every_method
@pytest.mark.filterwarnings("ignore::lowd.errors.DisconnectedGraphWarning")  # of a small radius
def test_integers_booleans_and_half_precision(case):
    X, Q = (np.round(4 * A).astype(np.int64) for A in case.data())
    expected = fit(case.model(), X.astype(float)).transform(Q.astype(float))
    for kind in (np.int64, np.int32, np.int16, np.int8, np.float16):
        Y = fit(case.model(), X.astype(kind)).transform(Q.astype(kind))
        assert Y.dtype == (np.float64 if np.issubdtype(kind, np.integer) else Y.dtype)
        close(Y, expected, Y.dtype)


def test_booleans_count_as_numbers(rng):
    X = rng.random((30, 6)) < 0.5
    close(
        lowd.PCA(2).fit_transform(X),
        lowd.PCA(2).fit_transform(X.astype(float)),
    )


def test_mixed_tables_from_three_libraries():
    X, Q = BY_NAME["MDS-gower"].data()
    levels = list(X["size"].cat.categories)

    def to_polars(A):
        return polars.from_pandas(A.astype({"size": str})).with_columns(
            polars.col("size").cast(polars.Enum(levels))
        )

    expected = fit(lowd.ClassicalMDS(metric="gower"), X).transform(Q)
    model = fit(lowd.ClassicalMDS(metric="gower"), to_polars(X))
    close(model.transform(to_polars(Q)), expected)
    # Arrow has no ordered levels that survive a trip, so compare without that column.
    X, Q = X.drop(columns="size"), Q.drop(columns="size")
    expected = fit(lowd.ClassicalMDS(metric="gower"), X).transform(Q)
    tables = [pyarrow.Table.from_pandas(A, preserve_index=False) for A in (X, Q)]
    model = fit(lowd.ClassicalMDS(metric="gower"), tables[0])
    close(model.transform(tables[1]), expected)
    rows = [A.astype(object).to_numpy() for A in (X, Q)]
    model = fit(lowd.ClassicalMDS(metric="gower"), rows[0])
    close(model.transform(rows[1]), expected)


NOT_FINITE = {"NaN": np.nan, "inf": np.inf, "-inf": -np.inf}


MATRICES = [BY_NAME[f"{name}-precomputed"] for name in ("MDS", "KernelPCA", "Isomap")]


@each([*FIRST, *MATRICES])
def test_what_is_not_finite_is_named_by_row_and_column(case):
    for name, bad in NOT_FINITE.items():
        X, Q = (np.array(A) for A in case.data())
        X[17, 5] = Q[17, 5] = bad
        model = case.model()
        for call, given in ((model.fit, X), (model.fit_transform, X), (fitted(case).transform, Q)):
            with pytest.raises(DataError, match="row 17, column 5") as refusal:
                call(given)
            assert name in str(refusal.value)
        assert not hasattr(model, "n_components_")


@each([case for case in FIRST if invertible(case)])
def test_coordinates_that_are_not_finite_are_named_too(case):
    model, Q = fitted(case), case.data()[1]
    for bad in NOT_FINITE.values():
        Y = np.zeros((4, model.transform(Q).shape[1]))
        Y[2, 1] = bad
        with pytest.raises(DataError, match="row 2, column 1"):
            model.inverse_transform(Y)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_in_a_column_without_weight(bad, dtype):
    """A constant column has loading zero, and still must not hide what is in it."""
    X = rows_like(30, 4, dtype=dtype)
    X[:, 2] = 5
    model = lowd.PCA(2).fit(X)
    X[7, 2] = bad
    with pytest.raises(DataError, match="row 7, column 2"):
        model.transform(X)


def test_nan_in_a_frame_is_named_by_its_column():
    X = pd.DataFrame(rows_like(20, 3), columns=["weight", "length", "age"])
    X.loc[4, "length"] = np.nan
    with pytest.raises(DataError, match=r"row 4, column 1 \('length'\)"):
        lowd.PCA(2).fit(X)


def test_nan_in_a_nullable_frame():
    X = pd.DataFrame({"a": [1, 2, None, 4], "b": [1.0, 2.0, 5.0, 4.0]}).convert_dtypes()
    with pytest.raises(DataError, match=r"row 2, column 0"):
        lowd.PCA(1).fit(X)


@pytest.mark.parametrize(("bad", "named"), [(np.nan, "nan"), (np.inf, "inf"), (-1.0, "-1")])
def test_weights_are_named_by_row(bad, named):
    weights = np.ones(20)
    weights[7] = bad
    with pytest.raises(DataError, match=f"sample_weight of row 7 is {named}"):
        lowd.PCA(2).fit(rows_like(20), sample_weight=weights)


def test_weights_of_another_length_or_all_zero():
    with pytest.raises(DataError, match=r"expected \(20,\), got \(19,\)"):
        lowd.PCA(2).fit(rows_like(20), sample_weight=np.ones(19))
    with pytest.raises(DataError, match="all weights are zero"):
        lowd.PCA(2).fit(rows_like(20), sample_weight=np.zeros(20))


def test_gaps_in_sparse_data_are_named():
    X = csr_array(np.diag(np.arange(1.0, 9)))
    X.data[4] = np.nan
    with pytest.raises(DataError, match="row 4, column 4"):
        lowd.PCA(2).fit(X)


@every_method
def test_text_is_named(case):
    X, _ = case.data()
    frame = pd.DataFrame(X)
    frame.columns = [f"c{j}" for j in range(X.shape[1])]
    frame["color"] = "red"
    frame["size"] = pd.Categorical(["big"] * len(X))
    for made in (frame, polars.from_pandas(frame.astype({"size": str}))):
        with pytest.raises(ColumnTypeError, match="'color', 'size'") as refusal:
            case.model().fit(made)
        assert "gower" in str(refusal.value)
    objects = X.astype(object)
    objects[3, 2] = "a word"
    for made in (objects, objects.tolist()):
        with pytest.raises((ColumnTypeError, DataError), match="row 3, column 2 holds 'a word'"):
            case.model().fit(made)
    assert issubclass(ColumnTypeError, TypeError)


@every_method
def test_text_and_dates_are_not_read_as_numbers(case):
    """NumPy makes 1.5 of the text '1.5', and -9.2e18 of a missing date."""
    X, _ = case.data()
    dates = np.datetime64("2020-01-01", "s") + (X * 1000).astype("timedelta64[s]")
    gap, mixed, one_date, one_gap = dates.copy(), *(X.astype(object) for _ in range(3))
    gap[4, 2] = one_gap[7, 1] = np.datetime64("NaT")
    mixed[5, 1] = "1.5"
    one_date[6, 3] = pd.Timestamp("2020-01-01")
    refused = {
        "row 0, column 0 holds '": X.astype(str),
        "row 0, column 0 holds b'": X.astype("S"),
        "row 5, column 1 holds '1.5', which is text": mixed,
        "row 0, column 0 holds the date or duration 2020": dates,
        "row 0, column 0 holds the date or duration 0 sec": dates - dates[0, 0],
        "row 4, column 2 holds NaT": gap,
        "row 6, column 3 holds the date or duration 2020": one_date,
        "row 7, column 1 holds NaT": one_gap,
    }
    model = fitted(case)
    for words, made in refused.items():
        for call in (case.model().fit, model.transform):
            with pytest.raises(ColumnTypeError, match=words):
                call(made)
    with pytest.raises(ColumnTypeError, match=r"row 5, column 1 holds '1.5'"):
        case.model().fit(mixed.tolist())
    frame = pd.DataFrame(X).rename(columns=str)
    frame["when"] = dates[:, 0]
    frame["since"] = (dates - dates[0, 0])[:, 0]
    for made in (frame, frame.astype({"when": object}), polars.from_pandas(frame)):
        with pytest.raises(ColumnTypeError, match="'when', 'since' hold dates") as refusal:
            case.model().fit(made)
        assert "total_seconds" in str(refusal.value)


def test_other_arguments_that_are_no_numbers_are_refused():
    X = rows_like(20)
    ages = np.arange(20).astype("timedelta64[D]")
    with pytest.raises(ColumnTypeError, match="sample_weight needs numbers, but row 0 holds"):
        lowd.PCA(1).fit(X, sample_weight=ages)
    with pytest.raises(ColumnTypeError, match="weights needs numbers"):
        lowd.MDS(weights=np.ones((20, 20)).astype(str)).fit(X)
    with pytest.raises(ColumnTypeError, match="init needs numbers"):
        lowd.MDS(init=X[:, :2].astype(str)).fit(X)
    with pytest.raises(ColumnTypeError, match="inverse_transform needs numbers, but row 0"):
        lowd.PCA(2).fit(X).inverse_transform(X[:, :2].astype(str))
    with pytest.raises(ColumnTypeError, match="structured_to_unstructured"):
        lowd.PCA(1).fit(np.zeros(5, [("a", float), ("b", float)]))


@each([case for case in FIRST if invertible(case)])
def test_wrong_width_of_coordinates(case):
    model, Q = fitted(case), case.data()[1]
    k = model.transform(Q).shape[1]
    with pytest.raises(DataError, match=f"{k + 1} columns, but the map has {k}"):
        model.inverse_transform(np.zeros((2, k + 1)))


@pytest.mark.parametrize("source", ["distances", "kernel"])
def test_wrong_width_of_relations(source):
    name = "MDS-precomputed" if source == "distances" else "KernelPCA-precomputed"
    X, Q = BY_NAME[name].data()
    model = fit(BY_NAME[name].model(), X)
    with pytest.raises(DataError, match=r"59.*60"):
        model.transform(Q[:, 1:])
    with pytest.raises(DataError, match=r"square matrix.*\(60, 59\)"):
        BY_NAME[name].model().fit(X[:, 1:])


@every_method
def test_too_few_or_no_rows(case):
    X, Q = case.data()
    for empty in (X[:0], X[:, :0], np.empty((0, 0))):
        with pytest.raises(DataError, match="0"):
            case.model().fit(empty)
    with pytest.raises(DataError, match="0 sample"):
        fitted(case).transform(Q[:0])


def test_not_a_matrix():
    for bad in (np.ones(5), np.ones((2, 3, 4)), 7.0, "text", None, np.array(["a", "b"])):
        with pytest.raises((DataError, TypeError)):
            lowd.PCA(1).fit(bad)
    with pytest.raises(DataError):
        lowd.PCA(1).fit([[1.0, 2.0], [3.0]])
    with pytest.raises(DataError, match=r"PCA needs real numbers; pass X\.real"):
        lowd.PCA(1).fit(np.ones((4, 2), complex))
    with pytest.raises(DataError, match=r"a dict; pass pandas\.DataFrame"):
        lowd.PCA(1).fit({"a": [1.0, 2.0]})


def test_objects_for_callables():
    model = lowd.ClassicalMDS(1, metric=lambda a, b: abs(len(a) - len(b)))
    with pytest.raises(DataError, match="one string"):
        model.fit("words")
    with pytest.raises(DataError, match="sequence"):
        model.fit(object())
    with pytest.raises(DataError, match="0 objects"):
        model.fit([])
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(DataError, match="objects 1 and 0"):
            lowd.ClassicalMDS(1, metric=lambda *_, bad=bad: bad).fit(["a", "b"])
    with pytest.raises(DataError, match="not symmetric"):
        lowd.KernelPCA(1, kernel=lambda a, b: float(a < b)).fit(["a", "b", "c"])


def test_masks():
    """A mask that were ignored would let hidden numbers in."""
    hidden = np.ma.masked_array(rows_like(20, 3), np.zeros((20, 3), bool))
    hidden[4, 1] = np.ma.masked
    with pytest.raises(DataError, match="mask"):
        lowd.PCA(2).fit(hidden)
    model = lowd.PCA(2).fit(rows_like(20, 3))
    with pytest.raises(DataError, match="mask"):
        model.transform(hidden)


NO_ROWS = {
    "set": (lambda X: set(map(tuple, X)), "a set has no order"),
    "generator": (lambda X: (row for row in X), "pass a list or an array"),
    "dict_values": (lambda X: dict(enumerate(X)).values(), "pass a list or an array"),
    "matrix": (np.asmatrix, r"pass numpy\.asarray\(X\)"),
    "LazyFrame": (lambda X: polars.DataFrame(X).lazy(), r"pass X\.collect\(\)"),
    "AnnData": (lambda X: pytest.importorskip("anndata").AnnData(X), r"pass adata\.X, or"),
}


@pytest.mark.filterwarnings("ignore:the matrix subclass")  # NumPy's own
@pytest.mark.parametrize("name", NO_ROWS)
def test_what_holds_rows_but_is_not_them(name):
    """NumPy takes a set for one entry, and unpacks AnnData down to 64 dimensions."""
    make, remedy = NO_ROWS[name]
    X = rows_like(20, 3)
    model, made = lowd.PCA(2).fit(X), make(X)
    calls = {
        "fit": lowd.PCA(2).fit,
        "transform": model.transform,
        "inverse_transform": model.inverse_transform,
        "table": lowd.ClassicalMDS(metric="gower").fit,
        "objects": lowd.ClassicalMDS(metric=lambda a, b: abs(a[0] - b[0])).fit,
        "evaluate": lambda X: lowd.evaluate(X, rows_like(20, 2)),
        "diagnose": lowd.diagnose,
        "dimension": lowd.dimension,
        "neighbors": lambda X: lowd.neighbors(X, 3),
        "compare": lambda X: lowd.compare(X, ["PCA"]),
    }
    for call in calls.values():
        with pytest.raises(DataError, match=f"needs rows, and X is of the type {name}; .*{remedy}"):
            call(made)


def test_one_column_is_no_table():
    for made in (pd.Series([1.0, 2.0]), polars.Series([1.0, 2.0]), pyarrow.chunked_array([[1.0]])):
        with pytest.raises(DataError, match="X is one column"):
            lowd.ClassicalMDS(metric="gower").fit(made)


def test_columns_of_one_name():
    X = pd.DataFrame(rows_like(20, 3), columns=["a", "b", "a"])
    for model in (lowd.PCA(2), lowd.ClassicalMDS(2, metric="gower")):
        with pytest.raises(DataError, match="'a'"):
            model.fit(X)


def test_gower_of_a_sparse_matrix():
    with pytest.raises(UnsupportedError, match="toarray"):
        lowd.ClassicalMDS(metric="gower").fit(csr_array(np.eye(4)))


def test_integers_too_long_for_floats():
    X = np.array([[2**60, 1], [2**60 + 1, 5], [3, 4]])
    with pytest.raises(DataError, match=r"2\*\*53"):
        lowd.PCA(1).fit(X)
