"""The nearest neighbors of rows."""

from __future__ import annotations

from typing import cast

from ..backends import resolve
from ..backends.protocol import Backend
from ..core.parameters import Metric, MetricParams, check_params
from ..distances.metrics import MetricLike, distances_of
from ..errors import UnsupportedError
from ..graph.block_neighbors import Search, find_block_neighbors
from ..graph.given import NeighborGraph as NeighborGraph
from ..graph.search import find_neighbors
from ..input.arguments import Input
from ..input.blocks import RowBlocks, is_blocks
from ..input.validation import validate
from .neighbors_transformer import NeighborsTransformer


def neighbors(
    X: Input,
    n_neighbors: int = 15,
    *,
    metric: MetricLike = "euclidean",
    metric_params: MetricParams = None,
    backend: str = "auto",
    n_jobs: int | None = None,
    verbose: bool = False,
) -> NeighborGraph:
    """The nearest other rows of each row, and how far they are.

    Distances are those of float64, whatever the data's type. Equal distances go by row number. A
    row is never its own neighbor, its duplicates may be. Methods that start from neighbors take the
    answer as `fit(X, neighbors=...)`, so that one search serves them all.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or RowBlocks
        Of rows in blocks, blocks are compared with blocks, also on a cluster.
    n_neighbors : int, default=15
    metric : str or callable, default="euclidean"
    metric_params : dict or None, default=None

    Returns
    -------
    NeighborGraph

    Examples
    --------
    >>> import lowd
    >>> found = lowd.neighbors([[0.0, 0.0], [0.0, 1.0], [3.0, 1.0]], 2)
    >>> found.indices
    array([[1, 2],
           [0, 2],
           [1, 0]], dtype=int32)
    >>> found.distances.round(3)
    array([[1.   , 3.162],
           [1.   , 3.   ],
           [3.   , 3.162]])
    """
    model = NeighborsTransformer(
        n_neighbors=n_neighbors,
        metric=cast(Metric, metric),
        metric_params=metric_params,
        backend=backend,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    check_params(model)
    ops = resolve(backend, n_jobs)
    with model._reporting():
        if is_blocks(X):
            return _search_blocks(RowBlocks.of(X), model)
        return _search_rows(X, model, ops)


def _search_rows(X: Input, model: NeighborsTransformer, ops: Backend) -> NeighborGraph:
    data = validate(model, X, model._kind(), fitting=True, sparse=model._takes_sparse(), ops=ops)
    base = distances_of(data, model.metric, model.metric_params)
    found = find_neighbors(base, model.n_neighbors, ops)
    return NeighborGraph(found.indices, found.distances, found.recall)


def _search_blocks(X: RowBlocks, model: NeighborsTransformer) -> NeighborGraph:
    if model._kind() != "rows":
        raise UnsupportedError(
            f"neighbors of rows in blocks need a metric of rows of numbers, not {model.metric!r}"
            "; compute the blocks if they fit in memory."
        )
    metric = model.metric, model.metric_params
    return find_block_neighbors(X, Search(model.n_neighbors, *metric, model.backend, model.n_jobs))
