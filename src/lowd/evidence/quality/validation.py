"""Validation of the arguments of `evaluate`, and the choice of the rows to evaluate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from ... import random
from ...backends import Backend, resolve
from ...backends.protocol import Array, Float64, Neighbors
from ...core.estimator import reducer
from ...core.parameters import Count, Metric, MetricParams, Seed, check_params
from ...distances.metrics import distances_of
from ...domains import advise_at_most
from ...errors import DataError, ParameterError
from ...graph.given import NeighborGraph
from ...input.arguments import Input
from ...input.precomputed import MATRIX_KINDS
from ...input.row_order import invert_order, order_rows
from ...input.validation import validate
from ...methods.neighbors_transformer import NeighborsTransformer
from ..types import Items
from .label_measures import encode_labels
from .measures import Measure, average_rows
from .metric_spaces import GraphSpace, MetricSpace, RowSelection, make_space

Anchors: TypeAlias = int | Literal["all"] | None
MAX_EXACT_SAMPLES = 20_000  # all rows are evaluated: ranks take 4 s, and n² beyond
DEFAULT_ANCHORS = 2000  # sampled otherwise: a standard error of 0.001 for a deviation of 0.05
MAX_ALL_PAIRS_SAMPLES = 5000  # all distances are compared: 25 million pairs
MAX_SAMPLED_PAIRS = 200_000_000  # beyond: sampled rows against all, as 2000 against 100,000
MIN_FULL_ROWS = 100  # sampled for that, however many rows there are


@reducer
class EvaluationParameters(NeighborsTransformer):
    """Parameters of `evaluate`, declared and validated as those of a method are."""

    anchors: Count | Literal["all"] | None = None
    random_state: Seed = None


@dataclass(frozen=True)
class EvaluationInput:
    """Validated data and embedding, and the rows to evaluate.

    Random rows are drawn by their positions in the canonical order: the same ones in whichever
    order they come.
    """

    params: EvaluationParameters
    data: MetricSpace | GraphSpace
    embedding: MetricSpace
    items: Items | None  # the data as rows, distances or objects; None for a neighbor graph
    Y: Array
    codes: NDArray[np.int64] | None  # integer classes of the rows
    n_sampled: int  # rows to evaluate
    seed: int
    ops: Backend

    @property
    def n(self) -> int:
        return self.data.n

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The canonical order of the rows; of duplicates, by their embedding."""
        if isinstance(self.data, GraphSpace):
            return order_rows(square=[self.data.graph.edges()])
        if self.params._kind() in MATRIX_KINDS:
            return order_rows(square=[self.items])
        return order_rows(self.items, attached=[self.Y])

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
        positions = np.sort(invert_order(self.order)[sampled])
        # The name of a random stream is part of the result: another one would sample other rows.
        chosen = positions[random.subset(self.seed, "whole rows", len(sampled), limit)]
        return np.sort(self.order[chosen])

    def average(self, name: str, pointwise: Float64) -> Measure:
        return average_rows(name, pointwise, self.n, self.k)


def validate_input(
    params: EvaluationParameters, X: Input, Y: Input, labels: ArrayLike | None
) -> EvaluationInput:
    """Check parameters, data, embedding and labels against each other."""
    check_params(params)
    ops = resolve(params.backend, params.n_jobs)
    data, items = _validate_data(params, X, ops)
    n, k = data.n, params.n_neighbors
    Y, embedding = _validate_embedding(Y, n, ops)
    if k > n - 2:
        raise ParameterError(
            f"n_neighbors={k} needs at least {k + 2} rows to compare, but there are {n}"
            + (f"; use {advise_at_most('n_neighbors', n - 2)}." if n > 2 else ".")
        )
    codes = None if labels is None else encode_labels(labels, n)
    seed = 0 if params.random_state is None else random.as_seed(params.random_state)
    m = count_anchors(params.anchors, n)
    return EvaluationInput(params, data, embedding, items, Y, codes, m, seed, ops)


def make_data_space(X: Input, metric: Metric, metric_params: MetricParams = None) -> MetricSpace:
    """Rows with their distances, for neighbors of single rows."""
    params = EvaluationParameters(metric=metric, metric_params=metric_params)
    check_params(params)
    space = _validate_data(params, X, resolve(params.backend, params.n_jobs))[0]
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
    params: EvaluationParameters, X: Input, ops: Backend
) -> tuple[MetricSpace | GraphSpace, Items | None]:
    if isinstance(X, NeighborGraph) or (params.metric == "precomputed" and issparse(X)):
        return GraphSpace(NeighborGraph.of(X)), None
    sparse = params._takes_sparse()
    data = validate(params, X, params._kind(), fitting=True, sparse=sparse, ops=ops)
    relation = distances_of(data, params.metric, params.metric_params)
    return make_space(relation, ops), data.items


def _validate_embedding(Y: Input, n: int, ops: Backend) -> tuple[Array, MetricSpace]:
    if getattr(Y, "ndim", 2) == 1:
        Y = np.asarray(Y)[:, None]
    try:
        data = validate(EvaluationParameters(), Y, "rows", fitting=True, sparse=False, ops=ops)
    except DataError as error:
        raise type(error)(f"Y, the embedding: {error}") from None
    if len(data.items) != n:
        raise DataError(
            f"X has {n} rows, but the embedding has {len(data.items)}; pass the same rows."
        )
    return data.items, make_space(distances_of(data, "euclidean", None), ops)


def truncate(found: Neighbors, k: int) -> Neighbors:
    """The k nearest neighbors of each row."""
    return Neighbors(
        np.ascontiguousarray(found.indices[:, :k]), found.distances[:, :k], found.recall
    )
