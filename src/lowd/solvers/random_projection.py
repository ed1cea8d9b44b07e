"""What the random projections share: the Johnson-Lindenstrauss dimension and the estimator base."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..backends.protocol import Array
from ..core.estimator import Reducer, reducer
from ..core.fit import Context, Fit
from ..core.memory import Sizes, plan_fit
from ..core.parameters import Count, Seed, Share, refuse_unused
from ..errors import DimensionWarning, ParameterError, warn
from ..input.blocks import RowBlocks
from ..input.validation import Data
from ..maps.linear import LinearMap
from .memory_plans import plan_random_projection


def jl_min_dim(
    n_samples: ArrayLike, eps: ArrayLike = 0.1, rule: Literal["tight", "classic"] = "tight"
) -> int | NDArray[np.int64]:
    """Dimensions in which n points can keep all squared distances within 1 ± eps.

    "tight": floor(4 ln n / (eps²/2 - eps³/3)), for 0 < eps < 1. "classic": ceil(20 ln n / eps²),
    for 0 < eps < 1/2 and n > 4. Both hold for Gaussian matrices whatever the input dimension.

    Parameters
    ----------
    n_samples : int or array-like of int
    eps : float or array-like of float, default=0.1
    rule : {"tight", "classic"}, default="tight"

    Returns
    -------
    int or ndarray of int

    Examples
    --------
    >>> import lowd
    >>> lowd.jl_min_dim(1000, 0.1), lowd.jl_min_dim(1000, 0.1, rule="classic")
    (5920, 13816)
    """
    n, e = np.asarray(n_samples, np.float64), np.asarray(eps, np.float64)
    top, least = {"tight": (1, 1), "classic": (0.5, 5)}.get(rule, (0, 0))
    if not top:
        raise ParameterError(f"rule={rule!r}: expected 'tight' or 'classic'.")
    if not ((e > 0) & (e < top)).all():
        raise ParameterError(f"eps={eps!r}: rule={rule!r} needs 0 < eps < {top}.")
    if not (n >= least).all():
        raise ParameterError(f"n_samples={n_samples!r}: rule={rule!r} needs at least {least}.")
    if rule == "tight":
        k = np.floor(4 * np.log(n) / (e**2 / 2 - e**3 / 3))
    else:
        k = np.ceil(20 * np.log(n) / e**2)
    return int(k) if k.ndim == 0 else k.astype(np.int64)


@reducer
class RandomProjection(Reducer):
    """What the three projections share: the dimension, the kinds of data, and no look at them."""

    n_components: Count | Literal["auto"] = "auto"
    eps: Share = 0.1
    random_state: Seed = None

    is_random = True
    is_data_independent = True
    accepts_sparse = True
    takes_batches = True
    memory_plan = plan_random_projection

    def _draw(self, n: int, d: int, ctx: Context) -> Fit:
        raise NotImplementedError

    def _fit(self, data: Data, ctx: Context) -> Fit:
        return self._draw(*data.shape, ctx)

    def _fit_blocks(self, X: RowBlocks, ctx: Context, **given: object) -> Fit:  # noqa: ARG002
        if X.n_rows is None and self.n_components == "auto":
            raise ParameterError(
                "n_components='auto' needs the number of rows; call X.compute_chunk_sizes() first, "
                "or give a count."
            )
        return self._draw(X.n_rows or 1, X.n_features, ctx)

    def _plan_blocks(self, sizes: Sizes, n_threads: int) -> dict[str, int]:  # noqa: ARG002
        return plan_fit(self, sizes._replace(n=1)).parts

    def _dimension(self, n: int, d: int) -> int:
        if self.n_components != "auto":
            refuse_unused(self, ["eps"], "n_components is given")
            if self.n_components > d:
                warn(
                    f"n_components={self.n_components} exceeds n_features={d}: the projection "
                    "makes the data wider.",
                    DimensionWarning,
                )
            return int(self.n_components)
        k = jl_min_dim(n, self.eps)
        if not 0 < k < d:
            raise ParameterError(
                f"n_components='auto' with eps={self.eps} and n_samples={n} needs {k} dimensions, "
                f"but X has n_features={d}; raise eps or give n_components."
            )
        return int(k)

    def _n_dimensions(self, n: int, d: int) -> int:
        """Components of a fit of n rows, unchecked."""
        if self.n_components != "auto":
            return int(self.n_components)
        return min(int(jl_min_dim(n, self.eps)), d)

    def _count_entries(self, k: int, d: int) -> int:
        """Numbers that are drawn for k components of d features."""
        return k * d


def pseudo_inverse(components: Array, inverse: Array | None) -> LinearMap:
    """The map back by the Moore-Penrose inverse, which is computed where it is not given."""
    inverse = np.linalg.pinv(components) if inverse is None else inverse
    return LinearMap(None, np.ascontiguousarray(inverse.T))
