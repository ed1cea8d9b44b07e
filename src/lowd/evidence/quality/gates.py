"""What `evaluate` is given, checked, and the rows that it looks at."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ... import random
from ...backends import Backend, resolve
from ...backends.protocol import Array, Float64, Ints, Neighbors
from ...core.estimator import reducer
from ...core.parameters import Count, Seed, check_params
from ...distances.metrics import distances_of
from ...errors import DataError, ParameterError
from ...graph.given import NeighborGraph
from ...input.validation import validate
from ...methods.neighbors import NeighborsTransformer
from .classes import class_codes
from .measures import Measure, mean_of
from .spaces import Listed, Space, space_of

EXACT_ROWS = 20_000  # up to here all rows are measured, and beyond while so many products do
EXACT_PRODUCTS, MOST_ROWS = 5e12, 100_000
ANCHORS = 2000  # rows that are measured in their stead
WHOLE_ROWS = 5000  # up to here all rows are compared with all others
WHOLE_PAIRS = 200_000_000  # beyond: so many pairs at most


@reducer
class Evaluator(NeighborsTransformer):
    """The gates of `evaluate`: its parameters and data are checked as those of a method are."""

    anchors: Count | Literal["all"] | None = None
    random_state: Seed = None


class Task(NamedTuple):
    """Checked input, and which rows are to be measured."""

    gate: Evaluator
    data: Any  # a Space, or Listed
    places: Space
    items: Any  # of the data
    Y: Array
    codes: NDArray[np.int64] | None  # of the classes
    rows: NDArray[np.int64] | None  # None: all
    seed: int
    ops: Backend

    @classmethod
    def of(cls, gate: Evaluator, X: Any, Y: Any, labels: Any) -> Task:
        check_params(gate)
        ops = resolve(gate.backend, gate.n_jobs)
        data, items = _data(gate, X, ops)
        n, k = data.n, gate.n_neighbors
        Y, places = _places(Y, n, ops)
        if k > n - 2:
            raise ParameterError(
                f"n_neighbors={k} needs at least {k + 2} rows to compare, but there are {n}"
                + (f"; use n_neighbors={n - 2} or less." if n > 2 else ".")
            )
        codes = None if labels is None else class_codes(labels, n)
        seed = 0 if gate.random_state is None else random.as_seed(gate.random_state)
        m = anchor_count(gate.anchors, n, items.shape[1] if hasattr(items, "shape") else 1)
        rows = None if m == n else random.subset(seed, "anchors", n, m)
        return cls(gate, data, places, items, Y, codes, rows, seed, ops)

    @property
    def n(self) -> int:
        return int(self.data.n)

    @property
    def k(self) -> int:
        return int(self.gate.n_neighbors)

    @property
    def asked(self) -> NDArray[np.int64]:
        return np.arange(self.n) if self.rows is None else self.rows

    def whole(self) -> NDArray[np.int64]:
        """The rows that are compared with all others; if some, then some of those asked."""
        most = self.n if isinstance(self.gate.anchors, int) else _whole_count(self.n)
        asked = self.asked
        if most >= len(asked):
            return asked
        return np.asarray(asked[random.subset(self.seed, "whole rows", len(asked), most)])

    def mean(self, name: str, pointwise: Float64) -> Measure:
        return mean_of(name, pointwise, self.n, self.k)


def anchor_count(anchors: Any, n: int, width: int) -> int:
    """How many rows are measured; all while that is a matter of a minute."""
    if anchors == "all":
        return n
    if anchors is not None:
        if anchors > n or anchors < 2:
            raise ParameterError(f"anchors={anchors}: expected 2 to {n} (the rows), or 'all'.")
        return int(anchors)
    cheap = n <= MOST_ROWS and 2.0 * n * n * width < EXACT_PRODUCTS
    return n if n <= EXACT_ROWS or cheap else ANCHORS


def _whole_count(n: int) -> int:
    return n if n <= WHOLE_ROWS else max(100, min(ANCHORS, WHOLE_PAIRS // n))


def _data(gate: Evaluator, X: Any, ops: Backend) -> tuple[Any, Any]:
    if isinstance(X, NeighborGraph) or (gate.metric == "precomputed" and issparse(X)):
        return Listed(NeighborGraph.of(X)), None
    checked = validate(gate, X, gate._kind(), fitting=True, sparse=gate._takes_sparse(), ops=ops)
    base = distances_of(checked, gate.metric, gate.metric_params)
    return space_of(base, ops), checked.items


def _places(Y: Any, n: int, ops: Backend) -> tuple[Array, Space]:
    if getattr(Y, "ndim", 2) == 1:
        Y = np.asarray(Y)[:, None]
    try:
        checked = validate(Evaluator(), Y, "rows", fitting=True, sparse=False, ops=ops)
    except DataError as error:
        raise type(error)(f"Y, the places in the map: {error}") from None
    if len(checked.items) != n:
        raise DataError(
            f"X has {n} rows, but the map has {len(checked.items)}; pass the same rows."
        )
    return checked.items, space_of(distances_of(checked, "euclidean", None), ops)


def cut(near: Neighbors, k: int) -> Neighbors:
    """The k nearest of each list."""
    indices: Ints = np.ascontiguousarray(near.indices[:, :k])
    return Neighbors(indices, near.distances[:, :k], near.recall)
