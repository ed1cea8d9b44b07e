"""Shape of the data: linear, a curved manifold, oblique or high-dimensional."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from .independent_components import check_oblique_directions
from .raw_data import Sample
from .residual_variance import MAX_DIMENSIONS, ResidualVariances
from .result import Finding, pluralize

Shape: TypeAlias = Literal["linear", "non-linear", "non-orthogonal", "high-dimensional", "unknown"]
MIN_ISOMAP_GAIN = 0.05  # residual variance that Isomap must save over PCA
MAX_RESIDUAL_VARIANCE = 0.2  # up to which an embedding is said to preserve the distances

CURVED_REMEDY = "Use a manifold method (Isomap, LTSA, ModifiedLLE); PCA would fold it."


def check_shape(
    sample: Sample, dimension: float, found: ResidualVariances, seed: int
) -> tuple[Shape, Finding]:
    """The shape by residual variances, and by independent directions if it is linear."""
    shape, finding = classify(found, dimension)
    if shape == "linear":
        oblique = check_oblique_directions(sample, dimension, seed)
        if oblique is not None:
            return "non-orthogonal", oblique
    return shape, finding


def classify(found: ResidualVariances, dimension: float) -> tuple[Shape, Finding]:
    """Compare PCA and Isomap at the intrinsic dimension, and at one more: a circle needs two."""
    p = int(np.clip(round(dimension), 1, len(found.linear)))
    more = min(p + 1, len(found.linear))
    linear, geodesic = float(found.linear[p - 1]), float(found.geodesic[p - 1])
    numbers = (
        f"in {pluralize(p, 'dimension')} the residual variance of geodesic distances is "
        f"{linear:.0%} for PCA and {geodesic:.0%} for Isomap"
    )
    least = min(linear, float(found.linear[more - 1]))
    looks_linear = Finding("fine", "shape", f"The structure looks linear: {numbers}.")
    if least <= MAX_RESIDUAL_VARIANCE / 2:
        return "linear", looks_linear
    if not found.is_manifold:
        return "unknown", Finding(
            "fine", "shape", f"Clusters, or too few rows, do not show any curvature: {numbers}."
        )
    gain = min(found.linear[i - 1] - found.geodesic[i - 1] for i in (p, more))
    curved = gain > MIN_ISOMAP_GAIN and linear > 2 * geodesic and geodesic <= MAX_RESIDUAL_VARIANCE
    if curved and dimension < MAX_DIMENSIONS + 0.5:
        return "non-linear", Finding(
            "notice",
            "shape",
            f"The rows lie on a curved manifold: {numbers}.",
            CURVED_REMEDY,
        )
    if least <= MAX_RESIDUAL_VARIANCE:
        return "linear", looks_linear
    return "high-dimensional", Finding(
        "notice",
        "shape",
        f"A few dimensions do not preserve the distances: {numbers}.",
        "Distances in any embedding of two dimensions will mislead; keep more components for "
        "further computation, and take TSNE for a picture of neighborhoods.",
    )
