"""The operations a backend must know. Keep this list short: it is the porting cost."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..values import value

Array: TypeAlias = NDArray[np.floating[Any]]
Float64: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int32]
Rows: TypeAlias = Any  # a dense array of floats or a csr_array: scipy's classes have no types


class ColumnStatistics(NamedTuple):
    """One pass over the rows: the first entry that is not finite, column sums, largest size."""

    first_nonfinite: tuple[int, int] | None
    sums: Float64
    max_abs: float


class Symmetry(NamedTuple):
    """One pass over a square matrix; places are (row, column)."""

    first_nonfinite: tuple[int, int] | None
    max_abs: float
    asymmetry: float
    asymmetry_at: tuple[int, int]
    smallest: float
    smallest_at: tuple[int, int]
    diagonal: float
    diagonal_at: int


class Spectrum(NamedTuple):
    """Eigenpairs of a symmetric matrix, largest first; there may be more values than vectors."""

    values: Float64
    vectors: Float64


class Neighbors(NamedTuple):
    """The nearest of each row, nearest first, ties by number; distances in float64.

    `recall` is the share of true neighbors, measured on a sample of rows; 1 is exact.
    """

    indices: Ints
    distances: Float64
    recall: float = 1.0


class Ragged(NamedTuple):
    """Lists of row numbers of different lengths: list i is indices[indptr[i] : indptr[i + 1]]."""

    indptr: NDArray[np.int64]
    indices: Ints

    @classmethod
    def singletons(cls, rows: NDArray[np.integer[Any]]) -> Ragged:
        """Lists of one row each."""
        return cls(np.arange(len(rows) + 1), rows.astype(np.int32))


class GuttmanStep(NamedTuple):
    """Sums over pairs of w (t - d)², w d² and w t d, and B(Y) Y: Guttman's step before V⁺."""

    stress: float
    size: float
    cross: float
    moved: Float64


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


class Index(Protocol):
    """Rows made ready for searching. Distances are those of float64, whatever the rows are."""

    def others(self, k: int) -> Neighbors:
        """The k nearest other rows of each row; itself is left out by its number."""

    def query(self, Q: Rows, k: int) -> Neighbors:
        """The k nearest rows of each row of Q: the same alone or in any batch."""

    def ranks(self, rows: NDArray[np.int64] | None, listed: Ints) -> Ints:
        """The place of each listed row in the order of `others(n - 1)`, counted from 1.

        List i is that of row rows[i], or of row i. A place of 0 is that of -1, which is no row.
        """


class Basis(NamedTuple):
    """How far a basis is: its rows, and how many of the last are not multiplied yet.

    `left`: rows of T that describe what the last product has beyond the basis.
    """

    size: int
    fresh: int
    left: int = 0


class GeodesicPlan(Protocol):
    """Lengths G of the shortest paths between all nodes of a graph, each pair held once."""

    def half_square_matmul(self, V: Float64) -> Float64:
        """(-G∘G/2) V."""


class StressPlan(Protocol):
    """Distances t between points made ready for majorizing stress."""

    def step(self, Y: Float64) -> GuttmanStep: ...


class MonotonePlan(StressPlan, Protocol):
    """An order of pairs made ready; t are the best targets that it allows, of mean square 1."""

    def curve(self, Y: Float64) -> tuple[Float64, Float64]:
        """The function from dissimilarities to targets by its corners; tied ones have a mean."""


@value
class InterpolationGrid:
    """A potential on a regular grid, by its spline coefficients: node 0 is at `origin`."""

    phi: NDArray[np.float32]  # one axis per dimension
    origin: Float64
    spacing: float


class KLPlan(Protocol):
    """A descent of the divergence between P and its likeness in the map; P stays inside.

    Forces are a quarter of the gradient, as in the first programs for t-SNE: with attraction A
    and repulsion R the gradient is 4 (A - R).
    """

    def forces(self, places: Array) -> tuple[Float64, Float64]:
        """A and R at any places."""

    def pairs(self, places: Array, rows: NDArray[np.int64]) -> tuple[Float64, Float64]:
        """Exact sums over all others j of some rows: w, and w² (y - y_j) (exp(-d²) not squared)."""

    def cross_term(self, Y: Array) -> float:
        """The sum of p log(p / w) over the pairs of P."""

    def partition_function(self, Y: Array) -> float:
        """The exact sum of w over all ordered pairs."""

    def start(self, Y: Array) -> None:
        """Places to descend from, at rest."""

    def advance(self, steps: int, exaggeration: float, momentum: float, rate: float) -> float:
        """So many steps (Jacobs, 1988); the root mean square length of the last one."""

    def embedding(self) -> Array:
        """Where the points are."""

    def approximate(self, Y: Array) -> bool:
        """Are forces of points at Y computed by a mesh?"""

    def interpolation_grid(self, Y: Array) -> InterpolationGrid | None:
        """The sum of w over points at Y as a potential, where forces are computed by one."""


class Backend(Protocol):
    """`X`, `Q` hold rows (dense or CSR), `V`, `W` thin matrices, results are dense.

    Matrix products of data keep the data's dtype; sums over rows come back in float64.
    """

    def column_statistics(self, X: Rows, weights: Float64 | None = None) -> ColumnStatistics: ...

    def check_symmetry(self, A: Array) -> Symmetry: ...

    def moments(self, X: Rows, mean: Float64, weights: Float64 | None) -> Moments:
        """Scatter around `mean`, which the caller knows from `column_statistics`."""

    def scatter_matmul(
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
        """A distance or kernel (see `MEASURES`) of every row of Q to every row of X.

        Products ("dot") are those of rows seen from `center`, if there is one; to distances it is
        a place near the rows, which saves digits.
        """

    def matmul(self, A: Array, V: Array, half_square: bool) -> Float64:
        """A V, or (-A∘A/2) V without forming the square."""

    def lanczos(
        self,
        A: Array,
        half_square: bool,
        null: Float64,
        Q: Float64,
        T: Float64,
        basis: Basis,
        passes: int,
    ) -> Basis:
        """Passes of block Lanczos with A (or -A∘A/2) where the unit vector `null` has no part.

        The rows of Q are the basis. A pass multiplies the fresh ones, writes their part of
        T = Q A Q', and puts what is beyond the basis in its next rows, which are now the fresh
        ones. The next rows of T hold that remainder, in an orthonormal basis of its own. Q and T
        have room for all passes.
        """

    def hadamard(
        self, X: Array, signs: Array, rows: NDArray[np.int64], padded: int, scale: float
    ) -> Array:
        """scale · (H pad(signs·x))[rows] for each row x, H the Walsh-Hadamard matrix."""

    def index(
        self, X: Rows, measure: str, params: tuple[float, ...], center: Float64 | None
    ) -> Index:
        """A plan for finding neighbors by a distance measure."""

    def select(self, D: Array, k: int, own: NDArray[np.int64] | None) -> Neighbors:
        """The k smallest entries of each row of D, ties by column; own[i] is left out of row i."""

    def rank(self, D: Array, own: NDArray[np.int64]) -> Ints:
        """The place of each entry among those of its row, counted from 1, ties by column.

        Column own[i] of row i is left out: its place is 0.
        """

    def shortest_paths(self, graph: csr_array, near: Ragged, steps: Float64 | None = None) -> Array:
        """Lengths of shortest paths (lists x nodes) in a symmetric graph, in its dtype.

        Paths start at the nodes of a list, after a first step to each (None: of length 0). Stored
        zeros are edges of length 0; a node out of reach is at infinity.
        """

    def geodesics(self, graph: csr_array) -> GeodesicPlan:
        """A plan for products with the lengths of all shortest paths of a connected graph."""

    def min_plus(self, near: Ragged, lengths: Float64, G: Array) -> Array:
        """The least of lengths[e] + G[near.indices[e]] over each list, column by column.

        The first step of a path to a new point: G holds what follows. Of an empty list: infinity.
        """

    def sparse_matmul(
        self, A: csr_array, V: Float64, a: float, b: float, U: Float64 | None, c: float
    ) -> Float64:
        """a A V + b V + c U in one pass over A: a step of a three-term recurrence."""

    def barycentric_weights(self, Q: Array, X: Array, near: Ragged, reg: float) -> Float64:
        """Weights that best rebuild each row of Q from its listed rows of X and sum to 1.

        (C + R I) w = 1 with C the Gram matrix of the differences and R = reg tr C; w is then
        divided by its sum. One number per entry of the lists. reg = 0 is the limit: the shortest
        of the best weights. Differences that are all 0 give equal weights.
        """

    def alignment_matrix(
        self, X: Array, near: Ragged, kind: str, k: int, reg: float, mass: Float64
    ) -> csr_array:
        """The sum of mass_i F_i F_i' over patches, as a sparse symmetric matrix.

        F_i spans what `kind` penalizes. "ltsa": the complement of constants and k tangent
        coordinates; "hessian": the quadratic columns of a thin QR, and √reg times (reg: at most 1)
        all that is orthogonal to the whole QR; "modified": the weights of row i, less row i
        itself. For "ltsa" and "hessian" a patch lists all its members, row i included. Directions
        in which a patch has no extent beyond rounding are no tangent coordinates.
        """

    def guttman(self, D: Array, W: Array | None) -> StressPlan:
        """A plan for stress against D (symmetric; NaN: missing) with weights W >= 0 or all 1."""

    def monotone(self, D: Array, W: Array | None, split: bool) -> MonotonePlan:
        """The same for targets of which only the order is that of D; their mean square is 1.

        Tied pairs share a target, unless they are `split`. Weights of 0 leave a pair out.
        """

    def multilaterate(
        self, T: Array, W: Array | None, A: Float64, start: Float64, max_iter: int, tol: float
    ) -> tuple[Float64, Float64]:
        """Each row's point with distances T (NaN: missing) to the points A, and its stress.

        By majorization from its own start, until a step is below `tol` times its targets' size.
        """

    def conditional_probabilities(
        self, starts: NDArray[np.int64], squares: Float64, target: float
    ) -> tuple[Float64, Float64]:
        """p ∝ exp(-β d²) of each list of squared distances, with exp(entropy) = target; and β.

        The target is at most the length of a list. Where ties put it out of reach β is the largest
        that changes anything.
        """

    def symmetrize_probabilities(self, rows: csr_array) -> csr_array:
        """(A + A') / 2n of the chances A of n rows: one chance per pair, in any order."""

    def kl_plan(self, P: csr_array, kernel: str) -> KLPlan:
        """A plan for descending KL(P || Q), P symmetric with sum 1.

        q is like w = 1 / (1 + d²) for "student" and exp(-d²) for "gauss", over all pairs; for
        "rows" exp(-d²) over the pairs of each row, and the divergence is the mean over rows.
        """

    def optimize_new_points(
        self,
        near: Ragged,
        weights: Float64,
        Y: Array,
        kernel: str,
        mesh: InterpolationGrid | None,
        start: Float64 | None = None,
    ) -> Float64:
        """Places where new points come to rest among fixed ones, each alone.

        The least of sum_j p_j log(p_j / q_j), q_j like w_j over all rows of Y, p the weights of
        the listed ones: the nearest that goes downhill from `start`. None: from the weighted median
        of the listed places, column by column, which no outlier moves far; or, for "student", from
        one of the 8 heaviest listed places, where sum_j p_j log(1 + d_j²) is clearly lower.
        """

    def eigh(self, A: Float64, k: int, *, whole: bool = False) -> Spectrum:
        """The k largest eigenpairs of a dense symmetric matrix; `whole`: and all eigenvalues."""

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
