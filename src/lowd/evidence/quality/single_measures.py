"""Trustworthiness and continuity as functions: one measure alone, exact by default."""

from __future__ import annotations

from typing import Any, Literal

from ...input.arguments import Input
from .measures import Measure
from .metric_spaces import nearest_others, ranks_of
from .rank_measures import Ranks
from .validation import EvaluationParameters, validate_input


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
