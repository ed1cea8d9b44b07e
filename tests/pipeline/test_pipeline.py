"""`lowd.Pipeline`: preprocessing and a method as one model with the contract of every method."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

import lowd
from cases import same_bits
from checks import failing_checks
from lowd.errors import DataError, ParameterError, UnsupportedError

METHODS = {
    "PCA": lambda: lowd.PCA(2),
    "Isomap": lambda: lowd.Isomap(2, n_neighbors=8),
    "TSNE": lambda: lowd.TSNE(2, perplexity=10, max_iter=60),
    "ClassicalMDS": lambda: lowd.ClassicalMDS(2),
}


def counts(n=80, d=60, seed=0):
    """Counts between two types; totals differ by a factor of ten."""
    rng = np.random.default_rng(seed)
    share = rng.uniform(size=(n, 1))
    rates = share * rng.gamma(0.3, size=d) + (1 - share) * rng.gamma(0.3, size=d)
    return rng.poisson(rates * rng.uniform(1, 10, size=(n, 1))).astype(float)


def make(method="PCA", **more):
    steps = {"drop": [3], "normalize": True, "log1p": True, "scale": True, "pca": 5} | more
    return lowd.Pipeline(METHODS[method](), **steps)


@pytest.mark.filterwarnings("ignore::lowd.errors.LowdWarning")
def test_scikit_learn_checks():
    model = lowd.Pipeline(lowd.PCA(1), scale=True, pca=1)
    without = {"check_parameters_default_constructible"}  # a pipeline needs its method
    assert not failing_checks(model, without)


@pytest.mark.parametrize(
    ("method", "dtype"), [*((method, np.float64) for method in METHODS), ("PCA", np.float32)]
)
def test_new_rows_are_mapped_alone_as_in_any_batch(method, dtype):
    X, Q = counts().astype(dtype), counts(seed=1)[:7].astype(dtype)
    model = make(method).fit(X)
    assert model.embedding_.dtype == dtype
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-4)
    together, confidence = model.transform(Q, return_confidence=True)
    assert together.dtype == dtype
    assert confidence.shape == (7,)
    same_bits(together, np.vstack([model.transform(row[None]) for row in Q]))
    names = [f"{method.lower()}{j}" for j in range(2)]
    assert list(model.get_feature_names_out()) == names


@pytest.mark.parametrize("method", METHODS)
def test_one_file_holds_the_whole_chain(method, tmp_path):
    model, Q = make(method).fit(counts()), counts(seed=1)[:7]
    lowd.save(model, tmp_path / "m.lowd")
    for twin in (lowd.load(tmp_path / "m.lowd"), pickle.loads(pickle.dumps(model))):
        for ours, theirs in zip(
            twin.transform(Q, return_confidence=True),
            model.transform(Q, return_confidence=True),
            strict=True,
        ):
            same_bits(ours, theirs)
        assert twin.get_params()["method__n_components"] == 2
        same_bits(twin.embedding_, model.embedding_)
        assert twin.fit(counts()).pca_.n_components_ == 5  # its unfitted method is there, too


def test_the_steps_are_those_of_the_formulas():
    X = counts()
    Z = np.delete(X, 3, 1)
    Z = np.log1p(Z / Z.sum(1, keepdims=True) * np.median(Z.sum(1)))
    spread = Z.std(0)
    Z = (Z - Z.mean(0)) / np.where(spread > 0, spread, 1)
    model = make(pca=None).fit(X)
    np.testing.assert_allclose(model.prepare(X), Z, atol=1e-12)
    np.testing.assert_allclose(model.embedding_, lowd.PCA(2).fit_transform(Z), atol=1e-9)


def test_sparse_rows_are_the_same_rows():
    X = counts()
    dense, sparse = (make(scale=False).fit(rows) for rows in (X, csr_array(X)))
    np.testing.assert_allclose(sparse.transform(csr_array(X)), dense.transform(X), atol=1e-9)
    np.testing.assert_allclose(make().fit(csr_array(X)).transform(X), make().fit(X).transform(X))


@pytest.mark.parametrize("frame", [pd.DataFrame, polars.DataFrame])
def test_tables_by_the_names_of_their_columns(frame):
    rng = np.random.default_rng(0)
    table = {"name": [f"n{i}" for i in range(50)], "id": np.arange(50)}
    table |= {"age": rng.normal(40, 9, 50), "income": rng.lognormal(10, 1, 50)}
    table["age"][4] = np.nan
    X = frame(table)
    model = lowd.Pipeline(
        lowd.PCA(2), drop=["name", "id"], impute="median", log1p=["income"], scale=True
    ).fit(X)
    assert list(model.feature_names_in_) == ["id", "age", "income"]
    back = model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(back[:, 2], table["income"], rtol=1e-9)
    assert back[4, 1] == pytest.approx(np.nanmedian(table["age"]))
    np.testing.assert_allclose(back[:, 0], 24.5)  # a column left out comes back as its mean
    one = {n: v[4:5] for n, v in table.items()}
    same_bits(model.transform(frame(one)), model.transform(X)[4:5])


def test_units_do_not_matter_to_the_logarithm_of_a_column():
    X = np.random.default_rng(0).lognormal(size=(60, 3))
    chosen = lowd.Pipeline(lowd.PCA(2), log1p=[1], scale=True)
    np.testing.assert_allclose(
        chosen.fit_transform(X * [1, 1000, 1]), chosen.fit_transform(X), atol=1e-9
    )


def test_an_offset_takes_no_digits():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = lowd.Pipeline(lowd.PCA(2), scale=True)
    np.testing.assert_allclose(model.fit_transform(X + 1e9), model.fit_transform(X), atol=1e-6)


def test_the_evaluation_is_that_of_prepared_rows():
    X = counts()
    model = make("Isomap").fit(X)
    found = model.evaluate(X)
    direct = lowd.evaluate(model.prepare(X), model.embedding_)
    assert found.trustworthiness == direct.trustworthiness
    assert "residual_variance" in found.model
    assert any("pipeline prepares" in note for note in found.notes)


def test_parameters_of_the_method_are_parameters_of_the_pipeline():
    model = clone(make()).set_params(method__n_components=1, pca=4)
    assert model.fit_transform(counts()).shape == (80, 1)
    assert model.pca_.n_components_ == 4
    assert not hasattr(model.method, "map_")  # the given method is not fitted


def test_new_points_of_wide_noise_shrink_and_the_correction_undoes_it():
    """Few rows, many columns: new rows come too near to the middle."""
    rng = np.random.default_rng(0)
    center = rng.normal(size=(3, 3000)) * 0.12
    group = np.arange(360) % 3
    X = center[group] + rng.normal(size=(360, 3000))
    X, Q, group, new = X[:120], X[120:], group[:120], group[120:]

    def slope(model):
        """Distance of the new groups' means from the middle, relative to the training groups'."""
        Y, Z = model.embedding_, model.transform(Q)
        means = [np.array([A[g == c].mean(0) for c in range(3)]) for A, g in ((Y, group), (Z, new))]
        return np.linalg.norm(means[1]) / np.linalg.norm(means[0])

    plain = slope(lowd.Pipeline(lowd.PCA(2), pca=2).fit(X))
    corrected = lowd.Pipeline(lowd.PCA(2), pca=2, correct_shrinkage=True).fit(X)
    assert plain < 0.75
    assert abs(slope(corrected) - 1) < 0.12
    assert corrected.shrinkage_slopes_.shape == (2,)
    np.testing.assert_allclose(corrected.shrinkage_slopes_, plain, atol=0.12)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lowd.Pipeline(lowd.PCA(2), drop=["zip"]), "no column names"),
        (lowd.Pipeline(lowd.PCA(2), drop=[99]), "99 is not a name, nor an index below 60"),
        (lowd.Pipeline(lowd.PCA(2), drop=list(range(60))), "leaves no column"),
        (lowd.Pipeline(lowd.PCA(2), pca=100), "exceeds 60"),
        (lowd.Pipeline(lowd.PCA(2), correct_shrinkage=True), "needs pca="),
        (lowd.Pipeline("PCA"), "expected Reducer"),
        (lowd.Pipeline(lowd.PCA(2), impute="zero"), "'mean' or 'median' or None"),
    ],
)
def test_errors_name_the_parameter(model, message):
    with pytest.raises((ParameterError, DataError), match=message):
        model.fit(counts())


def test_what_cannot_be_prepared_or_inverted():
    with pytest.raises(UnsupportedError, match="takes distances here; fit it alone"):
        lowd.Pipeline(lowd.MDS(2, metric="precomputed")).fit(counts())
    with pytest.raises(UnsupportedError, match="totals of the rows"):
        make().fit(counts()).inverse_transform(np.zeros((1, 2)))
    X = counts()
    X[3, 5] = np.inf
    with pytest.raises(DataError, match="row 3, column 5"):
        lowd.Pipeline(lowd.PCA(2), impute="mean").fit(X)
    X[:, 5] = np.nan
    with pytest.raises(DataError, match="column 5 has no value at all"):
        lowd.Pipeline(lowd.PCA(2), impute="mean").fit(X)
    X[:, 5] = 1
    X[2, 7] = np.nan
    with pytest.raises(DataError, match="row 2, column 7"):
        lowd.Pipeline(lowd.PCA(2)).fit(X)


def test_memory_is_planned_for_the_columns_that_the_method_gets():
    model = lowd.Pipeline(lowd.TSNE(2), scale=True, pca=30)
    inner = lowd.TSNE(2).estimate(1000, 30).bytes
    assert inner + 1000 * 5000 * 8 <= model.estimate(1000, 5000).bytes
