"""Kernel principal component analysis (Schölkopf, Smola and Müller, 1998)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import scipy.linalg
from numpy.typing import DTypeLike
from scipy.sparse import csr_array, diags_array, issparse

from .. import confidence, progress, random
from ..backend import allocate, chunks, overridable
from ..blocks import RowBlocks
from ..errors import DataError, KernelWarning, ParameterError, UnsupportedError, warn
from ..linalg.centered import (
    Scaling,
    classical_scaling,
    keep_positive,
    products_of,
    warn_if_indefinite,
)
from ..linalg.eigen import krylov_tolerance, signs
from ..linalg.principal import (
    PrincipalMap,
    column_means,
    from_scatter,
    principal_axes,
    project,
    scale_rows,
    squared_lengths,
)
from ..parameters import (
    Count,
    Indices,
    NonNegative,
    Number,
    Positive,
    Reals,
    Seed,
    check_count,
    refuse_unused,
    state,
)
from ..reducer import Reducer
from ..spaces import (
    Matrix,
    Objects,
    Space,
    count_rows,
    gower,
    measure_rows,
    space_of,
    take_rows,
)
from ..spaces.space import name_callable

KernelName = Literal["linear", "rbf", "poly", "sigmoid", "cosine", "laplacian", "precomputed"]


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
        Number of dimensions of the embedding; None keeps every positive eigenvalue.
    kernel : str or callable, default="linear"
        "linear" x·z, "rbf" exp(-γ|x-z|²), "poly" (γ x·z + c)^p, "sigmoid" tanh(γ x·z + c),
        "cosine", "laplacian" exp(-γ|x-z|₁), "precomputed"; or f(a, b) -> number, f(A, B) -> matrix.
    gamma : float, "median" or None, default=None
        γ of the kernel; None is 1/n_features, "median" is 1/median squared distance.
    degree : float, default=3
        p of the kernel "poly".
    coef0 : float, default=1
        c of the kernels "poly" and "sigmoid".
    kernel_params : dict or None, default=None
        Keywords for a callable kernel.
    n_landmarks : int or None, default=None
        Approximate the kernel from that many rows; `trace_error_` says how well.
    fit_inverse_transform : bool, default=False
        Learn pre-images for `inverse_transform`; `reconstruction_error_` says how good they are.
    preimage : {"ridge", "fixed_point"}, default="ridge"
        By regression from coordinates to rows, or for the rbf kernel by fixed-point iterations from
        there.
    alpha : float, default=1.0
        Ridge of the regression.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the landmarks and of the start of the eigensolver. None is 0.
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
        Coordinates of the training rows.
    eigenvectors_ : ndarray of shape (n_samples, n_components)
        The leading eigenvectors of the centered kernel matrix; with landmarks there are none.
    dual_coef_ : ndarray of shape (n_samples, n_components)
        Eigenvectors over roots of eigenvalues: the weights of the map (of landmarks, if there are
        any).
    eigenvalues_ : ndarray of shape (n_components,)
        The largest eigenvalues of the centered kernel matrix; 0 for a column without a positive
        one.
    gamma_ : float or None
        The γ that was used.
    landmarks_ : ndarray of shape (n_landmarks,)
        Numbers of the landmarks, if there are any.
    trace_error_ : float
        The share of the trace of the kernel matrix that landmarks miss.
    negative_eigenvalue_mass_ : float
        How much of the sum of all |eigenvalues| is negative.
    negative_mass_is_exact_ : bool
        Whether that was computed from all eigenvalues or is known, and not estimated.
    residual_ : float
        The largest relative residual of an eigenvector; 0 by LAPACK.
    reconstruction_error_ : float
        The share of the variance of the rows that is lost by transforming them and back.
    k_mean_ : ndarray of shape (n_samples,)
        Means of the kernel with each row (or landmark), which the map subtracts.
    k_grand_mean_ : float
        Their mean.
    degenerate_axes_ : tuple of tuple of int
        Axes with equal eigenvalues, of which any rotation is as good.
    n_components_ : int
        Dimension of the embedding.
    n_samples_, n_features_in_ : int
        Numbers of rows and columns of the training data.
    seed_ : int
        The seed that was used.

    References
    ----------
    Schölkopf, Smola and Müller (1998), Neural Computation 10; Mika et al. (1999), pre-images;
    Chen, Epperly, Tropp and Webber (2023), landmarks by randomly pivoted Cholesky.

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

    takes = frozenset({"sparse", "blocks"})
    no_inverse = "set fit_inverse_transform=True to learn pre-images (rows of numbers only)."

    eigenvalues_: Reals = state("n_components")
    eigenvectors_: Reals = state("n_samples n_components")
    dual_coef_: Reals = state("n_points n_components")
    gamma_: float | None = state()
    landmarks_: Indices = state("n_points of n_samples")
    trace_error_: float = state()
    negative_eigenvalue_mass_: float = state()
    negative_mass_is_exact_: bool = state()
    residual_: float = state()
    reconstruction_error_: float = state()
    k_mean_: Reals = state("n_points")
    k_grand_mean_: float = state()
    degenerate_axes_: tuple[tuple[int, ...], ...] = state()
    # What places new rows: of the linear kernel principal axes, of others the kernel.
    _linear: PrincipalMap = state()
    _sampled: confidence.SampledRows = state()
    _measure: str = state()
    _numbers: tuple[float, ...] = state()
    _center: Reals = state("n_features_in_")
    _means: Reals = state("n_points")
    _own: Reals = state("n_points")  # k(x, x)
    # And what finds pre-images, from the coordinates of all rows or of landmarks:
    _centers: Reals = state("n_points n_components")
    _width: float = state()
    _weights: Reals = state("n_points n_features_in_")

    def _fit(self, X: Any, y: object, seed: int) -> Reals:  # noqa: ARG002
        self._refuse_what_does_nothing()
        n, k, m = count_rows(X), self.n_components, self.n_landmarks
        check_count(k, n, "n_components", f"n_samples={n}")
        self.gamma_ = choose_gamma(X, self.gamma) if self.kernel in SCALED_KERNELS else None
        if self.kernel == "linear" and m is None:
            return self._fit_rows(X, seed)
        if m is not None:
            return self._fit_landmarks(X, m, seed)
        if isinstance(X, RowBlocks):
            X = X.in_memory()  # few beside their kernel matrix
        # 1. The kernel of all pairs. Centering removes a constant anyway, so the rbf kernel comes
        # less 1: with a small γ all its values are close to 1, and float32 would keep little else.
        space = self._choose_kernel(X, "rbfm1")
        K = self._kernel_matrix(space)
        self._own = self._products_with_self(space, X)
        self._check_range(self._own, K.dtype)
        # 2. The leading eigenvectors of the centered kernel matrix.
        found = classical_scaling(
            products_of(K),
            n,
            k,
            seed,
            np.float32 if self._float32 else np.float64,
            trace=float(self._own.sum()) - n * (self._measure == "rbfm1"),
            definite=self._is_definite,
            dense=lambda: np.asarray(K, np.float64),
            tolerance=krylov_tolerance(K.dtype),
        )
        warn_if_indefinite(found.negative_share)
        self._describe(found)
        # 3. What places new rows, and what says how far they are.
        self._keep(space, found.means, found.axes)
        if self.kernel in ("rbf", "laplacian"):
            warn_of_large_gamma(n * self.k_mean_ - 1, self.gamma_)
        self._reach = confidence.reach(self._nearest_others(space, K))
        if self.fit_inverse_transform:
            self._fit_preimages(X, found.coordinates, slice(None))
        return found.coordinates

    def _fit_rows(self, X: Any, seed: int) -> Reals:
        """Kernel PCA of inner products is PCA."""
        dtype = np.float32 if self._float32 else np.float64
        self._linear, found = scale_rows(X, self.n_components, seed, dtype)
        self._describe(found)
        self.reconstruction_error_ = self._linear.missed
        self._sampled = confidence.SampledRows.of(X)
        return found.coordinates

    def _fit_landmarks(self, X: Any, m: int, seed: int) -> Reals:
        """Kernel PCA of the best approximation from m columns of the kernel matrix."""
        if callable(self.kernel) or self.kernel == "sigmoid":
            raise UnsupportedError(
                "n_landmarks needs a kernel that is known to be positive semi-definite, which "
                f"{self.kernel!r} is not; use 'rbf', or n_landmarks=None."
            )
        # 1. The rows that landmarks are chosen of: all, or of blocks a sample.
        rows, k, in_blocks = X, self.n_components, isinstance(X, RowBlocks)
        if in_blocks:
            rows, numbers, _ = X.draw(max(10_000, 4 * m))
        n = count_rows(rows)
        if not (k or 1) <= m <= n:
            raise ParameterError(
                f"n_landmarks={m} must be at least n_components={k} and at most n_samples={n}.",
                "n_landmarks",
            )
        space = self._choose_kernel(rows, "rbf")
        order = space.order()
        if self.kernel == "linear":
            # Inner products of rows that are far from the origin have no digits of their
            # differences, and centering removes the difference.
            drawn = order[random.subset(seed, "landmarks", n, m)]
            self._center = column_means(take_rows(rows, drawn))
        own = self._products_with_self(space, rows)
        self._check_range(own, space.dtype)

        def values(some: Indices | None, points: Indices) -> Reals:
            chosen = rows if some is None else take_rows(rows, some)
            return self._values(space.take(points), chosen)

        # 2. Landmarks, and the features L⁻¹ k(x) of all rows, whose inner products approximate the
        # kernel: so their principal axes are the wanted ones.
        F, pivots, self.trace_error_ = pivoted_cholesky(values, own, order, m, seed, space.dtype)
        L = np.tril(F[pivots].astype(np.float64))
        chosen = order[pivots]
        landmarks = space.take(chosen)
        if in_blocks:
            center = column_means(F)
            parts = X.reduce("features", feature_products, np.add, self, landmarks, L, center)
            mean, S, self.trace_error_ = moments_of(parts, center)
            axes = from_scatter(S, min(k or m, len(L)), np.float64)
        else:
            mean = column_means(F)
            axes = principal_axes(F, mean, min(k or m, *F.shape), seed)
        self.eigenvalues_, V, self.degenerate_axes_ = keep_positive(axes, axes.noise, k, F.dtype)
        self.residual_ = axes.residual
        # 3. What places new rows.
        self.landmarks_ = numbers[chosen] if in_blocks else chosen
        dual = scipy.linalg.solve_triangular(L, V, lower=True, trans="T")
        self._own = own[chosen]
        self._keep(landmarks, L @ mean, dual)
        K = self._values(landmarks, take_rows(rows, chosen))
        self._reach = confidence.reach(self._nearest_others(landmarks, K))
        Y = self._extend(X) if in_blocks else project(F, mean, V)[np.argsort(order)]
        flips = signs(Y)
        self.dual_coef_ = dual * flips
        Y = Y.astype(np.float64) * flips
        if self.fit_inverse_transform:
            self._fit_preimages(X.in_memory() if in_blocks else X, Y, self.landmarks_)
        return Y

    @property
    def adds_rows_up(self) -> bool:  # type: ignore[override]
        """Whether the moments of features are those of all rows in blocks."""
        return self.n_landmarks is not None

    def _transform(self, Q: Any) -> tuple[Reals, Reals | None]:
        """Projections on axes in feature space; and the distance to the nearest training row."""
        if hasattr(self, "_linear"):
            return self._linear.project(Q), None
        coordinates, nearest = [], []
        for some in chunks(count_rows(Q), self._space.n, 2**19):  # which the cache holds
            rows = take_rows(Q, np.arange(some.start, some.stop))
            with np.errstate(over="ignore"):  # of a far point; `gower` brings it back into range
                K = self._values(self._space, rows)
            coordinates.append(gower(K, self._means, self.dual_coef_))
            nearest.append(self._nearest(K, rows))
        return np.concatenate(coordinates), np.concatenate(nearest)

    def _familiarity(self, Q: Any, used: Reals | None) -> Reals:
        if used is None:
            return self._sampled.familiarity(Q)
        return confidence.familiarity(used, self._reach)

    def _own_share(self) -> float:
        if hasattr(self, "_linear"):
            kept = 1 - self._linear.missed
            left = self._linear.missed / self.n_samples_
        else:  # of the trace of the centered kernel matrix
            kept = float(self.eigenvalues_.sum())
            left = max(self._own.mean() - self._means.mean() - kept / self.n_samples_, 0)
        return left * len(self.eigenvalues_) / kept if kept > 0 else 0.0

    def _inverse_transform(self, Y: Reals) -> Reals:
        if hasattr(self, "_linear"):
            return self._linear.rebuild(Y)
        if not hasattr(self, "_weights"):
            return super()._inverse_transform(Y)
        return self._find_preimages(Y)

    # -- the kernel ----------------------------------------------------------------------------

    def _choose_kernel(self, X: Any, rbf: str) -> Space:
        """The training rows as the kernel compares them; its measure in the native core."""
        gamma, c, p = self.gamma_ or 0.0, float(self.coef0), float(self.degree)
        if callable(self.kernel):
            space: Space = space_of(X, self.kernel, self.kernel_params)
            whole = takes_matrices(self.kernel, self.kernel_params or {}, X)
            self._measure, self._numbers = "matrices" if whole else "pairs", ()
            return space
        if self.kernel == "precomputed":
            self._measure, self._numbers = "given", ()
            return Matrix(X)
        measures: dict[str, tuple[str, tuple[float, ...]]] = {
            "linear": ("dot", (1.0,)),
            "cosine": ("dot", (1.0,)),
            "rbf": (rbf, (gamma,)),
            "laplacian": ("laplacian", (gamma,)),
            "poly": ("poly", (gamma, c, p)),
            "sigmoid": ("sigmoid", (gamma, c)),
        }
        self._measure, self._numbers = measures[self.kernel]
        if self.kernel == "cosine":
            X = unit_rows(X)
        space = space_of(X, "manhattan" if self.kernel == "laplacian" else "euclidean")
        if self.kernel == "rbf":  # differences are computed from there
            self._center = space.center  # type: ignore[attr-defined]
        return space

    def _takes_sparse(self) -> bool:
        return self.kernel != "laplacian" and super()._takes_sparse()

    @property
    def _is_definite(self) -> bool:
        """Whether the kernel has no negative eigenvalues, whatever the rows."""
        if self.kernel == "poly":
            return self.coef0 >= 0 and self.degree == int(self.degree)
        return self.kernel in ("linear", "rbf", "cosine", "laplacian")

    def _values(self, space: Space, Q: Any) -> Reals:
        """Kernel values of rows Q with the points of a space."""
        if isinstance(space, Objects):
            return callable_values(space, Q, self._measure == "matrices")
        if isinstance(space, Matrix):
            in_order = np.array_equal(space.columns, np.arange(space.n_features))
            return np.ascontiguousarray(Q if in_order else Q[:, space.columns])
        X = space.rows
        if issparse(X) != issparse(Q):
            Q = csr_array(Q) if issparse(X) else Q.toarray()
        Q = unit_rows(Q) if self.kernel == "cosine" else Q
        if Q.dtype != X.dtype:  # rows beyond the squares of float32
            X = X.astype(Q.dtype)
        center = getattr(self, "_center", None)
        return measure_rows(Q, X, self._measure, self._numbers, center)

    def _kernel_matrix(self, space: Space) -> Reals:
        """Kernel values of all pairs of training points."""
        if isinstance(space, Matrix):
            return space.pairwise()
        if isinstance(space, Objects):
            K = callable_values(space, space.items, self._measure == "matrices")
            return symmetrized(K, name_callable(space.metric))
        X = space.rows
        return kernel_matrix(X, self._measure, self._numbers, getattr(self, "_center", None))

    @np.errstate(over="ignore")  # which is refused where it is used
    def _products_with_self(self, space: Space, Q: Any) -> Reals:
        """k(x, x) of each row; of a given matrix, of its training rows."""
        if isinstance(space, Matrix):
            return np.diagonal(space.pairwise()).astype(np.float64)
        if isinstance(space, Objects):
            one = range(count_rows(Q))
            if self._measure == "matrices":
                pairs = ((Q[i : i + 1], Q[i : i + 1]) for i in one)
                found = [space.metric(a, b, **space.params)[0, 0] for a, b in pairs]
            else:
                found = [space.metric(Q[i], Q[i], **space.params) for i in one]
            return np.array(found, np.float64)
        if self._measure in ("rbf", "rbfm1", "laplacian"):
            return np.full(count_rows(Q), 1.0)
        Q = unit_rows(Q) if self.kernel == "cosine" else Q
        center = getattr(self, "_center", None)
        dots = squared_lengths(Q, np.zeros(Q.shape[1]) if center is None else center)
        if self._measure == "poly":
            gamma, c, p = self._numbers
            return np.asarray((gamma * dots + c) ** p)
        if self._measure == "sigmoid":
            gamma, c = self._numbers
            return np.asarray(np.tanh(gamma * dots + c))
        return dots

    def _check_range(self, own: Reals, dtype: DTypeLike) -> None:
        """Raise an error if a kernel grows beyond its type: no value exceeds all those of a row
        with itself."""
        if not own.max() < np.finfo(dtype).max:
            raise DataError(
                f"the values of kernel={self.kernel!r} exceed the range of {np.dtype(dtype)}; "
                "scale the columns (StandardScaler), or take a smaller gamma or degree."
            )

    def _describe(self, found: Scaling) -> None:
        self.eigenvalues_, self.eigenvectors_ = found.values, found.vectors
        self.residual_, self.degenerate_axes_ = found.residual, found.degenerate
        self.negative_eigenvalue_mass_ = found.negative_share
        self.negative_mass_is_exact_ = found.share_is_exact

    def _keep(self, space: Space, means: Reals, dual: Reals) -> None:
        """What places new rows, and the means as users know them: of the whole kernel."""
        self._space, self._means, self.dual_coef_ = space.kept(), means, dual
        self.k_mean_ = means + (self._measure == "rbfm1")
        self.k_grand_mean_ = float(self.k_mean_.mean())

    # -- distances -----------------------------------------------------------------------------

    def _nearest(self, K: Reals, Q: Any) -> Reals:
        """The distance of each row to its nearest training point, from their kernel values.

        For kernels that fall with the distance, that distance; for others, that in feature space.
        Of a given kernel nothing is known of the new row itself: the logarithm of the similarity.
        """
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            if self._measure in ("rbf", "rbfm1", "laplacian"):
                most = K.max(1).astype(np.float64)
                apart = -(np.log1p if self._measure == "rbfm1" else np.log)(most) / self._numbers[0]
                return np.asarray(apart if self._measure == "laplacian" else np.sqrt(apart))
            if self._measure == "given":
                return np.asarray(-np.log(np.clip((K / self._own).max(1), 0, 1)))
            own = self._products_with_self(self._space, Q)
            squares = (self._own - 2.0 * K).min(1) + own
            return np.asarray(np.sqrt(np.maximum(squares, 0)))

    def _nearest_others(self, space: Space, K: Reals) -> Reals:
        """The same of training points (of some, where they are many), each left out itself."""
        some = np.arange(space.n)
        if space.n > 1000 and not isinstance(space, Matrix):
            some = space.draw(1000, 0, "reach")
        part = K[some]
        part[np.arange(len(some)), some] = -np.inf
        rows = space.rows if space.rows is not None else getattr(space, "items", None)
        return self._nearest(part, rows if rows is None else take_rows(rows, some))

    # -- pre-images ----------------------------------------------------------------------------

    def _fit_preimages(self, X: Any, Y: Reals, chosen: Any) -> None:
        """Kernel ridge regression from coordinates to rows (Bakır et al., 2004)."""
        if self._measure in ("given", "matrices", "pairs"):
            raise UnsupportedError(
                "fit_inverse_transform needs rows of numbers and a named kernel; a precomputed or "
                "callable kernel has no rows to go back to."
            )
        if self.preimage == "fixed_point" and self.kernel != "rbf":
            raise UnsupportedError("preimage='fixed_point' needs kernel='rbf'; use 'ridge'.")
        if self.preimage == "fixed_point" and self.n_landmarks is not None:
            raise UnsupportedError("preimage='fixed_point' needs every row; use 'ridge'.")
        rows = X.toarray() if issparse(X) else X
        Y = Y.astype(rows.dtype)
        self._centers = np.ascontiguousarray(Y[chosen])
        spread = float(np.mean(np.var(Y, axis=0, dtype=np.float64)))
        self._width = 1 / (2 * spread * Y.shape[1]) if spread > 0 else 1.0
        middle = self._centers.mean(0, dtype=np.float64)
        K = measure_rows(self._centers, self._centers, "rbf", (self._width,), middle)
        K = K.astype(np.float64)
        K[np.diag_indices_from(K)] += self.alpha
        weights = scipy.linalg.solve(K, rows[chosen].astype(np.float64), assume_a="pos")
        self._weights = weights.astype(rows.dtype)
        missed = np.square(rows - self._find_preimages(Y), dtype=np.float64).sum()
        spread_of_rows = np.square(rows - rows.mean(0), dtype=np.float64).sum()
        error = float(missed / spread_of_rows) if spread_of_rows > 0 else 0.0
        self.reconstruction_error_ = error

    def _find_preimages(self, Y: Reals) -> Reals:
        """Rows by the regression; for preimage="fixed_point", where iterations from there end.

        A pre-image z of the point Σ w_i φ(x_i) of feature space is a fixed point of
        z ← Σ w_i k(z, x_i) x_i / Σ w_i k(z, x_i) (Mika et al., 1999), each row on its own.
        """
        Y = np.ascontiguousarray(Y, self._centers.dtype)
        middle = self._centers.mean(0, dtype=np.float64)
        K = measure_rows(Y, self._centers, "rbf", (self._width,), middle)
        Z = project(K, None, self._weights)
        if self.preimage == "ridge":
            return Z
        rows = self._space.rows
        X = (rows.toarray() if issparse(rows) else rows).astype(np.float64)
        Z = Z.astype(np.float64)
        wanted = Y.astype(np.float64) @ self.dual_coef_.T
        wanted += (1 - wanted.sum(1, keepdims=True)) / len(X)
        for _ in range(50):
            weights = wanted * measure_rows(Z, X, "rbf", self._numbers, self._center)
            total = weights.sum(1, keepdims=True)
            # Where the denominator vanished, it begins again at the nearest row.
            lost = (np.abs(total) < 1e-12)[:, 0]
            if lost.any():
                Z[lost] = X[np.argmax(wanted[lost], axis=1)]
            Z[~lost] = (weights[~lost] / total[~lost]) @ X
        return Z

    # -- parameters ----------------------------------------------------------------------------

    def _refuse_what_does_nothing(self) -> None:
        other = f"kernel={self.kernel!r} has no such parameter"
        if self.kernel not in SCALED_KERNELS:
            refuse_unused(self, ("gamma",), other)
        if self.kernel != "poly":
            refuse_unused(self, ("degree",), other)
        if self.kernel not in ("poly", "sigmoid"):
            refuse_unused(self, ("coef0",), other)
        if not callable(self.kernel):
            refuse_unused(self, ("kernel_params",), "only a callable kernel takes them")
        if self.kernel == "linear":
            refuse_unused(self, ("alpha", "preimage"), "the inverse of kernel='linear' is exact")
        if not self.fit_inverse_transform:
            refuse_unused(self, ("alpha", "preimage"), "fit_inverse_transform is False")

    def _plan(self, n: int, d: int, itemsize: int) -> dict[str, int]:  # noqa: ARG002
        m = self.n_landmarks
        if self.kernel == "linear" and m is None:
            return {}
        copies = 2 if self.kernel == "precomputed" else 1  # one is made symmetric
        plan = {"kernel matrix": copies * n * n * itemsize}
        if m is not None:
            plan = {"kernel columns": 2 * n * m * itemsize}
        elif self.n_components is None or n <= 1000:
            plan["spectrum"] = 4 * n * n * 8
        if self.fit_inverse_transform:
            plan["pre-images"] = 2 * n * min(m or n, n) * 8
        return plan


SCALED_KERNELS = ("rbf", "laplacian", "sigmoid", "poly")  # which have a gamma


# -- kernels ---------------------------------------------------------------------------------------


def choose_gamma(X: Any, gamma: float | str | None, most: int = 2000) -> float:
    """A number as it is; "median": 1 / median squared distance of rows; None: 1 / n_features."""
    if gamma == "median":
        space = space_of(X, "sqeuclidean")
        if space.n > most:
            space = space.take(space.draw(most, 0, "landmarks"))
        D = space.pairwise()
        pairs = D[np.triu_indices(len(D), 1)].astype(np.float64)
        median = float(np.median(pairs)) if len(pairs) else 1.0
        return 1 / median if median > 0 else 1 / int(X.shape[1])
    return float(gamma) if gamma is not None else 1 / int(X.shape[1])


def warn_of_large_gamma(others: Reals, gamma: float | None) -> None:
    """Warn of a kernel matrix that is nearly the identity; `others` are its off-diagonal sums.

    Its eigenvalues differ by less than these sums (Gershgorin).
    """
    typical = float(np.median(others))
    if len(others) > 2 and typical < 0.1:
        warn(
            f"gamma={gamma:.3g} is too large for these rows: the kernel of the typical one with "
            f"all others adds up to {max(typical, 0.0):.2g}, with itself to 1, so the embedding "
            "shows little but noise. Set gamma='median', or standardize columns in different "
            "units.",
            KernelWarning,
        )


@overridable
def kernel_matrix(X: Any, measure: str, numbers: tuple[float, ...], center: Reals | None) -> Reals:
    """Kernel values of all pairs of rows; a device keeps them, and gives products and rows."""
    return measure_rows(X, X, measure, numbers, center)


@overridable
def unit_rows(X: Any) -> Any:
    """Rows scaled to length 1; a row of zeros stays one."""
    largest = np.abs(X).max(1, keepdims=True, initial=0).astype(np.float64)
    rows = X / np.where(largest > 0, largest, 1)  # whose squares are in range
    lengths = np.sqrt(np.square(rows).sum(1, keepdims=True))
    return np.ascontiguousarray(rows / np.where(lengths > 0, lengths, 1), X.dtype)


@unit_rows.register(csr_array)
def _(X: csr_array) -> csr_array:
    lengths = np.sqrt(np.asarray(X.astype(np.float64).power(2).sum(1)).reshape(-1))
    scaled = csr_array(diags_array(1 / np.where(lengths > 0, lengths, 1)) @ X, dtype=X.dtype)
    scaled.sort_indices()
    return scaled


def callable_values(space: Objects, Q: Any, whole: bool) -> Reals:
    """Values of a callable kernel: of all pairs in one call, or pair by pair."""
    kernel, params, items = space.metric, space.params, space.items
    name = name_callable(kernel)
    try:
        given = (
            kernel(Q, items, **params)
            if whole
            else [[kernel(q, x, **params) for x in items] for q in Q]
        )
    except Exception as error:
        error.add_note(f"raised by kernel={name}")
        raise
    try:
        K = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        K = np.empty(0)
    if K.shape != (len(Q), len(items)):
        raise DataError(
            f"kernel={name} gave no numbers of shape {(len(Q), len(items))}: one per pair."
        )
    if not np.isfinite(K).all():
        i, j = map(int, np.argwhere(~np.isfinite(K))[0])
        raise DataError(f"kernel={name} gave {K[i, j]} for objects {i} and {j}.")
    return K


def takes_matrices(kernel: Callable[..., Any], params: dict[str, Any], items: Any) -> bool:
    """Whether the callable is f(A, B) -> matrix. It is decided once, on unequal shapes."""
    if not isinstance(items, np.ndarray):
        return False
    try:
        return bool(np.shape(kernel(items[[0, 0]], items[[0, 0, 0]], **params)) == (2, 3))
    except Exception:  # a function of two rows may fail on matrices in any way
        return False


def symmetrized(K: Reals, name: str, tolerance: float = 1e-6) -> Reals:
    """A kernel matrix without the asymmetry of rounding; more of it is an error."""
    i, j = map(int, np.unravel_index(np.abs(K - K.T).argmax(), K.shape))
    if abs(K[i, j] - K[j, i]) > tolerance * np.abs(K).max():
        raise DataError(
            f"kernel={name} is not symmetric: {K[i, j]:.6g} for ({i}, {j}) but {K[j, i]:.6g} for "
            f"({j}, {i})."
        )
    return np.asarray((K + K.T) / 2)


# -- landmarks -------------------------------------------------------------------------------------


def pivoted_cholesky(
    values: Callable[[Indices | None, Indices], Reals],
    own: Reals,
    order: Indices,
    m: int,
    seed: int,
    dtype: Any,
) -> tuple[Reals, Indices, float]:
    """Factor F (n x m) of a kernel matrix, its pivots, and the share of the trace that it misses.

    By randomly pivoted Cholesky (Chen, Epperly, Tropp and Webber, 2023): each pivot is drawn in
    proportion to what is still unexplained of its k(x, x). They are drawn in blocks and thinned by
    rejection (Epperly, Tropp and Webber, 2024), which gives the same law as one by one but turns
    the work into matrix products. Rows of F, and the numbers of the pivots, are in the given order;
    `values` are those of the kernel of some rows, or all, with some points.
    """
    n, left = len(order), own[order]
    total = float(left.sum())
    floor = 8 * float(np.finfo(dtype).eps) * float(left.max(initial=0))
    F = allocate((n, m), dtype, f"the kernel of {n} rows with {m} landmarks", "use fewer landmarks")
    chosen: list[int] = []
    draw = 0
    while len(chosen) < m and (left > floor).any():
        done = len(chosen)
        u = random.uniforms(seed, "pivots", draw + np.arange(2 * max(64, m // 5)))
        draw += len(u)
        left[left <= floor] = 0
        points, thresholds = draw_distinct(left, u.reshape(2, -1))
        rows = F[points, :done].astype(np.float64)
        H = values(order[points], order[points]).astype(np.float64) - rows @ rows.T
        kept = thin(H, left[points], thresholds, floor)[: m - done]
        if not len(kept):
            continue
        pivots, end = points[kept], done + len(kept)
        L = scipy.linalg.cholesky(H[np.ix_(kept, kept)], lower=True)
        step = scipy.linalg.solve_triangular(L, np.eye(len(L)), lower=True).T
        # New columns (K - F F_p') step, as one product of [F K] with [-F_p' step; step].
        F[:, done:end] = values(None, order[pivots])[order]
        W = np.vstack([-F[pivots, :done].T.astype(np.float64) @ step, step]).astype(dtype)
        F[:, done:end] = new = project(np.ascontiguousarray(F[:, :end]), None, W)
        left -= np.einsum("ij,ij->i", new, new)
        np.maximum(left, 0, out=left)
        left[pivots] = 0
        chosen.extend(int(p) for p in pivots)
        progress.report("landmarks", len(chosen), m)
    if not chosen:  # a kernel of zeros: one landmark, of which every row is as much as nothing
        F[:, 0], chosen = np.finfo(dtype).tiny, [0]
    F = F if len(chosen) == m else np.ascontiguousarray(F[:, : len(chosen)])
    return F, np.array(chosen, np.int64), float(left.sum() / total) if total > 0 else 0.0


def feature_products(
    rows: Any, model: KernelPCA, landmarks: Space, L: Reals, center: Reals
) -> Reals:
    """H'H of some rows, H being their features less a center, beside ones and the roots of k(x, x).

    It is additive, and holds the number of the rows, and the mean, the scatter matrix and the sum
    of squares of their features.
    """
    width = len(L) + 2
    total = np.zeros((width, width))
    for some in chunks(rows.shape[0], width, 2**21):
        part = rows[some]
        K = model._values(landmarks, part).astype(np.float64)
        F = scipy.linalg.solve_triangular(L, K.T, lower=True, overwrite_b=True).T
        own = model._products_with_self(landmarks, part)
        H = np.column_stack([F - center, np.ones(len(F)), np.sqrt(np.maximum(own, 0))])
        total += H.T @ H
    return total


def moments_of(products: Reals, center: Reals) -> tuple[Reals, Reals, float]:
    """The mean and the scatter matrix of features, and the share of the trace that they miss."""
    n, gap = products[-2, -2], products[:-2, -2] / products[-2, -2]
    mean, S = center + gap, products[:-2, :-2] - n * np.outer(gap, gap)
    held, trace = float(np.trace(S) + n * (mean @ mean)), products[-1, -1]
    return mean, S, max(1 - held / trace, 0.0) if trace > 0 else 0.0


def draw_distinct(left: Reals, u: Reals) -> tuple[Indices, Reals]:
    """Points drawn in proportion to `left`, each once, and a random threshold of each."""
    edges = np.cumsum(left)
    found = np.searchsorted(edges, u[0] * edges[-1], side="right")
    unique, first = np.unique(np.minimum(found, len(left) - 1), return_index=True)
    as_drawn = np.argsort(first)
    return unique[as_drawn], u[1, first[as_drawn]]


def thin(H: Reals, left: Reals, thresholds: Reals, floor: float) -> Indices:
    """Which pivots stay: each with the share that earlier ones leave of it, of the residual H."""
    remainder, kept = H.copy(), []
    for i in range(len(H)):
        if remainder[i, i] > max(floor, thresholds[i] * left[i]):
            kept.append(i)
            remainder -= np.outer(remainder[:, i], remainder[i]) / remainder[i, i]
    return np.array(kept, np.int64)
