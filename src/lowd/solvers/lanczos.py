"""Leading eigenpairs of a matrix of up to a thousand rows: block Lanczos inside the cache.

A product costs little here, and all around it much. So the basis grows by many passes in one call,
and how fast the residual falls says when the next look at it is due. Blocks are as narrow as the
wanted vectors allow: a block of k still finds an eigenvalue that repeats k times.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from .. import progress, random
from ..backends.protocol import Basis, Float64
from ..core.fit import Context
from ..relations.matrices import DenseMatrix
from ..threads import single_threaded_blas
from .krylov import Leading

GROUP = 4  # vectors that a product treats together
BLOCKS, VECTORS = 24, 160  # that the basis holds, the larger of the two
FIRST = 5  # passes before the first look
FEW = 96  # eigenvalues that are few
PASSES = 100  # by then LAPACK would have found all eigenvalues


def narrow_width(k: int) -> int:
    """Vectors of a block for k wanted ones."""
    return -(-(k + 1) // GROUP) * GROUP


@single_threaded_blas()
def leading_of(
    matrix: DenseMatrix,
    null: Float64,
    k: int,
    tolerance: float,
    ctx: Context,
    *,
    probed: bool = True,
    most: int | None = None,
) -> Leading:
    """The k leading eigenpairs where the unit vector `null` has no part, to a residual."""
    width, most = narrow_width(k), most or PASSES
    room = max(BLOCKS * width, VECTORS)
    Q, T, basis = _begun(null, width, room, ctx)
    passes, ahead, digits = 0, FIRST, 0.0
    whole: Float64 | None = None  # T before the first restart
    while True:
        ahead = min(ahead, most - passes, (room - basis.size) // basis.fresh)
        basis = ctx.ops.lanczos(matrix.stored, matrix.half_square, null, Q, T, basis, ahead)
        passes += ahead
        m = basis.size - basis.fresh  # rows that are multiplied
        values, Y = _top(T[:m, :m], k)
        scale = max(abs(float(values[0])), np.finfo(float).tiny)
        beyond = T[m : m + basis.left, :m] @ Y
        residual = float(np.linalg.norm(beyond, axis=0).max(initial=0) / scale)
        progress.report("eigenvectors", passes, most)
        if residual <= tolerance or not basis.fresh or passes >= most:
            break
        # Digits come faster and faster, so fewer passes than their pace says are enough.
        gained, digits = -np.log10(residual) - digits, -float(np.log10(residual))
        need = -np.log10(tolerance) - digits
        ahead = int(np.clip(0.9 * ahead * need / max(gained, 1e-9), 2, passes))
        if basis.size + basis.fresh > room:
            whole = T[:m, :m].copy() if whole is None else whole
            basis = _restarted(Q, T, basis, k)
    probe = np.empty(0), np.empty(0)
    if probed:
        ritz, shares = np.linalg.eigh(T[:m, :m] if whole is None else whole)
        probe = ritz[::-1], (shares[:width, ::-1] ** 2).sum(0)
    vectors = np.ascontiguousarray((Y.T @ Q[:m]).T)
    return Leading(values, vectors, residual, residual <= tolerance, probe)


@single_threaded_blas()
def all_of_few(matrix: DenseMatrix, null: Float64, ctx: Context) -> tuple[Float64, Float64] | None:
    """The eigenpairs that are not 0, where there are few: the basis ends when it has them.

    Distances between rows of d columns have d of them. Of an eigenvalue that repeats more than
    four times copies are missing; the matrix's size tells. None where the basis does not end.
    """
    passes = min(matrix.size // 16, FEW // GROUP)
    if passes < 8:
        return None
    Q, T, basis = _begun(null, GROUP, (passes + 1) * GROUP, ctx)
    basis = ctx.ops.lanczos(matrix.stored, matrix.half_square, null, Q, T, basis, passes)
    if basis.fresh:
        return None
    values, Y = np.linalg.eigh(T[: basis.size, : basis.size])
    return values[::-1], np.ascontiguousarray((Y[:, ::-1].T @ Q[: basis.size]).T)


def _begun(null: Float64, width: int, room: int, ctx: Context) -> tuple[Float64, Float64, Basis]:
    """A basis of one random block, in memory for more; T; how far they are."""
    n = len(null)
    Q, T = np.empty((room, n)), np.zeros((room, room))
    start = random.normals(ctx.seed, "start", (n, width))
    start -= np.outer(null, null @ start)
    Q[:width] = scipy.linalg.qr(start, mode="economic", check_finite=False)[0].T
    return Q, T, Basis(width, width)


def _top(T: Float64, k: int) -> tuple[Float64, Float64]:
    window = max(len(T) - k, 0), len(T) - 1
    values, Y = scipy.linalg.eigh(T, subset_by_index=window, check_finite=False)
    return values[::-1], Y[:, ::-1]


def _restarted(Q: Float64, T: Float64, basis: Basis, k: int) -> Basis:
    """Begin anew with the best Ritz vectors, a third of the room, and the fresh ones."""
    m = basis.size - basis.fresh
    kept = min(k + (len(Q) - k) // 3, m)
    values, Y = _top(T[:m, :m], kept)
    Q[:kept] = Y.T @ Q[:m]
    Q[kept : kept + basis.fresh] = Q[m : basis.size].copy()
    T[:] = 0
    T[np.arange(kept), np.arange(kept)] = values
    return Basis(kept + basis.fresh, basis.fresh)
