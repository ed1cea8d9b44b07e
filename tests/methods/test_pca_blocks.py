"""PCA of rows in blocks: moments in one pass; of many columns two passes, and their residual."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

import lowd
from case_data import rows_like
from cases import close
from lowd.blocks import RowBlocks
from lowd.errors import ConvergenceWarning, DataError, UnsupportedError
from lowd.methods.pca import Moments
from lowd.spaces import blocked

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
da = pytest.importorskip("dask.array")

ATTRIBUTES = ("explained_variance_", "total_variance_", "noise_variance_", "mean_", "scale_")
HOW = pytest.mark.parametrize(
    "how", [{}, {"scale": True}, {"center": False}, {"whiten": True}], ids=str
)


@pytest.fixture(autouse=True)
def _read_in_blocks(monkeypatch):
    monkeypatch.setattr(blocked, "RUN_BYTES", 0)  # of which few would be read into memory
    with dask.config.set(scheduler="sync"):
        yield


def blocks(parts):
    return RowBlocks(da.concatenate([da.from_array(part, chunks=part.shape) for part in parts]))


def decaying(n=300, d=4200, seed=0):
    """Rows whose spectrum falls by a half from axis to axis."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(d, 60)))[0]
    return rng.normal(size=(n, 60)) * 0.5 ** np.arange(60) @ Q.T + 3


@HOW
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_blocks_of_any_size_are_one_fit(how, dtype):
    X = rows_like(310, 6, 1, dtype)
    expected = lowd.PCA(3, **how).fit(X)
    for sizes in ([310], [7, 303], [100, 1, 109, 100]):
        model = lowd.PCA(3, **how).fit(blocks(np.split(X, np.cumsum(sizes)[:-1])))
        for name in ATTRIBUTES:
            close(getattr(model, name), getattr(expected, name), dtype)
        close(model.transform(X), expected.transform(X), dtype)
        assert model.n_samples_ == 310
        assert model.solver_ == "covariance"
        confidence = model.transform(X, return_confidence=True)[1]
        assert (confidence > 0.99).all()


@pytest.mark.parametrize("asked", [None, 0.9, "kaiser", "mle"])
def test_the_number_of_axes_may_depend_on_the_spectrum(asked):
    X = rows_like(300, 6, 1)
    model = lowd.PCA(asked).fit(blocks(np.array_split(X, 5)))
    assert model.n_components_ == lowd.PCA(asked).fit(X).n_components_


@HOW
def test_many_columns_have_the_axes_of_memory(how):
    X = decaying()
    model = lowd.PCA(4, **how).fit(blocks(np.array_split(X, 7)))
    expected = lowd.PCA(4, **how).fit(X)
    assert model.solver_ == "randomized"
    assert model.residual_ < 1e-6
    for name in ("explained_variance_", "total_variance_", "mean_", "scale_"):
        close(getattr(model, name), getattr(expected, name), factor=1e3)
    close(model.transform(X), expected.transform(X), factor=1e5)
    assert model.n_samples_ == 300


def test_many_columns_of_sparse_rows():
    A = random_array((200, 4200), density=0.1, rng=np.random.default_rng(0), format="csr")
    X = csr_array(A * (np.arange(4200) < 3) * 3000 + A)
    model = lowd.PCA(3).fit(house_open([X[:80], X[80:80], X[80:]]))
    expected = lowd.PCA(3).fit(X.toarray())
    close(model.explained_variance_, expected.explained_variance_, factor=1e6)
    assert model.residual_ < 1e-3


def house_open(parts):
    """Blocks of sparse rows."""
    from lowd.blocks import BlockReader

    readers = [BlockReader(lambda part=part: part, part.shape[0]) for part in parts]
    return RowBlocks.from_readers(readers, parts[0].shape[1], np.float64)


def test_the_residual_tells_a_flat_spectrum():
    """It is the true one: |C v - λ v| / λ₁."""
    X = np.random.default_rng(0).normal(size=(200, 4200))
    with pytest.warns(ConvergenceWarning, match="two passes"):
        model = lowd.PCA(2).fit(blocks([X[:70], X[70:]]))
    A = X - X.mean(0)
    V, values = model.components_.T, model.scatter_eigenvalues_
    residual = np.linalg.norm(A.T @ (A @ V) - V * values, axis=0).max() / values[0]
    assert residual > 0.01
    np.testing.assert_allclose(model.residual_, residual, rtol=1e-8)


def test_what_blocks_cannot_have_is_said():
    X = decaying(30)
    with pytest.raises(UnsupportedError, match="give a number of components"):
        lowd.PCA(0.9).fit(blocks([X]))
    with pytest.raises(DataError, match="0 rows"):
        lowd.PCA(2).fit(blocks([X[:0]]))
    with pytest.raises(UnsupportedError, match="repeat or scale rows"):
        lowd.PCA(2).fit(blocks(np.split(X, 3)), sample_weight=np.ones(30))
    with pytest.raises(UnsupportedError, match="takes batches in memory"):
        lowd.PCA(2).partial_fit(blocks([X]))


# -- moments --------------------------------------------------------------------------------------


def test_moments_by_hand():
    found = Moments.of(np.array([[10.0, 90.0], [6.0, 68.0], [20.0, 95.0]]))
    assert found.weight == 3
    np.testing.assert_allclose(found.mean, [12, 84.333333], atol=5e-7)
    np.testing.assert_allclose(found.scatter, [[104, 172], [172, 412.666667]], atol=5e-7)


def test_moments_are_those_of_the_centering_matrix():
    X = rows_like(12, 5)
    H = np.eye(12) - 1 / 12
    np.testing.assert_allclose(Moments.of(X).scatter, X.T @ H @ X, atol=1e-12)


def test_merged_blocks_are_one_pass():
    X = rows_like(100, 4)
    whole = Moments.of(X)
    first, *others = (Moments.of(part) for part in np.split(X, [1, 2, 30, 31, 70]))
    for part in others:
        first = first.merge(part)
    np.testing.assert_allclose(first.mean, whole.mean, rtol=1e-13)
    np.testing.assert_allclose(first.scatter, whole.scatter, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("rows", [2**31, 2**40, 2**52])
def test_merging_after_very_many_rows(rows):
    """Counts beyond 32 bits neither overflow nor lose the new rows."""
    many = Moments(float(rows), np.zeros(2), rows * np.eye(2))
    both = many.merge(Moments(float(rows), np.full(2, 4.0), rows * 3 * np.eye(2)))
    assert both.weight == 2.0 * rows
    np.testing.assert_allclose(both.mean, 2)
    np.testing.assert_allclose(both.scatter / both.weight, 2 * np.eye(2) + 4)
    few = many.merge(Moments(4.0, np.full(2, 100.0), np.eye(2)))
    assert few.weight == rows + 4
    np.testing.assert_allclose(few.mean, 400 / (rows + 4))


def test_weights_are_multiplicities(rng):
    X, counts = rows_like(30, 4), rng.integers(0, 4, 30)
    repeated = Moments.of(np.repeat(X, counts, axis=0))
    weighted = Moments.of(X, counts.astype(float))
    assert weighted.weight == repeated.weight
    np.testing.assert_allclose(weighted.scatter, repeated.scatter, rtol=1e-12, atol=1e-12)


def test_a_model_does_not_hold_the_batch_of_the_caller():
    X = rows_like(20, 4)
    model = lowd.PCA(2).partial_fit(X)
    expected = model.transform(X[:3] * 2, return_confidence=True)[1]
    kept = X.copy()
    X[:] = 0
    model.partial_fit(kept)
    again = lowd.PCA(2).partial_fit(kept).partial_fit(kept)
    close(model.transform(kept), again.transform(kept))
    assert expected.shape == (3,)
    np.testing.assert_array_equal(
        model.transform(kept * 2, return_confidence=True)[1],
        again.transform(kept * 2, return_confidence=True)[1],
    )
