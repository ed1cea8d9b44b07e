"""Nearest neighbors of a row, in the data and in every panel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..evidence.quality.metric_spaces import nearest_others
from .arrow import encode_columns, list_or_none
from .faults import RequestError
from .session import Session

MAX_SHOWN_NEIGHBORS = 200
TABLE_NEIGHBORS = 10  # Neighbors of each row in a page without a server.
# Most rows of such a page: 1.6 MB. Finding all neighbors of more rows takes minutes.
MAX_TABLE_ROWS = 20_000


def find_neighbors(session: Session, row: int, k: int) -> dict[str, object]:
    """The nearest rows in the data with their distances, and the nearest ones in each panel."""
    if session.space is None:
        raise RequestError(
            409,
            "unavailable",
            "only coordinates are known, not the data.",
            "Start with the data: lowd view MAP --data FILE.",
        )
    k = min(k, session.n - 1, MAX_SHOWN_NEIGHBORS)
    found = nearest_others(session.space, np.array([row], np.int64), k) if k else None
    in_panels = {
        key: find_in_panel(panel.coordinates, row, k)
        for key, panel in list(session.panels.items())
        if np.isfinite(panel.coordinates[row, 0])
    }
    metric = session.metric
    return {
        "row": row,
        "metric": metric if isinstance(metric, str) else getattr(metric, "__name__", "callable"),
        "rows": [] if found is None else found.indices[0].tolist(),
        "distances": [] if found is None else list_or_none(found.distances[0]),
        "panels": in_panels,
    }


def find_in_panel(Y: NDArray[np.float32], row: int, k: int) -> list[int]:
    """The nearest other rows that an embedding holds, nearest first.

    >>> find_in_panel(np.array([[0.0], [5.0], [1.0], [np.nan]], np.float32), 0, 3)
    [2, 1]
    """
    squares = np.square(Y - Y[row], dtype=np.float64).sum(1)
    squares[row] = np.nan
    held = np.isfinite(squares)
    k = min(k, int(held.sum()))
    if not k:
        return []
    squares[~held] = np.inf
    near = np.argpartition(squares, k - 1)[:k]
    order: list[int] = near[np.lexsort((near, squares[near]))].tolist()
    return order


def encode_table(session: Session) -> bytes | None:
    """The nearest neighbors of all rows as Arrow, or None if there are too many rows."""
    k = min(TABLE_NEIGHBORS, session.n - 1)
    if session.space is None or session.n > MAX_TABLE_ROWS or not k:
        return None
    found = nearest_others(session.space, None, k)
    columns = {f"n{j}": np.ascontiguousarray(found.indices[:, j], np.int32) for j in range(k)}
    distances = {f"d{j}": np.ascontiguousarray(found.distances[:, j], np.float32) for j in range(k)}
    return encode_columns(columns | distances)
