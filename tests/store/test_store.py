"""Models on disk: what is stored, and written completely or not at all."""

from __future__ import annotations

import io
import json
import os
import signal
import stat
import subprocess
import sys
import textwrap
import zipfile

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline

import lowd
from case_data import rows_like
from cases import same_bits
from lowd import store
from lowd.errors import StoreError, UnsupportedError


def test_the_file_is_one_zip_of_numbers_and_json(stored):
    model, _, path = stored
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        assert names[0] == "model.json"
        tree = json.loads(archive.read("model.json"))
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
        for name in names[1:]:
            array = np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
            assert array.dtype.kind in "fiub"
    assert tree["class"] == type(model).__name__
    assert tree["format"] == store.FORMAT
    assert tree["lowd"] == lowd.__version__
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_an_array_is_stored_once(tmp_path):
    """Components, map and inverse of a projection share their numbers with the file."""
    model = lowd.GaussianRandomProjection(300, random_state=0).fit(np.ones((3, 1000)))
    lowd.save(model, tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < 2.2 * model.components_.nbytes


@pytest.mark.usefixtures("saved")
def test_permissions_are_those_of_any_new_file(tmp_path):
    (tmp_path / "other").touch()
    expected = stat.S_IMODE((tmp_path / "other").stat().st_mode)
    assert stat.S_IMODE((tmp_path / "model.lowd").stat().st_mode) == expected


def test_paths_of_any_kind(saved, tmp_path, monkeypatch):
    model, _, _ = saved
    monkeypatch.chdir(tmp_path)
    for path in ("plain", os.path.join(".", "with space ü.lowd"), tmp_path / "a path"):
        lowd.save(model, path)
        assert isinstance(lowd.load(path), lowd.PCA)


def test_no_such_file_or_folder(tmp_path, saved):
    with pytest.raises(FileNotFoundError, match="no model file"):
        lowd.load(tmp_path / "nothing")
    with pytest.raises((FileNotFoundError, StoreError)):
        lowd.load(tmp_path)
    with pytest.raises(OSError):
        lowd.save(saved[0], tmp_path / "no" / "such" / "folder")


NO_MODELS = ["text", None, np.ones(3), object(), make_pipeline(lowd.PCA(2)).fit(np.eye(4))]


def test_only_fitted_models_are_saved(tmp_path):
    with pytest.raises(UnsupportedError, match="call fit first"):
        lowd.save(lowd.PCA(2), tmp_path / "model")
    for thing in NO_MODELS:
        with pytest.raises(
            UnsupportedError, match=r"model of lowd.*; pickle it, or.*lowd\.Pipeline"
        ):
            lowd.save(thing, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_generator_becomes_the_seed_it_gave(tmp_path, rng):
    model = lowd.HadamardRandomProjection(2, random_state=rng).fit(rows_like(9))
    lowd.save(model, tmp_path / "model")
    assert lowd.load(tmp_path / "model").random_state == model.seed_


def test_a_loaded_model_can_be_fitted_continued_and_saved_again(tmp_path):
    X = rows_like(60, 5)
    lowd.save(lowd.PCA(2).partial_fit(X[:30]), tmp_path / "a")
    model = lowd.load(tmp_path / "a").partial_fit(X[30:])
    np.testing.assert_allclose(model.mean_, X.mean(0))
    lowd.save(model, tmp_path / "a")
    same_bits(lowd.load(tmp_path / "a").transform(X), model.transform(X))
    same_bits(lowd.load(tmp_path / "a").fit(X).transform(X), lowd.PCA(2).fit(X).transform(X))


def test_names_of_columns_are_kept(tmp_path):
    import pandas as pd

    X = pd.DataFrame(rows_like(20, 3), columns=["a", "ü", "c d"])
    lowd.save(lowd.PCA(2).fit(X), tmp_path / "model")
    twin = lowd.load(tmp_path / "model")
    assert list(twin.feature_names_in_) == ["a", "ü", "c d"]
    twin.transform(X)
    with pytest.raises(ValueError, match="feature names"):
        twin.transform(X[["c d", "a", "ü"]])


def test_loaded_arrays_are_read_only(stored):
    _, _, path = stored
    for name, learned in vars(lowd.load(path)).items():
        if isinstance(learned, np.ndarray) and learned.dtype != object:
            assert not learned.flags.writeable, name


# -- written completely, or not at all ------------------------------------------------------


@pytest.mark.parametrize(
    ("moment", "failure"),
    [
        *((moment, OSError("disk full")) for moment in ("before", "within", "sync", "rename")),
        ("within", KeyboardInterrupt()),
    ],
)
def test_a_failed_save_keeps_the_old_file(saved, monkeypatch, tmp_path, moment, failure):
    model, old, _ = saved
    path = tmp_path / "model.lowd"

    def fail(*_, **__):
        raise failure

    def write_half(file, *_):
        file.write(b"half of it")
        raise failure

    target = {
        "before": (store, "_write", fail),
        "within": (store, "_write", write_half),
        "sync": (os, "fsync", fail),
        "rename": (os, "replace", fail),
    }[moment]
    monkeypatch.setattr(*target)
    with pytest.raises(type(failure)):
        lowd.save(model, path)
    monkeypatch.undo()
    assert path.read_bytes() == old
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


_KILLED = """
    import sys, time
    import numpy as np
    import lowd
    from lowd import store

    model = lowd.PCA(3).fit(np.random.default_rng(1).normal(size=(20, 4)))

    def slowly(file, tree, arrays):
        file.write(b"PK")
        file.flush()
        print("writing", flush=True)
        time.sleep(60)

    store._write = slowly
    lowd.save(model, sys.argv[1])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGKILL")
def test_a_killed_save_keeps_the_old_file(saved, tmp_path):
    model, old, _ = saved
    path = tmp_path / "model.lowd"
    command = [sys.executable, "-c", textwrap.dedent(_KILLED), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline().strip() == b"writing"
        child.send_signal(signal.SIGKILL)
    assert path.read_bytes() == old
    same_bits(lowd.load(path).components_, model.components_)


def test_a_reader_sees_the_old_or_the_new_file(tmp_path):
    """While one thread saves again and again, every load is whole."""
    from concurrent.futures import ThreadPoolExecutor

    path = tmp_path / "model"
    models = [lowd.PCA(k).fit(rows_like(30, 5)) for k in (1, 2)]
    lowd.save(models[0], path)
    enough = 50  # writes and reads: whoever is done first goes on until the other is, too
    writes = reads = 0

    def write():
        nonlocal writes
        while writes < enough or reads < enough:
            lowd.save(models[writes % 2], path)
            writes += 1

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        try:
            while not writing.done():
                assert lowd.load(path).n_components in (1, 2)
                reads += 1
        finally:
            reads = enough  # the writer ends, whatever became of the reader
            writing.result()


def test_save_names_the_folder_that_is_missing(tmp_path):
    model = lowd.PCA(1).fit([[1.0, 2.0], [3.0, 5.0], [4.0, 4.0]])
    with pytest.raises(lowd.errors.MissingFileError, match=r"the folder .*none does not exist"):
        lowd.save(model, tmp_path / "none" / "m.lowd")
    with pytest.raises(lowd.errors.MissingFileError, match="no model file"):
        lowd.load(tmp_path / "m.lowd")


@pytest.mark.parametrize(
    "model",
    [lowd.LaplacianEigenmaps(n_landmarks=70), lowd.UMAP(n_landmarks=70, n_neighbors=8, n_epochs=9)],
    ids=["LaplacianEigenmaps", "UMAP"],
)
def test_models_with_duplicates_among_their_landmarks_load(model, tmp_path):
    X = np.tile(rows_like(40, 4), (2, 1))
    lowd.save(model.fit(X), tmp_path / "model.lowd")
    same_bits(
        lowd.load(tmp_path / "model.lowd").transform(X[:9] + 0.1), model.transform(X[:9] + 0.1)
    )


def _take(Q, X, model):
    """Rows, or their sparse distances to the eight nearest rows of X: all that is known."""
    if model.metric != "precomputed":
        return Q
    return NearestNeighbors(n_neighbors=8).fit(X).kneighbors_graph(Q, mode="distance")


@pytest.mark.parametrize(
    ("model", "n"),
    [
        (lowd.UMAP(n_epochs=9), 1600),  # forces by a grid
        (lowd.TSNE(max_iter=20), 1600),
        (lowd.Isomap(metric="precomputed"), 80),
    ],
    ids=["UMAP", "TSNE", "sparse distances"],
)
def test_what_only_large_or_sparse_fits_hold_is_stored_too(model, n, tmp_path):
    X = rows_like(n, 4)
    model.fit(_take(X, X, model))
    lowd.save(model, tmp_path / "model.lowd")
    new = _take(X[:9] + 0.01, X, model)
    same_bits(lowd.load(tmp_path / "model.lowd").transform(new), model.transform(new))
