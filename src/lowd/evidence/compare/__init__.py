"""Several methods or settings on the same rows: run, judged alike, and ranked."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ... import progress, random
from ...core.estimator import Reducer
from ...errors import DataError, LowdWarning, ParameterError, UnsupportedError
from ..procrustes import disparity
from ..quality import evaluate
from ..quality.label_measures import encode_labels
from .candidates import Candidate, candidates, fresh
from .result import CRITERIA, Comparison, Run, Stability, check_criteria
from .sharing import Sharing

__all__ = ["CRITERIA", "Comparison", "Run", "Stability", "compare"]

METHODS = ("PCA", "Isomap", "LTSA", "LaplacianEigenmaps", "TSNE")
PART = 0.8  # of the rows in a subsample


def compare(
    X: Any,
    methods: Any = METHODS,
    grid: dict[str, Any] | None = None,
    *,
    n_components: int = 2,
    labels: Any = None,
    truth: Any = None,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    n_neighbors: int = 15,
    criteria: Sequence[str] = CRITERIA,
    seeds: int = 1,
    subsamples: int = 2,
    random_state: Any = None,
    backend: str = "auto",
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Comparison:
    """Run several methods or settings, evaluate each map, and rank them.

    Methods that start from neighbors share one search. A method that fails has its error in the
    table and costs no other. A cancel (Ctrl-C, or an exception from a listener) ends the work and
    keeps the runs that are finished.

    Parameters
    ----------
    X
        Rows, or distances with metric="precomputed".
    methods
        Names, classes or models; a dictionary gives models names of their own. Models are not
        changed: copies of them are fitted. Those given by name get `n_components`, `metric` and
        `random_state` where they have such a parameter.
    grid
        Method -> parameter -> values: every combination is run. With one method, its parameters
        alone: `compare(X, "TSNE", {"perplexity": [10, 30]})`.
    labels
        Classes of the rows, for the measures and pictures that use them; no method sees them.
    truth
        True coordinates of the rows, where they are known: maps are judged by these instead of X.
    n_neighbors
        Size of the neighborhoods by which maps are judged (see `lowd.evaluate`).
    criteria
        Measures whose mean rank orders the runs.
    seeds
        Fits with so many seeds of each method that has one; how far their maps differ is
        `stability.seeds`.
    subsamples
        Fits on so many random parts of the rows (80 %); how far their maps differ from the map of
        all rows is `stability.subsamples`.

    Returns
    -------
    Comparison : runs with their maps, models and evaluations; ranking, table, picture

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
    common = {"n_components": n_components, "random_state": seed, "backend": backend}
    common |= {"n_jobs": n_jobs, "metric": metric, "metric_params": metric_params}
    chosen = candidates(methods, grid, common)
    n = n_rows(X)
    check_criteria(criteria, labels)
    if labels is not None:
        encode_labels(labels, n)
    if truth is not None and len(truth) != n:
        raise DataError(f"truth has {len(truth)} rows, but X has {n}; give one per row.")
    if not 0 < n_neighbors <= n - 2:
        raise ParameterError(
            f"n_neighbors={n_neighbors}: expected from 1 to {n - 2}, since there are {n} rows."
        )
    judge = _Judge(X, truth, labels, metric, metric_params, n_neighbors, seed, backend, n_jobs)
    plan = _Plan(X, n, metric, seed, seeds, subsamples, judge)
    start = time.perf_counter()
    runs: list[Run] = []
    cancelled = False
    with _shown(verbose):
        try:
            sharing = Sharing.of(X, n, chosen, metric, metric_params, backend, n_jobs)
            for candidate in chosen:
                runs.append(plan.run(candidate, sharing, len(runs), len(chosen)))
            progress.report("compare", len(chosen), len(chosen))
        except BaseException as error:
            # What is finished is kept; with nothing finished there is nothing to keep.
            if not runs or not _asked_to_stop(error):
                raise
            cancelled = True
    return Comparison.of(
        runs,
        criteria,
        labels=None if labels is None else np.asarray(labels),
        n_samples=n,
        n_neighbors=n_neighbors,
        metric=metric if isinstance(metric, str) else getattr(metric, "__name__", "callable"),
        judged_by="the true coordinates" if truth is not None else "the data",
        seconds=time.perf_counter() - start,
        planned=len(chosen),
        cancelled=cancelled,
    )


class _Judge:
    """Evaluates maps, all in the same way."""

    def __init__(
        self,
        X: Any,
        truth: Any,
        labels: Any,
        metric: Any,
        metric_params: dict[str, Any] | None,
        n_neighbors: int,
        seed: int,
        backend: str,
        n_jobs: int | None,
    ) -> None:
        self._truth = X if truth is None else truth
        plain = {"metric": "euclidean", "metric_params": None}
        how = {"metric": metric, "metric_params": metric_params} if truth is None else plain
        shared = {"labels": labels, "n_neighbors": n_neighbors, "random_state": seed}
        self._how = how | shared | {"backend": backend, "n_jobs": n_jobs}

    def __call__(self, Y: Any) -> Any:
        return evaluate(self._truth, Y, **self._how)


class _Plan:
    """One candidate after the other: fit, judge, fit again for stability."""

    def __init__(
        self, X: Any, n: int, metric: Any, seed: int, seeds: int, subsamples: int, judge: _Judge
    ) -> None:
        self._X, self._n, self._metric, self._judge = X, n, metric, judge
        self._seed, self._seeds, self._subsamples = seed, seeds, subsamples

    def run(self, candidate: Candidate, sharing: Sharing, done: int, total: int) -> Run:
        progress.report("compare", done, total)
        run = Run(candidate.name, candidate.params, candidate.model)
        heard: list[str] = []
        try:
            with _heard(heard):
                _check_kind(candidate.model, self._metric)
                start = time.perf_counter()
                model, Y = sharing.fit(candidate.model, self._X)
                seconds = time.perf_counter() - start
                Y = np.asarray(Y)
                run = replace(run, model=model, embedding=Y, seconds=seconds)
                run = replace(run, evaluation=self._judge(Y))
                run = replace(run, stability=self._stability(candidate.model, Y, heard))
        except Exception as error:
            if _asked_to_stop(error):
                raise
            run = replace(run, error=f"{type(error).__name__}: {error}")
        return replace(run, warnings=tuple(dict.fromkeys(heard)))

    def _stability(self, model: Any, Y: Any, heard: list[str]) -> Stability:
        """Mean disparity of maps that should be the same."""
        seeded = self._seeds > 1 and "random_state" in model.get_params(deep=False)
        others = range(1, self._seeds) if seeded else ()
        by_seed = [
            self._differs(fresh(model, random_state=self._seed + s), None, Y, heard) for s in others
        ]
        size = max(2, round(PART * self._n))
        parts = [
            random.subset(self._seed, f"subsample {i}", self._n, size)
            for i in range(self._subsamples)
        ]
        by_part = [self._differs(fresh(model), rows, Y, heard) for rows in parts]
        unseeded = 0.0 if self._seeds > 1 and not seeded else None
        return Stability(_mean(by_seed, unseeded), _mean(by_part, None))

    def _differs(self, model: Any, rows: Any, Y: Any, heard: list[str]) -> float | None:
        X = self._X if rows is None else rows_of(self._X, rows, self._metric == "precomputed")
        try:
            with _heard([]):  # the run has warned of its own map; these are not kept
                again = np.asarray(model.fit_transform(X))
            return disparity(Y if rows is None else Y[rows], again)
        except Exception as error:
            if _asked_to_stop(error):
                raise
            heard.append(f"stability: {error}")
            return None


def _mean(found: list[float | None], default: float | None) -> float | None:
    known = [one for one in found if one is not None]
    return float(np.mean(known)) if known else default


def _check_kind(model: Any, metric: Any) -> None:
    """A square matrix of distances must not be taken for rows."""
    takes = getattr(model, "metric", None) == "precomputed"
    if isinstance(model, Reducer) and (metric == "precomputed") != takes:
        name = type(model).__name__
        if metric == "precomputed":
            raise UnsupportedError(f"{name} takes rows, but X holds distances; leave it out.")
        raise UnsupportedError(
            f"{name}(metric='precomputed') takes distances; give these to compare as X, with "
            "metric='precomputed'."
        )


@contextmanager
def _heard(sentences: list[str]) -> Iterator[None]:
    """Warnings about results are kept with the run; all others go where they went."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            others = [w for w in caught if not issubclass(w.category, LowdWarning)]
            sentences += [str(w.message) for w in caught if issubclass(w.category, LowdWarning)]
    for w in others:
        warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)


@contextmanager
def _shown(verbose: bool) -> Iterator[None]:
    with ExitStack() as stack:
        if verbose:
            stack.enter_context(progress.listening(stack.enter_context(progress.bar())))
        yield


def _asked_to_stop(error: BaseException) -> bool:
    """Is it a cancel (Ctrl-C, or whatever a listener raised), and not a failure of the method?"""
    if isinstance(error, KeyboardInterrupt):
        return True
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is progress.report.__code__:
            return True
        trace = trace.tb_next
    return False


def n_rows(X: Any) -> int:
    n = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    if n < 3:
        raise DataError(f"{n} rows: a comparison of maps needs at least 3.")
    return n


def rows_of(X: Any, rows: Any, square: bool = False) -> Any:
    """Some rows of an array, a table, a sparse matrix or a list; of distances the columns too."""
    if hasattr(X, "iloc"):
        X = X.iloc[rows]
        return X.iloc[:, rows] if square else X
    if not hasattr(X, "shape"):
        X = np.asarray(X) if square else X
        return X[np.ix_(rows, rows)] if square else [X[i] for i in rows.tolist()]
    return X[rows][:, rows] if square else X[rows]
