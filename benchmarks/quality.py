"""Quality of what a tool returns: one measure for all tools of a row, in float64.

A measure takes the rows, the result, and the number of new rows at their end (0 for a fit).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sparse
from scipy.optimize import isotonic_regression
from scipy.sparse.linalg import LinearOperator, eigsh
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist

import data
from jobs import sample

K = 15  # neighbors that are compared


class Measure(NamedTuple):
    """`higher` says whether more is better; a difference counts from `matters` on."""

    compute: Callable[[Any, Any, int], float]
    higher: bool
    matters: Callable[[float], float]  # of the better of two values


def measure_angle(X: Any, Y: Any, new_rows: int) -> float:
    """Sine of the largest angle between the columns of Y and the exact principal components."""
    n = X.shape[0] - new_rows
    mean, V = find_axes(X[:n], Y.shape[1])
    asked = slice(n, None) if new_rows else slice(None)
    return find_sine(X[asked] @ V - mean @ V, Y[asked])


def find_axes(X: Any, k: int) -> tuple[Any, Any]:
    """The mean and the leading eigenvectors of the scatter matrix."""
    mean = np.asarray(X.mean(0, dtype=np.float64)).ravel()
    if not sparse.issparse(X):
        C = X - mean
        d = C.shape[1]
        return mean, scipy.linalg.eigh(C.T @ C, subset_by_index=(d - k, d - 1))[1]
    X = X.astype(np.float64)

    def multiply(u: Any) -> Any:
        right = X.T @ u - mean * u.sum()
        return X @ right - mean @ right

    n = X.shape[0]
    start = np.random.default_rng(0).normal(size=n)
    values, U = eigsh(LinearOperator((n, n), multiply, dtype=np.float64), k, v0=start)
    return mean, (X.T @ U - np.outer(mean, U.sum(0))) / np.sqrt(values)


def find_sine(exact: Any, found: Any) -> float:
    """Sine of the largest principal angle between the columns of two matrices."""
    V, W = (np.linalg.qr(np.asarray(Z, np.float64))[0] for Z in (exact, found))
    return float(np.linalg.norm(V - W @ (W.T @ V), 2))


def measure_kernel_angle(X: Any, Y: Any, _: int) -> float:
    """The same for kernel principal components, rbf with gamma = 1 / n_features."""
    from sklearn.metrics.pairwise import rbf_kernel

    kernel = rbf_kernel(X.astype(np.float64))
    means = kernel.mean(0)
    kernel -= means
    kernel -= (means - means.mean())[:, None]
    start = np.random.default_rng(0).normal(size=len(X))
    return find_sine(eigsh(kernel, Y.shape[1], v0=start)[1], Y)


def find_nearest(X: Any, rows: Any, among: int, k: int) -> Any:
    """Indices of the k nearest of the first `among` rows, but for the row itself; not sorted.

    Candidates come from products in float32, the nearest of them from differences in float64.
    """
    base = X[:among]
    squares = np.square(base).sum(1)
    near = np.empty((len(rows), k), int)
    candidates = min(2 * k + 50, among - 1)
    for part in np.array_split(np.arange(len(rows)), max(1, len(rows) * among // 2**26)):
        D = squares - 2 * (X[rows[part]] @ base.T)
        own = rows[part] < among
        D[np.flatnonzero(own), rows[part][own]] = np.inf
        listed = np.argpartition(D, candidates - 1, axis=1)[:, :candidates]
        for i, row in enumerate(rows[part]):
            gaps = np.square(base[listed[i]] - X[row].astype(np.float64)).sum(1)
            near[part[i]] = listed[i][np.argpartition(gaps, k - 1)[:k]]
    return near


def measure_recall(X: Any, rows: Any, found: Any, nearest: Any) -> float:
    """Share of the nearest of some rows that were found; equally distant ones count as found."""
    hits = 0
    for row, others, near in zip(rows, found, nearest, strict=True):
        here = X[row].astype(np.float64)
        radius = np.square(X[near] - here).sum(1).max()
        distances = np.square(X[others[others != row]] - here).sum(1)
        hits += (distances <= radius * (1 + 1e-12)).sum()
    return float(hits / nearest.size)


def measure_search(X: Any, found: Any, _: int) -> float:
    rows = sample(len(X), 1000)
    nearest = find_nearest(X, rows, len(X), found.shape[1])
    return measure_recall(X, rows, found[rows], nearest)


def measure_kept(X: Any, Y: Any, new_rows: int) -> float:
    """Share of the 15 nearest rows in the data that are among the 15 nearest in the embedding.

    Of 2000 rows among all; of new rows, among those that were fitted.
    """
    n = len(X) - new_rows
    rows = np.arange(n, len(X)) if new_rows else sample(n, 2000)
    own = 0 if new_rows else 1
    near = find_nearest(X, rows, n, K)
    listed = cKDTree(Y[:n]).query(Y[rows], K + own)[1]
    mapped = [line[line != row][:K] for line, row in zip(listed, rows, strict=True)]
    shared = [len(np.intersect1d(a, b)) for a, b in zip(near, mapped, strict=True)]
    return float(np.mean(shared) / K)


def measure_triplets(X: Any, Y: Any, _: int) -> float:
    """Share of 200,000 random triplets whose nearer pair is also nearer in the embedding."""
    i, j, h = np.random.default_rng(1).integers(len(X), size=(3, 200_000))
    kept = [np.square(Z[i] - Z[j]).sum(1) < np.square(Z[i] - Z[h]).sum(1) for Z in (X, Y)]
    return float((kept[0] == kept[1]).mean())


def measure_accuracy(X: Any, Y: Any, _: int) -> float:
    """Of a classifier of the images by the ten nearest other rows of the embedding (5000 rows)."""
    known, rows = data.labels(len(X)), sample(len(X), 5000)
    near = cKDTree(Y).query(Y[rows], 11)[1][:, 1:]
    votes = np.apply_along_axis(np.bincount, 1, known[near], minlength=data.N_CLASSES)
    return float((votes.argmax(1) == known[rows]).mean())


def measure_divergence(X: Any, Y: Any, _: int) -> float:
    """Divergence of exact probabilities (perplexity 30) from those of the embedding.

    The sum over all pairs is that of 5000 rows with all others.
    """
    n = len(X)
    P = find_probabilities(X.tobytes(), X.shape)
    rows = np.repeat(np.arange(n), np.diff(P.indptr))
    squares = np.square(Y[rows] - Y[P.indices]).sum(1)
    some = sample(n, 5000)
    total = 0.0
    for part in np.array_split(some, max(1, len(some) * n // 2**25)):
        gaps = sum(np.subtract.outer(y[part], y) ** 2 for y in Y.T)
        total += (1 / (1 + gaps)).sum() - len(part)
    attraction = P.data @ (np.log(P.data) + np.log1p(squares))
    return float(attraction + np.log(total * n / len(some)))


@lru_cache(maxsize=1)
def find_probabilities(content: bytes, shape: tuple[int, int]) -> Any:
    """Joint probabilities of the 90 nearest neighbors, each row's entropy that of 30 neighbors."""
    from sklearn.neighbors import NearestNeighbors

    X = np.frombuffer(content, np.float32).reshape(shape)
    n, k = len(X), min(90, len(X) - 1)
    search = NearestNeighbors(n_neighbors=k, algorithm="brute", n_jobs=-1).fit(X)
    distances, indices = search.kneighbors()
    squares = np.square(distances, dtype=np.float64)
    squares -= squares[:, :1]
    low, high = np.zeros(n), np.full(n, np.inf)
    beta = 1 / np.maximum(squares.mean(1), 1e-300)
    for _ in range(60):
        weights = np.exp(-squares * beta[:, None])
        sums = weights.sum(1)
        entropy = np.log(sums) + beta * (weights * squares).sum(1) / sums
        flat = entropy > np.log(30)
        low, high = np.where(flat, beta, low), np.where(flat, high, beta)
        beta = np.where(np.isinf(high), 2 * beta, (low + high) / 2)
    weights /= weights.sum(1, keepdims=True)
    indptr = np.arange(0, n * k + 1, k)
    P = sparse.csr_array((weights.ravel(), indices.ravel(), indptr), shape=(n, n))
    P = sparse.csr_array((P + P.T) / (2 * n))
    P.data = np.maximum(P.data, 1e-300)
    return P


def measure_stress(X: Any, Y: Any, _: int) -> float:
    """Stress-1: misfit of all distances, relative to those of the embedding."""
    wanted, got = pdist(X.astype(np.float64)), pdist(Y)
    return float(np.linalg.norm(got - wanted) / np.linalg.norm(got))


def measure_nonmetric_stress(X: Any, Y: Any, _: int) -> float:
    """Stress-1 against the isotonic regression on the distances."""
    order = np.argsort(pdist(X.astype(np.float64)), kind="stable")
    got = pdist(Y)[order]
    return float(np.linalg.norm(got - isotonic_regression(got).x) / np.linalg.norm(got))


def measure_affine_error(X: Any, Y: Any, _: int) -> float:
    """Relative error of the true coordinates of the Swiss roll after the best affine map."""
    truth = data.unrolled(len(X))
    truth -= truth.mean(0)
    Y = Y - Y.mean(0)
    fit = Y @ np.linalg.lstsq(Y, truth, rcond=None)[0]
    return float(np.linalg.norm(fit - truth) / np.linalg.norm(truth))


def measure_similarity_error(X: Any, Y: Any, _: int) -> float:
    """The same after the best rotation and scale."""
    truth = data.unrolled(len(X))
    truth -= truth.mean(0)
    Y = Y - Y.mean(0)
    rotation, scale = scipy.linalg.orthogonal_procrustes(Y, truth)
    fit = Y @ rotation * (scale / np.square(Y).sum())
    return float(np.linalg.norm(fit - truth) / np.linalg.norm(truth))


def measure_distortion(X: Any, Y: Any, _: int) -> float:
    """Mean relative change of squared distances, of 20,000 pairs."""
    rng, n = np.random.default_rng(1), len(X)
    i = rng.integers(n, size=20_000)
    j = (i + rng.integers(1, n, size=20_000)) % n
    before = np.square(X[i].astype(np.float64) - X[j]).sum(1)
    change = np.square(Y[i] - Y[j]).sum(1)[before > 0] / before[before > 0] - 1
    return float(np.abs(change).mean())


def absolutely(difference: float) -> Callable[[float], float]:
    return lambda _: difference


def relatively(share: float) -> Callable[[float], float]:
    """A share of the better value; below 1e-4 errors of float32 data are rounding."""
    return lambda best: max(share * best, 1e-4)


MEASURES = {
    "angle": Measure(measure_angle, False, relatively(0.02)),
    "kernel angle": Measure(measure_kernel_angle, False, relatively(0.02)),
    "recall": Measure(measure_search, True, absolutely(0.005)),
    "neighbors kept": Measure(measure_kept, True, absolutely(0.005)),
    "neighbors of new rows kept": Measure(measure_kept, True, absolutely(0.005)),
    "triplets kept": Measure(measure_triplets, True, absolutely(0.005)),
    "class accuracy": Measure(measure_accuracy, True, absolutely(0.005)),
    "KL": Measure(measure_divergence, False, relatively(0.02)),
    "stress": Measure(measure_stress, False, relatively(0.02)),
    "nonmetric stress": Measure(measure_nonmetric_stress, False, relatively(0.02)),
    "affine error": Measure(measure_affine_error, False, relatively(0.02)),
    "similarity error": Measure(measure_similarity_error, False, relatively(0.02)),
    "distortion": Measure(measure_distortion, False, relatively(0.02)),
}


def compute_quality(measures: tuple[str, ...], X: Any, Y: Any, new_rows: int) -> dict[str, float]:
    Y = np.asarray(Y)
    Y = Y.astype(np.float64) if Y.dtype.kind == "f" else Y
    return {name: MEASURES[name].compute(X, Y, new_rows) for name in measures}
