"""What a fit may use and what it returns: the context, the map and the fitted result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..backends.protocol import Array, Backend, ColumnStatistics
from ..input.sample import Sample
from ..maps.protocol import Map as Map


class Fit(NamedTuple):
    """What every method returns. There is no fit without a map.

    `embedding` is None for linear methods: theirs is the map of the training points. Entries of
    `report` become learned attributes with a trailing underscore.
    """

    embedding: Array | None
    map: Map
    report: dict[str, Any]
    inverse: Map | None = None
    sample: Sample | None = None  # rows that a pass over blocks has kept; else all are in memory

    def with_report(self, **more: Any) -> Fit:
        """The same with more learned attributes."""
        return self._replace(report={**self.report, **more})


@dataclass(frozen=True)
class Context:
    """What a fit may use besides its data."""

    ops: Backend
    seed: int
    dtype: np.dtype[Any]
    statistics: ColumnStatistics | None = None
