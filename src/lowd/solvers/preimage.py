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
    fit: Fit, X: Any, alpha: float, how: str, ctx: Context
) -> tuple[RidgePreimage | FixedPointPreimage, float]:
    """The inverse map and its relative error on the training rows: |X - X̂|² / |X - mean|².

    With landmarks the regression is from their places only.
    """
    rows = dense(X)
    Y = np.asarray(fit.embedding, rows.dtype)
    chosen = fit.report.get("landmarks", slice(None))
    centers = np.ascontiguousarray(Y[chosen])
    spread = float(np.mean(np.var(Y.astype(np.float64), axis=0)))
    gamma = 1 / (2 * spread * Y.shape[1]) if spread > 0 else 1.0
    kernel = Kernel(centers, False, "rbf", (gamma,), centers.mean(0, dtype=np.float64))
    K = kernel.among(ctx.ops).stored.astype(np.float64)
    K[np.diag_indices_from(K)] += alpha
    weights = scipy.linalg.solve(K, rows[chosen].astype(np.float64), assume_a="pos")
    back: Any = RidgePreimage(kernel.kept(), weights.astype(rows.dtype))
    if how == "fixed_point":
        dual = np.asarray(fit.map.projection, np.float64)
        back = FixedPointPreimage(back, replace(fit.map.relation, measure="rbf"), dual, 50)
    missed = np.square(rows - back(Y, ctx.ops), dtype=np.float64).sum()
    spread_of_rows = np.square(rows - rows.mean(0), dtype=np.float64).sum()
    return back, float(missed / spread_of_rows) if spread_of_rows > 0 else 0.0
