"""Kernel principal component analysis (Schölkopf, Smola and Müller, 1998)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from ..confidence.support import SupportMetric
from ..core.declarations import Ignored, LandmarkPolicy, unless, when
from ..core.estimator import Reducer, reducer
from ..core.fit import Context, Fit
from ..core.parameters import Count, NonNegative, Number, Positive, Seed, check_count
from ..distances.order import draw_landmarks
from ..input.row_order import order_rows
from ..input.validation import Data, Kind
from ..maps.centered import CenteredMap
from ..relations.kernels import Kernel, PrecomputedKernel, kernel_of, require_positive
from ..solvers.centered import embed_centered, embed_inner_products
from ..solvers.kernel_scale import resolve_gamma, warn_of_large_gamma
from ..solvers.landmarks import embed_nystroem
from ..solvers.memory_plans import plan_kernel_pca
from ..solvers.preimage import fit_preimage

_NO_SUCH_PARAMETER = "kernel={model.kernel!r} has no such parameter"
_PREIMAGE = ("alpha", "preimage")
SCALED_KERNELS = ("rbf", "laplacian", "sigmoid", "poly")  # that have a gamma
KernelName = Literal["linear", "rbf", "poly", "sigmoid", "cosine", "laplacian", "precomputed"]


def is_kernel_named(model: Reducer) -> bool:
    """The condition that `kernel` is no callable."""
    return not callable(model.kernel)


@reducer
class KernelPCA(Reducer):
    """Kernel PCA: principal components in the feature space of a kernel.

    Use it when linear axes fail but a similarity between rows is known: the rbf kernel with a good
    `gamma` separates rings and bends. It has no notion of a manifold; Isomap has.

    Cost: n²·d for the kernel and about 10·n²·k for its spectrum, n² memory; with m landmarks
    n·m·(d + m) and n·m memory. `kernel="linear"` is PCA and costs that. New rows:
    y = Λ^(-½) V' (k(x) - K1/n), from kernel values to the training rows (or landmarks).

    Parameters
    ----------
    n_components : int or None, default=None
        Dimensions; None keeps every positive eigenvalue.
    kernel : str or callable, default="linear"
        "linear" x·z, "rbf" exp(-γ|x-z|²), "poly" (γ x·z + c)^p, "sigmoid" tanh(γ x·z + c),
        "cosine", "laplacian" exp(-γ|x-z|₁), "precomputed", or a callable f(a, b) -> number or
        f(A, B) -> matrix.
    gamma : float, "median" or None, default=None
        γ above; None is 1/n_features, "median" is 1/median squared distance. Kept as `gamma_`.
    degree : float, default=3
    coef0 : float, default=1
        p and c above.
    kernel_params : dict or None, default=None
        Keywords for a callable kernel.
    n_landmarks : int or None, default=None
        Approximate the kernel from that many rows; `trace_error_` says how well.
    fit_inverse_transform : bool, default=False
        Learn pre-images for `inverse_transform`; `reconstruction_error_` says how good they are.
    alpha : float, default=1.0
        Ridge of the pre-image regression.
    preimage : {"ridge", "fixed_point"}, default="ridge"
        "ridge" regression, or for the rbf kernel "fixed_point" iterations from it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the landmarks and of the solver's start. None is 0.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
    eigenvalues_ : ndarray of shape (n_components,)
    eigenvectors_ : ndarray of shape (n_samples, n_components)
    gamma_ : float or None
    k_mean_ : ndarray of shape (n_samples,)
    k_grand_mean_ : float
        Means of the kernel, which the map subtracts.
    dual_coef_ : ndarray of shape (n_samples, n_components)
        Eigenvectors over the roots of the eigenvalues; the map's weights.
    landmarks_ : ndarray of shape (n_landmarks,)
    trace_error_ : float
        With `n_landmarks`.
    negative_eigenvalue_mass_, residual_ : float
    degenerate_axes_ : tuple of tuple of int
    reconstruction_error_ : float

    References
    ----------
    Schölkopf, Smola and Müller (1998), Neural Computation 10; Mika et al. (1999), pre-images;
    Chen, Epperly, Tropp and Webber (2023), randomly pivoted Cholesky.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    >>> model = lowd.KernelPCA(1, kernel="rbf", gamma=0.5).fit(X)
    >>> model.transform([[1.0, 1.0]]).round(4)
    array([[0.083]])
    """

    n_components: Count | None = None
    kernel: KernelName | Callable[..., Any] = "linear"
    gamma: Positive | Literal["median"] | None = None
    degree: NonNegative = 3
    coef0: Number = 1
    kernel_params: dict[str, Any] | None = None
    n_landmarks: Count | None = None
    fit_inverse_transform: bool = False
    alpha: Positive = 1.0
    preimage: Literal["ridge", "fixed_point"] = "ridge"
    random_state: Seed = None

    ignored = (
        Ignored(("gamma",), _NO_SUCH_PARAMETER, unless(kernel=SCALED_KERNELS)),
        Ignored(("degree",), _NO_SUCH_PARAMETER, unless(kernel="poly")),
        Ignored(("coef0",), _NO_SUCH_PARAMETER, unless(kernel=("poly", "sigmoid"))),
        Ignored(("kernel_params",), "only a callable kernel takes them", is_kernel_named),
        Ignored(_PREIMAGE, "the inverse of kernel='linear' is exact", when(kernel="linear")),
        Ignored(_PREIMAGE, "fit_inverse_transform is False", when(fit_inverse_transform=False)),
    )
    landmark_policy = LandmarkPolicy(
        1000,
        2,
        resets={"fit_inverse_transform": False, "alpha": 1.0, "preimage": "ridge"},
        fills={"n_components": 2},
        possible=lambda model: not callable(model.kernel) and model.kernel != "sigmoid",
    )
    no_inverse = "set fit_inverse_transform=True to learn pre-images (rows of numbers only)."
    memory_plan = plan_kernel_pca

    def _fit(self, data: Data, ctx: Context) -> Fit:
        X, n = data.items, data.shape[0]
        check_count(self.n_components, n, f"n_samples={n}")
        scaled = self.kernel in SCALED_KERNELS
        gamma = resolve_gamma(self.gamma, X, ctx) if scaled else None
        if self._is_pca():
            return embed_inner_products(X, self.n_components, ctx).with_report(gamma=gamma)
        degree, coef0, params = self.degree, self.coef0, self.kernel_params
        K = kernel_of(data, self.kernel, gamma=gamma, degree=degree, coef0=coef0, params=params)
        if self.n_landmarks is not None:
            K = require_positive(K)
            given = isinstance(K, PrecomputedKernel)
            order = order_rows(square=[X]) if given else order_rows(X)
            landmarks = draw_landmarks(order, min(n, self.n_landmarks), ctx.seed)
            K = K.center_at(landmarks)
            fit = embed_nystroem(K, order, self.n_components, self.n_landmarks, ctx)
        elif isinstance(K, Kernel):
            fit = embed_centered(K.shifted(), self.n_components, ctx, psd=K.positive)
        else:
            fit = embed_centered(K, self.n_components, ctx)
        assert isinstance(fit.map, CenteredMap)
        means = fit.map.means + (getattr(fit.map.relation, "measure", "") == "rbfm1")
        learned = {"dual_coef": fit.map.projection, "k_grand_mean": float(means.mean())}
        fit = fit.with_report(gamma=gamma, k_mean=means, **learned)
        if self.kernel in ("rbf", "laplacian") and self.n_landmarks is None:
            warn_of_large_gamma(n * means - 1, gamma)
        if not self.fit_inverse_transform:
            return fit
        inverse, error = fit_preimage(fit, K, X, self.alpha, self.preimage, ctx)
        return fit.with_report(reconstruction_error=error)._replace(inverse=inverse)

    def _is_pca(self) -> bool:
        """Kernel PCA of inner products is PCA, and computed as that."""
        return self.kernel == "linear" and self.n_landmarks is None

    def _kind(self) -> Kind:
        if callable(self.kernel):
            return "objects"
        return "kernel" if self.kernel == "precomputed" else "rows"

    def _support_metric(self) -> SupportMetric:
        return SupportMetric.of_kernel(self.kernel, self.kernel_params)

    def _takes_sparse(self) -> bool:
        return not callable(self.kernel) and self.kernel not in ("precomputed", "laplacian")
