"""`lowd.compare`: fit several methods or parameters, evaluate and rank the embeddings."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ... import progress, random
from ...errors import DataError, ParameterError
from ...input.arguments import Input
from ...input.entries import refuse_containers
from ...parameters import Seed
from ..quality.measures import encode_labels
from ..types import MetricLike, MetricParams
from .candidates import SharedParams, collect_candidates
from .result import CRITERIA, Comparison, Run, check_criteria, collect_notes, compute_mean_ranks
from .runner import Reference, Runner, is_cancellation
from .shared_neighbors import search_shared_neighbors

# Linear, geodesic, local tangent spaces, graph Laplacian, and neighborhoods: one method of each.
DEFAULT_METHODS = ("PCA", "Isomap", "LTSA", "LaplacianEigenmaps", "TSNE")
MIN_SAMPLES = 3  # rows with a neighborhood to compare


def compare(
    X: Input,
    methods: object = DEFAULT_METHODS,
    grid: Mapping[str, Any] | None = None,
    *,
    n_components: int = 2,
    labels: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    metric: MetricLike = "euclidean",
    metric_params: MetricParams = None,
    n_neighbors: int = 15,
    criteria: Sequence[str] = CRITERIA,
    seeds: int = 1,
    subsamples: int = 2,
    random_state: Seed = None,
    backend: str = "auto",
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Comparison:
    """Fit several methods or parameters, evaluate each embedding, and rank them.

    Graph methods share one neighbor search. A method that fails has its error in the table and
    affects no other. Cancellation (Ctrl-C, or an exception from a listener) ends the work and
    keeps the runs that are finished.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows, or distances with metric="precomputed".
    methods : sequence of str, classes or models, or dict, optional
        Names, classes or models; a dictionary gives models names of their own. Models are not
        changed: clones of them are fitted. Those given by name get `n_components`, `metric` and
        `random_state` where they have such a parameter.
    grid : dict or None, default=None
        Method -> parameter -> values: every combination is run. With one method, its parameters
        alone: `compare(X, "TSNE", {"perplexity": [10, 30]})`.
    n_components : int, default=2
        Dimension of the embeddings.
    labels : array-like of shape (n_samples,) or None, default=None
        Classes of the rows, for label-based measures and plots; no method uses them.
    truth : array-like of shape (n_samples, n_dimensions) or None, default=None
        True coordinates of the rows, where they are known: embeddings are evaluated against these
        instead of X.
    metric : str or callable, default="euclidean"
    metric_params : dict or None, default=None
        Distances in the data, as in ClassicalMDS.
    n_neighbors : int, default=15
        Size of the neighborhoods in the evaluation (see `lowd.evaluate`).
    criteria : sequence of str, optional
        Measures whose mean rank orders the runs.
    seeds : int, default=1
        Number of seeds for each method that has one; the disparity of their embeddings is
        `stability.seeds`, None where another seed changes nothing.
    subsamples : int, default=2
        Number of fits on random subsamples of the rows (80 %); the disparity of their embeddings
        from that of all rows is `stability.subsamples`.
    random_state : int, RandomState, Generator or None, default=None
        The first of the seeds. None is 0.

    Returns
    -------
    Comparison
        Runs with their embeddings, models and evaluations; ranking, table, plot.

    Examples
    --------
    >>> import lowd
    >>> from lowd import datasets
    >>> roll = datasets.swiss_roll(300)
    >>> grid = {"Isomap": {"n_neighbors": [6, 9]}}
    >>> found = lowd.compare(roll.X, ["PCA", "Isomap"], grid, truth=roll.truth)
    >>> sorted(run.name for run in found.runs)
    ['Isomap(n_neighbors=6)', 'Isomap(n_neighbors=9)', 'PCA']
    >>> found.best.name.startswith("Isomap")
    True
    """
    for name, count, least in (("seeds", seeds, 1), ("subsamples", subsamples, 0)):
        if not isinstance(count, int | np.integer) or count < least:
            raise ParameterError(f"{name}={count!r}: expected a whole number >= {least}.")
    seed = 0 if random_state is None else random.as_seed(random_state)
    shared = SharedParams(n_components, seed, backend, n_jobs, metric, metric_params)
    candidates = collect_candidates(methods, grid or {}, shared)
    n = _count_rows(X)
    check_criteria(criteria, labels is not None)
    if labels is not None:
        encode_labels(labels, n)
    if truth is not None and (found := _count_rows(truth)) != n:
        raise DataError(f"truth has {found} rows, but X has {n}; give one per row.")
    if not 0 < n_neighbors <= n - 2:
        raise ParameterError(
            f"n_neighbors={n_neighbors}: expected from 1 to {n - 2}, since there are {n} rows."
        )
    reference = Reference(X, truth, labels, n_neighbors, shared)
    runner = Runner(X, n, shared, seeds, subsamples, reference)
    start = time.perf_counter()
    runs: list[Run] = []
    cancelled = False
    with progress.show_bar(verbose):
        try:
            neighbors = search_shared_neighbors(X, n, candidates, shared)
            for candidate in candidates:
                progress.report("compare", len(runs), len(candidates))
                runs.append(runner.run(candidate, neighbors))
            progress.report("compare", len(candidates), len(candidates))
        except BaseException as error:
            # What is finished is kept; with nothing finished there is nothing to keep.
            if not runs or not is_cancellation(error):
                raise
            cancelled = True
    return Comparison(
        runs=tuple(runs),
        criteria=tuple(criteria),
        scores=compute_mean_ranks(runs, tuple(criteria)),
        labels=None if labels is None else np.asarray(labels),
        n_samples=n,
        n_neighbors=n_neighbors,
        metric=metric if isinstance(metric, str) else getattr(metric, "__name__", "callable"),
        judged_by=reference.description,
        seconds=time.perf_counter() - start,
        cancelled=cancelled,
        notes=collect_notes(runs, criteria, reference.description, len(candidates)),
    )


def _count_rows(X: Input) -> int:
    refuse_containers(X, "a comparison")
    n = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    if n < MIN_SAMPLES:
        raise DataError(f"{n} rows: a comparison of embeddings needs at least {MIN_SAMPLES}.")
    return n
