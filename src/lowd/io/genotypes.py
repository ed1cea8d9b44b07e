"""Read PLINK genotypes (.bed, .bim, .fam), standardized as for genotype PCA.

A byte of a .bed file holds four people's genotypes of one SNP, two bits each, the first person in
the lowest bits: 00 is two of the first allele, 10 one, 11 none, 01 is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import progress
from ..errors import DataError, FileFormatError, MissingFileError
from .options import Options
from .source import Source, require_memory
from .table import Column, Table
from .words import pluralize

MISSING_GENOTYPE, MAX_ALLELE_COUNT = -1, 2
_BED_MAGIC = b"\x6c\x1b\x01"
_ALLELE_COUNTS = np.array([2, MISSING_GENOTYPE, 1, 0], np.int8)  # indexed by the two bits
_DECODING_TABLE = _ALLELE_COUNTS[
    np.arange(256)[:, None] >> np.array([0, 2, 4, 6]) & 3
]  # byte -> four people
_BLOCK_GENOTYPES = 2**22  # Genotypes decoded at a time: a few megabytes.


class Alleles(NamedTuple):
    """Alleles and their frequencies, one entry per SNP, to standardize new people alike."""

    snps: Column
    counted: Column  # the allele that is counted
    other: Column
    frequencies: NDArray[np.float64]  # frequencies of the counted allele

    def select(self, snps: Sequence[str]) -> Alleles:
        """The alleles of some SNPs."""
        column_of_snp = {snp: j for j, snp in enumerate(self.snps)}
        return Alleles(*(field[[column_of_snp[snp] for snp in snps]] for field in self))


def read(path: Path, options: Options) -> Table:
    """Read standardized genotypes, people × SNPs; `source` is any of the three files."""
    bed, bim, fam = (_find_sibling(path, suffix) for suffix in (".bed", ".bim", ".fam"))
    people, snps = _read_fields(fam, 6), _read_fields(bim, 6)
    n, m = len(people), len(snps)
    packed = _map_bed(bed, n, m)
    needs = {"genotypes": 4 * n * m, "packed": packed.nbytes}
    require_memory(Source(str(bed), bed), needs, "Thin the SNPs first (plink --indep-pairwise).")
    if options.alleles is None:
        X, kept, p = _standardize(packed, n)
        names, first, second = (np.array([snps[j][f] for j in kept], object) for f in (1, 4, 5))
        alleles = Alleles(names, first, second, p)
        notes = [f"{n} people and {m} SNPs, standardized by allele frequency."]
        left = m - len(kept)
        notes += [f"Left out, since all have the same allele: {pluralize(left, 'SNP')}."] * (
            left > 0
        )
    else:
        alleles = options.alleles
        X, absent = _standardize_like(packed, n, snps, alleles, str(bim))
        notes = [f"{n} people, standardized by the allele frequencies of the training data."]
        notes += [f"Not in {bim}, so taken as the mean: {pluralize(absent, 'SNP')}."] * (absent > 0)
    ids = np.array([person[1] for person in people])
    if len(set(ids)) < n:
        ids = np.array([f"{person[0]}:{person[1]}" for person in people])
    families = np.array([person[0] for person in people])
    labels = families if 1 < len(set(families)) <= n // 2 else None
    if labels is not None:
        notes.append("The family (first column of .fam) was taken as the label.")
    sexes = np.array([person[4] for person in people])
    return Table(
        X,
        "genotypes",
        tuple(alleles.snps),
        ids,
        labels,
        {"sex": sexes, "phenotype": np.array([person[5] for person in people])},
        source=str(path),
        notes=tuple(notes),
        alleles=alleles,
    )


def standardize_genotypes(
    counts: ArrayLike, missing: int = MISSING_GENOTYPE
) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Standardize allele counts (people × SNPs) for genotype PCA; also return the kept SNPs.

    An entry becomes (x - 2p) / sqrt(2p (1 - p)), where p is the allele's frequency among the known
    genotypes of the SNP; a missing one becomes the mean, 0. SNPs with one allele only carry
    nothing and are left out.

    >>> import numpy as np
    >>> from lowd.io import standardize_genotypes
    >>> X, kept = standardize_genotypes(np.array([[0, 2, 1], [1, 2, -1], [2, 2, 1]]))
    >>> X[:, 0].round(3), kept.tolist()
    (array([-1.414,  0.   ,  1.414], dtype=float32), [0, 2])
    """
    given = np.asarray(counts)
    if given.ndim != 2 or given.dtype.kind not in "iu":
        raise DataError(
            f"genotypes are a matrix of allele counts 0, 1, 2, got {given.dtype} of shape "
            f"{given.shape}."
        )
    if not np.isin(given, (0, 1, 2, missing)).all():
        row, column = map(int, np.argwhere(~np.isin(given, (0, 1, 2, missing)))[0])
        raise DataError(
            f"row {row}, column {column} holds {given[row, column]}; an allele count is 0, 1, 2, "
            f"or {missing} where it is missing."
        )
    known = np.where(given == missing, MISSING_GENOTYPE, given).astype(np.int8)
    p = _compute_frequencies(known.T)
    kept = np.flatnonzero((p > 0) & (p < 1))
    return np.ascontiguousarray(_scale(known.T[kept], p[kept]).T), kept


def _standardize(
    packed: NDArray[np.uint8], n: int
) -> tuple[NDArray[np.float32], NDArray[np.intp], NDArray[np.float64]]:
    """Read the file twice, some SNPs at a time: first the frequencies, then the matrix."""
    m = len(packed)
    step = max(1, _BLOCK_GENOTYPES // n)
    p = np.empty(m)
    for start in range(0, m, step):
        p[start : start + step] = _compute_frequencies(_decode(packed[start : start + step], n))
        progress.report("allele frequencies", min(start + step, m), m)
    kept = np.flatnonzero((p > 0) & (p < 1))
    if not len(kept):
        raise DataError("every SNP has one allele only: there is nothing to embed.")
    X = np.empty((n, len(kept)), np.float32)
    for start in range(0, len(kept), step):
        chosen = kept[start : start + step]
        X[:, start : start + step] = _scale(_decode(packed[chosen], n), p[chosen]).T
        progress.report("genotypes", min(start + step, len(kept)), len(kept))
    return X, kept, p[kept]


def _standardize_like(
    packed: NDArray[np.uint8], n: int, snps: list[list[str]], alleles: Alleles, source: str
) -> tuple[NDArray[np.float32], int]:
    """Genotypes standardized by given frequencies, and the number of SNPs that are missing."""
    column_of_snp = {fields[1]: j for j, fields in enumerate(snps)}
    if len(column_of_snp) < len(snps) or len(set(alleles.snps)) < len(alleles.snps):
        raise DataError(
            f"{source}: SNPs are known by their names, and some have the same; give each its own "
            "(plink --set-all-var-ids @:#)."
        )
    m = len(alleles.snps)
    columns, swapped = np.full(m, -1), np.zeros(m, bool)
    for j, (snp, one, two, _) in enumerate(zip(*alleles, strict=True)):
        if snp in column_of_snp:
            columns[j] = column_of_snp[snp]
            swapped[j] = _counts_other_allele(snps[columns[j]], one, two, source)
    absent = int((columns < 0).sum())
    if absent == m:
        raise DataError(
            f"{source} has none of the {m} SNPs of the model, such as {alleles.snps[0]}."
        )
    X = np.empty((n, m), np.float32)
    step = max(1, _BLOCK_GENOTYPES // n)
    for start in range(0, m, step):
        part = slice(start, start + step)
        counts = _decode(packed[columns[part]], n)
        counts = np.where(swapped[part, None] & (counts != MISSING_GENOTYPE), 2 - counts, counts)
        counts[columns[part] < 0] = MISSING_GENOTYPE
        X[:, part] = _scale(counts, alleles.frequencies[part]).T
        progress.report("genotypes", min(start + step, m), m)
    return X, absent


def _counts_other_allele(fields: list[str], counted: str, other: str, source: str) -> bool:
    """Whether the file counts the other allele; PLINK writes 0 for an allele that nobody has."""
    first, second = fields[4:]
    if first in (counted, "0") and second in (other, "0"):
        return False
    if first in (other, "0") and second in (counted, "0"):
        return True
    raise DataError(
        f"{source}: SNP {fields[1]} has the alleles {first} and {second}, in the model {counted} "
        f"and {other}; flip the strand (plink --flip) or leave it out of both."
    )


def _decode(packed: NDArray[np.uint8], n: int) -> NDArray[np.int8]:
    """Decode the bytes of some SNPs into allele counts, SNPs × people."""
    people: NDArray[np.int8] = _DECODING_TABLE[packed].reshape(len(packed), -1)
    return people[:, :n]


def _compute_frequencies(counts: NDArray[np.int8]) -> NDArray[np.float64]:
    """Frequency of the first allele among known genotypes of each SNP; 0 if none is known."""
    known = counts != MISSING_GENOTYPE
    allele_counts = np.where(known, counts, 0).sum(1, dtype=np.int64)
    return np.asarray(allele_counts / np.maximum(1, 2 * known.sum(1)))


def _scale(counts: NDArray[np.int8], p: NDArray[np.float64]) -> NDArray[np.float32]:
    mean, deviation = 2 * p[:, None], np.sqrt(2 * p * (1 - p))[:, None]
    scaled = np.where(counts == MISSING_GENOTYPE, 0, (counts - mean) / deviation)
    return scaled.astype(np.float32)


def _find_sibling(path: Path, suffix: str) -> Path:
    sibling = path.with_suffix(suffix)
    if not sibling.is_file():
        raise MissingFileError(
            f"PLINK genotypes are three files, {path.stem}.bed, .bim and .fam, in one folder; "
            f"{sibling} is missing."
        )
    return sibling


def _read_fields(path: Path, width: int) -> list[list[str]]:
    rows = []
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                fields = line.split()
                if len(fields) != width:
                    raise FileFormatError(
                        f"{path}, line {number}: {len(fields)} fields where {width} are expected."
                    )
                rows.append(fields)
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path} is not a text file in UTF-8: {error}.") from None
    if not rows:
        raise FileFormatError(f"{path} is empty.")
    return rows


def _map_bed(bed: Path, n: int, m: int) -> NDArray[np.uint8]:
    """Map the bytes of the .bed file (SNPs × a quarter of the people) without reading them."""
    with bed.open("rb") as file:
        magic = file.read(3)
    if magic[:2] == _BED_MAGIC[:2] and magic[2:] == b"\0":
        raise FileFormatError(
            f"{bed} is stored person by person, as PLINK no longer does; convert it: "
            "plink --bfile NAME --make-bed."
        )
    if magic != _BED_MAGIC:
        raise FileFormatError(f"{bed} is not a PLINK .bed file (it begins with {magic.hex()}).")
    width, size = -(-n // 4), bed.stat().st_size
    if size != 3 + m * width:
        raise FileFormatError(
            f"{bed} has {size} bytes, but {n} people (.fam) and {m} SNPs (.bim) make "
            f"{3 + m * width}; the three files do not belong together, or one is cut off."
        )
    return np.memmap(bed, np.uint8, "r", 3, (m, width))
