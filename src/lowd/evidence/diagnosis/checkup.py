"""`lowd.diagnose`: look at data before anything is fitted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ... import progress, random
from ...backends import resolve
from ...backends.protocol import Backend, Neighbors
from ...errors import DataError, ParameterError
from ...threads import single_threaded_blas
from .advice import Facts, advise
from .columns import column_findings, survey
from .copies import keys_of
from .costs import cost_finding, costs
from .distances import distance_findings
from .intrinsic import agreed, intrinsic_dimensions
from .neighborhoods import connectivity, crossing, first_rows, hubness, outliers
from .result import SEVERITIES, Diagnosis, Dimension, Finding, counted
from .shape import Ways, oblique, shape_finding, ways
from .subject import Sample, Subject, chosen, read

NEIGHBORS = 40  # of each row, among which the number that joins the graph is looked for
FEW = 10  # rows below which neighborhoods mean nothing
STAGES = 4


def diagnose(
    X: Any,
    *,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    n_neighbors: int = 15,
    columns: Sequence[Any] | None = None,
    max_samples: int | None = 20_000,
    random_state: Any = None,
    backend: str = "auto",
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Diagnosis:
    """What to know about data before mapping them, and what to do about it.

    Looks at every entry once (missing, constant, doubled or oversized columns; text; copied rows)
    and at the neighbors of at most `max_samples` rows (outliers, pieces, hubs, intrinsic
    dimension, whether it bends). Nothing is refused for being unfit: that is the answer.

    Parameters
    ----------
    X
        Rows of numbers (array, table, sparse), a table with text, or with metric="precomputed"
        a square matrix of distances, or with a callable metric a list of anything.
    metric, metric_params
        The distance that the map is to keep, as in ClassicalMDS.
    n_neighbors
        The number of neighbors whose graph is judged.
    columns
        Names of the columns of an array, for the sentences.
    max_samples
        Rows whose neighbors are looked at, drawn by chance if there are more. None takes all.
    random_state
        Seed of the draw. None is 0.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> X = np.random.default_rng(0).normal(size=(200, 3)) * [1, 1, 1000]
    >>> found = lowd.diagnose(X)
    >>> print(found.about("scale")[0].sentence)
    column 2 owns 100.0% of the variance, so distances and the first axis are little else.
    >>> found.worst, found.recommendations[0].params
    ('warning', {'n_components': 2, 'scale': True})
    """
    for name, count in (("n_neighbors", n_neighbors), ("max_samples", max_samples)):
        if count is not None and count < 1:
            raise ParameterError(f"{name}={count}: expected a whole number >= 1.")
    ops = resolve(backend, n_jobs)
    seed = 0 if random_state is None else random.as_seed(random_state)
    subject = read(X, metric, metric_params, columns)
    if not len(subject):
        raise DataError("X has 0 rows, while a minimum of 1 is required.")
    with watched(verbose), single_threaded_blas():
        return _diagnosed(subject, n_neighbors, max_samples, seed, ops)


def _diagnosed(
    subject: Subject, k: int, max_samples: int | None, seed: int, ops: Backend
) -> Diagnosis:
    found, sample, notes = _rows(subject, max_samples, seed, ops)
    progress.report("diagnosis", 1, STAGES)
    dimensions: dict[str, Dimension] = {}
    pieces: NDArray[np.int64] = np.empty(0, np.int64)
    shape = "unknown"
    measured: Ways | None = None
    near = _neighbors(sample, k, found, notes, ops)
    if sample is not None and near is not None:
        thin = any(finding.topic == "sample" for finding in found)
        where = f" (in a sample of {len(sample)} rows)" if thin else ""
        dimensions, remarks = intrinsic_dimensions(sample, near, ops, seed)
        notes += remarks
        progress.report("diagnosis", 2, STAGES)
        joined, pieces = connectivity(near, k, where)
        lonely = outliers(near, k, sample.rows, where, agreed(dimensions))
        found += [joined, lonely, hubness(near, k, sample.rows, where), *_dimension(dimensions)]
        # A sample is sparser than the data, and cuts across where these do not.
        across = None if thin else crossing(near, k, sample, agreed(dimensions))
        found += [] if across is None else [across]
        progress.report("diagnosis", 3, STAGES)
        middle = agreed(dimensions)
        measured = None if middle is None else ways(sample, middle, ops, seed)
        if measured is not None and middle is not None:
            shape, finding = _shape(sample, middle, measured, seed)
            found.append(finding)
    prices = costs(subject)
    found.append(cost_finding(prices))
    facts = _facts(subject, found, dimensions, shape, pieces, k, measured)
    progress.report("diagnosis", STAGES, STAGES)
    return Diagnosis(
        sorted(found, key=lambda finding: SEVERITIES.index(finding.severity)),
        advise(facts, prices),
        prices,
        dimensions,
        shape,
        {}
        if measured is None
        else {"linear": measured.linear.tolist(), "geodesic": measured.geodesic.tolist()},
        {i + 1: int(count) for i, count in enumerate(pieces)},
        len(subject),
        subject.width,
        0 if sample is None else len(sample),
        notes,
    )


def _rows(
    subject: Subject, max_samples: int | None, seed: int, ops: Backend
) -> tuple[list[Finding], Sample | None, list[str]]:
    """Everything that is said of entries and whole rows, and the rows to look at further."""
    notes = []
    found: list[Finding] = []
    if subject.kind == "rows":
        seen = survey(subject)
        if not subject.width:
            return column_findings(subject, seen, None), None, ["No column holds numbers."]
        keys, complete = seen.keys, seen.complete
    else:
        if subject.kind == "distances":
            found, usable = distance_findings(subject.items, ops)
            if not usable:
                return found, None, ["These are no distances yet; nothing else was looked at."]
        notes.append(
            "There are no columns of numbers to look at."
            if subject.kind != "table"
            else "Columns of a mixed table are not compared with each other."
        )
        keys, complete = keys_of(subject), np.ones(len(subject), bool)
    distinct, copies = first_rows(keys, complete)
    rows = chosen(subject, distinct, max_samples, seed)
    sample = subject.sample(rows) if len(rows) else None
    if subject.kind == "rows":
        found += column_findings(subject, seen, sample)
        if not complete.all():
            notes.append(f"The {int((~complete).sum())} rows with gaps were left out of the rest.")
    found.append(copies)
    if sample is not None and len(rows) < len(distinct):
        found.append(
            Finding(
                "notice",
                "sample",
                f"Neighbors were looked at in {len(rows)} of {len(distinct)} rows, by chance.",
                "The graph of all rows is denser; max_samples=None looks at all of them.",
            )
        )
    return found, sample, notes


def _neighbors(
    sample: Sample | None, k: int, found: list[Finding], notes: list[str], ops: Backend
) -> Neighbors | None:
    """Neighbors of the rows, where there are enough and the metric can compare them."""
    if sample is None:
        return None
    if len(sample) < FEW:
        notes.append(f"Fewer than {FEW} rows are complete and distinct, so neighbors say nothing.")
        return None
    try:
        return sample.others(min(max(k, NEIGHBORS), len(sample) - 1), ops)
    except DataError as error:
        found.append(Finding("error", "metric", f"The metric cannot compare these rows: {error}"))
        return None


def _dimension(found: dict[str, Dimension]) -> list[Finding]:
    """The estimates in a sentence."""
    middle = agreed(found)
    if middle is None:
        return []
    names = {"two_nn": "two-NN", "maximum_likelihood": "likelihood", "local_pca": "local PCA"}
    told = ", ".join(
        f"{names[name]} {value:.1f} ({low:.1f} to {high:.1f})"
        for name, (value, low, high) in found.items()
    )
    values = [value.value for value in found.values()]
    needed = counted(max(1, round(middle)), "coordinate")
    sentence = f"Rows need about {needed} to be told from their neighbors: {told}."
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


def _shape(sample: Sample, dimension: float, measured: Ways, seed: int) -> tuple[str, Finding]:
    shape, finding = shape_finding(measured, dimension)
    if shape == "linear" and (slanted := oblique(sample, dimension, seed)) is not None:
        return "non-orthogonal", slanted
    return shape, finding


def _facts(
    subject: Subject,
    found: list[Finding],
    dimensions: dict[str, Dimension],
    shape: str,
    pieces: NDArray[np.int64],
    k: int,
    measured: Ways | None,
) -> Facts:
    whole = np.flatnonzero(pieces[: 2 * k] == 1)  # more would join what is apart
    return Facts(
        n=len(subject),
        d=subject.width,
        metric=subject.metric,
        metric_params=subject.metric_params,
        sparse=issparse(subject.items),
        mixed=bool(subject.odd),
        shape=shape,
        dimension=agreed(dimensions),
        owned=any(f.topic == "scale" and f.severity == "warning" for f in found),
        pieces=int(pieces[min(k, len(pieces)) - 1]) if len(pieces) else 1,
        joined=int(whole[0]) + 1 if len(whole) else None,
        follows=None if measured is None else measured.k,
        lost=1.0 if measured is None else float(measured.geodesic[:2].min()),
        outliers=sum(len(f.places) for f in found if f.topic == "outliers"),
    )


@contextmanager
def watched(verbose: bool) -> Iterator[None]:
    """Long work inside shows a bar, if asked for."""
    with ExitStack() as stack:
        if verbose:
            stack.enter_context(progress.listening(stack.enter_context(progress.bar())))
        yield
