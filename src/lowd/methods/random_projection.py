"""Random projections: Gaussian, sparse, and by a Hadamard transform.

Johnson and Lindenstrauss (1984): n points keep all their distances within 1 ± eps in a number of
random directions that depends on log n and eps only.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from .. import _native, confidence, progress, random
from ..backend import chunks, overridable, threads
from ..blocks import RowBlocks
from ..errors import DimensionWarning, ParameterError, UnsupportedError, warn
from ..linalg.kinds import multiply
from ..linalg.principal import project, with_contiguous_rows
from ..parameters import Count, Graph, Indices, Limit, Reals, Seed, Share, refuse_unused, state
from ..reducer import Reducer


def jl_min_dim(
    n_samples: ArrayLike, eps: ArrayLike = 0.1, rule: Literal["tight", "classic"] = "tight"
) -> int | NDArray[np.int64]:
    """Dimensions in which n points can keep all squared distances within 1 ± eps.

    "tight": floor(4 ln n / (eps²/2 - eps³/3)), for 0 < eps < 1. "classic": ceil(20 ln n / eps²),
    for 0 < eps < 1/2 and n > 4. Both hold for Gaussian matrices whatever the input dimension.

    Parameters
    ----------
    n_samples : int or array-like of int
        The number of points.
    eps : float or array-like of float, default=0.1
        The distortion.
    rule : {"tight", "classic"}, default="tight"
        The formula.

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
        raise ParameterError(f"rule={rule!r}: expected 'tight' or 'classic'.", "rule")
    if not ((e > 0) & (e < top)).all():
        raise ParameterError(f"eps={eps!r}: rule={rule!r} needs 0 < eps < {top}.", "eps")
    if not (n >= least).all():
        raise ParameterError(
            f"n_samples={n_samples!r}: rule={rule!r} needs at least {least}.", "n_samples"
        )
    if rule == "tight":
        k = np.floor(4 * np.log(n) / (e**2 / 2 - e**3 / 3))
    else:
        k = np.ceil(20 * np.log(n) / e**2)
    return int(k) if k.ndim == 0 else k.astype(np.int64)


class RandomProjection(Reducer):
    """What the three projections share: the dimension, the kinds of data, and no look at them."""

    n_components: Count | Literal["auto"] = "auto"
    eps: Share = 0.1
    random_state: Seed = None

    takes = frozenset({"sparse", "blocks"})
    is_random = True
    is_data_independent = True
    adds_rows_up = True
    spreads = True
    takes_statistics = True

    n_components_: int = state()
    _sampled: confidence.SampledRows = state()

    def _fit(self, X: Any, y: object, seed: int, statistics: Any = None) -> None:  # noqa: ARG002
        blocks = isinstance(X, RowBlocks)
        if blocks and X.n_rows is None and self.n_components == "auto":
            raise ParameterError(
                "n_components='auto' needs the number of rows; call X.compute_chunk_sizes() "
                "first, or give a count.",
                "n_components",
            )
        n, d = (X.n_rows or 1, X.n_features) if blocks else X.shape
        self.n_components_ = self._n_features_out = k = self._choose_dimension(n, d)
        self._draw_matrix(k, d, seed, np.dtype(np.float32 if self._float32 else np.float64))
        if not blocks:  # of which none is read
            hashes = None if statistics is None else statistics.priorities
            self._sampled = confidence.SampledRows.of(X, hashes=hashes)

    def _draw_matrix(self, k: int, d: int, seed: int, dtype: np.dtype[Any]) -> None:
        raise NotImplementedError

    def _choose_dimension(self, n: int, d: int) -> int:
        """The number of directions: a count, or what the lemma asks for."""
        if self.n_components != "auto":
            refuse_unused(self, ["eps"], "n_components is given")
            if self.n_components > d:
                warn(
                    f"n_components={self.n_components} exceeds n_features={d}: the projection "
                    "makes the data wider.",
                    DimensionWarning,
                )
            return int(self.n_components)
        k = int(jl_min_dim(n, self.eps))
        if not 0 < k < d:
            raise ParameterError(
                f"n_components='auto' with eps={self.eps} and n_samples={n} needs {k} dimensions, "
                f"but X has n_features={d}; raise eps or give n_components.",
                "eps",
            )
        return k

    def _familiarity(self, Q: Any, used: None) -> Reals:  # noqa: ARG002
        if not hasattr(self, "_sampled"):
            raise UnsupportedError(
                f"this {type(self).__name__} has read none of its training rows, so it does not "
                "know which rows are far from them. Fit it again, on rows in memory."
            )
        return self._sampled.familiarity(Q)

    def _plan(self, n: int, d: int, itemsize: int) -> dict[str, int]:  # noqa: ARG002
        k = self.n_components if self.n_components != "auto" else jl_min_dim(n, self.eps)
        return {"matrix": 3 * int(k) * d * 8}


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
    backend : {"auto", "native", "torch"}, default="auto"
        What computes: the native core, or torch, on a GPU if there is one. "auto" is the native
        core, unless X is a tensor on a GPU.
    n_jobs : int or None, default=None
        Number of threads, which does not change the result. None and -1 are all CPUs.
    verbose : bool or int, default=False
        Show a progress bar on standard error.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The matrix, one direction per row.
    inverse_components_ : ndarray of shape (n_features, n_components)
        Its pseudo-inverse, if it was asked for.
    n_components_ : int
        Dimension of the embedding.
    seed_ : int
        Seed of the draw.

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

    components_: Reals = state("n_components n_features_in_")
    inverse_components_: Reals = state("n_features_in_ n_components")

    def _draw_matrix(self, k: int, d: int, seed: int, dtype: np.dtype[Any]) -> None:
        W = random.normals(seed, "gaussian", (k, d)).T / np.sqrt(k)
        self.components_ = np.ascontiguousarray(W, dtype).T
        if self.compute_inverse_components:
            self.inverse_components_ = np.linalg.pinv(self.components_)

    def _transform(self, Q: Any) -> tuple[Reals, None]:
        return project(Q, None, self.components_.T), None

    def _inverse_transform(self, Y: Reals) -> Reals:
        known = getattr(self, "inverse_components_", None)
        return project(Y, None, (np.linalg.pinv(self.components_) if known is None else known).T)


class SparseRandomProjection(RandomProjection):
    """A random projection with few non-zeros: cheaper on wide or sparse data.

    Entries are ±sqrt(1/(density·k)) with probability `density`, else 0. Cost: n·d·k·density.
    The guarantee behind "auto" is proven for density 1/3; at 1/sqrt(d) it is a guide.
    New rows: the same matrix product. The result is dense, also for sparse input.

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
    density : float or "auto", default="auto"
        Share of non-zeros; "auto" is 1/sqrt(n_features) (Li, Hastie and Church, 2006).
    backend : {"auto", "native", "torch"}, default="auto"
        What computes: the native core, or torch, on a GPU if there is one. "auto" is the native
        core, unless X is a tensor on a GPU.
    n_jobs : int or None, default=None
        Number of threads, which does not change the result. None and -1 are all CPUs.
    verbose : bool or int, default=False
        Show a progress bar on standard error.

    Attributes
    ----------
    components_ : csr_array of shape (n_components, n_features)
        The matrix.
    density_ : float
        Share of entries that may be non-zero.
    inverse_components_ : ndarray of shape (n_features, n_components)
        The pseudo-inverse, if it was asked for.
    n_components_ : int
        Dimension of the embedding.
    seed_ : int
        Seed of the draw.

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

    spreads = False  # a column may be in no direction

    density: Annotated[float, Limit(">", 0), Limit("<=", 1)] | Literal["auto"] = "auto"
    compute_inverse_components: bool = False

    components_: Graph = state("n_components n_features_in_")
    density_: float = state()
    inverse_components_: Reals = state("n_features_in_ n_components")

    def _draw_matrix(self, k: int, d: int, seed: int, dtype: np.dtype[Any]) -> None:
        self.density_ = share = float(d**-0.5 if self.density == "auto" else self.density)
        C = sparse_signs(seed, k, d, share)
        C.data /= np.sqrt(share * k)
        self.components_ = C.astype(dtype)
        if self.compute_inverse_components:
            self.inverse_components_ = np.linalg.pinv(self.components_.toarray())

    def _transform(self, Q: Any) -> tuple[Reals, None]:
        return project_sparsely(Q, self.components_), None

    def _inverse_transform(self, Y: Reals) -> Reals:
        known = getattr(self, "inverse_components_", None)
        inverse = np.linalg.pinv(self.components_.toarray()) if known is None else known
        return project(Y, None, inverse.T)

    def _plan(self, n: int, d: int, itemsize: int) -> dict[str, int]:
        share = float(d**-0.5 if self.density == "auto" else self.density)
        return {"matrix": int(super()._plan(n, d, itemsize)["matrix"] * share)}


def sparse_signs(seed: int, k: int, d: int, density: float) -> csr_array:
    """k x d matrix of +1 and -1, each entry non-zero with probability `density`.

    Gaps between non-zeros of a row are geometric, so the cost is that of the non-zeros.
    """
    # Six standard deviations more than a row has non-zeros.
    guess = int(d * density + 6 * np.sqrt(d * density) + 16)
    while True:
        index = np.arange(k)[:, None] * 2**32 + np.arange(guess)
        u = random.uniforms(seed, "gaps", index.ravel()).reshape(k, guess)
        gaps = np.ones_like(u) if density == 1 else np.floor(np.log(u) / np.log1p(-density)) + 1
        columns = np.cumsum(np.minimum(gaps, d + 1), axis=1).astype(np.int64) - 1
        if (columns[:, -1] >= d).all():
            break
        guess *= 2  # earlier gaps stay what they are
    inside = columns < d
    flips = random.bits(seed, "flips", index.ravel()).reshape(k, guess) >> np.uint64(63)
    indptr = np.concatenate([[0], np.cumsum(inside.sum(1))])
    data = np.where(flips[inside] == 1, 1.0, -1.0)
    return csr_array((data, columns[inside], indptr), shape=(k, d))


@overridable
def project_sparsely(X: Any, C: csr_array) -> Reals:
    """X C' of rows with a sparse matrix, in the type of X."""
    C, out = csr_array(C, dtype=X.dtype), np.empty((len(X), C.shape[0]), X.dtype)
    for some in chunks(len(X), X.shape[1], 2**18):  # each sum in the order of C's entries
        out[some] = (C @ X[some].T).T
        progress.report("projection", some.stop, len(X))
    return out


@project_sparsely.register(csr_array)
def _(X: csr_array, C: csr_array) -> Reals:
    out = np.empty((X.shape[0], C.shape[0]), X.dtype)
    for some in chunks(C.shape[0], X.shape[1]):  # directions, as dense vectors
        out[:, some] = multiply(X, C[some].toarray().T)
    return out


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
        A count, or "auto": the dimension that keeps squared distances within 1 ± `eps`
        (`lowd.jl_min_dim`). At most n_features rounded up to a power of two.
    eps : float, default=0.1
        Distortion allowed by "auto".
    random_state : int, RandomState, Generator or None, default=None
        Seed of the draw; None draws a new one, kept as `seed_`.
    backend : {"auto", "native", "torch"}, default="auto"
        What computes: the native core, or torch, on a GPU if there is one. "auto" is the native
        core, unless X is a tensor on a GPU.
    n_jobs : int or None, default=None
        Number of threads, which does not change the result. None and -1 are all CPUs.
    verbose : bool or int, default=False
        Show a progress bar on standard error.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The matrix, formed on request.
    n_components_ : int
        Dimension of the embedding.
    seed_ : int
        Seed of the draw.

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

    _flips: Reals = state("n_features_in_")
    _rows: Indices = state("n_components of _padded")  # of the Hadamard matrix
    _padded: int = state()  # its order, a power of two

    def _draw_matrix(self, k: int, d: int, seed: int, dtype: np.dtype[Any]) -> None:
        self._padded = padded = 1 << (d - 1).bit_length()
        if k > padded:
            raise ParameterError(
                f"n_components={k} exceeds {padded} (n_features={d} rounded up to a power of two).",
                "n_components",
            )
        self._flips = random.signs(seed, "signs", d).astype(dtype)
        self._rows = random.subset(seed, "rows", padded, k)

    @property
    def components_(self) -> Reals:
        return self._transform(np.eye(len(self._flips), dtype=self._flips.dtype))[0].T

    def _transform(self, Q: Any) -> tuple[Reals, None]:
        scale = self.n_components_**-0.5
        if not issparse(Q):
            return hadamard(Q, self._flips, self._rows, self._padded, scale), None
        out = np.empty((Q.shape[0], self.n_components_), Q.dtype)
        for some in chunks(Q.shape[0], self._padded):
            rows = Q[some].toarray()
            out[some] = hadamard(rows, self._flips, self._rows, self._padded, scale)
        return out, None

    def _inverse_transform(self, Y: Reals) -> Reals:
        """By (k/d') R': rows of R are orthogonal, with squared length d'/k."""
        k, padded = self.n_components_, self._padded
        spread = np.zeros((len(Y), padded), Y.dtype)
        spread[:, self._rows] = Y
        columns = np.arange(len(self._flips), dtype=np.int64)
        back = hadamard(spread, np.ones(padded), columns, padded, k**0.5 / padded)
        return np.asarray(back * self._flips, Y.dtype)


@overridable
def hadamard(X: Reals, signs: Reals, rows: Indices, padded: int, scale: float) -> Reals:
    """scale · (H pad(signs ∘ x))[rows] of each row, H the Walsh-Hadamard matrix of an order."""
    X = with_contiguous_rows(X)
    out, poll = np.empty((len(X), len(rows)), X.dtype), progress.step("projection")
    signs = signs.astype(X.dtype, copy=False)
    _native.hadamard(X, signs, rows, padded, scale, out, threads(16 * X.size), poll)
    return out
