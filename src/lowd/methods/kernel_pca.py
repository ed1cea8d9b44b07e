"""Kernel principal component analysis (Schölkopf, Smola and Müller, 1998)."""

from __future__ import annotations

from typing import Any, Literal

from ..core.declarations import LandmarkPolicy
from ..core.estimator import reducer
from ..core.fit import Context, Fit
from ..core.parameters import Count, NonNegative, Number, Positive, Seed, check_count
from ..input.validation import Data
from ..solvers.centered import embed_inner_products, embed_kernel, with_kernel_means
from ..solvers.kernel_method import KernelChoice, KernelMethod
from ..solvers.kernel_scale import warn_of_large_gamma
from ..solvers.landmarks import embed_from_landmarks
from ..solvers.memory_plans import plan_kernel_pca
from ..solvers.preimage import fit_preimage


@reducer
class KernelPCA(KernelMethod):
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
        "cosine", "laplacian" exp(-γ|x-z|₁), "precomputed"; or f(a, b) -> number, f(A, B) -> matrix.
    gamma : float, "median" or None, default=None
        γ of the kernel; None is 1/n_features, "median" is 1/median squared distance.
    degree : float, default=3
    coef0 : float, default=1
        p and c of the kernels "poly" and "sigmoid".
    kernel_params : dict or None, default=None
        Keywords for a callable kernel.
    n_landmarks : int or None, default=None
        Approximate the kernel from that many rows; `trace_error_` says how well.
    fit_inverse_transform : bool, default=False
    preimage : {"ridge", "fixed_point"}, default="ridge"
    alpha : float, default=1.0
        Learn pre-images for `inverse_transform`, by regression with this ridge, or for the rbf
        kernel by fixed-point iterations from it; `reconstruction_error_` says how good they are.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    embedding_, eigenvectors_, dual_coef_ : ndarray of shape (n_samples, n_components)
        Dual coefficients are eigenvectors over roots of eigenvalues: the weights of the map.
    eigenvalues_ : ndarray of shape (n_components,)
    gamma_ : float or None
    landmarks_ : ndarray of shape (n_landmarks,)
    trace_error_, negative_eigenvalue_mass_, residual_, reconstruction_error_ : float
    k_mean_ : ndarray of shape (n_samples,)
    k_grand_mean_ : float
        Means of the kernel, which the map subtracts.
    degenerate_axes_ : tuple of tuple of int

    References
    ----------
    Schölkopf, Smola and Müller (1998), Neural Computation 10; Mika et al. (1999), pre-images.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    >>> model = lowd.KernelPCA(1, kernel="rbf", gamma=0.5).fit(X)
    >>> model.transform([[1.0, 1.0]]).round(4)
    array([[0.083]])
    """

    n_components: Count | None = None
    kernel: KernelChoice = "linear"
    gamma: Positive | Literal["median"] | None = None
    degree: NonNegative = 3
    coef0: Number = 1
    kernel_params: dict[str, Any] | None = None
    n_landmarks: Count | None = None
    fit_inverse_transform: bool = False
    alpha: Positive = 1.0
    preimage: Literal["ridge", "fixed_point"] = "ridge"
    random_state: Seed = None

    landmark_policy = LandmarkPolicy(
        at_least=1000,
        per_component=2,
        resets={"fit_inverse_transform": False, "alpha": 1.0, "preimage": "ridge"},
        fills={"n_components": 2},
        possible=lambda model: not callable(model.kernel) and model.kernel != "sigmoid",
    )
    no_inverse = "set fit_inverse_transform=True to learn pre-images (rows of numbers only)."
    memory_plan = plan_kernel_pca

    def _fit(self, data: Data, ctx: Context) -> Fit:
        X, n = data.items, data.shape[0]
        check_count(self.n_components, n, f"n_samples={n}")
        gamma = self._gamma(data, ctx)
        if self._is_pca():
            return embed_inner_products(X, self.n_components, ctx).with_report(gamma=gamma)
        K = self._kernel(data, gamma)
        if self.n_landmarks is not None:
            fit, K = embed_from_landmarks(K, X, self.n_components, self.n_landmarks, ctx)
        else:
            fit = embed_kernel(K, self.n_components, ctx)
        fit = with_kernel_means(fit).with_report(gamma=gamma)
        if self.kernel in ("rbf", "laplacian") and self.n_landmarks is None:
            warn_of_large_gamma(n * fit.report["k_mean"] - 1, gamma)
        if not self.fit_inverse_transform:
            return fit
        inverse, error = fit_preimage(fit, K, X, self.alpha, self.preimage, ctx)
        return fit.with_report(reconstruction_error=error)._replace(inverse=inverse)
