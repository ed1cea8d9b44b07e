"""`evaluate`: from data and places to an `Evaluation`."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from ...backends.protocol import Float64, Neighbors
from ...core.estimator import Reducer
from ...errors import ParameterError
from .classes import class_means, label_measures, silhouettes
from .evaluation import Evaluation
from .gates import Evaluator, Task, cut
from .local import ranks_in, stretch
from .measures import Measure, mean_of
from .spaces import Listed
from .triplets import random_triplets
from .units import owned_by_one
from .whole import Whole, curve, global_measures, pointwise_stress, whole_rows

MANY_TIES = 0.05  # share of rows from which ties are worth a sentence


def evaluate(
    X: Any,
    Y: Any,
    *,
    labels: Any = None,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    n_neighbors: int = 15,
    anchors: Any = None,
    random_state: Any = None,
    backend: str = "auto",
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Evaluation:
    """How far can a map be believed, and which part of it?

    Parameters
    ----------
    X
        The data: rows, a sparse matrix, a table, distances (metric="precomputed"), or a
        `NeighborGraph`; of the last only neighbors are compared.
    Y
        Their places in the map, or a fitted model, which then places X itself.
    labels
        Classes of the rows, for the measures that need them.
    metric, metric_params
        Distances in the data, as in ClassicalMDS. In the map they are Euclidean.
    n_neighbors
        Size of the neighborhoods.
    anchors
        How many rows stand for all ("all": every row is measured). None: all while that takes a
        minute or less, 2000 beyond. What is estimated has an interval of 95 %.
    random_state
        Seed of the sampled rows, pairs and triplets; None is a fixed one.

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
    how: dict[str, Any] = {"n_neighbors": n_neighbors, "anchors": anchors}
    how |= {"random_state": random_state, "verbose": verbose}
    own = {"metric": metric, "metric_params": metric_params, "backend": backend, "n_jobs": n_jobs}
    if isinstance(Y, Reducer):
        _refuse_beside_model(own)
        found: Evaluation = Y.evaluate(X, labels, **how)
        return found
    how |= own
    begin = time.perf_counter()
    gate = Evaluator(**how)
    with gate._watched():
        task = Task.of(gate, X, Y, labels)
        draft = _measured(task)
    rows, whole = task.asked, draft.whole
    return Evaluation(
        measures=draft.measures,
        pointwise=draft.pointwise,
        rows=rows,
        rnx_curve=None if whole is None else curve(whole),
        shepard=None if whole is None else whole.pairs,
        n_samples=task.n,
        n_neighbors=task.k,
        metric=metric if isinstance(metric, str) else getattr(metric, "__name__", "callable"),
        exact=task.rows is None,
        seconds=time.perf_counter() - begin,
        ties=draft.ties,
        duplicates=draft.duplicates,
        notes=_notes(task, draft),
    )


def _refuse_beside_model(own: dict[str, Any]) -> None:
    for name, default in (("metric", "euclidean"), ("backend", "auto")):
        if own[name] == default:
            own[name] = None
    for name, given in own.items():
        if given is not None:
            raise ParameterError(
                f"{name}={given!r} would be ignored: a model is evaluated by its own; pass "
                "model.transform(X) as Y for another."
            )


class Draft(NamedTuple):
    measures: dict[str, Measure]
    pointwise: dict[str, Float64]
    whole: Whole | None
    ties: float
    duplicates: int


def _measured(task: Task) -> Draft:
    graph = isinstance(task.data, Listed)
    reach = task.k if graph else task.k + 1  # one more shows ties
    found, there = task.data.lists(task.rows, reach), task.places.lists(task.rows, task.k + 1)
    near, near_map = cut(found, task.k), cut(there, task.k)
    pointwise = _neighborhoods(task, near, near_map)
    measures = {name: task.mean(name, values) for name, values in pointwise.items()}
    pointwise["stretch"] = stretch(near, near_map)
    whole = None
    if not graph:
        measures["triplet_accuracy"], pointwise["triplet_accuracy"] = random_triplets(
            task.data, task.places, task.asked, task.seed
        )
        chosen = task.whole()
        whole = whole_rows(task.data, task.places, chosen, task.seed, task.codes, task.ops)
        measures |= global_measures(whole)
        if len(chosen) == len(task.asked):
            pointwise |= {"rnx_auc": whole.auc, "stress": pointwise_stress(whole)}
    if task.codes is not None:
        _add_labels(task, near, near_map, whole, measures, pointwise)
    d = found.distances
    ties = float((d[:, -1] == d[:, -2]).mean()) if d.shape[1] > task.k else 0.0
    return Draft(measures, pointwise, whole, ties, int((d[:, 0] == 0).sum()))


def _neighborhoods(task: Task, near: Neighbors, near_map: Neighbors) -> dict[str, Float64]:
    """Measures of neighborhoods, row by row; those of false neighbors need ranks in the data."""
    values: dict[str, Float64] = {}
    missing = ranks_in(task.places, task.rows, near, near_map, task.n)
    if not isinstance(task.data, Listed):
        false = ranks_in(task.data, task.rows, near_map, near, task.n)
        values |= {"trustworthiness": false.kept(), "mrre_false": false.relative_error()}
    recall = missing.recall()
    values |= {"continuity": missing.kept(), "mrre_missing": missing.relative_error()}
    values |= {"neighbor_recall": recall, "lcmc": recall - task.k / (task.n - 1)}
    values["bnx"] = -missing.lean()  # what went away in the map counts below 0
    return values


def _add_labels(
    task: Task,
    near: Neighbors,
    near_map: Neighbors,
    whole: Whole | None,
    measures: dict[str, Measure],
    pointwise: dict[str, Float64],
) -> None:
    assert task.codes is not None
    voted = label_measures(near.indices, near_map.indices, task.asked, task.codes, task.n)
    for name, (measure, values) in voted.items():
        measures[name], pointwise[name] = measure, values
    metric, params = task.gate.metric, task.gate.metric_params
    if task.items is not None:
        measures |= class_means(task.items, task.Y, metric, params, task.codes, task.ops)
    if whole is not None and whole.classes is not None:
        values = silhouettes(whole.classes, task.codes, whole.rows)
        measures["silhouette"] = mean_of("silhouette", values, task.n)
        if len(values) == len(task.asked):
            pointwise["silhouette"] = values


def _notes(task: Task, draft: Draft) -> list[str]:
    notes, n, asked = owned_by_one(task), task.n, task.asked
    if task.rows is not None:
        notes.append(
            f"Neighborhoods were measured at {len(asked)} of {n} rows, each against all; the "
            "intervals hold the value of all rows in 95 of 100 draws."
        )
    if draft.whole is None:
        notes.append(
            "A neighbor graph knows no other distances: trustworthiness, the rank error of false "
            "neighbors, R_NX, triplets and stresses are left out; pass the rows for them."
        )
    elif len(draft.whole.rows) < len(asked):
        notes.append(
            f"R_NX, stresses and correlations come from {len(draft.whole.rows)} rows against all."
        )
    if draft.ties > MANY_TIES:
        notes.append(
            f"{draft.ties:.0%} of the rows have ties at neighbor {task.k}: equal distances go by "
            "row number, in data and map."
        )
    if draft.duplicates:
        notes.append(f"{draft.duplicates} of {len(asked)} rows have a copy in the data.")
    if task.codes is not None:
        notes.append(
            "Measures by labels reward exaggerated clusters: set knn_accuracy beside "
            "knn_accuracy_data, and do not rank maps by the silhouette."
        )
    return notes
