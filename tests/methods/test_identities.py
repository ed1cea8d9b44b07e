"""One answer by several methods: identities that hold across the library."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import lowd
from case_data import rows_like
from cases import close, fit


def aligned(Y, Z):
    """Y with the signs of Z."""
    return Y * np.sign((Y * Z).sum(0))


@pytest.mark.parametrize("shape", [(60, 5), (20, 40)], ids=["tall", "wide"])
def test_pca_is_classical_mds_is_linear_kernel_pca(shape, dtype):
    """The same map for training rows and for new ones, from rows, distances or inner products."""
    X, Q = rows_like(*shape, 1, dtype), rows_like(9, shape[1], 2, dtype)
    pca = lowd.PCA(3).fit(X)
    Z, new = pca.transform(X), pca.transform(Q)
    D, d = (cdist(A, X).astype(dtype) for A in (X, Q))
    mean = X.mean(0, dtype=np.float64)
    K, k = (((A - mean) @ (X - mean).T).astype(dtype) for A in (X, Q))
    for model, given, toward in (
        (lowd.ClassicalMDS(3), X, Q),
        (lowd.ClassicalMDS(3, metric="precomputed"), D, d),
        (lowd.ClassicalMDS(3, metric="minkowski", metric_params={"p": 2}), X, Q),
        (lowd.KernelPCA(3), X, Q),
        (lowd.KernelPCA(3, kernel="precomputed"), (K + K.T) / 2, k),
        (lowd.KernelPCA(3, kernel="poly", degree=1, gamma=1, coef0=0), X, Q),
    ):
        model.set_params().fit(given)
        turn = np.sign((model.embedding_ * Z).sum(0))
        close(model.embedding_, Z * turn, dtype)
        close(model.transform(toward), new * turn, dtype)


def test_eigenvalues_by_four_methods():
    """Of MDS; squared singular values; (n - 1) variances; eigenvalues of H X X' H."""
    X = rows_like(40, 5)
    values = lowd.ClassicalMDS(4, metric="precomputed").fit(cdist(X, X)).eigenvalues_
    pca = lowd.PCA(4).fit(X)
    close(values, pca.singular_values_**2)
    close(values, 39 * pca.explained_variance_)
    close(values, 40 * lowd.PCA(4, ddof=0).fit(X).explained_variance_)
    H = np.eye(40) - 1 / 40
    close(values, np.linalg.eigvalsh(H @ X @ X.T @ H)[::-1][:4])
    close(values, lowd.KernelPCA(4).fit(X).eigenvalues_)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "cosine"])
def test_kernel_pca_is_classical_mds_of_feature_distances(kernel):
    """With D2_ij = K_ii + K_jj - 2 K_ij, for which -1/2 H D2 H = H K H."""
    X, Q = rows_like(40, 4, 1), rows_like(9, 4, 2)
    model = lowd.KernelPCA(3, kernel=kernel).fit(X)
    gamma = 1 / 4
    kernels = {
        "rbf": lambda A: np.exp(-gamma * cdist(A, X, "sqeuclidean")),
        "laplacian": lambda A: np.exp(-gamma * cdist(A, X, "cityblock")),
        "cosine": lambda A: 1 - cdist(A, X, "cosine"),
    }
    D, d = (np.sqrt(np.maximum(2 - 2 * kernels[kernel](A), 0)) for A in (X, Q))
    np.fill_diagonal(D, 0)
    scaling = lowd.ClassicalMDS(3, metric="precomputed").fit((D + D.T) / 2)
    close(scaling.embedding_, model.embedding_, factor=10)
    close(scaling.transform(d), model.transform(Q), factor=10)
    close(scaling.eigenvalues_, model.eigenvalues_, factor=10)


def test_cosine_scaling_is_cosine_kernel_pca():
    """Half the squared distance of unit vectors is 1 - cos, so MDS of its root is kernel PCA."""
    X, Q = rows_like(40, 4, 1), rows_like(9, 4, 2)
    kernel = lowd.KernelPCA(2, kernel="cosine").fit(X)
    D, d = (np.sqrt(2 * cdist(A, X, "cosine")) for A in (X, Q))
    np.fill_diagonal(D, 0)
    model = lowd.ClassicalMDS(2, metric="precomputed").fit((D + D.T) / 2)
    close(model.transform(d), kernel.transform(Q), factor=10)


def test_all_points_as_landmarks_is_the_exact_method():
    X, Q = rows_like(50, 4, 1), rows_like(9, 4, 2)
    for params in (
        {"cls": lowd.ClassicalMDS, "metric": "chebyshev"},
        {"cls": lowd.ClassicalMDS},
        {"cls": lowd.KernelPCA, "kernel": "rbf"},
    ):
        cls = params.pop("cls")
        exact = fit(cls(2, **params), X)
        model = fit(cls(2, n_landmarks=50, **params), X)
        close(model.transform(Q), exact.transform(Q), factor=100)


def test_rigid_motions_change_nothing(rng):
    X, Q = rows_like(50, 5, 1), rows_like(9, 5, 2)
    R = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    moved, new = X @ R + 3, Q @ R + 3
    for model in (
        lowd.ClassicalMDS(3),
        lowd.ClassicalMDS(3, metric="sqeuclidean"),
        lowd.KernelPCA(3, kernel="rbf"),
        lowd.KernelPCA(3),
    ):
        model.set_params()
        before = fit(model, X).transform(Q)
        close(fit(model, moved).transform(new), before, factor=10)
    pca = lowd.PCA(3).fit(X)
    turned = lowd.PCA(3).fit(moved)
    close(aligned(turned.transform(new), pca.transform(Q)), pca.transform(Q), factor=10)
