"""Principal component analysis (Pearson, 1901; Hotelling, 1933)."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..backends.protocol import Moments
from ..confidence.support import SupportMetric
from ..core.estimator import Reducer, reducer
from ..core.fit import Context, Fit
from ..core.parameters import AtLeast, AtMost, Count, Seed, Share, check_count
from ..errors import RestartWarning, UnsupportedError, warn
from ..input import blocks
from ..input.blocks import DaskArray
from ..input.validation import Data, validate_weights
from ..solvers import scree
from ..solvers.centered_rows import CenteredRows
from ..solvers.memory_plans import plan_pca
from ..solvers.pca import column_scatter, principal_axes
from ..solvers.principal_components import (
    Standardization,
    Table,
    await_rows,
    fit_components,
    fit_moments,
    standard_deviations,
    total_weight,
    warn_of_dominant_column,
)


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
    n_components : int, float, str or None, default=None
        How many axes: a count, a share of the variance to keep (0.95), None for
        min(n_samples, n_features), or a rule that looks at the whole spectrum and keeps one axis at
        least: "kaiser", "broken_stick", "elbow", "profile_likelihood", "gavish_donoho" (see
        `lowd.dimension`).
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

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
    mean_, scale_ : ndarray of shape (n_features,)
        Axes (one per row), and what was subtracted and divided by.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
    singular_values_ : ndarray of shape (n_components,)
    noise_variance_, total_variance_ : float
    scatter_eigenvalues_ : ndarray of shape (n_components,)
        The spectrum; ratios are of the whole variance.
    rank_ : int
        Number of axes with variance above rounding, among those computed.
    solver_ : str
    residual_ : float
        The route, and |C v - λ v| / λ₁ where it was iterative.
    degenerate_axes_ : tuple of tuple of int
        Groups of axes with equal variance, whose directions are a convention.
    n_samples_ : int or float
        Rows seen (with weights: their sum).
    moments_ : Moments
        Weight, mean and scatter after `partial_fit`, from which it continues.

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
    takes_batches = True
    memory_plan = plan_pca

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Learn the axes; `sample_weight` counts a row that many times."""
        self._learn(X, weights=sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Any:  # noqa: ARG002
        """Learn the axes and return the coordinates of the rows on them."""
        return self._learn(X, embed=True, weights=sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Add a batch of any size: the result is that of one fit on all batches together.

        There is a map as soon as there are `n_components` rows.
        """
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
        weights: ArrayLike | None = None,
        so_far: Moments | None = None,
        streaming: bool = False,
    ) -> Fit:
        X, (n, d), how = data.items, data.shape, self._standardization()
        w = validate_weights(weights, n)
        total = total_weight(w, n, self.ddof)
        known = ctx.statistics if w is None else None
        sums = (known or ctx.ops.column_statistics(X, w)).sums
        if streaming:
            new = ctx.ops.scatter(X, sums / total, w).moments()
            moments = new if so_far is None else so_far.merge(new)
            if moments.weight < (how.known_count or 1) <= d:
                return await_rows(moments, how.known_count or 1)
            return self._fit_moments(moments, ctx, keep=True)
        counted = n if w is None else int(max((w > 0).sum(), np.ceil(total)))
        check_count(how.known_count, min(counted, d), f"n_samples={counted}, n_features={d}")
        mean = sums / total if self.center else np.zeros(d)
        rows = CenteredRows.of(X, mean, w)
        if self.scale:
            units = standard_deviations(column_scatter(rows), total, self.ddof)
            rows = rows._replace(units=units)
        axes = principal_axes(rows, how.known_count, ctx)
        table = Table(mean, rows.units, total, min(counted, d), max(n, d))
        return self._warn_of_units(fit_components(axes, how, table, ctx))

    def _fit_blocks(
        self, X: DaskArray, ctx: Context, weights: ArrayLike | None = None, **given: object
    ) -> Fit:
        if given:
            raise UnsupportedError("partial_fit takes batches in memory; fit takes the dask array.")
        if weights is not None:
            raise UnsupportedError(
                "sample_weight with a dask array: repeat or scale the rows instead."
            )
        moments, sample = blocks.moments(self, X)
        return self._fit_moments(moments, ctx, keep=False)._replace(sample=sample)

    def _fit_moments(self, moments: Moments, ctx: Context, keep: bool) -> Fit:
        fit = self._warn_of_units(fit_moments(moments, self._standardization(), ctx))
        return fit.with_report(moments=moments) if keep else fit

    def _warn_of_units(self, fit: Fit) -> Fit:
        if not self.scale:
            warn_of_dominant_column(fit, getattr(self, "feature_names_in_", None))
        return fit

    def _standardization(self) -> Standardization:
        asked = self.n_components
        return Standardization(asked, self.center, self.scale, self.ddof, self.whiten)

    def _support_metric(self) -> SupportMetric:
        return SupportMetric(scaling=self.scale_ if self.scale else None)
