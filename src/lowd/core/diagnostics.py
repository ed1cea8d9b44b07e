"""Diagnostics of a fit that graph methods declare: localized axes, residual variance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..backends.protocol import Float64
from ..errors import LocalizedAxisWarning, warn
from ..relations.residual_variance import residual_variance
from .fit import Context, Fit

SHOWN_ROWS = 10  # row numbers that a message lists


def participation_ratio(V: Float64) -> Float64:
    """How many rows each column is about: 1 if one entry is all, n if all are of one size."""
    squares = V * V
    total = squares.sum(0) ** 2
    return np.asarray(np.divide(total, (squares**2).sum(0), out=total * 0, where=total > 0))


def warn_of_localized_axes(V: Float64, parameter: str = "n_neighbors") -> Float64:
    """Warn of columns that are about a few rows only; the participation ratio of each column.

    `parameter` is the one that gives rows more neighbors.
    """
    ratio = participation_ratio(V)
    n = len(V)
    limit = min(n / 10, max(4.5, min(n / 100, 100)))
    for axis in np.flatnonzero((ratio > 0) & (ratio < limit)):
        count = int(np.ceil(ratio[axis]))
        who: NDArray[np.int64] = np.sort(np.argsort(-np.abs(V[:, axis]), kind="stable")[:count])
        shown = ", ".join(map(str, who[:SHOWN_ROWS])) + (", ..." if count > SHOWN_ROWS else "")
        warn(
            f"axis {axis} is localized on {count} row{'s' * (count > 1)} ({shown}), weakly "
            f"connected to the others. Look at them, drop them, or raise {parameter}.",
            LocalizedAxisWarning,
        )
    return ratio


def with_residual_variance(fit: Fit, order: NDArray[np.int64], ctx: Context) -> Fit:
    """The fit with 1 - r² between its geodesic distances (to landmarks) and those it shows.

    Rows are drawn in their canonical `order`.
    """
    assert fit.geodesics is not None
    Y = np.asarray(fit.embedding, np.float64)
    targets = fit.report.get("landmarks", np.arange(len(Y)))
    variance = residual_variance(fit.geodesics, order, targets, Y, ctx.seed, ctx.ops)
    return fit._replace(geodesics=None).with_report(residual_variance=variance)


def connecting_parameter(model: object) -> str:
    """The parameter of a graph method that says how far its edges go."""
    for name in ("radius", "n_neighbors"):
        if getattr(model, name, None) is not None:
            return name
    return "sigma"
