"""The native core. Arrays are never converted: give the types below, each row contiguous.

``T`` is float32 or float64, the same for all arrays of one call. Outputs are given by the caller
and overwritten. A wrong shape is a ``ValueError``, a wrong type a ``TypeError``. ``threads`` does
not change the bits of a result. ``poll(done, total)`` is called from the calling thread about every
50 ms (never by a shorter call); an exception from it, or a signal handler's, ends the call.
"""

from collections.abc import Callable, Sequence
from typing import Generic, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", np.float32, np.float64)
Index = TypeVar("Index", NDArray[np.int32], NDArray[np.int64])
Doubles: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Short: TypeAlias = NDArray[np.int32]
Similarity: TypeAlias = Literal["student", "gauss", "rows"]
Poll: TypeAlias = Callable[[int, int], object] | None
Measure: TypeAlias = Literal[
    "dot",
    "poly",
    "sigmoid",
    "sqeuclidean",
    "euclidean",
    "rbf",
    "rbfm1",
    "manhattan",
    "laplacian",
    "chebyshev",
    "minkowski",
    "hamming",
    "jaccard",
]

def cpu_level() -> str:
    """The level in use; the environment's ``LOWD_CPU_LEVEL`` may name another supported one."""

def cpu_levels() -> list[str]:
    """The supported levels, lowest first."""

def column_sums(
    X: NDArray[T],
    weights: Doubles | None,
    out: Doubles,
    multipliers: NDArray[np.uint64] | None,
    key: int,
    priorities: NDArray[np.uint64] | None,
    threads: int,
    poll: Poll = None,
) -> float:
    """out = sum_i w_i x_i; returns the largest |x_ij|.

    priorities_i: random bits, of a stream's key, for sum_j m_j mix(x_ij), x_ij as bits of float64.
    """

def scatter(
    X: NDArray[T],
    weights: Doubles | None,
    mean: Doubles,
    scale: float,
    out: Doubles,
    threads: int,
    poll: Poll = None,
) -> None:
    """out = sum_i w_i u_i u_i^T with u_i = (x_i - mean) scale. Weights are not negative."""

def scatter_matmul(
    X: NDArray[T],
    weights: Doubles | None,
    mean: Doubles,
    scale: float,
    V: NDArray[T],
    out: Doubles,
    threads: int,
    poll: Poll = None,
) -> float:
    """out = U^T W (U V), u_i = (x_i - mean) scale, in one pass; returns sum_i w_i |u_i|^2."""

def project(
    X: NDArray[T],
    shift: Doubles | None,
    W: NDArray[T],
    bias: Doubles | None,
    out: NDArray[T],
    threads: int,
    poll: Poll = None,
) -> None:
    """out = (X - shift) W + bias."""

def matmul(
    A: NDArray[T], V: NDArray[T], half_square: bool, out: Doubles, threads: int, poll: Poll = None
) -> None:
    """out = A V, or with ``half_square`` (-1/2 A*A) V, A*A entry by entry."""

def pairwise(
    Q: NDArray[T],
    X: NDArray[T],
    measure: Measure,
    params: Sequence[float],
    center: Doubles | None,
    symmetric: bool,
    out: NDArray[T],
    threads: int,
    poll: Poll = None,
) -> None:
    """out_ij = measure(q_i, x_j). ``symmetric``: Q is X, half of the pairs are computed.

    With p = params, s = |q - x|^2: dot p0 q.x; poly (p0 q.x + p1)**p2; sigmoid tanh(p0 q.x + p1);
    sqeuclidean p0 s; euclidean p0 sqrt(s); rbf exp(-p0 s); rbfm1 expm1(-p0 s); laplacian
    exp(-p0 sum|q - x|); minkowski of order p0; manhattan, chebyshev, hamming, jaccard (of truth
    values) without params. ``center`` (for the family of s; None is zero) should be near the middle
    of the data: it saves time, not digits.
    """

def select_smallest(
    D: NDArray[T],
    own: Integers | None,
    ids: Short,
    values: Doubles,
    threads: int,
    poll: Poll = None,
) -> None:
    """The smallest entries of each row by (value, column), as many as ``ids`` has columns."""

def ranks(
    X: NDArray[T],
    center: Doubles,
    scale: float,
    rows: Integers | None,
    root: bool,
    factor: float,
    unit: float,
    ids: Short,
    out: Short,
    threads: int,
    poll: Poll = None,
) -> None:
    """Ranks of listed rows among all others, seen from ``rows``, by counting closer ones.

    Distances as in `nearest`. A listed -1 has rank 0.
    """

def rank_rows(D: NDArray[T], own: Integers, out: Short, threads: int, poll: Poll = None) -> None:
    """Rank of each entry in its row by (value, column), from 1; ``own`` has rank 0."""

def nearest(
    Q: NDArray[T],
    X: NDArray[T],
    among: bool,
    root: bool,
    factor: float,
    unit: float,
    ids: Short,
    distances: Doubles,
    threads: int,
    poll: Poll = None,
) -> None:
    """Nearest neighbors by brute force; ``among``: Q is X, and a row is no neighbor of itself.

    A distance is factor |q - x|, or factor |q - x|^2 without ``root``; ``unit``, a power of two,
    keeps the squares in range.
    """

class CandidateLists:
    """The k nearest neighbors of every row found so far; see neighbors.hpp."""

    def join(self, near: Short | None, threads: int, poll: Poll = None) -> None:
        """Compare all pairs of rows, or those whose groups are near each other."""

    def nn_descent(self, near: Short, rounds: int, threads: int, poll: Poll = None) -> None:
        """Compare forward and reverse neighbors of neighbors; groups of `near` have been joined."""

    def unpruned_fraction(self, threads: int, poll: Poll = None) -> float:
        """Fraction of pairs of blocks that bounding boxes do not prune."""

    def copy_to(self, ids: Short, distances: Doubles, threads: int) -> None: ...

class NeighborIndex(Generic[T]):
    """Rows prepared for neighbor queries; see neighbors.hpp."""

    @property
    def groups(self) -> int: ...
    @property
    def coordinates(self) -> int: ...
    def centroids(self, out: NDArray[np.float32]) -> None:
        """Centroids of the groups of rows, in leading coordinates."""

    def join(
        self,
        root: bool,
        factor: float,
        unit: float,
        ids: Short,
        distances: Doubles,
        threads: int,
        poll: Poll = None,
    ) -> None:
        """Nearest neighbors of every row: an exact self-join."""

    def candidate_lists(
        self, root: bool, factor: float, unit: float, k: int, threads: int
    ) -> CandidateLists: ...
    def query(
        self,
        Q: NDArray[T],
        Z: NDArray[np.float32],
        root: bool,
        factor: float,
        unit: float,
        ids: Short,
        distances: Doubles,
        threads: int,
        poll: Poll = None,
    ) -> None:
        """Nearest neighbors of each row of Q; Z is the projection of Q."""

def neighbor_index(
    X: NDArray[T],
    Z: NDArray[np.float32],
    center: Doubles,
    scale: float,
    error: float,
    threads: int,
    poll: Poll = None,
) -> NeighborIndex[T]:
    """Z = (X - center) B scale, B with orthonormal columns, each row of Z right to ``error``.

    The error is relative to the length of the centered and scaled row.
    """

def hadamard(
    X: NDArray[T],
    signs: NDArray[T],
    rows: Integers,
    padded: int,
    scale: float,
    out: NDArray[T],
    threads: int,
    poll: Poll = None,
) -> None:
    """out_i = scale (H pad(signs x_i))[rows], H Walsh-Hadamard of that order, natural order."""

def shortest_paths(
    indptr: Integers,
    indices: Short,
    lengths: NDArray[T],
    source_indptr: Integers,
    source_indices: Short,
    steps: NDArray[T] | None,
    out: NDArray[T],
    threads: int,
    poll: Poll = None,
) -> None:
    """out (sources x nodes) = lengths of shortest paths; edge lengths are not negative.

    A source is a list of nodes with the length of a first step to each (None: 0).
    """

def geodesic_half(
    indptr: Integers,
    indices: Short,
    lengths: NDArray[T],
    out: NDArray[T],
    threads: int,
    poll: Poll = None,
) -> None:
    """The same between all n nodes, each pair once: out_i = those to the n / 2 nodes after i."""

def geodesic_products(
    half: NDArray[T], V: NDArray[T], out: Doubles, threads: int, poll: Poll = None
) -> None:
    """out = (-G G / 2) V, elementwise square, for the symmetric G of which half is stored."""

def sparse_matmul(
    indptr: Index,
    indices: Index,
    values: Doubles,
    V: Doubles,
    a: float,
    b: float,
    U: Doubles | None,
    c: float,
    out: Doubles,
    threads: int,
    poll: Poll = None,
) -> None:
    """out = a A V + b V + c U, A in CSR form; arrays are contiguous."""

def guttman(
    D: NDArray[T],
    W: NDArray[T] | None,
    Y: Doubles,
    moved: Doubles,
    threads: int,
    poll: Poll = None,
) -> tuple[float, float, float]:
    """Sums of w (t - d)², w d², w t d over pairs, and moved = B(Y) Y; NaN in D is missing."""

class MonotoneRegression:
    """Disparities that increase with D; tied pairs share one unless ``break_ties``."""

    def __init__(
        self, D: NDArray[T], W: NDArray[T] | None, break_ties: bool, threads: int, poll: Poll = None
    ) -> None: ...
    def step(
        self, Y: Doubles, moved: Doubles, threads: int, poll: Poll = None
    ) -> tuple[float, float, float]:
        """As ``guttman``, with the best disparities, of weighted mean square 1."""

    def disparity_function(
        self, Y: Doubles, threads: int, poll: Poll = None
    ) -> tuple[Short, Doubles]:
        """Pairs at the corners of the function from dissimilarities to disparities, and these."""

def multilaterate(
    T: Doubles,
    W: Doubles | None,
    A: Doubles,
    max_iter: int,
    tol: float,
    Y: Doubles,
    stress: Doubles,
    threads: int,
    poll: Poll = None,
) -> None:
    """Minimizes the stress of each row of Y, whose distances to A should be T; A is fixed."""

def conditional_probabilities(
    indptr: Integers,
    squares: Doubles,
    target: float,
    p: Doubles,
    beta: Doubles,
    threads: int,
    poll: Poll = None,
) -> None:
    """p, beta = conditional probabilities p ~ exp(-beta d^2) of each row, exp(entropy) = target."""

def pair_sums(
    Y: Doubles,
    kernel: Similarity,
    rows: Integers,
    z: Doubles,
    r: Doubles,
    threads: int,
    poll: Poll = None,
) -> None:
    """z, r = exact sums over all others of some rows: of w, and of repulsive forces."""

def symmetrize(
    indptr: Integers,
    indices: Short,
    values: Doubles,
    union_share: float | None,
    threads: int,
    poll: Poll = None,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """(A + A') / 2n of n rows, or with a share s of a union s (A + A' - A∘A') + (1 - s) A∘A'.

    Columns are not sorted: those of A come in their order, then those of A' alone.
    """

def fuzzy_memberships(
    indptr: Integers,
    distances: Doubles,
    connectivity: float,
    mean_distance: float | None,
    memberships: Doubles,
    rho: Doubles,
    sigma: Doubles,
    threads: int,
    poll: Poll = None,
) -> None:
    """Memberships exp(-max(0, d - rho) / sigma) of the sum log2(k + 1) over each list."""

def layout_repulsion(
    Y: Doubles,
    curve: Sequence[float],
    exact: bool,
    rows: Integers,
    out: Doubles,
    threads: int,
    poll: Poll = None,
) -> None:
    """Repulsive forces of UMAP on some rows, by all pairs: in float64, or in float32."""

def attractive_loss(
    indptr: Integers,
    indices: Short,
    values: Doubles,
    Y: Doubles,
    curve: Sequence[float],
    threads: int,
    poll: Poll = None,
) -> float:
    """The mean over points of the sum of p log(1 + a d^2b), p the memberships over their sum."""

def layout_new_points(
    indptr: Integers,
    indices: Short,
    weights: Doubles,
    Y: Doubles,
    curve: Sequence[float],
    repulsion: float,
    phi: NDArray[np.float32] | None,
    nodes: Sequence[int],
    origin: Sequence[float],
    spacing: float,
    rows: Integers,
    share: float,
    steps: int,
    out: Doubles,
    threads: int,
    poll: Poll = None,
) -> None:
    """New points of UMAP, each alone; repelled by the grid's potential, or by the listed rows."""

def cross_term(
    indptr: Integers,
    indices: Short,
    p: Doubles,
    Y: Doubles,
    kernel: Similarity,
    threads: int,
    poll: Poll = None,
) -> float:
    """Cross term of the KL divergence: the sum of p log(p / w) over the listed pairs."""

def partition_function(Y: Doubles, threads: int, poll: Poll = None) -> float:
    """Z, the sum of 1 / (1 + d^2) over all ordered pairs; up to three dimensions."""

def optimize_new_points(
    indptr: Integers,
    indices: Short,
    p: Doubles,
    Y: Doubles,
    kernel: Similarity,
    phi: NDArray[np.float32] | None,
    nodes: list[int],
    origin: list[float],
    spacing: float,
    from_medians: bool,
    coordinates: Doubles,
    threads: int,
    poll: Poll = None,
) -> None:
    """Optimizes coordinates (the start, unless ``from_medians``) of new points, Y held fixed."""

class Descent:
    """Gradient descent by all pairs, in float64 or float32, or by an interpolation grid."""

    def __init__(
        self,
        indptr: Integers,
        indices: Short,
        values: Doubles,
        k: int,
        kernel: Similarity,
        repulsion: Literal["exact", "float32", "grid"],
    ) -> None: ...
    def start(self, Y: Doubles) -> None: ...
    def advance(
        self,
        steps: int,
        exaggeration: float,
        momentum: float,
        rate: float,
        threads: int,
        poll: Poll = None,
    ) -> float:
        """Returns the sum of the squares of the last steps."""

    def embedding(self, out: Doubles) -> None: ...
    def forces(
        self,
        Y: Doubles,
        attraction: Doubles,
        repulsion: Doubles,
        threads: int,
        poll: Poll = None,
    ) -> None: ...
    def interpolation_grid(
        self, Y: Doubles, threads: int, poll: Poll = None
    ) -> tuple[NDArray[np.float32], list[int], list[float], float]:
        """phi, nodes, origin and spacing of the potential of points at Y on the grid."""

class Layout:
    """Descent of UMAP, by all pairs in float64, or in float32 by a grid or samples."""

    def __init__(
        self,
        indptr: Integers,
        indices: Short,
        values: Doubles,
        k: int,
        curve: Sequence[float],
        exact: bool,
        seed: int,
        radii: Doubles | None,
        variance_shift: float,
        threads: int,
    ) -> None: ...
    def start(self, Y: Doubles) -> None: ...
    def advance(
        self,
        rates: Doubles,
        repulsions: Doubles,
        densities: Doubles | None,
        threads: int,
        poll: Poll = None,
    ) -> float:
        """An iteration per rate; returns the sum of the squares of the last steps."""

    def embedding(self, out: Doubles) -> None: ...
    def forces(
        self,
        Y: Doubles,
        attraction: Doubles,
        repulsion: Doubles,
        threads: int,
        poll: Poll = None,
    ) -> None: ...
    def density_forces(
        self, Y: Doubles, density: float, out: Doubles, threads: int, poll: Poll = None
    ) -> None: ...
    def repulsive_loss(self, Y: Doubles, threads: int, poll: Poll = None) -> float:
        """The mean over points of the sum of V / 2n over all others."""

    def interpolation_grid(
        self, Y: Doubles, threads: int, poll: Poll = None
    ) -> tuple[NDArray[np.float32], list[int], list[float], float]:
        """phi, nodes, origin and spacing of the sum of V / 2n; no phi where there is no grid."""
