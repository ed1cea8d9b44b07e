"""Isomap (Tenenbaum, de Silva and Langford, 2000)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from scipy.sparse import issparse

from .. import progress
from ..backend import allocate, chunks
from ..errors import ApproximationWarning, ParameterError, UnsupportedError, warn
from ..linalg.centered import classical_scaling, half_squares
from ..linalg.eigen import Groups, signs
from ..parameters import (
    Count,
    Graph,
    Indices,
    Limit,
    Metric,
    MetricParams,
    Radius,
    Reals,
    Seed,
    check_count,
    check_landmarks,
    refuse_unused,
    state,
)
from ..reducer import Reducer
from ..spaces.blocked import BlockRows
from ..spaces.extension import (
    approach,
    gower,
    kernel_regression,
    preimage_error,
    preimages,
    regress,
)
from ..spaces.graph import (
    PointGraph,
    connected_graph,
    new_and_judging_neighbors,
    path_products,
    paths_through,
    shortest_paths,
    sum_duplicates,
    warn_of_localized_axes,
    warn_of_short_circuits,
)
from ..spaces.known import Known, Lists
from ..spaces.neighbors import Neighbors
from ..spaces.space import METRICS, Rows, Space, space_of, take_rows


class Isomap(Reducer):
    """Isomap: classical MDS of geodesic distances along the neighbor graph.

    Use it to unroll a manifold without large holes, sampled densely enough that neighbors in space
    are neighbors on it: distances along it are preserved, those between clusters mean nothing.

    Cost: n² / 2 geodesic distances in memory, about n² log n operations; with m landmarks n·m.
    New points: shortest paths through their nearest training points, and Gower's formula of MDS.

    Parameters
    ----------
    n_components : int, default=2
        Number of dimensions of the embedding.
    n_neighbors : int or None, default=5
        Edges lead from each sample to this many nearest others, and to all as near as the last.
    radius : float or None, default=None
        Edges lead to all samples within this distance instead of to `n_neighbors`.
    metric : str or callable, default="euclidean"
        A name ("euclidean", "sqeuclidean", "cosine", "correlation", "manhattan", "chebyshev",
        "minkowski", "hamming", "jaccard", "canberra", "braycurtis", "dice", "hellinger",
        "haversine", or "gower" for a table of mixed columns); a callable of two rows or objects; or
        "precomputed": X holds the distances between all samples, or is the sparse graph of a
        KNeighborsTransformer.
    metric_params : dict or None, default=None
        Parameters of the metric: {"p": 3} for "minkowski", {"weights": [...]} for "gower", or
        keywords of a callable.
    p : float or None, default=None
        Order of the Minkowski distance, as in scikit-learn: 1 is the city-block distance.
    n_landmarks : int, "auto" or None, default="auto"
        Compute shortest paths to this many well spread samples only, or to all (None). "auto": all
        up to 20,000 rows, beyond that 1000 landmarks, with a warning.
    map : {"geodesic", "regression"}, default="geodesic"
        Map of new points: "geodesic" as above; "regression" is kernel ridge regression, smoother
        and without a graph.
    on_disconnected : {"join", "error"}, default="join"
        Join connected components of the neighbor graph by their shortest edges, with a warning; or
        raise an error.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the landmarks, and of the start of the eigensolver. None is 0.
    backend : {"auto", "native", "torch"}, default="auto"
        What computes: the native core, or torch, on a GPU if there is one. "auto" is the native
        core, unless X is a tensor on a GPU.
    n_jobs : int or None, default=None
        Number of threads, which does not change the result. None and -1 are all CPUs.
    verbose : bool or int, default=False
        Show a progress bar on standard error.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training rows.
    eigenvectors_ : ndarray of shape (n_samples, n_components)
        Of the centered geodesic inner products, of length 1; not with landmarks.
    eigenvalues_ : ndarray of shape (n_components,)
        Their eigenvalues, largest first; 0 where there is no positive one.
    residual_variance_ : ndarray of shape (n_components,)
        1 - r² between geodesic distances and those in the first 1, 2, ... dimensions: where it
        stops falling is the dimension of the data.
    participation_ : ndarray of shape (n_components,)
        About how many rows each axis is; a warning names the rows of an axis that is about few.
    graph_ : csr_array of shape (n_samples, n_samples)
        Edge lengths between rows; from a duplicate to its first row 0.
    geodesic_distances_ : ndarray of shape (n_samples, n_samples)
        Lengths of the shortest paths, computed at each access; not with landmarks.
    landmarks_ : ndarray of shape (n_landmarks,)
        The rows to which shortest paths were computed, if not all are.
    n_graph_components_ : int
        Number of connected components of the graph, before they were joined.
    graph_components_ : ndarray of shape (n_samples,)
        The component of each row; 0 is the largest.
    bridges_ : ndarray of shape (n_bridges, 2)
        Pairs of rows whose edges join components.
    n_distinct_ : int
        Number of distinct rows: duplicates are one point of the graph.
    knn_recall_ : float
        Share of the true neighbors that the search has found, which is 1 up to 200,000 rows.
    residual_ : float
        The largest residual norm |Bv - λv| of the eigenvectors, relative to the first eigenvalue.
    negative_eigenvalue_mass_ : float
        Share of the negative eigenvalues in the sum of all absolute ones: what no Euclidean
        embedding shows.
    negative_mass_is_exact_ : bool
        Whether it is computed from all eigenvalues, and not estimated.
    degenerate_axes_ : tuple of tuple of int
        Groups of axes with equal eigenvalues, of which any rotation is as good.
    reconstruction_error_ : float
        Share of the variance of the rows that `inverse_transform` misses on samples left out.
    regression_error_ : float
        With map="regression": the share of the embedding's variance that it misses on samples left
        out.
    regression_gamma_, regression_ridge_ : float
        Its kernel is exp(-γ d²), and its ridge is chosen with γ, by that error.
    n_samples_, n_features_in_ : int
        Numbers of rows and columns of the training data.

    References
    ----------
    Tenenbaum, de Silva and Langford (2000), Science 290; de Silva and Tenenbaum (2003), landmarks;
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
    p: Annotated[float, Limit(">=", 1)] | None = None
    n_landmarks: Count | Literal["auto"] | None = "auto"
    map: Literal["geodesic", "regression"] = "geodesic"
    on_disconnected: Literal["join", "error"] = "join"
    random_state: Seed = None

    takes = frozenset({"sparse", "blocks", "neighbors"})
    confidence_curve = (2.2, 0.55, 0.3, 0.05)
    no_inverse = "distances alone determine no rows; it needs dense rows and a named metric."

    eigenvectors_: Reals = state("n_samples n_components")
    eigenvalues_: Reals = state("n_components")
    residual_variance_: Reals = state("n_components")
    participation_: Reals = state("n_components")
    graph_: Graph = state("n_samples n_samples")
    landmarks_: Indices = state("n_landmarks of n_samples")
    n_graph_components_: int = state()
    graph_components_: Indices = state("n_samples of n_samples")
    bridges_: Indices = state("n_bridges 2 of n_samples")
    n_distinct_: int = state()
    knn_recall_: float = state()
    residual_: float = state()
    negative_eigenvalue_mass_: float = state()
    negative_mass_is_exact_: bool = state()
    degenerate_axes_: Groups = state()
    reconstruction_error_: float = state()
    regression_error_: float = state()
    regression_gamma_: float = state()
    regression_ridge_: float = state()
    # What new points need: how they find their neighbors, ...
    _k: int | None = state()
    _radius: float | None = state()
    _edges: Graph | None = state("n_points n_points")  # between points, if there are duplicates
    # ... lengths of paths to landmarks, and Gower's formula;
    _paths: Reals | None = state("n_points n_targets")
    _axes: Reals = state("n_targets n_components")
    _means: Reals = state("n_targets")
    # the regression, where that is the map;
    _centers: Space = state("n_centers")
    _weights: Reals = state("n_centers n_components")
    _offset: Reals = state("n_components")
    _tolerance: float = state()
    # and rows for the way back, where the metric compares others.
    _rows: Reals | None = state("n_points n_features_in_")

    def _fit(self, X: Any, y: Any, seed: int) -> Reals:  # noqa: ARG002
        self._check(X)
        space = space_of(X, *self._metric())
        n, k = space.n, self.n_components
        check_count(k, n, "n_components", f"n_samples={n}")
        if self.map == "regression" and isinstance(space, Lists):
            raise UnsupportedError("map='regression' needs the rows, not a sparse graph of them.")
        m = self._count_landmarks(n)
        # 1. The neighbor graph.
        self._k = None if self.radius is not None else self.n_neighbors
        self._radius = self.radius
        if isinstance(X, Known):
            self._k, self._radius = int(space.nearest(n).counts.max()), None
        graph = connected_graph(space, self._k, self._radius, self.on_disconnected)
        warn_of_short_circuits(graph, k)
        edges = graph.edges().astype(space.dtype)
        self._describe(graph, edges)
        # 2. Shortest paths in it, and 3. classical MDS of their lengths.
        if m is None:
            Y = self._scale_geodesics(graph, edges, seed)
        else:
            Y = self._scale_landmarks(graph, edges, m, seed)
        embedding = Y[graph.point_of_row]
        # How well distances in the embedding agree with them.
        drawn = space.draw(min(n, 1000), seed, "residual variance")
        targets = np.arange(n) if m is None else self.landmarks_
        self.residual_variance_ = residual_variance(
            edges, self._paths, graph.point_of_row, embedding, drawn, targets
        )
        parameter = "n_neighbors" if self.radius is None else "radius"
        self.participation_ = warn_of_localized_axes(embedding, parameter)
        # What places new points, besides shortest paths, and what leads back.
        neighbors = int(np.median(graph.near.counts)) if graph.space.n > 1 else 1
        self._remember(graph.known_by_rows(), Y, graph.near, 4 * max(neighbors, 15))
        if self.map == "regression":
            dtype = np.float32 if self._float32 else np.float64
            found = kernel_regression(graph.space, Y, seed, dtype)
            self._centers, self._weights, self._offset = found.centers, found.weights, found.offset
            self.regression_gamma_, self.regression_ridge_ = found.gamma, found.ridge
            self.regression_error_, self._tolerance = found.error, found.tolerance
            self._centers = self._centers.kept()
        self._learn_the_way_back(X, graph, seed)
        return embedding

    def _check(self, X: Any) -> None:
        """Refuse parameters that would do nothing, or contradict each other."""
        if isinstance(X, Known):
            refuse_unused(self, ["n_neighbors", "radius"], "the neighbor graph is given")
        if self.radius is not None and self.n_neighbors is not None:
            refuse_unused(self, ["n_neighbors"], "radius is set")
        if self.radius is None and self.n_neighbors is None:
            raise ParameterError("n_neighbors=None needs a radius; set one.", "n_neighbors")
        if self.metric not in ("euclidean", "minkowski"):
            refuse_unused(self, ["p"], f"metric={self.metric!r} has no order")
        if self.p is not None:
            refuse_unused(self, ["metric_params"], "p is set")

    def _metric(self) -> tuple[Metric, MetricParams]:
        """The metric and its parameters, as p has it."""
        if self.p is None:
            return self.metric, self.metric_params
        return ("chebyshev", None) if self.p == np.inf else ("minkowski", {"p": self.p})

    def _count_landmarks(self, n: int, above: int = 20_000, least: int = 1000) -> int | None:
        """How many landmarks there are for n rows; None for paths to all of them."""
        m, automatic = self.n_landmarks, self.n_landmarks == "auto"
        if automatic:
            m = None if n <= above else max(least, 10 * self.n_components)
        if m is None:
            return None
        check_landmarks(int(m), self.n_components, n)
        if automatic:
            warn(
                f"{type(self).__name__} of more than {above} rows (here {n}) is computed from {m} "
                f"landmarks; n_landmarks={m} says so without a warning.",
                ApproximationWarning,
            )
        return int(m)

    def _describe(self, graph: PointGraph, edges: Graph) -> None:
        """Learned attributes of the graph, which speak of rows and not of points."""
        self.graph_ = graph.edges_of_rows(edges)
        self._edges = edges if self.graph_ is not edges else None
        self.n_graph_components_ = int(graph.component.max()) + 1
        self.graph_components_ = graph.component[graph.point_of_row]
        self.bridges_ = graph.first_row[graph.bridges]
        self.n_distinct_, self.knn_recall_ = graph.space.n, graph.recall

    def _scale_geodesics(self, graph: PointGraph, edges: Graph, seed: int) -> Reals:
        """Classical MDS of the geodesic distances between all rows."""
        rows, product = graph.point_of_row, path_products(edges)

        def product_of_rows(V: Reals) -> Reals:
            # Duplicates are one point: their entries of V add up, and all of them get its result.
            return product(sum_duplicates(V, rows))[rows]

        found = classical_scaling(product_of_rows, len(rows), self.n_components, seed, edges.dtype)
        self.eigenvectors_, self.eigenvalues_ = found.vectors, found.values
        self.residual_, self.degenerate_axes_ = found.residual, found.degenerate
        self.negative_eigenvalue_mass_ = found.negative_share
        self.negative_mass_is_exact_ = found.share_is_exact
        self._axes, self._means = sum_duplicates(found.axes, rows), found.means[graph.first_row]
        self._paths = None
        return found.coordinates[graph.first_row]

    def _scale_landmarks(self, graph: PointGraph, edges: Graph, m: int, seed: int) -> Reals:
        """Classical MDS of the landmarks; all others by their geodesic distances to these."""
        marks = spread_landmarks(graph.space, m, seed)
        n, m = edges.shape[0], len(marks)
        G = allocate((n, m), edges.dtype, f"the paths of {n} points to {m} landmarks", "take fewer")
        for some in chunks(m, n, 2**24):
            G[:, some] = shortest_paths(edges, marks[some]).T
        D = G[marks]
        found = classical_scaling(
            half_squares((D + D.T) / 2), m, min(self.n_components, m), seed, G.dtype
        )
        self.eigenvalues_, self.landmarks_ = found.values, graph.first_row[marks]
        self.residual_, self.degenerate_axes_ = found.residual, found.degenerate
        self.negative_eigenvalue_mass_ = found.negative_share
        self.negative_mass_is_exact_ = found.share_is_exact
        Y = np.empty((n, len(found.values)))
        for some in chunks(n, m, 2**18):
            Y[some] = gower(-0.5 * np.square(G[some]), found.means, found.axes)
        flips = signs(Y)
        self._paths, self._means, self._axes = G, found.means, (found.axes * flips).astype(G.dtype)
        return Y * flips

    def _learn_the_way_back(self, X: Any, graph: PointGraph, seed: int) -> None:
        """Rows that `inverse_transform` leads back to, where the points are dense rows."""
        space = getattr(graph.space, "base", graph.space)
        if not isinstance(space, Rows | BlockRows) or callable(space.metric):
            return
        if isinstance(space, BlockRows) and issparse(space.X[np.arange(1)]):
            return
        self._rows = None
        if isinstance(space, Rows) and METRICS[space.metric].unit_length:
            self._rows = (X.rows if isinstance(X, Known) else X)[graph.first_row]
        drawn = graph.space.draw(min(graph.space.n, 1000), seed, "left out")
        self.reconstruction_error_ = preimage_error(self._embedded, self._way_back, drawn)

    @property
    def _way_back(self) -> Any:
        """The rows of the points, which may be in blocks."""
        space: Any = getattr(self._space, "base", self._space)
        return space.X if self._rows is None else self._rows

    def _transform(self, Q: Any) -> tuple[Reals, Neighbors]:
        if hasattr(self, "_centers"):
            return self._regress(Q)
        near, judging = new_and_judging_neighbors(self._space, Q, self._k, self._radius)
        edges = self.graph_ if self._edges is None else self._edges
        dtype = np.result_type(self._axes.dtype, getattr(Q, "dtype", np.float64))
        Y = np.empty((len(near.counts), self._axes.shape[1]), dtype)
        for some in chunks(len(Y), 2 * len(self._means)):
            products = geodesic_products(edges, self._paths, near.take(some), dtype)
            Y[some] = gower(products, self._means, self._axes)
        return Y, judging

    def _regress(self, Q: Any) -> tuple[Reals, Neighbors]:
        """Coordinates by regression, which goes through the training points themselves."""
        if isinstance(Q, Known):
            raise ParameterError("neighbors= would be ignored: map='regression' needs none.")
        near = self._space.query(Q, min(self._space.n, 15))
        near = near._replace(distances=np.maximum(near.distances - self._tolerance, 0))
        Y = np.empty((len(near.counts), len(self._offset)))
        for some in chunks(len(Y), len(self._weights)):
            D = self._centers.toward(take_rows(Q, np.arange(some.start, some.stop)))
            Y[some] = regress(D, self.regression_gamma_, self._weights, self._offset)
        return approach(Y, near.first(6), self._embedded.X), near

    def _inverse_transform(self, Y: Reals) -> Reals:
        if not hasattr(self, "reconstruction_error_"):
            return super()._inverse_transform(Y)
        return preimages(Y, self._embedded, self._way_back)

    @property
    def geodesic_distances_(self) -> Reals:
        """Geodesic distances between all rows (n x n), computed at each access."""
        if "graph_" not in self.__dict__ or "landmarks_" in self.__dict__:
            raise AttributeError("geodesic_distances_ is there after a fit without landmarks.")
        n = self.n_samples_
        dtype = self.embedding_.dtype if n > 1000 else np.dtype(np.float64)
        G = allocate((n, n), dtype, "geodesic_distances_", "fit fewer rows")
        graph = self.graph_.astype(dtype)
        for some in chunks(n, n, 2**24):
            G[some] = shortest_paths(graph, np.arange(some.start, some.stop))
        symmetrize(G)
        return G

    def _plan(self, n: int, d: int, itemsize: int) -> dict[str, int]:  # noqa: ARG002
        m = self.n_landmarks
        if m == "auto":
            m = None if n <= 20_000 else max(1000, 10 * self.n_components)
        if m is None:
            plan = {"geodesic distances": n * (n // 2) * itemsize}
            if self.radius is not None:  # which may hold all rows
                plan["edges"] = 2 * n * n * 8
            if self.map == "regression":
                plan["regression"] = 5 * min(n, 1000) ** 2 * 8
            return plan
        paths = n * int(m) * itemsize
        return {"paths to landmarks": paths, "distances of candidates": candidates(n, m) ** 2 * 8}


def candidates(n: int, m: int) -> int:
    """How many points m landmarks are chosen from: their distances are all computed."""
    return min(n, max(m, min(4 * m, 8192)))


def spread_landmarks(space: Space, m: int, seed: int) -> Indices:
    """m well spread points: each is the farthest, of some random ones, from those before it."""
    n = space.n
    if isinstance(space, Lists):  # which do not know how far any two points are
        return space.draw(min(m, n), seed, "landmarks")
    if m >= n:
        return space.order()
    drawn = space.draw(candidates(n, m), seed, "landmarks")
    D = space.take(drawn).pairwise()
    chosen, gap = [0], D[0].copy()
    while len(chosen) < m:
        chosen.append(int(gap.argmax()))
        np.minimum(gap, D[chosen[-1]], out=gap)
    return drawn[chosen]


def geodesic_products(
    edges: Graph, paths: Reals | None, near: Neighbors, dtype: np.dtype[Any]
) -> Reals:
    """-(g² - c²)/2 of new points, with the length g of a shortest path and c of its first step.

    A constant c in a row does not matter to Gower's formula, and without it a far point keeps its
    digits: g² - c² = (g - c)(g - c + 2c), and the excess g - c is computed without g.
    """
    closest = np.minimum.reduceat(near.distances, near.indptr[:-1])
    detours = near.distances - np.repeat(closest, near.counts)
    excess = paths_through(edges, paths, near._replace(distances=detours)).astype(dtype, copy=False)
    return np.asarray(-0.5 * excess * (excess + 2 * closest.astype(dtype)[:, None]))


def residual_variance(
    edges: Graph,
    paths: Reals | None,
    point_of_row: Indices,
    Y: Reals,
    drawn: Indices,
    targets: Indices,
) -> Reals:
    """1 - r² between geodesic distances and those in the first 1, 2, ... columns of Y (figure 2).

    From the drawn rows to the target rows: all of them, or the landmarks whose `paths` are known. A
    row and itself are no pair, and add to no sum.
    """
    pairs = max(1, len(drawn) * len(targets) - int(np.isin(targets, drawn).sum()))
    k, columns = Y.shape[1], np.ascontiguousarray(Y[targets].T)
    g = gg = 0.0
    y, yy, gy = np.zeros(k), np.zeros(k), np.zeros(k)
    for done, many in enumerate(blocks := chunks(len(drawn), len(targets), 2**23)):
        points = point_of_row[drawn[many]]
        # Paths are cheap in large groups; distances are summed while they stay in the cache.
        found = shortest_paths(edges, points) if paths is None else paths[points]
        if paths is None and len(point_of_row) > found.shape[1]:
            found = found[:, point_of_row]
        for some in chunks(len(found), len(targets), 2**15):
            rows, G = drawn[many][some], found[some].astype(np.float64)
            g, gg = g + float(G.sum()), gg + float(np.vdot(G, G))
            squares, D = np.zeros_like(G), np.empty_like(G)
            for j in range(k):
                np.subtract.outer(Y[rows, j], columns[j], out=D)
                squares += np.multiply(D, D, out=D)
                np.sqrt(squares, out=D)
                y[j], yy[j] = y[j] + D.sum(), yy[j] + np.vdot(D, D)
                gy[j] += np.vdot(G, D)
        progress.report("residual variance", done + 1, len(blocks))
    # The square comes last: those of distances are large as they are.
    deviations = np.sqrt(max(gg - g * g / pairs, 0)) * np.sqrt(np.maximum(yy - y * y / pairs, 0))
    r = np.divide(gy - g * y / pairs, deviations, out=np.ones(k), where=deviations > 0)
    return np.asarray(np.clip(1 - r**2, 0, 1))


def symmetrize(G: Reals, tile: int = 512) -> None:
    """Replace a square matrix by the mean of it and its transpose, tile by tile.

    Paths are summed from their source, so both directions may round differently.
    """
    for i in range(0, len(G), tile):
        for j in range(i, len(G), tile):
            upper, lower = G[i : i + tile, j : j + tile], G[j : j + tile, i : i + tile]
            mean = (upper + lower.T) / 2
            upper[...] = mean
            lower[...] = mean.T
