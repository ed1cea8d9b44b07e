"""Plain computations that more than one test compares with."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.spatial.distance import cdist
from scipy.special import softmax
from scipy.stats import entropy


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


def divergence(P, Y, kernel):
    """From the definition: over all pairs, or the mean over rows (of P with rows of sum 1)."""
    s = cdist(Y, Y, "sqeuclidean")
    w = 1 / (1 + s) if kernel == "student" else np.exp(-s)
    np.fill_diagonal(w, 0)
    q = w / (w.sum(1, keepdims=True) * len(Y) if kernel == "rows" else w.sum())
    held = P > 0
    return float((P[held] * np.log(P[held] / q[held])).sum())


def conditional_probabilities(perplexity, X):
    """p_{j|i} of all pairs with this perplexity, and the precision of each row, by bisection."""
    n = len(X)
    D, full, beta = cdist(X, X, "sqeuclidean"), np.zeros((n, n)), np.empty(n)
    for i in range(n):
        others = np.arange(n) != i
        s = D[i, others] - D[i, others].min()

        def excess(log_beta, s=s):
            return entropy(softmax(-np.exp(log_beta) * s)) - np.log(perplexity)

        beta[i] = np.exp(brentq(excess, -30, 30, xtol=1e-14))
        full[i, others] = softmax(-beta[i] * s)
    return full, beta
