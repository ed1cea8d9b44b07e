"""The nearest neighbors of rows: as a function, as a graph, and as a step of a pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy.sparse import csr_array

from . import confidence
from .blocks import RowBlocks, is_blocks
from .errors import DataError, ParameterError, UnsupportedError
from .parameters import (
    Count,
    Indices,
    Metric,
    MetricParams,
    Reals,
    advise_at_most,
    check_parameters,
    state,
)
from .reducer import Reducer
from .spaces.known import read_graph
from .spaces.neighbors import Neighbors
from .spaces.space import Space, space_of, take_rows


def neighbors(
    X: ArrayLike | RowBlocks,
    n_neighbors: int = 15,
    *,
    metric: Metric = "euclidean",
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
        Neighbors of each row besides itself.
    metric : str or callable, default="euclidean"
        "euclidean", "sqeuclidean", "cosine", "correlation", "manhattan", "chebyshev", "minkowski",
        "hamming", "jaccard", "canberra", "braycurtis", "dice", "hellinger", "haversine", "gower"
        for tables, "precomputed" for a matrix of distances, or a function of two rows (or objects)
        that returns their distance.
    metric_params : dict or None, default=None
        Parameters of the metric: {"p": 3} for "minkowski", {"weights": [...]} for "gower", or
        keywords of a callable.
    backend : {"auto", "native", "torch"}, default="auto"
        What computes: the native core, or torch, on a GPU if there is one. "auto" is the native
        core, unless X is a tensor on a GPU.
    n_jobs : int or None, default=None
        Number of threads, which does not change the result. None and -1 are all CPUs.
    verbose : bool or int, default=False
        Show a progress bar on standard error.

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
        metric=metric,
        metric_params=metric_params,
        backend=backend,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    check_parameters(model)
    with model._running(backend):
        rows = RowBlocks.of(X) if is_blocks(X) else model._read(X, True)
        space = space_of(rows, metric, metric_params)
        check_n_neighbors(n_neighbors, space.n)
        near = space.nearest(n_neighbors)
        return NeighborGraph(*near.table, near.recall)


def check_n_neighbors(k: int, n: int) -> None:
    """Raise an error if there are not more rows than neighbors."""
    if n == 1:
        raise ParameterError(
            f"n_neighbors={k}, but n_samples=1: a single row has no neighbors.", "n_neighbors"
        )
    if k >= n:
        raise ParameterError(
            f"n_neighbors={k} needs at least {k + 1} rows, but there are {n}; "
            f"use {advise_at_most('n_neighbors', n - 1)}.",
            "n_neighbors",
        )


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """The nearest others of each row, nearest first.

    It unpacks to `indices, distances`, as umap's pair does. A row with fewer neighbors than the
    others ends in -1 at an infinite distance. No row is its own neighbor.

    Attributes
    ----------
    indices : whole numbers, rows x n_neighbors
    distances : float64, of the same shape
    recall : share of the true neighbors that a search for approximate ones has found; 1 if exact

    Examples
    --------
    >>> import lowd
    >>> indices, distances = lowd.neighbors([[0.0], [1.0], [3.0]], 1)
    >>> indices.ravel(), distances.ravel()
    (array([1, 0, 1], dtype=int32), array([1., 1., 2.]))
    """

    indices: Indices
    distances: Reals
    recall: float = 1.0

    def __iter__(self) -> Iterator[Any]:
        return iter((self.indices, self.distances))

    @property
    def n_neighbors(self) -> int:
        return int(self.indices.shape[1])

    def graph(self) -> csr_array:
        """Sparse distances as of scikit-learn's KNeighborsTransformer: each row leads with itself.

        >>> import lowd
        >>> lowd.neighbors([[0.0], [1.0], [3.0]], 1).graph().indices.tolist()
        [0, 1, 1, 0, 2, 1]
        """
        return _without_padding(*self.with_self())

    def edges(self) -> csr_array:
        """Sparse distances to the neighbors only; stored zeros are distances."""
        return _without_padding(self.indices, self.distances)

    def with_self(self) -> tuple[Indices, Reals]:
        """The pair as umap takes it: each row's first neighbor is itself."""
        n = len(self.indices)
        own = np.arange(n, dtype=np.int32)[:, None]
        return np.hstack([own, self.indices]), np.hstack([np.zeros((n, 1)), self.distances])

    @classmethod
    def of(cls, given: object, n: int | None = None) -> NeighborGraph:
        """A graph of n rows: one of ours, a square sparse matrix of distances, or a pair.

        Sparse: of scikit-learn's KNeighborsTransformer(mode="distance") or scanpy's
        `obsp["distances"]`. A pair holds (indices, distances), with or without each row itself.

        >>> import lowd
        >>> lowd.NeighborGraph.of(([[0, 1], [1, 0]], [[0.0, 2.0], [0.0, 2.0]])).indices
        array([[1],
               [0]], dtype=int32)
        """
        found = given if isinstance(given, cls) else cls(*_padded(read_graph(given)))
        if n is not None and len(found.indices) != n:
            raise DataError(
                f"neighbors has {len(found.indices)} rows, but X has {n}; make it from the same X."
            )
        return found


def _padded(near: Neighbors) -> tuple[Indices, Reals]:
    """Lists as rows of tables, of which the shorter ones end in -1 at an infinite distance."""
    counts = near.counts
    shape = len(counts), int(counts.max())
    indices, distances = np.full(shape, -1, np.int32), np.full(shape, np.inf)
    there = np.arange(shape[1]) < counts[:, None]
    indices[there], distances[there] = near.indices, near.distances
    return indices, distances


def _without_padding(indices: Indices, distances: Reals) -> csr_array:
    there, n = indices >= 0, len(indices)
    indptr = np.concatenate([[0], np.cumsum(there.sum(1))])
    return csr_array((distances[there], indices[there].astype(np.int32), indptr), shape=(n, n))


class NeighborsTransformer(Reducer):
    """Sparse graph of distances to the nearest training rows, for a pipeline.

    Replaces scikit-learn's `KNeighborsTransformer(mode="distance")`: every row holds
    n_neighbors + 1 distances, because a training row finds itself, at 0.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbors of each row besides itself.
    metric : str or callable, default="euclidean"
        "euclidean", "sqeuclidean", "cosine", "correlation", "manhattan", "chebyshev", "minkowski",
        "hamming", "jaccard", "canberra", "braycurtis", "dice", "hellinger", "haversine", "gower"
        for tables, "precomputed" for a matrix of distances, or a function of two rows (or objects)
        that returns their distance.
    metric_params : dict or None, default=None
        Parameters of the metric: {"p": 3} for "minkowski", {"weights": [...]} for "gower", or
        keywords of a callable.
    backend : {"auto", "native", "torch"}, default="auto"
        What computes: the native core, or torch, on a GPU if there is one. "auto" is the native
        core, unless X is a tensor on a GPU.
    n_jobs : int or None, default=None
        Number of threads, which does not change the result. None and -1 are all CPUs.
    verbose : bool or int, default=False
        Show a progress bar on standard error.

    Attributes
    ----------
    n_samples_fit_ : int
        Rows of the training data, and columns of the graph.

    Examples
    --------
    >>> import lowd
    >>> from sklearn.pipeline import make_pipeline
    >>> X = [[0.0], [1.0], [2.0], [4.0], [5.0]]
    >>> steps = make_pipeline(
    ...     lowd.NeighborsTransformer(n_neighbors=2),
    ...     lowd.Isomap(1, n_neighbors=2, metric="precomputed"),
    ... )
    >>> steps.fit_transform(X).ravel().round(6)
    array([-2.4, -1.4, -0.4,  1.6,  2.6])
    >>> steps.transform([[3.0]]).round(6)
    array([[0.6]])
    """

    n_neighbors: Count = 5
    metric: Metric = "euclidean"
    metric_params: MetricParams = None

    n_samples_fit_: int = state()

    takes = frozenset({"sparse"})
    no_inverse = "distances to neighbors do not determine a row."

    def _fit(self, X: Any, y: Any, seed: int) -> None:  # noqa: ARG002
        space = space_of(X, self.metric, self.metric_params)
        n = space.n
        check_n_neighbors(self.n_neighbors, n)
        self._space: Space = space.kept()
        self.n_samples_fit_ = self._n_features_out = n
        # How far from each other training rows are, by some: the search is for `transform`.
        some = space.draw(min(n, 64 if isinstance(X, list) else 512), 0, "reach")
        self._reach = confidence.reach(space.query(take_rows(X, some), 2).table[1][:, 1])

    def _place(self, rows: Any, rate: bool = False) -> tuple[Any, Reals | None]:
        near = self._space.query(rows, self.n_neighbors + 1)
        graph = _of_type(near.as_graph(self.n_samples_fit_), getattr(rows, "dtype", np.float64))
        familiar = confidence.familiarity(near.nearest, self._reach)
        return graph, confidence.bound(familiar) if rate else None

    def _cast(self, Y: Any) -> Any:
        return _of_type(Y, np.float32 if self._float32 else np.float64)

    def calibrate_confidence(self, X: ArrayLike, y: object = None) -> NeighborsTransformer:  # noqa: ARG002
        """Not for a graph, which has no place where a new row would belong."""
        raise UnsupportedError("a graph of neighbors has no coordinates whose confidence to learn.")


def _of_type(graph: csr_array, dtype: DTypeLike) -> csr_array:
    """Distances in another type; `csr_array.astype` would sort the neighbors by number."""
    return csr_array((graph.data.astype(dtype), graph.indices, graph.indptr), graph.shape)
