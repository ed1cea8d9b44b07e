"""Metric and non-metric multidimensional scaling by SMACOF (Kruskal, 1964; de Leeuw, 1977)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import scipy.linalg
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from .. import _native, progress, random
from ..backend import allocate, chunks, overridable, threads
from ..blocks import RowBlocks
from ..errors import (
    ApproximationWarning,
    ConvergenceWarning,
    DataError,
    ParameterError,
    RankWarning,
    warn,
)
from ..input.entries import refuse_large_integers, refuse_non_numbers
from ..linalg.centered import half_squares, initial_scaling
from ..linalg.eigen import signs
from ..parameters import (
    Count,
    Indices,
    Metric,
    MetricParams,
    Reals,
    Seed,
    Share,
    check_count,
    check_landmarks,
    refuse_unused,
    state,
)
from ..reducer import Reducer
from ..spaces import (
    Neighbors,
    Space,
    approach,
    count_rows,
    gower,
    joined,
    native_parts,
    nearest_columns,
    space_of,
    sum_duplicates,
    take_rows,
)
from ..spaces.matrices import far_if_missing, hash_symmetric, label_duplicates


class MDS(Reducer):
    """Metric multidimensional scaling: least squares on distances, by SMACOF.

    Use it when distances should be read off the embedding: unlike classical MDS it fits the
    distances, not inner products, takes weights, and does without some of the distances. The
    result is a local minimum of the stress; the default start, classical MDS, makes it a good one.

    Cost: n² memory and about n² operations per step; n³/3 once with weights or missing distances.
    Above 20,000 rows 2,000 landmarks are embedded and the others mapped, with a warning.
    New points: the stress of each is minimized with the training embedding fixed.

    Parameters
    ----------
    n_components : int, default=2
        Number of dimensions of the embedding.
    metric : str or callable, default="euclidean"
        A name ("euclidean", "sqeuclidean", "cosine", "correlation", "manhattan", "chebyshev",
        "minkowski", "hamming", "jaccard", "canberra", "braycurtis", "dice", "hellinger",
        "haversine"), "gower" for tables of numbers and categories, "precomputed", or f(a, b) ->
        number for any objects. Of "precomputed" distances NaN is missing, and 0 means the same
        object.
    metric_params : dict or None, default=None
        Parameters of the metric: {"p": 3} for "minkowski", {"weights": [...]} for "gower", or
        keywords of a callable.
    weights : "sammon", ndarray or None, default=None
        A symmetric matrix, one number >= 0 per pair; "sammon": 1 / distance, Sammon's mapping;
        None: all alike. A new point's distances weigh 1 each, or 1 / distance for "sammon".
    init : {"classical_mds", "random"} or ndarray, default="classical_mds"
        The coordinates to start from, or how they are found.
    n_init : int, default=1
        Number of starts, all but a classical one random, of which the lowest stress is kept.
    max_iter : int, default=300
        A path ends after so many steps.
    eps : float, default=1e-06
        Or when a step promises less than this share of the stress.
    n_landmarks : int or None, default=None
        Embed that many rows exactly and map the others: linear cost in n. None takes 2,000 of more
        than 20,000 rows, and otherwise all.
    random_state : int, RandomState, Generator or None, default=None
        Seed of landmarks and random starts. None is 0.
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
        Coordinates of the training rows: centered, and turned to their principal axes.
    stress_ : float
        Σ w (δ - d)² over pairs (of landmarks, if there are any), d of the returned points.
    stress1_ : float
        √(Σ w (δ - d)² / Σ w d²), Kruskal's Stress-1.
    normalized_stress_ : float
        That at the best scale of the embedding, √(1 - c²) with c = cos(δ, d).
    stress_history_ : ndarray of shape (n_iter + 1,)
        Raw stress before every step and at the end; it never rises.
    n_iter_ : int
        Number of steps.
    converged_ : bool
        Whether the path ended before `max_iter` steps.
    landmarks_ : ndarray of shape (n_landmarks,)
        Numbers of the landmarks, if there are any.
    route_ : str
        "all pairs" or "landmarks".
    n_components_ : int
        Dimension of the embedding.
    n_samples_, n_features_in_ : int
        Numbers of rows and columns of the training data.
    seed_ : int
        The seed that was used.

    References
    ----------
    Kruskal (1964), Psychometrika 29; Sammon (1969), IEEE Trans. Computers 18; de Leeuw (1977);
    Borg and Groenen (2005), Modern Multidimensional Scaling.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> D = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    >>> mds = lowd.MDS(2, metric="precomputed").fit(D)
    >>> mds.stress_ < 1e-12
    True
    >>> y = mds.transform([[5.0, 4.0, np.nan]])  # one of its distances is not known
    >>> np.linalg.norm(mds.embedding_ - y, axis=1)[:2].round(6)
    array([5., 4.])
    """

    n_components: Count = 2
    metric: Metric = "euclidean"
    metric_params: MetricParams = None
    weights: Literal["sammon"] | np.ndarray | None = None
    init: Literal["classical_mds", "random"] | np.ndarray = "classical_mds"
    n_init: Count = 1
    max_iter: Count = 300
    eps: Share = 1e-6
    n_landmarks: Count | None = None
    random_state: Seed = None

    takes = frozenset({"sparse", "blocks", "missing"})
    no_inverse = "distances alone do not determine rows."
    confidence_curve = (2.7, 0.52, 0.25, 0.6)
    #: Beyond so many rows a step over all pairs takes seconds, and their distances gigabytes.
    landmarks_above: ClassVar[int] = 20_000
    automatic_landmarks: ClassVar[int] = 2000

    stress_: float = state()
    stress1_: float = state()
    normalized_stress_: float = state()
    stress_history_: Reals = state("n_steps")
    n_iter_: int = state()
    converged_: bool = state()
    landmarks_: Indices = state("n_landmarks of n_samples")
    route_: str = state()
    # What places new points by the distinct ones that were embedded:
    _counts: Reals = state("n_points")  # how many rows each of them is
    _means: Reals = state("n_points")  # of squared distances in the embedding
    _axes: Reals = state("n_points n_components")  # of Gower's formula there
    _sammon: bool = state()

    def _fit(self, X: Any, y: object, seed: int) -> Reals:  # noqa: ARG002
        n, k = count_rows(X), self.n_components
        check_count(k, n, "n_components", f"n_samples={n}")
        init, weights, m = self._check_start(n), self._check_weights(n), self._count_landmarks(n)
        if m is None and isinstance(X, RowBlocks):
            X = X.in_memory()  # few beside the distances between them
        space = space_of(X, self.metric, self.metric_params)
        # 1. The rows to embed: all, or landmarks. They come in an order by their content, since
        # rounding grows in a descent: permuted rows then have the permuted embedding.
        rows = order_by_content(space, weights, init)
        rows = rows if m is None else rows[random.subset(seed, "landmarks", n, m)]
        points = space.take(rows)
        # 2. Their dissimilarities, and how much each of these counts.
        D = points.pairwise()
        W = pair_weights(weights, D, rows)
        if W is not None:
            check_connected(W, rows)
        label = label_duplicates(D)
        _, first, point_of_row = np.unique(label, return_index=True, return_inverse=True)
        self._counts = np.bincount(point_of_row).astype(np.float64)
        # 3. SMACOF from each start, of which the lowest end is kept. Duplicates begin together.
        stress = self._stress(D, W)
        starts = (
            sum_duplicates(start / self._counts[point_of_row, None], point_of_row)[point_of_row]
            for start in self._starts(init, D, rows, seed)
        )
        path = smacof(stress, W, starts, self.max_iter, self.eps)
        Y = rotate_to_principal_axes(path.Y).astype(D.dtype).astype(np.float64)  # as it is returned
        Y = Y[first][point_of_row]  # duplicates coincide to the last bit
        self._report(stress, Y, path)
        # 4. What places new points.
        self._sammon = isinstance(weights, str)
        self._means, self._axes = gower_axes(Y[first])
        apart = far_if_missing(D[np.ix_(first, first)])
        near = nearest_columns(apart, min(15, len(apart) - 1), np.arange(len(apart)))
        self._remember(points.take(first), Y[first], near, 60)
        self.route_ = "all pairs" if m is None else "landmarks"
        if m is None:
            return Y[np.argsort(rows)]
        self.landmarks_ = rows
        return self._extend(X)

    def _transform(self, Q: Any) -> tuple[Reals, Neighbors]:
        blocks = chunks(count_rows(Q), 4 * self._space.n)
        parts = [
            self._minimize(take_rows(Q, np.arange(some.start, some.stop)), some.start)
            for some in blocks
        ]
        return np.concatenate([Y for Y, _ in parts]), joined(near for _, near in parts)

    def _minimize(self, Q: Any, begin: int) -> tuple[Reals, Neighbors]:
        """Coordinates of least stress with the embedding fixed, from two starts.

        These are Gower's formula for the embedded distances, and the coordinates of the nearest
        point, which count where they end clearly lower.
        """
        D, embedded = self._space.toward(Q), self._embedded.X
        T = self._disparities(D)
        products = np.square(T)
        if np.isnan(D.max(initial=0)):
            missing = np.isnan(D)
            if missing.all(1).any():
                row = begin + int(missing.all(1).argmax())
                raise DataError(f"row {row} has no known distance to a training point; drop it.")
            # A distance that is not known is taken for the mean of those in the embedding.
            products = np.where(missing, self._means, products)
        products *= -0.5
        W = None if (self._counts == 1).all() else np.tile(self._counts, (len(D), 1))
        if self._sammon:
            W = np.divide(self._counts, D, out=np.zeros(D.shape), where=D > 0)
        near = nearest_columns(far_if_missing(D), min(self._space.n, 30))
        start = gower(products, -0.5 * self._means, self._axes)
        Y, reached = multilaterate(T, W, embedded, start, self.max_iter)
        start = embedded[near.indices[near.indptr[:-1]]]
        other, reached_there = multilaterate(T, W, embedded, start, self.max_iter)
        # Lower by rounding only, it is the same minimum.
        better = reached_there < reached * (1 - 1e-6)
        Y[better] = other[better]
        return approach(Y, near.first(12), embedded), near

    # -- what non-metric MDS does in another way ----------------------------------------------

    def _stress(self, D: Reals, W: Reals | None) -> Stress:
        return metric_stress(D, W)

    def _disparities(self, D: Reals) -> Reals:
        """What distances in the embedding should be for given dissimilarities."""
        return D.astype(np.float64)

    def _report(self, stress: Stress, Y: Reals, path: Path) -> None:
        """Stress-1 and the like of the returned points: see the attributes."""
        found = stress.step(Y)
        self.stress_, self.normalized_stress_ = found.stress, found.normalized
        self.stress1_ = float(np.sqrt(found.stress / found.eta2)) if found.eta2 > 0 else 0.0
        self.stress_history_, self.n_iter_ = path.history, len(path.history) - 1
        self.converged_ = path.converged

    # -- parameters and starts ----------------------------------------------------------------

    def _count_landmarks(self, n: int) -> int | None:
        if self.n_landmarks is not None:
            check_landmarks(self.n_landmarks, self.n_components, n)
            return self.n_landmarks
        if n <= self.landmarks_above:
            return None
        m = self.automatic_landmarks
        warn(
            f"{type(self).__name__} of more than {self.landmarks_above} rows (here {n}) is "
            f"computed from {m} landmarks; n_landmarks={m} says so without a warning.",
            ApproximationWarning,
        )
        return m

    def _check_start(self, n: int) -> Reals | str:
        if isinstance(self.init, str):
            return self.init
        refuse_unused(self, ("n_init",), "init is an array of coordinates")
        refuse_non_numbers(self.init, "init")
        refuse_large_integers(self.init, "init")
        if self.init.shape != (n, self.n_components) or not np.isfinite(self.init).all():
            raise ParameterError(
                f"init has the shape {self.init.shape}; expected finite numbers of shape "
                f"{(n, self.n_components)}: coordinates of every row.",
                "init",
            )
        return self.init.astype(np.float64)

    def _check_weights(self, n: int) -> Reals | str | None:
        if self.weights is None or isinstance(self.weights, str):
            return self.weights
        refuse_non_numbers(self.weights, "weights")
        refuse_large_integers(self.weights, "weights")
        W = self.weights.astype(np.float64)
        symmetric = W.shape == (n, n) and np.array_equal(W, W.T)
        if not symmetric or not np.isfinite(W).all() or (W < 0).any():
            raise ParameterError(
                f"weights has the shape {W.shape}; expected a symmetric matrix of shape {(n, n)} "
                "of finite numbers >= 0, one per pair (0: leave it out).",
                "weights",
            )
        return W

    def _starts(self, init: Reals | str, D: Reals, rows: Indices, seed: int) -> Iterator[Reals]:
        """Given coordinates of the rows; or classical scaling, and then random ones."""
        n, k = len(D), self.n_components
        if isinstance(init, np.ndarray):
            yield init[rows] - init[rows].mean(0)
            return
        for number in range(self.n_init):
            if number == 0 and init == "classical_mds":
                product = half_squares(complete_by_paths(D))
                start = initial_scaling(product, n, k, seed, D.dtype)
                rank = int(start.any(0).sum())
                if k > rank:
                    warn(
                        f"n_components={k}, but only {rank} eigenvalues are positive; the other "
                        "columns are 0.",
                        RankWarning,
                    )
                yield start
            else:
                spread = np.sqrt(np.nanmean(np.square(D, dtype=np.float64)) / (2 * k))
                drawn = random.normals(seed, f"start {number}", (n, k))
                yield (drawn - drawn.mean(0)) * spread

    def _plan(self, n: int, d: int, itemsize: int) -> dict[str, int]:  # noqa: ARG002
        most = n if n <= self.landmarks_above else self.automatic_landmarks
        m = min(n, self.n_landmarks or most)
        copies = 2 if self.metric == "precomputed" else 1
        weights = 0 if self.weights is None else m * m * (itemsize + 8)
        return {"distances": copies * m * m * itemsize, "weights": weights}


class NonMetricMDS(MDS):
    """Non-metric multidimensional scaling: distances in the order of the dissimilarities.

    Use it when dissimilarities are judgments or scores of which only the order can be trusted. An
    increasing function from dissimilarities to distances (disparities) is fitted together with the
    embedding.

    Every step fits the disparities by isotonic regression (pooling adjacent violators, in an order
    that is sorted once), scales them to mean square 1, so that points cannot coincide, and takes
    the Guttman transform toward them.

    Cost: n²/2 pairs of 25 bytes; a step takes five to seven times as long as one of `MDS`.
    New points: dissimilarities go through the fitted function, then as in `MDS`.

    Parameters
    ----------
    n_components : int, default=2
        Number of dimensions of the embedding.
    metric : str or callable, default="euclidean"
        A name ("euclidean", "sqeuclidean", "cosine", "correlation", "manhattan", "chebyshev",
        "minkowski", "hamming", "jaccard", "canberra", "braycurtis", "dice", "hellinger",
        "haversine"), "gower" for tables of numbers and categories, "precomputed", or f(a, b) ->
        number for any objects. Of "precomputed" distances NaN is missing, and 0 means the same
        object.
    metric_params : dict or None, default=None
        Parameters of the metric: {"p": 3} for "minkowski", {"weights": [...]} for "gower", or
        keywords of a callable.
    weights : "sammon", ndarray or None, default=None
        A symmetric matrix, one number >= 0 per pair; "sammon": 1 / distance, Sammon's mapping;
        None: all alike. A new point's distances weigh 1 each, or 1 / distance for "sammon".
    init : {"classical_mds", "random"} or ndarray, default="classical_mds"
        The coordinates to start from, or how they are found.
    n_init : int, default=1
        Number of starts, all but a classical one random, of which the lowest stress is kept.
    max_iter : int, default=300
        A path ends after so many steps.
    eps : float, default=1e-06
        Or when a step promises less than this share of the stress.
    n_landmarks : int or None, default=None
        Embed that many rows exactly and map the others: linear cost in n. None takes 2,000 of more
        than 20,000 rows, and otherwise all.
    random_state : int, RandomState, Generator or None, default=None
        Seed of landmarks and random starts. None is 0.
    ties : {"primary", "secondary"}, default="primary"
        "primary": equal dissimilarities may become different distances; "secondary": they may not.
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
        Coordinates of the training rows: centered, on their principal axes, with distances of mean
        square about 1.
    isotonic_x_, isotonic_y_ : ndarray of shape (n_corners,)
        Corners of the fitted function, linear between, constant beyond.
    stress_ : float
        Σ w (δ̂ - d)² over pairs (of landmarks, if there are any), with the function's values for δ̂
        and d of the returned points.
    stress1_ : float
        Kruskal's Stress-1, √(Σ w (d̂ - d)² / Σ w d²), d̂ the isotonic regression of d.
    normalized_stress_ : float
        The same: the regression has the best scale.
    stress_history_ : ndarray of shape (n_iter + 1,)
        Raw stress before every step and at the end; it never rises.
    n_iter_ : int
        Number of steps.
    converged_ : bool
        Whether the path ended before `max_iter` steps.
    landmarks_ : ndarray of shape (n_landmarks,)
        Numbers of the landmarks, if there are any.
    route_ : str
        "all pairs" or "landmarks".
    n_components_ : int
        Dimension of the embedding.
    n_samples_, n_features_in_ : int
        Numbers of rows and columns of the training data.
    seed_ : int
        The seed that was used.

    References
    ----------
    Kruskal (1964), Psychometrika 29, both papers; Borg and Groenen (2005), chapter 9.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> D = np.linalg.norm(X[:, None] - X, axis=2)
    >>> model = lowd.NonMetricMDS(2, metric="precomputed", ties="secondary").fit(D**3)
    >>> model.stress1_ < 0.01  # the cubes have the order of the distances
    True
    """

    ties: Literal["primary", "secondary"] = "primary"

    confidence_curve = (3.4, 0.46, 0.25, 0.4)
    is_ordinal = True

    isotonic_x_: Reals = state("n_corners")
    isotonic_y_: Reals = state("n_corners")

    def _stress(self, D: Reals, W: Reals | None) -> Stress:
        return ordinal_stress(D, W, self.ties)

    def _disparities(self, D: Reals) -> Reals:
        return np.asarray(np.interp(D, self.isotonic_x_, self.isotonic_y_))

    def _report(self, stress: Stress, Y: Reals, path: Path) -> None:
        super()._report(stress, Y, path)
        # SMACOF keeps the sum of squared disparities fixed; Kruskal's are those of the best scale.
        self.stress1_ = self.normalized_stress_
        assert isinstance(stress, OrdinalStress)
        self.isotonic_x_, self.isotonic_y_ = stress.corners(Y)

    def _plan(self, n: int, d: int, itemsize: int) -> dict[str, int]:
        most = n if n <= self.landmarks_above else self.automatic_landmarks
        m = min(n, self.n_landmarks or most)
        return {**super()._plan(n, d, itemsize), "order of pairs": 17 * m * m}


# -- stress ----------------------------------------------------------------------------------------


class Step(NamedTuple):
    """What an embedding Y has of stress, and B(Y) Y, which the Guttman transform needs."""

    stress: float  # Σ w (δ̂ - d)²
    eta2: float  # Σ w d²
    rho: float  # Σ w δ̂ d
    BY: Reals

    @property
    def total(self) -> float:
        """Σ w δ̂², of the disparities."""
        return self.stress - self.eta2 + 2 * self.rho

    @property
    def normalized(self) -> float:
        """√(1 - c²), where c is the cosine of disparities and distances."""
        both = self.total * self.eta2
        away = 1 - self.rho / both * self.rho if both > 0 else 0.0
        return float(np.sqrt(max(away, 0.0)))


class Stress:
    """The stress of embeddings whose distances should be the dissimilarities D."""

    def __init__(self, D: Reals, W: Reals | None) -> None:
        self.D, self.W = np.ascontiguousarray(D), W

    def step(self, Y: Reals) -> Step:
        BY, Y = np.empty(Y.shape), np.ascontiguousarray(Y)
        return Step(*_native.guttman(self.D, self.W, Y, BY, threads()), BY)


class OrdinalStress(Stress):
    """The same of distances that should have the order of D.

    Disparities are the isotonic regression of the distances, scaled to mean square 1. The pairs are
    sorted once.
    """

    def __init__(self, D: Reals, W: Reals | None, ties: str) -> None:
        super().__init__(D, W)
        poll = progress.step("sorting dissimilarities")
        self.regression = _native.MonotoneRegression(
            self.D, self.W, ties == "primary", threads(), poll
        )

    def step(self, Y: Reals) -> Step:
        BY, Y = np.empty(Y.shape), np.ascontiguousarray(Y)
        return Step(*self.regression.step(Y, BY, threads()), BY)

    def corners(self, Y: Reals) -> tuple[Reals, Reals]:
        """The function from dissimilarities to disparities, by its corners."""
        pairs, y = self.regression.disparity_function(np.ascontiguousarray(Y), threads())
        if not len(pairs):  # of one row
            return np.zeros(1), np.zeros(1)
        return self.D[pairs[:, 0], pairs[:, 1]].astype(np.float64), y.copy()


@overridable
def metric_stress(D: Reals, W: Reals | None) -> Stress:
    """The stress that metric MDS minimizes."""
    return Stress(D, W)


@overridable
def ordinal_stress(D: Reals, W: Reals | None, ties: str) -> OrdinalStress:
    """The stress that non-metric MDS minimizes."""
    return OrdinalStress(D, W, ties)


def pair_weights(given: Reals | str | None, D: Reals, rows: Indices) -> Reals | None:
    """The weight of every pair of `rows`, or None if all are 1; a missing pair (NaN) has none."""
    W = None
    if isinstance(given, np.ndarray):
        W = given[np.ix_(rows, rows)].astype(D.dtype)
    elif given is not None:  # Sammon's
        W = np.divide(1, D, out=np.zeros_like(D), where=D > 0)
        W = W if W.any() else None
    if not np.isnan(D.max(initial=0)):
        return W
    return np.where(np.isnan(D), 0, 1 if W is None else W).astype(D.dtype)


def check_connected(W: Reals, rows: Indices) -> None:
    """Refuse weights whose graph is not connected: components would have no relative position."""
    others = np.count_nonzero(W, axis=1) - (np.diagonal(W) != 0)
    if (others == len(W) - 1).any():
        return  # one row is connected to all others
    count, part = connected_components(csr_array(W > 0), directed=False)
    if count > 1:
        first = int(rows.argmin())
        other = int(rows[part != part[first]].min())
        raise DataError(
            f"the known distances of positive weight form {count} connected components: row "
            f"{rows[first]} and row {other} are not linked by any chain of them; fit each "
            "component on its own."
        )


# -- majorization ----------------------------------------------------------------------------------


class Path(NamedTuple):
    """Where the iteration ended, and the stress of every iterate."""

    Y: Reals
    history: Reals
    converged: bool


def smacof(
    stress: Stress, W: Reals | None, starts: Iterator[Reals], max_iter: int, eps: float
) -> Path:
    """The embedding of least stress from several starts."""
    solve, diagonal = invert_weights(W, len(stress.D))
    paths = (majorize(stress, solve, diagonal, start, max_iter, eps) for start in starts)
    best = min(paths, key=lambda path: float(path.history[-1]))
    if not best.converged:
        warn(
            f"the stress was still falling after max_iter={max_iter} steps; raise max_iter or eps.",
            ConvergenceWarning,
        )
    return best


def invert_weights(W: Reals | None, n: int) -> tuple[Callable[[Reals], Reals], Reals]:
    """How V⁺ is applied (V = diag(W1) - W, whose kernel are the constants), and V's diagonal."""
    if W is None:
        return lambda M: M / n, np.full(n, float(n))
    V = -W.astype(np.float64)
    np.fill_diagonal(V, 0)
    diagonal = -V.sum(1)
    V[np.diag_indices(n)] = diagonal
    V += diagonal.mean() / n  # invertible, and the same on what sums to 0
    factor = scipy.linalg.cho_factor(V, lower=True, overwrite_a=True, check_finite=False)

    def solve(M: Reals) -> Reals:
        X = scipy.linalg.cho_solve(factor, M, check_finite=False)
        return np.asarray(X - X.mean(0))

    return solve, diagonal


def majorize(
    stress: Stress,
    solve: Callable[[Reals], Reals],
    diagonal: Reals,
    start: Reals,
    max_iter: int,
    eps: float,
    relaxation: float = 1.8,
) -> Path:
    """Guttman transforms Y ← V⁺ B(Y) Y until one promises less than `eps` of the stress.

    A step may be up to twice as long without raising the stress (de Leeuw and Heiser, 1980), since
    the majorizing parabola is as high there; and Anderson mixing (1965) extrapolates from earlier
    steps. Where that would raise the stress the plain step, which cannot, is taken, and the earlier
    steps are forgotten.
    """
    first = stress.step(start)
    Y = start * (first.rho / first.eta2 if first.eta2 > 0 else 1.0)  # the best scale
    at, mixing = stress.step(Y), AndersonMixing()
    history = [at.stress]
    for n_iter in range(max_iter):
        change = solve(at.BY) - Y
        gain = float(diagonal @ np.square(change).sum(1))
        if gain <= eps * at.stress or at.stress <= 1e-24 * at.total:  # or all but rounding is gone
            return Path(Y, np.array(history), True)
        plain = Y + relaxation * change
        trial = mixing.extrapolate(Y, plain)
        new = stress.step(trial)
        if not new.stress < at.stress:
            mixing = AndersonMixing()
            trial = plain
            new = stress.step(trial)
        if not new.stress < at.stress:  # by rounding: there is nothing to gain
            return Path(Y, np.array(history), True)
        Y, at = trial, new
        history.append(at.stress)
        progress.report("majorization", n_iter + 1, max_iter)
    return Path(Y, np.array(history), False)


class AndersonMixing:
    """Differences of the last iterates and of their steps (Anderson, 1965)."""

    def __init__(self, memory: int = 8, ridge: float = 1e-10) -> None:
        self._last: tuple[Reals, Reals] | None = None
        self._iterates: deque[Reals] = deque(maxlen=memory)
        self._changes: deque[Reals] = deque(maxlen=memory)
        self._ridge = ridge  # of the Gram matrix's trace, which leaves six digits of the shares

    def extrapolate(self, Y: Reals, reached: Reals) -> Reals:
        """The fixed point of the iteration, were its steps linear in the iterate."""
        step = reached - Y
        last, self._last = self._last, (reached, step)
        if last is None:
            return reached
        self._iterates.append((reached - last[0]).ravel())
        self._changes.append((step - last[1]).ravel())
        iterates, changes = np.array(self._iterates), np.array(self._changes)
        gram = changes @ changes.T
        gram.flat[:: len(gram) + 1] += self._ridge * gram.trace()
        shares = np.linalg.solve(gram, changes @ step.ravel())
        return np.asarray(reached - (shares @ iterates).reshape(Y.shape))


def rotate_to_principal_axes(Y: Reals) -> Reals:
    """Centered, rotated to principal axes, signs fixed; columns of zeros stay such, and last."""
    Y = Y - Y.mean(0)
    used = Y.any(0)
    rotated = np.zeros_like(Y)
    if used.any():
        part = Y[:, used]
        unit = part / np.abs(part).max()
        part = part @ np.linalg.eigh(unit.T @ unit)[1][:, ::-1]
        rotated[:, : part.shape[1]] = part * signs(part)
    return rotated


# -- order and starts ------------------------------------------------------------------------------


def order_by_content(space: Space, weights: Reals | str | None, init: Reals | str) -> Indices:
    """The points in an order that only their content determines, weights and start included."""
    known = [init] if isinstance(init, np.ndarray) else []
    if isinstance(weights, np.ndarray):
        known.append(hash_symmetric(weights))
    return space.order(*known)


def complete_by_paths(D: Reals) -> Reals:
    """Missing dissimilarities as the lengths of shortest paths along known ones."""
    if not np.isnan(D.max(initial=0)):
        return D
    missing = np.isnan(D)
    rows = np.flatnonzero(missing.any(1))
    known = np.nonzero(~missing)
    edges = csr_array((D[known], known), shape=D.shape)
    paths = allocate((len(rows), len(D)), D.dtype, "paths along known distances", "use landmarks")
    sources = np.arange(len(rows) + 1), rows.astype(np.int32)
    _native.shortest_paths(
        *native_parts(edges), *sources, None, paths, threads(), progress.step("paths")
    )
    D = D.copy()
    D[rows] = np.where(missing[rows], paths, D[rows])
    return np.asarray((D + D.T) / 2, D.dtype)


# -- new points ------------------------------------------------------------------------------------


def gower_axes(Y: Reals) -> tuple[Reals, Reals]:
    """Mean squared distances in the embedding Y, and Y (Y'Y)⁺: Gower's formula for new points."""
    norms = np.square(Y - Y.mean(0)).sum(1)
    used = Y.any(0)
    axes = np.zeros_like(Y)
    if used.any():
        axes[:, used] = np.linalg.pinv((Y - Y.mean(0))[:, used]).T
    return norms + norms.mean(), axes


@overridable
def multilaterate(
    T: Reals,
    W: Reals | None,
    embedded: Reals,
    start: Reals,
    max_iter: int,
    tolerance: float = 1e-10,
) -> tuple[Reals, Reals]:
    """Points whose distances to embedded ones are nearest to T, each by itself, and their stress.

    This is SMACOF with all points but one fixed. It ends when a step is shorter than `tolerance`,
    a share of the distances.
    """
    Y, stress = np.array(start, np.float64), np.empty(len(start))
    poll = progress.step("new points")
    embedded = np.ascontiguousarray(embedded, np.float64)
    _native.multilaterate(T, W, embedded, max_iter, tolerance, Y, stress, threads(), poll)
    return Y, stress
