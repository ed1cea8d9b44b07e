"""The cases that every contract is tried on: few rows, and real sizes, where other routes run."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse, vstack

import lowd
from case_data import edit_distance, make_data, rbf_kernel, shared_letters
from lowd.errors import DisconnectedGraphWarning, IndefiniteWarning, LocalizedAxisWarning, LowdError

# What rounding may do to coordinates, relative to the largest of them.
ROUNDING = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 5e-5}


@dataclass(frozen=True)
class Case:
    """A method with parameters, and the data it is for: their kind, shape and number of rows."""

    name: str
    method: str
    params: dict[str, Any] = field(default_factory=dict)
    source: str = "rows"
    shape: str = "cloud"
    n: int = 60

    def model(self, backend="auto", **more):
        return getattr(lowd, self.method)(**{**self.params, "backend": backend, **more})

    def data(self, dtype=np.float64):
        """Training and held-out input."""
        n_new = 23 if self.n == 60 else 40
        return make_data(self.source, np.dtype(dtype), self.shape, self.n, n_new)

    @property
    def is_large(self):
        return self.n > 60


# Parameters of every method, which change how it runs: tested with threads and progress.
EXECUTION_PARAMETERS = {"backend", "n_jobs", "verbose"}
LLE_METHODS = ("LocallyLinearEmbedding", "ModifiedLLE", "HessianLLE", "LTSA")
MILD = {"early_exaggeration": 4.0, "max_iter": 60}
RBF = {"n_components": 3, "kernel": "rbf"}

# Sixty rows: one case for each branch of a fit or of a map that does not depend on their number.
CASES = [
    Case("PCA", "PCA", {"n_components": 2}),
    Case("PCA-all", "PCA"),
    Case("PCA-share", "PCA", {"n_components": 0.9}),
    Case("PCA-whiten", "PCA", {"n_components": 3, "whiten": True, "ddof": 0}),
    Case("PCA-scale", "PCA", {"n_components": 3, "scale": True}),
    Case("PCA-origin", "PCA", {"n_components": 2, "center": False}),
    Case("Gaussian", "GaussianRandomProjection", {"n_components": 4, "random_state": 0}),
    Case("Sparse", "SparseRandomProjection", {"n_components": 4, "random_state": 0}),
    Case("Hadamard", "HadamardRandomProjection", {"n_components": 4, "random_state": 0}),
    Case("MDS-euclidean", "ClassicalMDS"),
    Case("MDS-cosine", "ClassicalMDS", {"metric": "cosine"}),
    Case("MDS-manhattan", "ClassicalMDS", {"metric": "manhattan"}),
    Case("MDS-jaccard", "ClassicalMDS", {"metric": "jaccard"}, "counts"),
    Case("MDS-gower", "ClassicalMDS", {"metric": "gower"}, "table"),
    Case("MDS-precomputed", "ClassicalMDS", {"metric": "precomputed"}, "distances"),
    Case("MDS-words", "ClassicalMDS", {"metric": edit_distance}, "words"),
    Case("MDS-landmarks", "ClassicalMDS", {"n_landmarks": 20}),
    Case("MDS-lingoes", "ClassicalMDS", {"metric": "manhattan", "correction": "lingoes"}),
    Case("MDS-cailliez", "ClassicalMDS", {"metric": "manhattan", "correction": "cailliez"}),
    Case("SMACOF", "MDS"),
    Case("SMACOF-precomputed", "MDS", {"metric": "precomputed"}, "distances"),
    Case("SMACOF-sammon", "MDS", {"n_components": 3, "metric": "manhattan", "weights": "sammon"}),
    Case("NonMetric", "NonMetricMDS"),
    Case(
        "NonMetric-secondary", "NonMetricMDS", {"metric": "hamming", "ties": "secondary"}, "counts"
    ),
    Case("KernelPCA-linear", "KernelPCA", {"n_components": 3, "kernel": "linear"}),
    Case("KernelPCA-rbf", "KernelPCA", RBF),
    Case("KernelPCA-cosine", "KernelPCA", {**RBF, "kernel": "cosine"}),
    Case("KernelPCA-laplacian", "KernelPCA", {**RBF, "kernel": "laplacian"}),
    Case("KernelPCA-precomputed", "KernelPCA", {**RBF, "kernel": "precomputed"}, "kernel"),
    Case(
        "KernelPCA-rows-callable",
        "KernelPCA",
        {**RBF, "kernel": rbf_kernel, "kernel_params": {"gamma": 0.2}},
    ),
    Case("KernelPCA-words", "KernelPCA", {**RBF, "kernel": shared_letters}, "words"),
    Case("KernelPCA-rbf-landmarks", "KernelPCA", {**RBF, "n_landmarks": 20}),
    *(
        Case(
            f"KernelPCA-{how}", "KernelPCA", RBF | {"fit_inverse_transform": True, "preimage": how}
        )
        for how in ("ridge", "fixed_point")
    ),
    Case("Isomap", "Isomap", {"n_neighbors": 6}),
    Case("Isomap-radius", "Isomap", {"radius": 3.0}),
    Case("Isomap-precomputed", "Isomap", {"metric": "precomputed"}, "distances"),
    Case("Isomap-landmarks", "Isomap", {"n_neighbors": 6, "n_landmarks": 20}),
    Case("Isomap-regression", "Isomap", {"n_neighbors": 6, "map": "regression"}),
    # Mild and few steps: exaggeration tears sixty rows apart, and rounding grows with every tear.
    *(
        Case(f"{method}{name}", method, {**MILD, **params}, source)
        for method, name, params, source in (
            ("TSNE", "", {"perplexity": 10}, "rows"),
            ("TSNE", "-scales", {"n_components": 3, "perplexity": (4, 15)}, "rows"),
            ("TSNE", "-precomputed", {"perplexity": 10, "metric": "precomputed"}, "distances"),
            ("TSNE", "-affinity", {"affinity": "precomputed"}, "kernel"),
            ("SNE", "", {"perplexity": 10}, "rows"),
        )
    ),
    *(
        Case(f"UMAP{name}", "UMAP", {"n_neighbors": 10, "n_epochs": 60, **params}, source)
        for name, params, source in (
            ("", {}, "rows"),
            ("-density", {"dens_lambda": 1.0, "init": "spectral", "metric": "manhattan"}, "rows"),
            ("-precomputed", {"metric": "precomputed", "local_connectivity": 1.5}, "distances"),
        )
    ),
    Case("LLE", "LocallyLinearEmbedding", {"n_neighbors": 12}),
    Case("LLE-radius", "LocallyLinearEmbedding", {"radius": 4.0}),
    Case("LLE-tangent", "LocallyLinearEmbedding", {"n_neighbors": 12, "map": "tangent"}),
    Case("ModifiedLLE", "ModifiedLLE", {"n_components": 3, "n_neighbors": 10}),
    Case("HessianLLE", "HessianLLE", {"n_components": 3, "n_neighbors": 20}),
    Case("LTSA", "LTSA", {"n_components": 5, "n_neighbors": 20}),
    Case("Eigenmaps", "LaplacianEigenmaps"),
    Case(
        "Eigenmaps-radius",
        "LaplacianEigenmaps",
        {"radius": 4.0, "normalization": "none", "scale": "commute"},
    ),
    Case(
        "Eigenmaps-full",
        "LaplacianEigenmaps",
        {"n_components": 3, "n_neighbors": None, "self_loops": True, "map": "harmonic"},
    ),
    Case("Eigenmaps-affinity", "LaplacianEigenmaps", {"affinity": "precomputed"}, "kernel"),
    Case("Diffusion", "DiffusionMaps"),
]


def _at(n, shape, *cases):
    """Cases (name, method, parameters, and a source other than rows) of n rows of a shape."""
    return [Case(*case, shape=shape, n=n) for case in cases]


FEW_STEPS = {"perplexity": 15, "max_iter": 60}
FEW_EPOCHS = {"n_neighbors": 10, "n_epochs": 60}
NARROW = {**RBF, "gamma": 0.1}
# Real sizes: the routes that sixty rows never take, each at a size that takes it cheaply. The
# comments say which routes these are; contracts/test_routes.py shows that they are taken.
LARGE = [
    # Principal axes: of the covariance, by products (Krylov), of the Gram matrix, by an SVD where
    # an axis is short, by products with sparse rows.
    *_at(3000, "clusters", ("PCA-covariance", "PCA", {"n_components": 3})),
    *_at(600, "factors", ("PCA-krylov", "PCA", {"n_components": 2})),
    *_at(200, "many columns", ("PCA-gram", "PCA", {"n_components": 20, "whiten": True})),
    *_at(250, "flat", ("PCA-svd", "PCA")),
    *_at(1500, "texts", ("PCA-sparse", "PCA", {"n_components": 3}, "sparse")),
    # Projections in several blocks of rows and of columns.
    *_at(
        600,
        "factors",
        *(
            (f"{kind}-blocks", f"{kind}RandomProjection", {"n_components": 70, "random_state": 0})
            for kind in ("Gaussian", "Sparse", "Hadamard")
        ),
    ),
    # Distances of all pairs by Krylov iteration, with all eigenvalues (to 1000 rows) and without;
    # inner products of rows instead of distances; landmarks.
    *_at(
        3000,
        "clusters",
        ("MDS-products", "ClassicalMDS", {"n_components": 3}),
        ("MDS-manhattan-landmarks", "ClassicalMDS", {"metric": "manhattan", "n_landmarks": 150}),
    ),
    *_at(
        600,
        "clusters",
        ("MDS-spectrum", "ClassicalMDS", {"metric": "manhattan"}),
        ("MDS-gower-krylov", "ClassicalMDS", {"metric": "gower"}, "table"),
    ),
    *_at(
        1100,
        "clusters",
        ("MDS-quadrature", "ClassicalMDS", {"metric": "minkowski", "metric_params": {"p": 3}}),
    ),
    # Stress of several blocks of pairs, of rows and of a matrix; landmarks.
    *_at(
        700,
        "clusters",
        ("SMACOF-blocks", "MDS"),
        ("SMACOF-precomputed-blocks", "MDS", {"metric": "precomputed"}, "distances"),
    ),
    *_at(400, "clusters", ("NonMetric-blocks", "NonMetricMDS", {"max_iter": 500})),
    *_at(
        2000,
        "clusters",
        ("SMACOF-landmarks", "MDS", {"n_landmarks": 300}),
    ),
    *_at(
        800,
        "clusters",
        (
            "NonMetric-landmarks",
            "NonMetricMDS",
            {"metric": "precomputed", "n_landmarks": 150, "max_iter": 500},
            "distances",
        ),
    ),
    # Kernel matrices by Krylov iteration; inner products; landmarks (pivoted Cholesky).
    *_at(
        700,
        "clusters",
        ("KernelPCA-krylov", "KernelPCA", {**NARROW, "fit_inverse_transform": True}),
        (
            "KernelPCA-precomputed-landmarks",
            "KernelPCA",
            {**RBF, "kernel": "precomputed", "n_landmarks": 100},
            "kernel",
        ),
    ),
    *_at(
        3000,
        "clusters",
        ("KernelPCA-products", "KernelPCA", {**RBF, "kernel": "linear"}),
        ("KernelPCA-landmarks", "KernelPCA", {**NARROW, "n_landmarks": 200}),
    ),
    # Geodesic distances by products with shortest paths, and to landmarks.
    *_at(
        1200,
        "sheet",
        ("Isomap-krylov", "Isomap", {"n_neighbors": 10}),
    ),
    *_at(2000, "sheet", ("Isomap-paths", "Isomap", {"n_neighbors": 10, "n_landmarks": 80})),
    # Smallest eigenvectors of alignment matrices: a sparse factorization of the matrix or of its
    # root where the graph is narrow, a Chebyshev filter where it is wide; landmarks.
    *_at(
        1500,
        "sheet",
        ("LLE-factor", "LocallyLinearEmbedding", {"n_neighbors": 10}),
        ("ModifiedLLE-factor", "ModifiedLLE", {"n_neighbors": 12}),
        ("HessianLLE-factor", "HessianLLE", {"n_neighbors": 12}),
        ("LTSA-factor", "LTSA", {"n_neighbors": 12}),
    ),
    *_at(1500, "cube", ("LTSA-chebyshev", "LTSA", {"n_components": 4, "n_neighbors": 20})),
    *_at(
        3000,
        "sheet",
        ("LLE-landmarks", "LocallyLinearEmbedding", {"n_neighbors": 12, "n_landmarks": 600}),
    ),
    # Laplacians: a Chebyshev filter, a multilevel preconditioner where eigenvalues are too close to
    # 0 for it, products or a Cholesky factor of the dense matrix for a wide or a narrow kernel.
    *_at(1500, "clusters", ("Eigenmaps-chebyshev", "LaplacianEigenmaps", {"n_neighbors": 15})),
    *_at(3000, "helix", ("Eigenmaps-narrow", "LaplacianEigenmaps", {"n_neighbors": 5})),
    *_at(
        800,
        "clusters",
        ("Eigenmaps-cholesky", "LaplacianEigenmaps", {"n_neighbors": None}),
        ("Eigenmaps-krylov", "LaplacianEigenmaps", {"n_neighbors": None, "sigma": 2.0}),
        ("Diffusion-krylov", "DiffusionMaps", {"sigma": 2.0, "alpha": 0.0}),
    ),
    *_at(
        1500,
        "clusters",
        ("Eigenmaps-landmarks", "LaplacianEigenmaps", {"n_landmarks": 800, "scale": "unit"}),
        ("Diffusion-landmarks", "DiffusionMaps", {"n_landmarks": 400, "time": 0}),
        ("Diffusion-chebyshev", "DiffusionMaps", {"n_neighbors": 15}),
    ),
    # Neighbors by distances in blocks, where a metric has no index, and within a radius.
    *_at(
        1200,
        "clusters",
        ("Isomap-manhattan-blocks", "Isomap", {"n_neighbors": 10, "metric": "manhattan"}),
        ("Eigenmaps-radius-blocks", "LaplacianEigenmaps", {"radius": 3.0}),
    ),
    # Forces of SNE and t-SNE: all pairs in float64 (other kernels, four dimensions), in float32, a
    # mesh on a line, in a plane and in space; new points against all training points or a grid.
    *_at(
        600,
        "clusters",
        ("SNE-pairs", "SNE", FEW_STEPS),
        ("SNE-symmetric-pairs", "SNE", {**FEW_STEPS, "symmetric": True}),
    ),
    *_at(2000, "clusters", ("TSNE-mesh", "TSNE", FEW_STEPS)),
    *_at(
        600,
        "clusters",
        ("TSNE-pairs", "TSNE", {**FEW_STEPS, "n_components": 4}),
        ("TSNE-float32-pairs", "TSNE", FEW_STEPS),
        ("TSNE-line", "TSNE", {**FEW_STEPS, "n_components": 1}),
    ),
    *_at(
        1200,
        "clusters",
        ("TSNE-space", "TSNE", {**FEW_STEPS, "n_components": 3}),
        ("TSNE-uniform-mesh", "TSNE", {"affinity": "uniform", "n_neighbors": 20, "max_iter": 60}),
    ),
    # Forces of UMAP: a mesh on a line and in a plane, samples of points in space.
    *_at(
        2600,
        "clusters",
        ("UMAP-mesh", "UMAP", FEW_EPOCHS),
        ("UMAP-space", "UMAP", {**FEW_EPOCHS, "n_components": 3}),
        ("UMAP-landmarks", "UMAP", {**FEW_EPOCHS, "n_landmarks": 600, "set_op_mix_ratio": 0.5}),
    ),
    *_at(
        700,
        "clusters",
        ("UMAP-line", "UMAP", {**FEW_EPOCHS, "n_components": 1, "init": "spectral"}),
        ("UMAP-density-mesh", "UMAP", {**FEW_EPOCHS, "dens_lambda": 2.0}),
    ),
]
BY_NAME = {case.name: case for case in [*CASES, *LARGE]}
# One case of each method, of either size: enough where what is tested is above all routes.
FIRST = [*{case.method: case for case in reversed(CASES)}.values()][::-1]
FIRST_LARGE = [*{case.method: case for case in reversed(LARGE)}.values()][::-1]


def each(cases, *, float32=()):
    """Parametrize a test by cases, in float64, and by those that are to be tried in float32 too.

    All tests of a case run in one worker of pytest-xdist (with `--dist loadgroup`), where the
    model that they ask is fitted once.
    """
    narrow = [case for case in float32 if case in cases and case.source not in ("table", "words")]
    values = [(case, np.float64) for case in cases] + [(case, np.float32) for case in narrow]
    parameters = [
        pytest.param(
            *((case, dtype) if float32 else (case,)),
            id=f"{case.name}-float32" if dtype is np.float32 else case.name,
            marks=pytest.mark.xdist_group(case.name),
        )
        for case, dtype in values
    ]
    return pytest.mark.parametrize(("case", "dtype") if float32 else "case", parameters)


def numeric(case):
    """Cases whose input is a matrix of numbers."""
    return case.source not in ("table", "words")


def of_rows(case):
    """Cases of samples by features with a named metric or kernel."""
    return case.source in ("rows", "counts") and not any(map(callable, case.params.values()))


def takes_sparse(case):
    """Cases of rows that accept a sparse matrix of samples by features."""
    return case.source == "rows" and case.model().__sklearn_tags__().input_tags.sparse


def invertible(case):
    """Cases whose map has an inverse."""
    linear = case.method == "PCA" or case.method.endswith("RandomProjection")
    local = case.method in ("Isomap", "UMAP", *LLE_METHODS) and case.source == "rows"
    named = case.name in ("MDS-euclidean", "MDS-products", "KernelPCA-linear", "KernelPCA-products")
    return linear or local or named or "fit_inverse_transform" in case.params


# Distances and kernels may be indefinite, sixty rows of seven dimensions have outliers, and their
# graph within a radius is disconnected in other units.
EXPECTED = (IndefiniteWarning, LocalizedAxisWarning, DisconnectedGraphWarning)


def fit(model, X, **given):
    """Fit; what these data are warned of (below) is what other tests are about."""
    with warnings.catch_warnings():
        for kind in EXPECTED:
            warnings.simplefilter("ignore", kind)
        return model.fit(X, **given)


class Fitted(NamedTuple):
    """A fitted model, the input as the fit left it, and the embedding that it returned."""

    model: Any
    X: Any
    embedding: np.ndarray


def fitted(case, dtype=np.float64):
    """The case's model fitted to its data, once for all tests that only ask it."""
    return fit_once(case, dtype).model


def fit_once(case, dtype=np.float64):
    return _fit_once(case.name, np.dtype(dtype))


@cache
def _fit_once(name, dtype):
    case = BY_NAME[name]
    model, X = case.model(), copy.deepcopy(case.data(dtype)[0])
    return Fitted(model, X, fit_transform(model, X))


def fit_transform(model, X, **given):
    with warnings.catch_warnings():
        for kind in EXPECTED:
            warnings.simplefilter("ignore", kind)
        return model.fit_transform(X, **given)


def attempt(call, *args):
    """The result, or the sentence of the library's refusal."""
    try:
        return call(*args), None
    except LowdError as error:
        return None, str(error)


def take(X, rows):
    """Some rows of any container."""
    if isinstance(X, pd.DataFrame):
        return X.iloc[rows]
    if isinstance(X, list):
        return [X[i] for i in rows]
    return X[rows]


def stack(*parts):
    """The samples of several parts of any container."""
    if isinstance(parts[0], pd.DataFrame):
        return pd.concat(parts, ignore_index=True)
    if isinstance(parts[0], list):
        return [one for part in parts for one in part]
    return vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)


def fingerprint(model):
    """Changes if any array or setting of the model does."""
    return joblib.hash(vars(model))


def solver_tolerance(case):
    """In roundings: eigenvectors to an angle of 1e-6, descents in float64, Krylov iteration."""
    if not case.is_large:
        return 1
    model = fitted(case)
    return 1e4 if hasattr(model, "solver_") or hasattr(model, "n_iter_") else 10


def close(actual, expected, dtype=np.float64, factor=1.0):
    """Equal to rounding, relative to the largest expected entry."""
    size = max(np.abs(expected).max(initial=0), np.finfo(np.float64).tiny)
    np.testing.assert_allclose(
        np.asarray(actual, np.float64),
        np.asarray(expected, np.float64),
        rtol=0,
        atol=float(factor * ROUNDING[np.dtype(dtype)] * size),
    )


def same_bits(actual, expected):
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)
