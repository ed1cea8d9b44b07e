"""Principal component analysis of batches: `partial_fit` against one fit of all rows."""

from __future__ import annotations

import numpy as np
import pytest

import lowd
from case_data import rows_like
from cases import close, same_bits
from lowd.errors import RestartWarning
from oracles import angles, exact_axes


@pytest.mark.parametrize("seed", range(2))
def test_batches_of_any_size_add_up(seed):
    """partial_fit over a random partition, single rows included, is the fit of all rows."""
    rng = np.random.default_rng(seed)
    X = rows_like(60, 5, seed)
    cuts = np.sort(rng.choice(np.arange(3, 60), 15, replace=False))
    parts = np.split(X, cuts)
    for params in ({}, {"whiten": True}, {"scale": True}, {"center": False}, {"ddof": 0}):
        model = lowd.PCA(2, **params)
        for part in parts:
            model.partial_fit(part)
        expected = lowd.PCA(2, **params).fit(X)
        close(model.transform(X), expected.transform(X))
        close(model.explained_variance_, expected.explained_variance_)
        close(model.noise_variance_, expected.noise_variance_)
        assert model.n_samples_ == 60


def test_batches_far_from_the_origin():
    X = (rows_like(3000, 6) + 1e5).astype(np.float32)
    model = lowd.PCA(3)
    for part in np.array_split(X, 13):
        model.partial_fit(part)
    _, V = exact_axes(X, 3)
    assert angles(model.components_.T.astype(float), V).max() < 1e-3


def test_batches_after_very_many_rows():
    """Continue from 2**40 rows: new rows neither overflow the count nor vanish."""
    X = rows_like(500, 3)
    model = lowd.PCA(2).partial_fit(X)
    many = 2.0**40 / 500
    so_far = model.moments_
    model.moments_ = type(so_far)(so_far.weight * many, so_far.mean, so_far.scatter * many)
    model.partial_fit(X)
    expected = lowd.PCA(2, ddof=0).fit(X)
    assert model.n_samples_ == 2**40 + 500
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(model.mean_, expected.mean_, rtol=1e-12)


def test_partial_fit_after_fit_begins_anew_and_says_so():
    X = rows_like(40, 4)
    model = lowd.PCA(2).fit(X)
    with pytest.warns(RestartWarning, match="begins anew"):
        model.partial_fit(X[:20])
    same = lowd.PCA(2).partial_fit(X[:20])
    same_bits(model.components_, same.components_)


def test_partial_fit_checks_its_batches():
    model = lowd.PCA(2).partial_fit(rows_like(20, 4))
    with pytest.raises(lowd.errors.DataError, match=r"5.*4"):
        model.partial_fit(rows_like(20, 5))
    with pytest.raises(lowd.errors.ParameterError, match="n_components=5 exceeds 2"):
        lowd.PCA(5).partial_fit(rows_like(2, 4))


def test_partial_fit_waits_for_enough_rows(tmp_path):
    """Batches smaller than n_components: as one fit, and an error before there are enough."""
    X = rows_like(20, 4)
    model = lowd.PCA(3).partial_fit(X[:1]).partial_fit(X[1:2])
    needs = r"seen 2 rows.*n_components=3 needs 3; add 1 or more"
    with pytest.raises(lowd.errors.DataError, match=needs):
        model.transform(X)
    with pytest.raises(lowd.errors.DataError, match=needs):
        model.inverse_transform(X[:, :3])
    lowd.save(model, tmp_path / "waiting.lowd")
    for begun in (model, lowd.load(tmp_path / "waiting.lowd")):
        begun.partial_fit(X[2:4]).partial_fit(X[4:])
        close(begun.transform(X), lowd.PCA(3).fit(X).transform(X))
