"""Measures of whole rows: each sampled row against all others, in both spaces."""

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
from ...backends.protocol import Array, Backend, Float64
from ...errors import DataError
from .measures import Measure, mean_error, measured
from .spaces import BLOCK, Space

EVERY_PAIR = 1000  # rows up to which the Shepard diagram holds all pairs
PAIRS = 200_000  # in it beyond
CURVE = 2000  # points of the curve that are kept as they are; more are thinned
FEWEST = 32  # rows of a block; with fewer, the work of packing all rows would outweigh theirs
GROUPS = 20  # of rows, for errors that have no formula


class Whole(NamedTuple):
    """Sums over whole rows, one entry per sampled row."""

    rows: NDArray[np.int64]
    n: int
    counts: NDArray[np.int64]  # of pairs by the larger of their two ranks
    auc: Float64
    sums: Float64  # m x 6: of δ, d, δ², d², δ d, (δ - d)²
    pairs: tuple[Float64, Float64]  # δ, d of the Shepard diagram
    group: NDArray[np.int64] | None  # of each pair, by its row; None: all pairs are there
    classes: Float64 | None  # m x classes: sums of d


def whole_rows(
    data: Space,
    places: Space,
    rows: NDArray[np.int64],
    seed: int,
    codes: NDArray[np.int64] | None,
    ops: Backend,
) -> Whole:
    """One pass: distances of the rows to all, their ranks, and the sums of both."""
    n, m = data.n, len(rows)
    weights = area_weights(n)
    counts, auc, sums = np.zeros(n, np.int64), np.empty(m), np.empty((m, 6))
    members = None if codes is None else csr_array((np.ones(n), (codes, np.arange(n))))
    classes = None if members is None else np.empty((m, members.shape[0]))
    partners = None if m == n <= EVERY_PAIR else _partners(rows, n, seed)
    kept: list[tuple[Array, Array]] = []
    step = max(FEWEST, BLOCK // n)
    for i in range(0, m, step):
        own = rows[i : i + step]
        D, E = data.distances(own), places.distances(own)
        worse = np.maximum(ops.distance_index(D, own).ranks(), ops.distance_index(E, own).ranks())
        for part in _slices(len(own), n):
            at = slice(i + part.start, i + part.stop)
            counts += np.bincount(worse[part].ravel(), minlength=n)
            auc[at] = weights[worse[part]].sum(1)
            sums[at] = _row_sums(D[part].astype(np.float64), E[part].astype(np.float64))
        if classes is not None and members is not None:
            classes[i : i + len(own)] = (members @ E.T).T
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
    group = None if partners is None else np.repeat(_groups(m), partners.shape[1])
    return Whole(rows, n, counts, auc, sums, pairs, group, classes)


def _slices(rows: int, n: int) -> Iterator[slice]:
    """A few rows of n entries at a time, so that what is made of them stays in the cache."""
    step = max(1, 2**16 // n)
    for i in range(0, rows, step):
        yield slice(i, min(rows, i + step))


def area_weights(n: int) -> Float64:
    """What a pair of larger rank M adds to a row's area under R_NX over ln K.

    R_NX(K) / K summed over K is linear in the pairs with M <= K, so a row's area is a sum over its
    pairs: of (n - 1) / (K² (n - 1 - K)) for K from M to n - 2.
    """
    K = np.arange(1, n - 1, dtype=np.float64)
    terms = (n - 1) / (K * K * (n - 1 - K))
    weights = np.zeros(n)
    weights[1 : n - 1] = np.cumsum(terms[::-1])[::-1]
    return weights


def curve(whole: Whole) -> tuple[NDArray[np.int64], Float64]:
    """K and R_NX(K); for many rows at numbers K that grow by a factor."""
    n = whole.n
    K, R = _every_size(whole)
    if n - 2 > CURVE:
        kept = np.unique(np.geomspace(1, n - 2, 500).round().astype(np.int64)) - 1
        K, R = K[kept], R[kept]
    return K, R


def _every_size(whole: Whole) -> tuple[NDArray[np.int64], Float64]:
    n, m = whole.n, len(whole.rows)
    K = np.arange(1, n - 1)
    Q = np.cumsum(whole.counts[1 : n - 1]) / (K * m)
    return K, ((n - 1) * Q - K) / (n - 1 - K)


def global_measures(whole: Whole) -> dict[str, Measure]:
    """What is to be said of distances, near and far."""
    _, _, near, far, cross, gap = whole.sums.T
    if not near.any() or not far.any():
        which = "data" if not near.any() else "map"
        raise DataError(f"all rows have the same place in the {which}: no distance to compare.")
    scale = cross.sum() / far.sum()
    left = np.maximum(near - 2 * scale * cross + scale * scale * far, 0)
    K, R = _every_size(whole)  # its mean, not that of the rows' areas: 1 is then exactly 1
    area = float((R / K).sum() / (1 / K).sum())
    found = {
        "rnx_auc": measured("rnx_auc", area, mean_error(whole.auc, whole.n)),
        "stress1": _root_of_ratio("stress1", gap, far, whole.n),
        "scale_normalized_stress": _root_of_ratio("scale_normalized_stress", left, near, whole.n),
    }
    return {**found, **_orders(whole)}


def pointwise_stress(whole: Whole) -> Float64:
    """Scale-normalized stress of each row's distances, at the scale of all."""
    _, _, near, far, cross, _ = whole.sums.T
    scale = cross.sum() / far.sum()
    left = np.maximum(near - 2 * scale * cross + scale * scale * far, 0)
    return np.asarray(np.sqrt(left / np.where(near > 0, near, 1)))


def _row_sums(D: Float64, E: Float64) -> Float64:
    gap = D - E
    squares = [np.einsum("ij,ij->i", a, b) for a, b in ((D, D), (E, E), (D, E), (gap, gap))]
    return np.stack([D.sum(1), E.sum(1), *squares], axis=1)


def _partners(rows: NDArray[np.int64], n: int, seed: int) -> NDArray[np.int64]:
    """Some other rows of each row, for the Shepard diagram."""
    count = -(-PAIRS // len(rows))
    if count >= n - 1:
        every = np.arange(n - 1)
        return every + (every >= rows[:, None])
    at = rows[:, None] * count + np.arange(count)
    other = (random.bits(seed, "pairs", at.ravel()) % np.uint64(n - 1)).astype(np.int64)
    other = other.reshape(at.shape)
    return other + (other >= rows[:, None])


def _groups(m: int) -> NDArray[np.int64]:
    return np.arange(m) % min(GROUPS, m)


def _root_of_ratio(name: str, above: Float64, below: Float64, n: int) -> Measure:
    """sqrt(Σ above / Σ below) over rows; its error by the usual formula for a ratio."""
    m = len(above)
    ratio = above.sum() / below.sum()
    root = float(np.sqrt(ratio))
    if m == n:
        return measured(name, root, None)
    spread = (above - ratio * below).std(ddof=1) / below.mean() * np.sqrt((1 - m / n) / m)
    return measured(name, root, float(spread / (2 * root)) if root > 0 else 0.0)


def _orders(whole: Whole) -> dict[str, Measure]:
    """Correlations and the monotone stress; their errors by groups of rows."""
    delta, d = whole.pairs
    if delta.min() == delta.max() or d.min() == d.max():
        raise DataError("all distances are equal: there is no order to compare.")
    m, n = len(whole.rows), whole.n
    paired = {"spearman": _spearman, "nonmetric_stress": _monotone_stress}
    values = {name: measure(delta, d) for name, measure in paired.items()}
    if whole.group is None:
        made = {name: measured(name, value, None) for name, value in values.items()}
    else:
        parts = [whole.group == g for g in range(min(GROUPS, m))]
        made = {
            name: _by_groups(name, values[name], [measure(delta[p], d[p]) for p in parts], 0)
            for name, measure in paired.items()
        }
    value = _pearson(whole.sums, n)
    if m == n:
        return {"pearson": measured("pearson", value, None), **made}
    rows = [_groups(m) == g for g in range(min(GROUPS, m))]
    several = [_pearson(whole.sums[part], n) for part in rows]
    return {"pearson": _by_groups("pearson", value, several, m / n), **made}


def _by_groups(name: str, value: float, several: list[float], share: float) -> Measure:
    """A value with the spread of its like in groups of rows, which are a share of all rows."""
    count = len(several)
    error = float(np.std(several, ddof=1) * np.sqrt((1 - share) / count))
    return measured(name, value, error, width=float(student.ppf(0.975, count - 1)))


def _pearson(sums: Float64, n: int) -> float:
    """Of the distances of some rows to the n - 1 others each."""
    pairs = len(sums) * (n - 1)
    a, b, aa, bb, ab = sums[:, :5].sum(0) / pairs
    spread = np.sqrt((aa - a * a) * (bb - b * b))
    return float((ab - a * b) / spread) if spread > 0 else 0.0


def _spearman(delta: Array, d: Array) -> float:
    a, b = rankdata(delta), rankdata(d)
    a, b = a - a.mean(), b - b.mean()
    size = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / size) if size > 0 else 0.0


def _monotone_stress(delta: Array, d: Array) -> float:
    """Kruskal's stress against the best increasing function of δ; equal δ may be split."""
    order = np.lexsort([d, delta])
    lengths = np.asarray(d[order], np.float64)
    fitted = isotonic_regression(lengths).x
    return float(np.sqrt(((fitted - lengths) ** 2).sum() / (lengths**2).sum()))
