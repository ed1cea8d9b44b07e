"""Arrays and small results that operations of a backend take and give."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..domains import Facts, Positive, Shape
from ..values import value

Array: TypeAlias = NDArray[np.floating[Any]]
DType: TypeAlias = np.dtype[Any]  # of entries: mostly float32 or float64
Float64: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int32]
Rows: TypeAlias = Any  # a dense array of floats or a csr_array: scipy's classes have no types
Ties: TypeAlias = Literal["primary", "secondary"]
PatchKind: TypeAlias = Literal["ltsa", "hessian", "modified"]
# Cubic splines extend over four nodes.
MIN_GRID_NODES = 5

# Measures whose neighbors the native backend searches by an index of rows, not by all distances.
INDEXED_MEASURES = ("euclidean", "sqeuclidean")

# measure -> family: how it is computed, and whether CSR rows are supported without densifying.
MEASURES = {
    "dot": "dot",
    "poly": "dot",
    "sigmoid": "dot",
    "sqeuclidean": "square",
    "euclidean": "square",
    "rbf": "square",
    "rbfm1": "square",
    "manhattan": "difference",
    "laplacian": "difference",
    "chebyshev": "difference",
    "minkowski": "difference",
    "hamming": "difference",
    "jaccard": "difference",
}


class PairwiseMatrix(NamedTuple):
    """The matrix of a symmetric measure between all rows, not yet computed (see `MEASURES`)."""

    X: Rows
    measure: str
    params: tuple[float, ...]
    center: Float64 | None


class ColumnStatistics(NamedTuple):
    """Column means and largest absolute entry of the rows, and where the first NaN or infinity is.

    `first_nonfinite` is (row, column), or None if every entry is finite. `priorities`: random bits
    of each row's content, where they are asked for.
    """

    first_nonfinite: tuple[int, int] | None
    mean: Float64
    max_abs: float
    priorities: NDArray[np.uint64] | None = None


# Columns whose deviations are a smaller share of their mean have it refined: the rounding of a sum,
# 1e-15 of it, is up to there 1e-9 of a deviation.
FLAT_COLUMN_SHARE = 1e-6
N_PROBED_DEVIATIONS = 64  # rows by which such columns are found
CENTERED_BYTES = 2**20  # This many bytes of deviations are held at a time.


def refine_mean(X: Array, mean: Float64, weights: Float64 | None = None) -> Float64:
    """The mean of dense rows, exact where a column is constant, whatever the size of its entries.

    The rounding of a sum grows with the entries of a column, not with its deviations, and may
    exceed those of all other columns. The mean of the deviations takes it out.
    """
    some = X[:: max(1, len(X) // N_PROBED_DEVIATIONS)]
    with np.errstate(over="ignore"):  # such rows are refused later
        spread = np.abs(some - mean).max(0)
    flat = np.flatnonzero((spread <= FLAT_COLUMN_SHARE * np.abs(mean)) & (spread > 0))
    if not len(flat):
        return mean
    step, off = max(1, CENTERED_BYTES // (8 * len(flat))), np.zeros(len(flat))
    for i in range(0, len(X), step):
        gap = X[i : i + step, flat] - mean[flat]
        off += gap.sum(0) if weights is None else weights[i : i + step] @ gap
    mean = mean.copy()
    mean[flat] += off / (len(X) if weights is None else weights.sum())
    return mean


class Symmetry(NamedTuple):
    """What makes a square matrix unfit as distances or kernel; positions are (row, column).

    `asymmetry` is the largest |a_ij - a_ji|, `diagonal` the largest |a_ii|.
    """

    first_nonfinite: tuple[int, int] | None
    max_abs: float
    asymmetry: float
    asymmetry_at: tuple[int, int]
    smallest: float
    smallest_at: tuple[int, int]
    diagonal: float
    diagonal_at: int


class Neighbors(NamedTuple):
    """The nearest neighbors of each point, nearest first, ties by index; distances in float64.

    `recall` is the share of true neighbors, measured on a sample of points; 1 is exact.
    """

    indices: Ints
    distances: Float64
    recall: float = 1.0


class Ragged(NamedTuple):
    """Index lists of different lengths, as in CSR: list i is indices[indptr[i] : indptr[i + 1]]."""

    indptr: NDArray[np.int64]
    indices: Ints

    @classmethod
    def singletons(cls, rows: NDArray[np.integer[Any]]) -> Ragged:
        """Lists of one index each."""
        return cls(np.arange(len(rows) + 1), rows.astype(np.int32))


class HadamardMatrix(NamedTuple):
    """Some columns of a randomized Hadamard transform, as an operand of `Backend.project`.

    x becomes scale · (H pad(signs ∘ x))[rows] with H the Walsh-Hadamard matrix of order `padded`.
    """

    signs: Array
    rows: NDArray[np.int64]
    padded: int
    scale: float


class Perplexity(NamedTuple):
    """Of `Backend.calibrate_rows`: p ∝ exp(-β d) of sum 1 and this perplexity, scales β.

    Distances are squared by the caller. The perplexity is at most the length of a list. Where ties
    make it impossible β is the largest that changes anything. Offsets are 0.
    """

    perplexity: float


class FuzzySum(NamedTuple):
    """Of `Backend.calibrate_rows`: memberships exp(-max(0, d - rho) / sigma) of sum log2(k + 1).

    Lists of k are nearest first, without the point itself. rho, the offset, is the distance of
    neighbor number `local_connectivity` at a positive distance, interpolated; the largest if there
    are fewer. sigma, the scale, is found by bisection to 1e-5 and is at least a thousandth of a
    mean distance, in which the point itself counts with 0: of the list if rho > 0, else
    `mean_distance` (None: of all lists).
    """

    local_connectivity: float
    mean_distance: float | None = None


class CalibratedRows(NamedTuple):
    """One affinity per distance, one scale and one offset per list."""

    affinities: Float64
    scales: Float64
    offsets: Float64


# A distance beyond counts as this: its square is still a number.
MAX_SQUARED_DISTANCE_ROOT = 1e150


def square_distances(distances: Array) -> Float64:
    """Squares in float64, all of them finite."""
    squares = np.minimum(distances, MAX_SQUARED_DISTANCE_ROOT, dtype=np.float64)
    squares *= squares
    return squares


@value
class Moments:
    """Weight, mean and centered scatter matrix of some rows, in float64."""

    weight: Positive
    mean: Annotated[Float64, Shape("d")]
    scatter: Annotated[Float64, Shape("d", "d")]

    def merge(self, other: Moments) -> Moments:
        """Moments of both sets of rows together (Chan, Golub and LeVeque, 1979)."""
        weight = self.weight + other.weight
        if weight == 0:
            return self
        gap = other.mean - self.mean
        share = other.weight / weight
        scatter = self.scatter + other.scatter
        scatter += (self.weight * share) * np.outer(gap, gap)
        return Moments(weight, self.mean + share * gap, scatter)


class GuttmanStep(NamedTuple):
    """Terms of the stress at Y and its Guttman transform (Borg and Groenen, 2005, chapter 8).

    Sums are over pairs, with distances d of Y and disparities t: `stress` of w (t - d)²,
    `eta_squared` of w d², `rho` of w t d. `BY` is B(Y) Y, the transform before V⁺ is applied.
    """

    stress: float
    eta_squared: float
    rho: float
    BY: Float64


@value
class InterpolationGrid:
    """A potential on a regular grid, by its spline coefficients: node 0 is at `origin`."""

    phi: (  # one axis per dimension
        Annotated[NDArray[np.float32], Shape("nodes")]
        | Annotated[NDArray[np.float32], Shape("nodes", "other nodes")]
    )
    origin: Annotated[Float64, Shape("k")]
    spacing: Positive

    def state_facts(self, facts: Facts) -> None:
        facts.set("k", self.phi.ndim)
        facts.require(min(self.phi.shape) >= MIN_GRID_NODES, "phi", "of 5 nodes or more per axis")


class LayoutCurve(NamedTuple):
    """Similarity φ = 1 / (1 + a d^2b) of two points in UMAP's embedding, and what softens forces.

    Of squared distances d² the factors of the forces are g_a = 2ab d^(2b - 2) / (1 + a d^2b) and
    g_r = 2b / ((ε + d²)(1 + a d^2b)), with ε the softening.
    """

    a: float
    b: float
    softening: float
