"""Bad files give one clear error, little memory is used, and nothing is written."""

from __future__ import annotations

import gzip
import io
import os
import tracemalloc
import zipfile
from contextlib import suppress

import h5py
import numpy as np
import polars as pl
import pytest
import scipy.sparse as sparse
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import lowd
from lowd.errors import (
    ColumnTypeError,
    DataError,
    FileFormatError,
    LowdError,
    MissingFileError,
    NotEnoughMemoryError,
)
from lowd.io import source as sources

A = np.arange(12.0).reshape(4, 3)


def _bytes(put):
    with io.BytesIO() as file:
        put(file)
        return file.getvalue()


def _zip(name, content=b"", mode=zipfile.ZIP_STORED):
    def put(file):
        with zipfile.ZipFile(file, "w", mode) as archive:
            archive.writestr(name, content)

    return _bytes(put)


FRAME = pl.DataFrame({"a": [1.5, 2.0, 3.0], "b": [4, 5, 6], "label": ["u", "v", "u"]})
NPY = _bytes(lambda file: np.save(file, A))
PARQUET = _bytes(FRAME.write_parquet)
MARKET = b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 5\n2 2 6\n"
GOOD = {
    "t.csv": b"a,b,label\n1.5,4,u\n2,5,v\n3,6,u\n",
    "t.jsonl": b'{"a": 1.5, "b": 4}\n{"a": 2, "b": 5}\n',
    "t.parquet": PARQUET,
    "t.arrow": _bytes(FRAME.write_ipc),
    "t.npy": NPY,
    "t.npz": _bytes(lambda file: np.savez(file, X=A, y=[0, 1, 0, 1])),
    "t.csv.gz": gzip.compress(b"a,b\n1,2\n3,4\n"),
    "t.mtx": MARKET,
    "sparse.npz": _bytes(lambda file: sparse.save_npz(file, sparse.csr_array(A))),
    "t.txt": b"kitten\nsitting\n",
}

BAD = [
    (
        "delimiter",
        "t.csv",
        b"a,b\n1,2\n3,4\n",
        r"';' makes one column only.*','",
        {"delimiter": ";"},
    ),
    ("long row", "t.csv", b"a,b\n1,2\n3,4,5\n", r"t\.csv, line 3: 3 fields where 2", {}),
    ("short row", "t.csv", b"a,b,c\n1,2,3\n4,5\n6,7,8\n", r"line 3: 2 fields where 3", {}),
    ("short, drop", "t.csv", b"a,b\n1,2\n4\n6,7\n", r"line 3: 1 field", {"missing": "drop"}),
    ("late long row", "t.csv", b"a,b\n" + b"1,2\n" * 2000 + b"3,4,5\n", "line 2002: 3 fields", {}),
    ("word", "t.csv", b"a,b\n1,2\n3,oops\n5,6\n", r"line 3, column 'b': 'oops' is not a num", {}),
    (
        "late word",
        "t.csv",
        b"a,b\n" + b"1,2\n2,1\n" * 1500 + b"x,2\n",
        "line 3002, column 'a': the value is missing",
        {},
    ),
    ("quote", "t.csv", b'a,b\n1,2\n3,4\n5,6\n7,8\n"9,8\n7,6\n', "line 6: 1 field", {}),
    ("NUL", "t.csv", b"a,b\n1,\x002\n", "line 2 holds a NUL byte", {}),
    ("not UTF-8", "t.csv", "a,é\n1,2\n".encode("latin-1"), "'utf-8'", {"encoding": "utf-8"}),
    ("bad encoding", "t.csv", b"a\n1\n", "not encoded in 'utf-9'", {"encoding": "utf-9"}),
    ("huge header", "t.csv", b"a," * 2**23 + b"a", "first line is longer than 16 MiB", {}),
    ("empty", "t.csv", b"", "is empty", {}),
    ("header only", "t.csv", b"a,b\n", "no rows", {}),
    (
        "no numbers",
        "t.csv",
        b"id,b\na,x\nb,y\nc,z\n",
        r"no column can be a feature.*keep=.*kind=",
        {},
    ),
    (
        "dates only",
        "t.csv",
        b"a,b\n2020-01-01,2020-01-02\n2021-01-01,2020-01-03\n",
        "no column can be.*: date",
        {},
    ),
    ("JSON of one number", "t.json", b"3", "holds no table", {}),
    ("cut off gzip", "t.csv.gz", GOOD["t.csv.gz"][:-9], "damaged or cut off", {}),
    ("not gzip inside", "t.csv.gz", gzip.compress(b"a,b\n1,\x002\n"), "NUL byte", {}),
    ("cut off Parquet", "t.parquet", PARQUET[:-9], "damaged", {}),
    ("CSV called Parquet", "t.parquet", GOOD["t.csv"], "damaged or is not what its name says", {}),
    ("cut off Arrow", "t.arrow", GOOD["t.arrow"][:100], "damaged", {}),
    ("JSON", "t.jsonl", b'{"a": 1}\n{"a": \n', "line 2 is not JSON", {}),
    ("JSON list", "t.jsonl", b"[1, 2]\n", "expected an object", {}),
    ("cut off npy", "t.npy", NPY[:-4], "header claims 96 bytes of data, but there are 92", {}),
    ("npy of text", "t.npy", _bytes(lambda f: np.save(f, np.array(["a"]))), "expected numbers", {}),
    ("lying npy", "t.npy", NPY.replace(b"(4, 3)", b"(9, 9)"), "cut off or damaged", {}),
    ("vector", "t.npy", _bytes(lambda f: np.save(f, np.ones(4))), "4 numbers in one dimension", {}),
    ("not a zip", "t.npz", b"PK\x03\x04 nothing", "damaged or is not an .npz", {}),
    ("up the tree", "t.npz", _zip("../../evil.npy", NPY), r"'\.\./\.\./evil\.npy'", {}),
    ("absolute", "t.npz", _zip("/etc/evil.npy", NPY), "numpy.savez does not write", {}),
    ("no arrays", "t.npz", _zip("a.txt", b"x"), "holds arrays", {}),
    ("two arrays", "t.npz", _bytes(lambda f: np.savez(f, p=A, q=A)), "array=", {}),
    ("cut off market", "t.mtx", MARKET[:-4], "damaged", {}),
    (
        "lying market",
        "t.mtx",
        b"%%MatrixMarket matrix coordinate real general\n9999999999 9 99999999999\n1 1 1\n",
        "more than its",
        {},
    ),
    ("outside", "t.mtx", MARKET.replace(b"2 2 6", b"9 9 6"), "damaged", {}),
    ("pickle", "t.pkl", b"\x80", "pickle can run any code", {}),
    ("spreadsheet", "t.xls", b"PK", "save the sheet as", {}),
    ("not distances", "t.csv", b"a,b\n1,2\n3,4\n5,6\n", "is square", {"distances": True}),
]


@pytest.mark.parametrize(
    ("name", "content", "message", "options"), [case[1:] for case in BAD], ids=[c[0] for c in BAD]
)
def test_a_bad_file_is_explained(tmp_path, name, content, message, options):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        lowd.io.read(path, **options)
    assert os.listdir(tmp_path) == [name]


def test_a_late_byte_is_found(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"n,a\n" + b"x,1\n" * 3000 + b"x,\0\n")
    with pytest.raises(FileFormatError, match="line 3002 holds a NUL byte"):
        lowd.io.read(path)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig", "utf-8"])
@pytest.mark.parametrize("is_named", [True, False])
def test_other_encodings(tmp_path, encoding, is_named):
    path = tmp_path / "t.csv"
    path.write_bytes("name;größe\ncafé;1,5\nthé;2\n".encode(encoding))
    table = lowd.io.read(path, encoding=encoding if is_named else None)
    assert table.ids.tolist() == ["café", "thé"]
    assert table.columns == ("größe",)
    said = "windows-1252" if encoding == "latin-1" and not is_named else encoding
    assert said.startswith("utf-8") or said in table.describe()[0]


def test_objects_are_never_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    for name, put in (("t.npy", np.save), ("t.npz", np.savez)):
        path = tmp_path / name
        put(path, np.array([Trap(), 1], object), allow_pickle=True)
        with pytest.raises(ColumnTypeError, match="Python objects"):
            lowd.io.read(path)
    assert not (tmp_path / "sprung").exists()


CLAIMED = 5 * 10**7  # rows: 400 MB of index pointers
CLAIMS = {
    "market": lambda path: path.write_text(
        f"%%MatrixMarket matrix coordinate real general\n{CLAIMED} {CLAIMED} 1\n1 1 1\n"
    ),
    "symmetric market": lambda path: path.write_text(
        f"%%MatrixMarket matrix coordinate pattern symmetric\n{CLAIMED} {CLAIMED} 1\n2 1\n"
    ),
    "coo": lambda path: np.savez(
        path, format=b"coo", shape=[CLAIMED, 3], row=[0], col=[1], data=[1.0]
    ),
    "csc": lambda path: np.savez(
        path, format=b"csc", shape=[CLAIMED, 2], indices=[5], indptr=[0, 0, 1], data=[1.0]
    ),
}


@pytest.mark.parametrize("kind", CLAIMS)
def test_a_sparse_matrix_of_empty_rows_is_refused_in_little_memory(tmp_path, kind):
    path = tmp_path / ("t.mtx" if "market" in kind else "t.npz")
    CLAIMS[kind](path)
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError, match=r"at least 49\d+ of its rows are empty; write"):
            lowd.io.read(path)
        assert tracemalloc.get_traced_memory()[1] < 16e6
    finally:
        tracemalloc.stop()


def test_very_many_columns_have_no_names(tmp_path):
    path = tmp_path / "t.npz"
    parts = {"indices": [5, 10**9 - 1], "indptr": [0, 1, 2], "data": [1.0, 2.0]}
    np.savez(path, format=b"csr", shape=[2, 2 * 10**6], **{**parts, "indices": [5, 10**6]})
    assert lowd.io.read(path).columns == ()
    np.savez(path, format=b"csr", shape=[2, 10**15], **parts)
    with pytest.raises(LowdError, match=r"are empty|no sparse matrix"):
        lowd.io.read(path)


def test_cells_that_are_claimed_but_not_written_are_refused(tmp_path):
    path = tmp_path / "t.h5ad"
    with h5py.File(path, "w") as file:
        file.create_dataset("X", (10**6, 10**6), "f4", chunks=(100, 100))
    with pytest.raises(FileFormatError, match="200 times its size"):
        lowd.io.read(path)


@pytest.mark.parametrize("name", ["t.csv.gz", "t.npz"])
def test_bombs_are_refused_in_little_memory(tmp_path, monkeypatch, name):
    monkeypatch.setattr(sources, "SAFE_BYTES", 2**16)
    path = tmp_path / name
    if name == "t.npz":
        np.savez_compressed(path, X=np.zeros((2000, 2000)))
    else:
        path.write_bytes(gzip.compress(b"0,0,0,0\n" * 1_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(LowdError, match="200 times its size"):
            lowd.io.read(path)
        assert tracemalloc.get_traced_memory()[1] < 16e6
    finally:
        tracemalloc.stop()


def test_too_much_for_memory_is_no_format_error(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "SAFE_BYTES", 1000)
    monkeypatch.setattr(sources, "_get_text_limit", lambda: 2000)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(np.random.default_rng(0).bytes(10_000).hex().encode()))
    with pytest.raises(NotEnoughMemoryError, match="decompress it to a file"):
        lowd.io.read(path)


def test_links_and_devices(tmp_path):
    broken, circle = tmp_path / "broken.csv", tmp_path / "circle.csv"
    broken.symlink_to(tmp_path / "nothing.csv")
    circle.symlink_to(circle)
    with pytest.raises(MissingFileError, match=r"a link to .*nothing\.csv, which is missing"):
        lowd.io.read(broken)
    with pytest.raises(MissingFileError):
        lowd.io.read(circle)
    with pytest.raises(MissingFileError, match="there is no file"):
        lowd.io.read(tmp_path / "nothing.csv")
    with pytest.raises(FileFormatError, match="not a regular file"):
        lowd.io.read("/dev/zero")
    good = tmp_path / "good.csv"
    good.write_bytes(GOOD["t.csv"])
    (tmp_path / "link.csv").symlink_to(good)
    assert lowd.io.read(tmp_path / "link.csv").X.shape == (3, 2)
    (tmp_path / "a[1]*.csv").write_bytes(GOOD["t.csv"])  # a name, not a pattern
    assert lowd.io.read(tmp_path / "a[1]*.csv").X.shape == (3, 2)


def test_a_panic_of_polars_is_our_error(tmp_path):
    """Some bytes of an Arrow file made polars 2.1 panic, which is no Exception."""
    path = tmp_path / "t.arrow"
    whole = GOOD["t.arrow"]
    for at in range(700, 744, 4):
        path.write_bytes(whole[:at] + b"\xff" * 4 + whole[at + 4 :])
        with suppress(LowdError):
            assert len(lowd.io.read(path)) > 0


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(list(GOOD)),
    cut=st.integers(0, 400),
    position=st.floats(0, 1),
    noise=st.binary(max_size=8),
)
@example(name="t.npy", cut=0, position=0.1, noise=b"\xff" * 4)
def test_damaged_files_raise_our_errors_only(name, cut, position, noise, tmp_path_factory):
    """Cut at the end and overwritten somewhere: read, or explained."""
    folder = tmp_path_factory.mktemp("damaged")
    content = bytearray(GOOD[name][: max(1, len(GOOD[name]) - cut)])
    at = int(position * (len(content) - 1))
    content[at : at + len(noise)] = noise
    (folder / name).write_bytes(content)
    with suppress(LowdError):
        assert len(lowd.io.read(folder / name)) > 0
    assert os.listdir(folder) == [name]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    content=st.binary(min_size=1, max_size=200)
    | st.text("0123,.;\n\t\"' ab-e", min_size=1).map(str.encode),
    suffix=st.sampled_from(
        [".csv", "", ".txt", ".jsonl", ".npy", ".npz", ".mtx", ".bed", ".csv.gz"]
    ),
)
def test_anything_raises_our_errors_only(content, suffix, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / f"t{suffix}"
    path.write_bytes(content)
    with suppress(LowdError):
        assert len(lowd.io.read(path)) > 0
