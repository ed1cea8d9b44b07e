"""What each method would take: its own plan of memory, and a rough model of its time.

Seconds were measured on two cores of a 2024 server with default settings and two components, at
2000 to 20,000 rows. They are meant to tell seconds from hours, within a factor of about three.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import memory
from ..methods import METHODS
from ..store import class_of
from .result import Cost, Finding, listed, spoken
from .subject import Subject

START = 0.01  # seconds that any fit takes
SLOW = 600.0


def _search(n: int, d: int, k: int = 10) -> float:
    """Finding neighbors."""
    return 4e-12 * n * n * min(d, 100) + 2e-7 * n * (k + d / 10)


def _sheet(n: int, d: int) -> float:
    """Weights of neighbors and the smallest eigenvectors of a sparse matrix."""
    return _search(n, d) + 6e-5 * n


def _mesh(n: int, d: int) -> float:
    """Steps of t-SNE: all pairs for few rows, a mesh for many."""
    return _search(n, d, 90) + 750 * min(6e-10 * n * n, 1.5e-3 + 4e-8 * n)


_SECONDS: dict[str, Callable[[int, int], float]] = {
    "PCA": lambda n, d: 1e-11 * n * d * min(n, d) + 2e-11 * min(n, d) ** 3,
    "GaussianRandomProjection": lambda n, d: 1e-11 * n * d * min(d, 300),
    "SparseRandomProjection": lambda n, d: 1e-9 * n * d,
    "HadamardRandomProjection": lambda n, d: 1e-9 * n * d,
    "ClassicalMDS": lambda n, d: 2e-9 * n * d,
    "MDS": lambda n, d: 300 * 1e-9 * n * n + 1e-11 * n * n * d,
    "NonMetricMDS": lambda n, d: 300 * 1e-8 * n * n + 1e-11 * n * n * d,
    "KernelPCA": lambda n, d: 2e-9 * n * d,
    "LaplacianEigenmaps": _sheet,
    "DiffusionMaps": lambda n, d: 1e-11 * n * n * d + 2e-8 * n * n,
    "Isomap": lambda n, d: _search(n, d) + 1e-8 * n * min(n, 20_000),
    "LocallyLinearEmbedding": _sheet,
    "ModifiedLLE": lambda n, d: 1.5 * _sheet(n, d),
    "HessianLLE": lambda n, d: 1.5 * _sheet(n, d),
    "LTSA": lambda n, d: 1.5 * _sheet(n, d),
    "SNE": _mesh,
    "TSNE": _mesh,
}


def costs(subject: Subject) -> dict[str, Cost]:
    """Method -> what a fit of these data would take; only methods that can take them."""
    n, d = len(subject), max(subject.width, 1)
    free = memory.available()
    found = {}
    for method in METHODS:
        model = _model(method, subject)
        if model is None:
            continue
        taken = model.estimate(n, d, subject.dtype).bytes
        seconds = START + _SECONDS[method](n, d)
        found[method] = Cost(taken, seconds, free is None or taken <= free)
    return found


def _model(method: str, subject: Subject) -> Any:
    """The method with default settings and the metric of the data, or None if it has no metric."""
    cls = class_of(method)
    plain = subject.kind == "rows" and subject.metric == "euclidean"
    if plain:
        return cls()
    if "metric" not in cls.__dataclass_fields__:
        return None
    return cls(metric=subject.metric, metric_params=subject.metric_params)


def cost_finding(found: dict[str, Cost]) -> Finding:
    """Methods that do not fit in memory, or take long."""
    heavy = [method for method, cost in found.items() if not cost.fits]
    slow = [
        f"{method} (about {spoken(cost.seconds)})"
        for method, cost in found.items()
        if cost.fits and cost.seconds > SLOW
    ]
    if not heavy and not slow:
        most = max((cost.seconds for cost in found.values()), default=0.0)
        return Finding(
            "fine", "cost", f"Every method fits in memory; the slowest takes about {spoken(most)}."
        )
    parts = []
    if heavy:
        parts.append(f"not in memory: {listed(heavy, 8)}")
    if slow:
        parts.append(f"slow: {listed(slow, 8)}")
    return Finding(
        "notice",
        "cost",
        f"Some methods are too costly with default settings; {'; '.join(parts)}.",
        "Fit landmarks (n_landmarks=1000) or a sample of the rows, and transform the rest.",
        tuple(heavy),
    )
