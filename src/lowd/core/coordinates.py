"""Coordinates that a map or a fit returns: in the type of the data, and finite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..backends.protocol import Array, Backend, DType
from ..errors import DataError
from ..input.ranges import SAFE_RANGE, find_extreme_rows
from ..input.validation import Data, check_finite

if TYPE_CHECKING:
    from .estimator import Reducer

MAX_SEARCHED_ENTRIES = 2**18  # of coordinates, in 25 µs: no bound takes less


def apply_map(model: Reducer, data: Data, ops: Backend) -> Array:
    """Apply the map; rows too large for float32 squares go through it alone, in float64."""
    Q = data.items
    if data.statistics is None or Q.dtype == data.dtype:
        with np.errstate(invalid="ignore", over="ignore"):
            Y = cast_clipped(model.map_(Q, ops), data.dtype)
        unseen = data.statistics is None and getattr(model.map_, "spreads", False)
        if not unseen:
            return _ensure_finite(Y, model, data)
        if np.isfinite(Y).all():
            return Y
        check_finite(model, Q, ops)  # a bad entry spoils its whole row; else a sum was too large
        Q = Q.astype(np.float64)
    rows = Q.astype(data.dtype)
    if data.statistics is not None and data.statistics.max_abs <= SAFE_RANGE[data.dtype][1]:
        return _ensure_finite(cast_clipped(model.map_(rows, ops), data.dtype), model, data)
    far = find_extreme_rows(rows)
    Y = np.empty((rows.shape[0], model._n_features_out), np.float64)
    for chosen, part in ((far, Q), (~far, rows)):
        if chosen.any():
            Y[chosen] = model.map_(part[chosen], ops)
    return require_finite(cast_clipped(Y, data.dtype))


def _ensure_finite(Y: Array, model: Reducer, data: Data) -> Array:
    """`require_finite` of the map of these rows, which a bound may save from being read again."""
    bound = getattr(model.map_, "bound", None)
    if bound is None or data.statistics is None or Y.size <= MAX_SEARCHED_ENTRIES:
        return require_finite(Y)
    largest = bound(data.statistics.max_abs)
    return Y if 2 * largest < np.finfo(Y.dtype).max else require_finite(Y)


def cast_clipped(Y: Array, dtype: DType) -> Array:
    """Coordinates in the type of the data; beyond its range the largest number, not infinity."""
    if Y.dtype == dtype:
        return Y
    limit = np.finfo(dtype).max
    return np.asarray(np.clip(Y, -limit, limit), dtype)


def require_finite(Y: Array) -> Array:
    """The result of a map, which is finite for any point that the model can hold."""
    if not (finite := np.isfinite(Y)).all():
        row = int(np.argmin(finite.all(1)))
        raise DataError(
            f"the coordinates of row {row} are beyond the range of {Y.dtype}; look whether the row "
            "is in the units of the training data, and whether the model is as it was saved."
        )
    return Y


def cast_checked(Y: Array, dtype: DType) -> Array:
    """The embedding in the type of the data, if that can hold it."""
    largest = np.abs(Y).max(initial=0)
    if largest > np.finfo(dtype).max:
        raise DataError(
            f"the embedding has coordinates of size {largest:.1e}, beyond {dtype}; "
            "pass X.astype('float64') or other units."
        )
    return np.ascontiguousarray(Y, dtype)
