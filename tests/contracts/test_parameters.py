"""Parameters: declared once, checked in one sentence, read from text, seeds."""

from __future__ import annotations

import dataclasses
import inspect
import re

import numpy as np
import pytest

import lowd
from case_data import manhattan_distance, rbf_kernel, rows_like
from cases import CASES, EXECUTION_PARAMETERS, close, fit
from lowd import backend
from lowd.errors import BackendUnavailableError, ParameterError, UnsupportedError
from lowd.methods import METHODS
from lowd.parameters import accepts, check_parameters, describe, parameters_of, read

# Per method and parameter: values outside the domain.
BAD = {
    "n_components": (0, -1, 1.5, np.nan, "many", True, [2]),
    "whiten": ("yes", 1, None),
    "scale": ("yes", 1),
    "center": (0,),
    "ddof": (-1, 2, 0.5, True),
    "random_state": (-1, "seed", 1.5),
    "eps": (0, 1, -0.1, "small", None),
    "weights": ("equal", 3, [1.0]),
    "init": ("pca", None, 3),
    "n_init": (0, -1, 1.5, "few", True),
    "p": (0, 0.5, "two", True),
    "max_iter": (-1, 2.5, "long", True),
    **dict.fromkeys((("MDS", "max_iter"), ("NonMetricMDS", "max_iter")), (0, -1, 2.5, "long")),
    "ties": ("split", None, True),
    "density": (0, 1.1, -1, "dense"),
    "compute_inverse_components": ("no",),
    "metric": ("euclid", 3, None),
    "metric_params": ([1], "p=3"),
    "n_landmarks": (0, -5, 2.5, "all"),
    "n_neighbors": (0, -1, 2.5, "few", True),
    "radius": (0, -1.0, np.nan, "near"),
    "map": ("linear", None, True),
    "on_disconnected": ("largest", None, True),
    "affinity": ("gaussian", 3, None),
    "sigma": (0, -1, np.inf, np.nan, "median"),
    "normalization": ("normed", None, True),
    "self_loops": ("no", 1),
    "time": (-1, np.inf, np.nan, "long"),
    "reg": (-1, np.inf, np.nan, "small"),
    "correction": ("lingo", None, True),
    "kernel": ("gauss", 3),
    "gamma": (0, -1, np.inf, np.nan, "mean"),
    "degree": (-1, np.nan, "two"),
    "coef0": (np.inf, None, "one"),
    "kernel_params": ([1],),
    "fit_inverse_transform": (1, "yes"),
    "alpha": (-1, 2, np.nan, "none"),
    ("KernelPCA", "alpha"): (0, -1, np.nan),
    "preimage": ("exact", True),
    "perplexity": (0, -1, np.inf, np.nan, "many", None),
    "early_exaggeration": (0, -1, np.inf, "auto", None),
    "exaggeration": (0, -1, np.inf, "auto", None),
    "learning_rate": (0, -1, np.inf, "fast", None),
    **{(m, "init"): ("umap", None, 3) for m in ("SNE", "TSNE", "UMAP")},
    ("UMAP", "learning_rate"): (0, -1, np.inf, "auto", None),
    **dict.fromkeys(
        ("min_dist", "repulsion_strength", "dens_lambda"), (-0.1, np.inf, "none", None)
    ),
    **dict.fromkeys(("dens_var_shift", "negative_sample_rate"), (-1, np.nan, "few", None)),
    **dict.fromkeys(("spread", "local_connectivity"), (0, -1, np.nan, "wide", None)),
    **dict.fromkeys(("a", "b"), (0, -1, np.inf, "fitted")),
    **dict.fromkeys(("set_op_mix_ratio", "target_weight", "dens_frac"), (-0.1, 1.1, None, "half")),
    ("UMAP", "n_neighbors"): (1, 0, 2.5, "few", True),
    "n_epochs": (-1, 2.5, "long", True),
    "target_metric": ("labels", None, 3),
    "symmetric": (1, "yes", None),
    "n_jobs": (0, 1.5, "two", True),
    "verbose": (-1, 0.5, "yes"),
    "backend": (3, None),
}


@pytest.mark.parametrize("method", METHODS)
def test_a_bad_value_is_refused_in_one_sentence(method):
    """Class, parameter, value and domain; before anything is computed."""
    cls = getattr(lowd, method)
    X = rows_like(30, 4)
    for name, domain in parameters_of(cls).items():
        for bad in BAD.get((method, name), BAD.get(name)):
            model = cls(**{name: bad})  # a constructor does nothing
            with pytest.raises(ParameterError) as refusal:
                model.fit(X)
            assert str(refusal.value) == f"{method}({name}={bad!r}): expected {describe(domain)}."
            assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("unknown", ["gpu", "Native", ""])
def test_unknown_backend(unknown):
    with pytest.raises(ParameterError, match=re.escape(repr(unknown))):
        lowd.PCA(1, backend=unknown).fit(rows_like(5))


def test_a_backend_whose_package_is_missing(monkeypatch):
    backend.resolve.cache_clear()
    monkeypatch.setattr(backend, "find_spec", lambda _: None)
    try:
        assert backend.backends() == ["native"]
        with pytest.raises(BackendUnavailableError, match="needs torch"):
            lowd.PCA(1, backend="torch").fit(rows_like(5))
    finally:
        backend.resolve.cache_clear()
    assert issubclass(BackendUnavailableError, ImportError)


def test_a_call_computes_with_the_backend_that_was_asked_for():
    assert backend.resolve("auto") == "native"
    assert backend.current() is None
    with backend.using("auto", 3):
        assert backend.current().name == "native"
        assert backend.current().n_jobs == 3
    assert backend.current() is None


def test_numpy_numbers_are_numbers():
    X = rows_like(20)
    model = lowd.PCA(np.int64(2), whiten=np.bool_(True), ddof=np.int32(1), n_jobs=np.int8(1))
    assert model.fit_transform(X).shape == (20, 2)
    assert lowd.PCA(np.float64(0.5)).fit(X).n_components_ >= 1
    assert lowd.KernelPCA(2, kernel="rbf", gamma=np.float32(0.5)).fit(X).gamma_ == 0.5


def test_seeds(rng):
    """An int, a RandomState or a Generator; the seed that was used is kept, and repeats the fit."""
    X = rows_like(20)
    for cls in (lowd.GaussianRandomProjection, lowd.HadamardRandomProjection):
        for state in (7, np.random.RandomState(7), np.random.default_rng(7), None):
            model = cls(3, random_state=state).fit(X)
            again = cls(3, random_state=model.seed_).fit(X)
            np.testing.assert_array_equal(again.transform(X), model.transform(X))
        assert cls(3).fit(X).seed_ != cls(3).fit(X).seed_
        one, two = cls(3, random_state=rng).fit(X), cls(3, random_state=rng).fit(X)
        assert one.seed_ != two.seed_
    np.random.seed(5)  # noqa: NPY002 - nobody else's numbers are used
    first = lowd.GaussianRandomProjection(3).fit(X).seed_
    np.random.seed(5)  # noqa: NPY002
    assert lowd.GaussianRandomProjection(3).fit(X).seed_ != first
    # Where a draw only helps a solver, no seed means the same seed.
    same = [lowd.KernelPCA(2, kernel="rbf", n_landmarks=10).fit(X).landmarks_ for _ in range(2)]
    np.testing.assert_array_equal(*same)


@pytest.mark.parametrize(
    "case", {case.method: case for case in reversed(CASES)}.values(), ids=lambda case: case.name
)
def test_global_random_state_is_neither_used_nor_changed(case):
    X, Q = case.data()
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    one = fit(case.model(), X).transform(Q)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
    np.random.seed(2)  # noqa: NPY002
    np.testing.assert_array_equal(fit(case.model(), X).transform(Q), one)


def test_fields_are_the_constructor():
    for name in METHODS:
        cls = getattr(lowd, name)
        fields = {field.name: field.default for field in dataclasses.fields(cls) if field.init}
        signature = {p.name: p.default for p in inspect.signature(cls).parameters.values()}
        assert fields == signature, name
        check_parameters(cls())  # every default is inside its own domain
        # UMAP has those of umap-learn that its users know.
        assert len(set(fields) - EXECUTION_PARAMETERS) <= (22 if name == "UMAP" else 14), name


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"kernel": "sigmoid", "n_landmarks": 10}, "positive semi-definite"),
        ({"kernel": manhattan_distance, "n_landmarks": 10}, "positive semi-definite"),
        ({"kernel": "laplacian", "preimage": "fixed_point"}, "kernel='rbf'"),
        ({"kernel": rbf_kernel}, "named kernel"),
    ],
)
def test_combinations_without_meaning_are_refused(params, sentence):
    model = lowd.KernelPCA(2, fit_inverse_transform=True, **params)
    with pytest.raises(UnsupportedError, match=sentence):
        model.fit(rows_like(30))


def test_no_correction_is_dropped_silently():
    """Landmarks and an additive constant cannot be had together."""
    model = lowd.ClassicalMDS(2, metric="manhattan", n_landmarks=10, correction="lingoes")
    with pytest.raises((ParameterError, UnsupportedError), match="correction"):
        model.fit(rows_like(30))


def test_what_is_typed_is_read_by_its_domain():
    """The same declaration serves a command line: text becomes a value of the domain."""
    count, gamma = parameters_of(lowd.PCA)["n_components"], parameters_of(lowd.KernelPCA)["gamma"]
    assert read(count, "3") == 3
    assert isinstance(read(count, "3"), int)
    assert read(count, "0.9") == 0.9
    assert read(count, "none") is None
    assert read(gamma, "median") == "median"
    assert read(parameters_of(lowd.PCA)["whiten"], "true") is True
    with pytest.raises(ParameterError, match="'many'"):
        read(count, "many")


def test_the_parameters_of_every_case_are_in_their_domain():
    for case in CASES:
        domain = parameters_of(getattr(lowd, case.method))
        for name, value in case.params.items():
            assert accepts(domain[name], value), (case.name, name)


@pytest.mark.parametrize(
    ("method", "steps"), [("SNE", "max_iter"), ("TSNE", "max_iter"), ("UMAP", "n_epochs")]
)
def test_no_steps_give_the_start(method, steps):
    X, start = rows_like(90), 1e-4 * rows_like(90, 2, seed=3)
    cls = getattr(lowd, method)
    model = cls(init=start, **{steps: 0}).fit(X)
    close(model.embedding_, start - start.mean(0))
    assert model.n_iter_ == 0
    close(model.transform(X), model.embedding_)
    by_pca = cls(**{steps: 0}).fit(X).embedding_
    near = np.corrcoef(by_pca[:, 0], lowd.PCA(2).fit_transform(X)[:, 0])[0, 1]
    assert abs(near) > (0.5 if method == "UMAP" else 0.999)
