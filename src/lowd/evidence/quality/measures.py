"""One number of an evaluation: how it is called, defined and read, and how sure it is."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Better: TypeAlias = Literal["higher", "lower", "nearer 0"]
Interval: TypeAlias = tuple[float, float]
NORMAL = 1.959963984540054  # 95 % of a normal distribution lie within so many deviations


class Definition(NamedTuple):
    better: Better
    formula: str
    low: float
    high: float
    question: str  # that it answers


DEFINITIONS = {
    "trustworthiness": Definition(
        "higher", "Venna & Kaski 2001", 0, 1, "are neighbors in the map neighbors in the data?"
    ),
    "continuity": Definition(
        "higher", "Venna & Kaski 2001", 0, 1, "are neighbors in the data neighbors in the map?"
    ),
    "neighbor_recall": Definition(
        "higher", "Q_NX(k)", 0, 1, "what share of each row's neighbors is kept?"
    ),
    "rnx_auc": Definition(
        "higher", "area under R_NX over ln K", -1, 1, "are neighborhoods of all sizes kept?"
    ),
    "lcmc": Definition(
        "higher", "Q_NX(k) - k / (n - 1)", -1, 1, "what share is kept beyond chance?"
    ),
    "mrre_false": Definition(
        "lower", "mean relative rank error", 0, 1, "how wrong are ranks of the map's neighbors?"
    ),
    "mrre_missing": Definition(
        "lower", "mean relative rank error", 0, 1, "how wrong are ranks of the data's neighbors?"
    ),
    "bnx": Definition(
        "nearer 0", "B_NX(k)", -1, 1, "is the map crowded (above 0) or torn (below 0)?"
    ),
    "stress1": Definition(
        "lower", "Kruskal's Stress-1, unscaled", 0, np.inf, "are distances kept, units and all?"
    ),
    "scale_normalized_stress": Definition(
        "lower", "Stress-1 at the best scale", 0, 1, "are distances kept, up to one factor?"
    ),
    "nonmetric_stress": Definition(
        "lower", "Stress-1, monotone, ties split", 0, 1, "is the order of distances kept?"
    ),
    "spearman": Definition(
        "higher", "Spearman of pair distances", -1, 1, "is the order of distances kept?"
    ),
    "pearson": Definition(
        "higher", "Pearson of pair distances", -1, 1, "are distances on one line?"
    ),
    "triplet_accuracy": Definition(
        "higher", "random triplets", 0, 1, "which of two rows is nearer: is that kept?"
    ),
    "centroid_triplet_accuracy": Definition(
        "higher", "triplets of class means", 0, 1, "which of two classes is nearer: is that kept?"
    ),
    "label_trustworthiness": Definition(
        "higher",
        "Jeon 2023, by class means",
        0,
        1,
        "are classes that are apart in the data so still?",
    ),
    "label_continuity": Definition(
        "higher", "Jeon 2023, by class means", 0, 1, "are classes apart in the map only?"
    ),
    "knn_accuracy": Definition(
        "higher", "leave-one-out vote in the map", 0, 1, "do map neighbors tell the class?"
    ),
    "knn_accuracy_data": Definition(
        "higher", "leave-one-out vote in the data", 0, 1, "do data neighbors tell the class?"
    ),
    "neighborhood_hit": Definition(
        "higher", "share of map neighbors of one's class", 0, 1, "are classes apart in the map?"
    ),
    "silhouette": Definition(
        "higher", "Rousseeuw 1987, in the map", -1, 1, "are classes compact in the map?"
    ),
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

    def __reduce__(self) -> tuple[Any, ...]:
        return Measure, (self.name, float(self), self.interval, self.k)

    @property
    def better(self) -> Better:
        return DEFINITIONS[self.name].better

    @property
    def formula(self) -> str:
        return DEFINITIONS[self.name].formula

    @property
    def question(self) -> str:
        return DEFINITIONS[self.name].question

    def __repr__(self) -> str:
        if self.interval is None:
            return f"{float(self):.4f}"
        return f"{float(self):.4f} ({self.interval[0]:.4f} to {self.interval[1]:.4f})"


def measured(
    name: str, value: float, error: float | None, k: int | None = None, width: float = NORMAL
) -> Measure:
    """A value with its standard error (None: exact); no interval leaves the measure's range."""
    if error is None:
        return Measure(name, value, None, k)
    low, high = DEFINITIONS[name].low, DEFINITIONS[name].high
    interval = max(low, value - width * error), min(high, value + width * error)
    return Measure(name, value, (float(interval[0]), float(interval[1])), k)


def mean_of(name: str, pointwise: NDArray[np.float64], n: int, k: int | None = None) -> Measure:
    """The mean over n rows from the values of some of them, drawn without replacement."""
    if len(pointwise) < n and np.isin(pointwise, (0, 1)).all():
        return _share_of(
            name, float(pointwise.mean()), len(pointwise) / (1 - len(pointwise) / n), k
        )
    return measured(name, float(pointwise.mean()), mean_error(pointwise, n), k)


def _share_of(name: str, share: float, size: float, k: int | None) -> Measure:
    """A share of rows with Wilson's interval (1927), which stays honest near 0 and 1."""
    square = NORMAL * NORMAL / size
    middle = (share + square / 2) / (1 + square)
    half = np.sqrt(share * (1 - share) * square + square * square / 4) / (1 + square)
    return Measure(name, share, (float(middle - half), float(middle + half)), k)


def mean_error(values: NDArray[np.float64], n: int) -> float | None:
    """Standard error of a mean over n rows; none if all of them are there."""
    m = len(values)
    if m == n:
        return None
    return float(values.std(ddof=1) * np.sqrt((1 - m / n) / m))
