"""Hashes of rows of numbers, for finding duplicates and known rows and for random samples."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from .. import random
from .protocol import Array, Rows

PRIORITY_STREAM = 0, "rows"  # seed and stream
MAX_BLOCK_BYTES = 2**22  # of temporary arrays while hashing: they stay in the cache


def hash_rows(X: Rows) -> NDArray[np.uint64]:
    """A 64-bit hash of each row: equal rows have equal hashes.

    The type does not matter, nor whether rows are dense or sparse: a zero adds nothing.
    """
    multipliers = column_multipliers(X.shape[1])
    if issparse(X):
        bits = mix_bits(X.data) * multipliers[X.indices]
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(bits, dtype=np.uint64)])
        return np.asarray(sums[X.indptr[1:]] - sums[X.indptr[:-1]])
    hashes = np.empty(len(X), np.uint64)
    step = max(1, MAX_BLOCK_BYTES // (32 * X.shape[1]))
    for i in range(0, len(X), step):
        hashes[i : i + step] = (mix_bits(X[i : i + step]) * multipliers).sum(1, dtype=np.uint64)
    return hashes


def row_priorities(X: Rows) -> NDArray[np.uint64]:
    """Random bits of each row's content, by which samples are drawn."""
    return random.bits(*PRIORITY_STREAM, hash_rows(X))


@lru_cache(maxsize=16)
def column_multipliers(n_columns: int) -> NDArray[np.uint64]:
    """Odd factors of the columns' bits, which are then added up; cached, as fits repeat them."""
    factors = random.bits(0, "columns", np.arange(n_columns)) | np.uint64(1)
    factors.setflags(write=False)
    return factors


def mix_bits(entries: Array) -> NDArray[np.uint64]:
    """The bits of numbers, with the high half (all that round numbers have) mixed into the low."""
    words = (entries.astype(np.float64) + 0.0).view(np.uint64)  # -0 is 0
    return np.asarray(words ^ (words >> np.uint64(32)))
