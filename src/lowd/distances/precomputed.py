"""Precomputed distances: a full matrix, or a sparse matrix of distances to neighbors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..backends.protocol import Array, Backend
from ..domains import Fact, Facts, Index, NotStored, Shape
from ..errors import UnsupportedError
from ..values import value


@value
class PrecomputedDistances:
    """A precomputed distance matrix; new points come as rows of distances to training points."""

    D: Annotated[Array | None, NotStored()]  # None once frozen: a map does not need it
    # The training points used; None: all.
    rows: Annotated[NDArray[np.int64], Shape("n"), Index("d")] | None = None
    wide: bool = False  # fitted in float64, so new rows are taken in float64 too

    def among(self, ops: Backend) -> Array:  # noqa: ARG002 - a relation's signature
        assert self.D is not None
        return self.D if self.rows is None else self.D[np.ix_(self.rows, self.rows)]

    def toward(self, Q: Array, ops: Backend) -> Array:  # noqa: ARG002
        chosen = Q if self.rows is None else np.ascontiguousarray(Q[:, self.rows])
        return chosen.astype(np.float64, copy=False) if self.wide else chosen

    def freeze(self) -> PrecomputedDistances:
        return replace(self, D=None)

    def take(self, rows: NDArray[np.int64]) -> PrecomputedDistances:
        return replace(self, rows=rows if self.rows is None else self.rows[rows])

    def training_points(self) -> Array:
        # Every column stays: training points are as wide as the new rows that `toward` takes.
        assert self.D is not None
        return self.D if self.rows is None else self.D[self.rows]

    def state_facts(self, facts: Facts) -> None:
        facts.set("input", "distances")
        facts.set("metric", "precomputed")
        if self.rows is None:
            facts.equate("n", "d")


@value
class NeighborListDistances:
    """Precomputed distances to neighbors only (a sparse neighbor graph), for new points too."""

    count: Annotated[int, Fact("n")]
    # The training points used; None: all.
    rows: Annotated[NDArray[np.int64], Shape("n"), Index("d")] | None = None

    def among(self, ops: Backend) -> Array:  # noqa: ARG002
        raise _neighbors_only()

    def toward(self, Q: csr_array, ops: Backend) -> Array:  # noqa: ARG002
        raise _neighbors_only()

    def freeze(self) -> NeighborListDistances:
        return self

    def take(self, rows: NDArray[np.int64]) -> NeighborListDistances:
        return NeighborListDistances(len(rows), rows if self.rows is None else self.rows[rows])

    def training_points(self) -> Sequence[int]:
        return range(self.count)

    def state_facts(self, facts: Facts) -> None:
        facts.set("input", "distances")
        facts.set("metric", "precomputed")
        facts.require(self.count >= 1, "count", "1 or more")


def _neighbors_only() -> UnsupportedError:
    return UnsupportedError(
        "a sparse graph holds distances to neighbors only; pass the rows themselves or a full "
        "matrix of distances."
    )
