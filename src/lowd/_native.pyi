"""The native core. Arrays are never converted: give the types below, each row contiguous.

``T`` is float32 or float64, the same for all arrays of one call. Outputs are given by the caller
and overwritten. A wrong shape is a ``ValueError``, a wrong type a ``TypeError``. ``threads`` does
not change the bits of a result. ``poll(done, total)`` is called from the calling thread about every
50 ms (never by a shorter call); an exception from it, or a signal handler's, ends the call.
"""

from collections.abc import Callable, Sequence
from typing import Generic, Literal, TypeAlias, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", np.float32, np.float64)
Index = TypeVar("Index", NDArray[np.int32], NDArray[np.int64])
Doubles: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Short: TypeAlias = NDArray[np.int32]
Likeness: TypeAlias = Literal["student", "gauss", "rows"]
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

class Symmetry(TypedDict):
    """Places are (row, column). The rest is void unless ``bad_at`` is (-1, -1): all finite."""

    asymmetry: float
    asymmetry_at: tuple[int, int]
    largest: float
    smallest: float
    smallest_at: tuple[int, int]
    diagonal: float
    diagonal_at: int
    bad_at: tuple[int, int]

def cpu_level() -> str:
    """The level in use; the environment's ``LOWD_CPU_LEVEL`` may name another supported one."""

def cpu_levels() -> list[str]:
    """The supported levels, lowest first."""

def scan(X: NDArray[T], threads: int) -> tuple[int, int]:
    """The place of the first entry (row by row) that is not finite, or (-1, -1)."""

def symmetry(A: NDArray[T], threads: int, poll: Poll = None) -> Symmetry:
    """max |a_ij - a_ji|, max |a_ij|, min a_ij, max |a_ii|, with their places."""

def column_sums(
    X: NDArray[T], weights: Doubles | None, out: Doubles, threads: int, poll: Poll = None
) -> float:
    """out = sum_i w_i x_i; returns the largest |x_ij|."""

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

def scatter_times(
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

def times(
    A: NDArray[T], V: NDArray[T], half_square: bool, out: Doubles, threads: int, poll: Poll = None
) -> None:
    """out = A V, or with ``half_square`` (-1/2 A*A) V, A*A entry by entry."""

def lanczos(
    A: Doubles,
    half_square: bool,
    null: Doubles,
    Q: Doubles,
    T: Doubles,
    size: int,
    fresh: int,
    passes: int,
    threads: int,
    poll: Poll = None,
) -> tuple[int, int, int]:
    """Passes of block Lanczos from the first ``size`` rows of Q, the last ``fresh`` of them new.

    T becomes Q A Q' (or that of -1/2 A*A) as far as it is known. Returns ``size`` and ``fresh``
    after the passes, and how many rows of T beyond those multiplied describe the last remainder.
    """

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

def select(
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
    """The places of listed rows among all others, seen from ``rows``, by counting closer ones.

    Distances as in `nearest`. A listed -1 has place 0.
    """

def rank_rows(D: NDArray[T], own: Integers, out: Short, threads: int, poll: Poll = None) -> None:
    """The place of each entry in its row by (value, column), from 1; ``own`` has place 0."""

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
    """The nearest rows of X by looking at every pair; ``among``: Q is X, self is left out.

    A distance is factor |q - x|, or factor |q - x|^2 without ``root``; ``unit``, a power of two,
    keeps the squares in range.
    """

class Drafts:
    """The k nearest rows of every row in the making; see neighbors.hpp."""

    def join(self, near: Short | None, threads: int, poll: Poll = None) -> None:
        """Better the lists by all pairs, or by those whose groups are near each other."""

    def polish(self, near: Short, rounds: int, threads: int, poll: Poll = None) -> None:
        """Better them by the neighbors of neighbors, forth and back; `near` has been joined."""

    def open(self, threads: int, poll: Poll = None) -> float:
        """The share of pairs of blocks that could better the lists."""

    def copy_to(self, ids: Short, distances: Doubles, threads: int) -> None: ...

class Finder(Generic[T]):
    """Rows made ready for searching; see neighbors.hpp."""

    @property
    def groups(self) -> int: ...
    @property
    def coordinates(self) -> int: ...
    def middles(self, out: NDArray[np.float32]) -> None:
        """Middles of the groups of rows, in leading coordinates."""

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
        """The nearest rows of every row, by all pairs."""

    def drafts(self, root: bool, factor: float, unit: float, k: int, threads: int) -> Drafts: ...
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
        """The nearest rows for each row of Q; Z holds Q as the filter sees it."""

def finder(
    X: NDArray[T],
    Z: NDArray[np.float32],
    center: Doubles,
    scale: float,
    error: float,
    threads: int,
    poll: Poll = None,
) -> Finder[T]:
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

def sparse_project(
    X: NDArray[T],
    indptr: Integers,
    indices: Integers,
    values: NDArray[T],
    out: NDArray[T],
    threads: int,
    poll: Poll = None,
) -> None:
    """out = X C^T, C in CSR form."""

def paths(
    starts: Integers,
    indices: Short,
    lengths: NDArray[T],
    from_starts: Integers,
    from_indices: Short,
    steps: NDArray[T] | None,
    out: NDArray[T],
    threads: int,
    poll: Poll = None,
) -> None:
    """out (sources x nodes) = lengths of shortest paths along edges that are not negative.

    A source is a list of nodes with the length of a first step to each (None: 0).
    """

def ring(
    starts: Integers,
    indices: Short,
    lengths: NDArray[T],
    out: NDArray[T],
    threads: int,
    poll: Poll = None,
) -> None:
    """The same between all n nodes, each pair once: out_i (n / 2) = to the nodes after i."""

def ring_times(
    ring: NDArray[T], V: NDArray[T], out: Doubles, threads: int, poll: Poll = None
) -> None:
    """out = (-G G / 2) V, elementwise square, for the symmetric G that a ring holds."""

def relax(
    starts: Integers,
    indices: Short,
    lengths: NDArray[T],
    G: NDArray[T],
    out: NDArray[T],
    threads: int,
    poll: Poll = None,
) -> None:
    """out_i = the least of lengths_e + G[indices_e] over list i, entry by entry."""

def sparse_times(
    starts: Index,
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
    """out = a A V + b V + c U, A in CSR form; arrays are contiguous, column numbers trusted."""

def barycenters(
    Q: NDArray[T],
    X: NDArray[T],
    starts: Integers,
    indices: Short,
    reg: float,
    out: Doubles,
    threads: int,
    poll: Poll = None,
) -> None:
    """out = the weights of each list of rows of X that rebuild the row of Q."""

def alignment_starts(
    starts: Integers, members: Short, out: Integers, threads: int, poll: Poll = None
) -> None:
    """out = where the rows of the sum over patches start in CSR form."""

def alignment(
    X: NDArray[T],
    starts: Integers,
    members: Short,
    kind: Literal["ltsa", "hessian", "modified"],
    k: int,
    reg: float,
    mass: Doubles,
    indptr: Integers,
    indices: Short,
    data: Doubles,
    threads: int,
    poll: Poll = None,
) -> None:
    """indices, data = the sum over patches in CSR form, ``indptr`` from ``alignment_starts``.

    A patch lists its members, each once; of a "modified" one the last is the point it belongs to.
    """

def guttman(
    D: NDArray[T],
    W: NDArray[T] | None,
    Y: Doubles,
    moved: Doubles,
    threads: int,
    poll: Poll = None,
) -> tuple[float, float, float]:
    """Sums of w (t - d)², w d², w t d over pairs, and moved = B(Y) Y; NaN in D is missing."""

class Order:
    """Known pairs of positive weight in the order of D; tied ones share a target unless split."""

    def __init__(
        self, D: NDArray[T], W: NDArray[T] | None, split: bool, threads: int, poll: Poll = None
    ) -> None: ...
    def step(
        self, Y: Doubles, moved: Doubles, threads: int, poll: Poll = None
    ) -> tuple[float, float, float]:
        """As ``guttman``, with the best targets in the order, of weighted mean square 1."""

    def curve(self, Y: Doubles, threads: int, poll: Poll = None) -> tuple[Short, Doubles]:
        """Pairs at the corners of the function from dissimilarities to targets, and these."""

def locate(
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
    """Moves each row of Y to where its distances to A fit T best."""

def perplexity(
    starts: Integers,
    squares: Doubles,
    target: float,
    p: Doubles,
    beta: Doubles,
    threads: int,
    poll: Poll = None,
) -> None:
    """p, beta = chances like exp(-beta d^2) over each list, with exp(entropy) = target."""

def pair_sums(
    Y: Doubles,
    kernel: Likeness,
    rows: Integers,
    z: Doubles,
    r: Doubles,
    threads: int,
    poll: Poll = None,
) -> None:
    """z, r = exact sums over all others of some rows: of w, and of their pushes."""

def joint(
    starts: Integers, indices: Short, p: Doubles, threads: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """(A + A') / 2n of the chances A of n rows; columns are in no order."""

def surprise(
    starts: Integers,
    indices: Short,
    p: Doubles,
    Y: Doubles,
    kernel: Likeness,
    threads: int,
    poll: Poll = None,
) -> float:
    """The sum of p log(p / w) over the listed pairs."""

def normalizer(Y: Doubles, threads: int, poll: Poll = None) -> float:
    """The sum of 1 / (1 + d^2) over all ordered pairs; up to three dimensions."""

def settle(
    starts: Integers,
    indices: Short,
    p: Doubles,
    Y: Doubles,
    kernel: Likeness,
    phi: NDArray[np.float32] | None,
    nodes: list[int],
    origin: list[float],
    spacing: float,
    from_medians: bool,
    places: Doubles,
    threads: int,
    poll: Poll = None,
) -> None:
    """places (in, unless ``from_medians``, and out) = where new points come to rest in Y."""

class Forces:
    """A descent under way: by all pairs, in float64 or float32, or by a potential on a grid."""

    def __init__(
        self,
        starts: Integers,
        indices: Short,
        values: Doubles,
        k: int,
        kernel: Likeness,
        sums: Literal["exact", "single", "mesh"],
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
        """The sum of the squares of the last steps."""

    def places(self, out: Doubles) -> None: ...
    def forces(
        self,
        Y: Doubles,
        attraction: Doubles,
        repulsion: Doubles,
        threads: int,
        poll: Poll = None,
    ) -> None: ...
    def mesh(
        self, Y: Doubles, threads: int, poll: Poll = None
    ) -> tuple[NDArray[np.float32], list[int], list[float], float]:
        """phi, nodes, origin and spacing of the potential of points at Y."""
