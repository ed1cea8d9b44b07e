"""Validation of the arguments of `evaluate`, and the choice of the rows to evaluate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from ... import random
from ...errors import DataError, ParameterError
from ...input.arguments import Input
from ...neighbor_graph import NeighborGraph, NeighborsTransformer
from ...parameters import (
    Count,
    Indices,
    Metric,
    MetricParams,
    Reals,
    Seed,
    advise_at_most,
    check_parameters,
)
from ...spaces import Rows, Space, space_of
from ..types import Items
from .label_measures import encode_labels
from .measures import Measure, average_rows
from .metric_spaces import GraphSpace, RowSelection

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
    codes: NDArray[np.int64] | None  # integer classes of the rows
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
    return EvaluationInput(params, data, embedding, items, embedding.X, codes, m, seed)


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
