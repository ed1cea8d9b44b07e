"""Smallest eigenpairs of a graph Laplacian by a multilevel preconditioner and LOBPCG.

Strongly connected nodes have nearly equal entries in smooth eigenvectors. Each node is aggregated
with its strongest neighbor, and so again for the aggregates, until few are left; their
eigenvectors are the start. On the way back each level is refined: a residual is turned into a
correction by Jacobi smoothing on this level and by solving for what is left one level coarser, and
the best combination of block, correction and last step is taken (LOBPCG; Knyazev, 2001).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from .. import progress, random
from ..backends.protocol import Backend, Float64, MatrixPlan, Terms
from .eigenproblem import Approximation, Eigenproblem, angle_bound, deflate, reorder
from .krylov import HOST, block_width, column_lengths, stack_columns
from .thresholds import (
    EDGE_WEIGHT_JITTER,
    EPS,
    JACOBI_DAMPING,
    MAX_COARSE_STEPS,
    MAX_COARSEST_NODES,
    MAX_FINEST_STEPS,
    MAX_STALLED_STEPS,
    MIN_GRAM_EIGENVALUE,
    ROUNDING_SHARE,
    WANTED_ANGLE,
)


class Level(NamedTuple):
    """A matrix between nodes, and how they are aggregated to the nodes of the next level.

    Vectors are held where the matrix is.
    """

    A: MatrixPlan
    null: Float64  # its null vector, one column
    smoothing: Float64  # what a Jacobi step multiplies a residual by, one column
    aggregate: NDArray[np.int32]
    share: Float64  # of each node in its aggregate's null vector, one column
    restriction: MatrixPlan  # the transpose of the prolongation from aggregates to their nodes


class Hierarchy(NamedTuple):
    """Levels from fine to coarse, and the eigenpairs of the coarsest matrix beyond its null space.

    The eigenvectors are held too; their values are a column.
    """

    levels: list[Level]
    values: Float64
    vectors: Float64

    def precondition(self, R: Float64, level: int) -> Float64:
        """About A^-1 R by one cycle: symmetric and positive, as a preconditioner must be."""
        if level == len(self.levels):
            solved: Float64 = self.vectors @ ((self.vectors.T @ R) / self.values)
            return solved
        at = self.levels[level]

        def residual(X: Float64) -> Float64:
            return at.A.matmul(X, Terms(alpha=-1.0, gamma=1.0, U=R))

        X = at.smoothing * R
        for _ in range(1 if level == 0 else 2):  # coarse levels cost little, and are rough
            coarse = at.restriction.matmul(residual(X))
            X += self.prolongate(self.precondition(coarse, level + 1), level)
        correction = residual(X)
        correction *= at.smoothing
        correction += X
        return correction

    def prolongate(self, E: Float64, level: int) -> Float64:
        """From the aggregates of a level to its nodes."""
        at = self.levels[level]
        fine = E[at.aggregate]
        fine *= at.share
        return fine


def is_laplacian(p: Eigenproblem) -> bool:
    """One null vector, which is positive, and no positive entries beside the diagonal."""
    A = p.matrix
    repulsive = bool((A.data > 0).sum() > A.shape[0])
    return p.null.shape[1] == 1 and bool((p.null > 0).all()) and not repulsive


def solve_multilevel(p: Eigenproblem) -> Approximation | None:
    """The k smallest eigenpairs of a Laplacian; None where the coarsest level has too few."""
    p, new_row = reorder(p)
    hierarchy, start = _coarsen(p.matrix, p.null[:, 0], p.ctx.ops, block_width(p.k))
    if start.shape[1] <= p.k or not hierarchy.levels:
        return None
    found = Approximation(np.empty(0), start, np.inf)
    for level in reversed(range(len(hierarchy.levels))):
        found = _refine(p, hierarchy, level, hierarchy.prolongate(found.vectors, level))
        if len(found.values) <= p.k:  # the block has lost directions
            return None
    vectors = hierarchy.levels[0].A.fetch(found.vectors)
    return Approximation(found.values[: p.k + 2], vectors[new_row, : p.k + 2], found.angle)


def _coarsen(A: csr_array, null: Float64, ops: Backend, width: int) -> tuple[Hierarchy, Float64]:
    """Levels, and a block of the smallest eigenvectors of the coarsest one beyond the first."""
    levels = []
    while A.shape[0] > MAX_COARSEST_NODES:
        aggregate, count = _aggregate(A)
        n = len(aggregate)
        length = np.sqrt(np.bincount(aggregate, null * null))
        share = null / length[aggregate]
        prolongation = csr_array((share, aggregate, np.arange(n + 1)), (n, count))
        restriction = csr_array(prolongation.T)
        # An aggregate whose edges to others are below rounding is left to the coarser levels.
        own = A.diagonal()
        smoothing = np.divide(
            JACOBI_DAMPING, own, out=np.zeros(n), where=own > 10 * EPS * own.max()
        )
        plan = ops.matrix_plan(A)
        levels.append(
            Level(
                plan,
                plan.hold(null[:, None]),
                plan.hold(smoothing[:, None]),
                plan.hold(aggregate),
                plan.hold(share[:, None]),
                ops.matrix_plan(restriction),
            )
        )
        A, null = csr_array(restriction @ A @ prolongation), length
    where = levels[-1].A if levels else HOST
    values, vectors = scipy.linalg.eigh(A.toarray())
    large = values > ROUNDING_SHARE * values[-1]
    solved = where.hold(values[large, None]), where.hold(vectors[:, large])
    return Hierarchy(levels, *solved), where.hold(vectors[:, 1 : width + 1])


def _aggregate(A: csr_array) -> tuple[NDArray[np.int32], int]:
    """Nodes connected by the strongest edge of one of them, and so on.

    Among edges of about the same weight a random number decides, the same at both ends: else a
    lattice would be one aggregate.
    """
    n = A.shape[0]
    row = np.repeat(np.arange(n, dtype=A.indices.dtype), np.diff(A.indptr))
    u = random.uniforms(0, "groups", np.arange(n))
    jitter = u[row]  # in place: one array of numbers per entry at a time
    jitter += u[A.indices]
    jitter %= 1
    jitter *= EDGE_WEIGHT_JITTER
    jitter += 1
    weight = np.multiply(A.data, jitter, out=jitter)
    np.negative(weight, out=weight)
    weight[A.indices == row] = -np.inf
    strongest = np.flatnonzero(weight == np.maximum.reduceat(weight, A.indptr[:-1])[row])
    strongest = strongest[np.searchsorted(row[strongest], np.arange(n))]
    links = csr_array((np.ones(n), A.indices[strongest], np.arange(n + 1)), (n, n))
    count, aggregate = connected_components(links, directed=False)
    return aggregate, int(count)


def _refine(p: Eigenproblem, hierarchy: Hierarchy, level: int, X: Float64) -> Approximation:
    """LOBPCG on one level, from the block of the next coarser one."""
    k, width, finest = p.k, X.shape[1], level == 0
    A, null = hierarchy.levels[level].A, hierarchy.levels[level].null
    steps = MAX_FINEST_STEPS if finest else MAX_COARSE_STEPS
    S = deflate(X, null)
    AS, residuals = A.matmul(S), []
    for step in range(steps + 1):
        theta, Z = _smallest_ritz_pairs(A.fetch(S.T @ S), A.fetch(S.T @ AS), width)
        Y = A.hold(Z)
        if len(theta) <= k:
            return Approximation(theta, S @ Y, np.inf)
        # S and A S are the largest arrays of all: each ends with its last use.
        X, last_X = S @ Y, S[:, width:] @ Y[width:]
        S = np.empty((0, 0))
        AX, last_AX = AS @ Y, AS[:, width:] @ Y[width:]
        AS = np.empty((0, 0))
        R = AX - X * A.hold(theta)
        residuals.append(float(column_lengths(R[:, :k], A).max()))
        angle = angle_bound(residuals[-1], theta, k, EPS * p.norm)
        if finest:
            progress.report("eigenvectors", step, steps)
        # Values or residuals below rounding: no step can tell any more what is better.
        stalled = residuals[-1] <= 10 * EPS * p.norm or (
            step >= MAX_STALLED_STEPS and residuals[-1] > 0.5 * residuals[-1 - MAX_STALLED_STEPS]
        )
        if angle <= WANTED_ANGLE or step == steps or stalled or X.shape[1] < width:
            break
        T = deflate(hierarchy.precondition(R, level), null)
        AT = R = A.matmul(T)
        S = stack_columns([X, T, last_X], A)
        X = T = last_X = S[:, :width]  # views: the parts are not held beside the whole
        AS = stack_columns([AX, AT, last_AX], A)
    return Approximation(theta, X, angle)


def _smallest_ritz_pairs(G: Float64, H: Float64, width: int) -> tuple[Float64, Float64]:
    """The smallest Ritz values in the span of S, and the combinations of its columns.

    Of G = S'S and H = S'AS. Columns that others nearly span are left out with the small directions
    of their Gram matrix.
    """
    scale = 1 / np.sqrt(np.maximum(np.diagonal(G), np.finfo(float).tiny))
    e, U = scipy.linalg.eigh(G * scale * scale[:, None])
    kept = e > MIN_GRAM_EIGENVALUE * e[-1]
    B = scale[:, None] * U[:, kept] / np.sqrt(e[kept])
    H = B.T @ H @ B
    theta, Z = scipy.linalg.eigh((H + H.T) / 2)
    return theta[:width], B @ Z[:, :width]
