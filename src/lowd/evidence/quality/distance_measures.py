"""Distance-based measures and R_NX: each sampled row against all others, in both spaces.

Stress, correlations of distances, the Shepard diagram, and neighborhoods of all sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.sparse import csr_array
from scipy.stats import rankdata
from scipy.stats import t as student

from ... import progress, random
from ...errors import DataError
from ...parameters import Indices, Reals
from ...spaces import Space
from .measures import Measure, estimate_measure, standard_error
from .metric_spaces import all_ranks, distances_from

MAX_SHEPARD_SAMPLES = 1000  # all pairs are in the Shepard diagram: half a million
N_SHEPARD_PAIRS = 200_000  # sampled beyond: correlations have a standard error of 0.002
MAX_CURVE_SIZES = 2000  # of neighborhoods on the R_NX curve, above which it is thinned
N_THINNED_SIZES = 500  # on a logarithmic scale, finer than a plot can show
MIN_BLOCK_ROWS = 32  # with fewer, packing all rows would cost more than their distances
MAX_CACHED_ENTRIES = 2**16  # of temporary arrays: 512 KiB, which stay in the cache
N_GROUPS = 20  # of rows, for standard errors that have no formula


class PairStatistics(NamedTuple):
    """Ranks and sums of distances between sampled rows and all others."""

    rows: NDArray[np.int64]
    n: int
    counts: NDArray[np.int64]  # of pairs by the larger of their two ranks
    auc: Reals  # of each row, under R_NX over ln K
    sums: Reals  # m x 6: of δ, d, δ², d², δ d, (δ - d)²
    pairs: tuple[Reals, Reals]  # δ, d of the Shepard diagram
    group: NDArray[np.int64] | None  # of each pair, by its row; None: all pairs are there
    group_of_row: NDArray[np.int64]
    class_sums: Reals | None  # m x classes: sums of d


def compute_pair_statistics(
    data: Space,
    embedding: Space,
    rows: NDArray[np.int64],
    order: NDArray[np.int64],
    seed: int,
    codes: NDArray[np.int64] | None,
) -> PairStatistics:
    """One pass over the distances from the rows to all others.

    `order` is the canonical one of all rows, by positions in which pairs are drawn.
    """
    n, m = data.n, len(rows)
    weights = compute_auc_weights(n)
    counts, auc, sums = np.zeros(n, np.int64), np.empty(m), np.empty((m, 6))
    members = None if codes is None else csr_array((np.ones(n), (codes, np.arange(n))))
    class_sums = None if members is None else np.empty((m, members.shape[0]))
    positions = np.argsort(order)
    partners = None
    if not m == n <= MAX_SHEPARD_SAMPLES:
        partners = order[_draw_partners(positions[rows], n, seed)]
    kept: list[tuple[Reals, Reals]] = []
    step = max(MIN_BLOCK_ROWS, 2**22 // n)
    for i in range(0, m, step):
        own = rows[i : i + step]
        D, E = distances_from(data, own), distances_from(embedding, own)
        ranks, embedded_ranks = (all_ranks(M, own) for M in (D, E))
        larger_ranks = np.maximum(ranks, embedded_ranks, out=ranks)
        for part in _slices(len(own), n):
            at = slice(i + part.start, i + part.stop)
            counts_of_rows = _count_by_row(larger_ranks[part])
            counts += counts_of_rows.sum(0)
            auc[at] = counts_of_rows @ weights
            sums[at] = _sum_rows(D[part], E[part])
        if class_sums is not None and members is not None:
            class_sums[i : i + len(own)] = (members @ E.T).T
        if partners is None:
            later = np.arange(n) > own[:, None]
            kept.append((D[later], E[later]))
        else:
            chosen = np.arange(len(own))[:, None], partners[i : i + len(own)]
            kept.append((D[chosen].ravel(), E[chosen].ravel()))
        progress.report("all distances of sampled rows", i + len(own), m)
    harmonic = (1 / np.arange(1, n - 1)).sum()
    auc = (auc - harmonic) / harmonic  # the sum of 1 / (n - 1 - K) is the same sum backward
    pairs = np.concatenate([a for a, _ in kept]), np.concatenate([b for _, b in kept])
    groups = _assign_groups(positions[rows], seed)
    group = None if partners is None else np.repeat(groups, partners.shape[1])
    return PairStatistics(rows, n, counts, auc, sums, pairs, group, groups, class_sums)


def _slices(rows: int, n: int) -> Iterator[slice]:
    """A few rows of n entries at a time, so that temporary arrays stay in the cache."""
    step = max(1, MAX_CACHED_ENTRIES // n)
    for i in range(0, rows, step):
        yield slice(i, min(rows, i + step))


def _count_by_row(ranks: Indices) -> NDArray[np.int64]:
    """How often each rank from 0 to n - 1 occurs in each row of n ranks."""
    m, n = ranks.shape
    cells = np.add(ranks, n * np.arange(m)[:, None], dtype=np.intp)
    return np.bincount(cells.ravel(), minlength=m * n).reshape(m, n)


def compute_auc_weights(n: int) -> Reals:
    """What a pair whose larger rank is M adds to a row's area under R_NX over ln K.

    R_NX(K) / K summed over K is linear in the pairs with M <= K, so a row's area is a sum over its
    pairs: of (n - 1) / (K² (n - 1 - K)) for K from M to n - 2.
    """
    K = np.arange(1, n - 1, dtype=np.float64)
    terms = (n - 1) / (K * K * (n - 1 - K))
    weights = np.zeros(n)
    weights[1 : n - 1] = np.cumsum(terms[::-1])[::-1]
    return weights


def compute_rnx_curve(found: PairStatistics) -> tuple[NDArray[np.int64], Reals]:
    """K and R_NX(K); of many samples at a geometric sequence of K."""
    K, R = _compute_rnx(found)
    if found.n - 2 > MAX_CURVE_SIZES:
        sizes = np.geomspace(1, found.n - 2, N_THINNED_SIZES)
        kept = np.unique(sizes.round().astype(np.int64)) - 1
        K, R = K[kept], R[kept]
    return K, R


def _compute_rnx(found: PairStatistics) -> tuple[NDArray[np.int64], Reals]:
    n, m = found.n, len(found.rows)
    K = np.arange(1, n - 1)
    Q = np.cumsum(found.counts[1 : n - 1]) / (K * m)
    return K, ((n - 1) * Q - K) / (n - 1 - K)


def compute_global_measures(found: PairStatistics) -> dict[str, Measure]:
    """R_NX area, stress and correlations of distances."""
    _, _, near, far, _, gap = found.sums.T
    if not near.any() or not far.any():
        space = "data" if not near.any() else "embedding"
        raise DataError(f"all rows coincide in the {space}: there is no distance to compare.")
    residuals = _sum_residuals(found.sums)
    K, R = _compute_rnx(found)  # its mean, not that of the rows' areas: 1 is then exactly 1
    area = float((R / K).sum() / (1 / K).sum())
    measures = {
        "rnx_auc": estimate_measure("rnx_auc", area, standard_error(found.auc, found.n)),
        "stress1": _estimate_root_ratio("stress1", gap, far, found.n),
        "scale_normalized_stress": _estimate_root_ratio(
            "scale_normalized_stress", residuals, near, found.n
        ),
    }
    return {**measures, **_compute_correlations(found)}


def compute_pointwise_stress(found: PairStatistics) -> Reals:
    """Scale-normalized stress of each row's distances, at the optimal scale of all."""
    near = found.sums[:, 2]
    return np.asarray(np.sqrt(_sum_residuals(found.sums) / np.where(near > 0, near, 1)))


def _sum_residuals(sums: Reals) -> Reals:
    """Σ (δ - a d)² of each row, at the scale a that is optimal for all rows."""
    _, _, near, far, cross, _ = sums.T
    scale = cross.sum() / far.sum()
    return np.asarray(np.maximum(near - 2 * scale * cross + scale * scale * far, 0))


def _sum_rows(D: Reals, E: Reals) -> Reals:
    """The sums of `PairStatistics` of a few rows, some columns at a time."""
    total = np.zeros((len(D), 6))
    for start in range(0, D.shape[1], MAX_CACHED_ENTRIES):
        columns = slice(start, start + MAX_CACHED_ENTRIES)
        a, b = D[:, columns].astype(np.float64), E[:, columns].astype(np.float64)
        gap = a - b
        squares = [np.einsum("ij,ij->i", p, q) for p, q in ((a, a), (b, b), (a, b), (gap, gap))]
        total += np.stack([a.sum(1), b.sum(1), *squares], axis=1)
    return total


def _draw_partners(positions: NDArray[np.int64], n: int, seed: int) -> NDArray[np.int64]:
    """Some others of each row, for the Shepard diagram."""
    count = -(-N_SHEPARD_PAIRS // len(positions))
    if count >= n - 1:
        every = np.arange(n - 1)
        return every + (every >= positions[:, None])
    at = positions[:, None] * count + np.arange(count)
    other = (random.bits(seed, "pairs", at.ravel()) % np.uint64(n - 1)).astype(np.int64)
    other = other.reshape(at.shape)
    return other + (other >= positions[:, None])


def _assign_groups(positions: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Of each row its group: random ones, of equal sizes.

    Every N_GROUPS-th row of the canonical order would be more alike than random rows are.
    """
    shuffled = np.argsort(random.bits(seed, "groups", positions), kind="stable")
    return np.argsort(shuffled) % min(N_GROUPS, len(positions))


def _estimate_root_ratio(name: str, above: Reals, below: Reals, n: int) -> Measure:
    """sqrt(Σ above / Σ below) over rows, with the standard error of a ratio estimator."""
    m = len(above)
    ratio = above.sum() / below.sum()
    root = float(np.sqrt(ratio))
    if m == n:
        return estimate_measure(name, root, None)
    spread = (above - ratio * below).std(ddof=1) / below.mean() * np.sqrt((1 - m / n) / m)
    return estimate_measure(name, root, float(spread / (2 * root)) if root > 0 else 0.0)


def _compute_correlations(found: PairStatistics) -> dict[str, Measure]:
    """Correlations of distances and non-metric stress; standard errors by groups of rows."""
    delta, d = found.pairs
    if delta.min() == delta.max() or d.min() == d.max():
        raise DataError("all distances are equal: there is no order to compare.")
    m, n = len(found.rows), found.n
    of_pairs = {"spearman": _spearman, "nonmetric_stress": _nonmetric_stress}
    values = {name: measure(delta, d) for name, measure in of_pairs.items()}
    if found.group is None:
        measures = {name: estimate_measure(name, value, None) for name, value in values.items()}
    else:
        parts = [found.group == g for g in range(min(N_GROUPS, m))]
        measures = {
            name: _estimate_by_groups(
                name, values[name], [measure(delta[p], d[p]) for p in parts], 0
            )
            for name, measure in of_pairs.items()
        }
    value = _pearson(found.sums, n)
    if m == n:
        return {"pearson": estimate_measure("pearson", value, None), **measures}
    groups = [found.group_of_row == g for g in range(min(N_GROUPS, m))]
    of_groups = [_pearson(found.sums[part], n) for part in groups]
    return {"pearson": _estimate_by_groups("pearson", value, of_groups, m / n), **measures}


def _estimate_by_groups(name: str, value: float, of_groups: list[float], share: float) -> Measure:
    """A value with the standard error of its values in groups of rows.

    `share` is that of the sampled rows among all.
    """
    count = len(of_groups)
    error = float(np.std(of_groups, ddof=1) * np.sqrt((1 - share) / count))
    return estimate_measure(name, value, error, quantile=float(student.ppf(0.975, count - 1)))


def _pearson(sums: Reals, n: int) -> float:
    """Pearson correlation of the distances from some rows to the n - 1 others each."""
    pairs = len(sums) * (n - 1)
    a, b, aa, bb, ab = sums[:, :5].sum(0) / pairs
    spread = np.sqrt((aa - a * a) * (bb - b * b))
    return float((ab - a * b) / spread) if spread > 0 else 0.0


def _spearman(delta: Reals, d: Reals) -> float:
    a, b = rankdata(delta), rankdata(d)
    a, b = a - a.mean(), b - b.mean()
    size = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / size) if size > 0 else 0.0


def _nonmetric_stress(delta: Reals, d: Reals) -> float:
    """Kruskal's Stress-1 with disparities by isotonic regression, primary approach to ties."""
    order = np.lexsort([d, delta])
    lengths = np.asarray(d[order], np.float64)
    disparities = isotonic_regression(lengths).x
    return float(np.sqrt(((disparities - lengths) ** 2).sum() / (lengths**2).sum()))
