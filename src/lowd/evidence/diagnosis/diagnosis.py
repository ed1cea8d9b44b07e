"""`lowd.diagnose`: checks of data before a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import progress, random
from ...backend import using
from ...blocks import RowBlocks, is_blocks
from ...errors import DataError, ParameterError
from ...input.arguments import Input
from ...input.entries import is_table
from ...methods.pca import PCA
from ...neighbor_graph import NeighborGraph
from ...parameters import Seed
from ...pipeline import STEP_PARAMETERS
from ...threads import single_threaded_blas
from ..null_models import Structure, compare_with_nulls
from ..types import MetricLike, MetricParams
from .choice import check_costs, choose, estimate_costs
from .columns import check_columns, summarize_columns
from .preparation import (
    MIN_WIDE_COLUMNS,
    Decided,
    check_noise,
    prepare_rows,
)
from .raw_data import MIN_NEIGHBORHOOD_SAMPLES, RawData, Sample, read_data, sample_rows
from .result import SEVERITIES, Diagnosis, Dimension, Finding
from .rows import (
    ResidualVariances,
    Shape,
    check_connectivity,
    check_distances,
    check_hubness,
    check_outliers,
    check_shape,
    check_short_circuits,
    combine_estimates,
    compute_residual_variances,
    compute_row_keys,
    estimate_dimensions,
    find_distinct_rows,
    limit_estimates,
)

N_SEARCHED_NEIGHBORS = 40  # of each row, among which the number that connects the graph is sought
N_STAGES = 4  # of progress
MAX_DIAGNOSED_ROWS = 20_000  # of rows in blocks, which are held in memory
DIMENSION_NAMES = {
    "two_nn": "two-NN",
    "maximum_likelihood": "maximum likelihood",
    "local_pca": "local PCA",
}


def diagnose(
    X: Input,
    *,
    metric: MetricLike = "euclidean",
    metric_params: MetricParams = None,
    n_neighbors: int = 15,
    columns: Sequence[object] | None = None,
    steps: Mapping[str, Any] | None = None,
    keep: Sequence[str | int] = (),
    recognized: bool = False,
    max_samples: int | None = 20_000,
    random_state: Seed = None,
    backend: str = "auto",
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Diagnosis:
    """Check data before a fit: missing values, duplicates, outliers, intrinsic dimension, shape.

    Every entry is read once (missing values, constant, duplicate or dominant columns; text;
    duplicate rows), and neighbors are searched of at most `max_samples` rows (outliers, connected
    components, hubs, intrinsic dimension, curvature). Problems are findings, not errors. A finding
    carries its remedy as an `action`: parameters of `lowd.Pipeline`. Neighbors are searched in the
    rows as these actions leave them, and the result recommends methods for them;
    `Diagnosis.pipeline` is the first recommendation as a model.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows of numbers (array, table, sparse), a table with text, or with metric="precomputed"
        a square matrix of distances, or with a callable metric a list of anything. Of rows in
        blocks (`lowd.open_blocks`, dask) a sample of 20,000 is diagnosed.
    metric : str or callable, default="euclidean"
    metric_params : dict or None, default=None
        The distance that an embedding is to preserve, as in ClassicalMDS.
    n_neighbors : int, default=15
        Number of neighbors in the graph that is checked.
    columns : sequence or None, default=None
        Names of the columns of an array, for the sentences.
    steps : dict or None, default=None
        Steps of a pipeline that are decided already: `{"scale": False, "pca": 30}`. No finding acts
        on them; `{"drop": None, "impute": None, "normalize": False, "log1p": False, "scale": False,
        "pca": None}` diagnoses the rows as they are.
    keep : sequence of str or int, default=()
        Columns, by name or index, that no finding leaves out.
    recognized : bool, default=False
        Whether identifiers and codes were told from features before, as `lowd.io.read` does.
    max_samples : int or None, default=20000
        Rows whose neighbors are searched, drawn at random if there are more. None takes all.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the draw. None is 0.

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> import numpy as np, lowd
    >>> X = np.random.default_rng(0).normal(size=(200, 3)) * [1, 1, 1000]
    >>> found = lowd.diagnose(X)
    >>> found.about("scale")[0].affected
    ('column 2',)
    >>> found.worst
    'warning'
    >>> print(found.recommendations[0])
    Pipeline(PCA(n_components=2), scale=True): ...
    """
    for name, count in (("n_neighbors", n_neighbors), ("max_samples", max_samples)):
        if count is not None and count < 1:
            raise ParameterError(f"{name}={count}: expected a whole number >= 1.")
    notes: list[str] = []
    if is_blocks(X):
        rows = RowBlocks.of(X)
        sample = rows.draw(MAX_DIAGNOSED_ROWS, finite=False)
        X, columns = sample.items, rows.names if columns is None else columns
        drawn = f"{len(sample.row_indices)} of {sample.n_seen} rows in blocks"
        notes = [f"{drawn} are diagnosed; costs are of these."]
    data, decided, seed = _read(
        X, metric, metric_params, columns, steps, keep, recognized, random_state
    )
    with progress.show_bar(verbose), using(backend, n_jobs), single_threaded_blas():
        mixed = None
        if data.non_numeric and data.kind == "rows" and data.metric == "euclidean":
            mixed = read_data(X, "gower") if is_table(X) else None
        found = _diagnose(data, n_neighbors, max_samples, decided, seed, mixed)
    return replace(found, notes=[*notes, *found.notes])


def decide(
    X: Input,
    *,
    metric: MetricLike = "euclidean",
    columns: Sequence[object] | None = None,
    steps: Mapping[str, Any] | None = None,
    keep: Sequence[str | int] = (),
    recognized: bool = False,
    max_samples: int | None = 20_000,
    random_state: Seed = None,
) -> Preparing:
    """The steps before a method, with their reasons: the first part of a diagnosis."""
    data, decided, seed = _read(X, metric, None, columns, steps, keep, recognized, random_state)
    with single_threaded_blas():
        return prepare(data, max_samples, decided, seed)


def _read(
    X: Input,
    metric: MetricLike,
    metric_params: MetricParams,
    columns: Sequence[object] | None,
    steps: Mapping[str, Any] | None,
    keep: Sequence[str | int],
    recognized: bool,
    random_state: Seed,
) -> tuple[RawData, Decided, int]:
    seed = 0 if random_state is None else random.as_seed(random_state)
    data = read_data(X, metric, metric_params, columns)
    unknown = [name for name in steps or () if name not in STEP_PARAMETERS]
    if unknown:
        raise ParameterError(
            f"steps: {unknown[0]!r} is no step; there are {', '.join(STEP_PARAMETERS)}."
        )
    if not len(data):
        raise DataError("X has 0 rows, while a minimum of 1 is required.")
    return data, Decided(steps or {}, keep, recognized), seed


class RowChecks(NamedTuple):
    """Findings on entries and rows, and the rows whose neighbors are searched."""

    findings: list[Finding]
    notes: list[str]
    sample: Sample | None
    is_subsample: bool = False  # is the sample smaller than the distinct rows?


class Preparing(NamedTuple):
    """How the rows are to be prepared: findings with their actions, and the steps of a pipeline."""

    findings: list[Finding]
    steps: dict[str, Any]
    notes: list[str]
    sample: Sample | None  # after the steps before PCA
    is_subsample: bool
    hubness: Finding | None  # None where it was not looked for
    structure: Structure | None  # of this sample

    @property
    def reduced(self) -> Sample | None:
        """The sample after all steps."""
        count = self.steps.get("pca")
        if not count or self.sample is None or not self.sample.is_euclidean:
            return self.sample
        scores = PCA(min(count, *self.sample.X.shape)).fit_transform(self.sample.X)
        return replace(self.sample, items=np.asarray(scores, np.float64))


class GraphChecks(NamedTuple):
    """Findings on the neighbor graph of the sample, and the numbers behind them."""

    findings: list[Finding]
    notes: list[str]
    n_components: NDArray[np.int64]  # of the graphs of 1, 2, ... neighbors
    dimensions: dict[str, Dimension]
    shape: Shape = "unknown"
    residuals: ResidualVariances | None = None


def prepare(
    data: RawData, max_samples: int | None, decided: Decided, seed: int, k: int = 15
) -> Preparing:
    """Decide the steps before a method, by all entries and a sample of the rows."""
    rows = _check_rows(data, max_samples, decided, seed)
    sample, hubness, findings = rows.sample, None, rows.findings
    sample = prepare_rows(data, sample, findings, decided)
    if sample is not None and sample.is_euclidean:
        # In the order in which methods take rows, so that products of these serve them as well.
        sample = sample.take(sample.space.order())
    topics = {finding.topic for finding in findings if finding.severity != "fine"}
    structure = None
    if sample is not None and sample.is_euclidean:
        structure = compare_with_nulls(sample.X, seed)
    wide = sample is not None and sample.is_euclidean and sample.X.shape[1] > MIN_WIDE_COLUMNS
    # Of noise all components are noise, and of components a part has been chosen.
    final = structure is not None and (structure.kind == "noise" or structure.components)
    if sample is not None and wide and len(sample) >= MIN_NEIGHBORHOOD_SAMPLES:
        near = sample.find_neighbors(min(max(k, N_SEARCHED_NEIGHBORS), len(sample) - 1))
        hubness = check_hubness(near, k, sample.rows, _describe_sample(sample, rows.is_subsample))
        if "pca" not in decided.steps and not final:
            noise = check_noise(sample, hubness, "genotypes" in topics, "counts" in topics, seed)
            hubness = hubness if noise is None else noise
        findings = [*findings, hubness]
    steps, notes = decided.merge(findings), rows.notes
    if sample is not None and steps and data.kind == "rows":
        notes = [*notes, f"Neighbors were searched after these steps: {', '.join(steps)}."]
    return Preparing(findings, steps, notes, sample, rows.is_subsample, hubness, structure)


def _describe_sample(sample: Sample, is_subsample: bool) -> str:
    return f" (in a sample of {len(sample)} rows)" if is_subsample else ""


def _diagnose(
    data: RawData,
    k: int,
    max_samples: int | None,
    decided: Decided,
    seed: int,
    mixed: RawData | None = None,
) -> Diagnosis:
    prepared = prepare(data, max_samples, decided, seed, k)
    progress.report("diagnosis", 1, N_STAGES)
    sample = prepared.reduced
    graph = _check_neighbors(prepared, sample, k, seed)
    costs = estimate_costs(data)
    findings = [*prepared.findings, *graph.findings, check_costs(costs)]
    findings += _report_structure(prepared.structure)
    if mixed is not None:  # numbers and text, which a distance of whole rows compares
        complete = np.arange(len(mixed))
        everyone = mixed.take(sample_rows(mixed, complete, compute_row_keys(mixed), None, seed))
        recommendations = choose(mixed, everyone, estimate_costs(mixed), {}, None, seed=seed)
    else:
        steps = prepared.steps if data.metric == "euclidean" else {}
        recommendations = choose(data, sample, costs, steps, prepared.structure, seed=seed)
    residuals = graph.residuals
    progress.report("diagnosis", N_STAGES, N_STAGES)
    return Diagnosis(
        findings=sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity)),
        recommendations=recommendations,
        steps=prepared.steps,
        structure=prepared.structure,
        costs=costs,
        intrinsic_dimension=graph.dimensions,
        shape=graph.shape,
        residual_variance={}
        if residuals is None
        else {"linear": residuals.linear.tolist(), "geodesic": residuals.geodesic.tolist()},
        connected_components={i + 1: int(count) for i, count in enumerate(graph.n_components)},
        n_samples=len(data),
        n_features=data.n_features,
        n_searched=0 if sample is None else len(sample),
        notes=[*prepared.notes, *graph.notes],
    )


def _check_rows(data: RawData, max_samples: int | None, decided: Decided, seed: int) -> RowChecks:
    """All that concerns entries, columns and whole rows."""
    notes: list[str] = []
    found: list[Finding] = []
    summary = summarize_columns(data) if data.kind == "rows" else None
    if summary is not None:
        if not data.n_features:
            return RowChecks(check_columns(data, summary, None), ["No column is numeric."], None)
        keys, complete = summary.keys, summary.complete
    else:
        if data.kind == "distances":
            found = check_distances(data.X)
            if any(finding.severity == "error" for finding in found):
                return RowChecks(found, ["These are no distances; nothing else was checked."], None)
        notes.append(
            "There are no numeric columns to check."
            if data.kind != "table"
            else "Columns of a mixed table are not compared with each other."
        )
        keys, complete = compute_row_keys(data), np.ones(len(data), bool)
    distinct, duplicates = find_distinct_rows(keys, complete)
    rows = sample_rows(data, distinct, keys, max_samples, seed)
    sample = data.take(rows) if len(rows) else None
    if summary is not None:
        gaps = not complete.all() and not data.is_sparse
        everyone = find_distinct_rows(keys, np.ones(len(data), bool)) if gaps else None
        filled = sample
        if everyone is not None:  # few rows may be complete, and they may be like no others
            filled = data.take_filled(sample_rows(data, everyone.rows, keys, max_samples, seed))
        found += decided.limit(check_columns(data, summary, filled), data)
        if everyone is not None and "impute" in decided.merge(found):
            distinct, duplicates = everyone
            rows = sample_rows(data, distinct, keys, max_samples, seed)
            sample = data.take_raw(rows)
        elif not complete.all():
            incomplete = int((~complete).sum())
            notes.append(f"The {incomplete} rows with missing values are left out of all else.")
    found.append(duplicates)
    is_subsample = len(rows) < len(distinct)
    if sample is not None and is_subsample:
        found.append(
            Finding(
                "notice",
                "sample",
                f"Neighbors were searched in {len(rows)} of {len(distinct)} rows, drawn at random.",
                "The graph of all rows is denser; max_samples=None takes all of them.",
            )
        )
    return RowChecks(found, notes, sample, is_subsample)


def _check_neighbors(prepared: Preparing, sample: Sample | None, k: int, seed: int) -> GraphChecks:
    """All that needs neighbors, where there are enough rows and the metric can compare them."""
    nothing = GraphChecks([], [], np.empty(0, np.int64), {})
    if sample is None:
        return nothing
    if len(sample) < MIN_NEIGHBORHOOD_SAMPLES:
        note = f"Fewer than {MIN_NEIGHBORHOOD_SAMPLES} rows are complete and distinct: too few for "
        return nothing._replace(notes=[f"{note}neighborhoods."])
    try:
        near = sample.find_neighbors(min(max(k, N_SEARCHED_NEIGHBORS), len(sample) - 1))
    except DataError as error:
        sentence = f"The metric cannot compare these rows: {error}"
        return nothing._replace(findings=[Finding("error", "metric", sentence)])
    where = _describe_sample(sample, prepared.is_subsample)
    graph = _check_graph(sample, near, k, prepared.is_subsample, where, seed)
    if prepared.hubness is None:
        graph.findings.append(check_hubness(near, k, sample.rows, where))
    return graph


def _check_graph(
    sample: Sample,
    near: NeighborGraph,
    k: int,
    is_subsample: bool,
    where: str,
    seed: int,
) -> GraphChecks:
    estimates, notes = estimate_dimensions(sample, near, seed)
    dimension = combine_estimates(estimates)
    dimensions, beyond = limit_estimates(estimates, len(sample))
    progress.report("diagnosis", 2, N_STAGES)
    connectivity, n_components = check_connectivity(near, k, where)
    found = [
        connectivity,
        check_outliers(near, k, sample.rows, where, dimension),
        *_report_dimension(dimensions, beyond),
    ]
    # A sample is sparser than the data, and its graph has short circuits that theirs has not.
    shortcuts = None if is_subsample else check_short_circuits(near, k, sample, dimension)
    found += [] if shortcuts is None else [shortcuts]
    progress.report("diagnosis", 3, N_STAGES)
    checks = GraphChecks(found, notes, n_components, dimensions)
    if dimension is None:
        return checks
    residuals = compute_residual_variances(sample, dimension, seed)
    if residuals is None:
        return checks
    shape, finding = check_shape(residuals, dimension)
    return checks._replace(findings=[*found, finding], shape=shape, residuals=residuals)


def _report_structure(found: Structure | None) -> list[Finding]:
    """Is there structure to see, and is it more than linear?"""
    if found is None:
        return []
    if found.kind == "noise":
        remedy = "A map of these rows shows chance; look for other columns, or for more rows."
        return [Finding("warning", "structure", found.claim, remedy)]
    ratio, p = found.linear
    more = (
        "There is more than linear relations: neighbors are nearer together than in normal rows of "
        f"the same covariance ({ratio:.2f} times the distance, p = {p:.2f})."
    )
    return [Finding("fine", "structure", found.claim or more)]


def _report_dimension(found: dict[str, Dimension], beyond: str) -> list[Finding]:
    """The estimates of the intrinsic dimension in a sentence."""
    middle = combine_estimates(found)
    if middle is None:
        remedy = "As with noise, and with few rows; lowd.dimension has rules for components."
        return [Finding("notice", "intrinsic dimension", beyond, remedy)] if beyond else []
    estimates = ", ".join(
        f"{DIMENSION_NAMES[name]} {value:.1f} ({low:.1f} to {high:.1f})"
        for name, (value, low, high) in found.items()
    )
    values = [value.value for value in found.values()]
    sentence = f"The intrinsic dimension is about {max(1, round(middle))}: {estimates}."
    if max(values) > 2 * min(values):
        return [
            Finding(
                "notice",
                "intrinsic dimension",
                sentence,
                "The estimates disagree, as with noise, clusters or few rows; trust none alone.",
            )
        ]
    return [Finding("fine", "intrinsic dimension", sentence)]
