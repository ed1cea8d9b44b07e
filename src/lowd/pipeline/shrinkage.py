"""Shrinkage of new points on principal components, estimated from left-out training rows.

Components fitted to few rows of many columns also fit their noise: the scores of the training rows
are too large, and those of new rows are smaller by a slope that falls with the component's
eigenvalue (Lee, Zou and Wright, 2010).
"""

from __future__ import annotations

import numpy as np

from .. import random
from ..backends.protocol import Float64, Rows
from ..input.row_order import order_rows
from ..methods.pca import PCA

N_FOLDS_SHRINKAGE = 10  # left out in turn: nine tenths of the rows shrink nearly as all do
MIN_SLOPE = 0.1  # a component whose left-out scores are smaller is noise, and stays as it is


def estimate_slopes(X: Rows, pca: PCA) -> Float64:
    """Left-out scores relative to fitted ones, for each component.

    Components of the other rows are rotated to those of all rows before they are compared, since
    components with similar eigenvalues mix.
    """
    n, k = X.shape[0], int(pca.n_components_)
    scores = np.asarray(pca._transform(X), np.float64)
    order = order_rows(X)[random.bits(0, "shrinkage", np.arange(n)).argsort()]
    covered = np.zeros(k)
    for fold in range(min(N_FOLDS_SHRINKAGE, n)):
        left_out = np.sort(order[fold::N_FOLDS_SHRINKAGE])
        others = np.setdiff1d(np.arange(n), left_out)
        part = PCA(min(k, len(others) - 1), backend=pca.backend, n_jobs=pca.n_jobs).fit(X[others])
        U, _, V = np.linalg.svd(
            np.asarray(part._transform(X[others]), np.float64).T @ scores[others],
            full_matrices=False,
        )
        projected = np.asarray(part._transform(X[left_out]), np.float64) @ (U @ V)
        covered += (projected * scores[left_out]).sum(0)
    total = np.square(scores).sum(0)
    return np.asarray(np.divide(covered, total, out=np.ones(k), where=total > 0))


def to_factors(slopes: Float64) -> Float64:
    """What the scores of new points are multiplied by."""
    return np.where((slopes > MIN_SLOPE) & (slopes < 1), 1 / np.maximum(slopes, MIN_SLOPE), 1.0)
