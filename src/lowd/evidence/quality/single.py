"""One measure alone, exact whatever the size: for those who want nothing else."""

from __future__ import annotations

from typing import Any

from .gates import Evaluator, Task
from .local import Ranks
from .measures import Measure


def trustworthiness(X: Any, Y: Any, *, n_neighbors: int = 15, **how: Any) -> Measure:
    """Are the neighbors of each row in the map its neighbors in the data? 1 is best.

    From all rows, unless `anchors` says how many; other options as in `lowd.evaluate`.

    >>> from lowd.quality import trustworthiness
    >>> trustworthiness([[0.0], [1.0], [2.0], [4.0]], [[0.0], [1.0], [2.0], [3.0]], n_neighbors=1)
    1.0000
    """
    return _one("trustworthiness", X, Y, n_neighbors, how)


def continuity(X: Any, Y: Any, *, n_neighbors: int = 15, **how: Any) -> Measure:
    """Are the neighbors of each row in the data its neighbors in the map? 1 is best.

    >>> from lowd.quality import continuity
    >>> continuity([[0.0], [1.0], [2.0], [4.0]], [[0.0], [1.0], [2.0], [3.0]], n_neighbors=1)
    1.0000
    """
    return _one("continuity", X, Y, n_neighbors, how)


def _one(name: str, X: Any, Y: Any, k: int, how: dict[str, Any]) -> Measure:
    gate = Evaluator(n_neighbors=k, **{"anchors": "all", **how})
    with gate._watched():
        task = Task.of(gate, X, Y, None)
        listing, ranking = task.places, task.data
        if name == "continuity":
            listing, ranking = ranking, listing
        # Ranks up to k cost nothing, so the other space's neighbors need not be known.
        near = listing.lists(task.rows, k).indices
        ranks = Ranks(ranking.ranks(task.rows, near), task.n)
    return task.mean(name, ranks.kept())
