"""Projection of rows for pruning: leading principal directions in float32, with an error bound."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ...threads import single_threaded_blas
from ..protocol import Array, Float64
from .linear_algebra import NativeLinearAlgebra

BASIS_SAMPLE = 4096  # rows that the principal directions are computed from
FLOAT32_ROUNDING = 2.0**-24
MAX_PLAIN_FEATURES = 4  # up to here a change of basis saves nothing
MAX_FULL_BASIS_FEATURES = 128  # up to here all directions are kept, beyond at most twice as many
MAX_SCATTER_FEATURES = 1024  # up to here directions come from the scatter matrix of features,
# beyond from the Gram matrix of as many rows
KEPT_VARIANCE = 0.975  # share of the variance in the directions that are kept, where not all are


@dataclass(frozen=True)
class PruningProjection:
    """Rows centered, scaled and turned to the leading principal directions, in float32.

    Partial sums over the leading directions bound a distance from below, which prunes candidates.
    """

    center: Float64
    scale: float
    basis: Float64 | None  # orthonormal columns; None: the features as they are
    single: bool  # float32 products are safe

    @classmethod
    def fit(cls, X: Array, center: Float64 | None, ops: NativeLinearAlgebra) -> PruningProjection:
        center, exponent, scale = center_and_scale(X, center, ops)
        rows = (X[:: -(-len(X) // BASIS_SAMPLE)].astype(np.float64) - center) * scale
        single = X.dtype == np.float32 and abs(exponent) < 90
        return cls(center, scale, _basis(rows, ops), single)

    @cached_property
    def error(self) -> float:
        """A bound on the error of a projected row, relative to the length of the centered row."""
        if self.basis is None:
            return 1.01 * FLOAT32_ROUNDING
        d, m = self.basis.shape
        V = self._directions
        skew = float(np.linalg.norm(V.T.astype(np.float64) @ V - np.eye(m)))
        # Each sum of d products is made of runs of at most 128.
        terms = min(d, 128) + d / 128 + 12 if self.single else 1 + d * 2.0**-29
        return float(skew + terms * FLOAT32_ROUNDING * np.sqrt(m))

    @cached_property
    def _directions(self) -> Array:
        assert self.basis is not None
        return self.basis.astype(np.float32) if self.single else self.basis

    def apply(self, X: Array, ops: NativeLinearAlgebra) -> NDArray[np.float32]:
        if self.basis is not None and self.single:
            projected = ops.project(X, self.center, self._directions * np.float32(self.scale))
            return cast(NDArray[np.float32], projected)
        m = X.shape[1] if self.basis is None else self.basis.shape[1]
        Z = np.empty((len(X), m), np.float32)
        W = None if self.basis is None else self._directions * self.scale
        for i in range(0, len(X), 4096):  # centered in float64 before it is rounded
            part = X[i : i + 4096].astype(np.float64)
            if W is None:
                Z[i : i + 4096] = (part - self.center) * self.scale
            else:
                Z[i : i + 4096] = ops.project(part, self.center, W)
        return Z

    def in_range(self, Q: Array) -> NDArray[np.bool_]:
        """Which rows have squares that float32 can hold."""
        largest = np.abs(Q).max(1, initial=0).astype(np.float64)
        return np.asarray(largest < 2.0**45 / self.scale)


def center_and_scale(
    X: Array, center: Float64 | None, ops: NativeLinearAlgebra
) -> tuple[Float64, int, float]:
    """The center of the rows, the size of their entries as a power of two, and a factor.

    Centered rows times the factor are of a size whose squares float32 can hold.
    """
    statistics = ops.column_statistics(X)
    center = statistics.mean if center is None else center
    if not np.isfinite(center).all():
        center = np.zeros(X.shape[1])
    largest = statistics.max_abs + float(np.abs(center).max(initial=0))
    exponent = int(np.frexp(largest)[1]) if 0 < largest < np.inf else 0
    return center, exponent, float(2.0 ** np.clip(30 - exponent, -970, 970))


def _basis(rows: Float64, ops: NativeLinearAlgebra) -> Float64 | None:
    """Leading principal directions, where they hold enough variance for pruning."""
    s, d = rows.shape
    if d <= MAX_PLAIN_FEATURES or not np.isfinite(rows).all():
        return None
    most = d if d <= MAX_FULL_BASIS_FEATURES else min(d, 2 * MAX_FULL_BASIS_FEATURES)
    if d <= MAX_SCATTER_FEATURES:
        scatter = ops.scatter(rows, np.zeros(d), None).moments().scatter
        values, V = _leading_eigenpairs(scatter, most)
        total = float((rows**2).sum())
    else:  # from the Gram matrix of fewer rows
        rows = rows[:: -(-s // MAX_SCATTER_FEATURES)]
        total = float((rows**2).sum())
        values, U = _leading_eigenpairs(rows @ rows.T, min(most, len(rows)))
        keep = values > 1e-6 * max(values[0], 0)
        values, V = values[keep], np.linalg.qr(rows.T @ U[:, keep])[0]
    if not total > 0 or not len(values):
        return None
    share = np.cumsum(values) / total
    if d <= MAX_FULL_BASIS_FEATURES:
        return V if share[d // 4] > 0.4 else None
    enough = int(np.searchsorted(share, KEPT_VARIANCE)) + 1
    m = min(V.shape[1], -(-enough // 16) * 16)
    return V[:, :m] if share[m - 1] > 0.5 else None


@single_threaded_blas()
def _leading_eigenpairs(A: Float64, k: int) -> tuple[Float64, Float64]:
    """The k largest eigenpairs of a symmetric matrix, largest first."""
    n = len(A)
    if 2 * k > n:  # all vectors come sooner than some
        values, V = np.linalg.eigh(A)
    else:
        values, V = scipy.linalg.eigh(A, subset_by_index=(n - k, n - 1))
    return values[::-1][:k], V[:, ::-1][:, :k]
