"""Isomap (Tenenbaum, de Silva and Langford, 2000)."""

from __future__ import annotations

from typing import Annotated, Literal

from ..confidence.calibration import ConfidenceCurve
from ..core.estimator import reducer
from ..core.fit import Context, Fit
from ..core.graph_method import Neighborhoods
from ..core.parameters import AtLeast, Count, Metric, MetricParams, Radius, Seed
from ..graph.components import OnDisconnected
from ..graph.neighbor_graph import ConnectedGraph
from ..relations.geodesics import Geodesics
from ..solvers.geodesic_method import GeodesicMethod
from ..solvers.geodesic_scaling import scale_geodesics
from ..solvers.memory_plans import plan_isomap
from ..solvers.preimage import with_barycentric_inverse
from ..solvers.regression import with_ridge_map


@reducer
class Isomap(GeodesicMethod):
    """Isomap: classical MDS of geodesic distances along the neighbor graph.

    Use it to unroll a manifold without large holes, sampled densely enough that neighbors in space
    are neighbors on it: distances along it are preserved, those between clusters mean nothing.

    Cost: n² / 2 geodesic distances in memory, about n² log n operations; with m landmarks n·m.
    New points: shortest paths through their nearest training points, and Gower's formula of MDS.

    Parameters
    ----------
    n_components : int, default=2
    n_neighbors : int or None, default=5
    radius : float or None, default=None
        Edges lead from each sample to so many nearest others, or instead to all within a radius.
    metric : str or callable, default="euclidean"
        As in ClassicalMDS; or "precomputed" is the sparse graph of a KNeighborsTransformer.
    metric_params : dict or None, default=None
    p : float or None, default=None
        Order of the Minkowski distance, as in scikit-learn: 1 is the city-block distance.
    n_landmarks : int, "auto" or None, default="auto"
        Compute shortest paths to so many well spread samples only, or to all (None). "auto": all up
        to 20,000 rows, beyond that 1000 landmarks, with a warning.
    map : {"geodesic", "regression"}, default="geodesic"
        "geodesic" as above; "regression" is kernel ridge regression, smoother and without a graph.
    on_disconnected : {"join", "error"}, default="join"
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    embedding_, eigenvectors_ : ndarray of shape (n_samples, n_components)
    participation_ : ndarray of shape (n_components,)
    eigenvalues_, residual_variance_ : ndarray of shape (n_components,)
        1 - r² between geodesic distances and those in the first 1, 2, ... dimensions: where it
        stops falling is the dimension of the data.
    graph_ : csr_array of shape (n_samples, n_samples)
    geodesic_distances_ : ndarray of shape (n_samples, n_samples)
        Edge lengths between rows, from a duplicate to its first row 0; and, without landmarks,
        lengths of the shortest paths, computed at each access.
    landmarks_ : ndarray of shape (n_landmarks,)
    n_graph_components_, n_distinct_ : int
    graph_components_ : ndarray of shape (n_samples,)
    bridges_ : ndarray of shape (n_bridges, 2)
    knn_recall_, residual_, negative_eigenvalue_mass_ : float
    negative_mass_is_exact_ : bool
    degenerate_axes_ : tuple of tuple of int
    reconstruction_error_, regression_error_, regression_gamma_, regression_ridge_ : float
        Share of the variance that the inverse and map="regression" miss on samples left out.

    References
    ----------
    Tenenbaum, de Silva and Langford (2000), Science 290; Bengio et al. (2004), new points.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> U = [[0, 2], [0, 1], [0, 0], [1, 0], [2, 0], [2, 1], [2, 2]]
    >>> model = lowd.Isomap(1, radius=1.0).fit(U)
    >>> model.embedding_.ravel().round(6) + 0.0
    array([ 3.,  2.,  1.,  0., -1., -2., -3.])
    >>> model.transform([[0, 1.5]]).round(6)
    array([[2.5]])
    """

    n_components: Count = 2
    n_neighbors: Count | None = 5
    radius: Radius | None = None
    metric: Metric = "euclidean"
    metric_params: MetricParams = None
    p: Annotated[float, AtLeast(1)] | None = None
    n_landmarks: Count | Literal["auto"] | None = "auto"
    map: Literal["geodesic", "regression"] = "geodesic"
    on_disconnected: OnDisconnected = "join"
    random_state: Seed = None

    memory_plan = plan_isomap
    no_inverse = "distances alone determine no rows; it needs dense rows and a named metric."
    confidence_curve = ConfidenceCurve(2.6, 0.5)

    def _embed(self, graph: ConnectedGraph, near: Neighborhoods, ctx: Context) -> Fit:
        edges, m = graph.symmetric_edges(), self._count_landmarks(graph.n_rows)
        geodesics = Geodesics.along(graph, edges, near.n_neighbors, near.radius, near.dtype)
        fit, Y = scale_geodesics(geodesics, graph, self.n_components, m, ctx)
        fit = fit.with_report(graph=graph.expand_to_rows(edges), **graph.report)
        if self.map == "regression":
            fit = with_ridge_map(fit, graph.base, Y, ctx)
        return with_barycentric_inverse(fit, Y, graph, near.items, 2 * self.n_components + 2, ctx)
