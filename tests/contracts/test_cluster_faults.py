"""Faults on a cluster of processes: killed workers, blocks that raise, little memory."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

import lowd
from cases import rows_like, same_bits
from lowd.errors import ClusterError, DataError
from lowd.input import blocks as row_blocks
from lowd.io.block_dataset import BlockDataset

da = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")
dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pl = pytest.importorskip("polars")
WORKER_MEMORY = "600MB"
X = rows_like(1200, 5)


def start_cluster(n_workers):
    return distributed.LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        memory_limit=WORKER_MEMORY,
    )


@pytest.fixture(scope="module")
def cluster():
    patience = {"distributed.comm.timeouts.connect": "300s"}  # of a busy machine
    with (
        dask.config.set(patience),
        start_cluster(2) as workers,
        distributed.Client(workers, timeout="300s") as client,
    ):
        yield client


def _killing(mark):
    """The rows in blocks, one of which kills the worker that reads it for the first time."""

    def read(rows, block_info=None):
        if block_info and block_info[0]["chunk-location"][0] == 5 and not os.path.exists(mark):
            Path(mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return rows

    return da.from_array(X, chunks=(100, 5)).map_blocks(read, meta=np.empty((0, 0)))


@pytest.mark.usefixtures("cluster")
def test_a_worker_that_is_killed_changes_nothing(tmp_path):
    calm = da.from_array(X, chunks=(100, 5))
    with dask.config.set(scheduler="sync"):
        expected = lowd.PCA(2).fit(calm)
    model = lowd.PCA(2).fit(_killing(tmp_path / "fit"))
    assert (tmp_path / "fit").exists()
    same_bits(model.components_, expected.components_)
    same_bits(model.explained_variance_, expected.explained_variance_)
    found = model.transform(_killing(tmp_path / "transform")).compute()
    assert (tmp_path / "transform").exists()
    same_bits(found, expected.transform(X))


@pytest.mark.usefixtures("cluster")
def test_a_worker_that_is_killed_while_it_writes(tmp_path):
    blocks = row_blocks.RowBlocks.of(_killing(tmp_path / "write"))
    model = lowd.PCA(2).fit(X)
    dataset = BlockDataset.start(tmp_path / "out", {}, force=False)
    assert dataset.write(blocks, model) == 12
    assert (tmp_path / "write").exists()
    whole = pl.concat([pl.read_parquet(dataset.part(i)) for i in range(12)])
    same_bits(whole.select("pca0", "pca1").to_numpy(), model.transform(X))


@pytest.mark.usefixtures("cluster")
def test_neighbors_of_blocks_on_workers(tmp_path):
    np.save(tmp_path / "x.npy", X)
    expected = lowd.neighbors(X, 6)
    found = lowd.neighbors(lowd.open_blocks(tmp_path / "x.npy", block_rows=400), 6)
    same_bits(found.indices, expected.indices)


@pytest.mark.usefixtures("cluster")
def test_a_block_that_raises_is_named(tmp_path):
    bad = X.copy()
    bad[777, 3] = np.inf
    np.save(tmp_path / "x.npy", bad)
    blocks = lowd.open_blocks(tmp_path / "x.npy", block_rows=100)
    with pytest.raises(DataError, match=r"inf at row 777, column 3 \(block 7, row 777 of .*x.npy"):
        lowd.PCA(2).fit(blocks)
    with pytest.raises(DataError, match=r"row 777, column 3 \(block 7"):
        lowd.PCA(2).fit(X).transform(blocks).compute()
    (tmp_path / "x.npy").unlink()
    with pytest.raises(DataError, match=r"block \d+ \(.*x.npy\) cannot be read: FileNotFoundError"):
        lowd.PCA(2).fit(blocks)


@pytest.mark.usefixtures("cluster")
def test_data_larger_than_the_memory_of_all_workers():
    """1.6 GB in two workers of 600 MB; the variances are those of the columns."""
    lazy = da.ones((2_000_000, 100), chunks=(20_000, 100)) * (
        da.arange(2_000_000, chunks=20_000)[:, None] % 7
    )
    model = lowd.PCA(1).fit(lazy)
    variance = 100 * np.var(np.arange(2_000_000) % 7, ddof=1)
    np.testing.assert_allclose(model.explained_variance_, [variance], rtol=1e-10)


def test_no_scheduler_at_an_address(monkeypatch):
    monkeypatch.setattr(row_blocks, "CONNECT_SECONDS", 1)
    refused = pytest.raises(ClusterError, match=r"no scheduler at tcp://127.0.0.1:9")
    with refused, row_blocks.connect("tcp://127.0.0.1:9"):
        pass
