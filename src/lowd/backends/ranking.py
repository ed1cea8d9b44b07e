"""The reference's operation of ranks: plain, and the oracle of the native one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .protocol import Array, Float64, Ints


class RankOperations:
    """What `Reference` knows of ranks."""

    def rank(self, D: Array, own: NDArray[np.int64]) -> Ints:
        wide: Float64 = np.array(D, np.float64)
        wide[np.arange(len(D)), own] = -np.inf
        order = np.argsort(wide, axis=1, kind="stable")
        ranks = np.empty(D.shape, np.int32)
        np.put_along_axis(ranks, order, np.arange(D.shape[1], dtype=np.int32)[None], 1)
        return ranks
