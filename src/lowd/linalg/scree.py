"""How many leading eigenvalues stand out: rules that look at a spectrum alone.

Eigenvalues come in falling order, all of them; the answer is a number of components.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ..errors import ParameterError
from ..parameters import Reals

Rule: TypeAlias = Literal[
    "kaiser", "broken_stick", "elbow", "profile_likelihood", "gavish_donoho", "mle"
]


def choose_by_rule(rule: Rule, values: Reals, n: float, d: int) -> int:
    """Components by a rule, from the eigenvalues of the scatter matrix of n rows of d columns."""
    if rule == "kaiser":
        return count_leading(values > values.sum() / d * (1 + 1e-12))
    if rule == "broken_stick":
        return count_above_broken_stick(values)
    if rule == "elbow":
        return elbow(values)
    if rule == "profile_likelihood":
        return profile_likelihood(values)[0]
    if rule == "mle":
        return minka_dimension(values, n, d)
    return count_above_noise(values, max(int(n) - 1, 1), d)[0]


def count_for_variance(values: Reals, share: float, total: float | None = None) -> int:
    """Fewest components with more than this share of the sum, or of the total, as scikit-learn.

    >>> count_for_variance(np.array([6.0, 3.0, 1.0]), 0.9)
    3
    """
    total = values.sum() if total is None else total
    if total <= 0:
        return 0
    # Sums that differ from the share by rounding alone are equal to it, and not more.
    return min(int((np.cumsum(values) / total <= share + 1e-12).sum()) + 1, len(values))


def broken_stick(d: int) -> Reals:
    """Mean lengths of d pieces of a stick broken at random, largest first (Frontier, 1976).

    >>> broken_stick(4).round(6)
    array([0.520833, 0.270833, 0.145833, 0.0625  ])
    """
    return np.cumsum(1 / np.arange(d, 0, -1.0))[::-1] / d


def count_leading(above: NDArray[np.bool_]) -> int:
    """How many are true before the first that is not."""
    return len(above) if above.all() else int(np.argmin(above))


def count_above_broken_stick(values: Reals) -> int:
    """Eigenvalues whose share exceeds that of the broken stick, up to the first that does not."""
    total = values.sum()
    return count_leading(values > total * broken_stick(len(values))) if total > 0 else 0


def elbow(values: Reals) -> int:
    """Components before the point farthest below the chord from the first to the last value.

    >>> elbow(np.array([10, 9, 8, 1.0, 0.9, 0.8, 0.7]))
    3
    """
    if len(values) < 3:
        return len(values)
    chord = np.linspace(values[0], values[-1], len(values))
    return max(1, int(np.argmax(chord - values)))


def profile_likelihood(values: Reals) -> tuple[int, Reals]:
    """The split into two normal groups of one variance that is most likely (Zhu and Ghodsi, 2006).

    Returns it and the log-likelihood of the first group having 1, 2, ... members.
    """
    p = len(values)
    if p < 3:
        return p, np.zeros(max(p - 1, 0))
    # Sums of squares around the mean of the first q and of the others, by cumulative sums of
    # shifted values: those of a long flat tail lose no digits to the mean.
    v = (values - values[-1]) / max(values[0] - values[-1], np.finfo(float).tiny)
    q = np.arange(1, p)
    s, ss = np.cumsum(v), np.cumsum(v * v)
    inner = ss[:-1] - s[:-1] ** 2 / q
    outer = (ss[-1] - ss[:-1]) - (s[-1] - s[:-1]) ** 2 / (p - q)
    variance = np.maximum(inner + outer, 1e-15) / max(p - 2, 1)
    likelihood = -p / 2 * np.log(2 * np.pi * variance) - (p - 2) / 2
    return int(np.argmax(likelihood)) + 1, likelihood


def minka_dimension(values: Reals, n: float, d: int) -> int:
    """The most likely dimension of probabilistic PCA, by Laplace's method (Minka, 2000).

    From all d eigenvalues of the scatter matrix of n rows; the answer is between 1 and d - 1.
    """
    if n < d:
        raise ParameterError(
            f"n_components='mle' needs n_samples >= n_features, got {n:g} < {d}; take a count, a "
            "share of the variance, or another rule such as 'gavish_donoho'."
        )
    if d < 2:
        return d
    s = np.maximum(values / values[0], 1e-30)  # units do not matter
    k = np.arange(1, d)
    # The mean of the eigenvalues beyond the first k; rounding errors are no evidence.
    v = np.maximum((s.sum() - np.cumsum(s)[:-1]) / (d - k), 1e-15)
    sides = d - np.arange(d - 1)
    volume = np.cumsum(gammaln(sides / 2) - np.log(np.pi) * sides / 2) - k * np.log(2)
    fit = -n / 2 * (np.cumsum(np.log(s))[:-1] + (d - k) * np.log(v))
    m = d * k - k * (k + 1) / 2
    # log |A|, the curvature of the likelihood: pairs (i, j) with i <= k and j > i.
    upper = np.triu(np.ones((d, d), bool), 1)
    gaps = np.where(upper, _log_gaps(s, s, n), 0)
    inner = np.where(upper, gaps - np.log(s[:, None] * s), 0)
    pairs = np.cumsum(gaps.sum(1))[:-1] + np.cumsum(inner.sum(0))[:-1]
    outer = np.cumsum(_log_gaps(s, v, n) - np.log(s[:, None] * v), axis=0)[k - 1, k - 1]
    curvature = pairs + (d - k) * outer + m * np.log(n)
    evidence = volume + fit + np.log(2 * np.pi) * (m + k) / 2 - curvature / 2 - k * np.log(n) / 2
    evidence[s[:-1] < 1e-15] = -np.inf
    return int(k[np.argmax(evidence)])


def _log_gaps(s: Reals, t: Reals, n: float) -> Reals:
    """Logarithms of s_i - t_j; of equal ones, of what n rows tell apart."""
    gaps = s[:, None] - t
    return np.asarray(np.log(np.where(gaps > 1e-12, gaps, s[:, None] * np.sqrt(2 / n))))


def marchenko_pastur_median(beta: float, angles: int = 8192) -> float:
    """Median eigenvalue of noise of variance 1, for a ratio beta <= 1 of the two sides.

    >>> round(marchenko_pastur_median(1.0), 4)
    0.6528
    """
    middle, half = 1 + beta, 2 * np.sqrt(beta)
    # x = middle - half cos(t) makes the density smooth up to both ends.
    grid = np.pi / angles
    t = (np.arange(angles) + 0.5) * grid
    x = middle - half * np.cos(t)
    cumulative = np.cumsum(half**2 * np.sin(t) ** 2 / (2 * np.pi * beta * x)) * grid
    ends = middle - half * np.cos((np.arange(angles) + 1) * grid)
    return float(np.interp(0.5 * cumulative[-1], cumulative, ends))


def gavish_donoho_factor(beta: float) -> float:
    """Best hard threshold for singular values, in units of their median (Gavish, Donoho, 2014).

    >>> round(gavish_donoho_factor(1.0), 3)
    2.858
    """
    root = np.sqrt(beta * beta + 14 * beta + 1)
    best = np.sqrt(2 * (beta + 1) + 8 * beta / (beta + 1 + root))
    return float(best / np.sqrt(marchenko_pastur_median(beta)))


def count_above_noise(values: Reals, n: int, d: int) -> tuple[int, float]:
    """Components above noise of unknown size, and the eigenvalue that is the limit.

    `values` are eigenvalues of the scatter matrix of n independent rows of d columns, of which
    the min(n, d) that noise would fill count.
    """
    small, large = sorted((n, d))
    sizes = np.sqrt(np.maximum(values[:small], 0))
    limit = gavish_donoho_factor(small / large) * float(np.median(sizes))
    rounding = float(sizes[0]) * max(n, d) * np.finfo(float).eps
    return count_leading(sizes > max(limit, rounding)), limit**2


def count_above_tracy_widom(values: Reals, quantile: float = 0.9793) -> int:
    """Eigenvalues of n standardized rows that are larger than noise, by Tracy and Widom's law.

    The test of Patterson, Price and Reich (2006) for genotypes: n values of the rows' scatter
    matrix, the last of them 0. Columns may be correlated (linkage): their effective number comes
    from the spread of the eigenvalues. Each eigenvalue is tested after those before it are removed.
    `quantile` is that of 95 % of the law of real matrices.
    """
    remaining = values[values > 1e-12 * values[:1]]
    count = 0
    while len(remaining) > 2:
        m = len(remaining)
        total, squares = float(remaining.sum()), float((remaining**2).sum())
        spread = m * squares - total**2
        if spread <= 0:
            break
        effective = (m + 2) * total**2 / spread
        root = np.sqrt(effective - 1) + np.sqrt(m)
        mean = root**2 / effective
        deviation = root / effective * (1 / np.sqrt(effective - 1) + 1 / np.sqrt(m)) ** (1 / 3)
        if effective <= 1 or m * remaining[0] / total <= mean + quantile * deviation:
            break
        count, remaining = count + 1, remaining[1:]
    return count
