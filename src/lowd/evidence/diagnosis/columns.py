"""Findings on columns: missing values, text, constants, content, scale, correlation."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ... import progress, random
from ...input.validation import SAFE_RANGE
from ...parameters import Reals
from ...spaces import hash_rows
from ..null_models import are_components
from .raw_data import MAX_SAFE_ENTRY, MIN_SAFE_ENTRY, RawData, Sample
from .result import MAX_AFFECTED, Action, Finding, Severity, list_some, merge_actions

DOMINANT_VARIANCE_SHARE = 0.9  # in one column, of more than two
DOMINANT_VARIANCE_SHARE_OF_TWO = 0.99  # of two columns one often has 90 % without being in the way
MAX_DOMINANT_COLUMNS_SHARE = 0.2  # of the columns, if these few have 90 % of the variance
MAX_NAMED_SPREAD = 5.0  # of the largest standard deviation to the least, of different quantities
MAX_SPREAD_RATIO = 30.0  # of the largest standard deviation to the median one
MIN_NOTED_CORRELATION = 0.95  # above, two columns are nearly one
MAX_CORRELATED_COLUMNS = 2000  # of which all pairs are correlated: 32 MB
EQUAL_CORRELATION = 1 - 1e-10  # columns that may be equal but for rounding of the correlation
FEW_INCOMPLETE_SHARE = 0.1  # of the rows, which may then be dropped
MANY_MISSING_SHARE = 0.5  # of a column, which is then better dropped than filled

Content: TypeAlias = Literal["counts", "genotypes", "components", "one quantity", "quantities"]


class Meaning(NamedTuple):
    """What the columns of a matrix are, and why they are taken so."""

    content: Content
    reason: str = ""
    stem: str = ""  # that the numbered names of the columns share, or nearly all of them

    @property
    def shares_units(self) -> bool:
        return self.content != "quantities"


UNKNOWN_MEANING = Meaning("quantities")


def check_columns(data: RawData, summary: ColumnSummary, sample: Sample | None) -> list[Finding]:
    """All findings on columns; correlations are those of the sample, if there is one.

    What is left out (identifiers, constants, duplicates) does not count when scales are compared.
    """
    found = [*_check_categories(data), _check_missing(data, summary), *_check_range(summary)]
    found += _check_integers(data)
    if not data.n_features:
        return found
    several = data.n_features > 1 and len(data) > 1
    meaning = UNKNOWN_MEANING
    if several and data.metric == "euclidean":
        meaning = recognize_content(data, summary, sample)
        found += [*check_content(meaning), *check_identifiers(data, summary)]
    found.append(_check_constant(data, summary, meaning))
    if several:
        if sample is not None and len(sample) > 2:
            found += _check_related(data, summary, sample, meaning)
        kept = kept_columns(data, summary, found)
        if not meaning.shares_units and sample is not None and data.metric == "euclidean":
            found += check_skewness(data, sample, np.flatnonzero(kept))
            summary = _take_logarithms(data, summary, sample, found)
        if meaning.content not in ("counts", "genotypes"):
            n_logged = len(merge_actions(found).get("log1p", ()))
            logged = 0 < n_logged < int(kept.sum())
            found.append(check_scale(data, summary, kept, meaning, logged=logged))
    if not kept_columns(data, summary, found).any():
        found = [replace(f, action=None) for f in found]  # nothing would be left
    return found


def _take_logarithms(
    data: RawData, summary: ColumnSummary, sample: Sample, found: list[Finding]
) -> ColumnSummary:
    """The variances after the logarithms that are to be taken, by the sample."""
    columns = data.index_columns(merge_actions(found).get("log1p", ()))
    if not columns:
        return summary
    variance = summary.variance.copy()
    X = sample.take_dense(np.asarray(columns))
    for j, x in zip(columns, X.T, strict=True):
        variance[j] = np.log1p(np.maximum(x, 0) / np.median(x[x > 0])).var()
    return replace(summary, variance=variance)


def kept_columns(data: RawData, summary: ColumnSummary, found: list[Finding]) -> NDArray[np.bool_]:
    """Columns that vary and are not left out by an action."""
    kept = summary.varies.copy()
    kept[data.index_columns(merge_actions(found).get("drop", ()))] = False
    return kept


def _check_categories(data: RawData) -> list[Finding]:
    dates = data.dates
    text = tuple(name for name in data.non_numeric if name not in dates)
    found = []
    if text:
        found.append(
            Finding(
                "error",
                "categories",
                f"{_hold(text)} text or categories, which only a mixed distance can use.",
                "Drop them, encode them (sklearn.preprocessing.OneHotEncoder), or compare whole "
                "rows by ClassicalMDS(metric='gower').",
                text[:MAX_AFFECTED],
            )
        )
    if dates:
        found.append(
            Finding(
                "error",
                "dates",
                f"{_hold(dates)} dates or durations, which are no numbers until a unit is chosen.",
                "Drop them, convert them to days, or compare whole rows by "
                "ClassicalMDS(metric='gower').",
                dates[:MAX_AFFECTED],
            )
        )
    return found


def _hold(names: tuple[str, ...]) -> str:
    holds = "hold" if len(names) > 1 else "holds"
    return f"{list_some([repr(name) for name in names])} {holds}"


def _check_missing(data: RawData, summary: ColumnSummary) -> Finding:
    if summary.first_nonfinite is None:
        return Finding("fine", "missing", "Every entry is a finite number.")
    row, column = summary.first_nonfinite
    columns = np.flatnonzero(summary.n_nonfinite)
    rows = int((~summary.complete).sum())
    count = int(summary.n_nonfinite.sum())
    entries = f"{count} entries are" if count > 1 else "1 entry is"
    what = "missing or infinite" if summary.infinite else "missing (NaN)"
    by_count = columns[np.argsort(-summary.n_nonfinite[columns], kind="stable")]
    limit = MANY_MISSING_SHARE * len(data)
    empty = [int(j) for j in by_count if summary.n_nonfinite[j] > limit]
    params: dict[str, object] = {"impute": "mean"}
    done = "missing values filled with the mean of their column"
    if empty and len(empty) < data.n_features:
        params["drop"] = data.identify_columns(empty)
        done += f", and {data.list_columns(empty)} left out"
    action = None if summary.infinite else Action(params, done)
    return Finding(
        "error",
        "missing",
        f"{entries} {what}, in {rows} of {len(data)} rows and "
        f"{len(columns)} of {data.n_features} columns; the first is at row {row}, "
        f"{data.describe_column(column)}.",
        _choose_missing_remedy(data, rows, empty),
        tuple(data.describe_column(int(j)) for j in by_count[:MAX_AFFECTED]),
        action,
    )


def _choose_missing_remedy(data: RawData, incomplete: int, empty: list[int]) -> str:
    """Dropping rows is a remedy where few are incomplete; mostly empty columns go first."""
    remedy = ""
    if empty:
        it = "most of it is" if len(empty) == 1 else "most of them is"
        remedy = f"Drop {data.list_columns(empty)} first: {it} missing. "
    complete = len(data) - incomplete
    if incomplete <= FEW_INCOMPLETE_SHARE * len(data):
        remedy += f"Drop the incomplete rows, which leaves {complete} of {len(data)}, or fill them"
    elif not empty:
        remedy += f"Fill them: to drop the incomplete rows would leave {complete} of {len(data)}"
    else:
        remedy += "Fill the others"
    return f"{remedy} (Pipeline(impute='mean')); MDS takes missing distances."


def _check_integers(data: RawData) -> list[Finding]:
    """Integers that a fit refuses, in columns that only name the rows or have a large offset."""
    if not data.rounded:
        return []
    columns = [found.column for found in data.rounded]
    where, first = data.list_columns(columns), data.rounded[0]
    place = f"row {first.row}, {data.describe_column(first.column)}"
    return [
        Finding(
            "error",
            "integers",
            f"{capitalize(where)} {'hold' if columns[1:] else 'holds'} integers beyond 2**53, "
            f"which floating point cannot tell apart; the first is at {place}.",
            "Leave them out if they name the rows, or subtract an offset first.",
            tuple(data.describe_column(j) for j in columns[:MAX_AFFECTED]),
            Action({"drop": data.identify_columns(columns)}, f"{where} left out"),
        )
    ]


def _check_range(summary: ColumnSummary) -> list[Finding]:
    largest = summary.max_abs
    low, high = SAFE_RANGE[np.dtype(np.float64)]
    if largest == 0 or low <= largest <= high:
        return []
    return [
        Finding(
            "error",
            "range",
            f"Entries are of size {largest:.3g}, whose squares overflow or underflow.",
            f"Multiply the data by {1 / largest:.0e}.",
        )
    ]


def _check_constant(data: RawData, summary: ColumnSummary, meaning: Meaning) -> Finding:
    constant = np.flatnonzero(~summary.varies)
    if not len(constant):
        return Finding("fine", "constant", "No column is constant.")
    names = [data.describe_column(int(j)) for j in constant]
    if len(constant) == data.n_features:
        return Finding(
            "error",
            "constant",
            "All columns are constant: every row is the same.",
            "There is nothing to embed; check how the data were read.",
        )
    columns = "columns are" if len(constant) > 1 else "column is"
    return Finding(
        "notice",
        "constant",
        f"{len(constant)} {columns} constant: {list_some(names)}.",
        "They change no distance; drop them to save time."
        if len(constant) > 1
        else "It changes no distance; drop it to save time.",
        tuple(names[:MAX_AFFECTED]),
        _drop(data, constant, meaning),
    )


def _drop(data: RawData, columns: NDArray[np.int64] | list[int], meaning: Meaning) -> Action | None:
    """Leave columns out of a table; a matrix of one quantity, such as pixels, stays whole."""
    if meaning.shares_units:
        return None
    chosen = [int(j) for j in columns]
    return Action({"drop": data.identify_columns(chosen)}, f"{data.list_columns(chosen)} left out")


def _is_foreign(data: RawData, column: int, meaning: Meaning) -> bool:
    """Is it a column of another name than the numbered ones, such as a size beside components?"""
    return bool(meaning.stem) and remove_numbers((data.names or ())[column]) != meaning.stem


def check_scale(
    data: RawData,
    summary: ColumnSummary,
    kept: NDArray[np.bool_] | None = None,
    meaning: Meaning = UNKNOWN_MEANING,
    *,
    logged: bool = False,
) -> Finding:
    """Do one or a few columns dominate the variance, or have a far larger spread than most?

    Columns of one quantity (pixels, embeddings) have one unit, so they are never scaled. Columns
    with names of their own are different quantities, and are scaled at smaller differences.
    `logged`: logarithms are taken of some columns, and not of the others.
    """
    variance = np.where(summary.varies if kept is None else kept, summary.variance, 0)
    total = float(variance.sum())
    if not 0 < total < np.inf:
        return Finding("fine", "scale", "There are no scales to compare.")
    share = variance / total
    largest = int(share.argmax())
    name = data.describe_column(largest)
    spread = np.sqrt(variance[variance > 0])
    ratio = float(spread.max() / np.median(spread))
    d = len(spread)
    limit = DOMINANT_VARIANCE_SHARE if d > 2 else DOMINANT_VARIANCE_SHARE_OF_TWO
    n_dominant = int((np.cumsum(np.sort(share)[::-1]) < DOMINANT_VARIANCE_SHARE).sum()) + 1
    few = d > 2 and n_dominant <= MAX_DOMINANT_COLUMNS_SHARE * d
    named = data.names is not None and not set(map(remove_numbers, data.names)) <= GIVEN_NAMES
    severity: Severity = "notice"
    if share[largest] > limit or few:
        severity = "warning"
        chosen = np.argsort(-share, kind="stable")[: n_dominant if share[largest] <= limit else 1]
        where = name if len(chosen) == 1 else capitalize(data.list_columns([*map(int, chosen)]))
        verbs = ("accounts", "it dominates") if len(chosen) == 1 else ("account", "they dominate")
        sentence = (
            f"{where} {verbs[0]} for {share[chosen].sum():.1%} of the variance, so {verbs[1]} "
            "distances and the first principal components."
        )
    elif logged:
        sentence = "Logarithms have no units, and the other columns have."
    elif ratio > MAX_SPREAD_RATIO:
        sentence = (
            f"The standard deviation of {name} is {ratio:.1f} times that of the median column."
        )
    elif named and spread.max() > MAX_NAMED_SPREAD * spread.min():
        least = data.describe_column(int(np.argmin(np.where(variance > 0, variance, np.inf))))
        sentence = (
            f"The standard deviation of {name} is {spread.max() / spread.min():.0f} times that of "
            f"{least}, and columns with names of their own are different quantities."
        )
    else:
        sentence = f"No column dominates the variance; the largest share is {share[largest]:.1%}."
        return Finding("fine", "scale", sentence)
    if share[largest] > limit and _is_foreign(data, largest, meaning):
        return Finding(
            "warning",
            "scale",
            f"{sentence} The others are one quantity: {meaning.reason}.",
            "Leave it out, or map it alone.",
            (name,),
            Action({"drop": data.identify_columns([largest])}, f"{name} left out"),
        )
    if meaning.shares_units:
        return Finding(
            "notice",
            "scale",
            f"{sentence} These columns look like one quantity, so they keep their scale: "
            f"{meaning.reason}.",
            "If their units differ, standardize them: Pipeline(scale=True).",
            (name,),
        )
    return Finding(
        severity,
        "scale",
        sentence,
        "If columns have different units, standardize them: PCA(scale=True), or "
        "Pipeline(scale=True) with any other method.",
        (name,),
        Action({"scale": True}, "columns scaled to standard deviation 1"),
    )


def _check_related(
    data: RawData, summary: ColumnSummary, sample: Sample, meaning: Meaning
) -> list[Finding]:
    """Duplicate and strongly correlated columns, in the sample."""
    columns = np.flatnonzero(summary.varies)
    part = ""
    if len(columns) > MAX_CORRELATED_COLUMNS:
        columns = columns[random.subset(0, "columns", len(columns), MAX_CORRELATED_COLUMNS)]
        part = f" (of {MAX_CORRELATED_COLUMNS} columns drawn at random)"
    Z = sample.take_dense(columns)  # a copy, so it is centered in place
    Z -= Z.mean(0)
    with np.errstate(over="ignore"):
        norm = np.sqrt(np.einsum("ij,ij->j", Z, Z))
    usable = (norm > 0) & np.isfinite(norm)
    if not usable.all():
        columns, Z, norm = columns[usable], Z[:, usable], norm[usable]
    if len(columns) < 2:
        return []
    Z /= norm
    R = np.abs(np.triu(Z.T @ Z, 1))
    pairs = _find_equal_columns(data, columns, R)
    R[[a for a, _ in pairs], [b for _, b in pairs]] = 0
    names = [data.describe_column(int(j)) for j in columns]
    action = _drop(data, [int(columns[b]) for _, b in pairs], meaning) if pairs else None
    duplicates = _report_duplicates(names, pairs, part, action)
    if pairs and meaning.shares_units:  # linked SNPs, border pixels: nothing is wrong with them
        duplicates = replace(duplicates, severity="notice")
    return [duplicates, _report_correlation(names, R, part)]


def _find_equal_columns(
    data: RawData, columns: NDArray[np.int64], R: Reals
) -> list[tuple[int, int]]:
    """Pairs of columns that are equal in all rows."""
    pairs = []
    duplicates = set()
    for a, b in np.argwhere(R > EQUAL_CORRELATION):
        if int(b) in duplicates:
            continue
        one, two = (_take_column(data, int(columns[j])) for j in (a, b))
        if np.array_equal(one, two, equal_nan=True):
            pairs.append((int(a), int(b)))
            duplicates.add(int(b))
    return pairs


def _take_column(data: RawData, j: int) -> Reals:
    column = data.X[:, [j]].toarray().ravel() if data.is_sparse else data.X[:, j]
    return np.asarray(column, np.float64)


def _report_duplicates(
    names: list[str], pairs: list[tuple[int, int]], part: str, action: Action | None
) -> Finding:
    if not pairs:
        return Finding("fine", "duplicate columns", f"No two columns are equal{part}.")
    shown = [f"{names[b]} of {names[a]}" for a, b in pairs]
    return Finding(
        "warning",
        "duplicate columns",
        f"{len(pairs)} columns are duplicates{part}: {list_some(shown)}."
        if len(pairs) > 1
        else f"A column is a duplicate{part}: {shown[0]}.",
        "A duplicate counts twice in every distance; drop it.",
        tuple(names[b] for _, b in pairs[:MAX_AFFECTED]),
        action,
    )


def _report_correlation(names: list[str], R: Reals, part: str) -> Finding:
    strong = np.argwhere(R > MIN_NOTED_CORRELATION)
    if not len(strong):
        return Finding(
            "fine", "correlation", f"No two columns correlate beyond {MIN_NOTED_CORRELATION}{part}."
        )
    a, b = np.unravel_index(int(R.argmax()), R.shape)
    pairs = "pairs of columns correlate" if len(strong) > 1 else "pair of columns correlates"
    return Finding(
        "notice",
        "correlation",
        f"{len(strong)} {pairs} beyond {MIN_NOTED_CORRELATION}{part}; the most: {names[a]} and "
        f"{names[b]} (|r| = {R[a, b]:.3f}).",
        "What they share counts twice in distances; PCA combines it "
        "(PCA(n_components=0.99, whiten=True) also equalizes it).",
        (names[a], names[b]),
    )


# -- what columns hold ----------------------------------------------------------------------------

MAX_TABLE_COLUMNS = 1000  # a wider table is a matrix of one kind, whatever its names are
# Names that a reader or a program gives to columns without one say nothing about the content.
GIVEN_NAMES = {"x", "v", "column", "col", "var", "feature", "f", "c", "field", "unnamed"}
MIN_NUMBERED_COLUMNS = 10  # with one stem (px0, px1, ...) that are one quantity
NUMBERED_SHARE = 0.9  # of all columns
MIN_COUNT_COLUMNS = 20  # fewer columns of small integers are numbers of things, each its own
MIN_GENOTYPE_COLUMNS = 100
INSPECTED_COLUMNS = 200  # drawn at random, whose values show genotypes or counts
INSPECTED_ROWS = 2000
MIN_GENOTYPE_SHARE = 0.95  # of the inspected columns
MIN_SKEWNESS = 2.0  # that of an exponential distribution
MIN_TAIL_RATIO = 10.0  # of the largest value to the median
MIN_SKEWNESS_ROWS = 20  # fewer have a skewness by accident


def recognize_content(data: RawData, summary: ColumnSummary, sample: Sample | None) -> Meaning:
    """Counts, genotypes, one quantity in all columns, or (what is left) several quantities."""
    d = data.n_features
    if sample is None or len(sample) < 3 or d < 2:
        return Meaning("quantities")
    Z = _inspect(sample)
    whole = bool((np.rint(Z) == Z).all())
    if d >= MIN_GENOTYPE_COLUMNS and _are_genotypes(Z):
        return Meaning("genotypes", "columns have the three values of allele counts")
    if (
        whole
        and d >= MIN_COUNT_COLUMNS
        and summary.low.min() >= 0
        and (reason := _describe_counts(Z))
    ):
        return Meaning("counts", reason)
    if data.is_sparse:
        return Meaning("one quantity", "sparse columns are weights of one kind")
    if are_components(sample.X):
        reason = "the columns are uncorrelated, those of large variance first"
        return Meaning("components", reason)
    if data.names is not None and _are_numbers(data.names):
        reason = "the names of the columns are numbers, such as years or wavelengths"
        return Meaning("one quantity", reason)
    if stem := _find_stem(data.names):
        reason = f"the names of the columns differ in a number ({stem}...)"
        return Meaning("one quantity", reason, stem)
    low, high = float(summary.low.min()), float(summary.high.max())
    if d >= MIN_COUNT_COLUMNS and low >= 0 and (high in (1.0, 255.0)):
        return Meaning("one quantity", f"all entries are between 0 and {high:g}, as pixels are")
    return Meaning("quantities")


def check_content(meaning: Meaning) -> list[Finding]:
    """Counts and genotypes need their own preparation, and principal components none."""
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
    if meaning.content == "components":
        sentence = f"The columns look like principal components: {meaning.reason}."
        return [Finding("fine", "components", f"{sentence} They keep their scale.")]
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
    """By the rules that recognize the columns of files; what they doubt is a measurement."""
    from ...io.kinds import Column, Kind  # one place knows what columns are

    x = np.asarray(data.X[:INSPECTED_ROWS, j], np.float64)
    if not _are_whole(x):
        return None
    column = Column.of_numbers(f"x{j}" if data.names is None else str(data.names[j]), j, x)
    if column.distinct < 2:
        return None
    column.decide()
    if column.kind == Kind.ROW_NUMBER or (column.kind == Kind.IDENTIFIER and not column.doubt):
        return "id"
    return "code" if column.kind == Kind.CODE else None


def _are_whole(x: Reals) -> bool:
    """Integers, as far as they are known."""
    known = x[np.isfinite(x)]
    return bool((np.rint(known) == known).all())


def remove_numbers(name: str) -> str:
    """The name without its numbers.

    >>> remove_numbers("px12"), remove_numbers("pixel_0_3"), remove_numbers("PC1")
    ('px', 'pixel', 'PC')
    """
    return re.sub(r"[\W_]*\d+", "", name)


def _are_numbers(names: tuple[str, ...]) -> bool:
    """Numbers in nearly all names, other than 0, 1, 2, ..., which a program has given."""
    numbers = [name for name in names if re.fullmatch(r"[-+]?\d+(\.\d+)?", name)]
    counted = [name for name in numbers if name.isdecimal() and int(name) <= len(names)]
    few = len(numbers) < max(MIN_NUMBERED_COLUMNS, NUMBERED_SHARE * len(names))
    return not few and len(counted) < len(numbers) / 2


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


def _describe_counts(
    Z: Reals, min_zeros: float = 0.2, max_ceiling: float = 0.1, min_spread: float = 0.4
) -> str:
    """Why integers are counts of events; "" if they are something else, as grades or pixels.

    Three signs together: many zeros, variances above the means, and columns that rise and fall
    with the total of a row, so that its size is an effect of the measurement. Grades and pixels
    have a highest value, which many columns reach.
    """
    Z = Z[:, Z.var(0) > 0]
    zeros = float((Z == 0).mean()) if Z.size else 0.0
    if zeros < min_zeros or (Z.max(0) == Z.max()).mean() > max_ceiling:
        return ""
    scores = (Z - Z.mean(0)) / Z.std(0)
    # Independent columns add up to one variance each; a common factor multiplies that.
    common = float(scores.sum(1).var() / Z.shape[1])
    if (Z.var(0) > Z.mean(0)).mean() < min_spread or common < 2:
        return ""
    return (
        f"integers >= 0, {100 * zeros:.0f} % of them 0, vary more than their means and grow with "
        "the total of the row"
    )


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


# -- statistics in one pass -----------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnSummary:
    """Statistics of each column over its finite entries, and of the rows."""

    n_nonfinite: NDArray[np.int64]  # per column
    first_nonfinite: tuple[int, int] | None  # row, column
    infinite: bool
    low: Reals
    high: Reals
    mean: Reals
    variance: Reals
    complete: NDArray[np.bool_]  # rows whose entries are all finite
    keys: NDArray[np.uint64]  # equal for equal rows, and with high probability only for these

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Columns with more than one value."""
        return np.asarray(self.high > self.low)

    @property
    def max_abs(self) -> float:
        """The largest absolute value of a finite entry."""
        bounds = np.abs([*self.low, *self.high])
        return float(bounds[np.isfinite(bounds)].max(initial=0))

    @property
    def is_safe(self) -> bool:
        """Can entries be squared and summed without overflow or underflow?"""
        return MIN_SAFE_ENTRY < self.max_abs < MAX_SAFE_ENTRY


def summarize_columns(data: RawData) -> ColumnSummary:
    """Read every entry once."""
    return _summarize_sparse(data.X) if data.is_sparse else _summarize_dense(data)


def _summarize_dense(data: RawData) -> ColumnSummary:
    n, d = data.X.shape
    n_nonfinite, seen = np.zeros(d, np.int64), np.zeros(d)
    mean, scatter = np.zeros(d), np.zeros(d)
    low, high = np.full(d, np.inf), np.full(d, -np.inf)
    complete, keys = np.ones(n, bool), np.zeros(n, np.uint64)
    first_nonfinite, infinite = None, False
    for i, rows in data.iterate_blocks():
        here = slice(i, i + len(rows))
        keys[here] = hash_rows(rows)
        finite = np.isfinite(rows)
        all_finite = bool(finite.all())
        if not all_finite:
            if first_nonfinite is None:
                at = np.unravel_index(int(np.argmin(finite)), finite.shape)
                first_nonfinite = i + int(at[0]), int(at[1])
            infinite |= bool(np.isinf(rows).any())
            complete[here] = finite.all(1)
            low = np.minimum(low, np.where(finite, rows, np.inf).min(0))
            high = np.maximum(high, np.where(finite, rows, -np.inf).max(0))
            rows = np.where(finite, rows, 0)
        else:
            low, high = np.minimum(low, rows.min(0)), np.maximum(high, rows.max(0))
        count = finite.sum(0)
        n_nonfinite += len(rows) - count
        with np.errstate(over="ignore", invalid="ignore"):
            center = rows.sum(0) / np.maximum(count, 1)
            gaps = rows - center if all_finite else (rows - center) * finite
            share = np.divide(count, seen + count, out=np.zeros(d), where=seen + count > 0)
            scatter += (gaps**2).sum(0) + seen * share * (center - mean) ** 2
        mean += share * (center - mean)
        seen += count
        progress.report("columns", i + len(rows), n)
    # The mean is rounded, so a constant column has a little variance left.
    variance = np.where(high > low, scatter / np.maximum(seen, 1), 0)
    return ColumnSummary(
        n_nonfinite, first_nonfinite, infinite, low, high, mean, variance, complete, keys
    )


def _summarize_sparse(X: csr_array) -> ColumnSummary:
    """The same for sparse rows; entries that are not stored are 0."""
    n, d = X.shape
    entries = np.asarray(X.data, np.float64)
    finite = np.isfinite(entries)
    row = np.repeat(np.arange(n), np.diff(X.indptr))
    n_nonfinite = np.bincount(X.indices[~finite], minlength=d)
    complete = np.ones(n, bool)
    complete[row[~finite]] = False
    first_nonfinite = None
    if not finite.all():
        at = int(np.argmin(finite))
        first_nonfinite = int(row[at]), int(X.indices[at])
    values = np.where(finite, entries, 0)
    stored = np.bincount(X.indices, minlength=d)
    outside = np.where(stored < n, 0.0, np.inf)
    low, high = outside.copy(), -outside
    np.minimum.at(low, X.indices, np.where(finite, entries, np.inf))
    np.maximum.at(high, X.indices, np.where(finite, entries, -np.inf))
    mean = np.bincount(X.indices, values, minlength=d) / n
    gaps = np.where(finite, values - mean[X.indices], 0)
    scatter = np.bincount(X.indices, gaps**2, minlength=d) + (n - stored) * mean**2
    variance = np.where(high > low, scatter / n, 0)
    infinite = bool(np.isinf(entries).any())
    keys = hash_rows(X)
    return ColumnSummary(
        n_nonfinite, first_nonfinite, infinite, low, high, mean, variance, complete, keys
    )
