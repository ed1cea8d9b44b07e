"""What a fit may use and what it returns: the context, the map and the fitted result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..backends.protocol import Array, Backend, ColumnStatistics, DType
from ..input.row_order import permute_graph
from ..input.sample import Sample
from ..input.validation import Data
from ..maps.protocol import Map as Map
from ..relations.geodesics import Geodesics
from ..values import freeze


class Fit(NamedTuple):
    """What every method returns. There is no fit without a map.

    `embedding` is None for linear methods: theirs is the map of the training points. Entries of
    `report` become learned attributes with a trailing underscore.
    """

    embedding: Array | None
    map: Map
    report: dict[str, Any]
    inverse: Map | None = None
    geodesics: Geodesics | None = None  # that the embedding shows, for diagnostics
    sample: Sample | None = None  # rows that a pass over blocks has kept; else all are in memory
    fitted: Data | None = None  # of blocks: the rows that were fitted, where these are a sample

    def with_report(self, **more: object) -> Fit:
        """The same with more learned attributes."""
        return self._replace(report={**self.report, **more})


@dataclass(frozen=True)
class PointGraph:
    """A sparse matrix of the distinct points, in the order in which they were fitted.

    The model shows it in the order of the rows. Permuting a million rows of neighbors takes longer
    than a descent on a GPU, and few look at it: it is done at the first access.
    """

    W: csr_array
    point_of_row: NDArray[np.int64]

    def in_order_of_rows(self) -> csr_array:
        return permute_graph(self.W, order_by_rows(self.point_of_row))


def order_by_rows(point_of_row: NDArray[np.int64]) -> NDArray[np.int64]:
    """The distinct points in the order in which their rows come."""
    return np.argsort(np.unique(point_of_row, return_index=True)[1])


class ArrangedOnAccess:
    """A learned sparse matrix that is in the order of the rows, with sorted columns, when read.

    The fit does not need that, but SciPy would sort in place, in a read-only array.
    """

    def __init__(self, absent: str) -> None:
        self.absent = absent

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: object | None, owner: type | None = None) -> csr_array:
        if model is None:
            return self
        held = vars(model).get(self.name)
        if held is None:
            raise AttributeError(self.absent)
        W = held.in_order_of_rows() if isinstance(held, PointGraph) else held
        if not W.has_sorted_indices:
            W = W.sorted_indices()
        if W is not held:
            vars(model)[self.name] = freeze(W)
        return W

    def __set__(self, model: object, learned: csr_array | PointGraph) -> None:
        vars(model)[self.name] = learned

    def __delete__(self, model: object) -> None:
        del vars(model)[self.name]


@dataclass(frozen=True)
class Context:
    """What a fit may use besides its data."""

    ops: Backend
    seed: int
    dtype: DType
    statistics: ColumnStatistics | None = None
