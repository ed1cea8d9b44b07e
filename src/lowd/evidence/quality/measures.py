"""Quality measures: definitions, values and intervals; ranks, triplets, distances, classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression
from scipy.sparse import csr_array, issparse
from scipy.stats import rankdata
from scipy.stats import t as student

from ... import progress, random
from ...errors import DataError
from ...neighbor_graph import NeighborGraph
from ...parameters import Indices, Reals
from ...spaces import Rows, Space, space_of
from ..types import MetricLike, MetricParams
from .metric_spaces import (
    GraphSpace,
    RowSelection,
    all_ranks,
    distances_from,
    pair_distances,
    ranks_of,
)

Better: TypeAlias = Literal["higher", "lower", "nearer 0"]
Interval: TypeAlias = tuple[float, float]
NORMAL_QUANTILE = 1.959963984540054  # 97.5 % of the standard normal distribution lie below


class Definition(NamedTuple):
    """Direction, formula, range and meaning of a measure."""

    better: Better
    formula: str
    low: float
    high: float
    question: str  # the question it answers


DEFINITIONS = {
    "trustworthiness": Definition(
        "higher",
        "Venna & Kaski 2001",
        0,
        1,
        "are neighbors in the embedding neighbors in the data?",
    ),
    "continuity": Definition(
        "higher",
        "Venna & Kaski 2001",
        0,
        1,
        "are neighbors in the data neighbors in the embedding?",
    ),
    "neighbor_recall": Definition(
        "higher", "Q_NX(k)", 0, 1, "what share of each row's neighbors is preserved?"
    ),
    "rnx_auc": Definition(
        "higher", "area under R_NX over ln K", -1, 1, "are neighborhoods of all sizes preserved?"
    ),
    "lcmc": Definition(
        "higher",
        "Q_NX(k) - k / (n - 1)",
        -1,
        1,
        "what share is preserved beyond a random embedding?",
    ),
    "mrre_false": Definition(
        "lower", "mean relative rank error", 0, 1, "rank error of the embedding's neighbors?"
    ),
    "mrre_missing": Definition(
        "lower", "mean relative rank error", 0, 1, "rank error of the data's neighbors?"
    ),
    "bnx": Definition(
        "nearer 0", "B_NX(k)", -1, 1, "is it intrusive (above 0) or extrusive (below 0)?"
    ),
    "stress1": Definition(
        "lower",
        "Kruskal's Stress-1, unscaled",
        0,
        np.inf,
        "are distances preserved, in their units?",
    ),
    "scale_normalized_stress": Definition(
        "lower", "Stress-1 at the best scale", 0, 1, "are distances preserved, up to one factor?"
    ),
    "nonmetric_stress": Definition(
        "lower", "Stress-1, monotone, ties split", 0, 1, "is the order of distances preserved?"
    ),
    "spearman": Definition(
        "higher", "Spearman of pair distances", -1, 1, "is the order of distances preserved?"
    ),
    "pearson": Definition(
        "higher", "Pearson of pair distances", -1, 1, "are distances linearly related?"
    ),
    "triplet_accuracy": Definition(
        "higher", "random triplets", 0, 1, "which of two rows is nearer: is that preserved?"
    ),
    "centroid_triplet_accuracy": Definition(
        "higher",
        "triplets of class centroids",
        0,
        1,
        "which of two classes is nearer: is that preserved?",
    ),
    "label_trustworthiness": Definition(
        "higher",
        "Jeon 2023, by class centroids",
        0,
        1,
        "are classes separated in the data still separated?",
    ),
    "label_continuity": Definition(
        "higher",
        "Jeon 2023, by class centroids",
        0,
        1,
        "are classes separated in the embedding only?",
    ),
    "knn_accuracy": Definition(
        "higher",
        "leave-one-out kNN in the embedding",
        0,
        1,
        "do neighbors in the embedding predict the class?",
    ),
    "knn_accuracy_data": Definition(
        "higher",
        "leave-one-out kNN in the data",
        0,
        1,
        "do neighbors in the data predict the class?",
    ),
    "neighborhood_hit": Definition(
        "higher",
        "share of neighbors of the same class",
        0,
        1,
        "are classes separated in the embedding?",
    ),
    "silhouette": Definition(
        "higher", "Rousseeuw 1987, in the embedding", -1, 1, "are classes compact in the embedding?"
    ),
}

TITLES = {  # of measures whose name is an abbreviation
    "lcmc": "LCMC",
    "mrre_false": "MRRE, false neighbors",
    "mrre_missing": "MRRE, missing neighbors",
    "bnx": "B_NX",
    "rnx_auc": "R_NX, area",
    "knn_accuracy": "k-NN accuracy",
    "knn_accuracy_data": "k-NN accuracy in the data",
}


class Measure(float):
    """A float that knows its name, definition, direction and 95 % interval (None: exact)."""

    name: str
    interval: Interval | None
    k: int | None

    def __new__(
        cls, name: str, value: float, interval: Interval | None = None, k: int | None = None
    ) -> Measure:
        made = super().__new__(cls, value)
        made.name, made.interval, made.k = name, interval, k
        return made

    def __reduce__(self) -> tuple[type[Measure], tuple[str, float, Interval | None, int | None]]:
        return Measure, (self.name, float(self), self.interval, self.k)

    @property
    def better(self) -> Better:
        return DEFINITIONS[self.name].better

    @property
    def formula(self) -> str:
        return DEFINITIONS[self.name].formula

    @property
    def title(self) -> str:
        return TITLES.get(self.name, self.name.replace("_", " "))

    @property
    def question(self) -> str:
        return DEFINITIONS[self.name].question

    def __repr__(self) -> str:
        if self.interval is None:
            return f"{float(self):.4f}"
        return f"{float(self):.4f} ({self.interval[0]:.4f} to {self.interval[1]:.4f})"


def estimate_measure(
    name: str,
    value: float,
    error: float | None,
    k: int | None = None,
    quantile: float = NORMAL_QUANTILE,
) -> Measure:
    """A measure with the 95 % interval of its standard error, clipped to its range.

    An error of None says that the value is exact.
    """
    if error is None:
        return Measure(name, value, None, k)
    low, high = DEFINITIONS[name].low, DEFINITIONS[name].high
    interval = max(low, value - quantile * error), min(high, value + quantile * error)
    return Measure(name, value, (float(interval[0]), float(interval[1])), k)


def average_rows(name: str, pointwise: Reals, n: int, k: int | None = None) -> Measure:
    """The mean over n rows from the values of some of them, sampled without replacement."""
    if len(pointwise) < n and np.isin(pointwise, (0, 1)).all():
        size = len(pointwise) / (1 - len(pointwise) / n)
        return _estimate_proportion(name, float(pointwise.mean()), size, k)
    return estimate_measure(name, float(pointwise.mean()), standard_error(pointwise, n), k)


def _estimate_proportion(name: str, share: float, size: float, k: int | None) -> Measure:
    """A proportion with Wilson's score interval (1927), whose coverage holds near 0 and 1."""
    square = NORMAL_QUANTILE * NORMAL_QUANTILE / size
    middle = (share + square / 2) / (1 + square)
    half = np.sqrt(share * (1 - share) * square + square * square / 4) / (1 + square)
    return Measure(name, share, (float(middle - half), float(middle + half)), k)


def standard_error(values: Reals, n: int) -> float | None:
    """Standard error of a mean over n rows of which some were sampled; None for all of them."""
    m = len(values)
    if m == n:
        return None
    return float(values.std(ddof=1) * np.sqrt((1 - m / n) / m))


# -- neighborhoods: ranks in one space of neighbors in the other ----------------------------------

MAX_INDEX_COMPARISONS = 2**24  # of two neighbor lists at a time: 16 MiB of booleans


class Ranks(NamedTuple):
    """Ranks in one space of the k nearest neighbors in the other, row by row, nearest first."""

    ranks: Indices  # m x k
    n: int

    @property
    def k(self) -> int:
        return int(self.ranks.shape[1])

    @property
    def own_ranks(self) -> NDArray[np.int64]:
        """Ranks of the neighbors in the space that lists them: 1 to k."""
        return np.arange(1, self.k + 1)

    def trustworthiness(self) -> Reals:
        """1 less the normalized excess of ranks beyond k, of each row.

        Trustworthiness for ranks in the data of neighbors in the embedding, and continuity for
        ranks in the embedding of neighbors in the data.
        """
        excess = np.maximum(self.ranks.astype(np.int64) - self.k, 0).sum(1)
        return np.asarray(1 - excess / (max_rank_excess(self.n, self.k) / self.n))

    def recall(self) -> Reals:
        """Share of the neighbors that are among the k nearest in both spaces: Q_NX of each row."""
        return np.asarray((self.ranks <= self.k).mean(1))

    def relative_rank_error(self) -> Reals:
        """Relative error of the ranks over its maximum: the mean is the MRRE."""
        error = np.abs(self.ranks - self.own_ranks) / self.own_ranks
        worst = (np.abs(self.n - 2 * self.own_ranks) / self.own_ranks).sum()
        return np.asarray(error.sum(1) / worst)

    def rank_bias(self) -> Reals:
        """Of the shared neighbors, the share with a larger rank less that with a smaller one.

        The mean is B_NX for ranks in the data, and -B_NX for ranks in the embedding.
        """
        shared = self.ranks <= self.k
        larger = shared & (self.ranks > self.own_ranks)
        smaller = shared & (self.ranks < self.own_ranks)
        return np.asarray((larger.sum(1) - smaller.sum(1)) / self.k)


def max_rank_excess(n: int, k: int) -> float:
    """The largest sum over n rows of (rank - k) of k neighbors: attained by reversed ranks."""
    if 2 * k < n:
        return n * k * (2 * n - 3 * k - 1) / 2
    return n * (n - k) * (n - k - 1) / 2


def compute_ranks(
    space: Space | GraphSpace,
    rows: RowSelection,
    neighbors: NeighborGraph,
    nearest: NeighborGraph,
    n: int,
) -> Ranks:
    """Ranks in `space` of neighbors from the other space; `nearest` are the neighbors in `space`.

    The rank of a row in both lists is its position in `nearest`: only the others are counted.
    """
    ranks = match_positions(neighbors.indices, nearest.indices)
    missing = np.where(ranks == 0, neighbors.indices, -1).astype(np.int32)
    if (missing >= 0).any():
        ranks = ranks + ranks_of(space, rows, missing)
    return Ranks(ranks.astype(np.int32), n)


def match_positions(lists: Indices, nearest: Indices) -> Indices:
    """Position (from 1) of each entry of a list in the other list of the same row; 0 if absent."""
    m, k = lists.shape
    positions = np.zeros((m, k), np.int32)
    step = max(1, MAX_INDEX_COMPARISONS // (k * nearest.shape[1]))
    for i in range(0, m, step):
        same = lists[i : i + step, :, None] == nearest[i : i + step, None, :]
        positions[i : i + step] = np.where(same.any(2), same.argmax(2) + 1, 0)
    return positions


def compute_stretch(data: NeighborGraph, embedding: NeighborGraph) -> Reals:
    """log2 of the mean neighbor distance in the embedding over that in the data; median row 0.

    NaN where duplicates make a mean distance 0.
    """
    radii, embedded_radii = data.distances.mean(1), embedding.distances.mean(1)
    known = (radii > 0) & (embedded_radii > 0)
    ratio = np.full(len(radii), np.nan)
    ratio[known] = np.log2(embedded_radii[known] / radii[known])
    return ratio - np.median(ratio[known]) if known.any() else ratio


# -- triplets: is the order of distances from a row to two others preserved? ----------------------

TRIPLETS_PER_ROW = 5  # as in the evaluation of PaCMAP
MAX_DRAWS = 20  # of a triplet whose two distances in the data are equal


def score_random_triplets(
    data: Space,
    embedding: Space,
    rows: NDArray[np.int64],
    order: NDArray[np.int64],
    seed: int,
) -> tuple[Measure, Reals]:
    """Share of random triplets whose order is preserved, with its error, and that of each row.

    `order` is the canonical one of all rows, by positions in which triplets are drawn.

    Triplets tied in the data are drawn again, and those tied in the embedding count one half. A
    row without any triplet has NaN.
    """
    i = np.repeat(np.argsort(order)[rows], TRIPLETS_PER_ROW)
    score = np.full(len(i), np.nan)
    pending = np.arange(len(i))
    for draw in range(MAX_DRAWS):
        at = pending % TRIPLETS_PER_ROW + TRIPLETS_PER_ROW * (i[pending] + data.n * draw)
        others = _draw_others(i[pending], data.n, seed, at)
        own, j, k = (order[positions] for positions in (i[pending], *others))
        sign = np.sign(pair_distances(data, own, j) - pair_distances(data, own, k))
        untied = sign != 0
        own, j, k = own[untied], j[untied], k[untied]
        gap = pair_distances(embedding, own, j) - pair_distances(embedding, own, k)
        score[pending[untied]] = 0.5 + 0.5 * sign[untied] * np.sign(gap)
        pending = pending[~untied]
        if not len(pending):
            break
    scores = score.reshape(len(rows), TRIPLETS_PER_ROW)
    known = ~np.isnan(scores).any(1)
    if not known.any():
        raise DataError("no triplet of rows has two different distances in the data.")
    accuracy, error = _estimate_two_stage_mean(scores[known], data.n)
    return estimate_measure("triplet_accuracy", accuracy, error), scores.mean(1)


def _draw_others(
    i: NDArray[np.int64], n: int, seed: int, at: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Two different rows besides i."""
    j = (random.bits(seed, "triplet j", at) % np.uint64(n - 1)).astype(np.int64)
    j += j >= i
    k = (random.bits(seed, "triplet k", at) % np.uint64(n - 2)).astype(np.int64)
    k += k >= np.minimum(i, j)
    k += k >= np.maximum(i, j)
    return j, k


def _estimate_two_stage_mean(scores: Reals, n: int) -> tuple[float, float]:
    """Mean and standard error of two-stage sampling: rows, then triplets (Cochran, 1977)."""
    m, t = scores.shape
    means = scores.mean(1)
    between = (1 - m / n) * means.var(ddof=1) / m if m > 1 else 0.0
    within = (m / n) * scores.var(axis=1, ddof=1).mean() / (m * t)
    return float(means.mean()), float(np.sqrt(between + within))


def score_centroid_triplets(data: Reals, embedding: Reals) -> float:
    """Share of all triplets of classes whose order is preserved, from centroid distances."""
    c = len(data)
    score = total = 0.0
    upper = np.triu(np.ones((c, c), bool), 1)
    for i in range(c):
        others = upper.copy()
        others[i] = others[:, i] = False
        order = np.sign(data[i][:, None] - data[i])[others]
        answer = np.sign(embedding[i][:, None] - embedding[i])[others]
        untied = order != 0
        score += (0.5 + 0.5 * order[untied] * answer[untied]).sum()
        total += untied.sum()
    if not total:
        raise DataError("the centroids of all classes are equally far from each other.")
    return float(score / total)


# -- distances of rows to all others: R_NX, stress, correlations ----------------------------------

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


# -- classes: compare these measures with their values in the data --------------------------------

MAX_BLOCK_VOTES = 2**24  # counted at a time: 64 MiB
MAX_CENTROID_CLASSES = 200  # all triplets of more centroids would be above 4 million
MAX_CENTROID_DISTANCES = 20_000_000  # of rows to centroids: 160 MB in float64


def encode_labels(labels: ArrayLike, n: int) -> NDArray[np.int64]:
    """Class labels as integers 0, 1, ...: one per row, at least two classes."""
    given = np.asarray(labels)
    if given.shape != (n,):
        raise DataError(
            f"labels needs one entry per row: expected shape ({n},), got {given.shape}."
        )
    if given.dtype == object:
        missing = [row for row, label in enumerate(given) if label is None or label != label]
        given = np.array([str(label) for label in given])
    else:
        missing = list(np.flatnonzero(np.isnan(given))) if given.dtype.kind == "f" else []
    if missing:
        raise DataError(f"the label of row {missing[0]} is missing; drop such rows or name them.")
    if given.dtype.kind == "f" and (given != np.round(given)).any():
        raise DataError(
            "labels holds numbers that are no classes; leave labels out, or cut them into classes "
            "(numpy.digitize)."
        )
    names, codes = np.unique(given, return_inverse=True)
    if len(names) < 2:
        raise DataError(f"labels: all rows are of class {names[0]!r}; at least two are needed.")
    return np.asarray(codes.reshape(-1), np.int64)


def score_knn_votes(near: Indices, codes: NDArray[np.int64], own: NDArray[np.int64]) -> Reals:
    """1 where the majority of the neighbors has the class of the row.

    Tied votes go to the class of the nearest of the tied voters.
    """
    m, c = len(near), int(codes.max()) + 1
    right = np.empty(m)
    step = max(1, MAX_BLOCK_VOTES // c)
    for i in range(0, m, step):
        voters = codes[near[i : i + step]]
        counts = np.zeros((len(voters), c), np.int32)
        at = np.arange(len(voters))[:, None]
        np.add.at(counts, (at, voters), 1)
        leads = counts[at, voters] == counts.max(1)[:, None]
        winner = np.take_along_axis(voters, leads.argmax(1)[:, None], 1)[:, 0]
        right[i : i + step] = winner == codes[own[i : i + step]]
    return right


def compute_neighborhood_hits(
    near: Indices, codes: NDArray[np.int64], own: NDArray[np.int64]
) -> Reals:
    """Share of each row's neighbors that have its class."""
    return np.asarray((codes[near] == codes[own][:, None]).mean(1), np.float64)


def compute_silhouettes(
    class_sums: Reals, codes: NDArray[np.int64], own: NDArray[np.int64]
) -> Reals:
    """Silhouettes from the sums of each row's distances to every class; singletons have 0."""
    sizes = np.bincount(codes).astype(np.float64)
    classes, at = codes[own], np.arange(len(own))
    inside = class_sums[at, classes] / np.maximum(sizes[classes] - 1, 1)
    means = class_sums / sizes
    means[at, classes] = np.inf
    outside = means.min(1)
    larger = np.maximum(inside, outside)
    width = (outside - inside) / np.where(larger > 0, larger, 1)
    return np.where(sizes[classes] > 1, width, 0.0)


def compare_centroids(
    X: Any,
    Y: Reals,
    metric: MetricLike,
    params: MetricParams,
    codes: NDArray[np.int64],
) -> dict[str, Measure]:
    """Measures by the centroids of classes, for rows of numbers with up to 200 classes."""
    c, n = int(codes.max()) + 1, len(codes)
    no_centroids = callable(metric) or metric in (
        *("precomputed", "gower", "hamming", "jaccard", "dice", "haversine"),
    )
    if no_centroids or c > MAX_CENTROID_CLASSES:
        return {}
    share = csr_array((1 / np.bincount(codes)[codes], (codes, np.arange(n))), shape=(c, n))
    centroids = share @ X
    centroids = np.asarray(centroids.toarray() if issparse(centroids) else centroids, np.float64)
    data, embedding = space_of(centroids, metric, params), Rows(share @ Y)
    values = {}
    if c > 2:
        accuracy = score_centroid_triplets(data.pairwise(), embedding.pairwise())
        values["centroid_triplet_accuracy"] = accuracy
    if n * c <= MAX_CENTROID_DISTANCES:
        gap = compute_separation(data.toward(X), codes)
        gap -= compute_separation(embedding.toward(Y), codes)
        pairs = np.triu_indices(c, 1)
        values["label_trustworthiness"] = float(1 - np.maximum(gap, 0)[pairs].mean())
        values["label_continuity"] = float(1 - np.maximum(-gap, 0)[pairs].mean())
    return {name: Measure(name, value) for name, value in values.items()}


def compute_separation(D: Reals, codes: NDArray[np.int64]) -> Reals:
    """Separability of each two classes, from distances of rows to the centroids.

    2 (DSC - 1/2), where DSC is the share of their rows that are nearer to their own centroid.
    """
    c = D.shape[1]
    own = D[np.arange(len(codes)), codes][:, None]
    nearer = (own < D) + 0.5 * (own == D)
    right = np.stack([nearer[codes == a].sum(0) for a in range(c)])
    sizes = np.bincount(codes)
    return np.asarray(2 * (right + right.T) / (sizes[:, None] + sizes) - 1)
