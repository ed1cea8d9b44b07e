"""What classical scaling reports of squared distances: their means, fit and residuals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends import resolve
from ..backends.protocol import Backend, Float64, Rows
from ..core.fit import Context, Fit
from ..errors import UnsupportedError
from ..input.arguments import Input
from ..input.blocks import is_blocks
from ..input.sample import Items
from ..maps.centered import CenteredMap
from ..maps.linear import LinearMap, to_dense
from ..threads import run_parts

if TYPE_CHECKING:
    from ..core.estimator import Reducer


def mean_squared_distances(X: Rows, ctx: Context) -> dict[str, Any]:
    """Means of squared distances from norms: mean_j |x_i - x_j|² = |x_i - m|² + mean |x_j - m|²."""
    assert ctx.statistics is not None
    n, mean = X.shape[0], ctx.statistics.mean
    if hasattr(X, "toarray"):
        X = X.astype(np.float64)
        norms = np.asarray(X.power(2).sum(1)).ravel() - 2 * (X @ mean) + mean @ mean
    else:
        norms, step = np.empty(n), max(1, 2**16 // X.shape[1])

        def add(part: slice) -> None:
            for i in range(part.start, part.stop, step):
                some = slice(i, min(i + step, part.stop))
                np.square(X[some] - mean).sum(1, out=norms[some])

        run_parts(add, n, least=16 * step)  # a thread takes as long to start as a megabyte
    return {"d2_mean": norms + norms.mean(), "d2_grand_mean": 2 * float(norms.mean())}


def report_scaling(fit: Fit) -> dict[str, Any]:
    """Means of the squared distances; shares and signs of the eigenvalues, where all are known."""
    assert isinstance(fit.map, CenteredMap)
    means, spectrum = -2 * fit.map.means, fit.report.get("spectrum")
    report = {"d2_mean": means, "d2_grand_mean": float(means.mean())}
    if spectrum is None:
        return report
    kept, positive = fit.report["eigenvalues"].sum(), spectrum[spectrum > 0].sum()
    size = np.abs(spectrum).sum()
    tolerance = len(spectrum) * np.finfo(float).eps * np.abs(spectrum).max(initial=0)
    return report | {
        "gof": (float(kept / size), float(kept / positive)) if positive > 0 else (0.0, 0.0),
        "n_positive": int((spectrum > tolerance).sum()),
        "n_negative": int((spectrum < -tolerance).sum()),
    }


def compute_residuals(model: Reducer, X: Input) -> Float64:
    """Squared distance of each new point from the space that the embedding spans."""
    if is_blocks(X):
        raise UnsupportedError(
            "residual takes rows in memory; for dask: X.map_blocks(model.residual)."
        )
    Y = np.asarray(model._transform(X), np.float64)
    ops = resolve(model.backend, model.n_jobs)
    items = model._validate(X, ops).items
    to_mean = _squares_to_mean(model.map_, items, model.d2_grand_mean_, ops)
    return np.asarray(np.maximum(to_mean - (Y**2).sum(1), 0))


def _squares_to_mean(
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
