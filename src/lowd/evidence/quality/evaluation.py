"""`lowd.evaluate`: quality measures of an embedding, given by coordinates or by a model."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import diags_array, issparse

from ... import random
from ...blocks import RowBlocks, is_blocks
from ...errors import DataError, ParameterError, UnsupportedError
from ...input.arguments import Input
from ...neighbor_graph import NeighborGraph, NeighborsTransformer
from ...parameters import (
    Count,
    Indices,
    Metric,
    Reals,
    Seed,
    advise_at_most,
    check_parameters,
)
from ...pipeline import Pipeline
from ...reducer import Reducer
from ...spaces import Rows, Space, SparseRows, extension, space_of
from ..null_models import Structure, compare_with_nulls
from ..types import Items, MetricLike, MetricParams
from .measures import (
    Measure,
    PairStatistics,
    Ranks,
    average_rows,
    compare_centroids,
    compute_global_measures,
    compute_neighborhood_hits,
    compute_pair_statistics,
    compute_pointwise_stress,
    compute_ranks,
    compute_rnx_curve,
    compute_silhouettes,
    compute_stretch,
    encode_labels,
    score_knn_votes,
    score_random_triplets,
)
from .metric_spaces import GraphSpace, RowSelection, nearest_others, ranks_of
from .result import DamagedGroup, Evaluation, Reliability, find_damage

MAX_JUDGED_SAMPLES = 5000  # rows in which damaged groups are looked for, if not all are evaluated
MIN_NOTED_TIES = 0.05  # share of rows with ties below which ranks hardly depend on them


def evaluate(
    X: Input,
    Y: Input,
    *,
    labels: ArrayLike | None = None,
    metric: MetricLike = "euclidean",
    metric_params: MetricParams = None,
    n_neighbors: int = 15,
    anchors: Anchors = None,
    random_state: Seed = None,
    backend: str = "auto",
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Evaluation:
    """Quality measures of an embedding: trustworthiness, continuity, R_NX, stress and others.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The data: rows, a sparse matrix, a table, distances (metric="precomputed"), or a
        `NeighborGraph`; of the last only neighbors are compared. Of rows in blocks
        (`lowd.open_blocks`, dask) a sample of 10,000 is evaluated.
    Y : array-like of shape (n_samples, n_components), or a fitted model
        The embedding of these rows, or a fitted model, which then transforms X.
    labels : array-like of shape (n_samples,) or None, default=None
        Classes of the rows, for label-based measures.
    metric : str or callable, default="euclidean"
    metric_params : dict or None, default=None
        Distances in the data, as in ClassicalMDS. In the embedding they are Euclidean.
    n_neighbors : int, default=15
        Size of the neighborhoods.
    anchors : int, "all" or None, default=None
        Number of sampled rows ("all": every row is evaluated). None: all up to 20,000 rows, 2000
        of them beyond. Estimates have 95 % intervals.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the sampled rows, pairs and triplets; None is a fixed one.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import lowd, numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 5)) * [9, 5, 1, 1, 1]
    >>> found = lowd.evaluate(X, lowd.PCA(2).fit_transform(X))
    >>> found.trustworthiness > 0.9, found.trustworthiness.better
    (True, 'higher')
    >>> found.pointwise["continuity"].shape
    (200,)
    >>> lowd.evaluate(X, X).rnx_auc
    1.0000
    """
    if isinstance(Y, Reducer):
        _refuse_beside_model(metric, metric_params, backend, n_jobs)
        found: Evaluation = Y.evaluate(
            X,
            labels,
            n_neighbors=n_neighbors,
            anchors=anchors,
            random_state=random_state,
            verbose=verbose,
        )
        return found
    if is_blocks(X):
        sample = draw_sample(RowBlocks.of(X), Y, labels, anchors)
        found = evaluate(
            sample.X,
            sample.Y,
            labels=sample.labels,
            metric=metric,
            metric_params=metric_params,
            n_neighbors=n_neighbors,
            anchors=sample.anchors,
            random_state=random_state,
            backend=backend,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        return replace(found, notes=[sample.note, *found.notes])
    begin = time.perf_counter()
    params = EvaluationParameters(
        n_neighbors=n_neighbors,
        metric=cast(Metric, metric),  # which is validated next
        metric_params=metric_params,
        anchors=anchors,
        random_state=random_state,
        backend=backend,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    with params._running(backend):
        given = validate_input(params, X, Y, labels)
        scores = _compute_scores(given)
    pairs = scores.pairs
    return Evaluation(
        measures=scores.measures,
        pointwise=scores.pointwise,
        rows=given.sampled_rows,
        rnx_curve=None if pairs is None else compute_rnx_curve(pairs),
        shepard=None if pairs is None else pairs.pairs,
        n_samples=given.n,
        n_neighbors=given.k,
        metric=metric if isinstance(metric, str) else getattr(metric, "__name__", "callable"),
        exact=given.rows is None,
        seconds=time.perf_counter() - begin,
        ties=scores.ties,
        duplicates=scores.duplicates,
        notes=_notes(given, scores),
        structure=_compare_with_nulls(given),
        damaged=scores.damaged,
        random_state=random_state if isinstance(random_state, int) else None,
    )


def _refuse_beside_model(
    metric: MetricLike, metric_params: MetricParams, backend: str, n_jobs: int | None
) -> None:
    given = {
        "metric": None if metric == "euclidean" else metric,
        "metric_params": metric_params,
        "backend": None if backend == "auto" else backend,
        "n_jobs": n_jobs,
    }
    for name, argument in given.items():
        if argument is not None:
            raise ParameterError(
                f"{name}={argument!r} would be ignored: a model is evaluated by its own; pass "
                "model.transform(X) as Y for another."
            )


class Scores(NamedTuple):
    """Measures and pointwise values before they become an `Evaluation`."""

    measures: dict[str, Measure]
    pointwise: dict[str, Reals]
    pairs: PairStatistics | None  # None: the data are a neighbor graph
    ties: float
    duplicates: int
    damaged: list[DamagedGroup]


def _compute_scores(given: EvaluationInput) -> Scores:
    # One neighbor more than compared shows ties at the k-th; a graph has no more to show.
    searched = given.k if isinstance(given.data, GraphSpace) else given.k + 1
    found = nearest_others(given.data, given.rows, searched)
    data = truncate(found, given.k)
    embedding = truncate(nearest_others(given.embedding, given.rows, given.k + 1), given.k)
    pointwise, damaged = _compute_rank_measures(given, data, embedding)
    if given.rows is not None:
        damaged = _find_damage_in_sample(given)
    measures = {name: given.average(name, values) for name, values in pointwise.items()}
    pointwise["stretch"] = compute_stretch(data, embedding)
    pairs = None
    if not isinstance(given.data, GraphSpace):
        measures["triplet_accuracy"], pointwise["triplet_accuracy"] = score_random_triplets(
            given.data, given.embedding, given.sampled_rows, given.order, given.seed
        )
        rows = given.full_rows
        pairs = compute_pair_statistics(
            given.data, given.embedding, rows, given.order, given.seed, given.codes
        )
        measures |= compute_global_measures(pairs)
        if len(rows) == len(given.sampled_rows):
            pointwise |= {"rnx_auc": pairs.auc, "stress": compute_pointwise_stress(pairs)}
    if given.codes is not None:
        _add_label_measures(given, data, embedding, pairs, measures, pointwise)
    d = found.distances
    ties = float((d[:, -1] == d[:, -2]).mean()) if d.shape[1] > given.k else 0.0
    duplicates = int((d[:, 0] == 0).sum())
    return Scores(measures, pointwise, pairs, ties, duplicates, damaged)


def _compare_with_nulls(given: EvaluationInput) -> Structure | None:
    """Is there structure to see? Of rows of numbers with Euclidean distances."""
    if given.params.metric != "euclidean" or not isinstance(given.data, Rows | SparseRows):
        return None
    return compare_with_nulls(given.data.X, given.seed)


def _compute_rank_measures(
    given: EvaluationInput, data: NeighborGraph, embedding: NeighborGraph
) -> tuple[dict[str, Reals], list[DamagedGroup]]:
    """Rank-based measures of each row, and damaged groups of rows if all are evaluated.

    Those of false neighbors need ranks in the data. Fewer than ten neighbors show no damage.
    """
    values: dict[str, Reals] = {}
    damaged: list[DamagedGroup] = []
    missing = compute_ranks(given.embedding, given.rows, data, embedding, given.n)
    if not isinstance(given.data, GraphSpace):
        false = compute_ranks(given.data, given.rows, embedding, data, given.n)
        values["trustworthiness"] = false.trustworthiness()
        values["mrre_false"] = false.relative_rank_error()
        if given.rows is None and given.k >= 10:
            damaged = find_damage(
                given.data,
                given.embedding,
                data.indices,
                missing.ranks,
                embedding.indices,
                false.ranks,
                given.order,
                given.seed,
                given.labels,
            )
    recall = missing.recall()
    values["continuity"] = missing.trustworthiness()
    values["mrre_missing"] = missing.relative_rank_error()
    values |= {"neighbor_recall": recall, "lcmc": recall - given.k / (given.n - 1)}
    values["bnx"] = -missing.rank_bias()  # extrusions count below 0
    return values, damaged


def _find_damage_in_sample(given: EvaluationInput) -> list[DamagedGroup]:
    """Damaged groups among fewer rows, all of which are evaluated."""
    if isinstance(given.data, GraphSpace):
        return []
    m = min(given.n, MAX_JUDGED_SAMPLES)
    rows = np.sort(given.order[random.subset(given.seed, "judged", given.n, m)])
    part = replace(
        given,
        data=given.data.take(rows),
        embedding=given.embedding.take(rows),
        labels=None if given.labels is None else given.labels[rows],
        n_sampled=m,
    )
    spaces = part.data, part.embedding
    near = (truncate(nearest_others(space, None, given.k + 1), given.k) for space in spaces)
    found = _compute_rank_measures(part, *near)[1]
    return [group._replace(rows=rows[group.rows]) for group in found]


def _add_label_measures(
    given: EvaluationInput,
    data: NeighborGraph,
    embedding: NeighborGraph,
    pairs: PairStatistics | None,
    measures: dict[str, Measure],
    pointwise: dict[str, Reals],
) -> None:
    codes, rows = given.codes, given.sampled_rows
    assert codes is not None
    values = {
        "knn_accuracy": score_knn_votes(embedding.indices, codes, rows),
        "knn_accuracy_data": score_knn_votes(data.indices, codes, rows),
        "neighborhood_hit": compute_neighborhood_hits(embedding.indices, codes, rows),
    }
    measures |= {name: given.average(name, value) for name, value in values.items()}
    pointwise |= values
    if given.items is not None:
        metric, params = given.params.metric, given.params.metric_params
        measures |= compare_centroids(given.items, given.Y, metric, params, codes)
    if pairs is not None and pairs.class_sums is not None:
        silhouettes = compute_silhouettes(pairs.class_sums, codes, pairs.rows)
        measures["silhouette"] = average_rows("silhouette", silhouettes, given.n)
        if len(silhouettes) == len(rows):
            pointwise["silhouette"] = silhouettes


def _notes(given: EvaluationInput, scores: Scores) -> list[str]:
    notes, sampled = note_dominant_column(given), len(given.sampled_rows)
    if given.rows is not None:
        notes.append(
            f"Neighborhoods are evaluated at {sampled} of {given.n} rows, each against all; "
            "intervals cover the value of all rows with a probability of 95 %."
        )
        if scores.damaged:
            judged = min(given.n, MAX_JUDGED_SAMPLES)
            notes.append(f"Damaged groups are those of {judged} random rows among each other.")
    if scores.pairs is None:
        notes.append(
            "A neighbor graph has no other distances: trustworthiness, the rank error of false "
            "neighbors, R_NX, triplets and stresses are left out; pass the rows for them."
        )
    elif len(scores.pairs.rows) < sampled:
        notes.append(
            f"R_NX, stresses and correlations are those of {len(scores.pairs.rows)} rows against "
            "all."
        )
    if scores.ties > MIN_NOTED_TIES:
        notes.append(
            f"{scores.ties:.0%} of the rows have ties at neighbor {given.k}: ties are broken by "
            "row index, in data and embedding."
        )
    if scores.duplicates:
        notes.append(f"{scores.duplicates} of {sampled} rows have a duplicate in the data.")
    if given.codes is not None:
        notes.append(
            "Label-based measures reward exaggerated clusters: compare knn_accuracy with "
            "knn_accuracy_data, and do not rank embeddings by the silhouette."
        )
    return notes


# -- one measure alone ----------------------------------------------------------------------------


def trustworthiness(X: Input, Y: Input, *, n_neighbors: int = 15, **options: Any) -> Measure:
    """Trustworthiness: are the neighbors in the embedding neighbors in the data? 1 is best.

    From all rows, unless `anchors` says how many; other options as in `lowd.evaluate`.

    >>> from lowd.evidence.quality import trustworthiness
    >>> trustworthiness([[0.0], [1.0], [2.0], [4.0]], [[0.0], [1.0], [2.0], [3.0]], n_neighbors=1)
    1.0000
    """
    return _compute("trustworthiness", X, Y, n_neighbors, options)


def continuity(X: Input, Y: Input, *, n_neighbors: int = 15, **options: Any) -> Measure:
    """Continuity: are the neighbors in the data neighbors in the embedding? 1 is best.

    >>> from lowd.evidence.quality import continuity
    >>> continuity([[0.0], [1.0], [2.0], [4.0]], [[0.0], [1.0], [2.0], [3.0]], n_neighbors=1)
    1.0000
    """
    return _compute("continuity", X, Y, n_neighbors, options)


def _compute(
    name: Literal["trustworthiness", "continuity"],
    X: Input,
    Y: Input,
    k: int,
    options: dict[str, Any],
) -> Measure:
    params = EvaluationParameters(n_neighbors=k, **{"anchors": "all", **options})
    with params._running(params.backend):
        given = validate_input(params, X, Y, None)
        # Ranks up to k cost nothing, so the neighbors in the other space need not be searched.
        if name == "trustworthiness":
            neighbors = nearest_others(given.embedding, given.rows, k)
            ranks = ranks_of(given.data, given.rows, neighbors.indices)
        else:
            neighbors = nearest_others(given.data, given.rows, k)
            ranks = ranks_of(given.embedding, given.rows, neighbors.indices)
    return given.average(name, Ranks(ranks, given.n).trustworthiness())


# -- fitted models --------------------------------------------------------------------------------

SELF_MAP_SAMPLES = 1000  # training points that are mapped again as new points
PERTURBATION_DEVIATIONS = 1e-7  # of a column: a new point, at no distance that matters
SAME_EMBEDDING_TOLERANCE = 1e-6  # of the largest coordinate: rounding, also that of float32
LEARNED_VALUES = ("kl_divergence", "reconstruction_error", "stress", "force_error", "knn_recall")


def evaluate_model(
    model: Reducer,
    X: Input,
    labels: ArrayLike | None,
    *,
    n_neighbors: int = 15,
    anchors: Anchors = None,
    random_state: Seed = None,
    verbose: bool | int = False,
) -> Evaluation:
    """Evaluate the embedding that a model computes for X, training points or others.

    The result also holds the model's own values (`.model`). Of a pipeline, the method is evaluated
    on the rows as the pipeline prepares them.
    """
    if is_blocks(X):
        sample = draw_sample(RowBlocks.of(X), None, labels, anchors)
        found = evaluate_model(
            model._without_names(),
            sample.X,
            sample.labels,
            n_neighbors=n_neighbors,
            anchors=sample.anchors,
            random_state=random_state,
            verbose=verbose,
        )
        return replace(found, notes=[sample.note, *found.notes])
    if isinstance(model, Pipeline):
        found = evaluate_model(
            model.method_,
            _prepare_rows(model, X),
            labels,
            n_neighbors=n_neighbors,
            anchors=anchors,
            random_state=random_state,
            verbose=verbose,
        )
        note = "Distances in the data are those of the rows as the pipeline prepares them."
        return replace(found, notes=[*found.notes, note])
    metric: MetricLike = getattr(model, "metric", "euclidean")
    params: MetricParams = getattr(model, "metric_params", None)
    data = scale_columns(model, X)
    kind = model._kind()
    if kind == "affinity":
        raise UnsupportedError(
            "affinities are no distances; lowd.evaluate(X, model.embedding_) takes the rows or "
            "distances they come from."
        )
    if kind == "kernel":
        data, metric, params = _kernel_distances(np.asarray(X, np.float64)), "precomputed", None
    Y = _embed(model, X)
    found = evaluate(
        data,
        Y,
        labels=labels,
        metric=metric,
        metric_params=params,
        n_neighbors=n_neighbors,
        anchors=anchors,
        random_state=random_state,
        backend=model.backend,
        n_jobs=model.n_jobs,
        verbose=bool(verbose),
    )
    values, error = collect_learned_values(model), compute_self_map_error(model, X, Y)
    if error is not None:
        values["self_map_error"] = error
    left_out = getattr(model, "left_out_", None)
    reliability = None if left_out is None else Reliability.of(left_out)
    notes = found.notes + _note_model(model)
    return replace(found, model=values, notes=notes, reliability=reliability)


def _embed(model: Reducer, X: Input) -> Reals:
    """The map of X, and of the training points the embedding itself.

    A map of distances does not remember them, and other last digits break ties in another way.
    """
    Y = _transform(model, X)
    embedding = getattr(model, "embedding_", None)
    if embedding is None or embedding.shape != Y.shape:
        return Y
    tolerance = SAME_EMBEDDING_TOLERANCE * float(np.abs(embedding).max())
    return embedding if np.allclose(Y, embedding, rtol=0, atol=tolerance) else Y


def _transform(model: Reducer, X: Input) -> Reals:
    """The map of rows as an array, whatever `set_output` says."""
    with model._running(model.backend):
        return model._place(model._read(X, False))[0]


def _prepare_rows(model: Any, X: Input) -> Input:
    """Rows as the method takes them; training rows as they were fitted, without the correction."""
    rows = model.prepare(X, training=True)
    if not model.correct_shrinkage:
        return rows
    embedding = model.embedding_
    is_fitted = len(embedding) == rows.shape[0]
    if is_fitted and np.allclose(_transform(model.method_, rows), embedding):
        return rows
    return model.prepare(X)


def collect_learned_values(model: Reducer) -> dict[str, float]:
    """Explained variance, residual variance, stress and the like, as far as the model has them."""
    values = {}
    if hasattr(model, "explained_variance_ratio_"):
        values["explained_variance_ratio"] = float(np.sum(model.explained_variance_ratio_))
    if hasattr(model, "residual_variance_"):
        values["residual_variance"] = float(np.ravel(model.residual_variance_)[-1])
    for name in LEARNED_VALUES:
        value = getattr(model, f"{name}_", None)
        if value is not None and np.ndim(value) == 0:
            values[name] = float(value)
    return values


def compute_self_map_error(model: Reducer, X: Input, Y: Reals) -> float | None:
    """Error of the out-of-sample extension at the training points, which it may not remember.

    A training point with other last digits is a new point, and maps that correct the extension
    around the training points are asked for the extension alone. The root mean square of the
    difference between both coordinates, relative to the spread of the embedding around its mean:
    0 is perfect, 1 as bad as the mean itself. None if X is not what a model of rows was fitted on.
    """
    embedding = getattr(model, "embedding_", None)
    if embedding is None or model._kind() != "rows" or issparse(X):
        return None
    if not np.array_equal(embedding, Y):
        return None
    points = np.asarray(X, np.float64)
    chosen = random.subset(0, "self map", len(Y), min(len(Y), SELF_MAP_SAMPLES))
    rows = Rows(points).order()[chosen]
    # The name of a random stream is part of the result.
    noise = random.normals(0, "nudge", (len(rows), points.shape[1]))
    near = points[rows] + PERTURBATION_DEVIATIONS * points.std(0) * noise
    with extension.alone():
        gap = _transform(model, near) - Y[rows]
    spread = np.square(Y - Y.mean(0)).sum(1).mean()
    return float(np.sqrt(np.square(gap).sum(1).mean() / spread)) if spread > 0 else None


def _note_model(model: Reducer) -> list[str]:
    notes = []
    if standardizes(model):
        notes.append("Distances in the data are those of columns divided by the model's scale_.")
    if hasattr(model, "kl_divergence_"):
        notes.append(
            "kl_divergence compares runs of one method on the same rows and settings only."
        )
    return notes


def _kernel_distances(K: Reals) -> Reals:
    """Distances in the feature space whose inner products are K."""
    own = np.diagonal(K)
    D = np.sqrt(np.maximum(own[:, None] + own - K - K.T, 0))
    np.fill_diagonal(D, 0)
    return np.asarray(D)


# -- scales of columns ----------------------------------------------------------------------------

DOMINANT_DISTANCE_SHARE = 0.99  # of the variance in one column, as in PCA's warning
VARIANCE_SAMPLES = 5000  # rows whose variance decides, about
DOMINANT_COLUMN_CONSEQUENCE = "so it alone decides which rows are neighbors in the data"


def note_dominant_column(given: EvaluationInput) -> list[str]:
    """A note if one column accounts for nearly all of the distances in the data."""
    X = given.items
    if given.params.metric != "euclidean" or not isinstance(X, np.ndarray) or X.shape[1] < 2:
        return []
    variance = X[:: max(1, len(X) // VARIANCE_SAMPLES)].var(0, dtype=np.float64)
    largest = int(variance.argmax())
    if not variance[largest] > DOMINANT_DISTANCE_SHARE * variance.sum():
        return []
    names = getattr(given.params, "feature_names_in_", None)
    name = f"column {largest}" if names is None else f"column {names[largest]!r}"
    share = variance[largest] / variance.sum()
    return [
        f"{name} accounts for {share:.1%} of the variance, {DOMINANT_COLUMN_CONSEQUENCE}; if "
        "columns have different units, standardize them (sklearn.preprocessing.StandardScaler) "
        "before embeddings are computed and evaluated."
    ]


def standardizes(model: Reducer) -> bool:
    """Does the model standardize columns? Only PCA; elsewhere `scale` has other uses."""
    return getattr(model, "scale", False) is True


def scale_columns(model: Reducer, X: Input) -> Any:
    """X in the units in which the model compares rows: divided by its `scale_`, if it has one."""
    if not standardizes(model):
        return X
    if issparse(X):
        return X @ diags_array(1 / model.scale_)
    return np.asarray(X, np.float64) / model.scale_


# -- what is evaluated ----------------------------------------------------------------------------

Anchors: TypeAlias = int | Literal["all"] | None
MAX_EXACT_SAMPLES = 20_000  # all rows are evaluated: ranks take 4 s, and n² beyond
DEFAULT_ANCHORS = 2000  # sampled otherwise: a standard error of 0.001 for a deviation of 0.05
MAX_ALL_PAIRS_SAMPLES = 5000  # all distances are compared: 25 million pairs
MAX_SAMPLED_PAIRS = 200_000_000  # beyond: sampled rows against all, as 2000 against 100,000
MIN_FULL_ROWS = 100  # sampled for that, however many rows there are


class EvaluationParameters(NeighborsTransformer):
    """Parameters of `evaluate`, declared and validated as those of a method are."""

    n_neighbors: Count = 15
    anchors: Count | Literal["all"] | None = None
    random_state: Seed = None


@dataclass(frozen=True)
class EvaluationInput:
    """Validated data and embedding, and the rows to evaluate.

    Random rows are drawn by their positions in the canonical order: the same ones in whichever
    order they come.
    """

    params: EvaluationParameters
    data: Space | GraphSpace
    embedding: Rows
    items: Items | None  # the data as rows, distances or objects; None for a neighbor graph
    Y: Reals
    labels: NDArray[Any] | None  # classes of the rows,
    codes: NDArray[np.int64] | None  # and the same as integers
    n_sampled: int  # rows to evaluate
    seed: int

    @property
    def n(self) -> int:
        return self.data.n

    @cached_property
    def order(self) -> Indices:
        """The rows in an order by their content; of duplicates, by their embedding."""
        if isinstance(self.data, GraphSpace):
            known = space_of(self.data.graph.edges(), "precomputed")
            return np.lexsort((self.embedding.fingerprint(), known.fingerprint()))
        return np.lexsort((self.embedding.fingerprint(), self.data.fingerprint()))

    @cached_property
    def rows(self) -> RowSelection:
        if self.n_sampled == self.n:
            return None
        return np.sort(self.order[random.subset(self.seed, "anchors", self.n, self.n_sampled)])

    @property
    def k(self) -> int:
        return self.params.n_neighbors

    @property
    def sampled_rows(self) -> NDArray[np.int64]:
        """Indices of the rows to evaluate."""
        return np.arange(self.n) if self.rows is None else self.rows

    @property
    def full_rows(self) -> NDArray[np.int64]:
        """The rows whose distances to all others are compared: all of `sampled_rows`, or some."""
        limit = self.n if isinstance(self.params.anchors, int) else _count_full_rows(self.n)
        sampled = self.sampled_rows
        if limit >= len(sampled):
            return sampled
        positions = np.sort(np.argsort(self.order)[sampled])
        # The name of a random stream is part of the result: another one would sample other rows.
        chosen = positions[random.subset(self.seed, "whole rows", len(sampled), limit)]
        return np.sort(self.order[chosen])

    def average(self, name: str, pointwise: Reals) -> Measure:
        return average_rows(name, pointwise, self.n, self.k)


def validate_input(
    params: EvaluationParameters, X: Input, Y: Input, labels: ArrayLike | None
) -> EvaluationInput:
    """Check parameters, data, embedding and labels against each other."""
    check_parameters(params)
    data, items = _validate_data(params, X)
    n, k = data.n, params.n_neighbors
    embedding = _validate_embedding(Y, n)
    if k > n - 2:
        raise ParameterError(
            f"n_neighbors={k} needs at least {k + 2} rows to compare, but there are {n}"
            + (f"; use {advise_at_most('n_neighbors', n - 2)}." if n > 2 else ".")
        )
    codes = None if labels is None else encode_labels(labels, n)
    seed = 0 if params.random_state is None else random.as_seed(params.random_state)
    m = count_anchors(params.anchors, n)
    names = None if labels is None else np.asarray(labels)
    return EvaluationInput(params, data, embedding, items, embedding.X, names, codes, m, seed)


def make_data_space(X: Input, metric: Metric, metric_params: MetricParams = None) -> Space:
    """Rows with their distances, for neighbors of single rows."""
    params = EvaluationParameters(metric=metric, metric_params=metric_params)
    check_parameters(params)
    space = _validate_data(params, X)[0]
    if isinstance(space, GraphSpace):
        raise DataError("a neighbor graph has no distances; pass the rows.")
    return space


def count_anchors(anchors: Anchors, n: int) -> int:
    """How many rows are evaluated: all of them while that takes seconds."""
    if anchors == "all":
        return n
    if anchors is not None:
        if anchors > n or anchors < 2:
            raise ParameterError(f"anchors={anchors}: expected 2 to {n} (the rows), or 'all'.")
        return int(anchors)
    return n if n <= MAX_EXACT_SAMPLES else DEFAULT_ANCHORS


def _count_full_rows(n: int) -> int:
    if n <= MAX_ALL_PAIRS_SAMPLES:
        return n
    return max(MIN_FULL_ROWS, min(DEFAULT_ANCHORS, MAX_SAMPLED_PAIRS // n))


def _validate_data(
    params: EvaluationParameters, X: Input
) -> tuple[Space | GraphSpace, Items | None]:
    if isinstance(X, NeighborGraph) or (params.metric == "precomputed" and issparse(X)):
        return GraphSpace(NeighborGraph.of(X)), None
    items = params._read(X, True)
    return space_of(items, params.metric, params.metric_params), items


def _validate_embedding(Y: Input, n: int) -> Rows:
    if getattr(Y, "ndim", 2) == 1:
        Y = np.asarray(Y)[:, None]
    try:
        rows = EvaluationParameters()._read(Y, True)
    except DataError as error:
        raise type(error)(f"Y, the embedding: {error}") from None
    if len(rows) != n:
        raise DataError(f"X has {n} rows, but the embedding has {len(rows)}; pass the same rows.")
    return Rows(rows)


def truncate(found: NeighborGraph, k: int) -> NeighborGraph:
    """The k nearest neighbors of each row."""
    return NeighborGraph(
        np.ascontiguousarray(found.indices[:, :k]), found.distances[:, :k], found.recall
    )


# -- rows in blocks -------------------------------------------------------------------------------

MAX_EVALUATED_ROWS = 10_000  # neighbors are those among them
N_BLOCK_ANCHORS = 2000  # of these, as of many rows in memory: estimates have intervals


def plan_evaluation(d: int, itemsize: int) -> int:
    """Bytes of an evaluation of blocks: the sample, and distances of its anchors to all of it."""
    return MAX_EVALUATED_ROWS * d * (itemsize + 8) + 3 * N_BLOCK_ANCHORS * MAX_EVALUATED_ROWS * 8


class BlockSample(NamedTuple):
    """Rows of the data and of the embedding, their labels, and what to say about them."""

    X: Input
    Y: Input
    labels: Input
    anchors: Anchors
    note: str


def draw_sample(X: RowBlocks, Y: Input, labels: ArrayLike | None, anchors: Anchors) -> BlockSample:
    """The same random rows of X, of its embedding Y (if that is given) and of the labels."""
    sample = X.draw(MAX_EVALUATED_ROWS)
    rows, n = sample.row_indices, sample.n_seen
    given = None if Y is None else _take(Y, rows, n, "Y")
    classes = None if labels is None else _take(np.asarray(labels), rows, n, "labels")
    if anchors is None and len(rows) > N_BLOCK_ANCHORS:
        anchors = N_BLOCK_ANCHORS
    note = f"{len(rows)} of {n} rows in blocks are evaluated; neighbors are those among them."
    return BlockSample(sample.items, given, classes, anchors, note)


def _take(Y: Input, rows: NDArray[np.int64], n: int, name: str) -> Input:
    """Some rows of an array, or of a lazy one, of which only their blocks are computed."""
    if is_blocks(Y):
        blocks = RowBlocks.of(Y)
        if len(blocks) == n:
            return blocks[rows]
        raise DataError(f"X has {n} rows, but {name} has {len(blocks)}.")
    Y = np.asarray(Y)
    if len(Y) != n:
        raise DataError(f"X has {n} rows, but {name} has {len(Y)}.")
    return Y[rows]
