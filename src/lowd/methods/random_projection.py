"""Random projections (Johnson, Lindenstrauss 1984; Achlioptas 2003; Ailon, Chazelle 2006)."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from scipy.sparse import csr_array

from .. import blocks, draws
from ..backends import resolve
from ..backends.protocol import Array, Backend
from ..base import Context, Fit, Reducer, reducer, rehearse
from ..errors import DimensionWarning, ParameterError, warn
from ..linear_maps import HadamardMap, LinearMap, SparseLinearMap
from ..params import Above, AtMost, Count, Seed, Share, refuse_unused
from ..values import value


def jl_min_dim(n_samples: Any, eps: Any = 0.1, rule: Literal["tight", "classic"] = "tight") -> Any:
    """Dimensions in which n points can keep all squared distances within 1 ± eps.

    "tight": floor(4 ln n / (eps²/2 - eps³/3)), for 0 < eps < 1. "classic": ceil(20 ln n / eps²),
    for 0 < eps < 1/2 and n > 4. Both hold for Gaussian matrices whatever the input dimension.

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


Density = Annotated[float, Above(0), AtMost(1)]


@reducer
class RandomProjection(Reducer):
    """What the three projections share: the dimension, the kinds of data, and no look at them."""

    n_components: Count | Literal["auto"] = "auto"
    eps: Share = 0.1
    random_state: Seed = None

    draws: ClassVar[bool] = True

    def _draw(self, n: int, d: int, ctx: Context) -> Fit:
        raise NotImplementedError

    def _fit(self, X: Any, ctx: Context) -> Fit:
        return self._draw(X.shape[0], X.shape[1], ctx)

    def _fit_blocks(self, X: Any, ctx: Context, **given: Any) -> Fit:  # noqa: ARG002
        n = blocks.n_rows(X)
        if n is None and self.n_components == "auto":
            raise ParameterError(
                "n_components='auto' needs the number of rows; call X.compute_chunk_sizes() first, "
                "or give a count."
            )
        X = blocks.width(self, X)
        return self._draw(n or 1, X.shape[1], ctx)

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

    def _takes_sparse(self) -> bool:
        return True

    def _memory(self, n: int, d: int, itemsize: int) -> dict[str, int]:
        k = self.n_components if self.n_components != "auto" else min(jl_min_dim(n, self.eps), d)
        return {"matrix": 2 * k * d * 8, "coordinates": n * k * itemsize}


@reducer
class GaussianRandomProjection(RandomProjection):
    """Random directions, which nearly keep all distances when there are enough of them.

    Use it to make very wide data narrow before a costlier method; not for pictures. The matrix
    does not depend on the data. Cost: n·d·k. New rows: the same matrix product.

    Parameters
    ----------
    n_components
        A count, or "auto": the dimension that keeps squared distances within 1 ± `eps`
        (`lowd.jl_min_dim`).
    eps
        Distortion allowed by "auto".
    compute_inverse_components
        Compute the pseudo-inverse when fitting (`inverse_components_`) rather than at each
        `inverse_transform`.
    random_state
        Seed of the draw; None draws a new one, kept as `seed_`.

    Attributes
    ----------
    components_ : the matrix, one direction per row; n_components_ ; seed_

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

    blind: ClassVar[bool] = True

    def _draw(self, n: int, d: int, ctx: Context) -> Fit:
        k = self._dimension(n, d)
        W = draws.normals(ctx.seed, "gaussian", (k, d)).T / np.sqrt(k)
        W = np.ascontiguousarray(W, ctx.dtype)
        report: dict[str, Any] = {"n_components": k, "components": W.T}
        if self.compute_inverse_components:
            report["inverse_components"] = np.linalg.pinv(W.T)
        return Fit(None, LinearMap(None, W), report)

    def _inverse_map(self) -> LinearMap:
        return _pseudo_inverse(self, self.components_)


@reducer
class SparseRandomProjection(RandomProjection):
    """A random projection with few non-zeros: cheaper on wide or sparse data.

    Entries are ±sqrt(1/(density·k)) with probability `density`, else 0. Cost: n·d·k·density.
    The guarantee behind "auto" is proven for density 1/3; at 1/sqrt(d) it is a guide.
    New rows: the same matrix product. The result is dense, also for sparse input.

    Parameters
    ----------
    n_components, eps, compute_inverse_components, random_state
        As for GaussianRandomProjection.
    density
        Share of non-zeros; "auto" is 1/sqrt(n_features) (Li, Hastie and Church, 2006).

    Attributes
    ----------
    components_ : the matrix (CSR); density_ ; n_components_ ; seed_

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
        density = d**-0.5 if self.density == "auto" else float(self.density)
        C = sparse_signs(ctx.seed, k, d, density)
        C = csr_array((C.data / np.sqrt(density * k), C.indices, C.indptr), shape=(k, d)).astype(
            ctx.dtype
        )
        report: dict[str, Any] = {"n_components": k, "components": C, "density": density}
        if self.compute_inverse_components:
            report["inverse_components"] = np.linalg.pinv(C.toarray())
        return Fit(None, SparseLinearMap(C), report)

    def _inverse_map(self) -> LinearMap:
        return _pseudo_inverse(self, self.components_.toarray())


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
    n_components, eps, random_state
        As for GaussianRandomProjection; at most n_features rounded up to a power of two.

    Attributes
    ----------
    components_ : the matrix, formed on request; n_components_ ; seed_

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

    blind: ClassVar[bool] = True

    def _draw(self, n: int, d: int, ctx: Context) -> Fit:
        k, padded = self._dimension(n, d), 1 << (d - 1).bit_length()
        if k > padded:
            raise ParameterError(
                f"n_components={k} exceeds {padded} (n_features={d} rounded up to a power of two)."
            )
        signs = draws.signs(ctx.seed, "signs", d).astype(ctx.dtype)
        rows = draws.subset(ctx.seed, "rows", padded, k)
        return Fit(None, HadamardMap(signs, rows, padded, k**-0.5), {"n_components": k})

    @property
    def components_(self) -> Array:
        ops = resolve(self.backend, self.n_jobs)
        identity = np.eye(self.n_features_in_, dtype=self.map_.signs.dtype)
        return np.asarray(self.map_(identity, ops).T)

    def _inverse_map(self) -> HadamardInverse:
        return HadamardInverse(self.map_)

    def _memory(self, n: int, d: int, itemsize: int) -> dict[str, int]:
        return {"coordinates": super()._memory(n, d, itemsize)["coordinates"]}


@value
class HadamardInverse:
    """(k/d') R', since the rows of R are orthogonal with squared length d'/k."""

    forward: HadamardMap

    def __call__(self, Y: Array, ops: Backend) -> Array:
        go = self.forward
        spread = np.zeros((len(Y), go.padded), Y.dtype)
        spread[:, go.rows] = Y
        columns = np.arange(len(go.signs), dtype=np.int64)
        scale = len(go.rows) / go.padded * go.scale
        back = ops.hadamard(spread, np.ones(go.padded), columns, go.padded, scale)
        return np.asarray(back * go.signs, Y.dtype)


def sparse_signs(seed: int, k: int, d: int, density: float) -> csr_array:
    """k x d matrix of +1 and -1, each entry non-zero with probability `density`.

    Gaps between non-zeros of a row are geometric, so the cost is that of the non-zeros.
    """
    guess = int(d * density + 6 * np.sqrt(d * density) + 16)
    while True:
        index = np.arange(k)[:, None] * 2**32 + np.arange(guess)
        u = draws.uniforms(seed, "gaps", index.ravel()).reshape(k, guess)
        gaps = np.ones_like(u) if density == 1 else np.floor(np.log(u) / np.log1p(-density)) + 1
        places = np.cumsum(np.minimum(gaps, d + 1), axis=1).astype(np.int64) - 1
        if (places[:, -1] >= d).all():
            break
        guess *= 2  # beyond six standard deviations; earlier gaps stay what they are
    inside = places < d
    flips = draws.bits(seed, "flips", index.ravel()).reshape(k, guess) >> np.uint64(63)
    indptr = np.concatenate([[0], np.cumsum(inside.sum(1))])
    data = np.where(flips[inside] == 1, 1.0, -1.0)
    return csr_array((data, places[inside], indptr), shape=(k, d))


def _pseudo_inverse(model: Any, components: Array) -> LinearMap:
    inverse = getattr(model, "inverse_components_", None)
    if inverse is None:
        inverse = np.linalg.pinv(components)
    return LinearMap(None, np.ascontiguousarray(inverse.T))


for method in (GaussianRandomProjection, SparseRandomProjection):
    rehearse(method(2, random_state=0))
