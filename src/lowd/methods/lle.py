"""Locally linear embedding (Roweis and Saul, 2000) and its three variants.

All four build a sparse matrix M of small problems, one for each neighborhood, such that y'My says
how badly a function y on the points fits them; and all four take the functions of least y'My, as
far as they are not constant. They differ in what a neighborhood asks of a function:

- LLE: the weights that rebuild a point from its neighbors rebuild its value from theirs;
- modified LLE: several such weight vectors do;
- Hessian LLE: its second derivatives vanish;
- LTSA: it is linear in the tangent coordinates of the neighborhood.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array

from ..errors import DataError, ParameterError, RankWarning, warn
from ..linalg.eigen import Groups, signs
from ..linalg.smallest import SmallestEigenpairs, smallest_eigenpairs
from ..parameters import (
    Count,
    Graph,
    Indices,
    NonNegative,
    Radius,
    Reals,
    Seed,
    check_landmarks,
    refuse_unused,
    state,
)
from ..reducer import Reducer
from ..spaces.extension import (
    approach,
    barycentric,
    barycentric_weights,
    differences,
    lists_by_length,
    rebuilding_weights,
    tangent_regression,
)
from ..spaces.graph import (
    PointGraph,
    connected_graph,
    new_and_judging_neighbors,
    warn_of_localized_axes,
    warn_of_short_circuits,
)
from ..spaces.known import Known, Listed
from ..spaces.neighbors import Neighbors
from ..spaces.space import Rows, Space, space_of

PatchKind = Literal["ltsa", "hessian", "modified"]


class Alignment(NamedTuple):
    """The matrix M, or a square root of it: B with M = B'B."""

    matrix: Graph
    is_root: bool = False


class LocallyLinear(Reducer):
    """Base of LLE, modified LLE, Hessian LLE and LTSA, which differ in their alignment matrix."""

    n_components: Count = 2
    n_neighbors: Count = 10
    radius: Radius | None = None
    reg: NonNegative = 1e-3
    map: Literal["barycentric", "tangent"] = "barycentric"
    n_landmarks: Count | None = None
    on_disconnected: Literal["join", "error"] = "join"
    random_state: Seed = None

    takes = frozenset({"neighbors"})
    #: Whether local tangent spaces have as many dimensions as the embedding.
    aligns_tangent_spaces: ClassVar[bool] = True

    eigenvalues_: Reals = state("n_components")
    reconstruction_error_: float = state()
    residuals_: Reals = state("n_components")
    solver_: str = state()
    degenerate_axes_: Groups = state()
    participation_: Reals = state("n_components")
    n_graph_components_: int = state()
    graph_components_: Indices = state("n_fitted of n_fitted")
    bridges_: Indices = state("n_bridges 2 of n_samples")
    n_distinct_: int = state()
    knn_recall_: float = state()
    landmarks_: Indices = state("n_fitted of n_samples")
    # How new points find their neighbors:
    _k: int | None = state()
    _radius: float | None = state()

    def _align(self, points: Rows, near: Neighbors, counts: Reals) -> Alignment:
        """The alignment matrix of points, each of which stands for so many rows."""
        raise NotImplementedError

    def _least_neighbors(self, k: int) -> int:
        """Neighbors that an embedding of k dimensions needs."""
        return k + 1

    def _fit(self, X: Any, y: Any, seed: int) -> Reals:  # noqa: ARG002
        if isinstance(X, Known):
            given = "the neighbor graph is given"
            refuse_unused(self, ["n_neighbors", "radius", "n_landmarks"], given)
        if self.radius is not None:
            refuse_unused(self, ["n_neighbors"], "radius is set")
        space, n = space_of(X), X.shape[0]
        # The solver amplifies rounding. In an order by content it does so alike however rows come.
        if self.n_landmarks is None:
            fitted = space.order()
        else:
            check_landmarks(self.n_landmarks, self.n_components, n)
            fitted = self.landmarks_ = space.draw(self.n_landmarks, seed, "landmarks")
        space = space.take(fitted)
        self._k = None if self.radius is not None else self.n_neighbors
        self._radius = self.radius
        if isinstance(space, Listed):
            self._k = int(space.nearest(n).counts.max())
        points = _rows_of(space)
        if not np.ptp(points.X, axis=0).any():
            graph, Y = self._embed_single_point(space), np.zeros((1, self.n_components))
        else:
            # 1. Neighbors.
            self._check_sizes(*points.X.shape)
            graph = connected_graph(space, self._k, self._radius, self.on_disconnected)
            warn_of_short_circuits(
                graph._replace(first_row=fitted[graph.first_row]), self.n_components
            )
            points = _rows_of(graph.space)
            self._check_sizes(*points.X.shape)
            self._check_neighbors(graph, points, fitted)
            # 2. The sum of what neighborhoods ask, and 3. the functions that fit it best.
            counts, near = graph.counts, graph.joined
            alignment = self._align(points, near, counts)
            Y = self._solve(alignment, counts, seed)
            if alignment.is_root:
                # Landmarks are numbered among themselves.
                numbers = fitted if self.n_landmarks is None else np.arange(len(fitted))
                self.weights_ = weights_of_rows(alignment.matrix, graph, numbers)
        # What places new points.
        self._describe(graph, fitted)
        typical = int(np.median(graph.near.counts)) if graph.space.n > 1 else 1
        self._remember(graph.known_by_rows(fitted, n), Y, graph.near, 4 * max(typical, 15))
        if self.n_landmarks is not None:
            embedding = self._transform(X)[0]
        else:
            embedding = np.empty((n, Y.shape[1]))
            embedding[fitted] = Y[graph.point_of_row]
        parameter = "n_neighbors" if self.radius is None else "radius"
        self.participation_ = warn_of_localized_axes(embedding, parameter)
        return embedding

    def _solve(self, alignment: Alignment, counts: Reals, seed: int) -> Reals:
        """Functions of least y'My with mean 0 and deviation 1 over all rows.

        The generalized problem M y = λ diag(counts) y is a plain one for v = √counts y.
        """
        A, is_root = alignment
        roots, total = np.sqrt(counts), float(counts.sum())
        if (counts != 1).any():
            left = diags_array(roots if is_root else 1 / roots)
            A = csr_array(left @ A @ diags_array(1 / roots))
        null = (roots / np.sqrt(total))[:, None]
        found = smallest_eigenpairs(A, self.n_components, seed, null, root=is_root)
        self._keep(found)
        Y = found.vectors * (np.sqrt(total) / roots)[:, None]
        return np.asarray(Y * signs(Y))

    def _keep(self, found: SmallestEigenpairs) -> None:
        self.eigenvalues_, self.residuals_ = found.values, found.residuals
        self.reconstruction_error_ = float(found.values.sum())
        self.solver_, self.degenerate_axes_ = found.solver, found.groups

    def _describe(self, graph: PointGraph, fitted: Indices) -> None:
        """Learned attributes of the graph, which speak of rows and not of points."""
        self.n_graph_components_ = int(graph.component.max()) + 1
        component = graph.component[graph.point_of_row]
        if self.n_landmarks is None:
            component[fitted] = component.copy()
        self.graph_components_ = component
        self.bridges_ = fitted[graph.first_row[graph.bridges]]
        self.n_distinct_, self.knn_recall_ = graph.space.n, graph.recall

    def _embed_single_point(self, space: Space) -> PointGraph:
        """All rows are equal: the embedding is 0."""
        n, k = space.n, self.n_components
        warn(f"n_components={k}, but all {n} rows are equal; the embedding is 0.", RankWarning)
        nothing = np.zeros(k), np.zeros((n, k)), np.zeros(k), "none", ()
        self._keep(SmallestEigenpairs(*nothing))
        first, point_of_row = np.zeros(1, np.int64), np.zeros(n, np.int64)
        near = Neighbors(np.zeros(2, np.int64), np.empty(0, np.int32), np.empty(0))
        none = np.zeros(1, np.int64), np.empty((0, 2), np.int64), np.empty(0), 1.0
        return PointGraph(space.merge(first, point_of_row), near, first, point_of_row, *none)

    def _check_sizes(self, n: int, d: int) -> None:
        """Refuse n_components and n_neighbors that the (distinct) rows or columns do not allow."""
        k, neighbors, needed = self.n_components, self._k, self._least_neighbors
        if self.aligns_tangent_spaces and d < min(k, n) and needed(d) <= (neighbors or needed(d)):
            raise ParameterError(
                f"n_components={k} exceeds {d}, the columns of X, and local tangent spaces have no "
                f"more dimensions; use at most {d}.",
                "n_components",
            )
        if neighbors is not None and neighbors < min(needed(k), n - 1):
            most = max(
                (j for j in range(1, min(k, n - 1) + 1) if needed(j) <= neighbors), default=0
            )
            if most:
                raise ParameterError(
                    f"n_components={k} exceeds {most}, the most for n_neighbors={neighbors}; "
                    f"use at most {most}, or n_neighbors={needed(k)} or more.",
                    "n_components",
                )
            raise ParameterError(
                f"n_neighbors={neighbors} is too few for {type(self).__name__}; "
                f"use {needed(1)} or more.",
                "n_neighbors",
            )
        if k > n - 1:
            raise ParameterError(
                f"n_components={k} exceeds {n - 1}, one less than the {n} distinct rows; "
                f"use at most {n - 1}.",
                "n_components",
            )

    def _check_neighbors(self, graph: PointGraph, points: Rows, fitted: Indices) -> None:
        """Refuse a radius that leaves some points with fewer neighbors than the method needs."""
        counts = graph.joined.counts
        least = min(self._least_neighbors(self.n_components), points.n - 1)
        short = np.flatnonzero(counts < least)
        if len(short):
            far = points.query(points.X[short], least + 1).table[1][:, -1].max()
            raise DataError(
                f"row {fitted[graph.first_row[short[0]]]} has {counts[short[0]]} neighbors, but "
                f"{least} are needed; use radius={far * 1.001:.4g} or more, or n_neighbors."
            )

    def _transform(self, Q: Any) -> tuple[Reals, Neighbors]:
        k, radius = self._k, self._radius
        near, judging = new_and_judging_neighbors(self._space, Q, k, radius, ties=False)
        rows = Q.rows if isinstance(Q, Known) else Q
        points, Y = _rows_of(self._space), self._embedded.X
        if self.map == "tangent":
            found = tangent_regression(rows, points, near, Y)
        else:
            found = barycentric(rows, points, near, Y, self.reg)
        return approach(found, near, Y, radius), judging

    def _inverse_transform(self, Y: Reals) -> Reals:
        # A radius in the space of the data says nothing about distances in the embedding.
        near = self._embedded.query(Y, self._k or 2 * self._n_features_out + 1)
        return barycentric(Y, self._embedded, near, _rows_of(self._space).X, self.reg)


class LocallyLinearEmbedding(LocallyLinear):
    """Locally linear embedding: preserves the weights that reconstruct samples from neighbors.

    Use it to unroll a manifold from local linear fits alone: no distances between far samples are
    computed. It is the fastest of its family and the least faithful: `ModifiedLLE`, `LTSA` and
    `HessianLLE` follow the manifold more closely, and stay solvable for high-dimensional data.

    Cost: nearest neighbors, n small linear systems and one sparse factorization; nearly linear in
    n for data near a curve or a surface. New points: barycentric weights that reconstruct them from
    their nearest training points, applied to the coordinates of these.

    Parameters
    ----------
    n_components : int, default=2
        Number of dimensions of the embedding.
    n_neighbors : int, default=5
        Neighbors of each sample, itself not counted; all as near as the last one count.
    radius : float or None, default=None
        All samples within this distance are neighbors instead of `n_neighbors`.
    reg : float, default=0.001
        Ridge of the weights, relative to the trace of each local Gram matrix. Needed wherever there
        are more neighbors than dimensions. 0 takes the solution of least norm.
    map : {"barycentric", "tangent"}, default="barycentric"
        Map of new points: "barycentric" weights of their nearest training points, or the
        "tangent" space of these.
    n_landmarks : int or None, default=None
        Fit that many random samples, and map the others.
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
        Coordinates of the training rows: columns of mean 0 and standard deviation 1 (scikit-learn's
        times √n).
    weights_ : csr_array of shape (n_samples, n_samples)
        The weights W, of which each row sums to 1; those of duplicates are on their first row.
    eigenvalues_ : ndarray of shape (n_components,)
        Of M = (I - W)'(I - W), smallest first.
    reconstruction_error_ : float
        Their sum.
    residuals_ : ndarray of shape (n_components,)
        Residual norm |M v - λ v| of each axis.
    solver_ : str
        Route of the eigensolver: "dense", "shift-invert" or "cholesky".
    degenerate_axes_ : tuple of tuple of int
        Groups of axes with equal eigenvalues, of which any rotation is as good.
    participation_ : ndarray of shape (n_components,)
        About how many rows each axis is; a warning names the rows of an axis that is about few.
    n_graph_components_ : int
        Number of connected components of the neighbor graph, before they were joined.
    graph_components_ : ndarray of shape (n_samples,)
        The component of each row (of each landmark, where these were fitted); 0 is the largest.
    bridges_ : ndarray of shape (n_bridges, 2)
        Pairs of rows whose edges join components.
    n_distinct_ : int
        Number of distinct rows: duplicates are one point of the graph.
    knn_recall_ : float
        Share of the true neighbors that the search has found, which is 1 up to 200,000 rows.
    landmarks_ : ndarray of shape (n_landmarks,)
        The rows that were fitted, if not all were.
    n_samples_, n_features_in_ : int
        Numbers of rows and columns of the training data.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of a data frame.

    References
    ----------
    Roweis and Saul (2000), Science 290; Saul and Roweis (2003), JMLR 4, new points.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> t = np.geomspace(1, 4, 40)
    >>> arc = np.column_stack([np.cos(t), np.sin(t)])
    >>> model = lowd.LocallyLinearEmbedding(1, n_neighbors=4).fit(arc)
    >>> bool((np.diff(model.embedding_[:, 0]) > 0).all())  # in the order of the arc
    True
    >>> y = model.transform([[np.cos(2), np.sin(2)]])
    >>> bool(model.embedding_[19, 0] < y[0, 0] < model.embedding_[20, 0])
    True
    """

    n_neighbors: Count = 5

    aligns_tangent_spaces = False
    confidence_curve = (1.5, 0.37, 0.3, 0.0)

    weights_: Graph = state("n_fitted n_fitted")

    def _align(self, points: Rows, near: Neighbors, counts: Reals) -> Alignment:  # noqa: ARG002
        """I - W, where row i of W holds the weights that rebuild point i from its neighbors."""
        w = barycentric_weights(points.X, points, near, self.reg)
        W = near._replace(distances=w).as_graph(points.n)
        return Alignment(csr_array(eye_array(points.n) - W), is_root=True)

    def _least_neighbors(self, k: int) -> int:  # noqa: ARG002
        return 1


class ModifiedLLE(LocallyLinear):
    """Modified locally linear embedding (MLLE): several weight vectors per sample.

    Use it instead of `LocallyLinearEmbedding` where faithfulness matters: one weight vector per
    sample leaves too much free, several determine the local tangent space.

    Cost: nearest neighbors, n small eigenproblems, and the smallest eigenvectors of one sparse
    matrix. New points: barycentric weights that reconstruct them from their nearest training
    points, applied to the coordinates of these.

    Parameters
    ----------
    n_components : int, default=2
        Number of dimensions of the embedding.
    n_neighbors : int, default=10
        Neighbors of each sample, itself not counted; all as near as the last one count.
        More than n_components are needed.
    radius : float or None, default=None
        All samples within this distance are neighbors instead of `n_neighbors`.
    reg : float, default=0.001
        Ridge of the weights, relative to the trace of each system, in the fit and in the map.
    map : {"barycentric", "tangent"}, default="barycentric"
        Map of new points: "barycentric" weights of their nearest training points, or the
        "tangent" space of these.
    n_landmarks : int or None, default=None
        Fit that many random samples, and map the others.
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
        Coordinates of the training rows: columns of mean 0 and standard deviation 1 (scikit-learn's
        times √n).
    eigenvalues_ : ndarray of shape (n_components,)
        Of the alignment matrix M, smallest first.
    reconstruction_error_ : float
        Their sum.
    residuals_ : ndarray of shape (n_components,)
        Residual norm |M v - λ v| of each axis.
    solver_ : str
        Route of the eigensolver: "dense", "shift-invert" or "chebyshev".
    degenerate_axes_ : tuple of tuple of int
        Groups of axes with equal eigenvalues, of which any rotation is as good.
    participation_ : ndarray of shape (n_components,)
        About how many rows each axis is; a warning names the rows of an axis that is about few.
    n_graph_components_ : int
        Number of connected components of the neighbor graph, before they were joined.
    graph_components_ : ndarray of shape (n_samples,)
        The component of each row (of each landmark, where these were fitted); 0 is the largest.
    bridges_ : ndarray of shape (n_bridges, 2)
        Pairs of rows whose edges join components.
    n_distinct_ : int
        Number of distinct rows: duplicates are one point of the graph.
    knn_recall_ : float
        Share of the true neighbors that the search has found, which is 1 up to 200,000 rows.
    landmarks_ : ndarray of shape (n_landmarks,)
        The rows that were fitted, if not all were.
    n_samples_, n_features_in_ : int
        Numbers of rows and columns of the training data.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of a data frame.

    References
    ----------
    Zhang and Wang (2007), NIPS 19: multiple weights.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> rng = np.random.default_rng(0)
    >>> flat = rng.uniform(size=(200, 2))
    >>> bent = np.column_stack([np.sin(2 * flat[:, 0]), np.cos(2 * flat[:, 0]), flat[:, 1]])
    >>> model = lowd.ModifiedLLE(2).fit(bent)
    >>> A = np.column_stack([model.embedding_, np.ones(200)])  # the flat sheet, up to a linear map
    >>> left = np.linalg.lstsq(A, flat)[1] / (200 * flat.var(0))
    >>> bool((left < 0.01).all())
    True
    """

    aligns_tangent_spaces = False
    confidence_curve = (1.3, 0.47, 0.33, 0.5)

    def _align(self, points: Rows, near: Neighbors, counts: Reals) -> Alignment:
        own_last = patches(near, own_first=False)
        k = self.n_components
        return Alignment(alignment_matrix(points.X, *own_last, "modified", k, self.reg, counts))


class HessianLLE(LocallyLinear):
    """Hessian eigenmaps (Hessian LLE): functions whose Hessian on the manifold vanishes.

    Use it for a densely sampled manifold with holes or of a non-convex outline, where `Isomap`
    needs a convex one. It estimates second derivatives, so it wants more neighbors than `LTSA` and
    less noise.

    Cost: nearest neighbors, n small eigenproblems, and the smallest eigenvectors of one sparse
    matrix. New points: barycentric weights that reconstruct them from their nearest training
    points, applied to the coordinates of these.

    Parameters
    ----------
    n_components : int, default=2
        Number of dimensions of the embedding.
    n_neighbors : int, default=10
        Neighbors of each sample, itself not counted; all as near as the last one count.
        With k = n_components at least k + k(k + 1)/2 are needed. A patch is a point and its
        neighbors.
    radius : float or None, default=None
        All samples within this distance are neighbors instead of `n_neighbors`.
    reg : float, default=0.001
        Weight of what no quadric fits in a patch, beside that of second derivatives: without it
        (0, the method of the paper) a spike on a few points may have none that their patches see.
        1 is LTSA. Also the ridge of new points' weights, relative to the trace of each system.
    map : {"barycentric", "tangent"}, default="barycentric"
        Map of new points: "barycentric" weights of their nearest training points, or the
        "tangent" space of these.
    n_landmarks : int or None, default=None
        Fit that many random samples, and map the others.
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
        Coordinates of the training rows: columns of mean 0 and standard deviation 1 (scikit-learn's
        times √n).
    eigenvalues_ : ndarray of shape (n_components,)
        Of the alignment matrix M, smallest first.
    reconstruction_error_ : float
        Their sum.
    residuals_ : ndarray of shape (n_components,)
        Residual norm |M v - λ v| of each axis.
    solver_ : str
        Route of the eigensolver: "dense", "shift-invert" or "chebyshev".
    degenerate_axes_ : tuple of tuple of int
        Groups of axes with equal eigenvalues, of which any rotation is as good.
    participation_ : ndarray of shape (n_components,)
        About how many rows each axis is; a warning names the rows of an axis that is about few.
    n_graph_components_ : int
        Number of connected components of the neighbor graph, before they were joined.
    graph_components_ : ndarray of shape (n_samples,)
        The component of each row (of each landmark, where these were fitted); 0 is the largest.
    bridges_ : ndarray of shape (n_bridges, 2)
        Pairs of rows whose edges join components.
    n_distinct_ : int
        Number of distinct rows: duplicates are one point of the graph.
    knn_recall_ : float
        Share of the true neighbors that the search has found, which is 1 up to 200,000 rows.
    landmarks_ : ndarray of shape (n_landmarks,)
        The rows that were fitted, if not all were.
    n_samples_, n_features_in_ : int
        Numbers of rows and columns of the training data.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of a data frame.

    References
    ----------
    Donoho and Grimes (2003), PNAS 100.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> rng = np.random.default_rng(0)
    >>> flat = rng.uniform(size=(200, 2))
    >>> bent = np.column_stack([np.sin(2 * flat[:, 0]), np.cos(2 * flat[:, 0]), flat[:, 1]])
    >>> model = lowd.HessianLLE(2).fit(bent)
    >>> A = np.column_stack([model.embedding_, np.ones(200)])  # the flat sheet, up to a linear map
    >>> left = np.linalg.lstsq(A, flat)[1] / (200 * flat.var(0))
    >>> bool((left < 0.01).all())
    True
    """

    confidence_curve = (1.65, 0.45, 0.4, 0.4)

    def _align(self, points: Rows, near: Neighbors, counts: Reals) -> Alignment:
        # In a patch of all points, smaller than a quadric has coefficients, nothing but the
        # tangent coordinates is left. That is LTSA, with which it agrees where both have as many.
        k = self.n_components
        kind: PatchKind = "hessian" if points.n > self._least_neighbors(k) + 1 else "ltsa"
        return Alignment(alignment_matrix(points.X, *patches(near), kind, k, self.reg, counts))

    def _least_neighbors(self, k: int) -> int:
        """With the point itself as many as a quadratic polynomial in k variables has coefficients.

        >>> HessianLLE()._least_neighbors(2)
        5
        """
        return k + k * (k + 1) // 2


class LTSA(LocallyLinear):
    """Local tangent space alignment: tangent coordinates of all neighborhoods, aligned.

    Use it to unroll a manifold faithfully up to a linear map: on a flat patch it is exact. With as
    many neighbors as a quadric has coefficients it equals `HessianLLE`, which needs more.

    Cost: nearest neighbors, n small eigenproblems, and the smallest eigenvectors of one sparse
    matrix. New points: barycentric weights that reconstruct them from their nearest training
    points, applied to the coordinates of these.

    Parameters
    ----------
    n_components : int, default=2
        Number of dimensions of the embedding.
    n_neighbors : int, default=10
        Neighbors of each sample, itself not counted; all as near as the last one count.
        More than n_components are needed. A patch is a point and its neighbors.
    radius : float or None, default=None
        All samples within this distance are neighbors instead of `n_neighbors`.
    reg : float, default=0.001
        Ridge of the weights of new points and of the inverse, relative to the trace of each system.
    map : {"barycentric", "tangent"}, default="barycentric"
        Map of new points: "barycentric" weights of their nearest training points, or the
        "tangent" space of these.
    n_landmarks : int or None, default=None
        Fit that many random samples, and map the others.
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
        Coordinates of the training rows: columns of mean 0 and standard deviation 1 (scikit-learn's
        times √n).
    eigenvalues_ : ndarray of shape (n_components,)
        Of the alignment matrix M, smallest first.
    reconstruction_error_ : float
        Their sum.
    residuals_ : ndarray of shape (n_components,)
        Residual norm |M v - λ v| of each axis.
    solver_ : str
        Route of the eigensolver: "dense", "shift-invert" or "chebyshev".
    degenerate_axes_ : tuple of tuple of int
        Groups of axes with equal eigenvalues, of which any rotation is as good.
    participation_ : ndarray of shape (n_components,)
        About how many rows each axis is; a warning names the rows of an axis that is about few.
    n_graph_components_ : int
        Number of connected components of the neighbor graph, before they were joined.
    graph_components_ : ndarray of shape (n_samples,)
        The component of each row (of each landmark, where these were fitted); 0 is the largest.
    bridges_ : ndarray of shape (n_bridges, 2)
        Pairs of rows whose edges join components.
    n_distinct_ : int
        Number of distinct rows: duplicates are one point of the graph.
    knn_recall_ : float
        Share of the true neighbors that the search has found, which is 1 up to 200,000 rows.
    landmarks_ : ndarray of shape (n_landmarks,)
        The rows that were fitted, if not all were.
    n_samples_, n_features_in_ : int
        Numbers of rows and columns of the training data.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of a data frame.

    References
    ----------
    Zhang and Zha (2004), SIAM Journal on Scientific Computing 26.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> rng = np.random.default_rng(0)
    >>> flat = rng.uniform(size=(200, 2))
    >>> bent = np.column_stack([np.sin(2 * flat[:, 0]), np.cos(2 * flat[:, 0]), flat[:, 1]])
    >>> model = lowd.LTSA(2).fit(bent)
    >>> A = np.column_stack([model.embedding_, np.ones(200)])  # the flat sheet, up to a linear map
    >>> left = np.linalg.lstsq(A, flat)[1] / (200 * flat.var(0))
    >>> bool((left < 0.01).all())
    True
    """

    confidence_curve = (1.4, 0.33, 0.65, 0.55)

    def _align(self, points: Rows, near: Neighbors, counts: Reals) -> Alignment:
        k = self.n_components
        return Alignment(alignment_matrix(points.X, *patches(near), "ltsa", k, self.reg, counts))


# -- neighborhoods --------------------------------------------------------------------------------


def patches(near: Neighbors, *, own_first: bool = True) -> tuple[Indices, Indices]:
    """The patch of each point as (indptr, members): the point and its neighbors.

    Without itself a point that is nobody's neighbor would be in no patch, and free to be anywhere.

    >>> patches(Neighbors(np.array([0, 1, 2]), np.array([1, 0]), np.ones(2)))[1].tolist()
    [0, 1, 1, 0]
    """
    n = len(near.indptr) - 1
    at = near.indptr[:-1] if own_first else near.indptr[1:]
    members = np.insert(near.indices, at, np.arange(n, dtype=np.int32))
    return near.indptr + np.arange(n + 1), members.astype(np.int32, copy=False)


def alignment_matrix(
    X: Reals,
    indptr: Indices,
    members: Indices,
    kind: PatchKind,
    k: int,
    reg: float,
    counts: Reals,
) -> Graph:
    """The sum over all patches of what they ask, as a sparse matrix.

    With the tangent coordinates U of a patch, its k leading left singular vectors, that is

    - "ltsa": the projection onto what is orthogonal to [1, U];
    - "hessian": the projection onto the products of columns of U, orthogonal to [1, U], and `reg`
      times that onto what is orthogonal to both;
    - "modified": the squared errors of several weight vectors, for the last member of the patch.
    """
    n, sizes = len(X), np.diff(indptr)
    taken = leading_directions(X, indptr, members, k) if kind == "modified" else None
    lines = np.concatenate([[0], np.cumsum(np.repeat(sizes, sizes))])  # a line for each member
    entries, columns = np.empty(lines[-1]), np.empty(lines[-1], np.int32)
    for some, at in lists_by_length(indptr, X.shape[1], "local patches"):
        own, p = members[at], at.shape[1]
        rows = X[own]
        if taken is not None:
            A = weight_errors(rows, taken[some], reg)
        elif kind == "ltsa":
            A = np.eye(p) - projection(tangents(rows, k))
        else:
            A = curvature(tangents(rows, k), min(reg, 1.0))
        places = lines[at][:, :, None] + np.arange(p)
        entries[places] = counts[some, None, None] * A
        columns[places] = own[:, None, :]
    # Lines of one row are summed in the order of the patches: M is symmetric to the last bit.
    by_line = csr_array((entries, columns, lines), (len(members), n))
    one = csr_array((np.ones(len(members)), members, np.arange(len(members) + 1)), by_line.shape)
    M = csr_array(csr_array(one.T) @ by_line)
    M.sort_indices()
    return M


def projection(B: Reals) -> Reals:
    """BB' of matrices with orthonormal columns."""
    return np.asarray(B @ B.transpose(0, 2, 1))


def left_singular(Z: Reals, k: int, rounding: float = 1e-13) -> tuple[Reals, Reals]:
    """Squares of singular values (m, min(p, d)) of matrices (m, p, d), largest first; and UΣ.

    Of UΣ there are k columns, those below `rounding` 0. Where rows are wider than they are many,
    their products are decomposed instead, and columns are no more than nearly orthogonal.
    """
    if Z.shape[2] <= Z.shape[1]:
        _, sizes, right = np.linalg.svd(Z, full_matrices=False)
        values, V = np.square(sizes), right[:, :k].transpose(0, 2, 1)
    else:
        values, E = np.linalg.eigh(Z @ Z.transpose(0, 2, 1))
        values = np.maximum(values[:, ::-1], 0)
        V = Z.transpose(0, 2, 1) @ E[:, :, ::-1][:, :, :k]
    firm = values[:, None, :k] > rounding * values[:, None, :1]
    return values, np.where(firm, Z @ V, 0.0)


def orthonormalize(V: Reals, known: int, least: float = 0.0) -> Reals:
    """Columns of matrices (m, p, c) orthonormal to those before, after the first `known`.

    What shrinks to `least` of its length says nothing new, and becomes 0. One pass would leave
    rounding that grows with what it takes.
    """
    for c in range(known, V.shape[2]):
        v, before = V[:, :, c : c + 1], V[:, :, :c]
        enough = least * np.sqrt(np.square(v).sum(1, keepdims=True))
        for _ in range(2):
            v = v - before @ (before.transpose(0, 2, 1) @ v)
        length = np.sqrt(np.square(v).sum(1, keepdims=True))
        V[:, :, c : c + 1] = np.where(length > enough, v / np.where(length > 0, length, 1), 0.0)
    return V


def tangents(rows: Reals, k: int) -> Reals:
    """[1, U] of patches (m, p, d), orthonormal; a direction that a patch does not have is 0."""
    m, p = rows.shape[:2]
    Z = differences(rows, rows[:, 0])
    _, U = left_singular(Z - Z.mean(1, keepdims=True), k)
    missing = np.zeros((m, p, k - U.shape[2]))
    return orthonormalize(np.concatenate([np.full((m, p, 1), p**-0.5), U, missing], 2), 1)


def curvature(G: Reals, rest: float) -> Reals:
    """HH' + rest (I - GG' - HH'), G = [1, U] and H the products of columns of U beyond G.

    A product that depends on others carries no curvature: it is dropped.
    """
    known = G.shape[2]
    a, b = np.triu_indices(known - 1)
    H = orthonormalize(np.concatenate([G, G[:, :, 1 + a] * G[:, :, 1 + b]], 2), known, 1e-10)
    inside = np.eye(G.shape[1]) - projection(G)
    return np.asarray((1 - rest) * projection(H[:, :, known:]) + rest * inside)


def leading_directions(
    X: Reals, indptr: Indices, members: Indices, k: int, least: float = 1e-12, tie: float = 1e-9
) -> Indices:
    """How many directions of each patch the weight vectors of modified LLE do not vary.

    All but the last s, where s is at least 1 and as large as possible while the tail of the
    spectrum is below the median share of the patches: by more than rounding, which would otherwise
    decide for the patch whose share is the median.
    """
    n = len(indptr) - 1
    shares, taken, spectra = np.zeros(n), np.zeros(n, np.int64), []
    for some, at in lists_by_length(indptr, X.shape[1], "local patches"):
        rows = X[members[at]]
        values, _ = left_singular(differences(rows[:, :-1], rows[:, -1]), 0)
        head, tail = values[:, :k].sum(1), values[:, k:].sum(1)
        shares[some] = np.divide(tail, head, out=np.zeros(len(some)), where=head > 0)
        spectra.append((some, at.shape[1] - 1, values))
    share = (1 - tie) * max(float(np.median(shares)) if n else 0.0, least)
    for some, p, values in spectra:
        whole = np.zeros((len(some), p))
        whole[:, : values.shape[1]] = values
        tails = np.cumsum(whole[:, ::-1], axis=1)[:, : max(p - k, 0)]
        below = tails < share * (values.sum(1, keepdims=True) - tails)
        last = np.where(below, np.arange(1, tails.shape[1] + 1), 1).max(1, initial=1)
        taken[some] = np.maximum(p - last, 0)
    return taken


def weight_errors(rows: Reals, taken: Indices, reg: float) -> Reals:
    """FF' of the weight vectors of modified LLE, F = [W; -1'], for the last member of each patch.

    With V the s directions that are not taken and W = (1 - a) w 1' + VH, H a reflection, it is
    s tt' - qq'/s + VV', q = VH1 = VV'1 / a and t = [(1 - a) w + q / s; -1]: no basis V is needed.
    Where a = 0 the sign of q is free; then the mean over both is used, q = 0.
    """
    Z, p = differences(rows[:, :-1], rows[:, -1]), rows.shape[1] - 1
    out = np.zeros((len(rows), p + 1, p + 1))
    if not p:
        return out
    _, U = left_singular(Z, int(taken.max()))
    U = orthonormalize(np.where(np.arange(U.shape[2]) < taken[:, None, None], U, 0.0), 0)
    s = (p - np.abs(U).any(1).sum(1))[:, None].astype(np.float64)
    rest = np.eye(p) - projection(U)
    u = rest.sum(2)
    a = np.sqrt(np.square(u).sum(1, keepdims=True) / s)
    q = np.divide(u, a, out=np.zeros_like(u), where=a > 1e-12)
    t = np.full((len(q), p + 1), -1.0)
    t[:, :p] = (1 - a) * rebuilding_weights(Z, reg) + q / s
    out[:, :p, :p] = rest - (q[:, :, None] * q[:, None, :]) / s[:, :, None]
    return np.asarray(out + s[:, :, None] * (t[:, :, None] * t[:, None, :]))


def weights_of_rows(root: Graph, graph: PointGraph, numbers: Indices) -> Graph:
    """Weights between rows: a duplicate has those of its point, on the first row of each point.

    The graph's row i is that with the i-th of the `numbers`.
    """
    m, n = graph.space.n, len(numbers)
    W = csr_array(eye_array(m) - root)
    W.eliminate_zeros()
    point = np.empty(n, np.int64)
    point[numbers] = graph.point_of_row
    wide = csr_array((W.data, numbers[graph.first_row][W.indices], W.indptr), (m, n))
    return csr_array(wide[point])


def _rows_of(space: Any) -> Rows:
    """The rows of the points, whether their neighbors are given or not."""
    rows = space.base if isinstance(space, Listed) else space
    assert isinstance(rows, Rows)
    return rows
