"""Confidence as a probability: learned from left-out training rows, for every method."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

import lowd
from case_data import rows_like
from cases import CASES, fit, same_bits, take
from lowd.confidence import by_curve, features, learn_curve, placed_well
from lowd.errors import DataError
from lowd.evidence.quality.result import compute_reliability

FOLDER = Path(os.environ.get("LOWD_DATA", Path(__file__).parents[3] / "shared" / "data"))


def _confidence(model, Q):
    return model.transform(Q, return_confidence=True)[1]


def _clusters(n, seed, spread=0.9):
    """Rows in overlapping clusters, of which some have no certain position on a map."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(8, 6))[rng.integers(8, size=n)] + spread * rng.normal(size=(n, 6))


def _is_correct(model, whole, X, Q):
    """By the definition: half as many common neighbors as the training points around have."""
    n = len(X)
    Y, Z = np.asarray(model.transform(X)), np.asarray(whole.transform(X))
    Y_new, Z_new = model.transform(Q), whole.embedding_[n:]

    def near(points, y):
        return np.argsort(np.linalg.norm(points - y, axis=1), kind="stable")

    def shared(a, b):
        return len(set(a[:30]) & set(b[:30]))

    usual = np.array([shared(near(Y, Y[i])[1:], near(Z, Z[i])[1:]) for i in range(n)])
    found = []
    for y, z in zip(Y_new, Z_new, strict=True):
        around = near(Z, z)
        least = max(usual[around[:10]].mean() / 2, 900 / n)
        found.append(shared(near(Y, y), around) >= least)
    return np.array(found)


def test_an_embedding_that_changes_as_a_whole_is_no_fault_of_the_map():
    """Three axes of equal length: fits without a fifth of the rows turn the plane of two, for all.

    A row that is added to a fit of the others is still where it was.
    """
    X = np.random.default_rng(3).normal(size=(600, 8)) * [3, 3, 3, 1, 1, 1, 1, 1]
    model = lowd.PCA(2).fit(X).calibrate_confidence(X)
    assert model.left_out_.correct.mean() > 0.9
    alone = []
    for row in range(20):
        with_row, without = np.roll(X, -row, axis=0), np.roll(X, -row, axis=0)[1:]
        bare = lowd.PCA(2).fit(without)
        near = [
            set(np.argsort(np.linalg.norm(one.transform(without) - y, axis=1))[:30])
            for one in (bare, lowd.PCA(2).fit(with_row))
            for y in one.transform(X[[row]])
        ]
        alone.append(len(near[0] & near[1]))
    assert min(alone) > 15


def test_promises_are_kept_on_rows_that_no_fit_has_seen():
    """Three tables together, in bins with 60 rows or more."""
    promised, found = [], []
    for seed in range(3):
        X, Q = np.split(_clusters(1000, seed), [800])
        model = lowd.TSNE(max_iter=500).fit(X).calibrate_confidence(X)
        promised.append(_confidence(model, Q))
        whole = lowd.TSNE(max_iter=500).fit(np.vstack([X, Q]))
        found.append(_is_correct(model, whole, X, Q))
    result = compute_reliability(np.concatenate(promised), np.concatenate(found))
    full = result.counts >= 60
    assert full.sum() >= 3, result
    assert np.abs(result.promised - result.found)[full].max() < 0.1
    assert result.auc > 0.65


@pytest.mark.filterwarnings("ignore::lowd.errors.LowdWarning")
@pytest.mark.parametrize(
    "case", {case.method: case for case in reversed(CASES)}.values(), ids=lambda case: case.name
)
def test_calibration_of_every_method(case):
    X, Q = case.data()
    model = fit(case.model(), X)
    before = _confidence(model, Q)
    twin = pickle.loads(pickle.dumps(model)).calibrate_confidence(X)
    same_bits(model.calibrate_confidence(X).transform(Q), twin.transform(Q))
    confidence = _confidence(model, Q)
    same_bits(confidence, _confidence(twin, Q))
    assert ((confidence >= 0) & (confidence <= 1)).all()
    same_bits(_confidence(model, take(Q, [13, 4])), confidence[[13, 4]])
    assert _confidence(model, take(X, range(20))).mean() > 0.9
    assert before.shape == confidence.shape
    assert "left out" in model.confidence_basis_


def test_far_rows_have_none():
    X = rows_like(300, 5)
    model = lowd.TSNE(max_iter=100).fit(X)
    step = np.median(lowd.neighbors(X, 1).distances)
    far = X[:20] + np.sign(X[:20]) * np.ptp(X, axis=0) + 30 * step / np.sqrt(5)
    assert _confidence(model, far).max() < 0.05
    assert _confidence(model.calibrate_confidence(X), far).max() < 0.05


def test_a_calibrated_model_is_stored(tmp_path):
    X, Q = rows_like(200), rows_like(20, seed=2)
    model = lowd.TSNE(perplexity=10, max_iter=100).fit(X)
    assert "general curve" in model.confidence_basis_
    model.calibrate_confidence(X)
    lowd.save(model, tmp_path / "model")
    again = lowd.load(tmp_path / "model")
    same_bits(_confidence(again, Q), _confidence(model, Q))
    assert "left_out_" not in vars(model.fit(X))


def test_evaluation_shows_promises_and_findings():
    X = load_digits().data[:500]
    model = lowd.TSNE(max_iter=250).fit(X)
    assert model.evaluate(X).reliability is None
    found = model.calibrate_confidence(X).evaluate(X)
    assert found.reliability.counts.sum() == 200
    assert 0 <= found.reliability.calibration_error < 0.2
    assert "promised" in repr(found)
    assert found.to_dict()["reliability"]["counts"] == found.reliability.counts.tolist()


def test_starts_and_pipelines_are_calibrated_too():
    X = rows_like(150, 6)
    start = np.random.default_rng(0).normal(size=(150, 2))
    model = lowd.TSNE(perplexity=10, max_iter=50, init=start).fit(X).calibrate_confidence(X)
    assert model.init is start
    chain = lowd.Pipeline(lowd.TSNE(perplexity=10, max_iter=50), scale=True, pca=3).fit(X)
    assert "left out" in chain.calibrate_confidence(X).confidence_basis_


def test_other_rows_than_those_of_the_fit_are_refused():
    model = lowd.PCA(2).fit(rows_like(100))
    with pytest.raises(DataError, match="needs the rows of the fit"):
        model.calibrate_confidence(rows_like(90))
    with pytest.raises(DataError, match="at least 25"):
        lowd.PCA(2).fit(rows_like(20)).calibrate_confidence(rows_like(20))


@pytest.mark.parametrize("well", [0.0, 0.5, 1.0])
def test_the_curve_of_shares_that_say_nothing(well):
    """They set the level, and keep a fourth of the general slopes."""
    kept, familiar = np.linspace(0, 1, 400), np.zeros(400)
    correct = np.arange(400) % 2 < 2 * well
    curve = learn_curve(features(kept, familiar), correct, (2.0, 0.8, 0.4))
    g = by_curve(kept, familiar, curve)
    assert abs(g.mean() - well) < 0.05
    assert curve[1] >= 0.2
    assert curve[2] >= 0.1
    assert (np.diff(g) > 0).all()


def test_the_curve_is_that_of_the_data():
    rng = np.random.default_rng(0)
    kept = rng.random(20_000)
    familiar = rng.uniform(-1, 1, 20_000)
    curve = -0.5, 1.5, 0.8
    correct = rng.random(20_000) < by_curve(kept, familiar, curve)
    found = learn_curve(features(kept, familiar), correct, (2.0, 0.5, 0.5))
    np.testing.assert_allclose(found, curve, atol=0.1)


def _load(name):
    file = {"cells": "pbmc3k_pca50.npz", "mnist": "mnist.npz", "frey": "frey_faces.npz"}[name]
    path = FOLDER / file
    if not path.exists():
        pytest.skip(f"{file} is not here; set LOWD_DATA to its folder")
    with np.load(path, allow_pickle=False) as arrays:
        X = arrays["X" if "X" in arrays else arrays.files[0]][:1500]
    return lowd.PCA(50).fit_transform(X.reshape(1500, -1).astype(np.float64))


@pytest.mark.parametrize("method", ["TSNE", "LaplacianEigenmaps"])
def test_promises_on_real_data(method):
    """A fifth held out from calibrated models; bins of all sets together, of 40 rows or more."""
    promised, found = [], []
    for name in ("cells", "mnist", "frey"):
        rows = _load(name)
        out = np.arange(1500) % 5 == 0
        X, Q = rows[~out], rows[out]
        model = getattr(lowd, method)(2).fit(X).calibrate_confidence(X)
        promised.append(_confidence(model, Q))
        whole = getattr(lowd, method)(2).fit(np.vstack([X, Q]))
        found.append(_is_correct(model, whole, X, Q))
    result = compute_reliability(np.concatenate(promised), np.concatenate(found))
    full = result.counts >= 40
    excess = (result.promised - result.found)[full]
    error = np.sqrt(result.promised * (1 - result.promised) / result.counts)[full]
    assert (excess < 0.1 + 2 * error).all()
    # Promises are rather low: the fit that learns them has fewer rows.
    assert (-excess < 0.15 + 2 * error).all()
    assert result.calibration_error < 0.08
    assert result.auc > 0.75


def _hidden_classes(n=500, columns=1500):
    """Six classes that differ by less than the noise of as many columns."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 6, n)
    differ = 0.35 * rng.normal(size=(6, columns)) * (rng.random((6, columns)) < 0.2)
    return rng.normal(size=(n, columns)) + differ[y], y


@pytest.mark.parametrize("model", [lowd.PCA(2), lowd.KernelPCA(2, kernel="rbf", gamma="median")])
def test_maps_of_many_columns_do_not_promise_what_the_axes_cannot_keep(model):
    """New rows shrink, and many of them are not right; with a curve of 1 all were promised."""
    rows, y = _hidden_classes()
    X, Q = rows[:400], rows[400:]
    promised = _confidence(model.fit(X), Q)
    assert "left out" in model.confidence_basis_
    whole = type(model)(**model.get_params()).fit(rows)
    found = placed_well(
        whole.transform(X), whole.transform(Q), model.transform(X), model.transform(Q)
    )
    assert found.mean() < 0.9
    assert abs(promised.mean() - found.mean()) < 0.15
    # Distances do not tell rows of other kinds there; the leading axes do.
    shuffled = np.random.default_rng(1).permuted(Q, axis=0)
    others = _confidence(model, shuffled)
    assert compute_reliability(np.r_[promised, others], np.arange(200) < 100).auc > 0.75
    seen = y[:400] != 0
    model = type(model)(**model.get_params()).fit(X[seen])
    told = np.r_[_confidence(model, Q[y[400:] != 0]), _confidence(model, rows[y == 0])]
    known = np.arange(len(told)) < (y[400:] != 0).sum()
    assert compute_reliability(told, known).auc > 0.75


def test_calibration_keeps_the_order():
    X = _hidden_classes(300, 400)[0]
    model = lowd.Isomap(2).fit(X)
    general = model._general_curve()
    left = model.calibrate_confidence(X).left_out_
    assert len(left.kept) == 180
    assert (
        min(ours / theirs for ours, theirs in zip(left.curve[1:], general[1:], strict=True)) >= 0.25
    )
