"""Smallest eigenpairs by Chebyshev-filtered subspace iteration (Zhou and Saad, 2007).

A block of vectors is multiplied by the Chebyshev polynomial of the matrix that damps everything
above the block best, again and again. Quick where the wanted eigenvalues are not too close to 0.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from .. import progress
from ..backends.protocol import Float64, HeldVectors, MatrixPlan, Terms, multiply
from .eigenproblem import Approximation, Eigenproblem, angle_bound, deflate, reorder
from .krylov import block_width, column_lengths, orthonormalize, stack_columns
from .thresholds import (
    BOUND_STEPS,
    EPS,
    FILTER_FLOPS,
    FILTER_PRODUCTS,
    MAX_FILTER_DEGREE,
    MAX_FILTER_GROWTH,
    MIN_LANCZOS_LENGTH,
    WANTED_ANGLE,
)


def solve_chebyshev(p: Eigenproblem, *, patient: bool = True) -> Approximation:
    """Subspace iteration with the polynomial that damps [the block's largest value, norm] best.

    The block's Ritz values say how much a degree gains. Unless `patient`, gives up where one sweep
    would need too many products: the wanted values are then too close to 0 for any polynomial.
    """
    p, new_row = reorder(p)
    A, k = p.ctx.ops.matrix_plan(p.matrix), p.k
    null = A.hold(p.null)
    norm = min(p.norm, _estimate_norm(p, A))
    width = block_width(k)
    budget = int(np.clip(FILTER_FLOPS / (p.matrix.nnz * width), *FILTER_PRODUCTS))
    X, degree, spent, sweeps = A.hold(p.random_block(width)), 20, 0, 0
    while True:
        X = _orthonormal_block(p, X, null, A)
        AX = A.matmul(X)
        theta, Z = scipy.linalg.eigh(A.fetch(X.T @ AX))
        C = A.hold(Z)
        X, AX = X @ C, AX @ C
        R = AX[:, :k] - X[:, :k] * A.hold(theta[:k])
        residual = float(column_lengths(R, A).max())
        angle = angle_bound(residual, theta, k, EPS * norm)
        cut = float(theta[-1])
        half, middle = (norm - cut) / 2, (norm + cut) / 2
        if half <= 0:  # the block spans the whole space
            break
        growth = max(_log_growth(cut - theta[k - 1], half), EPS)
        slow = sweeps > 2 and np.arccosh(1e4) / growth > MAX_FILTER_DEGREE
        progress.report("eigenvectors", min(spent, budget), budget)
        if angle <= WANTED_ANGLE or spent >= budget or (slow and not patient):
            break
        if sweeps:
            need = np.arccosh(np.clip(10 * angle / WANTED_ANGLE, 10, 1e4)) / growth
            degree = int(np.clip(need, 0.25 * degree, 2 * degree))
        # An isolated value must not outgrow the others by more than rounding lets survive.
        most = np.arccosh(MAX_FILTER_GROWTH) / max(_log_growth(cut - theta[0], half), EPS)
        degree = int(np.clip(degree, 4, max(4, most)))
        before, now = X, (AX - middle * X) / half
        for _ in range(degree - 1):
            step = A.matmul(now, Terms(2 / half, -2 * middle / half, -1.0, before))
            before, now = now, step
        X, spent, sweeps = now, spent + degree, sweeps + 1
    return Approximation(theta[: k + 2], A.fetch(X)[new_row, : k + 2], angle)


def _log_growth(distance: float, half: float) -> float:
    """Logarithm of what one degree multiplies a vector by, so far below the damped interval."""
    return float(np.arccosh(1 + max(distance, 0.0) / half))


def _orthonormal_block(p: Eigenproblem, X: Float64, null: Float64, where: HeldVectors) -> Float64:
    """An orthonormal basis of the block, filled up where directions were lost."""
    wanted = X.shape[1]
    X = orthonormalize(_normalize(deflate(X, null), where), 0.0, where)
    if X.shape[1] < wanted:
        more = where.hold(p.random_block(wanted)[:, X.shape[1] :])
        X = stack_columns([X, more - X @ (X.T @ more)], where)
        X = orthonormalize(_normalize(X, where), 0.0, where)
    return orthonormalize(deflate(X, null), 0.0, where)


def _normalize(X: Float64, where: HeldVectors) -> Float64:
    """Columns of length 1; 0 stays 0."""
    lengths = np.maximum(column_lengths(X, where), np.finfo(float).tiny)
    found: Float64 = X / where.hold(lengths)
    return found


def _estimate_norm(p: Eigenproblem, A: MatrixPlan) -> float:
    """A bound of the largest eigenvalue from a few steps of Lanczos (Zhou and Li, 2011)."""
    v = p.random_block(1)
    Q: list[Float64] = []
    alpha, beta = [], []
    for _ in range(min(BOUND_STEPS, len(v) - 1)):
        length = float(np.linalg.norm(v))
        if Q:
            beta.append(length)
        if length <= MIN_LANCZOS_LENGTH * p.norm:
            return p.norm
        Q.append(v / length)
        w = multiply(A, Q[-1])
        alpha.append(float(Q[-1][:, 0] @ w[:, 0]))
        basis = np.hstack(Q)
        for _ in range(2):
            w = w - basis @ (basis.T @ w)
        v = w
    values = scipy.linalg.eigvalsh_tridiagonal(np.array(alpha), np.array(beta))
    return float(values[-1] + np.linalg.norm(v)) * 1.01
