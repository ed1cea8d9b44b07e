"""The operations a backend offers, and by name all types that they take and give.

The list is short because its length is the price of a port.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .arrays import (
    INDEXED_MEASURES,
    MEASURES,
    Array,
    CalibratedRows,
    ColumnStatistics,
    DType,
    Float64,
    FuzzySum,
    GuttmanStep,
    HadamardMatrix,
    InterpolationGrid,
    Ints,
    LayoutCurve,
    Moments,
    Neighbors,
    PairwiseMatrix,
    PatchKind,
    Perplexity,
    Ragged,
    Rows,
    Symmetry,
    Ties,
    refine_mean,
    square_distances,
)
from .plans import (
    DescentPlan,
    DistanceIndex,
    GeodesicPlan,
    Graph,
    HeldGraph,
    Index,
    KLObjective,
    KLPlan,
    LayoutObjective,
    LayoutPlan,
    ScatterPlan,
    SimilarityGraph,
    StressObjective,
    StressPlan,
    random_walk,
    to_csr,
)
from .vectors import PRODUCT, HeldVectors, HostVectors, MatrixPlan, Terms, multiply

__all__ = [
    "INDEXED_MEASURES",
    "MEASURES",
    "PRODUCT",
    "Array",
    "Backend",
    "CalibratedRows",
    "ColumnStatistics",
    "DType",
    "DescentPlan",
    "DistanceIndex",
    "Float64",
    "FuzzySum",
    "GeodesicPlan",
    "Graph",
    "GuttmanStep",
    "HadamardMatrix",
    "HeldGraph",
    "HeldVectors",
    "HostVectors",
    "Index",
    "InterpolationGrid",
    "Ints",
    "KLObjective",
    "KLPlan",
    "LayoutCurve",
    "LayoutObjective",
    "LayoutPlan",
    "MatrixPlan",
    "Moments",
    "Neighbors",
    "PairwiseMatrix",
    "PatchKind",
    "Perplexity",
    "Ragged",
    "Rows",
    "ScatterPlan",
    "SimilarityGraph",
    "StressObjective",
    "StressPlan",
    "Symmetry",
    "Terms",
    "Ties",
    "multiply",
    "random_walk",
    "refine_mean",
    "square_distances",
    "to_csr",
]


class Backend(Protocol):
    """Where the heavy arithmetic happens.

    `X`, `Q` hold rows (dense or CSR), `V`, `W` thin matrices, results are dense. Matrix products
    of data keep the data's dtype; sums over rows come back in float64.
    """

    @property
    def threads(self) -> int:
        """How many threads it may use."""

    def column_statistics(
        self, X: Rows, weights: Float64 | None = None, *, priorities: bool = False
    ) -> ColumnStatistics:
        """Weighted column sums, largest absolute entry and first nonfinite entry, in one pass.

        With `priorities` also random bits of each row's content (`row_hash.row_priorities`).
        """

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

    def matrix_plan(
        self, A: Rows | Graph | PairwiseMatrix, *, half_square: bool = False
    ) -> MatrixPlan:
        """A plan for products with a matrix, dense or sparse, or with that of a measure of rows.

        With `half_square` a dense matrix is replaced by -A∘A/2, which is not formed.
        """

    def index(
        self, X: Rows, measure: str, params: tuple[float, ...], center: Float64 | None
    ) -> Index:
        """A plan for nearest neighbor search among rows under a distance measure."""

    def distance_index(self, D: Array, own: NDArray[np.int64] | None = None) -> DistanceIndex:
        """A plan for nearest neighbor search in given distances; own[i] is left out of row i."""

    def geodesics(self, graph: csr_array | Array) -> GeodesicPlan:
        """A plan for shortest paths in a symmetric graph; stored zeros are edges of length 0.

        A dense array holds the geodesic distances from each node (row) to landmarks, at which all
        paths end.
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

    def stress_objective(self, ties: Ties | None = None) -> StressObjective:
        """The stress that metric and, with a rule for ties, nonmetric MDS minimize."""

    def calibrate_rows(
        self, indptr: NDArray[np.int64], distances: Float64, rule: Perplexity | FuzzySum
    ) -> CalibratedRows:
        """Affinities over each list of distances, of a bandwidth that meets the rule."""

    def similarity_graph(
        self, edges: csr_array, rule: Perplexity | FuzzySum | None, union: float | None = None
    ) -> SimilarityGraph:
        """A symmetric graph of the affinities A of n rows to their neighbors.

        They are `calibrate_rows` of the distances in `edges`, nearest first; without a rule, the
        entries themselves. Joint probabilities are (A + A') / 2n. With a share s of the union:
        s (A + A' - A∘A') + (1 - s) A∘A', from memberships A of fuzzy sets.
        """

    def kl_objective(self, kernel: str) -> KLObjective:
        """The KL divergence that SNE and t-SNE minimize: "student", "gauss" or "rows"."""

    def layout_objective(self, curve: LayoutCurve) -> LayoutObjective:
        """The forces that UMAP's sampling expects, of all pairs."""
