"""Vectors of an iteration, kept where the backend computes.

On the host they are arrays. Elsewhere they are tensors that have the same operators, and between
`hold` and `fetch` an iteration uses nothing else of them: + - * / @, slices, `.T`, `.sum(0)`,
`.mean(0)`, `.shape` and lists of row numbers that are held too.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .arrays import Array, Float64

Entries = TypeVar("Entries", bound=np.generic)


class HeldVectors(Protocol):
    """Where the vectors of an iteration are."""

    def hold(self, A: NDArray[Entries]) -> NDArray[Entries]:
        """The same vectors, numbers or row numbers there."""

    def fetch(self, A: NDArray[Entries]) -> NDArray[Entries]:
        """What is held, as an array on the host."""

    def empty(self, n_rows: int, n_columns: int) -> Float64:
        """Room for vectors, one per column."""


class HostVectors:
    """Vectors on the host: nothing is copied."""

    def hold(self, A: NDArray[Entries]) -> NDArray[Entries]:
        return A

    def fetch(self, A: NDArray[Entries]) -> NDArray[Entries]:
        return A

    def empty(self, n_rows: int, n_columns: int) -> Float64:
        return np.empty((n_rows, n_columns))


class Terms(NamedTuple):
    """alpha A V + beta V + gamma U: a product A V, or a step of a three-term recurrence."""

    alpha: float = 1.0
    beta: float = 0.0
    gamma: float = 0.0
    U: Float64 | None = None

    def add_to(self, product: Float64, V: Array) -> Float64:
        """The sum of the terms, in place of the product A V."""
        if self.alpha != 1:
            product *= self.alpha
        if self.beta:
            product += self.beta * V
        if self.U is not None:
            product += self.gamma * self.U
        return product


PRODUCT = Terms()


class MatrixPlan(HeldVectors, Protocol):
    """A matrix where the backend computes, for products with blocks of held vectors."""

    def matmul(self, V: Float64, terms: Terms = PRODUCT) -> Float64:
        """The sum of terms with A V, a product or a step of a recurrence."""


def multiply(plan: MatrixPlan, V: NDArray[Any]) -> Float64:
    """The product with vectors on the host."""
    return plan.fetch(plan.matmul(plan.hold(V)))
