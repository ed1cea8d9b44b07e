"""Reference operations of small local fits: barycentric weights and alignment matrices."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy.linalg
from scipy.sparse import coo_array, csr_array

from ..protocol import Array, Float64, Ints, Ragged

MIN_EIGENVALUE_SHARE = 1e-13  # of the largest one of a Gram matrix; below it is rounding
MIN_RESIDUAL_SHARE = 1e-10  # of a product's length beyond the columns before it
MIN_SUM = 1e-12  # of unit vectors, for dividing by it
TIED_SHARES = 1e-9  # relative difference of shares of a spectrum that is rounding


class LocalFitOperations:
    """Weights and matrices made of a small dense problem per neighborhood."""

    def barycentric_weights(self, Q: Array, X: Array, near: Ragged, reg: float) -> Float64:
        weights = np.empty(len(near.indices))
        for i, (begin, end) in enumerate(pairwise(near.indptr)):
            Z = _differences(X[near.indices[begin:end]], Q[i])
            weights[begin:end] = _weights_from_gram(Z @ Z.T, reg)
        return weights

    def alignment_matrix(
        self, X: Array, near: Ragged, kind: str, k: int, reg: float, counts: Float64
    ) -> csr_array:
        patches = [near.indices[begin:end] for begin, end in pairwise(near.indptr)]
        if kind == "modified":
            F = _modified_weights(X, patches, k, reg)
            patches = [np.append(patch, i) for i, patch in enumerate(patches)]
        else:
            local = [_differences(X[patch], X[patch[0]]) for patch in patches]
            F = [_ltsa(Z, k) if kind == "ltsa" else _hessian(Z, k, reg) for Z in local]
        blocks = [(m * f @ f.T).ravel() for m, f in zip(counts, F, strict=True)]
        rows = np.concatenate([np.repeat(patch, len(patch)) for patch in patches])
        columns = np.concatenate([np.tile(patch, len(patch)) for patch in patches])
        return csr_array(coo_array((np.concatenate(blocks), (rows, columns)), 2 * (len(X),)))


def _differences(X: Array, origin: Array) -> Float64:
    """Rows less an origin, up to a factor: neither halves nor squares of the result overflow."""
    Z: Float64 = X.astype(np.float64) / 2 - origin.astype(np.float64) / 2
    largest = np.abs(Z).max(initial=0)
    return Z / largest if largest > 0 else Z


def _weights_from_gram(C: Float64, reg: float) -> Float64:
    """Solve (C + reg tr C I) w = 1 and scale w to sum 1."""
    one, size = np.ones(len(C)), np.trace(C)
    if size == 0:
        return one / len(C)
    values, V = scipy.linalg.eigh(C)
    if reg == 0:
        # The limit: the part of 1 in the null space of C, if there is such a part.
        positive = values > MIN_EIGENVALUE_SHARE * values[-1]
        null = one - V[:, positive] @ (V[:, positive].T @ one)
        if null @ null > MIN_SUM * len(C):
            return np.asarray(null / null.sum())
        values, V = values[positive], V[:, positive]
    w = V @ ((V.T @ one) / (np.maximum(values, 0) + reg * size))
    return np.asarray(w / w.sum())


def _tangent(Z: Float64, k: int) -> Float64:
    """Local tangent coordinates: k left singular vectors, 0 where the patch has no extent."""
    U, sigma, _ = scipy.linalg.svd(Z - Z.mean(0), full_matrices=False)
    out = np.zeros((len(Z), k))
    rank = min(k, int((sigma**2 > MIN_EIGENVALUE_SHARE * sigma[0] ** 2).sum()))
    out[:, :rank] = U[:, :rank]
    return out


def _ltsa(Z: Float64, k: int) -> Float64:
    """I - G G' with G = [1/√p, tangent coordinates], which as a projector is its own square."""
    p = len(Z)
    G = np.column_stack([np.full(p, p**-0.5), _tangent(Z, k)])
    return np.asarray(np.eye(p) - G @ G.T)


def _hessian(Z: Float64, k: int, reg: float) -> Float64:
    """Quadratic columns of a thin QR by Gram-Schmidt; linearly dependent ones are dropped.

    What no quadric fits is penalized too, by `reg`: a spike on three rows has no curvature that
    their patches could see.
    """
    U = _tangent(Z, k)
    Q = [np.full(len(Z), len(Z) ** -0.5), *U.T]
    for a in range(k):
        for b in range(a, k):
            product = U[:, a] * U[:, b]
            v = product
            for _ in range(2):
                v = v - np.transpose(Q) @ (np.asarray(Q) @ v)
            length = np.linalg.norm(v)
            independent = length > MIN_RESIDUAL_SHARE * np.linalg.norm(product)
            Q.append(v / length if independent else 0 * v)
    quadric = np.transpose(Q)
    complement = np.eye(len(Z)) - quadric @ quadric.T  # a projector: its own square
    return np.column_stack([quadric[:, 1 + k :], np.sqrt(min(reg, 1.0)) * complement])


def _modified_weights(X: Array, patches: list[Ints], k: int, reg: float) -> list[Float64]:
    """Several weight vectors per row (Zhang and Wang, 2007), and -1 for the row itself."""
    grams = []
    for i, patch in enumerate(patches):
        Z = _differences(X[patch], X[i])
        grams.append(Z @ Z.T)
    spectra = []
    for C in grams:
        values, V = scipy.linalg.eigh(C)
        spectra.append((np.maximum(values[::-1], 0), V[:, ::-1]))
    ratios = [v[k:].sum() / v[:k].sum() if v[:k].sum() > 0 else 0.0 for v, _ in spectra]
    # The patch whose share is the median is not below it, whatever rounding says.
    eta = (1 - TIED_SHARES) * max(float(np.median(ratios)), MIN_SUM)
    return [
        _weight_vectors(C, values, V, k, eta, reg)
        for C, (values, V) in zip(grams, spectra, strict=True)
    ]


def _weight_vectors(
    C: Float64, values: Float64, V: Float64, k: int, eta: float, reg: float
) -> Float64:
    """The s weight vectors of one patch: eigenvectors of variance below `eta` of the others."""
    p = len(values)
    tails = np.cumsum(values[::-1])[: p - k]  # of the last 1, 2, ..., p - k
    heads = values.sum() - tails
    small = np.flatnonzero(tails < eta * heads)
    s = int(small[-1]) + 1 if len(small) else 1
    # Directions without extent are among them, however many tangents are wanted.
    s = max(s, p - int((values > MIN_EIGENVALUE_SHARE * values[0]).sum()))
    Vs = V[:, p - s :]
    sums = Vs.sum(0)
    a = np.linalg.norm(sums) / np.sqrt(s)
    w = _weights_from_gram(C, reg)
    if a > MIN_SUM:
        h = a - sums
        length = np.linalg.norm(h)
        h = h / length if length > MIN_SUM else h * 0
        W = (1 - a) * w[:, None] + Vs - 2 * np.outer(Vs @ h, h)
        return np.vstack([W, -np.ones((1, s))])
    # The signs of Vs are free: this is the mean over both.
    W = np.column_stack([np.sqrt(s) * w, Vs])
    return np.vstack([W, [-np.sqrt(s)] + [0.0] * s])
