"""What each method would take: its own plan of memory, and a rough model of its time.

Seconds were measured on two cores of an AMD EPYC server, for maps of two dimensions with default
settings, on 1000 to 70,000 images of 50 and 784 columns. They tell seconds from hours, within a
factor of about three; another metric or machine may be farther off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scipy.sparse import issparse

from ...core import memory
from ...methods import METHODS
from ...store import class_of
from .result import Cost, Finding, listed, spoken
from .subject import Subject

START = 0.01  # seconds that any fit takes
SLOW = 600.0
EXACT, LANDMARKS = 20_000, 1000  # Isomap: rows up to which all ways are measured; else to so many


def _search(n: int, d: int) -> float:
    """Finding neighbors: tiles of pairs, of which many are given up, after turning the rows."""
    return 5e-12 * n * n * min(d, 100) + 1e-10 * n * d * min(n, d)


def _sheet(n: int, d: int) -> float:
    """Weights of neighbors, and the smallest eigenvectors of a sparse matrix."""
    return _search(n, d) + 2e-5 * n


def _frames(n: int, d: int) -> float:
    """The same with a tangent plane for every row."""
    return _search(n, d) + 3e-5 * n


def _paths(n: int, d: int) -> float:
    """Ways between all rows, or to landmarks."""
    return _search(n, d) + (1.2e-8 * n * n if n <= EXACT else 3.5e-8 * n * LANDMARKS)


_SECONDS: dict[str, Callable[[int, int], float]] = {
    "PCA": lambda n, d: 2e-9 * n * d,
    "GaussianRandomProjection": lambda n, d: 1e-11 * n * d * min(d, 300),
    "SparseRandomProjection": lambda n, d: 1e-9 * n * d,
    "HadamardRandomProjection": lambda n, d: 5e-10 * n * d,
    "ClassicalMDS": lambda n, d: 5e-9 * n * d,
    "MDS": lambda n, d: 6e-8 * n * n + 1e-11 * n * n * d,
    "NonMetricMDS": lambda n, d: 1e-7 * n * n + 1e-11 * n * n * d,
    "KernelPCA": lambda n, d: 5e-9 * n * d,
    "LaplacianEigenmaps": _sheet,
    "DiffusionMaps": lambda n, d: _sheet(n, d) + 1.8e-8 * n * min(n, 5000),
    "Isomap": _paths,
    "LocallyLinearEmbedding": _sheet,
    "ModifiedLLE": _frames,
    "HessianLLE": _frames,
    "LTSA": _frames,
    "SNE": lambda n, d: _search(n, d) + 0.3 + 1e-6 * n * n,
    "TSNE": lambda n, d: _search(n, d) + 0.4 + 9e-5 * n,
}


def costs(subject: Subject) -> dict[str, Cost]:
    """Method -> what a fit of these data would take; only methods that can take them."""
    n, d = len(subject), max(subject.width, 1)
    stored = subject.items.nnz // n + 1 if issparse(subject.items) else d  # numbers in a row
    free = memory.available()
    found = {}
    for method in METHODS:
        model = _model(method, subject)
        if model is None or (issparse(subject.items) and not model._takes_sparse()):
            continue
        taken = model.estimate(n, d, subject.dtype).bytes
        seconds = START + _SECONDS[method](n, stored)
        found[method] = Cost(taken, seconds, free is None or taken <= free)
    return found


def _model(method: str, subject: Subject) -> Any:
    """The method for a map with the metric of the data, or None if it has no metric.

    Settings are the default ones, but of two components where the default is all of them.
    """
    cls = class_of(method)
    params: dict[str, Any] = {} if cls().n_components is not None else {"n_components": 2}
    if subject.kind == "rows" and subject.metric == "euclidean":
        return cls(**params)
    if "metric" not in cls.__dataclass_fields__:
        return None
    return cls(**params, metric=subject.metric, metric_params=subject.metric_params)


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
