"""One run of a comparison: fit, evaluate, and fit again for stability."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import progress, random
from ...errors import LowdWarning, UnsupportedError
from ...input.arguments import Input
from ...parameters import Reals
from ...reducer import Reducer
from ...spaces import Rows
from ..procrustes import disparity
from ..quality import Evaluation, evaluate
from ..types import MetricLike, Transformer
from .candidates import Candidate, SharedParams, clone
from .result import Run, Stability
from .shared_neighbors import SharedNeighbors

SUBSAMPLE_SHARE = 0.8  # of the rows: few enough to differ, enough to have the same structure


@dataclass(frozen=True)
class Reference:
    """What embeddings are evaluated against: the data, or the true coordinates."""

    X: Input
    truth: ArrayLike | None
    labels: ArrayLike | None
    n_neighbors: int
    shared: SharedParams

    @property
    def description(self) -> str:
        return "the data" if self.truth is None else "the true coordinates"

    def evaluate(self, Y: Reals) -> Evaluation:
        by_data = self.truth is None
        return evaluate(
            self.X if by_data else self.truth,
            Y,
            labels=self.labels,
            metric=self.shared.metric if by_data else "euclidean",
            metric_params=self.shared.metric_params if by_data else None,
            n_neighbors=self.n_neighbors,
            random_state=self.shared.random_state,
            backend=self.shared.backend,
            n_jobs=self.shared.n_jobs,
        )


@dataclass(frozen=True)
class Runner:
    """Runs candidates on the same rows, one by one."""

    X: Input
    n: int
    shared: SharedParams
    seeds: int
    subsamples: int
    reference: Reference

    def run(self, candidate: Candidate, neighbors: SharedNeighbors) -> Run:
        """Fit and evaluate a candidate; an error is kept with the run, a cancellation raised."""
        run = Run(candidate.name, candidate.params, candidate.model)
        messages: list[str] = []
        try:
            with record_warnings(messages):
                _check_input_kind(candidate.model, self.shared.metric)
                start = time.perf_counter()
                model, Y = neighbors.fit_transform(candidate.model, self.X)
                seconds = time.perf_counter() - start
                run = replace(run, model=model, embedding=Y, seconds=seconds)
                run = replace(run, evaluation=self.reference.evaluate(Y))
                stability = self._compute_stability(candidate.model, Y, messages)
                run = replace(run, stability=stability)
        except Exception as error:
            if is_cancellation(error):
                raise
            run = replace(run, error=f"{type(error).__name__}: {error}")
        return replace(run, warnings=tuple(dict.fromkeys(messages)))

    def _compute_stability(self, model: Transformer, Y: Reals, messages: list[str]) -> Stability:
        """Mean disparity of embeddings by other seeds, and of subsamples."""
        seed, n = self.shared.random_state, self.n
        seeded = self.seeds > 1 and "random_state" in model.get_params(deep=False)
        by_seed = [
            self._refit(clone(model, random_state=seed + s), None, Y, messages)
            for s in (range(1, self.seeds) if seeded else ())
        ]
        size = max(2, round(SUBSAMPLE_SHARE * n))
        order = Rows(
            np.ascontiguousarray(Y)
        ).order()  # the same rows are drawn in whichever order they come
        parts = [
            np.sort(order[random.subset(seed, f"subsample {i}", n, size)])
            for i in range(self.subsamples)
        ]
        by_part = [self._refit(clone(model), rows, Y, messages) for rows in parts]
        return Stability(_average(by_seed), _average(by_part))

    def _refit(
        self, model: Transformer, rows: NDArray[np.int64] | None, Y: Reals, messages: list[str]
    ) -> float | None:
        """Disparity from Y of another embedding, of all rows or some.

        None if it fails, or if another seed gives the same bits: nothing was drawn, so nothing is
        measured.
        """
        is_square = self.shared.metric == "precomputed"
        X = self.X if rows is None else take_rows(self.X, rows, is_square)
        try:
            with record_warnings([]):  # those of the run itself are enough
                again = np.asarray(model.fit_transform(X))
            if rows is None and np.array_equal(Y, again):
                return None
            return disparity(Y if rows is None else Y[rows], again)
        except Exception as error:
            if is_cancellation(error):
                raise
            messages.append(f"stability: {error}")
            return None


def _average(found: list[float | None]) -> float | None:
    known = [one for one in found if one is not None]
    return float(np.mean(known)) if known else None


def _check_input_kind(model: Transformer, metric: MetricLike) -> None:
    """A square matrix of distances must not be taken for rows."""
    takes_distances = getattr(model, "metric", None) == "precomputed"
    if isinstance(model, Reducer) and (metric == "precomputed") != takes_distances:
        name = type(model).__name__
        if metric == "precomputed":
            raise UnsupportedError(f"{name} takes rows, but X holds distances; leave it out.")
        raise UnsupportedError(
            f"{name}(metric='precomputed') takes distances; give these to compare as X, with "
            "metric='precomputed'."
        )


@contextmanager
def record_warnings(messages: list[str]) -> Iterator[None]:
    """Record warnings of this library; all others are issued as usual."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            others = [w for w in caught if not issubclass(w.category, LowdWarning)]
            messages += [str(w.message) for w in caught if issubclass(w.category, LowdWarning)]
    for w in others:
        warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)


def is_cancellation(error: BaseException) -> bool:
    """Ctrl-C, or an exception raised by a progress listener, rather than by the method?"""
    if isinstance(error, KeyboardInterrupt):
        return True
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is progress.report.__code__:
            return True
        trace = trace.tb_next
    return False


def take_rows(X: Input, rows: NDArray[np.int64], is_square: bool = False) -> Input:
    """Some rows of an array, a table, a sparse matrix or a list; of distances the columns too."""
    if hasattr(X, "iloc"):
        X = X.iloc[rows]
        return X.iloc[:, rows] if is_square else X
    if not hasattr(X, "shape"):
        X = np.asarray(X) if is_square else X
        return X[np.ix_(rows, rows)] if is_square else [X[i] for i in rows.tolist()]
    return X[rows][:, rows] if is_square else X[rows]
