"""Training rows return to their stored coordinates; all others go through a map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..backends.protocol import Array, Backend
from ..domains import Facts, Increasing, Index, OneOf, Shape
from ..input.row_hash import hash_rows
from ..values import value
from .protocol import GraphMap, Map


@value
class Remember:
    """Map that returns training rows to their stored coordinates, and others through `then`.

    A row is looked up by a hash of its bits and then compared, so the rest of the batch does not
    matter.
    """

    then: Annotated[Map, OneOf("BarycentricMap", "TangentMap")]
    keys: Annotated[NDArray[np.uint64], Shape("n"), Increasing()]  # hashes of the training rows
    rows: Annotated[NDArray[np.int64], Shape("n"), Index("n")]  # whose hashes they are
    X: Annotated[Array, Shape("n", "d")]
    Y: Annotated[Array, Shape("n", "k")]

    def state_facts(self, facts: Facts) -> None:
        facts.set("input", "rows")

    @classmethod
    def of(cls, then: Map, X: Array, Y: Array) -> Remember:
        keys = hash_rows(X)
        order = np.argsort(keys, kind="stable")
        return cls(then, keys[order], order, X, Y)

    def __call__(self, Q: Array, ops: Backend) -> Array:
        return self._look_up(Q, lambda new: self.then(Q[new], ops))

    def from_neighbors(self, Q: Array, near: csr_array, ops: Backend) -> Array:
        """Coordinates of points with the given distances to neighbors, nearest first."""
        then = cast(GraphMap, self.then)
        return self._look_up(Q, lambda new: then.from_neighbors(Q[new], csr_array(near[new]), ops))

    def _look_up(self, Q: Array, embed: Callable[[NDArray[np.bool_]], Array]) -> Array:
        """Stored coordinates of training rows; `embed` gives those of the others, by a mask."""
        keys = hash_rows(Q)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        rows = self.rows[at]
        known = self.keys[at] == keys
        known[known] = (self.X[rows[known]] == Q[known]).all(1)
        Y = np.empty((len(Q), self.Y.shape[1]))
        Y[known] = self.Y[rows[known]]
        if not known.all():
            Y[~known] = embed(~known)
        return Y
