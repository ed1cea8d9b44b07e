"""Intrinsic dimension: two-NN, maximum likelihood, and local PCA.

Each estimator has a 95 % interval, of sampling error alone: in many dimensions all three are biased
low (by a tenth or more from about ten on), since too few rows are near each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.stats import chi2

from ... import random
from ...neighbor_graph import NeighborGraph
from ...parameters import Reals
from .neighbor_graph import build_knn_graph
from .raw_data import MIN_NEIGHBORHOOD_SAMPLES, Sample
from .result import Dimension

INTERVAL_QUANTILE = 1.959964  # standard errors to each side of a 95 % interval
CENSORED_SHARE = 0.1  # largest ratios, where the manifold is curved: only their number counts
LIKELIHOOD_NEIGHBORS = 20  # Levina and Bickel average over 10 to 20
LOCAL_PCA_SAMPLES = 400  # rows whose neighborhoods are decomposed: standard errors of about 0.01
MIN_LOCAL_PCA_NEIGHBORS = 15  # fewer would show noise
SATURATED_SHARE = 0.8  # of the axes that a neighborhood can have: more is no estimate
MIN_AXIS_VARIANCE = 0.05  # of the largest variance in a neighborhood (Fukunaga and Olsen, 1971)
MAX_TIED_SHARE = 0.05  # of rows with equal distances to two neighbors, beyond which two-NN is off


def two_nn(ratios: Reals) -> Dimension | None:
    """From the ratio of the second to the first neighbor distance (Facco et al., 2017).

    On a manifold of dimension d the ratio has the distribution 1 - r⁻ᵈ, so its logarithm is an
    exponential variable of rate d. The largest tenth, where curvature shows, is censored:
    it counts as "at least so much", which keeps the interval exact.
    """
    logs = np.sort(np.log(ratios))
    kept = len(logs) - int(CENSORED_SHARE * len(logs))
    if kept < 2:
        return None
    total = float(logs[:kept].sum() + (len(logs) - kept) * logs[kept - 1])
    if total <= 0:
        return None
    low, high = chi2.ppf([0.025, 0.975], 2 * kept) / (2 * total)
    return Dimension((kept - 1) / total, float(low), float(high))


def maximum_likelihood(near: NeighborGraph, k: int = LIKELIHOOD_NEIGHBORS) -> Dimension | None:
    """From distances to k neighbors (Levina and Bickel, 2005).

    Inverse dimensions of rows are averaged (MacKay and Ghahramani, 2005). Errors of rows that share
    neighbors are correlated, so the interval adds their covariances.
    """
    k = min(k, near.indices.shape[1])
    if k < 2:
        return None
    distances = near.distances[:, :k]
    inverse = np.log(distances[:, -1:] / distances[:, :-1]).mean(1)
    mean = float(inverse.mean())
    if not 0 < mean < np.inf:
        return None
    error = INTERVAL_QUANTILE * float(np.sqrt(_compute_mean_variance(inverse - mean, near, k)))
    high = 1 / (mean - error) if error < mean else np.inf
    return Dimension(1 / mean, 1 / (mean + error), high)


def _compute_mean_variance(errors: Reals, near: NeighborGraph, k: int) -> float:
    """Variance of the mean of values that are correlated if their rows share a neighbor."""
    n = len(near.indices)
    A = build_knn_graph(near, k, np.ones(n * k))
    # Sum of errors over the rows that list j, squared: every pair once per common neighbor. Pairs
    # are weighted by the share of neighbors they have in common, as their errors are.
    shared = A.T @ errors
    paired = float(shared @ shared) / k
    return max(paired, float(errors @ errors)) / n**2


def local_pca(sample: Sample, near: NeighborGraph, guess: float, seed: int) -> Dimension | None:
    """Mean number of axes of neighborhoods with more than 5 % of the variance of the first one.

    Neighborhoods have three rows per expected dimension: fewer would not show it, and more would
    show curvature. It works from distances, so every metric has it.
    """
    k = min(near.indices.shape[1], max(MIN_LOCAL_PCA_NEIGHBORS, int(np.ceil(3 * guess))))
    if k < 3:
        return None
    size = min(len(sample), LOCAL_PCA_SAMPLES)
    rows = random.subset(seed, "local PCA", len(sample), size)
    grams = [_compute_gram(sample, near.indices[i, :k].astype(np.int64)) for i in rows]
    spectra = np.linalg.eigvalsh(np.array(grams))[:, ::-1]
    counts = (spectra > MIN_AXIS_VARIANCE * spectra[:, :1]).sum(1)
    error = INTERVAL_QUANTILE * float(counts.std() / np.sqrt(len(counts)))
    mean = float(counts.mean())
    return Dimension(mean, mean - error, mean + error)


def _compute_gram(sample: Sample, rows: NDArray[np.int64]) -> Reals:
    """Inner products of some rows around their mean."""
    if not sample.is_euclidean:
        D = sample.take(rows).compute_distances()
        return double_center(-0.5 * D * D)
    Z = sample.X[rows].astype(np.float64)
    if issparse(Z):
        return double_center((Z @ Z.T).toarray())
    Z = Z - Z.mean(0)
    return np.asarray(Z @ Z.T)


def double_center(B: Reals) -> Reals:
    """Subtract the means of rows and columns of a symmetric matrix."""
    means = B.mean(0)
    return np.asarray(B - means - means[:, None] + means.mean())


def estimate_dimensions(
    sample: Sample, near: NeighborGraph, seed: int
) -> tuple[dict[str, Dimension], list[str]]:
    """All three estimates, as far as the neighbors allow; and notes on the others."""
    notes: list[str] = []
    distinct = near.distances[:, 0] > 0
    if not distinct.all():
        near = NeighborGraph(near.indices[distinct], near.distances[distinct])
    found: dict[str, Dimension | None] = {}
    if near.indices.shape[1] < 2 or len(near.indices) < MIN_NEIGHBORHOOD_SAMPLES:
        return {}, ["Too few rows for an intrinsic dimension; ten or more are needed."]
    ratios = near.distances[:, 1] / near.distances[:, 0]
    tied_share = float((ratios == 1).mean())
    if tied_share > MAX_TIED_SHARE:
        notes.append(
            f"{tied_share:.0%} of rows have two nearest neighbors at the same distance (few "
            "distinct values?); two-NN is then too large and was left out."
        )
    else:
        found["two_nn"] = two_nn(ratios)
    if distinct.all():
        found["maximum_likelihood"] = maximum_likelihood(near)
    guess = found.get("maximum_likelihood") or found.get("two_nn")
    if distinct.all() and guess is not None:
        found["local_pca"] = axes = local_pca(sample, near, guess.value, seed)
        n_axes = near.indices.shape[1] - 1
        if axes is not None and axes.value > SATURATED_SHARE * n_axes:
            found["local_pca"] = None
            notes.append(f"Local PCA finds variance in most of {n_axes} axes, and was left out.")
    return {name: value for name, value in found.items() if value is not None}, notes


def combine_estimates(found: dict[str, Dimension]) -> float | None:
    """The median of the estimates."""
    return float(np.median([value.value for value in found.values()])) if found else None
