"""What the reference plans of SNE, t-SNE and UMAP share: exact forces by all pairs of points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..protocol import Array, Float64

PAIR_BLOCK_ENTRIES = 2**21  # pairs in memory at a time: 16 MiB


@dataclass(kw_only=True)
class AllPairsDescent:
    """The embedding that descends, and that nothing is interpolated."""

    Y: Float64 = field(default_factory=lambda: np.empty((0, 0)))
    velocity: Float64 = field(default_factory=lambda: np.empty((0, 0)))

    def start(self, Y: Array) -> None:
        self.Y, self.velocity = Y.astype(np.float64), np.zeros(Y.shape)

    def embedding(self) -> Float64:
        return self.Y.copy()

    def uses_interpolation(self, Y: Array) -> bool:  # noqa: ARG002 - the protocol's signature
        return False

    def interpolation_grid(self, Y: Array) -> None:  # noqa: ARG002 - the protocol's signature
        return None


def axis_variances(Y: Array) -> Float64:
    """Of the points along each axis; sums along contiguous numbers are ten times as fast."""
    Z = np.array(Y.T, np.float64, order="C")
    return np.asarray((Z - Z.mean(1, keepdims=True)).var(1))


def pair_blocks(
    Y: Array, rows: NDArray[np.int64]
) -> Iterator[tuple[slice, NDArray[np.int64], Float64]]:
    """Blocks of rows, and their squared distances to all points."""
    step = max(1, PAIR_BLOCK_ENTRIES // len(Y))
    for begin in range(0, len(rows), step):
        i = rows[begin : begin + step]
        s = np.zeros((len(i), len(Y)))
        for c in range(Y.shape[1]):
            s += (Y[i, c, None] - Y[:, c]) ** 2
        yield slice(begin, begin + len(i)), i, s
