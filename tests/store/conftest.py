"""Saved models that tests of files read or damage."""

from __future__ import annotations

import pytest

import lowd
from case_data import rows_like
from cases import BY_NAME, fit

# Arrays alone, a sparse one, tables with texts, and a map within a map.
SAMPLE = ["PCA", "Sparse", "MDS-gower", "KernelPCA-fixed_point"]


@pytest.fixture(params=SAMPLE)
def stored(request, tmp_path):
    """A model, new rows, and the file it was saved to."""
    case = BY_NAME[request.param]
    X, Q = case.data()
    model = fit(case.model(), X)
    lowd.save(model, tmp_path / "model.lowd")
    return model, Q, tmp_path / "model.lowd"


@pytest.fixture
def saved(tmp_path):
    """The same for one small model, as bytes."""
    model = lowd.PCA(2).fit(rows_like(9, 3))
    lowd.save(model, tmp_path / "model.lowd")
    return model, (tmp_path / "model.lowd").read_bytes(), tmp_path / "changed"
