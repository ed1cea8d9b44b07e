"""Memory plans of fits and maps of rows in blocks, beside the blocks themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .block_maps import COMPARED_BYTES
from .memory import Sizes
from .sampled_fit import MAX_FITTED_ROWS

if TYPE_CHECKING:
    from .estimator import Reducer

SAMPLE_COPIES = 3  # as it is drawn, merged, and of the type that is computed with
MERGED_LEVELS = 12  # of the tree: one result of each may wait for its partner
COMPARED_ARRAYS = 4  # of new rows against training points, which a map holds at a time


def plan_blocks(model: Reducer, d: int, itemsize: int, n_threads: int) -> dict[str, int]:
    """Bytes that a fit of the model to blocks of d columns takes, and then its map."""
    fit = model._plan_blocks(Sizes(MAX_FITTED_ROWS, d, itemsize), n_threads)
    return {"fit": sum(fit.values()), **plan_map(model, d, itemsize, n_threads)}


def plan_map(model: Reducer, d: int, itemsize: int, n_threads: int) -> dict[str, int]:  # noqa: ARG001
    """Bytes that the map of a model takes, whatever the blocks."""
    return {"map": n_threads * COMPARED_ARRAYS * COMPARED_BYTES}


def plan_sample(sizes: Sizes, n_rows: int) -> int:
    """Bytes of a random sample of so many rows, while it is drawn and fitted."""
    return SAMPLE_COPIES * n_rows * sizes.d * 8


def plan_merges(n_bytes: int, n_threads: int) -> int:
    """Bytes of results of so many each, which tasks compute and a tree of pairs merges."""
    return (2 * n_threads + MERGED_LEVELS) * n_bytes
