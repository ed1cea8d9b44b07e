"""Embeddings are written with identifiers and labels, completely or not at all."""

from __future__ import annotations

import gzip
import io
import os

import numpy as np
import pandas as pd
import pytest

import lowd
from lowd.errors import DataError, ExistingFileError, MissingFileError, ParameterError


@pytest.fixture
def table(rng):
    data = lowd.io.Table(
        rng.normal(size=(5, 4)),
        ids=np.array(list("abcde")),
        labels=np.array([0, 1, 0, 1, 1]),
        id_name="sample",
        label_name="class",
    )
    model = lowd.PCA(2).fit(data.X)
    names = model.get_feature_names_out()
    return data.with_embedding(model.transform(data.X), names, {"trust": np.linspace(0, 1, 5)})


READERS = {
    "csv": pd.read_csv,
    "tsv": lambda path: pd.read_csv(path, sep="\t"),
    "csv.gz": pd.read_csv,
    "csv.bz2": pd.read_csv,
    "csv.xz": pd.read_csv,
    "parquet": pd.read_parquet,
    "feather": pd.read_feather,
    "arrow": pd.read_feather,
    "jsonl": lambda path: pd.read_json(path, lines=True),
}


@pytest.mark.parametrize("suffix", READERS)
def test_others_read_what_is_written(tmp_path, table, suffix):
    path = tmp_path / f"map.{suffix}"
    lowd.io.write(path, table)
    frame = READERS[suffix](path)
    assert list(frame.columns) == ["sample", "class", "pca0", "pca1", "trust"]
    np.testing.assert_allclose(frame[["pca0", "pca1"]], table.X, rtol=1e-12)
    assert frame["sample"].tolist() == list("abcde")
    assert os.listdir(tmp_path) == [path.name]
    back = lowd.io.read(path)
    assert back.columns == ("pca0", "pca1")
    np.testing.assert_allclose(back.extra["trust"], np.linspace(0, 1, 5))


def test_arrays_and_standard_output(tmp_path, table, monkeypatch):
    lowd.io.write(tmp_path / "map.npy", table)
    np.testing.assert_array_equal(np.load(tmp_path / "map.npy"), table.X)
    lowd.io.write(tmp_path / "map.npz", table)
    back = lowd.io.read(tmp_path / "map.npz")
    assert back.columns == ("pca0", "pca1")
    assert back.ids.tolist() == list("abcde")
    assert "trust" in back.extra

    class Pipe:
        buffer = io.BytesIO()

    monkeypatch.setattr("sys.stdout", Pipe)
    lowd.io.write("-", table, format="csv")
    assert Pipe.buffer.getvalue().startswith(b"sample,class,pca0,pca1,trust\n")


def test_a_file_is_kept_unless_forced(tmp_path, table):
    path = tmp_path / "map.csv"
    path.write_text("precious")
    with pytest.raises(ExistingFileError, match="force"):
        lowd.io.write(path, table)
    assert path.read_text() == "precious"
    lowd.io.write(path, table, force=True)
    assert path.read_text().startswith("sample,")
    assert os.listdir(tmp_path) == ["map.csv"]


@pytest.mark.parametrize("force", [True, False])
@pytest.mark.parametrize("failure", [KeyboardInterrupt, RuntimeError])
def test_an_interrupt_leaves_nothing(tmp_path, failure, force):
    path = tmp_path / "map.csv"
    if force:
        path.write_text("precious")

    def put(beside):
        beside.write_text("half")
        raise failure

    with pytest.raises(failure):
        lowd.io.replace_file(path, put, force)
    assert os.listdir(tmp_path) == (["map.csv"] if force else [])
    assert not force or path.read_text() == "precious"


def test_a_file_that_appears_meanwhile_is_kept(tmp_path):
    path = tmp_path / "map.csv"

    def put(beside):
        beside.write_text("ours")
        path.write_text("theirs")

    with pytest.raises(ExistingFileError):
        lowd.io.replace_file(path, put, False)
    assert path.read_text() == "theirs"
    assert os.listdir(tmp_path) == ["map.csv"]


def test_bad_targets(tmp_path, table):
    with pytest.raises(MissingFileError, match="does not exist; create it"):
        lowd.io.write(tmp_path / "no" / "map.csv", table)
    (tmp_path / "link.csv").symlink_to(tmp_path / "elsewhere.csv")
    with pytest.raises(ExistingFileError, match="is a link"):
        lowd.io.write(tmp_path / "link.csv", table, force=True)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ExistingFileError, match="is a folder"):
        lowd.io.write(tmp_path / "folder.csv", table, force=True)
    for name in ("map.xyz", "map", "map.parquet.gz"):
        with pytest.raises(ParameterError):
            lowd.io.write(tmp_path / name, table)
    with pytest.raises(DataError, match="4 rows, but the data have 5"):
        table.with_embedding(np.zeros((4, 2)), ["a", "b"])
    assert sorted(os.listdir(tmp_path)) == ["folder.csv", "link.csv"]


def test_packed_output_is_the_same_text(tmp_path, table):
    lowd.io.write(tmp_path / "map.csv", table)
    lowd.io.write(tmp_path / "map.csv.gz", table)
    packed = gzip.decompress((tmp_path / "map.csv.gz").read_bytes())
    assert packed == (tmp_path / "map.csv").read_bytes()
