"""The smallest eigenpairs of a sparse positive semi-definite matrix, beyond its known null space.

Graph Laplacians: LAPACK for few nodes, a Chebyshev filter, and a multilevel preconditioner for very
many nodes or eigenvalues that are too close to 0 for any polynomial.

Alignment matrices of the LLE family: LAPACK for few rows; shift-invert Lanczos where the graph is
narrow, as that of a curve or a surface, whose matrix has a cheap sparse factorization (of the
matrix, or of a square root of it); a Chebyshev filter where it is wide, as that of
higher-dimensional data, whose eigenvalues are not tiny.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import scipy.linalg
from scipy.sparse import csr_array, diags_array, eye_array
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.sparse.linalg import SuperLU, splu

from .. import progress, random
from ..backends.protocol import Array, Float64
from ..core import memory
from ..core.fit import Context
from ..errors import ConvergenceWarning, warn
from ..threads import single_threaded_blas
from .canonical import Groups, group_consecutive, rotate_groups, sign_flips
from .chebyshev import solve_chebyshev
from .dense import smallest_eigh, svd
from .dense_factor import DenseLU
from .eigenproblem import Approximation, Eigenproblem, angle_bound
from .krylov import Operator, block_width, orthonormalize
from .multilevel import is_laplacian, solve_multilevel
from .thresholds import (
    ACCEPTED_ANGLE,
    DENSE_SPARSE_SAMPLES_PER_VECTOR,
    EPS,
    EQUAL_SMALLEST_EIGENVALUES,
    FACTOR_SHIFT,
    INVERSE_ANGLE_SHARE,
    MAX_DENSE_FALLBACK_SAMPLES,
    MAX_DENSE_ROOT_SAMPLES,
    MAX_DENSE_SPARSE_SAMPLES,
    MAX_FACTOR_WIDTH,
    MAX_FILTERED_NODES,
    MAX_INVERSE_BASIS,
    MAX_INVERSE_BLOCKS,
    MAX_NARROW_RATIO,
    MIN_NEW_DIRECTION,
    MIN_RELATIVE_GAP,
    WANTED_ANGLE,
)

Route: TypeAlias = Literal["dense", "shift-invert", "chebyshev", "multilevel"]
#: A graph Laplacian, another matrix A, or B with A = B'B.
Form: TypeAlias = Literal["laplacian", "matrix", "root"]


class SmallestEigenpairs(NamedTuple):
    """Eigenpairs, smallest first, and how they were found."""

    values: Float64
    vectors: Float64
    residuals: Float64  # |A v - λ v| of each pair
    solver: str
    groups: Groups  # axes with the same eigenvalue: any rotation is as good

    @property
    def report(self) -> dict[str, Any]:
        return {
            "eigenvalues": self.values,
            "residuals": self.residuals,
            "solver": self.solver,
            "degenerate_axes": self.groups,
        }


@single_threaded_blas()
def smallest_eigenpairs(
    A: csr_array | None,
    null: Float64,
    k: int,
    ctx: Context,
    *,
    root: csr_array | None = None,
    norm: float | None = None,
) -> SmallestEigenpairs:
    """The k smallest eigenpairs of A orthogonal to its known orthonormal null vectors.

    `root` is a square B with A = B'B and B null = 0, if there is one (A may then be None); `norm` a
    bound of the spectrum. Fixed start, signs and bases: the same answer everywhere, to rounding.
    """
    bound = _max_row_sum(root) * _max_row_sum(root.T) if root is not None else np.inf
    bound = bound if A is None else _max_row_sum(A)
    bound = min(bound, np.inf if norm is None else norm) or 1.0  # of a matrix of zeros
    p = Eigenproblem(A, null, k, root, bound, ctx)
    width = cache(lambda: measure_width(p))
    routes = choose_routes(len(null), k, find_form(p), 0 if A is None else A.nnz, width)
    best, solver = None, ""
    for route in routes:
        found = _solve(p, route, width, last=route == routes[-1])
        if found is not None and (best is None or found.angle < best.angle):
            best, solver = found, route
        if best is not None and best.angle <= ACCEPTED_ANGLE:
            break
    assert best is not None
    if best.angle > ACCEPTED_ANGLE:
        warn(
            f"the axes were found to an angle of {min(best.angle, 1.0):.1e} only: the smallest "
            "eigenvalues are close to each other and to 0. Try other n_neighbors, or n_landmarks.",
            ConvergenceWarning,
        )
    return _canonical_pairs(p, best, solver)


def smallest_generalized_eigenpairs(
    A: csr_array | None, counts: Float64, k: int, ctx: Context, root: csr_array | None = None
) -> SmallestEigenpairs:
    """The k smallest y'Ay over columns whose mean, weighted by `counts`, is 0 and deviation 1.

    A constant must be in the null space of A. The generalized problem A y = λ diag(counts) y
    becomes a plain one for v = √counts y.
    """
    roots, total = np.sqrt(counts), float(counts.sum())
    if (counts != 1).any():
        left, right = diags_array(roots), diags_array(1 / roots)
        A = None if A is None else csr_array(right @ A @ right)
        root = None if root is None else csr_array(left @ root @ right)
    found = smallest_eigenpairs(A, (roots / np.sqrt(total))[:, None], k, ctx, root=root)
    Y = found.vectors * (np.sqrt(total) / roots)[:, None]
    return found._replace(vectors=Y * sign_flips(Y))


def _max_row_sum(A: csr_array) -> float:
    """The largest sum of a row's absolute entries, which no eigenvalue exceeds (Gershgorin)."""
    return float(abs(A).sum(1).max())


def _canonical_pairs(p: Eigenproblem, found: Approximation, solver: str) -> SmallestEigenpairs:
    values, V = np.maximum(found.values, 0), found.vectors
    # Below the floor, eigenvalues are rounding; with a root, that holds for their roots.
    floor = 100 * EPS * p.norm
    gaps, size = np.diff(values), values[1:]
    if p.B is not None:
        gaps, size, floor = np.diff(np.sqrt(values)), np.sqrt(size), 100 * EPS * np.sqrt(p.norm)
    groups = group_consecutive(gaps <= EQUAL_SMALLEST_EIGENVALUES * size + floor)
    V = rotate_groups(V, groups)[:, : p.k]
    values = np.maximum.accumulate(values)[: p.k]
    residuals = np.linalg.norm(p.matmul(V) - V * values, axis=0)
    return SmallestEigenpairs(values, V, residuals, solver, cut_groups(groups, p.k))


def cut_groups(groups: Groups, k: int) -> Groups:
    """The part of each group that is among the first k axes."""
    kept = tuple(tuple(j for j in group if j < k) for group in groups)
    return tuple(group for group in kept if group)


# -- routes ------------------------------------------------------------------------------------


def find_form(p: Eigenproblem) -> Form:
    """What is known of the matrix, on which the routes depend."""
    if p.B is not None:
        return "root"
    return "laplacian" if is_laplacian(p) else "matrix"


def measure_width(p: Eigenproblem) -> int:
    """The width of the graph of what is factorized: the root, which is never wider than A."""
    return graph_width(p.matrix) if p.B is None else graph_width(p.B, symmetric=False)


def choose_routes(
    n: int, k: int, form: Form, n_entries: int, width: Callable[[], int]
) -> list[Route]:
    """Routes to try in this order until one is accurate enough.

    `width` measures the graph (see `graph_width`), where that decides.
    """
    few = MAX_DENSE_ROOT_SAMPLES if form == "root" else MAX_DENSE_SPARSE_SAMPLES
    if n <= max(few, DENSE_SPARSE_SAMPLES_PER_VECTOR * block_width(k)):
        return ["dense"]
    routes: list[Route]
    if form == "root":
        routes = ["shift-invert"]
    elif form == "laplacian":
        routes = ["chebyshev", "multilevel"] if n <= MAX_FILTERED_NODES else ["multilevel"]
    else:
        found = width()
        routes = ["chebyshev", "shift-invert"] if found <= MAX_FACTOR_WIDTH else ["chebyshev"]
        is_narrow = found <= MAX_NARROW_RATIO * surface_width(n_entries)
        routes = routes[::-1] if is_narrow else routes
    return [*routes, "dense"] if n <= MAX_DENSE_FALLBACK_SAMPLES else routes


def smallest_memory(n: int, k: int, form: Form, degree: int, width: int) -> dict[str, int]:
    """Bytes beside the matrix, which has `degree` entries per row, of the route tried first.

    The width of the graph is a guess here. A later route, and a factor as large as the graph's own
    width makes it, are compared with free memory when their turn comes.
    """
    n_entries = n * min(n, degree)
    routes = choose_routes(n, k, form, n_entries, lambda: width)
    return route_memory(routes[0], n, k, n_entries, width)


def route_memory(route: Route, n: int, k: int, n_entries: int, width: int) -> dict[str, int]:
    """Bytes that a route allocates beside the matrix, as measured on rolls and on clouds."""
    copy, vector = 12 * n_entries, 8 * n
    if route == "dense":
        return {"dense matrix": 9 * n * n * 8}
    if route == "shift-invert":
        basis = 2 * (MAX_INVERSE_BASIS + 2) * (k + 2) * vector
        return {"eigenvectors": basis, "factor": factor_memory(n, n_entries, width)}
    if route == "chebyshev":
        return {"eigenvectors": 10 * block_width(k) * vector, "reordered matrix": 2 * copy}
    return {"eigenvectors": 18 * block_width(k) * vector, "coarse levels": 4 * copy}


def factor_memory(n: int, n_entries: int, width: int) -> int:
    """Bytes of the sparse factors of a matrix whose graph has a width (see `graph_width`).

    Nested dissection fills n log n entries of a surface and the squares of large separators, a band
    n times its width (George, 1973). Constants as measured on rolls, squares and cubes of up to
    five dimensions.
    """
    dissected = 0.4 * n_entries * np.log2(max(n, 2)) + 10 * width**2
    return int(13 * min(dissected, n * width))


def surface_width(n_entries: int) -> int:
    """The width of the graph of a surface; of its root's entries 0.4 (rolls) to 0.9 (squares)."""
    return int(0.7 * np.sqrt(n_entries))


def _solve(
    p: Eigenproblem, route: Route, width: Callable[[], int], *, last: bool
) -> Approximation | None:
    if route == "shift-invert":
        return _solve_shift_invert(p, width())
    n = len(p.null)
    plan = memory.Plan(route_memory(route, n, p.k, p.matrix.nnz, 0))
    memory.check(plan, f"the {route} solver for eigenvectors of {n} points", [])
    if route == "dense":
        return _solve_dense(p)
    if route == "multilevel":
        return solve_multilevel(p)
    return solve_chebyshev(p, patient=last)


def graph_width(A: csr_array, symmetric: bool = True) -> int:
    """The largest level of a breadth-first search from a far node: no separator need be larger."""
    links = csr_array((np.ones(A.nnz), A.indices, A.indptr), A.shape)
    links = links if symmetric else csr_array(links + links.T)
    order = breadth_first_order(links, 0, return_predecessors=False)
    if len(order) < len(links.indptr) - 1:  # several components: the largest one
        _, label = connected_components(links, directed=False)
        start = int(np.argmax(label == np.argmax(np.bincount(label))))
        order = breadth_first_order(links, start, return_predecessors=False)
    order, predecessors = breadth_first_order(links, int(order[-1]))
    rank = np.empty(links.shape[0], np.int64)
    rank[order] = np.arange(len(order))
    parent = rank[predecessors[order[1:]]]  # never decreases: a level is found by bisection
    ends = [0, 1]
    while ends[-1] < len(order):
        ends.append(1 + int(np.searchsorted(parent, ends[-1])))
    return int(np.diff(ends).max())


# -- LAPACK and shift-invert Lanczos -------------------------------------------------------------


def _solve_dense(p: Eigenproblem) -> Approximation:
    """The null space is lifted above all else, so that the smallest eigenpairs are the answer."""
    n, c = p.null.shape
    count = min(p.k + 8, n - c)
    if p.B is not None:
        lifted = np.vstack([p.B.toarray(), 2 * np.sqrt(p.norm) * p.null.T])
        _, s, Vt = svd(lifted)
        return Approximation(s[::-1][:count] ** 2, p.deflate(Vt[::-1][:count].T), 0.0)
    lifted = p.matrix.toarray() + 2 * p.norm * (p.null @ p.null.T)
    values, V = smallest_eigh(lifted, count)
    return Approximation(values, p.deflate(V), 0.0)


def _solve_shift_invert(p: Eigenproblem, graph_width: int) -> Approximation | None:
    """Leading pairs of the inverse by block Lanczos; their values are A's own Rayleigh quotients.

    Stops by residual over gap, or where rounding keeps the operator from being more symmetric.
    None where there is no factorization.
    """
    apply = _invert(p, graph_width) if p.B is None else _invert_by_root(p, p.B, graph_width)
    if apply is None:
        return None
    k, width = p.k, p.k + 2
    block = orthonormalize(p.random_block(width), 0.0)
    Q = AQ = np.empty((len(block), 0))
    for blocks in range(MAX_INVERSE_BLOCKS):
        product = apply(block)
        if not np.isfinite(product).all():
            return None
        Q, AQ = np.hstack([Q, block]), np.hstack([AQ, product])
        T = Q.T @ AQ
        theta, Y = scipy.linalg.eigh((T + T.T) / 2)
        theta, Y = theta[::-1], Y[:, ::-1]
        residual = np.linalg.norm(AQ @ Y[:, :k] - Q @ (Y[:, :k] * theta[:k]), axis=0).max()
        gap = theta[k - 1] - theta[k]
        gap = max(gap, MIN_RELATIVE_GAP * abs(theta[k - 1]), np.finfo(float).tiny)
        progress.report("eigenvectors", blocks + 1, MAX_INVERSE_BLOCKS)
        if residual <= max(INVERSE_ANGLE_SHARE * WANTED_ANGLE * gap, 2 * np.abs(T - T.T).max()):
            break
        for _ in range(2):  # twice is enough (Parlett, 1980)
            product = product - Q @ (Q.T @ product)
        block = orthonormalize(product, MIN_NEW_DIRECTION * theta[0])
        if not block.shape[1]:
            break
        if Q.shape[1] > MAX_INVERSE_BASIS * width:  # restart; the block is orthogonal to the best
            Q, AQ = Q @ Y[:, : 2 * width], AQ @ Y[:, : 2 * width]
    # Once more, which takes out what the tolerance left of eigenvectors far away.
    V = scipy.linalg.qr(apply(Q @ Y[:, : k + 1]), mode="economic")[0]
    AV = p.matmul(V)
    values = (V * AV).sum(0) if p.B is None else ((p.B @ V) ** 2).sum(0)
    # A factor without pivoting may be wrong: the residual shows it, once beyond rounding.
    wrong = np.linalg.norm(AV - V * values, axis=0)[:k].max() - 1e-13 * p.norm
    wrong_angle = angle_bound(wrong, values, k, np.finfo(float).tiny)
    return Approximation(values, V, float(max(residual / gap, wrong_angle)))


def _invert(p: Eigenproblem, width: int) -> Operator | None:
    """A^-1, shifted by next to nothing, where the null space is not in the way."""
    lu = _factorize(p.matrix, FACTOR_SHIFT * p.norm, width)
    return None if lu is None else lambda V: p.deflate(lu.solve(p.deflate(V)))


def _invert_by_root(p: Eigenproblem, B: csr_array, width: int) -> Operator | None:
    """The same for A = B'B, from a factorization of B.

    Its fill is that of the graph instead of the graph's square, and its condition number the root
    of A's; a graph without small separators would fill it, so it is dense from the start. B also
    has a left null space U, which must be taken out between the two solves: it comes from the
    factors by inverse iteration.
    """
    n, c = p.null.shape
    shift = FACTOR_SHIFT * np.sqrt(p.norm)
    lu = DenseLU(B, shift) if width > MAX_FACTOR_WIDTH else _factorize(B, shift, width)
    if lu is None:
        return None
    U = random.normals(p.ctx.seed, "left", (n, c))
    for _ in range(3):
        U = lu.solve(scipy.linalg.qr(U, mode="economic")[0], trans="T")
        if not np.isfinite(U).all():
            return None
    U = scipy.linalg.qr(U, mode="economic")[0]

    def apply(V: Array) -> Float64:
        V = lu.solve(p.deflate(V), trans="T")
        return p.deflate(lu.solve(V - U @ (U.T @ V)))

    return apply


def _factorize(A: csr_array, shift: float, width: int) -> SuperLU | None:
    """A + shift I, factorized without pivoting; None where that is not possible.

    With the ordering of symmetric matrices; SuperLU's default has twice the fill and time.
    """
    n = A.shape[0]
    title = (
        f"the sparse factorization for the neighbor graph of {n} points, which is {width} points "
        "wide, (n_landmarks= does with less)"
    )
    memory.check(memory.Plan({"factor": factor_memory(n, A.nnz, width)}), title, [])
    try:
        return splu(
            (A + shift * eye_array(n)).tocsc(),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except (RuntimeError, MemoryError):
        return None
