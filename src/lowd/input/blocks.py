"""Dask arrays as a kind of data. The only file that imports dask."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends import resolve
from ..backends.protocol import ColumnStatistics, Moments
from ..errors import DataError
from .ranges import in_range
from .sample import Sample, enough


def is_blocks(X: Any) -> bool:
    return type(X).__module__.startswith("dask.array")


def dtype(X: Any) -> np.dtype[Any]:
    return np.dtype(np.float32 if X.dtype == np.float32 else np.float64)


def width(model: Any, X: Any) -> Any:
    """The array with whole rows in each block; its width is checked, or learned when fitting."""
    if X.ndim != 2:
        raise DataError(f"a dask array needs 2 dimensions, got {X.ndim}; reshape it.")
    if X.dtype.kind not in "fiub":
        raise DataError(
            f"a dask array of {X.dtype} holds no numbers; convert it with .astype(float)."
        )
    known = getattr(model, "n_features_in_", None)
    if known is None:
        model.n_features_in_ = X.shape[1]
    elif known != X.shape[1]:
        raise DataError(
            f"X has {X.shape[1]} features, but {type(model).__name__} was fitted on {known}."
        )
    return X.rechunk({1: -1})


def transform(model: Any, X: Any) -> Any:
    """The model's map of every block, lazily: nothing is computed here."""
    X = width(model, X)
    k = model._n_features_out
    return X.map_blocks(
        _place,
        model=model,
        dtype=dtype(X),
        chunks=(X.chunks[0], (k,)),
        meta=np.empty((0, k), dtype(X)),
    )


def confidence(model: Any, X: Any) -> Any:
    """How near every block's rows are to the training rows, lazily."""
    X = width(model, X)
    return X.map_blocks(
        _confidence, model=model, dtype=np.float64, drop_axis=1, meta=np.empty(0, np.float64)
    )


def inverse(model: Any, Y: Any) -> Any:
    """The model's inverse of every block, lazily."""
    k, d = model._n_features_out, model.n_features_in_
    if Y.ndim != 2 or Y.shape[1] != k:
        raise DataError(f"X has shape {Y.shape}, but the map has {k} components.")
    return Y.rechunk({1: -1}).map_blocks(
        model.inverse_transform,
        dtype=dtype(Y),
        chunks=(Y.chunks[0], (d,)),
        meta=np.empty((0, d), dtype(Y)),
    )


def moments(model: Any, X: Any) -> tuple[Moments, Sample]:
    """Exact moments of all rows, and some of them, in one pass: each block's, merged in a tree."""
    import dask

    X = width(model, X)
    starts = np.concatenate([[0], np.cumsum(X.chunks[0])[:-1]])
    read = dask.delayed(_block_moments)
    level = [
        read(block, model.backend, model.n_jobs, start, number)
        for number, (block, start) in enumerate(zip(X.to_delayed()[:, 0], starts, strict=True))
    ]
    join = dask.delayed(_joined)
    while len(level) > 1:
        pairs = [join(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[len(level) // 2 * 2 :]
    ((result, kept),) = dask.compute(level[0])
    if result.weight == 0:
        raise DataError("the dask array has 0 rows, while a minimum of 1 is required.")
    return Moments(result.weight, result.mean, result.scatter), kept


def n_rows(X: Any) -> int | None:
    """Number of rows, or None while dask does not know it."""
    return None if np.isnan(X.shape[0]) else int(X.shape[0])


def _place(block: Any, model: Any, block_info: Any = None) -> Any:
    if not len(block):
        return np.empty((0, model._n_features_out), block.dtype)
    return _read(np.asarray(block), model._transform, block_info)


def _confidence(block: Any, model: Any, block_info: Any = None) -> Any:
    if not len(block):
        return np.empty(0)
    ops = resolve(model.backend, model.n_jobs)

    def told(rows: Any) -> Any:
        return model._confidence(model._checked(rows, ops), ops)

    return _read(np.asarray(block), told, block_info)


def _read(rows: Any, what: Any, block_info: Any) -> Any:
    try:
        return what(rows)
    except DataError:
        statistics = resolve("reference", 1).column_statistics(rows)
        _refuse_bad(rows, statistics, block_info[0]["array-location"][0][0])
        raise


def _block_moments(
    block: Any, backend: str, n_jobs: int | None, start: float, number: int
) -> tuple[Moments, Sample]:
    rows = np.asarray(block)
    rows = np.ascontiguousarray(rows, np.float32 if rows.dtype == np.float32 else np.float64)
    # Where dask does not know how many rows came before, a block's own number must do.
    first = number << 32 if np.isnan(start) else int(start)
    d = rows.shape[1]
    if not len(rows):
        return Moments(0.0, np.zeros(d), np.zeros((d, d))), Sample.of(rows, enough(rows), first)
    ops = resolve(backend, n_jobs)
    statistics = ops.column_statistics(rows)
    _refuse_bad(rows, statistics, start)
    rows = in_range(rows, statistics.max_abs, fitting=True)
    kept = Sample.of(rows, enough(rows), first)
    return ops.scatter(rows, statistics.sums / len(rows), None).moments(), kept


def _joined(a: tuple[Moments, Sample], b: tuple[Moments, Sample]) -> tuple[Moments, Sample]:
    return a[0].merge(b[0]), a[1].merge(b[1], enough(a[1].items))


def _refuse_bad(rows: Any, statistics: ColumnStatistics, start: float) -> None:
    """Name an entry that is not finite by its row in the whole array, if dask knows it."""
    if statistics.first_nonfinite is not None:
        row, column = statistics.first_nonfinite
        where = f"row {row} of a block" if np.isnan(start) else f"row {int(start) + row}"
        word = "NaN" if np.isnan(rows[row, column]) else str(rows[row, column])
        raise DataError(f"{word} at {where}, column {column}; drop or fill such rows.")
