"""The training point nearest to a new point, and how near it is compared with the others."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..backends.protocol import Array, Float64

# A training point has no influence on a new one that is more than half as far from it as from the
# next training point: so at most one training point has, and ordinary new points are left alone.
MAX_INFLUENCE_RATIO = 0.5

# Distances of new points (rows): all of them, or those to neighbors (stored entries).
Lists: TypeAlias = csr_array | Array


class Nearest(NamedTuple):
    """The training point nearest to each new point.

    `ratio` is its distance as a share of that of the next other training point: 0 at a training
    point, 1 where two are equally near.
    """

    point: NDArray[np.int64]
    distance: Float64
    ratio: Float64
    distances: Lists  # to the neighbors, or to all training points

    @classmethod
    def in_lists(cls, near: csr_array, radius: float | None = None) -> Nearest:
        """From distances to neighbors, at least one, and all within the radius if there is one.

        A list of one neighbor does not tell how near that is, unless it is at distance 0.
        """
        starts, count = near.indptr[:-1], np.diff(near.indptr)
        data = near.data.astype(np.float64)
        distance = np.minimum.reduceat(data, starts)
        at = np.where(data == np.repeat(distance, count), np.arange(len(data)), len(data))
        first = np.minimum.reduceat(at, starts)
        data[first] = np.inf
        following = np.minimum.reduceat(data, starts)
        if radius is not None:
            following = np.minimum(following, radius)
        point = near.indices[first].astype(np.int64)
        return cls(point, distance, _ratio(distance, following), near)

    @classmethod
    def in_matrix(cls, D: Array, point_of_row: NDArray[np.int64] | None = None) -> Nearest:
        """From distances to all training points; NaN: not known.

        Of duplicates, rows with the same `point_of_row`, the first is the nearest.
        """
        point, rows, others = D.argmin(1), np.arange(len(D)), D.copy()
        if np.isnan(D[rows, point]).any():  # the least of numbers with NaN is NaN
            others[np.isnan(D)] = np.inf
            point = others.argmin(1)
        distance = others[rows, point].astype(np.float64)
        if point_of_row is None:
            others[rows, point] = np.inf
        else:
            others[point_of_row[point][:, None] == point_of_row] = np.inf
        following = others.min(1).astype(np.float64)
        return cls(point, distance, _ratio(distance, following), D)

    @property
    def influenced_points(self) -> NDArray[np.int64]:
        """Numbers of the new points that their nearest training point has an influence on."""
        return np.flatnonzero(self.ratio < MAX_INFLUENCE_RATIO)


def detach(ratio: Float64) -> Float64:
    """0 at a training point, rising to 1 where its influence ends, with a continuous slope."""
    u = np.minimum(ratio / MAX_INFLUENCE_RATIO, 1)
    return np.asarray(u * u * (3 - 2 * u))


def group_duplicates_in_matrix(D: Array) -> NDArray[np.int64] | None:
    """The first row at distance 0 of each training row; None if each is its own."""
    n = len(D)
    if np.count_nonzero(D) == n * n - n:
        return None
    return np.asarray((D == 0).argmax(1))


def _ratio(distance: Float64, following: Float64) -> Float64:
    known = (following > 0) & np.isfinite(following)
    return np.divide(distance, following, out=np.where(distance > 0, 1.0, 0.0), where=known)
