"""Sparse random projection (Achlioptas, 2003; Li, Hastie and Church, 2006)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from scipy.sparse import csr_array

from .. import random
from ..core.estimator import reducer
from ..core.fit import Context, Fit
from ..core.parameters import Above, AtMost
from ..maps.linear import LinearMap, SparseLinearMap
from ..solvers.random_projection import RandomProjection, pseudo_inverse

Density = Annotated[float, Above(0), AtMost(1)]


@reducer
class SparseRandomProjection(RandomProjection):
    """A random projection with few non-zeros: cheaper on wide or sparse data.

    Entries are ±sqrt(1/(density·k)) with probability `density`, else 0. Cost: n·d·k·density.
    The guarantee behind "auto" is proven for density 1/3; at 1/sqrt(d) it is a guide.
    New rows: the same matrix product. The result is dense, also for sparse input.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
    eps : float, default=0.1
    compute_inverse_components : bool, default=False
    random_state : int, RandomState, Generator or None, default=None
        As for GaussianRandomProjection.
    density : float or "auto", default="auto"
        Share of non-zeros; "auto" is 1/sqrt(n_features) (Li, Hastie and Church, 2006).

    Attributes
    ----------
    components_ : csr_array of shape (n_components, n_features)
        The matrix.
    density_ : float
    n_components_, seed_ : int

    References
    ----------
    Achlioptas (2003); Li, Hastie and Church (2006).

    Examples
    --------
    >>> import numpy as np, lowd
    >>> X = np.random.default_rng(0).normal(size=(100, 3000))
    >>> model = lowd.SparseRandomProjection(400, random_state=0).fit(X)
    >>> model.transform(X).shape, round(model.density_, 4)
    ((100, 400), 0.0183)
    """

    density: Density | Literal["auto"] = "auto"
    compute_inverse_components: bool = False

    def _draw(self, n: int, d: int, ctx: Context) -> Fit:
        k = self._dimension(n, d)
        density = self._share_of_entries(d)
        C = sparse_signs(ctx.seed, k, d, density)
        C = csr_array((C.data / np.sqrt(density * k), C.indices, C.indptr), shape=(k, d)).astype(
            ctx.dtype
        )
        report: dict[str, Any] = {"n_components": k, "components": C, "density": density}
        if self.compute_inverse_components:
            report["inverse_components"] = np.linalg.pinv(C.toarray())
        return Fit(None, SparseLinearMap(C), report)

    def _share_of_entries(self, d: int) -> float:
        return float(d**-0.5 if self.density == "auto" else self.density)

    def _count_entries(self, k: int, d: int) -> int:
        return 3 * k * count_gaps(d, self._share_of_entries(d))

    def _inverse_map(self) -> LinearMap:
        inverse = getattr(self, "inverse_components_", None)
        return pseudo_inverse(self.components_.toarray(), inverse)


def count_gaps(d: int, density: float) -> int:
    """Gaps that are drawn for a row: six standard deviations more than it has non-zeros."""
    return int(d * density + 6 * np.sqrt(d * density) + 16)


def sparse_signs(seed: int, k: int, d: int, density: float) -> csr_array:
    """k x d matrix of +1 and -1, each entry non-zero with probability `density`.

    Gaps between non-zeros of a row are geometric, so the cost is that of the non-zeros.
    """
    guess = count_gaps(d, density)
    while True:
        index = np.arange(k)[:, None] * 2**32 + np.arange(guess)
        u = random.uniforms(seed, "gaps", index.ravel()).reshape(k, guess)
        gaps = np.ones_like(u) if density == 1 else np.floor(np.log(u) / np.log1p(-density)) + 1
        columns = np.cumsum(np.minimum(gaps, d + 1), axis=1).astype(np.int64) - 1
        if (columns[:, -1] >= d).all():
            break
        guess *= 2  # beyond six standard deviations; earlier gaps stay what they are
    inside = columns < d
    flips = random.bits(seed, "flips", index.ravel()).reshape(k, guess) >> np.uint64(63)
    indptr = np.concatenate([[0], np.cumsum(inside.sum(1))])
    data = np.where(flips[inside] == 1, 1.0, -1.0)
    return csr_array((data, columns[inside], indptr), shape=(k, d))
