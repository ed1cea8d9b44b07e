"""Quality measures: their definitions, values and confidence intervals."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from ...parameters import Reals

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
