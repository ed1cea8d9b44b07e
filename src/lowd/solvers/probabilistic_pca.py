"""Probabilistic PCA: the Gaussian density that principal components describe.

The covariance has the variances of the components along their axes and one noise variance in all
other directions (Tipping and Bishop, 1999).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..backends import resolve
from ..backends.protocol import Float64, Rows
from ..core.estimator import Reducer, reducer
from ..errors import UnsupportedError
from ..input.arguments import Input
from ..input.sample import Items
from ..maps.blockwise import blockwise
from ..maps.linear import to_dense


class GaussianDensity(NamedTuple):
    """N(mean, S (V' diag(variances - noise) V + noise I) S), S = diag(scale)."""

    mean: Float64
    scale: Float64
    V: Float64  # one axis per row
    variances: Float64
    noise: float

    def covariance(self) -> Float64:
        """The covariance matrix of the columns (d x d)."""
        d = len(self.mean)
        C = (self.V.T * (self.variances - self.noise)) @ self.V + self.noise * np.eye(d)
        return np.asarray(C * np.outer(self.scale, self.scale))

    def precision(self) -> Float64:
        """The inverse of the covariance matrix, by Woodbury's identity."""
        self.require_full_rank()
        V, d = self.V, len(self.mean)
        inverse = 1 / self.variances
        if len(V) < d:
            inverse -= 1 / self.noise
        P = (V.T * inverse) @ V + (np.eye(d) / self.noise if len(V) < d else 0)
        return np.asarray(P / np.outer(self.scale, self.scale))

    def log_likelihoods(self, X: Items) -> Float64:
        """The log-density of each row."""
        self.require_full_rank()
        d, k = len(self.mean), len(self.V)
        log_det = 2 * np.log(self.scale).sum() + np.log(self.variances).sum()
        log_det += (d - k) * np.log(self.noise) if k < d else 0.0

        def of_rows(rows: Rows) -> Float64:
            Z = (to_dense(rows).astype(np.float64) - self.mean) / self.scale
            Y = Z @ self.V.T
            distance = (Y**2 / self.variances).sum(1)
            if k < d:
                distance += ((Z - Y @ self.V) ** 2).sum(1) / self.noise
            return np.asarray(-0.5 * (d * np.log(2 * np.pi) + log_det + distance))

        return np.asarray(blockwise(X, 2 * d, of_rows))

    def require_full_rank(self) -> None:
        """Raise an error unless every direction has variance."""
        d, k = len(self.mean), len(self.V)
        if (self.variances > 0).all() and (k == d or self.noise > 0):
            return
        rank = int((self.variances > 0).sum())
        raise UnsupportedError(
            f"{k} components leave no variance in the other directions of {d} columns, so that the "
            f"density is singular; fit with n_components={max(1, rank - 1)} or fewer."
        )


@reducer
class ProbabilisticPCA(Reducer):
    """What PCA is as a density: covariance, precision and likelihood of rows."""

    def score_samples(self, X: Input) -> Float64:
        """Log-likelihood of each row under the density of the model (probabilistic PCA)."""
        self._check_fitted()
        ops = resolve(self.backend, self.n_jobs)
        return self._density().log_likelihoods(self._validate(X, ops).items)

    def score(self, X: Input, y: Input = None) -> float:  # noqa: ARG002 - scikit-learn's signature
        """Mean log-likelihood of the rows."""
        return float(self.score_samples(X).mean())

    def get_covariance(self) -> Float64:
        """Covariance matrix of the columns: of the components, and one noise variance beyond."""
        self._check_fitted()
        return self._density().covariance()

    def get_precision(self) -> Float64:
        """The inverse of the covariance matrix."""
        self._check_fitted()
        return self._density().precision()

    def _density(self) -> GaussianDensity:
        V, noise = self.components_.astype(np.float64), float(self.noise_variance_)
        variances = np.maximum(self.explained_variance_, noise)
        return GaussianDensity(self.mean_, self.scale_, V, variances, noise)
