"""Turn a column of lists into a matrix."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ColumnTypeError, DataError
from ..input.integers import list_large_integers
from .options import describe_rounding
from .roles import get_column_kind
from .table import Column

if TYPE_CHECKING:
    from .frames import Series

Locate = Callable[[int], str]


def stack_vectors(column: Series, where: str, locate: Locate, notes: list[str]) -> Column:
    """Make a matrix whose row i is the list in row i; lists in text are read as JSON."""
    if get_column_kind(column.dtype) != "list":
        return _parse_json(column, where, locate, notes)
    lengths = column.list.len() if str(column.dtype).startswith("List") else column.arr.len()
    if column.null_count() or lengths.n_unique() != 1 or not lengths[0]:
        _refuse_lists(column.to_list(), column.name, where, locate)
    values = column.explode()
    if not values.dtype.is_numeric():
        raise ColumnTypeError(
            f"{where}: column {column.name!r} holds {column.dtype}, not lists of numbers."
        )
    if list_large_integers(values.to_frame()):
        notes.append(describe_rounding([column.name]))
    kind = np.float32 if str(values.dtype) == "Float32" else np.float64
    return np.asarray(values.to_numpy(), kind).reshape(len(column), int(lengths[0]))


def _parse_json(column: Series, where: str, locate: Locate, notes: list[str]) -> Column:
    try:
        lists = [json.loads(entry) for entry in column.to_list()]
        if len({len(entry) for entry in lists}) != 1 or not lists[0]:
            _refuse_lists(lists, column.name, where, locate)
        if list_large_integers(lists):
            notes.append(describe_rounding([column.name]))
        return np.array(lists, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        raise ColumnTypeError(
            f"{where}: column vector={column.name!r} does not hold lists of numbers."
        ) from None


def _refuse_lists(lists: list[object], name: str, where: str, locate: Locate) -> None:
    width = len(lists[0]) if isinstance(lists[0], list) else 0
    for row, entry in enumerate(lists):
        if not isinstance(entry, list) or len(entry) != width or not entry:
            raise DataError(
                f"{where}, {locate(row)}, column {name!r}: a list of {width or 'some'} numbers is "
                f"expected, got {str(entry)[:60]}."
            )
