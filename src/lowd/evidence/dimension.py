"""`lowd.dimension`: the number of dimensions by all usual rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, eigvalsh
from scipy.sparse import csr_array, issparse

from .. import progress, random
from ..backend import using
from ..errors import ColumnTypeError, DataError, ParameterError
from ..input.arguments import Input
from ..input.entries import refuse_large_integers
from ..linalg import scree
from ..linalg.principal import scatter as scatter_of
from ..neighbor_graph import NeighborGraph
from ..parameters import Reals, Seed
from ..spaces import Rows
from ..threads import single_threaded_blas
from .diagnosis.columns import ColumnSummary, check_scale, summarize_columns
from .diagnosis.diagnosis import N_SEARCHED_NEIGHBORS
from .diagnosis.raw_data import MIN_NEIGHBORHOOD_SAMPLES, RawData, Sample, read_data, sample_rows
from .diagnosis.rows import (
    GEODESIC_SAMPLES,
    build_knn_graph,
    combine_estimates,
    compute_residual_variances,
    estimate_dimensions,
    find_distinct_rows,
    limit_estimates,
)
from .null_models import Structure, analyze_parallel, compare_with_nulls, compute_eigenvalues
from .tables import html_paragraphs
from .types import Figure

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

    def suggest(self, rule: str, count: int, largest: int) -> None:
        """Add what a rule finds, unless it is the largest number that it can find."""
        if count < largest:
            self.suggestions[rule] = count
        else:
            self.notes.append(
                f"{rule} would be {count}, the end of its range, which is not an estimate."
            )


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
        compare_with_nulls(sample.X, seed),
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
    X = X[Rows(X).order()]  # which another unit does not change, as it changes hashes
    draft.suggestions["parallel"], observed, limit = analyze_parallel(X, n_permutations, seed)
    draft.curves.update(parallel_observed=observed, parallel=limit)
    if min(len(X), X.shape[1]) < N_FOLDS:
        return
    X = X[random.subset(seed, "held out", len(X), min(len(X), CROSS_VALIDATION_SAMPLES))]
    count, errors = cross_validate(X, seed)
    draft.curves["cross_validation"] = errors
    draft.suggest("cross_validation", count, len(errors) - 1)


def _apply_neighbor_rules(draft: Draft, sample: Sample, k: int, seed: int) -> None:
    """Rules that need the neighbor graph."""
    if len(sample) < MIN_NEIGHBORHOOD_SAMPLES:
        draft.notes.append("Fewer than ten distinct rows: too few for neighborhoods.")
        return
    near = sample.find_neighbors(min(N_SEARCHED_NEIGHBORS, len(sample) - 1))
    estimates, notes = estimate_dimensions(sample, near, seed)
    draft.notes.extend(notes)
    elbow = find_residual_elbow(sample, combine_estimates(estimates) or 2, seed)
    estimates, beyond = limit_estimates(estimates, len(sample))
    draft.notes.extend([beyond] if beyond else [])
    if elbow is not None:
        count, draft.curves["residual_variance"] = elbow
        draft.suggest("isomap", count, len(draft.curves["residual_variance"]))
    else:
        draft.notes.append(
            "The neighbor graph has several connected components: no geodesic distances."
        )
    small = subsample(sample, seed)
    near = small.find_neighbors(min(k, len(small) - 1))
    count, values = find_eigengap(near, k)
    draft.curves["laplacian_eigenvalues"] = values
    draft.suggest("eigengap", count, len(values) - 1)
    draft.intervals.update(estimates)
    for name, value in estimates.items():
        draft.suggestions[name] = max(1, round(value.value))


# -- spectra --------------------------------------------------------------------------------------

MAX_SPECTRUM_SIDE = 2000  # rows or columns with a full spectrum: 0.7 s on one core
PARALLEL_SAMPLES = 2000  # rows of parallel analysis, which takes a spectrum per permutation
CROSS_VALIDATION_SAMPLES = 800  # rows of cross-validation, which takes a spectrum per block
N_FOLDS = 4  # of rows, and of columns
MAX_TRIED_COMPONENTS = 50  # by cross-validation


class Spectra(NamedTuple):
    """Eigenvalues of the scatter and correlation matrices, those that can be positive."""

    scatter: Reals
    correlation: Reals
    n: int
    d: int  # columns that are not constant


def compute_spectra(X: Any) -> Spectra:
    """Both spectra from the smaller of the scatter and Gram matrices."""
    n, d = X.shape
    mean = np.asarray(X.sum(0, dtype=np.float64)).ravel() / n
    if d <= min(n, MAX_SPECTRUM_SIDE):
        scatter = scatter_of(X, mean)
        spread = np.sqrt(np.maximum(np.diagonal(scatter), 0))
        varies = spread > np.sqrt(n) * np.finfo(X.dtype).eps * np.abs(mean)
        unit = np.divide(1, spread, out=np.zeros(d), where=varies)
        plain, standardized = scatter, scatter * np.outer(unit, unit)
    else:
        Z = X.toarray() if issparse(X) else X
        Z = Z.astype(np.float64) - mean
        spread = np.sqrt((Z**2).sum(0))
        varies = spread > np.sqrt(n) * np.finfo(X.dtype).eps * np.abs(mean)
        Z = Z[:, varies]
        plain = Z @ Z.T
        Z /= spread[varies]
        standardized = Z @ Z.T
    n_varying = int(varies.sum())
    rank = min(n - 1, n_varying)
    scatter_values, correlation = (compute_eigenvalues(A)[:rank] for A in (plain, standardized))
    return Spectra(scatter_values, correlation, n, n_varying)


def cross_validate(X: Reals, seed: int) -> tuple[int, Reals]:
    """Bi-cross-validation: components that best predict held-out blocks (Owen and Perry, 2009).

    Rows and columns are cut into four folds each. For every pair of folds, components come from
    entries that share neither rows nor columns with their block, and predict it from the other
    columns of its rows and the other rows of its columns. A component of noise increases the error,
    so it has a minimum. Returns its position and the error of 0, 1, ... components, relative to
    that of the means alone.
    """
    n, d = X.shape
    row_fold, column_fold = _assign_folds(n, seed, "row"), _assign_folds(d, seed, "column")
    most = min(MAX_TRIED_COMPONENTS, n - -(-n // N_FOLDS) - 1, d - -(-d // N_FOLDS))
    errors, done = np.zeros(most + 1), 0
    for rows in (row_fold == fold for fold in range(N_FOLDS)):
        Z = X - X[~rows].mean(0)
        for columns in (column_fold == fold for fold in range(N_FOLDS)):
            errors += _compute_block_errors(Z, rows, columns, most)
            done += 1
            progress.report("cross-validation", done, N_FOLDS**2)
    return int(np.argmin(errors)), errors / errors[0]


def _assign_folds(size: int, seed: int, name: str) -> NDArray[np.int64]:
    """Random folds 0, 1, ... of nearly equal size."""
    return np.asarray(random.bits(seed, name, np.arange(size)).argsort().argsort() % N_FOLDS)


def _compute_block_errors(
    Z: Reals, rows: NDArray[np.bool_], columns: NDArray[np.bool_], most: int
) -> Reals:
    """Squared error of a block for 0, 1, ... components of other rows and columns."""
    left = Z[np.ix_(rows, columns)].copy()
    beside, above = Z[np.ix_(rows, ~columns)], Z[np.ix_(~rows, columns)]
    inner = Z[np.ix_(~rows, ~columns)]
    tall = len(inner) >= inner.shape[1]
    gram = inner.T @ inner if tall else inner @ inner.T
    size = len(gram)
    values, vectors = eigh(gram, subset_by_index=[max(size - most, 0), size - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    errors = np.full(most + 1, float((left**2).sum()))
    for j in range(min(most, len(values))):
        if values[j] <= 1e-12 * values[0]:
            errors[j + 1 :] = errors[j]
            break
        # inner⁺ = V S⁻¹ U'; one factor is at hand, the other is inner times it over S.
        if tall:
            scores, loads = beside @ vectors[:, j], (inner @ vectors[:, j]) @ above
        else:
            scores, loads = beside @ (vectors[:, j] @ inner), vectors[:, j] @ above
        left -= np.outer(scores, loads) / values[j]
        errors[j + 1] = float((left**2).sum())
    return errors


# -- manifolds and graphs -------------------------------------------------------------------------

MIN_RESIDUAL_GAIN = 0.01  # residual variance that one more dimension must save,
NEGLIGIBLE_RESIDUAL = 0.001  # unless it halves a residual variance above this
MAX_GAP_EIGENVALUES = 15  # among which the largest gap is sought: more are no clusters
MIN_EIGENVALUE = 0.01  # smaller ones belong to nearly separate components, and count alike


def find_residual_elbow(sample: Sample, guess: float, seed: int) -> tuple[int, Reals] | None:
    """Where Isomap's residual variance stops falling (Tenenbaum et al., 2000).

    The fewest dimensions after which one more saves less than 0.01, and does not halve it either:
    on a long strip the first dimension alone leaves little.
    """
    found = compute_residual_variances(sample, guess, seed)
    if found is None:
        return None
    left, next_left = found.geodesic[:-1], found.geodesic[1:]
    halved = (left > NEGLIGIBLE_RESIDUAL) & (next_left < left / 2)
    enough = np.flatnonzero((left - next_left < MIN_RESIDUAL_GAIN) & ~halved)
    return (int(enough[0]) + 1 if len(enough) else len(found.geodesic)), found.geodesic


def find_eigengap(near: NeighborGraph, k: int) -> tuple[int, Reals]:
    """Number of eigenvectors before the largest gap of the normalized graph Laplacian, by ratio.

    The constant one is left out, so c clusters give c - 1: so many components separate them.
    Without clusters no gap is large, and the result says little.
    """
    n = len(near.indices)
    k = min(k, near.indices.shape[1])
    A = build_knn_graph(near, k, np.ones(n * k))
    W = A.maximum(csr_array(A.T)).toarray()
    root = 1 / np.sqrt(W.sum(0))
    L = np.eye(n) - W * root * root[:, None]
    last = min(MAX_GAP_EIGENVALUES + 1, n - 1)
    values = np.maximum(eigvalsh(L, subset_by_index=[1, last]), 0)
    gaps = np.diff(np.log(np.maximum(values, MIN_EIGENVALUE)))
    return int(np.argmax(gaps)) + 1, values


def subsample(sample: Sample, seed: int) -> Sample:
    """Few enough rows for a dense spectrum of their graph."""
    if len(sample) <= GEODESIC_SAMPLES:
        return sample
    return sample.take(random.subset(seed, "eigengap", len(sample), GEODESIC_SAMPLES))


# -- the result -----------------------------------------------------------------------------------

# Rule -> description, for tables and plots.
RULES = {
    "variance_90": "keeps 90 % of the variance",
    "variance_95": "keeps 95 % of the variance",
    "broken_stick": "larger than shares of a stick broken at random",
    "parallel": "larger than with permuted columns",
    "kaiser": "correlation eigenvalues above 1",
    "gavish_donoho": "singular values above noise of unknown size",
    "profile_likelihood": "most likely split of the eigenvalues in two groups",
    "elbow": "before the elbow of the eigenvalues",
    "cross_validation": "predicts held-out blocks best",
    "isomap": "residual variance of geodesic distances stops falling",
    "eigengap": "largest gap of the graph Laplacian's spectrum (clusters less one)",
    "two_nn": "intrinsic dimension by two-NN",
    "maximum_likelihood": "intrinsic dimension by maximum likelihood",
    "local_pca": "intrinsic dimension by local PCA",
}
# Rules that separate signal from noise, or estimate the dimension of a manifold.
SIGNAL_RULES = (
    "parallel",
    "broken_stick",
    "gavish_donoho",
    "profile_likelihood",
    "cross_validation",
)
MANIFOLD_RULES = ("isomap", "two_nn", "maximum_likelihood", "local_pca")


@dataclass(frozen=True)
class Dimensions:
    """The result of `lowd.dimension`.

    Attributes
    ----------
    suggestions : rule -> number of dimensions; 0 if no component stands out
    intervals : intrinsic dimension estimators -> (value, low, high)
    curves : what the rules are applied to, by name: "eigenvalues" (variances of the principal
        components), "cumulative", "broken_stick", "parallel" and "parallel_observed" (shares of the
        variance), "correlation_eigenvalues", "profile_likelihood", "cross_validation" (from 0
        components on), "residual_variance" (from 1 dimension on), "laplacian_eigenvalues"
    thresholds : "gavish_donoho" -> the variance above which a component is no noise
    structure : is there structure to see, and is it more than linear?
    recommended : the rule to start with, and its number; None if there is no structure to see
    agreement : a sentence
    n_samples, n_features, notes
    """

    suggestions: dict[str, int]
    intervals: dict[str, tuple[float, float, float]]
    curves: dict[str, Reals]
    thresholds: dict[str, float]
    n_samples: int
    n_features: int
    notes: list[str] = field(default_factory=list)
    structure: Structure | None = None

    @property
    def recommended(self) -> tuple[str, int] | None:
        """The rule to start with, and its number.

        Parallel analysis makes no assumption on the noise, and is right for wide data, where shares
        of the variance count noise. Three exceptions: where there is more than linear relations, a
        manifold on which Isomap and the intrinsic dimensions agree, if it is folded (more than
        parallel analysis finds) or strongly curved (less than half of that); weak components that
        strong ones hide from the permutations, which Gavish and Donoho's threshold finds; and
        columns that are uncorrelated, such as principal components, of which permutations show
        nothing.
        """
        found = self.suggestions
        kind = "structure" if self.structure is None else self.structure.kind
        if kind == "noise":
            return None
        parallel, threshold = found.get("parallel", 0), found.get("gavish_donoho", 0)
        intrinsic = [found[name] for name in MANIFOLD_RULES[1:] if name in found]
        if kind == "structure" and "isomap" in found and intrinsic:
            manifold = found["isomap"]
            agree = abs(manifold - float(np.median(intrinsic))) <= 1
            if agree and not manifold <= parallel <= 2 * manifold:
                return "isomap", manifold
        if parallel < threshold <= 1.5 * parallel:
            return "gavish_donoho", threshold
        order = ("parallel", "gavish_donoho", "broken_stick", "maximum_likelihood", "variance_90")
        return next(((name, found[name]) for name in order if found.get(name, 0) > 0), None)

    def _explain_recommended(self) -> list[str]:
        if self.recommended is None:
            return [] if self.structure is None else [self.structure.claim]
        name, count = self.recommended
        why = {
            "parallel": "noise is what remains",
            "gavish_donoho": "weaker components are noise, if that is the same in all columns",
            "isomap": "the rules for a manifold agree on it",
        }.get(name, "no component stands out of permuted columns")
        return [f"Take {count} ({name}) to begin with: {why}."]

    @property
    def agreement(self) -> str:
        """Do rules for components and estimates for manifolds agree?"""
        linear, manifold = self._select(SIGNAL_RULES), self._select(MANIFOLD_RULES)
        parts = [
            _summarize("Rules for components", linear),
            _summarize("Estimates for a manifold", manifold),
        ]
        summary = " ".join(part for part in parts if part)
        if not linear or not manifold:
            return summary or "There is nothing to compare."
        a, b = float(np.median(list(linear.values()))), float(np.median(list(manifold.values())))
        if max(a, b) <= 1.5 * max(min(a, b), 1):
            if "disagree" in summary:
                return f"{summary} Their medians, {a:g} and {b:g}, are close to each other."
            return f"{summary} Both agree."
        if a > b:
            return (
                f"{summary} They disagree: a manifold of about {b:g} dimensions may be curved into "
                "more."
            )
        return (
            f"{summary} They disagree: noise has more dimensions than stand out of it, or a "
            "manifold is curved so that no component stands out."
        )

    def _select(self, names: tuple[str, ...]) -> dict[str, int]:
        return {name: self.suggestions[name] for name in names if name in self.suggestions}

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, dictionaries and numbers, as JSON takes them."""
        return {
            "n_samples": self.n_samples,
            "n_features": self.n_features,
            "suggestions": dict(self.suggestions),
            "intervals": {name: list(found) for name, found in self.intervals.items()},
            "structure": None if self.structure is None else self.structure.to_dict(),
            "agreement": self.agreement,
            "recommended": None
            if self.recommended is None
            else dict(zip(("rule", "n_components"), self.recommended, strict=True)),
            "thresholds": dict(self.thresholds),
            "curves": {name: curve.tolist() for name, curve in self.curves.items()},
            "notes": list(self.notes),
        }

    def plot(self, ax: Figure = None) -> Figure:
        """The curves with the suggestions on them: `lowd.plot.dimension`."""
        # Imported by name: plots are a higher layer, and need matplotlib.
        return import_module("lowd.plot").dimension(self, ax=ax)

    def __repr__(self) -> str:
        lines = [f"Dimension of {self.n_samples} rows, {self.n_features} columns"]
        for name, count in self.suggestions.items():
            lines.append(f"  {name:20} {count:4}  {RULES[name]}{self._interval(name)}")
        lines += [self.agreement, *self._explain_recommended()]
        return "\n".join([*lines, *(f"Note: {note}" for note in self.notes)])

    def _interval(self, name: str) -> str:
        if name not in self.intervals:
            return ""
        value, low, high = self.intervals[name]
        return f": {value:.2f} ({low:.2f} to {high:.2f})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><td>{name}</td><td>{count}</td><td style="text-align:left">'
            f"{escape(RULES[name] + self._interval(name))}</td></tr>"
            for name, count in self.suggestions.items()
        )
        summary = escape(" ".join([self.agreement, *self._explain_recommended()]))
        return (
            f"<div><p><b>Dimension of {self.n_samples} rows, {self.n_features} columns</b></p>"
            "<table><tr><th>rule</th><th>dimensions</th><th></th></tr>"
            f"{rows}</table><p>{summary}</p>{html_paragraphs(self.notes)}</div>"
        )


def _summarize(title: str, group: dict[str, int]) -> str:
    """Do the rules of a group agree?"""
    if not group:
        return ""
    low, high = min(group, key=group.__getitem__), max(group, key=group.__getitem__)
    if group[high] == group[low]:
        return f"{title} all give {group[low]}."
    if group[high] <= group[low] + 1:
        return f"{title} give {group[low]} or {group[high]}."
    return f"{title} disagree: from {group[low]} ({low}) to {group[high]} ({high})."
