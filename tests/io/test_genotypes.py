"""Genotypes of PLINK files."""

from __future__ import annotations

import numpy as np
import pytest

import lowd
from lowd.errors import (
    DataError,
    FileFormatError,
    MissingFileError,
    ParameterError,
)
from lowd.io import standardize_genotypes


def _plink(folder, counts):
    """Write genotypes as PLINK does: SNP by SNP, four people to a byte, lowest bits first."""
    n, m = counts.shape
    bits = {2: 0b00, -1: 0b01, 1: 0b10, 0: 0b11}
    packed = bytearray(b"\x6c\x1b\x01")
    for j in range(m):
        for start in range(0, n, 4):
            codes = [bits[c] << 2 * k for k, c in enumerate(counts[start : start + 4, j])]
            packed.append(sum(codes))
    (folder / "g.bed").write_bytes(packed)
    (folder / "g.fam").write_text("".join(f"F{i % 2} P{i} 0 0 1 -9\n" for i in range(n)))
    (folder / "g.bim").write_text("".join(f"1\trs{j}\t0\t{j}\tA\tG\n" for j in range(m)))


def test_plink(tmp_path, rng):
    counts = rng.choice([0, 1, 2, -1], (11, 7), p=[0.4, 0.3, 0.2, 0.1])
    counts[:, 3] = 2  # one allele only
    counts[0, 3] = -1
    _plink(tmp_path, counts)
    expected = np.zeros((11, 7))
    for j in range(7):
        known = counts[:, j] >= 0
        p = counts[known, j].mean() / 2
        if 0 < p < 1:
            expected[known, j] = (counts[known, j] - 2 * p) / np.sqrt(2 * p * (1 - p))
    expected = np.delete(expected, 3, axis=1)
    for name in ("g.bed", "g.fam"):
        table = lowd.io.read(tmp_path / name)
        assert table.kind == "genotypes"
        np.testing.assert_allclose(table.X, expected, rtol=1e-5, atol=1e-6)
    assert table.columns == ("rs0", "rs1", "rs2", "rs4", "rs5", "rs6")
    assert table.ids.tolist() == [f"P{i}" for i in range(11)]
    assert table.labels[:2].tolist() == ["F0", "F1"]
    assert any("same allele: 1 SNP." in note for note in table.notes)
    X, kept = standardize_genotypes(counts)
    np.testing.assert_allclose(X, expected, rtol=1e-5, atol=1e-6)
    assert kept.tolist() == [0, 1, 2, 4, 5, 6]
    with pytest.raises(DataError, match="row 0, column 0 holds 3"):
        standardize_genotypes(np.array([[3, 1]]))


def test_new_people_are_standardized_by_the_frequencies_of_the_old(tmp_path, rng):
    counts = rng.choice([0, 1, 2, -1], (30, 9), p=[0.4, 0.3, 0.2, 0.1])
    _plink(tmp_path, counts)
    whole = lowd.io.read(tmp_path / "g.bed")
    # The last five alone, SNPs in another order, one of them missing, one with alleles exchanged.
    order = rng.permutation(9)[:8]
    some = counts[25:, order]
    some[:, 2] = np.where(some[:, 2] >= 0, 2 - some[:, 2], -1)
    _plink(tmp_path, some)
    lines = [f"1 rs{j} 0 {j} {'G A' if c == 2 else 'A G'}" for c, j in enumerate(order)]
    (tmp_path / "g.bim").write_text("\n".join(lines) + "\n")
    new = lowd.io.read(tmp_path / "g.bed", alleles=whole.alleles)
    assert new.columns == whole.columns
    there = np.isin([int(name[2:]) for name in whole.columns], order)
    np.testing.assert_array_equal(new.X[:, there], whole.X[25:][:, there])
    assert (new.X[:, ~there] == 0).all()
    assert any("taken as the mean: 1 SNP." in note for note in new.notes)
    bim = (tmp_path / "g.bim").read_text()
    (tmp_path / "g.bim").write_text(bim.replace("A G", "T C", 1))
    with pytest.raises(DataError, match=r"SNP rs\d has the alleles T and C, in the model A and G"):
        lowd.io.read(tmp_path / "g.bed", alleles=whole.alleles)
    (tmp_path / "g.bim").write_text(bim.replace("rs", "x"))
    with pytest.raises(DataError, match="none of the"):
        lowd.io.read(tmp_path / "g.bed", alleles=whole.alleles)
    (tmp_path / "t.csv").write_text("rs0,rs1\n1,2\n2,0\n")
    with pytest.raises(ParameterError, match="holds no PLINK genotypes"):
        lowd.io.read(tmp_path / "t.csv", alleles=whole.alleles)
    (tmp_path / "g.bim").write_text("".join(f"1 rs1 0 {j} A G\n" for j in range(8)))
    with pytest.raises(DataError, match="have the same"):
        lowd.io.read(tmp_path / "g.bed", alleles=whole.alleles)


def test_an_allele_that_no_new_person_has(tmp_path):
    """PLINK writes 0 for it; the other one tells which is counted."""
    _plink(tmp_path, np.array([[0, 1], [1, 2], [2, 0]]))
    old = lowd.io.read(tmp_path / "g.bed")
    _plink(tmp_path, np.array([[0, 0]]))
    (tmp_path / "g.bim").write_text("1 rs0 0 1 0 G\n1 rs1 0 2 0 A\n")  # none of A; only A
    new = lowd.io.read(tmp_path / "g.bed", alleles=old.alleles)
    np.testing.assert_array_equal(new.X, [[old.X[0, 0], old.X[1, 1]]])


def test_bad_plink_files(tmp_path, rng):
    _plink(tmp_path, rng.integers(0, 3, (5, 3)))
    bed = tmp_path / "g.bed"
    whole = bed.read_bytes()
    for content, message in (
        (whole[:-1], "do not belong together"),
        (b"xyz" + whole[3:], "not a PLINK .bed file"),
        (whole[:2] + b"\0" + whole[3:], "person by person"),
    ):
        bed.write_bytes(content)
        with pytest.raises(FileFormatError, match=message):
            lowd.io.read(bed)
    (tmp_path / "g.bim").write_text("1 rs1 0 1 A\n")
    with pytest.raises(FileFormatError, match=r"g\.bim, line 1: 5 fields where 6"):
        lowd.io.read(bed)
    (tmp_path / "g.bim").unlink()
    with pytest.raises(MissingFileError, match=r"g\.bim is missing"):
        lowd.io.read(bed)
