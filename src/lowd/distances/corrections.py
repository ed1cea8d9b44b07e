"""Additive constants that make distances Euclidean (Lingoes, 1971; Cailliez, 1983)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ..backends.protocol import Array, Backend, Float64
from ..domains import Index, NonNegative, Shape
from ..input.sample import Items
from ..threads import run_interruptibly
from ..values import value
from .nearest import Nearest, detach, group_duplicates_in_matrix
from .protocol import DistanceRelation

MAX_UNINTERRUPTED_SIZE = 1000  # rows, of which the slowest decomposition takes some seconds


@value
class CorrectedDistances:
    """Distances plus an additive constant, except between a point and itself or a duplicate.

    The constant of a new point and the training point next to it vanishes with their distance, so
    that coordinates do not jump there.
    """

    base: DistanceRelation
    constant: NonNegative
    squared: bool
    # The same for duplicates; None without them.
    point_of_row: Annotated[NDArray[np.int64], Shape("n"), Index("n")] | None = None

    def among(self, ops: Backend) -> Array:
        D = self._shift(self.base.among(ops), np.array(self.constant))
        np.fill_diagonal(D, 0)
        return D

    def toward(self, Q: Items, ops: Backend) -> Array:
        D = np.asarray(self.base.toward(Q, ops))
        shifted = self._shift(D, np.array(self.constant))
        nearest = Nearest.in_matrix(D, self.point_of_row)
        row = nearest.influenced_points
        point, constant = nearest.point[row], self.constant * detach(nearest.ratio[row])
        if self.point_of_row is not None:  # all duplicates of the nearest point
            label = self.point_of_row
            at, column = np.nonzero(label[point][:, None] == label)
            row, point, constant = row[at], column, constant[at]
        shifted[row, point] = self._shift(D[row, point], constant)
        return shifted

    def freeze(self) -> CorrectedDistances:
        return replace(self, base=self.base.freeze())

    def take(self, rows: NDArray[np.int64]) -> CorrectedDistances:
        labels = self.point_of_row
        labels = None if labels is None else np.unique(labels[rows], return_inverse=True)[1]
        return replace(self, base=self.base.take(rows), point_of_row=labels)

    def training_points(self) -> Items:
        return self.base.training_points()

    def _shift(self, D: Array, constant: Float64) -> Array:
        moved = np.hypot(D, np.sqrt(2 * constant)) if self.squared else D + constant
        return np.asarray(np.where(D > 0, moved, 0), D.dtype)


def correct_distances(
    base: DistanceRelation, correction: str, ops: Backend
) -> tuple[DistanceRelation, float]:
    """Add the smallest constant that makes distances Euclidean; return it too."""
    if correction == "none":
        return base, 0.0
    D = base.among(ops).astype(np.float64)
    if correction == "lingoes":
        values = _decompose(np.linalg.eigvalsh, _inner(D * D))
        constant = max(0.0, -float(values.min()))
    else:
        n = len(D)
        upper = np.hstack([np.zeros((n, n)), 2 * _inner(D * D)])
        lower = np.hstack([-np.eye(n), -4 * _inner(D)])
        roots = _decompose(np.linalg.eigvals, np.vstack([upper, lower]))
        real = roots.real[np.abs(roots.imag) <= 1e-9 * np.abs(roots).max(initial=0)]
        constant = max(0.0, float(real.max(initial=0)))
    corrected = CorrectedDistances(
        base, constant, correction == "lingoes", group_duplicates_in_matrix(D)
    )
    return corrected, constant


def _decompose(solve: Callable[[Float64], NDArray[Any]], A: Float64) -> NDArray[Any]:
    """Eigenvalues; of many rows so that Ctrl-C is raised at once."""
    if len(A) <= MAX_UNINTERRUPTED_SIZE:
        return solve(A)
    return run_interruptibly(lambda: solve(A))


def _inner(M: Float64) -> Float64:
    """-1/2 H M H."""
    rows = M.mean(0)
    return np.asarray(-0.5 * (M - rows - M.mean(1, keepdims=True) + rows.mean()))
