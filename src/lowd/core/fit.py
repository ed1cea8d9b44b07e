"""What a fit may use and what it returns: the context, the map and the fitted result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from scipy.sparse import csr_array

from ..backends.protocol import Array, Backend, ColumnStatistics, DType
from ..input.sample import Sample
from ..input.validation import Data
from ..maps.protocol import Map as Map
from ..relations.geodesics import Geodesics


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


class SortedOnAccess:
    """A learned sparse matrix whose columns are sorted at the first access.

    The fit does not need that, but SciPy would sort in place, in a read-only array.
    """

    def __init__(self, absent: str) -> None:
        self.absent = absent

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: object | None, owner: type | None = None) -> csr_array:
        if model is None:
            return self
        W = vars(model).get(self.name)
        if W is None:
            raise AttributeError(self.absent)
        if not W.has_sorted_indices:
            vars(model)[self.name] = W = W.sorted_indices()
            W.data.setflags(write=False)
        return W

    def __set__(self, model: object, learned: csr_array) -> None:
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
