"""The neighbors of new points among the training points, for every kind of distances."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from ..backends.protocol import Backend
from ..distances.precomputed import NeighborListDistances
from ..distances.protocol import DistanceRelation
from ..errors import UnsupportedError
from ..graph.given import check_lists_toward, select_listed
from ..graph.search import count_points, find_nearest, to_csr
from ..input.sample import Items


def find_new_neighbors(base: DistanceRelation, Q: Items, k: int, ops: Backend) -> csr_array:
    """Distances of new points to their k nearest training points, nearest first.

    In a sparse precomputed graph a new point is given by its neighbors, of which all are returned.
    """
    if isinstance(base, NeighborListDistances):
        if base.count < Q.shape[1]:
            raise UnsupportedError(
                f"this graph of {Q.shape[1]} rows has {base.count} distinct ones, so the "
                "neighbors of new rows are not known; fit a graph without duplicates."
            )
        Q = Q if base.rows is None else Q[:, base.rows]
        return select_listed(check_lists_toward(Q, *Q.shape), None, np.inf)
    count = count_points(base, Q)
    return to_csr(find_nearest(base, Q, min(k, count), ops), count)
