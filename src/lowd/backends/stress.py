"""Plans of the native backend for multidimensional scaling: what a step needs, kept ready."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _native
from .protocol import Array, Float64, Ints, Majorized, Pairs


@dataclass(frozen=True)
class NativeGuttman:
    """Targets and weights, read once per step."""

    D: Array
    W: Array | None
    threads: int

    def step(self, Y: Float64) -> Majorized:
        moved = np.empty(Y.shape)
        Y = np.ascontiguousarray(Y)
        return Majorized(*_native.guttman(self.D, self.W, Y, moved, self.threads), moved)


@dataclass(frozen=True)
class NativeMonotone:
    """Pairs in their order, and room for their distances and disparities."""

    pairs: Pairs
    split: bool
    order: Ints
    lengths: Float64
    fitted: Float64
    threads: int

    def step(self, Y: Float64) -> Majorized:
        moved = np.empty(Y.shape)
        Y, room = np.ascontiguousarray(Y), (self.order, self.lengths, self.fitted)
        sums = _native.monotone(*self.pairs, self.split, Y, *room, moved, self.threads)
        return Majorized(*sums, moved)
