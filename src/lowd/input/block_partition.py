"""Rows of blocks by number: some of them, or the cells of a partition of all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack

from ..backends.protocol import DType, Rows
from . import dask_engine as engine
from .block_reader import BlockFunction, BlockReader, BlockResult, Job, Where
from .blocks import RowBlocks, as_rows

# Up to so many cells a block is read again for each of them. Cells overlap, so that to move the
# rows of all cells moves two to four times the data, and holds them meanwhile.
MAX_REREAD_CELLS = 16
Chosen: TypeAlias = Sequence[NDArray[np.int32]]  # the rows of a block that belong to each cell
T = TypeVar("T")


class Files(NamedTuple):
    """Blocks of files, which any worker can read."""

    readers: Sequence[BlockReader]
    where: Sequence[Where]
    n_features: int
    dtype: DType


def take_numbered(X: RowBlocks, numbers: NDArray[np.integer[Any]]) -> Rows:
    """The rows of these numbers, in that order; only blocks that hold some of them are read."""
    wanted = np.unique(numbers)
    starts = np.array([where.start for where in X.where()])
    holding = np.unique(np.searchsorted(starts, wanted, side="right") - 1)
    parts = X.collect(_take_wanted, "rows", wanted, numbers=list(map(int, holding)))
    return stack_rows(parts)[np.searchsorted(wanted, numbers)]


def _take_wanted(rows: Rows, where: Where, wanted: NDArray[np.integer[Any]]) -> Rows:
    assert where.start is not None
    first, last = np.searchsorted(wanted, [where.start, where.start + rows.shape[0]])
    return as_rows(rows)[wanted[first:last] - where.start]


def iterate_partition(
    X: RowBlocks,
    assign: BlockFunction,
    function: Callable[..., T],
    n_cells: int,
    stage: str,
    *given: Any,
) -> Iterator[T]:
    """`function(rows, numbers, ...)` of the cells of a partition of all rows, as they are done.

    `assign(rows, where, ...)` lists the rows of a block for each cell, a row may be in several.
    Where cells are few the task of a cell reads the blocks of files again; else each block is read
    once on a cluster, and its parts move to where their cell is.
    """
    chosen = engine.keep(X.tasks(assign, given), "partition")
    job = engine.share(Job(function, given, None))
    if n_cells <= MAX_REREAD_CELLS and X.readers and all(reader.source for reader in X.readers):
        files = engine.share(Files(X.readers, X.where(), X.n_features, X.array.dtype))
        apply = engine.make_task(_apply_to_read_cell)
        leaves = [apply(files, chosen, cell, job) for cell in range(n_cells)]
    else:
        take, apply = engine.make_task(_take_part), engine.make_task(_apply_to_parts)
        blocks = list(zip(X.blocks(), X.where(), chosen, strict=True))
        leaves = [apply([take(*block, cell) for block in blocks], job) for cell in range(n_cells)]
    for _, found in engine.iterate(leaves, stage):
        yield found


def _apply_to_read_cell(files: Files, chosen: Sequence[Chosen], cell: int, job: Job) -> BlockResult:
    """One block at a time is held beside the rows of the cell."""
    counts = [len(some[cell]) for some in chosen]
    rows = np.empty((sum(counts), files.n_features), files.dtype)
    numbers = np.empty(len(rows), np.int64)
    end = 0
    for reader, where, some, count in zip(files.readers, files.where, chosen, counts, strict=True):
        if count:
            here = slice(end, end + count)
            block = reader.read_block(where.number)
            rows[here], numbers[here] = _take_part(block, where, some, cell)
            end += count
    return job.function(rows, numbers, *job.given)


def _take_part(
    rows: Rows, where: Where, chosen: Chosen, cell: int
) -> tuple[Rows, NDArray[np.int64]]:
    assert where.start is not None
    return as_rows(rows)[chosen[cell]], chosen[cell] + np.int64(where.start)


def _apply_to_parts(parts: list[tuple[Rows, NDArray[np.int64]]], job: Job) -> BlockResult:
    numbers = np.concatenate([part[1] for part in parts])
    return job.function(stack_rows([part[0] for part in parts]), numbers, *job.given)


def stack_rows(parts: Sequence[Rows]) -> Rows:
    """All rows of some blocks; dense, unless all are sparse."""
    if all(issparse(part) for part in parts):
        return csr_array(vstack(parts))
    return np.concatenate([part.toarray() if issparse(part) else part for part in parts])
