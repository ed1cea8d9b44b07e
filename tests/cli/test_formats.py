"""An embedding from every kind of file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from anndata import AnnData
from scipy import io as scipy_io
from scipy import sparse

import lowd

pytestmark = pytest.mark.usefixtures("folder")
ROWS = np.random.default_rng(1).poisson(2.0, size=(40, 6)).astype(float)


def npz():
    np.savez("f.npz", X=ROWS)
    return "f.npz", ROWS


def sparse_npz():
    sparse.save_npz("f.npz", sparse.csr_array(ROWS))
    return "f.npz", ROWS


def matrix_market():
    scipy_io.mmwrite("f.mtx", sparse.coo_array(ROWS))
    return "f.mtx", ROWS


def no_header():
    np.savetxt("f.csv", ROWS, delimiter=",")
    return "f.csv", ROWS


def semicolons():
    np.savetxt("f.txt", ROWS, delimiter=";", header="a;b;c;d;e;f", comments="")
    return "f.txt", ROWS


def anndata():
    made = AnnData(ROWS)
    made.write_h5ad("f.h5ad")
    return "f.h5ad", ROWS


def images():
    image = pytest.importorskip("PIL.Image")
    Path("pictures").mkdir()
    pixels = np.random.default_rng(0).integers(0, 256, (12, 4, 5), dtype=np.uint8)
    for number, picture in enumerate(pixels):
        image.fromarray(picture).save(f"pictures/{number:02}.png")
    return "pictures", pixels.reshape(12, -1) / 255


def genotypes():
    """PLINK: two bits per person; 00 is two of the first allele, 10 is one, 11 is none."""
    counts = np.random.default_rng(0).integers(0, 3, (20, 8))  # persons × variants
    codes = np.array([3, 2, 0])[counts].T
    bits = codes.reshape(8, 5, 4) << np.array([0, 2, 4, 6])
    Path("g.bed").write_bytes(b"\x6c\x1b\x01" + bits.sum(-1).astype(np.uint8).tobytes())
    Path("g.bim").write_text("".join(f"1 rs{i} 0 {i + 1} A G\n" for i in range(8)))
    Path("g.fam").write_text("".join(f"f{i} i{i} 0 0 0 -9\n" for i in range(20)))
    p = counts.mean(0) / 2
    return "g.bed", (counts - 2 * p) / np.sqrt(2 * p * (1 - p))


@pytest.mark.parametrize(
    "made",
    [npz, sparse_npz, matrix_market, no_header, semicolons, anndata, images, genotypes],
    ids=lambda made: made.__name__,
)
def test_the_map_of_a_file_is_that_of_its_rows(made, lowd_command):
    name, X = made()
    ended = lowd_command("pca", name, "-o", "map.npy")
    assert ended.code == 0, ended.err
    Y = lowd.PCA(2).fit_transform(X)
    np.testing.assert_allclose(np.abs(np.load("map.npy")), np.abs(Y), rtol=1e-4, atol=1e-5)


def test_new_people_are_standardized_as_the_old_ones(lowd_command):
    """One person of the file, alone: the coordinates are those in the map of all."""
    genotypes()
    ended = lowd_command("pca", "g.bed", "--model", "m.lowd", "-o", "map.npy")
    assert ended.code == 0, ended.err
    whole = Path("g.bed").read_bytes()
    alone = bytes(byte & 3 for byte in whole[3::5])  # the first of each variant's twenty
    Path("g.bed").write_bytes(whole[:3] + alone)
    Path("g.fam").write_text("f0 i0 0 0 0 -9\n")
    ended = lowd_command("transform", "g.bed", "--model", "m.lowd", "-o", "one.npy")
    assert ended.code == 0, ended.err
    np.testing.assert_allclose(np.load("one.npy"), np.load("map.npy")[:1], rtol=1e-4, atol=1e-5)


def test_new_rows_are_encoded_as_the_old_ones(lowd_command):
    """A value that no new row has is a column of 0, and the columns keep their order."""
    rows = [f"{i},{'red' if i % 2 else 'blue'},{i * i % 7}" for i in range(12)]
    Path("t.csv").write_text("size,color,weight\n" + "\n".join(rows) + "\n")
    ended = lowd_command(
        *("pca", "t.csv", "--encode", "--columns", "*", "--model", "m.lowd", "-o", "map.npy")
    )
    assert ended.code == 0, ended.err
    assert "'color' was one-hot encoded as 2 columns" in ended.err
    Path("new.csv").write_text("weight,color,size\n" + "0,blue,0\n4,blue,2\n")
    ended = lowd_command("transform", "new.csv", "--model", "m.lowd", "-o", "new.npy")
    assert ended.code == 0, ended.err
    np.testing.assert_allclose(np.load("new.npy"), np.load("map.npy")[[0, 2]], atol=1e-12)
    assert "not there before" not in ended.err


def test_a_new_value_of_an_encoded_column_is_said(lowd_command):
    """It would be 0 everywhere in silence; and names with = and commas are names as others."""
    rows = "".join(f"{i},{'7xy'[i % 3]},{i * i % 7}\n" for i in range(12))
    Path("t.csv").write_text('a=b,"grade, final",weight\n' + rows)
    columns = ("--encode", "--columns", "a=b", "--columns", "grade, final", "--columns", "weight")
    ended = lowd_command("pca", "t.csv", *columns, "--model", "m.lowd", "-o", "map.npy")
    assert ended.code == 0, ended.err
    # Alone, 7 looks like a number.
    Path("new.csv").write_text('weight,"grade, final",a=b\n0,7,0\n')
    ended = lowd_command("transform", "new.csv", "--model", "m.lowd", "-o", "new.npy")
    assert ended.code == 0, ended.err
    np.testing.assert_allclose(np.load("new.npy"), np.load("map.npy")[[0]], atol=1e-12)
    Path("new.csv").write_text('weight,"grade, final",a=b\n0,7,0\n0,q,0\n0,,0\n')
    ended = lowd_command("transform", "new.csv", "--model", "m.lowd", "-o", "three.npy")
    assert ended.code == 0, ended.err
    assert "1 row with unknown levels, 'q'" in ended.err
    assert np.ptp(np.load("three.npy")[1:], axis=0).max() == 0


def test_gower_keeps_text(lowd_command):
    Path("t.csv").write_text(
        "size,color,shape\n"
        + "".join(f"{i},{'red' if i % 2 else 'blue'},round\n" for i in range(12))
    )
    ended = lowd_command("classical-mds", "t.csv", "--gower", "--columns", "*", "-o", "map.csv")
    assert ended.code == 0, ended.err
    ended = lowd_command("pca", "t.csv", "--columns", "*", "--keep", "size", "-o", "one.csv")
    assert ended.code == 0, ended.err
    assert "to use text: --encode or --gower" in ended.err
    assert lowd_command("pca", "t.csv", "--encode", "--columns", "*", "-o", "yes.csv").code == 0
    assert lowd_command("diagnose", "t.csv", "--columns", "*").code == 0
