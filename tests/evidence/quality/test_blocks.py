"""Quality measures and diagnosis of rows in blocks: those of a sample, which is said."""

from __future__ import annotations

import numpy as np
import pytest

import lowd
from case_data import rows_like
from lowd.errors import DataError
from lowd.evidence.diagnosis import diagnosis
from lowd.evidence.quality import evaluation

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
X = rows_like(600, 4)
BLOCKS = lowd.open_blocks(np.array_split(X, 4))


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch):
    monkeypatch.setattr(evaluation, "MAX_EVALUATED_ROWS", 300)
    monkeypatch.setattr(evaluation, "N_BLOCK_ANCHORS", 100)
    monkeypatch.setattr(diagnosis, "MAX_DIAGNOSED_ROWS", 300)
    with dask.config.set(scheduler="sync"):
        yield


def test_measures_are_those_of_the_sampled_rows():
    model = lowd.PCA(2).fit(X)
    labels = np.arange(600) % 3
    rows = BLOCKS.draw(300).row_indices
    expected = lowd.evaluate(X[rows], model.transform(X[rows]), labels=labels[rows], anchors=100)
    for Y in (model.transform(X), model.transform(BLOCKS)):
        found = lowd.evaluate(BLOCKS, Y, labels=labels)
        assert found.trustworthiness == expected.trustworthiness
        assert found.trustworthiness.interval is not None
        assert found.notes[0].startswith("300 of 600 rows in blocks are evaluated")
    found = model.evaluate(BLOCKS)
    assert found.trustworthiness == expected.trustworthiness
    assert "explained_variance_ratio" in found.model
    with pytest.raises(DataError, match=r"X has 600 rows, but Y has 5"):
        lowd.evaluate(BLOCKS, X[:5])


def test_a_diagnosis_is_of_the_sampled_rows():
    bad = X.copy()
    bad[::2, 1] = np.nan
    found = lowd.diagnose(lowd.open_blocks(np.array_split(bad, 3)))
    assert found.notes[0].startswith("300 of 600 rows in blocks are diagnosed")
    assert any("are missing (NaN)" in finding.sentence for finding in found.findings)
