"""`open_blocks`: files and arrays larger than memory, as a sequence of row blocks."""

from __future__ import annotations

import glob
import mmap
import os
import re
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..blocks import BlockReader, RowBlocks, is_blocks
from ..errors import DataError, MissingFileError, MissingPackageError, ParameterError
from ..input.arguments import Input
from ..input.entries import refuse_large_integers
from ..threads import available as count_cpus
from . import frames
from .options import match_columns
from .source import Source
from .words import quote_names

StoredArray: TypeAlias = Any  # an array of NumPy (in memory or mapped), Zarr or HDF5
# A sequence of arrays, or any other object that can be iterated repeatedly.
BlockSequence: TypeAlias = Any
# Takes the number of columns, the itemsize and the number of threads.
MemoryPlan: TypeAlias = Callable[[int, int, int], dict[str, int]]
BLOCK_BYTES = 2**26  # Size of a block unless a memory limit asks for smaller ones.
MIN_BLOCK_BYTES = 2**20  # In smaller blocks the overhead of a task dominates.
PROGRAM_BYTES = 320 * 2**20  # Memory of Python with dask and polars before any row is read.
# A task holds the block as read and in the form used for computing, while the next one arrives.
BLOCKS_PER_TASK = 4
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
UNITS |= {f"{unit}i": 2 ** (10 * power) for power, unit in enumerate("kmgt", 1)}


def open_blocks(
    source: Input,
    *,
    columns: Sequence[str] | None = None,
    block_rows: int | None = None,
    memory: str | int | None = None,
    sample: int | None = None,
) -> RowBlocks:
    """Open data larger than memory as a sequence of row blocks; nothing is read yet.

    Every method transforms them lazily and fits them: `lowd.PCA(2).fit(lowd.open_blocks("big/"))`.

    Parameters
    ----------
    source : path, array or iterable
        A folder of Parquet files, a pattern such as "big/*.parquet", one such file, a `.npy` file,
        a `.zarr` folder; a NumPy memmap, a Zarr array; a dask array or data frame; or a sequence
        (or any other re-iterable) of arrays, each a block.
    columns : sequence of str or None, default=None
        The columns of Parquet files that hold the rows: names, or patterns like "px*". None is all
        columns of numbers, if there are no others.
    block_rows : int or None, default=None
        Rows of a block. None: blocks of 64 MiB, or what `memory` allows.
    memory : str, int or None, default=None
        The memory that a pass over the blocks may take, as "2GB" or in bytes.
    sample : int or None, default=None
        A method that compares rows with each other learns from that many random rows, the same for
        any blocks, and the others are new points of its map; `extension_recall_` says how good that
        is. Methods that add rows up, such as PCA, take all.

    Returns
    -------
    RowBlocks

    Examples
    --------
    >>> import lowd, numpy as np
    >>> lowd.open_blocks([np.zeros((50, 3)), np.ones((70, 3))])
    RowBlocks(120 rows of 3 columns in 2 blocks)
    """
    if block_rows is not None and block_rows < 1:
        raise ParameterError(f"block_rows={block_rows}: expected a whole number >= 1.")
    if sample is not None and sample < 2:
        raise ParameterError(f"sample={sample}: expected a whole number >= 2.")
    size = BlockSize(block_rows, None if memory is None else parse_bytes(memory))
    blocks = open_sized(source, columns, size)
    if sample is not None:
        blocks = copy(blocks)
        blocks.sample_size = sample
    return blocks


def open_sized(source: Input, columns: Sequence[str] | None, size: BlockSize) -> RowBlocks:
    """Like `open_blocks`, with blocks of the given size."""
    if isinstance(source, str | os.PathLike):
        return _open_path(os.fspath(source), columns, size)
    if columns is not None:
        raise ParameterError("columns= is for Parquet files; select the columns of the array.")
    if is_blocks(source):
        return RowBlocks.of(source)
    if isinstance(source, np.memmap):
        return _open_array(MappedRows.of(source), str(source.filename or ""), size)
    if hasattr(source, "shape") and hasattr(source, "dtype") and not isinstance(source, np.ndarray):
        return _open_array(source, str(getattr(source, "store_path", "")), size)
    return _open_iterable(source, size)


def parse_bytes(text: str | int) -> int:
    """Return the bytes that "2GB", "500 MiB", 1e9 or a plain number stands for."""
    found = re.fullmatch(r"\s*([\d.]+(?:e\d+)?)\s*([kmgt]?i?)b?\s*", str(text).lower())
    try:
        count = int(float(found[1]) * UNITS[found[2]]) if found else 0
    except (ValueError, KeyError):
        count = 0
    if count < 1:
        raise ParameterError(f"memory={text!r}: expected a size such as '2GB' or '500MB'.")
    return count


@dataclass(frozen=True)
class BlockSize:
    """The number of rows in a block: as given, or from a memory limit."""

    rows: int | None
    memory: int | None
    plan: MemoryPlan | None = None  # memory needed in addition to the blocks

    def count(self, n_features: int, itemsize: int, multiple: int = 1) -> int:
        """Rows of a block, a multiple of the rows stored together unless those are more."""
        if self.rows is not None:
            return self.rows
        n_bytes = BLOCK_BYTES
        if self.memory is not None:
            n_tasks, needed = count_cpus(), {"Python and its packages": PROGRAM_BYTES}
            needed |= self.plan(n_features, itemsize, n_tasks) if self.plan is not None else {}
            n_bytes = (self.memory - sum(needed.values())) // (BLOCKS_PER_TASK * n_tasks)
            n_bytes = min(BLOCK_BYTES, n_bytes)
            least = max(MIN_BLOCK_BYTES, n_features * itemsize)
            if n_bytes < least:
                needed["blocks"] = BLOCKS_PER_TASK * n_tasks * least
                parts = ", ".join(f"{name} {size / 1e6:.0f} MB" for name, size in needed.items())
                raise ParameterError(
                    f"memory={self.memory / 1e6:.0f}MB is too little; at least "
                    f"{sum(needed.values()) / 1e6 + 1:.0f}MB are needed: {parts}."
                )
        rows = max(1, n_bytes // (itemsize * max(n_features, 1)))
        return rows // multiple * multiple if rows > multiple else rows


# -- arrays -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class MappedRows:
    """Rows of a file that each worker maps itself: only the file's name travels."""

    filename: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]

    @classmethod
    def of(cls, X: np.memmap[Any, Any]) -> MappedRows:
        """Return the part of the file that a memmap, or a slice of one, covers."""
        if X.filename is None:
            raise DataError(
                "the memmap does not have a file name; open it by numpy.load(mmap_mode='r')."
            )
        whole = np.frombuffer(X._mmap, np.uint8)  # type: ignore[attr-defined]
        start = X.offset - X.offset % mmap.ALLOCATIONGRANULARITY
        offset = start + X.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
        return cls(str(Path(X.filename).absolute()), X.dtype, X.shape, offset, X.strides)

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        whole = np.memmap(self.filename, np.uint8, "r")
        X: NDArray[Any] = np.ndarray(self.shape, self.dtype, whole, self.offset, self.strides)
        return X[rows]


@dataclass(frozen=True)
class _ReadSlice:
    """Some rows of an array on disk."""

    array: StoredArray
    start: int
    stop: int

    def __call__(self) -> Any:
        return np.asarray(self.array[self.start : self.stop])


def _open_array(array: StoredArray, name: str, size: BlockSize) -> RowBlocks:
    _check_rows(array)
    n, d = array.shape
    stored = getattr(array, "chunks", None)  # the rows that a Zarr array compresses together
    step = size.count(d, array.dtype.itemsize, stored[0] if stored else 1)
    readers = [
        BlockReader(
            _ReadSlice(array, start, min(start + step, n)), min(step, n - start), name, start
        )
        for start in range(0, n, step)
    ]
    return RowBlocks.from_readers(readers, d, np.dtype(array.dtype))


def _check_rows(array: StoredArray) -> None:
    if len(array.shape) != 2:
        raise DataError(f"blocks hold rows of numbers; got an array of shape {array.shape}.")


@dataclass(frozen=True)
class _Held:
    """A block in memory."""

    rows: Any

    def __call__(self) -> Any:
        return self.rows


@dataclass(frozen=True)
class _ReadItem:
    """One block of an object that can be indexed or iterated repeatedly."""

    blocks: BlockSequence
    number: int

    def __call__(self) -> Any:
        if hasattr(self.blocks, "__getitem__"):
            return _as_block(self.blocks[self.number])
        return _as_block(next(islice(iter(self.blocks), self.number, None)))


def _as_block(block: Input) -> Any:
    if not hasattr(block, "shape"):
        refuse_large_integers(block, "a block")
    rows: Any = block if hasattr(block, "shape") else np.asarray(block)
    _check_rows(rows)
    return rows


def _open_iterable(source: BlockSequence, size: BlockSize) -> RowBlocks:
    """Blocks of an iterable; one pass over it finds their sizes."""
    if isinstance(source, np.ndarray):
        return _open_array(source, "", size)
    try:
        once = iter(source) is source
    except TypeError:
        raise DataError(
            f"open_blocks takes a path, an array or a sequence of arrays, got "
            f"{type(source).__name__}."
        ) from None
    if once:
        raise DataError(
            f"a {type(source).__name__} yields its blocks once, and passes need them again; give a "
            "list of arrays, or an object whose __iter__ begins anew."
        )
    shapes, types = [], []
    for block in source:
        rows = _as_block(block)
        shapes.append(rows.shape)
        types.append(rows.dtype)
    if not shapes:
        raise DataError("got no blocks; pass at least one.")
    widths = {shape[1] for shape in shapes}
    if len(widths) > 1:
        number = next(i for i, shape in enumerate(shapes) if shape[1] != shapes[0][1])
        raise DataError(
            f"block {number} has {shapes[number][1]} columns, but block 0 has {shapes[0][1]}; "
            "blocks are rows of one table. Blocks of columns are joined first: numpy.hstack."
        )
    held = isinstance(source, list | tuple)  # a task takes its own block of a list or tuple along
    readers = [
        BlockReader(_Held(_as_block(source[i])) if held else _ReadItem(source, i), shape[0])
        for i, shape in enumerate(shapes)
    ]
    return RowBlocks.from_readers(readers, shapes[0][1], np.result_type(*types))


# -- files ------------------------------------------------------------------------------------


def _open_path(path: str, columns: Sequence[str] | None, size: BlockSize) -> RowBlocks:
    if path.endswith(".npy"):
        Source.from_path(path)  # raises an error that says what is wrong with the path
        return open_sized(np.load(path, mmap_mode="r"), None, size)
    if path.rstrip("/").endswith(".zarr"):
        try:
            import zarr
        except ImportError:
            raise MissingPackageError("a .zarr folder needs zarr: pip install zarr.") from None
        return _open_array(zarr.open_array(path, mode="r"), path, size)
    return open_parquet(list_files(path), columns, size)


def list_files(path: str) -> list[str]:
    """The Parquet files of a folder or pattern, or the single file, sorted by name."""
    if os.path.isdir(path):
        found = [str(file) for file in Path(path).rglob("*.parquet")]
    elif glob.has_magic(path) and not os.path.exists(path):
        found = glob.glob(path, recursive=True)
    else:
        found = [path]
    # Hidden files and folders belong to a run that has not finished.
    found = sorted(name for name in found if not Path(name).name.startswith((".", "_")))
    if not found:
        raise MissingFileError(f"{path} holds no Parquet file; name a folder or a pattern.")
    return found


@dataclass(frozen=True)
class ReadParquet:
    """Some rows of a Parquet file: its columns of numbers."""

    path: str
    names: tuple[str, ...]
    start: int
    n_rows: int
    dtype: np.dtype[Any]

    def __call__(self) -> Any:
        source = Source.from_path(self.path)
        lazy = frames.scan(source, "parquet").slice(self.start, self.n_rows)
        rows, rounded = frames.read_matrix(source, lazy, self.names, self.n_rows, 1)
        for found in rounded:
            place = f"row {self.start + found.row}, column {found.name!r}"
            raise DataError(found.describe(place))
        return rows.astype(self.dtype, copy=False)


def open_parquet(files: Sequence[str], columns: Sequence[str] | None, size: BlockSize) -> RowBlocks:
    """Blocks of the rows of Parquet files; only the schemas are read now."""
    names, dtype = _choose_columns(files[0], columns)
    step = size.count(len(names), dtype.itemsize)
    readers = []
    for path in files:
        source = Source.from_path(path)
        lazy = frames.scan(source, "parquet")
        missing = [name for name in names if name not in lazy.collect_schema()]
        if missing:
            raise DataError(
                f"{path} has no column {missing[0]!r}, which {files[0]} has; name the columns that "
                "all files have (columns=...), or leave that file out."
            )
        n = frames.count_rows(source, lazy)
        for start in range(0, n, step):
            rows = min(step, n - start)
            read = ReadParquet(str(Path(path).absolute()), names, start, rows, dtype)
            readers.append(BlockReader(read, rows, path, start))
    return RowBlocks.from_readers(readers, len(names), dtype, names)


def _choose_columns(
    path: str, columns: Sequence[str] | None
) -> tuple[tuple[str, ...], np.dtype[Any]]:
    """Columns of numbers of a file, and the type that holds them."""
    schema = frames.scan(Source.from_path(path), "parquet").collect_schema()
    every = list(schema)
    names = every if columns is None else match_columns(list(columns), every, path, "columns")
    text = [name for name in names if not frames.is_number(schema[name])]
    if text:
        raise DataError(
            f"{path}: {quote_names(text)} hold no numbers; name the columns that do (columns=...)."
        )
    return tuple(names), frames.choose_array_dtype([schema[name] for name in names])
