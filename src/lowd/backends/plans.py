"""Plans and objectives that operations of a backend return.

An operation that is used in a loop returns a plan: an object that keeps its large arrays where the
backend computes.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from .arrays import (
    Array,
    Float64,
    GuttmanStep,
    InterpolationGrid,
    Ints,
    Moments,
    Neighbors,
    Ragged,
    Rows,
)
from .vectors import MatrixPlan


class HeldGraph(Protocol):
    """A sparse matrix that stays where the backend computes."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def to_csr(self) -> csr_array:
        """The same on the host, copied once."""

    def random_walk(self) -> tuple[HeldGraph, Float64]:
        """`random_walk` of this graph."""


Graph: TypeAlias = csr_array | HeldGraph


def to_csr(graph: Graph) -> csr_array:
    """A graph on the host, where it may be already."""
    return graph if issparse(graph) else graph.to_csr()


def random_walk(graph: Graph) -> tuple[Graph, Float64]:
    """P = D^-1 W of a graph W, and its degrees D; a point without edges has none in P."""
    if not issparse(graph):
        return graph.random_walk()
    W = to_csr(graph)
    counts = np.diff(W.indptr)
    rows = np.repeat(np.arange(len(counts)), counts)
    degrees: Float64 = np.bincount(rows, W.data, len(counts)).astype(np.float64, copy=False)
    steps = W.data / np.repeat(np.where(degrees > 0, degrees, 1), counts)
    return csr_array((steps, W.indices, W.indptr), W.shape), degrees


class SimilarityGraph(NamedTuple):
    """A symmetric graph of similarities, and of each list a scale and an offset."""

    graph: Graph
    scales: Float64
    offsets: Float64


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

    def half_squares(self) -> MatrixPlan:
        """-G∘G/2, with G the geodesic distances between all nodes of a connected graph."""


class StressPlan(Protocol):
    """Dissimilarities prepared for minimizing stress by SMACOF."""

    def step(self, Y: Float64) -> GuttmanStep:
        """Stress and Guttman transform of an embedding."""

    def disparities(self, Y: Float64) -> tuple[Float64, Float64] | None:
        """The monotone function from dissimilarities to disparities by its corners (x, y).

        Tied dissimilarities have the mean of their disparities. None where the disparities are
        the dissimilarities.
        """


class StressObjective(Protocol):
    """Stress: squared differences of distances and disparities.

    Metric, the disparities are the dissimilarities; or, with a rule for ties of dissimilarities,
    fitted by isotonic regression and scaled to mean square 1: "primary" breaks ties, "secondary"
    keeps them (Kruskal, 1964).
    """

    def plan(self, D: Array, W: Array | None) -> StressPlan:
        """A plan for the stress against D (symmetric; NaN: missing), weights W >= 0 or all 1."""

    def optimize_new_points(
        self, T: Array, W: Array | None, Y: Float64, start: Float64, max_iter: int, tol: float
    ) -> tuple[Float64, Float64]:
        """New points with disparities T (NaN: missing) to the fixed points Y, and their stress.

        Each by SMACOF from its own start, until a step is below `tol` times the RMS distance.
        """


class DescentPlan(Protocol):
    """Descent of an embedding by attractive forces along edges and repulsive ones of all pairs."""

    def forces(self, Y: Array) -> tuple[Float64, Float64]:
        """Attractive and repulsive forces of any embedding."""

    def start(self, Y: Array) -> None:
        """Set the embedding to descend from, with zero velocity."""

    def embedding(self) -> Array:
        """The present embedding."""

    def uses_interpolation(self, Y: Array) -> bool:
        """Whether the repulsive forces at Y are not exact sums, but of a grid or of samples."""

    def interpolation_grid(self, Y: Array) -> InterpolationGrid | None:
        """The potential of the repulsion of points at Y, where forces are of a grid."""


class KLPlan(DescentPlan, Protocol):
    """Gradient descent of KL(P || Q) for SNE and t-SNE; P stays inside.

    Forces are a quarter of the gradient, as in the first programs for t-SNE: with attraction A
    and repulsion R the gradient is 4 (A - R). w is the unnormalized similarity of two points; its
    sum is the potential on the grid.
    """

    def pair_sums(self, Y: Array, rows: NDArray[np.int64]) -> tuple[Float64, Float64]:
        """Exact sums over all others j of some rows: w, and w² (y - y_j) (exp(-d²) not squared)."""

    def cross_term(self, Y: Array) -> float:
        """The sum of p log(p / w) over the pairs of P."""

    def partition_function(self, Y: Array) -> float:
        """Z: the exact sum of w over all ordered pairs."""

    def variances(self) -> Float64:
        """Of the present embedding, along each axis."""

    def advance(self, steps: int, exaggeration: float, momentum: float, rate: float) -> float:
        """Take gradient steps with gains (Jacobs, 1988); return the last one's RMS length."""


class KLObjective(Protocol):
    """KL(P || Q), q proportional to a similarity w of points in the embedding.

    w = 1 / (1 + d²) for "student" and exp(-d²) for "gauss", over all pairs; for "rows" exp(-d²)
    over the pairs of each row, and the divergence is the mean over rows.
    """

    def plan(self, P: Graph) -> KLPlan:
        """A plan for descending it, P symmetric with sum 1."""

    def optimize_new_points(
        self,
        near: Ragged,
        weights: Float64,
        Y: Array,
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


class LayoutPlan(DescentPlan, Protocol):
    """Descent of UMAP's expected forces over all pairs; the graph W stays inside.

    P = W / D is the random walk on the graph (D its degrees; a point without edges has none).
    Forces are A_i = Σ_j P_ij g_a (y_j - y_i), and R_i = Σ_k g_r (y_i - y_k) / 2n. The potential on
    the grid is Σ_k V(|y - y_k|) / 2n.
    """

    def repulsion_of(self, Y: Array, rows: NDArray[np.int64]) -> Float64:
        """R of some rows, by the exact sum."""

    def density_forces(self, Y: Array, density: float) -> Float64:
        """density · T_i, T_i = n/2 · D̄ / D_i · ∂corr/∂y_i, of densMAP; D̄ is the mean degree.

        corr = Σ R r / n / √(var r + shift) with the given radii R of mean 0, variance 1, and
        r_i = log(Σ_j φ d² / Σ_j φ + 1e-8) over the edges of i. The part of an edge is at most
        4 P_ij long.
        """

    def loss_terms(self, Y: Array) -> tuple[float, float]:
        """Means over the points i of Σ_j P_ij log(1 + a d^2b), and of Σ_k≠i V(d_ik) / 2n.

        V is the potential of the repulsion: V' = -g_r d, V(∞) = 0.
        """

    def advance(self, rates: Float64, repulsions: Float64, densities: Float64 | None) -> float:
        """Iterate v ← 0.8 v + rate (A + repulsion R + density T), |v| ≤ 4, y ← y + v.

        The density term is limited as in `density_forces`. An iteration per rate; the length of
        its last step is returned, root mean square.
        """


class LayoutObjective(Protocol):
    """UMAP's objective for a similarity of points in the embedding (`LayoutCurve`)."""

    def plan(
        self,
        W: Graph,
        seed: int,
        radii: Float64 | None = None,
        variance_shift: float = 0.0,
    ) -> LayoutPlan:
        """A plan for the embedding of a symmetric graph of memberships W.

        `radii` and `variance_shift` are those of densMAP. Where repulsion is summed over samples,
        they are a function of the seed.
        """

    def optimize_new_points(
        self,
        near: Ragged,
        weights: Float64,
        Y: Array,
        repulsion: float,
        grid: InterpolationGrid | None,
        sample: NDArray[np.int64] | None,
    ) -> Float64:
        """Coordinates of new points, each optimized alone with the training embedding Y fixed.

        From the mean of the listed points with their weights, which have the sum 1, a fixed
        number of steps F / (2 max(1, 2b - 1) Σ p g_a), at most 1 long each, with
        F = Σ p g_a (y_j - y) + repulsion · R(y). R is minus the slope of the grid's potential;
        without a grid the sum g_r (y - y_k) / 2m over the m points in `sample` (None: all).
        """
