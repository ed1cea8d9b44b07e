"""scikit-learn's own contract, with no check marked as an expected failure."""

from __future__ import annotations

import copy
import pickle
from dataclasses import is_dataclass
from inspect import signature
from typing import get_type_hints

import numpy as np
import pandas as pd
import polars
import pytest
from scipy.sparse import issparse
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import lowd
from cases import CASES, FIRST, LLE_METHODS, each, fit, fit_transform, fitted, same_bits
from checks import failing_checks
from lowd.methods import METHODS
from lowd.parameters import parameters_of

# Instances that suit the tiny data of the checks: down to one column, ten rows.
FEW = {
    "PCA": {"n_components": None},
    "GaussianRandomProjection": {"random_state": 0},
    "SparseRandomProjection": {"random_state": 0},
    "HadamardRandomProjection": {"random_state": 0},
    **{name: {"n_neighbors": 3} for name in ("Isomap", "LaplacianEigenmaps", *LLE_METHODS)},
    **{name: {"perplexity": 2, "max_iter": 20} for name in ("SNE", "TSNE")},
    "UMAP": {"n_neighbors": 3, "n_epochs": 20},
}
MODELS = [
    getattr(lowd, case.method)(**{"n_components": 1, **FEW.get(case.method, {})}) for case in FIRST
]


def test_every_method_is_checked():
    assert {type(model).__name__ for model in MODELS} == set(METHODS)
    assert {case.method for case in CASES} == set(METHODS)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
# The checks' data include dominant columns, low ranks and no metrics, of which lowd warns.
@pytest.mark.filterwarnings("ignore::lowd.errors.LowdWarning")
def test_scikit_learn_checks(model):
    assert not failing_checks(model)


@each(FIRST)
def test_set_output(case):
    X, Q = case.data()
    model = copy.deepcopy(fitted(case))
    plain = model.transform(Q)
    for library, kind in {"pandas": pd.DataFrame, "polars": polars.DataFrame}.items():
        framed = model.set_output(transform=library).transform(Q)
        assert isinstance(framed, kind)
        assert list(framed.columns) == list(model.get_feature_names_out())
        assert framed.columns[0] == f"{case.method.lower()}0"
        same_bits(framed.to_numpy(), plain)
        if library == "pandas" and isinstance(Q, pd.DataFrame):
            assert framed.index.equals(Q.index)
        together = case.model().set_output(transform=library)
        assert isinstance(fit_transform(together, X), kind)


def test_index_of_a_frame_is_kept():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), index=range(100, 120))
    X.columns = ["a", "b", "c"]
    model = lowd.PCA(2).set_output(transform="pandas")
    assert model.fit_transform(X).index.equals(X.index)
    assert list(model.feature_names_in_) == ["a", "b", "c"]


@each(FIRST)
def test_names_of_columns_must_return(case):
    X, Q = case.data()
    names = [f"column {j}" for j in range(X.shape[1])]
    model = fit(case.model(), pd.DataFrame(X, columns=names))
    assert list(model.feature_names_in_) == names
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(pd.DataFrame(Q, columns=names[::-1]))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.transform(Q)


@each(FIRST)
def test_not_fitted(case):
    from sklearn.exceptions import NotFittedError

    _, Q = case.data()
    for call in ("transform", "inverse_transform", "get_feature_names_out"):
        with pytest.raises(NotFittedError, match=case.method):
            getattr(case.model(), call)(*([Q] if "transform" in call else []))


def test_repr_shows_what_was_set():
    for case in CASES:
        text = repr(case.model())
        assert text.startswith(f"{case.method}(")
        default = getattr(lowd, case.method)().get_params()
        for name, value in case.params.items():
            assert (f"{name}=" in text) == (value != default[name]), text


@each(FIRST)
def test_parameters_are_named_alike_everywhere(case):
    model = case.model()
    params = model.get_params()
    assert {"n_components", "backend", "n_jobs", "verbose"} <= set(params)
    assert model.set_params(**params).get_params() == params
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(n_component=2)


def test_n_components_comes_first_by_position():
    for name in set(METHODS) - {"UMAP"}:
        assert getattr(lowd, name)(3).n_components == 3
        with pytest.raises(TypeError, match="positional"):
            getattr(lowd, name)(3, 4)
    for given in ((5,), (15, 2)):  # n_neighbors in umap-learn
        with pytest.raises(TypeError, match=r"UMAP takes no positional .* n_neighbors"):
            lowd.UMAP(*given)


def test_types_of_parameters_can_be_read():
    """By other libraries, which make forms and command lines of them; people read names."""
    for name in METHODS:
        cls = getattr(lowd, name)
        types = get_type_hints(cls.__init__, include_extras=True)
        domains = parameters_of(cls)
        assert {key: kind for key, kind in types.items() if key != "return"} == domains
    assert str(signature(lowd.Isomap).parameters["n_components"]) == "n_components: 'Count' = 2"


def test_pipeline_and_grid_search():
    """A method is a step like any other, and its parameters can be searched."""
    from sklearn.datasets import load_digits

    X, y = load_digits(n_class=4, return_X_y=True)
    X, y = X[:300], y[:300]
    steps = make_pipeline(lowd.PCA(2), KNeighborsClassifier(3))
    grid = {"pca__n_components": [1, 8], "pca__whiten": [False, True]}
    search = GridSearchCV(steps, grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_params_["pca__n_components"] == 8
    assert search.best_score_ > 0.9
    pairwise = make_pipeline(lowd.ClassicalMDS(5, metric="manhattan"), KNeighborsClassifier(3))
    with pytest.warns(lowd.errors.IndefiniteWarning):
        pairwise.fit(X[:200], y[:200])
    assert pairwise.score(X[200:], y[200:]) > 0.9


def test_precomputed_is_cut_on_both_axes_by_cross_validation():
    from sklearn.metrics import pairwise_distances
    from sklearn.model_selection import cross_val_score

    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    X = rng.normal(size=(40, 3)) + 6 * y[:, None]
    model = make_pipeline(lowd.ClassicalMDS(2, metric="precomputed"), KNeighborsClassifier(1))
    assert cross_val_score(model, pairwise_distances(X), y, cv=4, error_score="raise").min() == 1


def _writable(held, path="model"):
    """Paths of all writable arrays within an attribute."""
    if isinstance(held, np.ndarray):
        return [path] if held.flags.writeable else []
    if issparse(held):
        return _writable(held.data, f"{path}.data")
    if isinstance(held, list | tuple):
        parts = dict(enumerate(held))
    elif isinstance(held, dict):
        parts = held
    else:
        parts = vars(held) if is_dataclass(held) else {}
    return [found for name, part in parts.items() for found in _writable(part, f"{path}.{name}")]


@each(FIRST)
def test_a_copy_is_as_read_only_as_the_model(case):
    model = fitted(case)
    for made in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        for name, learned in vars(made).items():
            if name.endswith("_") and name not in model.get_params():
                assert _writable(learned, name) == []
        same_bits(made.transform(case.data()[1]), model.transform(case.data()[1]))
