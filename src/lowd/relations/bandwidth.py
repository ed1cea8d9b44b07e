"""Bandwidth of a Gaussian kernel: chosen from the nearest neighbors, judged over scales."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from ..backends.protocol import Array, Float64

# The distance to this neighbor is the scale of a kernel between all points. Low numbers adapt to
# the dimension: on a surface the third is at half the distance of the tenth, which keeps the turns
# of a roll of 600 rows apart; in ten dimensions it is at 90 %, and a cloud is not torn.
SCALE_NEIGHBOR = 3
# On a curve so few neighbors connect nothing across the widest gaps of a sample. There the squared
# distance to the sixth is 4.5 times that to the third, on a surface 2.1 times (medians); the square
# of what is beyond 2.5 leaves surfaces their scale, and makes that of curves 3.2 times as wide.
CURVE_NEIGHBOR, MAX_SURFACE_RATIO = 6, 2.5
# Scales around σ at which the dimension is computed, in powers of 2.
OCTAVES = np.arange(-3, 5.01, 0.25)
BINS_PER_OCTAVE = 32  # of the histogram of lengths: bins of 2 %
HALF_RANGE_OCTAVES = 30  # lengths beyond 2^±30 σ count as those: their kernel is 0 or 1
MAX_LENGTHS = 2**20  # about: a sample of so many gives the dimension to 1 %


def estimate_scale(third: float, sixth: float) -> float:
    """The bandwidth from the median distances to the third and the sixth neighbor."""
    return third * max(1.0, (sixth / third) ** 2 / MAX_SURFACE_RATIO) ** 2 if third > 0 else sixth


class EdgeLengths(NamedTuple):
    """Edge lengths of some points of an affinity graph."""

    distances: Array
    n_points: int

    @classmethod
    def of(cls, D: csr_array | Array) -> EdgeLengths:
        """From rows of distances, dense or sparse: those of every so many-th point."""
        rows = D[:: max(1, -(-D.size // MAX_LENGTHS))]
        return cls(rows.ravel() if isinstance(rows, np.ndarray) else rows.data, rows.shape[0])


def compute_dimension_by_scale(lengths: EdgeLengths, sigma: float) -> tuple[Float64, Float64]:
    """Scales s around σ, and d log S / d log s of the kernel's sum S = Σ exp(-d²/2s²) at each.

    That is the dimension of what the data look like at this scale: on a manifold S grows as s^dim
    between the distances of neighbors and the size of the whole (Coifman et al., 2008). The
    affinity of a point to itself counts in S.
    """
    scales = sigma * 2.0**OCTAVES
    distinct = lengths.distances[lengths.distances > 0].astype(np.float64)
    half = HALF_RANGE_OCTAVES
    with np.errstate(over="ignore"):
        octaves = np.clip(np.log2(distinct / sigma), -half, half)
    n_bins = 2 * half * BINS_PER_OCTAVE + 1
    counts = np.bincount(((octaves + half) * BINS_PER_OCTAVE).astype(np.int64), minlength=n_bins)
    middles = 2.0 ** ((np.arange(n_bins) + 0.5) / BINS_PER_OCTAVE - half)
    squares = (middles / 2.0 ** OCTAVES[:, None]) ** 2
    K = np.exp(-squares / 2) * counts
    sums = K.sum(1) + lengths.n_points
    return scales, np.asarray((K * squares).sum(1) / sums)
