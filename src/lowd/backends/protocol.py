"""The operations a backend offers (`Backend`), the plans they return, and their arrays.

The list is short because its length is the price of a port. An operation that is used in a loop
returns a plan: an object that keeps its large arrays where the backend computes.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..domains import Facts, Positive, Shape
from ..values import value

Array: TypeAlias = NDArray[np.floating[Any]]
DType: TypeAlias = np.dtype[Any]  # of entries: mostly float32 or float64
Float64: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int32]
Rows: TypeAlias = Any  # a dense array of floats or a csr_array: scipy's classes have no types
Ties: TypeAlias = Literal["primary", "secondary"]
# Cubic splines extend over four nodes.
MIN_GRID_NODES = 5
# Of UMAP's descent: the share of a velocity that is kept, and the longest step of a point.
LAYOUT_MOMENTUM = 0.8
LAYOUT_MAX_STEP = 4.0
# Steps of a new point of UMAP; each halves its distance from the end or better.
NEW_POINT_STEPS = 30
PatchKind: TypeAlias = Literal["ltsa", "hessian", "modified"]


class ColumnStatistics(NamedTuple):
    """Column sums and largest absolute entry of the rows, and where the first NaN or infinity is.

    `first_nonfinite` is (row, column), or None if every entry is finite.
    """

    first_nonfinite: tuple[int, int] | None
    sums: Float64
    max_abs: float


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


class ScatterPlan(Protocol):
    """The scatter matrix S = (X - mean)' diag(weights) (X - mean) of some rows."""

    def moments(self) -> Moments:
        """S itself, with the weight and the mean of the rows."""

    def matmul(self, V: Array) -> tuple[Float64, float]:
        """S V in one pass over the rows, without forming S; and the trace of S."""


class Index(Protocol):
    """Rows prepared for nearest neighbor search. Distances are those of float64 arithmetic."""

    def others(self, k: int) -> Neighbors:
        """The k nearest other rows of each row; itself is left out by its index."""

    def query(self, Q: Rows, k: int) -> Neighbors:
        """The k nearest rows of each row of Q: the same alone or in any batch."""

    def ranks(self, rows: NDArray[np.int64] | None, listed: Ints) -> Ints:
        """The rank of each listed row in the order of `others(n - 1)`, counted from 1.

        List i is that of row rows[i], or of row i. The rank of -1, which is no row, is 0.
        """


class DistanceIndex(Protocol):
    """Rows of given distances, prepared for finding the nearest columns."""

    def nearest(self, k: int) -> Neighbors:
        """The k smallest entries of each row, ties by column."""

    def ranks(self) -> Ints:
        """The rank of each entry in its row, from 1, ties by column; 0 of what is left out."""


class GeodesicPlan(Protocol):
    """Shortest paths in a symmetric graph with nonnegative edge lengths (geodesic distances)."""

    def distances(self, sources: Ragged, offsets: Float64 | None = None) -> Array:
        """Geodesic distances (lists x nodes) in the dtype of the graph.

        A path starts at any node of a list, after an offset of its own (None: 0). A node that
        cannot be reached is at infinity.
        """

    def half_square_matmul(self, V: Float64) -> Float64:
        """(-G∘G/2) V, with G the geodesic distances between all nodes of a connected graph."""


class GuttmanStep(NamedTuple):
    """Terms of the stress at Y and its Guttman transform (Borg and Groenen, 2005, chapter 8).

    Sums are over pairs, with distances d of Y and disparities t: `stress` of w (t - d)²,
    `eta_squared` of w d², `rho` of w t d. `BY` is B(Y) Y, the transform before V⁺ is applied.
    """

    stress: float
    eta_squared: float
    rho: float
    BY: Float64


class StressPlan(Protocol):
    """Dissimilarities prepared for minimizing stress by SMACOF."""

    def step(self, Y: Float64) -> GuttmanStep:
        """Stress and Guttman transform of an embedding."""

    def disparities(self, Y: Float64) -> tuple[Float64, Float64] | None:
        """The monotone function from dissimilarities to disparities by its corners (x, y).

        Tied dissimilarities have the mean of their disparities. None where the disparities are
        the dissimilarities.
        """


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


class KLPlan(Protocol):
    """Gradient descent of KL(P || Q) for SNE and t-SNE; P stays inside.

    Forces are a quarter of the gradient, as in the first programs for t-SNE: with attraction A
    and repulsion R the gradient is 4 (A - R). w is the unnormalized similarity of two points.
    """

    def forces(self, Y: Array) -> tuple[Float64, Float64]:
        """Attractive and repulsive forces of any embedding."""

    def pair_sums(self, Y: Array, rows: NDArray[np.int64]) -> tuple[Float64, Float64]:
        """Exact sums over all others j of some rows: w, and w² (y - y_j) (exp(-d²) not squared)."""

    def cross_term(self, Y: Array) -> float:
        """The sum of p log(p / w) over the pairs of P."""

    def partition_function(self, Y: Array) -> float:
        """Z: the exact sum of w over all ordered pairs."""

    def start(self, Y: Array) -> None:
        """Set the embedding to descend from, with zero velocity."""

    def advance(self, steps: int, exaggeration: float, momentum: float, rate: float) -> float:
        """Take gradient steps with gains (Jacobs, 1988); return the last one's RMS length."""

    def embedding(self) -> Array:
        """The present embedding."""

    def uses_interpolation(self, Y: Array) -> bool:
        """Whether the repulsive forces at Y are interpolated from a grid."""

    def interpolation_grid(self, Y: Array) -> InterpolationGrid | None:
        """The sum of w over points at Y as a potential, where forces are interpolated."""


class LayoutCurve(NamedTuple):
    """Similarity φ = 1 / (1 + a d^2b) of two points in UMAP's embedding, and what softens forces.

    Of squared distances d² the factors of the forces are g_a = 2ab d^(2b - 2) / (1 + a d^2b) and
    g_r = 2b / ((ε + d²)(1 + a d^2b)), with ε the softening.
    """

    a: float
    b: float
    softening: float


class LayoutPlan(Protocol):
    """Descent of UMAP's expected forces over all pairs; the graph W stays inside.

    P = W / D is the random walk on the graph (D its degrees; a point without edges has none).
    """

    def forces(self, Y: Array) -> tuple[Float64, Float64]:
        """A_i = Σ_j P_ij g_a (y_j - y_i), and R_i = Σ_k g_r (y_i - y_k) / 2n, of any embedding."""

    def repulsion_of(self, Y: Array, rows: NDArray[np.int64]) -> Float64:
        """R of some rows, by the exact sum."""

    def density_forces(self, Y: Array) -> Float64:
        """T_i = n/2 · D̄ / D_i · ∂corr/∂y_i, of densMAP; D̄ is the mean degree.

        corr = Σ R r / n / √(var r + shift) with the given radii R of mean 0, variance 1, and
        r_i = log(Σ_j φ d² / Σ_j φ + 1e-8) over the edges of i.
        """

    def loss_terms(self, Y: Array) -> tuple[float, float]:
        """Means over the points i of Σ_j P_ij log(1 + a d^2b), and of Σ_k≠i V(d_ik) / 2n.

        V is the potential of the repulsion: V' = -g_r d, V(∞) = 0.
        """

    def start(self, Y: Array) -> None:
        """Set the embedding to descend from, with zero velocity."""

    def advance(self, rates: Float64, repulsions: Float64, densities: Float64 | None) -> float:
        """Iterate v ← 0.8 v + rate (A + repulsion R + density T), |v| ≤ 4, y ← y + v.

        An iteration per rate; the length of its last step is returned, root mean square.
        """

    def embedding(self) -> Array:
        """The present embedding."""

    def uses_interpolation(self, Y: Array) -> bool:
        """Whether the repulsive forces at Y are not exact sums, but of a grid or of samples."""

    def interpolation_grid(self, Y: Array) -> InterpolationGrid | None:
        """The potential Σ_k V(|y - y_k|) / 2n of points at Y, where forces are of a grid."""


class Backend(Protocol):
    """Where the heavy arithmetic happens.

    `X`, `Q` hold rows (dense or CSR), `V`, `W` thin matrices, results are dense. Matrix products
    of data keep the data's dtype; sums over rows come back in float64.
    """

    def column_statistics(self, X: Rows, weights: Float64 | None = None) -> ColumnStatistics:
        """Weighted column sums, largest absolute entry and first nonfinite entry, in one pass."""

    def check_symmetry(self, A: Array) -> Symmetry:
        """What a given distance or kernel matrix must be checked for, in one pass."""

    def scatter(self, X: Rows, mean: Float64, weights: Float64 | None) -> ScatterPlan:
        """A plan for the scatter matrix around `mean`, known from `column_statistics`."""

    def project(
        self,
        X: Rows,
        shift: Float64 | None,
        W: Rows | HadamardMatrix,
        bias: Float64 | None = None,
    ) -> Array:
        """(X - shift) W + bias; for a CSR `W` the columns of the product are its rows: X W'."""

    def pairwise(
        self, Q: Rows, X: Rows, measure: str, params: tuple[float, ...], center: Float64 | None
    ) -> Array:
        """A distance or kernel (see `MEASURES`) of every row of Q to every row of X.

        Inner products ("dot") are those of rows less `center`, if there is one; for distances it
        is a point near the rows, which saves digits. Of sparse rows, columns in which it is not 0
        are filled up.
        """

    def matmul(
        self,
        A: Rows,
        V: Array,
        *,
        half_square: bool = False,
        alpha: float = 1.0,
        beta: float = 0.0,
        gamma: float = 0.0,
        U: Array | None = None,
    ) -> Float64:
        """alpha A V + beta V + gamma U: a product, or a step of a three-term recurrence.

        `A` is dense or CSR; with `half_square` it is replaced by -A∘A/2, which is not formed.
        """

    def index(
        self, X: Rows, measure: str, params: tuple[float, ...], center: Float64 | None
    ) -> Index:
        """A plan for nearest neighbor search among rows under a distance measure."""

    def distance_index(self, D: Array, own: NDArray[np.int64] | None = None) -> DistanceIndex:
        """A plan for nearest neighbor search in given distances; own[i] is left out of row i."""

    def geodesics(self, graph: csr_array) -> GeodesicPlan:
        """A plan for shortest paths in a symmetric graph; stored zeros are edges of length 0."""

    def min_plus(self, near: Ragged, lengths: Float64, G: Array) -> Array:
        """The (min, +) product: the least of lengths[e] + G[near.indices[e]] over each list.

        Geodesic distances of a new point by way of its neighbors, whose distances are the rows of
        G. Of an empty list: infinity.
        """

    def barycentric_weights(self, Q: Array, X: Array, near: Ragged, reg: float) -> Float64:
        """Weights that best reconstruct each row of Q from its listed rows of X and sum to 1.

        (C + R I) w = 1 with C the Gram matrix of the differences and R = reg tr C; w is then
        divided by its sum. One number per entry of the lists. reg = 0 is the limit: the shortest
        of the best weights. Differences that are all 0 give equal weights.
        """

    def alignment_matrix(
        self, X: Array, near: Ragged, kind: str, k: int, reg: float, counts: Float64
    ) -> csr_array:
        """The sum of counts_i F_i F_i' over neighborhoods (patches), a sparse symmetric matrix.

        F_i spans what `kind` penalizes. "ltsa": the complement of constants and k tangent
        coordinates; "hessian": the quadratic columns of a thin QR, and √reg times (reg: at most 1)
        all that is orthogonal to the whole QR; "modified": the weights of row i, less row i
        itself. For "ltsa" and "hessian" a patch lists all its members, row i included. Directions
        in which a patch has no extent beyond rounding are no tangent coordinates.
        """

    def stress_plan(self, D: Array, W: Array | None, ties: Ties | None = None) -> StressPlan:
        """A plan for the stress against D (symmetric; NaN: missing) with weights W >= 0 or all 1.

        Metric without `ties`. With it disparities are fitted by isotonic regression and scaled to
        mean square 1; "primary" breaks ties of D, "secondary" keeps them (Kruskal, 1964).
        """

    def multilaterate(
        self, T: Array, W: Array | None, A: Float64, start: Float64, max_iter: int, tol: float
    ) -> tuple[Float64, Float64]:
        """New points with distances T (NaN: missing) to the fixed points A, and their stress.

        Each by SMACOF from its own start, until a step is below `tol` times the RMS distance.
        """

    def conditional_probabilities(
        self, indptr: NDArray[np.int64], squares: Float64, perplexity: float
    ) -> tuple[Float64, Float64]:
        """p ∝ exp(-β d²) over each list of squared distances, of a given perplexity; and the β.

        The perplexity is at most the length of a list. Where ties make it impossible β is
        the largest that changes anything.
        """

    def symmetrize(self, rows: csr_array, union: float | None = None) -> csr_array:
        """Joint probabilities (A + A') / 2n from the conditional ones A of n rows.

        With a share s of the union: s (A + A' - A∘A') + (1 - s) A∘A', from memberships A of
        fuzzy sets.
        """

    def kl_plan(self, P: csr_array, kernel: str) -> KLPlan:
        """A plan for descending KL(P || Q), P symmetric with sum 1.

        q is proportional to w = 1 / (1 + d²) for "student" and exp(-d²) for "gauss", over all
        pairs; for "rows" to exp(-d²) over the pairs of each row, and the divergence is the mean
        over rows.
        """

    def optimize_new_points(
        self,
        near: Ragged,
        weights: Float64,
        Y: Array,
        kernel: str,
        grid: InterpolationGrid | None,
        start: Float64 | None = None,
    ) -> Float64:
        """Coordinates of new points, each optimized alone with the training embedding Y fixed.

        A minimum of sum_j p_j log(p_j / q_j), q_j proportional to w_j over all rows of Y, p the
        weights of the listed ones: the one downhill from `start`. None: from the weighted median
        of the listed coordinates, column by column, which no outlier moves far; or, for
        "student", from one of the 8 heaviest listed points, where sum_j p_j log(1 + d_j²) is
        clearly lower.
        """

    def fuzzy_memberships(
        self,
        indptr: NDArray[np.int64],
        distances: Float64,
        local_connectivity: float,
        mean_distance: float | None,
    ) -> tuple[Float64, Float64, Float64]:
        """Memberships exp(-max(0, d - rho) / sigma) over lists of distances; and rho and sigma.

        Lists are nearest first, without the point itself. rho is the distance of neighbor number
        `local_connectivity` at a positive distance, interpolated; the largest if there are fewer.
        sigma gives a list of k memberships the sum log2(k + 1), by bisection to 1e-5, and is at
        least a thousandth of a mean distance, in which the point itself counts with 0: of the
        list if rho > 0, else `mean_distance` (None: of all lists).
        """

    def layout_plan(
        self,
        W: csr_array,
        curve: LayoutCurve,
        seed: int,
        radii: Float64 | None = None,
        variance_shift: float = 0.0,
    ) -> LayoutPlan:
        """A plan for UMAP's embedding of a symmetric graph of memberships W.

        `radii` and `variance_shift` are those of densMAP. Where repulsion is summed over samples,
        they are a function of the seed.
        """

    def layout_new_points(
        self,
        near: Ragged,
        weights: Float64,
        Y: Array,
        curve: LayoutCurve,
        repulsion: float,
        grid: InterpolationGrid | None,
        sample: NDArray[np.int64] | None,
    ) -> Float64:
        """Coordinates of new points of UMAP, each optimized alone with the embedding Y fixed.

        From the mean of the listed points with their weights, which have the sum 1, a fixed
        number of steps F / (2 max(1, 2b - 1) Σ p g_a), at most 1 long each, with
        F = Σ p g_a (y_j - y) + repulsion · R(y). R is minus the slope of the grid's potential;
        without a grid the sum g_r (y - y_k) / 2m over the m points in `sample` (None: all).
        """


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
