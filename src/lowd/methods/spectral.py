"""Laplacian eigenmaps (Belkin and Niyogi, 2003) and diffusion maps (Coifman and Lafon, 2006).

Both are eigenvectors of the random walk on a graph whose edges are weighed by a kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array, eye_array, issparse

from .. import _native, random
from ..backend import chunks, threads
from ..errors import DisconnectedGraphWarning, ParameterError, RankWarning, warn
from ..linalg.eigen import Groups, signs
from ..linalg.laplacian import Spectrum, laplacian_eigenpairs, matrix_product, nystroem_gain
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
from ..spaces.graph import connected_graph, warn_of_localized_axes
from ..spaces.known import Known
from ..spaces.matrices import hash_rows, hash_symmetric
from ..spaces.neighbors import Neighbors, joined
from ..spaces.space import Rows, Space, count_rows, name_callable, space_of, take_rows
from .affinity_graph import (
    AffinityGraph,
    NewWeights,
    affinities_listed,
    affinities_toward,
    callable_affinities,
    dimension_by_scale,
    divide_by_density,
    given_affinities,
    kernel_of_all_pairs,
    kernel_of_neighbors,
    takes_all_rows,
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
        Whether a sample is its own neighbor, which changes D, not L.
    scale : {"std", "unit", "commute"}, default="std"
        "std": columns of standard deviation 1. "unit": u'Du = 1 (u'u = 1 for the others).
        "commute": squared distances in all n - 1 dimensions are commute times of the random walk.
    metric : str or callable, default="euclidean"
        A name ("euclidean", "sqeuclidean", "cosine", "correlation", "manhattan", "chebyshev",
        "minkowski", "hamming", "jaccard", "canberra", "braycurtis", "dice", "hellinger",
        "haversine", or "gower" for a table of mixed columns); a callable of two rows or objects; or
        "precomputed": X holds the distances between all samples.
    metric_params : dict or None, default=None
        Parameters of the metric: {"p": 3} for "minkowski", {"weights": [...]} for "gower", or
        keywords of a callable.
    n_landmarks : int or None, default=None
        Solve for this many random samples only, and map all others as new points.
    map : {"nystroem", "harmonic"}, default="nystroem"
        Map of new points: "nystroem", or "harmonic": the mean of their neighbors.
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
    confidence_curve = (2.95, 0.75, 0.25, 0.2)

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
        # 1. The graph, and 2. the weights of its edges.
        given = callable(self.affinity) or self.affinity == "precomputed"
        graph, rows = self._take_weights(X, seed) if given else self._weigh_edges(X, seed)
        # 3. Eigenvectors of its Laplacian.
        k, form, counts = self.n_components, self.normalization, graph.counts
        found = laplacian_eigenpairs(graph.W, graph.point_of_row, k, seed, form != "none")
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
        return embedding if rows is None else self._extend(X)

    def _check(self, X: Any) -> None:
        """Refuse parameters that would do nothing, or contradict each other."""
        edges = ("n_neighbors", "radius", "sigma", "self_loops", "metric", "metric_params")
        unweighted = self.affinity in ("binary", "nearest_neighbors")
        if isinstance(X, Known) and (callable(self.affinity) or self.affinity == "precomputed"):
            raise ParameterError("neighbors= would be ignored: the affinities are precomputed.")
        if callable(self.affinity):
            refuse_unused(self, edges, "a callable affinity weighs all pairs of rows")
        elif self.affinity == "precomputed":
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

    def _choose_landmarks(self, n: int, draw: Callable[[int], Indices]) -> Indices | None:
        """The random rows that are fitted; None for all n of them."""
        m, k = self.n_landmarks, self.n_components
        if m is None:
            check_count(k, max(n - 1, 1), "n_components", f"n_samples={n} less the constant")
            return None
        check_landmarks(m, k, n)
        return draw(m)

    def _take_weights(self, X: Any, seed: int) -> tuple[AffinityGraph, Indices | None]:
        """Weights that are given, or that a callable computes; and the rows that are fitted."""

        def draw(m: int) -> Indices:
            content = hash_rows(X)
            if not callable(self.affinity):
                content = hash_symmetric(X.toarray() if issparse(X) else X)
            drawn = np.argpartition(random.bits(seed, "landmarks", content), m - 1)[:m]
            return drawn[np.lexsort((drawn, content[drawn]))]

        if callable(self.affinity):
            X = np.asarray(X)
            rows = self._choose_landmarks(len(X), draw)
            self._items, self._takes_all = (
                X if rows is None else X[rows],
                takes_all_rows(self.affinity),
            )
            W: Any = callable_affinities(self.affinity, self._takes_all, self._items)
            graph = given_affinities(W, f"affinity={name_callable(self.affinity)}")
        else:
            rows, W = self._choose_landmarks(X.shape[0], draw), X
            if rows is not None:
                W = csr_array(X[rows][:, rows]) if issparse(X) else X[np.ix_(rows, rows)]
            graph = given_affinities(W, "affinity='precomputed'")
        self.n_graph_components_, self.graph_components_ = 1, np.zeros(W.shape[0], np.int64)
        return graph, rows

    def _weigh_edges(self, X: Any, seed: int) -> tuple[AffinityGraph, Indices | None]:
        """The weights of edges by their lengths, and the rows that are fitted."""
        space, how = space_of(X, self.metric, self.metric_params), self.affinity
        rows = self._choose_landmarks(space.n, lambda m: space.draw(m, seed, "landmarks"))
        space = space if rows is None else space.take(rows)
        self._k, self._radius, self._radii = self.n_neighbors, self.radius, None
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
        return graph, rows

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

    def _familiarity(self, Q: Any, used: Any) -> Reals:  # noqa: ARG002
        """Given weights tell no distance; a row belongs to the data if it has as much weight."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log2(used / self._reach[0]) - 2)

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

    Cost: n²·d for the kernel up to 500 rows, beyond that 15 neighbors of each row and a sparse
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
        Edges lead from each sample to this many nearest others, and to all as near as the last.
        None takes all pairs up to 500 distinct rows, and 15 neighbors beyond; where `sigma` is set,
        all pairs up to 5,000, and 60 neighbors beyond (`n_neighbors_` says which).
    metric : str or callable, default="euclidean"
        A name ("euclidean", "sqeuclidean", "cosine", "correlation", "manhattan", "chebyshev",
        "minkowski", "hamming", "jaccard", "canberra", "braycurtis", "dice", "hellinger",
        "haversine", or "gower" for a table of mixed columns); a callable of two rows or objects; or
        "precomputed": X holds the distances between all samples.
    metric_params : dict or None, default=None
        Parameters of the metric: {"p": 3} for "minkowski", {"weights": [...]} for "gower", or
        keywords of a callable.
    n_landmarks : int or None, default=None
        Solve for this many random samples only, and map all others as new points.
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
    confidence_curve = (2.35, 0.3, 0.65, 0.6)

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
        if graph.n_lengths:
            found_scales = dimension_by_scale(graph.lengths, graph.n_lengths, self.sigma_)
            self.scales_, self.scale_dimensions_ = found_scales
        # 2. Divided by the density of both ends, and 3. as a random walk.
        counts = graph.counts
        density = matrix_product(graph.W, counts[:, None])[:, 0]
        graph = graph._replace(W=divide_by_density(graph.W, density**-self.alpha))
        found = laplacian_eigenpairs(graph.W, graph.point_of_row, k, seed)
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
        return Y[of_rows] if rows is None else self._extend(X)

    def _kernel(self, space: Space, given: bool) -> AffinityGraph:
        """The kernel between all pairs of few rows, or between neighbors; each row is its own.

        A kernel of all pairs is as wide as the sparsest rows need, and mixes the classes of the
        dense ones: of seven labeled sets the ten nearest in two dimensions tell .61 of the labels,
        with 15 neighbors .69, with 60 .64. A σ that was given says how far edges should lead.
        """
        k = self.n_neighbors
        if given:
            k = int(space.nearest(space.n).counts.max())
        elif k is None:
            most, neighbors = (500, 15) if self.sigma is None else (5000, 60)
            if space.n > most and len(np.unique(space.fingerprint())) > most:
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
        if self.n_neighbors is not None or m > (500 if self.sigma is None else 5000):
            return {}
        return {"distances": m * m * itemsize, "affinities": 2 * m * m * 8}


# -- coordinates, and those of new points ---------------------------------------------------------


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
            y = approach(y, new.near.first(model._k or 10), model._embedded.X)
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
    model._remember(known, Y, graph.graph.near, 4 * max(k, 15))


def _connecting_parameter(model: Any) -> str:
    """The parameter that says how far edges go."""
    if getattr(model, "radius", None) is not None:
        return "radius"
    return "n_neighbors" if model.n_neighbors is not None else "sigma"
