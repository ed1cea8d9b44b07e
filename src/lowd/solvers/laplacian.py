"""Smallest eigenpairs of a graph Laplacian, sparse or dense: the slowest modes of its random walk.

Sparse Laplacians are solved as any sparse matrix (`smallest`). Dense ones, of kernels between all
pairs, have three routes: LAPACK for few points, block Krylov iteration, and shift-invert by a
Cholesky factorization where that does not converge.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, issparse
from scipy.sparse.linalg import splu

from ..backends.protocol import Array, Float64, MatrixPlan, multiply
from ..core.fit import Context
from ..errors import DataError, ParameterError, RankWarning, warn
from ..maps.laplacian import nystroem_gain
from ..relations.affinity_graph import AffinityGraph
from .canonical import group_consecutive, rotate_groups, sign_flips
from .dense import eigh
from .eigenproblem import deflate, narrow_indices
from .krylov import Operator, RitzPairs, basis_memory, block_width, leading_eigenpairs, random_block
from .smallest import SmallestEigenpairs, cut_groups, smallest_eigenpairs
from .thresholds import (
    EQUAL_SMALLEST_EIGENVALUES,
    MAX_DENSE_KERNEL_SAMPLES,
    RITZ_TOLERANCE,
    ROUNDING_SHARE,
    SAMPLES_PER_KERNEL_PRODUCT,
)

# Points of so much less degree than their neighbors have, and of so much smaller an entry in an
# eigenvector than its largest, are solved for alone. Rounding of others grows by √1e3 at most.
MAX_WEAK_DEGREE, MAX_WEAK_ENTRY = 1e-3, 1e-4


class TransitionSpectrum(NamedTuple):
    """Eigenpairs of the Laplacian, smallest first and without the constant; one row per point.

    `vectors` are those of the symmetric matrix, with orthonormal columns. An eigenvalue λ of the
    normalized Laplacian is the eigenvalue 1 - λ of the transition matrix.
    """

    values: Float64
    vectors: Float64
    degrees: Float64
    report: dict[str, Any]


class _DenseLaplacian(NamedTuple):
    """diag(diagonal) - diag(root) W diag(root), its null vector and a bound of its spectrum."""

    W: Array
    root: Float64
    diagonal: Float64
    null: Float64
    norm: float
    plan: MatrixPlan  # of W

    def complement(self) -> Operator:
        """What multiplies held vectors by norm - A, where the null space is not in the way."""
        root, null = self.plan.hold(self.root[:, None]), self.plan.hold(self.null)
        complement = self.plan.hold((self.norm - self.diagonal)[:, None])

        def apply(V: Float64) -> Float64:
            V = deflate(V, null)
            out = complement * V
            out += root * self.plan.matmul(root * V)
            return deflate(out, null)

        return apply

    def multiply_complement(self, V: Float64) -> Float64:
        """The same product of vectors on the host."""
        return self.plan.fetch(self.complement()(self.plan.hold(V)))

    def lift(self) -> Float64:
        """The matrix itself, with its null space above all else."""
        A = self.W * -self.root[:, None]
        A *= self.root
        A.flat[:: len(A) + 1] += self.diagonal
        for i in range(0, len(A), 512):
            A[i : i + 512] += 2 * self.norm * self.null[i : i + 512] @ self.null.T
        return np.asarray(A)


def transition_spectrum(
    graph: AffinityGraph, k: int, ctx: Context, *, normalized: bool = True
) -> TransitionSpectrum:
    """The k smallest eigenpairs of I - D^-½ W D^-½ (of D - W), without the constant.

    Duplicates count as often as they occur: W is counts · w · counts among the distinct points,
    and a row's degree the sum over all rows.
    """
    W, counts = graph.weights, graph.counts
    plan = ctx.ops.matrix_plan(W)
    degrees = multiply(plan, counts[:, None])[:, 0]
    if k >= len(counts):
        warn(
            f"n_components={k}, but {len(counts)} distinct rows have {len(counts) - 1} axes; the "
            "other columns are 0.",
            RankWarning,
        )
        k = len(counts) - 1
    if k == 0:
        empty = SmallestEigenpairs(np.empty(0), np.empty((1, 0)), np.empty(0), "none", ())
        return _with_degrees(empty, degrees)
    if not degrees.all():
        rows = np.flatnonzero(degrees[graph.point_of_row] == 0)
        shown = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
        raise DataError(f"row {shown} has no edge to any other row; drop it, or connect it.")
    if normalized:
        root, null, norm = np.sqrt(counts / degrees), np.sqrt(counts * degrees), 2.0
        diagonal = np.ones(len(counts))
    else:
        root, null, norm = np.sqrt(counts), np.sqrt(counts), 2 * float(degrees.max())
        diagonal = degrees
    null = (null / np.linalg.norm(null))[:, None]
    if issparse(W):
        S = diags_array(root)
        L = narrow_indices(csr_array(diags_array(diagonal) - S @ W @ S))
        found = smallest_eigenpairs(L, null, k, ctx, norm=norm)
    else:
        dense = _DenseLaplacian(W, root, diagonal, null, norm, plan)
        found = _smallest_eigenpairs_dense(dense, k, ctx.seed)
    if normalized:
        nearby = multiply(plan, (counts * degrees)[:, None])[:, 0] / degrees
        weak = np.flatnonzero(degrees < MAX_WEAK_DEGREE * nearby)
        if len(weak):
            _solve_weak_points(W, root, weak, found)
    return _with_degrees(found, degrees)


def _solve_weak_points(
    W: Array | csr_array, root: Float64, weak: NDArray[np.int64], found: SmallestEigenpairs
) -> None:
    """Entries of points that are far from all others, by their own rows of the equation; in place.

    A solver knows v to rounding of its length, 1e-16, and such an entry may be less: divided by the
    root of the point's degree that would be noise, and the largest coordinate of all. Its own row
    of (S W S) v = (1 - λ) v, S = diag(root), has all digits, given the entries of its neighbors.
    """
    V, rows = found.vectors, csr_array(W[weak])
    for j, gain in enumerate(nystroem_gain(found.values)):
        tiny = np.abs(V[weak, j]) < MAX_WEAK_ENTRY * np.abs(V[:, j]).max()
        own, some = weak[tiny], csr_array(rows[tiny])
        if not len(own):
            continue
        known = root * V[:, j]
        known[own] = 0
        scale = diags_array(root[own])
        among = (diags_array(np.full(len(own), 1 / gain)) - scale @ some[:, own] @ scale).tocsc()
        try:
            V[own, j] = splu(among).solve(root[own] * (some @ known))
        except RuntimeError:  # singular: these points have an axis of their own
            continue


def _with_degrees(found: SmallestEigenpairs, degrees: Float64) -> TransitionSpectrum:
    report = found.report
    return TransitionSpectrum(report.pop("eigenvalues"), found.vectors, degrees, report)


def pad_columns(A: Float64, k: int) -> Float64:
    """Columns of zeros where there are fewer axes than wanted."""
    return np.pad(A, ((0, 0), (0, k - A.shape[1])))


def raise_eigenvalues(lam: Float64, time: float, n: int) -> Float64:
    """λ^t of a transition matrix among n points; 0 where λ is but rounding."""
    some = np.abs(lam) > n * np.finfo(float).eps
    if not some.all() and n > len(lam):
        warn(
            f"only {int(some.sum())} of n_components={len(lam)} eigenvalues differ from 0; the "
            "other columns are 0. A smaller sigma has more.",
            RankWarning,
        )
    negative = np.flatnonzero((lam < 0) & some)
    if len(negative) and time != int(time):
        raise ParameterError(
            f"time={time} is no whole number, but the eigenvalue of axis {negative[0]} is "
            f"{lam[negative[0]]:.3g}, and a power of it no number; use time="
            f"{round(time)} or n_components={max(int(negative[0]), 1)}."
        )
    powers = np.zeros(len(lam))
    powers[some] = lam[some] ** time
    return powers


class ScaledEigenvectors(NamedTuple):
    """Eigenvectors as coordinates Y, and what the Nyström extension averages and multiplies by."""

    Y: Float64
    means: Float64
    gain: Float64
    fiedler_vector: Float64  # the first one before scaling; empty if there is none

    def report(self, spectrum: TransitionSpectrum, graph: AffinityGraph) -> dict[str, object]:
        """Learned attributes of the rows, with those of the graph and of the eigensolver."""
        report = {
            "n_components": self.Y.shape[1],
            "eigenvalues": np.concatenate([[0.0], spectrum.values]),
            "degrees": spectrum.degrees[graph.point_of_row],
            **graph.report,
            **spectrum.report,
        }
        if len(spectrum.values):
            report["fiedler_value"] = float(spectrum.values[0])
            report["fiedler_vector"] = self.fiedler_vector[graph.point_of_row]
        return report


def scale_eigenvectors(
    spectrum: TransitionSpectrum,
    counts: Float64,
    k: int,
    normalization: Literal["random_walk", "symmetric", "none"],
    scale: Literal["std", "unit", "commute"],
) -> ScaledEigenvectors:
    """Coordinates of the points from the eigenvectors of a Laplacian, with their signs fixed."""
    lam, degrees, normalized = spectrum.values, spectrum.degrees, normalization != "none"
    y = spectrum.vectors / np.sqrt(counts)[:, None]  # orthonormal over all rows
    u = y / np.sqrt(degrees)[:, None] if normalized else y
    if normalization == "random_walk":
        y = u
    flips = sign_flips(y)
    factor = flips * scale_columns(scale, y, lam, counts, float(counts @ degrees))
    Y = pad_columns(y * factor, k)
    means = Y if y is u else pad_columns(u * factor, k)
    gain = np.pad(nystroem_gain(lam) if normalized else lam, (0, k - len(lam)))
    return ScaledEigenvectors(Y, means, gain, (y * flips)[:, 0] if len(lam) else np.empty(0))


def scale_columns(
    scale: Literal["std", "unit", "commute"],
    Y: Float64,
    lam: Float64,
    counts: Float64,
    volume: float,
) -> Float64:
    """What each column of unit length is multiplied by: see `scale` of Laplacian eigenmaps."""
    if scale == "unit":
        return np.ones(len(lam))
    if scale == "commute":
        return np.sqrt(volume / np.maximum(lam, np.finfo(float).tiny))
    share = counts / counts.sum()
    spread = np.sqrt(share @ (Y - share @ Y) ** 2)
    return np.asarray(1 / np.where(spread > 0, spread, 1.0))


def choose_route(n: int) -> Literal["dense", "krylov"]:
    """LAPACK where it needs no time worth saving, else products with the dense Laplacian."""
    return "dense" if n <= MAX_DENSE_KERNEL_SAMPLES else "krylov"


def laplacian_memory(n: int, k: int) -> dict[str, int]:
    """Bytes that the eigenpairs of a dense Laplacian take beside the affinities."""
    taken = {"eigenvectors": basis_memory(n, k)}
    matrices = 5 if choose_route(n) == "dense" else 2  # the iteration may end in a factorization
    return {**taken, "dense matrix": matrices * n * n * 8}


def _smallest_eigenpairs_dense(L: _DenseLaplacian, k: int, seed: int) -> SmallestEigenpairs:
    """The k smallest eigenpairs of a dense Laplacian beyond its null vector.

    A wide kernel has a wide spectral gap, and few products do. The smallest eigenvalues of a
    narrow kernel are all but 0; of the inverse they are the largest by far. A Cholesky
    factorization takes its place where products are forecast to take longer; LAPACK's eigenvectors
    take many times as long.
    """
    n = len(L.W)
    more = min(k + 1, n - 1)  # one beyond, to see whether the last is one of several
    solver: str = choose_route(n)
    found = None
    if solver == "krylov":
        start = random_block(seed, n, block_width(more))
        start -= L.null @ (L.null.T @ start)
        found = leading_eigenpairs(
            L.complement(),
            start,
            more,
            RITZ_TOLERANCE[L.W.dtype],
            where=L.plan,
            patience=n / SAMPLES_PER_KERNEL_PRODUCT,
        )
        if not found.converged:
            found, solver = _solve_cholesky(L, start, more), "cholesky"
    if found is not None and found.converged:
        V = found.vectors
        values = L.norm - (V * L.multiply_complement(V)).sum(0)
    else:
        solver = "dense"
        values, V = eigh(-L.lift(), more)
        values = -values
    values = np.maximum(values, 0)
    gaps = np.diff(values)
    groups = group_consecutive(
        gaps <= EQUAL_SMALLEST_EIGENVALUES * values[1:] + ROUNDING_SHARE * L.norm
    )
    V, values = rotate_groups(V, groups)[:, :k], values[:k]
    residuals = np.linalg.norm((L.norm - values) * V - L.multiply_complement(V), axis=0)
    return SmallestEigenpairs(values, V, residuals, solver, cut_groups(groups, k))


def _solve_cholesky(L: _DenseLaplacian, start: Float64, k: int) -> RitzPairs | None:
    """By block Krylov iteration on the inverse; None where rounding leaves no factorization."""
    try:
        factor = scipy.linalg.cho_factor(L.lift(), lower=True, overwrite_a=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return None

    def solve(V: Array) -> Float64:
        return np.asarray(scipy.linalg.cho_solve(factor, V, check_finite=False))

    return leading_eigenpairs(solve, start, k, RITZ_TOLERANCE[np.dtype(np.float64)])
