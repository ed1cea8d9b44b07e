"""A cluster of processes: the answers of memory, also where workers are killed or blocks raise."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial, partialmethod
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import lowd
from case_data import rows_like
from cases import BY_NAME, close, fit, same_bits
from lowd import progress, tasks
from lowd.blocks import RowBlocks, connect
from lowd.cli import streaming
from lowd.errors import Cancelled, ClusterError, ClusterWarning, DataError
from lowd.io.block_dataset import BlockDataset
from lowd.spaces import BlockRows, blocked

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


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    """No warning of workers that start again slowly, on a busy machine."""
    monkeypatch.setattr(tasks.Watch, "silent", 600)


@pytest.fixture
def _small_runs(monkeypatch):
    """Blocks of few rows are not read into memory as a whole."""
    monkeypatch.setattr(blocked, "RUN_BYTES", 10_000)


def _killing(mark):
    """The rows in blocks, one of which kills the worker that reads it for the first time."""

    def read(rows, block_info=None):
        if block_info and block_info[0]["chunk-location"][0] == 5 and not os.path.exists(mark):
            Path(mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return rows

    return da.from_array(X, chunks=(100, 5)).map_blocks(read, meta=np.empty((0, 0)))


@pytest.mark.usefixtures("cluster", "_small_runs")
@pytest.mark.parametrize(
    "model",
    [
        lowd.Isomap(2, n_neighbors=10, n_landmarks=40),
        lowd.UMAP(n_epochs=30),
        lowd.LocallyLinearEmbedding(2, n_neighbors=10),
    ],
    ids=lambda model: type(model).__name__,
)
def test_two_processes_give_the_bits_of_memory(model, tmp_path):
    """Of rows in a file that the workers read, and of an array that is sent to them."""
    rows, new = X[:700], X[700:740]
    expected = clone(model).fit(rows)
    placed = expected.transform(new)
    np.save(tmp_path / "x.npy", rows)
    lazy = da.from_array(rows, chunks=(90, 5))
    for source in (lowd.open_blocks(tmp_path / "x.npy", block_rows=90), lazy):
        found = clone(model).fit(source)
        same_bits(found.embedding_, expected.embedding_)
        same_bits(found.transform(da.from_array(new, chunks=(9, 5))).compute(), placed)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    "model",
    [lowd.PCA(0.9, whiten=True), lowd.HadamardRandomProjection(3, random_state=0)],
    ids=lambda model: type(model).__name__,
)
def test_linear_maps_are_those_of_memory(model):
    expected, lazy = clone(model).fit(X), da.from_array(X, chunks=(250, 3))
    close(clone(model).fit(lazy).transform(lazy).compute(), expected.transform(X))


@pytest.mark.parametrize("name", ["MDS-manhattan", "MDS-landmarks", "KernelPCA-rbf", "Sparse"])
def test_every_kind_of_map_travels_to_the_workers(cluster, name):
    rows, new = BY_NAME[name].data()
    model = fit(BY_NAME[name].model(), rows)
    lazy = model.transform(da.from_array(new, chunks=(6, 7)))
    close(cluster.compute(lazy).result(), model.transform(new))


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


@pytest.mark.usefixtures("cluster", "_small_runs")
def test_a_worker_that_is_killed_does_not_change_a_descent(tmp_path):
    model = lowd.UMAP(n_epochs=30)
    expected = clone(model).fit(X)
    same_bits(clone(model).fit(_killing(tmp_path / "fit")).embedding_, expected.embedding_)
    assert (tmp_path / "fit").exists()


@pytest.mark.usefixtures("cluster")
def test_a_worker_that_is_killed_while_it_writes(tmp_path):
    blocks = RowBlocks.of(_killing(tmp_path / "write"))
    model = lowd.PCA(2).fit(X)
    dataset = BlockDataset.start(tmp_path / "out", {}, force=False)
    assert dataset.write(blocks, model) == 12
    assert (tmp_path / "write").exists()
    whole = pl.concat([pl.read_parquet(dataset.part(i)) for i in range(12)])
    same_bits(whole.select("pca0", "pca1").to_numpy(), model.transform(X))


@pytest.mark.usefixtures("cluster")
def test_neighbors_of_blocks_on_workers(tmp_path, monkeypatch):
    monkeypatch.setattr(blocked, "RUN_BYTES", 400 * 5 * 8)
    np.save(tmp_path / "x.npy", X)
    expected = lowd.neighbors(X, 6)
    found = lowd.neighbors(lowd.open_blocks(tmp_path / "x.npy", block_rows=400), 6)
    same_bits(found.indices, expected.indices)


@pytest.mark.usefixtures("cluster")
def test_cells_of_neighbors_on_workers_one_of_which_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(BlockRows, "nearest", partialmethod(BlockRows.nearest, most_exact=500))
    with dask.config.set(scheduler="sync"):
        expected = lowd.neighbors(da.from_array(X, chunks=(100, 5)), 6)
    found = lowd.neighbors(_killing(tmp_path / "neighbors"), 6)
    assert (tmp_path / "neighbors").exists()
    same_bits(found.indices, expected.indices)
    same_bits(found.distances, expected.distances)


def test_a_block_that_raises_is_named(cluster, tmp_path):
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
    assert cluster.submit(abs, -1).result() == 1  # the workers are well


@pytest.mark.usefixtures("cluster")
def test_data_larger_than_the_memory_of_all_workers():
    """1.6 GB in two workers of 600 MB; the variances are those of the columns."""
    lazy = da.ones((2_000_000, 100), chunks=(20_000, 100)) * (
        da.arange(2_000_000, chunks=20_000)[:, None] % 7
    )
    model = lowd.PCA(1).fit(lazy)
    variance = 100 * np.var(np.arange(2_000_000) % 7, ddof=1)
    np.testing.assert_allclose(model.explained_variance_, [variance], rtol=1e-10)


# -- the command line -------------------------------------------------------------------------


@pytest.fixture
def command(capfd):
    """Run `lowd ...` in this process; its scheduler and workers are others."""
    from lowd.cli import main

    def run(*args):
        capfd.readouterr()
        code = main([str(arg) for arg in args])
        return code, capfd.readouterr()

    return run


@pytest.mark.parametrize("how", ["address", "host and port", "scheduler file"])
def test_a_command_on_an_existing_cluster(cluster, command, tmp_path, how):
    """As `lowd map --cluster`: the files and numbers of a run without it."""
    address = cluster.scheduler.address
    if how == "scheduler file":
        address = str(tmp_path / "scheduler.json")
        Path(address).write_text(json.dumps({"address": cluster.scheduler.address}))
    elif how == "host and port":
        address = address.removeprefix("tcp://")
    pl.DataFrame(dict(zip("abcde", X.T, strict=True))).write_parquet(tmp_path / "x.parquet")
    out = tmp_path / "out"
    code, said = command(
        *("map", tmp_path / "x.parquet", "-m", "pca", "--cluster", address, "-o", out, "--json")
    )
    assert code == 0, said.err
    assert json.loads(said.out)["n_written"] == 1
    found = pl.read_parquet(out / "part-000000.parquet").select("pca0", "pca1").to_numpy()
    close(found, lowd.PCA(2).fit_transform(X))


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("nowhere.json", "there is no scheduler file nowhere.json"),
        ("x.npy", "is not a scheduler file"),
        ("tcp://127.0.0.1:9", "no scheduler at tcp://127.0.0.1:9"),
        ("127.0.0.1:9", "no scheduler at 127.0.0.1:9"),
    ],
)
def test_what_is_no_cluster_is_said_at_once(command, tmp_path, monkeypatch, address, message):
    """distributed waits for ever for a scheduler file that is not there."""
    monkeypatch.setattr(streaming, "connect", partial(connect, timeout=1))
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", X)
    code, said = command("map", "x.npy", "-m", "pca", "--cluster", address, "-o", "out")
    assert code != 0
    assert message in said.err


def test_a_cluster_without_workers_is_said(monkeypatch):
    monkeypatch.setattr(tasks.Watch, "silent", 0.3)
    monkeypatch.setattr(tasks.Watch, "patience", 0.5)
    how = {"n_workers": 0, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**how) as nobody, distributed.Client(nobody):
        lazy = da.from_array(X, chunks=(300, 5))
        with (
            pytest.warns(ClusterWarning, match="no worker; start some"),
            pytest.raises(ClusterError, match="computes nothing: it has no worker"),
        ):
            lowd.PCA(2).fit(lazy)


# -- a scheduler that goes away ---------------------------------------------------------------


@pytest.fixture
def scheduler(tmp_path):
    """A scheduler with a worker, each a process of its own; yields (process, its file)."""
    file, started = tmp_path / "scheduler.json", []

    def start(*args):
        run = [sys.executable, "-m", "distributed.cli.dask_" + args[0], *args[1:], "--no-dashboard"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        started.append(subprocess.Popen(run, **quiet))
        return started[-1]

    try:
        process = start("scheduler", "--port", "0", "--scheduler-file", str(file))
        # One thread may be the one that waits for the file of `_make_waiting_blocks`.
        start("worker", "--scheduler-file", str(file), "--nthreads", "2", "--no-nanny")
        while not (file.exists() and file.stat().st_size):
            assert process.poll() is None
            time.sleep(0.01)
        yield process, str(file)
    finally:
        for process in started:
            process.kill()
            process.wait()


def _make_waiting_blocks(release_file):
    """The rows in blocks, the tenth of which waits for a file."""

    def read(rows, block_info=None):
        if block_info and block_info[0]["chunk-location"][0] == 9:
            while not os.path.exists(release_file):
                time.sleep(0.01)
        return rows

    lazy = da.from_array(X, chunks=(100, 5)).map_blocks(read, meta=np.empty((0, 0)))
    return RowBlocks.of(lazy)


def _check_part_of_a_run(out):
    """Whole files and a manifest; how many files.

    A worker that was writing when nobody waited any longer may still be: names with a dot.
    """
    written = sorted(out.glob("part-*.parquet"))
    visible = {file.name for file in out.iterdir() if not file.name.startswith(".")}
    assert visible <= {"manifest.json", *(f"part-{i:06d}.parquet" for i in range(12))}
    assert {len(pl.read_parquet(file)) for file in written} == {100}
    assert "part-000009.parquet" not in visible
    assert not json.loads((out / "manifest.json").read_text())["complete"]
    return len(written)


def _finish(out, release_file, model, most):
    """The same run again, in this process: the blocks that are missing, and the same bits."""
    release_file.touch()
    with dask.config.set(scheduler="sync"):
        dataset = BlockDataset.start(out, {"rows": 1200}, force=False)
        assert 1 <= dataset.write(_make_waiting_blocks(release_file), model) <= most
    assert json.loads((out / "manifest.json").read_text())["complete"]
    whole = pl.concat([pl.read_parquet(dataset.part(i)) for i in range(12)])
    same_bits(whole.select("pca0", "pca1").to_numpy(), model.transform(X))


def test_a_scheduler_that_goes_away(scheduler, tmp_path):
    """An error that says so, whole files, and a run that is continued."""
    process, file = scheduler
    release_file, out, model = tmp_path / "release", tmp_path / "out", lowd.PCA(2).fit(X)

    def end(stage, _done, _total):
        if stage == "write" and process.poll() is None:
            process.kill()
            process.wait()

    with connect(file):
        dataset = BlockDataset.start(out, {"rows": 1200}, force=False)
        with (
            progress.listening(end),
            pytest.raises(ClusterError, match=r"scheduler .* was lost.*run the\s+same again"),
        ):
            dataset.write(_make_waiting_blocks(release_file), model)
        # And so does whatever is computed next, without waiting for it.
        with pytest.raises(ClusterError, match="was lost"):
            lowd.PCA(2).fit(da.from_array(X, chunks=(100, 5)))
    n_written = _check_part_of_a_run(out)
    assert n_written >= 1
    _finish(out, release_file, model, 12 - n_written)


@pytest.mark.usefixtures("cluster")
def test_a_run_on_a_cluster_that_is_cancelled(tmp_path):
    release_file, out, model = tmp_path / "release", tmp_path / "out", lowd.PCA(2).fit(X)

    def cancel(stage, _done, _total):
        if stage == "write":
            raise Cancelled("enough")

    dataset = BlockDataset.start(out, {"rows": 1200}, force=False)
    with progress.listening(cancel), pytest.raises(Cancelled):
        dataset.write(_make_waiting_blocks(release_file), model)
    n_written = _check_part_of_a_run(out)
    assert n_written >= 1
    _finish(out, release_file, model, 12 - n_written)
