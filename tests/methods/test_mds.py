"""Scaling by majorization: worked numbers, stress that never rises, real distances, peers."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from scipy.stats import spearmanr
from sklearn import manifold

import lowd
from cases import close, edits, fit, rows_like, same_bits
from lowd.errors import (
    ApproximationWarning,
    ConvergenceWarning,
    DataError,
    MetricWarning,
    ParameterError,
)
from lowd.methods import mds as method
from lowd.solvers.majorize import Mixing, Step, majorize
from lowd.solvers.spectral import FEW

TRIANGLE = np.array([[0.0, 3, 4], [3, 0, 5], [4, 5, 0]])
STAR = np.array([[0.0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0]])
KINDS = ["MDS", "NonMetricMDS"]
kinds = pytest.mark.parametrize("kind", KINDS)


def given(kind, D, k=2, **params):
    return getattr(lowd, kind)(k, metric="precomputed", **params).fit(np.asarray(D, float))


def shared(name):
    """Dissimilarities of a real study; these files are not part of the library."""
    root = os.environ.get("LOWD_DATA", Path(__file__).parents[2] / "../shared/data")
    path = Path(root) / "mds_dissimilarities.npz"
    if not path.exists():
        pytest.skip(f"{path.name} is not here (set LOWD_DATA to its folder)")
    with np.load(path) as file:
        if name + "_S" in file:
            D = 1 - file[name + "_S"]
            np.fill_diagonal(D, 0)
            return D, file[name + "_names"]
        return file[name + "_D"], file[name + "_names"]


def turned_onto(Y, Z):
    """Y moved, turned and scaled onto Z."""
    Y, Z = Y - Y.mean(0), Z - Z.mean(0)
    U, sizes, Vt = np.linalg.svd(Y.T @ Z)
    return (Y @ U @ Vt) * sizes.sum() / (Y**2).sum(), Z


# -- worked numbers ---------------------------------------------------------------------------


def test_the_star_has_a_best_flat_map(backend):
    """Numbers worked out by hand."""
    model = given("MDS", STAR, backend=backend, eps=1e-12)
    assert model.stress_ == pytest.approx(0.053848, abs=1e-6)
    assert model.stress1_ == pytest.approx(0.060023, abs=1e-6)
    d = cdist(model.embedding_, model.embedding_)
    np.testing.assert_allclose(d[0, 1:], 1.116025, atol=1e-5)
    np.testing.assert_allclose(d[1, 2:], 1.933013, atol=1e-5)


def test_the_triangle_and_a_fourth_corner(backend):
    model = given("MDS", TRIANGLE, backend=backend)
    assert model.stress_ < 1e-20
    place = model.transform([[5.0, 4.0, 3.0]])
    np.testing.assert_allclose(cdist(place, model.embedding_), [[5, 4, 3]], atol=1e-6)


def test_euclidean_distances_are_recovered(backend):
    """With the true dimension classical scaling is already exact, and nothing moves."""
    X = rows_like(50, 3)
    model = lowd.MDS(3, backend=backend).fit(X)
    assert model.stress_ < 1e-18
    assert model.n_iter_ == 0
    close(model.embedding_, lowd.ClassicalMDS(3, backend=backend).fit_transform(X))
    model = lowd.MDS(3, init="random", max_iter=3000, n_init=3, backend=backend).fit(X)
    np.testing.assert_allclose(pdist(model.embedding_), pdist(X), rtol=1e-6)


def test_many_rows_start_from_classical_scaling(backend):
    """By products, where few rows have a dense eigenproblem."""
    X = rows_like(FEW + 20, 30)
    start = lowd.MDS(eps=0.999, backend=backend).fit(X)
    assert start.n_iter_ == 0
    found, expected = turned_onto(start.embedding_, lowd.ClassicalMDS().fit_transform(X))
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


# -- stress ------------------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize("init", ["classical_mds", "random"])
def test_stress_never_rises(kind, init, backend):
    for params in ({}, {"weights": "sammon"}, {"metric": "manhattan", "n_components": 3}):
        model = fit(getattr(lowd, kind)(init=init, backend=backend, **params), rows_like(60))
        history = model.stress_history_
        assert (np.diff(history) < 0).all()
        assert len(history) == model.n_iter_ + 1
        assert model.stress_ == pytest.approx(history[-1], rel=1e-9)
        assert model.converged_


def test_mixing_that_would_raise_the_value_is_not_taken(monkeypatch):
    """Whatever is proposed, the path only goes down."""
    monkeypatch.setattr(Mixing, "beyond", lambda self, Y, reached: -10 * reached)  # noqa: ARG005

    def step(Y):
        return Step(float((Y**2).sum()), 1.0, Y / 2, float((Y**2).sum()) / 4)

    path = majorize(step, np.array([[4.0]]), 10, 1e-3)
    assert (np.diff(path.history) < 0).all()
    np.testing.assert_allclose(path.Y, 4 / 2**10)


@pytest.mark.parametrize("weights", [None, "sammon", "matrix"])
def test_each_stress_is_its_formula(weights, backend, dtype):
    X = rows_like(40, dtype=dtype)
    if weights == "matrix":
        W = np.random.default_rng(0).random((40, 40))
        weights = W + W.T
    model = fit(lowd.MDS(weights=weights, backend=backend), X)
    delta, d = pdist(X.astype(float)), pdist(model.embedding_.astype(float))
    upper = np.triu_indices(40, 1)
    w = 1 / delta if isinstance(weights, str) else 1.0 if weights is None else weights[upper]
    tolerance = 1e-9 if dtype == np.float64 else 1e-4
    raw = np.sum(w * (delta - d) ** 2)
    assert model.stress_ == pytest.approx(raw, rel=tolerance)
    assert model.stress1_ == pytest.approx(np.sqrt(raw / np.sum(w * d * d)), rel=tolerance)
    a = np.sum(w * delta * d) / np.sum(w * d * d)
    best = np.sqrt(np.sum(w * (delta - a * d) ** 2) / np.sum(w * delta**2))
    assert model.normalized_stress_ == pytest.approx(best, rel=tolerance)


@kinds
def test_relative_stress_has_no_units(kind, backend):
    X = rows_like(40)
    small, large = (getattr(lowd, kind)(backend=backend).fit(c * X) for c in (1, 1000))
    for name in ("stress1_", "normalized_stress_"):
        assert getattr(large, name) == pytest.approx(getattr(small, name), rel=1e-8)


def test_a_random_map_is_worse_at_any_scale():
    """The scale-normalized stress ranks maps; the raw one is a matter of units."""
    X = rows_like(60)
    good = lowd.MDS(2).fit(X).normalized_stress_
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        poor = lowd.MDS(2, init="random", max_iter=1).fit(X).normalized_stress_
    assert good < 0.5 * poor


def test_the_end_is_stationary(backend):
    """∇σ = 0 there: V Y = B(Y) Y."""
    X = rows_like(50)
    model = lowd.MDS(2, eps=1e-12, max_iter=3000, backend=backend).fit(X)
    Y, D = model.embedding_, cdist(X, X)
    d = cdist(Y, Y)
    B = -np.divide(D, d, out=np.zeros_like(d), where=d > 0)
    np.fill_diagonal(B, -B.sum(1))
    assert np.abs(B @ Y / 50 - Y).max() < 1e-5 * np.abs(Y).max()


def test_sammon_weighs_short_distances(backend):
    X = rows_like(80, 5)
    delta = pdist(X)
    near = delta < np.quantile(delta, 0.2)
    error = {}
    for weights in (None, "sammon"):
        d = pdist(lowd.MDS(2, weights=weights, backend=backend).fit_transform(X))
        error[weights] = np.abs(d - delta)[near].mean()
    assert error["sammon"] < error[None]


def test_unit_weights_are_no_weights(backend):
    X = rows_like(40)
    plain = lowd.MDS(backend=backend).fit(X)
    weighted = lowd.MDS(weights=np.ones((40, 40)), backend=backend).fit(X)
    close(weighted.embedding_, plain.embedding_, factor=100)


# -- missing and identical ---------------------------------------------------------------------


@kinds
def test_missing_distances_do_not_pull(kind, backend):
    """A third of the distances of points in a plane are enough to place them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    D = cdist(X, X)
    gone = np.triu(rng.random(D.shape) < 0.3, 1)
    D[gone | gone.T] = np.nan
    model = given(kind, D, max_iter=2000, eps=1e-9, backend=backend)
    Y, Z = turned_onto(model.embedding_, X)
    assert np.abs(Y - Z).max() < (1e-4 if kind == "MDS" else 0.1)
    other = D.copy()
    other[gone | gone.T] = np.nan
    same_bits(
        given(kind, other, max_iter=2000, eps=1e-9, backend=backend).embedding_, model.embedding_
    )


@kinds
def test_weight_zero_is_missing(kind, backend):
    D = cdist(*2 * (rows_like(30),))
    W = np.ones_like(D)
    W[3, 7] = W[7, 3] = 0
    holes = D.copy()
    holes[3, 7] = holes[7, 3] = np.nan
    start = rows_like(30, 2)
    weighted = given(kind, D, weights=W, init=start, backend=backend)
    close(weighted.embedding_, given(kind, holes, init=start, backend=backend).embedding_)


@kinds
def test_zero_means_identical(kind, backend):
    """Unlike scikit-learn's non-metric scaling, which takes 0 for missing."""
    X = rows_like(30)
    D = cdist(X[[0, *range(30)]], X[[0, *range(30)]])
    Y = given(kind, D, backend=backend).embedding_
    assert np.abs(Y[0] - Y[1]).max() < 1e-9 * np.abs(Y).max()


def test_a_hole_on_one_side_only_is_an_error(backend):
    D = cdist(*2 * (rows_like(10),))
    D[2, 5] = np.nan
    with pytest.raises(DataError, match=r"NaN at row 2, column 5, but entry \(5, 2\) is"):
        given("MDS", D, backend=backend)
    with pytest.raises(DataError, match="NaN at row 2, column 5"):
        lowd.ClassicalMDS(metric="precomputed", backend=backend).fit(D)


def test_pieces_that_nothing_ties(backend):
    D = cdist(*2 * (rows_like(10),))
    D[:4, 4:] = D[4:, :4] = np.nan
    with pytest.raises(DataError, match=r"2 pieces.*row 0 and row 4"):
        given("MDS", D, backend=backend)


@kinds
def test_new_points_with_few_distances(kind, backend):
    X, Q = rows_like(40, 2), rows_like(5, 2, seed=9)
    D, T = cdist(X, X), cdist(Q, X)
    model = given(kind, D, eps=1e-9, max_iter=2000, backend=backend)
    whole = model.transform(T)
    T[:, ::2] = np.nan
    part = model.transform(T)
    assert np.abs(part - whole).max() < (1e-6 if kind == "MDS" else 0.2)
    T[3] = np.nan
    with pytest.raises(DataError, match="row 3 has no known distance"):
        model.transform(T)


# -- the map -----------------------------------------------------------------------------------


@kinds
def test_next_to_a_training_row_there_is_no_jump(kind, backend):
    """The map without its memory puts a training row near its place."""
    X = rows_like(60)
    model = getattr(lowd, kind)(eps=1e-9, max_iter=3000, backend=backend).fit(X)
    moved = model.transform(X + 1e-7)
    size = np.abs(model.embedding_).max()
    jump = np.linalg.norm(moved - model.embedding_, axis=1) / size
    assert np.median(jump) < (1e-4 if kind == "MDS" else 0.05)


def test_a_row_may_have_a_better_place_than_its_own(backend):
    """Held-out rows fit the frozen map about as well as the training rows do."""
    X, Q = rows_like(100, seed=1), rows_like(50, seed=2)
    model = lowd.MDS(2, backend=backend).fit(X)
    errors = [
        np.sqrt(((cdist(A, X) - cdist(Y, model.embedding_)) ** 2).mean())
        for A, Y in ((X, model.embedding_), (Q, model.transform(Q)))
    ]
    assert errors[1] < 1.3 * errors[0]


def test_landmarks_are_all_points_or_some(backend):
    X = rows_like(60, 2)
    model = lowd.MDS(2, n_landmarks=20, backend=backend).fit(X)
    assert model.route_ == "landmarks"
    assert len(model.landmarks_) == 20
    np.testing.assert_allclose(pdist(model.embedding_), pdist(X), rtol=1e-6)
    close(model.transform(X), model.embedding_)
    whole = lowd.MDS(2, n_landmarks=60, backend=backend).fit(X)
    close(whole.embedding_, lowd.MDS(2, backend=backend).fit_transform(X))


def test_many_rows_are_scaled_by_landmarks_and_it_is_said(monkeypatch):
    monkeypatch.setattr(method, "MANY", 100)
    monkeypatch.setattr(method, "ENOUGH", 50)
    X = rows_like(120, 2)
    with pytest.warns(ApproximationWarning, match="50 random landmarks"):
        model = lowd.MDS(2).fit(X)
    assert model.route_ == "landmarks"
    assert lowd.MDS(2).fit(X[:90]).route_ == "all pairs"


def test_words(backend):
    words = ["map", "maps", "mapping", "trap", "traps", "trapping", "tree", "trees"]
    model = lowd.NonMetricMDS(2, metric=edits, backend=backend).fit(words)
    same_bits(model.transform(words[::-1]), model.embedding_[::-1])
    place = model.transform(["trapped"])
    assert np.linalg.norm(model.embedding_ - place, axis=1).argmin() in (3, 4, 5)


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


# -- order -------------------------------------------------------------------------------------


@pytest.mark.parametrize("ties", ["primary", "secondary"])
def test_only_the_order_counts(ties, backend):
    """Any rising function of the dissimilarities gives the same map from the same start."""
    D = cdist(*2 * (rows_like(40).round(0),))
    start = rows_like(40, 2)
    maps = [
        given("NonMetricMDS", f(D), init=start, ties=ties, backend=backend).embedding_
        for f in (lambda D: D, lambda D: D**3, lambda D: np.log1p(5 * D))
    ]
    close(maps[1], maps[0])
    close(maps[2], maps[0])


def test_a_curve_is_found(backend):
    """Cubed distances in a plane: the map is that plane, the curve the cube root."""
    X = rows_like(80, 2)
    D = cdist(X, X)
    model = given("NonMetricMDS", D**3, backend=backend)
    assert model.stress1_ < 0.003
    with pytest.warns(MetricWarning, match="triangle"):
        assert given("MDS", D**3, backend=backend).stress1_ > 0.1
    assert spearmanr(pdist(model.embedding_), pdist(X))[0] > 0.9999
    x, y = model.isotonic_x_, model.isotonic_y_
    assert (np.diff(x) > 0).all()
    assert (np.diff(y) >= 0).all()
    root = np.interp(np.linspace(1, 4, 7) ** 3, x, y) / np.linspace(1, 4, 7)
    assert root.std() < 0.02 * root.mean()


def test_points_do_not_fall_together(backend):
    """Noise has no order to keep: the map is poor, but as large as any other."""
    rng = np.random.default_rng(0)
    D = rng.random((40, 40))
    D = D + D.T
    np.fill_diagonal(D, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lowd.errors.LowdWarning)
        model = given("NonMetricMDS", D, backend=backend)
    assert 0.5 < np.sqrt((pdist(model.embedding_) ** 2).mean()) < 1.5


# -- real distances ----------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "most"), [("eurodist", 0.0724), ("UScitiesD", 0.0017)])
def test_cities(name, most, backend):
    D, _ = shared(name)
    model = given("MDS", D, backend=backend)
    assert model.stress1_ < most
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lowd.errors.LowdWarning)
        classical = lowd.ClassicalMDS(2, metric="precomputed").fit_transform(D)
    d, delta = pdist(classical), D[np.triu_indices(len(D), 1)]
    assert model.stress1_ < np.sqrt(((delta - d) ** 2).sum() / (d**2).sum())
    assert given("NonMetricMDS", D, backend=backend).stress1_ < model.stress1_


@pytest.mark.parametrize("name", ["guerry", "stardist"])
def test_flat_distances_are_recovered(name, backend):
    """Points of a plane, whose distances were rounded when they were published."""
    D, _ = shared(name)
    assert given("MDS", D, backend=backend).stress1_ < 3e-4


def test_colors_are_a_circle_in_the_order_of_wavelength(backend):
    """Ekman (1954): non-metric scaling of similarities bends the spectrum to a circle."""
    D, names = shared("ekman")
    wavelengths = names.astype(int)
    model = given("NonMetricMDS", D, backend=backend)
    assert model.stress1_ < 0.03
    Y = model.embedding_ - model.embedding_.mean(0)
    radius = np.linalg.norm(Y, axis=1)
    assert radius.std() < 0.1 * radius.mean()
    angles = np.unwrap(np.arctan2(*Y[np.argsort(wavelengths)].T))
    assert (np.diff(angles) > 0).all() or (np.diff(angles) < 0).all()
    assert np.ptp(angles) < 2 * np.pi


def test_morse_code(backend):
    """Rothkopf (1957): one axis is the length of the code."""
    D, names = shared("morse")
    model = given("NonMetricMDS", D, backend=backend)
    assert model.stress1_ < 0.19
    lengths = [len(code) for code in names]
    correlation = np.linalg.lstsq(
        np.column_stack([model.embedding_, np.ones(len(D))]), np.array(lengths, float), rcond=None
    )[1] / np.sum((lengths - np.mean(lengths)) ** 2)
    assert 1 - correlation[0] > 0.8


# -- peers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_no_worse_than_scikit_learn_from_the_same_start(n_components, backend):
    X = rows_like(70)
    D = cdist(X, X)
    start = lowd.ClassicalMDS(n_components, metric="precomputed").fit_transform(D)
    _, stress = manifold.smacof(
        D, n_components=n_components, init=start, n_init=1, normalized_stress=False
    )
    model = given("MDS", D, n_components, init=start, backend=backend)
    assert model.stress_ <= stress * (1 + 1e-9)


def test_no_worse_than_scikit_learn_without_a_metric(backend):
    X = rows_like(70)
    D = cdist(X, X)
    start = lowd.ClassicalMDS(2, metric="precomputed").fit_transform(D)
    _, stress = manifold.smacof(D, metric=False, init=start, n_init=1, normalized_stress=True)
    assert given("NonMetricMDS", D, init=start, backend=backend).stress1_ <= stress * (1 + 1e-6)
