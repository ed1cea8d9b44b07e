"""Findings on columns: missing values, text, constants, scale, duplicates, correlation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ... import random
from ...input.validation import SAFE_RANGE
from ...parameters import Reals
from .column_meaning import (
    GIVEN_NAMES,
    Meaning,
    capitalize,
    check_content,
    check_identifiers,
    check_skewness,
    recognize_content,
    remove_numbers,
)
from .column_statistics import ColumnSummary
from .raw_data import RawData, Sample
from .result import MAX_AFFECTED, Action, Finding, Severity, list_some, merge_actions

DOMINANT_VARIANCE_SHARE = 0.9  # in one column, of more than two
DOMINANT_VARIANCE_SHARE_OF_TWO = 0.99  # of two columns one often has 90 % without being in the way
MAX_DOMINANT_COLUMNS_SHARE = 0.2  # of the columns, if these few have 90 % of the variance
NAMED_SPREAD_RATIO = 5.0  # of columns with names of their own, which are different quantities
NAMED_SPREAD_RANGE = 30.0  # of their largest standard deviation to the least: as good as left out
NAMED_VARIANCE_SHARE = 0.8  # of the largest such column
MAX_SPREAD_RATIO = 30.0  # of the largest standard deviation to the median one
MIN_NOTED_CORRELATION = 0.95  # above, two columns are nearly one
MAX_CORRELATED_COLUMNS = 2000  # of which all pairs are correlated: 32 MB
EQUAL_CORRELATION = 1 - 1e-10  # columns that may be equal but for rounding of the correlation
FEW_INCOMPLETE_SHARE = 0.1  # of the rows, which may then be dropped
MANY_MISSING_SHARE = 0.5  # of a column, which is then better dropped than filled

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
        if meaning.content not in ("counts", "genotypes"):
            found.append(check_scale(data, summary, kept, meaning))
    if not kept_columns(data, summary, found).any():
        found = [replace(f, action=None) for f in found]  # nothing would be left
    return found


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
        "They change no distance; drop them to save time.",
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
) -> Finding:
    """Do one or a few columns dominate the variance, or have a far larger spread than most?

    Columns of one quantity (pixels, embeddings) have one unit, so they are never scaled. Columns
    with names of their own are different quantities, and are scaled at smaller differences.
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
    own_names = named and (ratio > NAMED_SPREAD_RATIO or share[largest] > NAMED_VARIANCE_SHARE)
    if share[largest] > limit:
        severity: Severity = "warning"
        sentence = (
            f"{name} accounts for {share[largest]:.1%} of the variance, so it dominates distances "
            "and the first principal component."
        )
    elif few:
        severity = "warning"
        chosen = np.argsort(-share, kind="stable")[:n_dominant]
        where = capitalize(data.list_columns([int(j) for j in chosen]))
        sentence = (
            f"{where} account for {share[chosen].sum():.1%} of the variance, so they dominate "
            "distances and the first principal components."
        )
    elif ratio > MAX_SPREAD_RATIO or own_names:
        severity = "notice"
        sentence = (
            f"The standard deviation of {name} is {ratio:.1f} times that of the median column."
        )
    elif named and spread.max() > NAMED_SPREAD_RANGE * spread.min():
        severity = "notice"
        least = data.describe_column(int(np.argmin(np.where(variance > 0, variance, np.inf))))
        sentence = (
            f"The standard deviation of {name} is {spread.max() / spread.min():.0f} times that of "
            f"{least}, which would hardly count."
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
