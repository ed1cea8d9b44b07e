"""Types of arguments that several functions of this package take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from ..backends.protocol import Rows
from ..input.tables import Table

Items: TypeAlias = Rows | Table | Sequence[Any]  # rows, distances, a table, or objects
MetricLike: TypeAlias = str | Callable[..., Any]  # before its name is validated
MetricParams: TypeAlias = dict[str, Any] | None  # keyword arguments of a metric


class Transformer(Protocol):
    """An estimator with `fit_transform`, of this library or of another."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the constructor by name."""

    def fit_transform(self, X: Any) -> Any:
        """Fit, and return the embedding of X."""
