"""Keys of rows of numbers: equal rows have equal keys, and others but for chance have not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from .. import random
from ..backends.protocol import Array, Rows

BLOCK_BYTES = 2**26  # looked at together


def row_keys(X: Rows) -> NDArray[np.uint64]:
    """64 bits of each row of numbers: equal rows have equal keys.

    The type does not matter, nor whether rows are dense or sparse: a zero adds nothing.
    """
    factors = key_factors(X.shape[1])
    if issparse(X):
        bits = key_bits(X.data) * factors[X.indices]
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(bits, dtype=np.uint64)])
        return np.asarray(sums[X.indptr[1:]] - sums[X.indptr[:-1]])
    keys = np.empty(len(X), np.uint64)
    step = max(1, BLOCK_BYTES // (32 * X.shape[1]))
    for i in range(0, len(X), step):
        keys[i : i + step] = (key_bits(X[i : i + step]) * factors).sum(1, dtype=np.uint64)
    return keys


def key_factors(d: int) -> NDArray[np.uint64]:
    """What the bits of each column are multiplied by before they are added up."""
    return random.bits(0, "columns", np.arange(d)) | np.uint64(1)


def key_bits(entries: Array) -> NDArray[np.uint64]:
    """The bits of numbers; the high ones, all that round numbers have, reach the low ones."""
    words = (entries.astype(np.float64) + 0.0).view(np.uint64)  # -0 is 0
    return np.asarray(words ^ (words >> np.uint64(32)))
