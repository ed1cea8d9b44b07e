"""An evaluation samples rows, pairs and triplets by their content, in whatever order they come."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import lowd
from case_data import rows_like

N = 300
ORDER = np.random.default_rng(7).permutation(N)
X = rows_like(N, 5, 3)
Y = X[:, :2] + 0.3 * rows_like(N, 2, 4)
LABELS = (X[:, 0] > 0).astype(int)
DATA = {
    "rows": (X, X[ORDER], {}),
    "duplicates": (X // 1, X[ORDER] // 1, {}),
    "distances": (cdist(X, X), cdist(X[ORDER], X[ORDER]), {"metric": "precomputed"}),
}
SAMPLED = ("triplet_accuracy", "pearson", "spearman", "stress1")  # in others ties count


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("anchors", [None, 60])
def test_permuted_rows_have_the_same_evaluation(kind, anchors, monkeypatch):
    monkeypatch.setattr("lowd.evidence.quality.measures.MAX_SHEPARD_SAMPLES", 100)
    monkeypatch.setattr("lowd.evidence.quality.measures.N_SHEPARD_PAIRS", 2000)
    A, B, options = DATA[kind]
    first = lowd.evaluate(A, Y, labels=LABELS, anchors=anchors, **options)
    second = lowd.evaluate(B, Y[ORDER], labels=LABELS[ORDER], anchors=anchors, **options)
    assert sorted(ORDER[second.rows]) == sorted(first.rows)
    for name in SAMPLED if kind == "duplicates" else first.measures:
        measure, other = first.measures[name], second.measures[name]
        assert other == pytest.approx(measure, abs=1e-9), name
        assert other.interval == pytest.approx(measure.interval, abs=1e-9), name


def test_embeddings_of_the_same_rows_are_evaluated_at_the_same():
    first, second = (lowd.evaluate(X, Z, anchors=60) for Z in (Y, X[:, 2:4]))
    np.testing.assert_array_equal(first.rows, second.rows)
