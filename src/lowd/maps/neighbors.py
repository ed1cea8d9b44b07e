"""The map of a neighbor transformer: sparse distances to the nearest training rows."""

from __future__ import annotations

from typing import Annotated

from scipy.sparse import csr_array

from ..backends.protocol import Backend
from ..distances.protocol import DistanceRelation
from ..domains import AtMostSize
from ..graph.search import count_points, find_nearest, to_csr
from ..input.sample import Items
from ..values import value


@value
class NeighborsMap:
    """Sparse rows of distances to the nearest training rows."""

    base: DistanceRelation
    k: Annotated[int, AtMostSize("n")]

    def __call__(self, Q: Items, ops: Backend) -> csr_array:
        return to_csr(find_nearest(self.base, Q, self.k, ops), count_points(self.base, Q))
