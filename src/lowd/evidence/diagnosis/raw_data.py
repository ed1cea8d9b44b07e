"""Data as the user has them, read without refusing missing values, text or duplicates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ... import random
from ...errors import DataError, ParameterError, UnsupportedError
from ...input.arguments import Input
from ...input.entries import (
    LargeInteger,
    Table,
    column_kinds,
    is_date,
    is_number,
    is_table,
    list_large_integers,
    read_number_columns,
    refuse_containers,
    refuse_large_integers,
    refuse_non_numbers,
)
from ...neighbor_graph import NeighborGraph
from ...parameters import Metric, Reals, accepts, describe
from ...spaces import Space, count_rows, space_of, take_rows
from ...spaces.matrices import hash_symmetric
from ..types import Items, MetricLike, MetricParams
from .result import list_some

DataKind: TypeAlias = Literal["rows", "distances", "table", "objects"]
MAX_BLOCK_ENTRIES = 2**22  # converted to float64 at a time: 32 MiB
MAX_CALLABLE_SAMPLES = 1000  # half a million calls of a callable metric
MIN_SAFE_ENTRY, MAX_SAFE_ENTRY = 1e-100, 1e100  # sums of squares neither underflow nor overflow
MAX_DIAGNOSED_ENTRIES = 50_000_000  # of sampled rows: 400 MB in float64
MIN_WIDE_SAMPLES = 200  # sampled, however many columns there are
MAX_SPARSE_SAMPLES = 5000  # sparse rows are compared pair by pair
MIN_NEIGHBORHOOD_SAMPLES = 10  # rows, below which neighborhoods mean nothing


@dataclass(frozen=True)
class RawData:
    """Numbers of any real type, NaN allowed, and the names of columns that hold none."""

    kind: DataKind
    items: Items
    names: tuple[str, ...] | None
    non_numeric: tuple[str, ...]  # columns of text, categories or dates
    metric: MetricLike
    metric_params: MetricParams
    dates: tuple[str, ...] = ()  # those of `non_numeric` that hold dates or durations
    rounded: tuple[LargeInteger, ...] = ()  # one for each column with integers beyond 2**53
    is_frame: bool = False  # are the names those of a frame's columns, which a fit also sees?

    def __len__(self) -> int:
        return count_rows(self.items)

    @property
    def X(self) -> Any:  # noqa: N802 - the matrix of the data
        """The rows of numbers, or the matrix of distances."""
        return self.items

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1]) if self.kind in ("rows", "table") else 0

    @property
    def is_sparse(self) -> bool:
        return bool(issparse(self.items))

    @property
    def dtype(self) -> np.dtype[np.float32] | np.dtype[np.float64]:
        """The type in which a method would compute."""
        kept = getattr(self.items, "dtype", None) == np.float32
        return np.dtype(np.float32) if kept else np.dtype(np.float64)

    def describe_column(self, j: int) -> str:
        """The column for a sentence: by name, or by index."""
        return f"column {j}" if self.names is None else f"column {self.names[j]!r}"

    def identify_columns(self, columns: Sequence[int]) -> tuple[str | int, ...]:
        """Columns as `lowd.Pipeline` takes them: by name of a frame, by index of an array."""
        if self.is_frame and self.names is not None:
            return tuple(self.names[j] for j in columns)
        return tuple(int(j) for j in columns)

    def has_column(self, column: str | int) -> bool:
        if isinstance(column, str):
            return column in (self.names or ())
        return 0 <= column < self.n_features

    def index_columns(self, columns: Sequence[str | int]) -> list[int]:
        """The inverse of `identify_columns`."""
        names = list(self.names or ())
        return [names.index(c) if isinstance(c, str) else c for c in columns]

    def list_columns(self, columns: Sequence[int]) -> str:
        """Columns for a sentence."""
        names = [str(j) if self.names is None else repr(self.names[j]) for j in columns]
        return f"column{'s' * (len(names) > 1)} {list_some(names)}"

    def iterate_blocks(self) -> Iterator[tuple[int, Reals]]:
        """(first row, some rows in float64), of dense rows."""
        n, d = self.X.shape
        step = max(1, MAX_BLOCK_ENTRIES // max(d, 1))
        for i in range(0, n, step):
            yield i, np.asarray(self.X[i : i + step], np.float64)

    def take(self, rows: NDArray[np.int64]) -> Sample:
        """Some rows, in a range in which they can be compared."""
        if self.kind == "distances":
            items: Items = rescale(self.X[np.ix_(rows, rows)])
        elif self.kind == "rows":
            items = rescale(self.X[rows].astype(np.float64))
        else:
            items = take_rows(self.items, rows)
        return Sample(items, rows, self.metric, self.metric_params)

    def take_filled(self, rows: NDArray[np.int64]) -> Sample:
        """Some rows whose missing entries have a value of their column, the lower median."""
        X = np.array(self.X[rows], np.float64)
        known = np.isfinite(X)
        for j in np.flatnonzero(~known.all(0)):
            values = np.sort(X[known[:, j], j])
            X[~known[:, j], j] = values[(len(values) - 1) // 2] if len(values) else 0.0
        return Sample(rescale(X), rows, self.metric, self.metric_params)

    def take_raw(self, rows: NDArray[np.int64]) -> Sample:
        """Some rows of numbers as they are, missing values too."""
        return Sample(self.X[rows].astype(np.float64), rows, self.metric, self.metric_params)


@dataclass(frozen=True)
class Sample:
    """Complete, distinct rows, with their indices in the data."""

    items: Items
    rows: NDArray[np.int64]
    metric: MetricLike
    metric_params: MetricParams

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def X(self) -> Any:  # noqa: N802 - the matrix of the data
        """The rows of numbers, or the matrix of distances."""
        return self.items

    @property
    def is_euclidean(self) -> bool:
        """Rows of numbers with Euclidean distances?"""
        return bool(self.metric == "euclidean")

    @cached_property
    def space(self) -> Space:
        return space_of(self.items, self.metric, self.metric_params)

    def find_neighbors(self, k: int) -> NeighborGraph:
        """The k nearest other rows of each; a search for more of them serves for fewer, too."""
        found: NeighborGraph | None = vars(self).get("_found")
        if found is None or found.n_neighbors < k:
            near = self.space.nearest(k)
            found = vars(self)["_found"] = NeighborGraph(*near.table, near.recall)
        indices, distances = (np.ascontiguousarray(part[:, :k]) for part in found)
        return NeighborGraph(indices, distances, found.recall)

    def take(self, rows: NDArray[np.int64]) -> Sample:
        if self.metric == "precomputed":
            items: Items = np.ascontiguousarray(self.X[np.ix_(rows, rows)])
        else:
            items = take_rows(self.items, rows)
        return replace(self, items=items, rows=self.rows[rows])

    def take_dense(self, columns: NDArray[np.int64] | None = None) -> Reals:
        """The rows as a dense matrix in float64, with all columns or some."""
        X = self.X if columns is None else self.X[:, columns]
        return np.asarray(X.toarray() if issparse(X) else X, np.float64)

    def compute_distances(self) -> Reals:
        """The matrix of distances between the rows."""
        return np.asarray(self.space.pairwise(), np.float64)


def read_data(
    X: Input,
    metric: MetricLike = "euclidean",
    metric_params: MetricParams = None,
    columns: Sequence[object] | None = None,
) -> RawData:
    """Read the data of a diagnosis; an error only for what is no data at all."""
    if not accepts(Metric, metric):
        raise ParameterError(f"metric={metric!r}: expected {describe(Metric)}.")
    refuse_containers(X, "a diagnosis")
    if metric == "gower":
        refuse_large_integers(X, "metric='gower'")
        table = Table.read(X)
        kinds = zip(table.names, table.kinds, strict=True)
        non_numeric = tuple(name for name, kind in kinds if kind in ("order", "category"))
        return RawData("table", table, table.names, non_numeric, metric, metric_params)
    if metric == "precomputed":
        return RawData("distances", _as_square(X), None, (), metric, metric_params)
    if is_table(X):
        names, numbers = read_number_columns(X)
        others = {name: kind for name, kind in column_kinds(X).items() if kind != "number"}
        of_time = tuple(name for name, kind in others.items() if kind in ("date", "duration"))
        rounded = tuple(
            found._replace(column=names.index(str(found.name))) for found in list_large_integers(X)
        )
        return RawData(
            "rows", numbers, names, tuple(others), metric, metric_params, of_time, rounded, True
        )
    items, text, dates = _as_numbers(X)
    if items is None:
        if not callable(metric):
            raise DataError(
                "X is a list of objects; pass a callable metric that compares two of them, or "
                "rows of numbers."
            )
        return RawData("objects", list(X), None, (), metric, metric_params)
    rounded = tuple(
        found._replace(column=found.column - sum(j < found.column for j in text))
        for found in list_large_integers(X)
        if found.column not in text
    )
    if columns is None and not text:
        return RawData("rows", items, None, (), metric, metric_params, rounded=rounded)
    n_columns = items.shape[1] + len(text)
    given = [f"x{j}" for j in range(n_columns)] if columns is None else list(map(str, columns))
    if len(given) != n_columns:
        raise ParameterError(f"columns names {len(given)} columns, but X has {n_columns}.")
    numeric = tuple(name for j, name in enumerate(given) if j not in text)
    non_numeric, of_time = (tuple(given[j] for j in found) for found in (text, dates))
    return RawData("rows", items, numeric, non_numeric, metric, metric_params, of_time, rounded)


def sample_rows(
    data: RawData,
    candidates: NDArray[np.int64],
    keys: NDArray[np.uint64],
    max_samples: int | None,
    seed: int,
) -> NDArray[np.int64]:
    """The candidates, or a seeded sample of them where there are many.

    In an order by content (of `keys`), so that in whichever order the rows come the same are drawn,
    here and from this sample.
    """
    limit = len(candidates) if max_samples is None else max_samples
    if callable(data.metric) or data.kind == "table":
        limit = min(limit, MAX_CALLABLE_SAMPLES)
    if max_samples is not None and issparse(data.items):
        limit = min(limit, MAX_SPARSE_SAMPLES)
    elif max_samples is not None and data.n_features:
        limit = min(limit, max(MIN_WIDE_SAMPLES, MAX_DIAGNOSED_ENTRIES // data.n_features))
    rank: NDArray[np.uint64] | NDArray[np.int64] = keys
    if data.kind == "distances":  # whose rows change with the order of the others
        rank = hash_symmetric(np.ascontiguousarray(data.X))
    candidates = candidates[np.argsort(rank[candidates], kind="stable")]
    if len(candidates) <= limit:
        return candidates
    return candidates[random.subset(seed, "diagnosis", len(candidates), limit)]


def rescale(X: Any) -> Any:
    """Other units if squares would overflow or underflow; no finding depends on units."""
    entries = X.data if issparse(X) else X
    largest = float(np.abs(entries).max(initial=0))
    if MIN_SAFE_ENTRY < largest < MAX_SAFE_ENTRY or largest == 0:
        return X if issparse(X) else np.ascontiguousarray(X)
    return X * 2.0 ** -np.frexp(largest)[1]


def _as_square(X: Input) -> Reals:
    if issparse(X):
        raise UnsupportedError(
            "a sparse graph holds distances to neighbors only; pass the rows or a full matrix."
        )
    refuse_non_numbers(X, "metric='precomputed'")
    refuse_large_integers(X, "metric='precomputed'")
    D: Reals = np.ma.filled(np.ma.asarray(X, np.float64), np.nan)
    if D.ndim != 2 or D.shape[0] != D.shape[1]:
        raise DataError(
            f"metric='precomputed' needs a square matrix of distances, got shape {D.shape}; "
            "for rows name another metric."
        )
    return D


def _as_numbers(X: Input) -> tuple[Any | None, list[int], list[int]]:
    """Columns of numbers, and the indices of the others and of dates; None for objects."""
    if issparse(X):
        return _sum_duplicates(csr_array(X)), [], []
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    try:
        array = np.asarray(X)
    except ValueError:  # ragged
        return None, [], []
    if array.dtype.kind in "fiub" and array.ndim == 2:
        return array, [], []
    if array.ndim == 1 and array.dtype.kind in "OUS" and len(array):
        return None, [], []
    if array.dtype.kind != "O":
        refuse_non_numbers(array, "diagnose")
    if array.ndim != 2:
        raise DataError(f"X must be rows of numbers, got an array of shape {array.shape}.")
    numbers, others, dates = [np.empty((len(array), 0))], [], []
    for j, column in enumerate(array.T):
        try:
            if not all(map(is_number, column)):
                raise TypeError
            missing = [entry is None for entry in column]
            numbers.append(np.where(missing, np.nan, column).astype(np.float64)[:, None])
        except OverflowError:
            refuse_large_integers(X, "diagnose")
            raise
        except (TypeError, ValueError):
            others.append(j)
            dates += [j] if all(is_date(entry) for entry in column if entry is not None) else []
    return np.hstack(numbers), others, dates


def _sum_duplicates(X: csr_array) -> csr_array:
    """Canonical format: indices sorted, duplicate entries summed; never in the caller's matrix."""
    if X.has_canonical_format:
        return X
    copy = X.copy()
    copy.sum_duplicates()
    return copy
