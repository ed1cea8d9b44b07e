"""Rows in blocks: all rows are embedded, with the bits of memory, whatever the blocks.

On a cluster of processes: test_cluster_faults.py.
"""

from __future__ import annotations

import pickle
import warnings
from functools import partial, partialmethod

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

import lowd
from cases import close, same_bits
from lowd import progress
from lowd.blocks import BlockReader, RowBlocks
from lowd.errors import (
    ApproximationWarning,
    DataError,
    ParameterError,
    UnsupportedError,
)
from lowd.spaces import BlockRows, Rows, blocked, space_of

da = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")
dask = pytest.importorskip("dask")

MODELS = {
    "ClassicalMDS": lowd.ClassicalMDS(2, metric="manhattan"),
    "ClassicalMDS, landmarks": lowd.ClassicalMDS(2, metric="cosine", n_landmarks=50),
    "MDS": lowd.MDS(2, metric="manhattan", max_iter=20),
    "Isomap": lowd.Isomap(2, n_neighbors=10),
    "Isomap, landmarks": lowd.Isomap(2, n_neighbors=10, n_landmarks=40),
    "Isomap, radius": lowd.Isomap(2, n_neighbors=None, radius=3.0),
    "LLE": lowd.LocallyLinearEmbedding(2, n_neighbors=10),
    "LTSA": lowd.LTSA(2, n_neighbors=10),
    "LaplacianEigenmaps": lowd.LaplacianEigenmaps(2, n_neighbors=10),
    "TSNE": lowd.TSNE(2, perplexity=15, max_iter=100),
    "UMAP": lowd.UMAP(n_epochs=50),
}
LINEAR = {
    "PCA": lowd.PCA(2),
    "PCA, white and scaled": lowd.PCA(0.8, whiten=True, scale=True),
    "ClassicalMDS, rows": lowd.ClassicalMDS(2),
}
SIZES = ((250, 17, 4000), (700, 100, 10_000))  # of the data, of a block, of a run in bytes

every_model = pytest.mark.parametrize("name", MODELS)
every_size = pytest.mark.parametrize(("n", "size", "run"), SIZES)


def rows(n, seed=0, dtype=np.float64):
    """A rolled-up sheet, with ties in one column and some equal rows."""
    rng = np.random.default_rng(seed)
    t = 4 + 9 * rng.random(n)
    X = np.c_[t * np.cos(t), 12 * rng.random(n), t * np.sin(t), rng.normal(size=(n, 2)).round(1)]
    X[10:20] = X[n // 2]
    return X.astype(dtype)


def fit(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(X)


def lazy(X, size):
    return da.from_array(X, chunks=(size, 3))


@pytest.fixture
def _small_runs(monkeypatch):
    """Blocks of few rows are not read into memory as a whole."""
    monkeypatch.setattr(blocked, "RUN_BYTES", 10_000)


# -- the same bits as in memory -------------------------------------------------------------------


@every_size
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_a_space_of_blocks_answers_as_in_memory(n, size, run, metric, dtype, monkeypatch):
    monkeypatch.setattr(blocked, "RUN_BYTES", run)
    X, Q = rows(n, dtype=dtype), rows(9, 1, dtype)
    whole, parts = space_of(X, metric), space_of(RowBlocks(lazy(X, size)), metric)
    some = np.random.default_rng(1).permutation(n)[: n * 9 // 10]
    assert isinstance(parts.take(some), BlockRows)
    label = (X[:, 1] > 5).astype(int) + 2 * (X[:, 1] > 9)
    same_bits(whole.order(), parts.order())
    for a, b in (
        (whole.nearest(15), parts.nearest(15)),
        (whole.take(some).nearest(15), parts.take(some).nearest(15)),  # ties by number
        (whole.query(Q, 15), parts.query(Q, 15)),
        (whole.query(X[some], 3), parts.query(parts.X.take(some), 3)),
        (whole.within(0.5), parts.within(0.5)),
        (whole.within(2.0, Q), parts.within(2.0, Q)),
    ):
        for one, other in zip(a[:3], b[:3], strict=True):
            same_bits(one, other)
    same_bits(whole.distances(np.arange(5, 9)), parts.distances(np.arange(5, 9)))
    same_bits(whole.pairwise(), parts.pairwise())
    points = np.flatnonzero(label > 0)
    found = [lowd.spaces.nearest_outside(space, points, label) for space in (whole, parts)]
    close(found[0][1], found[1][1], dtype)


@every_size
@every_model
def test_a_fit_of_blocks_is_that_in_memory(name, n, size, run, monkeypatch):
    X, Q = rows(n), rows(40, 1)
    whole = fit(MODELS[name], X)
    monkeypatch.setattr(blocked, "RUN_BYTES", run)
    model = fit(MODELS[name], lazy(X, size))
    same_bits(model.embedding_, whole.embedding_)
    expected = whole.transform(Q, return_confidence=True)
    for one, other in zip(expected, model.transform(Q, return_confidence=True), strict=True):
        same_bits(one, other)
    with dask.config.set(scheduler="threads"):
        found = dask.compute(*model.transform(lazy(Q, 9), return_confidence=True))
    for one, other in zip(expected, found, strict=True):
        same_bits(one, other)


@every_model
@pytest.mark.usefixtures("_small_runs")
def test_float32_stays(name):
    X, Q = rows(1200, dtype=np.float32), rows(20, 1, np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocked, "RUN_BYTES", 2**26)
        whole = fit(MODELS[name], X)
    model = fit(MODELS[name], lazy(X, 200))
    assert model.embedding_.dtype == np.float32
    same_bits(model.embedding_, whole.embedding_)
    same_bits(model.transform(lazy(Q, 7)).compute(), whole.transform(Q))


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.usefixtures("_small_runs")
def test_sums_over_blocks_are_those_in_memory_but_for_rounding(name, dtype):
    X, Q = rows(1200, dtype=dtype), rows(40, 1, dtype)
    whole, model = fit(LINEAR[name], X), fit(LINEAR[name], lazy(X, 70))
    close(model.transform(Q), whole.transform(Q), dtype)
    same_bits(model.transform(lazy(Q, 7)).compute(), model.transform(Q))


@pytest.mark.usefixtures("_small_runs")
def test_every_source_gives_the_same(tmp_path):
    pl = pytest.importorskip("polars")
    X, Q = rows(600), rows(20, 1)
    np.save(tmp_path / "x.npy", X)
    for part in range(3):
        table = dict(zip("abcde", X[200 * part : 200 * part + 200].T, strict=True))
        pl.DataFrame(table).write_parquet(tmp_path / f"{part}.parquet")
    unknown = lazy(X, 90)[da.ones(600, chunks=90, dtype=bool)]
    expected = fit(lowd.UMAP(n_epochs=30), X)
    for source in (
        lowd.open_blocks(tmp_path / "x.npy", block_rows=130),
        lowd.open_blocks(np.load(tmp_path / "x.npy", mmap_mode="r"), block_rows=130),
        lowd.open_blocks(tmp_path, block_rows=130),
        lowd.open_blocks([X[:200], X[200:200], X[200:]]),
        unknown,
    ):
        model = fit(lowd.UMAP(n_epochs=30), source)
        same_bits(model.embedding_, expected.embedding_)
        copied = pickle.loads(pickle.dumps(model))
        same_bits(copied.transform(lazy(Q, 7)).compute(), expected.transform(Q))


@pytest.mark.usefixtures("_small_runs")
def test_sparse_blocks():
    X = np.where((A := rows(300)) > 2, A, 0)
    lists = [csr_array(X[:140]), csr_array(X[140:])]
    expected = fit(lowd.Isomap(2, n_neighbors=10), csr_array(X))
    model = fit(lowd.Isomap(2, n_neighbors=10), lowd.open_blocks(lists))
    close(model.embedding_, expected.embedding_, factor=1e3)


@pytest.mark.usefixtures("_small_runs")
def test_given_neighbors_of_blocks():
    X = rows(300)
    near = space_of(X).nearest(20).table
    expected = lowd.UMAP(n_epochs=30).fit(X, neighbors=near)
    model = lowd.UMAP(n_epochs=30).fit(lazy(X, 70), neighbors=near)
    same_bits(model.embedding_, expected.embedding_)


@pytest.mark.usefixtures("_small_runs")
def test_ties_are_neighbors_as_in_memory():
    X = np.random.default_rng(0).integers(0, 6, (500, 4)).astype(float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocked, "RUN_BYTES", 2**26)
        whole = fit(lowd.Isomap(2, n_neighbors=6), X)
    model = fit(lowd.Isomap(2, n_neighbors=6), lazy(X, 60))
    same_bits(model.graph_.toarray(), whole.graph_.toarray())
    same_bits(model.embedding_, whole.embedding_)


@pytest.mark.usefixtures("_small_runs")
def test_components_are_joined_as_in_memory():
    X = rows(400)
    X[:, 1] += 100 * (np.arange(400) % 3)
    with pytest.warns(lowd.errors.DisconnectedGraphWarning):
        whole = lowd.Isomap(2, n_neighbors=8).fit(space_of(X).X)
    with pytest.warns(lowd.errors.DisconnectedGraphWarning):
        model = lowd.Isomap(2, n_neighbors=8).fit(lazy(X, 60))
    same_bits(model.bridges_, whole.bridges_)
    close(model.embedding_, whole.embedding_)


@pytest.mark.usefixtures("_small_runs")
def test_progress_and_cancellation_between_blocks():
    X, model, seen = rows(1000), fit(MODELS["UMAP"], rows(100)), []
    before = model.transform(X)

    def stop(stage, done, total):
        seen.append((stage, done, total))
        if stage == "neighbors" and done == 1 < total:
            raise KeyboardInterrupt

    with progress.listening(stop), pytest.raises(KeyboardInterrupt):
        model.fit(lazy(X, 50))
    assert seen[-1][0] == "neighbors"
    same_bits(model.transform(X), before)


# -- one block at a time --------------------------------------------------------------------------


def test_views_of_blocks_read_nothing():
    X, reads = rows(100), []

    def read(begin):
        reads.append(begin)
        return X[begin : begin + 30]

    readers = [BlockReader(partial(read, i), min(30, 100 - i), "f", i) for i in range(0, 100, 30)]
    blocks = RowBlocks.from_readers(readers, 5, X.dtype)
    order = np.random.default_rng(0).permutation(100)[:50]
    with dask.config.set(scheduler="sync"):
        some = blocks.take(order).astype(np.float32).take(np.arange(20))
        assert not reads
        same_bits(some.in_memory(), X[order[:20]].astype(np.float32))
        reads.clear()
        same_bits(blocks[np.array([95, 31, 40])], X[[95, 31, 40]])
        assert sorted(reads) == [30, 90]
        drawn = blocks.draw(12)
        same_bits(drawn.items, X[drawn.row_indices])
    same_bits(drawn.row_indices, RowBlocks(lazy(X, 7)).draw(12).row_indices)


@pytest.mark.usefixtures("_small_runs")
def test_confidence_and_coordinates_are_computed_once(monkeypatch):
    X, calls = rows(300), []
    model = fit(lowd.Isomap(2, n_neighbors=10), lazy(X, 70))
    transform = type(model)._transform

    def counted(self, Q):
        calls.append(len(Q))
        return transform(self, Q)

    monkeypatch.setattr(type(model), "_transform", counted)
    with dask.config.set(scheduler="sync"):
        dask.compute(*model.transform(lazy(X[:40], 10), return_confidence=True))
    assert sum(calls) == 40


@pytest.mark.usefixtures("_small_runs")
def test_calibration_and_inverse_over_blocks():
    X, Q = rows(300), rows(10, 1)
    model = fit(lowd.PCA(2), lazy(X, 70)).calibrate_confidence(lazy(X, 70))
    assert 0 < len(model.left_out_.kept) <= 180
    Y = model.transform(Q)
    back = model.inverse_transform(lazy(np.hstack([Y, Y])[:, :2], 3))
    assert isinstance(back, da.Array)
    same_bits(back.compute(), model.inverse_transform(Y))
    isomap = fit(lowd.Isomap(2, n_neighbors=10), lazy(X, 70))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(isomap.calibrate_confidence(lazy(X, 70)).left_out_.kept) == 180


@pytest.mark.usefixtures("_small_runs")
def test_a_model_file_holds_the_rows(tmp_path):
    X, Q = rows(300), rows(20, 1)
    model = fit(MODELS["UMAP"], lazy(X, 70))
    lowd.save(model, tmp_path / "model.lowd")
    loaded = lowd.load(tmp_path / "model.lowd")
    assert isinstance(getattr(loaded._space, "base", loaded._space), Rows)
    same_bits(loaded.transform(Q), model.transform(Q))


@pytest.mark.usefixtures("_small_runs")
def test_a_sample_is_fitted_where_it_is_asked_for():
    X, found = rows(1500), []
    for source in (lazy(X, 150), lazy(X, 77)):
        blocks = lowd.open_blocks(source, sample=300)
        model = lowd.Isomap(2, n_neighbors=8)
        with pytest.warns(ApproximationWarning, match="1500 rows in blocks is computed from 300"):
            coordinates = model.fit_transform(blocks)
        assert isinstance(coordinates, da.Array)
        found.append(model)
        expected = fit(lowd.Isomap(2, n_neighbors=8), X[model.sampled_rows_])
        same_bits(model.embedding_, expected.embedding_)
        same_bits(coordinates.compute(), expected.transform(X))
    assert len(found[0].sampled_rows_) == 300
    assert found[0].n_rows_ == 1500
    same_bits(found[0].sampled_rows_, found[1].sampled_rows_)
    assert 0.5 < model.extension_recall_ < model.sampled_recall_ + 0.1 <= 1.1
    assert not hasattr(fit(lowd.PCA(2), blocks), "sampled_rows_")  # which adds up all rows


def test_what_is_wrong_with_blocks_is_said(tmp_path):
    X = rows(60)
    bad = X.copy()
    bad[33, 2] = np.nan
    with pytest.raises(DataError, match=r"NaN at row 33, column 2 \(block 1\); drop or fill"):
        lowd.PCA(2).fit(lazy(bad, 20))
    np.save(tmp_path / "bad.npy", bad)
    files = lowd.open_blocks(tmp_path / "bad.npy", block_rows=20)
    with pytest.raises(DataError, match=r"row 33, column 2 \(block 1, row 33 of .*bad.npy"):
        lowd.PCA(2).fit(X).transform(files).compute()
    with pytest.raises(DataError, match=r"zero|length"):
        lowd.ClassicalMDS(2, metric="cosine").fit(lazy(X * 0, 20))
    with pytest.raises(UnsupportedError, match="takes distances here, and blocks hold rows"):
        lowd.MDS(2, metric="precomputed").fit(da.ones((20, 20)))
    with pytest.raises(ParameterError, match="sample=1: expected a whole number >= 2"):
        lowd.open_blocks(X, sample=1)
    with pytest.raises(DataError, match=r"4 features.*5"):
        lowd.PCA(2).fit(lazy(X, 20)).transform(lazy(X[:, :4], 20))
    wide = lazy(X, 20).map_blocks(lambda part: np.c_[part, part], meta=np.empty((0, 0)))
    model = lowd.PCA(2).fit(X)
    for call in (lowd.PCA(2).fit, lambda Q: model.transform(Q).compute()):
        with pytest.raises(DataError, match=r"block \d has the shape \(20, 10\).* 5 features"):
            call(wide)


def test_a_mask_in_a_block():
    X = np.ma.masked_array(rows(60), mask=False)
    shown = da.from_array(X, chunks=(20, 5), asarray=False)
    same_bits(lowd.PCA(2).fit(shown).components_, lowd.PCA(2).fit(X.data).components_)
    X = X.copy()
    X[33, 2] = np.ma.masked
    hidden = da.from_array(X, chunks=(20, 5), asarray=False)
    model = lowd.PCA(2).fit(X.data)
    for call in (lowd.PCA(2).fit, lambda Q: model.transform(Q).compute()):
        with pytest.raises(DataError, match="behind a mask, the first at row 33, column 2"):
            call(hidden)


# -- cells of very many rows ----------------------------------------------------------------------


@pytest.fixture
def _cells(monkeypatch):
    """A partition of few rows."""
    monkeypatch.setattr(blocked, "count_cells", lambda _: 16)
    monkeypatch.setattr(blocked, "count_centers", lambda n_cells: 16 * n_cells)


@pytest.mark.usefixtures("_small_runs", "_cells")
def test_cells_find_nearly_all_neighbors(dtype, monkeypatch):
    """The same neighbors for any blocks, and the recall that is measured is that of all rows."""
    X = np.random.default_rng(0).normal(size=(3000, 6)).astype(dtype)
    X[-4:] = X[0]
    expected = space_of(X).nearest(10)
    cut = [700, 700, 701, 2500]
    found = space_of(RowBlocks.of(lowd.open_blocks(np.split(X, cut)))).nearest(10, most_exact=500)
    lists, truth = found.table[0], expected.table[0]
    shared = np.mean([np.isin(a, b).mean() for a, b in zip(lists, truth, strict=True)])
    assert 0.99 <= found.recall <= 1
    assert abs(found.recall - shared) < 0.005
    assert (np.diff(found.table[1], axis=1) >= 0).all()
    assert (lists != np.arange(3000)[:, None]).all()
    assert all(len(set(row)) == 10 for row in lists)
    right = lists == truth
    close(found.table[1][right], expected.table[1][right], dtype)
    for source in (lazy(X, 450), lowd.open_blocks(X, block_rows=330)):
        again = space_of(RowBlocks.of(source)).nearest(10, most_exact=500)
        same_bits(again.indices, found.indices)
    monkeypatch.setattr(RowBlocks, "groups", partialmethod(RowBlocks.groups, apart=True))
    moved = space_of(RowBlocks(lazy(X, 450)))._nearest_in_cells(10)
    same_bits(moved.indices, found.indices)


@pytest.mark.usefixtures("_small_runs", "_cells")
def test_too_few_neighbors_are_warned_of(monkeypatch):
    """Noise in many columns has neighbors across many borders."""
    X = np.random.default_rng(0).normal(size=(2000, 30))
    space, truth = space_of(RowBlocks(lazy(X, 700))), space_of(X).nearest(10).table[0]
    least = partial(blocked.Partition.with_least_overlap, shared=0.6)
    monkeypatch.setattr(blocked.Partition, "with_least_overlap", lambda self, *a: least(self, *a))
    assert space.nearest(10, most_exact=500).recall >= 0.99
    with pytest.warns(ApproximationWarning, match=r"% of the nearest neighbors"):
        one = space._nearest_in_cells(10, partitions=1)
    assert one.recall < 0.9
    shared = np.mean([np.isin(a, b).mean() for a, b in zip(one.table[0], truth, strict=True)])
    assert abs(one.recall - shared) < 0.03
