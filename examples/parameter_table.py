"""What each parameter's row of pictures shows, and on which data each method fails.

ROWS and FAILURES say what `parameter_figures.py` draws; NOT_DRAWN says which parameters have no
picture, and why. Data sets are named as in its `make_data`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

DEFAULTS: Mapping[str, Any] = MappingProxyType({})


class Row(NamedTuple):
    """A picture for each value of a parameter; `fixed` are parameters that all of them have."""

    method: str
    parameter: str
    values: tuple[Any, ...]
    data: str
    fixed: Mapping[str, Any] = DEFAULTS
    draw: str = "embedding"


# Every parameter that changes the coordinates of training points or of new ones.
ROWS = [
    Row("PCA", "n_components", (1, 2, 3), "roll", draw="inverse"),
    Row("PCA", "scale", (False, True), "wine, raw", {"n_components": 2}),
    Row("PCA", "whiten", (False, True), "two layers", {"n_components": 2}),
    Row("PCA", "center", (True, False), "clusters far from 0", {"n_components": 2}),
    Row("ClassicalMDS", "metric", ("euclidean", "manhattan", "cosine", "chebyshev"), "digits"),
    Row("ClassicalMDS", "metric_params", ({"p": 1}, {"p": 3}, {"p": 20}), "digits",
        {"metric": "minkowski"}),
    Row("ClassicalMDS", "n_landmarks", (None, 50, 10, 4), "digits", {"metric": "manhattan"}),
    Row("ClassicalMDS", "correction", ("none", "lingoes", "cailliez"), "squared distances",
        {"metric": "precomputed"}),
    Row("MDS", "metric", ("euclidean", "manhattan", "cosine"), "digits"),
    Row("MDS", "weights", (None, "sammon"), "small roll"),
    Row("MDS", "init", ("classical_mds", "random"), "S curve"),
    Row("MDS", "n_init", (1, 10, 100), "line", {"n_components": 1, "init": "random"}),
    Row("MDS", "max_iter", (1, 5, 20, 300), "S curve", {"init": "random"}),
    Row("MDS", "eps", (0.1, 1e-2, 1e-3, 1e-6), "S curve", {"init": "random"}),
    Row("MDS", "n_landmarks", (None, 100, 20, 5), "S curve"),
    Row("NonMetricMDS", "metric", ("euclidean", "sqeuclidean", "cosine"), "digits"),
    Row("NonMetricMDS", "ties", ("primary", "secondary"), "ratings", {"metric": "precomputed"}),
    Row("NonMetricMDS", "weights", (None, "sammon"), "small roll"),
    Row("NonMetricMDS", "init", ("classical_mds", "random"), "S curve"),
    Row("NonMetricMDS", "n_init", (1, 10, 100), "line", {"n_components": 1, "init": "random"}),
    Row("NonMetricMDS", "max_iter", (1, 5, 20, 300), "S curve", {"init": "random"}),
    Row("NonMetricMDS", "eps", (0.1, 1e-2, 1e-3, 1e-6), "S curve", {"init": "random"}),
    Row("NonMetricMDS", "n_landmarks", (None, 100, 20, 5), "S curve"),
    Row("KernelPCA", "kernel", ("linear", "poly", "rbf", "laplacian", "sigmoid", "cosine"), "rings",
        {"n_components": 2}),
    Row("KernelPCA", "gamma", (0.01, 1.0, 10.0, 1000.0), "rings",
        {"n_components": 2, "kernel": "rbf"}),
    Row("KernelPCA", "degree", (1, 2, 4, 8), "rings",
        {"n_components": 2, "kernel": "poly", "gamma": 2.0}),
    Row("KernelPCA", "coef0", (0, 0.3, 1, 10), "rings",
        {"n_components": 2, "kernel": "poly", "gamma": 2.0, "degree": 2}),
    Row("KernelPCA", "n_landmarks", (None, 50, 10, 4), "rings",
        {"n_components": 2, "kernel": "rbf", "gamma": 5.0}),
    Row("KernelPCA", "alpha", (1e-3, 0.1, 1.0, 10.0), "rings",
        {"n_components": 4, "kernel": "rbf", "gamma": 5.0, "fit_inverse_transform": True},
        "inverse"),
    Row("KernelPCA", "preimage", ("ridge", "fixed_point"), "rings",
        {"n_components": 4, "kernel": "rbf", "gamma": 5.0, "fit_inverse_transform": True},
        "inverse"),
    Row("Isomap", "n_neighbors", (4, 8, 15, 40), "roll"),
    Row("Isomap", "radius", (2.5, 4.0, 6.0), "roll", {"n_neighbors": None}),
    Row("Isomap", "metric", ("euclidean", "manhattan", "cosine"), "digits"),
    Row("Isomap", "n_landmarks", (None, 50, 10, 4), "roll", {"n_neighbors": 8}),
    Row("Isomap", "map", ("geodesic", "regression"), "roll", {"n_neighbors": 8}, "new points"),
    *(
        row
        for method in ("LocallyLinearEmbedding", "ModifiedLLE", "HessianLLE", "LTSA")
        for row in (
            Row(method, "n_neighbors", (6, 8, 12, 40), "roll"),
            Row(method, "radius", (3.5, 5.0, 8.0), "roll"),
            Row(method, "map", ("barycentric", "tangent"), "roll", {"n_neighbors": 8},
                "new points"),
            Row(method, "n_landmarks", (None, 1000, 500, 200), "roll", {"n_neighbors": 8}),
        )
    ),
    Row("LocallyLinearEmbedding", "reg", (1e-9, 1e-3, 0.1, 10.0), "roll", {"n_neighbors": 12}),
    Row("ModifiedLLE", "reg", (1e-9, 1e-3, 0.1, 10.0), "roll", {"n_neighbors": 12}),
    Row("HessianLLE", "reg", (0.0, 1e-6, 1e-3, 1.0), "roll", {"n_neighbors": 12}),
    Row("LTSA", "reg", (1e-9, 1e-3, 0.1), "roll", {"n_neighbors": 8}, "new points"),
    Row("LaplacianEigenmaps", "n_neighbors", (5, 10, 20, 60), "roll"),
    Row("LaplacianEigenmaps", "radius", (2.5, 4.0, 6.0), "roll", {"n_neighbors": None}),
    Row("LaplacianEigenmaps", "affinity", ("heat", "binary"), "roll"),
    Row("LaplacianEigenmaps", "sigma", (0.3, 1.0, 10.0), "roll"),
    Row("LaplacianEigenmaps", "normalization", ("random_walk", "symmetric", "none"),
        "uneven sheet"),
    Row("LaplacianEigenmaps", "self_loops", (False, True), "uneven sheet"),
    Row("LaplacianEigenmaps", "scale", ("std", "unit", "commute"), "uneven sheet"),
    Row("LaplacianEigenmaps", "metric", ("euclidean", "manhattan", "cosine"), "digits",
        {"n_neighbors": 40}),
    Row("LaplacianEigenmaps", "n_landmarks", (None, 200, 50), "roll"),
    Row("LaplacianEigenmaps", "map", ("nystroem", "harmonic"), "roll", {}, "new points"),
    Row("DiffusionMaps", "alpha", (0.0, 0.5, 1.0), "uneven ring", {"sigma": 0.15}),
    Row("DiffusionMaps", "time", (0, 30, 100, 400), "strip"),
    Row("DiffusionMaps", "sigma", (0.5, 1.0, 2.0, 6.0), "roll"),
    Row("DiffusionMaps", "n_neighbors", (None, 60, 10), "roll"),
    Row("DiffusionMaps", "metric", ("euclidean", "manhattan", "cosine"), "digits"),
    Row("DiffusionMaps", "n_landmarks", (None, 200, 50), "branches"),
    *(
        row
        for method in ("SNE", "TSNE")
        for row in (
            Row(method, "perplexity", (3, 10, 30, 200, [10, 200]), "digits"),
            Row(method, "n_neighbors", (5, 15, 50), "digits", {"affinity": "uniform"}),
            Row(method, "early_exaggeration", (1.0, 4.0, 12.0, 50.0), "digits"),
            Row(method, "exaggeration", (1.0, 2.0, 4.0), "digits"),
            Row(method, "init", ("pca", "spectral", "random"), "digits"),
            Row(method, "metric", ("euclidean", "manhattan", "cosine"), "digits"),
        )
    ),
    Row("SNE", "symmetric", (False, True), "digits"),
    Row("SNE", "learning_rate", (0.001, 0.1, "auto"), "digits"),
    Row("SNE", "max_iter", (3, 10, 30, 750), "digits"),
    Row("TSNE", "learning_rate", (0.1, 1.0, 20.0, "auto"), "digits"),
    Row("TSNE", "max_iter", (30, 250, 300, 750), "digits"),
    Row("UMAP", "a", (0.5, 1.58, 10.0), "digits", {"b": 0.9}),
    Row("UMAP", "b", (0.5, 0.9, 1.5), "digits", {"a": 1.58}),
    Row("UMAP", "negative_sample_rate", (1, 5, 20), "digits"),
    Row("UMAP", "metric", ("euclidean", "manhattan", "cosine"), "digits"),
    Row("UMAP", "n_landmarks", (None, 300, 100), "digits"),
    Row("UMAP", "dens_frac", (0.1, 0.3, 1.0), "digits", {"dens_lambda": 2.0}),
    Row("UMAP", "dens_var_shift", (0.01, 0.1, 10.0), "digits", {"dens_lambda": 2.0}),
    Row("UMAP", "target_weight", (0.0, 0.5, 0.99), "digits, few components", {}, "supervised"),
    Row("UMAP", "target_metric", ("categorical", "euclidean"), "digits, few components", {},
        "supervised"),
    *(
        row
        for method in ("GaussianRandomProjection", "SparseRandomProjection",
                       "HadamardRandomProjection")
        for row in (
            Row(method, "n_components", (2, 20, 200, 1000), "wide", {"random_state": 0},
                "distances"),
            Row(method, "eps", (0.2, 0.3, 0.5), "wide", {"random_state": 0}, "distances"),
            Row(method, "random_state", (0, 1, 2), "digits", {"n_components": 2}),
        )
    ),
    Row("SparseRandomProjection", "density", ("auto", 0.1, 1 / 3), "few large entries",
        {"n_components": 200, "random_state": 0}, "distances"),
]  # fmt: skip


class Failure(NamedTuple):
    """Data on which a method, with these parameters, shows what is not there."""

    title: str
    data: str
    params: Mapping[str, Any] = DEFAULTS
    draw: str = "embedding"


LOCAL = [
    Failure("short circuits", "roll", {"n_neighbors": 40}),
    Failure("noise between layers", "noisy roll", {"n_neighbors": 12}),
    Failure("two components", "two rolls", {"n_neighbors": 12}),
    Failure("one far point", "roll and a far point", {"n_neighbors": 12}),
]
STRESS = [
    Failure("does not unroll", "roll"),
    Failure("noise becomes a disc", "noise"),
    Failure("a far point", "clusters and a far point"),
]
FAILURES = {
    "PCA": [
        Failure("does not unroll", "roll", {"n_components": 2}),
        Failure("units decide", "wine, raw", {"n_components": 2}),
        Failure("a far point decides", "clusters and a far point", {"n_components": 2}),
        Failure("small variance is lost", "two layers", {"n_components": 1}),
    ],
    "ClassicalMDS": STRESS,
    "MDS": STRESS,
    "NonMetricMDS": [*STRESS, Failure("groups collapse", "far groups")],
    "KernelPCA": [
        Failure("γ too small: PCA", "rings", {"n_components": 2, "kernel": "rbf", "gamma": 1e-3}),
        Failure("γ too large", "rings", {"n_components": 2, "kernel": "rbf", "gamma": 1e3}),
        Failure("does not unroll", "roll",
                {"n_components": 2, "kernel": "rbf", "gamma": "median"}),
    ],
    "Isomap": [
        *LOCAL,
        Failure("a hole", "roll with a hole", {"n_neighbors": 8}),
        Failure("a sphere", "sphere", {"n_neighbors": 8}),
    ],
    "LocallyLinearEmbedding": LOCAL,
    "ModifiedLLE": LOCAL,
    "HessianLLE": LOCAL,
    "LTSA": LOCAL,
    "LaplacianEigenmaps": [*LOCAL, Failure("a strip: the arch", "strip")],
    "DiffusionMaps": [
        Failure("σ too small", "roll", {"sigma": 0.2}),
        Failure("σ too large", "roll", {"sigma": 6.0}),
        Failure("two components", "two rolls"),
        Failure("a strip: the arch", "strip"),
    ],
    "SNE": [
        Failure("noise becomes a disc", "noise"),
        Failure("sizes are lost", "two sizes"),
        Failure("crowded digits", "digits"),
    ],
    "TSNE": [
        Failure("noise, perplexity 3", "noise", {"perplexity": 3}),
        Failure("sizes are lost", "two sizes"),
        Failure("gaps are lost", "three groups"),
        Failure("a torn sheet", "roll"),
        Failure("too few iterations", "digits", {"max_iter": 30}),
    ],
    "UMAP": [
        Failure("noise, 3 neighbors", "noise", {"n_neighbors": 3}),
        Failure("sizes are lost", "two sizes"),
        Failure("gaps are lost", "three groups"),
        Failure("a torn sheet", "roll"),
        Failure("noise with drawn labels", "noise", {}, "supervised"),
    ],
    "GaussianRandomProjection": [
        Failure("two components", "digits", {"n_components": 2, "random_state": 0}),
        Failure("its distances", "wide", {"n_components": 2, "random_state": 0}, "distances"),
    ],
    "SparseRandomProjection": [
        Failure("two components", "digits", {"n_components": 2, "random_state": 0}),
        Failure("few large entries", "few large entries",
                {"n_components": 200, "random_state": 0}, "distances"),
    ],
    "HadamardRandomProjection": [
        Failure("two components", "digits", {"n_components": 2, "random_state": 0}),
        Failure("its distances", "wide", {"n_components": 2, "random_state": 0}, "distances"),
    ],
}  # fmt: skip

# Parameters without a picture. Those of a method alone are "Method.parameter".
NOT_DRAWN = {
    "backend": "changes rounding errors only",
    "n_jobs": "changes nothing",
    "verbose": "changes nothing",
    "random_state": "a seed of landmarks, starts and solvers; of projections it is drawn",
    "n_components": "the number of axes; of PCA and projections it is drawn",
    "metric_params": "goes with the metric; of ClassicalMDS it is drawn",
    "on_disconnected": "connects components, or raises an error",
    "p": "scikit-learn's name of Minkowski's exponent",
    "compute_inverse_components": "stores a matrix",
    "fit_inverse_transform": "allows the inverse",
    "kernel_params": "goes with a callable kernel",
    "PCA.ddof": "changes variances only",
    "SNE.affinity": "drawn with n_neighbors",
    "TSNE.affinity": "drawn with n_neighbors",
}  # fmt: skip
# Pictures in docs/images/umap, which were drawn once with umap-learn below.
DRAWN_ELSEWHERE = {
    "UMAP": (
        "n_neighbors", "min_dist", "spread", "local_connectivity", "set_op_mix_ratio", "n_epochs",
        "learning_rate", "repulsion_strength", "dens_lambda", "init",
    )
}  # fmt: skip
