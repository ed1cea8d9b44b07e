"""Rows in blocks: data that no memory holds at once, and what dask computes of them.

The only file that imports dask and distributed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from .. import progress
from ..backends import resolve
from ..backends.protocol import Array, Backend, DType, Rows
from ..errors import ClusterError, DataError, LowdError, MissingPackageError
from .arguments import Input
from .ranges import to_safe_dtype
from .sample import Sample
from .validation import to_canonical_csr

DaskArray: TypeAlias = Any  # dask has no types
Dask: TypeAlias = Any  # the package
Delayed: TypeAlias = Any  # a task of dask
Client: TypeAlias = Any  # of a cluster
BlockResult: TypeAlias = Any  # of a function of a block, whichever that is
Model: TypeAlias = Any  # an estimator, whose module imports this one
BlockInfo: TypeAlias = Any  # what dask tells a function of the block it is given
Sampled: TypeAlias = tuple[Sample, tuple[tuple[int, int], ...]]  # and the lengths of blocks
T = TypeVar("T")

CONNECT_SECONDS = 20  # for the first answer of a scheduler; one that runs answers within one
UNKNOWN_LENGTH_BITS = 32  # a row of a block is numbered by (block, row) where lengths are unknown


class Piece(NamedTuple):
    """A block that is read when it is needed, by whichever process computes with it."""

    read: Callable[[], Rows]
    n_rows: int | None  # None: not known before it is read
    source: str = ""  # the file that it is of
    first_row: int = 0  # of it, in that file


class Where(NamedTuple):
    """Which rows of the whole data a block holds."""

    number: int
    start: int | None  # the number of its first row, where all lengths before it are known
    source: str = ""
    first_row: int = 0  # in that source

    def describe(self, row: int, column: int | None = None) -> str:
        """A row of the block, and an entry of it, by all names that it has."""
        known = self.start is not None
        name = f"row {self.start + row}" if self.start is not None else f"row {row}"
        name += "" if known else f" of block {self.number}"
        name += "" if column is None else f", column {column}"
        parts = [f"block {self.number}"] if known else []
        parts += [f"row {self.first_row + row} of {self.source}"] if self.source else []
        return f"{name} ({', '.join(parts)})" if parts else name

    def __str__(self) -> str:
        return f"block {self.number}" + (f" ({self.source})" if self.source else "")

    @property
    def first_index(self) -> int:
        """Number of the first row; where lengths are unknown, the block's number must do."""
        return self.number << UNKNOWN_LENGTH_BITS if self.start is None else self.start


class BlockFunction(Protocol):
    """What is computed of one block: a function of a module, so that it can travel."""

    def __call__(self, rows: Rows, where: Where, /, *given: Any) -> BlockResult: ...


@dataclass(frozen=True)
class _Job:
    """What all tasks of one computation share; sent to each worker once."""

    function: Callable[..., Any]
    given: tuple[Any, ...]
    sources: tuple[tuple[str, int], ...] | None


def is_blocks(X: object) -> bool:
    """Whether X is data in blocks: `RowBlocks`, or an array or a data frame of dask."""
    return isinstance(X, RowBlocks) or _is_of(X, "array") or _is_of(X, "dataframe")


def _is_of(X: object, part: str) -> bool:
    return type(X).__module__.startswith(f"dask.{part}")


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
        pieces: tuple[Piece, ...] = (),
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
        self.pieces = pieces  # the blocks as what reads them, where that is known

    @classmethod
    def of(cls, X: Input) -> RowBlocks:
        """The blocks of a dask array, the partitions of a dask data frame, or X itself."""
        if isinstance(X, RowBlocks):
            return X
        if not _is_of(X, "dataframe"):
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
        return cls(X.to_dask_array(), names)

    @classmethod
    def from_pieces(
        cls,
        pieces: Sequence[Piece],
        n_features: int,
        dtype: DType,
        names: tuple[str, ...] | None = None,
    ) -> RowBlocks:
        """Blocks that are read by functions, each with its length where that is known."""
        dask = _import_dask()
        if not pieces:
            raise DataError("there is no block of rows; name at least one.")
        name = f"lowd-rows-{uuid4().hex}"
        tasks = {
            (name, number, 0): dask._task_spec.Task((name, number, 0), _read_piece, piece, number)
            for number, piece in enumerate(pieces)
        }
        lengths = tuple(np.nan if piece.n_rows is None else piece.n_rows for piece in pieces)
        # Not by from_delayed and concatenate, which leaves empty blocks out, and then the numbers
        # of blocks would not be those of the user.
        array = dask.array.Array(tasks, name, (lengths, (n_features,)), dtype)
        sources = tuple((piece.source, piece.first_row) for piece in pieces)
        return cls(array, names, sources, tuple(pieces))

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
        """Compare n_features_in_ and the names of columns, or set them when fitting."""
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
        job = _share(_Job(function, given, self.sources))
        return self.array.map_blocks(_map_block, job=job, **how)

    def reduce(
        self, function: BlockFunction, merge: Callable[[T, T], T], stage: str, *given: Any
    ) -> T:
        """`function` of every block, merged in a tree of a fixed shape: the same bits anywhere."""
        dask = _import_dask()
        leaves = self._tasks(function, given)
        join = dask.delayed(merge, pure=False)
        level = leaves
        while len(level) > 1:
            pairs = [join(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
            level = pairs + level[len(level) // 2 * 2 :]
        found: T = compute(leaves, level[0], stage)
        return found

    def collect(
        self,
        function: BlockFunction,
        stage: str,
        *given: Any,
        numbers: Sequence[int] | None = None,
    ) -> list[Any]:
        """`function` of every block, or of some, as a list: for results that are small."""
        leaves = self._tasks(function, given)
        leaves = leaves if numbers is None else [leaves[number] for number in numbers]
        gather = _import_dask().delayed(_gather, pure=False)
        found: list[Any] = compute(leaves, gather(leaves), stage)
        return found

    def _tasks(self, function: BlockFunction, given: tuple[Any, ...]) -> list[Delayed]:
        job = _share(_Job(function, given, None))
        apply = _import_dask().delayed(_apply_job, pure=False)
        blocks = self.array.to_delayed()[:, 0]
        return [apply(b, job, where) for b, where in zip(blocks, self.where(), strict=True)]

    def collect_pairs(self, function: Callable[..., T], stage: str, *given: Any) -> list[T]:
        """`function(rows, where, others, there, so_far, ...)` of all pairs of blocks.

        For each block one after the other: `so_far` is its result up to the block before. Blocks
        that are read by functions are read in each task; none is held for the others.
        """
        job = _share(_Job(function, given, None))
        compare = _import_dask().delayed(_compare_pair, pure=False)
        blocks = self.pieces or tuple(self.array.to_delayed()[:, 0])
        where, tasks, ends = self.where(), [], []
        for block, here in zip(blocks, where, strict=True):
            so_far: Delayed | None = None
            for other, there in zip(blocks, where, strict=True):
                so_far = compare(block, here, other, there, so_far, job)
                tasks.append(so_far)
            ends.append(so_far)
        gather = _import_dask().delayed(_gather, pure=False)
        found: list[T] = compute(tasks, gather(ends), stage)
        return found

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
    rows: Rows, where: Where, ops: Backend, *, fitting: bool = True
) -> tuple[Rows, Array]:
    """Finite rows of a block in a type whose squares they fit, and their column sums."""
    rows = as_rows(rows)
    rows = rows.astype(np.float32 if rows.dtype == np.float32 else np.float64, copy=False)
    if not rows.shape[0]:
        return rows, np.zeros(rows.shape[1])
    statistics = ops.column_statistics(rows)
    if statistics.first_nonfinite is not None:
        raise DataError(describe_nonfinite_entry(rows, statistics.first_nonfinite, where))
    return to_safe_dtype(rows, statistics.max_abs, fitting=fitting), statistics.sums


def as_rows(block: Rows) -> Rows:
    """A block as dense or, where it is sparse, as CSR rows."""
    return to_canonical_csr(block, "a block") if issparse(block) else np.ascontiguousarray(block)


# -- tasks: functions of a block, which run wherever dask runs them ---------------------------


def _read_piece(piece: Piece, number: int) -> Rows:
    try:
        return piece.read()
    except Exception as error:
        where = Where(number, None, piece.source)
        raise DataError(f"{where} cannot be read: {type(error).__name__}: {error}") from error


def _map_block(block: Rows, job: _Job, block_info: BlockInfo = None) -> Array:
    """A block of `RowBlocks.map`; dask tells where it is, and tries an empty one beforehand."""
    if block_info is None or 0 not in block_info:
        return np.asarray(_apply_job(block, job, Where(0, 0)))
    number = int(block_info[0]["chunk-location"][0])
    start = block_info[0]["array-location"][0][0]
    source = ("", 0) if job.sources is None else job.sources[number]
    where = Where(number, None if np.isnan(start) else int(start), *source)
    return np.asarray(_apply_job(block, job, where))


def _apply_job(block: Rows, job: _Job, where: Where) -> BlockResult:
    """The job's function of one block, whose errors name the block."""
    try:
        return job.function(block, where, *job.given)
    except LowdError:
        raise
    except Exception as error:
        error.add_note(f"in {where}")
        raise


def _gather(found: list[T]) -> list[T]:
    return found


def describe_nonfinite_entry(rows: Rows, position: tuple[int, int], where: Where) -> str:
    row, column = position
    word = "NaN" if np.isnan(rows[row, column]) else str(rows[row, column])
    return f"{word} at {where.describe(row, column)}; drop or fill such rows."


def _compare_pair(
    block: Piece | Rows,
    here: Where,
    other: Piece | Rows,
    there: Where,
    so_far: BlockResult,
    job: _Job,
) -> BlockResult:
    rows, others = (
        _read_piece(part, where.number) if isinstance(part, Piece) else part
        for part, where in ((block, here), (other, there))
    )
    return job.function(rows, here, others, there, so_far, *job.given)


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


# -- dask -------------------------------------------------------------------------------------


def _import_dask() -> Dask:
    try:
        import dask
        import dask._task_spec
        import dask.array
    except ImportError:
        raise MissingPackageError("rows in blocks need dask: pip install 'lowd[dask]'.") from None
    return dask


def _share(job: _Job) -> Delayed:
    """The job as a task of its own, so that a model travels once to each worker."""
    return _import_dask().delayed(job, traverse=False, pure=False)


def compute(leaves: list[Delayed], root: Delayed, stage: str) -> BlockResult:
    """Compute `root`; every one of its `leaves` that is done is reported as progress."""
    dask = _import_dask()
    client = _find_client(dask)
    if client is not None:
        with _explain_lost_cluster():
            return _compute_on_cluster(client, leaves, root, stage)
    keys, total, done = {leaf.key for leaf in leaves}, len(leaves), 0

    def report(key: object, *_: object) -> None:
        nonlocal done
        if key in keys:
            done += 1
            progress.report(stage, done, total)

    from dask.callbacks import Callback

    with Callback(posttask=report):
        # The names of leaves are watched: they must not be fused into others.
        (found,) = dask.compute(root, optimize_graph=False)
    return found


def _find_client(dask: Dask) -> Client | None:
    """The client of a cluster, where dask computes on one."""
    owner = getattr(dask.base.get_scheduler(), "__self__", None)
    return owner if type(owner).__module__.startswith("distributed") else None


def _compute_on_cluster(
    client: Client, leaves: list[Delayed], root: Delayed, stage: str
) -> BlockResult:
    from distributed import as_completed

    total = len(leaves)
    futures = client.compute([*leaves, root], optimize_graph=False)
    last = futures.pop()
    waiting = as_completed(futures)
    futures.clear()  # a result that is used lies nowhere any longer
    try:
        for done, future in enumerate(waiting, 1):
            if future.status == "error":
                future.result()
            progress.report(stage, done, total)
            del future
        return last.result()
    finally:  # what nobody waits for any longer is not computed
        waiting.clear()
        last.release()


@contextmanager
def _explain_lost_cluster() -> Iterator[None]:
    """Errors of the cluster itself, with what to do."""
    from concurrent.futures import CancelledError as Cancelled

    from distributed import CancelledError, KilledWorker

    try:
        yield
    except KilledWorker as error:
        raise ClusterError(
            f"a task ended {error.allowed_failures + 1} workers, one after the other, most likely "
            "by their memory limit; use smaller blocks, or workers with more memory."
        ) from error
    except (CancelledError, Cancelled, OSError, TimeoutError) as error:
        if isinstance(error, LowdError):
            raise
        raise ClusterError(
            f"the connection to the scheduler of the cluster was lost ({error}); start it again, "
            "and run the same again: files that are complete are kept."
        ) from error


@contextmanager
def connect(address: str | None) -> Iterator[None]:
    """Compute on the cluster of a scheduler: its address, or the file that it has written."""
    if address is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError:
        raise MissingPackageError(
            "a cluster needs distributed: pip install 'lowd[dask]'."
        ) from None
    how = {"address": address} if "://" in address else {"scheduler_file": address}
    try:
        client = Client(**how, timeout=CONNECT_SECONDS)
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterError(
            f"there is no scheduler at {address} ({error}); start one: dask scheduler."
        ) from error
    with client:
        yield
