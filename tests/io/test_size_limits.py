"""Small files that stand for gigabytes are refused before they take memory; real ones are read.

The crafted files are read in a process of its own, whose memory and time are limited, so that a
reader without limits ends that process and not this one.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from importlib.util import find_spec

import numpy as np
import pytest

import lowd
from lowd.errors import FileFormatError

resource = pytest.importorskip("resource", reason="memory is limited by POSIX's setrlimit")

MEMORY, CPU_SECONDS = 5 * 2**30, 200  # of all crafted files
# Every thread reserves memory, of which few take any.
FEW_THREADS = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "MALLOC_ARENA_MAX"), "2"
)
READ = f"""
import json, resource, sys, warnings
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
resource.setrlimit(resource.RLIMIT_CPU, ({CPU_SECONDS}, {CPU_SECONDS}))
import numpy as np
import lowd
warnings.simplefilter("ignore")

def upload(path):
    from lowd.explorer.api import make_session
    from lowd.explorer.routes import Request, Routes
    X = np.random.default_rng(0).normal(size=(40, 1))
    routes = Routes(make_session(X, {{"PCA": lowd.PCA(1).fit(X)}}, feature_names=["a"]))
    with open(path, "rb") as file:
        reply = routes.answer(Request.parse("POST", f"/api/new-points?name={{path}}", file.read()))
    routes.close()
    raise ValueError(f"{{reply.status}} {{reply.body.decode()}}")

for line in sys.stdin:
    path, way = json.loads(line)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        found = "read", repr((upload if way == "upload" else lowd.io.read)(path))
    except Exception as error:
        found = type(error).__name__, str(error)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    grown /= 2**20 if sys.platform == "darwin" else 2**10
    print(json.dumps([*found, grown]), flush=True)
"""
LONG = 10**6  # characters of a text, of which a file needs a few bytes where they are all the same


def _require(*packages):
    for package in packages:
        pytest.importorskip(package, reason=f"{package} writes and reads these files")


def _write_dictionary(path, entries, store_schema=True):
    """One long text in many rows, of which the file holds the number only."""
    import pyarrow
    from pyarrow import feather, parquet

    codes = pyarrow.array(np.zeros(2000, "i4"))
    texts = pyarrow.DictionaryArray.from_arrays(codes, pyarrow.array(entries))
    table = pyarrow.table({"a": np.arange(2000.0), "text": texts})
    if path.suffix == ".parquet":
        parquet.write_table(table, path, store_schema=store_schema)
    else:
        feather.write_feather(table, path, compression="zstd")


def _write_lists(path):
    import pyarrow
    from pyarrow import parquet

    texts = pyarrow.array(["Z" * LONG]).take(pyarrow.array(np.zeros(200, "i4")))
    lists = pyarrow.ListArray.from_arrays(np.arange(201, dtype="i4"), texts)
    parquet.write_table(pyarrow.table({"a": np.arange(200.0), "text": lists}), path)


def _write_one_long_row(path):
    lines = [f"{i}.5,w{i}" for i in range(20_000)]
    path.write_text("\n".join(["a,name", *lines, "1.5," + "Z" * LONG]))


def _write_cells(path, *, links=None, category=None):
    import anndata
    import h5py
    import pandas

    n = 20_000
    frame = pandas.DataFrame(index=[f"c{i}" for i in range(n)])
    if category is not None:
        frame["kind"] = pandas.Categorical.from_codes(np.zeros(n, int), [category])
    made = anndata.AnnData(np.zeros((n, 5), "f4"), obs=frame)
    made.obsm["X_pca"] = np.zeros((n, 40))
    made.write_h5ad(path, compression="gzip")
    with h5py.File(path, "a") as file:
        for i in range(2000 if links else 0):
            held = file["obsm/X_pca"]
            file["obsm"][f"a{i}"] = held if links == "hard" else h5py.SoftLink("/obsm/X_pca")
        if links == "annotations":
            column = file["obs"].create_dataset("n", data=np.zeros(n), compression="gzip")
            column.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
            for i in range(2000):
                file["obs"][f"n{i}"] = column
            file["obs"].attrs["column-order"] = ["n", *[f"n{i}" for i in range(2000)]]
        if links == "circle":
            file["obs"]["itself"] = file["obs"]
        if links == "another file":
            file["obs"]["secret"] = h5py.ExternalLink("/etc/passwd", "/")


def _rewrite(path, pattern, replacement, name="xl/worksheets/sheet1.xml", added=None):
    """Change the XML of the first sheet, or of another part, and add parts."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[name], count = re.subn(pattern, replacement, parts[name])
    assert count
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, part in (parts | (added or {})).items():
            archive.writestr(member, part)


def _write_sheet(path, last=None, text="x", rows=3):
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    for number in range(rows):
        book.active.append([-number, text])
    if last is not None:
        book.active[last] = 1
    book.save(path)


def _write_far_row(path):
    _write_sheet(path)
    _rewrite(path, rb"<dimension [^>]*>", b"")  # which would end the sheet before it
    _rewrite(path, rb'<row r="4"', rb'<row r="2000000000"')
    _rewrite(path, rb'r="([AB])4"', rb'r="\g<1>2000000000"')


def _write_shared_text(path):
    _write_sheet(path, rows=2000)
    _rewrite(path, rb't="inlineStr"><is><t>x</t></is>', b't="s"><v>0</v>')
    space = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    strings = b'<sst xmlns="%s"><si><t>%s</t></si></sst>' % (space, b"Z" * LONG)
    kind = b"application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    override = b'<Override PartName="/xl/sharedStrings.xml" ContentType="%s" /></Types>' % kind
    _rewrite(path, b"</Types>", override, "[Content_Types].xml", {"xl/sharedStrings.xml": strings})


# Name of the file -> the packages that it needs, and what writes it.
CRAFTED = {
    "dictionary.parquet": (["pyarrow"], lambda p: _write_dictionary(p, ["Z" * LONG])),
    "plain.parquet": (["pyarrow"], lambda p: _write_dictionary(p, ["Z" * LONG], False)),
    "binary.parquet": (["pyarrow"], lambda p: _write_dictionary(p, [b"Z" * LONG], False)),
    "lists.parquet": (["pyarrow"], _write_lists),
    "dictionary.arrow": (["pyarrow"], lambda p: _write_dictionary(p, ["Z" * LONG])),
    "long.csv": ([], _write_one_long_row),
    "annotations.h5ad": (["anndata"], lambda p: _write_cells(p, links="annotations")),
    "circle.h5ad": (["anndata"], lambda p: _write_cells(p, links="circle")),
    "category.h5ad": (["anndata"], lambda p: _write_cells(p, category="Z" * LONG)),
    "far-cell.xlsx": (["openpyxl"], lambda p: _write_sheet(p, "XFD1048576")),
    "far-row.xlsx": (["openpyxl"], _write_far_row),
    "text.xlsx": (["openpyxl"], _write_shared_text),
}
UPLOADED = "dictionary.parquet"


def _is_there(packages):
    return all(map(find_spec, ["polars", *packages]))


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What reading each of the crafted files gives: the kind of error, its words, MiB taken."""
    folder = tmp_path_factory.mktemp("crafted")
    questions = []
    for name, (packages, write) in CRAFTED.items():
        if _is_there(packages):
            write(folder / name)
            assert (folder / name).stat().st_size < 2_500_000, name
            questions.append((name, "read"))
    if _is_there(["pyarrow", "starlette"]):
        questions.append((UPLOADED, "upload"))
    lines = "".join(json.dumps([str(folder / name), way]) + "\n" for name, way in questions)
    done = subprocess.run(
        [sys.executable, "-c", READ],
        input=lines,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | FEW_THREADS,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    ended = [["the process ended", done.stderr[-500:], 0.0]] * (len(questions) - len(found))
    return dict(zip(questions, found + ended, strict=True))


@pytest.mark.parametrize("name", CRAFTED)
def test_a_small_file_that_stands_for_gigabytes_is_refused(answers, name):
    _require("polars", *CRAFTED[name][0])
    kind, words, mebibytes = answers[name, "read"]
    assert kind == "FileFormatError", words
    assert name in words
    assert re.search("200 times its size|as far as row|parts to read", words)
    assert mebibytes < 500


def test_the_explorer_refuses_it_too(answers):
    _require("polars", "pyarrow", "starlette")
    kind, words, mebibytes = answers[UPLOADED, "upload"]
    assert kind == "ValueError", words
    assert words.startswith("4")  # a fault of the file, by HTTP
    assert "200 times its size" in words
    assert mebibytes < 500


def test_links_to_other_files_are_refused(tmp_path):
    _require("anndata")
    _write_cells(tmp_path / "cells.h5ad", links="another file")
    with pytest.raises(FileFormatError, match="'secret' is a link to another file"):
        lowd.io.read(tmp_path / "cells.h5ad")


# -- files that people have ------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_ordinary_dictionaries_are_read(tmp_path, suffix):
    _require("polars", "pyarrow")
    import pyarrow
    from pyarrow import feather, parquet

    n = 100_000
    city = pyarrow.array(np.array(["Paris", "a rather long name of a city"] * (n // 2)))
    table = pyarrow.table({"a": np.arange(float(n))[::-1], "city": city.dictionary_encode()})
    path = tmp_path / f"t.{suffix}"
    (parquet.write_table if suffix == "parquet" else feather.write_feather)(table, path)
    found = lowd.io.read(path, label="city")
    assert found.X.shape == (n, 1)
    assert found.labels[:2].tolist() == ["Paris", "a rather long name of a city"]


@pytest.mark.parametrize("links", ["hard", "soft"])
def test_of_many_embeddings_only_the_one_asked_for_is_read(tmp_path, links):
    """Together they would be 13 GB."""
    _require("anndata")
    path = tmp_path / "cells.h5ad"
    _write_cells(path, links=links)
    found = lowd.io.read(path)
    assert found.X.shape == (20_000, 5)
    assert "'X_pca'" in found.notes[1]
    assert lowd.io.read(path, vector="a7").X.shape == (20_000, 40)
    with pytest.raises(FileFormatError, match="200 times its size"):  # all of it is copied
        lowd.io.write(
            tmp_path / "map.h5ad", found.with_embedding(np.zeros((20_000, 2)), ["a", "b"])
        )


def test_parts_of_different_lengths_are_refused(tmp_path):
    _require("anndata")
    import h5py

    path = tmp_path / "cells.h5ad"
    _write_cells(path)
    with h5py.File(path, "a") as file:
        del file["X"]
        held = file.create_dataset("X", data=np.zeros((3, 5)))
        held.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
    with pytest.raises(FileFormatError, match="damaged"):
        lowd.io.read(path)


def test_sheets_with_gaps_are_read(tmp_path):
    _require("polars", "openpyxl")
    path = tmp_path / "t.xlsx"
    _write_sheet(path, "B20000", text=2)
    assert lowd.io.read(path, missing="mean").X.shape == (4, 2)
    _write_sheet(path, text="a sentence " * 20, rows=200)
    assert lowd.io.read(path, label="b").X.shape == (200, 1)
