"""The verbs a backend must know. Keep this list short: it is the porting cost."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..values import value

Array: TypeAlias = NDArray[np.floating[Any]]
Float64: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = Any  # a dense array of floats or a csr_array: scipy's classes have no types


class Survey(NamedTuple):
    """One pass over the rows: the first entry that is not finite, column sums, largest size."""

    bad: tuple[int, int] | None
    sums: Float64
    largest: float


class Symmetry(NamedTuple):
    """One pass over a square matrix; places are (row, column)."""

    bad: tuple[int, int] | None
    largest: float
    asymmetry: float
    asymmetric_at: tuple[int, int]
    smallest: float
    smallest_at: tuple[int, int]
    diagonal: float
    diagonal_at: int


class Spectrum(NamedTuple):
    """Eigenpairs of a symmetric matrix, largest first."""

    values: Float64
    vectors: Float64


@value
class Moments:
    """Weight, mean and centered scatter matrix of some rows, in float64."""

    weight: float
    mean: Float64
    scatter: Float64

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


class Backend(Protocol):
    """`X`, `Q` hold rows (dense or CSR), `V`, `W` thin matrices, results are dense.

    Matrix products of data keep the data's dtype; sums over rows come back in float64.
    """

    def survey(self, X: Rows, weights: Float64 | None = None) -> Survey: ...

    def symmetry(self, A: Array) -> Symmetry: ...

    def moments(self, X: Rows, mean: Float64, weights: Float64 | None) -> Moments:
        """Scatter around `mean`, which the caller knows from `survey`."""

    def scatter_times(
        self, X: Rows, mean: Float64, weights: Float64 | None, V: Array
    ) -> tuple[Float64, float]:
        """(X - mean)' diag(weights) (X - mean) V in one pass, and the trace of that scatter."""

    def project(
        self, X: Rows, shift: Float64 | None, W: Rows, bias: Float64 | None = None
    ) -> Array:
        """(X - shift) W + bias; for a CSR `W` the columns of the product are its rows: X W'."""

    def pairwise(
        self, Q: Rows, X: Rows, measure: str, params: tuple[float, ...], center: Float64 | None
    ) -> Array:
        """A distance or kernel (see `MEASURES`) of every row of Q to every row of X."""

    def times(self, A: Array, V: Array, half_square: bool) -> Float64:
        """A V, or (-A∘A/2) V without forming the square."""

    def hadamard(
        self, X: Array, signs: Array, rows: NDArray[np.int64], padded: int, scale: float
    ) -> Array:
        """scale · (H pad(signs·x))[rows] for each row x, H the Walsh-Hadamard matrix."""

    def eigh(self, A: Float64, k: int) -> Spectrum:
        """The k largest eigenpairs of a dense symmetric matrix."""

    def svd(self, A: Float64) -> tuple[Float64, Float64, Float64]:
        """Thin U, σ, V' of a dense matrix."""


# measure -> family: how it is computed and whether sparse rows can be used honestly.
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
