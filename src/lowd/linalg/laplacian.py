"""Smallest eigenpairs of graph Laplacians, sparse or dense: the slow modes of a random walk."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from scipy.sparse import csr_array, diags_array, issparse
from scipy.sparse.linalg import splu

from .. import random
from ..backend import chunks, overridable
from ..errors import DataError, RankWarning, warn
from ..parameters import Indices, Product, Reals
from .centered import products_of
from .eigen import (
    Groups,
    block_krylov,
    block_width,
    canonical,
    equal_groups,
    krylov_tolerance,
)
from .smallest import SmallestEigenpairs, smallest_eigenpairs


class Spectrum(NamedTuple):
    """Eigenpairs of the Laplacian, smallest first and without the constant; a row for each point.

    `vectors` are those of the symmetric matrix, with orthonormal columns. An eigenvalue λ of the
    normalized Laplacian is the eigenvalue 1 - λ of the transition matrix.
    """

    values: Reals
    vectors: Reals
    degrees: Reals
    residuals: Reals
    solver: str
    groups: Groups


def laplacian_eigenpairs(
    W: Any, point_of_row: Indices, k: int, seed: int, normalized: bool = True
) -> Spectrum:
    """The k smallest eigenpairs of I - D^-½ W D^-½ (or of D - W), without the constant.

    W holds the weights between distinct points. Duplicates count as often as they occur: the
    matrix is counts · W · counts, and a row's degree the sum over all rows.
    """
    n = W.shape[0]
    counts = np.bincount(point_of_row, minlength=n).astype(np.float64)
    degrees = matrix_product(W, counts[:, None])[:, 0]
    if k >= n:
        warn(
            f"n_components={k}, but {n} distinct rows have {n - 1} axes; the other columns are 0.",
            RankWarning,
        )
        k = n - 1
    if k == 0:
        return Spectrum(np.empty(0), np.empty((1, 0)), degrees, np.empty(0), "none", ())
    if not degrees.all():
        rows = np.flatnonzero(degrees[point_of_row] == 0)
        shown = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
        raise DataError(f"row {shown} has no edge to any other row; drop it, or connect it.")
    if normalized:
        root, null = np.sqrt(counts / degrees), np.sqrt(counts * degrees)
        diagonal = np.ones(n)
    else:
        root, null, diagonal = np.sqrt(counts), np.sqrt(counts), degrees
    null = (null / np.linalg.norm(null))[:, None]
    if issparse(W):
        S = diags_array(root)
        L = csr_array(diags_array(diagonal) - S @ W @ S)
        found = smallest_eigenpairs(L, k, seed, null)
    else:
        found = dense_laplacian_eigenpairs(W, root, diagonal, null, k, seed)
    if normalized:
        nearby = matrix_product(W, (counts * degrees)[:, None])[:, 0] / degrees
        weak = np.flatnonzero(degrees < 1e-3 * nearby)
        if len(weak):
            solve_weak_points(W, root, weak, found)
    return Spectrum(
        found.values, found.vectors, degrees, found.residuals, found.solver, found.groups
    )


def dense_laplacian_eigenpairs(
    W: Reals, root: Reals, diagonal: Reals, null: Reals, k: int, seed: int
) -> SmallestEigenpairs:
    """The k smallest eigenpairs of diag(diagonal) - diag(root) W diag(root) beyond its null vector.

    A wide kernel has a wide spectral gap, and few products do. The smallest eigenvalues of a
    narrow kernel are all but 0; of the inverse they are the largest by far. A Cholesky
    factorization takes the place of products where these are forecast to take longer than n / 25
    of them do. The eigenvectors of LAPACK, which few rows get, take many times as long.
    """
    n = len(W)
    norm = 2.0 if (diagonal == 1).all() else 2 * float(diagonal.max())
    more = min(k + 1, n - 1)  # one beyond, to see whether the last is one of several

    complement = complement_of(W, root, diagonal, null, norm)

    def lifted() -> Reals:
        """The matrix itself, with its null vector above all else."""
        A = W * -root[:, None]
        A *= root
        A.flat[:: n + 1] += diagonal
        for some in chunks(n, n, 2**20):
            A[some] += 2 * norm * null[some] @ null.T
        return A

    V, solver = None, "dense"
    if n > 300:
        start = random.normals(seed, "start", (n, block_width(more)))
        start -= null @ (null.T @ start)
        tolerance = krylov_tolerance(W.dtype)
        found = block_krylov(complement, start, more, tolerance, patience=n / 25)
        if found.residual <= tolerance:
            V, solver = found.vectors, "krylov"
        else:
            V = _by_cholesky(lifted(), start, more)
            solver = "dense" if V is None else "cholesky"
    if V is None:
        V = scipy.linalg.eigh(lifted(), subset_by_index=(0, more - 1), check_finite=False)[1]
    values = np.maximum(norm - (V * complement(V)).sum(0), 0)
    order = np.argsort(values, kind="stable")
    values, V = values[order], V[:, order]
    groups = equal_groups(values, precision=1e-8, floor=1e-14 * norm)
    V, values = canonical(values, V, groups=groups)[:, :k], values[:k]
    residuals = np.linalg.norm((norm - values) * V - complement(V), axis=0)
    groups = tuple(tuple(j for j in group if j < k) for group in groups)
    return SmallestEigenpairs(values, V, residuals, solver, tuple(filter(None, groups)))


@overridable
def complement_of(W: Reals, root: Reals, diagonal: Reals, null: Reals, norm: float) -> Product:
    """Products with norm - A, where the null vector of A is not in the way."""
    product = products_of(W)

    def complement(V: Reals) -> Reals:
        V = V - null @ (null.T @ V)
        out = (norm - diagonal)[:, None] * V + root[:, None] * product(root[:, None] * V)
        return np.asarray(out - null @ (null.T @ out))

    return complement


def _by_cholesky(A: Reals, start: Reals, k: int) -> Reals | None:
    """Vectors by block Krylov iteration on the inverse; None where rounding leaves no factor."""
    try:
        factor = scipy.linalg.cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return None

    def solve(V: Reals) -> Reals:
        return np.asarray(scipy.linalg.cho_solve(factor, V, check_finite=False))

    found = block_krylov(solve, start, k, 1e-10)
    return found.vectors if found.residual <= 1e-10 else None


def solve_weak_points(W: Any, root: Reals, weak: Indices, found: SmallestEigenpairs) -> None:
    """Entries of points that are far from all others, by their own rows of the equation; in place.

    A solver knows v to rounding of its length, 1e-16, and such an entry may be less: divided by the
    root of the point's degree that would be noise, and the largest coordinate of all. Its own row
    of (S W S) v = (1 - λ) v, S = diag(root), has all digits, given the entries of its neighbors.
    """
    V, rows = found.vectors, csr_array(W[weak])
    for j, gain in enumerate(nystroem_gain(found.values)):
        tiny = np.abs(V[weak, j]) < 1e-4 * np.abs(V[:, j]).max()
        own, some = weak[tiny], csr_array(rows[tiny])
        if not len(own):
            continue
        known = root * V[:, j]
        known[own] = 0
        scale = diags_array(root[own])
        among = (diags_array(np.full(len(own), 1 / gain)) - scale @ some[:, own] @ scale).tocsc()
        try:
            V[own, j] = splu(among).solve(root[own] * (some @ known))
        except RuntimeError:  # singular: these points have an axis of their own
            continue


def nystroem_gain(lam: Reals) -> Reals:
    """1 / (1 - λ) of the normalized Laplacian's eigenvalues; 1 at the pole, which is rounding."""
    pole = np.abs(1 - lam) < 1e-8
    return np.where(pole, 1.0, 1 / np.where(pole, 1.0, 1 - lam))


def matrix_product(W: Any, V: Reals) -> Reals:
    """W V of a sparse or dense matrix."""
    return np.asarray(W @ V) if issparse(W) else products_of(W)(V)
