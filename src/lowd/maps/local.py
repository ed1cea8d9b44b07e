"""Maps of the locally linear methods: barycentric weights and local tangent spaces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..backends.protocol import Array, Backend, Float64, Ragged
from ..distances.metrics import Distances
from ..graph.search import find_nearest, find_within
from ..values import value
from .blockwise import BLOCK_BYTES


@value
class BarycentricMap:
    """Weights that rebuild a row from its neighbors, applied to their places."""

    base: Distances
    Y: Array
    n_neighbors: int | None
    radius: float | None
    reg: float

    def __call__(self, Q: Array, ops: Backend) -> Array:
        return self._placed(Q, around(self.base, Q, self.n_neighbors, self.radius, ops), ops)

    def from_neighbors(self, Q: Array, near: csr_array, ops: Backend) -> Array:
        """Places of points whose neighbors are known."""
        return self._placed(Q, as_lists(near), ops)

    def _placed(self, Q: Array, near: Ragged, ops: Backend) -> Array:
        weights = ops.barycentric_weights(Q, self.base.X, near, self.reg)
        shape = (len(Q), len(self.Y))
        return np.asarray(csr_array((weights, near.indices, near.indptr), shape) @ self.Y)


@value
class TangentMap:
    """Neighbors' places as a linear function of their tangent coordinates, evaluated at a row.

    With neighbors less their mean Z = U S V' and places less theirs T, the place of x is
    mean + Σ (x - mean)·v_l (u_l'T) / s_l over the k largest singular values.
    """

    base: Distances
    Y: Array
    n_neighbors: int | None
    radius: float | None

    def __call__(self, Q: Array, ops: Backend) -> Array:
        return self._placed(Q, around(self.base, Q, self.n_neighbors, self.radius, ops))

    def from_neighbors(self, Q: Array, near: csr_array, ops: Backend) -> Array:  # noqa: ARG002
        """Places of points whose neighbors are known."""
        return self._placed(Q, as_lists(near))

    def _placed(self, Q: Array, near: Ragged) -> Array:
        counts = np.diff(near.indptr)
        out = np.empty((len(Q), self.Y.shape[1]))
        for p in np.unique(counts):
            rows = np.flatnonzero(counts == p)
            step = max(1, BLOCK_BYTES // int(8 * p * (2 * Q.shape[1] + 2 * p)))
            for i in range(0, len(rows), step):
                part = rows[i : i + step]
                lists = near.indices[near.indptr[part, None] + np.arange(p)]
                out[part] = self._in_plane(Q[part], lists)
        return out

    def _in_plane(self, Q: Array, lists: NDArray[np.int32]) -> Float64:
        Z = self.base.X[lists].astype(np.float64)
        T = self.Y[lists].astype(np.float64)
        middle, home = Z.mean(1, keepdims=True), T.mean(1, keepdims=True)
        Z -= middle
        T -= home
        values, U = np.linalg.eigh(Z @ Z.transpose(0, 2, 1))
        k = min(self.Y.shape[1], U.shape[2])
        values, U = values[:, None, -k:], U[:, :, -k:]
        # Directions in which the neighbors do not extend say nothing.
        firm = values > 1e-10 * values.max(2, keepdims=True)
        inverse = np.divide(1, values, out=np.zeros_like(values), where=firm)
        along = (Z @ (Q[:, :, None] - middle.transpose(0, 2, 1))).transpose(0, 2, 1)
        return np.asarray((home + ((along @ U) * inverse) @ (U.transpose(0, 2, 1) @ T))[:, 0])


def around(base: Distances, Q: Array, k: int | None, radius: float | None, ops: Backend) -> Ragged:
    """The k nearest training points of each row, or all within the radius, but at least one."""
    if radius is None:
        assert k is not None
        found = find_nearest(base, Q, k, ops).indices
        return Ragged(np.arange(0, found.size + 1, k), found.ravel())
    near = find_within(base, Q, radius, ops)
    counts, indices = np.diff(near.indptr), near.indices.astype(np.int32)
    alone = np.flatnonzero(counts == 0)
    if len(alone):
        indices = np.insert(
            indices, near.indptr[alone], find_nearest(base, Q[alone], 1, ops).indices[:, 0]
        )
        counts[alone] = 1
    return Ragged(np.concatenate([[0], np.cumsum(counts)]), indices)


def as_lists(near: csr_array) -> Ragged:
    return Ragged(near.indptr.astype(np.int64), near.indices.astype(np.int32))
