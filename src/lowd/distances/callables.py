"""Distances computed by a callable metric, for any kind of objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import progress, random
from ..backends.protocol import Array, Backend
from ..errors import DataError
from ..input.precomputed import MAX_ASYMMETRY
from ..values import frozen_copy, value

# Pairs that are computed in both directions, at least one per object: all pairs of 45 objects,
# and a share of 2/n of the calls of more.
MIN_REVERSED_PAIRS = 1000


def name_callable(function: Callable[..., Any]) -> str:
    """The name of a user's function for a message."""
    return str(getattr(function, "__qualname__", None) or repr(function))


@value
class CallableDistances:
    """A callable metric on any two objects; symmetric, so each pair is computed once."""

    items: Sequence[Any]
    metric: Callable[..., float]
    params: dict[str, Any]
    rows: NDArray[np.int64] | None = None  # the items' numbers, which errors name; None: all

    def among(self, ops: Backend) -> Array:  # noqa: ARG002 - a relation's signature
        n, number = len(self.items), self._numbers()
        D = np.zeros((n, n))
        for i in range(n):
            for j in range(i):
                D[i, j] = D[j, i] = self._compute(
                    self.items[i], self.items[j], number[i], number[j]
                )
            progress.report("distances", i + 1, n)
        self.check_symmetry(D)
        return D

    def toward(self, Q: Sequence[Any], ops: Backend) -> Array:  # noqa: ARG002
        D, number = np.empty((len(Q), len(self.items))), self._numbers()
        for i, q in enumerate(Q):
            for j, item in enumerate(self.items):
                D[i, j] = self._compute(q, item, i, number[j])
            progress.report("distances", i + 1, len(Q))
        return D

    def freeze(self) -> CallableDistances:
        items = frozen_copy(self.items) if isinstance(self.items, np.ndarray) else tuple(self.items)
        return replace(self, items=items)

    def take(self, rows: NDArray[np.int64]) -> CallableDistances:
        numbers = rows if self.rows is None else self.rows[rows]
        return replace(self, items=[self.items[i] for i in rows], rows=numbers)

    def training_points(self) -> Sequence[Any]:
        return self.items

    def check_symmetry(self, D: Array) -> None:
        """Refuse a metric that is not 0 between an object and itself, or not symmetric.

        Distances of new points are computed in the other direction, so that an asymmetric metric
        would map a training point elsewhere. A sample of the pairs is enough to notice it.
        """
        n, number = len(D), self._numbers()
        largest = MAX_ASYMMETRY * D.max(initial=0)
        name = name_callable(self.metric)
        for i in range(n):
            own = self._compute(self.items[i], self.items[i], number[i], number[i])
            if own > largest:
                raise DataError(
                    f"metric={name} gives {own:.6g} for object {number[i]} and itself, not 0; a "
                    "distance is needed: is this a similarity s? Then return sqrt(s(a, a) + "
                    "s(b, b) - 2 s(a, b))."
                )
        for i, j in _choose_pairs(n):
            reverse = self._compute(self.items[j], self.items[i], number[j], number[i])
            if abs(D[i, j] - reverse) > largest:
                raise DataError(
                    f"metric={name} is not symmetric: {D[i, j]:.6g} for objects ({number[i]}, "
                    f"{number[j]}) but {reverse:.6g} for ({number[j]}, {number[i]}); return "
                    "the mean of both directions if that is what you want."
                )

    def _numbers(self) -> Sequence[int]:
        return range(len(self.items)) if self.rows is None else self.rows.tolist()

    def _compute(self, a: object, b: object, i: int, j: int) -> float:
        try:
            given = self.metric(a, b, **self.params)
        except Exception as error:
            error.add_note(f"raised by metric={name_callable(self.metric)}, objects {i} and {j}")
            raise
        try:
            distance = float(given)
        except (TypeError, ValueError):
            raise DataError(
                f"metric={name_callable(self.metric)} gave {given!r} for objects {i} and {j}; "
                "a distance is one number."
            ) from None
        if not 0 <= distance < np.inf:
            raise DataError(
                f"metric={name_callable(self.metric)} gave {distance} for objects {i} and {j}; "
                "a distance is finite and not negative."
            )
        return distance


def _choose_pairs(n: int) -> list[tuple[int, int]]:
    """Pairs (i, j) with j < i: all of few objects, else a fixed sample."""
    if n * (n - 1) // 2 <= MIN_REVERSED_PAIRS:
        return [(i, j) for i in range(n) for j in range(i)]
    number = np.arange(max(MIN_REVERSED_PAIRS, n))
    i = (number % (n - 1) + 1).astype(np.uint64)
    j = random.bits(0, "symmetry of a metric", number) % i
    return list(zip(i.tolist(), j.tolist(), strict=True))
