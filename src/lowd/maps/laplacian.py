"""The map of Laplacian eigenmaps and diffusion maps: Nyström extension of eigenvectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ..backends.protocol import Array, Backend, Float64
from ..errors import DisconnectedGraphWarning, warn
from ..values import value
from .blockwise import blockwise

POLE = 1e-8  # a factor beyond its inverse is noise


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

    def from_neighbors(self, Q: Any, near: csr_array, ops: Backend) -> Array:  # noqa: ARG002
        """Places of points whose neighbors are known, nearest first."""
        return self._placed(self.relation.from_neighbors(near), ops)

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
