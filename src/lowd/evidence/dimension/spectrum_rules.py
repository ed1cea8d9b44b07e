"""Rules for the number of principal components: spectra, parallel analysis, cross-validation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import issparse

from ... import progress, random
from ...linalg.principal import scatter as scatter_of
from ...parameters import Reals
from ..parallel_analysis import compute_eigenvalues

MAX_SPECTRUM_SIDE = 2000  # rows or columns with a full spectrum: 0.7 s on one core
PARALLEL_SAMPLES = 2000  # rows of parallel analysis, which takes a spectrum per permutation
CROSS_VALIDATION_SAMPLES = 800  # rows of cross-validation, which takes a spectrum per block
N_FOLDS = 4  # of rows, and of columns
MAX_TRIED_COMPONENTS = 50  # by cross-validation


class Spectra(NamedTuple):
    """Eigenvalues of the scatter and correlation matrices, those that can be positive."""

    scatter: Reals
    correlation: Reals
    n: int
    d: int  # columns that are not constant


def compute_spectra(X: Any) -> Spectra:
    """Both spectra from the smaller of the scatter and Gram matrices."""
    n, d = X.shape
    mean = np.asarray(X.sum(0, dtype=np.float64)).ravel() / n
    if d <= min(n, MAX_SPECTRUM_SIDE):
        scatter = scatter_of(X, mean)
        spread = np.sqrt(np.maximum(np.diagonal(scatter), 0))
        varies = spread > np.sqrt(n) * np.finfo(X.dtype).eps * np.abs(mean)
        unit = np.divide(1, spread, out=np.zeros(d), where=varies)
        plain, standardized = scatter, scatter * np.outer(unit, unit)
    else:
        Z = X.toarray() if issparse(X) else X
        Z = Z.astype(np.float64) - mean
        spread = np.sqrt((Z**2).sum(0))
        varies = spread > np.sqrt(n) * np.finfo(X.dtype).eps * np.abs(mean)
        Z = Z[:, varies]
        plain = Z @ Z.T
        Z /= spread[varies]
        standardized = Z @ Z.T
    n_varying = int(varies.sum())
    rank = min(n - 1, n_varying)
    scatter_values, correlation = (compute_eigenvalues(A)[:rank] for A in (plain, standardized))
    return Spectra(scatter_values, correlation, n, n_varying)


def cross_validate(X: Reals, seed: int) -> tuple[int, Reals]:
    """Bi-cross-validation: components that best predict held-out blocks (Owen and Perry, 2009).

    Rows and columns are cut into four folds each. For every pair of folds, components come from
    entries that share neither rows nor columns with their block, and predict it from the other
    columns of its rows and the other rows of its columns. A component of noise increases the error,
    so it has a minimum. Returns its position and the error of 0, 1, ... components, relative to
    that of the means alone.
    """
    n, d = X.shape
    row_fold, column_fold = _assign_folds(n, seed, "row"), _assign_folds(d, seed, "column")
    most = min(MAX_TRIED_COMPONENTS, n - -(-n // N_FOLDS) - 1, d - -(-d // N_FOLDS))
    errors, done = np.zeros(most + 1), 0
    for rows in (row_fold == fold for fold in range(N_FOLDS)):
        Z = X - X[~rows].mean(0)
        for columns in (column_fold == fold for fold in range(N_FOLDS)):
            errors += _compute_block_errors(Z, rows, columns, most)
            done += 1
            progress.report("cross-validation", done, N_FOLDS**2)
    return int(np.argmin(errors)), errors / errors[0]


def _assign_folds(size: int, seed: int, name: str) -> NDArray[np.int64]:
    """Random folds 0, 1, ... of nearly equal size."""
    return np.asarray(random.bits(seed, name, np.arange(size)).argsort().argsort() % N_FOLDS)


def _compute_block_errors(
    Z: Reals, rows: NDArray[np.bool_], columns: NDArray[np.bool_], most: int
) -> Reals:
    """Squared error of a block for 0, 1, ... components of other rows and columns."""
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
