"""Centering of CSR rows, so that they keep the digits that centered dense rows have.

Sparse rows X are centered implicitly, as X less the mean in every row, which cancels where the mean
of a column is large beside its deviations. With a share p of the entries stored, the second moment
of a column is at most 1 / (1 - p) times its variance: digits are lost in columns that are stored
nearly in full only. Those are centered explicitly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .protocol import Float64, refine_mean

# Columns that are stored in a larger share of the rows are centered explicitly: implicit centering
# loses one digit at most in the others, and filling up these takes a ninth of their entries.
MAX_IMPLICIT_SHARE = 0.9
# A coordinate that is a smaller share of the terms it is the sum of may have lost its digits.
MIN_COORDINATE_SHARE = 1e-6
# It has lost them where centered terms are a smaller share, and columns that are not subtracted
# have no more than that share of the terms.
MIN_CENTERED_SHARE = 1e-3

Product: TypeAlias = Callable[[csr_array, Float64], Float64]


def column_means(X: csr_array, weights: Float64 | None = None) -> Float64:
    """Weighted means of the columns in float64; scipy sums float32 entries in float32."""
    n = X.shape[0]
    w = np.ones(n) if weights is None else weights
    mean: Float64 = w @ X.astype(np.float64) / w.sum()
    full = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) == n)
    if len(full) and np.isfinite(mean).all():
        mean[full] = refine_mean(X[:, full].toarray(), mean[full], weights)
    return mean


def explicit_center(X: csr_array, mean: Float64, weights: Float64 | None = None) -> Float64:
    """The mean of the columns that are stored nearly in full, 0 for the others."""
    w = None if weights is None else np.repeat(weights, np.diff(X.indptr))
    stored = np.bincount(X.indices, weights=w, minlength=X.shape[1])
    total = X.shape[0] if weights is None else weights.sum()
    return np.where(stored > MAX_IMPLICIT_SHARE * total, mean, 0.0)


def subtract_columns(X: csr_array, center: Float64) -> csr_array:
    """X - center in float64, still sparse: columns with a center other than 0 are filled up."""
    X = X.astype(np.float64)
    columns = np.flatnonzero(center)
    if not len(columns):
        return X
    n = X.shape[0]
    data, indices = np.tile(center[columns], n), np.tile(columns.astype(X.indices.dtype), n)
    indptr = np.arange(n + 1, dtype=np.int64) * len(columns)
    return csr_array(X - csr_array((data, indices, indptr), shape=X.shape))


def center_explicitly(
    X: csr_array, mean: Float64, weights: Float64 | None = None
) -> tuple[csr_array, Float64]:
    """Other rows and another mean whose difference is X - mean, and cancels in no column."""
    center = explicit_center(X, mean, weights)
    return (subtract_columns(X, center), mean - center) if center.any() else (X, mean)


def project_sparse(X: csr_array, shift: Float64, W: Float64, product: Product) -> Float64:
    """(X - shift) W with the digits that dense rows would keep.

    X W and shift W may cancel. Rows in which they do, because their entries are close to large
    entries of the shift, are projected again after these columns were subtracted.
    """
    Y = product(X, W)
    Y -= shift @ W
    most = np.abs(shift).sum() * max(W.max(initial=0), -W.min(initial=0))
    if not (np.abs(Y) < MIN_COORDINATE_SHARE * most).any():  # the usual case: no need to add up
        return Y
    terms = np.abs(shift) @ np.abs(W)
    small = np.flatnonzero((np.abs(Y) < MIN_COORDINATE_SHARE * terms).any(1))
    rows = small[_cancels(X[small], shift, W, terms)] if len(small) else small
    if len(rows):
        center = np.where(_has_large_term(shift, W), shift, 0.0)
        Y[rows] = project_sparse(subtract_columns(X[rows], center), shift - center, W, product)
    return Y


def _cancels(X: csr_array, shift: Float64, W: Float64, terms: Float64) -> NDArray[np.bool_]:
    """Whether the terms of (x - shift) W are small beside those of shift W, by rows.

    Where they are not, the coordinate is small accidentally, and in dense rows as uncertain.
    """
    change = X.astype(np.float64)
    offset = shift[X.indices]
    change.data = np.abs(change.data - offset) - np.abs(offset)
    left = change @ np.abs(W) + terms
    return np.asarray((left < MIN_CENTERED_SHARE * terms).any(1))


def _has_large_term(shift: Float64, W: Float64) -> NDArray[np.bool_]:
    """Columns whose terms of shift W are the largest; the others sum up to a small share."""
    terms = np.abs(shift[:, None] * W)
    order = np.argsort(terms, axis=0)
    sums = np.cumsum(np.take_along_axis(terms, order, 0), axis=0)
    large = np.empty(terms.shape, bool)
    np.put_along_axis(large, order, sums > MIN_CENTERED_SHARE * sums[-1], 0)
    return np.asarray(large.any(1))


def look_up_entries(A: csr_array, pattern: csr_array, absent: float) -> Float64:
    """Entries of A where the pattern has any, in its order; `absent` where A has none."""
    keys, wanted = _number_entries(A), _number_entries(pattern)
    order = np.argsort(keys)
    at = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
    return np.where(keys[at] == wanted, A.data[at], absent)


def _number_entries(A: csr_array) -> NDArray[np.int64]:
    rows = np.repeat(np.arange(A.shape[0], dtype=np.int64), np.diff(A.indptr))
    return np.asarray(rows * A.shape[1] + A.indices)
