"""Blockwise evaluation of maps, so that intermediate matrices stay small."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..backends.protocol import Array
from ..input.sample import Items

# Of an intermediate matrix: large enough for matrix products, small beside the training data.
BLOCK_BYTES = 2**26


def blockwise(Q: Items, width: int, embed: Callable[[Items], Array]) -> Array:
    """Apply a row-wise `embed` in blocks whose intermediate rows have `width` float64 entries."""
    n = Q.shape[0] if hasattr(Q, "shape") else len(Q)
    step = max(1, BLOCK_BYTES // (8 * width))
    if n <= step or not hasattr(Q, "__getitem__") or isinstance(Q, list):
        return np.asarray(embed(Q))
    return np.concatenate([embed(Q[i : i + step]) for i in range(0, n, step)])
