"""Columns: what is missing, constant, doubled, correlated, out of scale or no number at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ... import progress, random
from ...backends.protocol import Float64
from ...input.ranges import SAFE
from ...input.row_hash import key_bits, key_factors, row_keys
from .result import Finding, listed
from .subject import LARGE, SMALL, Sample, Subject

OWNS = 0.9  # share of the variance that makes a column the owner (of two columns: 0.99)
UNEVEN = 30.0  # largest standard deviation in units of the median one
CORRELATED = 0.95
MOST_COLUMNS = 2000  # whose correlations are computed
MANY_MISSING = 0.5  # share of a column that is missing


@dataclass(frozen=True)
class ColumnSurvey:
    """One pass over all rows."""

    bad: NDArray[np.int64]  # entries that are no finite number, per column
    first_bad: tuple[int, int] | None
    infinite: bool
    low: Float64
    high: Float64
    mean: Float64
    variance: Float64
    complete: NDArray[np.bool_]  # rows without a bad entry
    keys: NDArray[np.uint64]  # equal for equal rows, and but for chance only for these

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Columns with more than one value."""
        return np.asarray(self.high > self.low)

    @property
    def largest(self) -> float:
        """The largest size of a finite entry."""
        held = np.abs([*self.low, *self.high])
        return float(held[np.isfinite(held)].max(initial=0))

    @property
    def plain(self) -> bool:
        """Can entries be squared and added up without a thought?"""
        return SMALL < self.largest < LARGE


def survey(subject: Subject) -> ColumnSurvey:
    """Look at every entry once."""
    return _survey_sparse(subject.items) if issparse(subject.items) else _survey_dense(subject)


def _survey_dense(subject: Subject) -> ColumnSurvey:
    n, d = subject.items.shape
    bad, seen = np.zeros(d, np.int64), np.zeros(d)
    mean, scatter = np.zeros(d), np.zeros(d)
    low, high = np.full(d, np.inf), np.full(d, -np.inf)
    complete, keys = np.ones(n, bool), np.zeros(n, np.uint64)
    first_bad, infinite = None, False
    for i, rows in subject.blocks():
        here = slice(i, i + len(rows))
        keys[here] = row_keys(rows)
        good = np.isfinite(rows)
        whole = bool(good.all())
        if not whole:
            if first_bad is None:
                at = np.unravel_index(int(np.argmin(good)), good.shape)
                first_bad = i + int(at[0]), int(at[1])
            infinite |= bool(np.isinf(rows).any())
            complete[here] = good.all(1)
            low = np.minimum(low, np.where(good, rows, np.inf).min(0))
            high = np.maximum(high, np.where(good, rows, -np.inf).max(0))
            rows = np.where(good, rows, 0)
        else:
            low, high = np.minimum(low, rows.min(0)), np.maximum(high, rows.max(0))
        count = good.sum(0)
        bad += len(rows) - count
        with np.errstate(over="ignore", invalid="ignore"):
            center = rows.sum(0) / np.maximum(count, 1)
            gaps = rows - center if whole else (rows - center) * good
            share = np.divide(count, seen + count, out=np.zeros(d), where=seen + count > 0)
            scatter += (gaps**2).sum(0) + seen * share * (center - mean) ** 2
        mean += share * (center - mean)
        seen += count
        progress.report("columns", i + len(rows), n)
    # The mean is rounded, so a constant column has a little variance left.
    variance = np.where(high > low, scatter / np.maximum(seen, 1), 0)
    return ColumnSurvey(bad, first_bad, infinite, low, high, mean, variance, complete, keys)


def _survey_sparse(X: csr_array) -> ColumnSurvey:
    """The same of sparse rows; what is not stored is 0."""
    n, d = X.shape
    entries = np.asarray(X.data, np.float64)
    good = np.isfinite(entries)
    row = np.repeat(np.arange(n), np.diff(X.indptr))
    bad = np.bincount(X.indices[~good], minlength=d)
    complete = np.ones(n, bool)
    complete[row[~good]] = False
    first_bad = None
    if not good.all():
        at = int(np.argmin(good))
        first_bad = int(row[at]), int(X.indices[at])
    held = np.where(good, entries, 0)
    stored = np.bincount(X.indices, minlength=d)
    outside = np.where(stored < n, 0.0, np.inf)
    low, high = outside.copy(), -outside
    np.minimum.at(low, X.indices, np.where(good, entries, np.inf))
    np.maximum.at(high, X.indices, np.where(good, entries, -np.inf))
    mean = np.bincount(X.indices, held, minlength=d) / n
    gaps = np.where(good, held - mean[X.indices], 0)
    scatter = np.bincount(X.indices, gaps**2, minlength=d) + (n - stored) * mean**2
    bits = csr_array((key_bits(entries), X.indices, X.indptr), X.shape)
    variance = np.where(high > low, scatter / n, 0)
    infinite = bool(np.isinf(entries).any())
    keys = np.asarray(bits @ key_factors(d))
    return ColumnSurvey(bad, first_bad, infinite, low, high, mean, variance, complete, keys)


def column_findings(subject: Subject, seen: ColumnSurvey, sample: Sample | None) -> list[Finding]:
    """Everything about columns; correlations come from the sample, if there is one."""
    found = [*_categories(subject), _missing(subject, seen), *_range(seen)]
    if subject.width:
        found.append(_constant(subject, seen))
    if subject.width > 1 and len(subject) > 1:
        found.append(scale_finding(subject, seen))
        if sample is not None and len(sample) > 2:
            found += _related(subject, seen, sample)
    return found


def _categories(subject: Subject) -> list[Finding]:
    if not subject.odd:
        return []
    names = subject.odd
    many = "hold" if len(names) > 1 else "holds"
    return [
        Finding(
            "error",
            "categories",
            f"{listed([repr(name) for name in names])} {many} text or categories, which no method "
            "but a mixed distance can use.",
            "Drop them, encode them (sklearn.preprocessing.OneHotEncoder), or compare whole rows "
            "by ClassicalMDS(metric='gower').",
            names[:100],
        )
    ]


def _missing(subject: Subject, seen: ColumnSurvey) -> Finding:
    if seen.first_bad is None:
        return Finding("fine", "missing", "Every entry is a finite number.")
    row, column = seen.first_bad
    columns = np.flatnonzero(seen.bad)
    rows = int((~seen.complete).sum())
    count = int(seen.bad.sum())
    entries = f"{count} entries are" if count > 1 else "1 entry is"
    what = "missing or infinite" if seen.infinite else "missing (NaN)"
    most = columns[np.argsort(-seen.bad[columns], kind="stable")]
    empty = [subject.column(int(j)) for j in most if seen.bad[j] > MANY_MISSING * len(subject)]
    extra = f" Drop {listed(empty)} first: most of it is missing." if empty else ""
    return Finding(
        "error",
        "missing",
        f"{entries} {what}, in {rows} of {len(subject)} rows and "
        f"{len(columns)} of {subject.width} columns; the first is at row {row}, "
        f"{subject.column(column)}.",
        "Drop these rows, or fill them (sklearn.impute); MDS takes missing distances." + extra,
        tuple(subject.column(int(j)) for j in most[:100]),
    )


def _range(seen: ColumnSurvey) -> list[Finding]:
    largest = seen.largest
    low, high = SAFE[np.dtype(np.float64)]
    if largest == 0 or low <= largest <= high:
        return []
    return [
        Finding(
            "error",
            "range",
            f"Entries are of size {largest:.3g}, whose squares floating point cannot hold.",
            f"Multiply the data by {1 / largest:.0e}.",
        )
    ]


def _constant(subject: Subject, seen: ColumnSurvey) -> Finding:
    flat = np.flatnonzero(~seen.varies)
    if not len(flat):
        return Finding("fine", "constant", "No column is constant.")
    names = [subject.column(int(j)) for j in flat]
    if len(flat) == subject.width:
        return Finding(
            "error",
            "constant",
            "All columns are constant: every row is the same.",
            "There is nothing to map; look at how the data were read.",
        )
    many = "columns are" if len(flat) > 1 else "column is"
    return Finding(
        "notice",
        "constant",
        f"{len(flat)} {many} constant: {listed(names)}.",
        "They change no distance; drop them to save time.",
        tuple(names[:100]),
    )


def scale_finding(subject: Subject, seen: ColumnSurvey) -> Finding:
    """Does one column own the variance, or spread far more than most?"""
    total = float(seen.variance.sum())
    if not 0 < total < np.inf:
        return Finding("fine", "scale", "There are no scales to compare.")
    share = seen.variance / total
    owner = int(share.argmax())
    spread = np.sqrt(seen.variance[seen.varies])
    remedy = (
        "If columns have different units, standardize them: PCA(scale=True), or "
        "sklearn.preprocessing.StandardScaler before any other method."
    )
    if share[owner] > (OWNS if subject.width > 2 else 0.99):
        return Finding(
            "warning",
            "scale",
            f"{subject.column(owner)} owns {share[owner]:.1%} of the variance, so distances and "
            "the first axis are little else.",
            remedy,
            (subject.column(owner),),
        )
    uneven = float(spread.max() / np.median(spread))
    if uneven > UNEVEN:
        return Finding(
            "notice",
            "scale",
            f"{subject.column(owner)} spreads {uneven:.0f} times as much as the median column.",
            remedy,
            (subject.column(owner),),
        )
    return Finding(
        "fine",
        "scale",
        f"No column owns the variance; the largest has {share[owner]:.1%} of it.",
    )


def _related(subject: Subject, seen: ColumnSurvey, sample: Sample) -> list[Finding]:
    """Doubled and strongly correlated columns, in the sample."""
    live = np.flatnonzero(seen.varies)
    part = ""
    if len(live) > MOST_COLUMNS:
        live = live[random.subset(0, "columns", len(live), MOST_COLUMNS)]
        part = f" (of {MOST_COLUMNS} columns drawn by chance)"
    Z = sample.items[:, live]
    Z = np.asarray(Z.toarray() if issparse(Z) else Z, np.float64)
    Z = Z - Z.mean(0)
    with np.errstate(over="ignore"):
        length = np.sqrt((Z**2).sum(0))
    moving = (length > 0) & np.isfinite(length)
    live, Z = live[moving], Z[:, moving] / length[moving]
    if len(live) < 2:
        return []
    R = np.abs(np.triu(Z.T @ Z, 1))
    twins = _twins(subject, live, R)
    R[[a for a, _ in twins], [b for _, b in twins]] = 0
    return [_doubled(subject, live, twins, part), _correlated(subject, live, R, part)]


def _twins(subject: Subject, live: NDArray[np.int64], R: Float64) -> list[tuple[int, int]]:
    """Pairs of columns that are equal in all rows."""
    found = []
    copies = set()
    for a, b in np.argwhere(R > 1 - 1e-10):
        if int(b) in copies:
            continue
        one, two = (_column(subject.items, int(live[j])) for j in (a, b))
        if np.array_equal(one, two, equal_nan=True):
            found.append((int(a), int(b)))
            copies.add(int(b))
    return found


def _column(items: Any, j: int) -> Float64:
    column = items[:, [j]].toarray().ravel() if issparse(items) else items[:, j]
    return np.asarray(column, np.float64)


def _doubled(
    subject: Subject, live: NDArray[np.int64], twins: list[tuple[int, int]], part: str
) -> Finding:
    if not twins:
        return Finding("fine", "copied columns", f"No two columns are equal{part}.")
    name = subject.column
    pairs = [f"{name(int(live[b]))} of {name(int(live[a]))}" for a, b in twins]
    return Finding(
        "warning",
        "copied columns",
        f"{len(twins)} columns are copies{part}: {listed(pairs)}."
        if len(twins) > 1
        else f"A column is a copy{part}: {pairs[0]}.",
        "A copy counts twice in every distance; drop it.",
        tuple(name(int(live[b])) for _, b in twins[:100]),
    )


def _correlated(subject: Subject, live: NDArray[np.int64], R: Float64, part: str) -> Finding:
    strong = np.argwhere(R > CORRELATED)
    if not len(strong):
        return Finding(
            "fine", "correlation", f"No two columns correlate beyond {CORRELATED}{part}."
        )
    a, b = np.unravel_index(int(R.argmax()), R.shape)
    one, two = subject.column(int(live[a])), subject.column(int(live[b]))
    many = "pairs of columns correlate" if len(strong) > 1 else "pair of columns correlates"
    return Finding(
        "notice",
        "correlation",
        f"{len(strong)} {many} beyond {CORRELATED}{part}; most: {one} and {two} "
        f"(|r| = {R[a, b]:.3f}).",
        "What they share weighs double in distances; PCA first merges it "
        "(PCA(n_components=0.99, whiten=True) also evens it out).",
        (one, two),
    )
