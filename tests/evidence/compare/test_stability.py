"""Stability of one model: fits to samples of its rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

import lowd
from lowd.errors import DataError

ROUND = np.random.default_rng(0).normal(size=(300, 6))  # no direction is larger than another
LONG = ROUND * [9, 5, 1, 1, 1, 1]


def test_axes_of_round_data_are_unstable_and_of_long_data_stable():
    stable, unstable = (lowd.PCA(2).fit(X).measure_stability(X) for X in (LONG, ROUND))
    assert stable.verdict.startswith("stable")
    assert stable.subsamples < 0.01
    assert unstable.subsamples > 0.05
    assert stable.seeds is None


def test_of_many_rows_some_stand_for_all():
    X = np.random.default_rng(1).normal(size=(3000, 4)) * [9, 5, 1, 1]
    model = lowd.Isomap(2, n_neighbors=8, n_landmarks=900).fit(X)
    fitted = []
    fit_transform = lowd.Isomap.fit_transform
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            lowd.Isomap,
            "fit_transform",
            lambda self, X: fitted.append(len(X)) or fit_transform(self, X),
        )
        found = model.measure_stability(X)
    assert fitted == [1000, 800, 800]
    assert found.subsamples < 0.05


def test_the_order_of_the_rows_does_not_matter():
    X = load_digits().data[:400]
    order = np.random.default_rng(2).permutation(400)
    found = [lowd.TSNE(max_iter=60).fit(A).measure_stability(A).subsamples for A in (X, X[order])]
    assert found[0] == pytest.approx(found[1], rel=1e-9)


@pytest.mark.parametrize(
    "model", [lowd.MDS(metric="precomputed"), lowd.GaussianRandomProjection(2)]
)
def test_matrices_and_random_draws(model):
    X = cdist(LONG, LONG) if isinstance(model, lowd.MDS) else LONG
    model.fit(X)
    assert model.measure_stability(X).subsamples < 0.1  # a projection: the same draw
    assert model.measure_stability(X) == model.measure_stability(X)


def test_a_pipeline_is_fitted_as_a_whole():
    model = lowd.Pipeline(lowd.SparseRandomProjection(2), scale=True, pca=3)
    model.fit(LONG)
    assert 0 <= model.measure_stability(LONG).subsamples <= 1


def test_few_rows_are_refused():
    with pytest.raises(DataError, match="9 rows; stability needs at least 10"):
        lowd.PCA(2).fit(LONG[:9]).measure_stability(LONG[:9])
