"""Errors of PCA, classical MDS and kernel PCA against an exact spectrum in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sparse
from scipy.sparse.linalg import LinearOperator, eigsh

import data

Arrays = dict[str, Any]
Score = Callable[[Arrays], dict[str, float]]


def principal_subspace(X: Any, k: int) -> Score:
    """Sine of the largest angle to the true subspace, and share of the attainable variance lost."""
    mean, values, V = true_components(X, k)

    def score(found: Arrays) -> dict[str, float]:
        W = np.linalg.qr(found_components(X, found, mean))[0]
        kept = np.square(X @ W - mean @ W).sum()
        return {"angle": sine(W, V), "variance loss": max(1 - kept / values.sum(), 0)}

    return score


def principal_axes(X: Any, k: int) -> Score:
    """Sine and cosine of the largest angle between a component and the true one of its rank."""
    mean, _, V = true_components(X, k)

    def score(found: Arrays) -> dict[str, float]:
        W = found_components(X, found, mean)
        W = W[:, np.argsort(-np.square(X @ W - mean @ W).sum(0))]  # Tapkee's are ascending
        cosine = min(np.abs((W / np.linalg.norm(W, axis=0) * V).sum(0)).min(), 1)
        return {"sine": np.sqrt(1 - cosine**2), "cosine": cosine}

    return score


def classical_mds(X: Any, k: int) -> Score:
    """Procrustes distance to the exact embedding, and stress on sampled pairs."""
    rows = data.load("images", len(X)).astype(np.float64)
    mean, _, V = true_components(rows, k)
    exact = (rows - mean) @ V
    i, j = pairs(len(rows))
    wanted = np.linalg.norm(rows[i] - rows[j], axis=1)

    def score(found: Arrays) -> dict[str, float]:
        Y = found["Y"].astype(np.float64)
        rotation = scipy.linalg.orthogonal_procrustes(Y, exact)[0]
        got = np.linalg.norm(Y[i] - Y[j], axis=1)
        return {
            "Procrustes": np.linalg.norm(Y @ rotation - exact) / np.linalg.norm(exact),
            "stress": np.linalg.norm(got - wanted) / np.linalg.norm(wanted),
        }

    return score


def kernel(name: str, X: Any, k: int) -> Score:
    """Sine of the largest angle to the true subspace, and worst relative eigenvalue error."""
    values, V = true_kernel_components(X, name, k)

    def score(found: Arrays) -> dict[str, float]:
        Y = found["Y"].astype(np.float64)
        squares = np.sort(np.square(Y).sum(0))[::-1]
        return {
            "angle": sine(np.linalg.qr(Y)[0], V),
            "eigenvalue error": np.abs(squares / values - 1).max(),
        }

    return score


def kernel_trace(X: Any, k: int) -> Score:  # noqa: ARG001 - the arguments of an evaluator
    """Share of the kernel's trace that the landmarks do not explain."""
    from sklearn.metrics.pairwise import rbf_kernel

    def score(found: Arrays) -> dict[str, float]:
        if "landmarks" not in found:
            return {}
        L = X[found["landmarks"]].astype(np.float64)
        values, V = np.linalg.eigh(rbf_kernel(L))
        nonzero = values > 1e-12 * values[-1]
        whiten = V[:, nonzero] / np.sqrt(values[nonzero])
        blocks = np.array_split(X, max(1, len(X) // 5000))
        kept = sum(np.square(rbf_kernel(B.astype(np.float64), L) @ whiten).sum() for B in blocks)
        return {"trace error": 1 - kept / len(X)}

    return score


def true_components(X: Any, k: int) -> tuple[Any, Any, Any]:
    """Mean, leading eigenvalues and eigenvectors of the scatter matrix, in float64."""
    n, d = X.shape
    if sparse.issparse(X):
        return _true_components_of_sparse(X.astype(np.float64), k)
    mean = X.mean(0, dtype=np.float64)
    C = X - mean
    if n < d:
        values, U = scipy.linalg.eigh(C @ C.T, subset_by_index=(n - k, n - 1))
        V = C.T @ U / np.sqrt(values)
    else:
        values, V = scipy.linalg.eigh(C.T @ C, subset_by_index=(d - k, d - 1))
    return mean, values[::-1], V[:, ::-1]


def _true_components_of_sparse(X: Any, k: int) -> tuple[Any, Any, Any]:
    """ARPACK to full precision on the Gram matrix, centered implicitly."""
    n = X.shape[0]
    mean = np.asarray(X.mean(0)).ravel()

    def gram(u: Any) -> Any:
        right = X.T @ u - mean * u.sum()
        return X @ right - mean @ right

    values, U = eigsh(LinearOperator((n, n), gram, dtype=np.float64), k, v0=_start(n))
    V = (X.T @ U - np.outer(mean, U.sum(0))) / np.sqrt(values)
    return mean, values[::-1], V[:, ::-1]


def true_kernel_components(X: Any, name: str, k: int) -> tuple[Any, Any]:
    """Leading eigenvalues and eigenvectors of the centered kernel matrix, in float64."""
    from sklearn.metrics.pairwise import pairwise_kernels

    K = pairwise_kernels(X.astype(np.float64), metric=name)
    means = K.mean(0)
    K -= means
    K -= (means - means.mean())[:, None]
    values, V = eigsh(K, k, v0=_start(len(K)))
    return values[::-1], V[:, ::-1]


def found_components(X: Any, found: Arrays, mean: Any) -> Any:
    """The tool's components as columns; where it keeps none, those that give its Y from X."""
    if "components" in found:
        return found["components"].T.astype(np.float64)
    C = X - mean
    return np.linalg.pinv(C.T @ C, rcond=1e-12, hermitian=True) @ (C.T @ found["Y"])


def sine(W: Any, V: Any) -> float:
    """Sine of the largest principal angle between two orthonormal bases."""
    return float(np.linalg.norm(V - W @ (W.T @ V), 2))


def pairs(n: int) -> Any:
    """20,000 pairs of different rows, the same for every tool."""
    rng = np.random.default_rng(1)
    i = rng.integers(n, size=20_000)
    return i, (i + rng.integers(1, n, size=20_000)) % n


def _start(n: int) -> Any:
    return np.random.default_rng(0).normal(size=n)
