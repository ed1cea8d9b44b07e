"""One search for neighbors, for all methods that start from neighbors."""

from __future__ import annotations

import math
from inspect import signature
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse

from ...core.estimator import Reducer
from ...graph.search import TIE_TOLERANCE
from ...methods.neighbors import NeighborGraph, neighbors
from ...relations.perplexity_graph import MAX_FULL_POINTS, NEIGHBORS_PER_PERPLEXITY
from .candidates import Candidate, fresh


class Sharing:
    """Fits models, with a part of the common graph where that changes nothing but the time."""

    def __init__(self, graph: NeighborGraph | None, common: tuple[Any, Any]) -> None:
        self._graph, self._common = graph, common
        # A copy is no neighbor but the same point: methods then look farther than their k.
        self._copies = graph is not None and bool((graph.distances[:, 0] == 0).any())

    @classmethod
    def of(
        cls,
        X: Any,
        n: int,
        chosen: list[Candidate],
        metric: Any,
        metric_params: dict[str, Any] | None,
        backend: str,
        n_jobs: int | None,
    ) -> Self:
        common = metric, metric_params
        listed = issparse(X) and metric == "precomputed"  # X is a graph already
        wanted = [] if listed else [_wanted(one.model, n, common) for one in chosen]
        counts = [k for k in wanted if k is not None]
        if len(counts) < 2:
            return cls(None, common)
        how = {"metric": metric, "metric_params": metric_params}
        # One more than anyone needs: it tells whether the last of a list has an equal.
        most = min(max(counts) + 1, n - 1)
        return cls(neighbors(X, most, **how, backend=backend, n_jobs=n_jobs), common)

    def fit(self, model: Any, X: Any) -> tuple[Any, Any]:
        """The fitted copy of a model, and the places of the rows."""
        part = self._part(model)
        if part is None:
            copy = fresh(model)
            return copy, copy.fit_transform(X)
        # With a ready graph, its width is n_neighbors; beside it the parameter is refused.
        by_width = getattr(model, "affinity", None) not in ("perplexity", "uniform")
        default = {"n_neighbors": type(model)().n_neighbors} if by_width else {}
        copy = fresh(model, **default)
        places = copy.fit_transform(X, neighbors=part)
        copy.n_neighbors = model.n_neighbors
        return copy, places

    def _part(self, model: Any) -> NeighborGraph | None:
        if self._graph is None or self._copies:
            return None
        indices, distances = self._graph
        k = _wanted(model, len(indices), self._common)
        if k is None or k > self._graph.n_neighbors:
            return None
        if k < self._graph.n_neighbors:
            rim, next_ = distances[:, k - 1], distances[:, k]
            if (next_ <= rim * (1 + 10 * TIE_TOLERANCE[np.dtype(np.float32)])).any():
                return None  # methods take all as near as the k-th, and a list cannot say so
        return NeighborGraph(
            np.ascontiguousarray(indices[:, :k]),
            np.ascontiguousarray(distances[:, :k]),
            self._graph.recall,
        )


def _wanted(model: Any, n: int, common: tuple[Any, Any]) -> int | None:
    """How many neighbors the model would look for; None if it takes none, or not these."""
    if (
        not isinstance(model, Reducer)
        or "neighbors" not in signature(model.fit_transform).parameters
    ):
        return None
    settings = model.get_params(deep=False)
    metric, params = settings.get("metric", "euclidean"), settings.get("metric_params")
    same = metric == common[0] and params is common[1]  # arrays inside cannot be compared
    landmarks = type(model)().get_params(deep=False).get("n_landmarks")
    special = settings.get("radius") is not None or settings.get("affinity") == "precomputed"
    if not same or special or settings.get("n_landmarks") != landmarks:
        return None
    k = settings.get("n_neighbors")
    if settings.get("affinity") == "perplexity":
        most = float(np.max(settings["perplexity"]))
        k = None if n <= MAX_FULL_POINTS else math.ceil(NEIGHBORS_PER_PERPLEXITY * most)
    return None if k is None or k >= n else int(k)
