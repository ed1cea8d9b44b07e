"""The scale of a kernel: chosen from the nearest neighbors, judged by how its sum grows with it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from ..backends.protocol import Array, Float64

# The distance to this neighbor is the scale of a kernel between all points. Low numbers adapt to
# the dimension: on a surface the third is at half the distance of the tenth, which keeps the turns
# of a roll of 600 rows apart; in ten dimensions it is at 90 %, and a cloud is not torn.
NEAR = 3
# On a curve so few neighbors tie nothing across the widest gaps of a sample. There the squared
# distance to the sixth is 4.5 times that to the third, on a surface 2.1 times (medians); the square
# of what is beyond 2.5 leaves surfaces their scale, and makes that of curves 3.2 times as wide.
NEXT, FLAT = 6, 2.5
OCTAVES = np.arange(-3, 5.01, 0.25)  # around the scale, of which the growth is told
FINE = 32  # classes of lengths in each octave
SAMPLE = 2**20  # lengths, about


def typical_scale(third: float, sixth: float) -> float:
    """From the median distances to both neighbors."""
    return third * max(1.0, (sixth / third) ** 2 / FLAT) ** 2 if third > 0 else sixth


class Lengths(NamedTuple):
    """Distances from some points to those that they are tied to."""

    distances: Array
    points: int

    @classmethod
    def of(cls, D: Any) -> Lengths:
        """From rows of distances, dense or sparse: those of every so many-th point."""
        rows = D[:: max(1, -(-D.size // SAMPLE))]
        return cls(rows.data if issparse(rows) else rows.ravel(), rows.shape[0])


def dimension_by_scale(lengths: Lengths, sigma: float) -> tuple[Float64, Float64]:
    """Scales s around σ, and d log S / d log s of the kernel's sum S = Σ exp(-d²/2s²) at each.

    That is the dimension of what the data look like at this scale: on a manifold S grows as s^dim
    between the distances of neighbors and the size of the whole (Coifman et al., 2008). A point's
    tie to itself counts in S.
    """
    scales = sigma * 2.0**OCTAVES
    distinct = lengths.distances[lengths.distances > 0].astype(np.float64)
    with np.errstate(over="ignore"):
        classes = np.clip(np.log2(distinct / sigma), -30, 30)
    counts = np.bincount(((classes + 30) * FINE).astype(np.int64), minlength=60 * FINE + 1)
    middles = 2.0 ** ((np.arange(60 * FINE + 1) + 0.5) / FINE - 30)
    squares = (middles / 2.0 ** OCTAVES[:, None]) ** 2
    K = np.exp(-squares / 2) * counts
    sums = K.sum(1) + lengths.points
    return scales, np.asarray((K * squares).sum(1) / sums)
