"""Laplacian eigenmaps (Belkin and Niyogi, 2003) and diffusion maps (Coifman and Lafon, 2006).

Both are eigenvectors of the random walk on a graph whose edges are weighed by a kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.linalg
from scipy.sparse import csr_array, diags_array, eye_array, issparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from lowd import _native, random
from lowd.errors import (
    DataError,
    DisconnectedGraphWarning,
    ParameterError,
    RankWarning,
    warn,
)

from ..backend import chunks, threads
from ..linalg.centered import products_of
from ..linalg.eigen import (
    Groups,
    block_krylov,
    block_width,
    canonical,
    equal_groups,
    krylov_tolerance,
    signs,
)
from ..linalg.smallest import SmallestEigenpairs, smallest_eigenpairs
from ..parameters import (
    Count,
    Fraction,
    Graph,
    Indices,
    Metric,
    MetricParams,
    NonNegative,
    Positive,
    Radius,
    Reals,
    Seed,
    check_count,
    check_landmarks,
    refuse_unused,
    state,
)
from ..reducer import Reducer
from ..spaces.extension import approach
from ..spaces.graph import (
    NeighborGraph,
    connected_graph,
    describe_sizes,
    distinct_neighbors,
    join_components,
    rank_by_size,
    symmetric_edges,
    warn_of_localized_axes,
)
from ..spaces.known import Known
from ..spaces.matrices import hash_rows, hash_symmetric
from ..spaces.neighbors import Neighbors, joined, nearest_columns
from ..spaces.space import (
    Rows,
    Space,
    count_rows,
    name_callable,
    space_of,
    take_rows,
    tie_tolerance,
)

Affinity = Literal["heat", "rbf", "binary", "nearest_neighbors", "precomputed"] | Callable[..., Any]
Normalization = Literal["random_walk", "symmetric", "none"]


class LaplacianEigenmaps(Reducer):
    """Laplacian eigenmaps (spectral embedding): smallest eigenvectors of the graph Laplacian.

    Use it to see clusters and one-dimensional progressions: it preserves local neighborhoods, and
    says nothing about distances. For a manifold whose lengths matter take Isomap or LTSA.

    Cost: nearest neighbors, then a sparse eigenproblem. New points: the eigenvector equation,
    solved for them alone: y = mean of the neighbors' y / (1 - λ) (Nyström).

    Parameters
    ----------
    n_components : int, default=2
        Number of dimensions of the embedding.
    n_neighbors : int or None, default=10
        An edge joins two samples if either is among the `n_neighbors` nearest of the other, where
        all as near as the last count. None without a radius: all pairs (n² memory).
    radius : float or None, default=None
        An edge joins two samples within this distance instead.
    affinity : str or callable, default="heat"
        "heat" (or "rbf") w = exp(-d²/2σ²); "binary" w = 1; "nearest_neighbors" w = 1, or ½ where
        only one has the other, as in scikit-learn (whose n_neighbors is one more); "precomputed":
        `fit` takes the square matrix of weights (dense or sparse; its diagonal counts), `transform`
        those from new to training rows; or f(A, B), the weights between two arrays of rows, f(a,
        b), the weight between two rows, or scikit-learn's f(X), those among all rows of one array.
    sigma : float or None, default=None
        σ of "heat". None: median distance to the last neighbor; of all pairs, as in DiffusionMaps.
    normalization : {"random_walk", "symmetric", "none"}, default="random_walk"
        "random_walk" L u = λ D u, "symmetric" its v = D^½ u, "none" L u = λ u.
    self_loops : bool, default=False
        Is a sample its own neighbor? That changes D, not L.
    scale : {"std", "unit", "commute"}, default="std"
        "std": columns of standard deviation 1. "unit": u'Du = 1 (u'u = 1 for the others).
        "commute": squared distances in all n - 1 dimensions are commute times of the random walk.
    metric : str or callable, default="euclidean"
        A name ("euclidean", "sqeuclidean", "cosine", "correlation", "manhattan", "chebyshev",
        "minkowski", "hamming", "jaccard", or "gower" for a table of mixed columns); a callable of
        two rows or objects; or "precomputed": X holds the distances between all samples.
    metric_params : dict or None, default=None
        Parameters of the metric: {"p": 3} of "minkowski", {"weights": ...} of "gower", keywords of
        a callable.
    n_landmarks : int or None, default=None
        Solve for this many random samples only, and map all others as new points.
    map : {"nystroem", "harmonic"}, default="nystroem"
        Map of new points: "nystroem", or "harmonic": the mean of their neighbors.
    on_disconnected : {"join", "error"}, default="join"
        Join connected components of the graph by their shortest edges, with a warning; or raise an
        error.
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
    eigenvalues_ : ndarray of shape (n_components + 1,)
        Of the Laplacian, ascending, with the 0 of the constant first.
    fiedler_value_ : float
        Algebraic connectivity: the first eigenvalue that is not the 0 of the constant.
    fiedler_vector_ : ndarray of shape (n_samples,)
        Its eigenvector, of length 1, whose signs cut the graph in two.
    degrees_ : ndarray of shape (n_samples,)
        Sums of the weights of each row (of the landmarks, if there are some; so are the following).
    neighbor_radii_ : ndarray of shape (n_samples,)
        Distance of each row to its last neighbor.
    affinity_ : csr_array of shape (n_distinct, n_distinct)
        Weights of the edges between distinct rows, where they were not given.
    sigma_ : float or None
        The scale that was used; None for weights that do not decay.
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
    residuals_ : ndarray of shape (n_components,)
        Residual norms |Lv - λv| of the eigenvectors.
    participation_ : ndarray of shape (n_components,)
        About how many rows each axis is; a warning names the rows of an axis that is about few.
    solver_ : str
        How the eigenvectors were found.
    degenerate_axes_ : tuple of tuple of int
        Groups of axes with equal eigenvalues, of which any rotation is as good.
    landmarks_ : ndarray of shape (n_landmarks,)
        The rows that were solved for, if not all were.
    n_samples_, n_features_in_ : int
        Numbers of rows and columns of the training data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of a data frame.

    References
    ----------
    Belkin and Niyogi (2003), Neural Computation 15; Bengio et al. (2004), new points.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> t = np.linspace(0, 3, 50)
    >>> spiral = np.c_[np.exp(t) * np.cos(3 * t), np.exp(t) * np.sin(3 * t)]
    >>> model = lowd.LaplacianEigenmaps(1, n_neighbors=2).fit(spiral)
    >>> order = np.argsort(model.embedding_[:, 0])
    >>> bool((np.diff(order) == 1).all() or (np.diff(order) == -1).all())
    True
    """

    n_components: Count = 2
    n_neighbors: Count | None = 10
    radius: Radius | None = None
    affinity: Affinity = "heat"
    sigma: Positive | None = None
    normalization: Normalization = "random_walk"
    self_loops: bool = False
    scale: Literal["std", "unit", "commute"] = "std"
    metric: Metric = "euclidean"
    metric_params: MetricParams = None
    n_landmarks: Count | None = None
    map: Literal["nystroem", "harmonic"] = "nystroem"
    on_disconnected: Literal["join", "error"] = "join"
    random_state: Seed = None

    takes = frozenset({"sparse", "blocks", "neighbors"})
    confidence_curve = (2.9, 0.6)

    eigenvalues_: Reals = state("n_eigenvalues")
    fiedler_value_: float = state()
    fiedler_vector_: Reals = state("n_fitted")
    degrees_: Reals = state("n_fitted")
    neighbor_radii_: Reals = state("n_fitted")
    affinity_: Graph = state("n_points n_points")
    sigma_: float | None = state()
    n_graph_components_: int = state()
    graph_components_: Indices = state("n_fitted of n_fitted")
    bridges_: Indices = state("n_bridges 2 of n_fitted")
    n_distinct_: int = state()
    knn_recall_: float = state()
    residuals_: Reals = state("n_axes")
    participation_: Reals = state("n_components")
    solver_: str = state()
    degenerate_axes_: Groups = state()
    landmarks_: Indices = state("n_landmarks of n_samples")
    # How new points weigh their neighbors (see `affinities_toward`), ...
    _k: int | None = state()
    _radius: float | None = state()
    _radii: Reals | None = state("n_points")
    _items: Any = state()  # rows of the points, for a callable affinity
    _takes_all: bool = state()  # whether that is a function of all rows of one array
    # ... and what of these they average, which they multiply.
    _weights: Reals = state("n_points")
    _means: Reals = state("n_points n_components")
    _gain: Reals = state("n_components")

    def _fit(self, X: Any, y: Any, seed: int) -> Reals:  # noqa: ARG002
        self._check(X)
        rows = self._choose_landmarks(X, seed)
        # 1. The graph, and 2. the weights of its edges.
        graph = self._weigh(X if rows is None else self._restrict(X, rows))
        # 3. Eigenvectors of its Laplacian.
        k, form, counts = self.n_components, self.normalization, graph.counts
        found = laplacian_eigenpairs(graph, k, seed, normalized=form != "none")
        axes = scaled_eigenvectors(found, counts, k, form, self.scale)
        self.eigenvalues_ = np.append(0.0, found.values)
        self.degrees_ = found.degrees[graph.point_of_row]
        if len(found.values):
            self.fiedler_value_ = float(found.values[0])
            self.fiedler_vector_ = axes.fiedler_vector[graph.point_of_row]
        _describe_solution(self, found)
        embedding = axes.Y[graph.point_of_row]
        self.participation_ = warn_of_localized_axes(embedding, _connecting_parameter(self))
        # What places new points.
        self._weights, self._means, self._gain = counts, axes.means, axes.gain
        _remember_graph(self, graph, axes.Y, rows, len(embedding))
        return embedding if rows is None else self._transform(X)[0]

    def _check(self, X: Any) -> None:
        """Refuse parameters that would do nothing, or contradict each other."""
        edges = ("n_neighbors", "radius", "sigma", "self_loops", "metric", "metric_params")
        unweighted = self.affinity in ("binary", "nearest_neighbors")
        if callable(self.affinity):
            if isinstance(X, Known):
                raise ParameterError("neighbors= would be ignored: the affinities are precomputed.")
            refuse_unused(self, edges, "a callable affinity weighs all pairs of rows")
        elif self.affinity == "precomputed":
            if isinstance(X, Known):
                raise ParameterError("neighbors= would be ignored: the affinities are precomputed.")
            refuse_unused(self, edges, "affinity='precomputed' is the graph")
        elif unweighted:
            refuse_unused(self, ["sigma"], f"affinity={self.affinity!r} has no scale")
        if isinstance(X, Known):
            names = ("n_neighbors", "radius", "n_landmarks")
            refuse_unused(self, names, "the neighbor graph is given")
        if self.radius is not None and self.n_neighbors is not None:
            refuse_unused(self, ["n_neighbors"], "radius is set")
        if unweighted and self.n_neighbors is None and self.radius is None:
            raise ParameterError(
                "affinity='binary' gives all pairs the same weight; set n_neighbors or radius.",
                "n_neighbors",
            )
        if self.scale == "commute" and self.normalization == "symmetric":
            raise ParameterError(
                "scale='commute' needs normalization='random_walk' or 'none': 'symmetric' weighs "
                "rows.",
                "scale",
            )

    def _choose_landmarks(self, X: Any, seed: int) -> Indices | None:
        """The random rows that are fitted; None for all of them."""
        n = count_rows(X)
        if self.n_landmarks is None:
            most = max(n - 1, 1)
            check_count(self.n_components, most, "n_components", f"n_samples={n} less the constant")
            return None
        check_landmarks(self.n_landmarks, self.n_components, n)
        return draw_landmarks(self, X, seed)

    def _restrict(self, X: Any, rows: Indices) -> Any:
        """Some rows of the data, and columns if it is a square matrix."""
        if self._kind() in ("affinity", "distances"):
            return X[rows][:, rows]
        return take_rows(X, rows)

    def _weigh(self, X: Any) -> AffinityGraph:
        """The weights of all edges, and how new points get theirs."""
        self._k, self._radius, self._radii = self.n_neighbors, self.radius, None
        if self.affinity == "precomputed":
            return given_affinities(X, "affinity='precomputed'", self)
        if callable(self.affinity):
            self._items, self._takes_all = X, takes_all_rows(self.affinity)
            W = callable_affinities(self.affinity, self._takes_all, X)
            return given_affinities(W, f"affinity={name_callable(self.affinity)}", self)
        space, how = space_of(X, self.metric, self.metric_params), self.affinity
        if self.radius is not None:
            self._k = None
        if isinstance(X, Known):
            self._k, self._radius = int(space.nearest(space.n).counts.max()), None
        if self._k is None and self._radius is None:
            graph = kernel_of_all_pairs(space, self.sigma, self.on_disconnected)
            if not self.self_loops:
                np.fill_diagonal(graph.W, 0)
        else:
            binary, averaged = how in ("binary", "nearest_neighbors"), how == "nearest_neighbors"
            graph = kernel_of_neighbors(
                connected_graph(space, self._k, self._radius, self.on_disconnected),
                self._k,
                self._radius,
                self.sigma,
                binary=binary,
                averaged=averaged,
            )
            if self.self_loops:
                graph = graph._replace(W=csr_array(graph.W + eye_array(graph.W.shape[0])))
            self.affinity_ = graph.W
        _describe_graph(self, graph)
        return graph

    def _takes_sparse(self) -> bool:
        given = self.affinity == "precomputed" or self.metric != "precomputed"
        return given and super()._takes_sparse()

    def _transform(self, Q: Any) -> tuple[Reals, Any]:
        if self.affinity == "precomputed":
            weigh = _given_weights(self)
        elif callable(self.affinity):
            weigh = _called_weights(self)
        else:
            averaged = self.affinity == "nearest_neighbors"
            weigh = _kernel_weights(self, None if self._unweighted else self.sigma_, averaged)
        form, harmonic = self.normalization, self.map == "harmonic"
        return extend(self, Q, weigh, form, harmonic)

    @property
    def _unweighted(self) -> bool:
        return self.affinity in ("binary", "nearest_neighbors")

    def _confidence(self, Q: Any, Y: Reals, used: Any) -> Reals:  # noqa: ARG002
        """Given weights tell no distance; a row belongs to the data if it has as much weight."""
        return np.minimum(used / self._reach[0], 1)

    def _plan(self, n: int, d: int, itemsize: int) -> dict[str, int]:  # noqa: ARG002
        m = self.n_landmarks or n
        sparse = self.affinity != "precomputed" and not callable(self.affinity)
        if sparse and (self.n_neighbors is not None or self.radius is not None):
            return {}
        return {"distances": m * m * itemsize, "affinities": 2 * m * m * 8}


SpectralEmbedding = LaplacianEigenmaps  # scikit-learn's name


class DiffusionMaps(Reducer):
    """Diffusion maps: Euclidean distances in the embedding are diffusion distances.

    Use it for data with branches, noise and uneven density: a diffusion distance sums over all
    paths, so a few short circuits change little. With `alpha=1` the sampling density is divided
    out.

    Cost: n²·d for the kernel up to 5,000 rows, beyond that 60 neighbors of each row and a sparse
    eigenproblem. New points (Nyström): the mean of ψ over one step of the random walk, over λ.

    Parameters
    ----------
    n_components : int, default=2
        Number of dimensions of the embedding.
    alpha : float, default=1.0
        How much of the sampling density is divided out: 0 nothing (random walk on the graph),
        ½ Fokker-Planck, 1 all of it (Laplace-Beltrami, the geometry alone).
    time : float, default=1
        Steps t of the random walk: y = λ^t ψ. 0 gives ψ itself; more steps keep slower modes.
    sigma : float or None, default=None
        σ of the kernel exp(-d²/2σ²). None is the median distance to the third neighbor, and about
        three times that for rows along a curve.
    n_neighbors : int or None, default=None
        Edges to so many neighbors of each sample, and to all as near as the last; None takes all
        pairs up to 5,000 rows, and 60 neighbors beyond (`n_neighbors_` says which).
    metric : str or callable, default="euclidean"
        A name ("euclidean", "sqeuclidean", "cosine", "correlation", "manhattan", "chebyshev",
        "minkowski", "hamming", "jaccard", or "gower" for a table of mixed columns); a callable of
        two rows or objects; or "precomputed": X holds the distances between all samples.
    metric_params : dict or None, default=None
        Parameters of the metric: {"p": 3} of "minkowski", {"weights": ...} of "gower", keywords of
        a callable.
    n_landmarks : int or None, default=None
        Solve for this many random samples only, and map all others as new points.
    on_disconnected : {"join", "error"}, default="join"
        Join connected components of the graph by their shortest edges, with a warning; or raise an
        error.
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
    psi_ : ndarray of shape (n_samples, n_components)
        Eigenvectors ψ of the transition matrix, of mean 0 and mean square 1 under `stationary_` (of
        the landmarks, if there are some; so are the following).
    eigenvalues_ : ndarray of shape (n_components + 1,)
        Its eigenvalues λ, descending, with the leading 1.
    density_ : ndarray of shape (n_samples,)
        The sums q of the kernel of each row.
    degrees_ : ndarray of shape (n_samples,)
        The same after the kernel was divided by q^alpha of both ends.
    stationary_ : ndarray of shape (n_samples,)
        The stationary distribution of the random walk.
    sigma_ : float
        The scale that was used.
    n_neighbors_ : int or None
        The neighbors that were used (None: all pairs).
    neighbor_radii_ : ndarray of shape (n_samples,)
        Distance of each row to the last of these.
    scales_, scale_dimensions_ : ndarray of shape (n_scales,)
        Other scales s, and d log Σ exp(-d²/2s²) / d log s, which is the dimension that the rows
        seem to have at that scale.
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
    residuals_ : ndarray of shape (n_components,)
        Residual norms of the eigenvectors of the symmetric matrix that is similar to I - P.
    participation_ : ndarray of shape (n_components,)
        About how many rows each ψ is; a warning names the rows of an axis that is about few.
    solver_ : str
        How the eigenvectors were found.
    degenerate_axes_ : tuple of tuple of int
        Groups of axes with equal eigenvalues, of which any rotation is as good.
    landmarks_ : ndarray of shape (n_landmarks,)
        The rows that were solved for, if not all were.
    n_samples_, n_features_in_ : int
        Numbers of rows and columns of the training data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of a data frame.

    References
    ----------
    Coifman and Lafon (2006), Applied and Computational Harmonic Analysis 21.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> t = np.linspace(0, 1, 40) ** 2  # a bent line, unevenly sampled
    >>> model = lowd.DiffusionMaps(1, sigma=0.1).fit(np.c_[t, t**2])
    >>> order = np.argsort(model.embedding_[:, 0])
    >>> bool((np.diff(order) == 1).all() or (np.diff(order) == -1).all())
    True
    """

    n_components: Count = 2
    alpha: Fraction = 1.0
    time: NonNegative = 1
    sigma: Positive | None = None
    n_neighbors: Count | None = None
    metric: Metric = "euclidean"
    metric_params: MetricParams = None
    n_landmarks: Count | None = None
    on_disconnected: Literal["join", "error"] = "join"
    random_state: Seed = None

    takes = frozenset({"sparse", "blocks", "neighbors"})

    psi_: Reals = state("n_fitted n_components")
    eigenvalues_: Reals = state("n_eigenvalues")
    density_: Reals = state("n_fitted")
    degrees_: Reals = state("n_fitted")
    stationary_: Reals = state("n_fitted")
    sigma_: float = state()
    n_neighbors_: int | None = state()
    neighbor_radii_: Reals = state("n_fitted")
    scales_: Reals = state("n_scales")
    scale_dimensions_: Reals = state("n_scales")
    n_graph_components_: int = state()
    graph_components_: Indices = state("n_fitted of n_fitted")
    bridges_: Indices = state("n_bridges 2 of n_fitted")
    n_distinct_: int = state()
    knn_recall_: float = state()
    residuals_: Reals = state("n_axes")
    participation_: Reals = state("n_components")
    solver_: str = state()
    degenerate_axes_: Groups = state()
    landmarks_: Indices = state("n_landmarks of n_samples")
    _radii: Reals | None = state("n_points")
    _weights: Reals = state("n_points")
    _means: Reals = state("n_points n_components")
    _gain: Reals = state("n_components")

    def _fit(self, X: Any, y: Any, seed: int) -> Reals:  # noqa: ARG002
        n, k = count_rows(X), self.n_components
        if isinstance(X, Known):
            names = ("n_neighbors", "n_landmarks")
            refuse_unused(self, names, "the neighbor graph is given")
        if self.n_landmarks is None:
            check_count(k, max(n - 1, 1), "n_components", f"n_samples={n} less the constant")
        else:
            check_landmarks(self.n_landmarks, k, n)
        # 1. The kernel, between neighbors or all pairs.
        space, rows = space_of(X, self.metric, self.metric_params), None
        if self.n_landmarks is not None:
            rows = space.draw(self.n_landmarks, seed, "landmarks")
            space = space.take(rows)
        graph = self._kernel(space, isinstance(X, Known))
        scaled = dimension_by_scale(graph.lengths, graph.n_lengths, graph.sigma)
        if graph.space is not None and graph.space.n > 1:
            self.scales_, self.scale_dimensions_ = scaled
        # 2. Divided by the density of both ends, and 3. as a random walk.
        counts = graph.counts
        density = matrix_product(graph.W, counts[:, None])[:, 0]
        graph = graph._replace(W=divide_by_density(graph.W, density**-self.alpha))
        found = laplacian_eigenpairs(graph, k, seed)
        stationary = found.degrees / float(counts @ found.degrees)
        psi = found.vectors / np.sqrt(counts * stationary)[:, None]
        psi = pad_columns(psi * signs(psi), k)
        # 4. Steps of the walk.
        lam = np.pad(1 - found.values, (0, k - len(found.values)))
        powers = raise_eigenvalues(lam, self.time, len(counts))
        Y, of_rows = psi * powers, graph.point_of_row
        self.psi_, self.eigenvalues_ = psi[of_rows], np.append(1.0, lam[: len(found.values)])
        self.density_, self.degrees_ = density[of_rows], found.degrees[of_rows]
        self.stationary_ = stationary[of_rows]
        _describe_solution(self, found)
        self.participation_ = warn_of_localized_axes(self.psi_, _connecting_parameter(self))
        # What places new points.
        self._weights, self._means = counts * density**-self.alpha, Y
        self._gain = np.divide(1, lam, out=np.zeros(k), where=powers != 0)
        _remember_graph(self, graph, Y, rows, n)
        return Y[of_rows] if rows is None else self._transform(X)[0]

    def _kernel(
        self, space: Space, given: bool, most_pairs: int = 5000, neighbors: int = 60
    ) -> AffinityGraph:
        """The kernel between all pairs of few rows, or between neighbors; each row is its own."""
        k = self.n_neighbors
        if given:
            k = int(space.nearest(space.n).counts.max())
        elif k is None and space.n > most_pairs:
            k = neighbors
        self.n_neighbors_, self._radii = k, None
        if k is None:
            graph = kernel_of_all_pairs(space, self.sigma, self.on_disconnected)
        else:
            edges = connected_graph(space, k, None, self.on_disconnected)
            graph = kernel_of_neighbors(edges, k, None, self.sigma, local=True)
            graph = graph._replace(W=csr_array(graph.W + eye_array(graph.W.shape[0])))
        _describe_graph(self, graph)
        return graph

    def _takes_sparse(self) -> bool:
        return self.metric != "precomputed" and super()._takes_sparse()

    @property
    def _k(self) -> int | None:
        return self.n_neighbors_

    @property
    def _radius(self) -> None:
        return None

    def _transform(self, Q: Any) -> tuple[Reals, Neighbors]:
        return extend(self, Q, _kernel_weights(self, self.sigma_, False), "random_walk", False)

    def _plan(self, n: int, d: int, itemsize: int) -> dict[str, int]:  # noqa: ARG002
        m = self.n_landmarks or n
        if self.n_neighbors is not None or m > 5000:
            return {}
        return {"distances": m * m * itemsize, "affinities": 2 * m * m * 8}


# -- the graph and the weights of its edges -------------------------------------------------------


class AffinityGraph(NamedTuple):
    """Weights between the distinct points, sparse or dense, and what they were computed from."""

    W: Any
    point_of_row: Indices
    graph: NeighborGraph | None = None  # None of weights that were given
    sigma: float | None = None
    radii: Reals | None = None  # the distances of the last neighbors
    lengths: Reals = np.empty(0)  # of the edges of some points,
    n_lengths: int = 0  # so many

    @property
    def counts(self) -> Reals:
        """How many rows each point stands for."""
        return np.bincount(self.point_of_row, minlength=self.W.shape[0]).astype(np.float64)

    @property
    def space(self) -> Space | None:
        return None if self.graph is None else self.graph.space


def exponents(d: Reals, sigma: float | None) -> Reals:
    """d²/2σ², in float64; 0 without a σ, and never beyond the largest number."""
    if sigma is None:
        return np.zeros(d.shape)
    with np.errstate(over="ignore"):
        ratio = d.astype(np.float64)
        ratio /= sigma
    np.minimum(ratio, 1e150, out=ratio)
    ratio *= ratio
    ratio *= 0.5
    return ratio


def kernel_of_neighbors(
    graph: NeighborGraph,
    k: int | None,
    radius: float | None,
    sigma: float | None,
    *,
    binary: bool = False,
    averaged: bool = False,
    local: bool = False,
) -> AffinityGraph:
    """Weights of the edges of a neighbor graph: the heat kernel exp(-d²/2σ²), or 1.

    `averaged` takes the mean of both directions of an edge, of which one may not be there. σ is the
    median distance to the last neighbor, or the `local_scale`. A bridge weighs as the longest edge,
    but at least as one of 3σ: the longest one may be that of an outlier.
    """
    near, n = graph.near, graph.space.n
    if sigma is None and not binary:
        sigma = median_distance(near, k, radius)
        if local and k is not None:
            third, sixth = (median_distance(near, min(rank, k), None) for rank in (3, 6))
            sigma = local_scale(third, sixth) if k >= 6 else third
    radii = None if k is None or n == 1 else kth_distances(near, k)
    lengths = symmetric_edges(graph.joined)
    # So small a weight is no different from none, but it can still be divided by.
    weights = np.maximum(np.exp(-exponents(lengths.data, None if binary else sigma)), 1e-30)
    if averaged and radii is not None:
        weights *= mean_of_directions(lengths, radii, radii)
    W = csr_array((weights, lengths.indices, lengths.indptr), lengths.shape)
    if len(graph.bridges):
        ends = np.r_[graph.bridges, graph.bridges[:, ::-1]].T
        W[*ends] = 1.0
        W[*ends] = max(float(W.data.min()), float(np.exp(-4.5)))
    some = np.arange(0, n, max(1, -(-(n * n) // 2**20)))
    joined_lists = graph.joined.as_graph(n)[some]
    return AffinityGraph(W, graph.point_of_row, graph, sigma, radii, joined_lists.data, len(some))


def kernel_of_all_pairs(
    space: Space, sigma: float | None, on_disconnected: Literal["join", "error"]
) -> AffinityGraph:
    """Weights exp(-d²/2σ²) of all pairs and 1 of each point with itself; σ is the `local_scale`.

    Points farther apart than 6.07 σ are not connected, as far as eigenvectors can tell: their
    weight is below 1e-8.
    """
    graph = distinct_neighbors(space, lambda n: min(6, n - 1), None)
    n = graph.space.n
    if n == 1:
        return AffinityGraph(np.ones((1, 1)), graph.point_of_row, graph, sigma or 1.0)
    if sigma is None:
        third, sixth = (median_distance(graph.near, rank, None) for rank in (min(3, n - 1), 6))
        sigma = local_scale(third, sixth) if n > 6 else third
    D = graph.space.pairwise()
    reach = 6.07 * sigma
    close = graph.near.keep(graph.near.distances <= reach)
    component = connected_components(close.as_graph(n), directed=False)[1]
    if component.any():  # near neighbors mostly tell
        component = rank_by_size(components_within(D, reach))
    W = exponents(D, sigma)
    W = np.asarray(np.exp(np.negative(W, out=W), out=W), D.dtype)
    if component.any():
        sizes = np.bincount(component, graph.counts).astype(int)
        found = (
            f"a kernel of sigma={sigma:.3g} is 0 beyond {reach:.3g}, which leaves "
            f"{describe_sizes(sizes)}"
        )
        bridges, lengths = join_components(graph.space, component, found, "sigma", on_disconnected)
        graph = graph._replace(component=component, bridges=bridges, bridge_lengths=lengths)
        a, b = bridges.T
        W[a, b] = W[b, a] = np.maximum(W[a, b], float(np.exp(-4.5)))
    np.fill_diagonal(W, 1.0)
    sample = D[:: max(1, -(-D.size // 2**20))]
    return AffinityGraph(W, graph.point_of_row, graph, sigma, None, sample.ravel(), len(sample))


def local_scale(third: float, sixth: float) -> float:
    """The scale of a kernel, from the median distances to the third and the sixth neighbor.

    Low numbers adapt to the dimension: on a surface the third is at half the distance of the tenth,
    which keeps the turns of a roll of 600 rows apart; in ten dimensions it is at 90 %, and a cloud
    is not torn. On a curve so few neighbors connect nothing across the widest gaps of a sample.
    There the squared distance to the sixth is 4.5 times that to the third, on a surface 2.1 times
    (medians); the square of what is beyond 2.5 leaves surfaces their scale, and makes that of
    curves 3.2 times as wide.
    """
    return third * max(1.0, (sixth / third) ** 2 / 2.5) ** 2 if third > 0 else sixth


def median_distance(near: Neighbors, k: int | None, radius: float | None) -> float:
    """The median distance to the k-th neighbor, or to the last one within the radius."""
    held = near.counts > 0
    if not held.any():
        return radius or 1.0
    return float(np.median(kth_distances(near, k)[held]))


def kth_distances(near: Neighbors, k: int | None) -> Reals:
    """The distance of each point's k-th neighbor; of its last in a list that has fewer, or 0."""
    held = near.counts if k is None else np.minimum(near.counts, k)
    at = np.minimum(near.indptr[:-1] + np.maximum(held, 1) - 1, max(len(near.distances) - 1, 0))
    return np.where(held > 0, near.distances[at] if len(near.distances) else 0.0, 0.0)


def mean_of_directions(near: Graph, own: Reals, radii: Reals) -> Reals:
    """1 where row and column are within each other's radius, 1/2 where one of them is."""
    slack = 1 + tie_tolerance(near.data)
    outward = near.data <= np.repeat(own, np.diff(near.indptr)) * slack
    inward = near.data <= radii[near.indices] * slack
    return (outward.astype(np.float64) + inward) / 2


def components_within(D: Reals, radius: float) -> Indices:
    """Connected components of all edges up to a radius, by breadth-first search.

    A few rows of D are mostly enough to connect all points, so no sparse graph is made of it.
    """
    label, name = np.full(len(D), -1), 0
    while (label < 0).any():
        waiting = [int(np.argmin(label))]
        label[waiting] = name
        while waiting and (label < 0).any():
            new = np.flatnonzero((label < 0) & (radius >= D[waiting.pop()]))
            label[new] = name
            waiting.extend(new)
        name += 1
    return label


def given_affinities(W: Any, parameter: str, model: LaplacianEigenmaps) -> AffinityGraph:
    """Weights that were given; without distances no components can be joined.

    No two rows can be seen to be duplicates either.
    """
    n = W.shape[0]
    model.n_graph_components_, model.graph_components_ = 1, np.zeros(n, np.int64)
    if n > 1:
        count, label = connected_components(csr_array(W), directed=False)
        if count > 1:
            label = rank_by_size(label)
            raise DataError(
                f"{parameter}: the weights leave {describe_sizes(np.bincount(label))}; row "
                f"{int(np.argmax(label == count - 1))} is in the smallest. Without distances they "
                "cannot be connected: add weights between them, or fit them one by one."
            )
    return AffinityGraph(W, np.arange(n))


def callable_affinities(
    function: Callable[..., Any], takes_all: bool, X: Any, Q: Any = None
) -> Reals:
    """Weights by a callable: among the rows X, or between new rows Q and X."""
    name, new = name_callable(function), Q is not None
    Q = Q if new else X
    try:
        if takes_all:
            W = (
                [np.asarray(function(X))]
                if not new
                else [_weights_with_all(function, name, q, X) for q in Q]
            )
            if not new and W[0].shape != (len(X), len(X)):
                raise DataError(
                    f"affinity={name} gave numbers of shape {W[0].shape} for {len(X)} rows; "
                    f"expected {(len(X), len(X))}, one per pair."
                )
            found: Any = W if new else W[0]
        elif _takes_matrices(function, X):
            # One new row at a time: what a function of matrices computes may depend on its batch.
            found = [function(q[None], X)[0] for q in Q] if new else function(X, X)
        else:
            found = [[function(q, x) for x in X] for q in Q]
    except DataError:
        raise
    except Exception as error:
        error.add_note(f"raised by affinity={name}")
        raise
    try:
        A = np.asarray(found, np.float64)
    except (TypeError, ValueError):
        A = np.empty(0)
    if A.shape != (len(Q), len(X)):
        raise DataError(
            f"affinity={name} gave no numbers of shape {(len(Q), len(X))}: one per pair."
        )
    if not np.isfinite(A).all():
        i, j = map(int, np.argwhere(~np.isfinite(A))[0])
        raise DataError(f"affinity={name} gave {A[i, j]} for objects {i} and {j}.")
    if not new:
        i, j = map(int, np.unravel_index(np.abs(A - A.T).argmax(), A.shape))
        if abs(A[i, j] - A[j, i]) > 1e-6 * np.abs(A).max():
            raise DataError(
                f"affinity={name} is not symmetric: {A[i, j]:.6g} for ({i}, {j}) but "
                f"{A[j, i]:.6g} for ({j}, {i})."
            )
        A = (A + A.T) / 2
    if A.min(initial=0) < 0:
        i, j = map(int, np.unravel_index(A.argmin(), A.shape))
        raise DataError(
            f"affinity={name} gave {A[i, j]:.6g} for rows {i} and {j}; an edge weight is 0 or more."
        )
    return A


def _weights_with_all(function: Callable[..., Any], name: str, q: Any, X: Any) -> Reals:
    """Weights between one new row and X, by a function of all rows of one array."""
    W = np.asarray(function(np.vstack([X, q])))
    if W.shape != (len(X) + 1, len(X) + 1):
        raise DataError(
            f"affinity={name} gave numbers of shape {W.shape} for {len(X) + 1} rows; expected "
            f"{(len(X) + 1, len(X) + 1)}, one per pair."
        )
    return np.asarray(W[-1, :-1])


def takes_all_rows(function: Callable[..., Any]) -> bool:
    """Whether it is a function of one array, and not of two.

    >>> takes_all_rows(lambda X: X @ X.T), takes_all_rows(lambda A, B: A @ B.T)
    (True, False)
    """
    try:
        parameters = signature(function)
        parameters.bind(None)
    except (TypeError, ValueError):  # it needs more, or does not tell
        return False
    try:
        parameters.bind(None, None)
    except TypeError:
        return True
    return False


def _takes_matrices(function: Callable[..., Any], X: Any) -> bool:
    """Whether it computes f(A, B) -> matrix, which unequal shapes tell."""
    if not isinstance(X, np.ndarray):
        return False
    try:
        return bool(np.shape(function(X[[0, 0]], X[[0, 0, 0]])) == (2, 3))
    except Exception:  # a function of two rows may fail on matrices in any way
        return False


def dimension_by_scale(lengths: Reals, n: int, sigma: float | None) -> tuple[Reals, Reals]:
    """Scales s around σ, and d log S / d log s of the kernel's sum S = Σ exp(-d²/2s²) at each.

    That is the dimension of what the data look like at this scale: on a manifold S grows as s^dim
    between the distances of neighbors and the size of the whole (Coifman et al., 2008). The
    weight of each of the n points with itself counts in S. A histogram with bins of 2 % is enough;
    lengths beyond 2^±30 σ count as these, as their kernel is 0 or 1.
    """
    octaves, per_octave, half = np.arange(-3, 5.01, 0.25), 32, 30
    assert sigma is not None
    apart = lengths[lengths > 0].astype(np.float64)
    with np.errstate(over="ignore"):
        where = np.clip(np.log2(apart / sigma), -half, half)
    count = 2 * half * per_octave + 1
    held = np.bincount(((where + half) * per_octave).astype(np.int64), minlength=count)
    middles = 2.0 ** ((np.arange(count) + 0.5) / per_octave - half)
    squares = np.square(middles / 2.0 ** octaves[:, None])
    K = np.exp(-squares / 2) * held
    return sigma * 2.0**octaves, (K * squares).sum(1) / (K.sum(1) + n)


def divide_by_density(W: Any, factors: Reals) -> Any:
    """The kernel times a factor of both ends; a dense one in place."""
    if issparse(W):
        scale = diags_array(factors)
        return csr_array(scale @ W @ scale)
    factors = factors.astype(W.dtype)
    W *= factors[:, None]
    W *= factors
    return W


# -- eigenvectors of the Laplacian ----------------------------------------------------------------


class Spectrum(NamedTuple):
    """Eigenpairs of the Laplacian, smallest first and without the constant; a row for each point.

    `vectors` are those of the symmetric matrix, with orthonormal columns. An eigenvalue λ of the
    normalized Laplacian is the eigenvalue 1 - λ of the transition matrix.
    """

    values: Reals
    vectors: Reals
    degrees: Reals
    residuals: Reals
    solver: str
    groups: Groups


def laplacian_eigenpairs(
    graph: AffinityGraph, k: int, seed: int, normalized: bool = True
) -> Spectrum:
    """The k smallest eigenpairs of I - D^-½ W D^-½ (or of D - W), without the constant.

    Duplicates count as often as they occur: W is counts · w · counts among the distinct points,
    and a row's degree the sum over all rows.
    """
    W, counts = graph.W, graph.counts
    n = len(counts)
    degrees = matrix_product(W, counts[:, None])[:, 0]
    if k >= n:
        warn(
            f"n_components={k}, but {n} distinct rows have {n - 1} axes; the other columns are 0.",
            RankWarning,
        )
        k = n - 1
    if k == 0:
        return Spectrum(np.empty(0), np.empty((1, 0)), degrees, np.empty(0), "none", ())
    if not degrees.all():
        rows = np.flatnonzero(degrees[graph.point_of_row] == 0)
        shown = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
        raise DataError(f"row {shown} has no edge to any other row; drop it, or connect it.")
    if normalized:
        root, null = np.sqrt(counts / degrees), np.sqrt(counts * degrees)
        diagonal = np.ones(n)
    else:
        root, null, diagonal = np.sqrt(counts), np.sqrt(counts), degrees
    null = (null / np.linalg.norm(null))[:, None]
    if issparse(W):
        S = diags_array(root)
        L = csr_array(diags_array(diagonal) - S @ W @ S)
        found = smallest_eigenpairs(L, k, seed, null)
    else:
        found = dense_laplacian_eigenpairs(W, root, diagonal, null, k, seed)
    if normalized:
        nearby = matrix_product(W, (counts * degrees)[:, None])[:, 0] / degrees
        weak = np.flatnonzero(degrees < 1e-3 * nearby)
        if len(weak):
            solve_weak_points(W, root, weak, found)
    return Spectrum(
        found.values, found.vectors, degrees, found.residuals, found.solver, found.groups
    )


def dense_laplacian_eigenpairs(
    W: Reals, root: Reals, diagonal: Reals, null: Reals, k: int, seed: int
) -> SmallestEigenpairs:
    """The k smallest eigenpairs of diag(diagonal) - diag(root) W diag(root) beyond its null vector.

    A wide kernel has a wide spectral gap, and few products do. The smallest eigenvalues of a
    narrow kernel are all but 0; of the inverse they are the largest by far. A Cholesky
    factorization takes the place of products where these are forecast to take longer, which is as
    long as n / 25 of them; the eigenvectors of LAPACK, which few rows have, take many times as long.
    """
    n, product = len(W), products_of(W)
    norm = 2.0 if (diagonal == 1).all() else 2 * float(diagonal.max())
    more = min(k + 1, n - 1)  # one beyond, to see whether the last is one of several

    def complement(V: Reals) -> Reals:
        """norm - A, where the null vector is not in the way."""
        V = V - null @ (null.T @ V)
        out = (norm - diagonal)[:, None] * V + root[:, None] * product(root[:, None] * V)
        return np.asarray(out - null @ (null.T @ out))

    def lifted() -> Reals:
        """The matrix itself, with its null vector above all else."""
        A = W * -root[:, None]
        A *= root
        A.flat[:: n + 1] += diagonal
        for some in chunks(n, n, 2**20):
            A[some] += 2 * norm * null[some] @ null.T
        return A

    V, solver = None, "dense"
    if n > 300:
        start = random.normals(seed, "start", (n, block_width(more)))
        start -= null @ (null.T @ start)
        tolerance = krylov_tolerance(W.dtype)
        found = block_krylov(complement, start, more, tolerance, patience=n / 25)
        if found.residual <= tolerance:
            V, solver = found.vectors, "krylov"
        else:
            V = _by_cholesky(lifted(), start, more)
            solver = "dense" if V is None else "cholesky"
    if V is None:
        V = scipy.linalg.eigh(lifted(), subset_by_index=(0, more - 1), check_finite=False)[1]
    values = np.maximum(norm - (V * complement(V)).sum(0), 0)
    order = np.argsort(values, kind="stable")
    values, V = values[order], V[:, order]
    groups = equal_groups(values, precision=1e-8, floor=1e-14 * norm)
    V, values = canonical(values, V, groups=groups)[:, :k], values[:k]
    residuals = np.linalg.norm((norm - values) * V - complement(V), axis=0)
    groups = tuple(tuple(j for j in group if j < k) for group in groups)
    return SmallestEigenpairs(values, V, residuals, solver, tuple(filter(None, groups)))


def _by_cholesky(A: Reals, start: Reals, k: int) -> Reals | None:
    """Vectors by block Krylov iteration on the inverse; None where rounding leaves no factor."""
    try:
        factor = scipy.linalg.cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return None

    def solve(V: Reals) -> Reals:
        return np.asarray(scipy.linalg.cho_solve(factor, V, check_finite=False))

    found = block_krylov(solve, start, k, 1e-10)
    return found.vectors if found.residual <= 1e-10 else None


def solve_weak_points(W: Any, root: Reals, weak: Indices, found: SmallestEigenpairs) -> None:
    """Entries of points that are far from all others, by their own rows of the equation; in place.

    A solver knows v to rounding of its length, 1e-16, and such an entry may be less: divided by the
    root of the point's degree that would be noise, and the largest coordinate of all. Its own row
    of (S W S) v = (1 - λ) v, S = diag(root), has all digits, given the entries of its neighbors.
    """
    V, rows = found.vectors, csr_array(W[weak])
    for j, gain in enumerate(nystroem_gain(found.values)):
        tiny = np.abs(V[weak, j]) < 1e-4 * np.abs(V[:, j]).max()
        own, some = weak[tiny], csr_array(rows[tiny])
        if not len(own):
            continue
        known = root * V[:, j]
        known[own] = 0
        scale = diags_array(root[own])
        among = (diags_array(np.full(len(own), 1 / gain)) - scale @ some[:, own] @ scale).tocsc()
        try:
            V[own, j] = splu(among).solve(root[own] * (some @ known))
        except RuntimeError:  # singular: these points have an axis of their own
            continue


class ScaledEigenvectors(NamedTuple):
    """Eigenvectors as coordinates Y, and what the Nyström extension averages and multiplies by."""

    Y: Reals
    means: Reals
    gain: Reals
    fiedler_vector: Reals  # the first one before scaling; empty if there is none


def scaled_eigenvectors(
    found: Spectrum,
    counts: Reals,
    k: int,
    normalization: Normalization,
    scale: Literal["std", "unit", "commute"],
) -> ScaledEigenvectors:
    """Coordinates of the points from the eigenvectors of a Laplacian, with their signs fixed."""
    lam, normalized = found.values, normalization != "none"
    y = found.vectors / np.sqrt(counts)[:, None]  # orthonormal over all rows
    u = y / np.sqrt(found.degrees)[:, None] if normalized else y
    if normalization == "random_walk":
        y = u
    flips = signs(y)
    factor = np.ones(len(lam))
    if scale == "commute":
        volume = float(counts @ found.degrees)
        factor = np.sqrt(volume / np.maximum(lam, np.finfo(float).tiny))
    elif scale == "std":
        share = counts / counts.sum()
        spread = np.sqrt(share @ (y - share @ y) ** 2)
        factor = 1 / np.where(spread > 0, spread, 1.0)
    Y = pad_columns(y * (flips * factor), k)
    means = Y if y is u else pad_columns(u * (flips * factor), k)
    gain = np.pad(nystroem_gain(lam) if normalized else lam, (0, k - len(lam)))
    return ScaledEigenvectors(Y, means, gain, (y * flips)[:, 0] if len(lam) else np.empty(0))


def raise_eigenvalues(lam: Reals, time: float, n: int) -> Reals:
    """λ^t of a transition matrix among n points; 0 where λ is but rounding."""
    some = np.abs(lam) > n * np.finfo(float).eps
    if not some.all() and n > len(lam):
        warn(
            f"only {int(some.sum())} of n_components={len(lam)} eigenvalues differ from 0; the "
            "other columns are 0. A smaller sigma has more.",
            RankWarning,
        )
    negative = np.flatnonzero((lam < 0) & some)
    if len(negative) and time != int(time):
        raise ParameterError(
            f"time={time} is not a whole number, but the eigenvalue of axis {negative[0]} is "
            f"{lam[negative[0]]:.3g}, and a power of it is not a number; use time="
            f"{round(time)} or n_components={max(int(negative[0]), 1)}.",
            "time",
        )
    powers = np.zeros(len(lam))
    powers[some] = lam[some] ** time
    return powers


def pad_columns(A: Reals, k: int) -> Reals:
    """Columns of zeros where there are fewer axes than wanted."""
    return np.pad(A, ((0, 0), (0, k - A.shape[1])))


def matrix_product(W: Any, V: Reals) -> Reals:
    """W V of a sparse or dense matrix."""
    return np.asarray(W @ V) if issparse(W) else products_of(W)(V)


# -- new points -----------------------------------------------------------------------------------


class NewWeights(NamedTuple):
    """Weights of new points (rows) to the training points (columns).

    Those of row i are exp(log_scale[i]) times what is stored, so that a far point keeps its digits.
    """

    W: Any
    log_scale: Reals
    near: Neighbors | None  # the nearest points; None of given weights, which tell no distance
    isolated: Indices  # whether the point has no neighbor: then it is where its nearest is


def affinities_toward(
    space: Space,
    Q: Any,
    sigma: float | None,
    k: int | None,
    radius: float | None,
    radii: Reals | None,
    averaged: bool,
) -> NewWeights:
    """Weights of new points by the kernel, of their neighbors or of all points.

    Neighbors are those within the radius; or a new point and a training point are if either is one
    of the k nearest of the other, where `radii` are the kth distances of the training points. So a
    training point taken for a new one finds its own row of the graph: one that coincides with it is
    a neighbor besides its k others.
    """
    D = space.toward(Q)
    n, slack = D.shape[1], 1 + tie_tolerance(D)
    near = nearest_columns(D, min(max(k or 10, 2), n))
    closest = near.nearest
    none = np.zeros(len(D), bool)
    if radius is None and radii is None:
        log_scale = -exponents(closest, sigma)
        return NewWeights(np.exp(-log_scale[:, None] - exponents(D, sigma)), log_scale, near, none)
    if radius is not None:
        inside = radius * slack >= D
    else:
        assert k is not None
        assert radii is not None
        last = min(k, n) - 1
        beyond = min(last + 1, n - 1)
        found = np.partition(D, (last, beyond), axis=1)
        own = np.where(closest == 0, found[:, beyond], found[:, last])
        inside = np.maximum(own[:, None], radii) * slack >= D
    row, column = np.nonzero(inside)
    indptr = np.concatenate([[0], np.cumsum(inside.sum(1))])
    lists = csr_array((D[row, column].astype(np.float64), column, indptr), shape=D.shape)
    found = weigh_lists(lists, closest, sigma, k, radii if averaged else None)
    isolated = np.diff(indptr) == 0
    if isolated.any() and isinstance(space, Rows):
        # So far away that their distances to several training points are equal by rounding.
        far = np.flatnonzero(isolated)
        first = near.indptr[:-1][far]
        near.indices[first] = space.query(take_rows(Q, far), 1).indices
    return NewWeights(*found, near, isolated)


def affinities_listed(
    near: Neighbors,
    n: int,
    sigma: float | None,
    k: int | None,
    radius: float | None,
    radii: Reals | None,
    averaged: bool,
) -> NewWeights:
    """The same by neighbors that are given: those that are neighbors in the graph count."""
    if radius is None and radii is None:
        raise ParameterError(
            "neighbors= would be ignored: every row has an affinity to all others."
        )
    closest, counts = near.nearest, near.counts
    limit: Any = radius
    if radius is None:
        assert k is not None
        assert radii is not None
        own = kth_distances_of_new(near, k, closest)
        limit = np.maximum(np.repeat(own, counts), radii[near.indices])
    inside = near.keep(near.distances <= limit * (1 + tie_tolerance(near.distances)))
    found = weigh_lists(inside.as_graph(n), closest, sigma, k, radii if averaged else None)
    return NewWeights(*found, near, inside.counts == 0)


def weigh_lists(
    lists: Graph, closest: Reals, sigma: float | None, k: int | None, radii: Reals | None
) -> tuple[Graph, Reals]:
    """Weights of new points from the distances to neighbors, and the logarithms of their scales."""
    log_scale, counts = -exponents(closest, sigma), np.diff(lists.indptr)
    weights = np.exp(-np.repeat(log_scale, counts) - exponents(lists.data, sigma))
    if radii is not None and k is not None:
        row = np.repeat(np.arange(len(counts)), counts)
        order = np.lexsort((lists.data, row))
        near = Neighbors(lists.indptr, lists.indices[order], lists.data[order])
        weights *= mean_of_directions(lists, kth_distances_of_new(near, k, closest), radii)
    return csr_array((weights, lists.indices, lists.indptr), lists.shape), log_scale


def kth_distances_of_new(near: Neighbors, k: int, closest: Reals) -> Reals:
    """The distance of each list's k-th neighbor, not counting a point that coincides with it."""
    last = k - 1 + (closest == 0)
    return near.distances[near.indptr[:-1] + np.minimum(last, np.maximum(near.counts, 1) - 1)]


def extend(
    model: Any,
    Q: Any,
    weigh: Callable[[Any], NewWeights],
    normalization: Normalization,
    harmonic: bool,
) -> tuple[Reals, Any]:
    """Nyström extension of graph eigenvectors: means over a new point's neighbors, rescaled.

    An eigenvector is its own mean over neighbors up to a factor; solved for one row, that gives the
    coordinates of a point with this row (Bengio et al., 2004). "random_walk": y = gain · mean,
    "symmetric": the same times √degree, "none": y = sum / (degree - λ). Where the factor has a pole
    the mean itself is taken, which is the harmonic extension. Near a training point coordinates
    approach its own (`approach`).
    """
    means, weights, gain = model._means, model._weights, model._gain
    table = weights[:, None] * np.column_stack([means, np.ones(len(means))])
    m = count_rows(Q)
    Y, degrees, lists, lost, isolated = np.empty((m, len(gain))), np.empty(m), [], 0, 0
    for some in chunks(m, 3 * len(means)):
        new = weigh(take_rows(Q, np.arange(some.start, some.stop)))
        sums = _row_products(new.W, table)
        degree = sums[:, -1:]
        connected = degree > 0
        y = np.divide(sums[:, :-1], degree, out=np.zeros_like(sums[:, :-1]), where=connected)
        degrees[some] = degree[:, 0] * np.exp(new.log_scale)
        y *= _nystroem_factor(degrees[some, None], gain, normalization, harmonic)
        if new.near is not None:
            home = new.near.indices[new.near.indptr[:-1]]
            y[new.isolated] = model._embedded.X[home[new.isolated]]
            y = approach(y, new.near, model._embedded.X)
            connected[new.near.nearest == 0] = True
            lists.append(new.near)
        Y[some] = y
        isolated += int(new.isolated.sum())
        lost += int((new.isolated | ~connected[:, 0]).sum())
    if lost:
        which = "those of its nearest training row" if isolated else "0"
        warn(
            f"{lost} of the new rows have no neighbor among the training rows; the coordinates of "
            f"each are {which}. Raise the radius, or look whether such rows belong here.",
            DisconnectedGraphWarning,
        )
    return Y, joined(lists) if lists else degrees


def nystroem_gain(lam: Reals) -> Reals:
    """1 / (1 - λ) of the normalized Laplacian's eigenvalues; 1 at the pole, which is rounding."""
    pole = np.abs(1 - lam) < 1e-8
    return np.where(pole, 1.0, 1 / np.where(pole, 1.0, 1 - lam))


def _nystroem_factor(
    degree: Reals, gain: Reals, normalization: Normalization, harmonic: bool
) -> Reals:
    """What the mean of a point of that degree is multiplied by; `gain` is λ for "none"."""
    if normalization == "none":
        if harmonic:
            return np.ones((1, 1))
        pole = degree <= gain * (1 + 1e-8)
        divisor = np.where(pole, degree, degree - gain)
        return np.divide(degree, divisor, out=np.ones(divisor.shape), where=divisor > 0)
    factor = np.ones((1, 1)) if harmonic else gain[None]
    return factor * np.sqrt(degree) if normalization == "symmetric" else factor


def _row_products(W: Any, V: Reals) -> Reals:
    """W V, of which each row depends on its own row of W only, to the last bit."""
    if issparse(W):
        return np.asarray(csr_array(W) @ V)
    out = np.empty((len(W), V.shape[1]))
    W = np.ascontiguousarray(W, np.float64)
    _native.project(W, None, np.ascontiguousarray(V), None, out, threads(W.size))
    return out


def _kernel_weights(model: Any, sigma: float | None, averaged: bool) -> Callable[[Any], NewWeights]:
    """The weights of new points of a model whose kernel is one of distances."""
    space, how = model._space, (sigma, model._k, model._radius, model._radii, averaged)

    def weigh(Q: Any) -> NewWeights:
        if isinstance(Q, Known):
            return affinities_listed(space.query(Q, space.n), space.n, *how)
        return affinities_toward(space.base, Q, *how)

    return weigh


def _given_weights(model: LaplacianEigenmaps) -> Callable[[Any], NewWeights]:
    """The weights of new points of a model whose affinities are given."""
    columns = getattr(model, "landmarks_", None)

    def weigh(Q: Any) -> NewWeights:
        if isinstance(Q, Known):
            raise ParameterError("neighbors= would be ignored: affinity='precomputed' has them.")
        m = Q.shape[0]
        W = Q if columns is None else Q[:, columns]
        return NewWeights(W, np.zeros(m), None, np.zeros(m, bool))

    return weigh


def _called_weights(model: LaplacianEigenmaps) -> Callable[[Any], NewWeights]:
    """The weights of new points of a model whose affinities a callable computes."""

    def weigh(Q: Any) -> NewWeights:
        if isinstance(Q, Known):
            raise ParameterError("neighbors= would be ignored: a callable affinity takes the rows.")
        assert callable(model.affinity)
        W = callable_affinities(model.affinity, model._takes_all, model._items, Q)
        return NewWeights(W, np.zeros(len(Q)), None, np.zeros(len(Q), bool))

    return weigh


# -- what both methods learn ----------------------------------------------------------------------


def draw_landmarks(model: LaplacianEigenmaps, X: Any, seed: int) -> Indices:
    """Random rows of any kind of data, the same ones in whichever order the rows come."""
    m = model.n_landmarks
    assert m is not None
    if model._kind() == "affinity":
        content = hash_symmetric(X.toarray() if issparse(X) else X)
    elif callable(model.affinity):
        content = hash_rows(X)
    else:
        return space_of(X, model.metric, model.metric_params).draw(m, seed, "landmarks")
    drawn = np.argpartition(random.bits(seed, "landmarks", content), m - 1)[:m]
    return drawn[np.lexsort((drawn, content[drawn]))]


def _describe_graph(model: Any, graph: AffinityGraph) -> None:
    """Learned attributes of the graph, which speak of rows and not of points."""
    edges, of_rows = graph.graph, graph.point_of_row
    assert edges is not None
    model.sigma_ = graph.sigma
    model.n_graph_components_ = int(edges.component.max()) + 1
    model.graph_components_ = edges.component[of_rows]
    model.bridges_ = edges.first_row[edges.bridges]
    model.n_distinct_, model.knn_recall_ = edges.space.n, edges.recall
    if graph.radii is not None:
        model._radii, model.neighbor_radii_ = graph.radii, graph.radii[of_rows]


def _describe_solution(model: Any, found: Spectrum) -> None:
    """Learned attributes of the eigenvectors."""
    model.residuals_, model.solver_ = found.residuals, found.solver
    model.degenerate_axes_ = found.groups


def _remember_graph(
    model: Any, graph: AffinityGraph, Y: Reals, rows: Indices | None, n: int
) -> None:
    """Keep the points and their coordinates; `rows` of n were fitted."""
    if rows is not None:
        model.landmarks_ = rows
    if graph.graph is None:  # given weights: what counts is how much of them a row has
        model._embedded = Rows(Y)
        degrees = matrix_product(graph.W, np.ones((len(Y), 1)))
        model._reach = np.array([max(float(np.quantile(degrees, 0.1)), 1e-300), 0.0])
        return
    k = model._k or 10
    known = graph.graph.known_by_rows(rows, n if rows is None else model.n_samples_)
    model._remember(known, Y, graph.graph.near.nearest, k)


def _connecting_parameter(model: Any) -> str:
    """The parameter that says how far edges go."""
    if getattr(model, "radius", None) is not None:
        return "radius"
    return "n_neighbors" if model.n_neighbors is not None else "sigma"
