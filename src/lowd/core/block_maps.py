"""Maps of a fitted model on rows in blocks: lazy, and the same bits as in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
from scipy.sparse import csr_array, issparse

from ..backends import resolve
from ..backends.protocol import Array, Rows
from ..errors import DataError
from ..input.block_reader import Where
from ..input.blocks import RowBlocks, as_rows, describe_nonfinite_entry
from ..input.dask_engine import DaskArray
from ..maps.linear import HadamardMap, LinearMap, SparseLinearMap

if TYPE_CHECKING:
    from .estimator import Reducer

COMPARED_BYTES = 2**24  # float64 of new rows against training points; a map holds a few such arrays


def transform_blocks(model: Reducer, X: RowBlocks) -> DaskArray:
    """The embedding of every block, lazily: nothing is computed here."""
    X.check_width(model)
    return X.map(transform_block, model._n_features_out, X.dtype, without_names(model))


def rate_blocks(model: Reducer, X: RowBlocks) -> DaskArray:
    """The confidence of every block's rows, lazily."""
    X.check_width(model)
    return X.map(rate_block, None, np.dtype(np.float64), without_names(model))


def invert_blocks(model: Reducer, Y: RowBlocks) -> DaskArray:
    """The inverse transform of every block, lazily."""
    if Y.n_features != model._n_features_out:
        raise DataError(
            f"X has {Y.n_features} columns, but the map has {model._n_features_out} components."
        )
    return Y.map(_invert_block, model.n_features_in_, Y.dtype, model)


def transform_block(rows: Rows, where: Where, model: Reducer) -> Array:
    if not rows.shape[0]:
        return np.empty((0, model._n_features_out), rows.dtype)
    return _locate_errors(as_rows(rows, where), _apply_by_parts(model._transform, model), where)


def rate_block(rows: Rows, where: Where, model: Reducer) -> Array:
    if not rows.shape[0]:
        return np.empty(0)
    ops = resolve(model.backend, model.n_jobs)

    def rate(rows: Rows) -> Array:
        return model._confidence(model._validate(rows, ops), ops)

    return _locate_errors(as_rows(rows, where), _apply_by_parts(rate, model), where)


def _invert_block(rows: Rows, where: Where, model: Reducer) -> Array:
    if not rows.shape[0]:
        return np.empty((0, model.n_features_in_), rows.dtype)
    return _locate_errors(as_rows(rows, where), model.inverse_transform, where)


def _apply_by_parts(apply: Callable[[Rows], Array], model: Reducer) -> Callable[[Rows], Array]:
    """The function of some rows at a time, so that what they are compared with is held for few.

    The result is the same, since a map works row by row.
    """
    if isinstance(model.map_, LinearMap | SparseLinearMap | HadamardMap):
        return apply
    step = max(1, COMPARED_BYTES // (8 * max(1, _count_points(model.map_))))

    def apply_to_parts(rows: Rows) -> Array:
        if rows.shape[0] <= step:
            return apply(rows)
        try:
            parts = [apply(rows[i : i + step]) for i in range(0, rows.shape[0], step)]
        except DataError:
            return apply(rows)  # which raises it with the row of the block
        return np.concatenate(parts)

    return apply_to_parts


def _count_points(held: object) -> int:
    """The most rows of any array that a map holds: its training points, or landmarks."""
    if isinstance(held, np.ndarray):
        return len(held) if held.ndim else 0
    if issparse(held):
        return int(cast(csr_array, held).shape[0])
    if is_dataclass(held):
        return max(map(_count_points, vars(held).values()), default=0)
    return 0


def _locate_errors(rows: Rows, apply: Callable[[Rows], Array], where: Where) -> Array:
    """apply(rows), whose errors name rows of the whole data."""
    try:
        return apply(rows)
    except DataError as error:
        position = resolve("reference", 1).column_statistics(rows).first_nonfinite
        if position is None:
            raise DataError(f"{where}: {error}") from error
        raise DataError(describe_nonfinite_entry(rows, position, where)) from error


def without_names(model: Reducer) -> Reducer:
    """The model without names of columns: blocks have none, and theirs are compared before."""
    if not hasattr(model, "feature_names_in_"):
        return model
    nameless = object.__new__(type(model))
    nameless.__dict__.update(model.__dict__)
    del nameless.__dict__["feature_names_in_"]
    return nameless
