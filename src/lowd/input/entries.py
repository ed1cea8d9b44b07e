"""What is no rows of numbers, although NumPy would silently make some of it: text, dates, sets."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Set, ValuesView
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ColumnTypeError, DataError

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
