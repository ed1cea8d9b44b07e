"""Files and arrays larger than memory: every kind becomes the same blocks of the same rows."""

from __future__ import annotations

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import lowd
from case_data import rows_like
from cases import close, same_bits
from lowd.errors import DataError, MissingFileError, ParameterError
from lowd.io.block_files import BlockSize, parse_bytes

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
pl = pytest.importorskip("polars")
X = rows_like(100, 4)


@pytest.fixture(autouse=True)
def _one_thread():
    with dask.config.set(scheduler="sync"):
        yield


def write_parquet(path, rows, names="abcd"):
    pl.DataFrame(dict(zip(names, rows.T, strict=True))).write_parquet(path)
    return path


class Batches:
    """Blocks that can be iterated again and again, and not indexed."""

    def __init__(self, blocks):
        self.blocks = blocks

    def __iter__(self):
        return iter(self.blocks)


class Stored:
    """What is used of a Zarr array: its shape, type and chunks, and slices of its rows."""

    def __init__(self, rows):
        self.rows, self.shape, self.dtype, self.chunks = rows, rows.shape, rows.dtype, (8, 2)

    def __getitem__(self, rows):
        return self.rows[rows]


def _npy(folder):
    np.save(folder / "x.npy", X)
    return folder / "x.npy"


def _parquet(folder):
    for name, part in (("part-1", X[:30]), ("part-2", X[30:31]), ("part-3", X[31:])):
        write_parquet(folder / f"{name}.parquet", part)
    (folder / "_SUCCESS.parquet").write_text("not a part")
    return folder


def _zarr(folder):
    zarr.create_array(folder / "x.zarr", data=X, chunks=(8, 2))
    return folder / "x.zarr"


SOURCES = {
    "npy": _npy,
    "memmap": lambda folder: np.load(_npy(folder), mmap_mode="r"),
    "memmap slice": lambda folder: np.load(_mapped(folder, np.vstack([X[:3], X])), mmap_mode="r")[
        3:
    ],
    "memmap by columns": lambda folder: np.load(
        _mapped(folder, np.asfortranarray(X)), mmap_mode="r"
    ),
    "parquet folder": _parquet,
    "parquet pattern": lambda folder: str(_parquet(folder) / "part-*.parquet"),
    "parquet file": lambda folder: write_parquet(folder / "x.parquet", X),
    "zarr": _zarr,
    "like zarr": lambda _: Stored(X),
    "list": lambda _: [X[:7], X[7:7], X[7:]],
    "sparse": lambda _: [csr_array(X[:50]), csr_array(X[50:])],
    "iterable": lambda _: Batches([X[:60], X[60:]]),
    "array": lambda _: X,
    "dask array": lambda _: dask.array.from_array(X, chunks=(9, 3)),
}


def _mapped(folder, rows):
    np.save(folder / "m.npy", rows)
    return folder / "m.npy"


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_has_the_same_rows(kind, tmp_path):
    blocks = lowd.open_blocks(SOURCES[kind](tmp_path), block_rows=13)
    assert (blocks.n_rows, blocks.n_features) == (100, 4)
    same_bits(blocks.sample(1000) if kind != "sparse" else blocks.sample(1000).toarray(), X)
    model, expected = lowd.PCA(2).fit(blocks), lowd.PCA(2).fit(X)
    close(model.components_, expected.components_)
    rows = csr_array(X) if kind == "sparse" else X
    same_bits(expected.transform(blocks).compute(), expected.transform(rows))


@settings(max_examples=25, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 20), min_size=1, max_size=8).filter(lambda n: sum(n) > 3),
    single=st.booleans(),
    sparse=st.lists(st.booleans(), min_size=8, max_size=8),
)
def test_any_blocks_give_the_answer_of_memory(lengths, single, sparse):
    rows = rows_like(sum(lengths), 3, dtype=np.float32 if single else np.float64)
    parts = np.split(rows, np.cumsum(lengths)[:-1])
    blocks = lowd.open_blocks(
        [csr_array(p) if s else p for p, s in zip(parts, sparse, strict=False)]
    )
    model, expected = lowd.PCA(2).fit(blocks), lowd.PCA(2).fit(rows)
    close(model.components_, expected.components_, rows.dtype)
    close(model.explained_variance_, expected.explained_variance_, rows.dtype)
    found = model.transform(blocks)
    assert found.dtype == rows.dtype
    close(found.compute(), expected.transform(rows), rows.dtype)


def test_data_frames_have_names_that_are_compared():
    frames = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=list("abcd"))
    blocks = frames.from_pandas(table, npartitions=3)
    model = lowd.PCA(2).fit(blocks)
    assert list(model.feature_names_in_) == list("abcd")
    same_bits(model.transform(blocks).compute(), model.transform(table))
    close(model.components_, lowd.PCA(2).fit(table).components_)
    with pytest.raises(DataError, match=r"columns are \['b', 'a'.*select them"):
        model.transform(blocks[["b", "a", "c", "d"]])
    with pytest.raises(DataError, match=r"no numbers, e; .*drop"):
        lowd.PCA(2).fit(blocks.assign(e="text"))
    with pytest.raises(DataError, match="to_frame"):
        lowd.PCA(1).fit(blocks["a"])


def test_names_of_files_are_those_of_the_model(tmp_path):
    blocks = lowd.open_blocks(_parquet(tmp_path), columns=["b", "c"])
    model = lowd.PCA(1).fit(blocks)
    assert list(model.feature_names_in_) == ["b", "c"]
    close(model.components_, lowd.PCA(1).fit(X[:, 1:3]).components_)


def test_an_error_names_block_file_and_row(tmp_path):
    bad = X.copy()
    bad[40, 2] = np.nan
    write_parquet(tmp_path / "a.parquet", bad[:30])
    write_parquet(tmp_path / "b.parquet", bad[30:])
    blocks = lowd.open_blocks(tmp_path, block_rows=8)
    with pytest.raises(
        DataError, match=r"NaN at row 40, column 2 \(block 5, row 10 of .*b.parquet"
    ):
        lowd.PCA(1).fit(blocks)
    model = lowd.PCA(1).fit(X)
    with pytest.raises(DataError, match=r"row 40, column 2 \(block 5, row 10 of .*b.parquet"):
        model.transform(blocks).compute()
    (tmp_path / "b.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match=r"block \d \(.*b.parquet\) cannot be read"):
        model.transform(blocks).compute()


def test_what_is_wrong_with_a_source_is_said(tmp_path):
    with pytest.raises(DataError, match=r"generator yields its blocks once.*list of arrays"):
        lowd.open_blocks(block for block in [X])
    with pytest.raises(DataError, match=r"block 1 has 3 columns.*numpy.hstack"):
        lowd.open_blocks([X, X[:, :3]])
    with pytest.raises(DataError, match="no block"):
        lowd.open_blocks([])
    with pytest.raises(DataError, match="got int"):
        lowd.open_blocks(3)
    with pytest.raises(DataError, match="shape"):
        lowd.open_blocks([X[0]])
    with pytest.raises(MissingFileError, match="no Parquet file"):
        lowd.open_blocks(tmp_path)
    with pytest.raises(MissingFileError):
        lowd.open_blocks(tmp_path / "none.parquet")
    with pytest.raises(ParameterError, match="block_rows=0"):
        lowd.open_blocks(X, block_rows=0)
    with pytest.raises(ParameterError, match="columns= is for Parquet"):
        lowd.open_blocks(X, columns=["a"])
    pl.DataFrame({"a": ["x"], "b": [1.0]}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"'a' hold no numbers.*columns="):
        lowd.open_blocks(tmp_path / "t.parquet")
    write_parquet(tmp_path / "u.parquet", X)
    with pytest.raises(DataError, match=r"t.parquet has no column 'd'|no column"):
        lowd.open_blocks([tmp_path / "u.parquet"][0].parent, columns=["b", "d"])


def test_memory_sets_the_size_of_blocks():
    assert parse_bytes("2GB") == 2 * 10**9
    assert parse_bytes("1.5 GiB") == 1.5 * 2**30
    assert parse_bytes(1000) == 1000
    for text in ("much", "2XB", "", "-1"):
        with pytest.raises(ParameterError, match="'2GB'"):
            parse_bytes(text)
    small, large = (BlockSize(None, parse_bytes(size)) for size in ("600MB", "100GB"))
    assert 1 <= small.count(1000, 8) < large.count(1000, 8) == 2**26 // 8000
    with pytest.raises(ParameterError, match="too little"):
        BlockSize(None, 10**6).count(10, 8)
    assert large.count(1000, 8, 1000) % 1000 == 0
