"""Cost of each method: memory by its own plan, and seconds by a rough model.

Seconds were measured on two cores of an AMD EPYC server, for two components with default
parameters, on 1000 to 70,000 images of 50 and 784 columns and on a million rows in clusters. They
distinguish seconds from hours, within a factor of about three; another metric or machine may be
farther off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import backend as memory
from ...methods import METHODS
from ...parameters import parameters_of
from ...reducer import Reducer
from ...store import class_of
from .raw_data import RawData
from .result import Cost, Finding, format_duration, list_some

SLOW_SECONDS = 600.0  # ten minutes, from which a method is called slow
MAX_EXACT_ISOMAP_SAMPLES = 20_000  # all geodesic distances; beyond, those to landmarks
N_LANDMARKS = 1000  # that are recommended then


def _neighbor_seconds(n: int, d: int) -> float:
    """Neighbor search after a rotation of the rows: tiles of pairs, or near groups if many."""
    per_feature = 5e-12 * n * n if n <= 200_000 else 2.5e-7 * n
    return per_feature * min(d, 100) + 1e-10 * n * d * min(n, d)


_FIT_SECONDS: dict[str, Callable[[int, int], float]] = {
    "PCA": lambda n, d: 2e-9 * n * d,
    "GaussianRandomProjection": lambda n, d: 1e-11 * n * d * min(d, 300),
    "SparseRandomProjection": lambda n, d: 1e-9 * n * d,
    "HadamardRandomProjection": lambda n, d: 5e-10 * n * d,
    "ClassicalMDS": lambda n, d: 5e-9 * n * d,
    "MDS": lambda n, d: 6e-8 * n * n + 1e-11 * n * n * d,
    "NonMetricMDS": lambda n, d: 1e-7 * n * n + 1e-11 * n * n * d,
    "KernelPCA": lambda n, d: 5e-9 * n * d,
    "LaplacianEigenmaps": lambda n, d: _neighbor_seconds(n, d) + 2e-5 * n,
    "DiffusionMaps": lambda n, d: _neighbor_seconds(n, d) + n * (2e-5 + 1.8e-8 * min(n, 5000)),
    # Shortest paths between all rows, or three times as long ones to landmarks.
    "Isomap": lambda n, d: (
        _neighbor_seconds(n, d)
        + 1.2e-8 * n * (n if n <= MAX_EXACT_ISOMAP_SAMPLES else 3 * N_LANDMARKS)
    ),
    "LocallyLinearEmbedding": lambda n, d: _neighbor_seconds(n, d) + 2e-5 * n,
    "ModifiedLLE": lambda n, d: _neighbor_seconds(n, d) + 3e-5 * n,
    "HessianLLE": lambda n, d: _neighbor_seconds(n, d) + 3e-5 * n,
    "LTSA": lambda n, d: _neighbor_seconds(n, d) + 3e-5 * n,
    "SNE": lambda n, d: _neighbor_seconds(n, d) + 0.3 + 1e-6 * n * n,
    "TSNE": lambda n, d: _neighbor_seconds(n, d) + 0.4 + 9e-5 * n,
    "UMAP": lambda n, d: _neighbor_seconds(n, d) + 0.05 + 1.5e-5 * n,
}


def estimate_costs(data: RawData) -> dict[str, Cost]:
    """Method -> cost of a fit of these data; only methods that can take them."""
    n, d = len(data), max(data.n_features, 1)
    n_entries = data.X.nnz if data.is_sparse else None
    stored = d if n_entries is None else n_entries // n + 1  # entries of a row
    free = memory.free_memory()
    found = {}
    for method in METHODS:
        model = _make_model(method, data)
        if model is None or (data.is_sparse and not model._takes_sparse()):
            continue
        needed = model.estimate(n, d, data.dtype, n_entries=n_entries).bytes
        seconds = 0.01 + _FIT_SECONDS[method](n, stored)
        found[method] = Cost(needed, seconds, free is None or needed <= free)
    return found


def _make_model(method: str, data: RawData) -> Reducer | None:
    """The method with the metric of the data, or None if it has no metric.

    Parameters are the default ones, but two components where the default is all of them.
    """
    cls = class_of(method)
    params: dict[str, Any] = {} if cls().n_components is not None else {"n_components": 2}
    if data.kind != "rows" or data.metric != "euclidean":
        if "metric" not in parameters_of(cls):
            return None
        params |= {"metric": data.metric, "metric_params": data.metric_params}
    model: Reducer = cls(**params)
    return model


def check_costs(costs: dict[str, Cost]) -> Finding:
    """Methods that do not fit in memory, or take long."""
    heavy = [method for method, cost in costs.items() if not cost.fits]
    slow = [
        f"{method} (about {format_duration(cost.seconds)})"
        for method, cost in costs.items()
        if cost.fits and cost.seconds > SLOW_SECONDS
    ]
    named = {"too large for the memory": heavy, "slow": slow}
    parts = [f"{why}: {list_some(methods, 8)}" for why, methods in named.items() if methods]
    if not parts:
        longest = format_duration(max((cost.seconds for cost in costs.values()), default=0.0))
        return Finding(
            "fine", "cost", f"Every method fits in memory; the slowest takes about {longest}."
        )
    return Finding(
        "notice",
        "cost",
        f"Some methods are too costly with default parameters; {'; '.join(parts)}.",
        f"Fit landmarks (n_landmarks={N_LANDMARKS}) or a sample of the rows, and transform the "
        "others.",
        tuple(heavy),
    )
