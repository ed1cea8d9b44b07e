"""The nearest neighbors of rows: as a function, and as a step of a pipeline."""

from __future__ import annotations

from typing import cast

from scipy.sparse import csr_array

from ..backends import resolve
from ..backends.protocol import Backend
from ..core.estimator import Reducer, reducer
from ..core.fit import Context, Fit
from ..core.parameters import Count, Metric, MetricParams, check_params
from ..distances.metrics import MetricLike, distances_of
from ..errors import UnsupportedError
from ..graph.block_neighbors import Search, find_block_neighbors
from ..graph.given import NeighborGraph as NeighborGraph
from ..graph.search import check_n_neighbors, count_points, find_neighbors
from ..input.arguments import Input
from ..input.blocks import RowBlocks, is_blocks
from ..input.validation import Data, validate
from ..maps.neighbors import NeighborsMap
from ..solvers.memory_plans import plan_neighbors


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
    return model._among(X)


@reducer
class NeighborsTransformer(Reducer):
    """Sparse graph of distances to the nearest training rows, for a pipeline.

    Replaces scikit-learn's `KNeighborsTransformer(mode="distance")`: every row holds
    n_neighbors + 1 distances, because a training row finds itself, at 0.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbors of each row besides itself.
    metric : str or callable, default="euclidean"
    metric_params : dict or None, default=None
        As in ClassicalMDS: a name, a callable, or "precomputed".

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

    no_inverse = "distances to neighbors do not determine a row."
    memory_plan = plan_neighbors

    def _fit(self, data: Data, ctx: Context) -> Fit:  # noqa: ARG002 - every method's signature
        base = distances_of(data, self.metric, self.metric_params)
        n = count_points(base)
        check_n_neighbors(self.n_neighbors, n)
        found = NeighborsMap(base.freeze(), self.n_neighbors + 1)
        return Fit(None, found, {"n_components": n, "n_samples_fit": n})

    def _apply_map(self, data: Data, ops: Backend) -> csr_array:
        found: csr_array = self.map_(data.items, ops)
        # Not csr_array.astype, which would sort the neighbors by number.
        return csr_array((found.data.astype(data.dtype), found.indices, found.indptr), found.shape)

    def _among(self, X: Input) -> NeighborGraph:
        check_params(self)
        ops = resolve(self.backend, self.n_jobs)
        if is_blocks(X):
            return self._among_blocks(RowBlocks.of(X))
        with self._reporting():
            data = validate(
                self, X, self._kind(), fitting=True, sparse=self._takes_sparse(), ops=ops
            )
            base = distances_of(data, self.metric, self.metric_params)
            found = find_neighbors(base, self.n_neighbors, ops)
        return NeighborGraph(found.indices, found.distances, found.recall)

    def _among_blocks(self, X: RowBlocks) -> NeighborGraph:
        if self._kind() != "rows":
            raise UnsupportedError(
                f"neighbors of rows in blocks need a metric of rows of numbers, not {self.metric!r}"
                "; compute the blocks if they fit in memory."
            )
        search = Search(
            self.n_neighbors, self.metric, self.metric_params, self.backend, self.n_jobs
        )
        with self._reporting():
            return find_block_neighbors(X, search)
