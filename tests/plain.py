"""What the native kernels compute, in plain NumPy and SciPy."""

from __future__ import annotations

from itertools import pairwise as neighboring

import numpy as np
from scipy.linalg import hadamard as hadamard_matrix
from scipy.optimize import isotonic_regression
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.distance import cdist

FROM_BASE = {
    "dot": lambda B, p: p[0] * B,
    "poly": lambda B, p: (p[0] * B + p[1]) ** p[2],
    "sigmoid": lambda B, p: np.tanh(p[0] * B + p[1]),
    "sqeuclidean": lambda B, p: p[0] * B,
    "euclidean": lambda B, p: p[0] * np.sqrt(B),
    "rbf": lambda B, p: np.exp(-p[0] * B),
    "rbfm1": lambda B, p: np.expm1(-p[0] * B),
    "laplacian": lambda B, p: np.exp(-p[0] * B),
}


# -- rows -------------------------------------------------------------------------------------


def weighted_scatter(X, weights, mean):
    centered = X - mean
    return centered.T @ (centered if weights is None else weights[:, None] * centered)


def pairs(Q, X, measure, params, center=None):
    """A measure of all pairs, in float64."""
    Q, X = Q.astype(np.float64), X.astype(np.float64)
    if measure in ("dot", "poly", "sigmoid"):
        shift = center if measure == "dot" and center is not None else 0.0
        base = (Q - shift) @ (X - shift).T
    elif measure in ("sqeuclidean", "euclidean", "rbf", "rbfm1"):
        base = cdist(Q, X, "sqeuclidean")
    elif measure == "jaccard":
        base = cdist(Q != 0, X != 0, "jaccard")
    else:
        name = "cityblock" if measure in ("manhattan", "laplacian") else measure
        base = cdist(Q, X, name, **({"p": params[0]} if measure == "minkowski" else {}))
    return FROM_BASE[measure](base, params) if measure in FROM_BASE else base


def transform(X, signs, rows, padded, scale):
    """By the Walsh-Hadamard matrix itself."""
    Z = np.zeros((len(X), padded))
    Z[:, : X.shape[1]] = X * signs
    return scale * (Z @ hadamard_matrix(padded))[:, rows]


# -- graphs -----------------------------------------------------------------------------------


def paths(graph, lists=None, steps=None):
    """Lengths of shortest paths from nodes, or from a node more that leads to each list's."""
    n = graph.shape[0]
    if lists is None:
        return dijkstra(graph, directed=True)
    indptr, indices = lists
    data = np.concatenate([graph.data, np.zeros(len(indices)) if steps is None else steps])
    ends = np.concatenate([graph.indices, indices]).astype(np.int32)
    starts = np.concatenate([graph.indptr, graph.nnz + indptr[1:]]).astype(np.int32)
    extended = csr_array((data, ends, starts), (n + len(indptr) - 1,) * 2)
    return dijkstra(extended, directed=True, indices=np.arange(n, extended.shape[0]))[:, :n]


def weights_of_lists(Q, X, lists, reg):
    """Barycentric weights, by the solution of each small system."""
    indptr, indices = lists
    out = np.empty(len(indices))
    for i, (begin, end) in enumerate(neighboring(indptr)):
        Z = X[indices[begin:end]].astype(np.float64) - Q[i]
        C = Z @ Z.T
        w = np.linalg.solve(C + reg * np.trace(C) * np.eye(len(C)), np.ones(len(C)))
        out[begin:end] = w / w.sum()
    return out


def tangents(Z, k):
    return np.linalg.svd(Z - Z.mean(0), full_matrices=False)[0][:, :k]


def ltsa(X, lists, k, counts):
    """The sum over patches of I - GG' with G = [1/√p, tangent coordinates]."""
    indptr, members = lists
    M = np.zeros((len(X), len(X)))
    for i, (begin, end) in enumerate(neighboring(indptr)):
        patch = members[begin:end]
        p = len(patch)
        G = np.column_stack([np.full(p, p**-0.5), tangents(X[patch].astype(np.float64), k)])
        M[np.ix_(patch, patch)] += counts[i] * (np.eye(p) - G @ G.T)
    return M


# -- stress -----------------------------------------------------------------------------------


def filled(D, W):
    """Dissimilarities and weights in float64; both are 0 where a pair is missing."""
    known = ~np.isnan(D)
    weights = known if W is None else np.where(known, W, 0.0)
    return np.where(known, D, 0.0).astype(np.float64), weights.astype(np.float64)


def guttman_step(targets, W, Y):
    """Stress, Σ w d², Σ w t d over pairs, and B(Y) Y."""
    d = cdist(Y, Y)
    ratio = np.divide(W * targets, d, out=np.zeros_like(d), where=d > 0)
    sums = (W * (targets - d) ** 2).sum(), (W * d * d).sum(), (W * targets * d).sum()
    return *(part / 2 for part in sums), ratio.sum(1, keepdims=True) * Y - ratio @ Y


def disparities(D, W, Y, ties):
    """The matrix of best disparities, of weighted mean square 1."""
    delta, W = filled(D, W)
    i, j = np.triu_indices(len(D), 1)
    held = W[i, j] > 0
    i, j = i[held], j[held]
    order = np.argsort(delta[i, j], kind="stable")
    i, j = i[order], j[order]
    w, d, along = W[i, j], cdist(Y, Y)[i, j], delta[i, j]
    out = np.zeros_like(delta)
    if not len(d):
        return out
    group = np.cumsum(np.diff(along, prepend=along[0]) != 0)
    if ties:  # are broken: within a group the order is that of the distances
        order = np.lexsort((d, group))
        fitted = np.empty_like(d)
        fitted[order] = isotonic_regression(d[order], weights=w[order]).x
    else:
        weight = np.bincount(group, w)
        fitted = isotonic_regression(np.bincount(group, w * d) / weight, weights=weight).x[group]
    size = float(w @ fitted**2)
    out[i, j] = out[j, i] = fitted * (np.sqrt(w.sum() / size) if size > 0 else 1)
    return out


def place(T, W, A, Y, max_iter):
    """New points of least stress by majorization, A held fixed."""
    T, W = filled(T, W)
    total = W.sum(1, keepdims=True)
    for _ in range(max_iter):
        d = cdist(Y, A)
        ratio = np.divide(W * T, d, out=np.zeros_like(d), where=d > 0)
        Y = (W @ A + ratio.sum(1, keepdims=True) * Y - ratio @ A) / total
    return Y, (W * (T - cdist(Y, A)) ** 2).sum(1)
