"""Gower distance of mixed tables: numbers, categories and missing values."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..backends.protocol import Array, Backend, Float64
from ..domains import AtLeast, Facts, MayBeNonfinite, Renamed, Shape
from ..errors import DataError, ParameterError
from ..input.tables import Table
from ..values import value


@value
class GowerDistances:
    """Gower distances (1971) of a mixed table: means of dissimilarities per column, in [0, 1]."""

    table: Annotated[Table, Renamed(rows="n")]
    weights: Annotated[Float64, Shape("d"), AtLeast(0)]
    ranges: Annotated[Float64, Shape("number columns", may_be_empty=True), MayBeNonfinite()]

    @classmethod
    def of(cls, table: Table, weights: ArrayLike | None) -> GowerDistances:
        w = np.ones(len(table.names)) if weights is None else np.asarray(weights, np.float64)
        if w.shape != (len(table.names),) or not (w >= 0).all() or not w.any():
            raise ParameterError(
                f"metric_params['weights'] needs {len(table.names)} numbers >= 0, not all 0, "
                f"got {weights!r}."
            )
        held = np.where(np.isnan(table.numbers), -np.inf, table.numbers).max(0, initial=-np.inf)
        least = np.where(np.isnan(table.numbers), np.inf, table.numbers).min(0, initial=np.inf)
        return cls(table, w, np.maximum(held - least, 0))

    def among(self, ops: Backend) -> Array:
        return self.toward(self.table, ops)

    def toward(self, Q: Table, ops: Backend) -> Array:  # noqa: ARG002 - a relation's signature
        total, weight = np.zeros((len(Q), len(self.table))), np.zeros((len(Q), len(self.table)))
        is_number = np.array([kind != "category" for kind in self.table.kinds])
        for c, w in enumerate(self.weights[is_number]):
            gap = np.abs(Q.numbers[:, c, None] - self.table.numbers[:, c])
            gap = np.minimum(gap / self.ranges[c], 1) if self.ranges[c] > 0 else np.sign(gap)
            known = ~np.isnan(gap)
            total += w * np.where(known, gap, 0)
            weight += w * known
        for c, w in enumerate(self.weights[~is_number]):
            a, b = Q.codes[:, c, None], self.table.codes[:, c]
            known = (a != -1) & (b != -1)
            total += w * (known & (a != b))
            weight += w * known
        if (weight == 0).any():
            i, j = map(int, np.argwhere(weight == 0)[0])
            raise DataError(
                f"rows {i} and {j} share no column with known values; fill or drop one."
            )
        return np.asarray(total / weight)

    def freeze(self) -> GowerDistances:
        return self

    def take(self, rows: NDArray[np.int64]) -> GowerDistances:
        return replace(self, table=self.table.take(rows))

    def training_points(self) -> Table:
        return self.table

    def state_facts(self, facts: Facts) -> None:
        facts.set("input", "table")
        facts.set("metric", "gower")
        facts.require(len(self.table) >= 1, "table", "of at least one row")
        facts.require(bool(self.weights.any()), "weights", "positive for at least one column")
