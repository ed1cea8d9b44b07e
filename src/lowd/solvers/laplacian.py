"""Slow modes of a random walk: the small end of a graph's Laplacian, sparse or dense."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, issparse

from .. import random
from ..backends.protocol import Array, Float64
from ..core.fit import Context, Fit
from ..errors import DataError, ParameterError, RankWarning, warn
from ..relations.affinity_graph import AffinityGraph
from ..relations.matrices import DenseMatrix
from .canonical import runs, turned
from .centered import check_count
from .krylov import TOLERANCE, Leading, basis_memory, block_width, leading, random_start
from .lanczos import leading_of, narrow_width
from .smallest import EQUAL, Bottom, bottom

INDEXED = ("euclidean", "cosine", "correlation")  # metrics with an index of the rows
DENSE = 1000  # up to here a matrix lies in the cache
SMALL = 300  # up to here LAPACK needs no time worth saving
HASTY = 16  # passes there, after which LAPACK is asked
SOONER = 500  # rows up to which it finds a few eigenvectors sooner than products with a factor


class Walk(NamedTuple):
    """Eigenpairs of the Laplacian, slowest first and without the constant; one row per point.

    `vectors` are those of the symmetric matrix, with orthonormal columns.
    """

    values: Float64
    vectors: Float64
    degrees: Float64
    report: dict[str, Any]


def drawn_landmarks(X: Any, k: int, m: int | None, ctx: Context) -> NDArray[np.int64] | None:
    """The rows to fit, None for all; checks that they are enough for k axes."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if m is None:
        check_count(k, max(n - 1, 1), f"n_samples={n} less the constant")
        return None
    if not k < m <= n:
        raise ParameterError(
            f"n_landmarks={m} must be more than n_components={k} and at most n_samples={n}."
        )
    return random.subset(ctx.seed, "landmarks", n, m)


def extended(fit: Fit, X: Any, landmarks: NDArray[np.int64] | None, ctx: Context) -> Fit:
    """Places of all rows, by the map where only landmarks were fitted."""
    if landmarks is None:
        return fit
    return fit._replace(embedding=fit.map(X, ctx.ops)).with_report(landmarks=landmarks)


def walk_spectrum(graph: AffinityGraph, k: int, ctx: Context, *, normalized: bool = True) -> Walk:
    """The k slowest modes of the walk on the graph: of I - D^-½ W D^-½, or of D - W.

    Copies of a point count as often as they occur: W is mass · w · mass among the points, and a
    row's degree the sum over all rows.
    """
    W, mass = graph.weights, graph.counts
    degrees = _product(W, mass[:, None], ctx)[:, 0]
    if k >= len(mass):
        warn(
            f"n_components={k}, but {len(mass)} distinct rows have {len(mass) - 1} axes; the "
            "other columns are 0.",
            RankWarning,
        )
        k = len(mass) - 1
    if k == 0:
        empty = Bottom(np.empty(0), np.empty((1, 0)), np.empty(0), "none", ())
        return _walk(empty, degrees)
    if not degrees.all():
        rows = np.flatnonzero(degrees[graph.point_of_row] == 0)
        shown = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
        raise DataError(f"row {shown} is tied to no other; drop it, or give it a tie.")
    if normalized:
        root, null, top = np.sqrt(mass / degrees), np.sqrt(mass * degrees), 2.0
        diagonal = np.ones(len(mass))
    else:
        root, null, top = np.sqrt(mass), np.sqrt(mass), 2 * float(degrees.max())
        diagonal = degrees
    null = (null / np.linalg.norm(null))[:, None]
    if issparse(W):
        scaled = csr_array(diags_array(root) @ W @ diags_array(root))
        found = bottom(csr_array(diags_array(diagonal) - scaled), null, k, ctx, top=top)
    else:
        found = _dense_bottom(W, root, diagonal, null, top, k, ctx)
    return _walk(found, degrees)


def _walk(found: Bottom, degrees: Float64) -> Walk:
    report = found.report
    return Walk(report.pop("eigenvalues"), found.vectors, degrees, report)


def padded(A: Float64, k: int) -> Float64:
    """Columns of zeros where there are fewer axes than wanted."""
    return np.pad(A, ((0, 0), (0, k - A.shape[1])))


def _product(W: Any, V: Float64, ctx: Context) -> Float64:
    return ctx.ops.matmul(W, V)


def _dense_bottom(
    W: Array, root: Float64, diagonal: Float64, null: Float64, top: float, k: int, ctx: Context
) -> Bottom:
    """The same for a matrix that is not sparse: by products, or else by its Cholesky factor.

    A wide kernel has wide gaps, and a few products do. The slow modes of a narrow one are all but
    equal to 1; of the inverse they are the largest by far. A factor takes as long as about n / 50
    products with a block; LAPACK's eigenvectors take many times as long.
    """
    n = len(W)

    def apply(V: Array) -> Float64:  # top - A, where the null space is not in the way
        V = V - null @ (null.T @ V)
        out = (top - diagonal)[:, None] * V
        out += root[:, None] * ctx.ops.matmul(W, root[:, None] * V)
        return np.asarray(out - null @ (null.T @ out))

    more = min(k + 1, n - 1)  # one beyond, to see whether the last is one of several
    width, solver, close = block_width(more), "dense", None
    if n > SMALL:
        start = random_start(ctx.seed, n, width)
        start -= null @ (null.T @ start)
        tries, solver = int(np.clip(n // 50, 40, 120)), "krylov"
        if n <= DENSE:
            S = _scaled(W, root, diagonal - top)
            np.negative(S, out=S)
            close = leading_of(
                DenseMatrix(S), null[:, 0], more, 1e-10, ctx, probed=False, most=HASTY
            )
        else:
            close = leading(apply, start, more, TOLERANCE[W.dtype], tries)
        if not close.converged and n > SOONER:
            start = start[:, : narrow_width(more)] if n <= DENSE else start
            close, solver = _by_inverse(_lifted(W, root, diagonal, null, top), start, more)
    if close is not None and close.converged:
        V = close.vectors
        values = top - (V * apply(V)).sum(0)
    else:
        solver = "dense"
        values, V = ctx.ops.eigh(-_lifted(W, root, diagonal, null, top), more)
        values = -values
    values = np.maximum(values, 0)
    groups = runs(np.diff(values) <= EQUAL * values[1:] + 1e-14 * top)
    V = turned(V, groups)[:, :k]
    kept = tuple(tuple(j for j in group if j < k) for group in groups)
    values = values[:k]
    residuals = np.linalg.norm((top - values) * V - apply(V), axis=0)
    return Bottom(values, V, residuals, solver, tuple(group for group in kept if group))


def _lifted(W: Array, root: Float64, diagonal: Float64, null: Float64, top: float) -> Float64:
    """The matrix with its null space above all else."""
    A = _scaled(W, root, diagonal)
    for i in range(0, len(A), 512):
        A[i : i + 512] += 2 * top * null[i : i + 512] @ null.T
    return A


def _scaled(W: Array, root: Float64, diagonal: Float64) -> Float64:
    """diag(diagonal) - diag(root) W diag(root)."""
    A = W * -root[:, None]
    A *= root
    A.flat[:: len(A) + 1] += diagonal
    return np.asarray(A)


def _by_inverse(A: Float64, start: Float64, k: int) -> tuple[Leading | None, str]:
    """Smallest pairs by block Lanczos on the inverse; none where rounding leaves no factor."""
    try:
        factor = scipy.linalg.cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return None, ""

    def solve(V: Array) -> Float64:
        return np.asarray(scipy.linalg.cho_solve(factor, V, check_finite=False))

    return leading(solve, start, k, 1e-10), "cholesky"


def walk_memory(
    n: int, m: int, d: int, itemsize: int, k: int, ties: int | None, indexed: bool
) -> dict[str, int]:
    """Bytes of a fit of m of n rows with so many neighbors each (None: all pairs).

    Without an index, neighbors are found in blocks of distances.
    """
    wide = 8 if m <= DENSE else itemsize
    parts = {
        "rows": 2 * m * d * wide,
        "neighbors": 0 if indexed else 3 * min(2**23, m * m) * 8,
        "map": 6 * n * k * 8,
        "spectrum": basis_memory(m, k),
    }
    if ties is None:
        parts["weights"] = m * m * (wide + 24)
        parts["spectrum"] += 5 * m * m * 8 if m <= DENSE else 0
    else:
        parts["graph"] = 12 * m * min(ties, m) * 12
        # Measured on rolls of 20,000 and 60,000 rows.
        parts["factor"] = int(8 * m * min(ties, m) * np.log2(max(m, 2)))
    if m < n:
        parts["distances to landmarks"] = 2**26 * 3
    return parts
