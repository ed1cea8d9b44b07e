"""Kernel PCA: worked numbers, invariants, landmarks, pre-images, peers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn import decomposition
from sklearn.datasets import load_digits, load_wine, make_circles
from sklearn.metrics import pairwise

import lowd
from case_data import rows_like
from cases import close, fit
from lowd.errors import IndefiniteWarning, KernelWarning, RankWarning

KERNELS = ("linear", "rbf", "poly", "sigmoid", "cosine", "laplacian")
SQUARE = np.array([[0.0, 0], [1, 0], [0, 1], [2, 2]])


def full(model, X):
    """Fit with more components than there may be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        warnings.simplefilter("ignore", IndefiniteWarning)
        return model.fit(X)


def test_rbf_of_four_points():
    model = full(lowd.KernelPCA(4, kernel="rbf", gamma=0.5), SQUARE)
    np.testing.assert_allclose(model.eigenvalues_, [1.184050, 0.632121, 0.302116, 0], atol=5e-7)
    expected = [[-0.414793, 0], [-0.260619, 0.562192], [-0.260619, -0.562192], [0.936030, 0]]
    np.testing.assert_allclose(model.embedding_[:, :2], expected, atol=5e-7)
    np.testing.assert_allclose(model.k_mean_, [0.557844, 0.514124, 0.514124, 0.295621], atol=5e-7)
    np.testing.assert_allclose(model.transform([[1, 1]])[:, :2], [[0.082991, 0]], atol=5e-7)


def test_square_polynomial_of_four_numbers():
    x = np.array([[-1.0], [0], [1], [2]])
    model = full(lowd.KernelPCA(4, kernel="poly", degree=2, gamma=1, coef0=1), x)
    np.testing.assert_allclose(model.eigenvalues_, [16.588723, 2.411277, 0, 0], atol=5e-7)
    C = np.array([[9, 7.071068], [7.071068, 10]])
    np.testing.assert_allclose(np.linalg.eigvalsh(C)[::-1], [16.588723, 2.411277], atol=2e-6)
    expected = [
        *([-1.892856, 1.080322], [-1.539903, -0.615386]),
        *([0.176477, -0.847854], [3.256282, 0.382917]),
    ]
    found = model.embedding_[:, :2]
    turn = np.sign((found * expected).sum(0))
    np.testing.assert_allclose(found * turn, expected, atol=5e-7)
    new = model.transform([[0.5]])[:, :2] * turn
    np.testing.assert_allclose(new, [[-0.852141, -0.914525]], atol=5e-7)


def test_each_kernel_of_two_points():
    a, b = np.array([[1.0, 2.0]]), np.array([[2.0, 0.0]])
    for kernel, expected in {
        "linear": 2,
        "rbf": 0.082085,
        "poly": 8,
        "sigmoid": 0.964028,
        "cosine": 0.447214,
        "laplacian": 0.223130,
    }.items():
        model = lowd.KernelPCA(kernel=kernel, gamma=0.5, degree=3, coef0=1.0)
        model.gamma_ = 0.5
        space = model._choose_kernel(b, "rbf")
        assert model._values(space, a)[0, 0] == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize(
    ("kernel", "dtype"), [*((kernel, np.float64) for kernel in KERNELS), ("rbf", np.float32)]
)
def test_same_as_scikit_learn(kernel, dtype):
    X, Q = rows_like(60, 5, 1, dtype), rows_like(9, 5, 2, dtype)
    params = {"gamma": 0.05, "degree": 2, "coef0": 0.5}
    if kernel == "laplacian":
        given = [pairwise.laplacian_kernel(A, X, gamma=0.05) for A in (X, Q)]
        peer = decomposition.KernelPCA(3, kernel="precomputed").fit(given[0])
        expected, new = peer.transform(given[0]), peer.transform(given[1])
    else:
        peer = decomposition.KernelPCA(3, kernel=kernel, **params).fit(X.astype(np.float64))
        expected, new = (peer.transform(A.astype(np.float64)) for A in (X, Q))
    if kernel in ("linear", "cosine"):
        params = {}
    elif kernel in ("rbf", "laplacian"):
        params = {"gamma": 0.05}
    elif kernel == "sigmoid":
        del params["degree"]
    model = fit(lowd.KernelPCA(3, kernel=kernel, **params), X)
    turn = np.sign((model.embedding_ * expected).sum(0))
    close(model.embedding_, expected * turn, dtype)
    close(model.transform(Q), new * turn, dtype)
    close(model.eigenvalues_, peer.eigenvalues_, dtype)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_gamma_none_is_one_over_the_number_of_columns(kernel):
    X, Q = rows_like(40, 5, 1), rows_like(9, 5, 2)
    default = fit(lowd.KernelPCA(2, kernel=kernel), X)
    given = fit(lowd.KernelPCA(2, kernel=kernel, gamma=0.2), X)
    assert default.gamma_ == given.gamma_ == pytest.approx(0.2)
    assert default.gamma is None
    close(default.transform(Q), given.transform(Q))


def test_gamma_median_is_one_over_the_median_squared_distance():
    X = rows_like(41, 5)
    model = lowd.KernelPCA(2, kernel="rbf", gamma="median").fit(X)
    squares = cdist(X, X, "sqeuclidean")[np.triu_indices(41, 1)]
    assert model.gamma_ == pytest.approx(1 / np.median(squares))


def test_linear_kernel_is_pca(dtype):
    X, Q = rows_like(60, 5, 1, dtype), rows_like(9, 5, 2, dtype)
    pca = lowd.PCA(3).fit(X)
    model = lowd.KernelPCA(3).fit(X)
    turn = np.sign((model.embedding_ * pca.transform(X)).sum(0))
    close(model.transform(Q), pca.transform(Q) * turn, dtype)
    back = model.inverse_transform(model.transform(Q))
    close(back, pca.inverse_transform(pca.transform(Q)), dtype)
    close(model.eigenvalues_, 59 * pca.explained_variance_, dtype)


def test_square_polynomial_is_pca_of_monomials():
    X, Q = rows_like(50, 2, 1), rows_like(9, 2, 2)

    def monomials(A):
        a, b, r = A[:, 0], A[:, 1], np.sqrt(2)
        return np.column_stack([a * a, b * b, r * a * b, r * a, r * b])

    model = lowd.KernelPCA(4, kernel="poly", degree=2, gamma=1, coef0=1).fit(X)
    pca = lowd.PCA(4).fit(monomials(X))
    turn = np.sign((model.embedding_ * pca.transform(monomials(X))).sum(0))
    close(model.transform(Q), pca.transform(monomials(Q)) * turn)


def test_centering_of_new_rows_is_by_training_means():
    """The fully centered row has the same coordinates; those of training points have mean 0."""
    X, Q = rows_like(40, 4, 1), rows_like(9, 4, 2)
    model = lowd.KernelPCA(3, kernel="rbf", gamma=0.2).fit(X)
    K, k = (np.exp(-0.2 * cdist(A, X, "sqeuclidean")) for A in (X, Q))
    row = k - k.mean(1, keepdims=True) - K.mean(0) + K.mean()
    close(model.transform(Q), row @ model.dual_coef_)
    np.testing.assert_allclose(model.embedding_.mean(0), 0, atol=1e-12)
    close(model.k_mean_, K.mean(0))
    assert model.k_grand_mean_ == pytest.approx(K.mean())
    close(model.dual_coef_, model.eigenvectors_ / np.sqrt(model.eigenvalues_))
    H = np.eye(40) - 1 / 40
    left = H @ K @ H @ model.eigenvectors_ - model.eigenvectors_ * model.eigenvalues_
    assert np.abs(left).max() < 1e-10


def test_precomputed_and_callable_are_the_named_kernel():
    X, Q = rows_like(40, 4, 1), rows_like(9, 4, 2)
    named = lowd.KernelPCA(3, kernel="rbf", gamma=0.2).fit(X)
    K, k = (np.exp(-0.2 * cdist(A, X, "sqeuclidean")) for A in (X, Q))
    given = lowd.KernelPCA(3, kernel="precomputed").fit(K)
    close(given.transform(k), named.transform(Q))

    def of_matrices(A, B, gamma):
        return np.exp(-gamma * cdist(A, B, "sqeuclidean"))

    def of_rows(a, b, gamma):
        return float(np.exp(-gamma * ((a - b) ** 2).sum()))

    for kernel in (of_matrices, of_rows):
        model = lowd.KernelPCA(3, kernel=kernel, kernel_params={"gamma": 0.2})
        close(model.fit(X).transform(Q), named.transform(Q))


def test_limits_of_gamma():
    """gamma to 0: linear PCA in shape; gamma to infinity: every axis the same."""
    X = rows_like(30, 4)
    small = lowd.KernelPCA(2, kernel="rbf", gamma=1e-7).fit(X)
    linear = lowd.PCA(2).fit(X)
    scale = small.eigenvalues_[0] / linear.scatter_eigenvalues_[0]
    np.testing.assert_allclose(small.eigenvalues_ / scale, linear.scatter_eigenvalues_, rtol=1e-3)
    turn = np.sign((small.embedding_ * linear.transform(X)).sum(0))
    np.testing.assert_allclose(
        small.embedding_ / np.sqrt(scale) * turn, linear.transform(X), atol=2e-2
    )
    with pytest.warns(KernelWarning, match=r"gamma=1e\+09 is too large"):
        large = lowd.KernelPCA(kernel="rbf", gamma=1e9).fit(X)
    np.testing.assert_allclose(large.eigenvalues_, 1, atol=1e-9)
    assert large.n_components_ == 29
    assert large.degenerate_axes_ == (tuple(range(29)),)


def test_negative_eigenvalues_are_announced():
    X = rows_like(40, 4)
    model = lowd.KernelPCA(2, kernel="sigmoid", gamma=1.0, coef0=-1)
    with pytest.warns(IndefiniteWarning, match="%"):
        model.fit(X)
    K = np.tanh(X @ X.T - 1)
    H = np.eye(40) - 1 / 40
    values = np.linalg.eigvalsh(H @ K @ H)
    share = -values[values < 0].sum() / np.abs(values).sum()
    assert model.negative_eigenvalue_mass_ == pytest.approx(share, rel=1e-6)
    assert np.isfinite(model.transform(X)).all()
    everything = full(lowd.KernelPCA(40, kernel="sigmoid", gamma=1.0, coef0=-1), X)
    assert (everything.embedding_[:, everything.eigenvalues_ == 0] == 0).all()


@pytest.mark.parametrize("rank", [1, 4])
def test_the_number_of_axes_does_not_depend_on_the_type(rank, rng):
    X = rng.normal(size=(60, rank)) @ rng.normal(size=(rank, 5))
    X[:, 4] = 1
    counts = {
        lowd.KernelPCA(kernel=kernel, **params).fit(X.astype(kind)).n_components_
        for kind in (np.float64, np.float32)
        for kernel, params in (("linear", {}),)
    }
    assert counts == {rank}


def test_the_iterative_spectrum_is_the_dense_one(dtype):
    X = rows_like(1100, 4, dtype=dtype)
    model = lowd.KernelPCA(3, kernel="rbf", gamma=0.1).fit(X)
    K = np.exp(-0.1 * cdist(X, X, "sqeuclidean"))
    H = np.eye(1100) - 1 / 1100
    values, vectors = np.linalg.eigh(H @ K @ H)
    close(model.eigenvalues_, values[::-1][:3], dtype)
    expected = vectors[:, ::-1][:, :3] * np.sqrt(values[::-1][:3])
    close(np.abs(model.embedding_), np.abs(expected), dtype)


# -- landmarks --------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear"])
def test_all_points_as_landmarks_is_the_exact_method(kernel):
    X, Q = rows_like(50, 4, 1), rows_like(9, 4, 2)
    exact = lowd.KernelPCA(2, kernel=kernel).fit(X)
    model = lowd.KernelPCA(2, kernel=kernel, n_landmarks=50).fit(X)
    close(model.embedding_, exact.embedding_, np.float32)
    close(model.transform(Q), exact.transform(Q), np.float32)
    assert model.trace_error_ < 1e-8


def test_more_landmarks_are_better_and_the_error_is_true():
    X = rows_like(300, 4)
    K = np.exp(-0.1 * cdist(X, X, "sqeuclidean"))
    exact = lowd.KernelPCA(2, kernel="rbf", gamma=0.1).fit(X)
    errors, gaps = [], []
    for m in (5, 20, 80):
        model = lowd.KernelPCA(2, kernel="rbf", gamma=0.1, n_landmarks=m).fit(X)
        chosen = model.landmarks_
        assert len(set(chosen.tolist())) == len(chosen) <= m
        best = K[:, chosen] @ np.linalg.pinv(K[np.ix_(chosen, chosen)]) @ K[chosen]
        assert model.trace_error_ == pytest.approx(np.trace(K - best) / 300, abs=1e-6)
        errors.append(model.trace_error_)
        gaps.append(np.abs(np.abs(model.embedding_) - np.abs(exact.embedding_)).max())
    assert errors == sorted(errors, reverse=True)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 0.01


def test_landmarks_find_rare_points():
    """Pivots are drawn where the kernel is still unexplained, so a far cluster of five is seen."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(995, 2)) * 0.05, rng.normal(size=(5, 2)) * 0.05 + 50])
    hits = 0
    for seed in range(10):
        model = lowd.KernelPCA(1, kernel="rbf", gamma=1.0, n_landmarks=12, random_state=seed)
        hits += (model.fit(X).landmarks_ >= 995).any()
    # Uniform landmarks would find it in 6 % of the draws.
    assert hits >= 7


# -- pre-images -------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["ridge", "fixed_point"])
def test_pre_images_are_near_the_rows(how):
    X = rows_like(150, 3)
    model = lowd.KernelPCA(
        8,
        kernel="rbf",
        gamma=0.1,
        alpha=1e-4,
        fit_inverse_transform=True,
        preimage=how,
    ).fit(X)
    back = model.inverse_transform(model.transform(X))
    error = np.square(X - back).sum() / np.square(X - X.mean(0)).sum()
    assert model.reconstruction_error_ == pytest.approx(error, rel=1e-2, abs=1e-4)
    assert error < 0.05
    constant = np.square(X - X.mean(0)).sum()
    assert np.square(X - back).sum() < 0.1 * constant


def test_the_fixed_point_is_fixed():
    """At full rank the coefficients of a training row are its unit vector, so it returns."""
    X = rows_like(30, 3)
    model = lowd.KernelPCA(
        29,
        kernel="rbf",
        gamma=0.5,
        fit_inverse_transform=True,
        preimage="fixed_point",
    ).fit(X)
    gamma = model.embedding_ @ model.dual_coef_.T + 1 / 30
    np.testing.assert_allclose(gamma, np.eye(30), atol=1e-6)
    np.testing.assert_allclose(model.inverse_transform(model.embedding_), X, atol=1e-4)


def test_far_coordinates_have_finite_pre_images():
    X = rows_like(60, 3)
    for how in ("ridge", "fixed_point"):
        model = lowd.KernelPCA(2, kernel="rbf", fit_inverse_transform=True, preimage=how).fit(X)
        assert np.isfinite(model.inverse_transform([[1e6, -1e6], [0, 0]])).all()


def test_the_inverse_says_how_good_it_is():
    """Also where it is exact by construction."""
    X = rows_like(60, 4)
    for kernel in ("linear", "rbf", "poly", "cosine", "laplacian"):
        model = lowd.KernelPCA(2, kernel=kernel, fit_inverse_transform=True).fit(X)
        back = model.inverse_transform(model.transform(X))
        error = np.square(X - back).sum() / np.square(X - X.mean(0)).sum()
        assert model.reconstruction_error_ == pytest.approx(error, rel=1e-6)


def test_denoising_digits():
    """Pre-images of noisy digits are nearer to the clean ones than the noisy were."""
    X = load_digits().data[:500] / 16
    noisy = X[400:] + np.random.default_rng(0).normal(size=(100, 64)) * 0.35
    model = lowd.KernelPCA(40, kernel="rbf", gamma=0.03, alpha=5e-3, fit_inverse_transform=True)
    clean = model.fit(X[:400]).inverse_transform(model.transform(noisy))
    assert np.square(clean - X[400:]).sum() < 0.6 * np.square(noisy - X[400:]).sum()


def test_rings_come_apart():
    """Where PCA sees nothing: two rings, separated by one axis of the rbf kernel."""
    X, y = make_circles(300, factor=0.3, noise=0.05, random_state=0)
    Z = lowd.KernelPCA(2, kernel="rbf", gamma=5).fit_transform(X)

    def separation(A):
        return max(abs(A[y == 0, j].mean() - A[y == 1, j].mean()) / A[:, j].std() for j in range(2))

    assert separation(Z) > 1.5
    assert separation(lowd.PCA(2).fit_transform(X)) < 0.3


def test_the_usual_gamma_of_columns_in_other_units_is_warned_of():
    """1/n_features suits columns of variance 1. On raw wine the kernel is the identity."""
    X = load_wine().data
    with pytest.warns(KernelWarning, match="adds up to 0.0019"):
        lowd.KernelPCA(2, kernel="rbf").fit(X)
    lowd.KernelPCA(2, kernel="rbf", gamma="median").fit(X)  # a warning would be an error
    lowd.KernelPCA(2, kernel="rbf").fit(X / X.std(0))


def test_a_callable_may_be_asymmetric_by_rounding():
    """As much as its largest value allows: others may be 0."""
    X = rows_like(40)
    X[0] = 0

    def kernel(A, B):
        return A @ B.T + 1e-14 * (A[:, :1] - B[:, :1].T)

    Y = lowd.KernelPCA(2, kernel=kernel).fit_transform(X)
    close(Y, lowd.KernelPCA(2, kernel="linear").fit_transform(X))
