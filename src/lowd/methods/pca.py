"""Principal component analysis (Pearson, 1901; Hotelling, 1933)."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ..core.estimator import reducer
from ..core.fit import Context, Fit
from ..core.parameters import AtLeast, AtMost, Count, Seed, Share, check_count
from ..input.arguments import Weights
from ..input.validation import Data, validate_weights
from ..solvers import scree
from ..solvers.centered_rows import CenteredRows
from ..solvers.memory_plans import plan_pca
from ..solvers.pca import principal_axes
from ..solvers.pca_method import PCAMethod
from ..solvers.principal_components import Batch, Table, average_rows, fit_batches, fit_components


@reducer
class PCA(PCAMethod):
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

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
    mean_, scale_ : ndarray of shape (n_features,)
        Axes (one per row), and what was subtracted and divided by.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
    singular_values_, scatter_eigenvalues_ : ndarray of shape (n_components,)
    noise_variance_, total_variance_ : float
    rank_ : int
        The spectrum, and how many axes have variance above rounding; ratios are of all variance.
    solver_ : str
    residual_ : float
    degenerate_axes_ : tuple of tuple of int
        The route, |C v - λ v| / λ₁ if it was iterative, and groups of axes with equal variance.
    n_samples_ : int or float
    moments_ : Moments
        Rows seen (with weights: their sum), and what `partial_fit` continues from.

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

    def _fit(
        self, data: Data, ctx: Context, weights: Weights = None, batch: Batch | None = None
    ) -> Fit:
        X, (n, d), how = data.items, data.shape, self._standardization()
        w = validate_weights(weights, n)
        mean, total, counted = average_rows(X, w, self.ddof, ctx)
        if batch is not None:
            return fit_batches(batch.add(ctx.ops.scatter(X, mean, w).moments()), how, ctx)
        check_count(how.known_count, min(counted, d), f"n_samples={counted}, n_features={d}")
        mean = mean if self.center else np.zeros(d)
        rows = CenteredRows.of(X, mean, w)
        if self.scale:
            rows = rows.standardize(total, self.ddof)
        axes = principal_axes(rows, how.known_count, ctx)
        table = Table(mean, rows.units, total, min(counted, d))
        return fit_components(axes, how, table, ctx)
