"""Properties that hold for any data: small integers bring ties, duplicates, zeros and low ranks."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as numbers
from scipy.spatial.distance import cdist

import lowd
from lowd.errors import LowdWarning
from lowd.parameters import accepts, describe, parameters_of, read

relaxed = settings(max_examples=60, deadline=None)
SHAPES = st.tuples(st.integers(1, 9), st.integers(1, 6))
TABLES = SHAPES.flatmap(
    lambda shape: st.one_of(
        numbers.arrays(np.float64, shape, elements=st.integers(-3, 3).map(float)),
        numbers.arrays(np.float64, shape, elements=st.floats(-1e6, 1e6, width=32)),
    )
)


def quietly(call, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdWarning)
        return call(*args)


@relaxed
@example(np.diag([406112.0, 0.015625, 0, 0, 0])[:3], False, "float64")
@given(TABLES, st.booleans(), st.sampled_from(["float64", "float32"]))
def test_all_axes_of_pca_restore_any_table(X, whiten, kind):
    X = X.astype(kind)
    model = lowd.PCA(whiten=whiten)
    Z = quietly(model.fit_transform, X)
    assert np.isfinite(Z).all()
    # An axis with less than max(n, d) eps of the largest variance is rounding, and is left out.
    left_out = np.sqrt(X.size * max(X.shape) * np.finfo(np.float64).eps)
    tolerance = left_out if kind == "float64" else 1e-4
    size = np.abs(X).max() + 1e-30
    np.testing.assert_allclose(model.inverse_transform(Z), X, rtol=0, atol=tolerance * size)
    variance = np.var(X.astype(float), axis=0, ddof=1).sum() if len(X) > 1 else 0
    np.testing.assert_allclose(
        model.explained_variance_.sum(), variance, rtol=1e-5, atol=tolerance * size**2
    )
    assert (np.diff(model.explained_variance_) <= 1e-9 * size**2).all()
    assert 0 <= model.explained_variance_ratio_.sum() <= 1 + 1e-9


@relaxed
@given(TABLES)
def test_classical_scaling_restores_any_distances(X):
    D = cdist(X, X)
    k = len(X)
    for model, given_ in (
        (lowd.ClassicalMDS(k, metric="precomputed"), D),
        (lowd.ClassicalMDS(k), X),
    ):
        Y = quietly(model.fit_transform, given_)
        assert np.isfinite(Y).all()
        np.testing.assert_allclose(cdist(Y, Y), D, rtol=0, atol=3e-6 * (D.max() + 1e-30))
        np.testing.assert_allclose(
            model.transform(given_), Y, rtol=0, atol=1e-5 * (D.max() + 1e-30)
        )


@relaxed
@given(
    TABLES,
    st.sampled_from(["rbf", "laplacian", "cosine", "poly", "sigmoid"]),
)
def test_kernel_pca_of_any_table_is_finite(X, kernel):
    X = X / (np.abs(X).max() + 1)
    model = lowd.KernelPCA(min(3, len(X)), kernel=kernel)
    Y = quietly(model.fit_transform, X)
    assert np.isfinite(Y).all()
    assert np.isfinite(model.transform(X + 1)).all()
    # Equal rows have equal coordinates.
    same = (X[:, None] == X).all(2)
    gaps = np.abs(Y[:, None] - Y).max(2)
    assert gaps[same].max() <= 1e-6 * (np.abs(Y).max() + 1e-9)


@relaxed
@given(TABLES, st.data())
def test_batches_of_any_partition_are_one_fit(X, data):
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(X) - 1)), max_size=3)))
    parts = [part for part in np.split(X, cuts) if len(part)]
    model = lowd.PCA(1)
    for part in parts:
        quietly(model.partial_fit, part)
    whole = quietly(lowd.PCA(1).fit, X)
    size = np.abs(X).max() + 1e-30
    np.testing.assert_allclose(model.mean_, whole.mean_, atol=1e-12 * size)
    np.testing.assert_allclose(
        model.explained_variance_, whole.explained_variance_, rtol=1e-7, atol=1e-9 * size**2
    )


@relaxed
@given(
    numbers.arrays(np.float64, (6, 4), elements=st.integers(-3, 3).map(float)),
    numbers.arrays(np.int64, 6, elements=st.integers(0, 3)).filter(lambda counts: counts.sum() > 1),
)
def test_weights_are_multiplicities(X, counts):
    weighted = quietly(lowd.PCA(1).fit, X, None, counts)
    repeated = quietly(lowd.PCA(1).fit, np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(weighted.mean_, repeated.mean_, atol=1e-12)
    np.testing.assert_allclose(
        weighted.explained_variance_, repeated.explained_variance_, atol=1e-10
    )


@relaxed
@given(st.text(max_size=12))
@pytest.mark.parametrize("name", ["PCA", "KernelPCA", "ClassicalMDS"])
def test_whatever_is_typed_is_read_or_refused(name, text):
    for domain in parameters_of(getattr(lowd, name)).values():
        try:
            value = read(domain, text)
        except lowd.errors.ParameterError as error:
            assert describe(domain) in str(error)  # noqa: PT017 - either outcome is right
        else:
            assert accepts(domain, value)
