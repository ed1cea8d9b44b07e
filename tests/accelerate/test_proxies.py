"""A proxy is a class of scikit-learn in everything but the arithmetic."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
import threading
from importlib import import_module

import numpy as np
import pytest
import sklearn.decomposition
import sklearn.manifold
import sklearn.neighbors
import sklearn.random_projection
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import Bunch

import lowd.accelerate
from lowd.accelerate import table
from lowd.accelerate.proxy import ClassRule
from lowd.accelerate.table import REPLACEMENTS

# test_umap.py has the tests of umap-learn, which takes seconds to import; ClassicalMDS is new in
# scikit-learn 1.8.
NAMES = [
    one
    for one in REPLACEMENTS
    if one.module != "umap" and hasattr(import_module(one.module), one.name)
]
CLASSES = [one for one in NAMES if isinstance(one.rule, ClassRule)]


@pytest.fixture(name="X")
def rows():
    return np.random.default_rng(0).normal(size=(60, 5)) * [5, 4, 3, 2, 1]


def _module(name):
    return sys.modules[name]


def test_every_name_is_replaced_and_put_back(accelerated):
    replaced = table.list_replaced()
    for one in NAMES:
        original = replaced[one.module, one.name]
        proxy = getattr(_module(one.module), one.name)
        assert proxy is not original
        assert inspect.signature(proxy) == inspect.signature(original)
        assert proxy.__doc__ == original.__doc__
    accelerated.uninstall()
    for one in NAMES:
        assert getattr(_module(one.module), one.name) is replaced[one.module, one.name]


@pytest.mark.usefixtures("accelerated")
@pytest.mark.parametrize("one", CLASSES, ids=lambda one: one.name)
def test_a_proxy_is_a_class_of_scikit_learn(one):
    original = table.list_replaced()[one.module, one.name]
    proxy = getattr(_module(one.module), one.name)
    assert issubclass(proxy, original)
    assert issubclass(original, proxy)
    model, plain = proxy(), original()
    assert isinstance(model, original)
    assert isinstance(plain, proxy)
    assert not isinstance(object(), proxy)
    assert model.get_params() == plain.get_params()
    assert type(clone(model)) is proxy
    assert repr(model) == repr(plain)
    assert [name for name in dir(plain) if not hasattr(proxy, name) and name != "__dict__"] == [
        name for name in dir(plain) if not hasattr(original, name) and name != "__dict__"
    ]
    for method in ("fit", "fit_transform", "transform", "partial_fit"):
        if hasattr(original, method):
            ours, theirs = getattr(proxy, method), getattr(original, method)
            assert inspect.signature(ours) == inspect.signature(theirs)


@pytest.mark.usefixtures("accelerated")
def test_a_pickle_loads_with_and_without_acceleration(X, tmp_path):
    model = sklearn.manifold.Isomap(n_neighbors=9).fit(X)
    Q = X[:7] + 0.05
    expected = model.transform(Q)
    again = pickle.loads(pickle.dumps(model))
    assert type(again) is type(model)
    np.testing.assert_allclose(again.transform(Q), expected, atol=1e-9)
    stored = tmp_path / "model.pickle"
    stored.write_bytes(pickle.dumps((model, Q, expected)))
    script = f"""
import pickle, sys
model, Q, expected = pickle.load(open({str(stored)!r}, "rb"))
assert abs(model.transform(Q) - expected).max() < 1e-9
print(type(model).__module__, "lowd" in sys.modules)
"""
    made = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert made.stdout.split() == ["sklearn.manifold._isomap", "False"]


def test_a_model_outlives_uninstall(accelerated, X):
    model = sklearn.decomposition.KernelPCA(2, kernel="rbf").fit(X)
    expected = model.transform(X)
    accelerated.uninstall()
    np.testing.assert_allclose(model.transform(X), expected)
    again = pickle.loads(pickle.dumps(model))
    assert type(again) is sklearn.decomposition.KernelPCA
    np.testing.assert_allclose(again.transform(X), expected, atol=1e-12)
    np.testing.assert_allclose(copy.deepcopy(model).transform(X), expected, atol=1e-12)


def test_instances_made_before_install_still_pickle(X):
    before = sklearn.decomposition.PCA(2).fit(X)
    with lowd.accelerate.accelerated():
        again = pickle.loads(pickle.dumps(before))
        assert isinstance(before, sklearn.decomposition.PCA)
        np.testing.assert_array_equal(again.components_, before.components_)


def test_feature_names_and_set_output(accelerated, X):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=list("abcde"))
    model = sklearn.decomposition.PCA(2).set_output(transform="pandas")
    Y = model.fit_transform(table)
    assert list(Y.columns) == ["pca0", "pca1"]
    assert list(model.feature_names_in_) == list("abcde")
    assert list(model.get_feature_names_out()) == ["pca0", "pca1"]
    assert accelerated.profile().by_original == 0
    with pytest.raises(ValueError, match="feature names"):
        model.transform(table.rename(columns={"a": "z"}))


def test_learned_attributes_are_those_of_the_original(accelerated, X):
    models = [
        sklearn.decomposition.PCA(2),
        sklearn.decomposition.IncrementalPCA(2),
        sklearn.decomposition.TruncatedSVD(2),
        sklearn.decomposition.KernelPCA(2, kernel="rbf", fit_inverse_transform=True),
        sklearn.manifold.Isomap(n_neighbors=9),
        sklearn.manifold.TSNE(max_iter=500),
        sklearn.manifold.SpectralEmbedding(n_neighbors=9),
    ]
    if hasattr(sklearn.manifold, "ClassicalMDS"):
        models.append(sklearn.manifold.ClassicalMDS(2))
    for model in models:
        name = type(model).__name__
        original = type(model).original(**model.get_params()).fit(X)
        model.fit(X)
        assert accelerated.profile(reset=True).by_lowd == 1, name
        for attribute in vars(original):
            if not attribute.startswith("__"):
                ours, theirs = getattr(model, attribute), getattr(original, attribute)
                assert type(ours) is type(theirs) or isinstance(ours, np.generic | float), attribute
                assert np.shape(ours) == np.shape(theirs), attribute
                assert getattr(ours, "dtype", None) == getattr(theirs, "dtype", None), attribute
        arrays = [held for held in vars(model).values() if isinstance(held, np.ndarray)]
        assert all(held.flags.writeable for held in arrays), name


@pytest.mark.usefixtures("accelerated")
def test_a_large_attribute_is_computed_when_it_is_asked_for(X):
    model = sklearn.manifold.Isomap(n_neighbors=9).fit(X)
    assert "dist_matrix_" not in vars(model)
    assert model.dist_matrix_.shape == (60, 60)
    assert model.dist_matrix_ is model.dist_matrix_
    model.fit(X[:40])
    assert model.dist_matrix_.shape == (40, 40)
    with pytest.raises(AttributeError, match="no attribute 'distances_'"):
        _ = model.distances_


def test_a_fit_by_the_original_leaves_nothing_of_lowd(accelerated, X):
    model = sklearn.manifold.Isomap(n_neighbors=9).fit(X)
    model.set_params(metric=lambda a, b: float(np.abs(a - b).sum()))
    model.fit(X)
    assert accelerated.profile().calls[-1].ran == "original"
    plain = type(model).original(**model.get_params()).fit(X)
    np.testing.assert_array_equal(model.embedding_, plain.embedding_)
    np.testing.assert_array_equal(model.transform(X[:3] + 0.1), plain.transform(X[:3] + 0.1))


@pytest.mark.usefixtures("accelerated")
def test_errors_are_those_of_scikit_learn(X):
    PCA = sklearn.decomposition.PCA
    for bad, X_bad in ((PCA(0.5, svd_solver="arpack"), X), (PCA(99), X), (PCA(2), X * np.nan)):
        with pytest.raises(ValueError) as ours:
            bad.fit(X_bad)
        with pytest.raises(ValueError) as theirs:
            PCA.original(**bad.get_params()).fit(X_bad)
        assert str(ours.value) == str(theirs.value).replace("original.", "")
    with pytest.raises((NotFittedError, AttributeError)) as ours:
        PCA(2).transform(X)
    with pytest.raises((NotFittedError, AttributeError)) as theirs:
        PCA.original(2).transform(X)
    assert (ours.type, str(ours.value)) == (theirs.type, str(theirs.value))
    with pytest.raises(TypeError, match="unexpected keyword"):
        PCA(colour=2)


def test_a_subclass_is_left_to_the_original(accelerated, X):
    class Doubled(sklearn.decomposition.PCA):
        def _fit(self, X):
            return super()._fit(2 * X)

    plain = sklearn.decomposition.PCA.original(2).fit(X)
    model = Doubled(2).fit(X)
    np.testing.assert_allclose(model.singular_values_, 2 * plain.singular_values_)
    assert "subclass" in accelerated.profile().calls[-1].reason
    assert not isinstance(plain, Doubled)


@pytest.mark.filterwarnings("ignore:Changing the sparsity structure")
def test_warnings_of_lowd_are_not_shown(accelerated):
    """Warnings are errors in this suite: a disconnected graph is left to the original."""
    X = np.vstack([np.random.default_rng(0).normal(size=(20, 2)) + at for at in (0, 99)])
    with pytest.warns(UserWarning, match="The number of connected components"):
        sklearn.manifold.Isomap(n_neighbors=3).fit(X)
    assert "DisconnectedGraphWarning" in accelerated.profile().calls[-1].reason


def test_in_pipelines_searches_and_threads(accelerated, X):
    y = (X[:, 0] > 0).astype(int)
    steps = make_pipeline(sklearn.decomposition.PCA(), KNeighborsClassifier(3))
    grid = {"pca__n_components": [1, 2, 3], "pca__whiten": [True, False]}
    search = GridSearchCV(steps, grid, cv=3).fit(X, y)
    accelerated.uninstall()
    plain = GridSearchCV(
        make_pipeline(sklearn.decomposition.PCA(), KNeighborsClassifier(3)), grid, cv=3
    ).fit(X, y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"]
    )
    assert accelerated.profile().by_lowd == 19
    results = Bunch()
    accelerated.install(always=True)

    def fit(number):
        results[str(number)] = sklearn.decomposition.PCA(2).fit(X * (number + 1)).singular_values_

    threads = [threading.Thread(target=fit, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(6):
        np.testing.assert_allclose(results[str(number)], results["0"] * (number + 1))


def test_small_data_go_to_the_original_unless_asked(X):
    with lowd.accelerate.accelerated():
        lowd.accelerate.install()
        lowd.accelerate.profile(reset=True)
        model = sklearn.decomposition.PCA(2).fit(X)
        (call,) = lowd.accelerate.profile().calls
        assert (call.ran, call.shape) == ("original", (60, 5))
        assert call.reason == "the original is faster on small data"
        plain = type(model).original(2).fit(X)
        np.testing.assert_array_equal(model.components_, plain.components_)


def test_install_twice_and_nested_contexts():
    original = sklearn.decomposition.PCA
    lowd.accelerate.install()
    lowd.accelerate.install()
    with lowd.accelerate.accelerated():
        pass
    assert sklearn.decomposition.PCA is not original
    lowd.accelerate.uninstall()
    lowd.accelerate.uninstall()
    assert sklearn.decomposition.PCA is original


def test_the_profile_says_what_ran_where(accelerated, X):
    sklearn.decomposition.PCA(2).fit(X)
    sklearn.decomposition.PCA(2, svd_solver="arpack", whiten=True).fit_transform(X)
    sklearn.decomposition.KernelPCA(2, kernel=lambda a, b: float(a @ b)).fit(X)
    made = accelerated.profile()
    assert (made.by_lowd, made.by_original) == (2, 1)
    assert made.share == pytest.approx(2 / 3)
    assert made.reasons == {"KernelPCA.fit: kernel='callable'": 1}
    text = str(made)
    assert "2 of 3 calls ran on lowd" in text
    assert "1 x KernelPCA.fit: kernel='callable'" in text
    assert str(made.calls[0]).startswith("PCA.fit")
    assert set(made.to_dict()) == {"calls", "by_lowd", "by_original", "reasons"}
    assert all(call.seconds > 0 for call in made.calls)


@pytest.mark.usefixtures("accelerated")
def test_what_is_written_into_a_fitted_model_counts(X):
    model = sklearn.decomposition.KernelPCA(2, kernel="rbf").fit(X)
    before = model.transform(X)
    model.eigenvectors_ = -model.eigenvectors_
    np.testing.assert_allclose(model.transform(X), -before, atol=1e-12)
    model = sklearn.manifold.Isomap(n_neighbors=9).fit(X)
    before = model.transform(X)
    model.kernel_pca_.eigenvectors_ *= 1
    kernel_pca = copy.deepcopy(model.kernel_pca_)
    kernel_pca.eigenvectors_ = -kernel_pca.eigenvectors_
    model.kernel_pca_ = kernel_pca
    np.testing.assert_allclose(model.transform(X), -before, atol=1e-9)
