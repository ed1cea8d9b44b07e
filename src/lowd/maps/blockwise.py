"""A map applied block by block, so that intermediate matrices stay small."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.protocol import Array

# A block of rows that stays in memory while a large batch is mapped.
BLOCK_BYTES = 2**26


def blockwise(Q: Any, width: int, place: Any) -> Array:
    """Apply a row-wise `place` in blocks whose intermediate rows of `width` stay small."""
    n = Q.shape[0] if hasattr(Q, "shape") else len(Q)
    step = max(1, BLOCK_BYTES // (8 * width))
    if n <= step or not hasattr(Q, "__getitem__") or isinstance(Q, list):
        return np.asarray(place(Q))
    return np.concatenate([place(Q[i : i + step]) for i in range(0, n, step)])
