"""`lowd.evaluate`: quality measures of an embedding."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple, cast

from numpy.typing import ArrayLike

from ...blocks import RowBlocks, is_blocks
from ...errors import ParameterError
from ...input.arguments import Input
from ...neighbor_graph import NeighborGraph
from ...parameters import Metric, Reals, Seed
from ...reducer import Reducer
from ..types import MetricLike, MetricParams
from .block_sample import draw_sample
from .column_scale import note_dominant_column
from .distance_measures import (
    PairStatistics,
    compute_global_measures,
    compute_pair_statistics,
    compute_pointwise_stress,
    compute_rnx_curve,
)
from .label_measures import (
    compare_centroids,
    compute_neighborhood_hits,
    compute_silhouettes,
    score_knn_votes,
)
from .measures import Measure, average_rows
from .metric_spaces import GraphSpace, nearest_others
from .rank_measures import compute_ranks, compute_stretch
from .result import Evaluation
from .triplets import score_random_triplets
from .validation import Anchors, EvaluationInput, EvaluationParameters, truncate, validate_input

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


def _compute_scores(given: EvaluationInput) -> Scores:
    # One neighbor more than compared shows ties at the k-th; a graph has no more to show.
    searched = given.k if isinstance(given.data, GraphSpace) else given.k + 1
    found = nearest_others(given.data, given.rows, searched)
    data = truncate(found, given.k)
    embedding = truncate(nearest_others(given.embedding, given.rows, given.k + 1), given.k)
    pointwise = _compute_rank_measures(given, data, embedding)
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
    return Scores(measures, pointwise, pairs, ties, int((d[:, 0] == 0).sum()))


def _compute_rank_measures(
    given: EvaluationInput, data: NeighborGraph, embedding: NeighborGraph
) -> dict[str, Reals]:
    """Rank-based measures of each row; those of false neighbors need ranks in the data."""
    values: dict[str, Reals] = {}
    missing = compute_ranks(given.embedding, given.rows, data, embedding, given.n)
    if not isinstance(given.data, GraphSpace):
        false = compute_ranks(given.data, given.rows, embedding, data, given.n)
        values["trustworthiness"] = false.trustworthiness()
        values["mrre_false"] = false.relative_rank_error()
    recall = missing.recall()
    values["continuity"] = missing.trustworthiness()
    values["mrre_missing"] = missing.relative_rank_error()
    values |= {"neighbor_recall": recall, "lcmc": recall - given.k / (given.n - 1)}
    values["bnx"] = -missing.rank_bias()  # extrusions count below 0
    return values


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
