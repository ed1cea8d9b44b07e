"""The scale gamma of a kernel: resolved from the data, and judged by the kernel matrix."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..backends.protocol import Array, Float64, Rows
from ..core.fit import Context
from ..distances.order import draw_landmarks
from ..errors import KernelWarning, warn
from ..input.row_order import order_rows
from .thresholds import MEDIAN_SAMPLE, MIN_OTHERS_SUM


def resolve_gamma(gamma: float | Literal["median"] | None, X: Rows, ctx: Context) -> float:
    """A number as it is; "median": 1 / median squared distance; None: 1 / n_features."""
    if gamma == "median":
        median = _median_squared_distance(X, ctx)
        return 1 / median if median > 0 else 1 / int(X.shape[1])
    return float(gamma) if gamma is not None else 1 / int(X.shape[1])


def warn_of_large_gamma(others: Float64, gamma: float | None) -> None:
    """Warn of a kernel matrix that is nearly the identity; `others` are its off-diagonal sums."""
    typical = float(np.median(others))
    if len(others) > 2 and typical < MIN_OTHERS_SUM:
        warn(
            f"gamma={gamma:.3g} is too large for these rows: the kernel of the typical one with "
            f"all others adds up to {max(typical, 0.0):.2g}, with itself to 1, so the embedding "
            "shows little but noise. Set gamma='median', or standardize columns in different "
            "units.",
            KernelWarning,
        )


def _median_squared_distance(X: Rows, ctx: Context) -> float:
    """Over a fixed sample of the rows."""
    n = X.shape[0]
    rows = X if n <= MEDIAN_SAMPLE else X[draw_landmarks(order_rows(X), MEDIAN_SAMPLE, 0)]
    D: Array = ctx.ops.pairwise(rows, rows, "sqeuclidean", (1.0,), None)
    upper: Float64 = D[np.triu_indices(len(D), 1)].astype(np.float64)
    return float(np.median(upper)) if len(upper) else 1.0
