"""The nearest training rows of new ones, as a step of a pipeline."""

from __future__ import annotations

from scipy.sparse import csr_array

from ..backends.protocol import Backend
from ..core.estimator import Reducer, reducer
from ..core.fit import Context, Fit
from ..core.parameters import Count, Metric, MetricParams
from ..distances.metrics import distances_of
from ..graph.search import check_n_neighbors, count_points
from ..input.validation import Data
from ..maps.neighbors import NeighborsMap
from ..solvers.memory_plans import plan_neighbors


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
