"""The sample of rows in blocks that is evaluated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...blocks import RowBlocks, is_blocks
from ...errors import DataError
from ...input.arguments import Input
from .validation import Anchors

MAX_EVALUATED_ROWS = 10_000  # neighbors are those among them
N_BLOCK_ANCHORS = 2000  # of these, as of many rows in memory: estimates have intervals


def plan_evaluation(d: int, itemsize: int) -> int:
    """Bytes of an evaluation of blocks: the sample, and distances of its anchors to all of it."""
    return MAX_EVALUATED_ROWS * d * (itemsize + 8) + 3 * N_BLOCK_ANCHORS * MAX_EVALUATED_ROWS * 8


class BlockSample(NamedTuple):
    """Rows of the data and of the embedding, their labels, and what to say about them."""

    X: Input
    Y: Input
    labels: Input
    anchors: Anchors
    note: str


def draw_sample(X: RowBlocks, Y: Input, labels: ArrayLike | None, anchors: Anchors) -> BlockSample:
    """The same random rows of X, of its embedding Y (if that is given) and of the labels."""
    sample = X.draw(MAX_EVALUATED_ROWS)
    rows, n = sample.row_indices, sample.n_seen
    given = None if Y is None else _take(Y, rows, n, "Y")
    classes = None if labels is None else _take(np.asarray(labels), rows, n, "labels")
    if anchors is None and len(rows) > N_BLOCK_ANCHORS:
        anchors = N_BLOCK_ANCHORS
    note = f"{len(rows)} of {n} rows in blocks are evaluated; neighbors are those among them."
    return BlockSample(sample.items, given, classes, anchors, note)


def _take(Y: Input, rows: NDArray[np.int64], n: int, name: str) -> Input:
    """Some rows of an array, or of a lazy one, of which only their blocks are computed."""
    if is_blocks(Y):
        blocks = RowBlocks.of(Y)
        if len(blocks) == n:
            return blocks[rows]
        raise DataError(f"X has {n} rows, but {name} has {len(blocks)}.")
    Y = np.asarray(Y)
    if len(Y) != n:
        raise DataError(f"X has {n} rows, but {name} has {len(Y)}.")
    return Y[rows]
