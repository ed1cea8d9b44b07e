"""t-SNE (van der Maaten and Hinton, 2008) and SNE (Hinton and Roweis, 2002)."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from .. import _native, progress, random
from ..backend import check_memory, overridable, threads
from ..errors import DataError, LongWorkWarning, ParameterError, RankWarning, warn
from ..parameters import (
    Count,
    Graph,
    Indices,
    Metric,
    MetricParams,
    Positive,
    Reals,
    Seed,
    Steps,
    advise_at_most,
    check_count,
    refuse_unused,
    state,
)
from ..reducer import Reducer
from ..spaces import (
    Known,
    Neighbors,
    Rows,
    Space,
    approach,
    conditional_probabilities,
    count_rows,
    distinct_neighbors,
    in_order_of_rows,
    joint_probabilities,
    native_parts,
    scaled_probabilities,
    space_of,
)
from ..spaces.matrices import hash_symmetric
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

# The similarity of points in the embedding: Student's t with one degree of freedom, Gaussian, or
# Gaussian where the similarities of each point to the others have the sum 1, and not all of them.
Similarity = Literal["student", "gauss", "rows"]


class TSNE(Reducer):
    """t-SNE: t-distributed stochastic neighbor embedding.

    Use it to see clusters and their neighborhoods: it preserves local neighborhoods, while sizes of
    clusters and distances between them are not meaningful. To unroll a manifold take Isomap or
    LTSA; where distances count take PCA or MDS.

    Cost: 3 · perplexity nearest neighbors, then n operations per iteration in up to three
    dimensions (particle mesh), n² with few rows and in more dimensions. New points are optimized
    with the training embedding held fixed, row by row; a training point returns to its own
    coordinates.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    perplexity : float, list or tuple, default=30.0
        Effective number of neighbors. Of a list the conditional probabilities are averaged, which
        preserves near and far neighbors.
    affinity : {"perplexity", "uniform", "precomputed"}, default="perplexity"
        Where the probabilities come from: distances and the perplexity; "uniform" gives the
        `n_neighbors` nearest equal ones; with "precomputed" `fit` takes the square matrix of
        affinities (dense or sparse), and `transform` those from new to training points.
    n_neighbors : int or None, default=None
        Neighbors of each row for affinity="uniform".
    early_exaggeration : float, default=12.0
        Factor of the attractive forces in the first 250 iterations (at most half of all).
    exaggeration : float, default=1.0
        Factor in those that follow, where about 4 shows whole clusters of large data.
    learning_rate : float or "auto", default="auto"
        "auto" is n / exaggeration in each phase, for forces without the gradient's factor 4; it is
        4 times scikit-learn's `learning_rate`.
    max_iter : int, default=750
        Iterations in all; fewer if nothing moves any more. 0 gives the start.
    init : {"pca", "spectral", "random"} or ndarray, default="pca"
        "pca" (of distances without rows classical scaling, of a graph "spectral"), "spectral" or
        "random", each with standard deviation 1e-4; or an array of coordinates, taken as it is.
    metric : str or callable, default="euclidean"
        A name, a callable on any two objects, or "precomputed": then `fit` takes a square matrix of
        distances and `transform` those from new to training points; or both take the sparse graph
        of a KNeighborsTransformer.
    metric_params : dict or None, default=None
        Parameters of the metric: {"p": 3} for "minkowski", {"weights": [...]} for "gower", or
        keywords of a callable.
    random_state : int, RandomState, Generator or None, default=None
        Seed of init="random". None is 0.
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
    kl_divergence_ : float
        KL divergence of the joint probabilities, in nats, over all pairs; comparable for the same
        data and perplexity only.
    force_error_ : float
        Relative error of the repulsive forces, root mean square over a sample; 0 if exact.
    n_iter_ : int
        Iterations.
    converged_ : bool
        Whether it stopped because nothing moved any more.
    learning_rate_, early_learning_rate_ : float
        Learning rates of the last and of the first phase, as used.
    init_used_ : str
        Start that was used.
    n_distinct_ : int
        Rows that are not duplicates.
    affinity_ : csr_array of shape (n_distinct, n_distinct)
        Joint probabilities of the distinct rows, in the order in which they come.
    betas_ : ndarray of shape (n_samples, n_perplexities)
        1/2σ² of each row.

    References
    ----------
    van der Maaten and Hinton (2008), JMLR 9; Linderman et al. (2019), Nature Methods 16; Kobak and
    Berens (2019), Nature Communications 10; Böhm, Berens and Kobak (2022), JMLR 23.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5)) + 9 * np.repeat([0, 1, 2], 20)[:, None]
    >>> model = lowd.TSNE(perplexity=5).fit(X)
    >>> model.embedding_.shape
    (60, 2)
    >>> new = model.transform(X[:20].mean(0)[None])
    >>> bool(np.abs(new - model.embedding_[:20].mean(0)).max() < 20)
    True
    """

    n_components: Count = 2
    perplexity: Positive | list[Any] | tuple[Any, ...] = 30.0
    affinity: Literal["perplexity", "uniform", "precomputed"] = "perplexity"
    n_neighbors: Count | None = None
    early_exaggeration: Positive = 12.0
    exaggeration: Positive = 1.0
    learning_rate: Positive | Literal["auto"] = "auto"
    max_iter: Steps = 750
    init: Literal["pca", "spectral", "random"] | np.ndarray = "pca"
    metric: Metric = "euclidean"
    metric_params: MetricParams = None
    random_state: Seed = None

    takes = frozenset({"sparse", "blocks", "neighbors"})
    confidence_curve = (1.6, 1.3, 0.25, 0.05)

    kl_divergence_: float = state()
    force_error_: float = state()
    n_iter_: int = state()
    converged_: bool = state()
    learning_rate_: float = state()
    early_learning_rate_: float = state()
    init_used_: str = state()
    n_distinct_: int = state()
    betas_: Reals = state("n_samples n_perplexities")
    _affinity: Graph = state("n_points n_points")  # in the order of the fit
    _point_of_row: Indices = state("n_samples of n_points")
    # What new points need:
    _perplexities: Reals = state("n_perplexities")
    _radii: Reals | None = state("n_points n_perplexities")  # distances of u-th neighbors
    _n_candidates: int = state()
    _columns: Indices | None = state("n_points of n_features_in_")  # where affinities are given
    _largest: float = state()  # the largest affinity of the training points
    _attraction: float = state()  # the exaggeration that new points feel
    _mesh: Mesh | None = state()  # of the repulsive forces; None where they are summed

    # -- what is minimized -----------------------------------------------------------------------

    @property
    def _similarity(self) -> Similarity:
        return "student"

    @property
    def affinity_(self) -> Graph:
        """The probabilities whose divergence is minimized, in the order of the rows."""
        return in_order_of_rows(self._affinity, self._point_of_row)

    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        neighbors: object = None,
        callback: Callback | None = None,
    ) -> Self:
        """Learn the map.

        `neighbors` is a neighbor graph of these rows (see `lowd.neighbors`).
        `callback(iteration, embedding)` is called every ten iterations: if it returns True the fit
        stops there and keeps that embedding; an exception that it raises cancels the fit, as
        Ctrl-C does, and the model is as before.
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

    def _fit(
        self,
        X: Any,
        y: Any,  # noqa: ARG002
        seed: int,
        callback: Callback | None = None,
    ) -> Reals:
        n, k = count_rows(X), self.n_components
        self._check_parameters(n)
        start = check_coordinates(self.init, n, k) if isinstance(self.init, np.ndarray) else None
        # 1. Probabilities of the neighbors of each distinct point.
        given = self.affinity == "precomputed"
        space, P, rows, betas, near, first_row, point_of_row = (
            self._weigh_given(X, start) if given else self._weigh_neighbors(X, start)
        )
        self.n_distinct_, self.betas_ = space.n, betas[point_of_row]
        self._point_of_row, count = point_of_row, self._count_near()
        if P is None:
            warn("all rows are equal, so the embedding is 0.", RankWarning)
            self._attraction, self._mesh = 1.0, None
            self._remember(space, np.zeros((1, k)), near, 2 * count)
            return np.zeros((n, k))
        self._affinity = P if rows is None else rows
        # 2. Gradient descent of the KL divergence.
        if start is not None:
            Y, self.init_used_ = start[first_row], "given"
        else:
            scores, self.init_used_ = initial_scores(str(self.init), space, P, k, seed, not given)
            Y = self._shrink(scores, seed)
        warn_of_long_work(self._similarity, k, space.n, self.max_iter)
        descent = descent_of(P, k, self._similarity)
        Y = self._descend(descent, Y, follower(callback, point_of_row))
        self.kl_divergence_ = kl_divergence(self._affinity, Y, self._similarity)
        self.force_error_ = force_error(descent, Y, self._similarity, seed)
        # 3. What places new points: the potential of the repulsive forces on a mesh, so that they
        #    need not sum over all training points. With Gaussian tails a new point's own partition
        #    function leaves no room for exaggeration.
        self._attraction = float(self.exaggeration) if self._similarity == "student" else 1.0
        meshed = space.n > 1500 and is_interpolated(Y, self._similarity)
        self._mesh = Mesh.of(descent, Y) if meshed else None
        self._remember(space, Y, near, 2 * count)
        return Y[point_of_row]

    def _check_parameters(self, n: int) -> None:
        if self.affinity == "perplexity":
            refuse_unused(self, ["n_neighbors"], "the perplexity determines it")
        else:
            refuse_unused(self, ["perplexity"], f"affinity={self.affinity!r} has none")
        if self.affinity == "precomputed":
            unused = ["n_neighbors", "metric", "metric_params"]
            refuse_unused(self, unused, "affinity='precomputed' holds the neighbors")
        if self.affinity == "uniform" and self.n_neighbors is None:
            raise ParameterError(
                "affinity='uniform' needs n_neighbors; 15 is a good start.", "n_neighbors"
            )
        check_count(self.n_components, n, "n_components", f"n_samples={n}")
        u = self.perplexity if isinstance(self.perplexity, list | tuple) else [self.perplexity]
        if not u or not all(isinstance(one, int | float | np.number) and one > 0 for one in u):
            raise ParameterError(
                f"{type(self).__name__}(perplexity={self.perplexity!r}): expected numbers > 0.",
                "perplexity",
            )
        self._perplexities = np.array(u if self.affinity == "perplexity" else [], np.float64)

    def _count_near(self) -> int:
        """About how many neighbors the embedding should preserve."""
        return self.n_neighbors or round(self._perplexities.max(initial=15.0))

    # -- probabilities ---------------------------------------------------------------------------

    def _weigh_neighbors(self, X: Any, start: Reals | None) -> Probabilities:
        """Of the neighbors in a space, in an order of the rows by their content."""
        space = space_of(X, self.metric, self.metric_params)
        order = space.order(*([] if start is None else [start]))
        u, k = self._perplexities, self.n_neighbors
        reach = 3 * u.max(initial=0)

        def count(n: int) -> int:
            return k or count_neighbors(n, reach)

        if k is not None:
            check_given(space, k)
        found = distinct_neighbors(space.take(order), count, None)
        space, near = found.space, found.near if k is None else found.near.first(k)
        longest, shortest = int(near.counts.max()), int(near.counts.min())
        given = longest < count(space.n) or shortest < longest
        check_perplexities(u, space.n, shortest)
        # New points may have more candidates, since those near in units of their own radii count.
        self._n_candidates = max(1, k or longest)
        if not given and k is None:
            factor = 6 if has_hubs(near) else 3
            self._n_candidates = count_neighbors(space.n, factor * u.max(), new=True)
        self._columns, self._radii, self._largest = None, None, 0.0
        if len(u) and shortest:
            rank = np.minimum(near.counts[:, None], np.maximum(u.round().astype(int), 1)) - 1
            self._radii = near.distances[near.indptr[:-1, None] + rank]
        P, rows = None, None
        p, betas = self._weigh(near)
        if space.n > 1:
            P = joint_probabilities(near, p)
            if self._similarity == "rows":
                rows = near._replace(distances=p).as_graph(space.n)
        point_of_row = np.empty(len(order), np.int64)
        point_of_row[order] = found.point_of_row
        first_row, known = order[found.first_row], found.known_by_rows(order)
        return Probabilities(known, P, rows, betas, near, first_row, point_of_row)

    def _weigh(self, near: Neighbors) -> tuple[Reals, Reals]:
        """p(j|i) of listed neighbors, the mean over all perplexities; and β of each of these."""
        if not len(self._perplexities):
            return 1 / near.counts[near.owners], np.empty((len(near.counts), 0))
        found = [conditional_probabilities(near, u) for u in self._perplexities]
        p = np.mean([one for one, _ in found], axis=0) if found[1:] else found[0][0]
        return p, np.stack([beta for _, beta in found], axis=1)

    def _weigh_given(self, W: Any, start: Reals | None) -> Probabilities:
        """Given affinities, of which those between different rows count, in an order by content.

        How near a new point is to a training point is measured by how much their affinities to all
        training points differ: their random projections are the space.
        """
        if isinstance(W, Known):
            raise ParameterError("neighbors= would be ignored: the affinities are precomputed.")
        n = W.shape[0]
        columns = () if start is None else start.T
        order = self._columns = np.lexsort((*columns, hash_symmetric(W)))
        self._n_candidates, self._radii = min(16, n), None  # these tell how fast Y changes
        if issparse(W):
            A = nonzero_entries(W[order][:, order])
        else:
            remedy = "pass the largest ones as a sparse matrix"
            check_memory({f"the affinities of {n} rows": 40 * n * n}, remedy)
            A = nonzero_entries(W[np.ix_(order, order)])
        space = Rows(project_affinities(A))
        place = np.empty(n, np.int64)
        place[order] = np.arange(n)
        betas, P, rows, self._largest = np.empty((n, 0)), None, None, 1.0
        if n == 1:
            return Probabilities(space, P, rows, betas, np.full(1, np.inf), order, place)
        A.data[np.repeat(np.arange(n), np.diff(A.indptr)) == A.indices] = 0
        A.eliminate_zeros()
        if not A.nnz:
            raise DataError("affinity='precomputed': all weights between different rows are 0.")
        self._largest = float(A.data.max())
        nearest = affinity_distances(A, self._largest)
        A.data /= self._largest
        if self._similarity == "rows":
            degrees = np.asarray(A.sum(1))
            A.data /= np.repeat(degrees, np.diff(A.indptr))
            rows, lists = A, Neighbors(A.indptr, A.indices, A.data)
            P = joint_probabilities(lists, A.data)
        else:
            A.data /= A.data.sum()
            P = A
        return Probabilities(space, P, rows, betas, nearest, order, place)

    # -- the descent -----------------------------------------------------------------------------

    def _shrink(self, scores: Reals, seed: int, std: float = 1e-4) -> Reals:
        """Initial coordinates so small that the points do not repel each other at first."""
        if self.init_used_ == "random":
            return std * scores
        Y, real, spread = fill_columns(scores, self.n_components, seed)
        missing = np.setdiff1d(np.arange(self.n_components), real)
        Y[:, real] *= std / spread[:1]
        Y[:, missing] *= std / 10
        return Y

    def _descend(self, descent: _native.Descent, Y: Reals, show: Any) -> Reals:
        """Early exaggeration with momentum 0.5, then the remaining steps with 0.8.

        The rate is n / exaggeration for forces without the gradient's factor 4: a point then moves
        to the mean of its neighbors in one step. With more, such as a least rate for few points,
        steps overshoot and rounding grows by a factor each time.
        """
        n, early, late = len(Y), float(self.early_exaggeration), float(self.exaggeration)
        rate = self.learning_rate
        rates = (n / early, n / late) if isinstance(rate, str) else (float(rate), float(rate))
        self.early_learning_rate_, self.learning_rate_ = rates
        first = min(250, self.max_iter // 2) if early != late else 0
        phases = (first, early, 0.5, rates[0]), (self.max_iter - first, late, 0.8, rates[1])
        self.n_iter_, self.converged_, stopped = 0, False, False
        descent.start(Y)
        Y = np.empty(Y.shape)
        for number, (left, exaggeration, momentum, size) in enumerate(phases):
            while left and not (self.converged_ or stopped):
                steps = min(10, left)
                moved = descent.advance(steps, exaggeration, momentum, size, threads())
                left, self.n_iter_ = left - steps, self.n_iter_ + steps
                if number == 0:
                    rescale_collapsed(descent, Y)
                elif left % 50 == 0:  # of such steps a thousand are a millionth
                    descent.embedding(Y)
                    spread = np.sqrt(Y.var(0).sum())
                    self.converged_ = bool(np.sqrt(moved / n) <= 1e-9 * spread)
                progress.report("descent", self.n_iter_, self.max_iter)
                if show is not None:
                    descent.embedding(Y)
                    stopped = show(self.n_iter_, centered(Y))
        descent.embedding(Y)
        return centered(Y)

    # -- new points ------------------------------------------------------------------------------

    def _transform(self, Q: Any) -> tuple[Reals, Neighbors]:
        if self._columns is not None:
            near, closest, judged = self._find_given(Q)
        else:
            near = closest = judged = self._find(Q)
        Y = np.empty((len(near.counts), self._n_features_out))
        assert near.weights is not None
        _native.optimize_new_points(
            near.indptr.astype(np.int64, copy=False),
            near.indices.astype(np.int32, copy=False),
            self._attraction * near.weights,
            self._embedded.X.astype(np.float64, copy=False),
            self._similarity,
            *mesh_parts(self._mesh),
            True,
            Y,
            threads(),
            progress.step("new points"),
        )
        return approach(Y, closest, self._embedded.X), judged

    def _find(self, Q: Any) -> Neighbors:
        """The neighbors of new points, weighted by their probabilities.

        These are the mean of those of the distances and those of the distances in units of the
        radius of each training point.
        """
        near = self._space.query(Q, self._n_candidates)
        p = self._weigh(near)[0]
        if self._radii is not None:
            scaled = np.zeros(len(p))
            for u, radii in zip(self._perplexities, self._radii.T, strict=True):
                scaled += scaled_probabilities(near, u, radii)
            p = (p + scaled / len(self._perplexities)) / 2
        return near._replace(weights=p)

    def _find_given(self, Q: Any) -> tuple[Neighbors, Neighbors, Neighbors]:
        """What given affinities of new points weigh, and the points whose affinities are alike.

        For the confidence these are as far as the largest affinity is below those of the training
        points, in logarithms.
        """
        A = nonzero_entries(Q[:, self._columns])
        closest = self._space.query(project_affinities(A), self._n_candidates)
        # Of training points with equal affinities the first one stands for all.
        held, first = self._space.rows[closest.indices], closest.indptr[:-1]
        alike = (held == held[first][closest.owners]).all(1)
        alike[first] = False
        closest = closest.keep(~alike)
        distance = affinity_distances(A, self._largest)
        distance[closest.nearest == 0] = 0
        judged = closest._replace(distances=distance[closest.owners])
        empty = np.diff(A.indptr) == 0
        if empty.any():  # no affinity at all counts as the same to all
            A = csr_array(A + csr_array(empty[:, None] * np.ones(A.shape[1])))
        p = normalized_rows(A)
        return Neighbors(p.indptr, p.indices, np.zeros(p.nnz), p.data), closest, judged


class SNE(TSNE):
    """SNE: stochastic neighbor embedding with Gaussian similarities.

    The predecessor of t-SNE. Gaussian tails are light, so moderate distances must be kept and
    clusters crowd: use it to see what t-SNE's heavy tails change, or where distances between
    clusters should still mean something.

    Cost: n² per iteration. Everything else is as in TSNE. New points: their objective is convex, so
    it has one minimum.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    perplexity : float, list or tuple, default=30.0
        Effective number of neighbors. Of a list the conditional probabilities are averaged, which
        preserves near and far neighbors.
    affinity : {"perplexity", "uniform", "precomputed"}, default="perplexity"
        Where the probabilities come from: distances and the perplexity; "uniform" gives the
        `n_neighbors` nearest equal ones; with "precomputed" `fit` takes the square matrix of
        affinities (dense or sparse), and `transform` those from new to training points.
    n_neighbors : int or None, default=None
        Neighbors of each row for affinity="uniform".
    early_exaggeration : float, default=4.0
        Factor of the attractive forces in the first 250 iterations (at most half of all).
    exaggeration : float, default=1.0
        Factor in those that follow.
    learning_rate : float or "auto", default="auto"
        "auto" is n / exaggeration in each phase, for forces without the gradient's factor 4.
    max_iter : int, default=750
        Iterations in all; fewer if nothing moves any more. 0 gives the start.
    init : {"pca", "spectral", "random"} or ndarray, default="pca"
        "pca" (of distances without rows classical scaling, of a graph "spectral"), "spectral" or
        "random", each with standard deviation 1e-4; or an array of coordinates, taken as it is.
    metric : str or callable, default="euclidean"
        A name, a callable on any two objects, or "precomputed": then `fit` takes a square matrix of
        distances and `transform` those from new to training points; or both take the sparse graph
        of a KNeighborsTransformer.
    metric_params : dict or None, default=None
        Parameters of the metric: {"p": 3} for "minkowski", {"weights": [...]} for "gower", or
        keywords of a callable.
    random_state : int, RandomState, Generator or None, default=None
        Seed of init="random". None is 0.
    symmetric : bool, default=False
        False: as first published, every row has its own conditional probabilities, and the sum of
        the rows' KL divergences is minimized. True: joint probabilities, as in t-SNE.
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
    kl_divergence_ : float
        The sum of the rows' divergences, in nats; of all pairs' if symmetric.
    force_error_ : float
        Relative error of the repulsive forces, which is 0: all pairs are summed.
    n_iter_ : int
        Iterations.
    converged_ : bool
        Whether it stopped because nothing moved any more.
    learning_rate_, early_learning_rate_ : float
        Learning rates of the last and of the first phase, as used.
    init_used_ : str
        Start that was used.
    n_distinct_ : int
        Rows that are not duplicates.
    affinity_ : csr_array of shape (n_distinct, n_distinct)
        Conditional probabilities p_j|i of the distinct rows, rows of sum 1; joint ones if
        symmetric.
    betas_ : ndarray of shape (n_samples, n_perplexities)
        1/2σ² of each row.

    References
    ----------
    Hinton and Roweis (2002), NIPS 15; Cook et al. (2007), AISTATS, the symmetric form.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> model = lowd.SNE(1, perplexity=2).fit([[0.0], [1.0], [3.0], [7.0]])
    >>> order = np.argsort(model.embedding_[:, 0])
    >>> bool((order == [0, 1, 2, 3]).all() or (order == [3, 2, 1, 0]).all())
    True
    """

    early_exaggeration: Positive = 4.0
    symmetric: bool = False

    confidence_curve = (2.3, 0.6, 0.5, 0.9)

    @property
    def _similarity(self) -> Similarity:
        return "gauss" if self.symmetric else "rows"


# -- neighbors and their probabilities ------------------------------------------------------------


class Probabilities(NamedTuple):
    """Probabilities of the distinct points, and which rows these are."""

    space: Space
    P: Graph | None  # joint probabilities; None of a single point
    rows: Graph | None  # conditional ones, where their divergence is minimized
    betas: Reals
    near: Neighbors | Reals  # neighbors, or the distance of each point to its nearest other
    first_row: Indices
    point_of_row: Indices


def count_neighbors(n: int, wanted: float, new: bool = False) -> int:
    """How many neighbors a point, or a new one, gets: all of few points, else as many as wanted.

    Neighbors beyond three perplexities have a total probability of about 1 %.
    """
    most = n if new else n - 1
    return most if n <= 500 else min(most, int(np.ceil(wanted)))


def check_perplexities(u: Reals, n: int, most: int) -> None:
    """Raise an error if a perplexity is below 1 or more than the neighbors that there are."""
    if n == 1 or not len(u):
        return
    if u.min() < 1:
        raise ParameterError(
            f"perplexity={u.min():g}: a row has at least one neighbor; use perplexity=1 or more.",
            "perplexity",
        )
    if u.max() > most:
        fewer = f"{advise_at_most('perplexity', most)}, or " if most else ""
        enough = int(np.ceil(u.max())) + 1
        more = f"at least {enough} rows" if most == n - 1 else "a graph of more neighbors"
        raise ParameterError(
            f"perplexity={u.max():g} needs as many neighbors of each distinct row, but there are "
            f"{most}; use {fewer}{more}.",
            "perplexity",
        )
    if n > 2 and u.min() == n - 1:
        warn(
            f"perplexity={n - 1} of {n} distinct rows: all others are equally likely neighbors, so "
            f"the best embedding is one point; use less, such as perplexity={max(1, n // 3)}.",
            RankWarning,
        )


def has_hubs(near: Neighbors, most: int = 2**20) -> bool:
    """Whether some points are neighbors of very many others, as where rows differ in their noise.

    The standard deviation of the in-degrees is then more than their mean: 2.8 means in rows of
    unequal noise, 1 to 1.6 in cells and word vectors, 0.2 to 0.8 in images, genotypes and
    manifolds. Of many lists every s-th is counted: a share f of them, of which an in-degree c
    leaves f c with a variance of f (1 - f) c.
    """
    n, every = len(near.counts), max(1, len(near.indices) // most)
    some = np.arange(n) % every == 0
    counted = np.bincount(near.indices[np.repeat(some, near.counts)], minlength=n)
    mean = counted.mean()
    return bool(counted.var() - (1 - some.mean()) * mean > mean**2)


def nonzero_entries(W: Any) -> csr_array:
    """A copy in float64, without stored zeros, each row in the order of its columns."""
    rows = csr_array(W, dtype=np.float64, copy=True)
    rows.eliminate_zeros()
    rows.sort_indices()
    return rows


def normalized_rows(A: csr_array) -> csr_array:
    """Rows divided by their sums, without overflow; empty ones stay empty."""
    count = np.diff(A.indptr)
    held = np.flatnonzero(count)
    if not len(held):
        return A
    p = A.data / np.repeat(np.maximum.reduceat(A.data, A.indptr[held]), count[held])
    p /= np.repeat(np.add.reduceat(p, A.indptr[held]), count[held])
    return csr_array((p, A.indices, A.indptr), A.shape)


def affinity_distances(A: csr_array, largest: float) -> Reals:
    """How far the largest affinity of each row is below a given one, in logarithms, and 1 more."""
    found = np.full(A.shape[0], np.inf)
    held = np.flatnonzero(np.diff(A.indptr))
    if len(held):
        tops = np.maximum.reduceat(A.data, A.indptr[held])
        found[held] = 1 + np.maximum(np.log(largest / tops), 0)
    return found


def project_affinities(A: csr_array, k: int = 16) -> Reals:
    """Random projections of rows of affinities, each divided by its sum; an empty row is uniform.

    They keep distances between rows to about a fifth (Johnson and Lindenstrauss, 1984), of which
    the order of magnitude counts, where the rows themselves would be the largest array of a model.
    """
    factors = random.uniforms(0, "signatures", np.arange(A.shape[1] * k)).reshape(-1, k) - 0.5
    found = np.asarray(normalized_rows(A) @ factors)
    found[np.diff(A.indptr) == 0] = factors.mean(0)
    return found


# -- the descent ----------------------------------------------------------------------------------


def is_interpolated(Y: Reals, similarity: Similarity) -> bool:
    """Whether repulsive forces are approximate, for speed: in float32, or on a mesh."""
    return similarity == "student" and Y.shape[1] <= 3 and len(Y) > 500


@overridable
def descent_of(P: Graph, k: int, similarity: Similarity) -> _native.Descent:
    """The descent of the KL divergence in k dimensions, where a mesh is faster by a mesh."""
    n = P.shape[0]
    how: Literal["exact", "float32", "grid"] = "exact"
    if is_interpolated(np.empty((n, k)), similarity):
        how = "float32" if n <= 1000 and k > 1 else "grid"
    return _native.Descent(*native_parts(P), k, similarity, how)


def warn_of_long_work(
    similarity: Similarity, k: int, n: int, max_iter: int, most: float = 600.0
) -> None:
    """Warn of iterations over all pairs that take more seconds than `most`."""
    # Nanoseconds of one core for a pair of points.
    cost = {"student": 0.7, "gauss": 1.5, "rows": 3.0}[similarity]
    pairs = float(n) * n * max_iter
    seconds = 1e-9 * cost * pairs
    if seconds < most or (similarity == "student" and k <= 3):
        return
    why = "SNE" if similarity != "student" else f"n_components={k}"
    warn(
        f"{why} computes the repulsive forces of all pairs of {n} rows in every iteration, "
        f"{pairs:.0e} in all: about {seconds / 60:.0f} minutes of one core. Fit a sample (X[::10]) "
        "and transform the others, lower max_iter, or take TSNE with up to three dimensions, which "
        "interpolates them on a mesh.",
        LongWorkWarning,
    )


def rescale_collapsed(descent: _native.Descent, Y: Reals) -> None:
    """Widen axes that collapse under early exaggeration, before rounding loses their order.

    While an embedding is small, forces are proportional to coordinates: an axis can be rescaled at
    any time without another effect, as a power iteration is normalized. Of d² = 1e-14 the 1 + d² of
    the similarity keeps two digits.
    """
    descent.embedding(Y)
    width = np.ascontiguousarray(centered(Y).T).std(1)  # contiguous: ten times as fast
    collapsed = (width > 0) & (width < 1e-7)
    if collapsed.any():
        factors = np.where(collapsed, 1e-4 / np.where(collapsed, width, 1), 1)
        descent.start(centered(Y) * factors)


def kl_divergence(P: Graph, Y: Reals, similarity: Similarity) -> float:
    """Σ p log(p / q), where q = w / Z, and Z is summed exactly.

    Z is the sum of w over all pairs; or one of each row, where each has its own distribution.
    """
    tiny = np.finfo(np.float64).tiny
    if is_interpolated(Y, similarity):
        normalizer = float(np.log(partition_function(Y)))
    else:
        sums, forces = np.empty(len(Y)), np.empty(Y.shape)
        everyone = np.arange(len(Y))
        _native.pair_sums(
            Y, similarity, everyone, sums, forces, threads(), progress.step("divergence")
        )
        if similarity == "rows":
            normalizer = float(np.log(np.maximum(sums, tiny)).sum())
        else:
            normalizer = float(np.log(max(sums.sum(), tiny)))
    return normalizer + _native.cross_term(
        *native_parts(P), Y, similarity, threads(), progress.step("divergence")
    )


@overridable
def partition_function(Y: Reals) -> float:
    """The sum of 1 / (1 + d²) over all ordered pairs of points, without an interpolation."""
    return _native.partition_function(Y, threads(), progress.step("divergence"))


def force_error(descent: _native.Descent, Y: Reals, similarity: Similarity, seed: int) -> float:
    """The relative error of the repulsive forces on a sample of points; 0 where they are exact."""
    if not is_interpolated(Y, similarity):
        return 0.0
    some = random.subset(seed, "forces", len(Y), min(len(Y), 256))
    sums, exact = np.empty(len(some)), np.empty((len(some), Y.shape[1]))
    _native.pair_sums(Y, similarity, some, sums, exact, threads())
    attraction, repulsion = np.empty(Y.shape), np.empty(Y.shape)
    descent.forces(Y, attraction, repulsion, threads())
    return relative_error(repulsion[some], exact / partition_function(Y))
