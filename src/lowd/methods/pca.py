"""Principal component analysis (Pearson, 1901; Hotelling, 1933)."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np

from ..backends.protocol import Float64, Moments
from ..confidence.support import SupportMetric
from ..core.estimator import Reducer, reducer
from ..core.fit import Context, Fit
from ..core.parameters import AtLeast, AtMost, Count, Seed, Share, check_count
from ..errors import DataError, RankWarning, RestartWarning, ScaleWarning, UnsupportedError, warn
from ..input import blocks
from ..input.validation import Data, validate_weights
from ..maps.linear import LinearMap
from ..solvers import scree
from ..solvers.canonical import canonical_basis
from ..solvers.memory_plans import plan_pca
from ..solvers.pca import (
    Axes,
    CenteredRows,
    axes_from_moments,
    column_scatter,
    input_noise,
    principal_axes,
)
from ..solvers.thresholds import EQUAL_EIGENVALUES


@reducer
class PCA(Reducer):
    """Principal component analysis: the orthogonal directions of largest variance.

    Use it first on any numeric table: it is fast, exact, linear and invertible. It cannot unfold
    curved structure; compare a non-linear method where the spectrum decays slowly.

    Cost: n·d² + d³ operations and d² numbers by the covariance matrix, n²·d by the Gram matrix for
    n < d, 24·n·d·k by Krylov products for few components; the cheapest is chosen and reported.
    New rows: y = (x - mean) / scale · components', a matrix product.

    Parameters
    ----------
    n_components
        How many axes: a count, a share of the variance to keep (0.95), None for
        min(n_samples, n_features), or a rule that looks at the whole spectrum and keeps one axis at
        least: "kaiser", "broken_stick", "elbow", "profile_likelihood", "gavish_donoho" (see
        `lowd.dimension`).
    whiten
        Divide each coordinate by its standard deviation, so that all axes count the same.
    scale
        Divide each column by its standard deviation first: for columns in different units.
    center
        Subtract the mean. False fits the best subspace through the origin.
    ddof
        Divide by n - ddof: 1 is the unbiased variance, 0 the population's.
    random_state
        Seed of the Krylov start, which affects rounding only. None is 0.

    Attributes
    ----------
    components_, mean_, scale_ : axes (one per row), and what was subtracted and divided by
    explained_variance_, explained_variance_ratio_, singular_values_, noise_variance_,
    total_variance_, scatter_eigenvalues_ : the spectrum; ratios are of the whole variance
    rank_ : number of axes with variance above rounding, among those computed
    solver_, residual_ : the route, and |C v - λ v| / λ₁ where it was iterative
    degenerate_axes_ : groups of axes with equal variance, whose directions are a convention
    n_samples_ : rows seen (with weights: their sum)
    moments_ : weight, mean and scatter after `partial_fit`, from which it continues

    References
    ----------
    Pearson (1901), Philosophical Magazine 2; Musco and Musco (2015), block Krylov methods.

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

    n_components: Count | Share | scree.Rule | None = None
    whiten: bool = False
    scale: bool = False
    center: bool = True
    ddof: Annotated[int, AtLeast(0), AtMost(1)] = 1
    random_state: Seed = None

    accepts_sparse = True
    memory_plan = plan_pca

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Learn the axes; `sample_weight` counts a row as that many copies."""
        self._learn(X, weights=sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:  # noqa: ARG002
        """Learn the axes and return the coordinates of the rows on them."""
        return self._learn(X, embed=True, weights=sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Add a batch of any size: the result is that of one fit on all batches together."""
        so_far = getattr(self, "moments_", None)
        if so_far is None and hasattr(self, "map_"):
            warn(
                "this PCA was fitted by fit, which keeps no moments to add to; partial_fit begins "
                "anew. Feed every batch to partial_fit to learn from all of them.",
                RestartWarning,
            )
        self._learn(
            X, continuing=so_far is not None, weights=sample_weight, so_far=so_far, streaming=True
        )
        return self

    def _fit(
        self,
        data: Data,
        ctx: Context,
        weights: Any = None,
        so_far: Moments | None = None,
        streaming: bool = False,
    ) -> Fit:
        X, (n, d) = data.items, data.shape
        w = validate_weights(weights, n)
        total = float(n if w is None else w.sum())
        if w is not None and n > 1 and total <= self.ddof:
            raise DataError(
                f"sample_weight sums to {total:g}, but weights count copies of rows; multiply them "
                f"by n_samples={n}, or set ddof=0."
            )
        sums = (
            ctx.statistics.sums
            if w is None and ctx.statistics
            else ctx.ops.column_statistics(X, w).sums
        )
        if streaming:
            new = ctx.ops.scatter(X, sums / total, w).moments()
            return self._from_moments(new if so_far is None else so_far.merge(new), ctx, keep=True)
        copies = n if w is None else int(max((w > 0).sum(), np.ceil(total)))
        most = min(copies, d)
        check_count(self._count(), most, f"n_samples={copies}, n_features={d}")
        mean = sums / total if self.center else np.zeros(d)
        units = self._units(column_scatter(X, mean, w), total) if self.scale else None
        axes = principal_axes(CenteredRows(X, mean, w, units), self._count(), ctx)
        return self._finish(axes, mean, units, total, most, max(n, d), ctx)

    def _fit_blocks(self, X: Any, ctx: Context, weights: Any = None, **given: Any) -> Fit:
        if given:
            raise UnsupportedError("partial_fit takes batches in memory; fit takes the dask array.")
        if weights is not None:
            raise UnsupportedError(
                "sample_weight with a dask array: repeat or scale the rows instead."
            )
        moments, sample = blocks.moments(self, X)
        return self._from_moments(moments, ctx, keep=False)._replace(sample=sample)

    def _from_moments(self, moments: Moments, ctx: Context, keep: bool) -> Fit:
        n, d = moments.weight, len(moments.mean)
        most = int(min(np.ceil(n), d))
        check_count(self._count(), most, f"n_samples={n:g}, n_features={d}")
        mean, scatter = moments.mean, moments.scatter
        if not self.center:
            mean, scatter = np.zeros(d), scatter + n * np.outer(mean, mean)
        units = self._units(np.diagonal(scatter), n) if self.scale else None
        if units is not None:
            scatter = scatter / np.outer(units, units)
        k = self._count() or most
        axes = axes_from_moments(Moments(n, mean, scatter), k, ctx.dtype)
        fit = self._finish(axes, mean, units, n, most, int(max(n, d)), ctx)
        return fit.with_report(moments=moments) if keep else fit

    def _finish(
        self,
        axes: Axes,
        mean: Float64,
        units: Float64 | None,
        n: float,
        most: int,
        longest: int,
        ctx: Context,
    ) -> Fit:
        """Variances, map and inverse from the eigenpairs of the scatter matrix."""
        d = len(mean)
        standard = None if units is None else mean / units
        noise = max(axes.noise, input_noise(ctx, longest, d, axes.values, standard))
        values = np.where(axes.values > noise * axes.values[:1], axes.values, 0)
        rank = int((values > 0).sum())
        k = self._chosen(values, axes.total, most, n, d)
        if isinstance(self.n_components, int | np.integer) and k > rank:
            warn(
                f"n_components={k}, but the data have rank {rank}; the other coordinates are 0.",
                RankWarning,
            )
        top = min(k, rank)
        precision = EQUAL_EIGENVALUES[ctx.dtype]
        V, groups = canonical_basis(values[:top], axes.vectors[:, :top], precision)
        if top < k:
            V = np.pad(V, ((0, 0), (0, k - top)))
        kept = np.zeros(k)
        kept[:top] = values[:top]
        freedom = max(n - self.ddof, 0)
        variance = kept / freedom if freedom else kept * 0
        self._warn_of_one_column(kept, V, axes.total)
        scale = np.ones(d) if units is None else units
        spread = np.sqrt(variance) if self.whiten else np.ones(k)
        shrink = np.divide(1, spread, out=np.zeros(k), where=spread > 0)
        rest = max(axes.total - kept.sum(), 0)
        report = {
            "n_components": k,
            "components": np.ascontiguousarray(V.T, ctx.dtype),
            "mean": mean,
            "scale": scale,
            "explained_variance": variance,
            "explained_variance_ratio": kept / axes.total if axes.total > 0 else kept * 0,
            "singular_values": np.sqrt(kept),
            "scatter_eigenvalues": kept,
            "total_variance": axes.total / freedom if freedom else 0.0,
            "noise_variance": rest / (most - k) / freedom if most > k and freedom else 0.0,
            "rank": rank,
            "solver": axes.route,
            "residual": axes.residual,
            "degenerate_axes": groups,
            "n_samples": int(n) if float(n).is_integer() else n,
        }
        there, back = V, V.T
        if units is not None or self.whiten:
            there, back = V / scale[:, None] * shrink, (V * scale[:, None] * spread).T
        place = LinearMap(mean, np.ascontiguousarray(there, ctx.dtype))
        inverse = LinearMap(None, np.ascontiguousarray(back, ctx.dtype), mean)
        return Fit(None, place, report, inverse)

    def _count(self) -> int | None:
        """The number of axes if it is known before the spectrum."""
        k = self.n_components
        return int(k) if isinstance(k, int | np.integer) else None

    def _chosen(self, values: Float64, total: float, most: int, n: float, d: int) -> int:
        if (count := self._count()) is not None:
            return count
        if self.n_components is None:
            return most
        if total <= 0:
            return 1
        if isinstance(self.n_components, str):
            return max(1, scree.choose_by_rule(self.n_components, values, n, d))
        missing = np.cumsum(values) / total < self.n_components - 1e-12
        return min(int(missing.sum()) + 1, most)

    def _units(self, scatter: Float64, n: float) -> Float64:
        """Standard deviations; 1 for a constant column."""
        deviation = np.sqrt(scatter / max(n - self.ddof, 1))
        return np.where(deviation > 0, deviation, 1.0)

    def _warn_of_one_column(self, values: Float64, V: Float64, total: float) -> None:
        if self.scale or len(V) < 2 or total <= 0:
            return
        share = (V**2 @ values) / total
        owner = int(share.argmax())
        if share[owner] > 0.99:
            names = getattr(self, "feature_names_in_", None)
            name = f"column {owner}" if names is None else f"column {names[owner]!r}"
            warn(
                f"{name} owns {share[owner]:.1%} of the variance, so the first axis is that "
                "column; if columns have different units, set scale=True.",
                ScaleWarning,
            )

    def _support_metric(self) -> SupportMetric:
        return SupportMetric(scaling=self.scale_ if self.scale else None)
