"""`--memory`: data larger than memory are embedded block by block, and a run can be continued."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import lowd
from case_data import rows_like
from cases import close, same_bits
from lowd import progress
from lowd.errors import Cancelled, ExistingFileError, FileFormatError
from lowd.io.block_dataset import BlockDataset

pl = pytest.importorskip("polars")
dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
pytestmark = pytest.mark.usefixtures("folder")
X = rows_like(900, 3)
MEMORY = ("--memory", "1GB")


@pytest.fixture(autouse=True)
def _one_thread():
    with dask.config.set(scheduler="sync"):
        yield


@pytest.fixture
def big():
    Path("big").mkdir()
    for i, part in enumerate(np.array_split(X, 3)):
        frame = pl.DataFrame(dict(zip("abc", part.T, strict=True)))
        frame.write_parquet(f"big/{i}.parquet")
    return "big/*.parquet"


def read_parts(folder):
    files = sorted(Path(folder).glob("part-*.parquet"))
    return pl.concat([pl.read_parquet(file) for file in files])


def test_files_are_mapped_block_by_block_and_continued(lowd_command, big):
    ended = lowd_command("map", big, "-m", "pca", *MEMORY, "-o", "out/", "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert (found["n_samples"], found["n_blocks"], found["n_written"]) == (900, 3, 3)
    assert found["quality"]["measures"] or found["quality"]
    whole = read_parts("out")
    assert whole.columns == ["row", "pca0", "pca1"]
    same_bits(whole["row"].to_numpy(), np.arange(900))
    close(whole.select("pca0", "pca1").to_numpy(), lowd.PCA(2).fit_transform(X))
    Path("out/part-000001.parquet").unlink()
    os.truncate("out/part-000002.parquet", 100)
    pl.read_parquet("out/part-000000.parquet").head(7).write_parquet("out/part-000000.parquet")
    Path("out/.half.parquet").write_text("left by a process that was killed")
    again = ("map", big, "-m", "pca", *MEMORY, "-o", "out/", "--json", "--no-evaluate")
    ended = lowd_command(*again)
    assert json.loads(ended.out)["n_written"] == 3
    assert "not fitted again" in ended.err
    assert not Path("out/.half.parquet").exists()
    assert read_parts("out").equals(whole)
    assert json.loads(Path("out/manifest.json").read_text())["complete"]


def test_another_run_is_not_mixed_in(lowd_command, big):
    first = ("pca", big, *MEMORY, "-o", "out", "--no-evaluate")
    assert lowd_command(*first).code == 0
    ended = lowd_command(*first, "--n-components", "1")
    assert ended.code == 5
    assert "parameters differ" in ended.err
    ended = lowd_command(*first, "--n-components", "1", "--force")
    assert ended.code == 0, ended.err
    assert read_parts("out").columns == ["row", "pca0"]
    Path("other").mkdir()
    Path("other/mine.txt").write_text("x")
    ended = lowd_command("pca", big, *MEMORY, "-o", "other")
    assert ended.code == 5
    assert Path("other/mine.txt").exists()


def test_a_saved_model_transforms_blocks(lowd_command, big):
    model = lowd.PCA(2).fit(lowd.open_blocks("big"))
    lowd.save(model, "m.lowd")
    how = ("transform", big, "--model", "m.lowd", *MEMORY, "-o", "new", "--confidence", "--json")
    ended = lowd_command(*how)
    assert ended.code == 0, ended.err
    found = read_parts("new")
    Y, confidence = dask.compute(*model.transform(lowd.open_blocks("big"), return_confidence=True))
    same_bits(found.select("pca0", "pca1").to_numpy(), Y)
    same_bits(found["confidence"].to_numpy(), confidence)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "-m pca"),
        (("-m", "nothing"), "no method 'nothing'"),
        (("-m", "pca", "--label", "a"), "--label is not possible"),
        (("-m", "pca", "--plot", "p.png"), "--plot needs all rows"),
        (("-m", "pca", "-o", "-"), "-o out/"),
        (("-m", "pca", "--columns", "z"), "matches no column"),
    ],
    ids=["method", "unknown", "label", "plot", "stream", "column"],
)
def test_what_cannot_be_streamed_is_said(lowd_command, big, args, message):
    ended = lowd_command("map", big, *MEMORY, *args)
    assert ended.code in (2, 3)
    assert message in ended.err
    ended = lowd_command("map", big, "-m", "pca", "--memory", "lots")
    assert "'2GB'" in ended.err


def test_a_method_can_be_named_without_blocks(lowd_command):
    np.savetxt("x.csv", X[:60], delimiter=",", header="a,b,c", comments="")
    ended = lowd_command("map", "x.csv", "-m", "pca", "-o", "y.csv", "--json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["method"] == "PCA"


def test_a_cancelled_run_leaves_whole_files_and_a_manifest(big):
    """And goes on where it was: the same bits as of a run that nobody cancelled."""
    blocks = lowd.open_blocks(big, block_rows=50)
    model = lowd.PCA(2).fit(blocks)
    dataset = BlockDataset.start(Path("out"), {"rows": 900}, force=False)

    def cancel(stage, done, _total):
        if stage == "write" and done == 4:
            raise Cancelled("enough")

    with progress.listening(cancel), pytest.raises(Cancelled):
        dataset.write(blocks, model)
    written = sorted(Path("out").glob("part-*.parquet"))
    assert 0 < len(written) < blocks.n_blocks
    assert {len(pl.read_parquet(file)) for file in written} == {50}
    assert not json.loads(Path("out/manifest.json").read_text())["complete"]
    dataset = BlockDataset.start(Path("out"), {"rows": 900}, force=False)
    assert dataset.write(blocks, model) == blocks.n_blocks - len(written)
    same_bits(
        read_parts("out").select("pca0", "pca1").to_numpy(), model.transform(blocks).compute()
    )


def test_few_rows_are_all_fitted(lowd_command, big):
    """Kernel PCA of all rows, which are few here; the memory that it needs is known."""
    kernel = ("--kernel", "rbf", "--gamma", "0.1")
    ended = lowd_command("kernel-pca", big, *kernel, *MEMORY, "-o", "out", "--no-evaluate")
    assert ended.code == 0, ended.err
    expected = lowd.KernelPCA(2, kernel="rbf", gamma=0.1).fit_transform(X)
    found = read_parts("out").select("kernelpca0", "kernelpca1").to_numpy()
    close(found, expected, factor=1e3)


def test_a_sample_is_fitted_or_all_rows(lowd_command, big):
    how = ("isomap", big, "--n-neighbors", "12", *MEMORY, "--no-evaluate")
    ended = lowd_command(*how, "--sample", "200", "-o", "some")
    assert ended.code == 0, ended.err
    assert "900 rows in blocks is computed from 200" in ended.err
    model = lowd.load("some/model.lowd")
    found = read_parts("some").select("isomap0", "isomap1").to_numpy()
    same_bits(found, model._without_names().transform(X))
    ended = lowd_command(*how, "--sample", "0", "-o", "all")
    assert ended.code == 0, ended.err
    found = read_parts("all").select("isomap0", "isomap1").to_numpy()
    same_bits(found, lowd.Isomap(2, n_neighbors=12).fit(X).embedding_)
    ended = lowd_command("isomap", "big/0.parquet", "--sample", "100")
    assert "--memory or --cluster as well" in ended.err


def test_a_damaged_manifest_is_said():
    Path("out").mkdir()
    Path("out/manifest.json").write_text("{")
    with pytest.raises(FileFormatError, match="damaged"):
        BlockDataset.start(Path("out"), {}, force=True)
    Path("file").write_text("")
    with pytest.raises(ExistingFileError):
        BlockDataset.start(Path("file"), {}, force=False)
