"""Rules for the number of principal components."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, eigvalsh
from scipy.sparse import issparse

from ... import progress, random
from ...backends.protocol import Backend, Float64, Rows
from ...solvers import scree

DIRECT = 2000  # rows or columns up to which a whole spectrum is computed
PERMUTED = 2000  # rows of parallel analysis
HELD_OUT = 800  # rows of cross-validation
FOLDS = 4  # each way
MOST = 50  # components that cross-validation tries


class Spectra(NamedTuple):
    """Eigenvalues of the scatter matrix, and of the correlation matrix; all that can be above 0."""

    scatter: Float64
    correlation: Float64
    n: int
    d: int  # columns that are not constant


def spectra(X: Rows, ops: Backend) -> Spectra:
    """Both spectra by the smaller side: columns, or rows if there are fewer."""
    n, d = X.shape
    statistics = ops.column_statistics(X)
    mean = statistics.sums / n
    if d <= min(n, DIRECT):
        scatter = np.asarray(ops.scatter(X, mean, None).moments().scatter)
        spread = np.sqrt(np.maximum(np.diagonal(scatter), 0))
        live = spread > np.sqrt(n) * np.finfo(X.dtype).eps * np.abs(mean)
        unit = np.divide(1, spread, out=np.zeros(d), where=live)
        plain, even = scatter, scatter * np.outer(unit, unit)
    else:
        Z = X.toarray() if issparse(X) else X
        Z = Z.astype(np.float64) - mean
        spread = np.sqrt((Z**2).sum(0))
        live = spread > np.sqrt(n) * np.finfo(X.dtype).eps * np.abs(mean)
        Z = Z[:, live]
        plain = Z @ Z.T
        Z /= spread[live]
        even = Z @ Z.T
    width = int(live.sum())
    most = min(n - 1, width)
    return Spectra(_spectrum(plain)[:most], _spectrum(even)[:most], n, width)


def _spectrum(A: Float64) -> Float64:
    values: Float64 = np.maximum(eigvalsh(A)[::-1], 0)
    return values


def parallel(X: Float64, repeats: int, seed: int) -> tuple[int, Float64, Float64]:
    """Components above those of columns shuffled one by one (Horn, 1965).

    Shuffling keeps every column's values and breaks what they share. Returns the number of leading
    eigenvalues above the 95th percentile of theirs, both as shares of the variance.
    """
    Z = X - X.mean(0)
    observed = _shares(Z)
    shuffled = np.empty((repeats, len(observed)))
    for r in range(repeats):
        order = random.bits(seed, f"shuffle {r}", np.arange(Z.size)).reshape(Z.shape).argsort(0)
        shuffled[r] = _shares(np.take_along_axis(Z, order, 0))
        progress.report("parallel analysis", r + 1, repeats)
    limit = np.quantile(shuffled, 0.95, axis=0)
    return scree.leading(observed > limit), observed, limit


def _shares(Z: Float64) -> Float64:
    values = _spectrum(Z.T @ Z if Z.shape[1] <= len(Z) else Z @ Z.T)
    return np.asarray(values / max(values.sum(), np.finfo(float).tiny))


def cross_validated(X: Float64, seed: int) -> tuple[int, Float64]:
    """Components that best predict blocks left out by rows and by columns (Owen and Perry, 2009).

    Rows and columns are cut into four parts each. For every pair of parts, the axes come from what
    shares neither rows nor columns with their block, and predict it from its rows' other
    columns and its columns' other rows. A component of noise makes that worse, so the error
    has a minimum. Returns it and the error of 0, 1, ... components, relative to the means alone.
    """
    n, d = X.shape
    row_part, column_part = (_parts(size, seed, name) for size, name in ((n, "row"), (d, "column")))
    most = min(MOST, n - -(-n // FOLDS) - 1, d - -(-d // FOLDS))
    errors, done = np.zeros(most + 1), 0
    for rows in (row_part == part for part in range(FOLDS)):
        Z = X - X[~rows].mean(0)
        for columns in (column_part == part for part in range(FOLDS)):
            errors += _block_errors(Z, rows, columns, most)
            done += 1
            progress.report("cross-validation", done, FOLDS**2)
    return int(np.argmin(errors)), errors / errors[0]


def _parts(size: int, seed: int, name: str) -> NDArray[np.int64]:
    """Parts 0, 1, ... of nearly equal size, by chance."""
    return np.asarray(random.bits(seed, name, np.arange(size)).argsort().argsort() % FOLDS)


def _block_errors(
    Z: Float64, rows: NDArray[np.bool_], columns: NDArray[np.bool_], most: int
) -> Float64:
    """Squared error of the block for 0, 1, ... axes of the part that shares nothing with it."""
    left = Z[np.ix_(rows, columns)].copy()
    beside, above = Z[np.ix_(rows, ~columns)], Z[np.ix_(~rows, columns)]
    inner = Z[np.ix_(~rows, ~columns)]
    tall = len(inner) >= inner.shape[1]
    gram = inner.T @ inner if tall else inner @ inner.T
    size = len(gram)
    values, vectors = eigh(gram, subset_by_index=[max(size - most, 0), size - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    errors = np.full(most + 1, float((left**2).sum()))
    for j in range(min(most, len(values))):
        if values[j] <= 1e-12 * values[0]:
            errors[j + 1 :] = errors[j]
            break
        # inner⁺ = V S⁻¹ U'; one factor is at hand, the other is inner times it over S.
        if tall:
            scores, loads = beside @ vectors[:, j], (inner @ vectors[:, j]) @ above
        else:
            scores, loads = beside @ (vectors[:, j] @ inner), vectors[:, j] @ above
        left -= np.outer(scores, loads) / values[j]
        errors[j + 1] = float((left**2).sum())
    return errors
