"""Arrays, sparse matrices, distances, images, strings, cells and workbooks."""

from __future__ import annotations

import datetime
import itertools
import sys
import zipfile

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

import lowd
from lowd.errors import (
    DataError,
    FileFormatError,
    MissingPackageError,
)
from lowd.io import edit_distances, levenshtein


@pytest.mark.parametrize("kind", [">f8", "<f4", "u1", ">i4", "?", "f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy(tmp_path, kind, order, rng):
    X = np.asarray(rng.integers(0, 2, (5, 3)), kind, order=order)
    np.save(tmp_path / "t.npy", X)
    table = lowd.io.read(tmp_path / "t.npy")
    np.testing.assert_array_equal(table.X, X)
    small = np.dtype(kind).itemsize < 3 or kind == "<f4"
    assert table.X.dtype == (np.float32 if small else np.float64)
    assert lowd.io.read(tmp_path / "t.npy", columns="x1", every=2).X.shape == (3, 1)


def test_blocks_become_rows(tmp_path):
    np.save(tmp_path / "t.npy", np.arange(24).reshape(2, 3, 4))
    table = lowd.io.read(tmp_path / "t.npy")
    np.testing.assert_array_equal(table.X, np.arange(24).reshape(2, 12))


def test_images_beside_their_labels(tmp_path):
    path = tmp_path / "faces.npz"
    np.savez(path, X=np.arange(36).reshape(4, 3, 3), y=[0, 1, 0, 1])
    table = lowd.io.read(path)
    np.testing.assert_array_equal(table.X, np.arange(36).reshape(4, 9))
    assert len(table.labels) == 4


def test_npz_with_labels(tmp_path, rng):
    X = rng.normal(size=(4, 2))
    path = tmp_path / "t.npz"
    names = np.array(["cat", "dog"])
    np.savez(path, X=X, y=[1, 0, 1, 1], label_names=names, sample=list("abcd"), age=[1, 2, 3, 4])
    table = lowd.io.read(path)
    np.testing.assert_array_equal(table.X, X)
    assert table.labels.tolist() == ["dog", "cat", "dog", "dog"]
    assert table.ids.tolist() == list("abcd")
    assert table.extra["age"].tolist() == [1, 2, 3, 4]
    assert lowd.io.read(path, label="age").labels.tolist() == [1, 2, 3, 4]
    with pytest.raises(DataError, match="label='nope'"):
        lowd.io.read(path, label="nope")
    np.savez(path, p=X, q=X + 1)
    np.testing.assert_array_equal(lowd.io.read(path, array="q").X, X + 1)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "mtx", "array"])
def test_sparse_matrices(tmp_path, kind):
    X = sparse.random_array((6, 5), density=0.4, rng=np.random.default_rng(0))
    path = tmp_path / ("t.npz" if kind in ("csr", "csc", "coo") else "t.mtx")
    if kind == "mtx":
        scipy.io.mmwrite(path, X)
    elif kind == "array":
        scipy.io.mmwrite(path, X.toarray())
    else:
        sparse.save_npz(path, X.asformat(kind))
    table = lowd.io.read(path)
    assert sparse.issparse(table.X) == (kind != "array")
    dense = table.X.toarray() if sparse.issparse(table.X) else table.X
    np.testing.assert_allclose(dense, X.toarray())


# All but a skew-symmetric pattern, which has no signs.
@pytest.mark.parametrize(
    ("field", "symmetry"),
    [
        *itertools.product(["real", "integer", None], ["symmetric", "skew-symmetric", "general"]),
        *itertools.product(["pattern"], ["symmetric", "general"]),
    ],
)
def test_matrix_market_as_scipy_writes_it(tmp_path, symmetry, field):
    A = np.array([[1.0, 2, 0], [2, 0, -3], [0, -3, 4]])
    if symmetry == "skew-symmetric":
        A = np.tril(A, -1) - np.tril(A, -1).T
    elif symmetry == "general":
        A = A[:, :2]
    dense = field is None
    path = tmp_path / "t.mtx"
    X = A if dense else sparse.coo_array(A)
    scipy.io.mmwrite(path, X, comment="by\nSciPy", field=field or "real", symmetry=symmetry)
    found = lowd.io.read(path, distances=False).X
    expected = (A != 0) * 1.0 if field == "pattern" else A
    np.testing.assert_array_equal(found if dense else found.toarray(), expected)


def test_a_sparse_index_outside_is_refused(tmp_path):
    path = tmp_path / "t.npz"
    parts = {"indices": [0, 9], "indptr": [0, 1, 2], "data": [1.0, 2.0]}
    np.savez(path, format=b"csr", shape=[2, 3], **parts)
    with pytest.raises(FileFormatError, match="is not a sparse matrix"):
        lowd.io.read(path)


def test_distances_are_recognized(tmp_path, rng):
    D = squareform(pdist(rng.normal(size=(6, 2))))
    np.save(tmp_path / "square.npy", D)
    np.save(tmp_path / "condensed.npy", squareform(D))
    for name in ("square", "condensed"):
        table = lowd.io.read(tmp_path / f"{name}.npy")
        assert table.kind == "distances"
        np.testing.assert_array_equal(table.X, D)
        assert any("distances" in note for note in table.notes)
    assert lowd.io.read(tmp_path / "square.npy", distances=False).kind == "rows"
    for other in (D + np.eye(6), D * np.triu(np.ones((6, 6))), (np.quantile(D, 0.8) < D) * 1.0, -D):
        np.save(tmp_path / "other.npy", other)
        assert lowd.io.read(tmp_path / "other.npy").kind == "rows"
    np.save(tmp_path / "other.npy", D + np.eye(6))
    assert lowd.io.read(tmp_path / "other.npy", distances=True).kind == "distances"


def test_distances_between_named_rows(tmp_path):
    text = ",Rome,Oslo,Bern\nRome,0,2000,700\nOslo,2000,0,1500\nBern,700,1500,0\n"
    (tmp_path / "t.csv").write_text(text)
    table = lowd.io.read(tmp_path / "t.csv")
    assert table.kind == "distances"
    assert table.ids.tolist() == ["Rome", "Oslo", "Bern"]
    (tmp_path / "t.csv").write_text("\n".join(line.partition(",")[2] for line in text.split()))
    assert lowd.io.read(tmp_path / "t.csv").ids.tolist() == ["Rome", "Oslo", "Bern"]


def _plain_edit_distance(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), int)
    table[:, 0], table[0] = np.arange(len(a) + 1), np.arange(len(b) + 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            steps = table[i, j + 1] + 1, table[i + 1, j] + 1, table[i, j] + (x != y)
            table[i + 1, j + 1] = min(steps)
    return table[-1, -1]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("abé", max_size=12), min_size=2, max_size=4))
def test_edit_distances_are_those_of_the_table(strings):
    expected = [[_plain_edit_distance(a, b) for b in strings] for a in strings]
    assert edit_distances(strings).tolist() == expected
    assert edit_distances(strings, strings[:2]).tolist() == [row[:2] for row in expected]
    assert [[levenshtein(a, b) for b in strings] for a in strings] == expected


@pytest.mark.parametrize("length", [63, 64, 65, 130])
def test_edit_distances_at_the_edge_of_a_word(length, rng):
    a, b = ("".join(rng.choice(list("ab"), length)) for _ in range(2))
    expected = _plain_edit_distance(a, b)
    assert levenshtein(a, b) == expected
    assert edit_distances([a, b])[0, 1] == expected
    assert edit_distances([a, b[:-1]])[0, 1] == _plain_edit_distance(a, b[:-1])


def test_strings_to_a_map(tmp_path):
    (tmp_path / "words.txt").write_text("kitten\n\nmitten\nsitting\nfitting\n")
    table = lowd.io.read(tmp_path / "words.txt")
    assert table.kind == "strings"
    assert table.X == ["kitten", "mitten", "sitting", "fitting"]
    by_callable = lowd.ClassicalMDS(2, metric=levenshtein).fit_transform(table.X)
    matrix = edit_distances(table.X)
    by_matrix = lowd.ClassicalMDS(2, metric="precomputed").fit_transform(matrix)
    np.testing.assert_allclose(by_callable, by_matrix)


def _image(path, pixels):
    from PIL import Image

    path.parent.mkdir(exist_ok=True)
    Image.fromarray(pixels).save(path)


def test_a_folder_of_images(tmp_path, rng):
    pixels = rng.integers(0, 256, (3, 6, 4), dtype=np.uint8)
    for i, image in enumerate(pixels):
        _image(tmp_path / f"{i}.png", image)
    (tmp_path / "readme.txt").write_text("hello")
    table = lowd.io.read(tmp_path)
    assert table.kind == "images"
    np.testing.assert_allclose(table.X, pixels.reshape(3, -1) / 255, rtol=1e-6)
    assert table.ids.tolist() == ["0.png", "1.png", "2.png"]
    assert table.labels is None
    np.testing.assert_array_equal(table.thumbnails, pixels)
    assert any("readme.txt" in note for note in table.notes)
    color = lowd.io.read(tmp_path, color=True, size=(2, 3))
    assert color.X.shape == (3, 18)
    assert color.thumbnails.shape == (3, 3, 2, 3)
    assert len(color.columns) == 18


def test_folders_of_images_are_classes(tmp_path, rng):
    for kind in ("cat", "dog"):
        _image(tmp_path / kind / "a.png", rng.integers(0, 256, (60, 100, 3), dtype=np.uint8))
    table = lowd.io.read(tmp_path)
    assert table.labels.tolist() == ["cat", "dog"]
    assert table.thumbnails.shape == (2, 29, 48, 3)


def test_bad_folders_of_images(tmp_path):
    with pytest.raises(FileFormatError, match="holds no images"):
        lowd.io.read(tmp_path)
    _image(tmp_path / "a.png", np.zeros((4, 4), np.uint8))
    outside = tmp_path.parent / "secret.png"
    _image(outside, np.zeros((4, 4), np.uint8))
    (tmp_path / "link.png").symlink_to(outside)
    table = lowd.io.read(tmp_path)
    assert table.ids.tolist() == ["a.png"]
    assert any("link.png" in note for note in table.notes)
    _image(tmp_path / "b.png", np.zeros((5, 4), np.uint8))
    with pytest.raises(FileFormatError, match=r"differ in size.*size=\(32, 32\)"):
        lowd.io.read(tmp_path)
    whole = (tmp_path / "b.png").read_bytes()
    (tmp_path / "b.png").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileFormatError, match=r"b\.png is damaged"):
        lowd.io.read(tmp_path, size=(4, 4))


def test_anndata_comes_and_goes(tmp_path, rng):
    path = tmp_path / "cells.h5ad"
    adata = anndata.AnnData(sparse.csr_matrix(rng.poisson(1.0, (8, 5)).astype(np.float32)))
    adata.obs["cell_type"] = ["B", "T"] * 4
    adata.obsm["X_pca"] = rng.normal(size=(8, 3))
    adata.write_h5ad(path)
    table = lowd.io.read(path)
    assert sparse.issparse(table.X)
    assert table.labels.tolist() == ["B", "T"] * 4
    rows = lowd.io.read(path, vector="X_pca")
    np.testing.assert_array_equal(rows.X, adata.obsm["X_pca"])
    Y = rng.normal(size=(8, 2))
    trust = {"trust": np.ones(8)}
    lowd.io.write(tmp_path / "map.h5ad", rows.with_embedding(Y, ["isomap0", "isomap1"], trust))
    back = anndata.read_h5ad(tmp_path / "map.h5ad")
    np.testing.assert_array_equal(back.obsm["X_isomap"], Y)
    assert back.obs["isomap_trust"].tolist() == [1] * 8
    assert back.X.shape == (8, 5)


def test_clusterings_of_cells_are_no_labels(tmp_path, rng):
    """What was computed from the cells is named, and colors nothing unasked."""
    cells = anndata.AnnData(sparse.csr_matrix(rng.poisson(1.0, (8, 5)).astype(np.float32)))
    cells.obs["leiden"] = pd.Categorical(["0", "1"] * 4)
    cells.obs["n_genes"] = np.arange(8)
    cells.obsm["X_pca"] = rng.normal(size=(8, 3))
    cells.write_h5ad(tmp_path / "cells.h5ad")
    table = lowd.io.read(tmp_path / "cells.h5ad")
    assert table.labels is None
    notes = " ".join(table.notes)
    assert "Clusterings of these cells, not labels: 'leiden'" in notes
    assert "'X_pca'" in notes
    assert lowd.io.read(tmp_path / "cells.h5ad", label="leiden").labels.tolist() == ["0", "1"] * 4


def test_rows_of_pixels_are_images_where_their_shape_is_known(tmp_path, rng):
    X, path = rng.integers(0, 50, (6, 100 * 60)).astype(np.uint8), tmp_path / "faces.npz"
    np.savez(path, X=X, image_shape=[100, 60])
    images = lowd.io.read(path).thumbnails
    assert images.shape == (6, 34, 20)  # every third pixel
    assert images.dtype == np.uint8
    assert (images.min(), images.max()) == (0, 255)
    for shape in ([60, 60], [-100, -60], ["a", "b"], [100, 60, 1]):
        np.savez(path, X=X, image_shape=shape)
        assert lowd.io.read(path).thumbnails is None


def test_missing_packages_are_named(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    for package, name, extra in (("polars", "t.csv", "app"), ("anndata", "t.h5ad", "anndata")):
        (tmp_path / name).write_bytes(path.read_bytes())
        monkeypatch.setitem(__import__("sys").modules, package, None)
        with pytest.raises(MissingPackageError, match=rf"pip install 'lowd\[{extra}\]'"):
            lowd.io.read(tmp_path / name)


@pytest.fixture
def workbook(tmp_path):
    """A workbook of two sheets: identifiers, dates, numbers, and a cell that holds none."""
    openpyxl = pytest.importorskip("openpyxl", reason="the extra 'excel' is not installed")
    book = openpyxl.Workbook()
    book.active.append(["id", "day", "length", "width"])
    day = datetime.datetime(2020, 1, 31)
    for i in range(12):
        book.active.append([f"r{i}", day + datetime.timedelta(i), 0.1 + i, None if i == 5 else i])
    book.create_sheet("other")
    book.save(tmp_path / "book.xlsx")
    return tmp_path / "book.xlsx"


def test_the_first_sheet_of_a_workbook(workbook, tmp_path):
    table = lowd.io.read(workbook, missing="mean")
    assert table.columns == ("length", "width")
    assert table.ids.tolist() == [f"r{i}" for i in range(12)]
    np.testing.assert_array_equal(table.X[:, 0], 0.1 + np.arange(12))
    assert any("first of 2 sheets, 'Sheet'" in note for note in table.notes)
    assert lowd.io.read(workbook, missing="mean", dates=True).columns[0] == "day"
    unnamed = tmp_path / "unnamed"
    unnamed.write_bytes(workbook.read_bytes())
    assert lowd.io.read(unnamed, missing="mean").X.shape == (12, 2)


def test_errors_in_a_workbook_name_line_and_column(workbook, tmp_path):
    with pytest.raises(DataError, match=r"book\.xlsx, line 7, column 'width'"):
        lowd.io.read(workbook)
    damaged = tmp_path / "damaged.xlsx"
    damaged.write_bytes(workbook.read_bytes()[:200])
    with pytest.raises(FileFormatError, match="is not an Excel workbook"):
        lowd.io.read(damaged)
    with zipfile.ZipFile(damaged, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", bytes(2**27))
    with pytest.raises(FileFormatError, match="200 times its size"):
        lowd.io.read(damaged)


def test_a_workbook_without_openpyxl_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "book.xlsx").write_bytes(b"PK")
    with pytest.raises(MissingPackageError, match=r"lowd\[excel\].*as CSV"):
        lowd.io.read(tmp_path / "book.xlsx")


def test_missing_values_of_arrays_are_dropped_or_filled(tmp_path):
    X = np.arange(12.0).reshape(4, 3)
    X[1, 2] = np.nan
    path = tmp_path / "t.npz"
    np.savez(path, X=X, y=np.array([0, 1, 0, 1]), ids=np.array(list("abcd")))
    filled = lowd.io.read(path, missing="mean")
    np.testing.assert_allclose(filled.X[1], [3, 4, (2 + 8 + 11) / 3])
    dropped = lowd.io.read(path, missing="drop")
    assert dropped.X.tolist() == X[[0, 2, 3]].tolist()
    assert dropped.ids.tolist() == ["a", "c", "d"]
    assert dropped.labels.tolist() == [0, 0, 1]
    assert any("Left out for missing values: 1 row" in note for note in dropped.notes)
    assert np.isnan(lowd.io.read(path, missing="keep").X[1, 2])
