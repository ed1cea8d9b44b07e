"""The smallest eigenpairs of a sparse positive semi-definite matrix, beyond its known null space.

Three ways complement each other. A graph of a curve or a surface falls apart when a few nodes are
removed, so its matrix has a cheap sparse factor, and its eigenvalues are tiny: inverse iteration.
A graph of higher-dimensional data has no small separators, but its eigenvalues are not tiny
either: filtering a block of vectors with Chebyshev polynomials. Clusters that hardly touch, and
very many rows, have neither: coarser and coarser pictures of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from scipy.sparse import csr_array, diags_array, eye_array
from scipy.sparse.csgraph import (
    breadth_first_order,
    connected_components,
)
from scipy.sparse.linalg import splu

from .. import progress, random
from ..backends.protocol import Array, Float64
from ..core.fit import Context
from ..errors import ConvergenceWarning, UnsupportedError, warn
from ..relations.matrices import DenseMatrix
from ..threads import single_threaded_blas
from .canonical import runs, signs, turned
from .chebyshev import ANGLE, EPS, Pairs, Problem, chebyshev
from .krylov import Apply, block_width, orthonormal
from .lanczos import leading_of
from .multilevel import is_laplacian, multilevel

# Rows up to which a dense problem is quicker than any idea; up to which it is quicker than all ways
# but a narrow factor; and up to which a dense matrix lies in the cache.
FEWEST, ROOTS, DENSE, CACHED = 300, 250, 500, 1000
DENSE_AT_LAST = 4000  # rows up to which it is affordable where nothing else converged
# Widths of a graph (see `width`): up to the first, factors cost less than filtering; up to the
# second they take seconds, and beyond it minutes and gigabytes.
NARROW, FACTORABLE = 1400, 4000
HASTY = 60  # passes in the cache, after which other ways are quicker
MANY = 200_000  # rows of a Laplacian beyond which polynomials need too many products
ENOUGH = 1e-3  # accepted without another attempt or a warning
PASSES = 40  # blocks of inverse iteration, at most
EQUAL = 1e-8  # relative difference of eigenvalues that are taken for the same
# The ordering of symmetric matrices; SuperLU's default has twice the fill and time.
SYMMETRIC: dict[str, Any] = {
    "permc_spec": "MMD_AT_PLUS_A",
    "diag_pivot_thresh": 0.0,
    "options": {"SymmetricMode": True},
}


class Bottom(NamedTuple):
    """Eigenpairs, smallest first, and how they were found."""

    values: Float64
    vectors: Float64
    residuals: Float64  # |A v - λ v| of each pair
    solver: str
    groups: tuple[tuple[int, ...], ...]  # axes with the same eigenvalue: any rotation is as good

    @property
    def report(self) -> dict[str, Any]:
        return {
            "eigenvalues": self.values,
            "residuals": self.residuals,
            "solver": self.solver,
            "degenerate_axes": self.groups,
        }


@single_threaded_blas()
def bottom(
    A: csr_array | None,
    null: Float64,
    k: int,
    ctx: Context,
    *,
    root: csr_array | None = None,
    top: float | None = None,
) -> Bottom:
    """The k smallest eigenpairs of A in the complement of its known orthonormal null vectors.

    `root` is a square B with A = B'B and B null = 0, if there is one (A may then be None); `top` a
    bound of the spectrum. Fixed start, signs and bases: the same answer everywhere, to rounding.
    """
    bound = _norm(root) * _norm(root.T) if A is None and root is not None else _norm(A)
    bound = min(bound, np.inf if top is None else top) or 1.0  # of a matrix of zeros
    p = Problem(A, null, k, root, bound, ctx)
    best, solver = None, ""
    for name, attempt in _attempts(p):
        found = attempt(p)
        if found is not None and (best is None or found.error < best.error):
            best, solver = found, name
        if best is not None and best.error <= ENOUGH:
            break
    if best is None:
        raise UnsupportedError(
            f"the graph of these {len(null)} points has no small separators, so that no way is "
            "known to compute eigenvectors whose eigenvalues are so close to 0; use ModifiedLLE, "
            "LTSA or HessianLLE, whose eigenvalues are not, or n_landmarks."
        )
    if best.error > ENOUGH:
        warn(
            f"the axes were found to an angle of {min(best.error, 1.0):.1e} only: the smallest "
            "eigenvalues are close to each other and to 0. Try other n_neighbors, or n_landmarks.",
            ConvergenceWarning,
        )
    return _finished(p, best, solver)


def _norm(A: Any) -> float:
    """The largest sum of a row's sizes, which no eigenvalue exceeds (Gershgorin)."""
    return float(abs(A).sum(1).max())


def _finished(p: Problem, found: Pairs, solver: str) -> Bottom:
    values, V = np.maximum(found.values, 0), found.vectors
    # Below the floor, eigenvalues are rounding; with a root, that holds for their roots.
    floor = 100 * EPS * p.top
    gaps, size = np.diff(values), values[1:]
    if p.root is not None:
        gaps, size, floor = np.diff(np.sqrt(values)), np.sqrt(size), 100 * EPS * np.sqrt(p.top)
    groups = runs(gaps <= EQUAL * size + floor)
    V = turned(V, groups)[:, : p.k]
    values = np.maximum.accumulate(values)[: p.k]
    residuals = np.linalg.norm(p.times(V) - V * values, axis=0)
    kept = tuple(tuple(j for j in group if j < p.k) for group in groups)
    return Bottom(values, V, residuals, solver, tuple(group for group in kept if group))


# -- which way ---------------------------------------------------------------------------------


def _attempts(p: Problem) -> Iterator[tuple[str, Callable[[Problem], Pairs | None]]]:
    """Ways to solve it, the most promising first."""
    n = len(p.null)
    if n <= few(p.k, p.root is not None):
        yield "dense", _dense
        return
    if p.root is not None:
        if width(p.root, symmetric=False) <= FACTORABLE:  # the matrix itself is never narrower
            yield "root", _by_root
            if width(p.matrix) <= FACTORABLE:
                yield "inverse", _inverse
        if n <= DENSE_AT_LAST:
            yield "dense", _dense
        return
    breadth, laplacian = width(p.matrix), is_laplacian(p)
    if laplacian and DENSE < n <= CACHED and breadth > n // 2:
        yield "krylov", _in_cache
    if n <= DENSE and breadth > n // 2:
        yield "dense", _dense
        return
    if breadth <= NARROW:
        yield "inverse", _inverse
    elif n <= MANY or not laplacian:
        yield "chebyshev", chebyshev
    if laplacian:
        yield "multilevel", multilevel
    if NARROW < breadth <= FACTORABLE:
        yield "inverse", _inverse
    if n <= DENSE_AT_LAST:
        yield "dense", _dense
    if not laplacian:
        yield "chebyshev", lambda p: chebyshev(p, patient=True)


def few(k: int, by_root: bool) -> int:
    """Rows up to which the dense spectrum is taken; singular vectors of a root cost five times."""
    return max(ROOTS if by_root else FEWEST, 6 * block_width(k))


def width(A: csr_array, symmetric: bool = True) -> int:
    """The largest level of a breadth-first search from a far node: no separator need be larger."""
    links = csr_array((np.ones(A.nnz), A.indices, A.indptr), A.shape)
    links = links if symmetric else csr_array(links + links.T)
    order = breadth_first_order(links, 0, return_predecessors=False)
    if len(order) < len(links.indptr) - 1:  # several pieces: the largest one
        _, label = connected_components(links, directed=False)
        start = int(np.argmax(label == np.argmax(np.bincount(label))))
        order = breadth_first_order(links, start, return_predecessors=False)
    order, before = breadth_first_order(links, int(order[-1]))
    place = np.empty(links.shape[0], np.int64)
    place[order] = np.arange(len(order))
    came = place[before[order[1:]]]  # never decreases: a level is found by bisection
    ends = [0, 1]
    while ends[-1] < len(order):
        ends.append(1 + int(np.searchsorted(came, ends[-1])))
    return int(np.diff(ends).max())


# -- the ways ----------------------------------------------------------------------------------


def _dense(p: Problem) -> Pairs:
    """The null space is lifted above all else, so what remains at the bottom is the answer."""
    n, c = p.null.shape
    count = min(p.k + 8, n - c)
    if p.root is not None:
        lifted = np.vstack([p.root.toarray(), 2 * np.sqrt(p.top) * p.null.T])
        _, s, Vt = scipy.linalg.svd(lifted, full_matrices=False)
        return Pairs(s[::-1][:count] ** 2, p.project(Vt[::-1][:count].T), 0.0)
    lifted = p.matrix.toarray() + 2 * p.top * (p.null @ p.null.T)
    values, V = scipy.linalg.eigh(lifted, subset_by_index=[0, count - 1])
    return Pairs(values, p.project(V), 0.0)


def _in_cache(p: Problem) -> Pairs | None:
    """Block Lanczos with top - A, as a dense matrix that is small: quick where gaps are wide."""
    n, k = len(p.null), p.k
    S = -p.matrix.toarray()
    S.flat[:: n + 1] += p.top
    found = leading_of(DenseMatrix(S), p.null[:, 0], k + 1, 1e-10, p.ctx, probed=False, most=HASTY)
    if not found.converged:
        return None
    V = found.vectors
    AV = p.times(V)
    values = (V * AV).sum(0)
    left = np.linalg.norm(AV - V * values, axis=0)[:k].max()
    gap = max(values[k] - values[k - 1], 1e-3 * values[k], np.finfo(float).tiny)
    return Pairs(values, V, float(left / gap))


def _inverse(p: Problem) -> Pairs | None:
    """Block Lanczos on the inverse of A, shifted by next to nothing to be invertible."""
    n = len(p.null)
    try:
        lu = splu((p.matrix + 1e-13 * p.top * eye_array(n)).tocsc(), **SYMMETRIC)
    except (RuntimeError, MemoryError):
        return None
    return _inverted(p, lambda V: p.project(lu.solve(p.project(V))))


def _by_root(p: Problem) -> Pairs | None:
    """The same with A = B'B, from a factor of B.

    Its fill is that of the graph instead of the graph's square, and its condition number the root
    of A's. B also has a left null space U, which must be taken out between the two solves: it
    comes from the factor by inverse iteration.
    """
    n, c = p.null.shape
    assert p.root is not None
    try:
        lu = splu((p.root + 1e-13 * np.sqrt(p.top) * eye_array(n)).tocsc(), **SYMMETRIC)
    except (RuntimeError, MemoryError):
        return None
    U = random.normals(p.ctx.seed, "left", (n, c))
    for _ in range(3):
        U = lu.solve(scipy.linalg.qr(U, mode="economic")[0], trans="T")
        if not np.isfinite(U).all():
            return None
    U = scipy.linalg.qr(U, mode="economic")[0]

    def apply(V: Array) -> Float64:
        V = lu.solve(p.project(V), trans="T")
        return p.project(lu.solve(V - U @ (U.T @ V)))

    return _inverted(p, apply)


def _inverted(p: Problem, apply: Apply) -> Pairs | None:
    """Leading pairs of the inverse by block Lanczos; their order is its, their values are A's own.

    Stops by residual over gap, or where rounding keeps the operator from being more symmetric.
    """
    k, width = p.k, p.k + 2
    block = orthonormal(p.start(width), 0.0)
    Q = AQ = np.empty((len(block), 0))
    for passes in range(PASSES):
        product = apply(block)
        if not np.isfinite(product).all():
            return None
        Q, AQ = np.hstack([Q, block]), np.hstack([AQ, product])
        T = Q.T @ AQ
        theta, Y = scipy.linalg.eigh((T + T.T) / 2)
        theta, Y = theta[::-1], Y[:, ::-1]
        left = np.linalg.norm(AQ @ Y[:, :k] - Q @ (Y[:, :k] * theta[:k]), axis=0).max()
        gap = max(theta[k - 1] - theta[k], 1e-3 * abs(theta[k - 1]), np.finfo(float).tiny)
        progress.report("eigenvectors", passes + 1, PASSES)
        if left <= max(1e-2 * ANGLE * gap, 2 * np.abs(T - T.T).max()):
            break
        for _ in range(2):  # twice is enough (Parlett, 1980)
            product = product - Q @ (Q.T @ product)
        block = orthonormal(product, 1e-13 * theta[0])
        if not block.shape[1]:
            break
        if Q.shape[1] > 15 * width:  # begin anew with the best, to which the block is orthogonal
            Q, AQ = Q @ Y[:, : 2 * width], AQ @ Y[:, : 2 * width]
    # Once more, which takes out what the tolerance left of eigenvectors far away.
    V = scipy.linalg.qr(apply(Q @ Y[:, : k + 1]), mode="economic")[0]
    AV = p.times(V)
    values = (V * AV).sum(0) if p.root is None else ((p.root @ V) ** 2).sum(0)
    # A factor without pivoting may be wrong: the residual shows it, once beyond rounding.
    wrong = np.linalg.norm(AV - V * values, axis=0)[:k].max() - 1e-13 * p.top
    apart = max(values[k] - values[k - 1], 1e-3 * values[k], np.finfo(float).tiny)
    return Pairs(values, V, float(max(left / gap, wrong / apart)))


# -- weights and scale ---------------------------------------------------------------------------


def weighted_bottom(
    A: csr_array | None, mass: Float64, k: int, ctx: Context, root: csr_array | None = None
) -> Bottom:
    """The k smallest y'Ay over columns whose mean, weighted by `mass`, is 0 and deviation 1.

    A constant must be in the null space of A. The generalized problem A y = λ diag(mass) y
    becomes a plain one for v = √mass y.
    """
    roots, total = np.sqrt(mass), float(mass.sum())
    if (mass != 1).any():
        left, right = diags_array(roots), diags_array(1 / roots)
        A = None if A is None else csr_array(right @ A @ right)
        root = None if root is None else csr_array(left @ root @ right)
    found = bottom(A, (roots / np.sqrt(total))[:, None], k, ctx, root=root)
    Y = found.vectors * (np.sqrt(total) / roots)[:, None]
    return found._replace(vectors=Y * signs(Y))
