"""What may be passed in: containers, types, memory orders; and how anything else is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from scipy.sparse import csr_array

import lowd
from case_data import rows_like
from cases import (
    BY_NAME,
    cases,
    close,
    first_of_method,
    fit,
    fit_transform,
    fitted,
    invertible,
    numeric,
    of_rows,
    same_bits,
)
from lowd.errors import ColumnTypeError, DataError, UnsupportedError

# Input is validated above the backends: the reference needs one case of each method.
every_number = cases(numeric, other_backends=first_of_method)
every_matrix = cases(of_rows, other_backends=first_of_method)


def _memory_orders(A):
    """The same numbers, laid out otherwise."""
    n, d = A.shape
    wide, tall = np.zeros((n, 2 * d), A.dtype), np.zeros((2 * n, d), A.dtype)
    wide[:, ::2], tall[::2] = A, A
    reversed_rows = A[::-1].copy()[::-1]
    reversed_columns = A[:, ::-1].copy()[:, ::-1]
    swapped = A.astype(A.dtype.newbyteorder())
    padded = np.zeros((n, d + 3), A.dtype)
    padded[:, :d] = A
    return {
        "Fortran": np.asfortranarray(A),
        "every other column": wide[:, ::2],
        "every other row": tall[::2],
        "rows backwards": reversed_rows,
        "columns backwards": reversed_columns,
        "wider rows": padded[:, :d],
        "other byte order": swapped,
        "subclass": A.view(_Subclass),
    }


class _Subclass(np.ndarray):
    pass


@cases(numeric, float32=first_of_method, other_backends=first_of_method)
def test_any_memory_order(case, backend, dtype):
    X, Q = case.data(dtype)
    expected = fit(case.model(backend), X).transform(Q)
    orders = _memory_orders(X)
    others = _memory_orders(Q)
    for name, laid_out in orders.items():
        Y = fit(case.model(backend), laid_out).transform(others[name])
        assert Y.dtype == dtype, name
        same_bits(Y, expected)


@cases(numeric, other_backends=first_of_method, other_float32=True)
def test_floats_keep_their_type(case, backend, dtype):
    X, Q = case.data(dtype)
    model = case.model(backend)
    assert fit_transform(model, X).dtype == dtype
    assert model.transform(Q).dtype == dtype
    # New rows decide their own type, whatever the model was trained on.
    other = np.float32 if dtype == np.float64 else np.float64
    assert model.transform(Q.astype(other)).dtype == other
    close(model.transform(Q.astype(other)), model.transform(Q), np.float32)


@every_matrix
@pytest.mark.filterwarnings("ignore::lowd.errors.DisconnectedGraphWarning")  # of a small radius
def test_integers_booleans_and_half_precision(case, backend):
    X, Q = (np.round(4 * A).astype(np.int64) for A in case.data())
    expected = fit(case.model(backend), X.astype(float)).transform(Q.astype(float))
    for kind in (np.int64, np.int32, np.int16, np.int8, np.float16):
        Y = fit(case.model(backend), X.astype(kind)).transform(Q.astype(kind))
        assert Y.dtype == (np.float64 if np.issubdtype(kind, np.integer) else Y.dtype)
        close(Y, expected, Y.dtype)


def test_booleans_count_as_numbers(backend, rng):
    X = rng.random((30, 6)) < 0.5
    close(
        lowd.PCA(2, backend=backend).fit_transform(X),
        lowd.PCA(2, backend=backend).fit_transform(X.astype(float)),
    )


@every_matrix
def test_containers(case, backend):
    """Lists, pandas, polars and pyarrow give what the array gives."""
    X, Q = case.data()
    expected = fit(case.model(backend), X).transform(Q)
    names = [f"c{j}" for j in range(X.shape[1])]
    makers = {
        "list": np.ndarray.tolist,
        "tuples": lambda A: tuple(map(tuple, A)),
        "pandas": lambda A: pd.DataFrame(A, columns=names),
        "pandas, nullable": lambda A: pd.DataFrame(A, columns=names).convert_dtypes(),
        "polars": lambda A: polars.DataFrame(A, schema=names),
        "pyarrow": lambda A: pyarrow.table({c: A[:, j] for j, c in enumerate(names)}),
    }
    for name, make in makers.items():
        model = fit(case.model(backend), make(X))
        same_bits(model.transform(make(Q)), expected)
        if name not in ("list", "tuples"):
            assert list(model.feature_names_in_) == names, name
        assert model.n_features_in_ == X.shape[1]


def test_mixed_tables_from_three_libraries(backend):
    X, Q = BY_NAME["MDS-gower"].data()
    levels = list(X["size"].cat.categories)

    def to_polars(A):
        return polars.from_pandas(A.astype({"size": str})).with_columns(
            polars.col("size").cast(polars.Enum(levels))
        )

    expected = fit(lowd.ClassicalMDS(metric="gower", backend=backend), X).transform(Q)
    model = fit(lowd.ClassicalMDS(metric="gower", backend=backend), to_polars(X))
    close(model.transform(to_polars(Q)), expected)
    # Arrow has no ordered levels that survive a trip, so compare without that column.
    X, Q = X.drop(columns="size"), Q.drop(columns="size")
    expected = fit(lowd.ClassicalMDS(metric="gower", backend=backend), X).transform(Q)
    tables = [pyarrow.Table.from_pandas(A, preserve_index=False) for A in (X, Q)]
    model = fit(lowd.ClassicalMDS(metric="gower", backend=backend), tables[0])
    close(model.transform(tables[1]), expected)
    rows = [A.astype(object).to_numpy() for A in (X, Q)]
    model = fit(lowd.ClassicalMDS(metric="gower", backend=backend), rows[0])
    close(model.transform(rows[1]), expected)


NOT_FINITE = {"NaN": np.nan, "inf": np.inf, "-inf": -np.inf}


@every_number
def test_what_is_not_finite_is_named_by_row_and_column(case, backend):
    X, Q = case.data()
    fitted = fit(case.model(backend), X)
    for name, bad in NOT_FINITE.items():
        X, Q = (np.array(A) for A in case.data())
        X[17, 5] = Q[17, 5] = bad
        for call in (fit, fit_transform):
            model = case.model(backend)
            with pytest.raises(DataError, match="row 17, column 5") as refusal:
                call(model, X)
            assert name in str(refusal.value)
            assert not hasattr(model, "map_")
        if _may_be_missing(case, bad):
            assert np.isfinite(fitted.transform(Q)).all()
        else:
            with pytest.raises(DataError, match="row 17, column 5") as refusal:
                fitted.transform(Q)
            assert name in str(refusal.value)


def _may_be_missing(case, bad):
    """NaN among precomputed distances to new points: a distance that is not known."""
    return case.source == "distances" and case.model().allows_missing and np.isnan(bad)


@cases(invertible, other_backends=first_of_method)
def test_coordinates_that_are_not_finite_are_named_too(case, backend):
    X, Q = case.data()
    model = fit(case.model(backend), X)
    for bad in NOT_FINITE.values():
        Y = np.zeros((4, model.transform(Q).shape[1]))
        Y[2, 1] = bad
        with pytest.raises(DataError, match="row 2, column 1"):
            model.inverse_transform(Y)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_in_a_column_without_weight(backend, bad, dtype):
    """A constant column has loading zero, and still must not hide what is in it."""
    X = rows_like(30, 4, dtype=dtype)
    X[:, 2] = 5
    model = lowd.PCA(2, backend=backend).fit(X)
    X[7, 2] = bad
    with pytest.raises(DataError, match="row 7, column 2"):
        model.transform(X)


def test_nan_in_a_frame_is_named_by_its_column(backend):
    X = pd.DataFrame(rows_like(20, 3), columns=["weight", "length", "age"])
    X.loc[4, "length"] = np.nan
    with pytest.raises(DataError, match=r"row 4, column 1 \('length'\)"):
        lowd.PCA(2, backend=backend).fit(X)


def test_nan_in_a_nullable_frame(backend):
    X = pd.DataFrame({"a": [1, 2, None, 4], "b": [1.0, 2.0, 5.0, 4.0]}).convert_dtypes()
    with pytest.raises(DataError, match=r"row 2, column 0"):
        lowd.PCA(1, backend=backend).fit(X)


@pytest.mark.parametrize(("bad", "named"), [(np.nan, "nan"), (np.inf, "inf"), (-1.0, "-1")])
def test_weights_are_named_by_row(backend, bad, named):
    weights = np.ones(20)
    weights[7] = bad
    with pytest.raises(DataError, match=f"sample_weight of row 7 is {named}"):
        lowd.PCA(2, backend=backend).fit(rows_like(20), sample_weight=weights)


def test_weights_of_another_length_or_all_zero(backend):
    with pytest.raises(DataError, match=r"expected \(20,\), got \(19,\)"):
        lowd.PCA(2, backend=backend).fit(rows_like(20), sample_weight=np.ones(19))
    with pytest.raises(DataError, match="all weights are zero"):
        lowd.PCA(2, backend=backend).fit(rows_like(20), sample_weight=np.zeros(20))


def test_gaps_in_sparse_data_are_named(backend):
    X = csr_array(np.diag(np.arange(1.0, 9)))
    X.data[4] = np.nan
    with pytest.raises(DataError, match="row 4, column 4"):
        lowd.PCA(2, backend=backend).fit(X)


@every_matrix
def test_text_is_named(case, backend):
    X, _ = case.data()
    frame = pd.DataFrame(X)
    frame.columns = [f"c{j}" for j in range(X.shape[1])]
    frame["color"] = "red"
    frame["size"] = pd.Categorical(["big"] * len(X))
    for made in (frame, polars.from_pandas(frame.astype({"size": str}))):
        with pytest.raises(ColumnTypeError, match="'color', 'size'") as refusal:
            case.model(backend).fit(made)
        assert "gower" in str(refusal.value)
    objects = X.astype(object)
    objects[3, 2] = "a word"
    for made in (objects, objects.tolist()):
        with pytest.raises((ColumnTypeError, DataError), match="row 3, column 2 holds 'a word'"):
            case.model(backend).fit(made)
    assert issubclass(ColumnTypeError, TypeError)


@cases(lambda case: of_rows(case) and first_of_method(case))
def test_text_and_dates_are_not_read_as_numbers(case, backend):
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
    model = fitted(case, backend)
    for words, made in refused.items():
        for call in (case.model(backend).fit, model.transform):
            with pytest.raises(ColumnTypeError, match=words):
                call(made)
    with pytest.raises(ColumnTypeError, match=r"row 5, column 1 holds '1.5'"):
        case.model(backend).fit(mixed.tolist())
    frame = pd.DataFrame(X).rename(columns=str)
    frame["when"] = dates[:, 0]
    frame["since"] = (dates - dates[0, 0])[:, 0]
    for made in (frame, frame.astype({"when": object}), polars.from_pandas(frame)):
        with pytest.raises(ColumnTypeError, match="'when', 'since' hold dates") as refusal:
            case.model(backend).fit(made)
        assert "total_seconds" in str(refusal.value)


def test_other_arguments_that_are_no_numbers_are_refused(backend):
    X = rows_like(20)
    ages = np.arange(20).astype("timedelta64[D]")
    with pytest.raises(ColumnTypeError, match="sample_weight needs numbers, but row 0 holds"):
        lowd.PCA(1, backend=backend).fit(X, sample_weight=ages)
    with pytest.raises(ColumnTypeError, match="weights needs numbers"):
        lowd.MDS(weights=np.ones((20, 20)).astype(str), backend=backend).fit(X)
    with pytest.raises(ColumnTypeError, match="init needs numbers"):
        lowd.MDS(init=X[:, :2].astype(str), backend=backend).fit(X)
    with pytest.raises(ColumnTypeError, match="inverse_transform needs numbers, but row 0"):
        lowd.PCA(2, backend=backend).fit(X).inverse_transform(X[:, :2].astype(str))
    with pytest.raises(ColumnTypeError, match="structured_to_unstructured"):
        lowd.PCA(1, backend=backend).fit(np.zeros(5, [("a", float), ("b", float)]))


@every_matrix
def test_wrong_width(case, backend):
    X, Q = case.data()
    model = fit(case.model(backend), X)
    for narrow in (Q[:, 1:], np.ascontiguousarray(Q[:, 1:])):
        with pytest.raises(DataError, match=f"{Q.shape[1] - 1}.*{Q.shape[1]}"):
            model.transform(narrow)


@cases(invertible, other_backends=first_of_method)
def test_wrong_width_of_coordinates(case, backend):
    X, Q = case.data()
    model = fit(case.model(backend), X)
    k = model.transform(Q).shape[1]
    with pytest.raises(DataError, match=f"{k + 1} columns, but the map has {k}"):
        model.inverse_transform(np.zeros((2, k + 1)))


@pytest.mark.parametrize("source", ["distances", "kernel"])
def test_wrong_width_of_relations(backend, source):
    name = "MDS-precomputed" if source == "distances" else "KernelPCA-precomputed"
    X, Q = BY_NAME[name].data()
    model = fit(BY_NAME[name].model(backend), X)
    with pytest.raises(DataError, match=r"59.*60"):
        model.transform(Q[:, 1:])
    with pytest.raises(DataError, match=r"square matrix.*\(60, 59\)"):
        BY_NAME[name].model(backend).fit(X[:, 1:])


@every_number
def test_too_few_or_no_rows(case, backend):
    X, Q = case.data()
    for empty in (X[:0], X[:, :0], np.empty((0, 0))):
        with pytest.raises(DataError, match="0"):
            case.model(backend).fit(empty)
    model = fit(case.model(backend), X)
    with pytest.raises(DataError, match="0 sample"):
        model.transform(Q[:0])


def test_not_a_matrix(backend):
    for bad in (np.ones(5), np.ones((2, 3, 4)), 7.0, "text", None, np.array(["a", "b"])):
        with pytest.raises((DataError, TypeError)):
            lowd.PCA(1, backend=backend).fit(bad)
    with pytest.raises(DataError):
        lowd.PCA(1, backend=backend).fit([[1.0, 2.0], [3.0]])
    with pytest.raises(DataError, match=r"PCA needs real numbers; pass X\.real"):
        lowd.PCA(1, backend=backend).fit(np.ones((4, 2), complex))
    with pytest.raises(DataError, match=r"a dict; pass pandas\.DataFrame"):
        lowd.PCA(1, backend=backend).fit({"a": [1.0, 2.0]})


def test_objects_for_callables(backend):
    model = lowd.ClassicalMDS(1, metric=lambda a, b: abs(len(a) - len(b)), backend=backend)
    with pytest.raises(DataError, match="one string"):
        model.fit("words")
    with pytest.raises(DataError, match="sequence"):
        model.fit(word for word in ("a", "bb"))
    with pytest.raises(DataError, match="0 objects"):
        model.fit([])
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(DataError, match="objects 1 and 0"):
            lowd.ClassicalMDS(1, metric=lambda *_, bad=bad: bad, backend=backend).fit(["a", "b"])
    with pytest.raises(DataError, match="not symmetric"):
        lowd.KernelPCA(1, kernel=lambda a, b: float(a < b), backend=backend).fit(["a", "b", "c"])


def test_masks(backend):
    """A mask that were ignored would let hidden numbers in."""
    hidden = np.ma.masked_array(rows_like(20, 3), np.zeros((20, 3), bool))
    hidden[4, 1] = np.ma.masked
    with pytest.raises(DataError, match="mask"):
        lowd.PCA(2, backend=backend).fit(hidden)
    model = lowd.PCA(2, backend=backend).fit(rows_like(20, 3))
    with pytest.raises(DataError, match="mask"):
        model.transform(hidden)


def test_columns_of_one_name(backend):
    X = pd.DataFrame(rows_like(20, 3), columns=["a", "b", "a"])
    for model in (lowd.PCA(2), lowd.ClassicalMDS(2, metric="gower")):
        with pytest.raises(DataError, match="'a'"):
            model.set_params(backend=backend).fit(X)


def test_gower_of_a_sparse_matrix(backend):
    with pytest.raises(UnsupportedError, match="toarray"):
        lowd.ClassicalMDS(metric="gower", backend=backend).fit(csr_array(np.eye(4)))


def test_integers_too_long_for_floats(backend):
    X = np.array([[2**60, 1], [2**60 + 1, 5], [3, 4]])
    with pytest.raises(DataError, match=r"2\*\*53"):
        lowd.PCA(1, backend=backend).fit(X)
