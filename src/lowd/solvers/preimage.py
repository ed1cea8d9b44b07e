"""Back from the map to rows: pre-images of kernel PCA (Bakır et al., 2004; Mika et al., 1999)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg

from ..backends.protocol import Array, Backend, Float64
from ..base import Context, Fit
from ..maps import dense
from ..relations.kernels import Kernel
from ..values import value


@value
class RidgePreimage:
    """Kernel ridge regression from places in the map to rows."""

    kernel: Kernel
    weights: Array

    def __call__(self, Y: Array, ops: Backend) -> Array:
        return ops.project(self.kernel.toward(Y, ops), None, self.weights)


@value
class FixedPointPreimage:
    """Mika's iteration for the rbf kernel, from the ridge answer, each row on its own."""

    start: RidgePreimage
    kernel: Kernel
    dual: Float64
    steps: int

    def __call__(self, Y: Array, ops: Backend) -> Array:
        X = dense(self.kernel.X).astype(np.float64)
        weight = Y.astype(np.float64) @ self.dual.T
        weight += (1 - weight.sum(1, keepdims=True)) / len(X)
        Z = self.start(Y, ops).astype(np.float64)
        for _ in range(self.steps):
            pull = weight * self.kernel.toward(Z, ops)
            mass = pull.sum(1, keepdims=True)
            lost = (np.abs(mass) < 1e-12)[
                :, 0
            ]  # the denominator vanished: begin at the nearest row
            if lost.any():
                Z[lost] = X[np.argmax(weight[lost], axis=1)]
            Z[~lost] = (pull[~lost] / mass[~lost]) @ X
        return np.asarray(Z, Y.dtype)


def preimage(
    Y: Array, X: Any, fit: Fit, alpha: float, how: str, ctx: Context
) -> tuple[RidgePreimage | FixedPointPreimage, float]:
    """The inverse map and its relative error on the training rows: |X - X̂|² / |X - mean|²."""
    rows = dense(X)
    spread = float(np.mean(np.var(Y.astype(np.float64), axis=0)))
    gamma = 1 / (2 * spread) if spread > 0 else 1.0
    toward = Kernel(Y, False, "rbf", (gamma / Y.shape[1],), Y.mean(0, dtype=np.float64))
    K = toward.among(ctx.ops).stored.astype(np.float64)
    K[np.diag_indices_from(K)] += alpha
    weights = scipy.linalg.solve(K, rows.astype(np.float64), assume_a="pos")
    ridge = RidgePreimage(toward, weights.astype(ctx.dtype))
    back: RidgePreimage | FixedPointPreimage = ridge
    if how == "fixed_point":
        dual = np.asarray(fit.map.projection, np.float64)
        kernel = replace(fit.map.relation, measure="rbf")
        back = FixedPointPreimage(ridge, kernel, dual, 50)
    found = back(Y, ctx.ops)
    spread_of_rows = float(np.square(rows - rows.mean(0), dtype=np.float64).sum())
    error = float(np.square(rows - found, dtype=np.float64).sum())
    return back, error / spread_of_rows if spread_of_rows > 0 else 0.0
