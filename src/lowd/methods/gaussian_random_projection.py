"""Gaussian random projection (Johnson and Lindenstrauss, 1984)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import random
from ..core.estimator import reducer
from ..core.fit import Context, Fit
from ..maps.linear import LinearMap
from ..solvers.random_projection import RandomProjection, pseudo_inverse


@reducer
class GaussianRandomProjection(RandomProjection):
    """Random directions, which nearly keep all distances when there are enough of them.

    Use it to make very wide data narrow before a costlier method; not for pictures. The matrix
    does not depend on the data. Cost: n·d·k. New rows: the same matrix product.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        A count, or "auto": the dimension that keeps squared distances within 1 ± `eps`
        (`lowd.jl_min_dim`).
    eps : float, default=0.1
        Distortion allowed by "auto".
    compute_inverse_components : bool, default=False
        Compute the pseudo-inverse when fitting (`inverse_components_`) rather than at each
        `inverse_transform`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the draw; None draws a new one, kept as `seed_`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The matrix, one direction per row.
    n_components_, seed_ : int

    References
    ----------
    Johnson and Lindenstrauss (1984); Dasgupta and Gupta (2003).

    Examples
    --------
    >>> import numpy as np, lowd
    >>> X = np.random.default_rng(0).normal(size=(100, 3000))
    >>> lowd.GaussianRandomProjection(400, random_state=0).fit_transform(X).shape
    (100, 400)
    """

    compute_inverse_components: bool = False

    def _draw(self, n: int, d: int, ctx: Context) -> Fit:
        k = self._dimension(n, d)
        W = random.normals(ctx.seed, "gaussian", (k, d)).T / np.sqrt(k)
        W = np.ascontiguousarray(W, ctx.dtype)
        report: dict[str, Any] = {"n_components": k, "components": W.T}
        if self.compute_inverse_components:
            report["inverse_components"] = np.linalg.pinv(W.T)
        return Fit(None, LinearMap(None, W), report)

    def _inverse_map(self) -> LinearMap:
        return pseudo_inverse(self.components_, getattr(self, "inverse_components_", None))
