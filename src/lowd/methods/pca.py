"""Principal component analysis (Pearson, 1901; Hotelling, 1933)."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse, vstack
from sklearn.utils.validation import check_is_fitted

from .. import confidence, random
from ..backend import chunks, overridable
from ..blocks import RowBlocks, is_blocks
from ..errors import (
    ConvergenceWarning,
    DataError,
    RankWarning,
    RestartWarning,
    ScaleWarning,
    UnsupportedError,
    warn,
)
from ..input.validation import validate_weights
from ..linalg.eigen import block_width, canonical, dense_eigenpairs, equal_groups, next_of
from ..linalg.principal import (
    EPS,
    Axes,
    column_means,
    column_scatter,
    draw_rows,
    from_scatter,
    principal_axes,
    project,
    refined,
    route_costs,
    scatter,
    scatter_product,
    with_rounding,
)
from ..linalg.scree import Rule, choose_by_rule, count_for_variance
from ..parameters import Count, Held, Limit, Reals, Seed, Share, check_count, state
from ..reducer import Reducer


class PCA(Reducer):
    """Principal component analysis: the orthogonal directions of largest variance.

    Use it first on any numeric table: it is fast, exact, linear and invertible. It cannot unfold
    curved structure; compare a non-linear method where the spectrum decays slowly.

    Cost: n·d² + d³ operations by the covariance matrix, n²·d by the Gram matrix for n < d, 24·n·d·k
    by Krylov products for few axes. New rows: y = (x - mean) / scale · components', a product.

    Parameters
    ----------
    n_components : int, float, str or None, default=None
        How many axes: a count, a share of the variance to keep (0.95), None for all, or a rule for
        the whole spectrum, which keeps one axis at least: "kaiser", "broken_stick", "elbow",
        "profile_likelihood", "gavish_donoho" (see `lowd.dimension`), "mle" (Minka, 2000).
    whiten : bool, default=False
        Divide each coordinate by its standard deviation, so that all axes count the same.
    scale : bool, default=False
        Divide each column by its standard deviation first: for columns in different units.
    center : bool, default=True
        Subtract the mean. False fits the best subspace through the origin.
    ddof : int, default=1
        Divide by n - ddof: 1 is the unbiased variance, 0 the population's.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the Krylov start, which affects rounding only. None is 0.
    backend : {"auto", "native", "torch"}, default="auto"
        What computes: the native core, or torch, on a GPU if there is one. "auto" is the native
        core, unless X is a tensor on a GPU.
    n_jobs : int or None, default=None
        Number of threads, which does not change the result. None and -1 are all CPUs.
    verbose : bool or int, default=False
        Show a progress bar on standard error.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The axes, one per row.
    n_components_ : int
        How many there are.
    mean_, scale_ : ndarray of shape (n_features,)
        What is subtracted from each column, and what it is divided by.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        The variance along each axis, and its share of all variance.
    singular_values_ : ndarray of shape (n_components,)
        Those of the centered rows.
    scatter_eigenvalues_ : ndarray of shape (n_components,)
        Their squares, the eigenvalues of the scatter matrix.
    total_variance_ : float
        The variance of all columns together.
    noise_variance_ : float
        The mean variance along the axes that were left out.
    rank_ : int
        How many of the axes that were computed have variance above rounding.
    solver_ : str
        The route to the axes: "covariance", "gram", "krylov" or "svd"; "randomized" of many columns
        in blocks.
    residual_ : float
        The largest |C v - λ v| / λ₁ where the route was iterative, else 0.
    degenerate_axes_ : tuple of tuple of int
        Groups of axes with equal variance, of which any rotation is as good.
    n_samples_ : int or float
        Number of rows seen; with weights their sum.
    moments_ : Moments
        After `partial_fit`: the weight, mean and scatter matrix of all rows, to continue from.
    seed_ : int
        Seed of the Krylov start.

    References
    ----------
    Pearson (1901), Philosophical Magazine 2; Tipping and Bishop (1999), probabilistic PCA; Musco
    and Musco (2015), block Krylov methods.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> X = np.array([[10.0, 90.0], [6.0, 68.0], [20.0, 95.0]])
    >>> pca = lowd.PCA(1).fit(X)
    >>> pca.transform([[12.0, 80.0]]).round(4)
    array([[-3.9572]])
    >>> round(float(pca.explained_variance_ratio_[0]), 4)
    0.9473
    """

    n_components: Count | Share | Rule | None = None
    whiten: bool = False
    scale: bool = False
    center: bool = True
    ddof: Annotated[int, Limit(">=", 0), Limit("<=", 1)] = 1
    random_state: Seed = None

    adds_rows_up = True
    takes = frozenset({"sparse", "blocks"})
    spreads = True
    takes_statistics = True

    components_: Reals = state("n_components n_features_in_")
    n_components_: int = state()
    mean_: Reals = state("n_features_in_")
    scale_: Reals = state("n_features_in_")
    explained_variance_: Reals = state("n_components")
    explained_variance_ratio_: Reals = state("n_components")
    singular_values_: Reals = state("n_components")
    scatter_eigenvalues_: Reals = state("n_components")
    total_variance_: float = state()
    noise_variance_: float = state()
    rank_: int = state()
    solver_: str = state()
    residual_: float = state()
    degenerate_axes_: tuple[tuple[int, ...], ...] = state()
    n_samples_: int | float = state()  # type: ignore[assignment]
    moments_: Moments = state()
    _sampled: confidence.SampledRows = state()

    # -- fit -----------------------------------------------------------------------------------

    def fit(  # type: ignore[override]
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the axes; `sample_weight` counts a row that many times."""
        if sample_weight is not None and is_blocks(X):
            raise UnsupportedError("sample_weight of rows in blocks: repeat or scale rows instead.")
        self._learn(X, y, weights=sample_weight)
        return self

    def fit_transform(  # type: ignore[override]
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Any:
        """Learn the axes and return the coordinates of the rows on them."""
        if is_blocks(X):
            return self.fit(X, y, sample_weight).transform(X)
        return self._learn(X, y, weights=sample_weight, embed=True)

    def partial_fit(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add a batch of rows: as one fit to all batches, once they have `n_components` rows."""
        continuing = hasattr(self, "moments_")
        if not continuing and self.__sklearn_is_fitted__():
            warn(
                "this PCA was fitted by fit, which keeps no moments to add to; partial_fit begins "
                "anew. Feed every batch to partial_fit to learn from all of them.",
                RestartWarning,
            )
        self._learn(X, y, weights=sample_weight, batch=True, continuing=continuing)
        return self

    def _fit(
        self,
        X: Any,
        y: object,  # noqa: ARG002
        seed: int,
        weights: ArrayLike | None = None,
        batch: bool = False,
        statistics: Any = None,
    ) -> None:
        if batch:
            self._add(X, weights)
            if self._is_waiting():
                return
        # 1. The eigenvectors of the scatter matrix of the rows, or of all batches.
        found = axes_of(self.moments_ if batch else X, self, seed, weights, statistics)
        axes, n = found.axes, found.weight
        self.mean_ = found.mean
        self.scale_ = np.ones(len(found.mean)) if found.units is None else found.units
        self.solver_, self.residual_ = axes.route, axes.residual
        self.n_samples_ = int(n) if n.is_integer() else n

        # 2. How many of them count. What is rounding is 0, so that whitening does not blow it up.
        self.rank_ = rank = axes.rank
        values = np.where(np.arange(len(axes.values)) < rank, axes.values, 0)
        k = self._choose_count(values, found)
        if self._wanted is not None and k > rank:
            warn(
                f"n_components={k}, but the data have rank {rank}; the other coordinates are 0.",
                RankWarning,
            )
        following = next_of(values, k, axes.following)
        values = np.concatenate([values[:k], np.zeros(max(k - len(values), 0))])

        # 3. One answer: fixed signs, and a fixed basis where variances are equal.
        dtype, held = np.dtype(np.float32 if self._float32 else np.float64), min(k, rank)
        self.degenerate_axes_ = groups = equal_groups(
            values[:held], dtype, following=following if held == k else 0.0
        )
        W = np.zeros((len(found.mean), k), dtype)
        W[:, :held] = canonical(values[:held], axes.vectors[:, :held], dtype, groups=groups)
        self.components_, self.n_components_ = W.T, k

        # 4. Variances.
        freedom = max(n - self.ddof, 0)
        self.scatter_eigenvalues_ = values
        self.singular_values_ = np.sqrt(values)
        self.explained_variance_ = values / freedom if freedom else values * 0
        self.explained_variance_ratio_ = values / axes.total if axes.total > 0 else values * 0
        self.total_variance_ = axes.total / freedom if freedom else 0.0
        left, others = max(axes.total - values.sum(), 0), found.most - k
        self.noise_variance_ = left / others / freedom if others > 0 and freedom else 0.0
        self._n_features_out = k
        if not self.scale:
            self._warn_of_dominant_column()

        # 5. Some of the rows, by the distance to which new ones are judged.
        rows = self._sampled.rows if batch else found.sample
        self._sampled = confidence.SampledRows(rows, found.units)

    @property
    def _wanted(self) -> int | None:
        """The number of components, if it is known before the spectrum."""
        asked = self.n_components
        return int(asked) if isinstance(asked, int | np.integer) else None

    def _choose_count(self, values: Reals, found: WholeAxes) -> int:
        """The number of components: a count, a share of the variance, or a rule."""
        asked, total = self.n_components, found.axes.total
        if asked is None:
            return found.most
        if self._wanted is not None:
            return self._wanted
        if total <= 0:
            return 1
        if isinstance(asked, str):
            return max(1, choose_by_rule(asked, values, found.weight, len(found.mean)))
        return min(count_for_variance(values, float(asked), total), found.most)

    def _warn_of_dominant_column(self) -> None:
        """Warn if one column has nearly all of the variance: the first axis is that column."""
        ratio, names = self.explained_variance_ratio_, getattr(self, "feature_names_in_", None)
        if len(self.mean_) < 2 or not ratio.any():
            return
        share = np.square(self.components_.T, dtype=np.float64) @ ratio
        column = int(share.argmax())
        if share[column] > 0.99:
            name = f"column {column}" if names is None else f"column {names[column]!r}"
            warn(
                f"{name} has {share[column]:.1%} of the variance, so the first axis is that "
                "column; if columns have different units, set scale=True.",
                ScaleWarning,
            )

    # -- batches -------------------------------------------------------------------------------

    def _add(self, X: Any, weights: ArrayLike | None) -> None:
        """Add a batch to the moments, and to the sample of the rows."""
        if isinstance(X, RowBlocks):
            raise UnsupportedError("partial_fit takes batches in memory; fit takes all blocks.")
        w = validate_weights(weights, X.shape[0])
        new = Moments.of(X, w, self.ddof)
        sample = confidence.SampledRows.of(X if w is None else X[w > 0]).rows
        if hasattr(self, "moments_"):
            new = self.moments_.merge(new)
            sample = merge_samples(self._sampled.rows, sample)
        self.moments_, self._sampled = new, confidence.SampledRows(sample)

    def _is_waiting(self) -> bool:
        """Whether the batches have too few rows yet; then the model waits for more."""
        needed, seen = self._wanted or 1, self.moments_.weight
        if not seen < needed <= len(self.moments_.mean):
            return False
        self.n_components_ = self._n_features_out = needed
        self.n_samples_ = int(seen) if seen.is_integer() else seen
        return True

    def _require_axes(self) -> None:
        if not hasattr(self, "components_"):
            needed, seen = self.n_components_, self.moments_.weight
            raise DataError(
                f"partial_fit has seen {seen:g} rows, but n_components={needed} needs {needed}; "
                f"add {needed - seen:g} or more by partial_fit first."
            )

    # -- new rows ------------------------------------------------------------------------------

    def _transform(self, Q: Any) -> tuple[Reals, None]:
        self._require_axes()
        W = self.components_.T  # contiguous, as `_fit` made it
        if self.whiten or self.scale:
            W = W / self.scale_[:, None] / self._spread()
        return project(Q, self.mean_, W), None

    def _inverse_transform(self, Y: Reals) -> Reals:
        self._require_axes()
        W = self.components_
        if self.whiten or self.scale:
            W = W * self.scale_ * np.where(self.explained_variance_ > 0, self._spread(), 0)[:, None]
        return project(Y, None, W, self.mean_)

    def _spread(self) -> Reals:
        """What each coordinate is divided by; one without variance is 0 and stays so."""
        if not self.whiten:
            return np.ones(self.n_components_)
        return np.sqrt(np.where(self.explained_variance_ > 0, self.explained_variance_, 1))

    def _familiarity(self, Q: Any, used: None) -> Reals:  # noqa: ARG002
        return self._sampled.familiarity(Q)

    def _own_share(self) -> float:
        kept = float(self.explained_variance_.sum())
        left = max(self.total_variance_ - kept, 0) / self.n_samples_
        return left * self.n_components_ / kept if kept > 0 else 0.0

    # -- probabilistic PCA ---------------------------------------------------------------------

    def get_covariance(self) -> Reals:
        """Covariance matrix of the columns: of the components, and one noise variance beyond."""
        V, variances, noise = self._density()
        C = (V.T * (variances - noise)) @ V + noise * np.eye(V.shape[1])
        return np.asarray(C * np.outer(self.scale_, self.scale_))

    def get_precision(self) -> Reals:
        """The inverse of the covariance matrix, by Woodbury's identity."""
        V, variances, noise = self._density(regular=True)
        (k, d), inverse = V.shape, 1 / variances
        P = (V.T * (inverse - 1 / noise)) @ V + np.eye(d) / noise if k < d else (V.T * inverse) @ V
        return np.asarray(P / np.outer(self.scale_, self.scale_))

    def score_samples(self, X: ArrayLike) -> Reals:
        """Log-likelihood of each row under the density of the model (probabilistic PCA)."""
        V, variances, noise = self._density(regular=True)
        k, d = V.shape
        determinant = 2 * np.log(self.scale_).sum() + np.log(variances).sum()
        determinant += (d - k) * np.log(noise) if k < d else 0.0
        with self._running(self.backend):
            rows = self._read(X, False)
        out = np.empty(rows.shape[0])
        for some in chunks(rows.shape[0], 2 * d):
            Z = (in_memory(rows[some]).astype(np.float64) - self.mean_) / self.scale_
            Y = Z @ V.T
            distance = (Y**2 / variances).sum(1)
            if k < d:
                distance += np.square(Z - Y @ V).sum(1) / noise
            out[some] = -0.5 * (d * np.log(2 * np.pi) + determinant + distance)
        return out

    def score(self, X: ArrayLike, y: object = None) -> float:  # noqa: ARG002
        """Mean log-likelihood of the rows."""
        return float(self.score_samples(X).mean())

    def _density(self, regular: bool = False) -> tuple[Reals, Reals, float]:
        """Axes, their variances and that of the noise, of a Gaussian density (`regular` or not)."""
        check_is_fitted(self)
        self._require_axes()
        V, noise = self.components_.astype(np.float64), float(self.noise_variance_)
        variances = np.maximum(self.explained_variance_, noise)
        (k, d), rank = V.shape, int((variances > 0).sum())
        if regular and not (rank == k and (k == d or noise > 0)):
            raise UnsupportedError(
                f"{k} components leave no variance in the other directions of {d} columns, so that "
                f"the density is singular; fit with n_components={max(1, rank - 1)} or fewer."
            )
        return V, variances, noise

    def _plan(self, n: int, d: int, itemsize: int) -> dict[str, int]:
        k, costs = self._wanted, route_costs(n, d, self._wanted, dense=True)
        route, small = min(costs, key=costs.__getitem__), min(n, d)
        plan = {"covariance" if d <= n else "inner products": 4 * small * small * 8}
        if route == "krylov":
            plan = {"vectors": 26 * d * block_width(k or 1) * 8}
        if n <= min(10 * d, 1500) and n * d <= 2e7:  # which may be left out of other fits
            plan["rows of other fits"] = n * d * itemsize
        return plan


# -- axes of all rows: in memory, in batches, in blocks -------------------------------------------


class WholeAxes(NamedTuple):
    """Principal axes of all rows, and what was subtracted from the rows and divided by."""

    axes: Axes
    mean: Reals
    units: Reals | None  # of the columns
    weight: float  # the number of rows, or the sum of their weights
    most: int  # as many axes as there can be
    sample: Any  # of the rows, the same in whichever order they come


@overridable
def axes_of(
    X: Any, how: PCA, seed: int, weights: ArrayLike | None = None, statistics: Any = None
) -> WholeAxes:
    """Principal axes of rows in memory, dense or sparse.

    `statistics` are the means and the hashes of the rows, where the check of the rows found them.
    """
    n, d = X.shape
    w = validate_weights(weights, n)
    weight = total_weight(w, n, how.ddof)
    counted = n if w is None else int(max((w > 0).sum(), np.ceil(weight)))
    k, most = how._wanted, min(counted, d)
    check_count(k, most, "n_components", f"n_samples={counted}, n_features={d}")
    mean, units = np.zeros(d), None
    if how.center:
        known = statistics is not None and w is None
        mean = refined(X, statistics.mean, None) if known else column_means(X, w)
    if how.scale:
        units = standard_deviations(column_scatter(X, mean, w), weight, how.ddof)
    dtype = np.float32 if how._float32 else np.float64
    axes = principal_axes(X, mean, k, seed, units=units, weights=w, dtype=dtype)
    hashes = None if statistics is None else statistics.priorities
    if w is not None and not w.all():  # rows without a weight are not there
        X, hashes = X[w > 0], None
    sample = confidence.SampledRows.of(X, hashes=hashes).rows
    return WholeAxes(axes, mean, units, weight, most, sample)


def total_weight(w: Reals | None, n: int, ddof: int) -> float:
    """The number of rows, or the sum of their weights, which must leave a degree of freedom."""
    total = float(n if w is None else w.sum())
    if w is not None and n > 1 and total <= ddof:
        raise DataError(
            f"sample_weight sums to {total:g}, but weights count rows; multiply them "
            f"by n_samples={n}, or set ddof=0."
        )
    return total


def standard_deviations(squares: Reals, n: float, ddof: int) -> Reals:
    """Standard deviations of columns; 1 for a constant column."""
    deviation = np.sqrt(np.maximum(squares, 0) / max(n - ddof, 1))
    return np.where(deviation > 0, deviation, 1.0)


class Moments(Held):
    """Weight, mean and centered scatter matrix of some rows, in float64."""

    weight: float = state()
    mean: Reals = state("n_features")
    scatter: Reals = state("n_features n_features")

    def __init__(self, weight: float, mean: Reals, scatter: Reals) -> None:
        self.weight, self.mean, self.scatter = weight, mean, scatter

    @classmethod
    def of(cls, X: Any, w: Reals | None = None, ddof: int = 0) -> Moments:
        """The moments of rows in memory."""
        mean = column_means(X, w)
        return cls(total_weight(w, X.shape[0], ddof), mean, scatter(X, mean, w))

    def merge(self, other: Moments) -> Moments:
        """Of both sets of rows together (Chan, Golub and LeVeque, 1979)."""
        weight = self.weight + other.weight
        if weight == 0:
            return self
        gap, share = other.mean - self.mean, other.weight / weight
        S = self.scatter + other.scatter + (self.weight * share) * np.outer(gap, gap)
        return Moments(weight, self.mean + share * gap, S)


@axes_of.register(Moments)
def _(X: Moments, how: PCA, *_: object) -> WholeAxes:
    """Principal axes of all batches, from their moments."""
    n, d, mean, S, units = X.weight, len(X.mean), X.mean, X.scatter, None
    k, most = how._wanted, int(min(np.ceil(n), d))
    check_count(k, most, "n_components", f"n_samples={n:g}, n_features={d}")
    if not how.center:
        mean, S = np.zeros(d), S + n * np.outer(mean, mean)
    if how.scale:
        units = standard_deviations(np.diagonal(S), n, how.ddof)
        S = S / np.outer(units, units)
    dtype = np.float32 if how._float32 else np.float64
    axes = from_scatter(S, k or most, dtype)
    standard = mean if units is None else mean / units
    axes = with_rounding(axes, n, standard, partial(np.diagonal, S), dtype)
    return WholeAxes(axes, mean, units, n, most, None)


@axes_of.register(RowBlocks)
def _(X: RowBlocks, how: PCA, seed: int, *_: object) -> WholeAxes:
    """Principal axes of rows in blocks, from their moments, which one pass finds.

    The scatter matrix of d columns has d² entries. For more than 4096 it is not formed; see
    `Sketch`.
    """
    if X.n_features > 4096:
        return axes_of_sketch(X, how, seed)
    moments, sample = X.reduce("moments", _sums_of_block, _merge_sums)
    if not moments.weight:
        raise DataError("the data have 0 rows, while a minimum of 1 is required.")
    return axes_of(moments, how, seed)._replace(sample=sample)


def _sums_of_block(X: Any) -> tuple[Moments, Any]:
    n, d = X.shape
    if not n:
        return Moments(0.0, np.zeros(d), np.zeros((d, d))), np.empty((0, d), X.dtype)
    return Moments.of(X), confidence.SampledRows.of(X).rows


def _merge_sums(a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
    return a[0].merge(b[0]), merge_samples(a[1], b[1])


class Sketch(NamedTuple):
    """S V of some rows, S being their centered scatter matrix, and the diagonal of S."""

    weight: float
    mean: Reals
    V: Reals
    SV: Reals
    squares: Reals

    def merge(self, other: Sketch) -> Sketch:
        """Of both sets of rows together, as `Moments` are."""
        weight = self.weight + other.weight
        if weight == 0:
            return self
        gap, share = other.mean - self.mean, other.weight / weight
        moved = self.weight * share * gap
        SV = self.SV + other.SV + np.outer(moved, gap @ self.V)
        squares = self.squares + other.squares + moved * gap
        return Sketch(weight, self.mean + share * gap, self.V, SV, squares)


def axes_of_sketch(X: RowBlocks, how: PCA, seed: int) -> WholeAxes:
    """Principal axes of many columns in two passes (Halko, Martinsson and Tropp, 2011).

    These are products with twice as many vectors as axes are wanted, and some; the second product
    gives the residual of every axis as well.
    """
    k, d, units, sample = how._wanted, X.n_features, np.ones(X.n_features), np.empty(0)
    if k is None:
        raise UnsupportedError(
            f"PCA(n_components={how.n_components!r}) of blocks needs the scatter matrix of all "
            f"{d} columns; beyond 4096 columns give a number of components."
        )

    def sketch(V: Reals) -> Sketch:
        nonlocal sample
        found: Sketch
        found, sample = X.reduce("products", _sketch_of_block, _merge_sums, V / units[:, None])
        if not found.weight:
            raise DataError("the data have 0 rows, while a minimum of 1 is required.")
        if how.center:
            return found
        moved = found.weight * found.mean
        SV = found.SV + np.outer(moved, found.mean @ found.V)
        return found._replace(SV=SV, squares=found.squares + moved * found.mean)

    if how.scale:  # which one more pass finds
        first = sketch(np.zeros((d, 0)))
        units = standard_deviations(first.squares, first.weight, how.ddof)
    Q = random.normals(seed, "start", (d, min(d, 2 * k + 20)))
    for _ in range(2):
        P = np.linalg.qr(Q)[0]
        found = sketch(P)
        Q = found.SV / units[:, None]
    n, most = found.weight, int(min(found.weight, d))
    check_count(k, most, "n_components", f"n_samples={n:g}, n_features={d}")
    values, Z, *_ = dense_eigenpairs((P.T @ Q + Q.T @ P) / 2, k)
    V = P @ Z
    size = max(float(values[0]), np.finfo(float).tiny)
    residual = float(np.linalg.norm(Q @ Z - V * values, axis=0).max() / size)
    if residual > 1e-3:  # over a gap of a tenth it is an angle of half a degree, which is seen
        warn(
            f"the principal axes of {d} columns come from two passes and have a relative residual "
            f"of {residual:.1e} (residual_); more components make the leading ones more accurate.",
            ConvergenceWarning,
        )
    dtype = np.dtype(np.float32 if how._float32 else np.float64)
    noise = max(EPS * np.sqrt(n * d), 1.2e-7 if how._float32 else EPS)
    mean, squares = found.mean if how.center else np.zeros(d), found.squares / units**2
    axes = Axes(values, V, float(squares.sum()), "randomized", residual, noise)
    axes = with_rounding(axes, n, mean / units, lambda: squares, dtype)
    return WholeAxes(axes, mean, units if how.scale else None, n, most, sample)


def _sketch_of_block(X: Any, V: Reals) -> tuple[Sketch, Any]:
    n, d = X.shape
    if not n:
        empty = Sketch(0.0, np.zeros(d), V, np.zeros(V.shape), np.zeros(d))
        return empty, np.empty((0, d), X.dtype)
    mean = column_means(X)
    SV = scatter_product(X, mean, V)[0] if V.shape[1] else np.zeros(V.shape)
    sketch = Sketch(float(n), mean, V, SV, column_scatter(X, mean))
    return sketch, confidence.SampledRows.of(X).rows


def merge_samples(a: Any, b: Any) -> Any:
    """A sample of all rows from samples of two parts of them, sparse if both are."""
    if issparse(a) and issparse(b):
        rows = csr_array(vstack([a, b]))
    else:
        rows = np.vstack([in_memory(a), in_memory(b)])
    return draw_rows(rows, confidence.sample_size(rows))


def in_memory(X: Any) -> Reals:
    """Rows as a dense array."""
    return np.asarray(X.toarray() if issparse(X) else X)
