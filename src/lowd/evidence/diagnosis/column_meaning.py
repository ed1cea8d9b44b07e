"""What columns hold: identifiers, codes, counts, genotypes, one quantity or several.

Names and values decide together. A wrong guess costs little where it is reported with its remedy,
so the rules are those that people use when they look at a table.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ... import random
from ...parameters import Reals
from .column_statistics import ColumnSummary
from .raw_data import RawData, Sample
from .result import MAX_AFFECTED, Action, Finding

Content: TypeAlias = Literal["counts", "genotypes", "one quantity", "quantities"]

# Words of a column's name, in lower case.
ID_WORDS = {"id", "ids", "uid", "uuid", "guid", "ssn", "isbn", "ean", "sku", "barcode", "rowid"}
ROW_WORDS = {"index", "idx", "key", "row", "nr", "no", "number", "unnamed"}  # if all values differ
CODE_WORDS = {
    *(
        "zip",
        "zipcode",
        "postcode",
        "postal",
        "plz",
        "code",
        "codes",
        "fips",
        "naics",
        "sic",
        "icd",
    ),
    *("phone", "fax", "type", "category", "kind", "region", "district", "branch"),
}
MAX_TABLE_COLUMNS = 1000  # a wider table is a matrix of one kind, whatever its names are
MIN_COUNTED_ROWS = 10  # that count up before they are taken as row numbers
# Names that a reader or a program gives to columns without one say nothing about the content.
GIVEN_NAMES = {"x", "v", "column", "col", "var", "feature", "f", "c", "field", "unnamed"}
MIN_NUMBERED_COLUMNS = 10  # with one stem (px0, px1, ...) that are one quantity
NUMBERED_SHARE = 0.9  # of all columns
MIN_COUNT_COLUMNS = 20  # fewer columns of small integers are numbers of things, each its own
MIN_ZERO_SHARE = 0.5  # of the entries of a matrix of counts
MIN_GENOTYPE_COLUMNS = 100
INSPECTED_COLUMNS = 200  # drawn at random, whose values show genotypes or counts
INSPECTED_ROWS = 2000
MIN_GENOTYPE_SHARE = 0.95  # of the inspected columns
MIN_SKEWNESS = 2.0  # that of an exponential distribution
MIN_TAIL_RATIO = 10.0  # of the largest value to the median
MIN_SKEWNESS_ROWS = 20  # fewer have a skewness by accident
MIN_COMPONENTS = 3  # columns that may be principal components
MAX_COMPONENT_CORRELATION = 1e-3  # of principal components: rounding of a text file


class Meaning(NamedTuple):
    """What the columns of a matrix are, and why they are taken so."""

    content: Content
    reason: str = ""
    stem: str = ""  # that the numbered names of the columns share, or nearly all of them

    @property
    def shares_units(self) -> bool:
        return self.content != "quantities"


def recognize_content(data: RawData, summary: ColumnSummary, sample: Sample | None) -> Meaning:
    """Counts, genotypes, one quantity in all columns, or (what is left) several quantities."""
    d = data.n_features
    if sample is None or len(sample) < 3 or d < 2:
        return Meaning("quantities")
    Z = _inspect(sample)
    whole = bool((np.rint(Z) == Z).all())
    if d >= MIN_GENOTYPE_COLUMNS and _are_genotypes(Z):
        return Meaning("genotypes", "columns have the three values of allele counts")
    if whole and d >= MIN_COUNT_COLUMNS and summary.low.min() >= 0 and Z.max() > 1:
        zeros = float((Z == 0).mean())
        if zeros > MIN_ZERO_SHARE:
            return Meaning("counts", f"all entries are integers >= 0, {zeros:.0%} of them 0")
    if data.is_sparse:
        return Meaning("one quantity", "sparse columns are weights of one kind")
    if stem := _find_stem(data.names):
        reason = f"the names of the columns differ in a number ({stem}...)"
        return Meaning("one quantity", reason, stem)
    low, high = float(summary.low.min()), float(summary.high.max())
    if d >= MIN_COUNT_COLUMNS and low >= 0 and (high in (1.0, 255.0)):
        return Meaning("one quantity", f"all entries are between 0 and {high:g}, as pixels are")
    if _are_components(sample):
        return Meaning("one quantity", "the columns are principal components")
    return Meaning("quantities")


def check_content(meaning: Meaning) -> list[Finding]:
    """Counts and genotypes need their own preparation."""
    if meaning.content == "counts":
        return [
            Finding(
                "notice",
                "counts",
                f"The rows hold counts: {meaning.reason}. Totals of rows and large counts dominate "
                "distances.",
                "Make the totals equal and take logarithms: Pipeline(normalize=True, log1p=True).",
                action=Action(
                    {"normalize": True, "log1p": True},
                    "rows were divided by their totals and log(1 + x) was taken",
                ),
            )
        ]
    if meaning.content == "genotypes":
        return [
            Finding(
                "notice",
                "genotypes",
                f"The rows hold genotypes: {meaning.reason}. On their principal components new "
                "individuals shrink toward 0 (correct_shrinkage=True).",
                "Standardize each SNP, and reduce by PCA first: Pipeline(scale=True, pca=...).",
                action=Action({"scale": True}, "SNPs were divided by their standard deviations"),
            )
        ]
    return []


def check_identifiers(data: RawData, summary: ColumnSummary) -> list[Finding]:
    """Columns that name rows, and codes, whose numbers are names too."""
    if data.n_features > MAX_TABLE_COLUMNS or data.is_sparse:
        return []
    found: dict[str, list[int]] = {"id": [], "code": []}
    for j in np.flatnonzero(summary.varies):
        role = _find_role(data, int(j))
        if role is not None:
            found[role].append(int(j))
    sentences = {
        "id": ("identifiers", "{} only {} the rows: equal or near numbers mean nothing."),
        "code": ("codes", "{} {} codes: numbers that are names, whose differences mean nothing."),
    }
    findings = []
    for kind, columns in found.items():
        if not columns:
            continue
        topic, sentence = sentences[kind]
        action = {"id": ("names", "name"), "code": ("holds", "hold")}[kind][len(columns) > 1]
        where = data.list_columns(columns)
        findings.append(
            Finding(
                "warning",
                topic,
                sentence.format(capitalize(where), action),
                "Leave them out of the features; color the map by them.",
                tuple(data.describe_column(j) for j in columns[:MAX_AFFECTED]),
                Action({"drop": data.identify_columns(columns)}, f"{where} left out"),
            )
        )
    return findings


def check_skewness(data: RawData, sample: Sample, columns: NDArray[np.int64]) -> list[Finding]:
    """Heavy tails of columns >= 0, where a few large values decide all distances."""
    if len(sample) < MIN_SKEWNESS_ROWS or data.n_features > MAX_TABLE_COLUMNS:
        return []
    Z = sample.take_dense(columns)
    heavy = [int(j) for j, x in zip(columns, Z.T, strict=True) if _has_heavy_tail(x)]
    if not heavy:
        return []
    where = data.list_columns(heavy)
    return [
        Finding(
            "notice",
            "skewness",
            f"{capitalize(where)} {'have' if heavy[1:] else 'has'} a heavy tail: few large values "
            "decide the distances.",
            "Take logarithms: Pipeline(log1p=[...]).",
            tuple(data.describe_column(j) for j in heavy[:MAX_AFFECTED]),
            Action({"log1p": data.identify_columns(heavy)}, f"logarithm of {where} taken"),
        )
    ]


def _find_role(data: RawData, j: int) -> Literal["id", "code"] | None:
    if not _are_whole(np.asarray(data.X[:INSPECTED_ROWS, j], np.float64)):
        return None
    x = np.asarray(data.X[:, j], np.float64)
    if not _are_whole(x):
        return None
    x = x[np.isfinite(x)]
    words = set() if data.names is None else set(_split_words(str(data.names[j])))
    if words & ID_WORDS:
        return "id"
    if words & CODE_WORDS:
        return "code"
    counts_up = len(x) >= MIN_COUNTED_ROWS and x[0] in (0, 1) and bool((np.diff(x) == 1).all())
    return "id" if counts_up or (words & ROW_WORDS and len(np.unique(x)) == len(x)) else None


def _are_whole(x: Reals) -> bool:
    """Integers, as far as they are known."""
    known = x[np.isfinite(x)]
    return bool((np.rint(known) == known).all())


def _split_words(name: str) -> list[str]:
    """The words of a name.

    >>> _split_words("CustomerID"), _split_words("zip-code"), _split_words("ID1")
    (['customer', 'id'], ['zip', 'code'], ['id1'])
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [word.lower() for word in re.split(r"[\W_]+", spaced) if word]


def remove_numbers(name: str) -> str:
    """The name without its numbers.

    >>> remove_numbers("px12"), remove_numbers("pixel_0_3"), remove_numbers("PC1")
    ('px', 'pixel', 'PC')
    """
    return re.sub(r"[\W_]*\d+", "", name)


def _find_stem(names: tuple[str, ...] | None) -> str:
    """The name that nearly all columns have but for a number; "" if there is none."""
    if names is None or len(names) < MIN_NUMBERED_COLUMNS:
        return ""
    stems = [remove_numbers(name) for name in names if name[-1:].isdigit()]
    if not stems:
        return ""
    values, counts = np.unique(stems, return_counts=True)
    most = str(values[counts.argmax()])
    given = most.lower() in GIVEN_NAMES
    return "" if given or counts.max() < NUMBERED_SHARE * len(names) else most


def _inspect(sample: Sample) -> Reals:
    """Some columns of some rows."""
    d = sample.X.shape[1]
    columns = random.subset(0, "inspected", d, min(d, INSPECTED_COLUMNS))
    part = sample.take(np.arange(min(len(sample), INSPECTED_ROWS)))
    return part.take_dense(columns)


def _are_genotypes(Z: Reals) -> bool:
    """Three equally spaced values in nearly all columns; 0 may stand for the mean, too."""
    found = three = 0
    for x in Z.T:
        values = np.unique(x)
        if len(values) == 4 and (values == 0).any():
            values = values[values != 0]
        if len(values) <= 2:
            found += 1
        elif len(values) == 3:
            gaps = np.diff(values)
            equal = abs(gaps[1] - gaps[0]) <= 1e-4 * gaps[0]
            found, three = found + equal, three + equal
    return bool(found >= MIN_GENOTYPE_SHARE * Z.shape[1] and three >= Z.shape[1] / 2)


def _are_components(sample: Sample) -> bool:
    """Uncorrelated columns with falling variances around 0."""
    if sample.X.shape[1] < MIN_COMPONENTS or len(sample) <= sample.X.shape[1]:
        return False
    Z = sample.take_dense()
    Z = Z - Z.mean(0)
    variance = (Z**2).mean(0)
    if not (variance > 0).all() or not (np.diff(variance) <= 0).all():
        return False
    R = Z.T @ Z / len(Z) / np.sqrt(np.outer(variance, variance))
    np.fill_diagonal(R, 0)
    return bool(np.abs(R).max() < MAX_COMPONENT_CORRELATION)


def _has_heavy_tail(x: Reals) -> bool:
    middle = float(np.median(x))
    if x.min() < 0 or middle <= 0 or x.max() < MIN_TAIL_RATIO * middle:
        return False
    before = _skewness(x)
    return before > MIN_SKEWNESS and abs(_skewness(np.log1p(x / middle))) < before / 2


def _skewness(x: Reals) -> float:
    gaps = x - x.mean()
    spread = float(np.sqrt((gaps**2).mean()))
    return float((gaps**3).mean() / spread**3) if spread > 0 else 0.0


def capitalize(text: str) -> str:
    """A sentence begins with a capital; all else, such as names of columns, stays."""
    return text[:1].upper() + text[1:]
