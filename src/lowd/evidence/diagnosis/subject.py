"""Whatever the user has, read without refusing it: a diagnosis comes before any mending."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ... import random
from ...backends.protocol import Backend, Float64, Neighbors, Rows
from ...core.parameters import Metric, accepts, describe
from ...distances.metrics import distances_of
from ...distances.protocol import DistanceRelation
from ...errors import DataError, ParameterError, UnsupportedError
from ...graph.search import find_neighbors, some
from ...input import blocks
from ...input.tables import Table, column_kinds, is_table, number_columns
from ...input.validation import Data

SubjectKind: TypeAlias = Literal["rows", "distances", "table", "objects"]
BLOCK = 2**22  # numbers that are looked at together: 32 MiB
MOST_CALLS = 1000  # objects that a callable metric compares with each other
SMALL, LARGE = 1e-100, 1e100  # entries whose squares can be added up without a thought
WIDE = 50_000_000  # numbers in a sample of rows: 400 MB
MOST_SPARSE = 5000  # sparse rows, which are compared pair by pair


@dataclass(frozen=True)
class Subject:
    """Numbers as they came (any real type, NaN allowed), and what is not a number by column."""

    kind: SubjectKind
    items: Any
    names: tuple[str, ...] | None
    odd: tuple[str, ...]  # columns of text or categories
    metric: Any
    metric_params: dict[str, Any] | None

    def __len__(self) -> int:
        return int(self.items.shape[0]) if hasattr(self.items, "shape") else len(self.items)

    @property
    def width(self) -> int:
        return int(self.items.shape[1]) if self.kind in ("rows", "table") else 0

    @property
    def dtype(self) -> np.dtype[Any]:
        """What a method would compute in."""
        kept = getattr(self.items, "dtype", None) == np.float32
        return np.dtype(np.float32 if kept else np.float64)

    def column(self, j: int) -> str:
        """The column in words."""
        return f"column {j}" if self.names is None else f"column {self.names[j]!r}"

    def blocks(self) -> Iterator[tuple[int, Float64]]:
        """(first row, some rows in float64), of dense rows."""
        n, d = self.items.shape
        step = max(1, BLOCK // max(d, 1))
        for i in range(0, n, step):
            yield i, np.asarray(self.items[i : i + step], np.float64)

    def sample(self, rows: NDArray[np.int64]) -> Sample:
        """Some rows, ready to be compared."""
        if self.kind == "distances":
            items = _in_range(self.items[np.ix_(rows, rows)])
        elif self.kind == "rows":
            items = _in_range(self.items[rows].astype(np.float64))
        else:
            items = some(self.items, rows)
        return Sample(items, rows, self.metric, self.metric_params)


@dataclass(frozen=True)
class Sample:
    """Rows that are complete and no copies of each other, with their numbers in the data."""

    items: Any
    rows: NDArray[np.int64]
    metric: Any
    metric_params: dict[str, Any] | None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def flat(self) -> bool:
        """Are distances straight lines between rows of numbers?"""
        return bool(self.metric == "euclidean")

    @cached_property
    def relation(self) -> DistanceRelation:
        dtype = np.dtype(getattr(self.items, "dtype", np.float64))
        return distances_of(Data(self.items, dtype), self.metric, self.metric_params)

    def others(self, k: int, ops: Backend) -> Neighbors:
        """The k nearest other rows of each."""
        return find_neighbors(self.relation, k, ops)

    def at(self, rows: NDArray[np.int64]) -> Sample:
        if self.metric == "precomputed":
            items = np.ascontiguousarray(self.items[np.ix_(rows, rows)])
        else:
            items = some(self.items, rows)
        return replace(self, items=items, rows=self.rows[rows])

    def distances(self, ops: Backend) -> Float64:
        return np.asarray(self.relation.among(ops), np.float64)


def read(
    X: Any,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    columns: Sequence[Any] | None = None,
) -> Subject:
    """The subject of a diagnosis; only what is no data at all is refused."""
    if not accepts(Metric, metric):
        raise ParameterError(f"metric={metric!r}: expected {describe(Metric)}.")
    if blocks.is_blocks(X):
        raise UnsupportedError("a dask array is not in memory; pass a part: X[::step].compute().")
    if metric == "gower":
        table = Table.of(X)
        odd = [
            name for name, kind in zip(table.names, table.kinds, strict=True) if kind != "number"
        ]
        return Subject("table", table, table.names, tuple(odd), metric, metric_params)
    if metric == "precomputed":
        return Subject("distances", _square(X), None, (), metric, metric_params)
    if is_table(X):
        names, numbers = number_columns(X)
        odd = [name for name, kind in column_kinds(X).items() if kind != "number"]
        return Subject("rows", numbers, names, tuple(odd), metric, metric_params)
    items, text = _numbers(X)
    if items is None:
        if not callable(metric):
            raise DataError(
                "X is a list of objects; pass a callable metric that compares two of them, or "
                "rows of numbers."
            )
        return Subject("objects", list(X), None, (), metric, metric_params)
    if columns is None and not text:
        return Subject("rows", items, None, (), metric, metric_params)
    width = items.shape[1] + len(text)
    given = [f"x{j}" for j in range(width)] if columns is None else list(map(str, columns))
    if len(given) != width:
        raise ParameterError(f"columns names {len(given)} columns, but X has {width}.")
    kept = tuple(name for j, name in enumerate(given) if j not in text)
    odd = [given[j] for j in text]
    return Subject("rows", items, kept, tuple(odd), metric, metric_params)


def chosen(
    subject: Subject, candidates: NDArray[np.int64], most: int | None, seed: int
) -> NDArray[np.int64]:
    """The candidates, or a seeded sample of them where there are many."""
    limit = len(candidates) if most is None else most
    if callable(subject.metric) or subject.kind == "table":
        limit = min(limit, MOST_CALLS)
    if most is not None and issparse(subject.items):
        limit = min(limit, MOST_SPARSE)
    elif most is not None and subject.width:
        limit = min(limit, max(200, WIDE // subject.width))
    if len(candidates) <= limit:
        return candidates
    return candidates[random.subset(seed, "diagnosis", len(candidates), limit)]


def _in_range(X: Rows) -> Rows:
    """The same in other units if squares would overflow or vanish; no finding has units."""
    entries = X.data if issparse(X) else X
    largest = float(np.abs(entries).max(initial=0))
    if SMALL < largest < LARGE or largest == 0:
        return X if issparse(X) else np.ascontiguousarray(X)
    return X * 2.0 ** -np.frexp(largest)[1]


def _square(X: Any) -> Any:
    if issparse(X):
        raise UnsupportedError(
            "a sparse graph holds distances to neighbors only; pass the rows or a full matrix."
        )
    D = np.ma.filled(np.ma.asarray(X, np.float64), np.nan)
    if D.ndim != 2 or D.shape[0] != D.shape[1]:
        raise DataError(
            f"metric='precomputed' needs a square matrix of distances, got shape {D.shape}; "
            "for rows name another metric."
        )
    return D


def _numbers(X: Any) -> tuple[Rows | None, list[int]]:
    """Columns of numbers and the numbers of other columns; None for a list of objects."""
    if issparse(X):
        tidy = csr_array(X)
        return (tidy if tidy.has_canonical_format else _tidied(tidy)), []
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    try:
        array = np.asarray(X)
    except ValueError:  # ragged
        return None, []
    if array.dtype.kind in "fiub" and array.ndim == 2:
        return array, []
    if array.dtype.kind not in "OUS" or array.ndim != 2:
        if array.ndim == 1 and array.dtype.kind in "OUS" and len(array):
            return None, []
        raise DataError(f"X must be rows of numbers, got an array of shape {array.shape}.")
    given = np.asarray(X, dtype=object)
    numbers, text = [np.empty((len(given), 0))], []
    for j in range(given.shape[1]):
        try:
            missing = [entry is None for entry in given[:, j]]
            numbers.append(np.where(missing, np.nan, given[:, j]).astype(np.float64)[:, None])
        except (TypeError, ValueError):
            text.append(j)
    return np.hstack(numbers), text


def _tidied(X: csr_array) -> csr_array:
    """Sorted, with doubled entries added up; never in the caller's matrix."""
    copy = X.copy()
    copy.sum_duplicates()
    return copy
