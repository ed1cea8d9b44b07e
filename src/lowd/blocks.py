"""Rows in blocks: data larger than memory, read a block at a time by tasks of Dask.

A task reads its blocks where it runs, and only what it makes of them comes back. Tasks run on the
threads of this process, or on the workers of a cluster, where a `distributed.Client` is connected;
a worker that dies is replaced by the others (see `tasks`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy as copied
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import csr_array, issparse, vstack

from . import random
from .backend import Backend, check_memory, current, using
from .errors import DataError, LowdError
from .input.entries import list_large_integers
from .parameters import Indices, Reals
from .tasks import connect as connect
from .tasks import import_dask, is_of, iterate, make_array, make_task, reduce, running, share
from .threads import available, single_threaded_blas

T = TypeVar("T")
Drawn = tuple[Any, Indices]  # rows and their numbers


@dataclass(frozen=True)
class BlockReader:
    """A block that is read when it is needed, by whichever process computes with it."""

    read: Callable[[], Any]
    n_rows: int | None  # None: not known before it is read
    source: str = ""  # the file that it is of
    first_row: int = 0  # of it, in that file

    def read_block(self, number: int) -> Any:
        """The rows; an error names the block and its file."""
        try:
            return self.read()
        except Exception as error:
            where = Where(number, None, self.source)
            raise DataError(f"{where} cannot be read: {type(error).__name__}: {error}") from error


class Where(NamedTuple):
    """Which rows of the whole data a block holds."""

    number: int
    start: int | None  # the number of its first row, where all lengths before it are known
    source: str = ""
    first_row: int = 0  # in that source

    def describe(self, row: int, column: int) -> str:
        """An entry of the block, by all names that its row has."""
        known = self.start is not None
        name = f"row {(self.start or 0) + row}" + ("" if known else f" of block {self.number}")
        parts = [f"block {self.number}"] if known else []
        parts += [f"row {self.first_row + row} of {self.source}"] if self.source else []
        return f"{name}, column {column}" + (f" ({', '.join(parts)})" if parts else "")

    def __str__(self) -> str:
        return f"block {self.number}" + (f" ({self.source})" if self.source else "")


class Part(NamedTuple):
    """Rows of one block, and which of all rows they are."""

    source: Any  # a BlockReader, or a task of Dask that gives the block
    where: Where
    rows: Indices | None  # of the block, in the order of their numbers; None: all of them
    placed: Indices | None  # their numbers, increasing; None: from the first of the block on
    length: int | None  # None where it is not known

    @property
    def numbers(self) -> Indices:
        if self.placed is not None:
            return self.placed
        assert self.where.start is not None
        assert self.length is not None
        return np.arange(self.where.start, self.where.start + self.length)


class Sample(NamedTuple):
    """Random rows, their numbers, and of how many they were drawn."""

    items: Any
    row_indices: Indices
    n_seen: int


def is_blocks(X: object) -> bool:
    """Whether X is data in blocks: `RowBlocks`, or an array or a data frame of Dask."""
    kind = type(X).__module__  # Dask is not imported for that.
    return isinstance(X, RowBlocks) or kind.startswith(("dask.array", "dask.dataframe"))


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
        array: Any,
        names: tuple[str, ...] | None = None,
        readers: Sequence[BlockReader] = (),
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
        self.names = names
        self.readers = tuple(readers)  # what reads the blocks, where that is known
        self.sample_size: int | None = None  # of how many rows a fit learns; None: of all
        # What `take`, `astype` and `prepared` set:
        self.order: Indices | None = None  # which of the rows these are; None: all, as they come
        self.dtype = np.dtype(np.float32 if array.dtype == np.float32 else np.float64)
        self.prepare: Callable[[Any], Any] | None = None  # applied to a block that is read
        self._parts: list[Part] | None = None

    @classmethod
    def of(cls, X: Any) -> RowBlocks:
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
        dtype: DTypeLike,
        names: tuple[str, ...] | None = None,
    ) -> RowBlocks:
        """Blocks that are read by functions, each with its length where that is known."""
        if not readers:
            raise DataError("there is no block of rows; name at least one.")
        lengths = [np.nan if reader.n_rows is None else reader.n_rows for reader in readers]
        array = make_array(_read_block, readers, lengths, n_features, dtype)
        return cls(array, names, readers)

    # -- sizes -------------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        return int(self.array.shape[1])

    @property
    def n_rows(self) -> int | None:
        """Number of rows, or None while it is not known."""
        if self.order is not None:
            return len(self.order)
        return None if np.isnan(self.array.shape[0]) else int(self.array.shape[0])

    @property
    def n_blocks(self) -> int:
        return len(self.array.chunks[0])

    @property
    def sources(self) -> list[tuple[str, int]]:
        """The file of each block, where it is of one, and its first row in that file."""
        known = [(reader.source, reader.first_row) for reader in self.readers]
        return known or [("", 0)] * self.n_blocks

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns. Where lengths are unknown, a pass counts the rows once."""
        self.count_rows()
        return self.n_rows or 0, self.n_features

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_parts": None}

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def nbytes(self) -> int:
        """Bytes of all rows, as dense ones."""
        return len(self) * self.n_features * self.dtype.itemsize

    def __repr__(self) -> str:
        n = "an unknown number of" if self.n_rows is None else self.n_rows
        return f"RowBlocks({n} rows of {self.n_features} columns in {self.n_blocks} blocks)"

    def count_rows(self, *, finite: bool = True) -> None:
        """Find the lengths of blocks where they are not known; with `finite` entries must be so."""
        if self.n_rows is None:
            reading = self._reading if finite else None
            lengths = list(self._compute_list("rows", _count, reading))
            self.array = self.array.copy()
            self.array._chunks = tuple(lengths), self.array.chunks[1]
            self._parts = None

    def name_columns(self, model: Any) -> None:
        """Set the names of the columns on a model that is fitted."""
        if self.names is not None:
            model.feature_names_in_ = np.array(self.names, object)

    def check_width(self, model: Any) -> None:
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

    # -- other views of the rows, of which nothing is read ------------------------------------

    def take(self, rows: Indices) -> RowBlocks:
        """Some of the rows, in another order."""
        self.count_rows()
        out = copied(self)
        out.order, out._parts = rows if self.order is None else self.order[rows], None
        return out

    def astype(self, dtype: DTypeLike, copy: bool = True) -> RowBlocks:  # noqa: ARG002
        """The rows, read as another type."""
        out = copied(self)
        out.dtype = np.dtype(dtype)
        return out

    def prepared(self, function: Callable[[Any], Any]) -> RowBlocks:
        """The rows as a function makes them of each block that is read."""
        out = copied(self)
        out.prepare = function
        return out

    @property
    def parts(self) -> list[Part]:
        """The rows block by block; blocks that are empty are left out."""
        if self._parts is None:
            self._parts = [part for part in self._list_parts() if part.length != 0]
        return self._parts

    def _list_parts(self) -> list[Part]:
        lengths = np.asarray(self.array.chunks[0], float)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        sources = self.readers or list(self.array.to_delayed()[:, 0])
        parts = []
        for number, (source, file) in enumerate(zip(sources, self.sources, strict=True)):
            begin, length = (_known(sizes[number]) for sizes in (starts, lengths))
            parts.append(Part(source, Where(number, begin, *file), None, None, length))
        if self.order is None:
            return parts
        block = np.searchsorted(starts, self.order, side="right") - 1
        placed = np.argsort(block, kind="stable")
        ends = np.searchsorted(block[placed], np.arange(1, len(parts)))
        return [
            part._replace(
                rows=self.order[some] - int(part.where.start or 0), placed=some, length=len(some)
            )
            for part, some in zip(parts, np.split(placed, ends), strict=True)
            if len(some)
        ]

    # -- rows in memory -----------------------------------------------------------------------

    def __getitem__(self, rows: Indices) -> Any:
        """Some of the rows in memory; only blocks that hold some of them are read."""
        return self.take(np.asarray(rows)).in_memory()

    def in_memory(self) -> Any:
        """All rows in memory, if there is room: dense, unless all blocks are sparse."""
        size = {f"{len(self)} rows of {self.n_features} columns in memory": self.nbytes}
        check_memory(size, "fit a sample of them: fit(X, sample=5000)")
        rows = self.gather(_same)
        return rows if len(self) else np.empty((0, self.n_features), self.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Reals:
        rows = self.in_memory()
        return np.asarray(rows.toarray() if issparse(rows) else rows, dtype)

    def draw(self, max_rows: int, *, finite: bool = True) -> Sample:
        """A random sample of all rows in one pass: the same rows whatever the blocks.

        With `finite` an entry that is not is an error.
        """
        self.count_rows(finite=finite)
        if not len(self):
            raise DataError("the data have 0 rows, while a minimum of 1 is required.")
        reading = self._reading if finite else None
        leaves = self._tasks(_draw, (max_rows,), reading, second="numbers")
        items, numbers = reduce("sample", leaves, partial(_merge_samples, max_rows))
        return Sample(items, numbers, len(self))

    def sample(self, n_rows: int) -> Any:
        """A random sample of the rows, in memory and in their order: the same for any blocks.

        >>> import lowd, numpy as np
        >>> blocks = lowd.open_blocks([np.zeros((50, 3)), np.ones((70, 3))])
        >>> blocks.sample(10).shape
        (10, 3)
        """
        return self.draw(n_rows).items

    # -- what is computed of them -------------------------------------------------------------

    def map(self, stage: str, function: Callable[..., T], *args: Any) -> Iterator[T]:
        """`function(rows, ...)` of each part, in the order of `parts`."""
        yield from self._compute_list(stage, function, self._reading, args)

    def gather(self, function: Callable[..., Reals], *args: Any) -> Reals:
        """What a function of the rows of a block has found of each, in the order of all rows."""
        self.count_rows()
        found = zip(self.map("rows", function, *args), self.parts, strict=True)
        whole: Reals = assemble(((rows, part.numbers) for rows, part in found), len(self))
        return whole

    def reduce(
        self,
        stage: str,
        function: Callable[..., T],
        merge: Callable[[T, T], T],
        *args: Any,
        numbered: bool = False,
    ) -> T:
        """`function(rows, ...)` of each block, merged in a tree of a fixed shape.

        So the bits are the same wherever tasks run. Where it is `numbered`, the function gets the
        numbers of the rows as well.
        """
        second: Second = "numbers" if numbered else None
        found: T = reduce(stage, self._tasks(function, args, self._reading, second=second), merge)
        return found

    def groups(
        self,
        stage: str,
        function: Callable[..., T],
        groups: Sequence[Sequence[Part]],
        *args: Any,
        apart: bool = False,
    ) -> Iterator[T]:
        """`function(rows, numbers, ...)` of groups of parts, as they are done.

        The rows are in the order of their numbers. Where parts are read `apart`, by a task each,
        every block is read once on a cluster, and its parts move to the groups that they are in.
        """
        leaves = self._tasks(function, args, self._reading, groups, "numbers", apart)
        for _, found in iterate(stage, leaves):
            yield found

    def write(self, function: Callable[..., Any], blocks: Sequence[int], *args: Any) -> None:
        """Have `function(rows, where, ...)` write something of some blocks, by their numbers."""
        every = self._list_parts()
        groups = [[every[number]] for number in blocks]
        for _ in iterate("write", self._tasks(function, args, self._reading, groups, "where")):
            pass

    def lazy(self, function: Callable[..., Any], width: int, dtype: DTypeLike, *args: Any) -> Any:
        """`function(rows, where, ...)` of each block as an array of Dask: nothing is computed."""
        assert self.order is None, "only all rows, as they come, are mapped lazily"
        job = share(Job(function, args, self._reading, "where", current()))
        return self.array.map_blocks(
            _map_block,
            job=job,
            files=self.sources,
            width=width,
            dtype=np.dtype(dtype),
            meta=np.empty((0, width), dtype),
            chunks=(self.array.chunks[0], (width,)),
        )

    def like(self, Y: Reals) -> Any:
        """Coordinates of all rows as an array of Dask with the same blocks."""
        chunks = self.array.chunks[0], (Y.shape[1],)
        return import_dask().array.from_array(Y, chunks=chunks)

    @property
    def _reading(self) -> Reading:
        return Reading(self.dtype, self.n_features, self.prepare)

    def _compute_list(
        self,
        stage: str,
        function: Callable[..., T],
        reading: Reading | None,
        args: tuple[Any, ...] = (),
    ) -> Iterator[T]:
        """The results of tasks of all parts in order, of which few wait for their turn."""
        early: dict[int, T] = {}
        due = 0
        leaves = self._tasks(function, args, reading)
        for number, found in iterate(stage, leaves, n_at_once=available()):
            early[number] = found
            while due in early:
                yield early.pop(due)
                due += 1

    def _tasks(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        reading: Reading | None,
        groups: Sequence[Sequence[Part]] | None = None,
        second: Second = None,
        apart: bool = False,
    ) -> list[Any]:
        """A task for each group of parts, or for each part."""
        job = share(Job(function, args, reading, second, current()))
        apply, take = make_task(_apply), make_task(_take_rows)
        tasks = []
        for group in [[part] for part in self.parts] if groups is None else groups:
            if apart:
                group = [
                    part._replace(
                        source=take(_share_reader(part.source), part.where, share(part.rows)),
                        rows=None,
                        placed=part.numbers,
                    )
                    for part in group
                ]
            sources = [_share_reader(part.source) for part in group]
            rest = [part._replace(source=None) for part in group]
            tasks.append(apply(job, sources, share(rest)))
        return tasks


def additive(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of rows as one of blocks, of which it is the sum.

        scatter.register(RowBlocks)(additive(scatter))

    A tuple is added part by part.
    """

    def total(X: RowBlocks, *args: Any) -> Any:
        return X.reduce("sums", function, _add, *args)

    return total


def rowwise(function: Callable[..., Reals]) -> Callable[..., Reals]:
    """A function of rows, each by itself, as one of blocks."""

    def gathered(X: RowBlocks, *args: Any) -> Reals:
        return X.gather(function, *args)

    return gathered


def stack_rows(parts: Sequence[Any]) -> Any:
    """All rows of some blocks; dense, unless all are sparse."""
    if len(parts) == 1:
        return parts[0]
    if all(issparse(part) for part in parts):
        return csr_array(vstack(parts))
    return np.concatenate([part.toarray() if issparse(part) else part for part in parts])


def assemble(found: Iterable[tuple[Any, Indices]], n: int) -> Any:
    """n rows from some of them and their places; dense, unless all are sparse.

    One block at a time is held besides the dense rows.
    """
    out: Any = None
    sparse: list[tuple[Any, Indices]] = []
    for rows, places in found:
        if issparse(rows) and out is None:
            sparse.append((rows, places))
            continue
        if out is None:
            out = np.empty((n, *rows.shape[1:]), rows.dtype)
        out[places] = rows.toarray() if issparse(rows) else rows
    if out is None and sparse:
        places = np.concatenate([places for _, places in sparse])
        return csr_array(csr_array(vstack([rows for rows, _ in sparse]))[np.argsort(places)])
    for rows, places in sparse:
        out[places] = rows.toarray()
    return np.empty(0) if out is None else out


def _add(a: Any, b: Any) -> Any:
    return tuple(map(_add, a, b)) if isinstance(a, tuple) else a + b


def _known(size: float) -> int | None:
    return None if np.isnan(size) else int(size)


def _same(rows: Any) -> Any:
    return rows


def _count(rows: Any) -> int:
    return int(rows.shape[0])


def _draw(rows: Any, numbers: Indices, most: int) -> Drawn:
    some = _smallest(numbers, most)
    return rows[some], numbers[some]


def _merge_samples(most: int, a: Drawn, b: Drawn) -> Drawn:
    return _draw(stack_rows([a[0], b[0]]), np.concatenate([a[1], b[1]]), most)


def _smallest(numbers: Indices, most: int) -> Indices:
    """Which rows a sample keeps: those with the smallest random bits of their numbers, in order."""
    if len(numbers) <= most:
        return np.argsort(numbers)
    bits = random.bits(0, "sample", numbers)
    some = np.argpartition(bits, most - 1)[:most]
    return np.asarray(some[np.argsort(numbers[some])])


# -- tasks: functions of blocks, which run where Dask runs them -----------------------------------

Second = Literal["numbers", "where"] | None  # what a function gets besides the rows


class Reading(NamedTuple):
    """As what blocks are read."""

    dtype: np.dtype[Any]
    width: int
    prepare: Callable[[Any], Any] | None


@dataclass(frozen=True)
class Job:
    """What all tasks of one computation share; it is sent to each worker once."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    reading: Reading | None
    second: Second
    backend: Backend | None

    def apply(self, rows: Any, numbers: Indices | None, where: Where) -> Any:
        """The function of some rows, with the threads that a task has."""
        given = {"numbers": (numbers,), "where": (where,), None: ()}[self.second]
        name, _, n_jobs = self.backend or ("auto", 1, None)
        try:
            with running(), using(name, n_jobs), single_threaded_blas():
                return self.function(rows, *given, *self.args)
        except DataError as error:
            if self.second != "where":
                raise
            raise DataError(f"{where}: {error}") from error
        except LowdError:
            raise
        except Exception as error:
            error.add_note(f"in {where}")
            raise


def _apply(job: Job, sources: list[Any], parts: list[Part]) -> Any:
    """A task: the rows of some parts in the order of their numbers, and a function of them."""
    found = (
        read(source, part.where, part.rows, job.reading)
        for source, part in zip(sources, parts, strict=True)
    )
    if len(parts) == 1:
        numbers = parts[0].numbers if job.second == "numbers" else None
        return job.apply(next(found), numbers, parts[0].where)
    numbers = np.concatenate([part.numbers for part in parts])
    place = np.empty(len(numbers), np.int64)
    place[np.argsort(numbers)] = np.arange(len(numbers))
    ends = np.cumsum([len(part.numbers) for part in parts])
    rows = assemble(zip(found, np.split(place, ends[:-1]), strict=True), len(numbers))
    return job.apply(rows, np.sort(numbers), parts[0].where)


def read(source: Any, where: Where, chosen: Indices | None, reading: Reading | None) -> Any:
    """Rows of a block, in a task: dense or CSR, in one type, and finite."""
    rows = _take_rows(source, where, chosen)
    for found in list_large_integers(rows):
        row = found.row if chosen is None else int(chosen[found.row])
        raise DataError(found.describe(where.describe(row, found.column)))
    if reading is None:
        return rows
    if rows.shape[1:] != (reading.width,):
        raise DataError(
            f"{where} has the shape {rows.shape}, but X has {reading.width} features; look at what "
            "makes the blocks."
        )
    rows = rows.astype(reading.dtype, copy=False)
    check_finite(rows, where, chosen)
    try:
        return rows if reading.prepare is None else reading.prepare(rows)
    except DataError as error:
        raise DataError(f"{where}: {error}") from error


def check_finite(rows: Any, where: Where, chosen: Indices | None = None) -> None:
    """Raise an error that names the first entry of a block that is not finite."""
    entries = rows.data if issparse(rows) else rows
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(entries.sum(dtype=np.float64)):
            return
    bad = ~np.isfinite(entries)
    if not bad.any():
        return
    if issparse(rows):
        found = rows.tocoo()
        row, column = int(found.row[bad.argmax()]), int(found.col[bad.argmax()])
        value = entries[bad.argmax()]
    else:
        row, column = map(int, np.unravel_index(bad.argmax(), bad.shape))
        value = rows[row, column]
    row = row if chosen is None else int(chosen[row])
    word = "NaN" if np.isnan(value) else str(value)
    raise DataError(f"{word} at {where.describe(row, column)}; drop or fill such rows.")


def _take_rows(source: Any, where: Where, chosen: Indices | None) -> Any:
    """Some rows of a block, dense or CSR without duplicate entries."""
    block = source.read_block(where.number) if isinstance(source, BlockReader) else source
    if issparse(block):
        block = csr_array(block)
        if not block.has_canonical_format:
            block = block.copy()
            block.sum_duplicates()
    if chosen is not None:
        consecutive = len(chosen) and bool((np.diff(chosen) == 1).all())
        block = block[slice(chosen[0], chosen[-1] + 1) if consecutive else chosen]
    if np.ma.is_masked(block):
        row, column = map(int, np.argwhere(np.ma.getmaskarray(block))[0])
        row = row if chosen is None else int(chosen[row])
        raise DataError(
            f"X hides entries behind a mask, the first at {where.describe(row, column)}; fill them "
            "(dask.array.ma.filled) or drop their rows."
        )
    return block if issparse(block) else np.ascontiguousarray(block)


def _share_reader(source: Any) -> Any:
    return share(source) if isinstance(source, BlockReader) else source


def _read_block(reader: BlockReader, number: int) -> Any:
    return reader.read_block(number)


def _map_block(
    block: Any, job: Job, files: list[tuple[str, int]], width: int, block_info: Any = None
) -> Reals:
    """A block of `RowBlocks.lazy`; Dask says where it is."""
    number = int(block_info[0]["chunk-location"][0])
    start = block_info[0]["array-location"][0][0]
    where = Where(number, None if np.isnan(start) else int(start), *files[number])
    rows = read(block, where, None, job.reading)
    if not rows.shape[0]:
        return np.empty((0, width), block_info[None]["dtype"])
    return np.asarray(job.apply(rows, None, where))


def _refuse_in_partition(frame: Any, partition_info: Any = None) -> Any:
    """The partition, before its columns become one array, in whose type integers are rounded."""
    for found in list_large_integers(frame):
        number = "" if partition_info is None else f" of partition {partition_info['number']}"
        raise DataError(found.describe(f"row {found.row}{number}, column {found.name!r}"))
    return frame
