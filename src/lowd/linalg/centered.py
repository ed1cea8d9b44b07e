"""Classical scaling: the leading eigenpairs of a doubly centered matrix (Torgerson, 1952)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import DTypeLike

from .. import _native, progress, random
from ..backend import overridable, threads
from ..errors import ConvergenceWarning, IndefiniteWarning, RankWarning, warn
from ..parameters import Product, Reals
from .eigen import (
    Eigenpairs,
    Groups,
    block_krylov,
    block_width,
    canonical,
    dense_eigenpairs,
    equal_groups,
    is_dense,
    krylov_tolerance,
    next_of,
    numerical_rank,
)


@overridable
def half_squares(D: Reals) -> Product:
    """Products with the matrix -D²/2, which is not formed."""
    if len(D) <= 1000:
        D = D.astype(np.float64, copy=False)  # exact squares, at no cost for so few rows

    def product(V: Reals) -> Reals:
        out = np.empty((len(D), V.shape[1]))
        poll = progress.step("matrix product")
        _native.matmul(D, np.ascontiguousarray(V, D.dtype), True, out, threads(D.size), poll)
        return out

    return product


@overridable
def products_of(A: Reals) -> Product:
    """Products with a symmetric matrix, such as one of kernel values."""
    if len(A) <= 1000:
        A = A.astype(np.float64, copy=False)

    def product(V: Reals) -> Reals:
        out = np.empty((len(A), V.shape[1]))
        poll = progress.step("matrix product")
        _native.matmul(A, np.ascontiguousarray(V, A.dtype), False, out, threads(A.size), poll)
        return out

    return product


class Scaling(NamedTuple):
    """The leading eigenpairs of HMH, H subtracting the mean, and what is known of the others."""

    values: Reals  # the largest first, and 0 beyond the rank
    vectors: Reals  # one per column, 0 beyond the rank
    means: Reals  # of the rows of M
    residual: float  # the largest |Av - λv|, relative to the largest eigenvalue
    degenerate: Groups  # axes with equal eigenvalues
    negative_share: float  # of the sum of all |eigenvalues|: what is negative
    share_is_exact: bool  # and not estimated from an iteration
    spectrum: Reals | None  # all eigenvalues, where they were computed

    @property
    def coordinates(self) -> Reals:
        """Of the points whose inner products M holds: vectors times the roots of eigenvalues."""
        return np.asarray(self.vectors * np.sqrt(self.values))

    @property
    def axes(self) -> Reals:
        """The axes of Gower's formula for new points: vectors over the roots of eigenvalues.

        They are orthogonal to the constant beyond the tolerance of the solver.
        """
        scale = np.sqrt(self.values)
        axes = self.vectors * np.divide(1, scale, out=np.zeros_like(scale), where=scale > 0)
        return np.asarray(axes - axes.mean(0))


def classical_scaling(
    product: Product,
    n: int,
    k: int | None,
    seed: int,
    dtype: DTypeLike,
    *,
    trace: float = 0.0,
    definite: bool = False,
    whole: bool = False,
    dense: Callable[[], Reals] | None = None,
    tolerance: float | None = None,
    few: int = 1000,
) -> Scaling:
    """The k leading eigenpairs of HMH, where M is a symmetric matrix of size n, known by products.

    M is -D²/2 or holds inner products (`half_squares`, `products_of`). For k=None there are as many
    axes as M has positive eigenvalues. `dtype` is the type of the data, whose rounding M shows;
    `trace` is that of M, which is 0 for distances. A `definite` matrix has no negative eigenvalues
    by construction; of others, their share is computed or estimated. The `whole` spectrum is
    computed up to `few` rows, up to which LAPACK also takes over where the iteration does not
    converge. LAPACK needs M itself: `dense()`, or else the products with all unit vectors.
    """
    tolerance = krylov_tolerance(dtype) if tolerance is None else tolerance
    found, means = None, np.empty(0)
    if k is not None and not is_dense(n, k):
        found, means = _iterate(product, n, k, seed, tolerance)
        if found.residual > tolerance:
            if n <= few:
                found = None
            else:
                warn(
                    f"the leading eigenvectors have a relative residual of {found.residual:.1e}: "
                    "the spectrum is nearly flat, so the data do not distinguish these axes.",
                    ConvergenceWarning,
                )
    spectrum = None
    if found is None or (whole and n <= few):
        B, means = _center(product(np.eye(n)) if dense is None else dense())
        if found is None and k is None:
            found = dense_eigenpairs(B, n)
            spectrum = found.values
        elif found is None:
            found = dense_eigenpairs(B, k or n)
        if spectrum is None and (whole or not definite):
            spectrum = np.linalg.eigvalsh(B)[::-1]
        if spectrum is not None:
            count = len(found.values)
            found = found._replace(values=spectrum[:count], following=next_of(spectrum, count))
    # What rounding of the entries may cause: the largest are a few times as large as their means.
    entry = 4 * max(float(np.abs(means).max()), abs(trace) / n)
    rounding = float(np.finfo(np.dtype(dtype)).eps * np.sqrt(n)) * entry
    negative = 0.0
    if not definite and spectrum is not None:
        negative = _negative_share(spectrum, np.ones(n), rounding)
    elif not definite:
        whole_trace = trace - float(means.sum())
        negative = _negative_share(*_estimated_spectrum(found, n, whole_trace), rounding)
    known = found.values if spectrum is None else spectrum
    noise = max(rounding / max(known[0], np.finfo(float).tiny), len(known) * np.finfo(float).eps)
    values, vectors, groups = keep_positive(found, noise, k, dtype)
    exact = definite or spectrum is not None
    return Scaling(values, vectors, means, found.residual, groups, negative, exact, spectrum)


def initial_scaling(product: Product, n: int, k: int, seed: int, dtype: DTypeLike) -> Reals:
    """Coordinates by classical scaling to start an iteration from, where fewer digits will do.

    Those that the data do not have are 0. Points with equal rows of M have equal coordinates.
    """
    found, _ = _iterate(product, n, k, seed, 2e-6) if n > 400 else (None, None)
    if (found is None or found.residual > 1e-2) and n <= 1000:
        found = dense_eigenpairs(_center(product(np.eye(n)))[0], min(k, n))
    assert found is not None
    V = found.vectors - found.vectors.mean(0)
    # Each is multiplied once more, which makes equal rows equal. In short ones, what is left of the
    # leading ones would grow.
    real = found.values > 1e-3 * max(found.values[0], 0)
    image = product(V)
    V = np.where(real, (image - image.mean(0)) / np.where(real, found.values, 1), V)
    rank = numerical_rank(found.values, max(1e-12, float(np.finfo(np.dtype(dtype)).eps)))
    Y = np.zeros((n, k))
    Y[:, :rank] = canonical(found.values[:rank], V[:, :rank], dtype) * np.sqrt(found.values[:rank])
    return Y


class Pairs(Protocol):
    """Leading eigenpairs, and the eigenvalue after them."""

    @property
    def values(self) -> Reals: ...
    @property
    def vectors(self) -> Reals: ...
    @property
    def following(self) -> float: ...


def keep_positive(
    found: Pairs, noise: float | Reals, k: int | None, dtype: DTypeLike
) -> tuple[Reals, Reals, Groups]:
    """The k leading pairs with positive eigenvalues, and zeros beyond; for k=None only those pairs.

    Signs are fixed, and so is the basis of each group of equal eigenvalues; the groups come third.
    """
    values, V = found.values, found.vectors
    rank = numerical_rank(values, noise)
    k = max(rank, 1) if k is None else k
    if k > rank:
        warn(
            f"n_components={k}, but only {rank} eigenvalues are positive; the other columns are 0.",
            RankWarning,
        )
    held = min(k, rank)
    following = next_of(values, held, found.following)
    groups = equal_groups(values[:held], dtype, following=following)
    kept, vectors = np.zeros(k), np.zeros((len(V), k))
    kept[:held] = values[:held]
    vectors[:, :held] = canonical(values[:held], V[:, :held], dtype, groups=groups)
    return kept, vectors, groups


def warn_if_indefinite(negative_share: float) -> None:
    """Warn where distances that are meant to be Euclidean are not."""
    if negative_share > 5e-4:  # which prints as 0.1 %, and is beyond rounding of float32 distances
        warn(
            f"{negative_share:.1%} of the spectrum is negative: no Euclidean embedding has these "
            "distances exactly; that part was dropped (negative_eigenvalue_mass_).",
            IndefiniteWarning,
        )


def _iterate(
    product: Product, n: int, k: int, seed: int, tolerance: float
) -> tuple[Eigenpairs, Reals]:
    """Eigenpairs of HMH by products with M, and the row means of M."""
    centered = centered_product(product, n)
    start = random.normals(seed, "start", (n, block_width(k)))
    return block_krylov(centered, start - start.mean(0), k, tolerance), centered.means


class Centered:
    """Products with HMH, and the row means of M, which come with the first as one more column."""

    def __init__(self, product: Product, n: int) -> None:
        self.product, self.n, self.means = product, n, np.empty(0)

    def __call__(self, V: Reals) -> Reals:
        V = V - V.mean(0)
        if len(self.means):
            image = self.product(V)
        else:
            image = self.product(np.c_[V, np.full(self.n, 1 / self.n)])
            image, self.means = image[:, :-1], image[:, -1].copy()
        return np.asarray(image - image.mean(0))


@overridable
def centered_product(product: Product, n: int) -> Centered:
    """Products with HMH, where M is known by its own."""
    return Centered(product, n)


def _center(M: Reals) -> tuple[Reals, Reals]:
    """HMH and the row means of M."""
    B = (M + M.T) / 2
    means = B.mean(0)
    for _ in range(2):  # the second time removes what rounding of the first means left
        B -= B.mean(0)
        B -= B.mean(1, keepdims=True)
    return B, means


def _estimated_spectrum(found: Eigenpairs, n: int, trace: float) -> tuple[Reals, Reals]:
    """Lanczos quadrature of the spectrum as values and weights, corrected by what is known exactly.

    Each leading eigenvalue stands for itself, and the other Ritz values for the remaining n - k;
    what is still missing from the trace is added to all in proportion to their size.
    """
    assert found.quadrature is not None
    (values, weights), k = found.quadrature, len(found.values)
    others = weights[k:] * (n - k) / max(weights[k:].sum(), np.finfo(float).tiny)
    values = np.concatenate([found.values, values[k:]])
    weights = np.concatenate([np.ones(k), others])
    size = float(weights[k:] @ np.abs(values[k:]))
    missing = trace - float(weights @ values)
    factor = 1 + np.sign(values) * np.clip(missing / size if size > 0 else 0.0, -0.9, 0.9)
    factor[:k] = 1
    return values, weights * factor


def _negative_share(values: Reals, weights: Reals, rounding: float) -> float:
    """How much of the sum of |eigenvalues|, each with its weight, is negative."""
    values = np.where(np.abs(values) > rounding, values, 0)
    size = float(weights @ np.abs(values))
    return float(weights @ np.maximum(-values, 0) / size) if size > 0 else 0.0
