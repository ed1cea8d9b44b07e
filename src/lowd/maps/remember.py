"""Training points keep their coordinates, and new points approach them continuously.

Most extensions miss the training points: at the row of one they give other coordinates than the
fit did. A map that returned the fitted coordinates at distance 0 and the extension elsewhere would
jump there. So the extension is corrected around each training point (`approach`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..backends.protocol import Array, Backend, Float64
from ..backends.row_hash import hash_rows
from ..distances.nearest import Nearest, detach
from ..domains import Facts, Increasing, Index, Shape
from ..graph.given import cut_listed
from ..graph.search import TIE_TOLERANCE
from ..values import value
from .local import BarycentricMap, TangentMap

# The extension may stretch more than its neighbors do, by this factor: a linear one stretches most
# along some direction, and so much at most if a neighbor is within 60 degrees of that.
STRETCH_MARGIN = 2.0


def approach(Y: Array, nearest: Nearest, embedding: Array) -> Array:
    """Correct extended coordinates near a training point, in place.

    Let x_j be the nearest training point of x, d and d' the distances to it and to the next other
    one, and f the extension. For d < d'/2 the coordinates are

        y = y_j + s (f(x) - y_j),      s = max(h(2 d / d'), min(1, 2 L d / |f(x) - y_j|)),

    where h rises smoothly from 0 to 1, and L is the Lipschitz constant of the neighbors,
    max |y_i - y_j| / |x_i - x_j|. So y tends to y_j with x, whatever f is; f itself is taken where
    its distance from y_j is what neighbors explain (s = 1), and for all other new points.
    """
    rows = nearest.influenced_points
    if not len(rows):
        return Y
    home = embedding[nearest.point[rows]].astype(np.float64)
    away = Y[rows] - home
    length = np.sqrt(np.square(away).sum(1))
    stretch = STRETCH_MARGIN * _stretch(nearest, rows, home, embedding)
    explained = stretch * nearest.distance[rows]
    share = np.divide(explained, length, out=np.ones(len(rows)), where=length > explained)
    share = np.maximum(share, detach(nearest.ratio[rows]))
    moved = share < 1
    Y[rows[moved]] = home[moved] + share[moved, None] * away[moved]
    return Y


def _stretch(nearest: Nearest, rows: NDArray[np.int64], home: Float64, embedding: Array) -> Float64:
    """max |y_i - y_j| / |x_i - x_j| over the neighbors i of some rows, with nearest point j.

    Of |x_i - x_j| the least value is taken that the distances of the new point allow; one that is
    not known (NaN) does not count.
    """
    near, distance = nearest.distances[rows], nearest.distance[rows]
    if isinstance(near, csr_array):
        row = np.repeat(np.arange(len(rows)), np.diff(near.indptr))
        ratios = _divide_lengths(embedding[near.indices], home[row], near.data - distance[row])
        stretch = np.zeros(len(rows))
        np.maximum.at(stretch, row, ratios)
        return stretch
    apart = near - distance[:, None]
    return np.asarray(_divide_lengths(embedding, home[:, None], apart).max(1))


def _divide_lengths(A: Array, B: Float64, apart: Array) -> Float64:
    """|a - b| / apart of rows; 0 where they are not apart, or not known to be."""
    squares = np.zeros(apart.shape)
    for column in range(A.shape[-1]):
        squares += np.square(A[..., column] - B[..., column])
    return np.divide(np.sqrt(squares), apart, out=np.zeros(apart.shape), where=apart > 0)


@value
class Remember:
    """A local map corrected around the training points, whose coordinates it remembers.

    A training row is found by a hash of its bits and then compared, so other rows of the batch
    do not matter.
    """

    then: BarycentricMap | TangentMap
    keys: Annotated[NDArray[np.uint64], Shape("n"), Increasing()]  # hashes of the training rows
    rows: Annotated[NDArray[np.int64], Shape("n"), Index("n")]  # whose hashes they are
    X: Annotated[Array, Shape("n", "d")]
    Y: Annotated[Array, Shape("n", "k")]

    remembers: ClassVar[bool] = True

    def state_facts(self, facts: Facts) -> None:
        facts.set("input", "rows")

    @classmethod
    def of(cls, then: BarycentricMap | TangentMap, X: Array, Y: Array) -> Remember:
        keys = hash_rows(X)
        order = np.argsort(keys, kind="stable")
        return cls(then, keys[order], order, X, Y)

    def __call__(self, Q: Array, ops: Backend, *, remember: bool = True) -> Array:
        if not remember:
            return self.then(Q, ops)
        return self._look_up(Q, lambda new: self.then.find_neighbors(Q[new], ops), ops)

    def from_neighbors(self, Q: Array, near: csr_array, ops: Backend) -> Array:
        """Coordinates of points with the given distances to neighbors, nearest first.

        Of these as many count as the map itself would find.
        """
        k, radius = self.then.n_neighbors, self.then.radius
        near = cut_listed(near, k, radius, None if radius is None else TIE_TOLERANCE[near.dtype])
        return self._look_up(Q, lambda new: csr_array(near[new]), ops)

    def _look_up(
        self, Q: Array, neighbors: Callable[[NDArray[np.bool_]], csr_array], ops: Backend
    ) -> Array:
        """Stored coordinates of training rows; others (a mask) from their neighbors."""
        keys = hash_rows(Q)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        rows = self.rows[at]
        known = self.keys[at] == keys
        known[known] = (self.X[rows[known]] == Q[known]).all(1)
        Y = np.empty((len(Q), self.Y.shape[1]))
        Y[known] = self.Y[rows[known]]
        if not known.all():
            near = neighbors(~known)
            new = np.asarray(self.then.from_neighbors(Q[~known], near, ops), np.float64)
            Y[~known] = approach(new, Nearest.in_lists(near, self.then.radius), self.Y)
        return Y
