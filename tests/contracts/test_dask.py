"""Rows in blocks as a kind of data: lazy maps for all, exact fits for linear methods, samples."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import lowd
from case_data import rows_like
from cases import (
    BY_NAME,
    CASES,
    FIRST,
    FIRST_LARGE,
    attempt,
    close,
    each,
    fit,
    fitted,
    same_bits,
)
from lowd import reducer
from lowd.errors import ApproximationWarning, DataError, ParameterError, UnsupportedError

da = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")
dask = pytest.importorskip("dask")


def streams(case):
    """Linear methods, which are fitted block by block."""
    return case.method == "PCA" or case.method.endswith("Projection")


def _unknown(X):
    """The same rows, in chunks of sizes that dask does not know."""
    lazy = da.from_array(X, chunks=(7, X.shape[1]))
    return lazy[da.ones(len(X), chunks=7, dtype=bool)]


@each([*FIRST, *FIRST_LARGE])
def test_transform_is_the_map_of_every_block(case):
    model, Q = fitted(case), case.data()[1]
    expected, n = model.transform(Q), len(Q)
    for chunks in (9, (13, 4), ((1, n - 3, 2), (Q.shape[1],))):
        lazy = model.transform(da.from_array(Q, chunks=chunks))
        assert isinstance(lazy, da.Array)
        assert lazy.shape == expected.shape
        same_bits(lazy.compute(scheduler="sync"), expected)
    same_bits(model.transform(_unknown(Q)).compute(scheduler="sync"), expected)


@each([case for case in FIRST if not streams(case)])
def test_a_block_is_mapped_by_parts(case, monkeypatch):
    """Few rows are compared with the training points at a time, and the bits are the same."""
    X, Q = case.data()
    model = fit(case.model(), X)
    expected, sizes = model.transform(Q), []

    def chunks(n, *_):
        sizes.append(n)
        return [slice(i, min(i + 7, n)) for i in range(0, n, 7)]

    monkeypatch.setattr(reducer, "chunks", chunks)
    lazy = model.transform(da.from_array(Q, chunks=Q.shape))
    same_bits(lazy.compute(scheduler="sync"), expected)
    assert sizes == [len(Q)]


@each(FIRST)
def test_transform_computes_nothing_until_asked(case):
    X, Q = case.data()
    model = fit(case.model(), X)
    seen = []

    def block(rows):
        seen.append(len(rows))
        return rows

    source = da.from_array(Q, chunks=(6, Q.shape[1])).map_blocks(block, meta=np.empty((0, 0)))
    lazy = model.transform(source)
    assert not seen
    one = lazy[:2].compute(scheduler="sync")
    assert seen == [6]  # and then only the block that is needed
    assert one.shape == (2, lazy.shape[1])


@each([case for case in CASES if streams(case)], float32=FIRST)
def test_fit_equals_the_fit_in_memory(case, dtype):
    """Whatever the chunks, also of columns, of one row, or of unknown size."""
    X, Q = case.data(dtype)
    expected = fitted(case, dtype)
    for chunks in ((60, 7), (13, 7), (1, 7), (20, 3)):
        lazy = da.from_array(X, chunks=chunks)
        model = case.model().fit(lazy)
        close(model.transform(Q), expected.transform(Q), dtype)
        assert model.n_features_in_ == 7
        assert model.n_components_ == expected.n_components_
        coordinates = case.model().fit_transform(lazy)
        assert isinstance(coordinates, da.Array)
        close(coordinates.compute(scheduler="sync"), expected.transform(X), dtype)
    model = case.model().fit(_unknown(X))
    close(model.transform(Q), expected.transform(Q), dtype)


@each(FIRST_LARGE)
def test_blocks_of_a_file_are_fitted_as_in_memory(case, tmp_path):
    """Linear methods block by block, others all rows, where these are few enough."""
    X, Q = case.data()
    np.save(tmp_path / "rows.npy", X)
    expected = fitted(case)
    blocks = lowd.open_blocks(tmp_path / "rows.npy", block_rows=len(X) // 4 + 1)
    with dask.config.set(scheduler="sync"):
        model = fit(case.model(), blocks)
        same_bits(model.transform(blocks).compute(), model.transform(X))
    if streams(case):
        close(model.transform(Q), expected.transform(Q), factor=1e3)
    else:
        same_bits(model.transform(Q), expected.transform(Q))


@pytest.mark.parametrize("name", ["PCA", "PCA-whiten", "PCA-scale", "PCA-origin", "PCA-share"])
def test_every_number_of_a_streamed_pca(name):
    X = rows_like(500, 6)
    case = BY_NAME[name]
    model = case.model().fit(da.from_array(X, chunks=(37, 6)))
    expected = case.model().fit(X)
    for attribute in (
        *("components_", "mean_", "scale_", "explained_variance_", "explained_variance_ratio_"),
        *("singular_values_", "noise_variance_", "total_variance_", "n_samples_", "rank_"),
    ):
        close(getattr(model, attribute), getattr(expected, attribute))


@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_streamed_axes_do_not_mind_an_offset(dtype, offset):
    X = (rows_like(2000, 6) + offset).astype(dtype)
    model = lowd.PCA(3).fit(da.from_array(X, chunks=(97, 6)))
    exact = X.astype(np.float64) - X.mean(0, dtype=np.float64)
    V = np.linalg.svd(exact, full_matrices=False)[2][:3]
    cosines = np.abs((model.components_ * V).sum(1))
    assert (np.arccos(np.minimum(cosines, 1)) < 1e-3).all()


def test_blocks_may_be_sparse(dtype):
    """One column has a large offset, the others are half empty."""
    X = np.where((A := rows_like(300, 6)) > 2, A, 0)
    X[:, 0] = A[:, 0] + 1e6
    X = X.astype(dtype)
    lazy = da.from_array(X, chunks=(97, 6)).map_blocks(csr_matrix, meta=csr_matrix((0, 6)))
    model = lowd.PCA(3).fit(lazy)
    expected = lowd.PCA(3).fit(X.astype(np.float64))
    tolerance = {"rtol": 1e-6, "atol": 1e-5 if dtype == np.float32 else 1e-8}
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance_, **tolerance)
    found = dask.compute(*model.transform(lazy, return_confidence=True), scheduler="sync")
    wanted = expected.transform(X.astype(np.float64), return_confidence=True)
    np.testing.assert_allclose(found[0], wanted[0], **tolerance)
    np.testing.assert_allclose(found[1], wanted[1], atol=1e-4)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_streamed_axes_do_not_mind_units(dtype, scale):
    X = rows_like(200, 6, dtype=dtype)
    expected = lowd.PCA(3).fit(X)
    lazy = da.from_array(X * dtype(scale), chunks=(50, 6))
    model = lowd.PCA(3).fit(lazy)
    close(model.components_, expected.components_, dtype)
    close(model.explained_variance_ratio_, expected.explained_variance_ratio_, dtype)
    with pytest.raises(DataError, match=r"1e\+200|multiply"):
        lowd.PCA(3).fit(da.from_array(X.astype(float) * 1e200, chunks=(50, 6)))


def test_empty_blocks_and_integers():
    X = np.round(9 * rows_like(40, 4)).astype(np.int32)
    empty = da.from_array(X[:0], chunks=(1, 4))
    lazy = da.concatenate([empty, da.from_array(X, chunks=(11, 4)), empty])
    model = lowd.PCA(2).fit(lazy)
    close(model.transform(lazy).compute(scheduler="sync"), lowd.PCA(2).fit_transform(X))
    with pytest.raises(DataError, match="0 rows"):
        lowd.PCA(1).fit(empty)


def test_nan_is_named_by_its_row_in_the_whole_array():
    X = rows_like(50, 4)
    X[33, 2] = np.nan
    lazy = da.from_array(X, chunks=(10, 2))
    with pytest.raises(DataError, match=r"NaN at row 33, column 2"):
        lowd.PCA(1).fit(lazy)
    model = lowd.PCA(1).fit(X[:20])
    with pytest.raises(DataError, match=r"row 33, column 2"):
        model.transform(lazy).compute(scheduler="sync")


def test_nan_in_a_block_of_unknown_size():
    X = rows_like(50, 4)
    X[33, 2] = np.inf
    with pytest.raises(DataError, match=r"inf at row 5 of block 4, column 2"):
        lowd.PCA(1).fit(_unknown(X))


@each([case for case in FIRST if not streams(case)])
def test_few_rows_are_fitted_as_in_memory(case):
    X, Q = case.data()
    lazy = da.from_array(X, chunks=(13, 3))
    with dask.config.set(scheduler="sync"):
        model, expected = fit(case.model(), lazy), fit(case.model(), X)
    same_bits(model.embedding_, expected.embedding_)
    same_bits(model.transform(Q), expected.transform(Q))
    found = dask.compute(*model.transform(lazy, return_confidence=True), scheduler="sync")
    for part, whole in zip(found, expected.transform(X, return_confidence=True), strict=True):
        same_bits(part, whole)


def test_an_extension_that_fails_is_measured_as_such():
    """Of noise in many columns a plane keeps no neighbors."""
    X = np.random.default_rng(0).normal(size=(500, 40))
    blocks = lowd.open_blocks(da.from_array(X, chunks=(99, 40)), sample=300)
    with dask.config.set(scheduler="sync"), pytest.warns(ApproximationWarning):
        model = lowd.ClassicalMDS(2).fit(blocks)
    assert model.extension_recall_ < 0.4
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded.extension_recall_ == model.extension_recall_


def test_precomputed_matrices_do_not_come_in_blocks():
    with pytest.raises(UnsupportedError, match="takes distances here, and blocks hold rows"):
        lowd.MDS(2, metric="precomputed").fit(da.ones((20, 20)))


def test_what_is_wrong_is_said_before_anything_is_computed():
    model = lowd.PCA(2).fit(rows_like(20, 4))
    with pytest.raises(DataError, match=r"3 features.*4"):
        model.transform(da.ones((5, 3)))
    with pytest.raises(DataError, match="2 dimensions"):
        model.transform(da.ones((5, 4, 1)))
    with pytest.raises(DataError, match="holds no numbers"):
        model.transform(da.from_array(np.array([["a"] * 4])))
    with pytest.raises(UnsupportedError, match="sample_weight"):
        lowd.PCA(2).fit(da.ones((5, 3)), sample_weight=np.ones(5))
    with pytest.raises(ParameterError, match="compute_chunk_sizes"):
        lowd.GaussianRandomProjection(eps=0.9).fit(_unknown(rows_like(20, 4)))
    with pytest.raises(ParameterError, match="n_components=9"):
        lowd.PCA(9).fit(da.from_array(rows_like(20, 4)))


def _counted(X, seen):
    """A dask array that writes down when its blocks are read."""

    def block(rows):
        seen.append(len(rows))
        return rows

    return da.from_array(X, chunks=(10, X.shape[1])).map_blocks(block, meta=np.empty((0, 0)))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output_does_not_compute(library):
    """A frame would have to be computed: the array stays lazy, or the request is refused."""
    seen = []
    model = lowd.PCA(2).fit(rows_like(50, 4)).set_output(transform=library)
    coordinates, refusal = attempt(model.transform, _counted(rows_like(50, 4), seen))
    assert not seen
    assert refusal or isinstance(coordinates, da.Array)


def test_the_other_maps_are_lazy_or_refuse():
    X, seen = rows_like(50, 4), []
    model = lowd.ClassicalMDS(2).fit(X)
    for call, given in (
        (model.inverse_transform, model.transform(X)),
        (model.residual, X),
        (
            lowd.KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit(X).inverse_transform,
            model.transform(X),
        ),
    ):
        result, refusal = attempt(call, _counted(given, seen))
        assert not seen
        if refusal is None:
            assert isinstance(result, da.Array)
            close(result.compute(scheduler="sync"), call(given))
            seen.clear()


def test_moments_merge_in_a_fixed_order():
    """The same bits from any scheduler."""
    lazy = da.from_array(rows_like(400, 5), chunks=(23, 5))
    import dask

    bits = []
    for scheduler in ("sync", "threads"):
        with dask.config.set(scheduler=scheduler):
            bits.append(lowd.PCA(2).fit(lazy).components_)
    same_bits(*bits)
