"""Diagnoses, numbers of dimensions and comparisons of permuted rows."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import lowd
from lowd import diagnose
from lowd.evidence.diagnosis import rows as findings

ORDER = np.random.default_rng(1).permutation(300)
ROWS = np.random.default_rng(0).normal(size=(300, 6)) * [5, 4, 3, 0.2, 0.1, 0.1]


@pytest.mark.parametrize("kind", ["rows", "precomputed"])
def test_permuted_rows_have_the_same_diagnosis(kind, monkeypatch):
    monkeypatch.setattr(findings, "GEODESIC_SAMPLES", 60)  # several samples of the sample
    X, permuted, metric = ROWS, ROWS[ORDER], "euclidean"
    if kind == "precomputed":
        D = cdist(X, X)
        X, permuted, metric = D, D[np.ix_(ORDER, ORDER)], "precomputed"
    one, other = (diagnose(A, metric=metric, max_samples=120) for A in (X, permuted))
    assert [finding.sentence for finding in one.findings] == [
        finding.sentence for finding in other.findings
    ]
    assert str(one) == str(other)


def test_permuted_rows_have_the_same_numbers_of_dimensions(monkeypatch):
    monkeypatch.setattr("lowd.evidence.dimension.PARALLEL_SAMPLES", 100)
    one, other = (lowd.dimension(X, max_samples=120) for X in (ROWS, ROWS[ORDER]))
    assert one.suggestions == other.suggestions
    for name in ("parallel_observed", "parallel", "cross_validation"):
        np.testing.assert_allclose(other.curves[name], one.curves[name], rtol=1e-9)


def test_permuted_rows_have_the_same_stability_in_a_comparison():
    one, other = (
        lowd.compare(X, ["pca", "isomap"], subsamples=2, n_neighbors=10)
        for X in (ROWS, ROWS[ORDER])
    )
    for name in ("PCA", "Isomap"):
        a, b = (found[name].stability.subsamples for found in (one, other))
        assert a == pytest.approx(b, rel=1e-6)
