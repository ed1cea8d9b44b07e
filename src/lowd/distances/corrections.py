"""Additive constants that make distances Euclidean (Lingoes, 1971; Cailliez, 1983)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ..backends.protocol import Array, Backend, Float64
from ..domains import NonNegative
from ..values import value
from .protocol import DistanceRelation


@value
class CorrectedDistances:
    """Distances plus an additive constant, except between a point and itself or a duplicate."""

    base: DistanceRelation
    constant: NonNegative
    squared: bool

    def among(self, ops: Backend) -> Array:
        D = self._shift(self.base.among(ops))
        np.fill_diagonal(D, 0)
        return D

    def toward(self, Q: Any, ops: Backend) -> Array:
        return self._shift(self.base.toward(Q, ops))

    def freeze(self) -> CorrectedDistances:
        return CorrectedDistances(self.base.freeze(), self.constant, self.squared)

    def take(self, rows: NDArray[np.int64]) -> CorrectedDistances:
        return CorrectedDistances(self.base.take(rows), self.constant, self.squared)

    def training_points(self) -> Any:
        return self.base.training_points()

    def _shift(self, D: Array) -> Array:
        moved = np.hypot(D, np.sqrt(2 * self.constant)) if self.squared else D + self.constant
        return np.asarray(np.where(D > 0, moved, 0), D.dtype)


def correct_distances(
    base: DistanceRelation, correction: str, ops: Backend
) -> tuple[DistanceRelation, float]:
    """Add the smallest constant that makes distances Euclidean; return it too."""
    if correction == "none":
        return base, 0.0
    D = base.among(ops).astype(np.float64)
    if correction == "lingoes":
        constant = max(0.0, -float(scipy.linalg.eigvalsh(_inner(D * D)).min()))
    else:
        n = len(D)
        top = np.hstack([np.zeros((n, n)), 2 * _inner(D * D)])
        bottom = np.hstack([-np.eye(n), -4 * _inner(D)])
        roots = scipy.linalg.eigvals(np.vstack([top, bottom]))
        real = roots.real[np.abs(roots.imag) <= 1e-9 * np.abs(roots).max(initial=0)]
        constant = max(0.0, float(real.max(initial=0)))
    return CorrectedDistances(base, constant, correction == "lingoes"), constant


def _inner(M: Float64) -> Float64:
    """-1/2 H M H."""
    rows = M.mean(0)
    return np.asarray(-0.5 * (M - rows - M.mean(1, keepdims=True) + rows.mean()))
