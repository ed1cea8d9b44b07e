"""Mixed tables of numbers, categories and missing values, with the Gower distance (1971)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import allocate, chunks
from ..errors import DataError, ParameterError
from ..input.entries import Table
from ..parameters import Indices, Metric, MetricParams, Reals, state
from .matrices import hash_rows
from .space import Space, check_metric, space_of


@space_of.register(Table)
def _(
    X: Table,
    metric: Metric = "gower",
    params: MetricParams = None,
) -> Space:
    if callable(metric):
        raise ParameterError("a table needs metric='gower', not a callable.", "metric")
    check_metric(metric, params)
    given, d = (params or {}).get("weights"), len(X.names)
    weights = np.ones(d) if given is None else np.asarray(given, np.float64)
    if weights.shape != (d,) or not (weights >= 0).all() or not weights.any():
        raise ParameterError(
            f"metric_params['weights'] needs {d} numbers >= 0, not all 0, got {given!r}.",
            "metric_params",
        )
    known = ~np.isnan(X.numbers)
    most = np.where(known, X.numbers, -np.inf).max(0, initial=-np.inf)
    least = np.where(known, X.numbers, np.inf).min(0, initial=np.inf)
    is_number = np.array([kind != "category" for kind in X.kinds])
    return Tables(
        X.numbers, X.codes, weights[is_number], weights[~is_number], np.maximum(most - least, 0)
    )


class Tables(Space):
    """Rows of a table; distances are means of dissimilarities of the columns, from 0 to 1.

    That of a number is the difference as a share of the range in the training rows, of a category
    whether it differs. A column counts where both rows have a value.
    """

    numbers: Reals = state("n_points n_numbers")  # NaN where one is missing
    codes: Indices = state("n_points n_categories")  # -1 where one is missing, -2 for a new one
    number_weights: Reals = state("n_numbers")
    category_weights: Reals = state("n_categories")
    ranges: Reals = state("n_numbers")

    def __init__(
        self,
        numbers: Reals,
        codes: Indices,
        number_weights: Reals,
        category_weights: Reals,
        ranges: Reals,
    ) -> None:
        self.numbers, self.codes, self.ranges = numbers, codes, ranges
        self.number_weights, self.category_weights = number_weights, category_weights

    @property
    def n(self) -> int:
        return len(self.numbers)

    def distances(self, points: Indices) -> Reals:
        return self._measure(self.numbers[points], self.codes[points])

    def toward(self, Q: Table) -> Reals:
        return self._measure(Q.numbers, Q.codes)

    def _measure(self, numbers: Reals, codes: Indices) -> Reals:
        what = f"the distances of {len(numbers)} to {self.n} rows"
        out = allocate((len(numbers), self.n), np.float64, what, "use landmarks")
        for some in chunks(len(numbers), self.n):
            total, weight = np.zeros(out[some].shape), np.zeros(out[some].shape)
            for c, w in enumerate(self.number_weights):
                gap = np.abs(numbers[some, c, None] - self.numbers[:, c])
                span = self.ranges[c]
                gap = np.minimum(gap / span, 1) if span > 0 else np.sign(gap)
                known = ~np.isnan(gap)
                total += w * np.where(known, gap, 0)
                weight += w * known
            for c, w in enumerate(self.category_weights):
                a, b = codes[some, c, None], self.codes[:, c]
                known = (a != -1) & (b != -1)
                total += w * (known & (a != b))
                weight += w * known
            if (weight == 0).any():
                i, j = map(int, np.argwhere(weight == 0)[0])
                raise DataError(
                    f"rows {some.start + i} and {j} share no column with known values; fill or "
                    "drop one."
                )
            np.divide(total, weight, out=out[some])
        return out

    def take(self, points: Indices) -> Tables:
        parts = self.numbers[points], self.codes[points]
        return Tables(*parts, self.number_weights, self.category_weights, self.ranges)

    def fingerprint(self) -> Indices:
        numbers = np.where(np.isnan(self.numbers), np.inf, self.numbers)
        rows: Any = np.hstack([numbers, self.codes.astype(np.float64)])
        return hash_rows(rows)
