"""Types of arguments that several functions of this package take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

from ..input.arguments import Input, Output
from ..input.entries import Table
from ..parameters import MetricParams as MetricParams

MetricLike: TypeAlias = Any  # a name or a callable, which is validated where it is used
Items: TypeAlias = Any | Table | Sequence[Any]  # rows, distances, a table, or objects
Figure: TypeAlias = Any  # axes of matplotlib, which is optional


class Transformer(Protocol):
    """An estimator with `fit_transform`, of this library or of another."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the constructor by name."""

    def fit_transform(self, X: Input) -> Output:
        """Fit, and return the embedding of X."""
