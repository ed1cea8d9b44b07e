"""Dask arrays as input: lazy transforms, and moments merged over blocks.

The only file that imports dask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import issparse

from ..backends import resolve
from ..backends.protocol import Array, ColumnStatistics, DType, Moments, Rows
from ..errors import DataError
from .ranges import to_safe_dtype
from .sample import Sample, max_sample_rows
from .validation import to_canonical_csr

DaskArray: TypeAlias = Any  # dask has no types
Model: TypeAlias = Any  # an estimator, whose module imports this one
BlockInfo: TypeAlias = Any  # what dask tells a function of the block it is given


def is_dask(X: object) -> bool:
    """Whether X is a dask array."""
    return type(X).__module__.startswith("dask.array")


def result_dtype(X: DaskArray) -> DType:
    """float32 for float32 input, else float64."""
    return np.dtype(np.float32 if X.dtype == np.float32 else np.float64)


def validate_width(model: Model, X: DaskArray) -> DaskArray:
    """The array with whole rows in each block; n_features_in_ is checked, or set when fitting."""
    if X.ndim != 2:
        raise DataError(f"a dask array needs 2 dimensions, got {X.ndim}; reshape it.")
    if X.dtype.kind not in "fiub":
        remedy = (
            "choose a unit: (X - X.min()) / np.timedelta64(1, 'D')"
            if X.dtype.kind in "mM"
            else "convert it with .astype(float)"
        )
        raise DataError(f"a dask array of {X.dtype} holds no numbers; {remedy}.")
    known = getattr(model, "n_features_in_", None)
    if known is None:
        model.n_features_in_ = X.shape[1]
    elif known != X.shape[1]:
        raise DataError(
            f"X has {X.shape[1]} features, but {type(model).__name__} was fitted on {known}."
        )
    return X.rechunk({1: -1})


def transform(model: Model, X: DaskArray) -> DaskArray:
    """The embedding of every block, lazily: nothing is computed here."""
    X = validate_width(model, X)
    k = model._n_features_out
    return X.map_blocks(
        _transform_block,
        model=model,
        dtype=result_dtype(X),
        chunks=(X.chunks[0], (k,)),
        meta=np.empty((0, k), result_dtype(X)),
    )


def confidence(model: Model, X: DaskArray) -> DaskArray:
    """The confidence of every block's rows, lazily."""
    X = validate_width(model, X)
    return X.map_blocks(
        _confidence_of_block, model=model, dtype=np.float64, drop_axis=1, meta=np.empty(0)
    )


def inverse_transform(model: Model, Y: DaskArray) -> DaskArray:
    """The inverse transform of every block, lazily."""
    k, d = model._n_features_out, model.n_features_in_
    if Y.ndim != 2 or Y.shape[1] != k:
        raise DataError(f"X has shape {Y.shape}, but the map has {k} components.")
    return Y.rechunk({1: -1}).map_blocks(
        model.inverse_transform,
        dtype=result_dtype(Y),
        chunks=(Y.chunks[0], (d,)),
        meta=np.empty((0, d), result_dtype(Y)),
    )


def moments(model: Model, X: DaskArray) -> tuple[Moments, Sample]:
    """Exact moments and a sample of all rows, in one pass: each block's, merged in a tree."""
    import dask

    X = validate_width(model, X)
    starts = np.concatenate([[0], np.cumsum(X.chunks[0])[:-1]])
    read = dask.delayed(_moments_of_block)
    level = [
        read(block, model.backend, model.n_jobs, start, number)
        for number, (block, start) in enumerate(zip(X.to_delayed()[:, 0], starts, strict=True))
    ]
    merge = dask.delayed(_merge)
    while len(level) > 1:
        pairs = [merge(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[len(level) // 2 * 2 :]
    ((merged, sample),) = dask.compute(level[0])
    if merged.weight == 0:
        raise DataError("the dask array has 0 rows, while a minimum of 1 is required.")
    return Moments(merged.weight, merged.mean, merged.scatter), sample


def n_rows(X: DaskArray) -> int | None:
    """Number of rows, or None while dask does not know it."""
    return None if np.isnan(X.shape[0]) else int(X.shape[0])


def _as_rows(block: Rows) -> Rows:
    """A block as dense or, where it is sparse, as CSR rows."""
    return (
        to_canonical_csr(block, "a dask array") if issparse(block) else np.ascontiguousarray(block)
    )


def _transform_block(block: Rows, model: Model, block_info: BlockInfo = None) -> Array:
    if not block.shape[0]:
        return np.empty((0, model._n_features_out), block.dtype)
    return _locate_errors(_as_rows(block), model._transform, block_info)


def _confidence_of_block(block: Rows, model: Model, block_info: BlockInfo = None) -> Array:
    if not block.shape[0]:
        return np.empty(0)
    ops = resolve(model.backend, model.n_jobs)

    def confidence_of(rows: Rows) -> Array:
        scores: Array = model._confidence(model._checked(rows, ops), ops)
        return scores

    return _locate_errors(_as_rows(block), confidence_of, block_info)


def _locate_errors(rows: Rows, apply: Callable[[Rows], Array], block_info: BlockInfo) -> Array:
    """apply(rows), whose errors name rows of the whole array."""
    try:
        return apply(rows)
    except DataError:
        statistics = resolve("reference", 1).column_statistics(rows)
        _refuse_nonfinite(rows, statistics, block_info[0]["array-location"][0][0])
        raise


def _moments_of_block(
    block: Rows, backend: str, n_jobs: int | None, start: float, number: int
) -> tuple[Moments, Sample]:
    rows = _as_rows(block)
    rows = rows.astype(result_dtype(rows), copy=False)
    # Where dask does not know how many rows came before, the block's number must do.
    first = number << 32 if np.isnan(start) else int(start)
    d = rows.shape[1]
    if not rows.shape[0]:
        nothing = Moments(0.0, np.zeros(d), np.zeros((d, d)))
        return nothing, Sample.draw(rows, max_sample_rows(rows), first)
    ops = resolve(backend, n_jobs)
    statistics = ops.column_statistics(rows)
    _refuse_nonfinite(rows, statistics, start)
    rows = to_safe_dtype(rows, statistics.max_abs, fitting=True)
    sample = Sample.draw(rows, max_sample_rows(rows), first)
    return ops.scatter(rows, statistics.sums / rows.shape[0], None).moments(), sample


def _merge(a: tuple[Moments, Sample], b: tuple[Moments, Sample]) -> tuple[Moments, Sample]:
    return a[0].merge(b[0]), a[1].merge(b[1], max_sample_rows(a[1].items))


def _refuse_nonfinite(rows: Rows, statistics: ColumnStatistics, start: float) -> None:
    """Name an entry that is not finite by its row in the whole array, if dask knows it."""
    if statistics.first_nonfinite is not None:
        row, column = statistics.first_nonfinite
        where = f"row {row} of a block" if np.isnan(start) else f"row {int(start) + row}"
        word = "NaN" if np.isnan(rows[row, column]) else str(rows[row, column])
        raise DataError(f"{word} at {where}, column {column}; drop or fill such rows.")
