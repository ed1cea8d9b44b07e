"""Plain computations that more than one test compares with."""

from __future__ import annotations

import numpy as np
from lowd.backends.protocol import Perplexity, Ragged, to_csr
from scipy.spatial.distance import cdist

from lowd.backends import resolve


def exact_axes(X, k):
    """Leading variances (times n) and axes by an SVD in float64 of the rows as they are."""
    centered = X.astype(np.float64) - X.astype(np.float64).mean(0)
    _, sigma, Vt = np.linalg.svd(centered, full_matrices=False)
    return sigma[:k] ** 2, Vt[:k].T


def angles(U, V):
    """Angles between corresponding columns, whatever their signs."""
    cosines = np.abs((U * V).sum(0)) / np.linalg.norm(U, axis=0) / np.linalg.norm(V, axis=0)
    sines = np.linalg.norm(U - V * np.sign((U * V).sum(0)), axis=0)
    return np.where(cosines > 0.99, sines, np.arccos(np.minimum(cosines, 1)))


def symmetrize(ops, affinities, union=None):
    """Both directions of the edges in one, by a backend."""
    return to_csr(ops.similarity_graph(affinities, None, union).graph)


def divergence(P, Y, kernel):
    """From the definition: over all pairs, or the mean over rows (of P with rows of sum 1)."""
    s = cdist(Y, Y, "sqeuclidean")
    w = 1 / (1 + s) if kernel == "student" else np.exp(-s)
    np.fill_diagonal(w, 0)
    q = w / (w.sum(1, keepdims=True) * len(Y) if kernel == "rows" else w.sum())
    held = P > 0
    return float((P[held] * np.log(P[held] / q[held])).sum())


def conditional_probabilities(perplexity, X):
    """p_{j|i} of all pairs with this perplexity, and the precision of each row."""
    ops = resolve("reference", 1)
    n = len(X)
    D = cdist(X, X, "sqeuclidean")
    off = ~np.eye(n, dtype=bool)
    p, beta, _ = ops.calibrate_rows(
        np.arange(0, n * (n - 1) + 1, n - 1), D[off], Perplexity(perplexity)
    )
    full = np.zeros((n, n))
    full[off] = p
    return full, beta


def ragged(near):
    """CSR indices of lists of equal length."""
    m, k = near.shape
    return Ragged(np.arange(0, m * k + 1, k), near.ravel().astype(np.int32))
