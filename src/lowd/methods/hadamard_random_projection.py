"""Subsampled randomized Hadamard transform (Ailon and Chazelle, 2006; Tropp, 2011)."""

from __future__ import annotations

import numpy as np

from .. import random
from ..backends import resolve
from ..backends.protocol import Array
from ..core.estimator import reducer
from ..core.fit import Context, Fit
from ..errors import ParameterError
from ..maps.linear import HadamardInverse, HadamardMap
from ..solvers.memory_plans import plan_hadamard
from ..solvers.random_projection import RandomProjection


@reducer
class HadamardRandomProjection(RandomProjection):
    """A subsampled randomized Hadamard transform: a dense projection at the price of reading X.

    Flips random signs, mixes all columns by a fast Walsh-Hadamard transform and keeps a random
    sample of the result; the matrix is never formed. Cost: n·d·log d for any number of
    components. "auto" uses the Gaussian formula; proofs for this transform ask for an extra
    logarithmic factor. Use it instead of the Gaussian projection when speed matters.
    New rows: the same transform.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
    eps : float, default=0.1
    random_state : int, RandomState, Generator or None, default=None
        As for GaussianRandomProjection; at most n_features rounded up to a power of two.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The matrix, formed on request.
    n_components_, seed_ : int

    References
    ----------
    Ailon and Chazelle (2006); Tropp (2011).

    Examples
    --------
    >>> import numpy as np, lowd
    >>> X = np.random.default_rng(0).normal(size=(100, 3000))
    >>> lowd.HadamardRandomProjection(400, random_state=0).fit_transform(X).shape
    (100, 400)
    """

    memory_plan = plan_hadamard

    def _draw(self, n: int, d: int, ctx: Context) -> Fit:
        k, padded = self._dimension(n, d), 1 << (d - 1).bit_length()
        if k > padded:
            raise ParameterError(
                f"n_components={k} exceeds {padded} (n_features={d} rounded up to a power of two)."
            )
        signs = random.signs(ctx.seed, "signs", d).astype(ctx.dtype)
        rows = random.subset(ctx.seed, "rows", padded, k)
        return Fit(None, HadamardMap(signs, rows, padded, k**-0.5), {"n_components": k})

    @property
    def components_(self) -> Array:
        ops = resolve(self.backend, self.n_jobs)
        identity = np.eye(self.n_features_in_, dtype=self.map_.signs.dtype)
        return np.asarray(self.map_(identity, ops).T)

    def _inverse_map(self) -> HadamardInverse:
        return HadamardInverse(self.map_)
