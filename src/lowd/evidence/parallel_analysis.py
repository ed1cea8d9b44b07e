"""Parallel analysis: eigenvalues of the data against those of independently permuted columns."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigvalsh

from .. import progress, random
from ..linalg import scree
from ..parameters import Reals


def compute_eigenvalues(A: Reals) -> Reals:
    """Eigenvalues of a positive semi-definite matrix, the largest first."""
    values: Reals = np.maximum(eigvalsh(A)[::-1], 0)
    return values


def analyze_parallel(X: Reals, repeats: int, seed: int) -> tuple[int, Reals, Reals]:
    """Parallel analysis: components above those of independently permuted columns (Horn, 1965).

    Permutation preserves the values of every column and removes correlation. Returns the number of
    leading eigenvalues above the 95th percentile of the permuted ones, and both as shares of the
    variance.
    """
    Z = X - X.mean(0)
    observed = _variance_shares(Z)
    permuted = np.empty((repeats, len(observed)))
    for r in range(repeats):
        order = random.bits(seed, f"shuffle {r}", np.arange(Z.size)).reshape(Z.shape).argsort(0)
        permuted[r] = _variance_shares(np.take_along_axis(Z, order, 0))
        progress.report("parallel analysis", r + 1, repeats)
    limit = np.quantile(permuted, 0.95, axis=0)
    return scree.count_leading(observed > limit), observed, limit


def _variance_shares(Z: Reals) -> Reals:
    values = compute_eigenvalues(Z.T @ Z if Z.shape[1] <= len(Z) else Z @ Z.T)
    return np.asarray(values / max(values.sum(), np.finfo(float).tiny))
