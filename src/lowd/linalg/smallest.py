"""Smallest eigenpairs of sparse positive semi-definite matrices, as of graphs and alignments.

There are three routes, and the graph of the matrix chooses one:

- LAPACK, for few rows.
- Lanczos iteration of the inverse, by a factorization. Where the graph is narrow, as that of a
  curve or of a surface, the factors are small, and it is there that eigenvalues are tiny. The
  square root of a matrix (that of LLE) has tiny ones in any case, so it always takes this route.
- A Chebyshev filter, which needs products with the matrix only, where the graph is wide, as that of
  data of many dimensions: factors fill in there, and eigenvalues are not tiny. Products on a GPU
  cost so little that it also filters the Laplacians of surfaces.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.sparse import csr_array, eye_array
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee
from scipy.sparse.linalg import SuperLU, splu

from .. import _native, progress, random
from ..backend import allocate, chunks, overridable, threads
from ..errors import ConvergenceWarning, LongWorkWarning, warn
from ..parameters import Graph, Product, Reals
from ..threads import single_threaded_blas
from .eigen import Groups, block_krylov, block_width, canonical, equal_groups


class SmallestEigenpairs(NamedTuple):
    """Eigenpairs, smallest first, and how they were found."""

    values: Reals
    vectors: Reals
    residuals: Reals  # |A v - λ v| of each pair
    solver: str  # "dense", "shift-invert", "cholesky", "chebyshev" or "components"
    groups: Groups  # of axes with equal eigenvalues


class Problem(NamedTuple):
    """Eigenpairs of A, or of A'A if A is a root, orthogonal to orthonormal null vectors."""

    A: Graph
    null: Reals
    is_root: bool
    norm: float  # no eigenvalue exceeds it
    seed: int

    def product(self, V: Reals) -> Reals:
        return np.asarray(self.A.T @ (self.A @ V)) if self.is_root else shifted(self.A, V)

    def deflate(self, V: Reals) -> Reals:
        """V without its part in the null space."""
        return np.asarray(V - self.null @ (self.null.T @ V))

    def start(self, width: int) -> Reals:
        return self.deflate(random.normals(self.seed, "bottom", (len(self.null), width)))


class Approximation(NamedTuple):
    """The k wanted eigenpairs and some more, and a bound of the angle of the k to the truth."""

    values: Reals
    vectors: Reals
    angle: float


@single_threaded_blas()
def smallest_eigenpairs(
    A: Graph,
    k: int,
    seed: int,
    null: Reals | None = None,
    *,
    root: bool = False,
    accepted: float = 1e-3,
) -> SmallestEigenpairs:
    """The k smallest eigenpairs of A orthogonal to its known null space, smallest first.

    `null` holds orthonormal vectors that A maps to 0, as columns; None is the constant one. If A is
    a `root`, a square B, the eigenpairs are those of B'B, to digits that the entries of this
    product have lost. A warning says if the angle of the axes to the true ones may be more than is
    `accepted`: a thousandth of their spread, a pixel.

    Beyond rounding the answer depends neither on the seed nor on the route. A space of equal
    eigenvalues has one basis. Of a graph in several components the first vectors are constant in
    each of them (or proportional to the null vector), and tell the largest ones apart.
    """
    n = A.shape[0]
    null = np.full((n, 1), n**-0.5) if null is None else null
    size = float(abs(A).sum(1).max())
    norm = (size * float(abs(A).sum(0).max()) if root else size) or 1.0  # 1 for a matrix of zeros
    apart = vectors_of_components(A, null, k)
    values, V, solver = np.empty(0), null[:, :0], "components"
    if k > apart.shape[1]:
        p = Problem(A, np.hstack([null, apart]), root, norm, seed)
        found, solver = _solve(p, k - apart.shape[1], accepted)
        values, V = np.maximum(found.values, 0), found.vectors
    values, V = np.append(np.zeros(apart.shape[1]), values), np.hstack([apart, V])
    # Up to some eps of the norm eigenvalues are rounding; those of a root are squares of rounding.
    floor = 100 * np.finfo(float).eps
    if root:
        groups = equal_groups(np.sqrt(values), precision=5e-9, floor=floor * np.sqrt(norm))
    else:
        groups = equal_groups(values, precision=1e-8, floor=floor * norm)
    V = canonical(values, V, groups=groups)[:, :k]
    values = np.maximum.accumulate(values)[:k]
    residuals = np.linalg.norm((A.T @ (A @ V) if root else A @ V) - V * values, axis=0)
    kept = [tuple(j for j in group if j < k) for group in groups]
    return SmallestEigenpairs(values, V, residuals, solver, tuple(filter(None, kept)))


def vectors_of_components(A: Graph, null: Reals, k: int) -> Reals:
    """Null vectors beyond the only one that is known, of a graph in several components; k at most.

    The parts of the null vector in each component are null vectors too.
    """
    if null.shape[1] > 1:
        return null[:, :0]
    count, label = connected_components(A, directed=False)
    if count == 1:
        return null[:, :0]
    parts = np.argsort(-np.bincount(label), kind="stable")[: min(k, count - 1)]
    vectors = np.where(label[:, None] == parts, null, 0.0)
    return np.asarray(scipy.linalg.qr(np.hstack([null, vectors]), mode="economic")[0][:, 1:])


def _solve(p: Problem, k: int, accepted: float) -> tuple[Approximation, str]:
    """The answer of the first route that is accurate enough, or the best one, and its name."""
    n = p.A.shape[0]
    # LAPACK finds all digits. It takes longer than the other routes from some hundred rows on, or
    # more for many axes; up to some thousand it can help where they do not converge.
    if n <= max(250 if p.is_root else 500, 6 * block_width(k)):
        return decompose(p, k), "dense"
    order = np.asarray(reverse_cuthill_mckee(p.A, symmetric_mode=not p.is_root), np.int64)
    A = csr_array(p.A[order][:, order])
    A.sort_indices()
    if A.nnz < 2**31:  # half the bytes to read in each product
        A = csr_array((A.data, A.indices.astype(np.int32), A.indptr.astype(np.int32)), A.shape)
    p = p._replace(A=A, null=np.ascontiguousarray(p.null[order]))
    width = width_of(A)
    # The graph of a surface is 0.3 to 0.5 roots of its entries wide, that of a solid 0.9 to 1.7. Of
    # a Laplacian a filter needs some five times as many products as the graph is long, so where
    # they cost less it pays for narrower ones; of other matrices as many as the square of that.
    cost = cost_of_product(A) if np.count_nonzero(A.data > 0) <= n else 1.0
    if p.is_root:  # a sparse factor of a wide graph takes longer than a dense one, and loses digits
        sparse = width <= 2500 and width * A.nnz <= 2 * n**2
        routes = ["shift-invert", "cholesky"] if sparse else ["cholesky"]
    elif width <= 0.8 * cost * np.sqrt(A.nnz):
        routes = ["shift-invert", "chebyshev"]
    else:  # beyond this width a factorization takes minutes and gigabytes
        routes = ["chebyshev", "shift-invert"] if width <= 2500 else ["chebyshev"]
    if n <= 4000 and not p.is_root:
        routes.append("dense")
    best, solver = None, ""
    for route in routes:
        if route == "dense":
            found: Approximation | None = decompose(p, k)
        elif route == "chebyshev":
            found = chebyshev(p, k, np.inf if route == routes[-1] else 600 / cost)
        else:
            found = invert(p, k, route)
        if found is not None and (best is None or found.angle < best.angle):
            best, solver = found, route
        if best is not None and best.angle <= accepted:
            break
    assert best is not None
    if best.angle > accepted:
        warn(
            f"the axes were found to an angle of {min(best.angle, 1.0):.1e} only: the smallest "
            "eigenvalues are close to each other and to 0. Try other n_neighbors, or n_landmarks.",
            ConvergenceWarning,
        )
    V = np.empty_like(best.vectors)
    V[order] = best.vectors
    return best._replace(vectors=V), solver


def width_of(A: Graph) -> float:
    """How far back the nonzero entries of a row reach, on average.

    In the order of Cuthill and McKee that is how wide the graph is: no separator need be larger.

    >>> from scipy.sparse import diags_array
    >>> width_of(csr_array(diags_array([np.ones(8), np.ones(8)], offsets=[-1, 1])))
    1.0
    """
    n, row = A.shape[0], np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    first = np.arange(n)
    np.minimum.at(first, np.maximum(row, A.indices), np.minimum(row, A.indices))
    return float((np.arange(n) - first)[1:].mean())


def angle_to_truth(residual: float, values: Reals, k: int, floor: float) -> float:
    """Residual over spectral gap, which bounds the angle to the space of the first k vectors.

    (Davis and Kahan, 1970.) A gap that is unknown, because eigenvalues repeat, is taken for a
    thousandth of the next eigenvalue.
    """
    if k >= len(values):
        return 0.0
    return float(residual / max(values[k] - values[k - 1], 1e-3 * abs(values[k]), floor))


# -- LAPACK ---------------------------------------------------------------------------------------


def decompose(p: Problem, k: int) -> Approximation:
    """The null space is lifted above all else, so that the smallest eigenpairs are the answer."""
    count = min(k + 8, len(p.null) - p.null.shape[1])
    if p.is_root:
        lifted = np.vstack([p.A.toarray(), 2 * np.sqrt(p.norm) * p.null.T])
        _, roots, Vt = scipy.linalg.svd(lifted, full_matrices=False)
        return Approximation(roots[::-1][:count] ** 2, p.deflate(Vt[::-1][:count].T), 0.0)
    lifted = p.A.toarray() + 2 * p.norm * (p.null @ p.null.T)
    values, V = scipy.linalg.eigh(lifted, subset_by_index=(0, count - 1))
    if len(values) < count:  # of equal eigenvalues LAPACK may find fewer than it was asked for
        values, V = np.linalg.eigh(lifted)
    return Approximation(values[:count], p.deflate(V[:, :count]), 0.0)


# -- Lanczos iteration of the inverse -------------------------------------------------------------


def invert(p: Problem, k: int, how: str) -> Approximation | None:
    """Leading eigenpairs of the inverse; their values are Rayleigh quotients of the matrix itself.

    None where there is no factorization.
    """
    inverse: Product | None
    if how == "cholesky":
        inverse = inverse_by_cholesky(p)
    else:
        inverse = inverse_of_root(p) if p.is_root else inverse_of_matrix(p)
    if inverse is None:
        return None
    # One axis more than are wanted says how far the others are from it. Gaps of the inverse shrink
    # with the number of axes, on a curve with its fifth power.
    found = block_krylov(inverse, p.start(k + 2), k + 1, max(1e-10 / k**3, 1e-14))
    if not np.isfinite(found.vectors).all():
        return None
    # Once more, which takes out what is left of eigenvectors far away: by the tolerance, and, with
    # iterative refinement, by the rounding of factors without pivoting.
    V = inverse(found.vectors)
    V = scipy.linalg.qr(V + inverse(found.vectors - p.product(V)), mode="economic")[0]
    image = p.A @ V
    if p.is_root:
        _, roots, Zt = scipy.linalg.svd(image, full_matrices=False)
        values, V = roots[::-1] ** 2, V @ Zt[::-1].T
    else:
        values, Z = scipy.linalg.eigh(V.T @ image)
        V = V @ Z
    # Factors without pivoting may be wrong. Residuals show it, once they are more than rounding.
    missed = np.linalg.norm(p.product(V) - V * values, axis=0)[:k].max() - 1e-13 * p.norm
    angle = angle_to_truth(max(missed, 0.0), values, k, np.finfo(float).tiny)
    return Approximation(values, V, angle)


def inverse_of_matrix(p: Problem, shift: float = 1e-13) -> Product | None:
    """A is shifted by the rounding of pivots, and the null space is taken out where it would grow.

    The order of columns is one for symmetric matrices: that of SuperLU's default fills in twice.
    """
    lu = _factorize(p.A, shift * p.norm)
    return None if lu is None else lambda V: p.deflate(lu.solve(p.deflate(V)))


def inverse_of_root(p: Problem, shift: float = 1e-13) -> Product | None:
    """The inverse of B'B by a factorization of B.

    Its fill is that of the graph instead of its square, and its condition number the root of that
    of B'B. B also has a left null space, which must be taken out between the two solves. It comes
    from the factors, by inverse iteration.
    """
    lu = _factorize(p.A, shift * np.sqrt(p.norm))
    if lu is None:
        return None
    left = random.normals(p.seed, "left", p.null.shape)
    for _ in range(3):
        left = lu.solve(scipy.linalg.qr(left, mode="economic")[0], trans="T")
        if not np.isfinite(left).all():
            return None
    left = scipy.linalg.qr(left, mode="economic")[0]

    def inverse(V: Reals) -> Reals:
        V = lu.solve(p.deflate(V), trans="T")
        return p.deflate(lu.solve(V - left @ (left.T @ V)))

    return inverse


def _factorize(A: Graph, shift: float) -> SuperLU | None:
    try:
        return splu(
            (A + shift * eye_array(A.shape[0])).tocsc(),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except (RuntimeError, MemoryError):
        return None


def inverse_by_cholesky(p: Problem, shift: float = 1e-12) -> Product:
    """The inverse of B'B where the graph of B is wide, so that a sparse factor would fill in."""
    n = len(p.null)
    less = "n_landmarks= and ModifiedLLE or LTSA take less"
    graph = f"the neighbor graph of {n} points, which has no small separators"
    M = allocate((n, n), np.float64, f"the dense factor for {graph},", less)
    minutes = n**3 / 3 / 2.8e10 / 60  # of one core
    if minutes > 1:
        warn(
            f"a dense factorization for {graph}, takes {minutes:.0f} minutes; {less}.",
            LongWorkWarning,
        )
    for some in chunks(n, n):
        M[some] = (p.A.T[some] @ p.A).toarray() + p.norm * p.null[some] @ p.null.T
    M.flat[:: n + 1] += shift * p.norm
    try:  # in place: of a symmetric matrix LAPACK may as well get the transpose
        factor = scipy.linalg.cho_factor(M.T, lower=True, overwrite_a=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        del M
        return inverse_by_cholesky(p, 100 * shift)
    return lambda V: p.deflate(scipy.linalg.cho_solve(factor, p.deflate(V), check_finite=False))


# -- Chebyshev filter -----------------------------------------------------------------------------


def chebyshev(p: Problem, k: int, patience: float, wanted: float = 1e-6) -> Approximation:
    """Subspace iteration, filtered by Chebyshev polynomials of the matrix (Zhou and Saad, 2007).

    Each sweep multiplies a block by the polynomial that damps [largest Ritz value of the block,
    norm] best, so that what is below grows. The Ritz values say how much a degree gains. The
    iteration gives up where one sweep would need more products than it has `patience`: the wanted
    eigenvalues are then too close to 0.
    """
    A, norm, eps = p.A, min(p.norm, bound_of_spectrum(p)), np.finfo(float).eps
    width = block_width(k)
    X = p.start(width)
    budget = int(np.clip(4e12 / (A.nnz * width), 1000, 20000))  # minutes, at most
    degree, spent, sweeps = 20, 0, 0
    while True:
        values, X, missed = ritz_pairs(A, p.null, X, k)
        angle = angle_to_truth(missed, values, k, eps * norm)
        progress.report("eigenvectors", min(spent, budget), budget)
        half, middle = (norm - values[-1]) / 2, (norm + values[-1]) / 2
        if half <= 0 or angle <= wanted or spent >= budget:  # 0 if the block is the whole space
            break
        growth = max(_log_growth(values[-1] - values[k - 1], half), eps)
        need = np.arccosh(1e4) / growth
        if sweeps > 2 and need > 600:
            # Clusters that hardly hang together have as many eigenvalues near 0, and a block that
            # is wider than that finds all of them at once.
            if X.shape[1] < 4 * width:
                X, degree, sweeps = np.hstack([X, p.start(X.shape[1])]), 20, 0
                continue
            if need > patience:
                break
        if sweeps:
            need = np.arccosh(np.clip(10 * angle / wanted, 10, 1e4)) / growth
            degree = int(np.clip(need, 0.25 * degree, 2 * degree))
        # An isolated eigenvector must not outgrow the others by more than rounding lets survive.
        # What rounding has left of the null space must not either, before it is taken out.
        most = np.arccosh(1e7) / max(_log_growth(values[-1] - values[0], half), eps)
        most = min(most, np.arccosh(1e18) / _log_growth(values[-1], half))
        degree = int(np.clip(degree, 4, max(4, most)))
        X = filtered(A, X, degree, middle, half)
        spent, sweeps = spent + degree, sweeps + 1
    return Approximation(values[: k + 2], X[:, : k + 2], angle)


@overridable
def cost_of_product(A: Graph) -> float:  # noqa: ARG001
    """How long a product takes, as a share of the time of two processors."""
    return 1.0


@overridable
def ritz_pairs(A: Graph, null: Reals, X: Reals, k: int) -> tuple[Reals, Reals, float]:
    """Ritz values and vectors of a block without its part in the null space.

    The largest residual of the first k comes third.
    """
    X = X - null @ (null.T @ X)
    X /= np.maximum(np.linalg.norm(X, axis=0), np.finfo(float).tiny)
    X = scipy.linalg.qr(X, mode="economic", check_finite=False)[0]
    X -= null @ (null.T @ X)
    image = shifted(A, X)
    values, Z = scipy.linalg.eigh(X.T @ image)
    X, image = X @ Z, image @ Z
    missed = float(np.linalg.norm(image[:, :k] - X[:, :k] * values[:k], axis=0).max())
    return values, X, missed


@overridable
def filtered(A: Graph, X: Reals, degree: int, middle: float, half: float) -> Reals:
    """T_degree((A - middle) / half) X, where T is a Chebyshev polynomial."""
    before, now = X, shifted(A, X, 1 / half, -middle / half)
    for _ in range(degree - 1):
        before, now = now, shifted(A, now, 2 / half, -2 * middle / half, before)
    return now


@overridable
def shifted(A: Graph, V: Reals, a: float = 1.0, b: float = 0.0, less: Reals | None = None) -> Reals:
    """a A V + b V - less."""
    V = np.ascontiguousarray(V)
    out = np.empty(V.shape)
    args = A.indptr, A.indices, A.data, V, a, b, less, -1.0, out
    _native.sparse_matmul(*args, threads(A.nnz * V.shape[1]))
    return out


def bound_of_spectrum(p: Problem, steps: int = 12) -> float:
    """A bound of the largest eigenvalue, from a few steps of Lanczos (Zhou and Li, 2011)."""
    v, Q, T = p.start(1), np.empty((len(p.null), 0)), np.zeros((steps, steps))
    for j in range(min(steps, len(v) - 1)):
        length = float(np.linalg.norm(v))
        if length <= 1e-12 * p.norm:
            return p.norm
        Q = np.hstack([Q, v / length])
        v = shifted(p.A, Q[:, j:])
        T[: j + 1, j] = T[j, : j + 1] = Q.T @ v[:, 0]
        for _ in range(2):
            v = v - Q @ (Q.T @ v)
    values = np.linalg.eigvalsh(T[: Q.shape[1], : Q.shape[1]])
    return float(values[-1] + np.linalg.norm(v)) * 1.01


def _log_growth(distance: float, half: float) -> float:
    """Logarithm of what one degree multiplies a vector by, so far below the damped interval."""
    return float(np.arccosh(1 + max(distance, 0.0) / half))
