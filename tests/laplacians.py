"""Graph Laplacians and LLE matrices, whose smallest eigenpairs tests compute."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array
from scipy.spatial import cKDTree

import manifolds


def roll(n, seed=0):
    """Rows of a Swiss roll."""
    return manifolds.roll(n, seed)[0]


def laplacian(X, k=10, links=()):
    """Of the union graph of k neighbors with weights 1, and more links."""
    n = len(X)
    near = cKDTree(X).query(X, k + 1)[1][:, 1:]
    W = csr_array((np.ones(n * k), near.ravel(), np.arange(0, n * k + 1, k)), (n, n))
    W = W.tolil()
    for a, b in links:
        W[a, b] = 1
    W = csr_array(W).maximum(csr_array(W).T)
    return csr_array(diags_array(W.sum(1)) - W)


def path(n):
    """A chain: eigenvalues 2 - 2 cos(π j / n), the smallest near π²/n²."""
    W = diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1]).tocsr()
    return csr_array(diags_array(W.sum(1)) - W)


def ring(n):
    """A closed chain, whose eigenvalues come in pairs."""
    W = path(n).tolil()
    W[0, 0] = W[n - 1, n - 1] = 2
    W[0, n - 1] = W[n - 1, 0] = -1
    return csr_array(W)


def constant(n):
    """The unit vector that every Laplacian maps to zero."""
    return np.full((n, 1), n**-0.5)


def angle(V, U):
    """Sine of the largest angle between two spaces."""
    return np.linalg.norm(V - U @ (U.T @ V), 2)


def lle_root(X, k=8, reg=1e-3):
    """I - W with the barycentric weights of LLE: a root of its alignment matrix."""
    n = len(X)
    near = cKDTree(X).query(X, k + 1)[1][:, 1:]
    Z = X[near] - X[:, None]
    C = Z @ Z.transpose(0, 2, 1)
    C += reg * np.trace(C, axis1=1, axis2=2)[:, None, None] * np.eye(k)
    w = np.linalg.solve(C, np.ones((n, k, 1)))[..., 0]
    w /= w.sum(1, keepdims=True)
    W = csr_array((w.ravel(), near.ravel(), np.arange(0, n * k + 1, k)), (n, n))
    return csr_array(eye_array(n) - W)
