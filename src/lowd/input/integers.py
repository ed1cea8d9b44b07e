"""Integers beyond 2**53, which floats round: found in any container before it is converted."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..errors import DataError
from .arguments import Input
from .tables import Column, Entry, get_columns, is_table, list_types, package_of

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
