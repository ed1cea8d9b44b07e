"""Fits of rows in blocks by a sample of them: the others are new points of the map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import random
from ..backends.protocol import Backend, Ints
from ..distances.metrics import distances_of
from ..errors import ApproximationWarning, UnsupportedError, warn
from ..graph.search import find_nearest
from ..input.arguments import Input
from ..input.blocks import RowBlocks
from ..input.sample import take_rows
from ..input.validation import Data
from . import memory
from .fit import Context, Fit

if TYPE_CHECKING:
    from .estimator import Reducer

MAX_FITTED_ROWS = 5000  # every method fits them in seconds to a few minutes
HELD_OUT_ROWS = 1000  # that measure the extension: a share of neighbors is known to within 0.01
N_COMPARED_NEIGHBORS = 15


def fit_sample(model: Reducer, X: RowBlocks, ctx: Context, **given: Any) -> Fit:
    """Fit at most MAX_FITTED_ROWS rows, drawn across all blocks; measure the map on others.

    Of no more rows than that all are fitted, as if they were in memory.
    """
    if model._kind() not in ("rows", "objects"):
        raise UnsupportedError(
            f"{type(model).__name__} takes {model._kind()} here, and blocks hold rows; compute "
            "them, or compare rows by a metric."
        )
    for name, value in given.items():
        if value is not None:
            raise UnsupportedError(f"{name}= of rows in blocks: only a sample of them is fitted.")
    most = X.sample_size or MAX_FITTED_ROWS
    sample = X.draw(most + HELD_OUT_ROWS)
    n = sample.n_seen
    if n <= most:
        return _fit_rows(model, sample.items, ctx)
    drawn = len(sample.row_indices)
    held = np.sort(random.subset(0, "held out", drawn, drawn - most))
    kept = np.setdiff1d(np.arange(drawn), held)
    fit = _fit_rows(model, take_rows(sample.items, kept), ctx)
    found, among = _measure_extension(model, fit, take_rows(sample.items, held), ctx.ops)
    warn(
        f"{type(model).__name__} of {n} rows in blocks is computed from {len(kept)} of them "
        f"(sampled_rows_), and the others are mapped; new rows keep {found:.0%} of their nearest "
        f"sampled rows, sampled rows {among:.0%} (extension_recall_, sampled_recall_). To choose "
        "the sample, fit lowd.open_blocks(X).sample(m).",
        ApproximationWarning,
    )
    return fit.with_report(
        sampled_rows=sample.row_indices[kept],
        n_rows=n,
        extension_recall=found,
        sampled_recall=among,
    )


def _fit_rows(model: Reducer, rows: Input, ctx: Context) -> Fit:
    data = model._validate(rows, ctx.ops, fitting=True)
    memory.check_fit(model, data)
    return model._fit(data, Context(ctx.ops, ctx.seed, data.dtype, data.statistics))._replace(
        fitted=data
    )


def _measure_extension(model: Reducer, fit: Fit, held: Input, ops: Backend) -> tuple[float, float]:
    """Shares of the nearest fitted rows that are nearest in the embedding too.

    Of held-out rows, which the map extends to, and of the fitted rows themselves.
    """
    assert fit.fitted is not None
    data = fit.fitted
    base = distances_of(data, *model._metric())
    new = model._validate(held, ops)
    coordinates = np.asarray(
        fit.embedding if fit.embedding is not None else fit.map(data.items, ops)
    )
    Y = np.ascontiguousarray(coordinates, np.float64)
    mapped = np.ascontiguousarray(fit.map(new.items, ops), np.float64)
    plane = distances_of(Data(Y, Y.dtype), "euclidean", None)
    k = min(N_COMPARED_NEIGHBORS, len(Y) - 2)
    rows = np.sort(random.subset(0, "compared", len(Y), min(len(Y), HELD_OUT_ROWS)))
    there = find_nearest(base, take_rows(data.items, rows), k + 1, ops).indices
    here = find_nearest(plane, Y[rows], k + 1, ops).indices
    return (
        _overlap(
            find_nearest(base, new.items, k, ops).indices,
            find_nearest(plane, mapped, k, ops).indices,
        ),
        _overlap(_without(there, rows), _without(here, rows)),
    )


def _without(lists: Ints, rows: NDArray[np.int64]) -> Ints:
    """Neighbor lists of fitted rows, in which these are their own neighbors, without them."""
    own = lists == rows[:, None]
    own[~own.any(1), -1] = True  # hidden behind duplicates
    return np.asarray(lists[~own].reshape(len(lists), -1))


def _overlap(A: Ints, B: Ints) -> float:
    """The mean share of neighbors that two lists have in common."""
    shared = [np.intersect1d(a, b).size for a, b in zip(A, B, strict=True)]
    return float(np.mean(shared) / A.shape[1])
