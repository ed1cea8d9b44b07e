"""Procrustes analysis: embeddings up to rotation, reflection, translation and scale."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..errors import DataError
from ..parameters import Reals


def disparity(A: ArrayLike, B: ArrayLike) -> float:
    """Procrustes disparity of two embeddings of the same rows: 0 identical, 1 unrelated.

    The residual sum of squares after optimal rotation, reflection, translation and scaling of
    embeddings with unit norm, as in scipy.spatial.procrustes. Embeddings may differ in width.

    >>> from lowd.evidence.procrustes import disparity
    >>> round(disparity([[0, 0], [2, 0], [0, 1]], [[5, 5], [5, 9], [3, 5]]), 12)
    0.0
    """
    P, Q = _pad_columns(_normalize(_center(A)), _normalize(_center(B)))
    fit = float(np.linalg.svd(P.T @ Q, compute_uv=False).sum())
    return max(0.0, 1 - fit * fit)


def align(Y: ArrayLike, target: ArrayLike) -> Reals:
    """Rotate, reflect, translate and scale Y to fit the target in the least-squares sense.

    The result has the dimensions of Y, or of the target if these are more.
    """
    center = np.asarray(target, np.float64).mean(axis=0)
    T, P = _pad_columns(_center(target), _center(Y))
    U, s, Vt = np.linalg.svd(P.T @ T)
    total = float((P * P).sum())
    aligned = P @ U @ Vt * (float(s.sum()) / total if total > 0 else 1.0)
    aligned[:, : len(center)] += center
    return np.asarray(aligned, np.float64)


def _center(Y: ArrayLike) -> Reals:
    P = np.asarray(Y, np.float64)
    P = P[:, None] if P.ndim == 1 else P
    return np.asarray(P - P.mean(axis=0))


def _normalize(P: Reals) -> Reals:
    norm = float(np.linalg.norm(P))
    if norm == 0:
        raise DataError("an embedding whose points all coincide cannot be compared with another.")
    return P / norm


def _pad_columns(A: Reals, B: Reals) -> tuple[Reals, Reals]:
    """Append columns of zeros to the narrower matrix."""
    if len(A) != len(B):
        raise DataError(
            f"embeddings of the same rows are compared, got {len(A)} and {len(B)} rows."
        )
    width = max(A.shape[1], B.shape[1])
    padding = [((0, 0), (0, width - P.shape[1])) for P in (A, B)]
    return np.pad(A, padding[0]), np.pad(B, padding[1])
