"""Classical scaling (Torgerson, 1952; Gower, 1966), new points by Gower's formula (1968)."""

from __future__ import annotations

from typing import Literal

from ..backends.protocol import Array
from ..core.declarations import Ignored, LandmarkPolicy, unless
from ..core.estimator import Reducer, reducer
from ..core.fit import Context, Fit
from ..core.parameters import Count, Metric, MetricParams, Seed, check_count
from ..distances.corrections import correct_distances
from ..distances.metrics import distances_of
from ..input.arguments import Input
from ..input.validation import Data
from ..relations.inner_products import MinusHalfSquare
from ..solvers.centered import embed_centered, embed_inner_products
from ..solvers.classical_scaling import compute_residuals, mean_squared_distances, report_scaling
from ..solvers.landmarks import scale_landmarks
from ..solvers.memory_plans import plan_classical_mds


@reducer
class ClassicalMDS(Reducer):
    """Classical multidimensional scaling (principal coordinate analysis, PCoA).

    Use it when there are only distances: between cities, strings, or rows of a mixed table. The
    inner products of the embedding approximate the doubly centered squared distances best. For
    Euclidean distances between rows it is PCA, and is computed as that.

    Cost: that of PCA for `metric="euclidean"`; else n² memory and about 10·n²·k operations, or
    n·m·k with m landmarks. New points: y = ½ Y⁺ (mean squared distances - their own), which needs
    only their distances to the training points.

    Parameters
    ----------
    n_components : int, default=2
    metric : str or callable, default="euclidean"
    metric_params : dict or None, default=None
    n_landmarks : int or None, default=None
        Embed that many landmarks exactly and map the others: linear cost in n (landmark MDS).
    correction : {"none", "lingoes", "cailliez"}, default="none"
        For distances that are not Euclidean: add the smallest constant that makes them so, to
        squared ("lingoes") or plain ("cailliez") distances. Costs n³.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    embedding_, eigenvectors_ : ndarray of shape (n_samples, n_components)
    eigenvalues_ : ndarray of shape (n_components,)
    negative_eigenvalue_mass_ : float
    negative_mass_is_exact_ : bool
    gof_ : tuple of float
        Kept eigenvalues over all |eigenvalues|, and over the positive ones (exact spectra only).
    n_positive_, n_negative_ : int
    spectrum_ : ndarray of shape (n_samples,)
        Of the whole spectrum, where it was computed.
    d2_mean_ : ndarray of shape (n_samples,)
    d2_grand_mean_ : float
        Means of the squared distances, which the map subtracts.
    correction_constant_ : float
    landmarks_ : ndarray of shape (n_landmarks,)
    residual_ : float
    degenerate_axes_ : tuple of tuple of int

    References
    ----------
    Gower (1968), Biometrika 55; de Silva and Tenenbaum (2004), landmark MDS; Cailliez (1983).

    Examples
    --------
    >>> import numpy as np, lowd
    >>> D = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    >>> mds = lowd.ClassicalMDS(2, metric="precomputed").fit(D)
    >>> y = mds.transform([[5.0, 4.0, 3.0]])
    >>> np.linalg.norm(mds.embedding_ - y, axis=1).round(6)
    array([5., 4., 3.])
    """

    n_components: Count = 2
    metric: Metric = "euclidean"
    metric_params: MetricParams = None
    n_landmarks: Count | None = None
    correction: Literal["none", "lingoes", "cailliez"] = "none"
    random_state: Seed = None

    ignored = (
        Ignored(("correction",), "landmarks are scaled without one", unless(n_landmarks=None)),
    )
    landmark_policy = LandmarkPolicy(1000, 10, resets={"correction": "none"})
    memory_plan = plan_classical_mds
    no_inverse = (
        "distances alone do not determine rows; fit from X with metric='euclidean' for one."
    )

    def _fit(self, data: Data, ctx: Context) -> Fit:
        n = data.shape[0]
        check_count(self.n_components, n, f"n_samples={n}")
        if self._is_pca():
            fit = embed_inner_products(data.items, self.n_components, ctx)
            return fit.with_report(**mean_squared_distances(data.items, ctx))
        base = distances_of(data, self.metric, self.metric_params)
        if self.n_landmarks is not None:
            return scale_landmarks(base, n, self.n_components, self.n_landmarks, ctx)
        base, constant = correct_distances(base, self.correction, ctx.ops)
        fit = embed_centered(MinusHalfSquare(base), self.n_components, ctx, all_values=True)
        return fit.with_report(correction_constant=constant, **report_scaling(fit))

    def _is_pca(self) -> bool:
        """Classical MDS of Euclidean distances between rows is PCA, and computed as that."""
        return self.metric == "euclidean" and not self.metric_params and self.n_landmarks is None

    def residual(self, X: Input) -> Array:
        """Squared distance of each new point from the space that the embedding spans.

        >>> import numpy as np, lowd
        >>> D = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
        >>> mds = lowd.ClassicalMDS(2, metric="precomputed").fit(D)
        >>> mds.residual(np.sqrt([[6.0, 9.0, 14.0]])).round(6)
        array([4.])
        """
        return compute_residuals(self, X)
