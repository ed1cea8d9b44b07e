"""Preprocessing steps: what each has learned, how it applies to new rows, and its inverse.

Every step works row by row, so a new row becomes the same alone or in any batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ..backends.protocol import DType, Float64, Rows
from ..domains import Above, Facts, Index, Positive, Shape
from ..errors import DataError
from ..values import value

MIN_RELATIVE_SPREAD = 1e-13  # of a column's mean: below, its standard deviation is rounding

STEP_BLOCK_ENTRIES = 2**22  # squared at a time: 32 MiB


class Step(Protocol):
    """A step of preprocessing, learned from the training rows."""

    is_invertible: ClassVar[bool]

    def apply(self, X: Rows) -> Rows:
        """Rows after this step."""

    def invert(self, X: Float64) -> Float64:
        """Rows before it, as far as they are determined."""


@value
class SelectColumns:
    """Leave columns out; the inverse gives these their means."""

    kept: Annotated[NDArray[np.int64], Shape("kept"), Index("d")]
    means: Annotated[Float64, Shape("d")]  # of all columns

    is_invertible: ClassVar[bool] = True

    @classmethod
    def learn(cls, X: Rows, dropped: set[int]) -> SelectColumns:
        kept = np.array([j for j in range(X.shape[1]) if j not in dropped], np.int64)
        with np.errstate(invalid="ignore"):
            means = _means(X)
        return cls(kept, np.where(np.isfinite(means), means, 0.0))

    def apply(self, X: Rows) -> Rows:
        return X[:, self.kept]

    def invert(self, X: Float64) -> Float64:
        whole = np.tile(self.means, (len(X), 1))
        whole[:, self.kept] = X
        return whole


@value
class FillMissing:
    """Replace NaN by the mean or the median of the training column."""

    values: Annotated[Float64, Shape("kept")]

    is_invertible: ClassVar[bool] = True

    @classmethod
    def learn(cls, X: Float64, by: str) -> FillMissing:
        known = ~np.isnan(X)
        if not known.any(0).all():
            column = int(np.argmin(known.any(0)))
            raise DataError(f"column {column} has no value at all; leave it out (drop=[{column}]).")
        values = np.nanmedian(X, 0) if by == "median" else np.nanmean(X, 0)
        return cls(np.asarray(values, np.float64))

    def apply(self, X: Rows) -> Rows:
        return np.where(np.isnan(X), self.values, X)

    def invert(self, X: Float64) -> Float64:
        return X


@value
class NormalizeTotals:
    """Divide each row of counts by its total (library size), times the median training total."""

    total: Positive

    is_invertible: ClassVar[bool] = False  # the totals are gone

    @classmethod
    def learn(cls, X: Rows) -> NormalizeTotals:
        totals = _row_totals(X)
        positive = totals[totals > 0]
        if not len(positive):
            raise DataError("normalize=True: no row has a positive total; are these counts?")
        return cls(float(np.median(positive)))

    def apply(self, X: Rows) -> Rows:
        totals = _row_totals(X)
        factor = np.divide(self.total, totals, out=np.ones(len(totals)), where=totals > 0)
        return _scale_sparse_rows(X, factor) if issparse(X) else X * factor[:, None]

    def invert(self, X: Float64) -> Float64:
        raise NotImplementedError


@value
class LogColumns:
    """log(1 + x / unit) of some columns, or of all; x below 0 counts as 0."""

    columns: Annotated[NDArray[np.int64], Shape("logged", may_be_empty=True), Index("kept")] | None
    units: Annotated[Float64, Shape("logged", may_be_empty=True), Above(0)]

    is_invertible: ClassVar[bool] = True

    @classmethod
    def learn(cls, X: Rows, columns: NDArray[np.int64] | None) -> LogColumns:
        """The unit of a column is the median of its positive entries; of counts, 1.

        A table's units are arbitrary, and the logarithm must not depend on them.
        """
        if columns is None:
            return cls(None, np.ones(1))
        part = np.asarray(X[:, columns].toarray() if issparse(X) else X[:, columns], np.float64)
        units = [float(np.median(x[x > 0])) if (x > 0).any() else 1.0 for x in part.T]
        return cls(columns, np.array(units))

    def state_facts(self, facts: Facts) -> None:
        if self.columns is None:
            facts.set("logged", 1)

    def apply(self, X: Rows) -> Rows:
        if issparse(X):
            if self.columns is not None:
                X = X.toarray()
            else:
                logs = np.log1p(np.maximum(X.data.astype(np.float64), 0))
                return csr_array((logs, X.indices, X.indptr), shape=X.shape)
        Z = np.array(X, np.float64)
        where = slice(None) if self.columns is None else self.columns
        Z[:, where] = np.log1p(np.maximum(Z[:, where], 0) / self.units)
        return Z

    def invert(self, X: Float64) -> Float64:
        Z = np.array(X, np.float64)
        where = slice(None) if self.columns is None else self.columns
        Z[:, where] = np.expm1(Z[:, where]) * self.units
        return Z


@value
class StandardizeColumns:
    """Subtract the mean (of dense rows) and divide by the standard deviation of each column."""

    means: Annotated[Float64, Shape("kept")] | None
    deviations: Annotated[Float64, Shape("kept"), Above(0)]

    is_invertible: ClassVar[bool] = True

    @classmethod
    def learn(cls, X: Rows) -> StandardizeColumns:
        means = _means(X)
        deviations = np.sqrt(_variances(X, means))
        varies = deviations > MIN_RELATIVE_SPREAD * np.abs(means)
        deviations = np.where(varies, deviations, 1.0)
        return cls(None if issparse(X) else means, deviations)

    def apply(self, X: Rows) -> Rows:
        if self.means is not None:
            return ((X.toarray() if issparse(X) else X) - self.means) / self.deviations
        if not issparse(X):
            return X / self.deviations
        scaled = X.data / self.deviations[X.indices]
        return csr_array((scaled, X.indices, X.indptr), shape=X.shape)

    def invert(self, X: Float64) -> Float64:
        scaled = X * self.deviations
        return np.asarray(scaled if self.means is None else scaled + self.means)


def learn_steps(
    X: Rows,
    *,
    drop: Sequence[int] = (),
    impute: str | None = None,
    normalize: bool = False,
    log1p: bool | Sequence[int] = False,
    scale: bool = False,
) -> tuple[Step, ...]:
    """Each step from the rows as the steps before it leave them; columns are those of X."""
    steps: list[Step] = []
    kept = [j for j in range(X.shape[1]) if j not in set(drop)]
    if not kept:
        raise DataError("Pipeline(drop=...) leaves no column.")
    if len(kept) < X.shape[1]:
        steps.append(SelectColumns.learn(X, set(drop)))
        X = steps[-1].apply(X)
    if impute is not None:
        steps.append(FillMissing.learn(X, impute))
        X = steps[-1].apply(X)
    if normalize:
        steps.append(NormalizeTotals.learn(X))
        X = steps[-1].apply(X)
    if log1p is True:
        steps.append(LogColumns.learn(X, None))
        X = steps[-1].apply(X)
    elif log1p:
        index = {j: position for position, j in enumerate(kept)}
        columns = np.array([index[j] for j in log1p if j in index], np.int64)
        steps.append(LogColumns.learn(X, columns))
        X = steps[-1].apply(X)
    if scale:
        steps.append(StandardizeColumns.learn(X))
    return tuple(steps)


def apply_steps(steps: Sequence[Step], X: Rows, dtype: DType) -> Rows:
    """The rows after all steps, in this type."""
    for step in steps:
        X = step.apply(X)
    return X.astype(dtype) if issparse(X) else np.ascontiguousarray(X, dtype)


def _means(X: Rows) -> Float64:
    if issparse(X):
        return np.asarray(X.sum(0, dtype=np.float64).ravel() / X.shape[0])
    return np.asarray(X.mean(0, dtype=np.float64))


def _variances(X: Rows, means: Float64) -> Float64:
    """Around the mean, so that an offset does not take the digits."""
    n, d = X.shape
    if not issparse(X):
        total = np.zeros(d)
        step = max(1, STEP_BLOCK_ENTRIES // max(d, 1))
        for i in range(0, n, step):
            total += ((X[i : i + step].astype(np.float64) - means) ** 2).sum(0)
        return np.asarray(total / n)
    stored = np.bincount(X.indices, minlength=d)
    gaps = X.data.astype(np.float64) - means[X.indices]
    scatter = np.bincount(X.indices, gaps**2, minlength=d) + (n - stored) * means**2
    return np.asarray(scatter / n)


def _row_totals(X: Rows) -> Float64:
    return np.asarray(X.sum(1, dtype=np.float64)).ravel()


def _scale_sparse_rows(X: csr_array, factor: Float64) -> csr_array:
    scaled = X.data * np.repeat(factor, np.diff(X.indptr))
    return csr_array((scaled, X.indices, X.indptr), shape=X.shape)
