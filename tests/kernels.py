"""Calls of native kernels that allocate what they fill."""

from __future__ import annotations

import numpy as np

from lowd import _native

MEASURES = (
    *("dot", "poly", "sigmoid", "sqeuclidean", "euclidean", "rbf", "rbfm1", "manhattan"),
    *("laplacian", "chebyshev", "minkowski", "hamming", "jaccard"),
)


def column_means(X, weights=None, threads=2):
    """Means and the largest |x|."""
    sums = np.empty(X.shape[1])
    largest = _native.column_sums(X, weights, sums, None, 0, None, threads)
    return sums / (len(X) if weights is None else weights.sum()), largest


def scatter(X, weights, mean, scale=1.0, threads=2):
    out = np.empty((X.shape[1],) * 2)
    _native.scatter(X, weights, mean, scale, out, threads)
    return out


def scatter_matmul(X, weights, mean, V, scale=1.0, threads=2):
    out = np.empty(V.shape)
    return out, _native.scatter_matmul(X, weights, mean, scale, V, out, threads)


def project(X, shift, W, bias=None, threads=2):
    out = np.empty((len(X), W.shape[1]), X.dtype)
    _native.project(X, shift, W, bias, out, threads)
    return out


def hadamard(X, signs, rows, padded, scale, threads=2):
    out = np.empty((len(X), len(rows)), X.dtype)
    _native.hadamard(X, signs, rows, padded, scale, out, threads)
    return out


def matmul(A, V, half_square=False, threads=2):
    out = np.empty((len(A), V.shape[1]))
    _native.matmul(A, V, half_square, out, threads)
    return out


def sparse_matmul(A, V, a=1.0, b=0.0, U=None, c=0.0, threads=2):
    out = np.empty((A.shape[0], V.shape[1]))
    _native.sparse_matmul(A.indptr, A.indices, A.data, V, a, b, U, c, out, threads)
    return out


def pairwise(Q, X, measure, params, center=None, threads=2):
    out = np.empty((len(Q), len(X)), X.dtype)
    _native.pairwise(Q, X, measure, params, center, Q is X, out, threads)
    return out


def rank_rows(D, own, threads=2):
    out = np.empty(D.shape, np.int32)
    _native.rank_rows(D, own, out, threads)
    return out


def select_smallest(D, own, k, threads=2):
    ids, values = np.empty((len(D), k), np.int32), np.empty((len(D), k))
    _native.select_smallest(D, own, ids, values, threads)
    return ids, values


def graph_parts(graph):
    return graph.indptr.astype(np.int64), graph.indices.astype(np.int32), graph.data


def paths(graph, lists, steps=None, threads=2):
    out = np.empty((len(lists[0]) - 1, graph.shape[0]), graph.dtype)
    steps = None if steps is None else steps.astype(graph.dtype)
    _native.shortest_paths(*graph_parts(graph), *lists, steps, out, threads)
    return out


def path_products(graph, V, threads=2):
    n = graph.shape[0]
    half, out = np.empty((n, n // 2), graph.dtype), np.empty(V.shape)
    _native.geodesic_half(*graph_parts(graph), half, threads)
    _native.geodesic_products(half, np.ascontiguousarray(V, graph.dtype), out, threads)
    return out


def guttman(D, W, Y, threads=2):
    moved = np.empty(Y.shape)
    return *_native.guttman(D, W, Y, moved, threads), moved


class Regression:
    """Stress against disparities."""

    def __init__(self, D, W, break_ties, threads=2):
        self.D, self.threads = D, threads
        self.core = _native.MonotoneRegression(D, W, break_ties, threads)

    def step(self, Y):
        moved = np.empty(Y.shape)
        return *self.core.step(np.ascontiguousarray(Y), moved, self.threads), moved

    def corners(self, Y):
        at, values = self.core.disparity_function(np.ascontiguousarray(Y), self.threads)
        return self.D[at[:, 0], at[:, 1]].astype(np.float64), values.copy()


def multilaterate(T, W, A, Y, max_iter, tol, threads=2):
    Y, stress = np.array(Y, np.float64), np.empty(len(Y))
    _native.multilaterate(T, W, A, max_iter, tol, Y, stress, threads)
    return Y, stress
