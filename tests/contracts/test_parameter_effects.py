"""Every parameter has an effect, and none is written by a fit."""

from __future__ import annotations

import joblib
import numpy as np
import pytest

import lowd
from case_data import rbf_kernel, rows_like
from cases import EXECUTION_PARAMETERS, LLE_METHODS, fit
from lowd.errors import DataError, DisconnectedGraphWarning
from lowd.methods import METHODS
from lowd.parameters import parameters_of

RBF = {"n_components": 2, "kernel": "rbf"}
RBF_INVERSE = {**RBF, "fit_inverse_transform": True}
MANHATTAN = {"n_components": 2, "metric": "manhattan"}
MANY_NEIGHBORS = {"n_components": 5, "n_neighbors": 30}
FEW_ITERATIONS = {"perplexity": 8, "max_iter": 20}
PROJECTIONS = ("GaussianRandomProjection", "SparseRandomProjection", "HadamardRandomProjection")

# (method, parameter) -> the other parameters, and two values whose results must differ.
WITNESSES = {
    ("PCA", "n_components"): ({}, 1, 2),
    ("PCA", "whiten"): ({}, False, True),
    ("PCA", "scale"): ({}, False, True),
    ("PCA", "center"): ({}, False, True),
    ("PCA", "ddof"): ({}, 0, 1),
    ("PCA", "random_state"): ({"n_components": 2}, 0, 1),
    **{(m, "n_components"): ({"random_state": 0}, 2, 3) for m in PROJECTIONS},
    **{(m, "eps"): ({"n_components": "auto", "random_state": 0}, 0.5, 0.6) for m in PROJECTIONS},
    **{(m, "random_state"): ({"n_components": 3}, 0, 1) for m in PROJECTIONS},
    **{
        (m, "compute_inverse_components"): ({"n_components": 3, "random_state": 0}, False, True)
        for m in PROJECTIONS[:2]
    },
    ("SparseRandomProjection", "density"): ({"n_components": 3, "random_state": 0}, 0.2, "auto"),
    ("ClassicalMDS", "n_components"): ({}, 1, 2),
    ("ClassicalMDS", "metric"): ({}, "euclidean", "manhattan"),
    ("ClassicalMDS", "metric_params"): ({"metric": "minkowski"}, {"p": 1}, {"p": 3}),
    ("ClassicalMDS", "n_landmarks"): (MANHATTAN, None, 10),
    ("ClassicalMDS", "correction"): (MANHATTAN, "lingoes", "cailliez"),
    ("ClassicalMDS", "random_state"): ({**MANHATTAN, "n_landmarks": 10}, 0, 1),
    **{
        (method, name): pair
        for method in ("MDS", "NonMetricMDS")
        for name, pair in {
            "n_components": ({}, 1, 2),
            "metric": ({}, "euclidean", "manhattan"),
            "metric_params": ({"metric": "minkowski"}, {"p": 1}, {"p": 3}),
            "weights": ({}, None, "sammon"),
            "init": ({}, "classical_mds", "random"),
            "n_init": ({"init": "random", "random_state": 2}, 1, 9),
            "max_iter": ({"eps": 0.5}, 1, 300),
            "eps": ({}, 1e-3, 1e-4),
            "n_landmarks": ({}, None, 20),
            "random_state": ({"init": "random"}, 0, 1),
        }.items()
    },
    ("NonMetricMDS", "ties"): ({"metric": "hamming"}, "primary", "secondary"),
    ("KernelPCA", "n_components"): (RBF, 1, None),
    ("KernelPCA", "kernel"): ({"n_components": 2}, "rbf", "laplacian"),
    ("KernelPCA", "gamma"): (RBF, 0.1, "median"),
    ("KernelPCA", "degree"): ({"n_components": 2, "kernel": "poly"}, 2, 3),
    ("KernelPCA", "coef0"): ({"n_components": 2, "kernel": "poly"}, 0.5, 1),
    ("KernelPCA", "kernel_params"): (
        {"n_components": 2, "kernel": rbf_kernel},
        {"gamma": 0.1},
        {"gamma": 0.3},
    ),
    ("KernelPCA", "n_landmarks"): (RBF, None, 10),
    ("KernelPCA", "fit_inverse_transform"): (RBF, False, True),
    ("KernelPCA", "alpha"): (RBF_INVERSE, 0.1, 1.0),
    ("KernelPCA", "preimage"): (RBF_INVERSE, "ridge", "fixed_point"),
    ("KernelPCA", "random_state"): ({**RBF, "n_landmarks": 10}, 0, 1),
    ("Isomap", "n_components"): ({}, 1, 2),
    ("Isomap", "n_neighbors"): ({}, 5, 6),
    ("Isomap", "radius"): ({}, 4.0, 5.0),
    ("Isomap", "metric"): ({}, "euclidean", "manhattan"),
    ("Isomap", "metric_params"): ({"metric": "minkowski"}, {"p": 1}, {"p": 3}),
    ("Isomap", "p"): ({}, 1, 3),
    ("Isomap", "n_landmarks"): ({}, None, 10),
    ("Isomap", "map"): ({}, "geodesic", "regression"),
    ("Isomap", "on_disconnected"): ({}, "join", "error"),
    ("Isomap", "random_state"): ({"n_landmarks": 5}, 0, 1),
    **{
        ("LaplacianEigenmaps", name): pair
        for name, pair in {
            "n_components": ({}, 1, 2),
            "n_neighbors": ({}, 10, None),
            "radius": ({}, 3.0, 4.0),
            "affinity": ({}, "heat", "nearest_neighbors"),
            "sigma": ({}, 1.0, None),
            "normalization": ({}, "random_walk", "symmetric"),
            "self_loops": ({}, False, True),
            "scale": ({}, "std", "unit"),
            "metric": ({}, "euclidean", "manhattan"),
            "metric_params": ({"metric": "minkowski"}, {"p": 1}, {"p": 3}),
            "n_landmarks": ({}, None, 30),
            "map": ({}, "nystroem", "harmonic"),
            "on_disconnected": ({"n_neighbors": 5}, "join", "error"),
            "random_state": ({"n_landmarks": 30}, 0, 1),
        }.items()
    },
    **{
        ("DiffusionMaps", name): pair
        for name, pair in {
            "n_components": ({}, 1, 2),
            "alpha": ({}, 0.5, 1.0),
            "time": ({}, 0, 1),
            "sigma": ({}, 1.0, None),
            "n_neighbors": ({}, 20, None),
            "metric": ({}, "euclidean", "manhattan"),
            "metric_params": ({"metric": "minkowski"}, {"p": 1}, {"p": 3}),
            "n_landmarks": ({}, None, 30),
            "on_disconnected": ({"sigma": 2.0}, "join", "error"),
            "random_state": ({"n_landmarks": 30}, 0, 1),
        }.items()
    },
    **{
        (method, name): ({**FEW_ITERATIONS, **params}, one, other)
        for method in ("SNE", "TSNE")
        for name, params, one, other in (
            ("n_components", {}, 1, 2),
            ("perplexity", {}, 8, (4, 9)),
            ("n_neighbors", {"perplexity": 30.0, "affinity": "uniform"}, 8, 9),
            ("early_exaggeration", {}, 2.0, 3.0),
            ("exaggeration", {}, 1.0, 1.5),
            ("learning_rate", {}, "auto", 20.0),
            ("max_iter", {}, 20, 30),
            ("init", {}, "pca", "random"),
            ("metric", {}, "euclidean", "manhattan"),
            ("metric_params", {"metric": "minkowski"}, {"p": 1}, {"p": 3}),
            ("random_state", {"init": "random"}, 0, 1),
        )
    },
    **{(m, "affinity"): ({"max_iter": 20}, "uniform", "perplexity") for m in ("SNE", "TSNE")},
    ("SNE", "symmetric"): (FEW_ITERATIONS, False, True),
    **{
        ("UMAP", name): ({"n_neighbors": 9, "n_epochs": 9, **params}, one, other)
        for name, params, one, other in (
            ("n_components", {}, 1, 2),
            ("n_neighbors", {}, 8, 9),
            ("min_dist", {}, 0.1, 0.2),
            ("spread", {}, 1.0, 2.0),
            ("a", {"b": 0.9}, 1.0, 2.0),
            ("b", {"a": 1.0}, 0.8, 0.9),
            ("metric", {}, "euclidean", "manhattan"),
            ("metric_params", {"metric": "minkowski"}, {"p": 1}, {"p": 3}),
            ("local_connectivity", {}, 1.0, 2.0),
            ("set_op_mix_ratio", {}, 1.0, 0.5),
            ("n_epochs", {}, 8, 9),
            ("learning_rate", {}, 1.0, 0.5),
            ("init", {}, "pca", "spectral"),
            ("repulsion_strength", {}, 1.0, 2.0),
            ("negative_sample_rate", {}, 5, 6),
            ("target_metric", {}, "categorical", "euclidean"),
            ("target_weight", {}, 0.5, 0.6),
            ("dens_lambda", {}, 0.0, 1.0),
            ("dens_frac", {"dens_lambda": 1.0}, 0.3, 0.6),
            ("dens_var_shift", {"dens_lambda": 1.0}, 0.1, 0.2),
            ("n_landmarks", {}, None, 30),
            ("random_state", {"init": "random"}, 0, 1),
        )
    },
    **{(m, "n_components"): ({"n_neighbors": 9}, 1, 2) for m in LLE_METHODS},
    **{(m, "n_neighbors"): ({}, 10, 11) for m in LLE_METHODS},
    **{(m, "radius"): ({}, 4.0, 5.0) for m in LLE_METHODS},
    **{(m, "reg"): ({}, 1e-3, 1e-2) for m in LLE_METHODS},
    **{(m, "map"): ({}, "barycentric", "tangent") for m in LLE_METHODS},
    **{(m, "n_landmarks"): ({"n_neighbors": 9}, None, 30) for m in LLE_METHODS},
    **{(m, "on_disconnected"): (MANY_NEIGHBORS, "join", "error") for m in LLE_METHODS},
    **{(m, "random_state"): ({"n_neighbors": 9, "n_landmarks": 30}, 0, 1) for m in LLE_METHODS},
}

PAIRS = [
    (method, name)
    for method in METHODS
    for name in parameters_of(getattr(lowd, method))
    if name not in EXECUTION_PARAMETERS
]


@pytest.mark.parametrize("method", METHODS)
def test_every_parameter_changes_something(method):
    for name in (name for of, name in PAIRS if of == method and name != "on_disconnected"):
        check_effect(method, name)


def check_effect(method, name):
    given, one, other = WITNESSES[method, name]
    d = 300 if name == "eps" else 7
    X, Q = rows_like(40, d, seed=1), rows_like(9, d, seed=2)
    if (method, name) == ("PCA", "random_state"):  # only the iterative route draws anything
        X, Q = rows_like(2500, 700, seed=1), rows_like(9, 700, seed=2)
    target = {"y": np.arange(40) % 3} if name.startswith("target") else {}
    results = []
    for value in (one, other):
        needed = {"n_neighbors": 9} if value == "uniform" else {}
        model = getattr(lowd, method)(**{**given, **needed, name: value})
        before = dict(model.get_params())
        fit(model, X, **target)
        learned = {n: v for n, v in vars(model).items() if n.endswith("_") and n != "seed_"}
        results.append(joblib.hash((model.transform(Q), learned)))
        after = model.get_params()
        assert all(after[one] is before[one] for one in before), "the fit has written a parameter"
    assert results[0] != results[1], name


@pytest.mark.parametrize("method", [m for m, name in PAIRS if name == "on_disconnected"])
def test_a_disconnected_graph_is_bridged_or_refused(method):
    given, one, other = WITNESSES[method, "on_disconnected"]
    X = rows_like(40, 7, seed=1)
    X = np.vstack([X, X + 100])
    with pytest.warns(DisconnectedGraphWarning):
        getattr(lowd, method)(**{**given, "on_disconnected": one}).fit(X)
    with pytest.raises(DataError, match="2 connected components"):
        getattr(lowd, method)(**{**given, "on_disconnected": other}).fit(X)
