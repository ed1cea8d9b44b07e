"""Scaling by majorization: worked numbers, stress that never rises, new points, a peer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from sklearn import manifold

import lowd
from case_data import edit_distance, rows_like
from cases import close, same_bits
from dissimilarities import given, turned_onto
from lowd.errors import ApproximationWarning, ConvergenceWarning, ParameterError

TRIANGLE = np.array([[0.0, 3, 4], [3, 0, 5], [4, 5, 0]])
STAR = np.array([[0.0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0]])
kinds = pytest.mark.parametrize("kind", ["MDS", "NonMetricMDS"])


# -- worked numbers ---------------------------------------------------------------------------


def test_the_star_has_a_best_flat_map():
    """Numbers worked out by hand."""
    model = given("MDS", STAR, eps=1e-12)
    assert model.stress_ == pytest.approx(0.053848, abs=1e-6)
    assert model.stress1_ == pytest.approx(0.060023, abs=1e-6)
    d = cdist(model.embedding_, model.embedding_)
    np.testing.assert_allclose(d[0, 1:], 1.116025, atol=1e-5)
    np.testing.assert_allclose(d[1, 2:], 1.933013, atol=1e-5)


def test_the_triangle_and_a_fourth_corner():
    model = given("MDS", TRIANGLE)
    assert model.stress_ < 1e-20
    found = model.transform([[5.0, 4.0, 3.0]])
    np.testing.assert_allclose(cdist(found, model.embedding_), [[5, 4, 3]], atol=1e-6)


def test_euclidean_distances_are_recovered():
    """With the true dimension classical scaling is already exact, and nothing moves."""
    X = rows_like(50, 3)
    model = lowd.MDS(3).fit(X)
    assert model.stress_ < 1e-18
    assert model.n_iter_ == 0
    close(model.embedding_, lowd.ClassicalMDS(3).fit_transform(X))
    model = lowd.MDS(3, init="random", max_iter=3000, n_init=3).fit(X)
    np.testing.assert_allclose(pdist(model.embedding_), pdist(X), rtol=1e-6)


def test_many_rows_start_from_classical_scaling():
    """By products, where few rows have a dense eigenproblem."""
    X = rows_like(320, 30)
    start = lowd.MDS(eps=0.999).fit(X)
    assert start.n_iter_ == 0
    found, expected = turned_onto(start.embedding_, lowd.ClassicalMDS().fit_transform(X))
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


# -- stress ------------------------------------------------------------------------------------


def test_a_random_map_is_worse_at_any_scale():
    """The scale-normalized stress ranks maps; the raw one is a matter of units."""
    X = rows_like(60)
    good = lowd.MDS(2).fit(X).normalized_stress_
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        poor = lowd.MDS(2, init="random", max_iter=1).fit(X).normalized_stress_
    assert good < 0.5 * poor


def test_sammon_weighs_short_distances():
    X = rows_like(80, 5)
    delta = pdist(X)
    near = delta < np.quantile(delta, 0.2)
    error = {}
    for weights in (None, "sammon"):
        d = pdist(lowd.MDS(2, weights=weights).fit_transform(X))
        error[weights] = np.abs(d - delta)[near].mean()
    assert error["sammon"] < error[None]


def test_unit_weights_are_no_weights():
    X = rows_like(40)
    plain = lowd.MDS().fit(X)
    weighted = lowd.MDS(weights=np.ones((40, 40))).fit(X)
    close(weighted.embedding_, plain.embedding_, factor=100)


# -- the map -----------------------------------------------------------------------------------


@kinds
def test_the_extension_nearly_meets_training_rows(kind, monkeypatch):
    """The map without its memory puts a training row near its coordinates."""
    X = rows_like(60)
    model = getattr(lowd, kind)(eps=1e-9, max_iter=3000).fit(X)
    monkeypatch.setattr("lowd.methods.mds.approach", lambda Y, *_: Y)
    moved = model.transform(X + 1e-7)
    size = np.abs(model.embedding_).max()
    jump = np.linalg.norm(moved - model.embedding_, axis=1) / size
    assert np.median(jump) < (1e-4 if kind == "MDS" else 0.05)


def test_a_row_may_have_better_coordinates_than_its_own():
    """Held-out rows fit the frozen map about as well as the training rows do."""
    X, Q = rows_like(100, seed=1), rows_like(50, seed=2)
    model = lowd.MDS(2).fit(X)
    errors = [
        np.sqrt(((cdist(A, X) - cdist(Y, model.embedding_)) ** 2).mean())
        for A, Y in ((X, model.embedding_), (Q, model.transform(Q)))
    ]
    assert errors[1] < 1.3 * errors[0]


def test_landmarks_are_all_points_or_some():
    X = rows_like(60, 2)
    model = lowd.MDS(2, n_landmarks=20).fit(X)
    assert model.route_ == "landmarks"
    assert len(model.landmarks_) == 20
    np.testing.assert_allclose(pdist(model.embedding_), pdist(X), rtol=1e-6)
    close(model.transform(X), model.embedding_)
    whole = lowd.MDS(2, n_landmarks=60).fit(X)
    close(whole.embedding_, lowd.MDS(2).fit_transform(X))


def test_many_rows_are_scaled_by_landmarks_and_it_is_said(monkeypatch):
    if hasattr(lowd.MDS, "landmark_policy"):
        policy = replace(lowd.MDS.landmark_policy, automatic_above=100, at_least=50)
        monkeypatch.setattr(lowd.MDS, "landmark_policy", policy)
    else:
        monkeypatch.setattr(lowd.MDS, "landmarks_above", 100)
        monkeypatch.setattr(lowd.MDS, "automatic_landmarks", 50)
    X = rows_like(120, 2)
    with pytest.warns(ApproximationWarning, match="50 landmarks"):
        model = lowd.MDS(2).fit(X)
    assert model.route_ == "landmarks"
    assert lowd.MDS(2).fit(X[:90]).route_ == "all pairs"


def test_words():
    words = ["map", "maps", "mapping", "trap", "traps", "trapping", "tree", "trees"]
    model = lowd.NonMetricMDS(2, metric=edit_distance).fit(words)
    same_bits(model.transform(words[::-1]), model.embedding_[::-1])
    found = model.transform(["trapped"])
    assert np.linalg.norm(model.embedding_ - found, axis=1).argmin() in (3, 4, 5)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"init": np.zeros((5, 2))}, r"init has the shape \(5, 2\).*\(30, 2\)"),
        ({"init": rows_like(30, 2), "n_init": 2}, "n_init=2.*ignored"),
        ({"weights": np.ones((3, 3))}, r"weights has the shape \(3, 3\).*\(30, 30\)"),
        ({"weights": -np.ones((30, 30))}, "weights"),
        ({"weights": np.triu(np.ones((30, 30)))}, "symmetric"),
    ],
)
def test_what_does_not_fit_the_data_is_refused(bad, sentence):
    with pytest.raises(ParameterError, match=sentence):
        lowd.MDS(2, **bad).fit(rows_like(30))


# -- peers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_no_worse_than_scikit_learn_from_the_same_start(n_components):
    X = rows_like(70)
    D = cdist(X, X)
    start = lowd.ClassicalMDS(n_components, metric="precomputed").fit_transform(D)
    _, stress = manifold.smacof(
        D, n_components=n_components, init=start, n_init=1, normalized_stress=False
    )
    model = given("MDS", D, n_components, init=start)
    assert model.stress_ <= stress * (1 + 1e-9)
