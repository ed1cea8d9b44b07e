"""`lowd.dimension`: the number of dimensions by all usual rules."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ... import progress, random
from ...backend import using
from ...errors import ColumnTypeError, DataError, ParameterError
from ...input.arguments import Input
from ...input.integers import refuse_large_integers
from ...linalg import scree
from ...parameters import Reals, Seed
from ...threads import single_threaded_blas
from ..diagnosis.column_findings import check_scale
from ..diagnosis.column_statistics import ColumnSummary, summarize_columns
from ..diagnosis.diagnosis import N_SEARCHED_NEIGHBORS
from ..diagnosis.duplicates import find_distinct_rows
from ..diagnosis.intrinsic_dimension import combine_estimates, estimate_dimensions
from ..diagnosis.raw_data import (
    MIN_NEIGHBORHOOD_SAMPLES,
    RawData,
    Sample,
    read_data,
    sample_rows,
)
from ..diagnosis.residual_variance import MAX_DIMENSIONS
from ..parallel_analysis import analyze_parallel
from .manifold_rules import find_eigengap, find_residual_elbow, subsample
from .result import Dimensions
from .spectrum_rules import (
    CROSS_VALIDATION_SAMPLES,
    MAX_SPECTRUM_SIDE,
    MAX_TRIED_COMPONENTS,
    N_FOLDS,
    PARALLEL_SAMPLES,
    compute_spectra,
    cross_validate,
)

MAX_RESAMPLED_COLUMNS = 4000  # of the rules that need many spectra
DEFAULT_MAX_SAMPLES = 10_000  # rows whose neighbors give the intrinsic dimension
MIN_SAMPLES = 3  # rows with a spectrum
KAISER_MARGIN = 1e-12  # rounding of an eigenvalue that is exactly 1


def dimension(
    X: Input,
    *,
    scale: bool = False,
    n_neighbors: int = 15,
    n_permutations: int = 20,
    max_samples: int | None = DEFAULT_MAX_SAMPLES,
    random_state: Seed = None,
    backend: str = "auto",
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Dimensions:
    """The number of dimensions to keep, by all usual rules.

    For principal components: share of variance, broken stick, parallel analysis, Kaiser, Gavish and
    Donoho's threshold, profile likelihood, elbow, cross-validation. For manifolds: Isomap's
    residual variance, the eigengap, and three intrinsic dimensions. No rule is right for all data,
    so look at where they agree (`agreement`).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows of numbers: an array, a table, or sparse.
    scale : bool, default=False
        Divide each column by its standard deviation first: for columns in different units.
    n_neighbors : int, default=15
        Neighbors in the graph of the eigengap.
    n_permutations : int, default=20
        Permutations of parallel analysis.
    max_samples : int or None, default=10000
        Rows whose neighbors are searched, drawn at random if there are more. None takes all.
    random_state : int, RandomState, Generator or None, default=None
        Seed of samples, permutations and folds. None is 0.

    Returns
    -------
    Dimensions

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
    seed = 0 if random_state is None else random.as_seed(random_state)
    data, summary = _validate(X)
    if scale:
        data = _standardize(data, summary)
    with progress.show_bar(verbose), using(backend, n_jobs), single_threaded_blas():
        found = _apply_rules(data, summary, n_neighbors, n_permutations, max_samples, seed)
    largest = check_scale(data, summary)
    if not scale and largest.severity == "warning":
        note = f"{largest.sentence} If columns have different units, set scale=True."
        found.notes.insert(0, note)
    return found


def _validate(X: Input) -> tuple[RawData, ColumnSummary]:
    """Numeric data without missing values, since every rule needs all entries."""
    data = read_data(X)
    if data.non_numeric:
        raise ColumnTypeError(
            f"dimension needs numeric columns, but {', '.join(map(repr, data.non_numeric[:8]))} "
            "hold text, categories or dates; drop or encode them "
            "(sklearn.preprocessing.OneHotEncoder)."
        )
    refuse_large_integers(X, "dimension")
    summary = summarize_columns(data)
    if summary.first_nonfinite is not None:
        row, column = summary.first_nonfinite
        raise DataError(
            f"NaN or infinity at row {row}, {data.describe_column(column)}; drop such rows or fill "
            "them (sklearn.impute)."
        )
    if len(data) < MIN_SAMPLES or not summary.varies.any():
        raise DataError(
            f"dimension needs at least {MIN_SAMPLES} rows and a column that varies, got "
            f"{len(data)} rows and {int(summary.varies.sum())} such columns."
        )
    return data, summary


def _standardize(data: RawData, summary: ColumnSummary) -> RawData:
    spread = np.sqrt(summary.variance)
    unit = np.divide(1, spread, out=np.zeros_like(spread), where=spread > 0)
    if data.is_sparse:
        items = data.X.astype(np.float64).multiply(unit).tocsr()
    else:
        items = np.asarray(data.X, np.float64) * unit
    return RawData("rows", items, data.names, (), data.metric, None)


@dataclass(frozen=True)
class Draft:
    """Results of rules as they are added; fields as in `Dimensions`."""

    suggestions: dict[str, int] = field(default_factory=dict)
    intervals: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    curves: dict[str, Reals] = field(default_factory=dict)
    thresholds: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def _apply_rules(
    data: RawData,
    summary: ColumnSummary,
    k: int,
    n_permutations: int,
    max_samples: int | None,
    seed: int,
) -> Dimensions:
    distinct, duplicates = find_distinct_rows(summary.keys, summary.complete)
    sample = data.take(sample_rows(data, distinct, summary.keys, max_samples, seed))
    draft = Draft()
    _apply_spectrum_rules(draft, data, summary, seed)
    _apply_resampling_rules(draft, data, summary, n_permutations, seed)
    _apply_neighbor_rules(draft, sample, k, seed)
    if duplicates.severity != "fine":
        draft.notes.append(f"{duplicates.sentence} Neighbors are searched without duplicates.")
    return Dimensions(
        draft.suggestions,
        draft.intervals,
        draft.curves,
        draft.thresholds,
        len(data),
        data.n_features,
        draft.notes,
    )


def _apply_spectrum_rules(draft: Draft, data: RawData, summary: ColumnSummary, seed: int) -> None:
    """Rules that need eigenvalues alone."""
    if min(len(data), data.n_features) > MAX_SPECTRUM_SIDE:
        rows = _draw_rows(summary, seed, "spectrum", MAX_SPECTRUM_SIDE)
        note = f"The eigenvalues are those of {MAX_SPECTRUM_SIDE} rows drawn at random."
        draft.notes.append(note)
        X = data.take(rows).X
    elif summary.is_safe and isinstance(data.X, np.ndarray) and data.X.dtype.kind == "f":
        # Not copied where it need not be, as all rows may be many.
        X = np.ascontiguousarray(data.X, data.dtype)
    else:
        X = data.take(np.arange(len(data))).X
    found = compute_spectra(X)
    values = found.scatter
    draft.curves["eigenvalues"] = values / (found.n - 1)
    draft.curves["cumulative"] = np.cumsum(values) / values.sum()
    draft.curves["broken_stick"] = scree.broken_stick(len(values))
    draft.curves["correlation_eigenvalues"] = found.correlation
    for share in (90, 95):
        draft.suggestions[f"variance_{share}"] = scree.count_for_variance(values, share / 100)
    draft.suggestions["broken_stick"] = scree.count_above_broken_stick(values)
    draft.suggestions["kaiser"] = scree.count_leading(found.correlation > 1 + KAISER_MARGIN)
    count, limit = scree.count_above_noise(values, found.n - 1, found.d)
    draft.suggestions["gavish_donoho"] = count
    draft.thresholds["gavish_donoho"] = limit / (found.n - 1)
    count, likelihood = scree.profile_likelihood(values)
    draft.suggestions["profile_likelihood"] = count
    draft.curves["profile_likelihood"] = likelihood
    draft.suggestions["elbow"] = scree.elbow(values)


def _draw_rows(summary: ColumnSummary, seed: int, stream: str, count: int) -> NDArray[np.int64]:
    """Some rows, the same in whichever order they come."""
    order = np.argsort(summary.keys, kind="stable")
    return order[random.subset(seed, stream, len(order), count)]


def _apply_resampling_rules(
    draft: Draft, data: RawData, summary: ColumnSummary, n_permutations: int, seed: int
) -> None:
    """Rules that need many spectra, of few rows and columns."""
    if data.n_features < 2:
        return
    columns = None
    if data.n_features > MAX_RESAMPLED_COLUMNS:
        columns = random.subset(seed, "columns", data.n_features, MAX_RESAMPLED_COLUMNS)
        draft.notes.append(
            f"Parallel analysis and cross-validation use {MAX_RESAMPLED_COLUMNS} columns."
        )
    rows = _draw_rows(summary, seed, "shuffled", min(len(data), PARALLEL_SAMPLES))
    X = data.take(rows).take_dense(columns)
    draft.suggestions["parallel"], observed, limit = analyze_parallel(X, n_permutations, seed)
    draft.curves.update(parallel_observed=observed, parallel=limit)
    if min(len(X), X.shape[1]) < N_FOLDS:
        return
    X = X[random.subset(seed, "held out", len(X), min(len(X), CROSS_VALIDATION_SAMPLES))]
    count, draft.curves["cross_validation"] = cross_validate(X, seed)
    draft.suggestions["cross_validation"] = count
    if count == MAX_TRIED_COMPONENTS:
        draft.notes.append(
            f"Cross-validation tries {MAX_TRIED_COMPONENTS} components, and the last was best."
        )


def _apply_neighbor_rules(draft: Draft, sample: Sample, k: int, seed: int) -> None:
    """Rules that need the neighbor graph."""
    if len(sample) < MIN_NEIGHBORHOOD_SAMPLES:
        draft.notes.append("Fewer than ten distinct rows: too few for neighborhoods.")
        return
    near = sample.find_neighbors(min(N_SEARCHED_NEIGHBORS, len(sample) - 1))
    estimates, notes = estimate_dimensions(sample, near, seed)
    draft.notes.extend(notes)
    elbow = find_residual_elbow(sample, combine_estimates(estimates) or 2, seed)
    if elbow is not None:
        draft.suggestions["isomap"], draft.curves["residual_variance"] = elbow
        if draft.suggestions["isomap"] == MAX_DIMENSIONS:
            draft.notes.append(
                f"Isomap's residual variance still falls at {MAX_DIMENSIONS} dimensions."
            )
    else:
        draft.notes.append(
            "The neighbor graph has several connected components: no geodesic distances."
        )
    small = subsample(sample, seed)
    near = small.find_neighbors(min(k, len(small) - 1))
    draft.suggestions["eigengap"], draft.curves["laplacian_eigenvalues"] = find_eigengap(near, k)
    draft.intervals.update(estimates)
    for name, value in estimates.items():
        draft.suggestions[name] = max(1, round(value.value))
