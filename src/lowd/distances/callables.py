"""Distances computed by a callable metric, for any kind of objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import progress
from ..backends.protocol import Array, Backend
from ..errors import DataError
from ..values import frozen_copy, value


@value
class CallableDistances:
    """A callable metric on any two objects; symmetric, so each pair is computed once."""

    items: Sequence[Any]
    metric: Callable[..., float]
    params: dict[str, Any]

    def among(self, ops: Backend) -> Array:  # noqa: ARG002 - a relation's signature
        n = len(self.items)
        D = np.zeros((n, n))
        for i in range(n):
            for j in range(i):
                D[i, j] = D[j, i] = self._compute(self.items[i], self.items[j], i, j)
            progress.report("distances", i + 1, n)
        return D

    def toward(self, Q: Sequence[Any], ops: Backend) -> Array:  # noqa: ARG002
        D = np.empty((len(Q), len(self.items)))
        for i, q in enumerate(Q):
            for j, item in enumerate(self.items):
                D[i, j] = self._compute(q, item, i, j)
            progress.report("distances", i + 1, len(Q))
        return D

    def freeze(self) -> CallableDistances:
        items = frozen_copy(self.items) if isinstance(self.items, np.ndarray) else tuple(self.items)
        return replace(self, items=items)

    def take(self, rows: NDArray[np.int64]) -> CallableDistances:
        return replace(self, items=[self.items[i] for i in rows])

    def training_points(self) -> Sequence[Any]:
        return self.items

    def _compute(self, a: Any, b: Any, i: int, j: int) -> float:
        distance = float(self.metric(a, b, **self.params))
        if not 0 <= distance < np.inf:
            raise DataError(
                f"the callable metric gave {distance} for objects {i} and {j}; "
                "a distance is finite and not negative."
            )
        return distance
