"""Estimates from some rows: unbiased, exact when all rows are taken, honest intervals."""

from __future__ import annotations

import numpy as np
import pytest

import lowd
from lowd.evidence.quality import evaluation
from lowd.evidence.quality.evaluation import (
    EvaluationParameters,
    count_anchors,
    validate_input,
)
from lowd.evidence.quality.measures import score_random_triplets

DRAWS, N, M = 200, 300, 60


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).normal(size=(N, 5)) * [5, 3, 2, 1, 1]
    X[:110] += [9, 0, 0, 4, 0]
    return X, X[:, :2] + 0.1 * X[:, 2:4] ** 2, (X[:, 0] > 4).astype(int) + (X[:, 1] > 0)


@pytest.fixture(scope="module")
def truth(data):
    X, Y, labels = data
    return lowd.evaluate(X, Y, labels=labels, n_neighbors=10)


@pytest.fixture(scope="module")
def drawn(data):
    X, Y, labels = data
    how = {"labels": labels, "n_neighbors": 10, "anchors": M}
    return [lowd.evaluate(X, Y, random_state=seed, **how) for seed in range(DRAWS)]


NAMES = [
    "trustworthiness",
    "continuity",
    "neighbor_recall",
    "lcmc",
    "mrre_false",
    "mrre_missing",
    "bnx",
    "rnx_auc",
    "stress1",
    "scale_normalized_stress",
    "pearson",
    "spearman",
    "nonmetric_stress",
    "knn_accuracy",
    "neighborhood_hit",
    "silhouette",
]


def test_intervals_hold_the_true_value_as_often_as_they_say(drawn, truth):
    for name in NAMES:
        value = float(truth.measures[name])
        held = [low <= value <= high for low, high in (e.measures[name].interval for e in drawn)]
        # 0.95, and three standard errors of 200 draws
        assert 0.90 <= np.mean(held) <= 0.995, name


def test_estimates_are_right_on_average(drawn, truth):
    for name in NAMES:
        values = np.array([float(e.measures[name]) for e in drawn])
        # Ratios and correlations of 60 rows lean by a small part of their error, means not at all.
        limit = 4 * values.std() / np.sqrt(DRAWS) + 2e-3
        assert abs(values.mean() - float(truth.measures[name])) < limit, name


def test_intervals_of_all_triplets(data):
    """The truth is the mean over all triplets of all rows."""
    X, Y, _ = data
    D, E = (np.linalg.norm(Z[:, None] - Z, axis=2) for Z in (X, Y))
    shares = []
    for i in range(N):
        others = np.delete(np.arange(N), i)
        nearer = np.sign(D[i, others][:, None] - D[i, others])
        same = nearer * np.sign(E[i, others][:, None] - E[i, others])
        shares.append((0.5 + 0.5 * same[nearer != 0]).mean())
    value, held = np.mean(shares), []
    for seed in range(DRAWS):
        anchors = "all" if seed % 2 else 50
        params = EvaluationParameters(anchors=anchors, random_state=seed)
        given = validate_input(params, X, Y, None)
        found, _ = score_random_triplets(
            given.data, given.embedding, given.sampled_rows, given.order, seed
        )
        low, high = found.interval
        held.append(low <= value <= high)
    assert 0.90 <= np.mean(held) <= 0.99


def test_all_rows_as_anchors_are_exact(data, truth):
    X, Y, labels = data
    found = lowd.evaluate(X, Y, labels=labels, n_neighbors=10, anchors=N)
    assert found.exact
    for name in truth.measures:
        assert found.measures[name] == truth.measures[name], name
        assert found.measures[name].interval == truth.measures[name].interval


def test_sampled_rows_have_the_values_of_the_exact_ones(data, truth):
    X, Y, labels = data
    found = lowd.evaluate(X, Y, labels=labels, n_neighbors=10, anchors=50)
    assert not found.exact
    assert len(found.rows) == 50
    assert "50 of 300 rows" in "".join(found.notes)
    for name in ("trustworthiness", "continuity", "mrre_false", "rnx_auc", "silhouette"):
        np.testing.assert_allclose(
            found.pointwise[name], truth.pointwise[name][found.rows], atol=1e-12
        )


def test_a_seed_chooses_the_rows(data):
    X, Y, _ = data
    rows = [lowd.evaluate(X, Y, anchors=9, random_state=s).rows.tolist() for s in (1, 1, 2, None)]
    assert rows[0] == rows[1] != rows[2]
    assert len(set(map(tuple, rows))) == 3


def test_many_rows_are_sampled_by_themselves(monkeypatch, data):
    assert count_anchors(None, 20_000) == 20_000
    assert count_anchors(None, 100_000) == 2000
    assert count_anchors("all", 10**6) == 10**6
    monkeypatch.setattr(evaluation, "MAX_EXACT_SAMPLES", 100)
    monkeypatch.setattr(evaluation, "DEFAULT_ANCHORS", 60)
    monkeypatch.setattr(evaluation, "MAX_ALL_PAIRS_SAMPLES", 100)
    monkeypatch.setattr(evaluation, "MAX_SAMPLED_PAIRS", 100)
    X, Y, _ = data
    found = lowd.evaluate(X, Y)
    assert len(found.rows) == 60
    assert not found.exact
    assert found.trustworthiness.interval is not None


def test_a_verdict_comes_first():
    """Of a plane in a plane everything can be read; of another order of the rows, nothing."""
    X = np.column_stack(np.random.default_rng(0).uniform(size=(2, 300)))
    X[:, 1] += np.sin(9 * X[:, 0]) * 3
    text = lowd.evaluate(X, X * 3)
    assert text.verdict == (
        "Points that are near in the embedding are near in the data (trustworthiness 1.00, "
        "recall 1.00), neighbors in the data are near in the embedding (continuity 1.00), and "
        "large distances keep their order (triplet accuracy 1.00)."
    )
    assert repr(text).index("Points that are near") < repr(text).index("neighbor_recall")
    assert text.to_dict()["verdict"] == text.verdict
    noise = lowd.evaluate(X, X[::-1].copy()).verdict
    assert "often far in the data" in noise
    assert "often torn apart" in noise
    assert "large distances say little" in noise


def test_a_large_shepard_diagram_is_a_sample():
    X = np.random.default_rng(0).normal(size=(1200, 3))
    found = lowd.evaluate(X, X[:, :2])
    assert found.spearman.interval is not None
    assert found.stress1.interval is None
    assert len(found.shepard[0]) == len(found.shepard[1]) == 167 * 1200
    delta = found.shepard[0]
    assert delta.mean() == pytest.approx(4 / np.sqrt(np.pi), abs=0.05)


def test_more_duplicates_than_neighbors_among_sampled_rows():
    """A sampled row is not its own neighbor, even where duplicates displace it."""
    X = np.repeat(np.random.default_rng(0).normal(size=(12, 3)), 8, axis=0)
    Y = np.random.default_rng(1).normal(size=(96, 2)) + 9 * X[:, :2]
    exact = lowd.evaluate(X, Y, n_neighbors=4)
    some = lowd.evaluate(X, Y, n_neighbors=4, anchors=40)
    for name in ("trustworthiness", "continuity", "neighbor_recall"):
        np.testing.assert_allclose(some.pointwise[name], exact.pointwise[name][some.rows])
