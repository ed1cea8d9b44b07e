"""Metrics that mean the same in both libraries."""

from __future__ import annotations

from typing import Any

from .refusal import Refused, require

# Other metrics ("hamming", "jaccard", callables, ...) treat some values differently or gain
# nothing.
SAME_METRICS = {
    "euclidean": "euclidean",
    "l2": "euclidean",
    "manhattan": "manhattan",
    "cityblock": "manhattan",
    "l1": "manhattan",
    "chebyshev": "chebyshev",
    "cosine": "cosine",
    "precomputed": "precomputed",
}


def translate_metric(metric: Any, p: float = 2, metric_params: Any = None) -> dict[str, Any]:
    """lowd's parameters `metric` and `metric_params` for a scikit-learn metric."""
    require(not metric_params, "metric_params")
    if metric == "minkowski":
        named = {1.0: "manhattan", 2.0: "euclidean"}.get(float(p))
        return {"metric": named} if named else {"metric": "minkowski", "metric_params": {"p": p}}
    if not isinstance(metric, str) or metric not in SAME_METRICS:
        name = metric if isinstance(metric, str) else "callable"
        raise Refused(f"metric={name!r} is the original's")
    return {"metric": SAME_METRICS[metric]}
