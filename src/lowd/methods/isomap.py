"""Isomap (Tenenbaum, de Silva and Langford, 2000)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from scipy.sparse import csr_array

from ..backends import resolve
from ..backends.protocol import Array
from ..confidence.calibration import ConfidenceCurve
from ..core import memory
from ..core.declarations import Ignored, LandmarkPolicy, is_radius_given, unless
from ..core.estimator import reducer
from ..core.fit import Context, Fit
from ..core.graph_method import GraphMethod, Neighborhoods
from ..core.parameters import (
    AtLeast,
    Count,
    Metric,
    MetricParams,
    Radius,
    Seed,
    check_count,
    check_landmarks,
)
from ..distances.order import center_in_order
from ..distances.precomputed import NeighborListDistances
from ..errors import ParameterError, UnsupportedError
from ..graph.components import OnDisconnected
from ..graph.neighbor_graph import ConnectedGraph
from ..input.ranges import MAX_WIDENED_ROWS
from ..maps.centered import CenteredMap, GeodesicMap
from ..relations.geodesics import Geodesics, geodesic_matrix
from ..solvers.centered import embed_centered
from ..solvers.landmarks import choose_farthest_points, scale_from_landmarks
from ..solvers.memory_plans import plan_isomap
from ..solvers.preimage import with_barycentric_inverse
from ..solvers.regression import with_ridge_map


@reducer
class Isomap(GraphMethod):
    """Isomap: classical MDS of geodesic distances along the neighbor graph.

    Use it to unroll a manifold: distances between far samples are kept as they are along it. It
    needs a manifold without large holes, sampled densely enough that neighbors in space are
    neighbors on it. Between separate clusters it preserves nothing of interest.

    Cost: n² / 2 geodesic distances in memory while it fits, and about n² log n for the shortest
    paths; with m landmarks n·m. The model keeps the graph. New points: edges to their nearest
    training points give the shortest paths to all others, and Gower's formula of classical MDS
    their coordinates; or kernel ridge regression does.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    n_neighbors : int or None, default=5
        Edges lead from each sample to so many nearest others.
    radius : float or None, default=None
        Or to all others within this distance; then `n_neighbors` does not count.
    metric : str or callable, default="euclidean"
    metric_params : dict or None, default=None
        As in ClassicalMDS: a name, a callable, or "precomputed": a square matrix of distances, or
        the sparse graph of a KNeighborsTransformer.
    p : float or None, default=None
        Order of the Minkowski distance, as in scikit-learn: Isomap(p=1) takes city-block distances.
    n_landmarks : int, "auto" or None, default="auto"
        Compute shortest paths to so many well spread landmarks only. None takes all samples, "auto"
        (default) all up to 20,000 rows and 1000 landmarks beyond, with a warning.
    map : {"geodesic", "regression"}, default="geodesic"
        "geodesic" as above, or "regression": kernel ridge regression of the embedding on the data.
        That is smoother and needs no graph; training points return to their coordinates by memory.
    on_disconnected : {"join", "error"}, default="join"
        "join" the connected components of the neighbor graph by bridges, with a warning, or raise
        an "error".
    random_state : int, RandomState, Generator or None, default=None
        Seed of the landmarks, of samples and of the eigensolver's start. None is 0.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
    eigenvalues_ : ndarray of shape (n_components,)
    eigenvectors_ : ndarray of shape (n_samples, n_components)
    residual_variance_ : ndarray of shape (n_components,)
        1 - r² between geodesic distances and those in the first 1, 2, ... dimensions of the
        embedding; where it stops falling is the dimension of the data.
    graph_ : csr_array of shape (n_samples, n_samples)
        Sparse symmetric edge lengths between rows; from a duplicate to its first row 0.
    geodesic_distances_ : ndarray of shape (n_samples, n_samples)
        n x n, without landmarks; computed from the graph at each access.
    landmarks_ : ndarray of shape (n_landmarks,)
        Row numbers.
    n_graph_components_ : int
    graph_components_ : ndarray of shape (n_samples,)
    bridges_ : ndarray of shape (n_bridges, 2)
        Connected components, the component of each row (0 is the largest), and the pairs of rows
        that bridges connect.
    n_distinct_ : int
    knn_recall_ : float
        Rows that are not duplicates; share of true neighbors found.
    negative_eigenvalue_mass_ : float
    negative_mass_is_exact_ : bool
        Share of the eigenvalues' size that no Euclidean embedding can show; some is normal here.
    reconstruction_error_ : float
        Of the inverse (from the nearest points of the embedding), on samples that are left out:
        share of the rows' variance; dense rows only.
    regression_gamma_, regression_ridge_, regression_error_ : float
        What was chosen for map="regression", and the share of the embedding's variance that it
        misses on samples that are left out.
    participation_ : ndarray of shape (n_components,)
        Participation ratio, about how many rows each axis shows.
    residual_ : float
    degenerate_axes_ : tuple of tuple of int

    References
    ----------
    Tenenbaum, de Silva and Langford (2000), Science 290; de Silva and Tenenbaum (2002), landmarks;
    Bengio et al. (2004), new points.

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

    ignored = (
        Ignored(("n_neighbors",), "radius is set", is_radius_given),
        Ignored(
            ("p",),
            "metric={model.metric!r} has no order",
            unless(metric=("euclidean", "minkowski")),
        ),
        Ignored(("metric_params",), "p is set", unless(p=None)),
    )
    ignored_with_neighbors = ("n_neighbors", "radius")
    # Geodesic distances of 20,000 rows take 1.6 GB in float64, each pair once.
    landmark_policy = LandmarkPolicy(1000, 10, automatic_above=20_000, automatic_value="auto")
    fits_landmarks_only = False
    accepts_sparse_graph = True
    warns_of_short_circuits = True
    has_residual_variance = True
    memory_plan = plan_isomap
    no_inverse = "distances alone determine no rows; it needs dense rows and a named metric."
    confidence_curve = ConfidenceCurve(1.1, 0.5)

    @property
    def geodesic_distances_(self) -> Array:
        """Geodesic distances between all rows (n x n), computed at each access."""
        if not hasattr(self, "graph_") or hasattr(self, "landmarks_"):
            raise AttributeError("geodesic_distances_ is there after a fit without landmarks.")
        n = self.n_samples_
        wide = self.embedding_.dtype if n > MAX_WIDENED_ROWS else np.dtype(np.float64)
        memory.check(memory.Plan({"distances": n * n * wide.itemsize}), "geodesic_distances_", [])
        return geodesic_matrix(self.graph_.astype(wide), resolve(self.backend, self.n_jobs))

    def _metric(self) -> tuple[Any, MetricParams]:
        if self.p is None:
            return super()._metric()
        named = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}.get(self.p)
        return (named, None) if named else ("minkowski", {"p": self.p})

    def _graph(self, near: Neighborhoods, ctx: Context) -> ConnectedGraph:
        if near.n_neighbors is None and near.radius is None:
            raise ParameterError("Isomap(n_neighbors=None) needs a radius; set one of the two.")
        n, m = near.n_rows, self._count_landmarks(near.n_rows)
        check_count(self.n_components, n, f"n_samples={n}")
        if m is not None:
            check_landmarks(m, self.n_components, n)
        if self.map == "regression" and isinstance(near.base, NeighborListDistances):
            raise UnsupportedError("map='regression' needs the rows, not a sparse graph of them.")
        if m is not None and near.radius is not None:
            near = near._replace(base=center_in_order(near.base))
        return super()._graph(near, ctx)

    def _embed(self, graph: ConnectedGraph, near: Neighborhoods, ctx: Context) -> Fit:
        n, k, m = graph.n_rows, self.n_components, self._count_landmarks(graph.n_rows)
        edges = graph.symmetric_edges()
        dtype = np.dtype(getattr(near.items, "dtype", np.float64))
        geodesics = Geodesics.along(graph, edges, near.n_neighbors, near.radius, dtype)
        if m is None:
            fit = embed_centered(geodesics, k, ctx, warn_indefinite=False)
        else:
            self.landmark_policy.warn_if_automatic(self, n, m)
            points = choose_farthest_points(graph.base, graph.edges, m, ctx)
            geodesics = geodesics.to_landmarks(points, ctx.ops)
            D, rows = geodesics.distances_to_landmarks, graph.first_row[points]
            fit = scale_from_landmarks(D, rows, geodesics, k, ctx)
        points_Y = np.asarray(fit.embedding, np.float64)[graph.first_row]
        Y = points_Y[graph.point_of_row]  # duplicates coincide to the last bit
        fit = fit._replace(embedding=Y, geodesics=geodesics)
        fit = fit.with_report(graph=graph.expand_to_rows(edges), **graph.report)
        assert isinstance(fit.map, CenteredMap)
        fit = fit._replace(map=GeodesicMap(fit.map))
        if self.map == "regression":
            fit = with_ridge_map(fit, graph.base, points_Y, ctx)
        return with_barycentric_inverse(fit, points_Y, graph, near.items, 2 * k + 2, ctx)

    def _merge_duplicates(self, near: csr_array) -> csr_array:
        return near  # the map knows all rows, duplicates too
