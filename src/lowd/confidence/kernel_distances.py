"""Distances in the feature space of a callable kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.protocol import Backend, Float64
from ..input.validation import Data
from ..relations.kernels import CallableKernel, kernel_of
from ..values import value


@value
class KernelDistances:
    """Distances that a callable kernel defines: d² = k(x, x) + k(z, z) - 2 k(x, z)."""

    kernel: CallableKernel
    squares: Float64  # k(x, x) of the training points

    @classmethod
    def of(
        cls, data: Data, kernel: str | Callable[..., Any], params: dict[str, Any] | None
    ) -> KernelDistances:
        found = kernel_of(data, kernel, gamma=None, degree=0, coef0=0, params=params)
        assert isinstance(found, CallableKernel)
        frozen = found.freeze()
        return cls(frozen, _self_products(frozen, data.items))

    def among(self, ops: Backend) -> Float64:
        return self.toward(self.kernel.items, ops)

    def toward(self, Q: Sequence[Any], ops: Backend) -> Float64:
        own = _self_products(self.kernel, Q)
        squares = own[:, None] + self.squares - 2 * self.kernel.toward(Q, ops)
        return np.sqrt(np.maximum(squares, 0))

    def freeze(self) -> KernelDistances:
        return self

    def take(self, rows: NDArray[np.int64]) -> KernelDistances:
        items = [self.kernel.items[i] for i in rows]
        return KernelDistances(replace(self.kernel, items=items), self.squares[rows])

    def training_points(self) -> Sequence[Any]:
        return self.kernel.items


def _self_products(kernel: CallableKernel, Q: Sequence[Any]) -> Float64:
    """k(x, x) of each: one call per row, since a matrix of all pairs would be more work."""
    if kernel.whole:
        rows = (Q[i : i + 1] for i in range(len(Q)))
        found = [kernel.kernel(row, row, **kernel.params)[0, 0] for row in rows]
    else:
        found = [kernel.kernel(Q[i], Q[i], **kernel.params) for i in range(len(Q))]
    return np.array(found, np.float64)
