"""Intrinsic dimension: how many numbers a row near its neighbors really needs.

Three estimators, each with a 95 % interval. The interval is about chance alone: in many dimensions
all three are too low (a tenth or more from about ten on), since so many rows would be
needed to see what is near.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.stats import chi2

from ... import random
from ...backends.protocol import Backend, Float64, Neighbors
from .result import Dimension
from .subject import Sample

SIGNIFICANT = 1.959964  # standard errors to each side of a 95 % interval
CENSORED = 0.1  # largest ratios, of which only the number counts
RANGE = 20  # neighbors of the maximum likelihood estimate
ANCHORS = 400  # rows whose neighborhoods are flattened
SATURATED = 0.8  # of the axes that a neighborhood can show
SMALLEST_AXIS = 0.05  # of the largest variance in a neighborhood (Fukunaga and Olsen, 1971)


def two_nn(ratios: Float64) -> Dimension | None:
    """From the ratio of the second to the first neighbor distance (Facco et al., 2017).

    On a surface of dimension d the ratio has the distribution 1 - r⁻ᵈ, so its logarithm is an
    exponential variable of rate d. The largest tenth, where the surface bends, is censored:
    it counts as "at least so much", which keeps the interval exact.
    """
    logs = np.sort(np.log(ratios))
    kept = len(logs) - int(CENSORED * len(logs))
    if kept < 2:
        return None
    total = float(logs[:kept].sum() + (len(logs) - kept) * logs[kept - 1])
    if total <= 0:
        return None
    low, high = chi2.ppf([0.025, 0.975], 2 * kept) / (2 * total)
    return Dimension((kept - 1) / total, float(low), float(high))


def maximum_likelihood(near: Neighbors, k: int = RANGE) -> Dimension | None:
    """From distances to k neighbors (Levina and Bickel, 2005).

    Rows are averaged by their inverse dimensions, as MacKay and Ghahramani (2005) have it. Rows
    that share neighbors err together, so the interval adds their covariances.
    """
    k = min(k, near.indices.shape[1])
    if k < 2:
        return None
    reach = near.distances[:, :k]
    inverse = np.log(reach[:, -1:] / reach[:, :-1]).mean(1)
    mean = float(inverse.mean())
    if not 0 < mean < np.inf:
        return None
    error = SIGNIFICANT * float(np.sqrt(_variance_of_mean(inverse - mean, near.indices[:, :k])))
    high = 1 / (mean - error) if error < mean else np.inf
    return Dimension(1 / mean, 1 / (mean + error), high)


def _variance_of_mean(errors: Float64, indices: NDArray[np.int32]) -> float:
    """Of values that are correlated among neighbors, and among rows with a common neighbor."""
    n, k = indices.shape
    starts = np.arange(0, n * k + 1, k)
    A = csr_array((np.ones(n * k), indices.ravel(), starts), shape=(n, n))
    # Sum of errors over the rows that list j, squared: every pair once per common neighbor. Pairs
    # are weighed by the share of neighbors they have in common, as their errors are.
    shared = A.T @ errors
    paired = float(shared @ shared) / k
    return float(max(paired, errors @ errors) / n**2)


def local_pca(
    sample: Sample, near: Neighbors, guess: float, ops: Backend, seed: int
) -> Dimension | None:
    """Mean number of axes of neighborhoods with more than 5 % of the variance of the first one.

    Neighborhoods hold three rows per dimension guessed, as fewer would not show it, and no
    more, as the surface would bend. Works from distances, so every metric has it.
    """
    k = min(near.indices.shape[1], max(15, int(np.ceil(3 * guess))))
    if k < 3:
        return None
    anchors = random.subset(seed, "local PCA", len(sample), min(len(sample), ANCHORS))
    grams = [_gram(sample, near.indices[i, :k].astype(np.int64), ops) for i in anchors]
    spectra = np.linalg.eigvalsh(np.array(grams))[:, ::-1]
    counts = (spectra > SMALLEST_AXIS * spectra[:, :1]).sum(1)
    error = SIGNIFICANT * float(counts.std() / np.sqrt(len(counts)))
    mean = float(counts.mean())
    return Dimension(mean, mean - error, mean + error)


def _gram(sample: Sample, rows: NDArray[np.int64], ops: Backend) -> Float64:
    """Inner products around the mean of some rows."""
    if not sample.flat:
        D = np.asarray(sample.at(rows).distances(ops), np.float64)
        return centered(-0.5 * D * D)
    Z = sample.items[rows].astype(np.float64)
    if issparse(Z):
        return centered((Z @ Z.T).toarray())
    Z = Z - Z.mean(0)
    return np.asarray(Z @ Z.T)


def centered(B: Float64) -> Float64:
    """Rows and columns of a symmetric matrix with mean 0."""
    means = B.mean(0)
    return np.asarray(B - means - means[:, None] + means.mean())


def intrinsic_dimensions(
    sample: Sample, near: Neighbors, ops: Backend, seed: int
) -> tuple[dict[str, Dimension], list[str]]:
    """All three, as far as the neighbors allow; and notes on the rest."""
    notes: list[str] = []
    apart = near.distances[:, 0] > 0
    near = near if apart.all() else Neighbors(near.indices[apart], near.distances[apart])
    found: dict[str, Dimension | None] = {}
    if near.indices.shape[1] < 2 or len(near.indices) < 10:
        return {}, ["Too few rows for an intrinsic dimension; ten or more are needed."]
    ratios = near.distances[:, 1] / near.distances[:, 0]
    tied = float((ratios == 1).mean())
    if tied > 0.05:
        notes.append(
            f"{tied:.0%} of rows have two nearest neighbors at the same distance (few distinct "
            "values?); two-NN is then too large and was left out."
        )
    else:
        found["two_nn"] = two_nn(ratios)
    found["maximum_likelihood"] = likely = maximum_likelihood(near) if apart.all() else None
    guess = likely or found.get("two_nn")
    if apart.all() and guess is not None:
        found["local_pca"] = axes = local_pca(sample, near, guess.value, ops, seed)
        most = near.indices.shape[1] - 1
        if axes is not None and axes.value > SATURATED * most:
            found["local_pca"] = None
            notes.append(f"Local PCA sees no end among {most} axes, and was left out.")
    return {name: value for name, value in found.items() if value is not None}, notes


def agreed(found: dict[str, Dimension]) -> float | None:
    """The median of the estimates."""
    return float(np.median([value.value for value in found.values()])) if found else None
