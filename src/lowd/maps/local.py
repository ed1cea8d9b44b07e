"""Out-of-sample maps of locally linear methods: barycentric weights and local tangent spaces."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ..backends.protocol import Array, Backend, Float64, Ragged
from ..distances.metrics import Distances
from ..domains import AtLeast, AtMostSize, Facts, MayBeNonfinite, NonNegative, Shape
from ..graph.search import find_nearest, find_within, to_csr
from ..values import value
from .blockwise import BLOCK_BYTES

# Eigenvalues of local scatter below this share of the largest are rounding: neighbors do not
# extend into these directions, which then say nothing about the embedding.
MIN_EIGENVALUE_RATIO = 1e-10


class LocalMap:
    """What maps of a new point's neighborhood share: how its neighbors are found."""

    base: Distances
    n_neighbors: int | None
    radius: float | None

    def state_facts(self, facts: Facts) -> None:
        one = (self.n_neighbors is None) != (self.radius is None)
        facts.require(one, "n_neighbors", "given, or radius, but not both")
        facts.require(not issparse(self.base.X), "base", "of dense rows")

    def __call__(self, Q: Array, ops: Backend) -> Array:
        return self.from_neighbors(Q, self.find_neighbors(Q, ops), ops)

    def find_neighbors(self, Q: Array, ops: Backend) -> csr_array:
        """Distances of new points to the training points of their neighborhoods."""
        return find_neighborhoods(self.base, Q, self.n_neighbors, self.radius, ops)

    def from_neighbors(self, Q: Array, near: csr_array, ops: Backend) -> Array:
        """Coordinates of points whose neighbors are known."""
        raise NotImplementedError


@value
class BarycentricMap(LocalMap):
    """Barycentric weights that rebuild a row from its neighbors, applied to their coordinates."""

    base: Distances
    Y: Annotated[Array, Shape("n", "k")]
    n_neighbors: Annotated[int, AtMostSize("n")] | None
    radius: Annotated[float, AtLeast(0), MayBeNonfinite()] | None
    reg: NonNegative

    def from_neighbors(self, Q: Array, near: csr_array, ops: Backend) -> Array:
        """Coordinates of points whose neighbors are known."""
        lists = to_ragged(near)
        weights = ops.barycentric_weights(Q, self.base.X, lists, self.reg)
        shape = (len(Q), len(self.Y))
        return np.asarray(csr_array((weights, lists.indices, lists.indptr), shape) @ self.Y)


@value
class TangentMap(LocalMap):
    """Local linear regression of coordinates on the neighbors' tangent coordinates.

    With neighbors less their mean Z = U S V' and their coordinates less the mean T, those of x are
    mean + Σ (x - mean)·v_l (u_l'T) / s_l over the k largest singular values.
    """

    base: Distances
    Y: Annotated[Array, Shape("n", "k")]
    n_neighbors: Annotated[int, AtMostSize("n")] | None
    radius: Annotated[float, AtLeast(0), MayBeNonfinite()] | None

    def from_neighbors(self, Q: Array, near: csr_array, ops: Backend) -> Array:  # noqa: ARG002
        """Coordinates of points whose neighbors are known."""
        return self._regress(Q, to_ragged(near))

    def _regress(self, Q: Array, near: Ragged) -> Array:
        """In blocks of rows with equally many neighbors."""
        counts = np.diff(near.indptr)
        Y = np.empty((len(Q), self.Y.shape[1]))
        for p in np.unique(counts):
            rows = np.flatnonzero(counts == p)
            step = max(1, BLOCK_BYTES // int(8 * p * (2 * Q.shape[1] + 2 * p)))
            for i in range(0, len(rows), step):
                part = rows[i : i + step]
                neighbors = near.indices[near.indptr[part, None] + np.arange(p)]
                Y[part] = self._regress_block(Q[part], neighbors)
        return Y

    def _regress_block(self, Q: Array, neighbors: NDArray[np.int32]) -> Float64:
        Z = self.base.X[neighbors].astype(np.float64)
        T = self.Y[neighbors].astype(np.float64)
        row_means, coordinate_means = Z.mean(1, keepdims=True), T.mean(1, keepdims=True)
        Z -= row_means
        T -= coordinate_means
        values, U = np.linalg.eigh(Z @ Z.transpose(0, 2, 1))
        k = min(self.Y.shape[1], U.shape[2])
        values, U = values[:, None, -k:], U[:, :, -k:]
        firm = values > MIN_EIGENVALUE_RATIO * values.max(2, keepdims=True)
        inverse = np.divide(1, values, out=np.zeros_like(values), where=firm)
        products = (Z @ (Q[:, :, None] - row_means.transpose(0, 2, 1))).transpose(0, 2, 1)
        slopes = U.transpose(0, 2, 1) @ T
        return np.asarray((coordinate_means + ((products @ U) * inverse) @ slopes)[:, 0])


def find_neighborhoods(
    base: Distances, Q: Array, k: int | None, radius: float | None, ops: Backend
) -> csr_array:
    """The k nearest training points of each row, or all within the radius, but at least one."""
    if radius is None:
        assert k is not None
        return to_csr(find_nearest(base, Q, k, ops), len(base.X))
    near = find_within(base, Q, radius, ops)
    counts, indices, distances = np.diff(near.indptr), near.indices, near.data
    isolated = np.flatnonzero(counts == 0)
    if len(isolated):
        nearest = find_nearest(base, Q[isolated], 1, ops)
        indices = np.insert(indices, near.indptr[isolated], nearest.indices[:, 0])
        distances = np.insert(distances, near.indptr[isolated], nearest.distances[:, 0])
        counts[isolated] = 1
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return csr_array((distances, indices, indptr), shape=near.shape)


def to_ragged(near: csr_array) -> Ragged:
    """The column indices of sparse rows."""
    return Ragged(near.indptr.astype(np.int64), near.indices.astype(np.int32))
