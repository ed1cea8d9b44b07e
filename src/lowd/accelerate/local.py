"""`locally_linear_embedding`, and by it LocallyLinearEmbedding, by lowd's class of that name."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.protocol import Array
from ..errors import LocalizedAxisWarning, ScaleWarning, ShortcutWarning
from ..methods.lle import LocallyLinearEmbedding
from ..methods.neighbors import neighbors
from .originals import read_rows
from .refusal import require, require_gain

MIN_LOCAL_ROWS = 300
LOCAL_WARNINGS = (LocalizedAxisWarning, ScaleWarning, ShortcutWarning)


def serve_locally_linear_embedding(
    X: Any,
    *,
    n_neighbors: int,
    n_components: int,
    reg: float = 1e-3,
    method: str = "standard",
    n_jobs: int | None = None,
    **solver: Any,  # noqa: ARG001 - eigen_solver, tol, max_iter, ..., of the original's solvers
) -> tuple[Array, float]:
    """`sklearn.manifold.locally_linear_embedding`, for method="standard".

    The other three differ in what they compute: neighborhoods with or without the point itself,
    columns of the Hessian, weights (docs/differences.md).
    """
    require(method == "standard", f"method={method!r}: lowd's class computes something else")
    rows = read_rows(X)
    n, d = rows.shape
    require_gain(n >= MIN_LOCAL_ROWS)
    require(n_components <= d and n_neighbors < n, "n_components or n_neighbors too large")
    given = neighbors(rows, n_neighbors, n_jobs=n_jobs)
    require(given.recall == 1, "approximate neighbors of many rows")
    ours = LocallyLinearEmbedding(n_components, reg=reg, n_jobs=n_jobs).fit(rows, neighbors=given)
    require(ours.n_distinct_ == n, "duplicate rows")
    require(not ours.degenerate_axes_, "equal eigenvalues, of which any basis is an answer")
    Y = np.array(ours.embedding_ / np.sqrt(n), np.float64)  # columns of length 1 there
    return Y, float(ours.reconstruction_error_)
