"""UMAP (McInnes, Healy and Melville, 2018)."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import curve_fit
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from .. import _native, progress, random
from ..backend import overridable, threads
from ..errors import DataError, ParameterError, RankWarning, UnsupportedError, warn
from ..linalg.smallest import shifted
from ..parameters import (
    Count,
    Fraction,
    Graph,
    Indices,
    Limit,
    Metric,
    MetricParams,
    NonNegative,
    Positive,
    Reals,
    Seed,
    Steps,
    advise_at_most,
    check_count,
    check_landmarks,
    refuse_unused,
    state,
)
from ..reducer import Reducer
from ..spaces import (
    Known,
    Neighbors,
    Space,
    approach,
    distinct_neighbors,
    in_order_of_rows,
    native_parts,
    preimage_error,
    preimages,
    rank_by_size,
    select_ranked,
    space_of,
    symmetric_edges,
    symmetrized,
)
from .descent import (
    Callback,
    Mesh,
    centered,
    check_coordinates,
    check_given,
    fill_columns,
    follower,
    initial_scores,
    mesh_parts,
    relative_error,
)


class UMAP(Reducer):
    """UMAP: uniform manifold approximation and projection.

    Use it to see clusters and how they are connected, of many rows in little time: it preserves
    local neighborhoods, with more empty space between clusters than t-SNE. Sizes of clusters and
    distances between them are not meaningful; `dens_lambda` makes sizes show densities. To unroll a
    manifold take Isomap or LTSA; where distances count take PCA or MDS.

    Cost: `n_neighbors` nearest neighbors, then n operations per epoch. New points are optimized
    with the training embedding held fixed, row by row. Names and defaults are those of umap-learn
    where they mean the same; the forces are what its sampling expects, summed over all pairs.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    n_neighbors : int, default=15
        Neighbors of each row, itself counted, as in umap-learn. More show larger structure.
    min_dist : float, default=0.1
        Distance up to which points of the embedding count as equally near.
    spread : float, default=1.0
        Unit of length of the embedding, in which similarities fall beyond min_dist.
    a, b : float or None, default=None
        Of the similarity 1 / (1 + a d^2b) in the embedding, instead of `min_dist` and `spread`.
    metric : str or callable, default="euclidean"
        A name, a callable on any two objects, or "precomputed": then `fit` takes a square matrix of
        distances and `transform` those from new to training points; or both take the sparse graph
        of a KNeighborsTransformer.
    metric_params : dict or None, default=None
        Parameters of the metric: {"p": 3} for "minkowski", {"weights": [...]} for "gower", or
        keywords of a callable.
    local_connectivity : float, default=1.0
        Neighbors of each row that surely belong to it, with membership 1.
    set_op_mix_ratio : float, default=1.0
        From 1, the fuzzy union of both directions of an edge, to 0, their intersection.
    n_epochs : int or None, default=None
        Iterations. None is 200, and 0 gives the start.
    learning_rate : float, default=1.0
        Factor of the step size, which falls to 0.
    init : {"pca", "spectral", "random"} or ndarray, default="pca"
        "pca" (of distances without rows classical scaling, of a graph "spectral") after some steps
        of the random walk on the graph, "spectral" or "random"; or an array of coordinates, taken
        as it is.
    repulsion_strength : float, default=1.0
        Weighs the repulsion of all pairs against the attraction along edges.
    negative_sample_rate : float, default=5
        Counts as a factor of `repulsion_strength`.
    target_metric : {"categorical", "euclidean", "manhattan", "chebyshev"}, default="categorical"
        What `y` of `fit(X, y)` is: classes (-1: not known), or numbers and their distance.
    target_weight : float, default=0.5
        From 0, where the data decide, to 1, where the targets do.
    dens_lambda : float, default=0.0
        densMAP: weight of the correlation of local radii, which makes dense clusters small; 2 is
        umap-learn's default of `densmap=True`.
    dens_frac : float, default=0.3
        Share of the epochs, the last ones, in which `dens_lambda` counts.
    dens_var_shift : float, default=0.1
        What is added to the variance of the embedding's radii.
    n_landmarks : int or None, default=None
        Fit that many random samples, and map the others.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the start and of the landmarks. None is 0.
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
        Coordinates of the training points.
    graph_ : csr_array of shape (n_distinct, n_distinct)
        The fuzzy graph: memberships of the edges between distinct rows, in the order in which they
        come.
    a_, b_ : float
        Of the similarity, as used.
    loss_ : float
        Mean attraction of a row along its edges plus its repulsion.
    force_error_ : float
        Relative error of the repulsive forces, root mean square over a sample; 0 if exact.
    n_iter_ : int
        Iterations.
    n_distinct_ : int
        Rows that are not duplicates.
    init_used_ : str
        Start that was used.
    n_graph_components_ : int
        Connected components of the neighbor graph.
    graph_components_ : ndarray of shape (n_samples,)
        Component of each row; 0 is the largest.
    rad_orig_, rad_emb_ : ndarray of shape (n_samples,)
        With `dens_lambda`: log mean squared distance to the neighbors, in the data and embedding.
    target_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        With `y`: classes by number, or numbers.
    reconstruction_error_ : float
        Share of the variance that the inverse misses on samples left out; dense rows only.
    landmarks_ : ndarray of shape (n_landmarks,)
        Row indices of the landmarks.

    References
    ----------
    McInnes, Healy and Melville (2018), arXiv:1802.03426; Damrich and Hamprecht (2021), NeurIPS,
    what its sampling optimizes; Narayan, Berger and Cho (2021), Nature Biotechnology 39, densMAP.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5)) + 9 * np.repeat([0, 1, 2], 20)[:, None]
    >>> model = lowd.UMAP(n_neighbors=10).fit(X)
    >>> model.embedding_.shape, model.n_graph_components_
    ((60, 2), 3)
    >>> new = model.transform(X[:20].mean(0)[None])
    >>> bool(np.abs(new - model.embedding_[:20].mean(0)).max() < 2)
    True
    """

    n_components: Count = field(default=2, kw_only=True)  # umap-learn's first one is n_neighbors
    n_neighbors: Annotated[int, Limit(">=", 2)] = 15
    min_dist: NonNegative = 0.1
    spread: Positive = 1.0
    a: Positive | None = None
    b: Positive | None = None
    metric: Metric = "euclidean"
    metric_params: MetricParams = None
    local_connectivity: Positive = 1.0
    set_op_mix_ratio: Fraction = 1.0
    n_epochs: Steps | None = None
    learning_rate: Positive = 1.0
    init: Literal["pca", "spectral", "random"] | np.ndarray = "pca"
    repulsion_strength: NonNegative = 1.0
    negative_sample_rate: NonNegative = 5
    target_metric: Literal["categorical", "euclidean", "manhattan", "chebyshev", "l1", "l2"] = (
        "categorical"
    )
    target_weight: Fraction = 0.5
    dens_lambda: NonNegative = 0.0
    dens_frac: Fraction = 0.3
    dens_var_shift: NonNegative = 0.1
    n_landmarks: Count | None = None
    random_state: Seed = None

    takes = frozenset({"sparse", "blocks", "neighbors", "targets"})
    confidence_curve = (1.6, 1.3, 0.25, 0.0)
    no_inverse = "distances alone determine no rows; it needs dense rows and a named metric."

    a_: float = state()
    b_: float = state()
    loss_: float = state()
    force_error_: float = state()
    n_iter_: int = state()
    n_distinct_: int = state()
    init_used_: str = state()
    n_graph_components_: int = state()
    graph_components_: Indices = state("n_fitted")
    rad_orig_: Reals = state("n_fitted")
    rad_emb_: Reals = state("n_fitted")
    target_: Reals = state("n_samples n_targets")
    reconstruction_error_: float = state()
    landmarks_: Indices = state("n_fitted of n_samples")
    _graph: Graph = state("n_points n_points")  # in the order of the fit
    _point_of_row: Indices = state("n_fitted of n_points")
    # What new points need:
    _n_candidates: int = state()
    _connectivity: float = state()
    _scales: Reals = state("n_points 3")  # of the fuzzy sets: ρ, σ and the farthest neighbor
    _mean_distance: float = state()
    _unit: float = state()  # the length in which forces are computed: the spread
    _repulsion: float = state()
    _mesh: Mesh | None = state()  # of the repulsive forces; None where they are summed
    _sample: Indices | None = state("n_repelling of n_points")  # where there is no mesh
    _rows: Reals | None = state("n_points n_features_in_")  # as they came, for the inverse

    @property
    def graph_(self) -> Graph:
        """The fuzzy graph of the distinct rows, in the order in which they come."""
        return in_order_of_rows(self._graph, self._point_of_row)

    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        neighbors: object = None,
        callback: Callback | None = None,
    ) -> Self:
        """Learn the map; with targets `y` it is supervised (see `target_metric`).

        `neighbors` is a neighbor graph of these rows (see `lowd.neighbors`).
        `callback(epoch, embedding)` is called every ten epochs: if it returns True the fit stops
        there and keeps that embedding; an exception that it raises cancels the fit, as Ctrl-C does,
        and the model is as before.
        """
        self._learn(X, y, neighbors=neighbors, callback=callback)
        return self

    def fit_transform(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        neighbors: object = None,
        callback: Callback | None = None,
    ) -> Any:
        """Learn the map, as `fit` does, and return the embedding of the training rows."""
        return self._learn(X, y, neighbors=neighbors, embed=True, callback=callback)

    def _fit(self, X: Any, y: Any, seed: int, callback: Callback | None = None) -> Reals:
        self._check_parameters()
        space = space_of(X, self.metric, self.metric_params)
        n, k = space.n, self.n_components
        check_count(k, n, "n_components", f"n_samples={n}")
        target = None if y is None else read_target(y, n, self.target_metric)
        init = self.init
        start = check_coordinates(init, n, k) if isinstance(init, np.ndarray) else None
        # The rows that are fitted, in an order by their content.
        check_given(space, self.n_neighbors - 1, counts_itself=True)
        rows = self._choose_landmarks(space, X, seed)
        space = space if len(rows) == n else space.take(rows)
        order = space.order(*(A[rows] for A in (start, target) if A is not None))
        rows = rows[order]
        # 1. The fuzzy simplicial set: memberships of the neighbors, and their union.
        found = distinct_neighbors(space.take(order), self._count_neighbors, None)
        space, near = found.space, found.near.first(self.n_neighbors - 1)
        known = found.known_by_rows(rows, n)
        first_row, point_of_row = rows[found.first_row], found.point_of_row
        fitted = np.argsort(rows)  # back to the order in which the rows come
        self._point_of_row, self.n_distinct_ = point_of_row[fitted], space.n
        self.a_, self.b_, self._unit = self._read_curve()
        if target is not None:
            self.target_ = target
        if space.n == 1:
            warn("all rows are equal, so the embedding is 0.", RankWarning)
            self._rows = None
            self._remember_points(known, near, np.zeros((1, k)), None)
            return np.zeros((n, k))
        mu, rho, sigma = memberships(near, self.local_connectivity)
        W = symmetrized(near, mu, self.set_op_mix_ratio)
        if target is not None:
            how = self.target_metric
            merged = merge_target(target[rows], how, point_of_row, space.n)
            W = intersect_with_target(W, merged, how, self.target_weight, self.n_neighbors - 1)
        radii = None
        if self.dens_lambda:
            radii = local_radii(*edges_with_lengths(W, near), space.n)
        # 2. The start.
        if start is not None:
            Y, self.init_used_ = start[first_row] / self._unit, "given"
        else:
            Y, self.init_used_ = self._start(space, W, seed)
        # 3. Descent of the cross-entropy.
        descent = layout_of(W, k, self._curve, seed, standardized(radii), self.dens_var_shift)
        Y = self._descend(descent, Y, follower(callback, self._point_of_row, self._unit))
        self._report(descent, W, Y, radii, seed)
        # 4. What places new points.
        self._scales = np.stack([rho, sigma, near.distances[near.indptr[1:] - 1]], axis=1)
        self._remember_points(known, near, Y, descent)
        self._keep_rows(X, first_row, seed)
        if len(rows) == n:
            return self._embedded.X[self._point_of_row]
        self.landmarks_, self._n_features_out = np.sort(rows), k
        return self._transform(X)[0]

    def _check_parameters(self) -> None:
        if (self.a is None) != (self.b is None):
            raise ParameterError(
                "a and b go together: set both, or neither and min_dist and spread.", "a"
            )
        if self.a is not None:
            refuse_unused(self, ["min_dist", "spread"], "a and b are set")
        if self.min_dist > self.spread:
            raise ParameterError(
                "min_dist exceeds spread, the unit in which similarities fall beyond it; lower "
                "min_dist or raise spread.",
                "min_dist",
            )
        if not self.dens_lambda:
            refuse_unused(self, ["dens_frac", "dens_var_shift"], "dens_lambda=0")

    def _choose_landmarks(self, space: Space, X: Any, seed: int) -> Indices:
        """The numbers of the rows that are fitted: all of them, or a random part."""
        if self.n_landmarks is None:
            return np.arange(space.n)
        if isinstance(X, Known):
            refuse_unused(self, ["n_landmarks"], "the neighbor graph is given")
        check_landmarks(self.n_landmarks, self.n_components, space.n)
        return space.draw(self.n_landmarks, seed, "landmarks")

    def _count_neighbors(self, n: int) -> int:
        """Neighbors of each of n points, itself not counted."""
        if n > 1 and self.n_neighbors > n:
            raise ParameterError(
                f"n_neighbors={self.n_neighbors} counts the row itself, so it needs as many "
                f"distinct rows, but there are {n}; use {advise_at_most('n_neighbors', n)}.",
                "n_neighbors",
            )
        return self.n_neighbors - 1

    def _read_curve(self) -> tuple[float, float, float]:
        """a, b and the unit of length."""
        if self.a is not None and self.b is not None:
            return float(self.a), float(self.b), 1.0
        return *fit_similarity(self.min_dist, self.spread), float(self.spread)

    @property
    def _curve(self) -> tuple[float, float, float]:
        """The similarity of distances in units, and what softens the repulsion at small ones.

        That is added to squared distances, in place of umap-learn's clipping of forces.
        """
        return self.a_ * self._unit ** (2 * self.b_), self.b_, 0.02

    # -- the descent -----------------------------------------------------------------------------

    def _start(self, space: Space, W: Graph, seed: int) -> tuple[Reals, str]:
        """Initial coordinates in units, smooth along the graph, 10 wide."""
        k, n = self.n_components, space.n
        if self.init == "random":
            drawn = random.uniforms(seed, "start", np.arange(n * k))
            return 10 * drawn.reshape(-1, k), "random"
        scores, used = initial_scores(str(self.init), space, W, k, seed)
        Y, real, spread = fill_columns(scores, k, seed)
        Y[:, real] /= spread
        if used != "spectral":
            Y = diffuse(W, Y)
        width = np.ptp(Y, axis=0)
        Y = (Y - Y.min(0)) * (10 / np.where(width > 0, width, 1))
        return Y + 1e-4 * random.normals(seed, "jitter", Y.shape), used  # parts equal points

    def _descend(self, descent: _native.Layout, Y: Reals, show: Any) -> Reals:
        """All epochs: the step size falls linearly to 0, and repulsion grows over the first 40 %.

        At full strength from the start it would tear clusters apart. Its weight of 1.5 makes up for
        the noise of umap-learn's sampling, which inflates maps.
        """
        epochs = 200 if self.n_epochs is None else self.n_epochs
        self._repulsion = 1.5 * float(self.repulsion_strength * self.negative_sample_rate)
        t = np.arange(epochs) / epochs
        rates = 0.5 * self.learning_rate * (1 - t)
        repulsions = self._repulsion * (1 / 15) ** np.maximum(1 - t / 0.4, 0)
        late = t >= 1 - self.dens_frac
        densities = np.where(late, self.dens_lambda, 0.0) if self.dens_lambda else None
        self.n_iter_, stopped = 0, False
        descent.start(np.ascontiguousarray(Y))
        Y = np.empty(Y.shape)
        while self.n_iter_ < epochs and not stopped:
            some = slice(self.n_iter_, min(self.n_iter_ + 10, epochs))
            density = None if densities is None else densities[some]
            descent.advance(rates[some], repulsions[some], density, threads())
            self.n_iter_ = some.stop
            progress.report("descent", self.n_iter_, epochs)
            if show is not None:
                descent.embedding(Y)
                stopped = show(self.n_iter_, centered(Y))
        descent.embedding(Y)
        return centered(Y)

    def _report(
        self, descent: _native.Layout, W: Graph, Y: Reals, radii: Reals | None, seed: int
    ) -> None:
        """What was reached: the graph and its components, the loss, the error of the forces."""
        self._graph = W
        # Of a symmetric graph strong components are all components, and need no transpose of it.
        component = rank_by_size(connected_components(W, connection="strong")[1])
        self.n_graph_components_ = int(component.max()) + 1
        self.graph_components_ = component[self._point_of_row]
        parts = native_parts(W)
        attraction = _native.attractive_loss(*parts, Y, self._curve, threads())
        self.loss_ = attraction + self._repulsion * descent.repulsive_loss(Y, threads())
        self.force_error_ = 0.0
        if len(Y) > 500:
            some = random.subset(seed, "forces", len(Y), min(len(Y), 256))
            exact, A, R = np.empty((len(some), Y.shape[1])), np.empty(Y.shape), np.empty(Y.shape)
            _native.layout_repulsion(Y, self._curve, False, some, exact, threads())
            descent.forces(Y, A, R, threads())
            self.force_error_ = relative_error(R[some], exact)
        if radii is not None:
            owners = np.repeat(np.arange(len(Y)), np.diff(W.indptr))
            squares = np.square(Y[owners] - Y[W.indices]).sum(1)
            a, b, _ = self._curve
            own = local_radii(owners, 1 / (1 + a * squares**b), squares * self._unit**2, len(Y))
            self.rad_orig_, self.rad_emb_ = radii[self._point_of_row], own[self._point_of_row]

    # -- new points ------------------------------------------------------------------------------

    def _remember_points(
        self, space: Space, near: Neighbors, Y: Reals, descent: _native.Layout | None
    ) -> None:
        """Keep what new points need; Y is in units."""
        n = space.n
        self._n_candidates = 2 * max(1, int(near.counts.max()))
        self._connectivity = float(self.local_connectivity)
        self._mean_distance = float(near.distances.sum() / (len(near.distances) + n))
        if descent is None:
            self._scales, self._repulsion = np.array([[0.0, 1.0, 0.0]]), 0.0
        self._mesh = Mesh.of(descent, Y) if descent is not None and n > 500 else None
        # Without a mesh new points are repelled by all training points, or by 2000 of them: with a
        # standard error of 2 %.
        summed = self._mesh is None and n > 2000
        self._sample = random.subset(self.seed_, "repulsion", n, 2000) if summed else None
        self._remember(space, self._unit * Y, near, 4 * (self.n_neighbors - 1))

    def _keep_rows(self, X: Any, first_row: Indices, seed: int) -> None:
        """Keep dense rows as they came, if the space has others; and say how well it returns."""
        X = X.rows if isinstance(X, Known) else X
        self._rows = None
        if isinstance(X, np.ndarray) and self.metric in ("cosine", "correlation", "hellinger"):
            self._rows = X[first_row]
        rows = self._dense_rows()
        if rows is not None:
            drawn = random.subset(seed, "left out", len(rows), min(len(rows), 1000))
            self.reconstruction_error_ = preimage_error(self._embedded, rows, drawn)

    def _dense_rows(self) -> Reals | None:
        rows = self._space.rows if self._rows is None else self._rows
        return rows if isinstance(rows, np.ndarray) else None

    def _transform(self, Q: Any) -> tuple[Reals, Neighbors]:
        # There are twice as many candidates as neighbors, since those that count the new point
        # among their own neighbors count as well.
        near = self._space.query(Q, min(self._n_candidates, self._space.n))
        near = near.first(self._n_candidates)  # of given lists
        near = near._replace(weights=self._weigh(near))
        return approach(self._optimize(near), near, self._embedded.X), near

    def _weigh(self, near: Neighbors) -> Reals:
        """Shares of the neighbors of each new point: the mean of two distributions.

        One is its own memberships, of its k nearest training points. The other is that of its
        membership in the sets of its 2k nearest. Where rows differ in the size of their noise, its
        own distances rank training points by their noise; ρ and σ of these hold the same noise, and
        it cancels.
        """
        k = self._n_candidates // 2
        begin, owners, counts, d = near.indptr[:-1], near.owners, near.counts, near.distances
        first = near.first(k)
        own, among_first = np.zeros(len(d)), np.arange(len(d)) - begin[owners] < k
        own[among_first] = memberships(first, self._connectivity, self._mean_distance)[0]
        # Lists that go on fade out at their ends: a neighbor does not enter with a jump.
        goes_on = counts > k
        own *= fading(near, np.where(goes_on, d[np.where(goes_on, begin + k, begin)], np.inf))
        rho, sigma, radius = self._scales[near.indices].T
        # The new point's own excess noise is taken off: so that it lies within k / 2 radii.
        ranks = np.minimum(counts, k) // 2 + 1
        excess = np.maximum(select_ranked(d - radius, near.indptr, ranks), 0)
        u = np.maximum(d - excess[owners] - rho, 0) / sigma
        theirs = np.exp(np.minimum.reduceat(u, begin)[owners] - u)
        full = counts == 2 * k
        theirs *= fading(near, np.where(full, d[near.indptr[1:] - 1], np.inf))
        shares = [p / np.add.reduceat(p, begin)[owners] for p in (own, theirs)]
        return np.asarray((shares[0] + shares[1]) / 2)

    def _optimize(self, near: Neighbors) -> Reals:
        """Where the forces on each new point vanish, with the training points fixed."""
        Y = np.empty((len(near.counts), self._n_features_out))
        training = self._embedded.X.astype(np.float64) / self._unit
        repelling = np.arange(len(training)) if self._mesh is None else np.empty(0, np.int64)
        # The share of the way to the fixed point of its forces that a new point goes, and how
        # often. By more some points oscillate near a neighbor, which on a line nobody gets around.
        share, steps = (0.5, 30) if Y.shape[1] == 1 else (0.8, 18)
        assert near.weights is not None
        _native.layout_new_points(
            near.indptr.astype(np.int64, copy=False),
            near.indices.astype(np.int32, copy=False),
            near.weights,
            training,
            self._curve,
            self._repulsion,
            *mesh_parts(self._mesh),
            repelling if self._sample is None else self._sample,
            share,
            steps,
            Y,
            threads(),
            progress.step("new points"),
        )
        return self._unit * Y

    def _inverse_transform(self, Y: Reals) -> Reals:
        rows = self._dense_rows()
        if rows is None:
            raise UnsupportedError(f"this UMAP has no inverse: {self.no_inverse}")
        return preimages(Y, self._embedded, rows)


# -- the fuzzy simplicial set ---------------------------------------------------------------------


@overridable
def memberships(
    near: Neighbors, connectivity: float, mean_distance: float | None = None
) -> tuple[Reals, Reals, Reals]:
    """exp(-max(0, d - ρ) / σ) of each point's neighbors, ρ and σ (algorithms 2 and 3).

    ρ is the distance of the nearest neighbor (`connectivity`: of a later one), and σ is such that
    the memberships of k neighbors have the sum log2(k + 1). For new points `mean_distance` is that
    of the training points, which bounds σ from below.
    """
    mu, n = np.empty(len(near.indices)), len(near.counts)
    rho, sigma = np.empty(n), np.empty(n)
    indptr = near.indptr.astype(np.int64, copy=False)
    given = indptr, near.distances.astype(np.float64, copy=False), connectivity, mean_distance
    how = threads(32 * len(mu)), progress.step("affinities")
    _native.fuzzy_memberships(*given, mu, rho, sigma, *how)
    return mu, rho, sigma


# -- targets --------------------------------------------------------------------------------------


def read_target(y: NDArray[Any], n: int, metric: str) -> Reals:
    """Targets of n rows, checked: numbers of classes of any type, -1 if unknown; or numbers."""
    if y.ndim == 0 or len(y) != n:
        raise DataError(f"y has shape {y.shape}, but X has {n} rows; pass a target for each.")
    if metric == "categorical":
        return number_classes(y).astype(np.float64)
    if y.dtype.kind not in "fiub" or y.ndim > 2 or y.size == 0:
        raise DataError(
            f"y of {y.dtype} and shape {y.shape}: target_metric={metric!r} measures numbers, one "
            "or several of each row; target_metric='categorical' takes classes."
        )
    numbers = y.reshape(n, -1).astype(np.float64)
    bad = ~np.isfinite(numbers).all(1)
    if bad.any():
        raise DataError(
            f"y of row {int(bad.argmax())} is not finite; numbers must be known of all rows (only "
            "classes may be unknown: -1 with target_metric='categorical')."
        )
    return numbers


def number_classes(y: NDArray[Any]) -> Indices:
    """Classes numbered by their sorted values, and -1 where one is not known.

    >>> number_classes(np.array(["b", "a", None, "b"], object))
    array([ 1,  0, -1,  1])
    """
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise DataError(f"y has shape {y.shape}; target_metric='categorical' takes one class.")
    unknown = np.zeros(len(y), bool)
    if y.dtype.kind in "fc":
        odd = np.isfinite(y) & (y != np.round(y))
        if odd.any():
            row = int(odd.argmax())
            raise DataError(
                f"y of row {row} is {y[row]:g}, which is no class; target_metric='euclidean' takes "
                "numbers, and whole numbers or texts are classes."
            )
        unknown = ~np.isfinite(y) | (y == -1)
    elif y.dtype == object:
        unknown = np.array([label is None or label != label or label == -1 for label in y])
        y = np.array([str(label) for label in y])
    elif y.dtype.kind in "iu":
        unknown = y == -1
    labels = np.full(len(y), -1)
    labels[~unknown] = np.unique(y[~unknown], return_inverse=True)[1]
    return labels


def merge_target(target: Reals, metric: str, point_of_row: Indices, n: int) -> Reals:
    """Targets of distinct points: the class that duplicates agree on (-1: none), or their means."""
    if metric != "categorical":
        counts = np.bincount(point_of_row, minlength=n)
        sums = [np.bincount(point_of_row, column, n) for column in target.T]
        return np.stack(sums, axis=1) / counts[:, None]
    known = np.flatnonzero(target != -1)
    least, most = np.full(n, np.inf), np.full(n, -1.0)
    np.minimum.at(least, point_of_row[known], target[known])
    np.maximum.at(most, point_of_row[known], target[known])
    return np.where(least == most, most, -1)


def intersect_with_target(W: Graph, target: Reals, metric: Any, weight: float, k: int) -> Graph:
    """The fuzzy intersection of a graph with its targets, as in umap-learn.

    Between points of different classes, or of an unknown one, memberships fall by a factor; with
    those of the k nearest by numbers they are multiplied, to powers that the weight gives. Then
    each point again has a neighbor of membership 1.
    """
    if metric == "categorical":
        return connect_locally(draw_classes_together(W, target, weight))
    near = space_of(target, metric).nearest(min(k, len(target) - 1))
    A = near._replace(distances=memberships(near, 1.0)[0]).as_graph(len(target))
    A.eliminate_zeros()
    return connect_locally(intersect_graphs(W, A, weight))


def draw_classes_together(W: Graph, labels: Reals, weight: float) -> Graph:
    """Memberships that fall between different classes, and by exp(-1) to unknown ones."""
    owners = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
    one, other = labels[owners], labels[W.indices]
    far = np.exp(-2.5 / (1 - weight)) if weight < 1 else 0.0
    factor = np.where(one == other, 1.0, far)
    factor[(one == -1) | (other == -1)] = np.exp(-1)
    A = csr_array((W.data * factor, W.indices, W.indptr), W.shape, copy=True)
    A.eliminate_zeros()
    return A


def intersect_graphs(W: Graph, A: Graph, weight: float, least: float = 1e-8) -> Graph:
    """w a^(t / (1 - t)), or the same to the power (1 - t) / t; absent memberships are tiny."""
    least_w = max(float(W.data.min()) / 2, least)
    least_a = min(max(float(A.data.min()) / 2, least), 1e-4)
    both = csr_array(W + A)
    both.sort_indices()
    w, a = look_up(W, both, least_w), look_up(A, both, least_a)
    if weight < 0.5:
        a **= weight / (1 - weight)
    else:
        w **= (1 - weight) / weight
    return csr_array((w * a, both.indices, both.indptr), both.shape)


def look_up(A: Graph, pattern: Graph, absent: float) -> Reals:
    """The entries of A where another matrix has entries; `absent` where A has none."""
    keys = []
    for B in (A, pattern):
        owners = np.repeat(np.arange(B.shape[0], dtype=np.int64), np.diff(B.indptr))
        keys.append(owners * B.shape[1] + B.indices)
    order = np.argsort(keys[0], kind="stable")
    have = keys[0][order]
    at = np.minimum(np.searchsorted(have, keys[1]), max(len(have) - 1, 0))
    known = have[at] == keys[1]
    return np.where(known, A.data[order[at]], absent)


def connect_locally(A: Graph) -> Graph:
    """Memberships of which every point again has one that is 1, in the union of both directions."""
    counts = np.diff(A.indptr)
    largest = np.ones(len(counts))
    largest[counts > 0] = np.maximum.reduceat(A.data, A.indptr[:-1][counts > 0])
    values = A.data / np.repeat(np.where(largest > 0, largest, 1), counts)
    return symmetrized(Neighbors(A.indptr, A.indices, values), values, 1.0)


# -- densMAP --------------------------------------------------------------------------------------


def edges_with_lengths(W: Graph, near: Neighbors) -> tuple[Indices, Reals, Reals]:
    """Owners, memberships and squared lengths of the edges between neighbors.

    Edges that targets have added have no length.
    """
    lengths = look_up(symmetric_edges(near), W, np.nan)
    owners = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
    known = ~np.isnan(lengths)
    return owners[known], W.data[known], np.square(lengths[known])


def local_radii(owners: Indices, weights: Reals, squares: Reals, n: int) -> Reals:
    """The log of each point's weighted mean of squared distances."""
    total, sums = np.bincount(owners, weights, n), np.bincount(owners, weights * squares, n)
    mean = sums / np.where(total > 0, total, 1)
    return np.asarray(np.log(np.maximum(mean, np.finfo(np.float64).tiny)))


def standardized(radii: Reals | None) -> Reals | None:
    """Radii of mean 0 and variance 1."""
    if radii is None:
        return None
    std = radii.std()
    return np.asarray((radii - radii.mean()) / (std if std > 0 else 1))


# -- the embedding --------------------------------------------------------------------------------


def fit_similarity(min_dist: float, spread: float) -> tuple[float, float]:
    """a and b: 1 / (1 + a d^2b) is nearest to 1 up to `min_dist`, then exp(-(d - min_dist)/spread).

    Least squares on 300 points up to three spreads, as in umap-learn.
    """
    d, near = np.linspace(0, 3, 300), min_dist / spread  # in spreads: the fit starts at a = b = 1
    wanted = np.where(d < near, 1.0, np.exp(near - d))
    (a, b), _ = curve_fit(lambda d, a, b: 1 / (1 + a * d ** (2 * b)), d, wanted)
    return float(a * spread ** (-2 * b)), float(b)


@overridable
def diffuse(W: Graph, Y: Reals, steps: int = 80) -> Reals:
    """Coordinates after some lazy steps of the random walk, (I + P) / 2, kept orthogonal.

    These are power iterations toward the spectral embedding, which stop while the start still
    shows. Eigenvalues of a lazy step are about 1/2 or more, so that ten leave a thousandth of any
    column.
    """
    degrees = np.asarray(W.sum(1))
    stationary = degrees / degrees.sum()
    shares = W.data / np.repeat(np.where(degrees > 0, degrees, 1), np.diff(W.indptr))
    P = csr_array((shares, W.indices, W.indptr), W.shape)
    for step in range(steps):
        Y = shifted(P, Y, 0.5, 0.5)
        if step % 10 == 9:  # Gram-Schmidt; the constant goes first
            Y = Y - stationary @ Y
            for c in range(Y.shape[1]):
                for earlier in Y.T[:c]:
                    Y[:, c] -= (stationary * earlier) @ Y[:, c] * earlier
                length = np.sqrt(stationary @ Y[:, c] ** 2)
                Y[:, c] /= length if length > 0 else 1
    return Y


@overridable
def layout_of(
    W: Graph,
    k: int,
    curve: tuple[float, float, float],
    seed: int,
    radii: Reals | None,
    variance_shift: float,
) -> _native.Layout:
    """The descent of the cross-entropy in k dimensions: by all pairs of few points, else by a mesh.

    The radii, which are standardized, are those that the embedding should correlate with.
    """
    exact, shift = W.shape[0] <= 500, float(variance_shift)
    return _native.Layout(*native_parts(W), k, curve, exact, seed % 2**64, radii, shift, threads())


# -- new points -----------------------------------------------------------------------------------


def fading(near: Neighbors, end: Reals) -> Reals:
    """1, falling to 0 over the last quarter of the distances up to where a list ends."""
    owners, width = near.owners, 0.25 * (end - near.nearest)
    known = (width > 0) & np.isfinite(end)
    left = np.where(known, end, 0)[owners] - near.distances
    share = np.divide(left, np.where(known, width, 1)[owners])
    return np.where(known[owners], np.minimum(share, 1), 1.0)
