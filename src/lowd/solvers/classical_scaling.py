"""What classical scaling reports of squared distances: their means, fit and residuals."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.protocol import Backend, Float64, Rows
from ..core.fit import Context
from ..input.sample import Items
from ..maps.centered import CenteredMap
from ..maps.linear import LinearMap, to_dense


def mean_squared_distances(X: Rows, ctx: Context) -> dict[str, Any]:
    """Means of squared distances from norms: mean_j |x_i - x_j|² = |x_i - m|² + mean |x_j - m|²."""
    assert ctx.statistics is not None
    n, mean = X.shape[0], ctx.statistics.sums / X.shape[0]
    if hasattr(X, "toarray"):
        X = X.astype(np.float64)
        norms = np.asarray(X.power(2).sum(1)).ravel() - 2 * (X @ mean) + mean @ mean
    else:
        step = max(1, 2**16 // X.shape[1])
        parts = [np.square(X[i : i + step] - mean).sum(1) for i in range(0, n, step)]
        norms = np.concatenate(parts)
    return {"d2_mean": norms + norms.mean(), "d2_grand_mean": 2 * float(norms.mean())}


def goodness_of_fit(report: dict[str, Any]) -> dict[str, Any]:
    """Shares and signs of the eigenvalues, where the whole spectrum is known."""
    spectrum = report.get("spectrum")
    if spectrum is None:
        return {}
    kept, positive = report["eigenvalues"].sum(), spectrum[spectrum > 0].sum()
    size = np.abs(spectrum).sum()
    tolerance = len(spectrum) * np.finfo(float).eps * np.abs(spectrum).max(initial=0)
    return {
        "gof": (float(kept / size), float(kept / positive)) if positive > 0 else (0.0, 0.0),
        "n_positive": int((spectrum > tolerance).sum()),
        "n_negative": int((spectrum < -tolerance).sum()),
    }


def squares_to_mean(
    extension: CenteredMap | LinearMap, Q: Items, grand_mean: float, ops: Backend
) -> Float64:
    """Squared distances of new points to the mean of the training points.

    From squared distances to all of these (Gower, 1968), or from rows where the map is linear.
    """
    if isinstance(extension, CenteredMap):
        K = extension.relation.toward(Q, ops)
        return np.asarray(-2 * K.mean(1, dtype=np.float64) - grand_mean / 2)
    assert extension.shift is not None
    return np.asarray(np.square(to_dense(Q) - extension.shift).sum(1))
