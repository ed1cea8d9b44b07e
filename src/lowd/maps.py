"""Maps shared by several methods: frozen arrays that place new points, row by row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .backends.protocol import Array, Backend, Float64, Lists, Mesh
from .errors import DataError, DisconnectedGraphWarning, warn
from .keys import row_keys
from .linear_maps import BLOCK_BYTES, blockwise
from .relations import Relation
from .relations.distances import Distances
from .relations.geodesics import along
from .relations.neighbors import nearest, within
from .values import value

POLE = 1e-8  # a factor beyond its inverse is noise
STILL = 1e-10  # a step of `StressMap`, relative to the distances, that is none
BETTER = 1e-6  # so much lower is another minimum, not the same one by rounding


@value
class CenteredMap:
    """Project rows of a relation, less the training means, on its eigenvectors.

    One formula for classical scaling (Gower, 1968), kernel PCA, landmarks and Nyström
    (Bengio et al., 2004). The row's own mean needs no subtracting: `projection` is orthogonal
    to the constant vector, or (for landmarks) the centering is part of it.
    """

    relation: Relation
    means: Float64
    projection: Array

    def __call__(self, Q: Any, ops: Backend) -> Array:
        def place(part: Any) -> Array:
            return self.placed(self.relation.toward(part, ops), ops)

        return blockwise(Q, len(self.means), place)

    def placed(self, K: Array, ops: Backend) -> Array:
        """Places of points whose relations to the training points are known."""
        with np.errstate(over="ignore", invalid="ignore"):
            Y = ops.project(K, self.means, self.projection)
        far = ~np.isfinite(Y).all(1)
        if far.any():  # relations beyond the type's range: the nearest that it can hold
            limit = np.finfo(np.float64).max ** 0.5
            held = np.nan_to_num(K[far].astype(np.float64), posinf=limit, neginf=-limit)
            placed = ops.project(np.clip(held, -limit, limit), self.means, self.projection)
            Y[far] = np.clip(placed, -np.finfo(Y.dtype).max, np.finfo(Y.dtype).max)
        return Y


@value
class GeodesicMap:
    """Classical scaling's map, fed by the paths that lead through a new point's neighbors."""

    scaled: CenteredMap  # of Geodesics or GraphWays

    @property
    def ways(self) -> Any:
        """The relation, which is none of the general kind."""
        return self.scaled.relation

    @property
    def base(self) -> Any:
        """The distances that new points are measured by."""
        return self.ways.base

    def __call__(self, Q: Any, ops: Backend) -> Array:
        return self.through(Q, self.ways.near(Q, self.ways.n_rows, ops), ops)

    def through(self, Q: Any, near: csr_array, ops: Backend) -> Array:
        """Places of points whose neighbors are known: distances to training rows."""
        dtype = getattr(Q, "dtype", np.float64)

        def place(part: csr_array) -> Array:
            return self.scaled.placed(along(self.ways, part, dtype, ops), ops)

        return blockwise(near, 2 * len(self.scaled.means), place)


@value
class MarkovMap:
    """Means over a new point's neighbors, divided by what an eigenvector loses in one step.

    An eigenvector is its own mean over neighbors up to a factor; solved for one row, that is the
    place of a point with this row (Nyström; Bengio et al., 2004). "walk": y = gain · mean,
    "root": the same times √degree, "plain": y = sum / (degree - λ). Where the factor has a pole
    the mean itself stands: the harmonic rule.
    """

    relation: Any  # of `relations.affinities`
    weights: Float64  # of the training points, beside those of their ties
    means: Float64  # what is averaged
    places: Float64
    kind: str
    gain: Float64  # λ for "plain"
    harmonic: bool = False

    def __call__(self, Q: Any, ops: Backend) -> Array:
        def place(part: Any) -> Array:
            return self._placed(self.relation.toward(part, ops), ops)

        return blockwise(Q, 3 * len(self.means), place)

    def through(self, Q: Any, near: csr_array, ops: Backend) -> Array:  # noqa: ARG002
        """Places of points whose neighbors are known, nearest first."""
        return self._placed(self.relation.through(near), ops)

    def _placed(self, ties: Any, ops: Backend) -> Float64:
        table = self.weights[:, None] * np.column_stack([self.means, np.ones(len(self.means))])
        sums = ties.times(table, ops)
        tied = sums[:, -1:] > 0
        Y = np.divide(sums[:, :-1], sums[:, -1:], out=np.zeros_like(sums[:, :-1]), where=tied)
        Y *= self._factor(sums[:, -1:] * np.exp(ties.scale)[:, None])
        known = ties.at >= 0
        Y[known] = self.places[ties.at[known]]
        self._warn_of_lonely(int((~known & ~tied[:, 0]).sum()), int(ties.lonely.sum()))
        return np.asarray(Y)

    def _warn_of_lonely(self, untied: int, lonely: int) -> None:
        """A new row of degree 0 has no mean of neighbors to be at."""
        if untied + lonely:
            where = "the place of its nearest training row" if lonely else "0 for a place"
            warn(
                f"{untied + lonely} of the new rows have no neighbor among the training rows; each "
                f"got {where}. Raise the radius, or look whether such rows belong here.",
                DisconnectedGraphWarning,
            )

    def _factor(self, degree: Float64) -> Float64:
        """What the mean of a point of that degree is multiplied by."""
        if self.kind == "plain":
            if self.harmonic:
                return np.ones((1, 1))
            left = np.where(degree <= self.gain * (1 + POLE), degree, degree - self.gain)
            return np.divide(degree, left, out=np.ones(left.shape), where=left > 0)
        gain = np.ones((1, 1)) if self.harmonic else self.gain[None]
        return gain * np.sqrt(degree) if self.kind == "root" else gain


@value
class Remember:
    """Training rows return to their place; all others go through `then`.

    A row is looked up on its own, by a hash of its bits, and then compared: whoever else is in
    the batch does not matter.
    """

    then: Any
    keys: NDArray[np.uint64]  # in increasing order
    rows: NDArray[np.int64]  # whose keys they are
    X: Array
    Y: Array

    @classmethod
    def of(cls, then: Any, X: Array, Y: Array) -> Remember:
        keys = row_keys(X)
        order = np.argsort(keys, kind="stable")
        return cls(then, keys[order], order, X, Y)

    def __call__(self, Q: Array, ops: Backend) -> Array:
        return self._recalled(Q, lambda new: self.then(Q[new], ops))

    def through(self, Q: Array, near: csr_array, ops: Backend) -> Array:
        """Places of points whose neighbors are known, nearest first."""
        return self._recalled(Q, lambda new: self.then.through(Q[new], csr_array(near[new]), ops))

    def _recalled(self, Q: Array, then: Callable[[NDArray[np.bool_]], Array]) -> Array:
        keys = row_keys(Q)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        rows = self.rows[at]
        known = self.keys[at] == keys
        known[known] = (self.X[rows[known]] == Q[known]).all(1)
        Y = np.empty((len(Q), self.Y.shape[1]))
        Y[known] = self.Y[rows[known]]
        if not known.all():
            Y[~known] = then(~known)
        return Y


@value
class StressMap:
    """Where a point's distances to the frozen training points fit best.

    Each row descends on its own from two starts, Gower's formula for the map's own distances and
    the place of the nearest training point; the second counts where it ends clearly lower. A
    distance of 0 means the training point itself.
    """

    relation: Any  # distances
    Y: Float64
    means: Float64  # of the map's squared distances
    projection: Float64
    curve: tuple[Float64, Float64] | None  # from dissimilarities to distances
    sammon: bool
    max_iter: int

    def __call__(self, Q: Any, ops: Backend) -> Array:
        def place(part: Any) -> Array:
            return self.placed(self.relation.toward(part, ops), ops)

        return blockwise(Q, 4 * len(self.Y), place)

    def placed(self, D: Array, ops: Backend) -> Float64:
        """Places of points whose distances to the training points are known; NaN: not so."""
        missing = np.isnan(D)
        if missing.all(1).any():
            row = int(missing.all(1).argmax())
            raise DataError(f"row {row} has no known distance to a training point; drop it.")
        T = D.astype(np.float64) if self.curve is None else np.interp(D, *self.curve)
        W = None
        if self.sammon:
            W = np.divide(1, D, out=np.zeros(D.shape), where=D > 0)
        squares = np.where(missing, self.means, T * T)
        gower: Float64 = np.asarray(
            ops.project(-0.5 * squares, -0.5 * self.means, self.projection), np.float64
        )
        nearest = self.Y[np.where(missing, np.inf, D).argmin(1)]
        Y, stress = ops.locate(T, W, self.Y, gower, self.max_iter, STILL)
        other, less = ops.locate(T, W, self.Y, nearest, self.max_iter, STILL)
        better = less < stress * (1 - BETTER)
        Y[better] = other[better]
        same = (D == 0).any(1)
        Y[same] = self.Y[(D[same] == 0).argmax(1)]
        return Y


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

    def through(self, Q: Array, near: csr_array, ops: Backend) -> Array:
        """Places of points whose neighbors are known."""
        return self._placed(Q, as_lists(near), ops)

    def _placed(self, Q: Array, near: Lists, ops: Backend) -> Array:
        weights = ops.barycenters(Q, self.base.X, near, self.reg)
        shape = (len(Q), len(self.Y))
        return np.asarray(csr_array((weights, near.indices, near.starts), shape) @ self.Y)


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

    def through(self, Q: Array, near: csr_array, ops: Backend) -> Array:  # noqa: ARG002
        """Places of points whose neighbors are known."""
        return self._placed(Q, as_lists(near))

    def _placed(self, Q: Array, near: Lists) -> Array:
        counts = np.diff(near.starts)
        out = np.empty((len(Q), self.Y.shape[1]))
        for p in np.unique(counts):
            rows = np.flatnonzero(counts == p)
            step = max(1, BLOCK_BYTES // int(8 * p * (2 * Q.shape[1] + 2 * p)))
            for i in range(0, len(rows), step):
                part = rows[i : i + step]
                lists = near.indices[near.starts[part, None] + np.arange(p)]
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


def around(base: Distances, Q: Array, k: int | None, radius: float | None, ops: Backend) -> Lists:
    """The k nearest training points of each row, or all within the radius, but at least one."""
    if radius is None:
        assert k is not None
        found = nearest(base, Q, k, ops).indices
        return Lists(np.arange(0, found.size + 1, k), found.ravel())
    near = within(base, Q, radius, ops)
    counts, indices = np.diff(near.indptr), near.indices.astype(np.int32)
    alone = np.flatnonzero(counts == 0)
    if len(alone):
        indices = np.insert(
            indices, near.indptr[alone], nearest(base, Q[alone], 1, ops).indices[:, 0]
        )
        counts[alone] = 1
    return Lists(np.concatenate([[0], np.cumsum(counts)]), indices)


def as_lists(near: csr_array) -> Lists:
    return Lists(near.indptr.astype(np.int64), near.indices.astype(np.int32))


@value
class NeighborMap:
    """New points come to rest among the training points of SNE or t-SNE, which stay.

    One that falls on a training point (at distance 0) has its place.
    """

    relation: Any  # of `relations.perplexity`
    Y: Array
    kernel: str
    field: Mesh | None
    exaggeration: float = 1.0  # of the attraction, as among the training points

    def __call__(self, Q: Any, ops: Backend) -> Array:
        return self._placed(self.relation.toward(Q, ops), ops)

    def through(self, Q: Any, near: csr_array, ops: Backend) -> Array:  # noqa: ARG002
        """Places of points whose neighbors are known, nearest first."""
        return self._placed(self.relation.through(near, ops), ops)

    def _placed(self, chances: Any, ops: Backend) -> Array:
        near, p, at = chances
        Y = ops.settle(near, self.exaggeration * p, self.Y, self.kernel, self.field)
        known = at >= 0
        Y[known] = self.Y[at[known]]
        return Y
