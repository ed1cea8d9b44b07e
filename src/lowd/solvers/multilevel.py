"""The small end of a graph's Laplacian, by coarser and coarser pictures of the graph.

Points that hold fast together move together in slow vectors. Each point joins its strongest
neighbor, and so again for the groups, until few are left; their eigenvectors are the start. On the
way back each picture is refined: a residual is turned into a correction by smoothing it here and
solving for the rest one picture coarser, and the best combination of block, correction and last
step is taken (LOBPCG; Knyazev, 2001).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from .. import progress, random
from ..backends.protocol import Float64
from .chebyshev import ANGLE, EPS, Pairs, Problem, reordered
from .krylov import block_width

COARSEST = 1500  # points whose dense spectrum takes a fraction of a second
DAMPING = 2 / 3  # of Jacobi's smoothing; eigenvalues of D^-1 A are at most 2
ON_THE_WAY, AT_LAST = 8, 60  # steps in each coarser picture, and in the finest, at most
STALL = 8  # steps in which a residual must halve


class Picture(NamedTuple):
    """A matrix among points, and how they are grouped for the next coarser picture."""

    A: csr_array
    null: Float64  # its null vector, one column
    smoothing: Float64  # what Jacobi's step multiplies a residual by, one column
    group: NDArray[np.int32]
    share: Float64  # of each point in its group's null vector, one column
    gather: csr_array  # the transpose of spreading groups over their points


class Pictures(NamedTuple):
    """From fine to coarse, and the coarsest with its spectrum."""

    levels: list[Picture]
    values: Float64
    vectors: Float64
    ops: Any

    def solve(self, R: Float64, level: int) -> Float64:
        """About A^-1 R: symmetric and positive, as a preconditioner must be."""
        if level == len(self.levels):
            large = self.values > 1e-14 * self.values[-1]
            U = self.vectors[:, large]
            return np.asarray(U @ ((U.T @ R) / self.values[large, None]))
        at = self.levels[level]

        def residual(X: Float64) -> Float64:
            return np.asarray(self.ops.matmul(at.A, X, alpha=-1.0, gamma=1.0, U=R))

        X = at.smoothing * R
        for _ in range(1 if level == 0 else 2):  # coarse pictures cost little, and are rough
            rest = at.gather @ residual(X)
            X += self.spread(self.solve(rest, level + 1), level)
        return np.asarray(X + at.smoothing * residual(X))

    def times(self, V: Float64, level: int) -> Float64:
        A = self.levels[level].A
        return np.asarray(self.ops.matmul(A, V))

    def null(self, level: int) -> Float64:
        return np.asarray(self.levels[level].null)

    def spread(self, E: Float64, level: int) -> Float64:
        at = self.levels[level]
        return at.share * E[at.group]


def is_laplacian(p: Problem) -> bool:
    """One null vector, which is positive, and no ties that push points apart."""
    A = p.matrix
    apart = bool((A.data > 0).sum() > A.shape[0])
    return p.null.shape[1] == 1 and bool((p.null > 0).all()) and not apart


def multilevel(p: Problem) -> Pairs | None:
    """The k smallest pairs of a Laplacian."""
    p, back = reordered(p)
    pictures = _pictures(p.matrix, p.null[:, 0], p.ctx.ops)
    width = min(block_width(p.k), pictures.vectors.shape[1] - 1)
    if width <= p.k or not pictures.levels:
        return None
    found = Pairs(pictures.values, pictures.vectors[:, 1 : width + 1], np.inf)
    for level in reversed(range(len(pictures.levels))):
        found = _refined(p, pictures, level, pictures.spread(found.vectors, level))
        if len(found.values) <= p.k:  # the block has lost directions: another way
            return None
    return Pairs(found.values[: p.k + 2], found.vectors[back, : p.k + 2], found.error)


def _pictures(A: csr_array, null: Float64, ops: Any) -> Pictures:
    levels = []
    while A.shape[0] > COARSEST:
        group, count = _groups(A)
        length = np.sqrt(np.bincount(group, null * null))
        share = null / length[group]
        spread = csr_array((share, group, np.arange(len(group) + 1)), (len(group), count))
        gather = csr_array(spread.T)
        # A group whose ties to others are below rounding is left to the coarser pictures.
        own = A.diagonal()
        smoothing = np.divide(
            DAMPING, own, out=np.zeros(len(own)), where=own > 10 * EPS * own.max()
        )
        levels.append(Picture(A, null[:, None], smoothing[:, None], group, share[:, None], gather))
        A, null = csr_array(gather @ A @ spread), length
    values, vectors = scipy.linalg.eigh(A.toarray())
    return Pictures(levels, values, vectors, ops)


def _groups(A: csr_array) -> tuple[NDArray[np.int32], int]:
    """Points tied to each other by the strongest tie of one of them, and so on.

    Among ties that are about as strong a draw decides, the same at both ends: else a lattice would
    be one group.
    """
    n = A.shape[0]
    row = np.repeat(np.arange(n), np.diff(A.indptr))
    luck = random.uniforms(0, "groups", np.arange(n))
    tie = np.where(A.indices == row, -np.inf, -A.data)
    tie *= 1 + 1e-3 * ((luck[row] + luck[A.indices]) % 1)
    best = np.flatnonzero(tie == np.maximum.reduceat(tie, A.indptr[:-1])[row])
    best = best[np.searchsorted(row[best], np.arange(n))]
    links = csr_array((np.ones(n), A.indices[best], np.arange(n + 1)), (n, n))
    count, group = connected_components(links, directed=False)
    return group, int(count)


def _refined(p: Problem, pictures: Pictures, level: int, X: Float64) -> Pairs:
    """LOBPCG in one picture, from the block of the one before."""
    k, width, finest = p.k, X.shape[1], level == 0
    null, steps = pictures.null(level), AT_LAST if finest else ON_THE_WAY

    def project(V: Float64) -> Float64:
        return np.asarray(V - null @ (null.T @ V))

    S = project(X)
    AS, lefts = pictures.times(S, level), []
    for step in range(steps + 1):
        theta, Y = _ritz(S, AS, width)
        if len(theta) <= k:
            return Pairs(theta, S @ Y, np.inf)
        X, AX, step_taken = S @ Y, AS @ Y, (S[:, width:] @ Y[width:], AS[:, width:] @ Y[width:])
        R = AX - X * theta
        lefts.append(float(np.linalg.norm(R[:, :k], axis=0).max()))
        error = lefts[-1] / max(theta[k] - theta[k - 1], 1e-3 * abs(theta[k]), EPS * p.top)
        if finest:
            progress.report("eigenvectors", step, steps)
        # Values below rounding: no step can tell any more what is better.
        stalled = step >= STALL and lefts[-1] > 0.5 * lefts[-1 - STALL]
        if error <= ANGLE or step == steps or stalled or X.shape[1] < width:
            break
        T = project(pictures.solve(R, level))
        S = np.hstack([X, T, step_taken[0]])
        AS = np.hstack([AX, pictures.times(T, level), step_taken[1]])
    return Pairs(theta, X, float(error))


def _ritz(S: Float64, AS: Float64, width: int) -> tuple[Float64, Float64]:
    """The smallest Ritz values in the span of S, and the combinations of its columns.

    Columns that others nearly span are left out with the small directions of their Gram matrix.
    """
    G, H = S.T @ S, S.T @ AS
    scale = 1 / np.sqrt(np.maximum(np.diagonal(G), np.finfo(float).tiny))
    e, U = scipy.linalg.eigh(G * scale * scale[:, None])
    kept = e > 1e-9 * e[-1]
    B = scale[:, None] * U[:, kept] / np.sqrt(e[kept])
    H = B.T @ H @ B
    theta, Z = scipy.linalg.eigh((H + H.T) / 2)
    return theta[:width], B @ Z[:, :width]
