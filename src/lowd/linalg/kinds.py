"""Sums over sparse rows, which are centered without a dense copy, and over rows in blocks.

Sparse rows X are centered implicitly, as X less the mean in every row, which cancels where the mean
of a column is large beside its deviations. With a share p of the entries stored, the second moment
of a column is at most 1 / (1 - p) times its variance: digits are lost only in columns that are
stored nearly in full. Those are centered explicitly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from .. import _native, progress, random
from ..backend import allocate, chunks, threads
from ..blocks import RowBlocks, additive, rowwise
from ..parameters import Indices, Reals
from ..spaces import hash_rows
from ..spaces.sparse import subtract_columns
from .eigen import block_krylov, dense_eigenpairs
from .principal import (
    EPS,
    Axes,
    Seen,
    by_gram,
    by_krylov,
    center_explicitly,
    column_means,
    column_scatter,
    draw_rows,
    normalized,
    project,
    refined,
    scatter,
    scatter_product,
    squared_lengths,
)


@column_means.register(csr_array)
def _(X: csr_array, weights: Reals | None = None) -> Reals:
    n = X.shape[0]
    w = np.ones(n) if weights is None else weights
    mean: Reals = w @ X.astype(np.float64) / w.sum()
    full = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) == n)
    if len(full) and np.isfinite(mean).all():
        mean[full] = refined(X[:, full].toarray(), mean[full], weights)
    return mean


@center_explicitly.register(csr_array)
def _(X: csr_array, mean: Reals, weights: Reals | None = None) -> tuple[csr_array, Reals]:
    """Columns that are stored in more than nine of ten rows are filled up and centered."""
    w = None if weights is None else np.repeat(weights, np.diff(X.indptr))
    stored = np.bincount(X.indices, weights=w, minlength=X.shape[1])
    total = X.shape[0] if weights is None else weights.sum()
    center = np.where(stored > 0.9 * total, mean, 0.0)
    return (subtract_columns(X, center), mean - center) if center.any() else (X, mean)


@column_scatter.register(csr_array)
def _(X: csr_array, mean: Reals, weights: Reals | None = None) -> Reals:
    w, d = None if weights is None else np.repeat(weights, np.diff(X.indptr)), X.shape[1]
    gaps = np.square(X.data.astype(np.float64) - mean[X.indices])
    stored = np.bincount(X.indices, weights=w, minlength=d)
    total = X.shape[0] if weights is None else weights.sum()
    deviations = np.bincount(X.indices, weights=gaps if w is None else w * gaps, minlength=d)
    return np.asarray(deviations + np.maximum(total - stored, 0) * np.square(mean))


@scatter.register(csr_array)
def _(X: csr_array, mean: Reals, weights: Reals | None = None) -> Reals:
    A, near = center_explicitly(X.astype(np.float64), mean, weights)
    w = np.ones(X.shape[0]) if weights is None else weights
    cross = np.outer(near, w @ A)
    S = (A.T @ (diags_array(w) @ A)).toarray() - cross - cross.T
    return np.asarray(S + w.sum() * np.outer(near, near))


@scatter_product.register(csr_array)
def _(X: csr_array, mean: Reals, V: Reals, weights: Reals | None = None) -> tuple[Reals, float]:
    A, near = center_explicitly(X, mean, weights)
    w = np.ones(X.shape[0]) if weights is None else weights
    U = w[:, None] * (multiply(A, V) - near @ V)
    trace = float(column_scatter(X, mean, weights).sum())
    return multiply(csr_array(A.T), U) - np.outer(near, U.sum(0)), trace


@by_gram.register(csr_array)
def _(X: csr_array, seen: Seen, k: int) -> Axes:
    n, m = X.shape[0], seen.mean * seen.inverse
    root = np.ones(n) if seen.weights is None else np.sqrt(seen.weights)
    G = allocate((n, n), np.float64, f"the inner products of {n} rows", "use fewer rows")
    A = csr_array(X.astype(np.float64) @ diags_array(seen.inverse))
    shared = A @ m
    G[:] = (A @ A.T).toarray()
    G -= shared[:, None]
    G -= shared
    G += m @ m
    G *= np.outer(root, root)
    values, U, *_, following = dense_eigenpairs(G, k)
    U = root[:, None] * U
    V = normalized(A.T @ U - np.outer(m, U.sum(0)))
    values, total, noise = np.maximum(values, 0), float(np.trace(G)), max(X.shape) * EPS
    return Axes(values, V, total, "gram", 0.0, noise, None, following)


@by_krylov.register(csr_array)
def _(X: csr_array, seen: Seen, k: int, *, seed: int, tolerance: float, patience: float) -> Axes:
    """On the shorter side, by products of which nothing of the longer side is centered.

    Products are cheap and bases are not: there are narrow blocks, which are rarely checked.
    """
    n, d = X.shape
    root = np.ones(n) if seen.weights is None else np.sqrt(seen.weights)
    m, entries = seen.mean * seen.inverse, X.data.astype(np.float64)
    if seen.units is not None:
        entries = entries * seen.inverse[X.indices]
    if seen.weights is not None:
        entries = entries * np.repeat(root, np.diff(X.indptr))
    A = csr_array((entries, X.indices, X.indptr), shape=X.shape)
    B = csr_array(A.T)
    # Centered rows are A - root m'. S is A or A', with its rows on the shorter side.
    S, back, short, long = (A, B, root, m) if n < d else (B, A, m, root)
    mixed, length = S @ long, float(long @ long)

    def product(V: Reals) -> Reals:
        """(S - short long') (S - short long')' V."""
        out, along = multiply(S, multiply(back, V)), short @ V
        out -= mixed[:, None] * along
        out += short[:, None] * (length * along - mixed @ V)
        return out

    found = block_krylov(
        product,
        random.normals(seed, "start", (min(n, d), 8)),
        k,
        min(tolerance, 2e-7),  # sums in float64 leave 2 eps of float32
        basis=2 * k + 48,
        max_products=400,
        check_every=3,
        patience=patience * n * d / max(X.nnz, 1),  # that of dense rows
    )
    V = found.vectors
    if n < d:
        V = normalized(multiply(B, V) - np.outer(m, root @ V))
    total = float(A.data @ A.data - 2 * m @ (B @ root) + (root @ root) * (m @ m))
    noise = found.residual + max(n, d) * EPS
    return Axes(found.values, V, total, "krylov", found.residual, noise, None, found.following)


def multiply(A: csr_array, V: Reals) -> Reals:
    """A V in float64."""
    out = np.empty((A.shape[0], V.shape[1]))
    index = np.int32 if max(A.nnz, *A.shape) < 2**31 else np.int64
    parts = A.indptr.astype(index, copy=False), A.indices.astype(index, copy=False)
    data, V = A.data.astype(np.float64, copy=False), np.ascontiguousarray(V, np.float64)
    n_threads, poll = threads(A.nnz * V.shape[1]), progress.step("matrix product")
    _native.sparse_matmul(*parts, data, V, 1.0, 0.0, None, 0.0, out, n_threads, poll)
    return out


@squared_lengths.register(csr_array)
def _(X: csr_array, mean: Reals, units: Reals | None = None) -> Reals:
    blocks = (squared_lengths(X[some].toarray(), mean, units) for some in chunks(*X.shape))
    return np.concatenate([*blocks, np.empty(0)])


@project.register(csr_array)
def _(X: csr_array, mean: Reals | None, W: Reals, bias: Reals | None = None) -> Reals:
    wide = W.astype(np.float64)
    Y = multiply(X, wide) if mean is None else _project_centered(X, mean, wide)
    if bias is not None:
        Y += bias
    return np.ascontiguousarray(Y, X.dtype)


def _project_centered(X: csr_array, mean: Reals, W: Reals) -> Reals:
    """(X - mean) W with the digits that dense rows would keep.

    X W and mean W may cancel. Rows in which they do, because their entries are close to large
    entries of the mean, are projected again after these columns were subtracted.
    """
    Y = multiply(X, W)
    Y -= mean @ W
    most = np.abs(mean).sum() * max(W.max(initial=0), -W.min(initial=0))
    if not (np.abs(Y) < 1e-6 * most).any():  # the usual case: no need to add up
        return Y
    terms = np.abs(mean) @ np.abs(W)
    small = np.flatnonzero((np.abs(Y) < 1e-6 * terms).any(1))
    rows = small[_cancels(X[small], mean, W, terms)] if len(small) else small
    if len(rows):
        center = np.where(_has_large_term(mean, W), mean, 0.0)
        Y[rows] = _project_centered(subtract_columns(X[rows], center), mean - center, W)
    return Y


def _cancels(X: csr_array, mean: Reals, W: Reals, terms: Reals) -> NDArray[np.bool_]:
    """Whether the terms of (x - mean) W are small beside those of mean W, by rows.

    Where they are not, the coordinate is small accidentally, and as uncertain in dense rows.
    """
    change, offset = X.astype(np.float64), mean[X.indices]
    change.data = np.abs(change.data - offset) - np.abs(offset)
    left = change @ np.abs(W) + terms
    return np.asarray((left < 1e-3 * terms).any(1))


def _has_large_term(mean: Reals, W: Reals) -> NDArray[np.bool_]:
    """Columns whose terms of mean W are the largest; the others sum up to a small share."""
    terms = np.abs(mean[:, None] * W)
    order = np.argsort(terms, axis=0)
    sums = np.cumsum(np.take_along_axis(terms, order, 0), axis=0)
    large = np.empty(terms.shape, bool)
    np.put_along_axis(large, order, sums > 1e-3 * sums[-1], 0)
    return np.asarray(large.any(1))


# -- rows in blocks: of each block what is computed of its rows ------------------------------------

for sums in (scatter, scatter_product, column_scatter):
    sums.register(RowBlocks)(additive(sums))
for each in (project, squared_lengths):
    each.register(RowBlocks)(rowwise(each))


@draw_rows.register(RowBlocks)
def _(X: RowBlocks, most: int, hashes: Indices | None = None) -> Any:
    if len(X) <= most:
        return X.in_memory()
    return draw_rows.function(X, most, X.gather(hash_rows) if hashes is None else hashes)


@column_means.register(RowBlocks)
def _(X: RowBlocks, weights: None = None) -> Reals:
    assert weights is None, "rows in blocks have no weights"
    mean: Reals = X.reduce("means", _count_and_mean, _merge_means)[1]
    return mean


def _count_and_mean(rows: Any) -> tuple[int, Reals]:
    n, d = rows.shape
    return n, column_means(rows) if n else np.zeros(d)


def _merge_means(a: tuple[int, Reals], b: tuple[int, Reals]) -> tuple[int, Reals]:
    n = a[0] + b[0]
    return n, a[1] + b[0] / max(n, 1) * (b[1] - a[1])  # exact where a column is constant


@by_gram.register(RowBlocks)
def _(X: RowBlocks, seen: Seen, k: int) -> Axes:
    return by_gram(X.in_memory(), seen, k)  # of few rows, whose inner products are in memory
