"""`locally_linear_embedding`, and by it LocallyLinearEmbedding, by lowd's four classes.

Each variant takes scikit-learn's alignment matrix, which for three of them is not lowd's
(docs/differences.md); what is lowd's are the neighbors, the sum over neighborhoods and the
eigenvectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from ..errors import LocalizedAxisWarning, ScaleWarning, ShortcutWarning
from ..methods.lle import (
    LTSA,
    Alignment,
    LocallyLinear,
    LocallyLinearEmbedding,
    ModifiedLLE,
    alignment_matrix,
)
from ..neighbor_graph import neighbors
from ..parameters import Indices, Reals
from ..spaces import Neighbors, Rows
from .originals import read_rows
from .refusal import require, require_gain

MIN_LOCAL_ROWS = 300
# For the other variants, which scikit-learn sums point by point: lowd is ten times as fast at 150
# rows.
MIN_VARIANT_ROWS = 100
LOCAL_WARNINGS = (LocalizedAxisWarning, ScaleWarning, ShortcutWarning)
# scikit-learn uses this in method="modified", whatever `reg` is.
MODIFIED_REGULARIZATION = 1e-3
# Columns that sum to 0 up to rounding stay below any tolerance above this.
MIN_HESSIAN_TOLERANCE = 1e-10


def serve_locally_linear_embedding(
    X: Any,
    *,
    n_neighbors: int,
    n_components: int,
    reg: float = 1e-3,
    method: str = "standard",
    hessian_tol: float = 1e-4,
    n_jobs: int | None = None,
    **solver: Any,  # noqa: ARG001 - eigen_solver, tol, max_iter, ..., of the original's solvers
) -> tuple[Reals, float]:
    """`sklearn.manifold.locally_linear_embedding`."""
    rows = read_rows(X)
    n, d = rows.shape
    k = n_components
    require_gain(n >= (MIN_LOCAL_ROWS if method == "standard" else MIN_VARIANT_ROWS))
    require(k <= d and n_neighbors < n, "n_components or n_neighbors too large")
    if method == "hessian":
        require(n_neighbors > k * (k + 3) // 2, "n_neighbors too small for method='hessian'")
        require(hessian_tol >= MIN_HESSIAN_TOLERANCE, "hessian_tol near 0")
    given = neighbors(rows, n_neighbors, n_jobs=n_jobs)
    require(given.recall == 1, "approximate neighbors of many rows")
    ours = VARIANTS[method](k, reg=reg, n_jobs=n_jobs)
    ours.fit(rows, neighbors=given)
    require(ours.n_distinct_ == n, "duplicate rows")
    require(not ours.degenerate_axes_, "repeated eigenvalues: the basis is not unique")
    Y = np.array(ours.embedding_ / np.sqrt(n), np.float64)  # scikit-learn's columns have length 1
    return Y, float(ours.reconstruction_error_)


class NeighborPatches(LTSA):
    """LTSA of patches without the point itself, as in scikit-learn.

    That is its Hessian LLE, too: it takes all columns beyond the tangent coordinates, not the
    quadratic ones only, and divides those by their sums that are not 0, of which there are none.
    """

    def _align(self, points: Rows, near: Neighbors, counts: Reals) -> Alignment:
        listed = np.bincount(near.indices, minlength=points.n)
        require(listed.min() > 0, "a point is nobody's neighbor, so its position is undetermined")
        indptr, members, k = near.indptr, near.indices, self.n_components
        M = alignment_matrix(points.X, indptr, members, "ltsa", k, self.reg, counts)
        return Alignment(M, False)


class ManyWeights(ModifiedLLE):
    """Modified LLE with up to n_neighbors - 1 weight vectors per point, as in scikit-learn."""

    def _align(self, points: Rows, near: Neighbors, counts: Reals) -> Alignment:  # noqa: ARG002
        X, members = np.asarray(points.X, np.float64), near.table[0]
        return Alignment(align_many_weights(X, members, self.n_components), False)


def align_many_weights(X: Reals, near: Indices, k: int) -> csr_array:
    """The sum of W W' over the points, W the weight vectors of a point less the point itself.

    With the projector P on the s directions of least extent of a neighborhood, the regularized
    weights w and a² s = 1'P1, the s weight vectors of Zhang and Wang (2007) have the products
    P + (1 - a)/a (P1 w' + w 1'P) + (1 - a)² s w w' and the sum P1 / a + (1 - a) s w.
    """
    n, m = near.shape
    rank = min(m, X.shape[1])
    Z = X[near] - X[:, None]
    values, V = np.linalg.eigh(Z @ Z.transpose(0, 2, 1))
    values, V = np.maximum(values[:, ::-1], 0), V[:, :, ::-1]
    values[:, rank:] = 0
    ridge = MODIFIED_REGULARIZATION * values.sum(1)[:, None]
    w = (V @ ((V.sum(1) / (values + ridge))[:, :, None]))[:, :, 0]
    w /= w.sum(1)[:, None]

    head = values[:, :rank].cumsum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.median(head[:, -1] / head[:, k - 1] - 1)
        s = m - rank + (head[:, -1:] / head[:, :-1] - 1 < share).sum(1)
    V = np.where(np.arange(m) >= (m - s)[:, None, None], V, 0)
    P = V @ V.transpose(0, 2, 1)
    one = P.sum(2)
    a = np.sqrt(one.sum(1) / s)
    require(
        np.isfinite(a).all() and a.min() > np.sqrt(np.finfo(float).eps), "weights that sum to 0"
    )
    a, s = a[:, None], s[:, None]
    once = one[:, :, None] * w[:, None]
    F = np.empty((n, m + 1, m + 1))
    F[:, 1:, 1:] = P + ((1 - a) / a)[:, :, None] * (once + once.transpose(0, 2, 1))
    F[:, 1:, 1:] += ((1 - a) ** 2 * s)[:, :, None] * (w[:, :, None] * w[:, None])
    F[:, 0, 1:] = F[:, 1:, 0] = -(one / a + (1 - a) * s * w)
    F[:, 0, 0] = s[:, 0]
    members = np.column_stack([np.arange(n), near])
    entries = np.repeat(members, m + 1, axis=1).ravel(), np.tile(members, m + 1).ravel()
    return csr_array(coo_array((F.ravel(), entries), shape=(n, n)))


VARIANTS: dict[str, type[LocallyLinear]] = {
    "standard": LocallyLinearEmbedding,
    "ltsa": NeighborPatches,
    "hessian": NeighborPatches,
    "modified": ManyWeights,
}
