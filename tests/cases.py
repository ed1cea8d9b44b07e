"""The cases that every contract is tried on, their selection, and comparisons of results."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest

import lowd
from case_data import edit_distance, make_data, manhattan_distance, rbf_kernel, shared_letters
from lowd.backends import available
from lowd.errors import DisconnectedGraphWarning, IndefiniteWarning, LocalizedAxisWarning, LowdError

# torch has a selection of its own (contracts/test_torch.py): most of its operations are the core's.
BACKENDS = [name for name in available() if name != "torch"]
native_only = pytest.mark.skipif("native" not in BACKENDS, reason="the native core is not built")
# What rounding may do to coordinates, relative to the largest of them.
ROUNDING = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 5e-5}


@dataclass(frozen=True)
class Case:
    """A method with parameters, and the kind of data it is for."""

    name: str
    method: str
    params: dict[str, Any] = field(default_factory=dict)
    source: str = "rows"

    def model(self, backend="auto", **more):
        return getattr(lowd, self.method)(**{**self.params, "backend": backend, **more})

    def data(self, dtype=np.float64):
        """Training and held-out input."""
        return make_data(self.source, np.dtype(dtype))

    @property
    def dtypes(self):
        """Types of input that come out again; tables and words are measured in float64."""
        return (np.float64,) if self.source in ("table", "words") else (np.float64, np.float32)


# Parameters of every method, which change how it runs: tested with threads and progress.
EXECUTION_PARAMETERS = {"backend", "n_jobs", "verbose"}
LLE_METHODS = ("LocallyLinearEmbedding", "ModifiedLLE", "HessianLLE", "LTSA")
MILD = {"early_exaggeration": 4.0, "max_iter": 60}
CASES = [
    Case("PCA", "PCA", {"n_components": 2}),
    Case("PCA-all", "PCA"),
    Case("PCA-share", "PCA", {"n_components": 0.9}),
    Case("PCA-whiten", "PCA", {"n_components": 3, "whiten": True}),
    Case("PCA-scale", "PCA", {"n_components": 3, "scale": True}),
    Case("PCA-origin", "PCA", {"n_components": 2, "center": False}),
    Case("PCA-population", "PCA", {"n_components": 2, "whiten": True, "ddof": 0}),
    Case("Gaussian", "GaussianRandomProjection", {"n_components": 4, "random_state": 0}),
    Case(
        "Gaussian-inverse",
        "GaussianRandomProjection",
        {"n_components": 4, "compute_inverse_components": True, "random_state": 1},
    ),
    Case("Sparse", "SparseRandomProjection", {"n_components": 4, "random_state": 0}),
    Case(
        "Sparse-dense",
        "SparseRandomProjection",
        {"n_components": 4, "density": 1.0, "random_state": 1},
    ),
    Case("Hadamard", "HadamardRandomProjection", {"n_components": 4, "random_state": 0}),
    *(
        Case(f"MDS-{metric}", "ClassicalMDS", {"metric": metric}, source)
        for metric, source in {
            "euclidean": "rows",
            "sqeuclidean": "rows",
            "cosine": "rows",
            "correlation": "rows",
            "manhattan": "rows",
            "chebyshev": "rows",
            "hamming": "counts",
            "jaccard": "counts",
            "gower": "table",
            "precomputed": "distances",
        }.items()
    ),
    Case("MDS-minkowski", "ClassicalMDS", {"metric": "minkowski", "metric_params": {"p": 3}}),
    Case(
        "MDS-rows-callable",
        "ClassicalMDS",
        {"metric": manhattan_distance, "metric_params": {"scale": 2.0}},
    ),
    Case("MDS-words", "ClassicalMDS", {"metric": edit_distance}, "words"),
    Case("MDS-landmarks", "ClassicalMDS", {"n_landmarks": 20}),
    Case("MDS-manhattan-landmarks", "ClassicalMDS", {"metric": "manhattan", "n_landmarks": 20}),
    Case(
        "MDS-precomputed-landmarks",
        "ClassicalMDS",
        {"metric": "precomputed", "n_landmarks": 20},
        "distances",
    ),
    Case("MDS-gower-landmarks", "ClassicalMDS", {"metric": "gower", "n_landmarks": 20}, "table"),
    Case(
        "MDS-words-landmarks", "ClassicalMDS", {"metric": edit_distance, "n_landmarks": 20}, "words"
    ),
    Case("MDS-lingoes", "ClassicalMDS", {"metric": "manhattan", "correction": "lingoes"}),
    Case("MDS-cailliez", "ClassicalMDS", {"metric": "manhattan", "correction": "cailliez"}),
    Case(
        "MDS-precomputed-lingoes",
        "ClassicalMDS",
        {"metric": "precomputed", "correction": "lingoes"},
        "distances",
    ),
    Case("SMACOF", "MDS"),
    Case("SMACOF-manhattan", "MDS", {"n_components": 3, "metric": "manhattan"}),
    Case("SMACOF-precomputed", "MDS", {"metric": "precomputed"}, "distances"),
    Case("SMACOF-gower", "MDS", {"metric": "gower"}, "table"),
    Case("SMACOF-words", "MDS", {"metric": edit_distance}, "words"),
    Case("SMACOF-sammon", "MDS", {"weights": "sammon"}),
    Case("SMACOF-landmarks", "MDS", {"n_landmarks": 30}),
    Case("NonMetric", "NonMetricMDS"),
    Case("NonMetric-precomputed", "NonMetricMDS", {"metric": "precomputed"}, "distances"),
    Case(
        "NonMetric-landmarks",
        "NonMetricMDS",
        {"metric": "precomputed", "n_landmarks": 45},
        "distances",
    ),
    Case("NonMetric-words", "NonMetricMDS", {"metric": edit_distance}, "words"),
    Case(
        "NonMetric-secondary", "NonMetricMDS", {"metric": "hamming", "ties": "secondary"}, "counts"
    ),
    *(
        Case(f"KernelPCA-{kernel}", "KernelPCA", {"n_components": 3, "kernel": kernel, **more})
        for kernel, more in {
            "linear": {},
            "rbf": {},
            "poly": {"degree": 2, "gamma": 0.1},
            "sigmoid": {"gamma": 0.01, "coef0": 0.1},
            "cosine": {},
            "laplacian": {},
        }.items()
    ),
    Case("KernelPCA-all", "KernelPCA", {"kernel": "rbf"}),
    Case("KernelPCA-median", "KernelPCA", {"n_components": 2, "kernel": "rbf", "gamma": "median"}),
    Case(
        "KernelPCA-precomputed", "KernelPCA", {"n_components": 3, "kernel": "precomputed"}, "kernel"
    ),
    Case(
        "KernelPCA-rows-callable",
        "KernelPCA",
        {"n_components": 3, "kernel": rbf_kernel, "kernel_params": {"gamma": 0.2}},
    ),
    Case("KernelPCA-words", "KernelPCA", {"n_components": 3, "kernel": shared_letters}, "words"),
    *(
        Case(
            f"KernelPCA-{kernel}-landmarks",
            "KernelPCA",
            {"n_components": 3, "kernel": kernel, "n_landmarks": 20},
            "kernel" if kernel == "precomputed" else "rows",
        )
        for kernel in ("rbf", "laplacian", "linear", "precomputed")
    ),
    *(
        Case(
            f"KernelPCA-{how}",
            "KernelPCA",
            {"n_components": 3, "kernel": "rbf", "fit_inverse_transform": True, "preimage": how},
        )
        for how in ("ridge", "fixed_point")
    ),
    Case("Isomap", "Isomap", {"n_neighbors": 6}),
    Case("Isomap-radius", "Isomap", {"radius": 3.0}),
    Case(
        "Isomap-manhattan", "Isomap", {"n_components": 3, "n_neighbors": 7, "metric": "manhattan"}
    ),
    Case("Isomap-precomputed", "Isomap", {"metric": "precomputed"}, "distances"),
    Case("Isomap-words", "Isomap", {"metric": edit_distance}, "words"),
    Case("Isomap-landmarks", "Isomap", {"n_neighbors": 6, "n_landmarks": 20}),
    Case("Isomap-regression", "Isomap", {"n_neighbors": 6, "map": "regression"}),
    # Mild and few steps: exaggeration tears sixty rows apart, and rounding grows with every tear.
    *(
        Case(f"{method}{name}", method, {**MILD, **params}, source)
        for method, name, params, source in (
            ("TSNE", "", {"perplexity": 10}, "rows"),
            ("TSNE", "-scales", {"n_components": 3, "perplexity": (4, 15)}, "rows"),
            ("TSNE", "-uniform", {"affinity": "uniform", "n_neighbors": 12}, "rows"),
            ("TSNE", "-precomputed", {"perplexity": 10, "metric": "precomputed"}, "distances"),
            ("TSNE", "-affinity", {"affinity": "precomputed"}, "kernel"),
            ("TSNE", "-words", {"perplexity": 8, "metric": edit_distance}, "words"),
            ("SNE", "", {"perplexity": 10}, "rows"),
            ("SNE", "-symmetric", {"perplexity": 12, "symmetric": True}, "rows"),
        )
    ),
    *(
        Case(f"UMAP{name}", "UMAP", {"n_neighbors": 10, "n_epochs": 60, **params}, source)
        for name, params, source in (
            ("", {}, "rows"),
            ("-space", {"n_components": 3, "min_dist": 0.5, "spread": 2.0}, "rows"),
            ("-density", {"dens_lambda": 1.0, "init": "spectral", "metric": "manhattan"}, "rows"),
            ("-landmarks", {"n_landmarks": 40, "set_op_mix_ratio": 0.5}, "rows"),
            ("-precomputed", {"metric": "precomputed", "local_connectivity": 1.5}, "distances"),
            ("-words", {"metric": edit_distance}, "words"),
        )
    ),
    Case("LLE", "LocallyLinearEmbedding", {"n_neighbors": 12}),
    Case("LLE-radius", "LocallyLinearEmbedding", {"radius": 4.0}),
    Case("LLE-tangent", "LocallyLinearEmbedding", {"n_neighbors": 12, "map": "tangent"}),
    Case("LLE-landmarks", "LocallyLinearEmbedding", {"n_neighbors": 12, "n_landmarks": 20}),
    Case("ModifiedLLE", "ModifiedLLE", {"n_components": 3, "n_neighbors": 10}),
    Case("HessianLLE", "HessianLLE", {"n_components": 3, "n_neighbors": 20}),
    Case("LTSA", "LTSA", {"n_components": 5, "n_neighbors": 20}),
    Case("LTSA-tangent", "LTSA", {"n_components": 5, "n_neighbors": 20, "map": "tangent"}),
    *(
        Case(f"{name}-landmarks", name, {"n_components": 2, "n_neighbors": 12, "n_landmarks": 20})
        for name in ("ModifiedLLE", "HessianLLE", "LTSA")
    ),
    Case("Eigenmaps", "LaplacianEigenmaps"),
    Case(
        "Eigenmaps-binary",
        "LaplacianEigenmaps",
        {"affinity": "binary", "normalization": "symmetric", "n_neighbors": 8},
    ),
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
    Case("Eigenmaps-precomputed", "LaplacianEigenmaps", {"metric": "precomputed"}, "distances"),
    Case("Eigenmaps-landmarks", "LaplacianEigenmaps", {"n_landmarks": 40, "scale": "unit"}),
    Case("Eigenmaps-words", "LaplacianEigenmaps", {"metric": edit_distance}, "words"),
    Case("Diffusion", "DiffusionMaps"),
    Case(
        "Diffusion-neighbors",
        "DiffusionMaps",
        {"n_components": 3, "n_neighbors": 15, "alpha": 0.5, "time": 2},
    ),
    Case("Diffusion-precomputed", "DiffusionMaps", {"metric": "precomputed"}, "distances"),
    Case("Diffusion-gower", "DiffusionMaps", {"metric": "gower", "alpha": 0.0}, "table"),
    Case("Diffusion-landmarks", "DiffusionMaps", {"n_landmarks": 40, "time": 0}),
]
BY_NAME = {case.name: case for case in CASES}
FIRST_OF_METHOD = set({case.method: case.name for case in reversed(CASES)}.values())


def first_of_method(case):
    """One case per method: enough where what is tested is implemented above the backends."""
    return case.name in FIRST_OF_METHOD


def any_case(case):  # noqa: ARG001 - the signature of a predicate
    return True


def numeric(case):
    """Cases whose input is a matrix of numbers."""
    return case.source not in ("table", "words")


def of_rows(case):
    """Cases of samples by features with a named metric or kernel."""
    return case.source in ("rows", "counts") and not any(map(callable, case.params.values()))


def takes_sparse(case):
    """Cases that accept a sparse matrix of samples by features."""
    return case.source == "rows" and case.model().__sklearn_tags__().input_tags.sparse


def invertible(case):
    """Cases whose map has an inverse."""
    linear = case.method == "PCA" or case.method.endswith("RandomProjection")
    local = case.method in ("Isomap", "UMAP", *LLE_METHODS) and case.source == "rows"
    named = case.name in ("MDS-euclidean", "KernelPCA-linear")
    return linear or local or named or "fit_inverse_transform" in case.params


@dataclass(frozen=True)
class Selection:
    """The combinations of case, dtype and backend for which a test is collected."""

    applies: Callable[[Case], bool] = any_case
    float32: Callable[[Case], bool] = any_case
    other_backends: Callable[[Case], bool] = any_case
    other_float32: bool = False  # the reference computes in float64, so it seldom differs

    def combinations(self, *, with_case):
        """Every case (or none, where a test is about one method), dtype and backend."""
        for case in filter(self.applies, CASES) if with_case else [None]:
            for dtype in case.dtypes if case else (np.float64, np.float32):
                for backend in BACKENDS:
                    if self._takes(case, dtype == np.float32, backend != BACKENDS[0]):
                        yield {"case": case, "dtype": dtype, "backend": backend}

    def _takes(self, case, narrow, other):
        if narrow and other and not self.other_float32:
            return False
        accepts = [self.float32] * narrow + [self.other_backends] * other
        return case is None or all(accept(case) for accept in accepts)


def cases(applies=any_case, **options):
    """Collect a test for the cases `applies` accepts, and no others (see `Selection`)."""

    def decorate(test):
        test.selection = Selection(applies, **options)
        return test

    return decorate


# Distances and kernels may be indefinite, sixty rows of seven dimensions have outliers, and their
# graph within a radius is disconnected in other units.
EXPECTED = (IndefiniteWarning, LocalizedAxisWarning, DisconnectedGraphWarning)


def fit(model, X, **given):
    """Fit; what these data are warned of (below) is what other tests are about."""
    with warnings.catch_warnings():
        for kind in EXPECTED:
            warnings.simplefilter("ignore", kind)
        return model.fit(X, **given)


def fitted(case, backend, dtype=np.float64):
    """The case's model fitted to its data, once for all tests that only ask it."""
    return _fitted(case.name, backend, np.dtype(dtype))


@cache
def _fitted(name, backend, dtype):
    case = BY_NAME[name]
    return fit(case.model(backend), case.data(dtype)[0])


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


def fingerprint(model):
    """Changes if any array or setting of the model does."""
    return joblib.hash(vars(model))


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
