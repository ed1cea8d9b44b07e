"""Inverse maps: kernel pre-images (Bakır et al., 2004; Mika et al., 1999) and barycenters."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
import scipy.linalg
from scipy.sparse import csr_array, issparse

from .. import random
from ..backends.protocol import Array, Backend, Float64, Ragged, Rows
from ..core.fit import Context, Fit
from ..distances.metrics import Distances
from ..domains import AtLeast, AtMost, Facts, Renamed, Shape
from ..errors import UnsupportedError
from ..graph.neighbor_graph import ConnectedGraph
from ..graph.search import find_nearest
from ..input.row_order import order_rows
from ..input.sample import Items
from ..maps.centered import CenteredMap, GeodesicMap
from ..maps.linear import to_dense
from ..maps.local import BarycentricMap
from ..relations.kernels import Kernel, KernelRelation
from ..values import frozen_copy, value
from .regression import RegressionMap
from .thresholds import LEFT_OUT_SAMPLE, PREIMAGE_REGULARIZATION, PREIMAGE_STEPS


@value
class RidgePreimage:
    """Kernel ridge regression from the embedding to rows."""

    kernel: Kernel
    weights: Annotated[Array, Shape("n", "k")]

    def __call__(self, Y: Array, ops: Backend) -> Array:
        return ops.project(self.kernel.toward(Y, ops), None, self.weights)


@value
class FixedPointPreimage:
    """Mika's iteration for the rbf kernel, from the ridge answer, each row on its own."""

    start: Annotated[RidgePreimage, Renamed(n="centers")]
    kernel: Annotated[Kernel, Renamed(d="k")]
    dual: Annotated[Float64, Shape("n", "d")]
    steps: Annotated[int, AtLeast(0), AtMost(PREIMAGE_STEPS)]

    def state_facts(self, facts: Facts) -> None:
        facts.require(self.kernel.measure == "rbf", "kernel", "an rbf kernel")

    def __call__(self, Y: Array, ops: Backend) -> Array:
        X = to_dense(self.kernel.X).astype(np.float64)
        weight = Y.astype(np.float64) @ self.dual.T
        weight += (1 - weight.sum(1, keepdims=True)) / len(X)
        Z = self.start(Y, ops).astype(np.float64)
        for _ in range(self.steps):
            weights = weight * self.kernel.toward(Z, ops)
            total = weights.sum(1, keepdims=True)
            # Where the denominator vanished, begin at the nearest row.
            lost = (np.abs(total) < 1e-12)[:, 0]
            if lost.any():
                Z[lost] = X[np.argmax(weight[lost], axis=1)]
            Z[~lost] = (weights[~lost] / total[~lost]) @ X
        return np.asarray(Z, Y.dtype)


def fit_preimage(
    fit: Fit, kernel: KernelRelation, X: Rows, alpha: float, how: str, ctx: Context
) -> tuple[RidgePreimage | FixedPointPreimage, float]:
    """The inverse map and its relative error on the training rows: |X - X̂|² / |X - mean|².

    With landmarks the regression is from their coordinates only.
    """
    _check_preimage(fit, kernel, how)
    rows = to_dense(X)
    Y = np.asarray(fit.embedding, rows.dtype)
    chosen = fit.report.get("landmarks", slice(None))
    centers = np.ascontiguousarray(Y[chosen])
    spread = float(np.mean(np.var(Y.astype(np.float64), axis=0)))
    gamma = 1 / (2 * spread * Y.shape[1]) if spread > 0 else 1.0
    rbf = Kernel(centers, False, "rbf", (gamma,), centers.mean(0, dtype=np.float64))
    K = rbf.among(ctx.ops).to_dense(ctx.ops).stored.astype(np.float64)
    K[np.diag_indices_from(K)] += alpha
    weights = scipy.linalg.solve(K, rows[chosen].astype(np.float64), assume_a="pos")
    ridge = RidgePreimage(rbf.freeze(), weights.astype(rows.dtype))
    back: RidgePreimage | FixedPointPreimage = ridge
    if how == "fixed_point":
        assert isinstance(fit.map, CenteredMap)
        assert isinstance(fit.map.relation, Kernel)
        dual = np.asarray(fit.map.projection, np.float64)
        back = FixedPointPreimage(
            ridge, replace(fit.map.relation, measure="rbf"), dual, PREIMAGE_STEPS
        )
    missed = np.square(rows - back(Y, ctx.ops), dtype=np.float64).sum()
    spread_of_rows = np.square(rows - rows.mean(0), dtype=np.float64).sum()
    return back, float(missed / spread_of_rows) if spread_of_rows > 0 else 0.0


def _check_preimage(fit: Fit, kernel: KernelRelation, how: str) -> None:
    """Refuse what has no rows to go back to, and fixed points of other kernels than rbf."""
    if not isinstance(kernel, Kernel):
        raise UnsupportedError(
            "fit_inverse_transform needs rows of numbers and a named kernel; a precomputed or "
            "callable kernel has no rows to go back to."
        )
    if how == "fixed_point" and kernel.measure != "rbf":
        raise UnsupportedError("preimage='fixed_point' needs kernel='rbf'; use 'ridge'.")
    if how == "fixed_point" and "landmarks" in fit.report:
        raise UnsupportedError("preimage='fixed_point' needs every row; use 'ridge'.")


def with_barycentric_inverse(
    fit: Fit, Y: Float64, graph: ConnectedGraph, items: Items, k: int, ctx: Context
) -> Fit:
    """A fit with the barycentric inverse from coordinates Y, where the points are dense rows."""
    assert isinstance(fit.map, GeodesicMap | RegressionMap)
    base = fit.map.base
    if not isinstance(base, Distances) or issparse(items):
        return fit
    plain = base.preparation == "as they are"
    rows = base.X if plain else frozen_copy(items[graph.first_row])
    inverse, error = fit_barycentric_inverse(rows, Y.astype(ctx.dtype), k, ctx)
    return fit._replace(inverse=inverse).with_report(reconstruction_error=error)


def fit_barycentric_inverse(
    rows: Array, Y: Array, k: int, ctx: Context
) -> tuple[BarycentricMap, float]:
    """Barycentric inverse: weights that rebuild a point from its k nearest in the embedding.

    Comes with the relative error on training points that are left out one at a time.
    """
    base = Distances(Y, "as they are", "euclidean", (1.0,), Y.mean(0, dtype=np.float64))
    back = BarycentricMap(base, rows, min(k, len(Y)), None, PREIMAGE_REGULARIZATION)
    k = min(k, len(Y) - 1)
    if k == 0:
        return back, 0.0
    chosen = np.arange(len(Y))
    if len(Y) > LEFT_OUT_SAMPLE:
        chosen = order_rows(rows)[random.subset(ctx.seed, "left out", len(Y), LEFT_OUT_SAMPLE)]
    found = find_nearest(base, Y[chosen], k + 1, ctx.ops).indices
    other = found != chosen[:, None]
    other[other.all(1), -1] = False
    near = Ragged(np.arange(0, len(chosen) * k + 1, k), found[other])
    weights = ctx.ops.barycentric_weights(Y[chosen], Y, near, PREIMAGE_REGULARIZATION)
    # Of the rows that are used: scipy's product would first make all of them float64.
    used, at = np.unique(near.indices, return_inverse=True)
    rebuilt = csr_array((weights, at, near.indptr), (len(chosen), len(used))) @ rows[used]
    missed = np.square(rows[chosen] - rebuilt, dtype=np.float64).sum()
    spread = np.square(rows[chosen] - rows.mean(0, dtype=np.float64), dtype=np.float64).sum()
    return back, float(missed / spread) if spread > 0 else 0.0
