"""Reference operations of affinities: bandwidths of rows, and their symmetrization."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..protocol import (
    CalibratedRows,
    Float64,
    FuzzySum,
    Perplexity,
    SimilarityGraph,
    square_distances,
)

PERPLEXITY_TOL = 1e-12  # of the log perplexity, and of log β
MAX_BISECTIONS = 200
MAX_LOG_BETA = 700.0  # exp of more overflows
SIGMA_TOL = 1e-5  # of the sum of memberships, and
MAX_SIGMA_STEPS = 64  # steps of bisection, both as in umap-learn
MIN_SIGMA_SHARE = 1e-3  # of a mean distance: the least sigma


class AffinityOperations:
    """Conditional probabilities and fuzzy memberships of neighbors, and both directions in one."""

    def calibrate_rows(
        self, indptr: NDArray[np.int64], distances: Float64, rule: Perplexity | FuzzySum
    ) -> CalibratedRows:
        n = len(indptr) - 1
        a, scales, offsets = np.empty(len(distances)), np.ones(n), np.zeros(n)
        if isinstance(rule, FuzzySum) and rule.mean_distance is None:
            rule = rule._replace(mean_distance=distances.sum() / max(len(distances) + n, 1))
        for i, (begin, end) in enumerate(pairwise(indptr)):
            d = distances[begin:end]
            if not len(d):
                continue
            if isinstance(rule, Perplexity):
                a[begin:end], scales[i] = _fit_perplexity(d, np.log(rule.perplexity))
            else:
                a[begin:end], scales[i], offsets[i] = _fit_sum(d, rule)
        return CalibratedRows(a, scales, offsets)

    def similarity_graph(
        self, edges: csr_array, rule: Perplexity | FuzzySum | None, union: float | None = None
    ) -> SimilarityGraph:
        if rule is None:
            return SimilarityGraph(self._symmetrize(edges, union), np.empty(0), np.empty(0))
        near = isinstance(rule, Perplexity)
        d = square_distances(edges.data) if near else edges.data.astype(np.float64, copy=False)
        found = self.calibrate_rows(edges.indptr.astype(np.int64), d, rule)
        rows = csr_array((found.affinities, edges.indices, edges.indptr), edges.shape)
        return SimilarityGraph(self._symmetrize(rows, union), found.scales, found.offsets)

    def _symmetrize(self, rows: csr_array, union: float | None = None) -> csr_array:
        if union is None:
            scale = 2 * rows.shape[0]
            half = csr_array((rows.data / scale, rows.indices, rows.indptr), rows.shape)
            S = csr_array(half + half.T)
        else:
            both = rows * rows.T
            S = csr_array(union * (rows + rows.T - both) + (1 - union) * both)
            S.eliminate_zeros()
        S.sort_indices()
        return S


def _fit_perplexity(squares: Float64, log_perplexity: float) -> tuple[Float64, float]:
    """p and β of one row by Newton's method on log β, safeguarded by bisection.

    A Newton step that does not halve the error is followed by a bisection: without that guard
    steps inside a bracket cycle on some rows.
    """
    gaps = squares - squares.min()
    scale = gaps.mean()
    if not scale > 0:
        return np.full(len(gaps), 1 / len(gaps)), 0.0
    gaps = gaps / scale
    x, low, high, last = 0.0, -MAX_LOG_BETA, MAX_LOG_BETA, np.inf
    p = gaps
    for _ in range(MAX_BISECTIONS):
        beta = np.exp(x)
        e = np.exp(-beta * gaps)
        p = e / e.sum()
        mean = p @ gaps
        excess = np.log(e.sum()) + beta * mean - log_perplexity
        if abs(excess) <= PERPLEXITY_TOL or high - low < PERPLEXITY_TOL:
            break
        low, high = (x, high) if excess > 0 else (low, x)
        slope = beta**2 * (p @ (gaps - mean) ** 2)
        # Outward by at most 2: far out the slope is nothing but rounding, and the step infinite.
        with np.errstate(over="ignore"):
            step = x + excess / slope if slope > 0 else np.inf
        step = min(max(step, x - 2), x + 2)
        newton = low < step < high and abs(excess) < 0.5 * last
        x = step if newton else _bisect(low, high, x)
        last = abs(excess)
    return p, float(np.exp(x) / scale)


def _bisect(low: float, high: float, x: float) -> float:
    """The middle of the bracket, or a step toward an end that was not yet found."""
    if high == MAX_LOG_BETA:
        return min(x + 1, MAX_LOG_BETA)
    return max(x - 1, -MAX_LOG_BETA) if low == -MAX_LOG_BETA else 0.5 * (low + high)


def _fit_sum(d: Float64, rule: FuzzySum) -> tuple[Float64, float, float]:
    """Memberships of one row, sigma and rho."""
    assert rule.mean_distance is not None
    rho = _connected_distance(d, rule.local_connectivity)
    sigma = _bandwidth(d, rho, rule.mean_distance)
    return np.exp(-np.maximum(d - rho, 0) / sigma), sigma, rho


def _connected_distance(d: Float64, local_connectivity: float) -> float:
    """rho: the distance of the L-th neighbor that is apart; a fraction of L interpolates."""
    apart = d[d > 0]
    if not len(apart):
        return 0.0
    if len(apart) < local_connectivity:
        return float(apart[-1])
    whole = int(local_connectivity)
    share = local_connectivity - whole
    below = float(apart[whole - 1]) if whole else 0.0
    if share <= SIGMA_TOL:
        return below
    return below + share * (float(apart[min(whole, len(apart) - 1)]) - below)


def _bandwidth(d: Float64, rho: float, mean_distance: float) -> float:
    """sigma: the memberships have the sum log2(k + 1), by bisection; and no less than a floor.

    The bracket is found from a power of two near the distances: the same numbers as from 1, as in
    umap-learn, for distances of any size.
    """
    target, mean = np.log2(len(d) + 1), d.sum() / (len(d) + 1)
    low, high = 0.0, np.inf
    sigma = 2.0 ** np.floor(np.log2(mean)) if mean > 0 else 1.0
    for _ in range(MAX_SIGMA_STEPS):
        excess = np.exp(-np.maximum(d - rho, 0) / sigma).sum() - target
        if abs(excess) < SIGMA_TOL:
            break
        low, high = (low, sigma) if excess > 0 else (sigma, high)
        sigma = (low + high) / 2 if high < np.inf else 2 * sigma
    least = MIN_SIGMA_SHARE * (mean if rho > 0 else mean_distance)
    return float(max(sigma, least)) or 1.0
