"""The small end of a spectrum, and the way to it by polynomials.

A block of vectors is multiplied by the Chebyshev polynomial of the matrix that damps everything
above the block best, again and again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from .. import progress, random
from ..backends.protocol import Array, Float64
from ..core.fit import Context
from .krylov import block_width, orthonormal

ANGLE = 1e-6  # wanted: residual over gap, a bound of the angle to the true space
WORK, PRODUCTS = 4e12, (1000, 20000)  # multiplications, and products with a block, at most
EPS = float(np.finfo(np.float64).eps)


class Pairs(NamedTuple):
    """What one attempt found: k pairs or a few more, and a bound of the angle of the first k."""

    values: Float64
    vectors: Float64
    error: float


class Problem(NamedTuple):
    """k smallest eigenpairs of A = root' root where null' v = 0; no eigenvalue exceeds `top`."""

    A: csr_array | None
    null: Float64
    k: int
    root: csr_array | None
    top: float
    ctx: Context

    @property
    def matrix(self) -> csr_array:
        if self.A is not None:
            return self.A
        assert self.root is not None
        return csr_array(self.root.T @ self.root)

    def project(self, V: Array) -> Float64:
        return np.asarray(V - self.null @ (self.null.T @ V))

    def times(self, V: Float64) -> Float64:
        """A V; by the root, which keeps digits that the entries of A have lost."""
        if self.root is not None:
            return np.asarray(self.root.T @ (self.root @ V))
        return self.ctx.ops.matmul(self.matrix, V)

    def start(self, width: int) -> Float64:
        return self.project(random.normals(self.ctx.seed, "bottom", (len(self.null), width)))


def chebyshev(p: Problem, patient: bool = False) -> Pairs:
    """Subspace iteration with the polynomial that damps [the block's largest value, top] best.

    The block's values say how much a degree gains. Gives up unless `patient` where one sweep
    would need 600 products: the wanted values are then too close to 0 for any polynomial.
    """
    p, back = reordered(p)
    A, k, ops = p.matrix, p.k, p.ctx.ops
    top = min(p.top, _bound(p))
    width = block_width(k)
    budget = int(np.clip(WORK / (A.nnz * width), *PRODUCTS))
    X, degree, spent, sweeps = p.start(width), 20, 0, 0
    while True:
        X = _basis(p, X)
        AX = p.times(X)
        theta, C = scipy.linalg.eigh(X.T @ AX)
        X, AX = X @ C, AX @ C
        left = np.linalg.norm(AX[:, :k] - X[:, :k] * theta[:k], axis=0).max()
        error = float(left / max(theta[k] - theta[k - 1], 1e-3 * abs(theta[k]), EPS * top))
        cut = float(theta[-1])
        half, middle = (top - cut) / 2, (top + cut) / 2
        if half <= 0:  # the block spans everything that there is
            break
        growth = max(_growth(cut - theta[k - 1], half), EPS)
        slow = sweeps > 2 and np.arccosh(1e4) / growth > 600
        progress.report("eigenvectors", min(spent, budget), budget)
        if error <= ANGLE or spent >= budget or (slow and not patient):
            break
        if sweeps:
            need = np.arccosh(np.clip(10 * error / ANGLE, 10, 1e4)) / growth
            degree = int(np.clip(need, 0.25 * degree, 2 * degree))
        # An isolated value must not outgrow the rest by more than rounding lets survive.
        most = np.arccosh(1e7) / max(_growth(cut - theta[0], half), EPS)
        degree = int(np.clip(degree, 4, max(4, most)))
        before, now = X, (AX - middle * X) / half
        for _ in range(degree - 1):
            step = ops.matmul(A, now, alpha=2 / half, beta=-2 * middle / half, gamma=-1.0, U=before)
            before, now = now, step
        X, spent, sweeps = now, spent + degree, sweeps + 1
    return Pairs(theta[: k + 2], X[back, : k + 2], error)


def reordered(p: Problem) -> tuple[Problem, NDArray[np.int32]]:
    """Neighbors near each other, which makes products 1.5 to 3 times as fast; and the way back."""
    A = p.matrix
    order = reverse_cuthill_mckee(A, symmetric_mode=True)
    A = csr_array(A[order][:, order])
    A.sort_indices()
    if A.nnz < 2**31:  # what is read per entry is what a product costs
        A = csr_array((A.data, A.indices.astype(np.int32), A.indptr.astype(np.int32)), A.shape)
    back = np.empty_like(order)
    back[order] = np.arange(len(order), dtype=order.dtype)
    return p._replace(A=A, null=np.ascontiguousarray(p.null[order]), root=None), back


def _growth(distance: float, half: float) -> float:
    """Logarithm of what one degree multiplies a vector by, so far below the damped interval."""
    return float(np.arccosh(1 + max(distance, 0.0) / half))


def _basis(p: Problem, X: Float64) -> Float64:
    """An orthonormal basis of the block, filled up where directions were lost."""
    wanted = X.shape[1]
    X = p.project(X)
    X = orthonormal(X / np.maximum(np.linalg.norm(X, axis=0), np.finfo(float).tiny), 0.0)
    if X.shape[1] < wanted:
        more = p.start(wanted)[:, X.shape[1] :]
        X = np.hstack([X, more - X @ (X.T @ more)])
        X = orthonormal(X / np.linalg.norm(X, axis=0), 0.0)
    return orthonormal(p.project(X), 0.0)


def _bound(p: Problem) -> float:
    """A bound of the spectrum from twelve steps of Lanczos (Zhou and Li, 2011)."""
    v = p.start(1)
    Q: list[Float64] = []
    alpha, beta = [], []
    for _ in range(min(12, len(v) - 1)):
        length = float(np.linalg.norm(v))
        if Q:
            beta.append(length)
        if length <= 1e-12 * p.top:
            return p.top
        Q.append(v / length)
        w = p.times(Q[-1])
        alpha.append(float(Q[-1][:, 0] @ w[:, 0]))
        basis = np.hstack(Q)
        for _ in range(2):
            w = w - basis @ (basis.T @ w)
        v = w
    values = scipy.linalg.eigvalsh_tridiagonal(np.array(alpha), np.array(beta))
    return float(values[-1] + np.linalg.norm(v)) * 1.01
