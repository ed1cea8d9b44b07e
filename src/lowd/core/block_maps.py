"""Maps of a fitted model on rows in blocks: lazy, and the same bits as in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..backends import resolve
from ..backends.protocol import Array, Rows
from ..errors import DataError
from ..input.block_reader import Where
from ..input.blocks import RowBlocks, as_rows, describe_nonfinite_entry
from ..input.dask_engine import DaskArray

if TYPE_CHECKING:
    from .estimator import Reducer


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
    return _locate_errors(as_rows(rows), model._transform, where)


def rate_block(rows: Rows, where: Where, model: Reducer) -> Array:
    if not rows.shape[0]:
        return np.empty(0)
    ops = resolve(model.backend, model.n_jobs)

    def rate(rows: Rows) -> Array:
        return model._confidence(model._checked(rows, ops), ops)

    return _locate_errors(as_rows(rows), rate, where)


def _invert_block(rows: Rows, where: Where, model: Reducer) -> Array:
    if not rows.shape[0]:
        return np.empty((0, model.n_features_in_), rows.dtype)
    return _locate_errors(as_rows(rows), model.inverse_transform, where)


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
