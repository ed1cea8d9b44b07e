"""The protocol of out-of-sample maps."""

from __future__ import annotations

from typing import ClassVar, Protocol

from scipy.sparse import csr_array

from ..backends.protocol import Array, Backend
from ..input.sample import Items


class Map(Protocol):
    """Out-of-sample map: new points to coordinates; a value, pure, and row by row."""

    def __call__(self, Q: Items, ops: Backend, /) -> Array: ...


class RememberingMap(Map, Protocol):
    """A map whose extension misses the training points, so that it remembers their coordinates."""

    remembers: ClassVar[bool]

    def __call__(self, Q: Items, ops: Backend, /, *, remember: bool = True) -> Array:
        """Coordinates; by the extension alone, also at training points, if not `remember`."""


class GraphMap(Map, Protocol):
    """A map that also takes new points whose neighbors are known."""

    def from_neighbors(self, Q: Items, near: csr_array, ops: Backend, /) -> Array:
        """Coordinates of points with the given distances to neighbors, nearest first."""
