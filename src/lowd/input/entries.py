"""What arrays, tables and lists hold: text and dates, columns, integers that floats would round.

NumPy would silently make numbers of some of it.
"""

from __future__ import annotations

import datetime
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence, Set, ValuesView
from importlib import import_module
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..errors import ColumnTypeError, DataError
from ..parameters import Held, Indices, Reals, state
from .arguments import Input

# pandas' Timestamp, Timedelta and NaT are subclasses of the standard ones.
POINTS_IN_TIME = (np.datetime64, datetime.date)
DURATIONS = (np.timedelta64, datetime.timedelta)
_TEXT = (str, bytes)
_NON_NUMBERS = (*_TEXT, *POINTS_IN_TIME, *DURATIONS, datetime.time)


def is_number(entry: object) -> bool:
    """Whether an entry is neither text nor a date; None and NaN are missing numbers."""
    return not isinstance(entry, _NON_NUMBERS)


def is_date(entry: object) -> bool:
    """Whether an entry is a date or a duration."""
    return isinstance(entry, (*POINTS_IN_TIME, *DURATIONS))


def refuse_containers(X: object, subject: str) -> None:
    """Refuse what holds rows but is not them, before NumPy takes it for one entry or for many."""
    kind = f"{type(X).__module__.partition('.')[0]}.{type(X).__name__}"
    if kind == "anndata.AnnData":  # whose rows are such objects again, down to 64 dimensions
        remedy = "pass adata.X, or coordinates such as adata.obsm['X_pca']"
    elif kind == "polars.LazyFrame":
        remedy = "pass X.collect()"
    elif isinstance(X, np.matrix):
        remedy = "pass numpy.asarray(X)"
    elif isinstance(X, Set | Iterator | ValuesView):
        unordered = "a set has no order: " if isinstance(X, Set) else ""
        remedy = f"{unordered}pass a list or an array of rows"
    else:
        return
    raise DataError(f"{subject} needs rows, and X is of the type {type(X).__name__}; {remedy}.")


def refuse_non_numbers(X: object, subject: str) -> None:
    """Refuse text and dates in an array or a list, naming the first by its row and column.

    NumPy would read the text '1.5' as 1.5, and a missing date (NaT) as -9.2e18.
    """
    if isinstance(X, list | tuple):
        try:
            given = X
            X = np.asarray(given)
            if X.dtype.kind in "SU":  # one text among numbers turned them all into text
                X = np.asarray(given, dtype=object)
        except ValueError:  # ragged: refused where rows are made of it
            return
    dtype = getattr(X, "dtype", None)
    if not isinstance(dtype, np.dtype) or dtype.kind not in "mMOSUV":
        return
    if dtype.kind == "V":
        raise ColumnTypeError(
            f"{subject} needs rows of numbers, but got a structured array of {dtype}; pass "
            "numpy.lib.recfunctions.structured_to_unstructured(X)."
        )
    array: NDArray[Any] = np.asarray(X)
    first = _find_non_number(array)
    if first is None:
        return
    position = np.unravel_index(first, array.shape)
    names = zip(("row", "column"), position, strict=False)
    where = ", ".join(f"{name} {index}" for name, index in names)
    entry = array[position]
    entry = entry.item() if isinstance(entry, np.str_ | np.bytes_) else entry
    if isinstance(entry, _TEXT):
        words = f"{entry!r}, which is text"
        remedy = "drop or encode such columns, or use ClassicalMDS(metric='gower')"
        if _reads_as_number(entry):
            remedy = "if all of it are numbers, pass X.astype(float)"
    else:
        words = "NaT, a missing date" if entry != entry else f"the date or duration {entry!s}"
        remedy = "choose a unit to make it a number: (X - X.min()) / np.timedelta64(1, 'D')"
    raise ColumnTypeError(f"{subject} needs numbers, but {where} holds {words}; {remedy}.")


def _find_non_number(array: NDArray[Any]) -> int | None:
    """The flat index of a text or a date: of the first missing date, if there is one."""
    if not array.size:
        return None
    if array.dtype.kind in "mM":
        return int(np.isnat(array).argmax())
    if array.dtype.kind != "O":
        return 0
    refused = {kind for kind in set(map(type, array.flat)) if issubclass(kind, _NON_NUMBERS)}
    return next((i for i, entry in enumerate(array.flat) if type(entry) in refused), None)


def _reads_as_number(text: str | bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


ColumnKind: TypeAlias = Literal["number", "date", "duration", "order", "category"]
Frame: TypeAlias = Any  # of pandas, polars or pyarrow, which are optional; or rows of objects
Column: TypeAlias = Any  # of such a frame
Entry: TypeAlias = Any  # of such a column
_TIMES: dict[str, tuple[type, ...]] = {"date": POINTS_IN_TIME, "duration": DURATIONS}
_FRAMES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "Table"}
MISSING, UNSEEN = -1, -2  # codes of no category, and of one that training rows do not have


def is_table(X: object) -> bool:
    """Whether X is a pandas, polars or pyarrow frame."""
    return _FRAMES.get(package_of(X)) == type(X).__name__


def column_kinds(X: Frame) -> dict[str, ColumnKind]:
    """Kind of each column by its name; booleans count as numbers (0 and 1)."""
    return {str(name): _kind(X, column) for name, column in get_columns(X).items()}


def list_types(X: Frame) -> set[str]:
    """The types of the columns, as the library of the frame writes them."""
    types = X.schema.types if package_of(X) == "pyarrow" else X.dtypes
    return set(map(str, set(types)))


def read_number_columns(X: Frame) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Names and values of the numeric columns of a frame; NaN where one is missing."""
    numeric = {name: col for name, col in get_columns(X).items() if _kind(X, col) == "number"}
    numbers = np.empty((len(X), len(numeric)))
    for j, column in enumerate(numeric.values()):
        if package_of(X) == "pandas":
            numbers[:, j] = column.to_numpy(dtype=np.float64, na_value=np.nan)
        elif package_of(X) == "polars":
            numbers[:, j] = column.cast(sys.modules["polars"].Float64).to_numpy()
        else:
            numbers[:, j] = column.cast("float64", safe=False).to_numpy()
    return tuple(str(name) for name in numeric), numbers


def drop_columns(X: Frame, names: Sequence[str]) -> Frame:
    """The frame without these columns, as far as it has them."""
    present = [name for name in get_columns(X) if name in names]
    if not present:
        return X
    if package_of(X) == "pandas":
        return X.drop(columns=present)
    return X.drop(present) if package_of(X) == "polars" else X.drop_columns(present)


class Table(Held):
    """Columns of numbers (NaN: missing) and of category codes.

    Ordered categories are numbers by their ranks, dates and durations in days.
    """

    names: tuple[str, ...] = state()
    kinds: tuple[ColumnKind, ...] = state()
    levels: tuple[tuple[str, ...], ...] = state()
    numbers: Reals = state("n_rows n_number_columns")
    codes: Indices = state("n_rows n_categories")

    def __init__(
        self,
        names: tuple[str, ...],
        kinds: tuple[ColumnKind, ...],
        levels: tuple[tuple[str, ...], ...],
        numbers: Reals,
        codes: Indices,
    ) -> None:
        self.names, self.kinds, self.levels = names, kinds, levels
        self.numbers, self.codes = numbers, codes

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self.names)

    def take(self, rows: NDArray[np.int64]) -> Table:
        """Some rows, with the same columns and categories."""
        return Table(self.names, self.kinds, self.levels, self.numbers[rows], self.codes[rows])

    @classmethod
    def read(cls, X: Frame, like: Table | None = None) -> Table:
        """From a frame or rows of objects; new rows have the columns and categories of `like`."""
        columns = {str(name): column for name, column in get_columns(X).items()}
        if not columns or not len(next(iter(columns.values()))):
            raise DataError(
                f"X has {len(columns)} columns and no rows; at least one row is needed."
            )
        names = tuple(columns) if like is None else like.names
        if missing := [name for name in names if name not in columns]:
            raise DataError(f"columns {missing} of the training table are missing in X.")
        if like is not None and (extra := [name for name in columns if name not in names]):
            raise DataError(f"columns {extra} were not in the training table; drop them.")
        kinds = tuple(_kind(X, columns[name]) for name in names) if like is None else like.kinds
        levels = tuple(
            _levels(columns[name], kind) if like is None else like.levels[c]
            for c, (name, kind) in enumerate(zip(names, kinds, strict=True))
        )
        n = len(next(iter(columns.values())))
        numbers, codes = [np.empty((n, 0))], [np.empty((n, 0), np.int64)]
        for name, kind, level in zip(names, kinds, levels, strict=True):
            if kind == "number":
                numbers.append(_numbers(name, columns[name])[:, None])
            elif kind in ("date", "duration"):
                numbers.append(_days(name, columns[name], kind)[:, None])
            elif kind == "order":
                numbers.append(_ranks(name, columns[name], level)[:, None])
            else:
                codes.append(_codes(columns[name], level)[:, None])
        return cls(names, kinds, levels, np.hstack(numbers), np.hstack(codes))


def package_of(X: object) -> str:
    return type(X).__module__.partition(".")[0]


def get_columns(X: Frame) -> dict[Any, Column]:
    package = package_of(X)
    if package in _FRAMES and not hasattr(X, "columns"):
        raise DataError(f"X is one column, a {type(X).__name__} of {package}; pass a table.")
    if package == "pandas":
        if not X.columns.is_unique:
            twice = X.columns[X.columns.duplicated()][0]
            raise DataError(f"two columns are named {twice!r}; rename one of them.")
        return {name: X.iloc[:, i] for i, name in enumerate(X.columns)}
    if package == "polars":
        return {name: X[name] for name in X.columns}
    if package == "pyarrow":
        names = X.column_names
        if twice := [name for name in names if names.count(name) > 1]:
            raise DataError(f"two columns are named {twice[0]!r}; rename one of them.")
        return {name: X[name] for name in names}
    if getattr(getattr(X, "dtype", None), "kind", None) in ("m", "M"):
        X = X.astype(f"{X.dtype.kind}8[us]")  # of nanoseconds NumPy makes integers, not dates
    rows = np.asarray(X, dtype=object)
    if rows.ndim != 2:
        raise DataError(f"X must be a table or rows of equal length, got shape {rows.shape}.")
    return {f"x{j}": rows[:, j] for j in range(rows.shape[1])}


def _kind(X: Frame, column: Column) -> ColumnKind:
    package = package_of(X)
    if package == "pandas":
        pandas = sys.modules["pandas"]
        if getattr(column.dtype, "ordered", False):
            return "order"
        if pandas.api.types.is_numeric_dtype(column.dtype):
            return "number"
        if getattr(column.dtype, "kind", "O") in "mM":
            return "date" if column.dtype.kind == "M" else "duration"
        return _kind_of_entries(column) if column.dtype == object else "category"
    if package == "polars":
        polars = sys.modules["polars"]
        if isinstance(column.dtype, polars.Enum):
            return "order"
        if column.dtype in (polars.Date, polars.Datetime, polars.Duration):
            return "duration" if column.dtype == polars.Duration else "date"
        return (
            "number" if column.dtype.is_numeric() or column.dtype == polars.Boolean else "category"
        )
    if package == "pyarrow":
        types = sys.modules["pyarrow"].types
        if types.is_date(column.type) or types.is_timestamp(column.type):
            return "date"
        if types.is_duration(column.type):
            return "duration"
        tests = types.is_integer, types.is_floating, types.is_boolean, types.is_decimal
        return "number" if any(test(column.type) for test in tests) else "category"
    numeric = all(_is_real(entry) for entry in column if not _is_missing(entry))
    return "number" if numeric else _kind_of_entries(column)


def _is_real(entry: object) -> bool:
    return isinstance(entry, int | float | np.number) and not isinstance(entry, np.timedelta64)


def _kind_of_entries(column: Column) -> ColumnKind:
    """Dates, durations or categories: what all of a column's objects are."""
    known = {type(entry) for entry in column if not _is_missing(entry)}
    if known and all(issubclass(kind, POINTS_IN_TIME) for kind in known):
        return "date"
    return "duration" if known and all(issubclass(k, DURATIONS) for k in known) else "category"


def _levels(column: Column, kind: ColumnKind) -> tuple[str, ...]:
    """Names of the categories; those of an ordered column in their own order."""
    if kind in ("number", "date", "duration"):
        return ()
    if kind == "order":
        ordered = column.cat if package_of(column) == "pandas" else column.dtype
        return tuple(str(level) for level in ordered.categories)
    return tuple(sorted({str(entry) for entry in _entries(column) if not _is_missing(entry)}))


def _codes(column: Column, levels: tuple[str, ...]) -> NDArray[np.int64]:
    """The number of each entry's category, or MISSING, or UNSEEN."""
    number = {level: code for code, level in enumerate(levels)}
    codes = (MISSING if _is_missing(e) else number.get(str(e), UNSEEN) for e in _entries(column))
    return np.fromiter(codes, np.int64, len(column))


def _ranks(name: str, column: Column, levels: tuple[str, ...]) -> NDArray[np.float64]:
    """The rank of each entry's category in an ordered column; NaN where one is missing."""
    codes = _codes(column, levels)
    if (codes == UNSEEN).any():
        row = int(np.argmax(codes == UNSEEN))
        raise DataError(f"column {name!r}, row {row}: not one of the ordered {levels}.")
    return np.where(codes == MISSING, np.nan, codes)


def _numbers(name: str, column: Column) -> NDArray[np.float64]:
    try:
        numbers = np.array([np.nan if _is_missing(e) else float(e) for e in _entries(column)])
    except (TypeError, ValueError) as error:
        raise DataError(f"column {name!r} held numbers in training, now: {error}.") from None
    if np.isinf(numbers).any():
        row = int(np.argmax(np.isinf(numbers)))
        raise DataError(f"infinity at row {row}, column {name!r}; drop such rows or fill them.")
    return numbers


def _days(name: str, column: Column, kind: ColumnKind) -> NDArray[np.float64]:
    """Days since 1970 of dates, or days of durations; NaN where one is missing."""
    entries = [None if _is_missing(entry) else _in_utc(entry) for entry in _entries(column)]
    for row, entry in enumerate(entries):
        if entry is not None and not isinstance(entry, _TIMES[kind]):
            raise DataError(f"column {name!r} held {kind}s in training, now row {row}: {entry!r}.")
    if kind == "duration":
        return np.asarray(np.array(entries, "timedelta64[us]") / np.timedelta64(1, "D"))
    days = np.array(entries, "datetime64[us]") - np.datetime64(0, "us")
    return np.asarray(days / np.timedelta64(1, "D"))


def _in_utc(entry: Entry) -> Entry:
    """A date that knows its time zone, in UTC: NumPy has none."""
    zone = getattr(entry, "tzinfo", None)
    return entry if zone is None else entry.astimezone(datetime.UTC).replace(tzinfo=None)


def _entries(column: Column) -> Iterable[Any]:
    entries: Iterable[Any] = column.to_pylist() if package_of(column) == "pyarrow" else column
    return entries


def _is_missing(entry: object) -> bool:
    return entry is None or entry != entry or type(entry).__name__ in ("NAType", "NaTType")


MAX_EXACT_INTEGER = 2**53  # up to it float64 holds every integer


class LargeInteger(NamedTuple):
    """The first integer beyond 2**53 of a column; `name` is None where columns have none."""

    row: int
    column: int
    name: str | None
    value: int

    def describe(self, where: str = "") -> str:
        """What is held where (the row and column, unless the caller knows better)."""
        name = "" if self.name is None else f" ({self.name!r})"
        where = where or f"row {self.row}, column {self.column}{name}"
        size = f"{self.value.bit_length()} bits"  # Python may refuse to print the digits.
        value = str(self.value) if abs(self.value) < 2**128 else f"an integer of {size}"
        return (
            f"{where} holds {value}, and floating point cannot tell integers beyond 2**53 apart; "
            "leave the column out if it names the rows, or subtract an offset first."
        )


def refuse_large_integers(
    X: Input, subject: str, ignored: Collection[str | int] = frozenset()
) -> None:
    """Raise an error for integers beyond 2**53, but in the `ignored` columns (names or indices)."""
    for found in list_large_integers(X):
        if found.column not in ignored and found.name not in ignored:
            raise DataError(f"{subject}: {found.describe()}")


def list_large_integers(X: Input) -> list[LargeInteger]:
    """The first integer beyond 2**53 of each column that has one, in the order of columns."""
    if is_table(X):
        words = re.findall(r"\w+", " ".join(list_types(X)).lower())
        if {"object", "int64", "uint64", "int128", "uint128"}.isdisjoint(words):
            return []  # columns of floats, which may be many, are not looked at one by one
        found = (
            (j, str(name), _find_in_column(X, column))
            for j, (name, column) in enumerate(get_columns(X).items())
        )
        return [LargeInteger(at[0], j, name, at[1]) for j, name, at in found if at is not None]
    if issparse(X):
        entries = X if X.format in ("csr", "csc") else X.tocoo()
        if not _may_be_large(entries.data):
            return []
        entries = entries.tocoo()
        return _list_first(entries.row, entries.col, entries.data)
    array = _as_array(X)
    if not _may_be_large(array):
        return []
    table = array.reshape(len(array), -1) if array.ndim else array.reshape(1, 1)
    if table.dtype != object:
        rows, columns = np.nonzero((table > MAX_EXACT_INTEGER) | (table < -MAX_EXACT_INTEGER))
    else:
        large = np.fromiter(map(_is_large, table.flat), bool, table.size)
        rows, columns = np.nonzero(large.reshape(table.shape))
    return _list_first(rows, columns, table[rows, columns])


def _as_array(X: Input) -> NDArray[Any]:
    """Any array or list as an array of the same integers: with a float among them all are kept."""
    try:
        array = np.asarray(X)
        if isinstance(X, list | tuple) and array.dtype.kind == "f":
            with np.errstate(invalid="ignore"):
                if (np.abs(array) > MAX_EXACT_INTEGER).any():
                    return np.asarray(X, dtype=object)
    except (ValueError, TypeError):  # ragged, or no numbers: refused where rows are made of it
        return np.empty(0)
    return array


def _may_be_large(array: NDArray[Any]) -> bool:
    if array.dtype.kind == "O":
        return any(map(_is_large, array.flat))
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 8 or not array.size:
        return False
    return max(int(array.max()), -int(array.min())) > MAX_EXACT_INTEGER


def _is_large(entry: object) -> bool:
    if not isinstance(entry, int | np.integer) or isinstance(entry, np.timedelta64):
        return False
    return abs(int(entry)) > MAX_EXACT_INTEGER


def _list_first(
    rows: NDArray[Any], columns: NDArray[Any], values: NDArray[Any]
) -> list[LargeInteger]:
    """The first of each column, of entries of which some are large."""
    found: dict[int, LargeInteger] = {}
    for row, column, value in zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True):
        earlier = found.get(column)
        if _is_large(value) and (earlier is None or row < earlier.row):
            found[column] = LargeInteger(row, column, None, value)
    return [found[column] for column in sorted(found)]


def _find_in_column(X: Input, column: Column) -> tuple[int, int] | None:
    """Row and value of the first large integer in a column of a frame."""
    entries: Iterable[Any] = column
    if package_of(X) == "pandas":
        if column.dtype != object:
            if getattr(column.dtype, "kind", "O") not in "iu":
                return None
            known = column.dropna()
            if not len(known) or not _is_beyond(known.min(), known.max()):
                return None
    elif package_of(X) == "polars":
        if column.dtype != sys.modules["polars"].Object:
            low, high = (column.min(), column.max()) if column.dtype.is_integer() else (None, None)
            if low is None or not _is_beyond(low, high):
                return None
    else:
        if not sys.modules["pyarrow"].types.is_integer(column.type):
            return None
        ends = import_module("pyarrow.compute").min_max(column).as_py()
        if ends["min"] is None or not _is_beyond(ends["min"], ends["max"]):
            return None
        entries = column.to_pylist()
    return next(((row, int(e)) for row, e in enumerate(entries) if _is_large(e)), None)


def _is_beyond(low: Entry, high: Entry) -> bool:
    return max(int(high), -int(low)) > MAX_EXACT_INTEGER
