"""One neighbor search for all graph methods of a comparison."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ...input.arguments import Input
from ...neighbor_graph import NeighborGraph, neighbors
from ...parameters import Reals
from ...reducer import Reducer
from ..types import Transformer
from .candidates import Candidate, SharedParams, clone

# Ten times that of float32 distances: methods then certainly see no tie that the graph hides.
SHARED_TIE_TOLERANCE = 1e-5


@dataclass(frozen=True)
class SharedNeighbors:
    """Fits models with a part of the shared graph where that changes nothing but the time."""

    graph: NeighborGraph | None
    shared: SharedParams

    def fit_transform(self, model: Transformer, X: Input) -> tuple[Transformer, Reals]:
        """A fitted clone of the model, and the embedding."""
        part = self.select(model)
        if part is None:
            fitted = clone(model)
            return fitted, np.asarray(fitted.fit_transform(X))
        # With a given graph, its width is n_neighbors; beside it the parameter is refused.
        by_width = type(model).__name__ not in ("UMAP", "TSNE", "SNE")
        default = type(model)().get_params(deep=False)["n_neighbors"]
        graph_model: Any = clone(model, **({"n_neighbors": default} if by_width else {}))
        Y = graph_model.fit_transform(X, neighbors=part)
        graph_model.n_neighbors = model.get_params(deep=False)["n_neighbors"]
        return graph_model, np.asarray(Y)

    def select(self, model: Transformer) -> NeighborGraph | None:
        """The neighbors that the model would search itself; None if it needs others."""
        graph = self.graph
        # Duplicates are the same point, no neighbors: methods then search for more than k.
        if graph is None or (graph.distances[:, 0] == 0).any():
            return None
        indices, distances = graph.indices, graph.distances
        k = count_neighbors(model, len(indices), self.shared)
        if k is None or k > graph.n_neighbors:
            return None
        if k < graph.n_neighbors:
            kth, following = distances[:, k - 1], distances[:, k]
            if (following <= kth * (1 + SHARED_TIE_TOLERANCE)).any():
                return None  # methods add ties at the k-th distance, which a list of k has not
        return NeighborGraph(
            np.ascontiguousarray(indices[:, :k]),
            np.ascontiguousarray(distances[:, :k]),
            graph.recall,
        )


def search_shared_neighbors(
    X: Input, n: int, candidates: list[Candidate], shared: SharedParams
) -> SharedNeighbors:
    """Search once if two or more candidates need neighbors."""
    is_graph = issparse(X) and shared.metric == "precomputed"
    models = [] if is_graph else [candidate.model for candidate in candidates]
    counts = [k for k in (count_neighbors(model, n, shared) for model in models) if k is not None]
    if len(counts) < 2:
        return SharedNeighbors(None, shared)
    graph = neighbors(
        X,
        min(max(counts) + 1, n - 1),  # one more than needed shows ties at the last
        metric=shared.metric,
        metric_params=shared.metric_params,
        backend=shared.backend,
        n_jobs=shared.n_jobs,
    )
    return SharedNeighbors(graph, shared)


def count_neighbors(model: Transformer, n: int, shared: SharedParams) -> int | None:
    """How many neighbors the model would search; None if it takes none, or other ones."""
    if not isinstance(model, Reducer) or "neighbors" not in model.takes:
        return None
    params = model.get_params(deep=False)
    metric, metric_params = params.get("metric", "euclidean"), params.get("metric_params")
    # By identity: arrays among the parameters cannot be compared.
    same = metric == shared.metric and metric_params is shared.metric_params
    landmarks = type(model)().get_params(deep=False).get("n_landmarks")
    special = params.get("radius") is not None or params.get("affinity") == "precomputed"
    if not same or special or params.get("n_landmarks") != landmarks:
        return None
    k = params.get("n_neighbors")
    if k is not None and type(model).__name__ == "UMAP":  # which counts each row itself
        k -= 1
    if params.get("affinity") == "perplexity":
        perplexity = float(np.max(params["perplexity"]))
        k = None if n <= 500 else math.ceil(3 * perplexity)
    return None if k is None or k >= n else int(k)
