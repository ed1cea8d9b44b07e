"""A column of lists as a matrix."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ColumnTypeError, DataError
from .roles import feature_kind

Place = Callable[[int], str]


def stacked(column: Any, where: str, place: Place) -> NDArray[Any]:
    """Row i of the matrix is the list in row i; lists in text are read as JSON."""
    if feature_kind(column.dtype) != "list":
        return _parsed(column, where, place)
    lengths = column.list.len() if str(column.dtype).startswith("List") else column.arr.len()
    if column.null_count() or lengths.n_unique() != 1 or not lengths[0]:
        _refuse(column.to_list(), column.name, where, place)
    values = column.explode()
    if not values.dtype.is_numeric():
        raise ColumnTypeError(
            f"{where}: column {column.name!r} holds {column.dtype}, not lists of numbers."
        )
    kind = np.float32 if str(values.dtype) == "Float32" else np.float64
    return np.asarray(values.to_numpy(), kind).reshape(len(column), int(lengths[0]))


def _parsed(column: Any, where: str, place: Place) -> NDArray[Any]:
    try:
        lists = [json.loads(entry) for entry in column.to_list()]
        if len({len(entry) for entry in lists}) != 1 or not lists[0]:
            _refuse(lists, column.name, where, place)
        return np.array(lists, np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise ColumnTypeError(
            f"{where}: column vector={column.name!r} does not hold lists of numbers."
        ) from None


def _refuse(lists: list[Any], name: str, where: str, place: Place) -> None:
    width = len(lists[0] or ())
    for row, entry in enumerate(lists):
        if not isinstance(entry, list) or len(entry) != width or not entry:
            raise DataError(
                f"{where}, {place(row)}, column {name!r}: a list of {width or 'some'} numbers is "
                f"expected, got {str(entry)[:60]}."
            )
