"""PCA of blocks of wide rows: two passes of randomized subspace iteration, and their residual."""

from __future__ import annotations

import numpy as np
import pytest
from lowd.core.block_memory import plan_blocks
from lowd.solvers import streamed_pca
from scipy.sparse import csr_array, random_array

import lowd
from cases import close
from lowd.errors import ConvergenceWarning, DataError, UnsupportedError

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")


@pytest.fixture(autouse=True)
def _wide(monkeypatch):
    monkeypatch.setattr(streamed_pca, "MAX_STREAMED_FEATURES", 50)
    with dask.config.set(scheduler="sync"):
        yield


def _decaying(n=300, d=120, seed=0):
    """Rows whose spectrum falls by a half from axis to axis."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(d, d)))
    return rng.normal(size=(n, d)) * 0.5 ** np.arange(d) @ Q.T + 3


@pytest.mark.parametrize("how", [{}, {"scale": True}, {"center": False}, {"whiten": True}])
def test_wide_rows_have_the_axes_of_memory(how):
    X = _decaying()
    model = lowd.PCA(4, **how).fit(lowd.open_blocks(np.array_split(X, 7)))
    expected = lowd.PCA(4, **how).fit(X)
    assert model.solver_ == "randomized"
    assert model.residual_ < 1e-6
    for name in ("explained_variance_", "total_variance_", "mean_", "scale_"):
        close(getattr(model, name), getattr(expected, name), factor=1e3)
    close(model.transform(X), expected.transform(X), factor=1e5)
    assert model.n_samples_ == 300


def test_sparse_wide_rows():
    A = random_array((200, 90), density=0.1, rng=np.random.default_rng(0), format="csr")
    X = csr_array(A * (np.arange(90) < 3) * 300 + A)
    model = lowd.PCA(3).fit(lowd.open_blocks([X[:80], X[80:80], X[80:]]))
    expected = lowd.PCA(3).fit(X.toarray())
    close(model.explained_variance_, expected.explained_variance_, factor=1e6)
    assert model.residual_ < 1e-3


def test_the_residual_tells_a_flat_spectrum():
    """It is the true one: |C v - λ v| / λ₁."""
    X = np.random.default_rng(0).normal(size=(200, 150))
    with pytest.warns(ConvergenceWarning, match="two passes"):
        model = lowd.PCA(2).fit(lowd.open_blocks([X[:70], X[70:]]))
    A = X - X.mean(0)
    V = model.components_.T
    values = model.scatter_eigenvalues_
    residual = np.linalg.norm(A.T @ (A @ V) - V * values, axis=0).max() / values[0]
    assert residual > 0.01
    np.testing.assert_allclose(model.residual_, residual, rtol=1e-8)


def test_what_wide_rows_cannot_have_is_said():
    X = _decaying(30)
    with pytest.raises(UnsupportedError, match="give a number of components"):
        lowd.PCA(0.9).fit(lowd.open_blocks([X]))
    with pytest.raises(DataError, match="0 rows"):
        lowd.PCA(2).fit(lowd.open_blocks([X[:0]]))


def test_rows_in_blocks_have_no_weights():
    blocks = lowd.open_blocks(np.split(_decaying(60), 3))
    with pytest.raises(UnsupportedError, match="repeat or scale rows"):
        lowd.PCA(2).fit(blocks, sample_weight=np.ones(60))


def test_few_components_of_wide_rows_need_no_square_matrix():
    few, every = (plan_blocks(lowd.PCA(k), 20_000, 8, 2)["fit"] for k in (2, None))
    assert few < 2**27
    assert every > 20_000**2 * 8
