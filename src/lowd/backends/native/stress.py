"""Native operations of multidimensional scaling: stress, SMACOF and isotonic regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ... import _native
from ...progress import step
from ..protocol import Array, Float64, GuttmanStep, StressObjective, StressPlan, Ties
from ..reference.stress import StressOperations
from .arrays import as_float64, as_rows


@dataclass(frozen=True)
class NativeMetricStressPlan:
    """Dissimilarities and weights, read once per step."""

    D: Array
    W: Array | None
    threads: int

    def step(self, Y: Float64) -> GuttmanStep:
        BY = np.empty(Y.shape)
        return GuttmanStep(*_native.guttman(self.D, self.W, as_float64(Y), BY, self.threads), BY)

    def disparities(self, Y: Float64) -> None:  # noqa: ARG002 - the protocol's signature
        return None


@dataclass(frozen=True)
class NativeOrdinalStressPlan:
    """Pairs in the order of D; their distances and disparities are computed anew in every step."""

    D: Array
    regression: _native.MonotoneRegression
    threads: int

    def step(self, Y: Float64) -> GuttmanStep:
        BY = np.empty(Y.shape)
        return GuttmanStep(*self.regression.step(as_float64(Y), BY, self.threads), BY)

    def disparities(self, Y: Float64) -> tuple[Float64, Float64]:
        pairs, disparities = self.regression.disparity_function(as_float64(Y), self.threads)
        if not len(pairs):  # of one row
            return np.zeros(1), np.zeros(1)
        return self.D[pairs[:, 0], pairs[:, 1]].astype(np.float64), disparities.copy()


@dataclass(frozen=True)
class NativeStressObjective:
    """Stress of an embedding, and new points of least stress."""

    ties: Ties | None
    threads: int

    def plan(self, D: Array, W: Array | None) -> StressPlan:
        D = as_rows(D, D.dtype)
        W = None if W is None else as_rows(W, D.dtype)
        if self.ties is None:
            return NativeMetricStressPlan(D, W, self.threads)
        given, poll = (D, W, self.ties == "primary"), step("sorting dissimilarities")
        regression = _native.MonotoneRegression(*given, self.threads, poll)
        return NativeOrdinalStressPlan(D, regression, self.threads)

    def optimize_new_points(
        self, T: Array, W: Array | None, Y: Float64, start: Float64, max_iter: int, tol: float
    ) -> tuple[Float64, Float64]:
        new, stress = np.array(start, np.float64), np.empty(len(start))
        weights = None if W is None else as_float64(W)
        given, poll = (as_float64(T), weights, Y, max_iter, tol), step("new points")
        _native.multilaterate(*given, new, stress, self.threads, poll)
        return new, stress


class NativeStress(StressOperations):
    """Metric and ordinal stress."""

    threads: int

    def stress_objective(self, ties: Ties | None = None) -> StressObjective:
        return NativeStressObjective(ties, self.threads)
