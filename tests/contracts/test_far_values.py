"""Values far from all others: a constant column changes nothing, a far row moves no other row."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

import lowd
from case_data import rows_like
from cases import ROUNDING, close
from lowd.errors import DataError, LowdWarning, ScaleWarning

MILD = {"early_exaggeration": 4.0, "max_iter": 60}
# Methods of differences between rows, which a constant column does not change. Others see it: the
# draws of a random projection are of all columns; hamming, gower and the default gamma of a kernel
# count them; cosine, jaccard and polynomials of inner products are seen from the origin.
METHODS = {
    "PCA": ("PCA", {"n_components": 2}),
    "PCA-all": ("PCA", {}),
    "PCA-share": ("PCA", {"n_components": 0.9}),
    "PCA-scale": ("PCA", {"n_components": 3, "scale": True}),
    "PCA-whiten": ("PCA", {"n_components": 3, "whiten": True}),
    "MDS-euclidean": ("ClassicalMDS", {}),
    "MDS-sqeuclidean": ("ClassicalMDS", {"metric": "sqeuclidean"}),
    "MDS-manhattan": ("ClassicalMDS", {"metric": "manhattan"}),
    "MDS-chebyshev": ("ClassicalMDS", {"metric": "chebyshev"}),
    "MDS-minkowski": ("ClassicalMDS", {"metric": "minkowski", "metric_params": {"p": 3}}),
    "MDS-landmarks": ("ClassicalMDS", {"n_landmarks": 20}),
    "KernelPCA-linear": ("KernelPCA", {"n_components": 2}),
    "KernelPCA-rbf": ("KernelPCA", {"n_components": 2, "kernel": "rbf", "gamma": 0.1}),
    "KernelPCA-laplacian": ("KernelPCA", {"n_components": 2, "kernel": "laplacian", "gamma": 0.1}),
    "KernelPCA-median": ("KernelPCA", {"n_components": 2, "kernel": "rbf", "gamma": "median"}),
    "KernelPCA-linear-landmarks": ("KernelPCA", {"n_components": 2, "n_landmarks": 20}),
    "SMACOF": ("MDS", {"max_iter": 30}),
    "NonMetric": ("NonMetricMDS", {"max_iter": 30}),
    "Isomap": ("Isomap", {"n_neighbors": 8}),
    "Isomap-landmarks": ("Isomap", {"n_neighbors": 8, "n_landmarks": 30}),
    "LLE": ("LocallyLinearEmbedding", {"n_neighbors": 12}),
    "ModifiedLLE": ("ModifiedLLE", {"n_neighbors": 12}),
    "HessianLLE": ("HessianLLE", {"n_neighbors": 12}),
    "LTSA": ("LTSA", {"n_neighbors": 12}),
    "Eigenmaps": ("LaplacianEigenmaps", {}),
    "Eigenmaps-binary": ("LaplacianEigenmaps", {"affinity": "binary"}),
    "Eigenmaps-symmetric": ("LaplacianEigenmaps", {"normalization": "symmetric"}),
    "Eigenmaps-none": ("LaplacianEigenmaps", {"normalization": "none"}),
    "Eigenmaps-full": ("LaplacianEigenmaps", {"n_neighbors": None}),
    "Eigenmaps-landmarks": ("LaplacianEigenmaps", {"n_landmarks": 40}),
    "Diffusion": ("DiffusionMaps", {}),
    "Diffusion-neighbors": ("DiffusionMaps", {"n_neighbors": 10}),
    "SNE": ("SNE", {"perplexity": 10, "max_iter": 30}),
    "TSNE": ("TSNE", {"perplexity": 10, **MILD}),
    "UMAP": ("UMAP", {"n_neighbors": 10, "n_epochs": 30}),
    "UMAP-spectral": ("UMAP", {"n_neighbors": 10, "n_epochs": 30, "init": "spectral"}),
    "Neighbors": ("NeighborsTransformer", {}),
}
# Among many rows these have no route of their own, only more pairs.
FEW_ROWS_ONLY = {"SMACOF", "NonMetric", "SNE", *(f"MDS-{m}" for m in ("manhattan", "chebyshev"))}
FEW_ROWS_ONLY |= {"MDS-sqeuclidean", "MDS-minkowski", "Eigenmaps-symmetric", "PCA-all"}
FEW, MANY = 60, 1600  # brute force and LAPACK; an index, iterations and a mesh
SIZES = [
    pytest.param(name, n, id=f"{name}-{n}")
    for n in (FEW, MANY)
    for name in METHODS
    if n == FEW or name not in FEW_ROWS_ONLY
]
SPARSE = [
    name
    for name, (method, params) in METHODS.items()
    if getattr(lowd, method)(**params).__sklearn_tags__().input_tags.sparse
]
CONSTANTS = {np.float32: (1, 1e7, 20240101, 1e30), np.float64: (1, 20240101, 1e15, 1e100)}


def results(name, X, Q):
    """The embedding of the rows and the coordinates of new ones, as dense arrays."""
    method, params = METHODS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdWarning)
        model = getattr(lowd, method)(**params).fit(X)
        new = model.transform(Q)
        Y = model.embedding_ if hasattr(model, "embedding_") else model.transform(X)
    return [A.toarray() if hasattr(A, "toarray") else A for A in (Y, new)]


def with_constant(X, value):
    return np.insert(X, 3, np.asarray(value, X.dtype), axis=1)


def tolerance(dtype, n):
    """Rounding; of many rows the tolerance of iterative solvers, relative to `ROUNDING`."""
    return 1.0 if n == FEW or dtype == np.float32 else 1e4


@pytest.mark.parametrize(("name", "n"), SIZES)
def test_a_constant_column_changes_nothing(name, n):
    for dtype, constants in CONSTANTS.items():
        X, Q = rows_like(n, seed=1, dtype=dtype), rows_like(7, seed=2, dtype=dtype)
        expected = results(name, X, Q)
        for value in constants if n == FEW else constants[2:3]:
            found = results(name, with_constant(X, value), with_constant(Q, value))
            for A, B in zip(found, expected, strict=True):
                if name == "PCA-all":  # one more axis, without variance
                    assert not A[:, B.shape[1] :].any()
                    A = A[:, : B.shape[1]]
                close(A, B, dtype, tolerance(dtype, n))


@pytest.mark.parametrize("name", SPARSE)
def test_a_constant_column_of_sparse_rows_changes_nothing(name):
    for dtype, value in ((np.float32, 1e30), (np.float64, 1e15)):
        X, Q = rows_like(FEW, seed=1, dtype=dtype), rows_like(7, seed=2, dtype=dtype)
        expected = results(name, csr_array(X), csr_array(Q))
        X, Q = with_constant(X, value), with_constant(Q, value)
        for A, B in zip(results(name, csr_array(X), csr_array(Q)), expected, strict=True):
            close(A[:, : B.shape[1]], B, dtype)


def exact_spectrum(X, center):
    """Squared singular values, of rows that are centered with more digits than they have."""
    A = X.astype(np.longdouble)
    A = A - A.mean(0) if center else A
    return np.linalg.svd(A.astype(np.float64), compute_uv=False) ** 2


ROUTES = {
    "svd": (60, 5, None),
    "covariance": (400, 30, 2),
    "gram": (60, 400, 2),
    "krylov": (700, 700, 2),
}


def factors(n, d, dtype):
    """Rows with six well separated factors, and noise."""
    rng = np.random.default_rng(n)
    scores = rng.normal(size=(n, 6)) * (9, 7, 5, 4, 3, 2)
    return (scores @ rng.normal(size=(6, d)) + 0.3 * rng.normal(size=(n, d))).astype(dtype)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(("dtype", "value"), [(np.float32, 20240101), (np.float64, 1e100)])
def test_every_route_of_pca_leaves_a_constant_out(route, dtype, value):
    n, d, k = ROUTES[route]
    X = factors(n, d, dtype)
    model = lowd.PCA(k).fit(with_constant(X, value))
    assert model.solver_ == route
    assert model.rank_ == (k or d)
    kept = model.rank_
    np.testing.assert_allclose(
        model.scatter_eigenvalues_[:kept], exact_spectrum(X, True)[:kept], rtol=1e-7
    )
    rest = 1e-8 if route == "krylov" else 0  # of the random start
    assert np.abs(model.components_[:, 3]).max() <= rest  # new rows may differ in that column
    assert model.mean_[3] == np.asarray(value, dtype)


def in_batches(model, X):
    for part in np.array_split(X, 3):
        model.partial_fit(part)
    return model


def in_blocks(model, X):
    array = pytest.importorskip("dask.array")
    return model.fit(array.from_array(X, chunks=(70, -1)))


def weighted(model, X):
    return model.fit(X, sample_weight=np.linspace(0.5, 2, X.shape[0]))


CONTAINERS = {
    "batches": in_batches,
    "blocks": in_blocks,
    "weights": weighted,
    "sparse": lambda model, X: model.fit(csr_array(X)),
    "sparse-weights": lambda model, X: weighted(model, csr_array(X)),
}


@pytest.mark.parametrize("given", CONTAINERS)
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize(("dtype", "value"), [(np.float32, 20240101), (np.float64, 1e100)])
def test_constant_columns_of_other_rows(given, scale, dtype, value):
    X, fit = factors(200, 8, dtype), CONTAINERS[given]
    found = fit(lowd.PCA(2, scale=scale), with_constant(X, value))
    expected = fit(lowd.PCA(2, scale=scale), X)
    np.testing.assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=1e-9)
    close(np.delete(found.components_, 3, 1), expected.components_, dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_seen_from_the_origin_a_constant_column_is_an_axis(dtype):
    X = with_constant(factors(200, 8, dtype), 1e5)
    with pytest.warns(ScaleWarning, match="column 3"):
        model = lowd.PCA(4, center=False).fit(X)
    np.testing.assert_allclose(model.scatter_eigenvalues_, exact_spectrum(X, False)[:4], rtol=1e-7)
    assert abs(model.components_[0, 3]) > 1 - 1e-6


def test_the_last_digit_of_a_column_is_seen():
    """A column that no other explains is not rounding, though its values differ by one digit."""
    rng = np.random.default_rng(0)
    times = np.array([1.7e9, 1.7e9 + 128], np.float32)[rng.integers(0, 2, 200)]
    variance = times.astype(np.float64).var(ddof=1)
    assert lowd.PCA().fit(times[:, None]).explained_variance_ == pytest.approx([variance])
    X = np.c_[times, rng.normal(size=(200, 2)).astype(np.float32)]
    with pytest.warns(ScaleWarning, match="column 0"):
        model = lowd.PCA().fit(X)
    np.testing.assert_allclose(model.scatter_eigenvalues_, exact_spectrum(X, True), rtol=1e-6)


def test_columns_beside_long_numbers_are_seen():
    """Identifiers of 16 digits, which vary: the other columns keep their variance."""
    rng = np.random.default_rng(0)
    X = np.c_[1234567890123456 + np.arange(200.0) ** 2, rng.normal(size=(200, 2))]
    with pytest.warns(ScaleWarning, match="column 0"):
        model = lowd.PCA().fit(X)
    np.testing.assert_allclose(model.scatter_eigenvalues_, exact_spectrum(X, True), rtol=1e-6)


@pytest.mark.parametrize("make", [np.asarray, csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_of_a_dependent_column_is_no_axis(dtype, make):
    """Far from zero, a column that two others explain has their rounding left, which is none."""
    Z = np.random.default_rng(0).normal(size=(200, 2))
    X = np.c_[Z, Z.sum(1), Z[:, 0] - Z[:, 1]] + 1e5
    assert lowd.PCA().fit(make(X.astype(dtype))).rank_ == 2


@pytest.mark.parametrize(("name", "n"), SIZES)
def test_rows_beside_a_far_one_are_permuted(name, n):
    """Permuting moves no row, though one is so far that its affinities are nearly 0."""
    for dtype in CONSTANTS:
        _check_permuted(name, n, dtype)


def _check_permuted(name, n, dtype):
    X, Q = rows_like(n, seed=1, dtype=dtype), rows_like(7, seed=2, dtype=dtype)
    X[7] = 12
    Q[0] = X[7] + 0.1
    order = np.random.default_rng(3).permutation(n)
    (a, new), (b, new_b) = results(name, X, Q), results(name, X[order], Q)
    near = order != 7
    if name == "Neighbors":  # whose columns are the rows
        b, new = b[:, np.argsort(order)], new[:, order]
    share = tolerance(dtype, n) * ROUNDING[np.dtype(dtype)]
    for found, expected in ((b[near], a[order][near]), (b, a[order]), (new_b, new)):
        assert np.abs(found - expected).max() <= 10 * share * np.ptp(expected)


@pytest.mark.parametrize("n", [FEW, 300, MANY])
@pytest.mark.parametrize("normalization", ["random_walk", "symmetric"])
def test_a_far_row_is_where_its_neighbors_put_it(n, normalization):
    """Its own row of the eigenvector equation, which is exact: (1 - λ) D u = W u."""
    X = rows_like(n, seed=1)
    X[7], X[9] = 12, 24  # which are neighbors of each other
    model = lowd.LaplacianEigenmaps(normalization=normalization, random_state=0).fit(X)
    far = [7, 9]
    assert model.degrees_[far].max() < 1e-20
    root = np.sqrt(model.degrees_)[:, None]
    U = model.embedding_ / root if normalization == "symmetric" else model.embedding_
    mean = model.affinity_[far] @ U / model.degrees_[far, None]
    np.testing.assert_allclose(U[far], mean / (1 - model.eigenvalues_[1:]), rtol=1e-9)


FAR_OFF = {
    "PCA": (lowd.PCA(2), 1),
    "KernelPCA": (lowd.KernelPCA(2, kernel="poly", gamma=0.1, degree=2, coef0=0.0), 2),
    "ClassicalMDS": (lowd.ClassicalMDS(2, metric="manhattan"), 1),
    "MDS": (lowd.MDS(2, max_iter=20), 1),
    "Isomap": (lowd.Isomap(2), 1),
}


@pytest.mark.filterwarnings("ignore::lowd.errors.IndefiniteWarning")
@pytest.mark.parametrize("exponent", [70, 130])
@pytest.mark.parametrize("name", FAR_OFF)
def test_units_are_of_no_matter_up_to_the_range_of_squares(name, exponent):
    """Of 400 rows eigenvectors are iterated, and squares of products would overflow."""
    model, power = FAR_OFF[name]
    X = np.random.default_rng(0).normal(size=(400, 4)) * [3, 2, 1, 1]
    units = 2.0 ** np.round(exponent * np.log2(10) / power)
    Y, expected = (clone(model).fit_transform(A) for A in (X * units, X))
    np.testing.assert_allclose(Y / units**power, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("landmarks", [None, 30])
@pytest.mark.parametrize("n", [60, 400])
def test_a_kernel_that_overflows_is_said(n, landmarks):
    X = np.random.default_rng(0).normal(size=(n, 4)) * 1e70
    model = lowd.KernelPCA(2, kernel="poly", degree=3, gamma=0.1, n_landmarks=landmarks)
    with pytest.raises(DataError, match=r"kernel='poly' exceed the range of float64; scale"):
        model.fit(X)
