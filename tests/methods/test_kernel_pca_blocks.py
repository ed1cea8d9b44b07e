"""Kernel PCA of rows in blocks: landmarks of one pass, moments of their features of another."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import lowd
from case_data import rows_like
from cases import close, same_bits
from lowd.blocks import RowBlocks
from lowd.errors import ParameterError

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
X = rows_like(400, 5)


def parts_of_seven(n, width, entries=0):  # noqa: ARG001
    return [slice(i, min(i + 7, n)) for i in range(0, n, 7)]


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch):
    monkeypatch.setattr("lowd.spaces.blocked.RUN_BYTES", 0)  # rows stay in their blocks
    with dask.config.set(scheduler="sync"):
        yield


@pytest.mark.parametrize(
    "how",
    [
        {"kernel": "rbf", "gamma": 0.1},
        {"kernel": "rbf", "gamma": "median"},
        {"kernel": "poly", "degree": 2},
        {"kernel": "cosine"},
        {"kernel": "laplacian", "gamma": 0.1},
    ],
    ids=lambda how: how["kernel"],
)
def test_all_rows_as_candidates_give_the_fit_of_memory(how):
    params = {"n_landmarks": 10, **how}
    model = lowd.KernelPCA(2, **params).fit(lowd.open_blocks([X[:150], X[150:150], X[150:]]))
    expected = lowd.KernelPCA(2, **params).fit(X)
    same_bits(np.sort(model.landmarks_), np.sort(expected.landmarks_))
    for name in ("eigenvalues_", "trace_error_", "gamma_", "k_grand_mean_"):
        found = getattr(model, name)
        if found is not None:
            np.testing.assert_allclose(found, getattr(expected, name), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(model.transform(X), expected.transform(X), atol=1e-7)
    assert model.n_samples_ == 400


def test_features_of_a_block_are_summed_by_parts(monkeypatch):
    blocks = lowd.open_blocks([X[:250], X[250:]])
    how = {"kernel": "rbf", "gamma": 0.1, "n_landmarks": 30}
    whole = lowd.KernelPCA(2, **how).fit(blocks)
    monkeypatch.setattr("lowd.methods.kernel_pca.chunks", parts_of_seven)
    parts = lowd.KernelPCA(2, **how).fit(blocks)
    np.testing.assert_allclose(parts.eigenvalues_, whole.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(parts.transform(X), whole.transform(X), atol=1e-9)


def test_sparse_blocks_and_confidence():
    model = lowd.KernelPCA(2, kernel="rbf", gamma=0.1, n_landmarks=30)
    model.fit(lowd.open_blocks([csr_array(X[:200]), csr_array(X[200:])]))
    expected = lowd.KernelPCA(2, kernel="rbf", gamma=0.1, n_landmarks=30).fit(X)
    close(model.eigenvalues_, expected.eigenvalues_, factor=1e4)
    Y, confidence = model.transform(X[:50], return_confidence=True)
    assert Y.shape == (50, 2)
    assert (confidence > 0.5).mean() > 0.9


def test_axes_are_those_of_all_rows_not_of_the_candidates(monkeypatch, tmp_path):
    """The variances of features of all rows, though landmarks come from a few."""
    draw = RowBlocks.draw
    monkeypatch.setattr(
        RowBlocks, "draw", lambda self, most, **how: draw(self, min(most, 60), **how)
    )
    model = lowd.KernelPCA(2, kernel="rbf", gamma=0.01, n_landmarks=30)
    model.fit(lowd.open_blocks(np.array_split(X, 5)))
    exact = lowd.KernelPCA(2, kernel="rbf", gamma=0.01).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=1e-3)
    assert 0 < model.trace_error_ < 0.05
    assert len(model.landmarks_) == 30
    Y = model.transform(X)
    np.testing.assert_allclose((Y**2).sum(0), model.eigenvalues_, rtol=1e-8)
    path = tmp_path / "model.lowd"
    lowd.save(model, path)
    same_bits(lowd.load(path).transform(X), Y)


def test_too_many_landmarks():
    with pytest.raises(ParameterError, match="n_landmarks=500"):
        lowd.KernelPCA(2, kernel="rbf", n_landmarks=500).fit(lowd.open_blocks([X]))
