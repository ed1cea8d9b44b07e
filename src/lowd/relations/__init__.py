"""How points relate: among the training points, and from new points toward them.

A relation is the part of a method that knows the data. `among` builds what the solver sees,
`toward` the rows that the map for new points needs. Writing both in one class is what keeps
fit and transform from drifting apart.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from ..backends.protocol import Array, Backend


class Matrix(NamedTuple):
    """A symmetric matrix as stored, or -1/2 times its elementwise square (never formed)."""

    stored: Array
    half_square: bool = False


def own(rows: Any) -> Any:
    """A read-only copy: what the caller does to the data afterwards cannot change the model."""
    copied = rows.copy()
    (copied if isinstance(copied, np.ndarray) else copied.data).setflags(write=False)
    return copied


class Relation(Protocol):
    def among(self, ops: Backend) -> Matrix: ...
    def toward(self, Q: Any, ops: Backend) -> Array: ...
    def kept(self) -> Relation:
        """What the map needs of it: the training matrix itself is not needed for `toward`."""
