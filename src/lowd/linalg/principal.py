"""Principal axes of rows: the eigenvectors of their scatter matrix, by the cheapest route.

Sums over rows are made in float64, of rows that are centered first: where the mean is large, a sum
from which it is taken off afterwards has no digits left.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import DTypeLike

from .. import _native, progress, random
from ..backend import allocate, chunks, overridable, threads
from ..blocks import RowBlocks
from ..errors import ConvergenceWarning, warn
from ..parameters import Held, Indices, Reals, state
from ..reuse import compute_once
from ..spaces import Space, hash_rows
from .centered import Scaling, half_squares, initial_scaling, keep_positive
from .eigen import (
    block_krylov,
    block_width,
    dense_eigenpairs,
    krylov_tolerance,
    next_of,
    numerical_rank,
    signs,
)

EPS = float(np.finfo(np.float64).eps)


class Axes(NamedTuple):
    """Leading eigenvalues of a scatter matrix, largest first, its eigenvectors and its trace."""

    values: Reals
    vectors: Reals
    total: float
    route: str
    residual: float = 0.0
    #: Eigenvalues up to here are rounding: relative to the largest, for all axes or for each.
    noise: float | Reals = 0.0
    squares: Reals | None = None  # the diagonal of the scatter matrix, where it is known
    following: float = -np.inf  # the next eigenvalue, where it is known

    @property
    def rank(self) -> int:
        """How many axes there are up to the last one that is not rounding."""
        return numerical_rank(self.values, self.noise)


class Seen(NamedTuple):
    """How rows are seen: from a center, each with a weight, in units of their columns."""

    mean: Reals
    weights: Reals | None = None
    units: Reals | None = None

    @property
    def inverse(self) -> Reals:
        """What columns are multiplied by."""
        return np.ones(len(self.mean)) if self.units is None else 1 / self.units

    def columns(self, some: slice) -> Seen:
        units = None if self.units is None else self.units[some]
        return Seen(self.mean[some], self.weights, units)


def principal_axes(
    X: Any,
    mean: Reals,
    k: int | None,
    seed: int = 0,
    *,
    units: Reals | None = None,
    weights: Reals | None = None,
    dtype: DTypeLike | None = None,
) -> Axes:
    """The k leading principal axes of rows, or all of them, seen from a center.

    Columns may be in `units`, and rows have `weights`. `dtype` is the type in which the rows were
    given, if they are in a wider one: its rounding is no axis.
    """
    n, d = X.shape
    dtype, least = np.dtype(X.dtype if dtype is None else dtype), min(n, d)
    kept, tolerance = k or least, krylov_tolerance(dtype)
    A, near = center_explicitly(X, mean, weights)
    seen, dense = Seen(near, weights, units), isinstance(X, np.ndarray)
    costs, axes = route_costs(n, d, k, dense=dense), None
    if min(costs, key=costs.__getitem__) == "krylov":
        patience = np.inf
        if least <= 4000:  # in which case another route is affordable
            product = (8 * n * d + 60_000_000 / 16) * block_width(kept)
            patience = min(costs["covariance"], costs["gram"]) / product
        axes = compute_once(
            ("krylov", kept, seed, tolerance, patience),
            (A, near, weights, units),
            lambda: by_krylov(A, seen, kept, seed=seed, tolerance=tolerance, patience=patience),
        )
        if axes.residual > tolerance and least <= 4000:
            axes = None  # the spectrum is too flat to iterate
        elif axes.residual > tolerance:
            warn(
                f"the principal axes have a relative residual of {axes.residual:.1e} (wanted "
                f"{tolerance:.0e}): the spectrum is nearly flat; ask for more components.",
                ConvergenceWarning,
            )
    if axes is None:
        axes = by_covariance(A, seen, kept) if d <= n else by_gram(A, seen, kept)
    if dense and n * d * least <= 2e6 and axes.values[-1] <= 1e-5 * axes.values[0]:
        # Squares have half the digits of the rows: too few for an axis that short.
        axes = by_svd(A, seen, kept)
    weight = float(n if weights is None else weights.sum())
    inverse = seen.inverse
    return with_rounding(
        axes, weight, mean * inverse, lambda: column_scatter(A, near, weights) * inverse**2, dtype
    )


# -- routes ---------------------------------------------------------------------------------------


def route_costs(n: int, d: int, k: int | None, *, dense: bool) -> dict[str, float]:
    """Multiplications of each route to k axes of n rows of d columns, or to all for None."""
    costs = {"covariance": n * d * d + 4.0 * d**3, "gram": d * n * n + 4.0 * n**3}
    if k is not None and 3 * block_width(k) <= min(n, d):
        costs["krylov"] = (32.0 * n * d + 60_000_000 * dense) * block_width(k)
    return costs


def by_covariance(X: Any, seen: Seen, k: int) -> Axes:
    """From the d x d scatter matrix."""
    if isinstance(X, np.ndarray) and X.dtype == np.float32 and X.size * X.shape[1] <= 2e7:
        X = X.astype(np.float64)  # exact products, at no cost for so few rows
    arrays = X, seen.mean, seen.weights
    S = compute_once("scatter", arrays, lambda: scatter(*arrays))
    if seen.units is not None:
        S = S / np.outer(seen.units, seen.units)
    return from_scatter(S, k, X.dtype)


def from_scatter(S: Reals, k: int, dtype: DTypeLike) -> Axes:
    """The k leading axes from a scatter matrix that was computed by products of this type."""
    values, V, *_, following = dense_eigenpairs(S, k)
    squares, noise = np.diagonal(S), np.full(len(values), len(S) * EPS)
    if np.dtype(dtype) == np.float32 and values[0] > 0:
        # Products are as precise as they are long: those of short columns keep their digits.
        along = sqrt(len(S)) * (squares @ V**2) / values[0]
        noise = np.maximum(noise, np.finfo(np.float32).eps * np.minimum(along, 1))
    return Axes(values, V, float(squares.sum()), "covariance", 0.0, noise, squares, following)


@overridable
def by_gram(X: Any, seen: Seen, k: int) -> Axes:
    """From the n x n matrix of inner products: for fewer rows than columns."""
    n, d = X.shape
    # In float64 up to so many multiplications, where that takes little longer.
    narrow = X.dtype == np.float32 and n * n * d > 5e9
    small = np.dtype(np.float32 if narrow else np.float64)
    plain = X.dtype == small and seen.units is None and seen.weights is None
    A, center = (X, seen.mean) if plain else (centered(X, seen).astype(small, copy=False), None)

    def products() -> Reals:
        G = allocate((n, n), small, f"the inner products of {n} rows", "use fewer rows")
        poll = progress.step("inner products")
        _native.pairwise(A, A, "dot", (1.0,), center, True, G, threads(X.size * n), poll)
        return G

    G = compute_once("products", (A, center), products)
    values, U, *_, following = dense_eigenpairs(G.astype(np.float64, copy=False), k)
    V, U = np.empty((d, U.shape[1])), U.astype(small)
    for some in chunks(d, n, 2**17):  # so that the centered rows are not formed at once
        V[some] = centered(X[:, some], seen.columns(some)).astype(small, copy=False).T @ U
    noise = max(n, d) * EPS if small == np.float64 else float(np.finfo(np.float32).eps)
    values, total = np.maximum(values, 0), float(np.trace(G))
    return Axes(values, normalized(V), total, "gram", 0.0, noise, None, following)


@overridable
def by_krylov(X: Any, seen: Seen, k: int, *, seed: int, tolerance: float, patience: float) -> Axes:
    """By products with the scatter matrix, which is not formed."""
    inverse, trace = seen.inverse[:, None], 0.0

    def product(V: Reals) -> Reals:
        nonlocal trace
        image, trace = scatter_product(X, seen.mean, V * inverse, seen.weights)
        return np.asarray(image * inverse)

    start = random.normals(seed, "start", (X.shape[1], block_width(k)))
    found = block_krylov(product, start, k, tolerance, patience=patience)
    if seen.units is not None:
        squares = column_scatter(X, seen.mean, seen.weights)
        trace = float((squares / seen.units**2).sum())
    noise = found.residual + max(X.shape) * EPS
    values, V, residual, _, following = found
    return Axes(values, V, trace, "krylov", residual, noise, None, following)


def by_svd(X: Reals, seen: Seen, k: int) -> Axes:
    """From the singular values of the centered rows themselves: the most accurate."""
    A = centered(X, seen)
    squares, relative = np.einsum("ij,ij->j", A, A), max(A.shape) * EPS
    if A.shape[0] > A.shape[1]:  # as accurate, without left vectors, which nobody needs
        A = np.asarray(np.linalg.qr(A, mode="r"))
    _, sigma, Vt = scipy.linalg.svd(A, full_matrices=False)
    values, V = sigma[:k] ** 2, Vt[:k].T
    # A few digits are left for the axes of long columns; short columns have axes of their own.
    along = squares @ V**2 / (values[0] or 1.0)
    noise = relative * np.maximum(along, relative)
    total, following = float((sigma**2).sum()), next_of(sigma**2, k)
    return Axes(values, V, total, "svd", 0.0, noise, squares, following)


def with_rounding(
    axes: Axes, n: float, mean: Reals, squares: Callable[[], Reals], dtype: DTypeLike
) -> Axes:
    """The same axes, whose noise is at least what the rounding of the input alone would cause.

    Rounding errors of a column x are uniform with standard deviation eps |x| / √12 at most, |x|
    being three deviations beyond its mean; a matrix of them has singular values up to √n + √d
    times that. Twice that, for safety, and what the rounding of the mean itself adds. A column is
    never more rounding than half of what its deviations are: a constant one has none, and one that
    no other column explains is not rounding, however large its mean is. An axis has the noise of
    the columns that it consists of.

    `mean` and `squares`, the sums of squared deviations, are in the units of the columns.
    """
    values, d = axes.values, len(mean)
    if axes.squares is not None:
        axes.vectors[axes.squares == 0] = 0  # exactly: new rows may be far from a constant
    if not len(values) or values[0] <= 0:
        return axes
    eps = float(np.finfo(np.dtype(dtype)).eps)
    share = (2 * eps * (sqrt(n) + sqrt(d))) ** 2 / 12 + (4 * EPS) ** 2 * n * d
    most = float(np.abs(mean).max()) + 3 * sqrt(max(axes.total, 0) / n)
    if values[-1] > share * most**2:  # the usual case: no need to look at the columns
        return axes
    spread = np.maximum(squares() if axes.squares is None else axes.squares, 0)
    size = np.abs(mean) + 3 * np.sqrt(spread / n)
    noise = np.minimum(share * size**2, spread / 2) @ axes.vectors**2
    return axes._replace(noise=np.maximum(axes.noise, noise / values[0]))


# -- sums over dense rows; `kinds` has those over sparse ones -------------------------------------


@overridable
def column_means(X: Any, weights: Reals | None = None) -> Reals:
    """Means of the columns in float64; exactly the entry where a column is constant."""
    sums, poll = np.empty(X.shape[1]), progress.step("reading")
    _native.column_sums(X, weights, sums, None, 0, None, threads(X.size), poll)
    return refined(X, sums / (len(X) if weights is None else weights.sum()), weights)


def refined(X: Reals, mean: Reals, weights: Reals | None) -> Reals:
    """The means without the rounding of sums, which grows with the entries of a column.

    It may exceed the deviations of all other columns. The mean of the deviations takes it out,
    where a few rows show these to be a small share of the mean.
    """
    with np.errstate(over="ignore"):
        spread = np.abs(X[:: max(1, len(X) // 64)] - mean).max(0)
    flat = np.flatnonzero((spread <= 1e-6 * np.abs(mean)) & (spread > 0))
    if not len(flat):
        return mean
    off, mean = np.zeros(len(flat)), mean.copy()
    for some in chunks(len(X), len(flat), 2**17):
        gap = X[some, flat] - mean[flat]
        off += gap.sum(0) if weights is None else weights[some] @ gap
    mean[flat] += off / (len(X) if weights is None else weights.sum())
    return mean


@overridable
def column_scatter(X: Any, mean: Reals, weights: Reals | None = None) -> Reals:
    """Σ w (x - mean)² of each column, in float64 and without a copy of the rows."""
    out = np.zeros(X.shape[1])
    for some in chunks(len(X), X.shape[1], 2**16):
        squares = np.square(X[some] - mean)
        out += squares.sum(0) if weights is None else weights[some] @ squares
    return out


@overridable
def scatter(X: Any, mean: Reals, weights: Reals | None = None) -> Reals:
    """Σ w (x - mean)(x - mean)', in float64."""
    d = X.shape[1]
    out, poll = np.empty((d, d)), progress.step("covariance")
    # Entries stay in registers, so that 64 products take the time of one elsewhere.
    _native.scatter(X, weights, mean, 1.0, out, threads(X.size * d // 64), poll)
    return out


@overridable
def scatter_product(
    X: Any, mean: Reals, V: Reals, weights: Reals | None = None
) -> tuple[Reals, float]:
    """Σ w (x - mean)(x - mean)' V without the matrix, and its trace."""
    out, poll = np.empty(V.shape), progress.step("covariance product")
    V = np.ascontiguousarray(V, X.dtype)
    trace = _native.scatter_matmul(X, weights, mean, 1.0, V, out, threads(), poll)
    return out, trace


@overridable
def project(X: Any, mean: Reals | None, W: Reals, bias: Reals | None = None) -> Reals:
    """(X - mean) W + bias, in the type of X; each row by itself."""
    W, X = np.ascontiguousarray(W, X.dtype), with_contiguous_rows(X)
    out, poll = np.empty((len(X), W.shape[1]), X.dtype), progress.step("projection")
    _native.project(X, mean, W, bias, out, threads(X.size * W.shape[1]), poll)
    return out


@overridable
def squared_lengths(X: Any, mean: Reals, units: Reals | None = None) -> Reals:
    """|(x - mean) / units|² of each row, in float64."""
    out = np.empty(len(X))
    for some in chunks(len(X), X.shape[1], 2**16):
        A = np.subtract(X[some], mean, dtype=np.float64)
        A = A if units is None else A / units
        out[some] = np.einsum("ij,ij->i", A, A)
    return out


@overridable
def center_explicitly(X: Any, mean: Reals, weights: Reals | None = None) -> tuple[Any, Reals]:  # noqa: ARG001
    """Other rows and another mean with the same difference, in which nothing cancels."""
    return X, mean


def centered(X: Reals, seen: Seen) -> Reals:
    """Centered, weighted rows in float64, whose scatter matrix is the wanted one."""
    A = np.subtract(X, seen.mean, dtype=np.float64)
    if seen.units is not None:
        A /= seen.units
    if seen.weights is not None:
        A *= np.sqrt(seen.weights)[:, None]
    return A


def normalized(V: Reals) -> Reals:
    """Columns of length 1; 0 stays 0."""
    length = np.linalg.norm(V, axis=0)
    return np.asarray(V / np.where(length > 0, length, 1))


def with_contiguous_rows(X: Reals) -> Reals:
    """As the native core takes them: a slice of columns is fine."""
    if X.strides[1] == X.itemsize and X.strides[0] >= 0:
        return X
    return np.ascontiguousarray(X)


@overridable
def draw_rows(X: Any, most: int, hashes: Indices | None = None) -> Any:
    """Random rows, which their content decides: the same ones in whichever order they come.

    Of rows that are equal, one is drawn, unless there are too few others.
    """
    n = count = X.shape[0]
    if n <= most:
        return X
    hashes, count = hash_rows(X) if hashes is None else hashes, most
    while True:
        drawn = np.argpartition(hashes, count - 1)[:count]
        first = np.unique(hashes[drawn], return_index=True)[1]
        if len(first) >= most or count == n:
            break
        count = min(4 * count, n)
    return X[np.sort(drawn[first[:most]])]


# -- classical scaling of rows --------------------------------------------------------------------


class PrincipalMap(Held):
    """Rows to coordinates on principal axes, and back: the map of classical scaling of rows."""

    mean: Reals = state("n_features")
    axes: Reals = state("n_features n_components")
    missed: float = state()  # the share of the variance that the axes leave out

    def project(self, X: Any) -> Reals:
        """Coordinates of rows."""
        return project(X, self.mean, self.axes)

    def rebuild(self, Y: Reals) -> Reals:
        """The rows that have these coordinates, and nothing besides."""
        return project(Y, None, np.ascontiguousarray(self.axes.T), self.mean)


def scale_rows(X: Any, k: int | None, seed: int, dtype: DTypeLike) -> tuple[PrincipalMap, Scaling]:
    """Classical scaling of the inner products of rows, without their n x n matrix: PCA.

    `dtype` is the type in which the rows were given. For k=None there are as many axes as are not
    rounding.
    """
    n, d = X.shape
    mean = column_means(X)
    axes = principal_axes(X, mean, None if k is None else min(k, n, d), seed, dtype=dtype)
    values, V, groups = keep_positive(axes, axes.noise, k, dtype)
    Y = project(X, mean, V).astype(np.float64)
    flips = signs(Y)
    left = max(axes.total - float(values.sum()), 0.0)
    placed = PrincipalMap()
    placed.mean, placed.axes = mean, np.ascontiguousarray(V * flips, X.dtype)
    placed.missed = left / axes.total if axes.total > 0 else 0.0
    scale = np.sqrt(values)
    vectors = np.divide(Y * flips, scale, out=np.zeros_like(Y), where=scale > 0)
    none = np.empty(0)
    return placed, Scaling(values, vectors, none, axes.residual, groups, 0.0, True, None)


# -- coordinates to start from --------------------------------------------------------------------


def principal_scores(space: Space, k: int, seed: int) -> Reals:
    """The k leading coordinates by PCA of rows, or by classical scaling of distances.

    Columns that the data do not have are 0. The axes of very many rows are those of a part of them,
    which is the same in memory and in blocks; so that a descent starts from the same bits.
    """
    X, n = space.rows, space.n
    if X is None:
        product = half_squares(space.pairwise())
        return initial_scaling(product, n, k, seed, space.dtype)
    some, few = X, max(5000, 2**24 // X.shape[1])
    if n > few:
        some = X[np.sort(space.draw(few, seed, "axes"))]
    elif isinstance(X, RowBlocks):
        some = X = X.in_memory()
    mean, most = column_means(some), min(k, *some.shape)
    V = principal_axes(some, mean, most, seed).vectors[:, :most]
    return np.pad(project_exactly(X, mean, V), ((0, 0), (0, k - most)))


@overridable
def project_exactly(X: Any, mean: Reals, W: Reals) -> Reals:
    """(X - mean) W in float64, whatever the type of X."""
    if not isinstance(X, np.ndarray) or X.dtype != np.float32:
        return project(X.astype(np.float64, copy=False), mean, W)
    parts = (X[rows].astype(np.float64) for rows in chunks(len(X), X.shape[1]))
    return np.concatenate([project(rows, mean, W) for rows in parts])
