"""How a map extends from the training points to new ones, in the forms that methods share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import DTypeLike

from .. import _native, progress
from ..backend import chunks, overridable, threads
from ..parameters import Indices, Reals
from .neighbors import Neighbors
from .space import Rows, Space


@overridable
def gower(products: Reals, means: Reals, axes: Reals) -> Reals:
    """Coordinates from inner products -d²/2 with the training points (Gower, 1968).

    Also known as the Nyström extension (Bengio et al., 2004). `means` are those of the training
    matrix, and `axes` its eigenvectors over the roots of their eigenvalues. A constant in a row
    does not matter: the axes are orthogonal to it.
    """
    axes = np.ascontiguousarray(axes, products.dtype)
    out = np.empty((len(products), axes.shape[1]), products.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        _native.project(
            np.ascontiguousarray(products), means, axes, None, out, threads(products.size)
        )
    far = ~np.isfinite(out).all(1)
    if far.any():  # beyond the range of the type: as far as it can say
        most = np.finfo(np.float64).max ** 0.5
        held = np.nan_to_num(products[far].astype(np.float64), posinf=most, neginf=-most)
        limit = np.finfo(out.dtype).max
        out[far] = np.clip((np.clip(held, -most, most) - means) @ axes, -limit, limit)
    return out


# -- by the nearest training points ---------------------------------------------------------------


def barycentric(Q: Reals, space: Rows, near: Neighbors, values: Any, reg: float) -> Reals:
    """Each new point as the weighted mean of its neighbors that rebuilds it best: that of `values`.

    `reg` is the share of the trace by which the Gram matrix of the neighbors is regularized. Values
    may be rows in blocks.
    """
    w, counts, width = barycentric_weights(Q, space, near, reg), near.counts, values.shape[1]
    out = np.empty((len(counts), width))
    in_blocks = not isinstance(values, np.ndarray)
    for some in chunks(
        len(counts), int(counts.max(initial=1)) * width, 2**23 if in_blocks else 2**18
    ):
        part = slice(near.indptr[some.start], near.indptr[some.stop])
        rows = near.indices[part]
        if in_blocks:  # of which each row is read once
            used, at = np.unique(rows, return_inverse=True)
            terms = w[part, None] * values[used][at]
        else:
            terms = w[part, None] * values[rows]
        out[some] = np.add.reduceat(terms, near.indptr[some] - part.start, axis=0)
    return out


def barycentric_weights(Q: Reals, space: Rows, near: Neighbors, reg: float) -> Reals:
    """Weights of each list, with sum 1, for which the neighbors rebuild the point best."""
    w = np.empty(len(near.indices))
    for points, entries in lists_by_length(near.indptr, Q.shape[1], "local weights"):
        w[entries] = rebuilding_weights(differences(space.X[near.indices[entries]], Q[points]), reg)
    return w


def lists_by_length(indptr: Indices, width: int, stage: str) -> Iterator[tuple[Indices, Indices]]:
    """Lists of one length p at a time: the numbers of m lists, and (m, p) places of their entries.

    Of rows of this width there are so few that they stay in the cache.
    """
    counts = np.diff(indptr)
    done, lengths = 0, np.unique(counts[counts > 0])
    for p in lengths.tolist():
        same = np.flatnonzero(counts == p)
        for some in chunks(len(same), p * max(p, width), 2**18):
            yield same[some], indptr[same[some], None] + np.arange(p)
            done += some.stop - some.start
            progress.report(stage, done, len(counts))


def differences(rows: Reals, origins: Reals) -> Reals:
    """Rows (m, p, d) less an origin (m, d) each, by powers of two such that the largest is near 1.

    Halves never overflow, and squares of what is left neither over- nor underflow.
    """
    Z = rows.astype(np.float64)
    Z *= 0.5
    Z -= 0.5 * origins[:, None, :].astype(np.float64)
    largest = np.maximum(Z.max(axis=(1, 2), initial=0), -Z.min(axis=(1, 2), initial=0))
    Z *= np.ldexp(1.0, np.minimum(-np.frexp(largest)[1], 1000))[:, None, None]
    return Z


def rebuilding_weights(Z: Reals, reg: float, rounding: float = 1e-13) -> Reals:
    """For each matrix of p rows the weights, with sum 1, whose mean of the rows is nearest to 0.

    They solve (C + reg tr C) w = 1 with C = ZZ', up to a factor. The limit for `reg` = 0 are
    weights without an error, where there are any, and otherwise the least ones.
    """
    p = Z.shape[1]
    C = Z @ Z.transpose(0, 2, 1)
    trace = np.trace(C, axis1=1, axis2=2)
    shift = np.where(trace > 0, reg * trace, 1.0)  # of rows that are all 0 the weights are equal
    if reg > 1e-12:
        C[:, range(p), range(p)] += shift[:, None]
        w = np.linalg.solve(C, np.ones((len(C), p, 1)))[:, :, 0]
    else:
        values, V = np.linalg.eigh(C)
        sums, firm = V.sum(1), values > rounding * values[:, -1:]
        scale = (
            np.maximum(values, 0) + shift[:, None] if reg > 0 else np.where(firm, values, np.inf)
        )
        w = (V @ (sums / scale)[:, :, None])[:, :, 0]
        if reg == 0:
            free = (V @ np.where(firm, 0, sums)[:, :, None])[:, :, 0]
            w = np.where(np.square(free).sum(1, keepdims=True) > 1e-12 * p, free, w)
    return np.asarray(w / w.sum(1, keepdims=True))


def tangent_regression(
    Q: Reals, space: Rows, near: Neighbors, values: Reals, rounding: float = 1e-10
) -> Reals:
    """Local linear regression of `values` on the tangent coordinates of the neighbors.

    With neighbors less their mean Z = U S V' and their values less the mean T, those of x are
    mean + Σ (x - mean)·v_l (u_l'T) / s_l, over as many of the largest singular values as there are
    columns. Directions with less of the scatter than `rounding` say nothing.
    """
    Y = np.empty((len(Q), values.shape[1]))
    for part, entries in lists_by_length(near.indptr, 2 * Q.shape[1], "tangent spaces"):
        lists, p = near.indices[entries], entries.shape[1]
        Z, T = space.X[lists].astype(np.float64), values[lists].astype(np.float64)
        middle, mean = Z.mean(1, keepdims=True), T.mean(1, keepdims=True)
        Z, T = Z - middle, T - mean
        sizes, U = np.linalg.eigh(Z @ Z.transpose(0, 2, 1))
        k = min(Y.shape[1], p)
        sizes, U = sizes[:, None, -k:], U[:, :, -k:]
        firm = sizes > rounding * sizes.max(2, keepdims=True)
        inverse = np.divide(1, sizes, out=np.zeros_like(sizes), where=firm)
        offsets = (Q[part, :, None] - middle.transpose(0, 2, 1)).astype(np.float64)
        along = (Z @ offsets).transpose(0, 2, 1) @ U * inverse
        Y[part] = (mean + along @ (U.transpose(0, 2, 1) @ T))[:, 0]
    return Y


_corrected: ContextVar[bool] = ContextVar("lowd_corrected", default=True)


@contextmanager
def alone() -> Iterator[None]:
    """Place rows by the extension alone within the block, so that its error shows."""
    token = _corrected.set(False)
    try:
        yield
    finally:
        _corrected.reset(token)


def approach(Y: Reals, near: Neighbors, embedded: Reals, radius: float | None = None) -> Reals:
    """Correct extended coordinates near a training point, so that training rows return.

    Let x_j be the nearest training point of x, d and d' the distances to it and to the next one,
    and f the extension. For d < d'/2 the coordinates are

        y = y_j + s (f(x) - y_j),      s = max(h(2 d / d'), min(1, 2 L d / |f(x) - y_j|)),

    where h rises smoothly from 0 to 1 and L is the largest stretch |y_i - y_j| / |x_i - x_j| of
    the other neighbors i; of |x_i - x_j| the least is taken that the distances allow. So y tends to
    y_j with x, whatever f is; and f itself is taken where its distance from y_j is no more than the
    neighbors explain (s = 1).

    Lists that hold all points within a radius tell that the next one is no nearer than that. A list
    of one neighbor does not tell how near that is, except at distance 0.
    """
    if not _corrected.get():
        return Y
    begin, counts, d = near.indptr[:-1], near.counts, near.nearest
    following = np.full(len(d), np.inf if radius is None else radius)
    second = begin[counts > 1] + 1
    following[counts > 1] = np.minimum(near.distances[second], following[counts > 1])
    ratio = np.where(d > 0, np.inf, 0.0)
    known = (following > 0) & np.isfinite(following)
    ratio[known] = d[known] / following[known]
    rows = np.flatnonzero(ratio < 0.5)
    if not len(rows):
        return Y
    owner = np.repeat(np.arange(len(rows)), counts[rows])
    at = np.repeat(begin[rows], counts[rows]) + np.arange(len(owner))
    at -= np.repeat(np.cumsum(counts[rows]) - counts[rows], counts[rows])
    home = embedded[near.indices[begin[rows]]].astype(np.float64)
    moved = np.linalg.norm(embedded[near.indices[at]] - home[owner], axis=1)
    apart = near.distances[at] - d[rows][owner]
    slope = np.divide(moved, apart, out=np.zeros(len(at)), where=apart > 0)
    stretch = np.maximum.reduceat(slope, np.cumsum(counts[rows]) - counts[rows])
    away = Y[rows] - home
    length = np.linalg.norm(away, axis=1)
    explained = 2 * stretch * d[rows]
    share = np.divide(explained, length, out=np.ones(len(rows)), where=length > explained)
    u = 2 * ratio[rows]
    share = np.maximum(share, u * u * (3 - 2 * u))
    Y = Y.copy()
    near_home = share < 1
    Y[rows[near_home]] = home[near_home] + share[near_home, None] * away[near_home]
    return Y


# -- rows for points of an embedding --------------------------------------------------------------


def preimages(Y: Reals, embedded: Rows, X: Any) -> Reals:
    """Rows for points of an embedding, as means of the rows X of their neighbors there.

    X may be in blocks.
    """
    near = embedded.query(Y, min(2 * embedded.X.shape[1] + 2, embedded.n))
    return barycentric(Y, embedded, near, X, reg=1e-2)


def preimage_error(embedded: Rows, X: Any, drawn: Indices) -> float:
    """The share of their variance that `preimages` miss on some points, each of them left out."""
    n, k = embedded.X.shape
    k = min(2 * k + 2, n - 1)
    if k < 1:
        return 0.0
    Y = embedded.X[drawn]
    indices, distances = embedded.query(Y, k + 1).table
    other = indices != drawn[:, None]
    other[other.all(1), -1] = False
    near = Neighbors.of_table(indices[other].reshape(-1, k), distances[other].reshape(-1, k))
    rows = X[drawn]
    missed = np.square(rows - barycentric(Y, embedded, near, X, reg=1e-2)).sum()
    spread = np.square(rows - rows.mean(0, dtype=np.float64)).sum()
    return float(missed / spread) if spread > 0 else 0.0


# -- regression from points to coordinates --------------------------------------------------------


class Regression(NamedTuple):
    """Kernel ridge regression y = offset + Σ w_i exp(-γ d(x, x_i)²) of coordinates."""

    centers: Space
    gamma: float
    ridge: float
    weights: Reals
    offset: Reals
    error: float  # the share of the variance that it misses on points left out one at a time
    tolerance: float  # a point this near to a training point coincides with it


def kernel_regression(
    space: Space, Y: Reals, seed: int, dtype: DTypeLike, most: int = 1000
) -> Regression:
    """Kernel ridge regression from points to coordinates Y, with at most so many centers.

    Width and ridge are those that miss least when one point at a time is left out, which is known
    in closed form from one eigendecomposition for each width. A tiny ridge would amplify rounding
    of new points, of the `dtype` of the data: weights grow like its inverse.
    """
    chosen = space.draw(min(space.n, most), seed, "regression")
    centers, offset = space.take(chosen), Y[chosen].mean(0)
    D2, goal = np.square(centers.pairwise(), dtype=np.float64), Y[chosen] - offset
    median = float(np.median(D2[np.triu_indices(len(D2), 1)])) if len(D2) > 1 else 0.0
    median = median or 1.0
    least = 1e-10 if np.dtype(dtype) == np.float64 else 1e-4
    best = np.inf, 1 / median, least, np.zeros_like(goal)
    widths = 4.0 ** np.arange(-3, 3)
    for done, width in enumerate(widths):
        progress.report("regression", done, len(widths))
        values, V = scipy.linalg.eigh(np.exp(-D2 / (width * median)))
        inside, squares = V.T @ goal, V * V
        for ridge in (1e-10, 1e-8, 1e-6, 1e-4, 1e-2):
            if ridge < least:
                continue
            inverse = 1 / (np.maximum(values, 0) + ridge)
            weights = V @ (inverse[:, None] * inside)
            missed = float(np.square(weights / (squares @ inverse)[:, None]).sum())
            if missed < best[0]:
                best = missed, 1 / (width * median), ridge, weights
    missed, gamma, ridge, weights = best
    spread = float(np.square(goal).sum())
    error = missed / spread if spread > 0 else 0.0
    return Regression(centers, gamma, ridge, weights, offset, error, 1e-12 * median**0.5)


def regress(D: Reals, gamma: float, weights: Reals, offset: Reals) -> Reals:
    """Coordinates of new points by `kernel_regression`, from their distances to its centers."""
    with np.errstate(over="ignore", under="ignore"):  # of far points, whose kernel is 0
        K = np.exp(-gamma * np.square(D, dtype=np.float64))
    out = np.empty((len(K), weights.shape[1]))
    _native.project(K, None, np.ascontiguousarray(weights), offset, out, threads(K.size))
    return out
