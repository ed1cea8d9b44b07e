"""Columns in different units: the one that dominates the distances is named."""

from __future__ import annotations

import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

import lowd

WINE = load_wine(as_frame=True).data
EVEN = StandardScaler().fit_transform(WINE)


def test_a_model_that_scales_is_judged_by_scaled_columns():
    """PCA(scale=True) was judged by raw distances, which are proline's alone: 0.7 for 0.9."""
    model = lowd.PCA(2, scale=True).fit(WINE)
    found = lowd.evaluate(WINE, model)
    assert found.trustworthiness == pytest.approx(
        lowd.evaluate(EVEN, model.transform(WINE)).trustworthiness, abs=1e-3
    )
    assert found.trustworthiness > 0.85
    assert any("scale_" in note for note in found.notes)
    sparse = lowd.PCA(2, scale=True, center=False).fit(csr_array(WINE.to_numpy()))
    assert lowd.evaluate(csr_array(WINE.to_numpy()), sparse).trustworthiness > 0.8


@pytest.mark.parametrize(
    ("X", "name"), [(WINE, "column 'proline'"), (WINE.to_numpy(), "column 12")]
)
def test_a_column_that_dominates_the_distances_is_named(X, name):
    Y = lowd.PCA(2, scale=True).fit_transform(X)
    assert lowd.evaluate(X, Y).notes[0].startswith(f"{name} accounts for 99.8% of the variance")
    found = lowd.compare(X, {"even": lowd.PCA(2, scale=True)}, subsamples=0)
    assert sum(note.startswith(name) for note in found.notes) == 1


def test_even_columns_are_not_remarked_upon():
    for X in (EVEN, pd.DataFrame(EVEN), EVEN[:, :3] * [3, 1, 1]):
        assert not lowd.evaluate(X, EVEN[:, :2]).notes
