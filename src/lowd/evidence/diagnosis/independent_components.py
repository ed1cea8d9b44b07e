"""Independent components: directions that are not orthogonal, so that PCA would mix them."""

from __future__ import annotations

import numpy as np

from ... import random
from ...parameters import Reals
from .raw_data import Sample
from .residual_variance import GEODESIC_SAMPLES
from .result import Finding

ICA_SAMPLES = 4 * GEODESIC_SAMPLES  # rows of the search: 10 ms for six columns
MIN_ICA_SAMPLES = 100  # fewer rows have a kurtosis by accident
MAX_ICA_COMPONENTS = 6  # beyond, no two directions would stand out
SVD_SAMPLES = GEODESIC_SAMPLES  # rows that give the leading axes of wide data
MAX_DIRECT_SVD_SIDE = 100  # rows or columns up to which all rows are decomposed
MIN_AXIS_RATIO = 1e-6  # singular value of an axis relative to the first, below which it is noise
MIN_KURTOSIS_ERRORS = 5.5  # standard errors; a search in normal noise finds one of 4 or 5
MIN_CONTRAST_GAIN = 1.1  # over the principal axes, whose contrast is the baseline
MAX_OBLIQUE_ANGLE = 70.0  # degrees between two directions that are not orthogonal
MAX_ITERATIONS, TOLERANCE = 200, 1e-8  # of the fixed-point iteration, which takes about ten


def check_oblique_directions(sample: Sample, dimension: float, seed: int) -> Finding | None:
    """Independent directions that are not orthogonal, which PCA's axes would mix.

    Directions with the largest deviation from a normal distribution, by fixed-point iteration
    (FastICA; Hyvärinen, 1999), must be significant by their kurtosis, and more so than the
    principal axes. None if there are not two of them at an angle of less than 70 degrees.
    """
    if not sample.is_euclidean or len(sample) < MIN_ICA_SAMPLES:
        return None
    size = min(len(sample), ICA_SAMPLES)
    X = sample.take(random.subset(seed, "directions", len(sample), size)).take_dense()
    _, sizes, axes = np.linalg.svd(_subsample(X - X.mean(0), seed), full_matrices=False)
    p = int(np.clip(np.ceil(dimension), 2, MAX_ICA_COMPONENTS))
    p = min(p, int((sizes > MIN_AXIS_RATIO * sizes[0]).sum()))
    if p < 2:
        return None
    Y = (X - X.mean(0)) @ axes[:p].T
    scale = Y.std(0)
    Z = Y / scale
    rotation = rotate_to_independence(Z, seed)
    contrast, pca_contrast = compute_contrast(Z @ rotation), compute_contrast(Z)
    significant = np.flatnonzero(contrast > MIN_KURTOSIS_ERRORS * np.sqrt(24 / len(Z)))
    if len(significant) < 2 or contrast.sum() < MIN_CONTRAST_GAIN * pca_contrast.sum():
        return None
    directions = rotation[:, significant] * scale[:, None]
    directions /= np.linalg.norm(directions, axis=0)
    cosines = np.abs(np.triu(directions.T @ directions, 1))
    angle = float(np.degrees(np.arccos(np.clip(cosines.max(), 0, 1))))
    if angle > MAX_OBLIQUE_ANGLE:
        return None
    return Finding(
        "notice",
        "shape",
        f"{len(significant)} independent directions are significant, two of them at {angle:.0f} "
        "degrees; principal axes are orthogonal and mix them.",
        "To find the directions use sklearn.decomposition.FastICA; an embedding by PCA still "
        "preserves the distances.",
    )


def _subsample(X: Reals, seed: int) -> Reals:
    """Few enough rows for a quick decomposition, which still show the leading axes."""
    if len(X) <= SVD_SAMPLES or min(X.shape) <= MAX_DIRECT_SVD_SIDE:
        return X
    return X[random.subset(seed, "axes", len(X), SVD_SAMPLES)]


def rotate_to_independence(Z: Reals, seed: int) -> Reals:
    """Rotation of whitened rows to independent components (symmetric FastICA with tanh)."""
    p = Z.shape[1]
    W = np.linalg.qr(random.normals(seed, "rotation", (p, p)))[0]
    for _ in range(MAX_ITERATIONS):
        T = np.tanh(Z @ W)
        U, _, V = np.linalg.svd(Z.T @ T / len(Z) - W * (1 - T * T).mean(0))
        rotated = U @ V
        change = np.abs(np.abs((rotated * W).sum(0)) - 1).max()
        W = rotated
        if change < TOLERANCE:
            break
    return np.asarray(W)


def compute_contrast(S: Reals) -> Reals:
    """Absolute excess kurtosis of each column of mean 0 and variance 1."""
    return np.asarray(np.abs((S**4).mean(0) - 3))
