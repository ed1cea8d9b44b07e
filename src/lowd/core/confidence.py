"""Confidence of a model's new points, and its calibration by training rows that are left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import random
from ..backends.protocol import Array, Backend, Float64, Ragged
from ..confidence.calibration import (
    N_DATA_NEIGHBORS,
    LeftOutRows,
    WeightedNeighbors,
    compute_kept_share,
    find_correctly_mapped,
)
from ..confidence.support import RowSupport, Vicinity
from ..errors import DataError, UnsupportedError
from ..input.precomputed import MATRIX_KINDS
from ..input.row_order import order_samples
from ..input.sample import take_rows
from ..input.validation import Data
from ..maps.kl import NeighborMap
from ..maps.layout import LayoutMap

if TYPE_CHECKING:
    from .estimator import Reducer

MIN_CALIBRATED_ROWS = 25  # of which five are left out: fewer say nothing
# A tenth is left out, so that the fit of the others is like that of all; but so many, while these
# are no more than a fifth. A share of 2000 is known to within 0.02.
MIN_LEFT_OUT_ROWS, MAX_LEFT_OUT_ROWS = 200, 2000


@np.errstate(invalid="ignore", over="ignore")  # of rows beyond their type's squares
def compute_confidence(model: Reducer, data: Data, Y: Array | None, ops: Backend) -> Float64:
    """The probability of being mapped correctly, bounded by what the support distance allows.

    Y are the coordinates of the rows; None: they are computed if needed.
    """
    left_out: LeftOutRows | None = getattr(model, "left_out_", None)
    curve = model.confidence_curve if left_out is None else left_out.curve
    vicinity = model.support_.locate(data.items, N_DATA_NEIGHBORS, ops)
    if curve is None:
        return vicinity.edge
    Y = model._apply_map(data, ops) if Y is None else Y
    near = _weigh_neighbors(model, data, vicinity, ops)
    g = curve.probability(compute_kept_share(near, Y, ops))
    return np.minimum(np.where(near.is_known, 1.0, g), vicinity.edge)


def check_support(model: Reducer) -> None:
    """Raise an error if a model keeps no training rows to compare new points with."""
    if not hasattr(model, "support_"):
        raise UnsupportedError(
            "return_confidence=True needs training rows to compare with, and this model keeps "
            "none: it was fitted to blocks without reading them. Fit it again, on rows in memory."
        )


def describe_basis(model: Reducer) -> str:
    """What the confidence of new points is calibrated by."""
    left_out: LeftOutRows | None = getattr(model, "left_out_", None)
    if left_out is not None:
        return f"{len(left_out.kept)} training rows left out of one more fit"
    if model.confidence_curve is None:
        return "support distance alone; calibrate_confidence learns more"
    return f"general curve of {type(model).__name__}; calibrate_confidence learns that of X"


def leave_rows_out(model: Reducer, data: Data, ops: Backend) -> LeftOutRows:
    """Map a part of the training rows by a fit of the others, and judge where they lie."""
    n = data.shape[0]
    if n < MIN_CALIBRATED_ROWS or n != getattr(model, "n_samples_", n):
        raise DataError(
            f"X has {n} rows; calibrate_confidence needs the rows of the fit, and at least "
            f"{MIN_CALIBRATED_ROWS}."
        )
    count = min(n // 5, max(n // 10, MIN_LEFT_OUT_ROWS), MAX_LEFT_OUT_ROWS)
    order = order_samples(data.items, model._kind())
    out = np.sort(order[random.subset(0, "left out", n, count)])
    others = np.setdiff1d(np.arange(n), out)
    other = model._blank()
    for name, held in model.get_params(deep=False).items():
        if isinstance(held, np.ndarray) and held.shape[:1] == (n,):  # a start, or weights
            part = held[others]
            setattr(other, name, part[:, others] if held.shape == (n, n) else part)
    X, new = (take_rows(data.items, rows) for rows in (others, out))
    if model._kind() in MATRIX_KINDS:
        X, new = X[:, others], new[:, others]
    # A supervised fit has its targets; new points have none.
    given = {"target": model.target_[others]} if hasattr(model, "target_") else {}
    other._learn(X, **given)
    Y = model._apply_map(data, ops)
    training, new_data = (other._validate(rows, ops) for rows in (X, new))
    mapped = other._apply_map(new_data, ops)
    vicinity = other.support_.locate(new_data.items, N_DATA_NEIGHBORS, ops)
    return LeftOutRows.of(
        compute_kept_share(_weigh_neighbors(other, new_data, vicinity, ops), mapped, ops),
        vicinity.edge,
        find_correctly_mapped(other._apply_map(training, ops), mapped, Y[others], Y[out], ops),
    )


def _weigh_neighbors(
    model: Reducer, data: Data, vicinity: Vicinity, ops: Backend
) -> WeightedNeighbors:
    """Neighbors of each row in the data: those of its map, or the nearest of the support."""
    if isinstance(model.map_, NeighborMap | LayoutMap):
        return model.map_.weigh_neighbors(data.items, ops)
    m, k = vicinity.near.indices.shape
    neighbors = Ragged(np.arange(0, m * k + 1, k), vicinity.near.indices.ravel())
    weights = np.full(m * k, 1 / k)
    return WeightedNeighbors(neighbors, weights, _get_known(model, ops), vicinity.is_known)


def _get_known(model: Reducer, ops: Backend) -> Array:
    """Coordinates of the training points that the support knows."""
    support = model.support_
    if not isinstance(support, RowSupport):
        return np.asarray(model.embedding_)
    if hasattr(model, "embedding_"):
        return np.asarray(model.embedding_[support.numbers])
    items = support.relation.training_points()
    return model._apply_map(Data(items, np.dtype(np.float64)), ops)
