"""Maps that are the same when turned, mirrored, moved and scaled (Procrustes)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError

Places = NDArray[np.float64]


def disparity(A: Any, B: Any) -> float:
    """How different two maps of the same rows are: 0 the same, 1 nothing in common.

    The share of one map that no turning, mirroring, moving and scaling of the other explains;
    scipy.spatial.procrustes has the same number.

    >>> from lowd.procrustes import disparity
    >>> round(disparity([[0, 0], [2, 0], [0, 1]], [[5, 5], [5, 9], [3, 5]]), 12)
    0.0
    """
    A, B = _unit(_centered(A)), _unit(_centered(B))
    A, B = _as_wide(A, B)
    fit = float(np.linalg.svd(A.T @ B, compute_uv=False).sum())
    return max(0.0, 1 - fit * fit)


def aligned_to(target: Any, Y: Any) -> Places:
    """Y turned, mirrored, moved and scaled to lie as near to the target as it can.

    It keeps its own dimensions, or gets those of the target if these are more.
    """
    T, P = np.asarray(target, np.float64), np.asarray(Y, np.float64)
    center = T.mean(axis=0)
    A, B = _as_wide(_centered(T), _centered(P))
    U, s, Wt = np.linalg.svd(B.T @ A)
    total = float((B * B).sum())
    turned = B @ U @ Wt * (float(s.sum()) / total if total > 0 else 1.0)
    turned[:, : len(center)] += center
    return np.asarray(turned, np.float64)


def _centered(Y: Any) -> Places:
    P = np.asarray(Y, np.float64)
    P = P[:, None] if P.ndim == 1 else P
    return np.asarray(P - P.mean(axis=0))


def _unit(P: Places) -> Places:
    size = float(np.linalg.norm(P))
    if size == 0:
        raise DataError("a map with all points in one place cannot be compared with another.")
    return P / size


def _as_wide(A: Places, B: Places) -> tuple[Places, Places]:
    """Both with the columns of the wider one; new ones are zero."""
    if len(A) != len(B):
        raise DataError(f"maps of the same rows are compared, got {len(A)} and {len(B)} rows.")
    width = max(A.shape[1], B.shape[1])
    return tuple(np.pad(P, ((0, 0), (0, width - P.shape[1]))) for P in (A, B))  # type: ignore[return-value]
