"""Rows in blocks: data that no memory holds at once, and what is computed of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..backends import resolve
from ..backends.protocol import Array, Backend, ColumnStatistics, DType, Rows
from ..errors import DataError
from . import dask_engine as engine
from .arguments import Input
from .block_reader import (
    UNKNOWN_LENGTH_BITS,
    BlockFunction,
    BlockReader,
    BlockResult,
    Job,
    Where,
)
from .dask_engine import DaskArray, Delayed, is_of
from .integers import list_large_integers
from .ranges import to_safe_dtype
from .sample import Sample, is_sampled
from .validation import to_canonical_csr

Model: TypeAlias = Any  # an estimator, whose module imports this one
BlockInfo: TypeAlias = Any  # what dask tells a function of the block it is given
Sampled: TypeAlias = tuple[Sample, tuple[tuple[int, int], ...]]  # and the lengths of blocks
T = TypeVar("T")


def is_blocks(X: object) -> bool:
    """Whether X is data in blocks: `RowBlocks`, or an array or a data frame of dask."""
    if isinstance(X, np.ndarray):
        return False
    return isinstance(X, RowBlocks) or is_of(X, "array") or is_of(X, "dataframe")


class RowBlocks:
    """A sequence of row blocks: dense or sparse rows that are read block by block.

    Made by `lowd.open_blocks`; arrays and data frames of dask become it by themselves.

    Attributes
    ----------
    array : dask.array.Array
        The rows; every block holds whole rows.
    names : tuple of str or None
        Names of the columns.
    """

    def __init__(
        self,
        array: DaskArray,
        names: tuple[str, ...] | None = None,
        sources: tuple[tuple[str, int], ...] | None = None,
        readers: tuple[BlockReader, ...] = (),
    ) -> None:
        if array.ndim != 2:
            raise DataError(f"a dask array needs 2 dimensions, got {array.ndim}; reshape it.")
        if array.dtype.kind not in "fiub":
            remedy = (
                "choose a unit: (X - X.min()) / np.timedelta64(1, 'D')"
                if array.dtype.kind in "mM"
                else "convert it with .astype(float)"
            )
            raise DataError(f"a dask array of {array.dtype} holds no numbers; {remedy}.")
        if np.isnan(array.shape[1]):
            raise DataError("the number of columns is unknown; call X.compute_chunk_sizes() first.")
        self.array = array.rechunk({1: -1}) if len(array.chunks[1]) > 1 else array
        self.names, self.sources = names, sources
        self.sample_size: int | None = None  # of how many rows a fit learns, at most
        self.readers = readers  # the blocks as what reads them, where that is known

    @classmethod
    def of(cls, X: Input) -> RowBlocks:
        """The blocks of a dask array, the partitions of a dask data frame, or X itself."""
        if isinstance(X, RowBlocks):
            return X
        if not is_of(X, "dataframe"):
            return cls(X)
        if X.ndim != 2:
            raise DataError("a dask series is one column; pass a data frame: X.to_frame().")
        text = [str(name) for name, kind in X.dtypes.items() if kind.kind not in "fiub"]
        if text:
            raise DataError(
                f"the dask data frame has columns that hold no numbers, {', '.join(text[:8])}; "
                f"leave them out: X.drop(columns={text[:8]})."
            )
        names = tuple(X.columns) if all(isinstance(name, str) for name in X.columns) else None
        X = X.map_partitions(_refuse_in_partition, meta=X._meta)
        return cls(X.to_dask_array(), names)

    @classmethod
    def from_readers(
        cls,
        readers: Sequence[BlockReader],
        n_features: int,
        dtype: DType,
        names: tuple[str, ...] | None = None,
    ) -> RowBlocks:
        """Blocks that are read by functions, each with its length where that is known."""
        if not readers:
            raise DataError("there is no block of rows; name at least one.")
        array = engine.make_array(readers, n_features, dtype)
        sources = tuple((reader.source, reader.first_row) for reader in readers)
        return cls(array, names, sources, tuple(readers))

    # -- sizes ------------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        return int(self.array.shape[1])

    @property
    def n_rows(self) -> int | None:
        """Number of rows, or None while it is not known."""
        return None if np.isnan(self.array.shape[0]) else int(self.array.shape[0])

    @property
    def n_blocks(self) -> int:
        return len(self.array.chunks[0])

    @property
    def dtype(self) -> DType:
        """The type of results: float32 for float32 input, else float64."""
        return np.dtype(np.float32 if self.array.dtype == np.float32 else np.float64)

    def __repr__(self) -> str:
        n = "an unknown number of" if self.n_rows is None else self.n_rows
        return f"RowBlocks({n} rows of {self.n_features} columns in {self.n_blocks} blocks)"

    def where(self) -> list[Where]:
        """The rows of every block."""
        lengths = np.asarray(self.array.chunks[0], float)
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        sources = self.sources or (("", 0),) * self.n_blocks
        return [
            Where(number, None if np.isnan(start) else int(start), *source)
            for number, (start, source) in enumerate(zip(starts, sources, strict=True))
        ]

    def name_columns(self, model: Model) -> None:
        """Set the names of the columns on a model that is fitted."""
        if self.names is not None:
            model.feature_names_in_ = np.array(self.names, object)

    def check_width(self, model: Model) -> None:
        """Compare `n_features_in_` and the names of columns, or set them when fitting."""
        known = getattr(model, "n_features_in_", None)
        if known is None:
            model.n_features_in_ = self.n_features
            self.name_columns(model)
        elif known != self.n_features:
            raise DataError(
                f"X has {self.n_features} features, but {type(model).__name__} was fitted on "
                f"{known}."
            )
        elif self.names is not None and hasattr(model, "feature_names_in_"):
            fitted = list(model.feature_names_in_)
            if list(self.names) != fitted:
                raise DataError(
                    f"the columns are {list(self.names)[:8]}, but {type(model).__name__} was "
                    f"fitted on {fitted[:8]}; select them in that order."
                )

    # -- what is computed -------------------------------------------------------------------

    def map(
        self, function: BlockFunction, width: int | None, dtype: DType, *given: Any
    ) -> DaskArray:
        """`function` of every block, lazily: so many columns for each row, or one number (None)."""
        shape = () if width is None else (width,)
        how: dict[str, Any] = {"dtype": dtype, "meta": np.empty((0, *shape), dtype)}
        if width is None:
            how["drop_axis"] = 1
        else:
            how["chunks"] = (self.array.chunks[0], (width,))
        job = engine.share(Job(function, given, self.sources))
        return self.array.map_blocks(_map_block, job=job, **how)

    def reduce(
        self, function: BlockFunction, merge: Callable[[T, T], T], stage: str, *given: Any
    ) -> T:
        """`function` of every block, merged in a tree of a fixed shape: the same bits anywhere."""
        leaves = self.tasks(function, given)
        join = engine.make_task(merge)
        level = leaves
        while len(level) > 1:
            pairs = [join(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
            level = pairs + level[len(level) // 2 * 2 :]
        found: T = engine.compute(leaves, level[0], stage)
        return found

    def collect(
        self,
        function: BlockFunction,
        stage: str,
        *given: Any,
        numbers: Sequence[int] | None = None,
    ) -> list[Any]:
        """`function` of every block, or of some, as a list: for results that are small."""
        leaves = self.tasks(function, given)
        leaves = leaves if numbers is None else [leaves[number] for number in numbers]
        gather = engine.make_task(_gather)
        found: list[Any] = engine.compute(leaves, gather(leaves), stage)
        return found

    def tasks(self, function: BlockFunction, given: tuple[Any, ...]) -> list[Delayed]:
        """`function` of every block as tasks."""
        job = engine.share(Job(function, given, None))
        apply = engine.make_task(_apply_job)
        return [apply(b, job, where) for b, where in zip(self.blocks(), self.where(), strict=True)]

    def blocks(self) -> list[Delayed]:
        """Every block as a task."""
        return list(self.array.to_delayed()[:, 0])

    def iterate_groups(
        self,
        function: Callable[..., T],
        groups: Sequence[Sequence[int]],
        stage: str,
        *given: Any,
    ) -> Iterator[T]:
        """`function(parts, ...)` of groups of blocks, each part (rows, where), as they are done."""
        search = engine.make_task(_apply_to_parts)
        job = engine.share(Job(function, given, None))
        parts = list(zip(self.blocks(), self.where(), strict=True))
        leaves = [search([parts[number] for number in group], job) for group in groups]
        for _, found in engine.iterate(leaves, stage):
            yield found

    def with_known_lengths(self) -> RowBlocks:
        """The same blocks; where their lengths are unknown, one pass counts the rows."""
        if self.n_rows is not None:
            return self
        lengths = self.collect(_count_rows, "rows")
        array = self.array.copy()
        array._chunks = (tuple(lengths), self.array.chunks[1])
        return RowBlocks(array, self.names, self.sources)

    def draw(self, max_rows: int, *, finite: bool = True) -> Sample:
        """A random sample of all rows in one pass: the same rows whatever the blocks.

        Its row indices are those of the whole data. With `finite` an entry that is not is an error.
        """
        found: Sampled = self.reduce(
            _sample_block, partial(_merge_samples, max_rows), "sample", max_rows, finite
        )
        sample, lengths = found
        if self.n_rows is None:
            rows = _number_rows(sample.row_indices, dict(lengths))
            sample = Sample(sample.items, rows, sample.n_seen)
        if not sample.n_seen:
            raise DataError("the data have 0 rows, while a minimum of 1 is required.")
        return sample

    def sample(self, n_rows: int) -> Rows:
        """A random sample of the rows, in memory and in their order: the same for any blocks.

        >>> import lowd, numpy as np
        >>> blocks = lowd.open_blocks([np.zeros((50, 3)), np.ones((70, 3))])
        >>> blocks.sample(10).shape
        (10, 3)
        """
        return self.draw(n_rows).items


def validate_block(
    rows: Rows, where: Where, ops: Backend, *, fitting: bool = True, priorities: bool = False
) -> tuple[Rows, ColumnStatistics]:
    """Finite rows of a block in a type whose squares they fit, and their column statistics.

    With `priorities` these have those by which many rows are sampled.
    """
    rows = as_rows(rows, where)
    rows = rows.astype(np.float32 if rows.dtype == np.float32 else np.float64, copy=False)
    if not rows.shape[0]:
        return rows, ColumnStatistics(None, np.zeros(rows.shape[1]), 0.0)
    statistics = ops.column_statistics(rows, priorities=priorities and is_sampled(rows))
    if statistics.first_nonfinite is not None:
        raise DataError(describe_nonfinite_entry(rows, statistics.first_nonfinite, where))
    return to_safe_dtype(rows, statistics.max_abs, fitting=fitting), statistics


def as_rows(block: Rows, where: Where | None = None) -> Rows:
    """A block as dense or, where it is sparse, as CSR rows.

    With `where` integers are refused that floats would round.
    """
    if where is not None:
        for found in list_large_integers(block):
            raise DataError(found.describe(where.describe(found.row, found.column)))
    return to_canonical_csr(block, "a block") if issparse(block) else np.ascontiguousarray(block)


# -- tasks: functions of a block, which run wherever dask runs them ---------------------------


def _refuse_in_partition(frame: Input, partition_info: BlockInfo = None) -> Input:
    """The partition, before its columns become one array, in whose type integers are rounded."""
    for found in list_large_integers(frame):
        number = "" if partition_info is None else f" of partition {partition_info['number']}"
        raise DataError(found.describe(f"row {found.row}{number}, column {found.name!r}"))
    return frame


def _map_block(block: Rows, job: Job, block_info: BlockInfo = None) -> Array:
    """A block of `RowBlocks.map`; dask tells where it is, and tries an empty one beforehand."""
    if block_info is None or 0 not in block_info:
        return np.asarray(job.apply(block, Where(0, 0)))
    number = int(block_info[0]["chunk-location"][0])
    start = block_info[0]["array-location"][0][0]
    source = ("", 0) if job.sources is None else job.sources[number]
    where = Where(number, None if np.isnan(start) else int(start), *source)
    return np.asarray(job.apply(block, where))


def _apply_job(block: Rows, job: Job, where: Where) -> BlockResult:
    return job.apply(block, where)


def _apply_to_parts(parts: list[tuple[Rows, Any]], job: Job) -> BlockResult:
    return job.function(parts, *job.given)


def _gather(found: list[T]) -> list[T]:
    return found


def describe_nonfinite_entry(rows: Rows, position: tuple[int, int], where: Where) -> str:
    row, column = position
    word = "NaN" if np.isnan(rows[row, column]) else str(rows[row, column])
    return f"{word} at {where.describe(row, column)}; drop or fill such rows."


def _count_rows(rows: Rows, where: Where) -> int:  # noqa: ARG001 - a block function's signature
    return int(rows.shape[0])


def _sample_block(rows: Rows, where: Where, max_rows: int, finite: bool) -> Sampled:
    if finite:
        rows, _ = validate_block(rows, where, resolve("auto", 1), fitting=False)
    else:
        rows = as_rows(rows)
    return Sample.draw(rows, max_rows, where.first_index), ((where.number, rows.shape[0]),)


def _merge_samples(max_rows: int, a: Sampled, b: Sampled) -> Sampled:
    return a[0].merge(b[0], max_rows), a[1] + b[1]


def _number_rows(indices: NDArray[np.int64], lengths: dict[int, int]) -> NDArray[np.int64]:
    """Rows of the whole data by (block, row in it), when all lengths have become known."""
    counts = np.array([lengths[number] for number in range(len(lengths))])
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    number = indices >> UNKNOWN_LENGTH_BITS
    return np.asarray(starts[number] + (indices & (2**UNKNOWN_LENGTH_BITS - 1)), np.int64)
