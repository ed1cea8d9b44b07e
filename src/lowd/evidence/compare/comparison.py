"""`lowd.compare`: fit several methods or parameters, evaluate and rank the embeddings.

A comparison makes models of names, classes and grids, searches neighbors once, runs the models one
by one, and fits each again for its stability, which a fitted model measures of itself too.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from ... import progress, random
from ...errors import DataError, LowdWarning, ParameterError, UnsupportedError
from ...input.arguments import Input
from ...input.entries import refuse_containers
from ...methods import METHODS, find_class_name, simplify_name
from ...neighbor_graph import NeighborGraph, neighbors
from ...parameters import Reals, Seed, check_parameters
from ...reducer import Reducer
from ...spaces import Rows
from ...store import class_of
from ..procrustes import disparity
from ..quality import Evaluation, evaluate
from ..quality.measures import encode_labels
from ..types import MetricLike, MetricParams, Transformer
from .result import (
    CRITERIA,
    Comparison,
    Run,
    Stability,
    check_criteria,
    collect_notes,
    compute_mean_ranks,
)

# Linear, geodesic, local tangent spaces, graph Laplacian, and neighborhoods: one method of each.
DEFAULT_METHODS = ("PCA", "Isomap", "LTSA", "LaplacianEigenmaps", "TSNE")


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


def _count_rows(X: Input, least: int = 3) -> int:
    refuse_containers(X, "a comparison")
    n = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    if n < least:
        raise DataError(f"{n} rows: a comparison of embeddings needs at least {least}.")
    return n


Params: TypeAlias = dict[str, Any]  # parameters of an estimator, as of get_params


class Candidate(NamedTuple):
    """A model to fit a clone of, its name, and the parameters in the name."""

    name: str
    model: Transformer
    params: Params


@dataclass(frozen=True)
class SharedParams:
    """Parameters of all methods that are given by name, and of the evaluation."""

    n_components: int
    random_state: int
    backend: str
    n_jobs: int | None
    metric: MetricLike
    metric_params: MetricParams


def collect_candidates(
    methods: object, grid: Mapping[str, Any], shared: SharedParams
) -> list[Candidate]:
    """All methods and combinations of parameters, each validated before anything is run."""
    named = _name_methods(methods)
    if not named:
        raise ParameterError("methods is empty: name at least one of " + f"{list(METHODS)}.")
    by_method = _split_grid(grid, [name for name, _ in named])
    found: list[Candidate] = []
    for name, given in named:
        model, own = _make_model(given, shared)
        own = {} if isinstance(methods, dict) else own  # these have names of their own
        for combination in _combine(name, model, by_method.get(name, {})):
            candidate = clone(model, **combination)
            if isinstance(candidate, Reducer):
                check_parameters(candidate)
            params = own | combination
            found.append(Candidate(_make_unique(_title(name, params), found), candidate, params))
    return found


def clone(model: Transformer, **changes: Any) -> Transformer:
    """An unfitted model with the same parameters but for the changes."""
    make = cast(Callable[..., Transformer], type(model))
    return make(**(model.get_params(deep=False) | changes))


def _name_methods(methods: object) -> list[tuple[str, object]]:
    if isinstance(methods, dict):
        return [(str(name), model) for name, model in methods.items()]
    if isinstance(methods, str | type) or not isinstance(methods, Iterable):
        methods = [methods]
    return [(_class_name(one), one) for one in methods]


def _class_name(method: object) -> str:
    if isinstance(method, str):
        return find_class_name(method)
    return method.__name__ if isinstance(method, type) else type(method).__name__


def _split_grid(grid: Mapping[str, Any], names: list[str]) -> Mapping[str, Mapping[str, Any]]:
    """Method -> parameter -> values; with one method the grid may be that of its parameters."""
    if grid and len(set(names)) == 1 and not set(grid) & set(names):
        return {names[0]: grid}
    names_by_spelling = {simplify_name(name): name for name in names}
    grid = {names_by_spelling.get(simplify_name(name), name): grid[name] for name in grid}
    unknown = [name for name in grid if name not in names]
    if unknown:
        raise ParameterError(f"grid has {unknown[0]!r}, which is not among methods={names}.")
    return grid


def _make_model(given: object, shared: SharedParams) -> tuple[Transformer, Params]:
    """A model, and those of its parameters that are neither the default nor shared."""
    if isinstance(given, str):
        given = class_of(find_class_name(given))
    if isinstance(given, type):
        model = given()
        known = model.get_params(deep=False)
        return clone(model, **{name: v for name, v in vars(shared).items() if name in known}), {}
    if not hasattr(given, "fit_transform") or not hasattr(given, "get_params"):
        raise ParameterError(
            f"methods: {given!r} is neither a name nor a model with fit_transform."
        )
    model = cast(Transformer, given)
    params, known = model.get_params(deep=False), _default_params(model) | vars(shared)
    # Others do not change what is computed, and are not part of a run's name.
    unnamed = ("backend", "n_jobs", "verbose", "random_state")
    own = {name: value for name, value in params.items() if name not in unnamed}
    return model, {name: v for name, v in own.items() if not _are_equal(v, known[name])}


def _default_params(model: Transformer) -> Params:
    return type(model)().get_params(deep=False)


def _are_equal(a: object, b: object) -> bool:
    return a is b or bool(np.array_equal(cast(ArrayLike, a), cast(ArrayLike, b)))


def _combine(name: str, model: Transformer, grid: Mapping[str, Any]) -> list[Params]:
    """Every combination of the values in the grid."""
    known = model.get_params(deep=False)
    for parameter, values in grid.items():
        if parameter not in known:
            raise ParameterError(
                f"grid: {name} has no parameter {parameter!r}; it has {sorted(known)}."
            )
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise ParameterError(
                f"grid: {name}'s {parameter}={values!r} is one value; write [{values!r}]."
            )
    lists = [list(values) for values in grid.values()]
    return [dict(zip(grid, combination, strict=True)) for combination in product(*lists)]


def _title(name: str, params: Params) -> str:
    inside = ", ".join(f"{key}={_abbreviate(value)}" for key, value in params.items())
    return f"{name}({inside})" if inside else name


def _abbreviate(value: object, longest: int = 20) -> str:
    text: str = getattr(value, "__name__", None) or repr(value)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _make_unique(name: str, found: list[Candidate]) -> str:
    taken = {one.name for one in found}
    tries = (name, *(f"{name} #{i}" for i in range(2, len(found) + 3)))
    return next(one for one in tries if one not in taken)


# Ten times that of float32 distances: methods then certainly see no tie that the graph hides.
SHARED_TIE_TOLERANCE = 1e-5


@dataclass(frozen=True)
class SharedNeighbors:
    """Fits models with a part of the shared graph where that changes nothing but the time."""

    graph: NeighborGraph | None
    shared: SharedParams

    def fit_transform(self, model: Transformer, X: Input) -> tuple[Transformer, Reals]:
        """A fitted clone of the model, and the embedding."""
        part = self.select(model)
        if part is None:
            fitted = clone(model)
            return fitted, np.asarray(fitted.fit_transform(X))
        # With a given graph, its width is n_neighbors; beside it the parameter is refused.
        by_width = type(model).__name__ not in ("UMAP", "TSNE", "SNE")
        default = type(model)().get_params(deep=False)["n_neighbors"]
        graph_model: Any = clone(model, **({"n_neighbors": default} if by_width else {}))
        Y = graph_model.fit_transform(X, neighbors=part)
        graph_model.n_neighbors = model.get_params(deep=False)["n_neighbors"]
        return graph_model, np.asarray(Y)

    def select(self, model: Transformer) -> NeighborGraph | None:
        """The neighbors that the model would search itself; None if it needs others."""
        graph = self.graph
        # Duplicates are the same point, no neighbors: methods then search for more than k.
        if graph is None or (graph.distances[:, 0] == 0).any():
            return None
        indices, distances = graph.indices, graph.distances
        k = count_neighbors(model, len(indices), self.shared)
        if k is None or k > graph.n_neighbors:
            return None
        if k < graph.n_neighbors:
            kth, following = distances[:, k - 1], distances[:, k]
            if (following <= kth * (1 + SHARED_TIE_TOLERANCE)).any():
                return None  # methods add ties at the k-th distance, which a list of k has not
        return NeighborGraph(
            np.ascontiguousarray(indices[:, :k]),
            np.ascontiguousarray(distances[:, :k]),
            graph.recall,
        )


def search_shared_neighbors(
    X: Input, n: int, candidates: list[Candidate], shared: SharedParams
) -> SharedNeighbors:
    """Search once if two or more candidates need neighbors."""
    is_graph = issparse(X) and shared.metric == "precomputed"
    models = [] if is_graph else [candidate.model for candidate in candidates]
    counts = [k for k in (count_neighbors(model, n, shared) for model in models) if k is not None]
    if len(counts) < 2:
        return SharedNeighbors(None, shared)
    graph = neighbors(
        X,
        min(max(counts) + 1, n - 1),  # one more than needed shows ties at the last
        metric=shared.metric,
        metric_params=shared.metric_params,
        backend=shared.backend,
        n_jobs=shared.n_jobs,
    )
    return SharedNeighbors(graph, shared)


def count_neighbors(model: Transformer, n: int, shared: SharedParams) -> int | None:
    """How many neighbors the model would search; None if it takes none, or other ones."""
    if not isinstance(model, Reducer) or "neighbors" not in model.takes:
        return None
    params = model.get_params(deep=False)
    metric, metric_params = params.get("metric", "euclidean"), params.get("metric_params")
    # By identity: arrays among the parameters cannot be compared.
    same = metric == shared.metric and metric_params is shared.metric_params
    landmarks = type(model)().get_params(deep=False).get("n_landmarks")
    special = params.get("radius") is not None or params.get("affinity") == "precomputed"
    if not same or special or params.get("n_landmarks") != landmarks:
        return None
    k = params.get("n_neighbors")
    if k is not None and type(model).__name__ == "UMAP":  # which counts each row itself
        k -= 1
    if params.get("affinity") == "perplexity":
        perplexity = float(np.max(params["perplexity"]))
        k = None if n <= 500 else math.ceil(3 * perplexity)
    return None if k is None or k >= n else int(k)


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


# Of more rows so many are drawn, fitted, and stand for all: a few seconds for the slowest methods.
MAX_STABILITY_ROWS = 1000


def measure_stability(model: Reducer, X: Input) -> Stability:
    """Mean disparity between embeddings of the rows and of random 80 % of them.

    Of more than 1000 rows a random 1000 are fitted instead of all.
    """
    Y = np.asarray(model.embedding_ if hasattr(model, "embedding_") else model.transform(X))
    n = len(Y)
    if n < 10:  # eight of which are a sample
        raise DataError(f"X has {n} rows; stability needs at least 10.")
    is_square = model._kind() in ("distances", "kernel", "affinity")
    order = Rows(np.ascontiguousarray(Y)).order()
    with record_warnings([]):  # those of the model's own fit are enough
        if n > MAX_STABILITY_ROWS:
            rows = np.sort(order[random.subset(0, "stability", n, MAX_STABILITY_ROWS)])
            X, order = take_rows(X, rows, is_square), np.argsort(np.argsort(order)[rows])
            Y = _fit_again(model, X)
        size = round(SUBSAMPLE_SHARE * len(Y))
        found = []
        for i in range(2):
            part = np.sort(order[random.subset(0, f"subsample {i}", len(Y), size)])
            found.append(disparity(Y[part], _fit_again(model, take_rows(X, part, is_square))))
    return Stability(None, float(np.mean(found)))


def _fit_again(model: Reducer, X: Input) -> Reals:
    """The embedding of other rows with the same parameters and seed."""
    return np.asarray(_blank(model).fit_transform(X))


def _blank(model: Reducer) -> Transformer:
    changes: dict[str, Any] = {}
    if hasattr(model, "method_"):  # a pipeline
        changes["method"] = _blank(model.method_)
    if hasattr(model, "seed_"):
        changes["random_state"] = model.seed_
    landmarks = getattr(model, "n_landmarks", None)
    if isinstance(landmarks, int) and landmarks > SUBSAMPLE_SHARE * MAX_STABILITY_ROWS:
        changes["n_landmarks"] = None
    return clone(model, **changes)
