"""Axes that a few rows own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.protocol import Float64
from ..errors import LocalizedAxisWarning, warn


def participation(V: Float64) -> Float64:
    """How many rows each column is about: 1 if one entry is all, n if all are of one size."""
    squares = V * V
    total = squares.sum(0) ** 2
    return np.asarray(np.divide(total, (squares**2).sum(0), out=total * 0, where=total > 0))


def localized(V: Float64, knob: str = "n_neighbors") -> Float64:
    """Warn of columns that are about a few rows only; the participation of each column.

    `knob` is the parameter that ties rows to more others.
    """
    rows = participation(V)
    n = len(V)
    limit = min(n / 10, max(4.5, min(n / 100, 100)))
    for axis in np.flatnonzero((rows > 0) & (rows < limit)):
        count = int(np.ceil(rows[axis]))
        who: NDArray[np.int64] = np.sort(np.argsort(-np.abs(V[:, axis]), kind="stable")[:count])
        shown = ", ".join(map(str, who[:10])) + (", ..." if count > 10 else "")
        warn(
            f"axis {axis} is about {count} row{'s' * (count > 1)} only ({shown}): little ties "
            f"them to the others. Look at them, drop them, or raise {knob}.",
            LocalizedAxisWarning,
        )
    return rows


def knob_of(model: Any) -> str:
    """The parameter of a graph method that says how far its ties reach."""
    for name in ("radius", "n_neighbors"):
        if getattr(model, name, None) is not None:
            return name
    return "sigma"
