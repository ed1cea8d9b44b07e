"""Mixed tables of numbers, dates and categories: pandas, polars, pyarrow frames, or objects."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..parameters import Held, Indices, Reals, state
from .entries import DURATIONS, POINTS_IN_TIME

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
