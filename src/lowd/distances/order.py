"""The canonical order of the points of a distance relation, and landmarks drawn in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .. import random
from ..backends.protocol import Array, Rows
from ..input.row_order import order_rows
from .metrics import Distances
from .precomputed import NeighborListDistances, PrecomputedDistances
from .protocol import DistanceRelation


def order_points(
    base: DistanceRelation, square: Sequence[Rows] = (), attached: Sequence[Array] = ()
) -> NDArray[np.int64]:
    """Numbers of the points in an order that their content determines (see `order_rows`).

    `square` holds what else is known of pairs: a given neighbor graph, weights.
    """
    if isinstance(base, PrecomputedDistances):
        assert base.D is not None
        D = base.D if base.rows is None else base.D[np.ix_(base.rows, base.rows)]
        return order_rows(square=[D, *square], attached=attached)
    items = None if isinstance(base, NeighborListDistances) else base.training_points()
    return order_rows(items, square=square, attached=attached)


def center_in_order(base: DistanceRelation) -> DistanceRelation:
    """The same distances from a center whose rounding does not depend on the order of the rows."""
    if not isinstance(base, Distances) or base.center is None:
        return base
    return replace(base, center=base.take(order_points(base)).center)


def draw_landmarks(order: NDArray[np.int64], m: int, seed: int) -> NDArray[np.int64]:
    """m random points, in canonical order: the same points in whichever order they come."""
    return order[random.subset(seed, "landmarks", len(order), m)]
