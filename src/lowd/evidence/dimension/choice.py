"""`lowd.dimension`: how many dimensions, by every rule that people use."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ... import random
from ...backends import resolve
from ...backends.protocol import Backend, Float64
from ...errors import ColumnTypeError, DataError, ParameterError
from ...solvers import scree
from ...threads import single_threaded_blas
from ..diagnosis.checkup import NEIGHBORS, watched
from ..diagnosis.columns import ColumnSurvey, scale_finding, survey
from ..diagnosis.intrinsic import agreed, intrinsic_dimensions
from ..diagnosis.neighborhoods import first_rows
from ..diagnosis.shape import DIMENSIONS
from ..diagnosis.subject import Sample, Subject, chosen, read
from .curved import eigengap, residual_elbow, small_sample
from .linear import DIRECT, FOLDS, HELD_OUT, MOST, PERMUTED, cross_validated, parallel, spectra
from .result import Dimensions

WIDEST = 4000  # columns of the rules that need many spectra
MANY = 10_000  # rows whose neighbors give the intrinsic dimension


def dimension(
    X: Any,
    *,
    scale: bool = False,
    n_neighbors: int = 15,
    n_permutations: int = 20,
    max_samples: int | None = MANY,
    random_state: Any = None,
    backend: str = "auto",
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Dimensions:
    """How many dimensions to keep: all the usual rules side by side.

    For axes: share of variance, broken stick, parallel analysis, Kaiser, Gavish and Donoho's
    threshold, profile likelihood, elbow, cross-validation. For a bent sheet: Isomap's residual
    variance, the eigengap, and three intrinsic dimensions. No rule is right for all data, so
    look at where they agree (`agreement`).

    Parameters
    ----------
    X
        Rows of numbers: an array, a table, or sparse.
    scale
        Divide each column by its standard deviation first: for columns in different units.
    n_neighbors
        Neighbors in the graph of the eigengap.
    n_permutations
        Shuffles of parallel analysis.
    max_samples
        Rows whose neighbors are looked at, drawn by chance if there are more. None takes all.
    random_state
        Seed of samples, shuffles and folds. None is 0.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 20)) + 0.1 * rng.normal(size=(300, 20))
    >>> found = lowd.dimension(X)
    >>> found.suggestions["parallel"], found.suggestions["gavish_donoho"]
    (3, 3)
    """
    if n_permutations < 1 or n_neighbors < 1:
        raise ParameterError(
            f"n_permutations={n_permutations}, n_neighbors={n_neighbors}: expected numbers >= 1."
        )
    ops = resolve(backend, n_jobs)
    seed = 0 if random_state is None else random.as_seed(random_state)
    subject, seen = _usable(X)
    if scale:
        subject = _standardized(subject, seen)
    with watched(verbose), single_threaded_blas():
        found = _by_all_rules(subject, seen, n_neighbors, n_permutations, max_samples, seed, ops)
    owner = scale_finding(subject, seen)
    if not scale and owner.severity == "warning":
        found.notes.insert(0, f"{owner.sentence} If columns have different units, set scale=True.")
    return found


def _usable(X: Any) -> tuple[Subject, ColumnSurvey]:
    """Data without gaps; anything else is refused, since every rule needs all entries."""
    subject = read(X)
    if subject.odd:
        raise ColumnTypeError(
            f"dimension needs numeric columns, but {', '.join(map(repr, subject.odd[:8]))} "
            "hold text or categories; drop or encode them (sklearn.preprocessing.OneHotEncoder)."
        )
    seen = survey(subject)
    if seen.first_bad is not None:
        row, column = seen.first_bad
        raise DataError(
            f"NaN or infinity at row {row}, {subject.column(column)}; drop such rows or fill them "
            "(sklearn.impute)."
        )
    if len(subject) < 3 or not seen.varies.any():
        raise DataError(
            f"dimension needs at least 3 rows and a column that varies, got {len(subject)} rows "
            f"and {int(seen.varies.sum())} such columns."
        )
    return subject, seen


def _standardized(subject: Subject, seen: ColumnSurvey) -> Subject:
    spread = np.sqrt(seen.variance)
    unit = np.divide(1, spread, out=np.zeros_like(spread), where=spread > 0)
    if issparse(subject.items):
        items = subject.items.astype(np.float64).multiply(unit).tocsr()
    else:
        items = np.asarray(subject.items, np.float64) * unit
    return Subject("rows", items, subject.names, (), subject.metric, None)


def _by_all_rules(
    subject: Subject,
    seen: ColumnSurvey,
    k: int,
    repeats: int,
    max_samples: int | None,
    seed: int,
    ops: Backend,
) -> Dimensions:
    distinct, copies = first_rows(seen.keys, seen.complete)
    sample = subject.sample(chosen(subject, distinct, max_samples, seed))
    parts = [
        _of_spectrum(subject, seen, seed, ops),
        _of_samples(subject, repeats, seed),
        _of_neighbors(sample, k, seed, ops),
    ]
    total = Part.sum(parts)
    if copies.severity != "fine":
        total.notes.append(f"{copies.sentence} Neighbors are looked at without copies.")
    return Dimensions(
        total.counts,
        total.intervals,
        total.curves,
        total.limits,
        len(subject),
        subject.width,
        total.notes,
    )


class Part(NamedTuple):
    """What some of the rules say; fields as in `Dimensions`."""

    counts: dict[str, int]
    curves: dict[str, Float64]
    limits: dict[str, float]
    intervals: dict[str, tuple[float, float, float]]
    notes: list[str]

    @classmethod
    def empty(cls) -> Part:
        return cls({}, {}, {}, {}, [])

    @classmethod
    def sum(cls, parts: list[Part]) -> Part:
        total = cls.empty()
        for part in parts:
            total.counts.update(part.counts)
            total.curves.update(part.curves)
            total.limits.update(part.limits)
            total.intervals.update(part.intervals)
            total.notes.extend(part.notes)
        return total


def _of_spectrum(subject: Subject, seen: ColumnSurvey, seed: int, ops: Backend) -> Part:
    """Rules that look at eigenvalues alone."""
    part = Part.empty()
    if min(len(subject), subject.width) > DIRECT:
        rows = random.subset(seed, "spectrum", len(subject), DIRECT)
        part.notes.append(f"The eigenvalues are those of {DIRECT} rows drawn by chance.")
        X = subject.sample(rows).items
    elif seen.plain and isinstance(subject.items, np.ndarray) and subject.items.dtype.kind == "f":
        X = np.ascontiguousarray(
            subject.items, subject.dtype
        )  # not copied, as all rows may be many
    else:
        X = subject.sample(np.arange(len(subject))).items
    found = spectra(X, ops)
    values = found.scatter
    part.curves["eigenvalues"] = values / (found.n - 1)
    part.curves["cumulative"] = np.cumsum(values) / values.sum()
    part.curves["broken_stick"] = scree.broken_stick(len(values))
    part.curves["correlation_eigenvalues"] = found.correlation
    for share in (90, 95):
        part.counts[f"variance_{share}"] = scree.variance_share(values, share / 100)
    part.counts["broken_stick"] = scree.above_stick(values)
    part.counts["kaiser"] = scree.leading(found.correlation > 1 + 1e-12)
    noise, limit = scree.above_noise(values, found.n - 1, found.d)
    part.counts["gavish_donoho"], part.limits["gavish_donoho"] = noise, limit / (found.n - 1)
    part.counts["profile_likelihood"], likelihood = scree.profile_likelihood(values)
    part.curves["profile_likelihood"] = likelihood
    part.counts["elbow"] = scree.elbow(values)
    return part


def _of_samples(subject: Subject, repeats: int, seed: int) -> Part:
    """Rules that need many spectra, of few rows and columns."""
    part = Part.empty()
    if subject.width < 2:
        return part
    n = len(subject)
    columns = np.arange(subject.width)
    if subject.width > WIDEST:
        columns = random.subset(seed, "columns", subject.width, WIDEST)
        part.notes.append(f"Parallel analysis and cross-validation look at {WIDEST} columns.")
    X = _dense(subject, random.subset(seed, "shuffled", n, min(n, PERMUTED)), columns)
    part.counts["parallel"], observed, limit = parallel(X, repeats, seed)
    part.curves.update(parallel_observed=observed, parallel=limit)
    if min(len(X), X.shape[1]) >= FOLDS:
        X = X[random.subset(seed, "held out", len(X), min(len(X), HELD_OUT))]
        part.counts["cross_validation"], errors = cross_validated(X, seed)
        part.curves["cross_validation"] = errors
        if part.counts["cross_validation"] == MOST:
            part.notes.append(f"Cross-validation tries {MOST} components, and the last was best.")
    return part


def _dense(subject: Subject, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Float64:
    X = subject.sample(rows).items
    X = X if len(columns) == subject.width else X[:, columns]
    return np.asarray(X.toarray() if issparse(X) else X, np.float64)


def _of_neighbors(sample: Sample, k: int, seed: int, ops: Backend) -> Part:
    """Rules that follow the neighbor graph."""
    part = Part.empty()
    if len(sample) < 10:
        part.notes.append("Fewer than ten distinct rows: neighbors say nothing.")
        return part
    near = sample.others(min(NEIGHBORS, len(sample) - 1), ops)
    found, notes = intrinsic_dimensions(sample, near, ops, seed)
    part.notes.extend(notes)
    if (bend := residual_elbow(sample, agreed(found) or 2, ops, seed)) is not None:
        part.counts["isomap"], part.curves["residual_variance"] = bend
        if part.counts["isomap"] == DIMENSIONS:
            part.notes.append(f"Isomap's residual variance still falls at {DIMENSIONS} dimensions.")
    else:
        part.notes.append("The neighbor graph is in pieces, so ways along it say nothing.")
    small = small_sample(sample, seed)
    near = small.others(min(k, len(small) - 1), ops)
    part.counts["eigengap"], part.curves["laplacian_eigenvalues"] = eigengap(near, k)
    part.intervals.update(found)
    part.counts.update({name: max(1, round(value.value)) for name, value in found.items()})
    return part
