"""Damage in one place of a map that means over all rows do not show."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_swiss_roll

import lowd
from lowd.evidence.quality.result import describe_damage, group_rows

X, y = load_digits(return_X_y=True)
NAMES = np.array(["digit " + str(label) for label in y])


@pytest.fixture(scope="module")
def embedding():
    return lowd.TSNE(max_iter=400).fit_transform(X)


@pytest.fixture(scope="module")
def roll():
    R, t = make_swiss_roll(1500, noise=0.05, random_state=0)
    length = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
    return R, np.column_stack([length, R[:, 1]])


def tear(Y, label):
    """Half of a class carried away, by its first principal component."""
    rows = np.flatnonzero(y == label)
    score = lowd.PCA(1).fit_transform(X[rows])[:, 0]
    torn = Y.copy()
    torn[rows[score > np.median(score)]] += 300
    return torn


def test_a_good_map_has_no_damaged_group(embedding, roll):
    assert lowd.evaluate(X, embedding).damaged == []
    R, truth = roll
    found = lowd.evaluate(R, truth)
    assert found.damaged == []
    assert found.verdict.count(".") == lowd.evaluate(R, truth, anchors=200).verdict.count(".")


@pytest.mark.parametrize("label", [0, 5])
def test_half_of_a_class_torn_off_is_found(embedding, label):
    found = lowd.evaluate(X, tear(embedding, label), labels=NAMES)
    assert found.continuity > 0.95  # which alone would get the words of a perfect map
    (group,) = found.damaged
    assert (group.kind, group.classes) == ("torn", (f"digit {label}",))
    assert np.mean(y[group.rows] == label) > 0.9
    assert f"Torn: {len(group.rows)} rows, mostly of class digit {label};" in found.verdict
    assert found.to_dict()["damaged"][0]["rows"] == group.rows.tolist()


def test_a_class_laid_on_another_is_found(embedding):
    Y = embedding.copy()
    Y[y == 3] += np.median(Y[y == 8], 0) - np.median(Y[y == 3], 0)
    found = lowd.evaluate(X, Y, labels=y)
    assert found.trustworthiness > 0.95
    group = found.damaged[0]
    assert group.kind == "covered"
    assert set(group.classes) == {"3", "8"}
    assert len(group.rows) > 100
    assert "from another part of the data" in found.verdict
    assert lowd.evaluate(X, Y).damaged[0].classes == ()


def test_a_torn_and_a_folded_roll_are_told_apart(roll):
    R, truth = roll
    halves = truth.copy()
    halves[truth[:, 0] > np.median(truth[:, 0]), 0] += 100
    found = lowd.evaluate(R, halves)
    assert {group.kind for group in found.damaged} == {"torn"}
    rows = np.concatenate([group.rows for group in found.damaged])
    assert np.abs(truth[rows, 0] - np.median(truth[:, 0])).max() < 10  # along the cut
    flat = lowd.evaluate(R, R[:, :2])
    assert {group.kind for group in flat.damaged} == {"folded"}
    assert f"recall {flat.neighbor_recall:.2f}" in flat.verdict


def test_order_of_rows_does_not_matter(embedding):
    order = np.random.default_rng(0).permutation(len(X))
    Y = tear(embedding, 0)
    one, other = lowd.evaluate(X, Y).damaged, lowd.evaluate(X[order], Y[order]).damaged
    assert [sorted(order[g.rows]) for g in other] == [sorted(g.rows) for g in one]


def test_distances_show_the_same_damage(embedding):
    Y = tear(embedding, 0)[:900]
    D = np.sqrt(np.maximum(((X[:900, None] - X[None, :900]) ** 2).sum(2), 0))
    by_rows, by_distances = lowd.evaluate(X[:900], Y), lowd.evaluate(D, Y, metric="precomputed")
    found, expected = (set(e.damaged[0].rows) for e in (by_distances, by_rows))
    assert len(found & expected) > 0.9 * len(found | expected)  # by other reference rows


def test_small_parts_count_together():
    """Five rings of ten rows: none is a group of twenty, and all of them are half of the rows."""
    ring = np.arange(100) // 10 * 10
    neighbors = np.column_stack([ring + (np.arange(100) + step) % 10 for step in (1, 2)])
    bad = np.arange(100) < 50
    (rows,) = group_rows(bad, neighbors)
    assert list(rows) == list(range(50))
    assert group_rows(np.arange(100) < 10, neighbors) == []


def test_few_neighbors_are_not_judged(embedding):
    assert lowd.evaluate(X, tear(embedding, 0), n_neighbors=5).damaged == []
    assert describe_damage([]) == ""


def test_of_sampled_rows_a_part_is_judged(embedding, monkeypatch):
    monkeypatch.setattr("lowd.evidence.quality.evaluation.MAX_JUDGED_SAMPLES", 1200)
    found = lowd.evaluate(X, tear(embedding, 0), labels=NAMES, anchors=300)
    (group,) = found.damaged
    assert (group.kind, group.classes) == ("torn", ("digit 0",))
    assert np.mean(y[group.rows] == 0) > 0.9
    assert any("1200 random rows" in note for note in found.notes)
    assert lowd.evaluate(X, embedding, anchors=300).damaged == []
