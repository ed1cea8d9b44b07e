"""Every container of rows gives the bits that the array gives, or the same error."""

from __future__ import annotations

import itertools
import re
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest
from scipy.sparse import (
    coo_array,
    csc_array,
    csc_matrix,
    csr_array,
    csr_matrix,
    dok_array,
    lil_array,
)

import lowd
from case_data import rows_like
from cases import FIRST, fit, of_rows, same_bits, takes_sparse
from lowd.errors import ColumnTypeError, DataError

# A frame may come to a model that was fitted to an array.
pytestmark = [
    pytest.mark.filterwarnings("ignore:X has feature names"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
]
# One case of each method that takes rows of numbers: what is tested lies above the backends.
METHODS = [case for case in FIRST if of_rows(case)]


def _names(A):
    return [f"c{j}" for j in range(A.shape[1])]


def _wide(A):
    wide = np.zeros((len(A), 2 * A.shape[1]), A.dtype)
    wide[:, ::2] = A
    return wide[:, ::2]


def _columns(A):
    return dict(zip(_names(A), map(np.ascontiguousarray, A.T), strict=True))


def _to_pandas(A):
    return import_module("pandas").DataFrame(_columns(A))


NULLABLE = {"f": "Float", "i": "Int", "u": "UInt", "b": "boolean"}


def _bits(A):
    return "" if A.dtype.kind == "b" else str(8 * A.dtype.itemsize)


# From an array to the same numbers in another container, and the package that it needs.
PLAIN = {
    "Fortran order": np.asfortranarray,
    "not contiguous": _wide,
    "list of lists": lambda A: A.tolist(),
    "list of arrays": list,
    "tuple of lists": lambda A: tuple(A.tolist()),
    "objects": lambda A: A.astype(object),
}
FRAMES = {
    "pandas": _to_pandas,
    "pandas, nullable": lambda A: _to_pandas(A).astype(NULLABLE[A.dtype.kind] + _bits(A)),
    "polars": lambda A: import_module("polars").DataFrame(_columns(A)),
    "pyarrow": lambda A: import_module("pyarrow").table(_columns(A)),
}
SPARSE = {
    "csr": csr_array,
    "csc": csc_array,
    "coo": coo_array,
    "dok": lambda A: dok_array(csr_array(A)),
    "lil": lil_array,
    "csr matrix": csr_matrix,
    "csc matrix": csc_matrix,
}
BLOCKS = {
    "dask array": lambda A: import_module("dask.array").from_array(A, chunks=(30, A.shape[1])),
    "dask frame": lambda A: import_module("dask.dataframe").from_pandas(
        _to_pandas(A), npartitions=2
    ),
    "arrays": lambda A: lowd.open_blocks([A[:30], A[30:]]),
}
EVERY = PLAIN | FRAMES | SPARSE | BLOCKS

every_method = pytest.mark.parametrize("case", METHODS, ids=lambda case: case.method)


def _make(name, A):
    """The array in this container; a skip where its package is not installed."""
    _require(name)
    return EVERY[name](A)


def _require(name):
    package = "dask" if name in BLOCKS else name.partition(",")[0]
    if name in (*FRAMES, *BLOCKS):
        pytest.importorskip(package)
    if name == "dask frame":
        pytest.importorskip("pandas")


def _installed(names):
    """Those of the containers whose packages are there; of the others the tests below skip."""
    package = {name: name.partition(",")[0] for name in names}
    return [name for name in names if find_spec(package[name])]


# -- the same bits --------------------------------------------------------------------------------


@every_method
def test_arrays_lists_and_frames_give_the_same_bits(case):
    X, Q = case.data()
    expected = fit(case.model(), X).transform(Q)
    for name in (*PLAIN, *_installed(FRAMES)):
        model = fit(case.model(), EVERY[name](X))
        assert model.n_features_in_ == X.shape[1], name
        known = list(getattr(model, "feature_names_in_", ()))
        assert known == (_names(X) if name in FRAMES else []), name
        same_bits(model.transform(EVERY[name](Q)), expected)


@every_method
def test_blocks_give_the_bits_of_rows_in_memory(case, tmp_path):
    pytest.importorskip("dask")
    X, Q = case.data()
    expected = fit(case.model(), X)
    made = {name: EVERY[name](X) for name in BLOCKS if name != "dask frame" or find_spec("pandas")}
    np.save(tmp_path / "X.npy", X)
    made["npy"] = lowd.open_blocks(tmp_path / "X.npy", block_rows=30)
    for blocks in made.values():
        same_bits(expected.transform(blocks), expected.transform(X))
    if case.method == "PCA":  # which adds up block by block
        first, *others = (fit(case.model(), blocks).transform(Q) for blocks in made.values())
        np.testing.assert_allclose(first, expected.transform(Q), rtol=0, atol=1e-12)
    else:
        first, others = (
            expected.transform(Q),
            [fit(case.model(), blocks).transform(Q) for blocks in made.values()],
        )
    for other in others:
        same_bits(other, first)


@pytest.mark.parametrize("case", [*filter(takes_sparse, METHODS)], ids=lambda case: case.method)
def test_sparse_formats_give_the_same_bits(case):
    X, Q = case.data()
    expected = fit(case.model(), csr_array(X)).transform(csr_array(Q))
    for make in SPARSE.values():
        same_bits(fit(case.model(), make(X)).transform(make(Q)), expected)


@pytest.mark.parametrize("name", [*PLAIN, *FRAMES])
def test_numbers_of_other_types_give_the_same_bits(name):
    """A column of integers is one of the same floats, whatever the container calls it."""
    for kind in (np.int64, np.int8, np.uint16, bool, np.float32):
        X = (rows_like(60) > 2 if kind is bool else np.abs(8 * rows_like(60)) % 5).astype(kind)
        made = _make(name, X)
        of_objects = ("list of lists", "list of arrays", "tuple of lists", "objects")
        wide = X if kind == np.float32 and name not in of_objects else X.astype(np.float64)
        same_bits(lowd.PCA(2).fit(made).transform(made), lowd.PCA(2).fit(wide).transform(wide))


# -- the same error -------------------------------------------------------------------------------

CALLS = {
    "fit": lambda X: lowd.PCA(2).fit(X),
    "fit_transform": lambda X: lowd.Isomap(2).fit_transform(X),
    "transform": lambda X: np.asarray(_fitted().transform(X)),
    "confidence": lambda X: np.asarray(_fitted().transform(X, return_confidence=True)[1]),
    "partial_fit": lambda X: lowd.PCA(2).partial_fit(X),
    "neighbors": lambda X: lowd.neighbors(X, n_neighbors=3),
    "evaluate": lambda X: lowd.evaluate(X, rows_like(60, 2)),
    "dimension": lambda X: lowd.dimension(X),
}
ONLY_OF_ARRAYS = ("partial_fit", "dimension")  # which take no blocks


def _fitted():
    return lowd.PCA(2).fit(rows_like(60))


def _refusal(call, X):
    """The kind of error and its sentence, without the names that only frames have."""
    with pytest.raises(DataError) as refusal:
        call(X)
    sentence = re.sub(r" \('c\d'\)", "", str(refusal.value))
    return refusal.type, re.sub(r"column 'c(\d)'", r"column \1", sentence)


def _with_entry(entry, kind=np.float64):
    X = np.round(4 * rows_like(60)).astype(kind)
    X[17, 5] = entry
    return X


REFUSED = {
    "integer beyond 2**53": _with_entry(2**53 + 1, np.int64),
    "integer below -2**53": _with_entry(-(2**53) - 1, np.int64),
    "NaN": _with_entry(np.nan),
    "infinity": _with_entry(-np.inf),
}


@pytest.mark.parametrize("name", EVERY)
def test_what_is_refused_in_an_array_is_refused_in_every_container(name):
    for (what, call), X in itertools.product(CALLS.items(), REFUSED.values()):
        if name in BLOCKS and what in ONLY_OF_ARRAYS:
            continue
        expected, found = _refusal(call, X), _refusal(call, _make(name, X))
        assert found[0] is expected[0] is DataError, what
        if name in BLOCKS:  # which also say in which block it is
            assert re.search(r"row 17\b.*\bcolumn (5|'c5')", found[1]), what
        else:
            assert found[1] == expected[1], what


@pytest.mark.parametrize("name", FRAMES)
def test_a_large_integer_is_named_by_its_column(name):
    made = _make(name, REFUSED["integer beyond 2**53"])
    words = r"row 17, column 5 \('c5'\) holds 9007199254740993, .* leave the column out .* offset"
    with pytest.raises(DataError, match=words):
        lowd.PCA(2).fit(made)
    with pytest.raises(DataError, match=r"column 5 \('c5'\) holds 9007199254740993"):
        lowd.ClassicalMDS(metric="gower").fit(made)
    mixed = fit(lowd.ClassicalMDS(metric="gower"), _make(name, rows_like(60)))
    with pytest.raises(DataError, match=r"column 5 \('c5'\) holds 9007199254740993"):
        mixed.transform(made)


def test_the_largest_integers_that_floats_hold_are_taken():
    for X in (_with_entry(2**53, np.int64), _with_entry(-(2**53), np.int64)):
        for name in (*PLAIN, *_installed(FRAMES)):
            found, expected = (lowd.neighbors(A, n_neighbors=3) for A in (EVERY[name](X), X))
            same_bits(found.distances, expected.distances)


def test_columns_of_other_types_of_integers_are_refused():
    """Unsigned, sparse and Arrow's integers of pandas, and those of 128 bits of polars."""
    made = [np.full((60, 3), 2**64 - 1, np.uint64)]
    if find_spec("pandas"):
        frame = import_module("pandas").DataFrame({"a": np.arange(60), "b": 2**60})
        made += [frame.astype("Sparse[int]"), frame.astype("UInt64")]
        made += [frame.astype("int64[pyarrow]")] if find_spec("pyarrow") else []
    if find_spec("polars"):
        polars = import_module("polars")
        made.append(polars.DataFrame({"a": range(60), "b": [2**100] * 60}))
        made.append(polars.DataFrame({"a": range(60), "b": [None, *[2**60] * 59]}))
    for X in made:
        with pytest.raises(DataError, match=r"row [01], column [01].* holds 1\d{18,},"):
            lowd.PCA(1).fit(X)


def test_large_integers_beside_floats_are_refused():
    """One float among them makes NumPy round all integers of a list."""
    X = _with_entry(0.5).tolist()
    X[17][5], X[3][2] = 2**53 + 1, 2**60  # the first by columns is named
    for call in CALLS.values():
        assert "row 3, column 2 holds 1152921504606846976" in _refusal(call, X)[1]
        objects = np.array(X, dtype=object)
        assert _refusal(call, X) == _refusal(call, objects) == _refusal(call, list(objects))


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow", "dask"])
def test_one_column_of_large_integers_among_floats_is_refused(package):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip(package)
    frame = pandas.DataFrame({"x": rows_like(60)[:, 0], "user": 2**60 + np.arange(60) ** 2})
    made = {
        "pandas": lambda: frame,
        "polars": lambda: import_module("polars").DataFrame(frame.to_dict("list")),
        "pyarrow": lambda: import_module("pyarrow").table(frame.to_dict("list")),
        "dask": lambda: import_module("dask.dataframe").from_pandas(frame, npartitions=1),
    }[package]()
    with pytest.raises(DataError, match=r"'user'.* holds 1152921504606846976"):
        lowd.PCA(1).fit(made)


def test_integers_of_any_size_are_refused_and_not_printed():
    for size in (2**63, 2**64, 10**400, -(10**5000)):
        X = _with_entry(0, object)
        X[17, 5] = size
        for call in CALLS.values():
            for made in (X, X.tolist(), list(X)):
                assert "row 17, column 5 holds" in _refusal(call, made)[1]
        assert len(_refusal(CALLS["fit"], X)[1]) < 300
        with pytest.raises(DataError, match="row 17, column 5"):
            lowd.diagnose(X) if abs(size) > 1e308 else CALLS["fit"](X)
        with pytest.raises(DataError, match="row 17, column 5"):
            lowd.ClassicalMDS(metric="gower").fit(X)
    with pytest.raises(DataError, match="sample_weight: row 3"):
        lowd.PCA(1).fit(rows_like(20), sample_weight=[1, 1, 1, 10**400] * 5)


@pytest.mark.parametrize("name", EVERY)
def test_another_width_is_the_same_error(name):
    def names_both(X):
        with pytest.raises(DataError, match=r"6 features.*7"):
            _fitted().transform(X)

    names_both(rows_like(60)[:, 1:])
    names_both(_make(name, rows_like(60)[:, 1:]))


@pytest.mark.parametrize("name", [*PLAIN, *FRAMES, *SPARSE])
def test_no_rows_are_the_same_error(name):
    if name not in ("list of lists", "list of arrays", "tuple of lists"):  # which have no width
        for call in (CALLS["fit"], CALLS["transform"]):
            empty = _make(name, rows_like(60)[:0])
            assert _refusal(call, empty) == _refusal(call, rows_like(60)[:0])


@pytest.mark.parametrize("name", ["Fortran order", "not contiguous", "objects", "list of lists"])
def test_complex_numbers_are_the_same_error(name):
    X = rows_like(60) + 1j
    for call in (CALLS["fit"], CALLS["transform"]):
        assert _refusal(call, EVERY[name](X)) == _refusal(call, X)


@pytest.mark.parametrize("name", [*PLAIN, *FRAMES])
def test_text_is_the_same_kind_of_error(name):
    """An array names its entry, a frame its column."""
    X = rows_like(60).astype(object)
    X[17, 5] = "a word"
    if name in FRAMES:
        X[:, 5] = "a word"
    for call in (CALLS["fit"], CALLS["transform"], CALLS["neighbors"]):
        kind, sentence = _refusal(call, _of_columns(name, X))
        assert kind is ColumnTypeError
        assert re.search("row 17, column 5|column.*'c5'|'c5' hold", sentence)


def _of_columns(name, X):
    """The container of an array of objects, whose columns of numbers are of floats in a frame."""
    if name not in FRAMES:
        return EVERY[name](X)
    _require(name)
    columns = {f"c{j}": x.tolist() for j, x in enumerate(X.T)}
    package = name.partition(",")[0]
    make = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}[package]
    return getattr(import_module(package), make)(columns)


# -- a diagnosis finds what a fit refuses ----------------------------------------------------------


@pytest.mark.parametrize("name", [*PLAIN, *FRAMES, *SPARSE])
def test_large_integers_are_a_finding_with_a_remedy(name):
    made = _make(name, _with_entry(2**60 + 1, np.int64))
    (finding,) = lowd.diagnose(made).about("integers")
    where = "'c5'" if name in FRAMES else "5"
    assert (finding.severity, finding.affected) == ("error", (f"column {where}",))
    assert "row 17" in finding.sentence
    dropped = ("c5",) if name in FRAMES else (5,)
    assert finding.action.params == {"drop": dropped}
    prepared = lowd.Pipeline(lowd.PCA(2), drop=dropped)
    close = prepared.fit(made).transform(made)
    rest = np.delete(_with_entry(0.0), 5, axis=1)
    np.testing.assert_allclose(close, lowd.PCA(2).fit(rest).transform(rest), rtol=0, atol=1e-9)


# -- files: what is rounded is said, and what is no feature keeps its digits ---------------------

USERS = 1234567890123456789 + np.arange(60) ** 2


def _write_frame(path, users):
    """A table with a column of integers, in the format of the suffix."""
    polars = pytest.importorskip("polars")
    x = rows_like(60)
    frame = polars.DataFrame({"x": x[:, 0], "user": users, "z": x[:, 1]})
    write = {
        ".csv": frame.write_csv,
        ".parquet": frame.write_parquet,
        ".arrow": frame.write_ipc,
        ".jsonl": frame.write_ndjson,
    }
    write[path.suffix](path)
    return path


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow", "jsonl"])
def test_a_file_keeps_the_digits_of_identifiers(tmp_path, suffix):
    path = _write_frame(tmp_path / f"t.{suffix}", USERS)
    for how, held in (
        ({}, lambda table: table.ids),  # a number for each row is an identifier
        ({"id": "user"}, lambda table: table.ids),
        ({"label": "user"}, lambda table: table.labels),
        ({"columns": ["x", "z"]}, lambda table: table.ids),
    ):
        table = lowd.io.read(path, **how)
        assert table.columns == ("x", "z")
        assert list(map(str, held(table))) == [str(user) for user in USERS]
        assert not [note for note in table.notes if "rounded" in note]


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow", "jsonl"])
def test_a_file_notes_the_integers_that_it_rounds(tmp_path, suffix):
    """Numbers that several rows share are no identifier."""
    path = _write_frame(tmp_path / f"t.{suffix}", USERS.repeat(3)[:60])
    table = lowd.io.read(path, keep="user")
    assert table.columns == ("x", "user", "z")
    (note,) = [note for note in table.notes if "rounded" in note]
    assert "'user': integers beyond 2**53 were rounded" in note
    assert "id='user'" in note
    _write_frame(path, (USERS - 1234567890123456789 + 2**53 - 60**2).repeat(3)[:60])
    assert not [note for note in lowd.io.read(path, keep="user").notes if "rounded" in note]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_identifiers_of_many_digits_are_text(tmp_path, suffix):
    """More than 64 bits, which a table may hold as text only."""
    users = [f"{user}000000" for user in USERS]
    path = _write_frame(tmp_path / f"t.{suffix}", users)
    for how in ({}, {"id": "user"}, {"columns": ["x", "z"]}):
        assert lowd.io.read(path, **how).ids.tolist() == users


def test_files_of_arrays_note_the_integers_that_they_round(tmp_path):
    from scipy.io import mmwrite

    X = np.c_[USERS, np.arange(60)]
    np.save(tmp_path / "t.npy", X)
    np.savez(tmp_path / "t.npz", X=X, columns=["user", "n"], y=USERS)
    mmwrite(tmp_path / "t.mtx", X)
    mmwrite(tmp_path / "s.mtx", coo_array(X))
    for name, column in {"t.npy": "x0", "t.npz": "user", "t.mtx": "x0", "s.mtx": "x0"}.items():
        table = lowd.io.read(tmp_path / name)
        (note,) = [note for note in table.notes if "rounded" in note]
        assert f"Column {column!r}:" in note
        assert table.X.shape == (60, 2)
    assert lowd.io.read(tmp_path / "t.npz").labels.tolist() == USERS.tolist()


def test_lists_in_a_file_note_the_integers_that_they_round(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text("".join(f'{{"v": [{user}, 2]}}\n' for user in USERS))
    pytest.importorskip("polars")
    assert any("'v': integers beyond" in note for note in lowd.io.read(path).notes)
    path = tmp_path / "t.csv"
    path.write_text("".join(["v\n", *(f'"[{user}, 2]"\n' for user in USERS)]))
    assert any("'v': integers beyond" in note for note in lowd.io.read(path, vector="v").notes)
    path.write_text(f'v\n"[1{"0" * 400}, 2]"\n"[1, 2]"\n')
    with pytest.raises(DataError, match="lists of numbers"):
        lowd.io.read(path, vector="v")


@pytest.mark.parametrize("suffix", ["npy", "parquet"])
def test_blocks_of_a_file_refuse_the_integers_that_they_would_round(tmp_path, suffix):
    pytest.importorskip("dask")
    path, column = tmp_path / f"t.{suffix}", "column 1"
    if suffix == "npy":
        np.save(path, np.c_[np.arange(60), USERS])
    else:
        path, column = _write_frame(path, USERS), "column 'user'"
    for call in (CALLS["fit"], CALLS["neighbors"]):
        with pytest.raises(DataError, match=rf"row \d+.*{column}.* holds 123456789012345\d{{4}},"):
            call(lowd.open_blocks(path, block_rows=25))
