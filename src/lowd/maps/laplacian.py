"""Out-of-sample map of Laplacian eigenmaps and diffusion maps: Nyström extension."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from scipy.sparse import csr_array

from ..backends.protocol import Array, Backend, Float64
from ..domains import AtLeast, OneOf, Shape
from ..errors import DisconnectedGraphWarning, warn
from ..input.sample import Items
from ..relations.affinities import AffinitiesToTraining, AffinityRelation
from ..values import value
from .blockwise import blockwise
from .remember import approach

# Where |1 - λ| is smaller the Nyström factor 1 / (1 - λ) amplifies rounding only.
MIN_NYSTROEM_DIVISOR = 1e-8


def nystroem_gain(lam: Float64) -> Float64:
    """1 / (1 - λ) of the normalized Laplacian's eigenvalues; 1 at the pole."""
    pole = np.abs(1 - lam) < MIN_NYSTROEM_DIVISOR
    return np.where(pole, 1.0, 1 / np.where(pole, 1.0, 1 - lam))


@value
class NystroemMap:
    """Nyström extension of graph eigenvectors: means over a new point's neighbors, rescaled.

    An eigenvector is its own mean over neighbors up to a factor; solved for one row, that gives the
    coordinates of a point with this row (Bengio et al., 2004). "random_walk": y = gain · mean,
    "symmetric": the same times √degree, "none": y = sum / (degree - λ). Where the factor has a pole
    the mean itself is taken: the harmonic extension. Near a training point coordinates approach
    its own (`remember.approach`).
    """

    relation: Annotated[AffinityRelation, OneOf("Affinities", "PrecomputedAffinities")]
    weights: Annotated[Float64, Shape("n"), AtLeast(0)]  # beside the affinities
    means: Annotated[Float64, Shape("n", "k")]  # what is averaged
    embedding: Annotated[Float64, Shape("n", "k")]
    normalization: Literal["random_walk", "symmetric", "none"]
    gain: Annotated[Float64, Shape("k")]  # λ without normalization
    harmonic: bool = False

    remembers: ClassVar[bool] = True

    def __call__(self, Q: Items, ops: Backend, *, remember: bool = True) -> Array:
        def embed(part: Items) -> Array:
            return self._extend(self.relation.toward(part, ops), ops, remember)

        return blockwise(Q, 3 * len(self.means), embed)

    def from_neighbors(self, Q: Items, near: csr_array, ops: Backend) -> Array:  # noqa: ARG002
        """Coordinates of points with the given distances to neighbors, nearest first."""
        return self._extend(self.relation.from_neighbors(near, ops), ops, True)

    def _extend(self, affinities: AffinitiesToTraining, ops: Backend, remember: bool) -> Float64:
        table = self.weights[:, None] * np.column_stack([self.means, np.ones(len(self.means))])
        sums = affinities.matmul(table, ops)
        degree = sums[:, -1:]
        connected = degree > 0
        Y = np.divide(sums[:, :-1], degree, out=np.zeros_like(sums[:, :-1]), where=connected)
        Y *= self._factor(degree * np.exp(affinities.log_scale)[:, None])
        nearest, isolated = affinities.nearest, affinities.isolated
        if nearest is not None:
            Y[isolated] = self.embedding[nearest.point[isolated]]
            Y = approach(Y, nearest, self.embedding) if remember else Y
            connected[nearest.distance == 0] = True
        zero_degree = int((~isolated & ~connected[:, 0]).sum())
        self._warn_of_isolated(zero_degree, int(isolated.sum()))
        return np.asarray(Y)

    def _warn_of_isolated(self, zero_degree: int, isolated: int) -> None:
        """A new row of degree 0 has no mean over neighbors."""
        if zero_degree + isolated:
            which = "those of its nearest training row" if isolated else "0"
            warn(
                f"{zero_degree + isolated} of the new rows have no neighbor among the training "
                f"rows; the coordinates of each are {which}. Raise the radius, or look whether "
                "such rows belong here.",
                DisconnectedGraphWarning,
            )

    def _factor(self, degree: Float64) -> Float64:
        """What the mean of a point of that degree is multiplied by."""
        if self.normalization == "none":
            if self.harmonic:
                return np.ones((1, 1))
            pole = degree <= self.gain * (1 + MIN_NYSTROEM_DIVISOR)
            divisor = np.where(pole, degree, degree - self.gain)
            return np.divide(degree, divisor, out=np.ones(divisor.shape), where=divisor > 0)
        gain = np.ones((1, 1)) if self.harmonic else self.gain[None]
        return gain * np.sqrt(degree) if self.normalization == "symmetric" else gain
