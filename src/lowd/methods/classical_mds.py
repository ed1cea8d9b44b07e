"""Classical multidimensional scaling (Torgerson, 1952; Gower, 1966)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import confidence
from ..backend import chunks
from ..blocks import RowBlocks, is_blocks
from ..errors import UnsupportedError
from ..linalg.centered import Scaling, classical_scaling, half_squares, warn_if_indefinite
from ..linalg.eigen import krylov_tolerance, signs
from ..linalg.principal import PrincipalMap, scale_rows, squared_lengths
from ..parameters import (
    Count,
    Indices,
    Metric,
    MetricParams,
    Reals,
    Seed,
    check_count,
    check_landmarks,
    refuse_unused,
    state,
)
from ..reducer import Reducer
from ..spaces import count_rows, gower, space_of, take_rows
from ..spaces.matrices import label_duplicates


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
        Number of dimensions of the embedding.
    metric : str or callable, default="euclidean"
        A name ("euclidean", "sqeuclidean", "cosine", "correlation", "manhattan", "chebyshev",
        "minkowski", "hamming", "jaccard", "canberra", "braycurtis", "dice", "hellinger",
        "haversine"), "gower" for tables of numbers and categories, "precomputed" for distances
        between all rows, or f(a, b) -> number for any objects.
    metric_params : dict or None, default=None
        Parameters of the metric: {"p": 3} for "minkowski", {"weights": [...]} for "gower", or
        keywords of a callable.
    n_landmarks : int or None, default=None
        Embed that many landmarks exactly and map the others: linear cost in n (landmark MDS).
    correction : {"none", "lingoes", "cailliez"}, default="none"
        For distances that are not Euclidean: add the smallest constant that makes them so, to
        squared ("lingoes") or plain ("cailliez") distances. Costs n³.
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
    eigenvalues_ : ndarray of shape (n_components,)
        The largest eigenvalues of the doubly centered inner products; 0 for a column without a
        positive one.
    eigenvectors_ : ndarray of shape (n_samples, n_components)
        Their eigenvectors; with landmarks there are none of all rows.
    negative_eigenvalue_mass_ : float
        How much of the sum of all |eigenvalues| is negative: 0 for Euclidean distances.
    negative_mass_is_exact_ : bool
        Whether it was computed from all eigenvalues, and not estimated from an iteration.
    gof_ : tuple of float
        Kept eigenvalues over all |eigenvalues|, and over the positive ones (exact spectra only).
    n_positive_, n_negative_ : int
        Numbers of eigenvalues that are positive and negative beyond rounding (exact spectra only).
    spectrum_ : ndarray of shape (n_samples,)
        All eigenvalues, where they were computed: of 1000 rows or fewer.
    d2_mean_ : ndarray of shape (n_samples,)
        Means of the squared distances to each row (of landmarks, if there are any).
    d2_grand_mean_ : float
        Their mean. The map subtracts both.
    correction_constant_ : float
        The constant that was added.
    landmarks_ : ndarray of shape (n_landmarks,)
        Numbers of the landmarks, if there are any.
    residual_ : float
        The largest relative residual of an eigenvector; 0 by LAPACK.
    reconstruction_error_ : float
        The share of the variance of Euclidean rows that the embedding leaves out.
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

    takes = frozenset({"sparse", "blocks"})
    no_inverse = (
        "distances alone do not determine rows; fit from X with metric='euclidean' for one."
    )

    eigenvalues_: Reals = state("n_components")
    eigenvectors_: Reals = state("n_samples n_components")
    negative_eigenvalue_mass_: float = state()
    negative_mass_is_exact_: bool = state()
    gof_: tuple[float, float] = state()
    n_positive_: int = state()
    n_negative_: int = state()
    spectrum_: Reals = state("n_samples")
    d2_mean_: Reals = state("n_points")
    d2_grand_mean_: float = state()
    correction_constant_: float = state()
    landmarks_: Indices = state("n_points of n_samples")
    residual_: float = state()
    reconstruction_error_: float = state()
    degenerate_axes_: tuple[tuple[int, ...], ...] = state()
    # What places new points: principal axes of Euclidean rows, or distances to training points.
    _linear: PrincipalMap = state()
    _sampled: confidence.SampledRows = state()
    _axes: Reals = state("n_points n_components")
    _alike: Indices = state("n_points of n_points")  # numbers of points, equal for duplicates

    def _fit(self, X: Any, y: object, seed: int) -> Reals:  # noqa: ARG002
        if self._is_pca():
            return self._fit_rows(X, seed)
        m = self.n_landmarks
        if m is None and isinstance(X, RowBlocks):
            X = X.in_memory()  # few beside the distances between them
        space = space_of(X, self.metric, self.metric_params)
        n, k = space.n, self.n_components
        check_count(k, n, "n_components", f"n_samples={n}")
        if m is not None:
            check_landmarks(m, k, n)
            refuse_unused(self, ("correction",), "landmarks are scaled without one")
            self.landmarks_ = space.draw(m, seed, "landmarks")
            space = space.take(self.landmarks_)
        # 1. Distances, and what makes them Euclidean.
        D = space.pairwise()
        self._reach = confidence.reach(nearest_others(D))
        if self.correction != "none":
            self._alike = label_duplicates(D)
            self.correction_constant_ = additive_constant(D, self.correction)
            D = self._correct(D, self.correction_constant_)
            np.fill_diagonal(D, 0)
        else:
            self.correction_constant_ = 0.0
        # 2. The leading eigenvectors of the doubly centered -D²/2.
        dtype = np.float32 if self._float32 else np.float64
        found = classical_scaling(
            half_squares(D),
            space.n,
            k,
            seed,
            dtype,
            whole=m is None,
            dense=lambda: half_negative_squares(D.astype(np.float64, copy=False)),
            tolerance=krylov_tolerance(D.dtype),
        )
        warn_if_indefinite(found.negative_share)
        self._describe(found)
        self._keep_means(-2 * found.means)
        if m is None and found.spectrum is not None:
            self._describe_spectrum(found.spectrum)
        # 3. What places new points, and rows that are no landmarks.
        self._space, self._axes = space.kept(), found.axes
        if m is None:
            return found.coordinates
        Y = self._extend(X).astype(np.float64)
        flips = signs(Y)
        self._axes = self._axes * flips
        return Y * flips

    def _fit_rows(self, X: Any, seed: int) -> Reals:
        """Classical MDS of Euclidean distances between rows is PCA of the rows."""
        n, k = X.shape[0], self.n_components
        check_count(k, n, "n_components", f"n_samples={n}")
        dtype = np.float32 if self._float32 else np.float64
        self._linear, found = scale_rows(X, k, seed, dtype)
        self._describe(found)
        self.reconstruction_error_ = self._linear.missed
        # mean_j |x_i - x_j|² = |x_i - m|² + mean_j |x_j - m|²
        norms = squared_lengths(X, self._linear.mean)
        self._keep_means(norms + norms.mean())
        self.correction_constant_ = 0.0
        self._sampled = confidence.SampledRows.of(X)
        return found.coordinates

    def _transform(self, Q: Any) -> tuple[Reals, Reals | None]:
        """Gower's formula; and the distance to the nearest training point."""
        if hasattr(self, "_linear"):
            return self._linear.project(Q), None
        coordinates, nearest = [], []
        for some in chunks(count_rows(Q), self._space.n, 2**19):  # which the cache holds
            D = self._space.toward(take_rows(Q, np.arange(some.start, some.stop)))
            moved = self._correct_new(D)
            with np.errstate(over="ignore"):  # of a far point; `gower` brings it back into range
                products = half_negative_squares(moved)
            coordinates.append(gower(products, -0.5 * self.d2_mean_, self._axes))
            nearest.append(D.min(1))
        return np.concatenate(coordinates), np.concatenate(nearest)

    def _correct_new(self, D: Reals) -> Reals:
        """Corrected distances of new points.

        The constant of a new point and the training point next to it vanishes with their distance,
        so that coordinates do not jump there.
        """
        if not self.correction_constant_:
            return D
        nearest = D.argmin(1)
        same = self._alike[nearest][:, None] == self._alike  # as the nearest or a duplicate of it
        following = np.where(same, np.inf, D).min(1, initial=np.inf)
        near = D[np.arange(len(D)), nearest]
        known = (following > 0) & np.isfinite(following)
        ratio = np.divide(near, following, out=(near > 0).astype(D.dtype), where=known)
        u = np.minimum(2 * ratio, 1)
        share = np.where(same, (u * u * (3 - 2 * u))[:, None], 1)
        return self._correct(D, self.correction_constant_ * share)

    def _familiarity(self, Q: Any, used: Reals | None) -> Reals:
        if used is None:
            return self._sampled.familiarity(Q)
        return confidence.familiarity(used, self._reach)

    def _own_share(self) -> float:
        """Of squared distances to the mean of all rows, n/2 times their grand mean in all."""
        kept = float(self.eigenvalues_.sum())
        left = max(self.d2_grand_mean_ / 2 - kept / self.n_samples_, 0)
        return left * len(self.eigenvalues_) / kept if kept > 0 else 0.0

    def _inverse_transform(self, Y: Reals) -> Reals:
        if hasattr(self, "_linear"):
            return self._linear.rebuild(Y)
        return super()._inverse_transform(Y)

    def residual(self, X: Any) -> Reals:
        """Squared distance of each new point from the space that the embedding spans.

        >>> import numpy as np, lowd
        >>> D = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
        >>> mds = lowd.ClassicalMDS(2, metric="precomputed").fit(D)
        >>> mds.residual(np.sqrt([[6.0, 9.0, 14.0]])).round(6)
        array([4.])
        """
        check_is_fitted(self)
        if is_blocks(X):
            raise UnsupportedError(
                "residual takes rows in memory; for dask: X.map_blocks(model.residual)."
            )
        with self._running(self.backend):
            Q = self._read(X, False)
            Y = self._place(Q)[0].astype(np.float64)
            if hasattr(self, "_linear"):
                to_mean = squared_lengths(Q, self._linear.mean)
            else:
                # |x - m|² from squared distances to all training points (Gower, 1968).
                D = self._correct_new(self._space.toward(Q))
                squares = np.square(D, dtype=np.float64)
                to_mean = squares.mean(1) - self.d2_grand_mean_ / 2
        return np.asarray(np.maximum(to_mean - np.square(Y).sum(1), 0))

    def _is_pca(self) -> bool:
        return (
            self.metric in ("euclidean", "l2")
            and not self.metric_params
            and self.n_landmarks is None
        )

    def _correct(self, D: Reals, constant: float | Reals) -> Reals:
        """Distances plus a constant, except between a point and itself or a duplicate."""
        if self.correction == "lingoes":
            shifted = np.hypot(D, np.sqrt(2 * np.asarray(constant)))
        else:
            shifted = D + constant
        return np.asarray(np.where(D > 0, shifted, 0), D.dtype)

    def _describe(self, found: Scaling) -> None:
        self.eigenvalues_, self.residual_ = found.values, found.residual
        self.degenerate_axes_ = found.degenerate
        self.negative_eigenvalue_mass_ = found.negative_share
        self.negative_mass_is_exact_ = found.share_is_exact
        if len(found.vectors) == self.n_samples_:
            self.eigenvectors_ = found.vectors

    def _keep_means(self, d2_mean: Reals) -> None:
        self.d2_mean_, self.d2_grand_mean_ = d2_mean, float(d2_mean.mean())

    def _describe_spectrum(self, spectrum: Reals) -> None:
        """How good the embedding is, by all eigenvalues."""
        size, positive = np.abs(spectrum).sum(), spectrum[spectrum > 0].sum()
        kept = self.eigenvalues_.sum()
        self.gof_ = (float(kept / size), float(kept / positive)) if positive > 0 else (0.0, 0.0)
        noise = len(spectrum) * np.finfo(float).eps * np.abs(spectrum).max(initial=0)
        self.n_positive_ = int((spectrum > noise).sum())
        self.n_negative_ = int((spectrum < -noise).sum())
        self.spectrum_ = spectrum

    def _plan(self, n: int, d: int, itemsize: int) -> dict[str, int]:  # noqa: ARG002
        if self._is_pca():
            return {}
        m = min(n, self.n_landmarks or n)
        matrices = {"none": 0, "lingoes": 4, "cailliez": 16}[self.correction]
        if m <= 1000:  # all eigenvalues are computed
            matrices += 4
        held = 0 if self.metric == "precomputed" else m * m * itemsize
        return {"distances": held, "spectrum": matrices * m * m * 8}


# -- additive constants ----------------------------------------------------------------------------


def additive_constant(D: Reals, correction: str) -> float:
    """The smallest constant that makes distances Euclidean.

    Added to all squares (as 2c), it is the size of the smallest eigenvalue of their centered inner
    products (Lingoes, 1971); added to the distances, the largest real eigenvalue of
    [[0, 2 B(D²)], [-I, -4 B(D)]] (Cailliez, 1983).
    """
    D = D.astype(np.float64)
    if correction == "lingoes":
        return max(0.0, -float(np.linalg.eigvalsh(_centered(D * D))[0]))
    n = len(D)
    upper = np.hstack([np.zeros((n, n)), 2 * _centered(D * D)])
    lower = np.hstack([-np.eye(n), -4 * _centered(D)])
    roots = np.linalg.eigvals(np.vstack([upper, lower]))
    real = roots.real[np.abs(roots.imag) <= 1e-9 * np.abs(roots).max(initial=0)]
    return max(0.0, float(real.max(initial=0)))


def _centered(M: Reals) -> Reals:
    """B(M) = -1/2 H M H."""
    rows = M.mean(0)
    return np.asarray(-0.5 * (M - rows - M.mean(1, keepdims=True) + rows.mean()))


def half_negative_squares(D: Reals) -> Reals:
    """-D²/2, the inner products that distances say, up to their means."""
    products: Reals = np.square(D)
    products *= -0.5
    return products


def nearest_others(D: Reals) -> Reals:
    """The distance of each point to its nearest other; of a single point infinity."""
    found = np.empty(len(D))
    for some in chunks(len(D), len(D), 2**18):
        part = D[some].copy()
        part[np.arange(len(part)), np.arange(some.start, some.stop)] = np.inf
        found[some] = part.min(1)
    return found
