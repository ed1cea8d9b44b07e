"""The smallest constants that make distances Euclidean (Lingoes, 1971; Cailliez, 1983)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ..backends.protocol import Array, Backend, Float64
from ..values import value
from .metrics import DistanceRelation


@value
class Corrected:
    """Adds a constant to every distance but that of a point to itself (or to its copies)."""

    base: DistanceRelation
    constant: float
    squared: bool

    def distances(self, ops: Backend) -> Array:
        D = self._shift(self.base.distances(ops))
        np.fill_diagonal(D, 0)
        return D

    def toward(self, Q: Any, ops: Backend) -> Array:
        return self._shift(self.base.toward(Q, ops))

    def kept(self) -> Corrected:
        return Corrected(self.base.kept(), self.constant, self.squared)

    def at(self, rows: NDArray[np.int64]) -> Corrected:
        return Corrected(self.base.at(rows), self.constant, self.squared)

    def everything(self) -> Any:
        return self.base.everything()

    def _shift(self, D: Array) -> Array:
        moved = np.hypot(D, np.sqrt(2 * self.constant)) if self.squared else D + self.constant
        return np.asarray(np.where(D > 0, moved, 0), D.dtype)


def corrected(
    base: DistanceRelation, correction: str, ops: Backend
) -> tuple[DistanceRelation, float]:
    """The relation with its constant; unchanged if nothing is asked for."""
    if correction == "none":
        return base, 0.0
    D = base.distances(ops).astype(np.float64)
    if correction == "lingoes":
        constant = max(0.0, -float(scipy.linalg.eigvalsh(_inner(D * D)).min()))
    else:
        n = len(D)
        top = np.hstack([np.zeros((n, n)), 2 * _inner(D * D)])
        bottom = np.hstack([-np.eye(n), -4 * _inner(D)])
        roots = scipy.linalg.eigvals(np.vstack([top, bottom]))
        real = roots.real[np.abs(roots.imag) <= 1e-9 * np.abs(roots).max(initial=0)]
        constant = max(0.0, float(real.max(initial=0)))
    return Corrected(base, constant, correction == "lingoes"), constant


def _inner(M: Float64) -> Float64:
    """-1/2 H M H."""
    rows = M.mean(0)
    return np.asarray(-0.5 * (M - rows - M.mean(1, keepdims=True) + rows.mean()))
